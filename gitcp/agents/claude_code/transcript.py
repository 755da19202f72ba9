"""Reads the transcripts of Claude Code: JSON lines, several of which may be one message."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts import Result, list_blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents.transcripts import Change, Fields
    from gitcp.text.record_types import Scan, Usage

WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit", "mcp__acp__Write", "mcp__acp__Edit")
TASKS = ("Task", "Agent")
# Quotes of a text inside a line are escaped, so these belong to the line's own structure.
_COMPACT = (b'"type":"user"', b'"type":"assistant"', b',{"type":"text"', b'[{"type":"text"')
_SPACED = tuple(m.replace(b":", b": ").replace(b",", b", ") for m in _COMPACT)
# A line with one of these keys is not of the main conversation.
NOT_CONVERSATION = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain")
_RECENT = 8  # the lines of a message are close together


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's, and not Qwen Code's."""
    is_qwens = "systemPayload" in first or "parts" in first.get_object("message")
    return ("parentUuid" in first or "isSidechain" in first) and not is_qwens


def list_results(entry: Fields) -> Iterator[Result]:
    """The results of calls in an entry (gitcp.agents.reading.edits)."""
    if not entry.is_kind("user"):
        return
    told = entry.get_object("toolUseResult")
    failed = isinstance(entry.get("toolUseResult"), str)
    original = told.get("originalFile")
    if not isinstance(original, str):
        original = None
    created = original is None and told.is_kind("create")
    file = told.get_object("file")
    seen = file.get("content")
    if not isinstance(seen, str) or file.get("numLines") != file.get("totalLines"):
        seen = None
    by_command = None
    if isinstance(told.get("bashEditDiff"), dict):
        changed = told.get_object("bashEditDiff").get_objects("files")
        by_command = [_read_diff(file) for file in changed]
    for block in list_blocks(entry):
        if block.is_kind("tool_result"):
            if block.get_word("content").startswith("File created successfully at:"):
                created = True  # a subagent's transcript has only this
            yield Result(
                block.get_word("tool_use_id"),
                failed or block.get("is_error") is True,
                by_person=told.get("userModified") is True,
                created=created,
                original=original,
                seen=seen,
                by_command=by_command,
            )


def _read_diff(file: Fields) -> Change:
    """The change of a file that a command made, by the client's diff."""
    path = file.get_word("filePath")
    edits: list[list[object]] = []
    for hunk in file.get_objects("hunks"):
        listed = hunk.get("lines")
        lines = []
        if isinstance(listed, list):
            lines = [line for line in listed if isinstance(line, str)]
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " +")
        if any(line.startswith("\\") for line in lines):  # no newline at the end
            old = old[:-1]
            new = new[:-1]
        edits.append([old, new, False])
    if file.get("created") is True:
        return path, {"content": edits[0][1] if edits else "", "created": True}
    return path, {"edits": edits}


def is_copied(entry: Fields) -> bool:
    """Whether an entry is another session's, from which this one was forked."""
    if "requestSessionId" not in entry:
        return False
    return bool(entry.get("requestSessionId") != entry.get("sessionId"))


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

    def read_entry(self, entry: Fields) -> None:
        if entry.is_kind("user"):
            self.take_user(entry)
        elif entry.is_kind("assistant"):
            self.take_assistant(entry)
        else:
            self.take_queued(entry.get_object("attachment"))

    def take_user(self, entry: Fields) -> None:
        """Add a prompt, results of calls, or both: a prompt typed meanwhile comes with a result."""
        blocks = list_blocks(entry)
        for block in blocks:
            if block.is_kind("tool_result") and block.get_word("tool_use_id") in self.pending:
                self.take_result(entry, block)
        if not any(entry.get(key) for key in NOT_CONVERSATION):
            texts = (b.get_word("text") for b in blocks if b.is_kind("text"))
            self.add_prompt("\n\n".join(texts))

    def take_queued(self, attachment: Fields) -> None:
        """Add a prompt typed while the agent worked, which is only an attachment."""
        if attachment.is_kind("queued_command"):
            self.add_prompt(attachment.get_text("prompt"))

    def add_prompt(self, text: str) -> None:
        from gitcp.text import prompt_text

        text = prompt_text.clean_prompt(text)
        if not text or prompt_text.is_notification(text):
            return
        if not text.startswith("[Request interrupted by user"):
            self.scan["prompts"].append(text)

    def take_assistant(self, entry: Fields) -> None:
        message = entry.get_object("message")
        if not message:
            return
        if is_copied(entry):
            self.scan["prompts"].clear()  # a fork: the prompts so far are another session's
        for block in list_blocks(entry):
            if block.is_kind("tool_use"):
                self.take_call(block)
        model = message.get("model")
        if isinstance(message.get("usage"), dict) and model != "<synthetic>":
            key = message.get_word("id") or entry.get_word("uuid")
            self.add_usage(key, message.get_object("usage"))
            if isinstance(model, str) and not entry.get("isSidechain"):
                self.scan["model"] = model

    def take_call(self, block: Fields) -> None:
        name = block.get_text("name")
        key = block.get_text("id")
        arguments = block.get_object("input")
        if not key or not isinstance(block.get("input"), dict):
            return
        path = arguments.find_text(("file_path", "notebook_path"))
        if name in TASKS:
            self.pending[key] = ""
        elif name in WRITES and path and path not in self.written:
            self.pending[key] = path

    def add_usage(self, message: str, counts: Fields) -> None:
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

    def take_result(self, entry: Fields, block: Fields) -> None:
        path = self.pending.pop(block.get_word("tool_use_id"))
        if not path:
            self.add_subagent(entry, block)
        elif not block.get("is_error") and path not in self.written:
            self.written.append(path)
            self.pending = {k: p for k, p in self.pending.items() if p != path}

    def add_subagent(self, entry: Fields, block: Fields) -> None:
        agent = entry.get_object("toolUseResult").get_text("agentId")
        if not agent:  # older clients have it only in the text
            import re

            text = re.search(r"agentId: ([A-Za-z0-9_-]+)", block.get_word("content"))
            agent = text[1] if text else ""
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
