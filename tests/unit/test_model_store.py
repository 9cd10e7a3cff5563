import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spider.model_store import MARKER, ensure_file, ensure_model, hash_folder, locked, problem_with

RECIPE = {"source": "somewhere==1", "adapter": None}
CONTENT = b"weights" * 1000
CONTENT_SHA256 = hashlib.sha256(CONTENT).hexdigest()


def write_model(folder: Path) -> None:
    (folder / "config.json").write_text("{}")
    (folder / "weights").mkdir()
    (folder / "weights" / "part.safetensors").write_bytes(CONTENT)


def refuse(_: Path) -> None:
    raise AssertionError("it must not be built or fetched again")


def write_bytes(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "models" / "tiny"
    assert ensure_model(folder, RECIPE, write_model)
    return folder


def test_a_built_model_is_complete(model: Path) -> None:
    assert problem_with(model, RECIPE) is None
    assert (model / "weights" / "part.safetensors").read_bytes() == CONTENT


def test_a_second_call_builds_nothing(model: Path) -> None:
    assert not ensure_model(model, RECIPE, refuse)


def test_the_marker_names_the_recipe_and_the_hash_of_every_file(model: Path) -> None:
    marker = json.loads((model / MARKER).read_text())
    assert marker["recipe"] == RECIPE
    assert marker["files"].keys() == {"config.json", "weights/part.safetensors"}
    assert marker["files"]["weights/part.safetensors"] == CONTENT_SHA256


def flip_a_byte(folder: Path) -> None:
    path = folder / "weights" / "part.safetensors"
    path.write_bytes(b"W" + path.read_bytes()[1:])


def truncate(folder: Path) -> None:
    os.truncate(folder / "weights" / "part.safetensors", 10)


def delete_a_file(folder: Path) -> None:
    (folder / "config.json").unlink()


def add_a_file(folder: Path) -> None:
    (folder / "extra.json").write_text("{}")


def spoil_the_marker(folder: Path) -> None:
    (folder / MARKER).write_text('{"recipe": ')


@pytest.mark.parametrize("damage", [truncate, delete_a_file])
def test_a_partly_written_model_is_built_again(model: Path, damage: Callable[[Path], None]) -> None:
    damage(model)
    assert ensure_model(model, RECIPE, write_model)
    assert hash_folder(model).keys() == {"config.json", "weights/part.safetensors"}
    assert problem_with(model, RECIPE) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (flip_a_byte, "part.safetensors was changed"),
        (add_a_file, "extra.json was added"),
        (spoil_the_marker, "can be read"),
    ],
)
def test_a_model_that_was_changed_is_left_alone(model: Path, change: Callable[[Path], None], said: str) -> None:
    change(model)
    before = hash_folder(model)
    with pytest.raises(FileExistsError, match=said):
        ensure_model(model, RECIPE, refuse)
    assert hash_folder(model) == before


def test_a_model_of_another_origin_is_left_alone(model: Path) -> None:
    with pytest.raises(FileExistsError, match=r"made from somewhere==1.*move or delete it"):
        ensure_model(model, {**RECIPE, "repo": "owner/tiny"}, refuse)
    assert problem_with(model, RECIPE) is None


def test_a_model_of_the_same_origin_is_built_another_way(model: Path) -> None:
    assert ensure_model(model, {**RECIPE, "adapter": "abc"}, write_model)


def test_a_failed_build_leaves_the_folder_empty_handed(tmp_path: Path) -> None:
    def fail_halfway(folder: Path) -> None:
        write_model(folder)
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        ensure_model(tmp_path / "tiny", RECIPE, fail_halfway)
    assert not list(tmp_path.iterdir())


def test_a_failed_rebuild_keeps_what_was_there(model: Path) -> None:
    before = hash_folder(model)

    def fail(_: Path) -> None:
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError, match="no network"):
        ensure_model(model, {**RECIPE, "adapter": "abc"}, fail)
    assert hash_folder(model) == before
    assert problem_with(model, RECIPE) is None


def test_what_a_killed_build_left_is_cleared_away(tmp_path: Path) -> None:
    left = tmp_path / ".tiny.partial"
    left.mkdir()
    (left / "rubbish").write_text("half a file")
    ensure_model(tmp_path / "tiny", RECIPE, write_model)
    assert not left.exists()
    assert not (tmp_path / "tiny" / "rubbish").exists()


def test_a_folder_made_by_someone_else_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "mine.txt").write_text("keep")
    with pytest.raises(FileExistsError, match="move or delete it"):
        ensure_model(folder, RECIPE, write_model)
    assert (folder / "mine.txt").read_text() == "keep"


def test_of_two_builds_at_once_one_waits_and_builds_nothing(tmp_path: Path) -> None:
    inside, go_on, built = threading.Event(), threading.Event(), list[bool]()

    def slow(folder: Path) -> None:
        inside.set()
        assert go_on.wait(10)
        write_model(folder)

    first = threading.Thread(target=lambda: built.append(ensure_model(tmp_path / "tiny", RECIPE, slow)))
    second = threading.Thread(target=lambda: built.append(ensure_model(tmp_path / "tiny", RECIPE, refuse)))
    first.start()
    assert inside.wait(10)
    second.start()
    go_on.set()
    first.join(10)
    second.join(10)
    assert sorted(built) == [False, True]


def test_a_file_with_the_right_hash_is_not_fetched(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(CONTENT)
    ensure_file(path, CONTENT_SHA256, refuse)


def test_a_partial_file_is_fetched_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(CONTENT[:100])
    with caplog.at_level(logging.WARNING):
        ensure_file(path, CONTENT_SHA256, write_bytes(CONTENT))
    assert path.read_bytes() == CONTENT
    assert "damaged or incomplete" in caplog.text


def test_a_download_with_the_wrong_hash_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="instead of"):
        ensure_file(tmp_path / "model.gguf", CONTENT_SHA256, write_bytes(b"something else"))
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_held_by_one_at_a_time_though_each_removes_it(tmp_path: Path) -> None:
    inside, together = list[int](), list[int]()

    def hold(number: int) -> None:
        for _ in range(50):
            with locked(tmp_path / "a.lock"):
                inside.append(number)
                time.sleep(0.0001)
                together.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=hold, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [1] * 400
    assert not list(tmp_path.iterdir())


def test_a_folder_that_can_not_hold_the_lock_is_named_with_the_fix() -> None:
    with pytest.raises(OSError, match=r"^can't write in /proc: .*; name another folder$"), locked(Path("/proc/a.lock")):
        pass
