"""An evaluation as one HTML page that needs no other file: figures, tables, and all that was said on each question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from spider.evaluation.kinds import DESCRIPTIONS
from spider.evaluation.plots import data_uri, figures
from spider.evaluation.records import Answer
from spider.evaluation.summary import Summary
from spider.evaluation.table import percent

if TYPE_CHECKING:
    from jinja2 import Environment


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates, escaping whatever they are given."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=ChoiceLoader([PackageLoader("spider.evaluation"), PackageLoader("spider.run_report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["percent"] = percent
    return found


def embedded(value: object) -> str:
    """JSON that can stand in a script element: no text in it can close the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def evaluation_page(
    title: str, facts: Mapping[str, str], summaries: Sequence[Summary], answers: Mapping[str, Sequence[Answer]]
) -> str:
    """The page.

    Args:
        title: Its heading.
        facts: What was evaluated, in names and values.
        summaries: The settings in numbers.
        answers: The answers, by setting.
    """
    drawn = {name: data_uri(figure) for name, figure in figures(summaries, answers).items()}
    rows = [table_row(answer) for each in answers.values() for answer in each]
    return (
        environment()
        .get_template("evaluation.html")
        .render(
            title=title,
            refresh=None,
            facts=facts,
            summaries=summaries,
            figures=drawn,
            descriptions=DESCRIPTIONS,
            rows=embedded(rows),
            count=len(rows),
        )
    )


def table_row(answer: Answer) -> dict[str, Any]:
    """What the page keeps of an answer. A later prompt's beginning that the first one has too is left out."""
    first = _prompt_text(answer.calls[0]["prompt"]) if answer.calls else ""
    calls: list[dict[str, Any]] = []
    for call in answer.calls:
        prompt = _prompt_text(call["prompt"])
        calls.append(
            {
                "node": call["node"],
                "prompt": prompt if call is answer.calls[0] else _after_common(first, prompt),
                "reply": call["reply"],
                "tokens": f"{call['prompt_tokens']} + {call['reply_tokens']} tokens, {call['seconds']:.1f} s",
            }
        )
    verdict = "failed" if answer.strict is None else "right" if answer.strict else "wrong"
    return {
        "setting": answer.setting,
        "number": answer.number,
        "sample": answer.sample,
        "question": answer.question,
        "db": answer.db_id,
        "hardness": answer.hardness,
        "verdict": verdict,
        "published": answer.published,
        "kind": answer.failure or answer.kind,
        "detail": answer.detail,
        "query": answer.query,
        "gold": answer.gold,
        "result": answer.turns[-1]["result"] if answer.turns else "",
        "goldResult": answer.gold_result,
        "turns": answer.turns,
        "calls": calls,
        "seconds": round(answer.seconds, 2),
    }


def _prompt_text(prompt: Sequence[Mapping[str, str]]) -> str:
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in prompt)


def _after_common(first: str, prompt: str) -> str:
    """The prompt from the first line on that differs."""
    ours, theirs = first.split("\n"), prompt.split("\n")
    same = next(
        (at for at, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs))
    )
    return "\n".join(["(begins as the first prompt)", *theirs[same:]]) if same else prompt
