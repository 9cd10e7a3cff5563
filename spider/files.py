"""Files that are there whole or not at all, and JSON that says which file is broken."""

import json
from pathlib import Path
from typing import Any


def read_json(path: Path) -> Any:  # noqa: ANN401 (what the file holds)
    """What a JSON file holds.

    Raises:
        ValueError: it isn't JSON; the message names the file.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON, it was damaged or cut off: {error}") from error


def write_whole(path: Path, text: str) -> None:
    """Write a text in place of what `path` held, whole or not at all, and make its folder where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
