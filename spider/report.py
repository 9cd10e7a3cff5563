"""Show what a training run did, while it runs or after: learning curves, rewards, turns, failures and rollouts.

    python -m spider.report outputs/tiny-20261130-010203

It reads the run's own logs and writes ``report/report.html``, one page that needs no other file, and its pictures as
PNG. See docs/report.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import interruptible, positive


def parser() -> argparse.ArgumentParser:
    """The command line's options."""
    options = argparse.ArgumentParser(prog="spider.report", description=(__doc__ or "").partition("\n")[0])
    options.add_argument("run", type=Path, metavar="RUN_DIR", help="folder of the run")
    options.add_argument("--output", type=Path, metavar="FOLDER", help="where to (RUN_DIR/report)")
    options.add_argument(
        "--watch", type=positive, metavar="S", help="write it again every S seconds until the run ends"
    )
    options.add_argument("--quiet", action="store_true", help="say only what goes wrong")
    return options


@interruptible
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = parser().parse_args(arguments)
    from spider.run_report.command import main as run

    return run(options)


if __name__ == "__main__":
    sys.exit(main())
