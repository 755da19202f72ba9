"""A model that plays a script, spoken to as three services are: it keeps what it was sent.

Which step is played is told by the request alone: as many as the model has spoken in it.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

Json = dict[str, Any]
Step = tuple[str, str, Any]  # what is said; a tool to be called and its input, '' for none
_DONE: Step = ("done", "", None)


class Model:
    """A service on this machine.  steps: what it answers; asked: the histories it was sent."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.asked: list[list[Json]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            """One request of a client."""

            def log_message(self, format: str, *args: object) -> None:
                """Nothing is logged."""

            def do_GET(self) -> None:
                self._answer(b'{"data": [], "models": []}', "application/json")

            def do_HEAD(self) -> None:
                self._answer(b"", "application/json")

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                self._answer(*model.reply(self.path, json.loads(self.rfile.read(length) or b"{}")))

            def _answer(self, data: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, path: str, request: Json) -> tuple[bytes, str]:
        """(body, content type) for a request; one without tools is not of the conversation."""
        path = path.partition("?")[0]
        if path.endswith(("countTokens", "count_tokens")):
            return b'{"input_tokens": 100, "totalTokens": 100}', "application/json"
        history = request.get("messages") or request.get("contents") or request.get("input") or []
        step = self._step(history) if request.get("tools") else _DONE
        if path.endswith("/messages"):
            return _sent(_anthropic(step), request.get("stream", False))
        if path.endswith("/responses"):
            return _sent(_responses(step), True)
        return _sent([_gemini(step)], "stream" in path)

    def _step(self, history: list[Json]) -> Step:
        self.asked.append(history)
        spoken = [one.get("role") in ("assistant", "model") or _called(one) for one in history]
        turns = sum(own and not before for before, own in pairwise([False, *spoken]))
        return self.steps[turns] if turns < len(self.steps) else _DONE


def _called(item: Json) -> bool:
    return item.get("type") in ("function_call", "custom_tool_call", "reasoning")


def _sent(events: Any, stream: bool) -> tuple[bytes, str]:
    listed = list(events)
    if stream:
        lines = [
            (f"event: {e['type']}\n" if "type" in e else "") + f"data: {json.dumps(e)}\n\n"
            for e in listed
        ]
        return "".join(lines).encode(), "text/event-stream"
    return json.dumps(_join(listed)).encode(), "application/json"


def _join(events: list[Json]) -> Json:
    """The answer of one piece: of messages, what their events begin with and add."""
    if "message" not in events[0]:
        return events[0]
    blocks = [e["content_block"] for e in events if e["type"] == "content_block_start"]
    for event in events:
        if event["type"] == "content_block_delta" and "text" in event["delta"]:
            blocks[event["index"]]["text"] += event["delta"]["text"]
    return {**events[0]["message"], "content": blocks, "stop_reason": "end_turn"}


def _anthropic(step: Step) -> Iterator[Json]:
    text, tool, given = step
    usage = {"input_tokens": 10, "output_tokens": 5}
    message: Json = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant"}
    message |= {"model": "scripted", "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": message}
    said: Json = {"type": "text", "text": ""}
    blocks = [(said, {"type": "text_delta", "text": text})]
    if tool:
        key = f"toolu_{uuid.uuid4().hex}"
        call: Json = {"type": "tool_use", "id": key, "name": tool, "input": {}}
        blocks += [(call, {"type": "input_json_delta", "partial_json": json.dumps(given)})]
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    why = {"stop_reason": "tool_use" if tool else "end_turn"}
    yield {"type": "message_delta", "delta": why, "usage": usage}
    yield {"type": "message_stop"}


def _responses(step: Step) -> Iterator[Json]:
    text, tool, given = step
    key = uuid.uuid4().hex
    said = {"type": "output_text", "text": text, "annotations": []}
    items: list[Json] = [{"type": "message", "id": f"m_{key}", "role": "assistant"}]
    items[0] |= {"status": "completed", "content": [said]}
    if tool:
        call = {"id": f"c_{key}", "call_id": f"call_{key}", "name": tool, "status": "completed"}
        items += [{"type": "custom_tool_call", "input": given, **call}]
    answer = {"id": f"resp_{key}", "status": "completed", "output": items}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    yield {"type": "response.created", "response": {"id": answer["id"], "status": "in_progress"}}
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": {**answer, "usage": usage}}


def _gemini(step: Step) -> Json:
    text, tool, given = step
    parts: list[Json] = [{"text": text}]
    parts += [{"functionCall": {"name": tool, "args": given}}] if tool else []
    content = {"role": "model", "parts": parts}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    candidates = [{"content": content, "finishReason": "STOP", "index": 0}]
    return {"candidates": candidates, "usageMetadata": usage, "modelVersion": "scripted"}
