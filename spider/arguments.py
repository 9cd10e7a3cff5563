"""Types of command-line arguments that several commands share."""

import argparse


def positive(text: str) -> int:
    """A whole number from 1 on.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"give a whole number from 1 on, not {text!r}")
    return int(text)


def positives(text: str) -> list[int]:
    """Whole numbers from 1 on, with commas between.

    Raises:
        argparse.ArgumentTypeError: One of them is none.
    """
    return [positive(part) for part in text.split(",")]
