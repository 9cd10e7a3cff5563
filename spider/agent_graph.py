"""The SQL agent as a LangGraph graph.

START -> write_query -> execute_query -> check_query -> END or rewrite_query -> execute_query

agent = SQLAgent("data/sample/database/library/library.sqlite", endpoint="http://127.0.0.1:8000/v1")
agent.answer("How many books are there?")["answer"]
"""

from __future__ import annotations

import logging
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from spider.chat_endpoint import ChatEndpoint, Completion, EndpointError, endpoint_from_environment
from spider.database import Database, describe, open_database
from spider.outcomes import outcome
from spider.prompts import (
    DEFAULT_TEMPLATES,
    NO_QUERY_FEEDBACK,
    Templates,
    check_messages,
    cut_lines,
    extract_query,
    is_correct,
    reply_text,
    rewrite_messages,
    write_messages,
)

logger = logging.getLogger(__name__)

_PIECES = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|[^\s'\"`\[]+|\S")  # of a query, blanks between
AGENT = "sql_agent"  # where a run's configuration holds its agent

Messages = list[dict[str, str]]


class Attempt(TypedDict):
    """A query that was run, and what became of it: one of `spider.outcomes.OUTCOMES`."""

    query: str
    outcome: str


class State(MessagesState):
    """One question's way through the graph.

    `messages` keeps every prompt and reply, `attempts` every query that was run; `num_turns` counts queries, one that
    repeats its predecessor and so isn't run again included.
    """

    question: str
    query: str
    execution: str
    answer: str
    feedback: str
    num_turns: int
    attempts: Annotated[list[Attempt], operator.add]


class Question(TypedDict):
    """The graph's input."""

    question: str


class Turn(TypedDict):
    """What the nodes after the first read. A node's input goes into its trace: without `messages`, that stays short."""

    question: str
    query: str
    execution: str
    feedback: str
    num_turns: int
    attempts: list[Attempt]


class Update(TypedDict, total=False):
    """The part of `State` that a node changes."""

    query: str
    execution: str
    answer: str
    feedback: str
    num_turns: int
    attempts: list[Attempt]
    messages: list[dict[str, str] | AIMessage]


class SQLAgent:
    """Answers questions over one database, with at most `max_turns` queries (the first one is turn 1).

    `db` is a path or an SQLAlchemy URL; `db_schema` takes the place of the schema read from it. `verl_replacement`
    names the model and its sampling parameters, as a training run does: ``{"model": ..., "temperature": ...}``;
    without it, and without `endpoint`, they come from the environment. The schema and a query's result take at most
    `table_info_truncate` and `execution_truncate` characters of a prompt. With `check_last_turn` off, the checker isn't
    asked about a query that could not be rewritten any more. `templates` takes the place of the usual instructions. A
    query whose outcome is one of `final_outcomes` ends the work: it is neither checked nor rewritten.

    Raises:
        ValueError: no endpoint is set, or the URL of the database can't be used.
    """

    def __init__(
        self,
        db: str | Path,
        max_turns: int = 5,
        debug: bool = False,
        db_schema: str | None = None,
        endpoint: str | None = None,
        verl_replacement: Mapping[str, object] | None = None,
        table_info_truncate: int = 2048,
        execution_truncate: int = 2048,
        check_last_turn: bool = True,
        templates: Templates = DEFAULT_TEMPLATES,
        final_outcomes: Collection[str] = (),
    ) -> None:
        """Open nothing yet but check what was given."""
        self.database: Database = open_database(db)
        self.max_turns = max_turns
        self.debug = debug
        self.db_schema = db_schema
        self.table_info_truncate = table_info_truncate
        self.execution_truncate = execution_truncate
        self.check_last_turn = check_last_turn
        self.templates = templates
        self.final_outcomes = frozenset(final_outcomes)
        sampling = dict(verl_replacement or {})
        model = sampling.pop("model", None)
        found = endpoint_from_environment(endpoint, str(model) if model else None)
        api_key = sampling.pop("api_key", None) or found.api_key
        self.endpoint = ChatEndpoint(found.base_url, found.model, sampling, str(api_key))

    def graph(self) -> CompiledStateGraph[State, None, Question, State]:
        """The compiled graph; its input is ``{"question": ...}``."""
        return _compiled_graph().with_config(configurable={AGENT: self})

    def answer(self, question: str, callbacks: Sequence[BaseCallbackHandler] = ()) -> State:
        """What the graph ends with: as ``graph().invoke(...)``, without a copy of the graph and every step's update.

        Raises:
            EndpointError: no reply.
        """
        config = RunnableConfig(callbacks=list(callbacks), configurable={AGENT: self})
        return State(**_compiled_graph().invoke({"question": question}, config, version="v2").value)

    def write(self, state: Question) -> Update:
        """Turn 1: ask for a query."""
        prompt, reply = self._ask(
            "write_query",
            lambda share: write_messages(
                state["question"], self._schema(state, share), self.database.dialect, self.templates
            ),
        )
        return {"query": extract_query(reply.text), "num_turns": 1, "messages": [*prompt, reply]}

    def execute(self, state: Turn) -> Update:
        """Run the query."""
        execution = self.database.execute(state["query"], self.execution_truncate)
        self._log("execution", execution.text)
        attempt = Attempt(query=state["query"], outcome=outcome(execution))
        return {"execution": execution.text, "answer": describe(execution), "attempts": [attempt]}

    def check(self, state: Turn) -> tuple[Update, bool]:
        """Ask whether the query answers the question; the second value is whether the work is done."""
        last = state["num_turns"] >= self.max_turns
        if state["attempts"][-1]["outcome"] in self.final_outcomes:
            return {"feedback": ""}, True
        if not state["query"]:
            return {"feedback": NO_QUERY_FEEDBACK}, last
        if last and not self.check_last_turn:
            return {"feedback": ""}, True
        prompt, reply = self._ask(
            "check_query",
            lambda share: check_messages(
                state["question"],
                self._schema(state, share),
                state["query"],
                cut_lines(state["execution"], int(self.execution_truncate * share)),
                self.database.dialect,
                self.templates,
            ),
        )
        return {"feedback": reply.text, "messages": [*prompt, reply]}, last or is_correct(reply.text)

    def rewrite(self, state: Turn) -> tuple[Update, bool]:
        """Ask for a better query; the second value is whether it is the same one again."""
        prompt, reply = self._ask(
            "rewrite_query",
            lambda share: rewrite_messages(
                state["question"],
                self._schema(state, share),
                state["query"],
                cut_lines(state["execution"], int(self.execution_truncate * share)),
                cut_lines(state["feedback"], int(self.execution_truncate * share)),
                self.database.dialect,
                self.templates,
            ),
        )
        query = extract_query(reply.text)
        repeated = _PIECES.findall(query) == _PIECES.findall(state["query"])
        return {"query": query, "num_turns": state["num_turns"] + 1, "messages": [*prompt, reply]}, repeated

    def _schema(self, state: Question | Turn, share: float) -> str:
        """The schema text, in a `share` of its usual room."""
        room = int(self.table_info_truncate * share)
        if self.db_schema is not None:
            return cut_lines(self.db_schema, room)
        return self.database.schema(state["question"], room)

    def _ask(self, node: str, prompt: Callable[[float], Messages]) -> tuple[Messages, AIMessage]:
        """The prompt that was sent and the reply, in the name of the node that asks.

        A prompt that is too long is sent once more, with half the room.

        Raises:
            EndpointError: no reply.
        """
        messages = prompt(1.0)
        try:
            completion = self.endpoint.complete(messages)
        except EndpointError as error:
            if error.reason != "prompt_too_long":
                raise
            logger.info("the prompt is too long (%s): trying again with half the schema and result", error)
            messages = prompt(0.5)
            completion = self.endpoint.complete(messages)
        for message in messages:
            self._log(message["role"], message["content"])
        reply = reply_text(completion.content)
        self._log("reply", reply)
        return messages, AIMessage(reply, name=node, usage_metadata=_usage(completion))

    def _log(self, what: str, text: str) -> None:
        if self.debug:
            logger.info("%s:\n%s", what, text)


def _usage(completion: Completion) -> UsageMetadata | None:
    """Tokens of a call, where the server counts them."""
    asked, given = (completion.usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
    if asked is None or given is None:
        return None
    return UsageMetadata(input_tokens=asked, output_tokens=given, total_tokens=asked + given)


def _agent(config: RunnableConfig) -> SQLAgent:
    return config.get("configurable", {})[AGENT]


def _write_query(state: Question, config: RunnableConfig) -> Update:
    return _agent(config).write(state)


def _execute_query(state: Turn, config: RunnableConfig) -> Update:
    return _agent(config).execute(state)


def _check_query(state: Turn, config: RunnableConfig) -> Command[Literal["rewrite_query", "__end__"]]:
    update, done = _agent(config).check(state)
    following: Literal["rewrite_query", "__end__"] = "__end__" if done else "rewrite_query"
    return Command(update=dict(update), goto=following)


def _rewrite_query(state: Turn, config: RunnableConfig) -> Command[Literal["execute_query", "__end__"]]:
    update, repeated = _agent(config).rewrite(state)
    following: Literal["execute_query", "__end__"] = "__end__" if repeated else "execute_query"
    return Command(update=dict(update), goto=following)


@lru_cache(maxsize=1)
def _compiled_graph() -> CompiledStateGraph[State, None, Question, State]:
    """Compiled once a process: it takes longer than a rollout's own work."""
    builder = StateGraph(State, input_schema=Question)
    builder.add_node("write_query", _write_query)
    builder.add_node("execute_query", _execute_query)
    builder.add_node("check_query", _check_query)
    builder.add_node("rewrite_query", _rewrite_query)
    builder.add_edge(START, "write_query")
    builder.add_edge("write_query", "execute_query")
    builder.add_edge("execute_query", "check_query")
    return builder.compile()
