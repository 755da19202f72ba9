"""The lines of a worktree's journal, and the questions that lines answer.

An edit {path, before, after, who, how, at}: a path went from one content to another.
An opening {open, session, turn, at}: a call that may write begins.  A closing {close, at}: it ends.
A look {look}: the whole worktree was read.
A large file {large, stamp, who, how, at}: a new file over a limit is there, and nobody read it; its
stamp is [size, mtime, ctime], [] if it is gone.
A commit {commit, settled, left, taken}: it settled all edits of the paths in settled except those
in left, and of other paths those in taken (left, taken: path -> names of edits).
A checkpoint {stream, session, turn, files, out, at}: the stream has these files of the session as
they were then; out: files that streams no longer have (stream -> paths).
"""

from __future__ import annotations

import posixpath

from gitcp.core import formats, json
from gitcp.core.formats import find_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
    from typing import Any, NotRequired, TypedDict

    from gitcp.core.record_types import JournalLine, State, Version, Writer

    class Window(TypedDict):
        """opened: when the call was announced.  begin, end: when it ran; end is None while it runs.
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


# The contents before and after a file tool, derived from its input and its response.
#
# The input has `content`, the whole new content, or `edits`, [old, new, whether everywhere].  The
# response may have `original`, the content that the tool found.


def derive_contents(
    call: Mapping[str, Any], before: bytes, now: bytes
) -> tuple[bytes, bytes] | None:
    """(content before the call, content after it); None if they cannot be derived.

    before: the content at the start of the call; now: at its end.  Line endings are as in now.
    """
    original = _encode_text(call["original"], now) if "original" in call else None
    if "content" in call:
        return before if original is None else original, _encode_text(call["content"], now)
    edits = [
        (_encode_text(old, now), _encode_text(new, now), everywhere)
        for old, new, everywhere in call.get("edits", ())
    ]
    for start in (original, before):
        left = _apply_edits(edits, start) if edits and start is not None else None
        if start is not None and left is not None:
            return start, left
    start = _apply_edits([(new, old, everywhere) for old, new, everywhere in reversed(edits)], now)
    return (start, now) if edits and start is not None else None


def _apply_edits(edits: Sequence[tuple[bytes, bytes, bool]], content: bytes) -> bytes | None:
    """The content after edits; None if one of them does not apply."""
    for old, new, everywhere in edits:
        if not old or old not in content:
            return None
        content = content.replace(old, new, -1 if everywhere else 1)
    return content


def _encode_text(text: str, like: bytes) -> bytes:
    """The bytes of a text with the line endings that `like` has."""
    data = text.encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
    return data.replace(b"\n", b"\r\n") if b"\r\n" in like else data


PERSON: Writer = ("", "person", "")
UNKNOWN: Writer = ("", "unknown", "")
STATED = "stated"  # `how` of an edit that a tool reported and no look saw
_WORDS = ("person", "unknown")
_LASTING = frozenset(("stream", "taken", "commit", "large"))


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
    return [item for item in items if not find_fault(item, formats.JOURNAL_LINE)]


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
    more = {"agent": call.get("agent"), "model": model}
    return {**line, **{key: value for key, value in more.items() if value}}


def get_author(line: JournalLine) -> Writer:
    """The author that an edit names; UNKNOWN if it names none."""
    who = line.get("who")
    if isinstance(who, list) and len(who) == 3 and all(isinstance(part, str) for part in who):
        return who[0], who[1], who[2]
    return ("", who, "") if who in _WORDS and isinstance(who, str) else UNKNOWN


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
    return {
        who[0]
        for line in lines
        if line.get("path") in paths
        for who in (line.get("who"), line.get("by"))
        if isinstance(who, list) and who and isinstance(who[0], str)
    }


def list_lasting(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The edits, checkpoints, commits and large files among the lines of a journal."""
    return [line for line in lines if is_lasting(line)]


