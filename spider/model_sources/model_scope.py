"""ModelScope's hub, over its plain HTTP interface.

Its library would bring a second downloader; the two addresses that are needed here are these:

    GET /api/v1/models/REPO/repo/files?Revision=R&Recursive=true    the files, with size and SHA-256
    GET /api/v1/models/REPO/repo?Revision=R&FilePath=PATH           a file; ranges are honoured

`MODELSCOPE_DOMAIN` and `MODELSCOPE_API_TOKEN` mean what they mean to that library.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from spider.download import TIMEOUT_SECONDS, DownloadError, RefusedError, download
from spider.model_sources.hub import HubFile, Listing

DEFAULT_DOMAIN = "www.modelscope.cn"
# Models that have another owner there.
NAMES = {"meta-llama/Llama-3.2-1B-Instruct": "LLM-Research/Llama-3.2-1B-Instruct"}


class ModelScope:
    """See `spider.model_sources.hub.Hub`."""

    source = "modelscope"

    def __init__(self, quiet: bool = False) -> None:
        """Takes whether to show no progress bars; reads the environment."""
        domain = os.environ.get("MODELSCOPE_DOMAIN") or DEFAULT_DOMAIN
        self.endpoint = domain if "://" in domain else f"https://{domain}"
        token = os.environ.get("MODELSCOPE_API_TOKEN")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.quiet = quiet

    def listing(self, repo: str, revision: str | None) -> Listing:
        """See `Hub.listing`."""
        import httpx

        repo, revision = NAMES.get(repo, repo), revision or "master"
        url = f"{self.endpoint}/api/v1/models/{repo}/repo/files"
        query = {"Revision": revision, "Recursive": "true"}
        try:
            response = httpx.get(url, params=query, headers=self.headers, timeout=TIMEOUT_SECONDS)
        except httpx.TransportError as error:
            raise DownloadError(
                f"can't reach {self.endpoint} for {repo}: check the network, take --source hf, or give a folder's path"
            ) from error
        if response.status_code != 200:
            raise self._refused(repo, revision, response.status_code)
        try:
            entries: list[Mapping[str, object]] = response.json()["Data"]["Files"]
            files = [_file(entry) for entry in entries if entry["Type"] == "blob"]
        except (ValueError, KeyError, TypeError) as error:
            raise DownloadError(
                f"{self.endpoint} doesn't answer as ModelScope does: check MODELSCOPE_DOMAIN"
            ) from error
        return Listing(revision, files)

    def fetch(self, repo: str, commit: str, file: HubFile, folder: Path) -> None:
        """See `Hub.fetch`."""
        repo = NAMES.get(repo, repo)
        url = f"{self.endpoint}/api/v1/models/{repo}/repo?{urlencode({'Revision': commit, 'FilePath': file.path})}"
        path = folder / file.path
        try:
            download(url, path, sha256=file.sha256, size=file.size, headers=self.headers, quiet=self.quiet)
        except RefusedError as error:
            raise self._refused(repo, commit, error.status) from error

    def _refused(self, repo: str, revision: str, status: int) -> DownloadError:
        if status in (401, 403):
            return DownloadError(
                f"{repo} is gated at {self.endpoint}: accept its licence there, then set MODELSCOPE_API_TOKEN"
            )
        if status == 404:
            return DownloadError(
                f"no model {repo} with revision {revision} at {self.endpoint}: owners differ from Hugging Face's, "
                "look the name up there"
            )
        return DownloadError(f"{self.endpoint} refused {repo} (status {status}): try again later")


def _file(entry: Mapping[str, object]) -> HubFile:
    path, size, sha256 = entry["Path"], entry["Size"], entry.get("Sha256")
    if not isinstance(path, str) or not isinstance(size, int):
        raise TypeError(f"not a file's entry: {entry}")
    return HubFile(path, size, sha256.lower() if isinstance(sha256, str) and sha256 else None)
