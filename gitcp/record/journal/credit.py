"""The lines of a worktree's journal, and the questions that lines answer.  KEYS declares them."""

from __future__ import annotations

from gitcp.text import json, shapes
from gitcp.text.ids import UNKNOWN
from gitcp.text.shapes import find_fault, is_count, is_entries, is_entry, is_object_name, is_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping, Sequence
    from typing import Any, NotRequired, TypedDict

    from gitcp.text.record_types import JournalLine, State, Version, Writer

    Lines = Iterable[JournalLine]

    class Window(TypedDict):
        """A time in which a call, or a turn, may have changed files.

        opened: when the call was announced.  begin, end: when it ran; end is None while it runs.
        All times are in ns.  left: when the call ended if a part of it ran on in the background.
        late: this part runs on after the turn, too.
        kind: shell; waiting, a shell of which no process is seen; cut, a shell that ended with its
        agent at an unknown time; tool; transcript; turn.  names: the paths written by a tool or
        according to a transcript, else the words of the command and its output.  closing: the call
        has just ended, without a look since.  stashes: the entries of `git stash` when the call
        began.  writes: of a tool that was cut short with its agent, path -> the blob that it was
        to write."""

        who: Writer
        opened: int
        begin: int
        end: int | None
        names: Collection[str]
        late: bool
        left: NotRequired[int | None]
        kind: str
        closing: NotRequired[bool]
        stashes: NotRequired[Sequence[str]]
        writes: NotRequired[Mapping[str, str]]

    class Change(TypedDict):
        """A path whose content differs from the one last seen.

        oid: of the content now, '' without one.  at: when it changed, ns; for a deleted path, when
        a directory above it last changed.
        seen: the time of the last look at it.  new: created.  gone: deleted.
        restored: the repository had this content for the path already.
        """

        path: str
        oid: NotRequired[str]
        at: int | None
        seen: int
        new: bool
        gone: bool
        restored: bool

    class Verdict(TypedDict):
        """who: the author; how: the kind of evidence; shared: windows of other sessions explain the
        change as well; by: the window in which it was made, even if who is UNKNOWN."""

        who: Writer
        how: str
        shared: bool
        by: Window | None

    from collections.abc import Callable


