"""A model hub on loopback that speaks Hugging Face's and ModelScope's HTTP interface and can misbehave on demand."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_good"


@dataclass
class Request:
    """What was asked for: `start` is where the asked range begins, None without one."""

    method: str
    path: str
    start: int | None


@dataclass
class Hub:
    """What the server has, and what it does wrong.

    `cut` names the bytes after which a file's connection breaks, once; `stalls` those after which nothing more comes;
    `spoilt` files come with their last byte changed; `listed_sizes` are lies about sizes.
    """

    repos: dict[str, dict[str, bytes]]
    url: str = ""
    gated: set[str] = field(default_factory=set)
    cut: dict[str, int] = field(default_factory=dict)
    stalls: dict[str, int] = field(default_factory=dict)
    spoilt: set[str] = field(default_factory=set)
    listed_sizes: dict[str, int] = field(default_factory=dict)
    content_type: str = "application/octet-stream"
    requests: list[Request] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)

    def downloads(self, path: str) -> list[Request]:
        """The requests for a file's content."""
        return [request for request in self.requests if request.method == "GET" and request.path == path]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Keep quiet about clients that leave early; that is what they are here to do."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class HubServer:
    """Serves a `Hub` until `close`."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                """Keep quiet."""

            def do_HEAD(self) -> None:
                answer(self, hub)

            def do_GET(self) -> None:
                answer(self, hub)

        self.http = _Server(("127.0.0.1", 0), Handler)
        hub.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop, whatever a client still waits for."""
        self.hub.closing.set()
        self.http.shutdown()
        self.http.server_close()


def answer(handler: BaseHTTPRequestHandler, hub: Hub) -> None:
    """Answer one request as the hub whose address it is would."""
    url = urlsplit(handler.path)
    query = {key: values[0] for key, values in parse_qs(url.query).items()}
    parts = unquote(url.path).strip("/").split("/")
    if parts[:2] == ["api", "models"]:
        _hf_listing(handler, hub, "/".join(parts[2:4]), "/".join(parts[5:]) or "main")
    elif parts[:3] == ["api", "v1", "models"] and parts[-1] == "files":
        _modelscope_listing(handler, hub, "/".join(parts[3:5]))
    elif parts[:3] == ["api", "v1", "models"]:
        _file(handler, hub, "/".join(parts[3:5]), query["FilePath"], range_status=200)
    elif len(parts) > 4 and parts[2] == "resolve":
        _file(handler, hub, "/".join(parts[:2]), "/".join(parts[4:]))
    else:
        _file(handler, hub, parts[0], "/".join(parts[1:]))


def _hf_listing(handler: BaseHTTPRequestHandler, hub: Hub, repo: str, revision: str) -> None:
    files = hub.repos.get(repo)
    if files is None:
        return _error(handler, 401, "RepoNotFound")  # as the hub says to those it doesn't know
    if revision not in ("main", COMMIT):
        return _error(handler, 404, "RevisionNotFound")
    siblings: list[dict[str, object]] = []
    for path, content in files.items():
        size = hub.listed_sizes.get(path, len(content))
        entry: dict[str, object] = {"rfilename": path, "size": size, "blobId": _git_sha1(content)}
        if path.endswith(".safetensors"):
            entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": size, "pointerSize": 134}
        siblings.append(entry)
    return _json(handler, {"id": repo, "sha": COMMIT, "siblings": siblings})


def _modelscope_listing(handler: BaseHTTPRequestHandler, hub: Hub, repo: str) -> None:
    files = hub.repos.get(repo)
    if files is None:
        return _error(handler, 404, "")
    entries = [
        {
            "Path": path,
            "Name": path,
            "Type": "blob",
            "Size": hub.listed_sizes.get(path, len(content)),
            "Sha256": hashlib.sha256(content).hexdigest(),
        }
        for path, content in files.items()
    ]
    folder = {"Path": "original", "Name": "original", "Type": "tree", "Size": 0, "Sha256": ""}
    return _json(handler, {"Code": 200, "Data": {"Files": [*entries, folder]}})


def _file(handler: BaseHTTPRequestHandler, hub: Hub, repo: str, path: str, range_status: int = 206) -> None:
    """A file's content from the asked range's start on, or what goes wrong with it."""
    asked = handler.headers.get("Range", "").removeprefix("bytes=").partition("-")[0]
    hub.requests.append(Request(handler.command, path, int(asked) if asked else None))
    if repo in hub.gated and handler.headers.get("Authorization") != f"Bearer {TOKEN}":
        return _error(handler, 403 if "Authorization" in handler.headers else 401, "GatedRepo")
    content = hub.repos.get(repo, {}).get(path)
    if content is None:
        return _error(handler, 404, "EntryNotFound")
    tag = hashlib.sha256(content).hexdigest()
    start = int(asked) if asked and handler.headers.get("If-Range", f'"{tag}"') == f'"{tag}"' else 0
    if start >= len(content) > 0:
        return _error(handler, 416, "")
    body = content[start:]
    if path in hub.spoilt:
        body = body[:-1] + bytes([body[-1] ^ 1])
    handler.send_response(range_status if start else 200)
    if start:
        handler.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
    handler.send_header("Content-Type", hub.content_type)
    handler.send_header("Content-Length", str(len(body)))
    handler.send_header("ETag", f'"{tag}"')
    handler.send_header("X-Repo-Commit", COMMIT)
    handler.end_headers()
    if handler.command == "HEAD":
        return None
    if path in hub.cut:
        handler.wfile.write(body[: hub.cut.pop(path)])
        handler.close_connection = True
    elif path in hub.stalls:
        handler.wfile.write(body[: hub.stalls.pop(path)])
        handler.wfile.flush()
        hub.closing.wait()
        handler.close_connection = True
    else:
        handler.wfile.write(body)
    return None


def _json(handler: BaseHTTPRequestHandler, body: object) -> None:
    raw = json.dumps(body).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(raw)))
    handler.end_headers()
    handler.wfile.write(raw)


def _error(handler: BaseHTTPRequestHandler, status: int, code: str) -> None:
    handler.send_response(status)
    if code:
        handler.send_header("X-Error-Code", code)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def _git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
