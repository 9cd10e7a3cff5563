"""Ask a database questions.

    python -m spider.inference --db my.sqlite "Which authors have written more than three books?"
    python -m spider.inference --db postgresql://reader@host/shop --interactive
    python inference.py --strategy optimized_strategy.json --model NAME --task "…"     # inside spider/

Any OpenAI-compatible server answers; its address comes from --endpoint or `.env`. Nothing is ever written to the
database. See docs/inference.md; the same as a library:

    from spider.inference import TrainedAgent
    sql, result = TrainedAgent("http://127.0.0.1:8000/v1", db="my.sqlite").execute("How many books are there?")
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

from spider.arguments import interruptible

if TYPE_CHECKING:
    from spider.trained_agent import Result, TrainedAgent

__all__ = ["Result", "TrainedAgent", "main"]


def __getattr__(name: str) -> object:
    """The library's classes, imported when they are asked for: LangGraph takes seconds."""
    if name not in ("Result", "TrainedAgent"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("spider.trained_agent"), name)


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    options = argparse.ArgumentParser(prog="inference", description="Ask a database questions.")
    options.add_argument("question", nargs="?", help="the question")
    options.add_argument("--task", metavar="QUESTION", help="the question, as an option")
    options.add_argument(
        "--db",
        metavar="FILE|URL",
        help="SQLite file, or URL of PostgreSQL or MySQL (DATABASE_URL; else by the question)",
    )
    options.add_argument("--endpoint", metavar="URL", help="the model server's base URL (OPENAI_BASE_URL of .env)")
    options.add_argument("--model", metavar="NAME", help="the model's name there (MODEL of .env, or the first served)")
    options.add_argument("--strategy", metavar="FILE", help="instructions and rules from spider.export_strategy")
    options.add_argument(
        "--max-turns", type=int, metavar="N", help="queries a question may take (the strategy's, or 3)"
    )
    options.add_argument("--interactive", action="store_true", help="ask on and on; each question sees the ones before")
    options.add_argument("--json", action="store_true", help="one JSON object a question, with columns and rows")
    options.add_argument("--quiet", action="store_true", help="the answer alone")
    options.add_argument("--debug", action="store_true", help="show every prompt and reply")
    return options


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line: 0 when the question was answered, 1 when not, 2 for a request that makes no sense."""
    options = parser().parse_args(arguments)
    from spider.inference_cli import run

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
