"""Learning curves of several runs in one picture and one table.

    python -m benchmarks.learning_curves NAME=RUN_FOLDER [NAME=RUN_FOLDER ...] --output docs/results/spider

writes ``docs/results/spider.png`` and ``docs/results/spider.csv``: each run's ``progress.csv``, with its name in front.
"""

from __future__ import annotations

import argparse
import csv
import logging
import sys
from pathlib import Path

from spider.evaluation.plots import new_figure

logger = logging.getLogger("benchmarks.learning_curves")

Rows = list[dict[str, str]]


def main(arguments: list[str] | None = None) -> int:
    """Write the picture and the table; 1 when a run has no progress file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN_FOLDER", help="a run's folder, and its name in the legend")
    parser.add_argument("--output", type=Path, required=True, metavar="STEM", help="path of the results, no suffix")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    runs: dict[str, Rows] = {}
    for run in options.runs:
        name, separator, folder = run.partition("=")
        if not separator:
            parser.error(f"{run} is not NAME=RUN_FOLDER")
        try:
            runs[name] = list(csv.DictReader((Path(folder) / "progress.csv").read_text("utf-8").splitlines()))
        except OSError as error:
            logger.error("error: no run is in %s: %s", folder, error)
            return 1
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_table(runs, options.output.with_name(f"{options.output.name}.csv"))
    draw(runs, options.output.with_name(f"{options.output.name}.png"))
    for name, rows in runs.items():
        points = accuracies(rows)
        if points:
            (_, first), (last_step, last) = points[0], points[-1]
            logger.info("%s: %.3f -> %.3f (%+.3f) in %d steps", name, first, last, last - first, last_step)
    return 0


def accuracies(rows: Rows) -> list[tuple[int, float]]:
    """The steps that were validated, and the share of right answers."""
    return [(int(row["step"]), float(row["validation_accuracy"])) for row in rows if row["validation_accuracy"]]


def write_table(runs: dict[str, Rows], path: Path) -> None:
    """All rows of all runs."""
    columns = list(dict.fromkeys(column for rows in runs.values() for row in rows for column in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["run", *columns], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows({"run": name, **row} for name, rows in runs.items() for row in rows)


def draw(runs: dict[str, Rows], path: Path) -> None:
    """Validation accuracy by step, a line each run."""
    figure, axes = new_figure(7.0, 4.0)
    for name, rows in runs.items():
        points = accuracies(rows)
        axes.plot([step for step, _ in points], [value for _, value in points], "o-", label=name)
    axes.set_xlabel("step")
    axes.set_ylabel("validation accuracy (greedy)")
    axes.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
