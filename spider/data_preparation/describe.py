"""What is in a data folder: rows, hardness, databases, tables and token lengths, as text and as a histogram."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles
from typing import TYPE_CHECKING

from spider.data import ROOT, load_tasks
from spider.data_preparation.databases import look_into
from spider.files import make_folder
from spider.spider_eval.hardness import LEVELS, hardness

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SAMPLED = 500  # questions of a file whose lengths are measured, spread evenly over it
SCHEMA_CHARS = 2048  # as in the published recipe
PARTS = ("question", "gold query", "write prompt")
COLOURS = ("#4477aa", "#ccbb44", "#ee6677", "#aa3377")


@dataclass(frozen=True)
class Split:
    """A task file; `lengths` are those of `PARTS`, in tokens or, without a tokenizer, in characters."""

    name: str
    rows: int
    databases: int
    levels: Counter[str]
    lengths: dict[str, list[int]]


@dataclass(frozen=True)
class Description:
    """A data folder. `databases` maps a folder of databases to its totals, `unit` says what lengths count."""

    folder: Path
    splits: list[Split]
    databases: dict[str, dict[str, int]]
    unit: str

    def lines(self) -> list[str]:
        """The description as tables."""
        lines = [f"{'file':<16}{'rows':>7}{'databases':>11}" + "".join(f"{level:>8}" for level in (*LEVELS, "other"))]
        for split in self.splits:
            levels = "".join(f"{split.levels[level]:>8}" for level in (*LEVELS, "other"))
            lines.append(f"{split.name:<16}{split.rows:>7}{split.databases:>11}{levels}")
        names = ("databases", "tables", "columns", "rows")
        lines += ["", f"{'folder':<16}" + "".join(f"{name:>11}" for name in names)]
        for folder, counts in self.databases.items():
            lines.append(f"{folder:<16}" + "".join(f"{counts[name]:>11}" for name in names))
        lines += ["", f"lengths in {self.unit}; up to {SAMPLED} questions a file, schema of {SCHEMA_CHARS} characters"]
        lines.append(f"{'file':<16}{'part':<14}" + "".join(f"{name:>8}" for name in ("mean", "p50", "p95", "max")))
        for split in self.splits:
            for part in PARTS:
                lines.append(f"{split.name:<16}{part:<14}" + "".join(f"{n:>8}" for n in spread(split.lengths[part])))
        return lines


def describe(folder: Path, tokenizer: Path | None, quiet: bool = False) -> Description:
    """Read a data folder.

    Args:
        folder: The data folder.
        tokenizer: A model's folder with `tokenizer.json`; without one, lengths are in characters.
        quiet: Whether to show no progress bar.

    Raises:
        FileNotFoundError: it holds no task files, or a database is missing.
        ValueError: a task file or the tokenizer can't be read.
    """
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise FileNotFoundError(
            f"no task files in {folder}: prepare them with scripts/prepare_data.py ZIP or --download"
        )
    counter = load_tokenizer(tokenizer) if tokenizer else None
    splits = [describe_split(file, counter, quiet) for file in files]
    databases = {
        name: database_totals(folder / name) for name in ("database", "test_database") if (folder / name).is_dir()
    }
    return Description(folder, splits, databases, f"tokens of {tokenizer.name}" if tokenizer else "characters")


def describe_split(file: Path, tokenizer: Tokenizer | None, quiet: bool) -> Split:
    """Read a task file."""
    from tqdm import tqdm

    from spider.database import open_database
    from spider.prompts import write_messages

    tasks = load_tasks(file)
    texts: dict[str, list[str]] = {part: [] for part in PARTS}
    step = max(1, -(-len(tasks) // SAMPLED))
    for task in tqdm(tasks[::step], file.stem, unit="question", disable=quiet or not sys.stderr.isatty()):
        schema = open_database(file.parent / task["db_path"]).schema(task["question"], SCHEMA_CHARS)
        prompt = "\n".join(message["content"] for message in write_messages(task["question"], schema))
        for part, text in zip(PARTS, (task["question"], task["query"], prompt), strict=True):
            texts[part].append(text)
    lengths = {part: measured(found, tokenizer) for part, found in texts.items()}
    levels = Counter(level_of(task["query"]) for task in tasks)
    return Split(file.stem, len(tasks), len({task["db_id"] for task in tasks}), levels, lengths)


def level_of(query: str) -> str:
    """A query's hardness; `other` for one that is not a plain SELECT."""
    try:
        return hardness(query)
    except ValueError:
        return "other"


def measured(texts: Sequence[str], tokenizer: Tokenizer | None) -> list[int]:
    """The length of each text."""
    if tokenizer is None:
        return [len(text) for text in texts]
    return [len(encoding.ids) for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)]


def spread(lengths: Sequence[int]) -> tuple[int, int, int, int]:
    """Mean, median, 95th percentile and maximum, rounded."""
    if len(lengths) < 2:  # no quantiles
        only = lengths[0] if lengths else 0
        return only, only, only, only
    cuts = quantiles(lengths, n=20, method="inclusive")
    return round(mean(lengths)), round(cuts[9]), round(cuts[18]), max(lengths)


def database_totals(folder: Path) -> dict[str, int]:
    """Databases, tables, columns and rows below a folder of databases."""
    found = [look_into(path) for path in sorted(folder.glob("*/*.sqlite"))]
    return {
        "databases": len(found),
        "tables": sum(len(contents.tables) for contents in found),
        "columns": sum(contents.columns for contents in found),
        "rows": sum(contents.rows for contents in found),
    }


def find_tokenizer(folder: Path | None) -> Path | None:
    """The folder that was asked for, else the first model in model/ with a tokenizer; None without any."""
    if folder is not None:
        return folder
    found = sorted(ROOT.glob("model/[!.]*/tokenizer.json"))
    return found[0].parent if found else None


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a model's folder.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it can't be read.
    """
    from tokenizers import Tokenizer

    file = folder / "tokenizer.json"
    if not file.is_file():
        raise FileNotFoundError(f"no {file}: give --tokenizer a model's folder, see scripts/get_model.py")
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more specific
        raise ValueError(f"{file} is no tokenizer: {error}") from error


def draw(description: Description, path: Path) -> None:
    """Draw prompt lengths and hardness of every task file, as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    lengths, levels = figure.subplots(1, 2, width_ratios=(3, 2))
    longest = max((max(split.lengths["write prompt"], default=0) for split in description.splits), default=0)
    for split in description.splits:
        found = split.lengths["write prompt"]
        lengths.hist(
            found,
            bins=40,
            range=(0, longest + 1),
            weights=[100 / len(found)] * len(found),
            histtype="step",
            linewidth=1.6,
            label=f"{split.name} ({split.rows})",
        )
    lengths.set(xlabel=f"write prompt, {description.unit}", ylabel="questions, %", title="prompt lengths")
    lengths.legend(frameon=False)
    names = [split.name for split in description.splits]
    bottoms = [0.0] * len(names)
    for level, colour in zip(LEVELS, COLOURS, strict=True):
        shares = [100 * split.levels[level] / split.rows for split in description.splits]
        levels.barh(names, shares, left=bottoms, color=colour, label=level)
        bottoms = [bottom + share for bottom, share in zip(bottoms, shares, strict=True)]
    levels.set(xlabel="questions, %", title="hardness", xlim=(0, 100))
    levels.invert_yaxis()
    levels.legend(frameon=False, ncols=4, loc="lower center", bbox_to_anchor=(0.5, -0.32))
    for axes in (lengths, levels):
        axes.spines[["top", "right"]].set_visible(False)
    make_folder(path.parent)
    figure.savefig(path, dpi=110)