# Each key of a line, declared once: its shape (None: any value), what is said of it, and its
# meaning, which `make generate` writes to gitcp-formats(5).  Lines are of several kinds.  The first
# keys are those of more than one kind; then comes for each kind the key by which a line is known to
# be of it (`kind`), followed by the kind's other keys.
#
# What is said of it, in words:
# kind     a line with it is of this kind
# lasting  refs/gitcp/edits has such lines, from which a journal that lost them gets them back
# staying  such a line stays in the journal until a ref has it
# based    such a line gets the commit on which it was made
# owner    it names the session whose line it is: `forget` removes the line
# objects  it names objects which are needed as long as the line is there
# alone    each edit has its own: it does not come from the line with `trees` that has many edits
# cause    it goes when the edit is no longer given to a call
KEYS: dict[str, tuple[shapes.Shape, str, str]] = {
    "at": (is_count, "", "when, in nanoseconds by the clock of the file system"),
    "base": (is_object_name, "", "the commit at HEAD"),
    "session": (str, "owner", "the session"),
    "turn": (str, "", "its turn"),
    "who": (None, "owner", "the author: a session, turn and tool use, person, or unknown"),
    "how": (str, "", "how the author is known"),
    "names": ([str], "", "words of the command of a call, and of its output, redacted"),
    "task": (str, "", "the name by which the client calls what a call has left running"),
    "path": (is_path, "kind lasting staying alone", "an edit of this path"),
    "before": (is_entry, "based objects alone", "its mode and blob before, null for no file"),
    "after": (is_entry, "objects alone", "likewise afterwards"),
    "by": (None, "cause", "the call through which a content was restored"),
    "away": (
        bool,
        "cause",
        "true if that call keeps the content that it replaced, or a stash has it",
    ),
    "stashed": (bool, "", "true if a stash holds work on the path, whose lines may come back"),
    "from": ([[str]], "", "the commit, path and blob of lines that a command brought in"),
    "shared": (bool, "", "true if another session explains the edit as well"),
    "made": (is_count, "alone", "when the path changed, if a look saw it only later"),
    "follows": (is_path, "", "the former path of a renamed file"),
    "step": (str, "", "the step of the undo log that made the edit"),
    "joined": (
        [is_object_name],
        "objects alone",
        "the blobs of which it brought lines into the content that stood there",
    ),
    "kept": (bool, "", "false if the content is not stored, as that of an ignored file"),
    "trees": ([is_object_name], "kind staying based objects", "many edits, before and after"),
    "large": (is_path, "kind lasting staying", "a new file over a limit, which was not read"),
    "stamp": ([is_count], "", "its size, mtime and ctime; empty if it is gone"),
    "had": ({None: [is_object_name]}, "kind", "blobs of edits that were cut off, by path"),
    "cut": ([str], "kind", "a cut: the turns and tool uses with edits before and after it"),
    "open": (str, "kind", "the start of this tool use"),
    "kind": (str, "", "the kind of its tool"),
    "agent": (str, "", "the subagent that made it"),
    "model": (str, "", "the model of the turn"),
    "transcript": (str, "", "where the agent's own transcript is"),
    "seen": ([str], "", "the paths that were looked at, because it may discard them"),
    "unseen": ([str], "", "the paths below which it may have discarded what no look had seen"),
    "looked": (is_entries, "", "the content at the paths that a file tool names"),
    "ignored": ([str], "", "those of them that git ignores"),
    "writes": ({None: is_object_name}, "", "the blob that its input says a path will have"),
    "stashes": ([is_object_name], "", "the entries of the stash when a command began"),
    "close": (str, "kind", "the end of this tool use"),
    "since": (is_count, "", "when it really began"),
    "goes_on": (str, "", "whether what it left running goes on: turn, or late after its turn"),
    "look": (is_count, "kind based", "the time of a look at the whole worktree"),
    "commit": (is_object_name, "kind lasting", "a commit that settles edits"),
    "settled": ([str], "", "the paths that the worktree had as the commit has them"),
    "left": ({None: list}, "", "their edits that it left out, each a time and blob, by path"),
    "linked": ([str], "", "the sessions of such edits that the commit is linked with"),
    "transcripts": (
        {None: {"turn": str, "size": is_count}},
        "",
        "the bytes of transcripts of running turns whose client does not report tools",
    ),
    "taken": ({None: list}, "kind lasting", "edits of other paths that are settled, likewise"),
    "stream": (shapes.is_short_id, "kind lasting staying", "a checkpoint on this stream"),
    "files": (is_entries, "", "the files that it recorded"),
    "out": ({None: [is_path]}, "", "the files that streams no longer record, by stream"),
    "held": (is_object_name, "kind", "the commit of a session's ref that has all up to here"),
}


def list_keys(word: str) -> frozenset[str]:
    """The keys of which a word is said."""
    return frozenset(key for key, (_, words, _) in KEYS.items() if word in words.split())


_SHAPE = {f"{key}?": shape for key, (shape, _, _) in KEYS.items() if shape}
_LASTING = list_keys("lasting")


def derive_contents(
    call: Mapping[str, Any], before: bytes, after: bytes
) -> tuple[bytes, bytes] | None:
    """(content that the call changed, content that it wrote), by its arguments; None if they cannot
    be derived.

    before, after: what the file had when the call began and ended; others may have written it, too.
    Line endings are as in after.
    """
    original = None
    if "original" in call:
        original = _encode_text(call["original"], after)
    if "content" in call:
        return before if original is None else original, _encode_text(call["content"], after)
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
_WORDS = ("person", "unknown")


def dump_line(line: JournalLine) -> bytes:
    """The bytes of a journal line, with its newline."""
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def parse_lines(data: bytes, are_checked: bool = False) -> list[JournalLine]:
    """The lines of a journal in their order, without damaged lines.  are_checked: none is."""
    texts = [line for line in data.split(b"\n") if line.startswith(b"{")]
    try:  # parsing all at once takes half the time
        items: list[JournalLine] = json.loads(b"[%s]" % b",".join(texts))
    except (ValueError, RecursionError):
        items = []
    if len(items) != len(texts):
        items = [item for text in texts for item in _parse_line(text)]
    if are_checked:
        return items
    return [item for item in items if not find_fault(item, _SHAPE)]


