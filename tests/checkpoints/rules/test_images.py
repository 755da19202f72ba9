"""Pictures in the lines of every client's transcript."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from gitcp.checkpoints.redact import images

PICTURE = base64.b64encode(bytes(range(256)) * 2).decode()
DOT = images.DOT.body.decode()
SHAPES = {
    "claude": {"source": {"type": "base64", "media_type": "image/jpeg", "data": PICTURE}},
    "claude, read": {"type": "image", "file": {"base64": PICTURE, "type": "image/jpeg"}},
    "codex": {"type": "input_image", "image_url": f"data:image/jpeg;base64,{PICTURE}"},
    "gemini": {"inlineData": {"mimeType": "image/jpeg", "data": PICTURE}},
    "mcp": {"type": "image", "data": PICTURE, "mimeType": "image/jpeg"},
    "opencode": {"type": "file", "mime": "image/jpeg", "url": f"data:image/jpeg;base64,{PICTURE}"},
}  # fmt: skip


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_picture_is_replaced_at_any_depth(shape: dict[str, Any], depth: int) -> None:
    line: Any = {"message": {"content": [shape]}}
    for _ in range(depth):
        line = {"text": json.dumps(line)}
    data = json.dumps(line).encode()
    stored = images.replace(data, images.drop)
    assert PICTURE.encode() not in stored and stored.count(DOT.encode()) == 1
    assert b"image/png" in stored and b"image/jpeg;" not in stored
    json.loads(stored)
    assert images.replace(stored, images.drop) == stored
    assert images.replace(data, lambda picture: picture) == data


@pytest.mark.parametrize(
    "value",
    [
        {"type": "base64", "media_type": "application/pdf", "data": PICTURE},
        {"type": "text", "text": "an image/png, and data:image/png;base64,iVBOR is how it begins"},
        {"data": PICTURE},
    ],
)
def test_what_is_no_picture_stays(value: dict[str, str]) -> None:
    data = json.dumps(value).encode()
    assert images.replace(data, images.drop) == data
