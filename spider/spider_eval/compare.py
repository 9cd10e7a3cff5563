"""Whether two results are the same: the same rows, up to a permutation of columns, in any order or in groups.

Values are equal as in Python and SQLite: 1 equals 1.0, '1' doesn't; NULL equals NULL; two floating-point numbers may
differ by a relative 1e-9. Columns are told apart by what they hold, so that the permutations that can't fit are never
tried; where several can, one is assumed and its consequences are followed (individualisation and refinement).
"""

from __future__ import annotations

import logging
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from operator import mul

from spider.sandbox import SQLValue

RELATIVE_TOLERANCE = 1e-9
MIN_CELLS_TRIED, TRIED_PER_CELL = 2_000_000, 40

Row = tuple[SQLValue, ...]
Column = list[SQLValue]
Classes = list[int] | None  # a number for each row; None when all are in the same class
logger = logging.getLogger(__name__)


def same_result(gold: Sequence[Row], predicted: Sequence[Row], groups: Sequence[int] | None = None) -> bool:
    """Whether ``predicted`` holds the rows of ``gold`` under some order of its columns.

    Args:
        gold: Rows as SQLite gives them.
        predicted: Rows as SQLite gives them.
        groups: For each gold row the group it belongs to; rows may be exchanged within a group only. None when the
            order of rows is free.

    Two results without rows are the same, whatever their columns.
    """
    if len(gold) != len(predicted):
        return False
    if not gold or gold == predicted:
        return True
    if len(gold[0]) != len(predicted[0]):
        return False
    if permutation(gold, predicted, groups) is not None:
        return True
    rounded = round_alike(gold, predicted)
    if rounded is None:
        return False
    order = permutation(*rounded, groups)
    return order is not None and rows_are_close(gold, predicted, rounded, order, groups)


def permutation(gold: Sequence[Row], predicted: Sequence[Row], groups: Sequence[int] | None) -> list[int] | None:
    """For each gold column the predicted column that takes its place, or None."""
    width = len(gold[0])
    search = _Search(columns_of(gold), columns_of(predicted))
    start = list(groups) if groups is not None else None
    try:
        found = search.run(list(range(width)), list(range(width)), start, start)
    except _TooManyError:
        logger.warning("gave up on matching %d columns of %d rows: taken as different", width, len(gold))
        return None
    return None if found is None else [found[column] for column in range(width)]


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """The table by columns."""
    return [[row[at] for row in rows] for at in range(len(rows[0]))]


class _TooManyError(Exception):
    """The search for a permutation has taken too many steps."""


class _Search:
    """A search for the permutation of columns between two tables of the same size."""

    def __init__(self, gold: list[Column], predicted: list[Column]) -> None:
        """Takes both tables by columns."""
        self.gold, self.predicted = gold, predicted
        self.budget = max(MIN_CELLS_TRIED, TRIED_PER_CELL * len(gold) * len(gold[0]))

    def run(
        self, gold_left: list[int], predicted_left: list[int], gold_rows: Classes, predicted_rows: Classes
    ) -> dict[int, int] | None:
        """Assign the columns left; rows are in one class when the columns assigned so far hold the same in them."""
        found: dict[int, int] = {}
        while gold_left:
            alike = self.alike(gold_left, predicted_left, gold_rows, predicted_rows)
            if alike is None:
                return None
            forced = [(ours, theirs) for ours, theirs in alike if self.choices(ours, theirs) == 1]
            if not forced:
                rest = self.branch(alike, gold_left, predicted_left, gold_rows, predicted_rows)
                return None if rest is None else found | rest
            pairs = [(ours[0], theirs[0]) for ours, theirs in forced]
            for ours, theirs in forced:
                found.update(zip(ours, theirs, strict=True))
            if len(forced) == len(alike):
                return found if self.fit(pairs, gold_rows, predicted_rows) else None
            refined = self.refine(pairs, gold_rows, predicted_rows)
            if refined is None:
                return None
            gold_rows, predicted_rows = refined
            gold_left = [column for column in gold_left if column not in found]
            taken = set(found.values())
            predicted_left = [column for column in predicted_left if column not in taken]
        return found

    def alike(
        self, gold_left: list[int], predicted_left: list[int], gold_rows: Classes, predicted_rows: Classes
    ) -> list[tuple[list[int], list[int]]] | None:
        """Gold and predicted columns that hold the same values in the same classes of rows; None when they don't pair.

        Raises:
            _TooManyError: the budget is used up.
        """
        self.budget -= 2 * len(gold_left) * len(self.gold[0])
        if self.budget < 0:
            raise _TooManyError
        by_signature: dict[int, tuple[list[int], list[int]]] = {}
        for column in gold_left:
            by_signature.setdefault(signature(self.gold[column], gold_rows), ([], []))[0].append(column)
        for column in predicted_left:
            pair = by_signature.get(signature(self.predicted[column], predicted_rows))
            if pair is None:
                return None
            pair[1].append(column)
        pairs = list(by_signature.values())
        return pairs if all(len(ours) == len(theirs) for ours, theirs in pairs) else None

    def choices(self, ours: list[int], theirs: list[int]) -> int:
        """In how many ways that matter these columns can be assigned, at most: equal columns are interchangeable."""
        if len(ours) == 1:
            return 1
        return max(
            len(unequal([self.gold[column] for column in ours])),
            len(unequal([self.predicted[column] for column in theirs])),
        )

    def keys(
        self, pairs: list[tuple[int, int]], gold_rows: Classes, predicted_rows: Classes
    ) -> tuple[Iterator[tuple[object, ...]], Iterator[tuple[object, ...]]]:
        """For each row its class and what the columns of ``pairs`` hold in it."""
        ours = [self.gold[column] for column, _ in pairs]
        theirs = [self.predicted[column] for _, column in pairs]
        return (
            zip(*([gold_rows] if gold_rows else []), *ours, strict=True),
            zip(*([predicted_rows] if predicted_rows else []), *theirs, strict=True),
        )

    def fit(self, pairs: list[tuple[int, int]], gold_rows: Classes, predicted_rows: Classes) -> bool:
        """Whether the rows are the same once these columns are assigned to each other."""
        ours, theirs = self.keys(pairs, gold_rows, predicted_rows)
        return Counter(ours).items() == Counter(theirs).items()

    def refine(
        self, pairs: list[tuple[int, int]], gold_rows: Classes, predicted_rows: Classes
    ) -> tuple[list[int], list[int]] | None:
        """The rows' classes once these columns are assigned to each other; None when the rows then differ."""
        ours, theirs = self.keys(pairs, gold_rows, predicted_rows)
        numbers: dict[tuple[object, ...], int] = {}
        gold_refined = [numbers.setdefault(key, len(numbers)) for key in ours]
        predicted_refined = [numbers.setdefault(key, len(numbers)) for key in theirs]
        return (
            (gold_refined, predicted_refined)
            if Counter(gold_refined).items() == Counter(predicted_refined).items()
            else None
        )

    def branch(
        self,
        alike: list[tuple[list[int], list[int]]],
        gold_left: list[int],
        predicted_left: list[int],
        gold_rows: Classes,
        predicted_rows: Classes,
    ) -> dict[int, int] | None:
        """Try the predicted columns that may stand for one gold column, where there are fewest."""
        ours, theirs = min(alike, key=lambda pair: self.choices(*pair))
        one = ours[0]
        candidates = [theirs[at] for at in unequal([self.predicted[column] for column in theirs])]
        for other in sorted(candidates, key=lambda column: self.predicted[column] != self.gold[one]):
            refined = self.refine([(one, other)], gold_rows, predicted_rows)
            if refined is None:
                continue
            rest = self.run(
                [column for column in gold_left if column != one],
                [column for column in predicted_left if column != other],
                *refined,
            )
            if rest is not None:
                return {one: other} | rest
        return None


