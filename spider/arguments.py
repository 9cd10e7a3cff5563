"""What several commands' lines share: types of arguments, and how they end early."""

import argparse
import functools
import math
import sys
from collections.abc import Callable
from typing import ParamSpec

from spider.output import written_out

Arguments = ParamSpec("Arguments")

INTERRUPTED = 130


def interruptible(main: Callable[Arguments, int]) -> Callable[Arguments, int]:
    """A command whose exit code is 130 after Ctrl-C, wherever that finds it: its imports take seconds.

    It is 141 when the reader of its output has gone away, and 1 under a Python that lacks a package.
    """

    @functools.wraps(main)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> int:
        try:
            with written_out():
                return main(*args, **kwargs)
        except KeyboardInterrupt:
            return INTERRUPTED
        except ModuleNotFoundError as error:
            if (error.name or "spider").startswith("spider"):  # a mistake of this program, not of the set-up
                raise
            sys.exit(
                f"error: {sys.executable} lacks the package {error.name}: set .venv up with `bash scripts/setup.sh`, "
                "then run this with .venv/bin/python"
            )

    return run


def positive(text: str) -> int:
    """A whole number from 1 on.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"give a whole number from 1 on, not {text!r}")
    return int(text)


def duration(text: str) -> float:
    """A time above zero.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not 0 < float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"give seconds, more than 0, not {text!r}")
    return float(text)


def gibibytes(text: str) -> float:
    """An amount of memory above zero.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not 0 < float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"give GiB, more than 0, not {text!r}")
    return float(text)


def temperature(text: str) -> float:
    """A sampling temperature; 0 is greedy.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not 0 <= float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"give 0 or more, not {text!r}")
    return float(text)


def positives(text: str) -> list[int]:
    """Whole numbers from 1 on, with commas between.

    Raises:
        argparse.ArgumentTypeError: One of them is none.
    """
    return [positive(part) for part in text.split(",")]
