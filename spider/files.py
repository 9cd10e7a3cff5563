"""Files that are there whole or not at all, and JSON that says which file is broken."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pydantic import ValidationError

Kind = TypeVar("Kind")


def read_json(path: Path, kind: type[Kind]) -> Kind:
    """What a JSON file holds, checked to be of a kind.

    Args:
        path: The file.
        kind: A type that pydantic can check, for example ``dict[str, object]`` or a model of its own.

    Raises:
        ValueError: it isn't JSON or of another kind; the message names the file.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_json(path.read_bytes())
    except ValidationError as error:
        raise ValueError(f"{path} was damaged or cut off: {first_problem(error)}") from error


def first_problem(error: ValidationError) -> str:
    """The first thing that pydantic found wrong in a file, and where."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    return f"{where}: {first['msg']}"


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, where there is none.

    Raises:
        NotADirectoryError: a file is in the way.
        OSError: it can't be made; the message names the folder and the fix. A full disk keeps its own error.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(f"can't make the folder {path}: a file is in the way; name another folder") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OSError(f"can't make the folder {path}: {error.strerror}; name one that you may write to") from error


def refuse_folder(path: Path) -> None:
    """Refuse to write a file where a folder is.

    Raises:
        IsADirectoryError: a folder is there.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, and a file is to be written: name another, or move it away")


def write_whole(path: Path, text: str) -> None:
    """Write a text in place of what `path` held, whole or not at all, and make its folder where there is none.

    Raises:
        IsADirectoryError: a folder is there.
        OSError: it can't be written; nothing of it is left.
    """
    refuse_folder(path)
    make_folder(path.parent)
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except BaseException:  # Ctrl-C too
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
