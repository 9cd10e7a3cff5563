"""What a preparation found and wrote: as text, and as `prepared.json` in the data folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from spider.model_store import sha256

MANIFEST = "prepared.json"
SHOWN = 6  # databases or queries that a line of the report names


@dataclass(frozen=True)
class SplitReport:
    """A task file: rows in the source, rows written over how many databases, why others were left out."""

    read: int
    written: int
    databases: int
    left_out: dict[str, int]
    without_rows: int
    """Golds among the written ones that give no rows: every query without rows matches them."""


@dataclass
class Report:
    """Everything that was counted."""

    source: str
    splits: dict[str, SplitReport] = field(default_factory=dict)
    databases: dict[str, dict[str, str]] = field(default_factory=dict)
    failing: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Split, database, query and message of golds that can't be used."""
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The report as a table of the task files and a line for each thing that is not as it should be."""
        lines = [f"{'file':<23}{'read':>7}{'written':>9}{'databases':>11}{'no rows':>9}  left out"]
        for name, split in self.splits.items():
            reasons = ", ".join(f"{count} {reason}" for reason, count in split.left_out.items()) or "none"
            counts = f"{split.read:>7}{split.written:>9}{split.databases:>11}{split.without_rows:>9}"
            lines.append(f"{name + '.parquet':<23}{counts}  {reasons}")
        for kind, found in self.databases.items():
            if found:
                names = [f"{name} ({detail})" if detail else name for name, detail in found.items()]
                lines.append(f"databases, {kind}: {len(found)}: {_first(names)}")
        unusable = {(db_id, query): message or "differs each time" for _, db_id, query, message in self.failing}
        messages = [f"{db_id}: {message}" for (db_id, _), message in unusable.items()]
        if messages:
            lines.append(f"golds that can't be used: {len(messages)}: {_first(messages, '; ')}")
        return lines + self.notes


def write_manifest(folder: Path, report: Report, written: Iterable[Path]) -> None:
    """Write the report, and the SHA-256 of every file that was written."""
    files = {path.relative_to(folder).as_posix(): sha256(path) for path in written}
    text = json.dumps({**asdict(report), "files": files}, indent=2, ensure_ascii=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """What `write_manifest` wrote; empty without it or when it can't be read."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _first(names: list[str], separator: str = ", ") -> str:
    more = f"{separator}and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return separator.join(names[:SHOWN]) + more
