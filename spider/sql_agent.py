"""Try the SQL agent on the first questions of a data set, against any OpenAI-compatible server.

    python -m spider.sql_agent [--split dev] [--limit 10] [--endpoint URL] [--model NAME] [--debug]

Inside `spider/`, `python sql_agent.py` is the same. The agent's own classes are to be had from here:
`from spider.sql_agent import LitSQLAgent, SQLAgent`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import interruptible, positive

if TYPE_CHECKING:
    from spider.agent_graph import SQLAgent, State
    from spider.lit_agent import LitSQLAgent

__all__ = ["LitSQLAgent", "SQLAgent", "State", "main"]

# LangGraph and agentlightning take seconds to import: the classes are fetched when they are asked for.
_HOMES = {"LitSQLAgent": "spider.lit_agent", "SQLAgent": "spider.agent_graph", "State": "spider.agent_graph"}


def __getattr__(name: str) -> object:
    """The agent's classes, by the name that users know them by."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    options = argparse.ArgumentParser(prog="sql_agent.py", description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--split", choices=("dev", "dev_500", "train"), default="dev", help="which questions (dev)")
    options.add_argument("--limit", type=positive, default=10, metavar="N", help="the first N of them (10)")
    options.add_argument("--endpoint", metavar="URL", help="the server's base URL (OPENAI_BASE_URL of .env)")
    options.add_argument("--model", metavar="NAME", help="the model's name there (MODEL of .env, or the first served)")
    options.add_argument("--strategy", metavar="FILE", help="instructions and rules from spider.export_strategy")
    options.add_argument("--max-turns", type=positive, metavar="N", help="queries a question (the strategy's, or 3)")
    options.add_argument("--quiet", action="store_true", help="the table at the end alone, and what goes wrong")
    options.add_argument("--debug", action="store_true", help="show every prompt and reply")
    return options


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code is 0 unless nothing worked, 130 after Ctrl-C."""
    options = parser().parse_args(arguments)
    from spider.agent_cli import run

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
