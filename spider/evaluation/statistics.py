"""The statistics of an evaluation: interval, pass@k and paired test, each from its published formula."""

from __future__ import annotations

from math import comb, sqrt

Z_95 = 1.959963984540054
"""The standard normal's 97.5 % quantile."""


def wilson(right: float, total: int) -> tuple[float, float]:
    """The 95 % interval of a share, by Wilson's score (1927): it stays within 0 and 1 and holds for few trials.

    `right` may be a fraction: with several samples a question, it is the sum of the questions' means, and `total` the
    number of questions. Then the interval is a little too wide, since a mean varies less than a single trial.
    """
    if total == 0:
        return 0.0, 1.0
    share, z2 = right / total, Z_95 * Z_95
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z_95 / (1 + z2 / total) * sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    return max(0.0, centre - half), min(1.0, centre + half)


def pass_at_k(samples: int, right: int, k: int) -> float:
    """The chance that one of `k` of the samples is right, without bias: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021).

    Raises:
        ValueError: there are fewer than `k` samples, or more right ones than samples.
    """
    if not (0 <= right <= samples and 1 <= k <= samples):
        raise ValueError(f"pass@{k} of {samples} samples, {right} right")
    return 1.0 - comb(samples - right, k) / comb(samples, k)


def mcnemar(first_only: int, second_only: int) -> float:
    """McNemar's exact test: the two-sided p-value that both models are equally good.

    Args:
        first_only: Questions that only the first model got right.
        second_only: Questions that only the second model got right.
    """
    trials = first_only + second_only
    tail = sum(comb(trials, i) for i in range(min(first_only, second_only) + 1))
    return min(1.0, 2 * tail / 2**trials)


def paired_difference(first_only: int, second_only: int, questions: int) -> tuple[float, float, float]:
    """How much more accurate the second model is, with the 95 % interval of a paired difference of shares (Wald's).

    Returns:
        The difference, its lower and its upper end.
    """
    if questions == 0:
        return 0.0, -1.0, 1.0
    difference = (second_only - first_only) / questions
    variance = (first_only + second_only) - (second_only - first_only) ** 2 / questions
    half = Z_95 * sqrt(max(variance, 0.0)) / questions
    return difference, max(-1.0, difference - half), min(1.0, difference + half)


def quantile(values: list[float], share: float) -> float:
    """The nearest-rank quantile of `values`; 0 when there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
