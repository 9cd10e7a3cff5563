"""A run's rollouts as text, one JSON object a line in ``rollouts.jsonl``: what `spider.report` shows of them.

    {"run": 1795998446, "step": 3, "mode": "train", "uid": "…", "question": "…", "db_id": "pets", "gold": "SELECT …",
     "query": "SELECT …", "turns": [{"node": "write_query", "text": "…"}], "reward": 1.0, "calls": 2, "dropped": null,
     "detail": ""}

`run` is when the run was started or resumed (seconds), `step` the step whose batch it was (for a validation, how many
steps came before), `mode` ``train`` or ``val``, `uid` the question's group, `query` the last one that the agent wrote.
Past `max_bytes` texts are left out (``turns`` and ``query`` are null), the numbers go on.
"""

import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from agentlightning.adapter import TracerTraceToTriplet

from spider.prompts import extract_query

if TYPE_CHECKING:
    from agentlightning import Span

    from spider.verl_bridge.rows import SessionResult
    from spider.verl_bridge.transfer import Partition, Prompt

FILE = "rollouts.jsonl"
MAX_BYTES = 256_000_000
TEXT_CHARS = 4_000  # of one reply

logger = logging.getLogger(__name__)

_every_node = TracerTraceToTriplet(agent_match=".*")


class CallText(TypedDict):
    """One reply, and the graph's node that asked for it."""

    node: str
    text: str


def call_texts(spans: "Sequence[Span]") -> list[CallText]:
    """The replies of one rollout, in call order, each cut to `TEXT_CHARS` characters."""
    texts: list[CallText] = []
    for triplet in _every_node.adapt(list(spans)):
        content = triplet.response.get("raw_content") or []
        choices = list(content.values()) if isinstance(content, dict) else content
        text = str((choices[0] or {}).get("content") or "") if choices else ""
        texts.append({"node": str(triplet.metadata.get("agent_name", "")), "text": text[:TEXT_CHARS]})
    return texts


def last_query(texts: Sequence[CallText]) -> str:
    """The query of the last reply that was asked for one."""
    written = [call["text"] for call in texts if "write" in call["node"]]
    return extract_query(written[-1]) if written else ""


class RolloutLog:
    """Appends rollouts to a file. Not for more than one thread at a time.

    Args:
        path: The file.
        max_bytes: Size from which on texts are left out.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._run = int(time.time())
        self._size = path.stat().st_size if path.exists() else 0

    def add_group(self, prompt: "Prompt", sessions: "Sequence[SessionResult]", mode: "Partition") -> None:
        """Write one question's rollouts. A full disk must not end a training run: it is logged, once."""
        task = prompt.fields.get("task")
        task = task if isinstance(task, dict) else {}
        common = {"run": self._run, "step": prompt.global_step, "mode": mode, "uid": prompt.uid}
        common |= {"question": task.get("question"), "db_id": task.get("db_id"), "gold": task.get("query")}
        lines: list[str] = []
        for session in sessions:
            kept = self._size < self._max_bytes
            record = common | {
                "query": last_query(session.texts) if kept else None,
                "turns": session.texts if kept else None,
                "reward": session.reward,
                "calls": session.calls,
                "dropped": session.dropped,
                "detail": session.detail[:TEXT_CHARS],
            }
            lines.append(json.dumps(record, ensure_ascii=False) + "\n")
            self._size += len(lines[-1].encode())
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write("".join(lines))
        except OSError as error:
            if self._max_bytes:
                logger.warning("rollouts are not recorded from now on: %s: %s", self._path, error)
            self._max_bytes = 0
