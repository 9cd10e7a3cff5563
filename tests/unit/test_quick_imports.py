"""`quick_imports` leaves out what is never used, and nothing else."""

import gc
import subprocess
import sys

import pytest

from spider.quick_imports import PROXY_SERVER, LeftOut, quick_imports


def in_new_process(program: str) -> str:
    """What a program prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_agentlightning_comes_without_litellms_server() -> None:
    program = """
import sys
from spider.quick_imports import quick_imports
with quick_imports():
    import agentlightning
print(agentlightning.Trainer.__name__, any(name.startswith("litellm.proxy.proxy_server") for name in sys.modules))
"""
    assert in_new_process(program) == "Trainer False"


def test_llm_proxy_without_its_server_says_what_to_do() -> None:
    with pytest.raises(AttributeError, match="import agentlightning before"):
        _ = LeftOut().state


def test_collector_is_off_within_and_on_afterwards() -> None:
    with quick_imports():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.unfreeze()


def test_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with quick_imports():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()


def test_a_failed_import_leaves_no_trace() -> None:
    before = sys.modules.get(PROXY_SERVER)
    with pytest.raises(ModuleNotFoundError), quick_imports():
        __import__("no_such_module")
    assert gc.isenabled()
    assert sys.modules.get(PROXY_SERVER) is before
    gc.unfreeze()
