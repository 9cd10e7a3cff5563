"""Downloads that go on where they stopped and end either whole and checked or not at all.

    download("https://example.org/spider-data.zip", Path("spider-data.zip"), sha256="e6d2…")

What has arrived waits in a hidden file beside the target, with the server's tag of that version; only a file of the
right size and hash gets the target's name.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from spider.files import make_folder
from spider.model_store import sha256 as file_sha256

if TYPE_CHECKING:
    import httpx
    from tqdm import tqdm

ATTEMPTS = 5  # in a row that bring nothing
PAUSE_SECONDS = 1.0  # before the second attempt; doubled each time
TIMEOUT_SECONDS = 30.0
SPARE_BYTES = 256 << 20  # left free beside what is fetched

logger = logging.getLogger(__name__)


class DownloadError(Exception):
    """Nothing was brought; the message says why in one line and names the remedy."""


class RefusedError(DownloadError):
    """The server answered with an error that a second attempt won't mend."""

    def __init__(self, url: str, status: int) -> None:
        """Takes the HTTP status, such as 404."""
        super().__init__(f"{url} answered with status {status}: check the address, and that you may read it")
        self.status = status


class NoSpaceError(DownloadError):
    """The disk is too small for what is to be written."""

    def __init__(self, folder: Path, needed: int, remedy: str) -> None:
        """Takes the bytes that are needed in a folder."""
        super().__init__(
            f"no disk space: {in_units(needed)} are needed in {folder} and {in_units(free_bytes(folder))} are free: "
            f"{remedy}"
        )


def require_space(folder: Path, needed: int, remedy: str) -> None:
    """Refuse to start what the disk can't hold; `folder` need not exist yet, `needed` is in bytes.

    Raises:
        NoSpaceError: too little is free.
    """
    if free_bytes(folder) < needed + SPARE_BYTES:
        raise NoSpaceError(folder, needed, remedy)


def free_bytes(folder: Path) -> int:
    """What is free on the disk of a folder, which need not exist yet."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(existing).free


def in_units(size: float) -> str:
    """A size in bytes as people read it, in powers of 1000."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def download(
    url: str,
    path: Path,
    *,
    sha256: str | None = None,
    size: int | None = None,
    headers: Mapping[str, str] | None = None,
    quiet: bool = False,
) -> str:
    """Bring a file to `path` and return its SHA-256; a file that is there with that hash is not fetched again.

    Args:
        url: Where it is; redirects are followed.
        path: Where it goes.
        sha256: Its SHA-256 in lower-case hex, if known.
        size: Its size in bytes, if known.
        headers: Sent with each request.
        quiet: Whether to show no progress bar.

    Raises:
        DownloadError: the server can't be reached, refuses, or sends something else.
        OSError: the disk is full or can't be written.
    """
    if sha256 and path.is_file() and file_sha256(path) == sha256:
        return sha256
    make_folder(path.parent)
    partial = path.with_name(f".{path.name}.part")
    _fetch(url, partial, size, dict(headers or {}), quiet)
    found = file_sha256(partial)
    if sha256 and found != sha256:
        received = partial.stat().st_size
        _forget(partial)
        raise DownloadError(
            f"{path.name} has SHA-256 {found} instead of {sha256} ({in_units(received)}): it was damaged on the way, "
            "or its publisher changed it; run again, or name the new hash"
        )
    partial.replace(path)
    _forget(partial)
    return found


def _fetch(url: str, partial: Path, size: int | None, headers: dict[str, str], quiet: bool) -> None:
    """Fill `partial`, with several attempts as long as they bring something."""
    import httpx
    from tqdm import tqdm

    failures = 0
    with (
        httpx.Client(timeout=TIMEOUT_SECONDS, follow_redirects=True) as client,
        tqdm(
            desc=partial.name[1:-5], unit="B", unit_scale=True, total=size, disable=True if quiet else None, leave=False
        ) as bar,
    ):
        while True:
            before = _size(partial)
            try:
                _attempt(client, url, partial, size, headers, bar)
                return
            except (httpx.TransportError, httpx.InvalidURL) as error:
                failures = failures + 1 if _size(partial) == before else 1
                if failures >= ATTEMPTS or isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
                    raise DownloadError(
                        f"can't reach {url} ({error or type(error).__name__}): check the network and the address, "
                        "then run again; what has arrived is kept"
                    ) from error
                pause = PAUSE_SECONDS * 2 ** (failures - 1)
                logger.info("no answer from %s (%s): once more in %.0f s", url, error or type(error).__name__, pause)
                time.sleep(pause)


def _attempt(
    client: httpx.Client, url: str, partial: Path, size: int | None, headers: dict[str, str], bar: tqdm
) -> None:
    """One request for what is missing of `partial`.

    Raises:
        httpx.TransportError: the connection broke.
        DownloadError: another attempt would not help.
    """
    import httpx

    tag_file = _tag_file(partial)
    start = _size(partial)
    if start == size:
        return
    asked = {**headers, "Accept-Encoding": "identity"}  # sizes are those of the file, not of a compressed stream
    if start:
        asked["Range"] = f"bytes={start}-"
        if tag_file.exists():
            asked["If-Range"] = tag_file.read_text(encoding="utf-8")
    with client.stream("GET", url, headers=asked) as response:
        if response.status_code == 416 and start:  # nothing is missing, or the file there is shorter now
            _forget(partial)
            raise httpx.ReadError("nothing is left to send: starting again")
        if response.status_code in (408, 429) or response.status_code >= 500:
            raise httpx.ReadError(f"status {response.status_code}")
        if response.status_code >= 400:
            raise RefusedError(url, response.status_code)
        if size is None and "text/html" in response.headers.get("Content-Type", ""):
            raise DownloadError(f"{url} answered with a web page instead of the file: open it in a browser to see why")
        start, total = _position(response, start, size)
        if size is not None and total is not None and total != size:
            raise DownloadError(
                f"{url} is {total} bytes instead of {size}: its publisher changed it; name the new size"
            )
        if tag := response.headers.get("ETag"):
            tag_file.write_text(tag, encoding="utf-8")
        else:
            tag_file.unlink(missing_ok=True)
        bar.total, bar.n = total, start
        bar.refresh()
        with partial.open("ab" if start else "wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
                bar.update(len(chunk))
    if total is not None and _size(partial) != total:
        raise httpx.RemoteProtocolError(f"{_size(partial)} of {total} bytes arrived")


def _position(response: httpx.Response, asked_start: int, size: int | None) -> tuple[int, int | None]:
    """Where in the file the response's body begins, and the file's whole size in bytes if the server tells.

    ModelScope honours a range with status 200, so the status alone doesn't say whether the body is the rest.
    """
    length = int(response.headers["Content-Length"]) if "Content-Length" in response.headers else None
    unit, _, rest = response.headers.get("Content-Range", "").partition(" ")
    span, _, total = rest.partition("/")
    if unit == "bytes" and span.partition("-")[0] == str(asked_start):
        return asked_start, int(total) if total.isdigit() else None
    if asked_start and size is not None and length == size - asked_start:
        return asked_start, size
    return 0, length


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _tag_file(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.etag")


def _forget(partial: Path) -> None:
    partial.unlink(missing_ok=True)
    _tag_file(partial).unlink(missing_ok=True)


def git_blob_sha1(path: Path) -> str:
    """The SHA-1 that git gives a file's content: what a hub names its small files by."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
