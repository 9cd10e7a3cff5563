"""Hugging Face's hub, through its own library; `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE` are the library's.

The content itself is fetched by `spider.download`: since its version 1 the library throws away what an interrupted
process has fetched of a file, which for weights is gigabytes.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spider.download import DownloadError, download
from spider.model_sources.hub import HubFile, Listing

SITE = "https://huggingface.co"
FOLDER_INSTEAD = "give a folder's path"


class HuggingFace:
    """See `spider.model_sources.hub.Hub`."""

    source = "hf"

    def __init__(self, quiet: bool = False) -> None:
        """Takes whether to show no progress bars."""
        from huggingface_hub import HfApi

        # Its warnings about retries and missing tokens would come between this program's own lines.
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
        self.api = HfApi()
        self.quiet = quiet

    def listing(self, repo: str, revision: str | None) -> Listing:
        """See `Hub.listing`."""
        with in_words(repo, revision):
            info = self.api.model_info(repo, revision=revision, files_metadata=True)
        files = [
            HubFile(file.rfilename, file.size or 0, file.lfs.sha256 if file.lfs else None, file.blob_id)
            for file in info.siblings or []
        ]
        return Listing(info.sha or "", files)

    def fetch(self, repo: str, commit: str, file: HubFile, folder: Path) -> None:
        """See `Hub.fetch`."""
        from huggingface_hub import hf_hub_url, try_to_load_from_cache
        from huggingface_hub.utils import build_hf_headers

        cached = try_to_load_from_cache(repo, file.path, revision=commit)  # where transformers and vLLM keep theirs
        if isinstance(cached, str) and file.matches(Path(cached)):
            shutil.copyfile(cached, folder / file.path)
            return
        url = hf_hub_url(repo, file.path, revision=commit)
        with in_words(repo, commit):
            self.api.get_hf_file_metadata(url=url)  # asks only for the headers: it tells why a file is refused
        download(
            url,
            folder / file.path,
            sha256=file.sha256,
            size=file.size,
            headers=build_hf_headers(),
            quiet=self.quiet,
        )


def require_model(repo: str, instead: str = FOLDER_INSTEAD) -> None:
    """Refuse a repository that neither the library's cache on this machine nor the hub has.

    Args:
        repo: The hub's name of it.
        instead: How the command that asks takes a folder.

    Raises:
        DownloadError: in one line, with the remedy.
    """
    from huggingface_hub import try_to_load_from_cache

    if not isinstance(try_to_load_from_cache(repo, "config.json"), str):
        elsewhere = f"run `python scripts/get_model.py {repo}`, which knows ModelScope too"
        with in_words(repo, None, elsewhere, instead):
            HuggingFace().api.model_info(repo, timeout=10)


@contextmanager
def in_words(
    repo: str, revision: str | None, elsewhere: str = "take --source modelscope", instead: str = FOLDER_INSTEAD
) -> Iterator[None]:
    """Turn the library's errors into one line with the remedy.

    `elsewhere` is where else the model may come from, `instead` how to name a folder in its stead.

    Raises:
        DownloadError: in place of any of them.
    """
    import httpx
    from huggingface_hub import constants, errors, get_token

    token = get_token() is not None
    try:
        yield
    except errors.GatedRepoError as error:
        page = f"{SITE}/{repo}"
        raise DownloadError(
            f"{repo} is gated, and HF_TOKEN's account has no access: ask for it at {page}, then run again"
            if token
            else f"{repo} is gated: accept its licence at {page}, then set HF_TOKEN to a token of your account"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise DownloadError(
            f"no model {repo} at {constants.ENDPOINT}: check the name; a private one needs HF_TOKEN"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise DownloadError(f"{repo} has no revision {revision}: leave --revision out for its newest") from error
    except errors.HFValidationError as error:
        raise DownloadError(f"{repo!r} is not a model's name: write ORGANISATION/NAME, or a folder's path") from error
    except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError, httpx.TransportError) as error:
        remedy = f"check the network, set HF_ENDPOINT to a mirror, {elsewhere}, or {instead}"
        if constants.HF_HUB_OFFLINE:
            remedy = f"unset HF_HUB_OFFLINE, or {instead}"
        raise DownloadError(f"can't reach {constants.ENDPOINT} for {repo}: {remedy}") from error
    except (errors.HfHubHTTPError, errors.FileMetadataError) as error:
        status = error.response.status_code if isinstance(error, errors.HfHubHTTPError) else "no metadata"
        wrong = "HF_TOKEN is not valid: make a new one" if status == 401 and token else "try again later"
        raise DownloadError(f"{constants.ENDPOINT} refused {repo} (status {status}): {wrong}") from error
