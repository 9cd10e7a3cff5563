"""What a run needs before it starts and may lack: questions, a model, cards. Each refusal names the fix."""

import argparse
import importlib
import os
from contextlib import suppress
from pathlib import Path

from spider.data import data_dir, load_tasks
from spider.preset_changes import UsageError
from spider.presets import PRESETS, Preset, is_hub_name, model_path, models_here

CARDS = {"cuda": "CUDA device", "npu": "Ascend NPU (torch_npu must be installed)"}
"""What torch finds none of, by the preset's device."""


def load_split(path: Path | None, name: str, limit: int | None = None) -> list[dict[str, str]]:
    """Load the tasks of a file, or of the data folder's file of that name.

    Raises:
        UsageError: If there are none to be had.
    """
    try:
        return load_tasks(path or data_dir() / name, limit)
    except (OSError, ValueError) as error:
        raise UsageError(str(error)) from error


def require_named(args: argparse.Namespace) -> None:
    """Refuse questions and a model that the command line names and that aren't there.

    What the preset names may be fetched later: train.sh makes a dry run before it fetches.

    Raises:
        UsageError: With the file's fault, or the command that gets a model.
    """
    for path in (args.train_files, args.val_files):
        if path is not None:
            load_split(path, path.name)
    ours = {preset.model for preset in PRESETS.values()}  # what scripts/get_model.py makes
    if args.model is not None and args.model not in ours and not is_folder(args.model) and not is_hub_name(args.model):
        raise UsageError(no_model(args.model))


def card_memory(preset: Preset) -> float | None:
    """Ask torch for the memory of this machine's cards, in GiB; None where the driver's machine has none of its own.

    Ascend's are only counted: no run was there to hold the estimate against.

    Raises:
        UsageError: If the run needs more cards than this machine has.
    """
    if preset.device == "cpu" or preset.n_nodes > 1:
        return None
    found = count_cards(preset.device)
    if not found:
        raise UsageError(f"torch finds no {CARDS[preset.device]} here: use the preset `tiny`, which needs none")
    if found < preset.n_gpus:
        raise UsageError(f"--gpus {preset.n_gpus}: torch finds {found} on this machine")
    if preset.device != "cuda":
        return None
    import torch

    return min(torch.cuda.get_device_properties(number).total_memory for number in range(preset.n_gpus)) / 1024**3


def count_cards(device: str) -> int:
    """Return how many cards of this type torch finds on this machine."""
    import torch

    if device == "npu":
        with suppress(ImportError, OSError):  # a package of its own, which makes itself `torch.npu`
            importlib.import_module("torch_npu")
    cards = getattr(torch, device, None)
    return 0 if cards is None else cards.device_count()


def require_model(preset: Preset) -> None:
    """Refuse a model that is neither a folder here nor, by its name, a hub's to give.

    Raises:
        UsageError: With the command or the variable that mends it.
    """
    if is_folder(preset.model):
        return
    if preset.device == "cpu" or not is_hub_name(preset.model):
        raise UsageError(no_model(preset.model))
    if preset.model.startswith("meta-llama/") and not os.environ.get("HF_TOKEN"):
        raise UsageError(f"{preset.model} is a gated model: set HF_TOKEN, or give --model FOLDER")


def require_fetchable(preset: Preset) -> None:
    """Refuse a hub's model that neither the hub's cache here nor the hub has; verl would find out a minute later.

    Raises:
        UsageError: With what is wrong, and the remedy.
    """
    if is_folder(preset.model) or os.environ.get("VERL_USE_MODELSCOPE", "").lower() == "true":
        return
    from spider.download import DownloadError
    from spider.model_sources import hugging_face

    try:
        hugging_face.require_model(preset.model, "give --model FOLDER")
    except DownloadError as error:
        raise UsageError(str(error)) from error


def no_model(name: str) -> str:
    """Return what is said of a model that isn't here."""
    return f"no model at {name} (no config.json): {models_here()}"


def is_folder(model: str) -> bool:
    """Return whether the model is a folder here."""
    return (Path(model_path(model)) / "config.json").is_file()