def is_lasting(line: JournalLine) -> bool:
    """Whether a line is an edit, a checkpoint, a commit or a large file."""
    return "at" in line and bool(line.get("path") or not _LASTING.isdisjoint(line))


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
    lines: Iterable[JournalLine],
    session_id: str,
    stream: str,
    since: int,
    list_present: Callable[[], Container[str]],
) -> set[str]:
    """The files that a session's checkpoints put on a stream since a time in ns, and that were
    taken back before a commit took them.

    list_present: returns the paths at which the session has open work.
    """
    lines = list(lines)
    files: dict[str, int] = {}
    withdrawn: set[str] = set()
    for line in lines:
        if "stream" in line and line.get("session") == session_id:
            own = line["files"] if line["stream"] == stream and line["at"] >= since else {}
            out = files.keys() & line.get("out", {}).get(stream, ())
            withdrawn = (withdrawn | (out - line["files"].keys())).difference(own)
            files = {path: at for path, at in files.items() if path not in out}
            files |= dict.fromkeys(own, int(line["at"]))
        elif "settled" in line:
            settled = set(line["settled"]).difference(line.get("left", ()))
            files = {path: at for path, at in files.items() if path not in settled}
    if not files:
        return withdrawn
    present, edits = list_present(), list_open_edits(lines)
    edits = [edit for edit in edits if get_author(edit)[0] == session_id]
    return withdrawn | {
        path
        for path, at in files.items()
        if path not in present and any(e["path"] == path and e["at"] <= at for e in edits)
    }


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
    of that path are included.  Its edit of the same look ends with the content it had before.
    """
    edits = list(lines)
    newest_first: list[JournalLine] = []
    replaced: JournalLine | None = None
    for line in reversed(edits):
        if line["path"] != path or line is replaced:
            continue
        newest_first.append(line)
        if "follows" in line:
            path = line["follows"]
            replaced = _find_edit(edits, path, line["at"])
            newest_first += [{**replaced, "after": replaced["before"]}] if replaced else []
    return newest_first[::-1]


def _find_edit(lines: Iterable[JournalLine], path: str, at: int) -> JournalLine | None:
    return next((line for line in lines if line["path"] == path and line["at"] == at), None)


def had_content(lines: Iterable[JournalLine], path: str, after: Version) -> bool:
    """Whether the path has had this content, by the edits in a journal and those cut from it.

    False for after None: HEAD tells whether a deletion undoes a creation.
    """
    for line in lines if after else ():
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
            opened[_get_call_key(line, "open")] = {**begin, **line, "end": None}
        elif "close" in line and (call := opened.get(_get_call_key(line, "close"))):
            call["names"] = [*call["names"], *line.get("names", ())]
            call["begin"] = max(call["at"], line.get("since", 0))
            call["goes_on"] = line.get("goes_on", "")
            call["end"] = None if call["goes_on"] else line["at"]
            call["late"] = call["goes_on"] == "late"
            if call["goes_on"] and call["left"] is None:
                call["left"] = line["at"]
    return list(opened.values())


def take_back_edits(
    lines: list[JournalLine], session_id: str, call_id: str, begun: int
) -> list[JournalLine]:
    """The lines, with the edits that were given to a call before it really began, at begun in ns:
    they are the person's, or nobody's if a call of another session was open then.  The same list
    if there are none."""
    wrong = {
        n: int(line["made"] if "made" in line else line["at"])
        for n, line in enumerate(lines)
        if line.get("how") in ("window", "restored")
        and get_cause(line)[::2] == (session_id, call_id)
    }
    wrong = {n: at for n, at in wrong.items() if at < begun}
    foreign_calls = (
        [call for call in list_calls(lines) if call["session"] != session_id] if wrong else []
    )
    corrected = [*lines] if wrong else lines
    for n, at in wrong.items():
        rivals = (
            c for c in foreign_calls if c["at"] <= at and (c["end"] is None or at <= c["end"])
        )
        line = {key: value for key, value in lines[n].items() if key not in ("by", "away")}
        if line["how"] == "window":
            line |= {"who": "unknown" if any(rivals) else "person", "how": "between"}
        corrected[n] = line
    return corrected


def _get_call_key(line: JournalLine, key: str) -> tuple[str, str]:
    return str(line.get("session")), str(line.get(key))


def list_edits_since_opening(
    lines: list[JournalLine], session_id: str, call_id: str
) -> list[JournalLine]:
    """The edits since the opening of a call; all edits if the journal has no opening of it."""
    opened = (
        n for n, line in enumerate(lines) if _get_call_key(line, "open") == (session_id, call_id)
    )
    return list_edits(lines[max(opened, default=-1) + 1 :])


def is_contested(lines: list[JournalLine], path: str, who: Writer) -> bool:
    """Whether another call has named or edited the path since the opening of the call in who, or an
    open one names it."""
    for line in reversed(lines):
        if "open" in line and _get_call_key(line, "open") == (who[0], who[2]):
            break
        if path in line.get("looked", ()) or (line.get("path") == path and get_author(line) != who):
            return True
    naming = (line for line in lines if "close" in line or path in line.get("looked", ()))
    return any(
        call["end"] is None and _get_call_key(call, "open") != (who[0], who[2])
        for call in list_calls(naming)
    )


def list_edits_since_look(lines: list[JournalLine]) -> list[JournalLine]:
    """The edits seen after the newest look."""
    start = max((n for n, line in enumerate(lines) if "look" in line), default=-1)
    return [line for line in list_edits(lines[start + 1 :]) if line["how"] != STATED]


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
        left, taken = line.get("left", {}), line.get("taken", {})
        for path in line.get("settled", ()):
            edits, stay = open_edits.pop(path, []), left.get(path)
            edits = [
                (n, {**e, "left": e.get("left") or get_author(e)[0] in line.get("linked", ())})
                for n, e in edits
                if stay and get_edit_name(e) in stay
            ]
            open_edits |= {path: edits} if edits else {}
        for path in taken.keys() & open_edits:
            edits = open_edits.pop(path)
            edits = [(n, edit) for n, edit in edits if get_edit_name(edit) not in taken[path]]
            open_edits |= {path: edits} if edits else {}
    items = (item for edits in open_edits.values() for item in edits)
    return [line for _, line in sorted(items, key=lambda item: item[0])]


def get_edit_name(edit: JournalLine) -> list[Any]:
    """The name of an edit among those of its path: [time, oid after it]."""
    version = parse_entry(edit["after"])
    return [edit["at"], version[1] if version else ""]


def get_latest_time(stamp: int) -> int:
    """The latest time, in ns, that a file's time stamp can mean on a file system that stores whole
    seconds."""
    return stamp if stamp % 1_000_000_000 else stamp + 999_999_999


# Decide which session, or the person, made a change that a look found.
#
# A window is the time in which a call could write without naming its paths: a shell, an unknown
# tool, or a whole turn of an agent that does not report its tools.  A file tool has a window, too,
# for a look that comes before its end.
TOOL, WINDOW, TRANSCRIPT, TURN = "tool", "window", "transcript", "turn"
SHELL, WAITING, CUT = "shell", "waiting", "cut"
BETWEEN, RESTORED, HOOK, STRANGER = "between", "restored", "hook", "stranger"
# Commands of git that take content out of the worktree without losing it.
_AWAY = frozenset(("stash", "checkout", "restore", "reset", "switch", "clean"))
# Commands, and commands of git, that bring content from elsewhere into the worktree.
_BRINGING = frozenset(
    """cp mv cat patch rsync install checkout restore show cat-file cherry-pick merge stash apply
    revert am diff read-tree checkout-index archive reset switch rebase pull""".split()
)
_BREAKS = str.maketrans(dict.fromkeys("\"'`;|&<>(){}=,:\n\t\r\0", " "))
_MOST = 400  # stored words of a call


def attribute_change(change: Change, windows: Sequence[Window], added: str = "") -> Verdict:
    """Attribute a change to a window that explains it, else to the person.  A file tool at its path
    comes first, then a call that names the path, then other calls, then a turn.  A restored
    content has no author, unless a tool or a transcript names the path.

    added: the added lines; their words decide between sessions that explain the change alike."""
    windows = [w for w in windows if w["kind"] != TOOL or _is_named(w, change["path"])]
    able = [w for w in windows if explains(w, change)]
    best = _find_best(able, change["path"])
    if change["restored"] and not (best and best["kind"] in (TOOL, TRANSCRIPT)):
        return {"who": UNKNOWN, "how": RESTORED, "shared": False, "by": best}
    if best is None:
        who = UNKNOWN if any(_may_explain(w, change) for w in windows) else PERSON
        return {"who": who, "how": BETWEEN, "shared": False, "by": None}
    rank = _rank_window(best, change["path"])
    rivals = [w for w in able if _rank_window(w, change["path"]) == rank]
    if len({w["who"][0] for w in rivals}) > 1:
        words = frozenset(list_words(added))
        counts = [len(words.intersection(w["names"])) for w in rivals]
        rivals = [w for w, count in zip(rivals, counts, strict=True) if count == max(counts)]
        best = max(rivals, key=lambda w: w["begin"])
    how = WINDOW if best["kind"] in (SHELL, CUT) else best["kind"]
    shared = len({w["who"][0] for w in rivals}) > 1
    return {"who": best["who"], "how": how, "shared": shared, "by": best}


def explains(window: Window, change: Change) -> bool:
    """Whether a change was made in a window, as far as its times tell.

    What runs on after its call is often a server, at which the person works: it explains only new
    files that the command names.  A file that was there before may be what it reads."""
    at, named = change["at"], _is_named(window, change["path"])
    if window["kind"] == WAITING:
        return False
    if "writes" in window:
        has_its_content = window["writes"].get(change["path"]) == change.get("oid")
        return has_its_content and at is not None and window["begin"] <= get_latest_time(at)
    if _is_after_call(window, at):
        is_own = change["new"] and _is_file_named(window["names"], change["path"])
        return is_own and _touches(window, at)
    if window["kind"] in (TRANSCRIPT, CUT):
        return named and (at is None or window["begin"] <= get_latest_time(at))
    seen_before = window["opened"] <= change["seen"]
    if not change["gone"]:
        return _touches(window, at) and (named or _holds(window, at, seen_before))
    return _overlaps(window, change) and (named or seen_before)


def _is_after_call(window: Window, at: int | None) -> bool:
    """Whether a change came, or may have come, when of the call only the background was left."""
    left = window.get("left")
    if left is None or window.get("closing"):
        return False
    return at is None or get_latest_time(at) > left


def _touches(window: Window, at: int | None) -> bool:
    """Whether the time that a stamp can mean overlaps a window."""
    end = window["end"]
    return at is not None and window["begin"] <= get_latest_time(at) and (end is None or at <= end)


def _holds(window: Window, at: int | None, seen_before: bool) -> bool:
    """Whether all of the time that a stamp can mean is in a window that it touches.

    seen_before: a look at the path came after the opening, so the change did not precede it.
    """
    if at is None or get_latest_time(at) == at:
        return at is not None
    begins, end = seen_before or get_latest_time(window["begin"]) <= at, window["end"]
    return begins and (end is None or window.get("closing", False) or get_latest_time(at) <= end)


def _may_explain(window: Window, change: Change) -> bool:
    """Whether a window that does not explain a change cannot be excluded either.

    A deletion has no time of its own, a stamp of whole seconds no order within the second.  What
    runs on in the background may have made any new file, after its turn no other change to a file
    that its command does not name.
    """
    if change["gone"]:
        return _overlaps(window, change)
    if "writes" in window:  # a later author may have changed what it wrote
        begun, at = window["begin"], change["at"]
        return change["seen"] <= begun and at is not None and begun <= get_latest_time(at)
    if _is_after_call(window, change["at"]):
        able = change["new"] or not window["late"] or _is_named(window, change["path"])
        return able and _touches(window, change["at"])
    return window["kind"] in (SHELL, WAITING, TURN) and _touches(window, change["at"])


def _overlaps(window: Window, change: Change) -> bool:
    """Whether a path can have been deleted in a window."""
    at, end = change["at"], window["end"]
    return (end is None or change["seen"] < end) and (at is None or window["begin"] <= at)


def can_put_away(window: Window) -> bool:
    """Whether a call may be a command of git that takes content out of the worktree."""
    return "git" in window["names"] and not _AWAY.isdisjoint(window["names"])


def can_bring_in(window: Window) -> bool:
    """Whether a call may be a command that brings content from elsewhere."""
    return window["kind"] in (SHELL, CUT) and not _BRINGING.isdisjoint(window["names"])


def _find_best(windows: Sequence[Window], path: str) -> Window | None:
    return max(windows, key=lambda w: (_rank_window(w, path), w["begin"]), default=None)


def _rank_window(window: Window, path: str) -> int:
    if _is_named(window, path):
        return 3 if window["kind"] == TOOL else 2
    return int(window["kind"] != TURN)


def _is_named(window: Window, path: str) -> bool:
    exact = window["kind"] in (TOOL, TRANSCRIPT)
    return path in window["names"] if exact else is_path_named(window["names"], path)


def _is_file_named(words: Collection[str], path: str) -> bool:
    """Whether a word of a command names exactly this path, seen from a directory above or below."""
    plain = (word.removeprefix("./") for word in words)
    return any(f"/{word}".endswith(f"/{path}") or path.endswith(f"/{word}") for word in plain)


def is_path_named(words: Collection[str], path: str) -> bool:
    """Whether a word of a command names the path, a directory above it, or a matching pattern."""
    base = posixpath.basename(path)
    return any(_fits_word(word, path, base) for word in words)


def _fits_word(word: str, path: str, base: str) -> bool:
    if "*" in word or "?" in word:
        return _fits(word, path) or _fits(word, base)
    plain = word.rstrip("/").removeprefix("./")
    return bool(plain) and (
        plain == path
        or plain.endswith("/" + path)
        or path.startswith(plain + "/")
        or plain.rpartition("/")[2] == base
    )


def _fits(pattern: str, name: str) -> bool:
    """Whether a glob of `*` and `?` matches; `*` also matches a slash."""
    parts = pattern.split("*")
    if len(parts) == 1:
        return len(pattern) == len(name) and _is_alike(pattern, name)
    first, last = parts[0], parts[-1]
    if len(name) < len(first) + len(last) or not _is_alike(first, name[: len(first)]):
        return False
    if last and not _is_alike(last, name[-len(last) :]):
        return False
    start, end = len(first), len(name) - len(last)
    for part in parts[1:-1]:
        while start < end and not _is_alike(part, name[start : start + len(part)]):
            start += 1
        start += len(part)
    return start <= end


def _is_alike(pattern: str, text: str) -> bool:
    return len(pattern) == len(text) and all(
        p in ("?", c) for p, c in zip(pattern, text, strict=True)
    )


def list_words(text: str) -> list[str]:
    """The words of a command or its output that could name a path, each once, without options."""
    candidates = dict.fromkeys(text[: 1 << 16].translate(_BREAKS).split())
    return [w for w in candidates if len(w) < 256 and not w.startswith("-") and w.strip("./*")][
        :_MOST
    ]
