"""The questions that the lines of a worktree's journal answer."""

from __future__ import annotations

from gitcp import memory
from gitcp.record.journal.line_kinds import (
    CheckpointLine,
    Closing,
    Edit,
    Had,
    HeldLine,
    JournalLine,
    Large,
    LookLine,
    Opening,
    Settlement,
    WrittenLine,
    list_keys,
)
from gitcp.text.ids import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.text.record_types import Tool, Version, Writer

    Lines = Iterable[JournalLine]


def derive_contents(call: Tool, before: bytes, after: bytes) -> tuple[bytes, bytes] | None:
    """(content that the call changed, content that it wrote), by its arguments; None if they cannot
    be derived.

    before, after: what the file had when the call began and ended; others may have written it, too.
    JournalLine endings are as in after.
    """
    original = None
    if "original" in call:
        original = _encode_text(call["original"], after)
    if "content" in call:
        replaced = before if original is None else original
        return replaced, _encode_text(call["content"], after)
    edits = [
        (_encode_text(old, after), _encode_text(new, after), everywhere)
        for old, new, everywhere in call.get("edits", ())
    ]
    for start in (original, before):
        result = None
        if edits and start is not None:
            result = _apply_edits(edits, start)
        if start is not None and result is not None:
            return start, result
    start = _apply_edits(
        [(new, old, everywhere) for old, new, everywhere in reversed(edits)], after
    )
    if edits and start is not None:
        return (start, after)
    return None


def _apply_edits(edits: Sequence[tuple[bytes, bytes, bool]], content: bytes) -> bytes | None:
    """The content after edits; None if one of them does not apply."""
    for old, new, everywhere in edits:
        if not old or old not in content:
            return None
        content = content.replace(old, new, -1 if everywhere else 1)
    return content


def _encode_text(text: str, sample: bytes) -> bytes:
    """The bytes of a text with the line endings that a sample has."""
    data = text.encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
    if b"\r\n" in sample:
        return data.replace(b"\n", b"\r\n")
    return data


STATED = "stated"  # `how` of an edit that a tool reported and no look saw
_CAUSES = list_keys("cause")


def list_written_paths(lines: Lines, agent_id: str) -> set[str]:
    """The paths that a subagent's calls have written."""
    if not agent_id:
        return set()
    calls = set()
    for line in lines:
        if isinstance(line, Opening) and line.agent == agent_id:
            calls.add(line.name)
    paths = set()
    for edit in list_edits(lines):
        session_id, _, call_id = edit.author
        if (session_id, call_id) in calls:
            paths.add(edit.path)
    return paths


def list_edits(lines: Lines) -> list[Edit]:
    """The edits among the lines of a journal."""
    return [line for line in lines if isinstance(line, Edit)]


def list_writers(lines: Lines, paths: Container[str]) -> set[str]:
    """The sessions that edits of these paths name as author or cause."""
    found: set[str] = set()
    for edit in list_edits(lines):
        if edit.path in paths:
            found.add(edit.author[0])
            if "by" in edit.keys:
                found.add(edit.cause[0])
    return found - {""}


def list_lasting(lines: Lines) -> list[JournalLine]:
    """The edits, checkpoints, commits and large files among the lines of a journal."""
    return [line for line in lines if line.is_lasting]


def find_last(lines: Sequence[JournalLine], kind: type[JournalLine]) -> int:
    """The index of the last line of a kind; -1 without one."""
    for n in range(len(lines) - 1, -1, -1):
        if isinstance(lines[n], kind):
            return n
    return -1


def list_unheld(lines: Sequence[JournalLine]) -> list[JournalLine]:
    """The lines since a session's ref last held the journal."""
    return [*lines[find_last(lines, HeldLine) + 1 :]]


def had_content(lines: Lines, path: str, after: Version) -> bool:
    """Whether the path has had this content, by the edits in a journal and those cut from it.

    False for after None: HEAD tells whether a deletion undoes a creation.
    """
    if after is None:
        return False
    for line in lines:
        if isinstance(line, Edit):
            if line.path == path and after in (line.before, line.after):
                return True
        elif isinstance(line, Had) and after[1] in line.contents.get(path, ()):
            return True
    return False


def map_large(lines: Lines) -> dict[str, list[Large]]:
    """path -> what was seen of each large file that no edit and no commit names yet, oldest
    first."""
    large: dict[str, list[Large]] = {}
    for line in lines:
        if isinstance(line, Large):
            large.setdefault(line.path, []).append(line)
        elif not large:
            continue
        elif isinstance(line, Settlement):
            for path in large.keys() & line.settled:
                del large[path]
        elif isinstance(line, Edit) and line.path in large and line.how != STATED:
            del large[line.path]
    return large


