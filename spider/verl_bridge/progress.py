"""What a person sees of a run: progress bar, a line per step, and the summary with its learning curve."""

import contextlib
import csv
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from tqdm import tqdm

from spider.verl_bridge.stats import RolloutStats

logger = logging.getLogger(__name__)

COLUMNS: tuple[str, ...] = (
    "step",
    "reward",
    "validation_accuracy",
    "rows",
    "dropped",
    "mixed_groups",
    "generation_seconds",
    "old_log_prob_seconds",
    "update_seconds",
    "sync_seconds",
    "step_seconds",
    "probability_difference",
    "probability_correlation",
    "elapsed_seconds",
)

_VERL_NAMES = {
    "generation_seconds": "timing_s/gen",
    "old_log_prob_seconds": "timing_s/old_log_prob",
    "update_seconds": "timing_s/update_actor",
    "sync_seconds": "timing_s/update_weights",
    "step_seconds": "timing_s/step",
    "probability_difference": "training/rollout_probs_diff_mean",
    "probability_correlation": "training/rollout_actor_probs_pearson_corr",
}


class Progress:
    """Reports a run and keeps its numbers in ``progress.csv``.

    Args:
        output_dir: Folder of the run.
        stream: Where the progress bar goes, a terminal's standard error as a rule.
    """

    def __init__(self, output_dir: Path, stream: TextIO) -> None:
        self.output_dir = output_dir
        self.accuracies: dict[int, float] = {}
        self._rows: list[dict[str, float]] = []
        self._stream = stream
        self._started = time.monotonic()
        self._bar: tqdm | None = None
        self._path = output_dir / "progress.csv"

    def restore(self, step: int | None) -> None:
        """Take up what an earlier run in this folder recorded up to `step`, and forget what it did after.

        Args:
            step: Step of the checkpoint that this run continues from; None when it starts anew, and all is forgotten.
        """
        self._rows = [row for row in _recorded(self._path) if step is not None and row["step"] <= step]
        self.accuracies = {
            int(row["step"]): row["validation_accuracy"] for row in self._rows if "validation_accuracy" in row
        }
        self._started -= max((row.get("elapsed_seconds", 0.0) for row in self._rows), default=0.0)
        part = self._path.with_suffix(".csv.part")
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=COLUMNS, restval="")
            writer.writeheader()
            writer.writerows(_written(row) for row in self._rows)
        part.replace(self._path)

    def begin(self, done: int, total: int) -> None:
        """Show the bar of a run that has `done` of `total` steps behind it, if the stream is a terminal."""
        self._bar = tqdm(
            total=total,
            initial=done,
            desc="training",
            unit="step",
            file=self._stream,
            dynamic_ncols=True,
            disable=None,
        )

    def validation(self, step: int, stats: RolloutStats) -> None:
        """Report a validation after `step` steps."""
        is_new = step not in self.accuracies
        self.accuracies[step] = stats.mean_reward
        logger.info(
            "validation after step %d: accuracy %.3f on %d questions, %.1f calls each, dropped: %s",
            step,
            stats.mean_reward,
            stats.rollouts,
            stats.calls / max(stats.rollouts, 1),
            stats.dropped_text(),
        )
        if is_new:
            self._record({"step": float(step), "validation_accuracy": stats.mean_reward})

    def step(self, step: int, metrics: Mapping[str, float], stats: RolloutStats) -> None:
        """Report a finished step from verl's metrics and the rollouts' numbers."""
        values = {name: float(metrics[key]) for name, key in _VERL_NAMES.items() if key in metrics}
        logger.info(
            "step %d: reward %.3f, rows %d, dropped: %s, mixed groups %d of %d, generation %.1f s, update %.1f s, "
            "sync %.1f s, probability difference %.1e",
            step,
            stats.mean_reward,
            stats.rows,
            stats.dropped_text(),
            stats.mixed_groups,
            stats.groups,
            values.get("generation_seconds", 0.0),
            values.get("update_seconds", 0.0),
            values.get("sync_seconds", 0.0),
            values.get("probability_difference", float("nan")),
        )
        self._record(
            values
            | {
                "step": float(step),
                "reward": stats.mean_reward,
                "rows": float(stats.rows),
                "dropped": float(stats.dropped.total()),
                "mixed_groups": stats.mixed_groups / max(stats.groups, 1),
            }
        )
        if self._bar is not None:
            self._bar.update(1)
            last = next(reversed(self.accuracies.values()), None)
            postfix = {"reward": f"{stats.mean_reward:.3f}"}
            self._bar.set_postfix(postfix | ({} if last is None else {"validation": f"{last:.3f}"}))

    def close(self) -> None:
        """Take the bar down."""
        if self._bar is not None:
            self._bar.close()

    def summary(self, checkpoint: Path | None) -> None:
        """Report what the run did and draw its learning curve."""
        steps = sum("reward" in row for row in self._rows)
        logger.info("%s in %.0f s", "1 step" if steps == 1 else f"{steps} steps", time.monotonic() - self._started)
        if self.accuracies:
            first, last = min(self.accuracies), max(self.accuracies)
            logger.info(
                "validation accuracy %.3f before (step %d), %.3f after (step %d)",
                self.accuracies[first],
                first,
                self.accuracies[last],
                last,
            )
        logger.info("checkpoint: %s", checkpoint or "none (trainer.save_freq is off)")
        logger.info("learning curve: %s", self._draw())

    def _record(self, values: dict[str, float]) -> None:
        self._rows.append(values | {"elapsed_seconds": time.monotonic() - self._started})
        is_new = not self._path.exists()
        with self._path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=COLUMNS, restval="")
            if is_new:
                writer.writeheader()
            writer.writerow(_written(self._rows[-1]))

    def _draw(self) -> Path:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.add_subplot(xlabel="step", ylabel="share of right answers", ylim=(0, 1))
        rewards = [(row["step"], row["reward"]) for row in self._rows if "reward" in row]
        if rewards:
            axes.plot(*zip(*rewards, strict=True), color="0.7", label="training reward")
        if self.accuracies:
            axes.plot(list(self.accuracies), list(self.accuracies.values()), "o-", label="validation accuracy (greedy)")
        if rewards or self.accuracies:
            axes.legend()
        path = self.output_dir / "learning_curve.png"
        figure.savefig(path, dpi=120)
        return path


def _written(row: Mapping[str, float]) -> dict[str, str]:
    return {name: f"{value:.6g}" for name, value in row.items()}


def _recorded(path: Path) -> list[dict[str, float]]:
    """Read the rows that `Progress` wrote; a last one that a killed run left unfinished is not among them."""
    if not path.is_file():
        return []
    rows: list[dict[str, float]] = []
    with path.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            with contextlib.suppress(TypeError, ValueError):
                row = {name: float(line[name]) for name in COLUMNS if line.get(name)}
                # The last column is the last that is written.
                if "step" in row and "elapsed_seconds" in row:
                    rows.append(row)
    return rows
