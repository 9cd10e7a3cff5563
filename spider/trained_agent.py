"""A trained model and its strategy, as a library: `TrainedAgent(...).execute(question) -> (sql, result)`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypedDict

from langchain_core.messages import AIMessage

from spider.agent_graph import Attempt, SQLAgent, State
from spider.chat_endpoint import ChatEndpoint, endpoint_from_environment
from spider.database import Execution, RecordingDatabase, SQLiteDatabase, cell_text, open_database, without_password
from spider.first_model import first_model
from spider.prompts import DEFAULT_TEMPLATES, is_correct
from spider.strategy.schema import End, InteractionPattern, load_strategy

MAX_TURNS = 3
MAX_TOKENS = 1024  # of one reply, unless `sampling` says otherwise
HISTORY = 3  # earlier questions that a prompt shows

_VERDICTS: Mapping[End, str] = {
    "accepted": "found correct",
    "out_of_turns": "not found correct",
    "repeated": "not found correct, written again unchanged",
    "final_outcome": "not checked, as the strategy says",
}


class Context(TypedDict, total=False):
    """What a question is asked in: another database, notes on the data, and earlier questions with their SQL."""

    db: str | Path
    notes: str
    history: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Result:
    """What a question brought.

    Attributes:
        answer: The result in words.
        sql: The query; empty when the model wrote none.
        outcome: One of `spider.outcomes.OUTCOMES`; ``rows`` and ``no_rows`` are results.
        columns: Names of the result's columns.
        rows: The result's rows, at most 10,000.
        more: Whether there were more rows than these.
        turns: Queries that the model wrote.
        end: Why it ended: ``accepted`` by the checker, ``out_of_turns``, a query ``repeated``, or a ``final_outcome``.
        attempts: Every query that was run, with its outcome.
        tokens: Tokens of all calls, as far as the server counts them.
        seconds: Wall-clock seconds.
        pattern: How often questions that went the same way were right in the strategy's runs, if any did.
    """

    answer: str
    sql: str
    outcome: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    more: bool
    turns: int
    end: End
    attempts: tuple[Attempt, ...]
    tokens: int
    seconds: float
    pattern: InteractionPattern | None = None

    @property
    def answered(self) -> bool:
        """Whether the last query gave a result."""
        return self.outcome in ("rows", "no_rows")

    @property
    def verdict(self) -> str:
        """What the agent itself says of its query."""
        return _VERDICTS[self.end]

    def as_dict(self) -> dict[str, object]:
        """For JSON. Values that JSON doesn't know are given as text."""
        pattern = self.pattern
        return {
            "answer": self.answer,
            "sql": self.sql,
            "answered": self.answered,
            "outcome": self.outcome,
            "columns": list(self.columns),
            "rows": [[_json_value(value) for value in row] for row in self.rows],
            "more": self.more,
            "turns": self.turns,
            "end": self.end,
            "attempts": [dict(attempt) for attempt in self.attempts],
            "tokens": self.tokens,
            "seconds": round(self.seconds, 3),
            "measured": {"right": pattern.right, "of": pattern.count} if pattern else None,
        }


