"""Comparison of results, against a check of every permutation and by its properties."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spider.sandbox import SQLValue
from spider.spider_eval.compare import same_result
from tests.timing import within

Row = tuple[SQLValue, ...]
VALUES = st.sampled_from([None, 0, 1, 1.0, 2, "", "1", "a", b"1"])


@st.composite
def tables(draw: st.DrawFn, rows: int = 5, columns: int = 4) -> list[Row]:
    width = draw(st.integers(1, columns))
    return draw(st.lists(st.tuples(*[VALUES] * width), min_size=1, max_size=rows))


@st.composite
def table_pairs(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Two tables that are often equal but for the order, and else of the same values."""
    one = draw(tables())
    order = draw(st.permutations(range(len(one[0]))))
    other = [tuple(row[at] for at in order) for row in draw(st.permutations(one))]
    if draw(st.booleans()):
        row, column = draw(st.integers(0, len(one) - 1)), draw(st.integers(0, len(order) - 1))
        source = draw(st.integers(0, len(one) - 1))
        other[row] = (*other[row][:column], other[source][column], *other[row][column + 1 :])
    return one, other


def tried_one_by_one(gold: list[Row], predicted: list[Row], groups: list[int]) -> bool:
    rows = Counter(zip(groups, gold, strict=True))
    return any(
        Counter(zip(groups, [tuple(row[at] for at in order) for row in predicted], strict=True)) == rows
        for order in permutations(range(len(gold[0])))
    )


@settings(max_examples=400, deadline=None)
@given(table_pairs())
def test_free_order_agrees_with_trying_every_permutation(pair: tuple[list[Row], list[Row]]) -> None:
    assert same_result(*pair) == tried_one_by_one(*pair, [0] * len(pair[0]))


@settings(max_examples=400, deadline=None)
@given(table_pairs(), st.data())
def test_groups_agree_with_trying_every_permutation(pair: tuple[list[Row], list[Row]], data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.integers(0, 1), min_size=len(pair[0]), max_size=len(pair[0])))
    groups = [sum(steps[: at + 1]) for at in range(len(steps))]
    assert same_result(*pair, groups) == tried_one_by_one(*pair, groups)


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.data())
def test_float_noise_is_forgiven(numbers: list[float], data: st.DataObject) -> None:
    noise = data.draw(st.lists(st.floats(-1e-11, 1e-11), min_size=len(numbers), max_size=len(numbers)))
    noisy: list[Row] = [(number * (1 + part), "x") for number, part in zip(numbers, noise, strict=True)]
    assert same_result([("x", number) for number in numbers], data.draw(st.permutations(noisy)))


@given(st.floats(1e-6, 1e6), st.floats(1e-8, 1e-2))
def test_a_difference_beyond_noise_is_not_forgiven(number: float, part: float) -> None:
    assert not same_result([(number,)], [(number * (1 + part),)])


@pytest.mark.parametrize(
    ("gold", "predicted", "same"),
    [
        (1, 1.0, True),
        (1, "1", False),
        ("1", b"1", False),
        (None, None, True),
        (None, "", False),
        (None, 0, False),
        (0.0, -0.0, True),
        (37, 37.0000000000001, False),
        (37.0, 37.0000000000001, True),
        (2**53 + 1, float(2**53), False),
        (float("inf"), float("inf"), True),
        ("a", "A", False),
        ("Café", "Cafe\u0301", False),
    ],
)
def test_values_are_equal_as_in_sqlite(gold: SQLValue, predicted: SQLValue, same: bool) -> None:
    assert same_result([(gold,)], [(predicted,)]) == same


def test_a_whole_number_stays_equal_to_a_float_that_has_a_noisy_neighbour() -> None:
    assert same_result([(1, 1 - 1e-16)], [(1.0, 1.0)])
    assert same_result([(1, 1 - 1e-15), (2, 3.0)], [(1.0, 1.0), (2, 3.0)])
    assert not same_result([(1, 3.0)], [(1 - 1e-15, 3.0)])


def test_a_chain_of_neighbours_does_not_make_its_ends_equal() -> None:
    seconds: list[Row] = [(1.6e9 + second,) for second in range(10)]
    assert not same_result(seconds, [(1.6e9 + second + 5,) for second in range(10)])


def test_results_without_rows_are_the_same() -> None:
    assert same_result([], [])
    assert not same_result([], [(1,)])


def test_twelve_equal_columns_take_under_50_ms() -> None:
    gold: list[Row] = [(age,) * 12 for age in range(100)]

    def run() -> None:
        assert same_result(gold, gold[::-1])

    assert within(0.05, run, times=5)


def test_many_columns_alike_but_for_pairs_are_decided_in_time() -> None:
    """A ring of twelve against two rings of six: every column holds the same values, no permutation fits."""
    ring = [(at, (at + 1) % 12) for at in range(12)]
    two_rings = [(at, (at + 1) % 6) for at in range(6)] + [(at + 6, (at + 1) % 6 + 6) for at in range(6)]
    gold, predicted = ([tuple(int(at in edge) for at in range(12)) for edge in edges] for edges in (ring, two_rings))

    def run() -> None:
        assert not same_result(gold, predicted)
        assert same_result(gold, [tuple(row[at * 5 % 12] for at in range(12)) for row in gold])

    assert within(2, run)


def test_two_thousand_columns_are_compared() -> None:
    row = tuple(range(2000))
    assert same_result([row, row[::-1]], [row[1:] + row[:1], row[::-1][1:] + row[::-1][:1]])
    assert same_result([row], [row[::-1]])