def list_large_paths(lines: Lines, session_id: str) -> list[str]:
    """The paths of the large files that are there, and that a session wrote, sorted."""
    paths = []
    for path, seen in map_large(lines).items():
        if seen[-1].stamp and any(line.author[0] == session_id for line in seen):
            paths.append(path)
    return sorted(paths)


def map_looked_times(lines: Lines) -> dict[str, int]:
    """path -> when it was last looked at before a call, or as a large file, in ns."""
    times: dict[str, int] = {}
    for line in lines:
        paths: Iterable[str] = ()
        if isinstance(line, Opening):
            paths = (*line.looked, *line.seen)
        elif isinstance(line, Large):
            paths = (line.path,)
        for path in paths:
            times[path] = max(line.at, times.get(path, 0))
    return times


class OpenedCall:
    """A call of a journal: its opening, and what its closings say.

    begin, end: when it ran, in ns; end is None before a closing, and if that says that the call
    runs on.  left: when a call ended that ran on, None for others.  goes_on: what of it runs on, as
    Closing has it; is_late: it does after its turn.  names: words of the command and its output.
    task: the name by which the client calls what it has left running.
    """

    __slots__ = ("begin", "end", "goes_on", "is_late", "left", "names", "opening", "task")

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.begin = opening.at
        self.end: int | None = None
        self.names = [*opening.names]
        self.left: int | None = None
        self.goes_on = ""
        self.is_late = False
        self.task = ""

    @property
    def session(self) -> str:
        """The session that made it."""
        return self.opening.session

    @property
    def is_running(self) -> bool:
        """Whether its end was not heard."""
        return self.end is None

    def close(self, closing: Closing) -> None:
        """Take the next closing of the call."""
        self.names += closing.names
        self.begin = max(self.opening.at, closing.since)
        self.goes_on = closing.goes_on
        self.is_late = closing.goes_on == "late"
        if not closing.goes_on:
            self.end = closing.at
            return
        self.end = None
        self.task = closing.task
        if self.left is None:
            self.left = closing.at


def list_calls(lines: Lines) -> list[OpenedCall]:
    """The calls of a journal in their order."""
    opened: dict[tuple[str, str], OpenedCall] = {}
    for line in lines:
        if isinstance(line, Opening):
            opened[line.name] = OpenedCall(line)
        elif isinstance(line, Closing):
            call = opened.get(line.name)
            if call:
                call.close(line)
    return list(opened.values())


def find_opening(lines: Sequence[JournalLine], session_id: str, call_id: str) -> Opening | None:
    """The newest opening of a call; None if the journal has none."""
    name = session_id, call_id
    for line in reversed(lines):
        if isinstance(line, Opening) and line.name == name:
            return line
    return None


def is_contested(lines: list[JournalLine], path: str, who: Writer) -> bool:
    """Whether another call has named or edited the path since the opening of the call in who, or an
    open one names it."""
    name = who[0], who[2]
    for line in reversed(lines):
        if isinstance(line, Opening):
            if line.name == name:
                break
            if path in line.looked:
                return True
        elif isinstance(line, Edit) and line.path == path and line.author != who:
            return True
    naming = []
    for line in lines:
        if isinstance(line, Closing) or (isinstance(line, Opening) and path in line.looked):
            naming.append(line)
    for call in list_calls(naming):
        opening = call.opening
        if call.is_running and opening.kind != ELSEWHERE and opening.name != name:
            return True
    return False


def list_edits_since_look(lines: list[JournalLine]) -> list[Edit]:
    """The edits seen after the newest look."""
    since = list_edits(lines[find_last(lines, LookLine) + 1 :])
    return [edit for edit in since if edit.how != STATED]


# The kinds of windows, and how a change came to its author.
TOOL = "tool"
WINDOW = "window"
TRANSCRIPT = "transcript"
TURN = "turn"
SHELL = "shell"
WAITING = "waiting"
CUT = "cut"
ELSEWHERE = "elsewhere"  # of a call that worked in other worktrees than that of the journal
BETWEEN = "between"
RESTORED = "restored"
HOOK = "hook"
STRANGER = "stranger"


def is_in_doubt(edit: Edit) -> bool:
    """Whether a call may have made an edit to what stands at a path, but nothing shows that it
    did."""
    return edit.how == BETWEEN and edit.author == UNKNOWN and edit.after is not None


