"""The command line of `spider.inference`: one question, or a conversation."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from pathlib import Path

from spider.chat_endpoint import EndpointError
from spider.data import load_environment
from spider.database import rows_execution, without_password
from spider.first_model import hint
from spider.output import show
from spider.signs_of_life import signs_of_life
from spider.trained_agent import Context, Result, TrainedAgent, check_database

logger = logging.getLogger("spider.inference")

TABLE_CHARS = 4_000  # of a result on the terminal
COMMANDS = {
    "/new": "forget the questions before",
    "/db FILE|URL": "ask another database",
    "/schema": "show the database's schema",
    "/help": "show this",
    "/quit": "end (or Ctrl-D)",
}


def run(options: argparse.Namespace) -> int:
    """Answer what was asked; see `spider.inference.main` for the exit codes."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("spider").setLevel(logging.WARNING if options.quiet else logging.INFO)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # a line for each time that a server is asked again
    load_environment()
    question = options.task or options.question
    try:
        if options.interactive == bool(question) or (options.task and options.question):
            raise ValueError('give one question: "How many …?", or --interactive')
        agent = TrainedAgent(
            options.endpoint, options.strategy, model=options.model, max_turns=options.max_turns, debug=options.debug
        )
        agent.db = options.db or os.environ.get("DATABASE_URL") or (found_database(question) if question else None)
        if agent.db is None:
            raise ValueError("no database: give --db FILE, or --db URL")
        check_database(agent.db)
    except (ValueError, OSError) as error:
        logger.error("error: %s", error)
        return 2
    try:
        return converse(agent, options) if options.interactive else ask(agent, question, {}, options)[0]
    except KeyboardInterrupt:
        return 130


def ask(agent: TrainedAgent, question: str, context: Context, options: argparse.Namespace) -> tuple[int, Result | None]:
    """Answer one question and show the answer; the exit code is 0 when there is one."""
    try:
        with signs_of_life("waiting for the model"):
            _, result = agent.execute(question, context)
    except (EndpointError, OSError, ValueError) as error:
        logger.error("error: %s%s", error, hint(error) if isinstance(error, EndpointError) else "")
        return 1, None
    if options.json:
        text = json.dumps({"question": question, **result.as_dict()}, ensure_ascii=False)
    else:
        text = result.answer if options.quiet else shown(result)
    show(text)
    return 0 if result.answered else 1, result


def shown(result: Result) -> str:
    """A result for people: the answer, the table where it says more, the query, and how it came about."""
    lines = [result.answer]
    if len(result.rows) > 1:
        lines += ["", rows_execution(result.columns, result.rows, result.more, TABLE_CHARS).text]
    turns = "1 turn" if result.turns == 1 else f"{result.turns} turns"
    lines += ["", result.sql or "(no query)", "", f"{turns}, {result.verdict}, {result.seconds:.1f} s"]
    if result.turns > 1:
        lines[-1] += f" ({' -> '.join(attempt['outcome'] for attempt in result.attempts)})"
    if result.pattern:
        lines.append(f"questions that went this way were right {result.pattern.right} of {result.pattern.count} times")
    return "\n".join(lines)


def converse(agent: TrainedAgent, options: argparse.Namespace) -> int:
    """Answer question after question. On a terminal, the arrow keys bring back earlier ones, of earlier days too."""
    history: list[tuple[str, str]] = []
    remember_lines()
    logger.info("%s; /help lists the commands", without_password(str(agent.db)))
    code = 0
    while (line := read_line()) is not None:
        command, _, argument = line.partition(" ")
        if command == "/quit":
            break
        if command == "/new":
            history.clear()
        elif command == "/db":
            if changed_database(agent, argument.strip()):
                history.clear()
        elif command == "/schema":
            show(agent.schema(max_chars=TABLE_CHARS))
        elif line.startswith("/"):
            unknown = [] if command == "/help" else [f"no command {command}; there are:"]
            show("\n".join([*unknown, *(f"{name:14} {what}" for name, what in COMMANDS.items())]))
        elif line:
            if not (sys.stdin.isatty() or options.quiet or options.json):
                show(f"> {line}")  # as it stands on a terminal
            code, result = ask(agent, line, {"history": history}, options)
            if result and result.sql:
                history.append((line, result.sql))
    return code


def changed_database(agent: TrainedAgent, db: str) -> bool:
    """Ask another database from now on, if it can be read."""
    try:
        if not db:
            raise ValueError("give a file or a URL: /db my.sqlite")
        check_database(db)
    except (ValueError, OSError) as error:
        logger.error("error: %s", error)
        return False
    agent.db = db
    return True


def read_line() -> str | None:
    """The next line without blanks around it; None at the end."""
    try:
        return (input("> ") if sys.stdin.isatty() else next(sys.stdin)).strip()
    except (EOFError, StopIteration):
        return None


def remember_lines() -> None:
    """Let the arrow keys bring back questions of earlier sessions; without a terminal there is nothing to do."""
    if not sys.stdin.isatty():
        return
    import atexit
    import contextlib
    import readline

    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = state / "spider-sql-agent" / "questions"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        readline.read_history_file(path)
    readline.set_history_length(1000)

    def save() -> None:
        with contextlib.suppress(OSError):
            readline.write_history_file(path)

    atexit.register(save)


def found_database(question: str) -> Path | None:
    """The database of the data folder whose tables and columns share most words with the question; None without one."""
    from spider.data import data_dir
    from spider.data import shown as shown_path
    from spider.schema_text import words_in_common
    from spider.sqlite_schema import read_tables

    def rank(path: Path) -> int:
        try:
            return words_in_common(read_tables(path), question)
        except OSError:
            return 0

    paths = sorted(data_dir().glob("*database/*/*.sqlite"))
    best = max(paths, key=rank, default=None)
    if best is None or not rank(best):
        return None
    logger.info("no --db: asking %s, whose tables fit the question best", shown_path(best))
    return best
