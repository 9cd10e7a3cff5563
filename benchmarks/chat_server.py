"""An OpenAI-compatible endpoint on loopback that answers at once from a script, for benchmarks and tests.

python -m benchmarks.chat_server 8123    # the agent's two turns: one query, always found correct
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = str | tuple[int, Mapping[str, object]]
Script = Callable[[Mapping[str, object]], Answer]


class ChatServer:
    """An OpenAI-compatible endpoint. `script` maps a request to a reply's text, or to a status and an error's body.

    It returns token ids and log-probs when asked to, as vLLM does, and keeps every request in `requests`. It lists
    `models`; where that is None it lists none, and says that it has no such page.
    """

    def __init__(self, port: int = 0) -> None:
        """Listen on `port`, or on a free one."""
        self.requests: list[Mapping[str, object]] = []
        self.models: list[str] | None = ["scripted"]
        self.script: Script = lambda request: "THE QUERY IS CORRECT."
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 20
            disable_nagle_algorithm = True

            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                """Keep quiet."""

            def do_GET(self) -> None:
                if server.models is None:
                    self.reply(404, {"error": {"message": "Not Found"}})
                    return
                data = [{"id": name, "object": "model"} for name in server.models]
                self.reply(200, {"object": "list", "data": data})

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(request)
                answer = server.script(request)
                if isinstance(answer, str):
                    self.reply(200, completion(request, answer, len(server.requests)))
                else:
                    self.reply(answer[0], answer[1])

            def reply(self, status: int, body: Mapping[str, object]) -> None:
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.send_header("Retry-After-Ms", "1")
                self.end_headers()
                self.wfile.write(raw)
                self.wfile.flush()

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def prompts(self) -> list[str]:
        """The last message of every request."""
        return [last_message(request) for request in self.requests]

    def say(self, *answers: Answer) -> None:
        """Give these answers in turn, the last one for ever."""
        left = list(answers)
        self.script = lambda request: left.pop(0) if len(left) > 1 else left[0]

    def close(self) -> None:
        """Stop listening."""
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def last_message(request: Mapping[str, object]) -> str:
    """The text of a request's last message."""
    messages = request["messages"]
    assert isinstance(messages, list)
    return messages[-1]["content"]


def completion(request: Mapping[str, object], text: str, number: int) -> Mapping[str, object]:
    """A reply's body; its token ids are the text's bytes, so that a test can tell where they come from."""
    ids = list(text.encode())
    choice: dict[str, object] = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    body: dict[str, object] = {"id": f"chat-{number}", "object": "chat.completion", "created": 1, "choices": [choice]}
    if request.get("logprobs"):
        choice["logprobs"] = {
            "content": [{"token": chr(i % 128), "logprob": -i / 100, "bytes": [i], "top_logprobs": []} for i in ids]
        }
    if request.get("return_token_ids"):
        body["prompt_token_ids"] = list(last_message(request).encode())
        choice["token_ids"] = ids
    usage = {"prompt_tokens": len(last_message(request)), "completion_tokens": len(ids)}
    return {**body, "model": request["model"], "usage": {**usage, "total_tokens": sum(usage.values())}}


def two_turns(request: Mapping[str, object]) -> Answer:
    """A query for a prompt that asks for one, and the verdict for one that asks for that."""
    return (
        "THE QUERY IS CORRECT." if "THE QUERY IS" in last_message(request) else "```sql\nSELECT count(*) FROM pet\n```"
    )


if __name__ == "__main__":
    server = ChatServer(int(sys.argv[1]))
    server.script = two_turns
    server.thread.join()