def is_strange(edit: Edit) -> bool:
    """Whether a session wrote what stands at a path, or may have, and it is not known which."""
    return edit.how == STRANGER or is_in_doubt(edit)


def map_stream_lines(lines: Lines) -> dict[str, list[JournalLine]]:
    """session -> the lines that tell what is on its streams: its checkpoints, and the later commits
    with what they settled."""
    by_session: dict[str, list[JournalLine]] = {}
    for line in lines:
        if isinstance(line, CheckpointLine):
            by_session.setdefault(line.session, []).append(line)
        elif isinstance(line, Settlement):
            for own in by_session.values():
                own.append(line)
    return by_session


def map_recorded_files(
    lines: Lines, session_id: str
) -> dict[str, dict[str, CheckpointLine] | None]:
    """The files on a session's streams that no commit has taken: stream -> path -> the line of the
    checkpoint.  A stream whose files were all taken has None."""
    streams: dict[str, dict[str, CheckpointLine] | None] = {}
    for line in lines:
        if isinstance(line, CheckpointLine) and line.session == session_id:
            for stream, paths in line.out.items():
                streams[stream] = _drop_paths(streams.get(stream), paths) or None
            own = streams.get(line.stream) or {}
            streams[line.stream] = {**own, **dict.fromkeys(line.files, line)}
        elif streams and isinstance(line, Settlement):
            settled = set(line.settled).difference(line.left)
            for stream, files in streams.items():
                if files and not settled.isdisjoint(files):
                    streams[stream] = _drop_paths(files, settled) or None
    return streams


def list_withdrawn(
    lines: Lines,
    own_edits: Iterable[Edit],
    session_id: str,
    stream: str,
    since: int,
    list_present: Callable[[], Container[str]],
) -> set[str]:
    """The files that a session's checkpoints put on a stream since a time in ns, and that were
    taken back before a commit took them.

    own_edits: the session's open edits, also those that it took back.  list_present: returns the
    paths at which it has open work.
    """
    files: dict[str, int] = {}
    withdrawn: set[str] = set()
    for line in lines:
        if isinstance(line, CheckpointLine) and line.session == session_id:
            own: Mapping[str, Any] = {}
            if line.stream == stream and line.at >= since:
                own = line.files
            out = files.keys() & line.out.get(stream, ())
            withdrawn |= out - line.files.keys()
            withdrawn -= own.keys()
            for path in out:
                del files[path]
            files |= dict.fromkeys(own, line.at)
        elif isinstance(line, Settlement):
            for path in set(line.settled).difference(line.left):
                files.pop(path, None)
    if not files:
        return withdrawn
    present = list_present()
    first: dict[str, int] = {}  # path -> when the session made its first open edit there
    for edit in own_edits:
        first[edit.path] = min(edit.at, first.get(edit.path, edit.at))
    for path, at in files.items():
        if path not in present and path in first and first[path] <= at:
            withdrawn.add(path)
    return withdrawn


def _drop_paths(
    files: dict[str, CheckpointLine] | None, paths: Collection[str]
) -> dict[str, CheckpointLine]:
    if files is None:
        return {}
    return {path: line for path, line in files.items() if path not in paths}


def list_settled_contents(lines: Lines) -> set[tuple[str, str]]:
    """(path, oid) of the contents that commits settled."""
    newest: dict[str, Version] = {}
    settled: set[tuple[str, str]] = set()
    for line in lines:
        if isinstance(line, Edit):
            newest[line.path] = line.after
        elif isinstance(line, Settlement) and line.commit:
            for path in line.settled:
                entry = newest.get(path)
                if entry:
                    settled.add((path, entry[1]))
    return settled


def trace_content(lines: Iterable[Edit], path: str) -> list[Edit]:
    """The edits that made the content of a path, oldest first.

    `follows` of an edit names the path whose content was moved or copied; then the earlier edits
    of that path are included.  Its edit of the same look ends with the content it had before.  A
    file that was put over another one, and taken away again, is passed over.
    """
    edits = list(lines)
    newest_first: list[Edit] = []
    replaced: Edit | None = None
    index = len(edits)
    while index > 0:
        index -= 1
        edit = edits[index]
        if edit.path != path or edit is replaced:
            continue
        before_move = _find_before_move(edits, index)
        if before_move:
            index = before_move
            continue
        newest_first.append(edit)
        if edit.follows:
            path = edit.follows
            replaced = _find_edit(edits, path, edit.at)
            if replaced:
                newest_first.append(replaced.having(after=replaced.before))
    return newest_first[::-1]


