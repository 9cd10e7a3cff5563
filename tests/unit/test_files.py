import errno
import os
from pathlib import Path

import pytest

from scripts import prepare_data
from spider.data import ROOT
from spider.files import make_folder, read_json, write_whole


def test_a_file_is_written_whole_and_its_folder_made(tmp_path: Path) -> None:
    write_whole(tmp_path / "a" / "b.txt", "text")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.txt"]


def test_a_folder_in_a_files_place_is_named_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(IsADirectoryError, match=r"out is a folder, .* name another"):
        write_whole(tmp_path / "out", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(part: Path, _: Path) -> None:
        assert part.exists()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "a.txt", "text")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_file_in_a_folders_place_is_named_with_the_fix(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(NotADirectoryError, match=f"can't make the folder .*/{folder}: .* name another folder"):
        make_folder(tmp_path / folder)
    assert prepare_data.main([str(ROOT / "data" / "sample"), "--output", str(tmp_path / folder)]) == 1
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_that_can_not_be_made_is_named_with_the_fix() -> None:
    with pytest.raises(OSError, match=r"can't make the folder /proc/x/y: .*; name one that you may write to$"):
        make_folder(Path("/proc/x/y"))


def test_a_full_disk_stays_an_error_that_commands_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "mkdir", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        make_folder(tmp_path / "new")
    assert caught.value.errno == errno.ENOSPC


def test_json_is_of_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"steps": 3, "model": "m"}')
    assert read_json(path, dict[str, object]) == {"steps": 3, "model": "m"}
    with pytest.raises(ValueError, match=r"a\.json was damaged or cut off: model: Input should be a valid integer"):
        read_json(path, dict[str, int])
