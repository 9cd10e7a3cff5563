"""Models of a hub: which of a repository's files make the model, fetched one by one, each checked against the hub."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

from spider.data import shown
from spider.download import DownloadError, git_blob_sha1, in_units, require_space
from spider.model_store import ensure_model, incomplete, recipe_of, sha256

BESIDE_WEIGHTS = ("*.json", "*.jinja", "*.model", "*.txt", "*.md", "LICENSE*", "NOTICE*")
WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")  # the first that some file matches

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class HubFile:
    """A file as the hub lists it: size in bytes; hashes in lower-case hex, where the hub gives them."""

    path: str
    size: int
    sha256: str | None = None
    git_sha1: str | None = None

    def matches(self, path: Path) -> bool:
        """Whether a local file has this size and hash."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        if self.sha256:
            return sha256(path) == self.sha256
        return self.git_sha1 is None or git_blob_sha1(path) == self.git_sha1


@dataclass(frozen=True)
class Listing:
    """A repository at one commit."""

    commit: str
    files: Sequence[HubFile]


class Hub(Protocol):
    """A place that serves model repositories. Every failure is a `DownloadError` that names the remedy."""

    source: str

    def listing(self, repo: str, revision: str | None) -> Listing:
        """The files of a repository at a branch, tag or commit; None is the default branch."""
        ...

    def fetch(self, repo: str, commit: str, file: HubFile, folder: Path) -> None:
        """Bring one file to its path below `folder`, going on where an earlier call stopped."""
        ...


def wanted(files: Sequence[HubFile]) -> list[HubFile]:
    """The files that make the model: weights in one format and what lies beside them; no subfolders."""
    top = [file for file in files if "/" not in file.path]
    weights = next((found for pattern in WEIGHTS if (found := [f for f in top if fnmatch(f.path, pattern)])), [])
    formats = {Path(file.path).suffix for file in weights}
    beside = [
        file
        for file in top
        if any(fnmatch(file.path, pattern) for pattern in BESIDE_WEIGHTS)
        # An index of weights in another format would name files that are not here.
        and (not file.path.endswith(".index.json") or Path(file.path.removesuffix(".index.json")).suffix in formats)
    ]
    # Small files first: what is wrong with a repository shows before gigabytes are fetched.
    return sorted(beside, key=lambda file: file.path) + sorted(weights, key=lambda file: file.path)


def get_from_hub(hub: Hub, repo: str, models: Path, revision: str | None = None) -> Path:
    """Make `repo` a folder below `models`, named as the repository without its owner; return the folder.

    A folder that is complete is not asked about on the net.

    Raises:
        DownloadError: it can't be fetched.
        FileExistsError: the folder is someone's own and lacks something.
    """
    folder = models / repo.rpartition("/")[2]
    if is_own(folder):
        return folder
    recipe = {"source": hub.source, "repo": repo, "revision": revision}

    def build(partial: Path) -> dict[str, str]:
        listing = hub.listing(repo, revision)
        files = wanted(listing.files)
        missing = [file for file in files if not file.matches(partial / file.path)]
        logger.info("%s at %s: %d files, %s", repo, listing.commit[:12], len(files), in_units(total(files)))
        if len(missing) < len(files):
            logger.info("%d of them are there from an earlier call", len(files) - len(missing))
        require_space(models, total(missing), "free some, or put the models elsewhere with --models DIR")
        for file in missing:
            hub.fetch(repo, listing.commit, file, partial)
            if not file.matches(partial / file.path):
                (partial / file.path).unlink(missing_ok=True)
                raise DownloadError(f"{repo}: {file.path} is not what the hub lists: damaged on the way, run again")
        keep_only(partial, files)
        if problem := incomplete(partial):
            raise DownloadError(f"{repo} is not a model that can be trained here: {problem}")
        return {"commit": listing.commit}

    made = ensure_model(folder, recipe, build, resumable=True)
    logger.info("%s is ready" if made else "%s is complete: nothing to do", shown(folder))
    return folder


def is_own(folder: Path) -> bool:
    """Whether a complete model lies in `folder` that this program did not put there; it is used as it is."""
    if not folder.is_dir() or recipe_of(folder) or incomplete(folder):
        return False
    logger.info("%s is a model of your own: used as it is", shown(folder))
    return True


def total(files: Sequence[HubFile]) -> int:
    """The size of files, in bytes."""
    return sum(file.size for file in files)


def keep_only(folder: Path, files: Sequence[HubFile]) -> None:
    """Delete what else lies in `folder`: what an interrupted call brought of another revision."""
    names = {file.path for file in files}
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in names:
            path.unlink()
