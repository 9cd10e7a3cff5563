"""Prepare Spider for training, check a data folder, or describe it.

    .venv/bin/python scripts/prepare_data.py spider_data.zip     # Spider's zip, the folder it unpacks to, or the bundle
    .venv/bin/python scripts/prepare_data.py --download          # fetch the ready-made bundle first
    .venv/bin/python scripts/prepare_data.py --verify [FOLDER]   # is a data folder sound?
    .venv/bin/python scripts/prepare_data.py --describe [FOLDER] # rows, hardness, databases, token lengths, histogram

The folder written is data/, where training looks for it. Questions that can't be scored (their database is missing or
empty, or their gold query fails) are left out and counted in a report, which stays in prepared.json. Without FOLDER,
--verify and --describe take the folder that training would take.
"""

import argparse
import errno
import logging
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import duration, interruptible
from spider.data import ROOT, data_dir, load_environment, shown
from spider.data_preparation.bundle import BUNDLE, Bundle, fetch_bundle
from spider.data_preparation.source import SourceError, open_source
from spider.download import DownloadError
from spider.output import OutputHandler

logger = logging.getLogger("prepare_data")


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", type=Path, help="Spider's zip or folder; the data folder to check")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--download", action="store_true", help="fetch the bundle, then prepare it")
    action.add_argument("--verify", action="store_true", help="check a data folder; exit code 1 when it is not sound")
    action.add_argument("--describe", action="store_true", help="say what is in a data folder and draw a histogram")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "data", metavar="DIR", help="data folder to write (default: data/)"
    )
    parser.add_argument("--force", action="store_true", help="write over task files that came from elsewhere")
    parser.add_argument("--url", default=BUNDLE.url, help="where --download finds the bundle")
    parser.add_argument("--sha256", help="its SHA-256 (default: the known bundle's; none for another --url)")
    parser.add_argument("--size", type=int, help="its size in bytes, if known")
    parser.add_argument("--seconds", type=duration, default=10.0, help="time limit of one gold query (default: 10)")
    parser.add_argument("--tokenizer", type=Path, metavar="DIR", help="model folder whose tokens --describe counts")
    parser.add_argument("--png", type=Path, metavar="FILE", help="--describe's histogram (default: outputs/NAME.png)")
    parser.add_argument("--quiet", action="store_true", help="show errors and what is wrong with the data alone")
    options = parser.parse_args(argv)
    if not (options.source or options.download or options.verify or options.describe):
        parser.error("give Spider's zip or folder, --download, --verify or --describe")
    if options.download and options.source:
        parser.error("--download fetches the source: don't give one")
    return options


def prepare_command(options: argparse.Namespace) -> int:
    """Fetch the bundle if asked to, and write the data folder."""
    from spider.data_preparation.prepare import prepare, refuse_to_overwrite

    output = options.output.expanduser().resolve()
    source = options.source
    if options.download:
        refuse_to_overwrite(output, options.force)
        known = options.sha256 or (BUNDLE.sha256 if options.url == BUNDLE.url else None)
        source = fetch_bundle(Bundle(options.url, known, options.size), output / ".cache", options.quiet)
    started = time.monotonic()
    opened = open_source(source.expanduser())
    report = prepare(opened, output, source.name, force=options.force, seconds=options.seconds, quiet=options.quiet)
    for line in report.lines():
        logger.info("%s", line)
    logger.info("%s is ready, from %s in %.0f s", shown(output), shown(source), time.monotonic() - started)
    return 0


def verify_command(options: argparse.Namespace) -> int:
    """Check a data folder; 1 when it is not sound."""
    from spider.data_preparation.verify import verify

    folder = options.source or data_dir()
    problems, remarks = verify(folder, options.seconds, options.quiet)
    for remark in remarks:
        logger.info("%s", remark)
    for problem in problems:
        logger.error("%s", problem)
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    logger.info("%s: %s", shown(folder), f"{count}; prepare the folder again" if problems else "sound")
    return 1 if problems else 0


def describe_command(options: argparse.Namespace) -> int:
    """Say what is in a data folder and draw its histogram."""
    from spider.data_preparation.describe import describe, draw, find_tokenizer

    folder = (options.source or data_dir()).resolve()
    description = describe(folder, find_tokenizer(options.tokenizer), options.quiet)
    png = options.png or ROOT / "outputs" / f"{folder.name}.png"
    draw(description, png)
    for line in description.lines():
        logger.info("%s", line)
    logger.info("histogram: %s", shown(png))
    return 0


@interruptible
def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = parse_args(argv)
    load_environment()
    level = logging.ERROR if options.quiet else logging.INFO
    logging.basicConfig(level=level, format="%(message)s", handlers=[OutputHandler()])
    for library in ("httpx", "matplotlib"):  # a line a request; a line when the font cache is made
        logging.getLogger(library).setLevel(logging.ERROR)
    command = verify_command if options.verify else describe_command if options.describe else prepare_command
    try:
        return command(options)
    except (SourceError, DownloadError, OSError, ValueError) as error:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        logger.error("prepare_data: %s%s", error, ": free some disk space, then run again" if full else "")
        return 1
    except KeyboardInterrupt:
        logger.error("prepare_data: interrupted; run it again to go on")
        return 130


if __name__ == "__main__":
    sys.exit(main())
