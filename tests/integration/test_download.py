"""spider.download and prepare_data.py --download against a server on loopback that breaks off and lies."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.hub_server import Hub, HubServer
from scripts import prepare_data
from spider import download as module
from spider.data import ROOT, load_tasks
from spider.download import DownloadError, download, require_space

CONTENT = bytes(range(256)) * 8_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.01)
    hub = Hub({"files": {"a.bin": CONTENT}})
    server = HubServer(hub)
    yield hub
    server.close()


def test_a_file_arrives_with_its_hash(hub: Hub, tmp_path: Path) -> None:
    assert download(f"{hub.url}/files/a.bin", tmp_path / "new" / "a.bin", size=len(CONTENT)) == SHA256
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.bin"]


def test_a_file_that_is_there_is_not_fetched(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(CONTENT)
    download(f"{hub.url}/files/a.bin", tmp_path / "a.bin", sha256=SHA256)
    assert not hub.requests


def test_a_broken_connection_is_taken_up(hub: Hub, tmp_path: Path) -> None:
    hub.cut["a.bin"] = 1_000_000
    download(f"{hub.url}/files/a.bin", tmp_path / "a.bin", sha256=SHA256)
    assert [bool(request.start) for request in hub.requests] == [False, True]


def test_what_an_earlier_call_left_is_taken_up(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / ".a.bin.part").write_bytes(CONTENT[:5000])
    (tmp_path / ".a.bin.part.etag").write_text(f'"{SHA256}"')
    download(f"{hub.url}/files/a.bin", tmp_path / "a.bin", sha256=SHA256)
    assert [request.start for request in hub.requests] == [5000]
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_a_file_that_changed_meanwhile_is_fetched_from_its_start(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / ".a.bin.part").write_bytes(b"of an older version")
    (tmp_path / ".a.bin.part.etag").write_text('"another"')
    assert download(f"{hub.url}/files/a.bin", tmp_path / "a.bin") == SHA256


def test_more_than_the_file_has_is_fetched_from_its_start(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / ".a.bin.part").write_bytes(CONTENT + b"more")
    assert download(f"{hub.url}/files/a.bin", tmp_path / "a.bin") == SHA256


def test_another_hash_leaves_nothing(hub: Hub, tmp_path: Path) -> None:
    hub.spoilt.add("a.bin")
    with pytest.raises(DownloadError, match=f"instead of {SHA256}"):
        download(f"{hub.url}/files/a.bin", tmp_path / "a.bin", sha256=SHA256)
    assert not any(tmp_path.iterdir())


def test_another_size_is_refused_before_it_is_fetched(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="is 2048000 bytes instead of 5"):
        download(f"{hub.url}/files/a.bin", tmp_path / "a.bin", size=5)
    assert not any(tmp_path.iterdir())


def test_a_web_page_is_not_a_file(hub: Hub, tmp_path: Path) -> None:
    hub.content_type = "text/html; charset=utf-8"
    with pytest.raises(DownloadError, match="web page instead of the file"):
        download(f"{hub.url}/files/a.bin", tmp_path / "a.bin")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/a.bin", "nonsense", "http://[", "ftp://127.0.0.1/a.bin"])
def test_an_address_that_leads_nowhere_is_one_line(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.01)
    with pytest.raises(DownloadError, match="can't reach"):
        download(url, tmp_path / "a.bin")


def test_a_file_that_is_not_there_is_one_line(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="status 404: check the address"):
        download(f"{hub.url}/files/none", tmp_path / "none")
    assert len(hub.requests) == 1


def test_what_the_disk_cannot_hold_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"no disk space: 1000000\.0 GB are needed in .*: move house"):
        require_space(tmp_path / "not" / "there", 10**15, "move house")


@pytest.fixture
def bundle(hub: Hub, tmp_path: Path) -> str:
    """The sample as a zip on the server; its SHA-256."""
    archive = Path(shutil.make_archive(str(tmp_path / "made" / "spider-data"), "zip", ROOT / "data" / "sample"))
    content = archive.read_bytes()
    hub.repos["files"]["spider-data.zip"] = content
    return hashlib.sha256(content).hexdigest()


def test_the_bundle_is_fetched_and_prepared(hub: Hub, bundle: str, tmp_path: Path) -> None:
    hub.cut["spider-data.zip"] = 20_000
    arguments = ["--download", "--url", f"{hub.url}/files/spider-data.zip", "--sha256", bundle]
    assert prepare_data.main([*arguments, "--output", str(tmp_path / "data"), "--quiet"]) == 0
    assert len(load_tasks(tmp_path / "data" / "train_spider.parquet")) == 702
    assert [bool(request.start) for request in hub.requests] == [False, True]


def test_a_bundle_that_is_there_needs_no_network(hub: Hub, bundle: str, tmp_path: Path) -> None:
    for url in (f"{hub.url}/files/spider-data.zip", "http://127.0.0.1:9/spider-data.zip"):
        arguments = ["--download", "--url", url, "--sha256", bundle, "--output", str(tmp_path / "data"), "--quiet"]
        assert prepare_data.main(arguments) == 0


def test_another_bundle_than_the_expected_one_is_one_line(
    hub: Hub, bundle: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = ["--download", "--url", f"{hub.url}/files/spider-data.zip", "--sha256", "0" * 64]
    assert prepare_data.main([*arguments, "--output", str(tmp_path / "data")]) == 1
    assert f"spider-data.zip has SHA-256 {bundle} instead of {'0' * 64}" in caplog.text
    assert not any(path.is_file() for path in (tmp_path / "data").rglob("*"))