def signature(column: Column, classes: Classes) -> int:
    """A number that doesn't depend on the order of rows and tells apart, but for chance, what they hold by class.

    Columns taken for alike by chance cost a step of the search: whether rows are equal is never decided by it. Hashes
    are squared because Python's hash of tuples nearly keeps sums: without, 0 and 3 would look like 1 and 2.
    """
    hashes = list(map(hash, zip(*([classes] if classes else []), column, strict=True)))
    return sum(map(mul, hashes, hashes))


def unequal(columns: list[Column]) -> list[int]:
    """The positions of the first of each set of equal columns."""
    first = {tuple(column): at for at, column in reversed(list(enumerate(columns)))}
    return sorted(first.values())


def round_alike(gold: Sequence[Row], predicted: Sequence[Row]) -> tuple[list[Row], list[Row]] | None:
    """Both results with neighbouring floating-point numbers made equal; None when there are no such neighbours."""
    ours = {cell for row in gold for cell in row if isinstance(cell, float)}
    theirs = {cell for row in predicted for cell in row if isinstance(cell, float)}
    if not ours or not theirs:
        return None
    stands_for: dict[float, float] = {}
    last = math.nan
    for number in sorted(ours | theirs):
        stands_for[number] = stands_for[last] if math.isclose(number, last, rel_tol=RELATIVE_TOLERANCE) else number
        last = number
    if all(number == kept for number, kept in stands_for.items()):
        return None
    return round_rows(gold, stands_for), round_rows(predicted, stands_for)


def round_rows(rows: Sequence[Row], stands_for: dict[float, float]) -> list[Row]:
    """The rows with each floating-point number replaced, and each whole number that is equal to one."""
    return [
        tuple(stands_for.get(cell, cell) if isinstance(cell, int | float) else cell for cell in row) for row in rows
    ]


def rows_are_close(
    gold: Sequence[Row],
    predicted: Sequence[Row],
    rounded: tuple[list[Row], list[Row]],
    order: list[int],
    groups: Sequence[int] | None,
) -> bool:
    """Whether rows that are equal once rounded can be paired so that each pair is within the tolerance.

    Rounding joins chains of neighbours, whose ends may lie further apart. Rows of the same chain pair up by size.
    """
    numbers = groups if groups is not None else [0] * len(gold)
    alike: defaultdict[tuple[int, Row], tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for group, row, key in zip(numbers, gold, rounded[0], strict=True):
        alike[group, key][0].append(row)
    for group, row, key in zip(numbers, predicted, rounded[1], strict=True):
        alike[group, tuple(key[column] for column in order)][1].append(tuple(row[column] for column in order))
    return all(
        cells_are_close(one, other)
        for ours, theirs in alike.values()
        for one, other in zip(sorted(ours, key=only_numbers), sorted(theirs, key=only_numbers), strict=True)
    )


def only_numbers(row: Row) -> tuple[float, ...]:
    """What can be sorted in a row."""
    return tuple(cell if isinstance(cell, int | float) else 0 for cell in row)


def cells_are_close(one: Row, other: Row) -> bool:
    """Whether two rows are equal but for noise between floating-point numbers."""
    return all(
        a == b or (isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE))
        for a, b in zip(one, other, strict=True)
    )
