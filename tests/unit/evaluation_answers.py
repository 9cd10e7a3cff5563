"""Answers for the evaluation's tests."""

from dataclasses import replace

from spider.evaluation.records import Answer, Call, Turn

SETTING = "model, context 2048, 3 turns"


def turn(right: bool = True, kind: str = "", said_correct: bool | None = None, query: str = "SELECT 1") -> Turn:
    """A query and its verdict."""
    kind = kind or ("right" if right else "rows:values")
    return {"query": query, "result": "1\n(1 row)", "kind": kind, "right": right, "said_correct": said_correct}


def call(node: str = "write_query", reply: str = "```sql\nSELECT 1\n```") -> Call:
    """A reply."""
    prompt = [{"role": "system", "content": "Careful."}, {"role": "user", "content": f"Question: how many?\n\n{node}"}]
    return {"node": node, "prompt": prompt, "reply": reply, "prompt_tokens": 100, "reply_tokens": 10, "seconds": 0.5}


def answer(number: int = 0, right: bool | None = True, sample: int = 0, **changes: object) -> Answer:
    """An answer of one turn; `right` None for one without a verdict."""
    found = Answer(
        SETTING, number, sample, f"Question {number}?", "pets", f"SELECT {number}", "easy", "SELECT 1", calls=[call()]
    )
    if right is not None:
        found = replace(found, turns=[turn(right)], strict=right, published=right)
    return Answer(**{**vars(found), "seconds": 2.0, **changes})