class TrainedAgent:
    """Asks a model for SQL and runs it, read-only.

    Args:
        model_endpoint: Base URL of an OpenAI-compatible server; `OPENAI_BASE_URL` where not given.
        strategy_file: What `python -m spider.export_strategy` wrote.
        model: The model's name there; `MODEL`, or else the first one served.
        db: Path of a SQLite file, or URL of a PostgreSQL or MySQL database; a context may name another one.
        max_turns: Queries a question may take; the strategy's `max_attempts`, or 3.
        sampling: Request parameters; greedy, with at most `MAX_TOKENS` a reply, where they don't say otherwise.
        debug: Whether to log every prompt and reply.

    Raises:
        ValueError: no endpoint is set, or the strategy file can't be used.
    """

    def __init__(
        self,
        model_endpoint: str | None = None,
        strategy_file: str | Path | None = None,
        *,
        model: str | None = None,
        db: str | Path | None = None,
        max_turns: int | None = None,
        sampling: Mapping[str, object] | None = None,
        debug: bool = False,
    ) -> None:
        if max_turns is not None and max_turns < 1:
            raise ValueError(f"the number of turns is {max_turns}: give 1 or more")
        self.strategy = load_strategy(strategy_file) if strategy_file else None
        rules = self.strategy.decision_rules if self.strategy else None
        self.max_turns = max_turns or (rules.max_attempts if rules else MAX_TURNS)
        self.db = db
        self.debug = debug
        self.sampling = {"temperature": 0.0, "max_completion_tokens": MAX_TOKENS, **(sampling or {})}
        self._final_outcomes = rules.final_outcomes if rules else frozenset[str]()
        self._templates = self.strategy.prompt_templates.templates() if self.strategy else DEFAULT_TEMPLATES
        self._found = endpoint_from_environment(model_endpoint, model)

    @cached_property
    def endpoint(self) -> ChatEndpoint:
        """The server and the model's name there, which is asked for once.

        Raises:
            EndpointError: the server doesn't answer, or serves no model.
        """
        found = self._found
        return found if found.model else replace(found, model=first_model(found))

    def execute(self, task: str, context: Context | str | None = None) -> tuple[str, Result]:
        """Answer a question: the query, and what it gave. A `context` that is text is notes on the data.

        Raises:
            EndpointError: the model's server gave no reply.
            OSError: the database can't be read.
            ValueError: no database is named, or its URL can't be used.
        """
        given: Context = {"notes": context} if isinstance(context, str) else context or {}
        db = given.get("db") or self.db
        if not db:
            raise ValueError("no database: give TrainedAgent(db=...), or execute(task, {'db': ...})")
        if not task.strip():
            raise ValueError("the question is empty")
        started = time.monotonic()
        agent = self._agent(db)
        database = agent.database = RecordingDatabase(agent.database)
        state = agent.answer(in_context(task.strip(), given))
        last = database.executions[-1] if database.executions else Execution("empty_query", "")
        result = self._result(state, last, time.monotonic() - started)
        return result.sql, result

    def schema(self, max_chars: int = 2048) -> str:
        """The schema text of the agent's own database.

        Raises:
            OSError: it can't be read.
            ValueError: none is named, or its URL can't be used.
        """
        if not self.db:
            raise ValueError("no database: give TrainedAgent(db=...)")
        return open_database(self.db).schema("", max_chars)

    def _agent(self, db: str | Path) -> SQLAgent:
        found = self.endpoint
        return SQLAgent(
            db,
            max_turns=self.max_turns,
            debug=self.debug,
            endpoint=found.base_url,
            verl_replacement={**self.sampling, "model": found.model, "api_key": found.api_key},
            templates=self._templates,
            final_outcomes=self._final_outcomes,
        )

    def _result(self, state: State, last: Execution, seconds: float) -> Result:
        attempts = state["attempts"]
        outcomes = tuple(attempt["outcome"] for attempt in attempts)
        end = ended(state, self._final_outcomes)
        usages = (message.usage_metadata for message in state["messages"] if isinstance(message, AIMessage))
        return Result(
            answer=state["answer"],
            sql=state["query"],
            outcome=outcomes[-1],
            columns=last.columns,
            rows=last.rows,
            more=last.more,
            turns=state["num_turns"],
            end=end,
            attempts=tuple(attempts),
            tokens=sum(usage["total_tokens"] for usage in usages if usage),
            seconds=seconds,
            pattern=self.strategy.pattern(outcomes, end) if self.strategy else None,
        )


def ended(state: State, final_outcomes: frozenset[str]) -> End:
    """Why the graph ended."""
    if state["num_turns"] > len(state["attempts"]):
        return "repeated"
    if state["attempts"][-1]["outcome"] in final_outcomes:
        return "final_outcome"
    return "accepted" if is_correct(state["feedback"]) else "out_of_turns"


def in_context(question: str, context: Context) -> str:
    """The question with its notes and the questions before it, in the words that take the question's place."""
    parts = [context.get("notes", "").strip()]
    history = list(context.get("history", ()))[-HISTORY:]
    if history:
        earlier = "\n".join(f"- {asked}\n  {' '.join(sql.split())}" for asked, sql in history)
        parts.append(f"Earlier questions and their queries:\n{earlier}")
    before = "\n\n".join(part for part in parts if part)
    return f"{before}\n\nQuestion: {question}" if before else question


def check_database(db: str | Path) -> None:
    """Look whether a database can be read.

    Raises:
        OSError: it can't.
        ValueError: its URL can't be used, it has no tables, or changes that wouldn't be seen.
    """
    database = open_database(db)
    if isinstance(database, SQLiteDatabase):
        if not database.path.is_file():
            raise FileNotFoundError(f"no file {db}: give a SQLite file, or a URL such as postgresql://user@host/name")
        log = Path(f"{database.path}-wal")
        if log.is_file() and log.stat().st_size > 0:
            raise ValueError(
                f"{db} has changes that are still in its write-ahead log, which isn't read: close the program that "
                f"writes it, or give a copy (sqlite3 {db} '.backup copy.sqlite')"
            )
    if not database.schema():
        raise ValueError(f"{without_password(str(db))} has no tables: is it the database that you mean?")


def _json_value(value: object) -> object:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and value - value == 0:
        return value
    return cell_text(value)
