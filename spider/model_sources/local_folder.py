"""A model that lies in a folder already: checked, and copied to where the presets look."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from spider.data import shown
from spider.download import DownloadError, require_space
from spider.model_store import MARKER, ensure_model, incomplete

logger = logging.getLogger(__name__)


def get_from_folder(source: Path, models: Path) -> Path:
    """Copy a model's folder into `models` under its own name; return the copy. Links are followed.

    Raises:
        DownloadError: it is not a complete model, or the disk is too small.
        FileExistsError: another folder of that name is someone's own.
    """
    source = source.expanduser().resolve()
    if problem := incomplete(source):
        raise DownloadError(f"{source} is not a complete model: {problem}")
    folder = models.resolve() / source.name
    if folder == source:
        logger.info("%s is complete and in its place: nothing to do", shown(folder))
        return folder

    def build(partial: Path) -> None:
        files = [path for path in source.rglob("*") if path.is_file()]
        require_space(
            models, sum(path.stat().st_size for path in files), "free some, or use the folder where it is (--model)"
        )
        shutil.copytree(source, partial, dirs_exist_ok=True, ignore=shutil.ignore_patterns(MARKER, ".cache", ".git"))

    made = ensure_model(folder, {"source": "folder", "path": str(source)}, build)
    logger.info("%s is ready" if made else "%s is complete: nothing to do", shown(folder))
    return folder
