"""Reads the transcripts of Codex: JSON lines with their kind at the beginning."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts import Fields, Result, agent_words, transcript_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.agents.transcripts import Change
    from gitcp.text.record_types import Scan

_CHANGES = ("FileChange", "patch_apply_end")  # the kinds of a change of files
_PATCHED = "Success. Updated the following files"
_HEAD = 600  # bytes at the beginning of a line that have its kind
_list_patched = transcript_facts.make_path_lister({}, ())
_KINDS = (
    b'"token_count"',
    b'"UserMessage"',
    b'"user_message"',
    b'"FileChange"',
    b'"patch_apply_end"',
    b'"CollabAgentToolCall"',
    b'"custom_tool_call"',
    b'"session_meta"',
    b'"turn_context"',
)


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return first.is_kind("session_meta")


def list_results(entry: Fields) -> Iterator[Result]:
    """The results of calls in an entry (gitcp.agents.reading.edits).

    The client's events are exact.  Older clients have only the outcome of a patch.
    """
    payload = entry.get_object("payload")
    item = payload.get_object("item") or payload
    key = item.get_word("call_id") or item.get_word("id")
    kind = item.get("type")
    if kind in _CHANGES and item.get("status") != "inProgress":
        done = _is_done(item)
        by_path = item.get_object("changes").fields.items() if done else ()
        changes = [pair for path, change in by_path for pair in _list_changes(path, change)]
        yield Result(key, not done, changes=changes)
    elif kind == "CommandExecution" and item.get("status") != "inProgress":
        yield Result(key, item.get("exit_code") != 0)
    elif kind == "custom_tool_call_output":
        yield Result(key, _PATCHED not in item.get_word("output"))


def _is_done(item: Fields) -> bool:
    """Whether a change of files was made."""
    return item.get("status") == "completed" or item.get("success") is True


def _list_changes(path: str, change: object) -> Iterator[Change]:
    """The change of a path; none if it was moved."""
    fields = Fields(change)
    kind = fields.get_word("type") or next(iter(fields.fields), "")
    fields = fields.get_object(kind) or fields
    if kind == "add" and isinstance(fields.get("content"), str):
        yield path, {"content": fields.get("content"), "created": True}
    elif kind == "delete":
        yield path, {"deleted": True}
    elif kind == "update" and not fields.get("move_path"):
        yield path, {"edits": agent_words.parse_edits(fields.get_word("unified_diff"))}


class Scanner(transcript_facts.Scanner):
    """The state of one scan, with the directory and the last token total.

    Paths are absolute: by the client's event, or from the patch and its directory.  forked: the
    next total also counts the parent session, whose lines are not in this file."""

    def __init__(self, scan: Scan) -> None:
        super().__init__(scan, lambda _: iter(()), self.list_patched)  # its lines are read here
        carry = scan["carry"]
        self.cwd = str(carry.get("cwd", ""))
        self.total: list[int] = list(carry.get("total", [0] * 4))
        self.forked = bool(carry.get("forked"))

    def needs(self, line: bytes) -> bool:
        """Whether the head of a line has one of _KINDS, or it is a result while one is pending."""
        head = line[:_HEAD]
        is_result = b'"custom_tool_call_output"' in head
        return bool(self.pending and is_result) or any(kind in head for kind in _KINDS)

    def read_entry(self, entry: Fields) -> None:
        payload = entry.get_object("payload")
        item = payload.get_object("item") or payload
        kind = item.get("type")
        if kind == "token_count":
            self.add_usage(item.get_object("info"))
        elif kind in ("UserMessage", "user_message"):
            self.take_prompt(
                transcript_facts.join_texts(item.get("content") or item.get("message"))
            )
        elif kind == "CollabAgentToolCall" and item.get("tool") == "spawn_agent":
            ids = item.get("receiver_thread_ids")
            for agent in ids if isinstance(ids, list) else ():
                self.take_agent(str(agent))
        elif kind in _CHANGES:
            if _is_done(item):
                self.take_changes(item.get_object("changes"))
        elif kind == "custom_tool_call_output":
            failed = _PATCHED not in item.get_word("output")
            self.take_result(item.get_word("call_id"), failed, "")
        elif kind == "custom_tool_call":  # older clients have its outcome, but not its changes
            call = {"patch": item.get("input")}
            self.take_call(item.get_word("call_id"), item.get_word("name"), call)
        elif isinstance(item.get("cwd"), str):
            self.cwd = item.get_text("cwd")
            self.forked = self.forked or "history_base" in item

    def add_usage(self, info: Fields) -> None:
        """Add the growth of the client's total, which may be repeated or restart at 0."""
        total = _list_counts(info, "total_token_usage")
        if total is None or total == self.total:
            return
        if self.forked:  # what was used before this line is the parent session's
            last = _list_counts(info, "last_token_usage") or total
            self.total = [count - own for count, own in zip(total, last, strict=True)]
            self.forked = False
        if sum(total) >= sum(self.total):
            before = self.total
        else:
            before = [0] * 4
        growth = (max(0, new - old) for new, old in zip(total, before, strict=True))
        fresh, read, write, output = growth
        usage = transcripts.make_usage(max(0, fresh - read - write), write, read, output, 1)
        self.total = total
        self.scan["usage"] = transcripts.add_tokens(self.scan["usage"], usage)

    def take_changes(self, changes: Fields) -> None:
        for path in changes.fields:
            paths = [path]
            moved = changes.get_object(path).get("move_path")
            if isinstance(moved, str):
                paths.append(moved)
            self.written_paths = transcripts.join_unique(self.written_paths, paths)

    def list_patched(self, name: str, arguments: Fields) -> list[str]:
        """The paths of a patch, which are relative to the directory."""
        return [_make_absolute(self.cwd, path) for path in _list_patched(name, arguments)]

    def finish(self, lines: Iterable[bytes]) -> Scan:
        """Complete the scan, and note the newest message of the lines."""
        super().finish(())
        self.scan["carry"] |= {"cwd": self.cwd, "total": self.total}
        if self.forked:
            self.scan["carry"] |= {"forked": True}
        ordered = [*lines]
        transcripts.note_newest(self.scan, ordered, _find_last_identifier(ordered))
        return self.scan


def _list_counts(info: Fields, key: str) -> list[int] | None:
    """(input, its parts read from and written to the cache, output); None without counts."""
    counts = info.get_object(key)
    names = "input_tokens cached_input_tokens cache_write_input_tokens output_tokens".split()
    if isinstance(info.get(key), dict):
        return [transcripts.parse_count(counts.get(n)) for n in names]
    return None


def _make_absolute(cwd: str, path: str) -> str:
    if path.startswith("/") or not cwd:
        return path
    return f"{cwd.rstrip('/')}/{path}"


def _find_last_identifier(lines: list[bytes]) -> str | None:
    """The id of the newest message or call of the conversation."""
    for line in reversed(lines):
        if b'"response_item"' in line[:_HEAD]:
            identifier = transcripts.read_entry(line).get_object("payload").get_text("id")
            if identifier:
                return identifier
    return None
