"""Files that are there whole or not at all."""

from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text in place of what `path` held, whole or not at all, and make its folder where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
