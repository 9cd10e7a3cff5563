"""The SQL agent as prompt optimisation runs it: instructions come as resources, every rollout is kept in a file."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import agentlightning as agl
from langchain_core.messages import AIMessage

from spider.agent_graph import SQLAgent, State
from spider.chat_endpoint import ChatEndpoint
from spider.data import database_path
from spider.prompts import Templates
from spider.reward import evaluate_query

NODES = {"write": "write_query", "check": "check_query", "rewrite": "rewrite_query"}
"""Names of the instructions that are optimised, and of the nodes that use them."""


class Journal:
    """A file of rollouts, one JSON object a line, found again by their instructions and their question.

    The lines are those of `spider.verl_bridge.rollout_log`, with ``templates`` (see `version_of`) and ``key``. Several
    processes may add to the file.
    """

    def __init__(self, path: Path) -> None:
        """Read what an earlier session left."""
        self.path = path
        self._read = 0  # bytes
        self._records: dict[str, dict[str, object]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read what was added since; a line that the end of a session cut is passed over."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._read)
            lines = file.read().splitlines(keepends=True)
        for line in lines:
            if not line.endswith(b"\n"):
                break
            self._read += len(line)
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            self._records[record["key"]] = record

    def get(self, key: str) -> Mapping[str, object] | None:
        """The rollout with a key, if the last `refresh` saw one."""
        return self._records.get(key)

    def add(self, record: Mapping[str, object]) -> None:
        """Keep a rollout."""
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
            cut = file.read(1) not in (b"", b"\n")  # the last session ended in the middle of a line
            file.write(b"\n" + line if cut else line)


def version_of(templates: Templates) -> str:
    """A short name of the instructions, by their text."""
    return hashlib.sha256(json.dumps(asdict(templates)).encode()).hexdigest()[:12]


def with_templates(task: Mapping[str, str], templates: Templates) -> dict[str, str]:
    """A task that carries instructions: runners are processes, which nothing else reaches."""
    return {**task, "templates": json.dumps(asdict(templates))}


def key_of(templates: Templates, task: Mapping[str, str]) -> str:
    """A rollout's key: greedy, the same instructions answer the same question the same way."""
    asked = hashlib.sha256(f"{task['db_id']}\n{task['question']}\n{task['query']}".encode()).hexdigest()[:12]
    return f"{version_of(templates)}-{asked}"


@dataclass(frozen=True)
class AgentSettings:
    """How the agent runs: its turns, the characters of schema and of result, and whether the last turn is checked."""

    max_turns: int = 3
    context_chars: int = 2048
    check_last_turn: bool = True


class PromptedSQLAgent(agl.LitAgent[Mapping[str, str]]):
    """Answers a training question with the instructions that the task carries, one of which the resources replace.

    Args:
        endpoint: The model; a `MeteredEndpoint` where a budget holds.
        journal: Where rollouts are kept.
        settings: How the agent runs.
    """

    def __init__(self, endpoint: ChatEndpoint, journal: Journal, settings: AgentSettings) -> None:
        super().__init__()
        self.endpoint = endpoint
        self.journal = journal
        self.settings = settings

    def rollout(self, task: Mapping[str, str], resources: agl.NamedResources, rollout: agl.Rollout) -> float:
        """Answer and keep the rollout; the reward is 1 for the gold query's result, else 0.

        Raises:
            EndpointError: the model's server gave no reply.
            BudgetSpentError: the budget doesn't allow another call.
            GoldError: the gold query fails.
        """
        (name, resource), *_ = resources.items()
        if not isinstance(resource, agl.PromptTemplate):
            raise TypeError(f"the resource {name} is a {type(resource).__name__}, not a PromptTemplate")
        templates = replace(Templates(**json.loads(task["templates"])), **{name: resource.template})
        database = database_path(task["db_id"], "train")
        state = self._solve(task["question"], database, templates)
        reward = evaluate_query(state["query"], task["query"], database)
        turns = turns_of(state)
        self.journal.add(
            {
                "key": key_of(templates, task),
                "templates": version_of(templates),
                "mode": "train",  # the data folder's half that the database lies in
                "question": task["question"],
                "db_id": task["db_id"],
                "gold": task["query"],
                "query": state["query"],
                "turns": turns,
                "reward": reward,
                "calls": len(turns),
            }
        )
        return reward

    def _solve(self, question: str, database: Path, templates: Templates) -> State:
        agent = SQLAgent(
            database,
            max_turns=self.settings.max_turns,
            endpoint=self.endpoint.base_url,
            table_info_truncate=self.settings.context_chars,
            execution_truncate=self.settings.context_chars,
            check_last_turn=self.settings.check_last_turn,
            templates=templates,
        )
        agent.endpoint = self.endpoint
        return agent.answer(question)


def turns_of(state: State) -> list[dict[str, str]]:
    """Every call's node, prompt and reply. The schema stands in the first prompt alone."""
    turns: list[dict[str, str]] = []
    prompt = ""
    for message in state["messages"]:
        text = str(message.content)
        if not isinstance(message, AIMessage):
            prompt = text
            continue
        _, mark, after = prompt.rpartition(f"\n\nQuestion: {state['question']}\n\n")
        if not turns:
            node = NODES["write"]
        elif turns[-1]["node"] == NODES["check"] or "\n\nFeedback:\n" in after:
            node = NODES["rewrite"]
        else:
            node = NODES["check"]
        turns.append({"node": node, "prompt": after if turns and mark else prompt, "text": text})
    return turns


class NoTracer(agl.DummyTracer):
    """Traces nothing: the journal keeps what the optimisation reads."""

    @asynccontextmanager
    async def trace_context(
        self,
        name: str | None = None,
        *,
        store: agl.LightningStore | None = None,
        rollout_id: str | None = None,
        attempt_id: str | None = None,
    ) -> AsyncIterator[None]:
        """Nothing to open or close."""
        yield

    def get_last_trace(self) -> list[agl.Span]:
        """No spans; the runner adds the reward's itself."""
        return []