def _find_before_move(edits: Sequence[Edit], number: int) -> int:
    """The number of edits up to the last one that led to the content which one restored, if another
    file was moved over that since; else 0."""
    restored = edits[number]
    if restored.how != RESTORED or restored.follows:
        return 0
    content = restored.after
    if content is None:
        return 0
    is_moved = False
    for index in range(number - 1, -1, -1):
        edit = edits[index]
        if edit.path != restored.path:
            continue
        if edit.after == content:
            return index + 1 if is_moved else 0
        is_moved = is_moved or bool(edit.follows)
    return 0


def _find_edit(edits: Iterable[Edit], path: str, at: int) -> Edit | None:
    for edit in edits:
        if edit.path == path and edit.at == at:
            return edit
    return None


def take_back_edits(
    lines: list[JournalLine], session_id: str, call_id: str, begun: int
) -> list[JournalLine]:
    """The lines, with the edits that were given to a call before it really began, at begun in ns:
    they are the person's, or nobody's if a call of another session was open then.  The same list
    if there are none."""
    wrong: dict[int, WrittenLine] = {}
    for n, line in enumerate(lines):
        if not isinstance(line, WrittenLine) or line.how not in (WINDOW, RESTORED):
            continue
        if line.cause[::2] == (session_id, call_id) and line.made < begun:
            wrong[n] = line
    if not wrong:
        return lines
    foreign_calls = [call for call in list_calls(lines) if call.session != session_id]
    corrected = [*lines]
    for n, given in wrong.items():
        corrected[n] = given.lacking(_CAUSES)
        if given.how == WINDOW:
            is_rivalled = any(_was_open(call, given.made) for call in foreign_calls)
            who = "unknown" if is_rivalled else "person"
            corrected[n] = corrected[n].having(who=who, how=BETWEEN)
    return corrected


def _was_open(call: OpenedCall, at: int) -> bool:
    """Whether a call was announced and had not ended at a time in ns."""
    return call.opening.at <= at and (call.end is None or at <= call.end)


def list_edits_since_opening(lines: list[JournalLine], session_id: str, call_id: str) -> list[Edit]:
    """The edits since the opening of a call; all edits if the journal has no opening of it."""
    start = 0
    for n, line in enumerate(lines):
        if isinstance(line, Opening) and line.name == (session_id, call_id):
            start = n + 1
    return list_edits(lines[start:])


class _ListedEdits:
    """The open edits of the lines of a journal."""

    __slots__ = ("lines", "open_edits")

    def __init__(self, lines: list[JournalLine], open_edits: list[Edit]) -> None:
        self.lines = lines
        self.open_edits = open_edits

    def read_on(self, lines: list[JournalLine]) -> list[Edit] | None:
        """The open edits of lines that begin with those; None if others settle some of them."""
        length = len(self.lines)
        more = lines[length:]
        if lines[:length] != self.lines or any(isinstance(line, Settlement) for line in more):
            return None
        return self.open_edits + list_edits(more)


_LISTED: dict[str, _ListedEdits] = memory.get_table("open edits")  # by "last", what was listed last


def list_open_edits(lines: Lines) -> list[Edit]:
    """The edits that no commit has settled, in their order.

    An edit of a path that commits settled without this edit says so: see Edit.is_left."""
    lines = [*lines]
    known = _LISTED.get("last")
    found = None
    if known:
        found = known.read_on(lines)
    if found is None:
        found = _list_open_edits(lines)
    _LISTED["last"] = _ListedEdits(lines, found)
    return [*found]


def _list_open_edits(lines: Lines) -> list[Edit]:
    open_edits: dict[str, list[tuple[int, Edit]]] = {}
    for number, line in enumerate(lines):
        if isinstance(line, Edit):
            open_edits.setdefault(line.path, []).append((number, line))
        elif isinstance(line, Settlement):
            _settle(open_edits, line)
    numbered: list[tuple[int, Edit]] = []
    for edits in open_edits.values():
        numbered += edits
    numbered.sort(key=lambda item: item[0])
    return [edit for _, edit in numbered]


def _settle(open_edits: dict[str, list[tuple[int, Edit]]], line: Settlement) -> None:
    """Take from open edits, each with the number of its line, those that a line settles."""
    for path in line.settled:
        edits = open_edits.pop(path, [])
        names = line.left.get(path)
        if not names:
            continue
        left = [(n, e.leave(e.author[0] in line.linked)) for n, e in edits if e.name in names]
        if left:
            open_edits[path] = left
    for path, names in line.taken.items():
        edits = open_edits.pop(path, [])
        remaining = [(n, edit) for n, edit in edits if edit.name not in names]
        if remaining:
            open_edits[path] = remaining
