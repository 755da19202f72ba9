"""Reads the transcripts of Claude Code: JSON lines, several of which may be one message."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts import list_blocks
from gitcp.text.json import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.text.record_types import Scan, Usage

WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit", "mcp__acp__Write", "mcp__acp__Edit")
TASKS = ("Task", "Agent")
# Quotes of a text inside a line are escaped, so these belong to the line's own structure.
_COMPACT = (b'"type":"user"', b'"type":"assistant"', b',{"type":"text"', b'[{"type":"text"')
_SPACED = tuple(m.replace(b":", b": ").replace(b",", b", ") for m in _COMPACT)
# A line with one of these keys is not of the main conversation.
NOT_CONVERSATION = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain")
_RECENT = 8  # the lines of a message are close together


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's, and not Qwen Code's."""
    is_qwens = "systemPayload" in first or "parts" in ensure_object(first.get("message"))
    return ("parentUuid" in first or "isSidechain" in first) and not is_qwens


def find_written_path(name: str, arguments: dict[str, Any]) -> str | None:
    """The path that a call of a tool writes, as its input names it."""
    path = None
    if name in WRITES:
        path = arguments.get("file_path") or arguments.get("notebook_path")
    return path if isinstance(path, str) else None


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of an entry (gitcp.agents.reading.edits)."""
    result = entry.get("toolUseResult")
    answer: dict[str, Any] = {}
    if isinstance(result, dict):
        answer["by_person"] = result.get("userModified") is True
        if isinstance(result.get("originalFile"), str):
            answer["original"] = result["originalFile"]
        elif result.get("type") == "create":
            answer["created"] = True
        file = ensure_object(result.get("file"))
        if file and file.get("numLines") == file.get("totalLines"):
            answer["seen"] = file.get("content")
        if isinstance(diff := result.get("bashEditDiff"), dict):
            answer["by_command"] = [_read_diff(file) for file in list_objects(diff.get("files"))]
    if entry.get("type") == "user":
        for block in list_blocks(entry):
            if block.get("type") == "tool_result":
                failed = block.get("is_error") is True or isinstance(result, str)
                if str(block.get("content")).startswith("File created successfully at:"):
                    answer["created"] = True  # a subagent's transcript has only this
                yield str(block.get("tool_use_id")), {**answer, "failed": failed}


def _read_diff(file: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """(path, its change) of a file that a command changed, by the client's diff."""
    edits: list[list[Any]] = []
    for hunk in list_objects(file.get("hunks")):
        listed = hunk.get("lines")
        if isinstance(listed, list):
            lines = [s for s in listed if isinstance(s, str)]
        else:
            lines = []
        old, new = (
            "".join(f"{s[1:]}\n" for s in lines if s[:1] in kinds) for kinds in (" -", " +")
        )
        ends = not any(line.startswith("\\") for line in lines)
        edits.append([old, new, False] if ends else [old[:-1], new[:-1], False])
    if file.get("created") is True:
        content = edits[0][1] if edits else ""
        return str(file.get("filePath")), {"content": content, "created": True}
    return str(file.get("filePath")), {"edits": edits}