def _parse_line(text: bytes) -> list[JournalLine]:
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def build_edit(
    path: str, before: Version, after: Version, who: Writer, how: str, at: int
) -> JournalLine:
    """The line for an edit of path from before to after."""
    name = list(who) if who[0] else who[1]
    return {"path": path, "before": before, "after": after, "who": name, "how": how, "at": at}


def build_opening(state: State, call: JournalLine, kind: str, at: int) -> JournalLine:
    """The line for the beginning of a call; state: its session's.  kind: that of its tool, such
    as write or shell."""
    turn = state.get("turn_id", "")
    line = {
        "open": call.get("id", ""),
        "session": state["session_id"],
        "turn": turn,
        "kind": kind,
        "at": at,
    }
    model = state.get("turns", {}).get(turn, {}).get("model")
    origin = {"agent": call.get("agent"), "model": model}
    return {**line, **{key: value for key, value in origin.items() if value}}


def get_author(line: JournalLine) -> Writer:
    """The author that an edit names; UNKNOWN if it names none."""
    who = line.get("who")
    if isinstance(who, list) and len(who) == 3 and all(isinstance(part, str) for part in who):
        return who[0], who[1], who[2]
    if who in _WORDS and isinstance(who, str):
        return ("", who, "")
    return UNKNOWN


def time_made(line: JournalLine) -> int:
    """When an edit was made, or seen if that is not known; ns."""
    return int(line["made"] if "made" in line else line.get("at", 0))


def list_written_paths(lines: Iterable[JournalLine], agent_id: str) -> set[str]:
    """The paths that a subagent's calls have written."""
    calls = {
        (line["session"], line["open"])
        for line in lines
        if agent_id and line.get("agent") == agent_id and "open" in line
    }
    paths = set()
    for line in list_edits(lines):
        session, _, call = get_author(line)
        if (session, call) in calls:
            paths.add(line["path"])
    return paths


def get_cause(line: JournalLine) -> Writer:
    """The call that made an edit, even if another author wrote its lines.

    Without one it is the author if that is a session, else UNKNOWN.
    """
    by = line.get("by")
    if isinstance(by, list) and len(by) == 3 and all(isinstance(part, str) for part in by):
        return by[0], by[1], by[2]
    who = get_author(line)
    return who if who[0] else UNKNOWN


def parse_entry(value: Any) -> Version:
    """The entry in a line; None for no file and for anything that is no entry."""
    if isinstance(value, (list, tuple)) and len(value) == 2:
        mode, oid = value
        if isinstance(mode, str) and isinstance(oid, str):
            return mode, oid
    return None


