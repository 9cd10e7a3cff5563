"""Intervals, pass@k and the paired test give the figures of their formulas."""

from itertools import combinations

import pytest

from spider.evaluation.statistics import mcnemar, paired_difference, pass_at_k, quantile, wilson


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [(5, 10, 0.2366, 0.7634), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilsons_interval_is_that_of_the_tables(right: int, total: int, low: float, high: float) -> None:
    assert wilson(right, total) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_no_trials_tell_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("samples", "right"), [(5, 0), (5, 2), (5, 5), (6, 1)])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_pass_at_k_is_the_share_of_choices_with_a_right_one(samples: int, right: int, k: int) -> None:
    choices = list(combinations([True] * right + [False] * (samples - right), k))
    assert pass_at_k(samples, right, k) == pytest.approx(sum(any(choice) for choice in choices) / len(choices))


def test_pass_at_more_than_the_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="pass@3 of 2"):
        pass_at_k(2, 1, 3)


@pytest.mark.parametrize(
    ("first", "second", "p"), [(0, 0, 1.0), (5, 5, 1.0), (0, 6, 0.03125), (1, 9, 0.021484375), (9, 1, 0.021484375)]
)
def test_mcnemars_p_value_is_the_binomials(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == p


def test_the_paired_difference_has_its_sign_and_interval() -> None:
    difference, low, high = paired_difference(first_only=10, second_only=30, questions=100)
    assert difference == pytest.approx(0.2)
    assert (low, high) == (pytest.approx(0.0824, abs=1e-3), pytest.approx(0.3176, abs=1e-3))


def test_quantile_is_one_of_the_values() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([], 0.5) == 0.0
