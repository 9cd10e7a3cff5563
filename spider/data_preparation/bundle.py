"""The ready-made bundle: Spider 1.0 with parquet files, as agentlightning's example publishes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spider.download import DownloadError, download

FILE_ID = "1oi9J1jZP9TyM35L85CL3qeGWl2jqlnL6"
PAGE = f"https://drive.google.com/file/d/{FILE_ID}/view"


@dataclass(frozen=True)
class Bundle:
    """A zip on the net; `sha256` (lower-case hex) and `size` (bytes) are checked where they are known."""

    url: str
    sha256: str | None = None
    size: int | None = None


# The address is that of agentlightning's documentation; with confirm=t Google Drive leaves out its page about virus
# scans. The hash was recorded by a public project that pins the same file; its size is published nowhere.
BUNDLE = Bundle(
    url=f"https://drive.usercontent.google.com/download?id={FILE_ID}&export=download&confirm=t",
    sha256="e6d2efb262d9a8a57cd9ddddd63a9c9522bab71775013319b6aa41ea76a28d7f",
)


def fetch_bundle(bundle: Bundle, folder: Path, quiet: bool = False) -> Path:
    """Bring the bundle to `folder/spider-data.zip`; one that is there with the right hash is not fetched again.

    Raises:
        DownloadError: it can't be fetched; for the known bundle the message says how to fetch it by hand.
    """
    path = folder / "spider-data.zip"
    try:
        download(bundle.url, path, sha256=bundle.sha256, size=bundle.size, quiet=quiet)
    except DownloadError as error:
        if bundle.url != BUNDLE.url:
            raise
        by_hand = f"or fetch {PAGE} with a browser and run prepare_data.py FILE"
        raise DownloadError(f"{error}; {by_hand}") from error
    return path
