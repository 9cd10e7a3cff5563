"""Two evaluations of the same questions, side by side, with McNemar's exact test."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from spider.evaluation.statistics import mcnemar, paired_difference
from spider.evaluation.table import columns, percent
from spider.spider_eval.hardness import LEVELS

EXAMPLES = 5


class ComparisonError(ValueError):
    """The two files can't be compared; the message says why."""


class Verdict(TypedDict):
    """One answer's verdict, as `results.json` keeps it; `strict` is None where there is none."""

    number: int
    sample: int
    question: str
    db_id: str
    gold: str
    hardness: str
    query: str
    kind: str
    strict: bool | None
    published: bool | None


REMEDY = "give one that spider.evaluate wrote, or its folder"

Key = tuple[str, str, str]  # database, question, gold query


@dataclass(frozen=True)
class Results:
    """One setting of a `results.json`."""

    name: str
    verdicts: dict[Key, Verdict]


class Pairs(TypedDict):
    """Questions with a verdict on both sides: the 2 x 2 table, the difference of accuracies and the test.

    `low` and `high` are the ends of the difference's 95 % interval; `p` is McNemar's exact two-sided p-value.
    """

    questions: int
    both: int
    first_only: int
    second_only: int
    neither: int
    difference: float
    low: float
    high: float
    p: float


class Comparison(TypedDict):
    """Two evaluations side by side."""

    first: str
    second: str
    unpaired: int
    all: Pairs
    by_hardness: dict[str, Pairs]
    gained: list[Verdict]
    lost: list[Verdict]


def load_results(spec: str) -> Results:
    """A setting of a results file, given as ``FILE`` or, where it has several, ``FILE#PART-OF-THE-SETTING'S-NAME``.

    Raises:
        ComparisonError: there is no such file or setting, or it isn't clear which.
    """
    path, _, part = spec.partition("#")
    file = Path(path) / "results.json" if Path(path).is_dir() else Path(path)
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        settings = {str(each["setting"]): _first_samples(each["verdicts"]) for each in content["settings"]}
    except OSError as error:
        raise ComparisonError(f"can't read {file} ({error.strerror}): {REMEDY}") from error
    except (ValueError, KeyError, TypeError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else "it holds something else"
        raise ComparisonError(f"{file} is no results.json, or was damaged ({reason}): {REMEDY}") from error
    found = [name for name in settings if part in name]
    if len(found) != 1:
        names = "; ".join(settings)
        raise ComparisonError(f"{spec}: name one setting after #, by a part of its name. There are: {names}")
    return Results(f"{file} ({found[0]})", settings[found[0]])


def _first_samples(records: Iterable[Mapping[str, Any]]) -> dict[Key, Verdict]:
    verdicts = [Verdict(**{name: record[name] for name in Verdict.__annotations__}) for record in records]
    return {(each["db_id"], each["question"], each["gold"]): each for each in verdicts if each["sample"] == 0}


def compare(first: Results, second: Results) -> Comparison:
    """Pair the questions that have a verdict in both; with several samples, the first of each counts.

    Raises:
        ComparisonError: they have no question in common.
    """
    common = [
        key
        for key in first.verdicts
        if key in second.verdicts
        and first.verdicts[key]["strict"] is not None
        and second.verdicts[key]["strict"] is not None
    ]
    if not common:
        raise ComparisonError(f"{first.name} and {second.name} have no question with a verdict in common")
    pairs = [(first.verdicts[key], second.verdicts[key]) for key in common]
    levels: dict[str, list[tuple[Verdict, Verdict]]] = defaultdict(list)
    for pair in pairs:
        levels[pair[0]["hardness"]].append(pair)
    return {
        "first": first.name,
        "second": second.name,
        "unpaired": len(first.verdicts.keys() | second.verdicts.keys()) - len(common),
        "all": _pairs(pairs),
        "by_hardness": {level: _pairs(levels[level]) for level in (*LEVELS, "unknown") if level in levels},
        "gained": [b for a, b in pairs if b["strict"] and not a["strict"]],
        "lost": [b for a, b in pairs if a["strict"] and not b["strict"]],
    }


def _pairs(pairs: list[tuple[Verdict, Verdict]]) -> Pairs:
    first_only = sum(bool(a["strict"]) and not b["strict"] for a, b in pairs)
    second_only = sum(bool(b["strict"]) and not a["strict"] for a, b in pairs)
    both = sum(bool(a["strict"]) and bool(b["strict"]) for a, b in pairs)
    difference, low, high = paired_difference(first_only, second_only, len(pairs))
    return {
        "questions": len(pairs),
        "both": both,
        "first_only": first_only,
        "second_only": second_only,
        "neither": len(pairs) - both - first_only - second_only,
        "difference": difference,
        "low": low,
        "high": high,
        "p": mcnemar(first_only, second_only),
    }


def comparison_table(found: Comparison) -> str:
    """The comparison as text."""
    rows = [["", "questions", "first", "second", "difference", "95 % interval", "only first", "only second", "p"]]
    rows.append(_row("all", found["all"]))
    rows += [_row(f"  {level}", pairs) for level, pairs in found["by_hardness"].items()]
    lines = [f"first:  {found['first']}", f"second: {found['second']}", "", columns(rows, "  ")]
    if found["unpaired"]:
        lines.append(f"\n  left out: {found['unpaired']} questions without a verdict in both")
    for title, verdicts in (("only the second", found["gained"]), ("only the first", found["lost"])):
        if verdicts:
            lines.append(f"\n  right in {title}:")
            lines += [f"    {each['question']}  [{each['db_id']}]"[:118] for each in verdicts[:EXAMPLES]]
    return "\n".join(lines)


def _row(name: str, pairs: Pairs) -> list[str]:
    total = pairs["questions"]
    return [
        name,
        f"{total}",
        percent((pairs["both"] + pairs["first_only"]) / total),
        percent((pairs["both"] + pairs["second_only"]) / total),
        f"{100 * pairs['difference']:+.1f}",
        f"{100 * pairs['low']:+.1f} to {100 * pairs['high']:+.1f}",
        f"{pairs['first_only']}",
        f"{pairs['second_only']}",
        f"{pairs['p']:.2g}",
    ]