def list_edits(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The edits among the lines of a journal."""
    return [line for line in lines if line.get("path") and "at" in line]


def list_writers(lines: Iterable[JournalLine], paths: Container[str]) -> set[str]:
    """The sessions that edits of these paths name as author or cause."""
    found: set[str] = set()
    for line in lines:
        if line.get("path") in paths:
            for who in (line.get("who"), line.get("by")):
                if isinstance(who, list) and who and isinstance(who[0], str):
                    found.add(who[0])
    return found


def list_lasting(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The edits, checkpoints, commits and large files among the lines of a journal."""
    return [line for line in lines if is_lasting(line)]


def is_lasting(line: JournalLine) -> bool:
    """Whether a line is an edit, a checkpoint, a commit or a large file."""
    return "at" in line and not _LASTING.isdisjoint(line)


def had_content(lines: Iterable[JournalLine], path: str, after: Version) -> bool:
    """Whether the path has had this content, by the edits in a journal and those cut from it.

    False for after None: HEAD tells whether a deletion undoes a creation.
    """
    if after:
        for line in lines:
            if line.get("path") == path:
                if after in (parse_entry(line["before"]), parse_entry(line["after"])):
                    return True
            elif "had" in line and after and after[1] in line["had"].get(path, ()):
                return True
    return False


def map_large(lines: Iterable[JournalLine]) -> dict[str, list[JournalLine]]:
    """path -> what was seen of each large file that no edit and no commit names yet, oldest
    first."""
    large: dict[str, list[JournalLine]] = {}
    for line in lines:
        if "large" in line and "at" in line:
            large.setdefault(line["large"], []).append(line)
        elif large and "settled" in line:
            for path in large.keys() & line["settled"]:
                del large[path]
        elif large and line.get("path") in large and line["how"] != STATED:
            del large[line["path"]]
    return large


def list_large_paths(lines: Iterable[JournalLine], session_id: str) -> list[str]:
    """The paths of the large files that are there, and that a session wrote, sorted."""
    return sorted(
        path
        for path, seen in map_large(lines).items()
        if seen[-1]["stamp"] and any(get_author(line)[0] == session_id for line in seen)
    )


def map_looked_times(lines: Iterable[JournalLine]) -> dict[str, int]:
    """path -> when it was last looked at before a call, or as a large file, in ns."""
    times: dict[str, int] = {}
    for line in lines:
        large = (line["large"],) if "large" in line else ()
        for path in (*line.get("looked", ()), *line.get("seen", ()), *large):
            times[path] = max(int(line["at"]), times.get(path, 0))
    return times


def list_calls(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The calls of a journal in their order: each opening, with the keys of its closing.

    `end` is None before the closing, and if the closing says that the call runs on.  `left`: when
    a call ended that ran on, None for others.  `late`: it runs on after its turn.
    """
    opened: dict[tuple[str, str], JournalLine] = {}
    for line in lines:
        if "open" in line:
            begin = {"names": [], "begin": line["at"], "late": False, "left": None, "goes_on": ""}
            opened[get_call_key(line, "open")] = {**begin, **line, "end": None}
        elif "close" in line and (call := opened.get(get_call_key(line, "close"))):
            call["names"] = [*call["names"], *line.get("names", ())]
            call["begin"] = max(call["at"], line.get("since", 0))
            call["goes_on"] = line.get("goes_on", "")
            call["end"] = None if call["goes_on"] else line["at"]
            call["late"] = call["goes_on"] == "late"
            if call["goes_on"] and call["left"] is None:
                call["left"] = line["at"]
    return list(opened.values())


def get_call_key(line: JournalLine, key: str) -> tuple[str, str]:
    return str(line.get("session")), str(line.get(key))


def find_opening(
    lines: Sequence[JournalLine], session_id: str, call_id: str, key: str = "open"
) -> JournalLine | None:
    """The newest opening of a call that has a key; None if the journal has none."""
    openings = (line for line in reversed(lines) if "open" in line and key in line)
    own = (line for line in openings if get_call_key(line, "open") == (session_id, call_id))
    return next(own, None)


def is_contested(lines: list[JournalLine], path: str, who: Writer) -> bool:
    """Whether another call has named or edited the path since the opening of the call in who, or an
    open one names it."""
    for line in reversed(lines):
        if "open" in line and get_call_key(line, "open") == (who[0], who[2]):
            break
        if path in line.get("looked", ()) or (line.get("path") == path and get_author(line) != who):
            return True
    naming = (line for line in lines if "close" in line or path in line.get("looked", ()))
    return any(
        call["end"] is None
        and call.get("kind") != ELSEWHERE
        and get_call_key(call, "open") != (who[0], who[2])
        for call in list_calls(naming)
    )


def list_edits_since_look(lines: list[JournalLine]) -> list[JournalLine]:
    """The edits seen after the newest look."""
    start = max((n for n, line in enumerate(lines) if "look" in line), default=-1)
    return [line for line in list_edits(lines[start + 1 :]) if line["how"] != STATED]


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


def is_in_doubt(edit: JournalLine) -> bool:
    """Whether a call may have made an edit to what stands at a path, but nothing shows that it
    did."""
    is_unknown = edit.get("how") == BETWEEN and get_author(edit) == UNKNOWN
    return is_unknown and edit["after"] is not None


def is_strange(edit: JournalLine) -> bool:
    """Whether a session wrote what stands at a path, or may have, and it is not known which."""
    return edit.get("how") == STRANGER or is_in_doubt(edit)


def map_stream_lines(lines: Lines) -> dict[str, list[JournalLine]]:
    """session -> the lines that tell what is on its streams: its checkpoints, and the later commits
    with what they settled."""
    by_session: dict[str, list[JournalLine]] = {}
    for line in lines:
        owner = None
        if "stream" in line:
            owner = line.get("session")
        if owner is not None:
            by_session.setdefault(owner, []).append(line)
        if "settled" in line:
            for session_id, own in by_session.items():
                if session_id != owner:
                    own.append(line)
    return by_session


def map_recorded_files(
    lines: Iterable[JournalLine], session_id: str
) -> dict[str, dict[str, JournalLine] | None]:
    """The files on a session's streams that no commit has taken: stream -> path -> the line of the
    checkpoint.  A stream whose files were all taken has None."""
    streams: dict[str, dict[str, JournalLine] | None] = {}
    for line in lines:
        if "stream" in line and line.get("session") == session_id:
            for stream, paths in line.get("out", {}).items():
                streams[stream] = _drop_paths(streams.get(stream), paths) or None
            own = streams.get(line["stream"]) or {}
            streams[line["stream"]] = {**own, **dict.fromkeys(line["files"], line)}
        elif streams and "settled" in line:
            settled = set(line["settled"]).difference(line.get("left", ()))
            for stream, files in streams.items():
                if files and not settled.isdisjoint(files):
                    streams[stream] = _drop_paths(files, settled) or None
    return streams


def list_withdrawn(
    lines: Lines,
    own_edits: Lines,
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
        if "stream" in line and line.get("session") == session_id:
            if line["stream"] == stream and line["at"] >= since:
                own = line["files"]
            else:
                own = {}
            out = files.keys() & line.get("out", {}).get(stream, ())
            withdrawn = (withdrawn | (out - line["files"].keys())).difference(own)
            files = {path: at for path, at in files.items() if path not in out}
            files |= dict.fromkeys(own, int(line["at"]))
        elif "settled" in line:
            settled = set(line["settled"]).difference(line.get("left", ()))
            files = {path: at for path, at in files.items() if path not in settled}
    if not files:
        return withdrawn
    present = list_present()
    first: dict[str, int] = {}  # path -> when the session made its first open edit there
    for edit in own_edits:
        first[edit["path"]] = min(edit["at"], first.get(edit["path"], edit["at"]))
    for path, at in files.items():
        if path not in present and path in first and first[path] <= at:
            withdrawn.add(path)
    return withdrawn


def _drop_paths(
    files: dict[str, JournalLine] | None, paths: Iterable[str]
) -> dict[str, JournalLine]:
    gone = set(paths)
    return {path: line for path, line in (files or {}).items() if path not in gone}


def list_settled_contents(lines: Iterable[JournalLine]) -> set[tuple[str, str]]:
    """(path, oid) of the contents that commits settled."""
    newest: dict[str, Version] = {}
    settled: set[tuple[str, str]] = set()
    for line in lines:
        if "commit" in line:
            settled |= {(p, entry[1]) for p in line.get("settled", ()) if (entry := newest.get(p))}
        elif line.get("path") and "at" in line:
            newest[line["path"]] = line["after"]
    return settled


def trace_content(lines: Iterable[JournalLine], path: str) -> list[JournalLine]:
    """The edits that made the content of a path, oldest first.

    `follows` of an edit names the path whose content was moved or copied; then the earlier edits
    of that path are included.  Its edit of the same look ends with the content it had before.  A
    file that was put over another one, and taken away again, is passed over.
    """
    edits = list(lines)
    newest_first: list[JournalLine] = []
    replaced: JournalLine | None = None
    index = len(edits)
    while index > 0:
        index -= 1
        line = edits[index]
        if line["path"] != path or line is replaced:
            continue
        before_move = _find_before_move(edits, index)
        if before_move:
            index = before_move
            continue
        newest_first.append(line)
        if "follows" in line:
            path = line["follows"]
            replaced = _find_edit(edits, path, line["at"])
            if replaced:
                newest_first += [{**replaced, "after": replaced["before"]}]
    return newest_first[::-1]


def _find_before_move(edits: Sequence[JournalLine], number: int) -> int:
    """The number of edits up to the last one that led to the content which one restored, if another
    file was moved over that since; else 0."""
    restored = edits[number]
    content = parse_entry(restored["after"])
    if restored["how"] != RESTORED or content is None or "follows" in restored:
        return 0
    is_moved = False
    for index in range(number - 1, -1, -1):
        line = edits[index]
        if line["path"] != restored["path"]:
            continue
        if parse_entry(line["after"]) == content:
            return index + 1 if is_moved else 0
        is_moved = is_moved or "follows" in line
    return 0


def _find_edit(lines: Iterable[JournalLine], path: str, at: int) -> JournalLine | None:
    return next((line for line in lines if line["path"] == path and line["at"] == at), None)


def take_back_edits(
    lines: list[JournalLine], session_id: str, call_id: str, begun: int
) -> list[JournalLine]:
    """The lines, with the edits that were given to a call before it really began, at begun in ns:
    they are the person's, or nobody's if a call of another session was open then.  The same list
    if there are none."""
    wrong = {
        n: time_made(line)
        for n, line in enumerate(lines)
        if line.get("how") in ("window", "restored")
        and get_cause(line)[::2] == (session_id, call_id)
    }
    wrong = {n: at for n, at in wrong.items() if at < begun}
    if wrong:
        foreign_calls = [call for call in list_calls(lines) if call["session"] != session_id]
    else:
        foreign_calls = []
    corrected, causes = ([*lines], list_keys("cause")) if wrong else (lines, ())
    for n, at in wrong.items():
        rivals = (
            c for c in foreign_calls if c["at"] <= at and (c["end"] is None or at <= c["end"])
        )
        line = {key: value for key, value in lines[n].items() if key not in causes}
        if line["how"] == "window":
            line |= {"who": "unknown" if any(rivals) else "person", "how": "between"}
        corrected[n] = line
    return corrected


def list_edits_since_opening(
    lines: list[JournalLine], session_id: str, call_id: str
) -> list[JournalLine]:
    """The edits since the opening of a call; all edits if the journal has no opening of it."""
    opened = (
        n for n, line in enumerate(lines) if get_call_key(line, "open") == (session_id, call_id)
    )
    return list_edits(lines[max(opened, default=-1) + 1 :])


def list_open_edits(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The edits that no commit has settled, in their order.

    An edit of a path that commits settled without this edit has `left`: whether one of them is
    linked with the edit's session."""
    open_edits: dict[str, list[tuple[int, JournalLine]]] = {}
    for number, line in enumerate(lines):
        if line.get("path") and "at" in line:
            open_edits.setdefault(line["path"], []).append((number, line))
        if "settled" not in line and "taken" not in line:  # as nearly all are
            continue
        left = line.get("left", {})
        taken = line.get("taken", {})
        for path in line.get("settled", ()):
            edits = open_edits.pop(path, [])
            stay = left.get(path)
            edits = [
                (
                    n,
                    {
                        **e,
                        "left": e.get("left") or get_author(e)[0] in line.get("linked", ()),
                    },
                )
                for n, e in edits
                if stay and get_edit_name(e) in stay
            ]
            if edits:
                open_edits |= {path: edits}
        for path in taken.keys() & open_edits:
            edits = open_edits.pop(path)
            edits = [(n, edit) for n, edit in edits if get_edit_name(edit) not in taken[path]]
            if edits:
                open_edits |= {path: edits}
    items = (item for edits in open_edits.values() for item in edits)
    return [line for _, line in sorted(items, key=lambda item: item[0])]


def get_edit_name(edit: JournalLine) -> list[Any]:
    """The name of an edit among those of its path: [time, oid after it]."""
    version = parse_entry(edit["after"])
    return [edit["at"], version[1] if version else ""]
