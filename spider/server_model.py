"""The model that a server is asked for: a folder, a name below ``model/``, or a hub's name."""

import os
from pathlib import Path

from spider.presets import is_hub_name, model_path, models_here
from spider.server_flags import Model, read_model


class ServerError(RuntimeError):
    """The server can't be started, or it died; the message says why and what to do."""


def find_model(name: str) -> Model:
    """The model of that name.

    Raises:
        ServerError: there is none, or its files can't be read.
    """
    path = model_path(name)
    is_folder = (Path(path) / "config.json").is_file()
    if not is_folder and not is_hub_name(path):
        raise ServerError(f"no model at {name} (no config.json): {models_here()}")
    try:
        return read_model(path)
    except (OSError, ValueError) as error:
        raise ServerError(f"the model in {path} can't be read: {error}") from error


def require_fetchable(model: Model) -> None:
    """Refuse a hub's model that is neither in the hub's cache here nor at the hub; vLLM would ask for minutes.

    Raises:
        ServerError: with what is wrong, and the remedy.
    """
    if model.config or os.environ.get("VLLM_USE_MODELSCOPE"):
        return
    from spider.download import DownloadError
    from spider.model_sources.hugging_face import require_model

    try:
        require_model(model.path)
    except DownloadError as error:
        raise ServerError(str(error)) from error
