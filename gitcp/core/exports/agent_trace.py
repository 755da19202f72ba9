"""Build Agent Trace records, version 0.1.0: for a commit, the lines that sessions wrote."""

from __future__ import annotations

import uuid
from urllib.parse import quote, unquote

from gitcp.core.exports.git_ai import format_ranges, is_utf8
from gitcp.core.lines import line_diff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.exports.git_ai import Lines
    from gitcp.core.lines.authors import Author
    from gitcp.core.record_types import Record


VERSION = "0.1.0"
VENDOR = "dev.gitcp"  # the key of gitcp's metadata in a record
_PROVIDERS = {
    "anthropic": ("claude", "opus", "sonnet", "haiku"),
    "openai": ("gpt", "o1", "o3", "o4", "codex", "chatgpt"),
    "google": ("gemini", "gemma"),
    "mistral": ("mistral", "codestral", "devstral"),
    "alibaba": ("qwen",),
    "xai": ("grok",),
    "deepseek": ("deepseek",),
    "moonshotai": ("kimi",),
}


def build_record(commit: str, timestamp: str, lines: Lines, version: str) -> Record | None:
    """The record of a commit; None if no session wrote a line of it.

    timestamp: the committer's, RFC 3339 in UTC.  version: gitcp's.  A path that is not UTF-8
    is left out.
    """
    files = [_build_file(path, lines[path]) for path in sorted(lines) if is_utf8(path)]
    kept = [(file, details) for file, details in files if file["conversations"]]
    if not kept:
        return None
    return {
        "version": VERSION,
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"gitcp:{commit}")),
        "timestamp": timestamp,
        "vcs": {"type": "git", "revision": commit},
        "tool": {"name": "gitcp", "version": version},
        "files": [file for file, _ in kept],
        "metadata": {VENDOR: {"edits": [edit for _, details in kept for edit in details]}},
    }


def _build_file(path: str, authors: Mapping[int, Author]) -> tuple[Record, list[Record]]:
    """(the file's part of the record, its edits with turn and tool use)."""
    talks: dict[tuple[str, str], dict[int, Author]] = {}
    for line in sorted(authors):
        author = authors[line]
        if author["who"] == "session":
            talks.setdefault((format_url(author), author["model"]), {})[line] = author
    conversations, edits = [], []
    for (address, model), part in talks.items():
        contributor = {"type": "ai", **find_model_id(model)}
        spans = [
            {"start_line": first, "end_line": last} for first, last in line_diff.group_runs(part)
        ]
        conversations.append({"url": address, "contributor": contributor, "ranges": spans})
        edits += _list_edits(path, address, part)
    return {"path": path, "conversations": conversations}, edits


def _list_edits(path: str, address: str, part: Mapping[int, Author]) -> list[Record]:
    by: dict[tuple[str, str | None], list[int]] = {}
    for line, author in part.items():
        by.setdefault((author["turn_id"], author["tool_use_id"]), []).append(line)
    return [
        {
            "path": path,
            "url": address,
            "turn_id": turn,
            "tool_use_id": tool,
            "lines": format_ranges(lines),
        }
        for (turn, tool), lines in by.items()
    ]


def format_url(author: Author) -> str:
    """`gitcp:<checkpoint>/<session>`, percent-encoded."""
    name = author["session_id"].encode("utf-8", "surrogateescape")
    return f"gitcp:{quote(author['checkpoint_id'])}/{quote(name, safe='')}"


def find_model_id(model: str) -> dict[str, str]:
    """{"model_id": "provider/model"}; {} if the model's name does not tell its provider."""
    if "/" in model and len(model) <= 250:
        return {"model_id": model}
    for provider, starts in _PROVIDERS.items():
        if model.lower().startswith(starts):
            return {"model_id": f"{provider}/{model}"[:250]}
    return {}


def parse_lines(note: Record) -> dict[str, dict[int, str]]:
    """path -> line -> `<checkpoint>/<session>` in a record of build_record()."""
    authors: dict[str, dict[int, str]] = {}
    for file in note["files"]:
        row = authors.setdefault(file["path"], {})
        for talk in file["conversations"]:
            name = unquote(talk["url"].removeprefix("gitcp:"))
            for span in talk["ranges"]:
                row |= dict.fromkeys(range(span["start_line"], span["end_line"] + 1), name)
    return authors
