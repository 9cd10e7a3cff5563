"""One question: the agent's rollout, every query's verdict, and what it took."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spider.chat_endpoint import EndpointError
from spider.database import Execution, RecordingDatabase, rows_execution
from spider.evaluation.kinds import kind_of
from spider.evaluation.records import Answer, Call, Setting, Turn
from spider.spider_eval.exec_eval import DEFAULT_LIMITS, eval_exec_match, reference_exec_match
from spider.spider_eval.gold import GoldError, gold_cache
from spider.spider_eval.hardness import hardness

if TYPE_CHECKING:
    from spider.agent_graph import SQLAgent, Update
    from spider.chat_endpoint import ChatEndpoint
    from spider.sandbox import Rows

GOLD_FAILED = "gold_failed"
DATABASE_FAILED = "database_failed"
SHOWN_CHARS = 1_500  # of a result

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Question:
    """A question of a task file: `number` is its row there, `database` the SQLite file."""

    number: int
    text: str
    db_id: str
    gold: str
    database: Path

    @property
    def hardness(self) -> str:
        """Spider's level of the gold query, or ``unknown`` when sqlglot can't parse it."""
        try:
            return hardness(self.gold)
        except ValueError:
            return "unknown"


class Rollout:
    """What the agent did so far, taken from its graph's updates."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.said_correct: dict[int, bool] = {}
        self.calls: list[Call] = []

    def take(self, node: str, update: Update, seconds: float) -> None:
        """Take in what a node changed."""
        from langchain_core.messages import AIMessage

        from spider.prompts import is_correct

        if "query" in update:
            self.queries.append(update["query"])
        messages = update.get("messages", [])
        replies = [message for message in messages if isinstance(message, AIMessage)]
        for reply in replies:
            usage = reply.usage_metadata
            self.calls.append(
                {
                    "node": node,
                    "prompt": [message for message in messages if isinstance(message, dict)],
                    "reply": reply.text,
                    "prompt_tokens": usage["input_tokens"] if usage else 0,
                    "reply_tokens": usage["output_tokens"] if usage else 0,
                    "seconds": seconds,
                }
            )
        if node == "check_query" and replies:
            self.said_correct[len(self.queries) - 1] = is_correct(replies[-1].text)


def answer(question: Question, setting: Setting, sample: int, endpoint: ChatEndpoint) -> Answer:
    """Ask one question. Whatever goes wrong is in the answer; nothing is raised."""
    started = time.monotonic()
    found = Answer(
        setting.name, question.number, sample, question.text, question.db_id, question.gold, question.hardness
    )
    fields: dict[str, object] = {}
    rollout = Rollout()
    try:
        gold = gold_cache.get(question.database, question.gold, DEFAULT_LIMITS).as_written.result
        fields["gold_result"] = rows_execution(gold.columns, gold.rows, gold.truncated, SHOWN_CHARS).text
        agent = _agent(question, setting, endpoint)
        database = agent.database = RecordingDatabase(agent.database)
        for node, update, seconds in _updates(agent, question.text):
            rollout.take(node, update, seconds)
        turns = _turns(question, rollout, database.executions, gold)
        fields |= {"query": turns[-1]["query"], "turns": turns, "strict": turns[-1]["right"]}
        fields["published"] = bool(reference_exec_match(question.database, turns[-1]["query"], question.gold))
    except EndpointError as error:
        fields |= {"failure": error.reason, "detail": str(error)}
    except GoldError as error:
        fields |= {"failure": GOLD_FAILED, "detail": str(error)}
    except OSError as error:
        fields |= {"failure": DATABASE_FAILED, "detail": str(error)}
    except Exception as error:
        logger.exception("question %d: %s", question.number, question.text)
        fields |= {"failure": type(error).__name__, "detail": str(error)}
    if fields.get("failure"):
        fields |= {"strict": None, "published": None}
    return _replaced(found, fields | {"calls": rollout.calls, "seconds": time.monotonic() - started})


def _replaced(found: Answer, fields: Mapping[str, object]) -> Answer:
    return Answer(**{**vars(found), **fields})


def _agent(question: Question, setting: Setting, endpoint: ChatEndpoint) -> SQLAgent:
    from spider.agent_graph import SQLAgent

    return SQLAgent(
        question.database,
        max_turns=setting.max_turns,
        endpoint=endpoint.base_url,
        verl_replacement={**endpoint.sampling, "model": endpoint.model, "api_key": endpoint.api_key},
        table_info_truncate=setting.context,
        execution_truncate=setting.context,
        check_last_turn=False,  # it can't change the answer
    )


def _updates(agent: SQLAgent, question: str) -> Iterator[tuple[str, Update, float]]:
    """Each node's changes, in order, and the seconds since the last ones."""
    last = time.monotonic()
    for chunk in agent.graph().stream({"question": question}, stream_mode="updates"):
        now = time.monotonic()
        for node, update in chunk.items():
            yield node, update or {}, now - last
        last = now


def _turns(question: Question, rollout: Rollout, executions: list[Execution], gold: Rows) -> list[Turn]:
    """Every query with its verdict. One that the agent gave twice in a row was run once, and has one verdict."""
    turns: list[Turn] = []
    for number, query in enumerate(rollout.queries):
        said = rollout.said_correct.get(number)
        if number >= len(executions):
            turns.append({**turns[-1], "query": query, "said_correct": said})
            continue
        right = bool(eval_exec_match(question.database, query, question.gold))
        execution = executions[number]
        kind = kind_of(execution, gold, right)
        text = execution.text[:SHOWN_CHARS]
        turns.append({"query": query, "result": text, "kind": kind, "right": right, "said_correct": said})
    return turns