class Scanner:
    """The state of one scan: calls that have no result yet, and messages already counted."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        # call id -> path to be written, or "" for the call of a subagent
        self.pending: dict[str, str] = dict(scan["carry"].get("pending", {}))
        self.written = [p for p in scan["written"] if p not in self.pending.values()]
        recent: dict[str, list[int]] = scan["carry"].get("recent", {})
        self.messages = {key: tuple(spent) for key, spent in recent.items()}
        self.spent = scan["usage"]

    def needs(self, line: bytes) -> bool:
        """Whether a line has a prompt, an awaited result, or an answer of the model."""
        user, assistant, next_text, first_text = _SPACED if b'": ' in line[:32] else _COMPACT
        if user in line:
            has_text = next_text in line or first_text in line or b'"tool_result"' not in line
            awaited = (b'"%s"' % key.encode(errors="replace") for key in self.pending)
            return has_text or any(map(line.__contains__, awaited))
        return assistant in line or b'"queued_command"' in line

    def read_entry(self, entry: dict[str, Any]) -> None:
        if entry.get("type") == "user":
            self.take_user(entry)
        elif entry.get("type") == "assistant":
            self.take_assistant(entry)
        else:
            self.take_queued(ensure_object(entry.get("attachment")))

    def take_user(self, entry: dict[str, Any]) -> None:
        """Add a prompt, results of calls, or both: a prompt typed meanwhile comes with a result."""
        blocks = list_blocks(entry)
        for block in blocks:
            if block.get("type") == "tool_result" and str(block.get("tool_use_id")) in self.pending:
                self.take_result(entry, block)
        if not any(entry.get(key) for key in NOT_CONVERSATION):
            texts = (str(b.get("text", "")) for b in blocks if b.get("type") == "text")
            self.add_prompt("\n\n".join(texts))

    def take_queued(self, attachment: dict[str, Any]) -> None:
        """Add a prompt typed while the agent worked, which is only an attachment."""
        if attachment.get("type") == "queued_command":
            prompt = attachment.get("prompt")
            self.add_prompt(prompt if isinstance(prompt, str) else "")

    def add_prompt(self, text: str) -> None:
        from gitcp.text import prompt_text

        text = prompt_text.clean_prompt(text)
        if not text or prompt_text.is_notification(text):
            return
        if not text.startswith("[Request interrupted by user"):
            self.scan["prompts"].append(text)

    def take_assistant(self, entry: dict[str, Any]) -> None:
        message = entry.get("message")
        if not isinstance(message, dict):
            return
        if entry.get("requestSessionId", entry.get("sessionId")) != entry.get("sessionId"):
            self.scan["prompts"].clear()  # a fork: the prompts so far are another session's
        for block in list_blocks(entry):
            if block.get("type") == "tool_use":
                self.take_call(block)
        if isinstance(message.get("usage"), dict) and message.get("model") != "<synthetic>":
            self.add_usage(str(message.get("id") or entry.get("uuid")), message["usage"])
            if isinstance(message.get("model"), str) and not entry.get("isSidechain"):
                self.scan["model"] = message["model"]

    def take_call(self, block: dict[str, Any]) -> None:
        name = block.get("name")
        key = block.get("id")
        arguments = block.get("input")
        if not isinstance(name, str) or not isinstance(key, str) or not isinstance(arguments, dict):
            return
        path = find_written_path(name, arguments)
        if name in TASKS:
            self.pending[key] = ""
        elif path and path not in self.written:
            self.pending[key] = path

    def add_usage(self, message: str, counts: dict[str, Any]) -> None:
        """Count a message once, by its line with the most output."""
        before = self.messages.pop(message, None)
        names = "input_tokens cache_creation_input_tokens cache_read_input_tokens output_tokens"
        now = tuple(transcripts.parse_count(counts.get(name)) for name in names.split())
        if before is not None and now[3] <= before[3]:
            now = before
        self.messages[message] = now
        counted = (*before, 1) if before else (0,) * 5
        sums = zip(transcripts.list_counts(self.spent), (*now, 1), counted, strict=True)
        self.spent = transcripts.make_usage(*(total + new - old for total, new, old in sums))

    def take_result(self, entry: dict[str, Any], block: dict[str, Any]) -> None:
        path = self.pending.pop(str(block["tool_use_id"]))
        if not path:
            self.add_subagent(entry, block)
        elif not block.get("is_error") and path not in self.written:
            self.written.append(path)
            self.pending = {k: p for k, p in self.pending.items() if p != path}

    def add_subagent(self, entry: dict[str, Any], block: dict[str, Any]) -> None:
        agent = ensure_object(entry.get("toolUseResult")).get("agentId")
        if not isinstance(agent, str):  # older clients have it only in the text
            import re

            text = re.search(r"agentId: ([A-Za-z0-9_-]+)", str(block.get("content")))
            agent = text[1] if text else None
        if agent and agent not in self.scan["subagents"]:
            self.scan["subagents"].append(agent)

    def get_usage(self) -> Usage | None:
        return self.spent

    def finish(self, lines: list[bytes]) -> Scan:
        """Count writes without a result: the client may have been killed after them."""
        paths = [path for path in self.pending.values() if path]
        self.scan["written"] = transcripts.join_unique(self.written, paths)
        self.scan["usage"] = self.spent
        recent = list(self.messages.items())[-_RECENT:]
        carry = {"pending": self.pending, "recent": {key: list(used) for key, used in recent}}
        self.scan["carry"] = carry
        transcripts.note_newest(self.scan, lines, transcripts.find_newest(lines, "uuid"))
        return self.scan
