"""An evaluation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spider.evaluation.summary import Share, Summary, failure_text

LINE = 118  # characters


def columns(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Rows of cells under each other, the first column to the left, the others to the right."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(indent + "  ".join([row[0].ljust(widths[0]), *rest]))
    return "\n".join(line.rstrip() for line in lines)


def percent(value: float | None) -> str:
    """A share in percent, with one digit."""
    return "-" if value is None else f"{100 * value:.1f} %"


def share_cells(share: Share) -> list[str]:
    """Questions, accuracy and its interval."""
    if share["accuracy"] is None:
        return ["0", "-", "-"]
    return [
        f"{share['questions']}",
        percent(share["accuracy"]),
        f"{100 * share['low']:.1f} to {100 * share['high']:.1f}",
    ]


def summary_table(summary: Summary) -> str:
    """Everything about one setting."""
    samples = f", {summary['samples']} samples each" if summary["samples"] > 1 else ""
    parts = [f"{summary['setting']}: {summary['questions']} questions{samples}"]
    rows = [["", "questions", "accuracy", "95 % interval"]]
    rows.append(["strict", *share_cells(summary["strict"])])
    rows += [[f"  {name}", *share_cells(each)] for name, each in summary["by_hardness"].items()]
    rows.append(["published rule", *share_cells(summary["published"])])
    parts.append(columns(rows, "  "))
    if summary["by_turn"]:
        rows = [["", "questions", "accuracy", "95 % interval", "reached"]]
        rows += [
            [f"after turn {each['turn']}", *share_cells(each), f"{each['reached']}"] for each in summary["by_turn"]
        ]
        parts.append(columns(rows, "  "))
    parts.append(columns([["database", "questions", "accuracy", "95 % interval"], *_databases(summary)], "  "))
    if summary["samples"] > 1:
        parts.append("  " + ", ".join(f"pass@{k} {percent(value)}" for k, value in summary["pass_at_k"].items()))
    parts.append(_kinds_table(summary))
    parts.append(_cost_lines(summary))
    return "\n\n".join(part for part in parts if part)


def _databases(summary: Summary, shown: int = 12) -> list[list[str]]:
    """The databases, worst first; beyond `shown` of them, the report has the rest."""
    ordered = sorted(summary["by_database"].items(), key=lambda item: item[1]["accuracy"] or 0.0)
    rows = [[name, *share_cells(each)] for name, each in ordered[:shown]]
    return rows + ([[f"… {len(ordered) - shown} more in the report", "", "", ""]] if len(ordered) > shown else [])


def _kinds_table(summary: Summary) -> str:
    if not summary["kinds"]:
        return ""
    rows = [["wrong answers", "count"], *([kind, f"{each['count']}"] for kind, each in summary["kinds"].items())]
    examples = ["for example", *(each["examples"][0]["question"] for each in summary["kinds"].values())]
    lines = columns(rows).split("\n")
    return "\n".join(f"  {line}  {example}"[:LINE] for line, example in zip(lines, examples, strict=True))


def _cost_lines(summary: Summary) -> str:
    cost, checker = summary["cost"], summary["checker"]
    lines = [
        f"  per answer: {cost['calls']:.1f} calls, {cost['prompt_tokens']:.0f} + {cost['reply_tokens']:.0f} tokens, "
        f"{cost['seconds']:.1f} s (median {cost['seconds_median']:.1f}, 95 % under {cost['seconds_95']:.1f}); "
        f"{cost['total_tokens']} tokens in all"
    ]
    if any(checker.values()):
        lines.append(
            f"  checker: found {checker['wrong_said_incorrect']} of "
            f"{checker['wrong_said_incorrect'] + checker['wrong_said_correct']} wrong queries, doubted "
            f"{checker['right_said_incorrect']} of {checker['right_said_incorrect'] + checker['right_said_correct']} "
            "right ones"
        )
    lines.append(f"  without a verdict: {failure_text(summary['failures'])} (of {summary['answers']} answers)")
    lines += [f"    first {reason}: {detail}"[:200] for reason, detail in summary["failure_details"].items() if detail]
    return "\n".join(lines)


def joined(tables: Iterable[str]) -> str:
    """Several tables, apart from each other."""
    return "\n\n\n".join(tables)
