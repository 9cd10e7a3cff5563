"""Model folders that are either complete and verified or not there at all.

A model is built in a hidden folder beside its final place and renamed into it as the last step, so an interrupted
build never looks like a finished one. A marker file records what the model was made from and the hash of every file.

A folder that isn't the model is built again where nothing can be lost: it was made from the same origin, and its files
are those of its marker, cut short or missing at most. Any other folder may be someone's work, and is left alone.
"""

import fcntl
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from spider.data import shown
from spider.files import make_folder

MARKER = "made_from.json"
ORIGIN = ("gguf", "repo", "path", "checkpoint", "shards")
"""What of a recipe says which model it is; the rest is how it is made, and may change."""

logger = logging.getLogger(__name__)

Recipe = Mapping[str, str | None]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file as lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_folder(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below `folder`, by its path relative to it; the marker itself is left out."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MARKER)
    return {path.relative_to(folder).as_posix(): sha256(path) for path in files}


def recipe_of(folder: Path) -> dict[str, str | None]:
    """What a folder was made from, as its marker says; empty for a folder without a readable marker."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    recipe = marker.get("recipe") if isinstance(marker, dict) else None
    return recipe if isinstance(recipe, dict) else {}


def problem_with(folder: Path, recipe: Recipe) -> str | None:
    """Say why `folder` is not the finished model that `recipe` describes; None when it is."""
    if not folder.is_dir():
        return "not there yet"
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return f"it has no {MARKER}"
    except ValueError:
        return f"its {MARKER} can't be read"
    if not isinstance(marker, dict) or marker.get("recipe") != dict(recipe):
        return "it was made from something else"
    recorded, found = marker.get("files"), hash_folder(folder)
    if not isinstance(recorded, dict):
        return f"its {MARKER} lists no files"
    changed = sorted(name for name in recorded.keys() | found.keys() if recorded.get(name) != found.get(name))
    return f"damaged or changed: {', '.join(changed)}" if changed else None


def loss_by_building(folder: Path, recipe: Recipe) -> str | None:
    """Say what would be lost if `folder` were built again by `recipe`; None when nothing would."""
    if not folder.exists():
        return None
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        before, recorded, sizes = dict(marker["recipe"]), dict(marker["files"]), dict(marker.get("sizes", {}))
    except (OSError, ValueError, KeyError, TypeError):
        return f"it has no {MARKER} that can be read"
    if any(before.get(name) != recipe.get(name) for name in ORIGIN):
        origins = (str(before[name]) for name in ("repo", "path", "checkpoint", "source") if before.get(name))
        return f"it was made from {next(origins, 'something else')}"
    for name, found in hash_folder(folder).items():
        if found != recorded.get(name) and (folder / name).stat().st_size >= sizes.get(name, 0):
            return f"{name} was changed" if name in recorded else f"{name} was added"
    return None


def without_weights(folder: Path) -> str | None:
    """Say what a Hugging Face folder lacks for its model to be loaded: config or weights; None when it has both."""
    try:
        json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "no config.json"
    except ValueError:
        return "its config.json is not JSON"
    for kind in ("safetensors", "bin"):
        listed: set[str] = set()
        for index in folder.glob(f"*.{kind}.index.json"):
            try:
                listed |= set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            except (ValueError, KeyError, TypeError, AttributeError):
                return f"its {index.name} lists no weights"
        if missing := sorted(name for name in listed if not (folder / name).is_file()):
            return f"{len(missing)} of {len(listed)} weight files are missing: {missing[0]}"
        if listed or any(folder.glob(f"*model*.{kind}")):
            break
    else:
        return "no weights (model.safetensors)"
    return None


def incomplete(folder: Path) -> str | None:
    """Say what a Hugging Face model folder lacks to be used: config, weights or tokenizer; None when it has all."""
    if problem := without_weights(folder):
        return problem
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt")):
        return "no tokenizer (tokenizer.json or tokenizer.model)"
    return None


def ensure_model(
    folder: Path, recipe: Recipe, build: Callable[[Path], Mapping[str, str] | None], *, resumable: bool = False
) -> bool:
    """Make `folder` the model that `recipe` describes.

    Args:
        folder: where the model belongs.
        recipe: everything that decides the result, such as source, version and hashes; kept in the marker.
        build: writes the model's files into the folder it is given; what it returns is kept in the marker too.
        resumable: whether `build` goes on with what an interrupted build left, so that the folder is not emptied.

    Returns:
        True when the model was built, False when it was there already.

    Raises:
        FileExistsError: `folder` holds something else that building would lose; it is left alone.
    """
    with locked(folder.parent / f".{folder.name}.lock"):
        problem = problem_with(folder, recipe)
        if problem is None:
            return False
        if loss := loss_by_building(folder, recipe):
            raise FileExistsError(
                f"{folder} is not the model that belongs there ({loss}) and is left as it is: "
                "move or delete it, then run again"
            )
        logger.info("Building %s: %s", shown(folder), problem)
        partial = folder.with_name(f".{folder.name}.partial")
        if not resumable:
            shutil.rmtree(partial, ignore_errors=True)
        make_folder(partial)
        try:
            notes = build(partial) or {}
            files = hash_folder(partial)
            sizes = {name: (partial / name).stat().st_size for name in files}
            marker = {"recipe": dict(recipe), **notes, "files": files, "sizes": sizes}
            (partial / MARKER).write_text(json.dumps(marker, indent=2) + "\n", encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)
        finally:
            if not resumable:
                shutil.rmtree(partial, ignore_errors=True)
    return True


def ensure_file(path: Path, expected_sha256: str, fetch: Callable[[Path], None]) -> None:
    """Make `path` a file with the expected hash, calling `fetch` with a temporary path only when it is not.

    Raises:
        ValueError: what `fetch` brought has another hash; nothing is left behind.
    """
    if path.is_file():
        if sha256(path) == expected_sha256:
            return
        logger.warning("%s is damaged or incomplete: fetching it again", path)
    make_folder(path.parent)
    partial = path.with_name(f".{path.name}.partial")
    try:
        fetch(partial)
        found = sha256(partial)
        if found != expected_sha256:
            raise ValueError(f"{path.name} has SHA-256 {found} instead of {expected_sha256}: try again later")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`, so that of two builds at once the second waits and finds the work done.

    The file is gone afterwards, whatever happened within.

    Raises:
        OSError: its folder can't be made or written to; the message names the fix.
    """
    make_folder(path.parent)
    while True:
        try:
            file = path.open("w")
        except OSError as error:
            raise OSError(f"can't write in {path.parent}: {error.strerror}; name another folder") from error
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_at(file, path):
                continue  # its holder removed it while this one waited: whoever comes now locks another file
            try:
                yield
            finally:
                path.unlink(missing_ok=True)  # while it is locked, so that it is no one else's
            return


def _is_at(file: TextIO, path: Path) -> bool:
    """Whether an open file is still the one that has the name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
