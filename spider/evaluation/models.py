"""The model to be measured: one that a server has already, or a folder for which a server is started."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from spider.chat_endpoint import ChatEndpoint, EndpointError, endpoint_from_environment
from spider.evaluation.running import ServerGoneError
from spider.first_model import UnknownModelError, first_model, hint, require_served
from spider.model_server import Server, running
from spider.ports import free_port
from spider.server_log import ending
from spider.server_model import ServerError, find_model

logger = logging.getLogger(__name__)


class ModelError(ValueError):
    """There is no such model, or its server doesn't work; the message says what to do."""


@dataclass(frozen=True)
class Model:
    """A model to measure.

    Attributes:
        name: What tables call it.
        source: Its name at the endpoint, or the folder or hub name to serve.
        endpoint: The server's base URL; None to start one.
    """

    name: str
    source: str
    endpoint: str | None = None

    @property
    def fingerprint(self) -> str:
        """What tells it from other models: of a folder the names, sizes and times of its files, else its name."""
        folder = _folder(self.source)
        if self.endpoint is not None or folder is None:
            return self.source
        files = [
            path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in (".safetensors", ".json")
        ]
        stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
        return f"{self.source} {hashlib.sha256(repr(stats).encode()).hexdigest()[:16]}"


def given_model(source: str | None, endpoint: str | None) -> Model:
    """The model that the command line names.

    Raises:
        ModelError: no model and no endpoint is given, the endpoint doesn't answer, or it doesn't have the model.
    """
    if endpoint is None:
        if source is None:
            raise ModelError("give --model PATH (a server is started for it) or --endpoint URL of a running server")
        try:
            find_model(source)
        except ServerError as error:
            raise ModelError(str(error)) from error
        return Model(Path(_folder(source) or source).name, source)
    server = replace(endpoint_from_environment(endpoint), retries=1)
    with _endpoint_errors():
        name = source or first_model(server)
        require_served(endpoint, name, server.models())
    return Model(Path(name).name, name, endpoint)


@contextlib.contextmanager
def serving(model: Model, sampling: dict[str, object]) -> Iterator[ChatEndpoint]:
    """The endpoint of a model, as long as the block lasts; a server is started where there is none.

    Raises:
        ServerError: the server can't be started.
        ServerGoneError: it ended within the block, or doesn't answer any more; the message says why.
    """
    if model.endpoint is not None:
        yield replace(endpoint_from_environment(model.endpoint, model.source), sampling=sampling)
        return
    server = Server(model.source, port=free_port())
    logger.info("starting a server for %s; what it prints goes to %s", model.source, server.log_file)
    started = time.monotonic()
    with running(server) as process:
        logger.info("ready after %.0f s: %s", time.monotonic() - started, server.url)
        endpoint = endpoint_from_environment(server.url)
        with _endpoint_errors():
            name = first_model(endpoint)
        try:
            yield replace(endpoint, model=name, sampling=sampling)
        except ServerGoneError as error:
            code = process.poll()
            if code is None:
                raise
            raise ServerGoneError(f"the server {ending(code, server.log_file)}; see {server.log_file}") from error


@contextlib.contextmanager
def _endpoint_errors() -> Iterator[None]:
    try:
        yield
    except EndpointError as error:
        raise ModelError(f"the endpoint doesn't work: {error}{hint(error)}") from error
    except UnknownModelError as error:
        raise ModelError(str(error)) from error


def _folder(source: str) -> Path | None:
    from spider.presets import model_path

    path = Path(model_path(source))
    return path if (path / "config.json").is_file() else None
