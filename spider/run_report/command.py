"""The command line's work: `spider.report` parses, this reads a run and writes its page and pictures."""

from __future__ import annotations

import argparse
import logging
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from spider.evaluation.page import embedded, environment
from spider.evaluation.plots import data_uri
from spider.files import make_folder, write_whole
from spider.run_report.figures import run_figures
from spider.run_report.reading import NoRunError, RunLog, read_run
from spider.run_report.samples import pairs, training_samples
from spider.verl_bridge.run_folder import is_held

if TYPE_CHECKING:
    from matplotlib.figure import Figure

logger = logging.getLogger("spider.report")


def main(options: argparse.Namespace) -> int:
    """Write the report, again and again with `--watch` until the run ends; 0, 2 for a folder without a run, or 130."""
    from spider.run_logging import TerminalHandler

    logging.basicConfig(level=logging.WARNING, handlers=[TerminalHandler()], force=True)
    logging.getLogger("spider").setLevel(logging.WARNING if options.quiet else logging.INFO)
    output: Path = options.output or options.run / "report"
    try:
        while True:
            run = read_run(options.run)
            ended = run.has_ended or not is_held(options.run)
            page = write_report(run, output, None if ended else options.watch)
            logger.info("%s (%s)", page, run.state)
            if options.watch is None or ended:
                return 0
            time.sleep(options.watch)
    except (NoRunError, OSError) as error:
        logger.error("error: %s", error)
        return 2
    except KeyboardInterrupt:
        return 130


def write_report(run: RunLog, output: Path, refresh: int | None = None) -> Path:
    """Write ``report.html`` and a PNG for each picture, and return the page's path.

    Args:
        run: What the run's folder holds.
        output: Folder to write to.
        refresh: Seconds after which a browser loads the page again; None for never.
    """
    make_folder(output)
    figures = run_figures(run)
    for title, figure in figures.items():
        figure.savefig(output / f"{file_name(title)}.png", dpi=120)
    page = output / "report.html"
    write_whole(page, render(run, figures, refresh))
    return page


def render(run: RunLog, figures: dict[str, Figure], refresh: int | None = None) -> str:
    """The page."""
    change, validated = pairs(run)
    trained = training_samples(run)
    return (
        environment()
        .get_template("run.html")
        .render(
            title=f"Training run {run.folder.resolve().name}",
            facts=facts(run),
            refresh=refresh,
            change=change,
            figures={title: data_uri(figure) for title, figure in figures.items()},
            rows=embedded([*validated, *trained]),
            count=len(validated) + len(trained),
            trained=len(trained),
            trained_all=len(run.of_mode("train")),
        )
    )


def facts(run: RunLog) -> dict[str, str]:
    """What the head of the page says of a run."""
    steps = [row for row in run.progress if "reward" in row]
    validations = [row for row in run.progress if "validation_accuracy" in row]
    found = {"folder": str(run.folder), "state": run.state or "unknown"}
    if run.started:
        found["started with"] = run.started
    if steps:
        found["steps"] = f"{len(steps)}, the last one with reward {steps[-1]['reward']:.3f}"
    if validations:
        first, last = validations[0], validations[-1]
        points = [first] if first is last else [first, last]
        found["validation"] = ", ".join(
            f"{row['validation_accuracy']:.3f} after step {row['step']:.0f}" for row in points
        )
    if run.progress and "elapsed_seconds" in run.progress[-1]:
        found["time"] = f"{run.progress[-1]['elapsed_seconds'] / 60:.0f} minutes until the last row of progress.csv"
    found["written"] = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return found


def file_name(title: str) -> str:
    """A picture's file name, from its title."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")
