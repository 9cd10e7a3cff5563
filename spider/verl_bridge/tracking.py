"""wandb that cannot break a run, TensorBoard curves without a fold after a resume, and what Ray's workers must know.

verl's own tracking writes the numbers to the console, TensorBoard and wandb. It opens wandb itself, and fails where
wandb does; a run that is already open when verl asks for one is taken over instead, so it is opened here first.
"""

import contextlib
import logging
import netrc
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

if TYPE_CHECKING:
    from omegaconf import DictConfig

logger = logging.getLogger(__name__)

WandbMode = Literal["online", "offline"]

FORWARDED = ("WANDB_", "HF_", "HUGGING_FACE_", "SPIDER_", "VERL_", "VLLM_", "NCCL_", "TENSORBOARD_", "TRANSFER_QUEUE_")
"""Beginnings of the variables that workers on other machines are given."""

INIT_SECONDS = 30
"""Longest wait for wandb's server; the run is offline then."""


def wandb_mode(wanted: bool | None, environment: Mapping[str, str]) -> WandbMode | None:
    """Decide whether a run logs to wandb: online with a key, offline without one where asked to.

    Args:
        wanted: The flag: True for ``--wandb``, False for ``--no-wandb``, None for neither.
        environment: ``WANDB_MODE`` (online, offline, disabled) and ``WANDB_API_KEY`` count.
    """
    mode = environment.get("WANDB_MODE", "").lower()
    if wanted is False or mode == "disabled":
        return None
    if mode in ("offline", "dryrun"):
        return "offline"
    if environment.get("WANDB_API_KEY") or (wanted and _logged_in(environment)):
        return "online"
    return "offline" if wanted else None


def _logged_in(environment: Mapping[str, str]) -> bool:
    """Return whether ``wandb login`` has left a key in the home folder."""
    path = Path(environment.get("NETRC", "~/.netrc")).expanduser()
    with contextlib.suppress(OSError, netrc.NetrcParseError):
        return netrc.netrc(str(path)).authenticators("api.wandb.ai") is not None
    return False


def start_wandb(config: "DictConfig", folder: Path, offline: bool) -> None:
    """Open the wandb run, or take wandb off the loggers when it cannot be; nothing is raised.

    A resumed run goes on in the same wandb run: its id is kept in the run's folder.

    Args:
        config: verl's configuration.
        folder: Folder of the run.
        offline: Whether to write to the folder alone, for `wandb sync`.
    """
    if "wandb" not in config.trainer.logger:
        return
    from omegaconf import OmegaConf

    shown = cast("dict[str, object]", OmegaConf.to_container(config, resolve=True))
    modes: tuple[WandbMode, ...] = ("offline",) if offline else ("online", "offline")
    for mode in modes:
        try:
            _open_run(config.trainer.project_name, config.trainer.experiment_name, shown, folder, mode)
        except Exception as error:
            logger.warning("wandb cannot be used %s: %s", mode, error)
            continue
        if mode == "offline":
            logger.info("wandb is offline: `wandb sync %s/wandb/offline-run-*` uploads the run", folder)
        return
    config.trainer.logger = [name for name in config.trainer.logger if name != "wandb"]


def _open_run(project: str, name: str, config: dict[str, object], folder: Path, mode: WandbMode) -> None:
    import wandb

    # Settings of the whole process: verl's own call must not ask for a key when the run is offline.
    wandb.setup(wandb.Settings(mode=mode, init_timeout=INIT_SECONDS, console="off", silent=True))
    try:
        wandb.init(
            project=project,
            name=name,
            entity=os.environ.get("WANDB_ENTITY"),
            id=_run_id(folder / "wandb_id.txt"),
            dir=folder,
            config=config,
            resume="allow" if mode == "online" else None,
        )
    except Exception:
        wandb.teardown()  # the run's id is in use otherwise
        raise


def _run_id(path: Path) -> str:
    if not path.is_file():
        path.write_text(uuid.uuid4().hex[:12], encoding="utf-8")
    return path.read_text(encoding="utf-8").strip()


class Backend(Protocol):
    """What verl's tracking asks of a backend."""

    def log(self, data: Mapping[str, object], step: int) -> None:
        """Write the numbers of a step."""
        ...

    def finish(self, exit_code: int = 0) -> None:
        """Close the backend."""
        ...


class Guarded:
    """A tracking backend whose failures are told once and then ignored.

    Args:
        backend: The backend.
        name: What to call it.
    """

    def __init__(self, backend: Backend, name: str) -> None:
        self._backend = backend
        self._name = name
        self._told = False

    def log(self, data: Mapping[str, object], step: int) -> None:
        """Write the numbers of a step if it can be done."""
        try:
            self._backend.log(data=data, step=step)
        except Exception as error:
            self._tell(error)

    def finish(self, exit_code: int = 0) -> None:
        """Close the backend if it can be done."""
        try:
            self._backend.finish(exit_code=exit_code)
        except Exception as error:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        if not self._told:
            self._told = True
            logger.warning("%s failed; the run goes on without it: %s", self._name, error)


def guard_wandb(backends: dict[str, object]) -> None:
    """Put the guard around wandb among verl's backends; once is enough."""
    backend = backends.get("wandb")
    if backend is not None and not isinstance(backend, Guarded):
        backends["wandb"] = Guarded(cast("Backend", backend), "wandb")


def drop_curves_after(folder: Path, step: int) -> None:
    """Tell TensorBoard that what it has of steps after `step` does not count: they are done again.

    Args:
        folder: TensorBoard's folder of the run.
        step: Step of the checkpoint that a run resumes from.
    """
    from torch.utils.tensorboard import SummaryWriter

    SummaryWriter(str(folder), purge_step=step + 1).close()


def forwarded_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that workers on other machines need: keys, caches, and this run's settings.

    Workers on this machine inherit the driver's environment; handing them over is for a cluster that was there before,
    since Ray keeps them, keys included, with the job.
    """
    return {name: value for name, value in environment.items() if name.startswith(FORWARDED)}
