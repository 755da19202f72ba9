"""The journal of a worktree as records: what stands in a line of it, and what lines tell.

An edit   {path, before, after, who, how, at}: a path went from one content to another.
An opening {open, session, turn, at}: a call begins that may write; its closing {close, at}.
A look    {look}: the whole worktree was read.
A commit  {commit, settled, left, taken}: of the edits of the settled paths none is open but what
it left; of other paths it took some (both path -> names of edits).
A checkpoint {stream, session, turn, files, out, at}: a stream has these files of a session, as they
were then; out: what streams have of it no more (stream -> paths).
"""

from __future__ import annotations

from gitcp.core import json
from gitcp.core.upkeep import shapes
from gitcp.core.upkeep.shapes import find_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from typing import Any

    from gitcp.core.record_types import JournalLine, State, Version, Writer


PERSON: Writer = ("", "person", "")
UNKNOWN: Writer = ("", "unknown", "")
STATED = "stated"  # how an edit is known that nobody saw
_WORDS = ("person", "unknown")


def dump_line(line: JournalLine) -> bytes:
    """A line of the journal, its newline included."""
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def parse_lines(data: bytes) -> list[JournalLine]:
    """The lines of a journal in their order; one that was cut short or damaged is left out."""
    texts = [line for line in data.split(b"\n") if line.startswith(b"{")]
    try:  # all at once costs half; what is no line cannot be made one by those around it
        items = json.loads(b"[%s]" % b",".join(texts))
    except (ValueError, RecursionError):
        items = []
    if len(items) != len(texts):
        items = [item for text in texts for item in _parse_line(text)]
    return [item for item in items if not find_fault(item, shapes.JOURNAL_LINE)]


def _parse_line(text: bytes) -> list[JournalLine]:
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def build_edit(
    path: str, before: Version, after: Version, who: Writer, how: str, at: int
) -> JournalLine:
    """The line that says a path went from before to after."""
    name = list(who) if who[0] else who[1]
    return {"path": path, "before": before, "after": after, "who": name, "how": how, "at": at}


def build_opening(state: State, call: JournalLine, kind: str, at: int) -> JournalLine:
    """The line that says a call of a session, by its state, begins; kind: write, or shell."""
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
    """Who an edit says it was; UNKNOWN for what is not an author."""
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
    """The call that an edit went through, whoever wrote the lines it put in or took out; its
    author where that is a session; UNKNOWN where it went through none."""
    by = line.get("by")
    if isinstance(by, list) and len(by) == 3 and all(isinstance(part, str) for part in by):
        return by[0], by[1], by[2]
    who = get_author(line)
    return who if who[0] else UNKNOWN


def parse_entry(value: Any) -> Version:
    """An entry as a line has it; None for nothing, and for what is none."""
    if isinstance(value, (list, tuple)) and len(value) == 2:
        mode, oid = value
        if isinstance(mode, str) and isinstance(oid, str):
            return mode, oid
    return None


def list_edits(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The edits among the lines of a journal."""
    return [line for line in lines if line.get("path") and "at" in line]


def list_writers(lines: Iterable[JournalLine], paths: Container[str]) -> set[str]:
    """The sessions that lines name for one of the paths."""
    return {
        who[0]
        for line in lines
        if line.get("path") in paths
        for who in (line.get("who"), line.get("by"))
        if isinstance(who, list) and who and isinstance(who[0], str)
    }


def list_lasting(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The edits among the lines of a journal, what put them on a stream, and what settled them."""
    keys = frozenset(("stream", "taken", "commit"))
    return [
        line for line in lines if "at" in line and (line.get("path") or not keys.isdisjoint(line))
    ]


def map_recorded_files(
    lines: Iterable[JournalLine], session_id: str
) -> dict[str, dict[str, JournalLine] | None]:
    """stream -> path -> the line by which the stream has it, of all that a session's checkpoints
    have recorded and no commit has taken since; None for a stream of which commits took all."""
    streams: dict[str, dict[str, JournalLine] | None] = {}
    for line in lines:
        if "stream" in line and line.get("session") == session_id:
            for stream, paths in line.get("out", {}).items():
                streams[stream] = _drop_paths(streams.get(stream), paths) or None
            own = streams.get(line["stream"]) or {}
            streams[line["stream"]] = {**own, **dict.fromkeys(line["files"], line)}
        elif streams and ("settled" in line or "taken" in line):
            settled = {*line.get("settled", ()), *line.get("taken", ())}
            done = settled.difference(line.get("left", ()))
            for stream, files in streams.items():
                if files and not done.isdisjoint(files):
                    streams[stream] = _drop_paths(files, done) or None
    return streams


def _drop_paths(
    files: dict[str, JournalLine] | None, paths: Iterable[str]
) -> dict[str, JournalLine]:
    gone = set(paths)
    return {path: line for path, line in (files or {}).items() if path not in gone}


def list_settled_contents(lines: Iterable[JournalLine]) -> set[tuple[str, str]]:
    """(path, oid) of the contents that a commit took as they stood."""
    stands: dict[str, Version] = {}
    taken: set[tuple[str, str]] = set()
    for line in lines:
        if "commit" in line:
            taken |= {(p, now[1]) for p in line.get("settled", ()) if (now := stands.get(p))}
        elif line.get("path") and "at" in line:
            stands[line["path"]] = line["after"]
    return taken


def trace_content(lines: Iterable[JournalLine], path: str) -> list[JournalLine]:
    """The edits that made the content of a path, oldest first; one that came from another path
    takes that one's along.  `follows` of an edit names the path it came from: what happened to
    that path in the same look stands there as the content that it had until then."""
    known = list(lines)
    newest_first: list[JournalLine] = []
    went: JournalLine | None = None
    for line in reversed(known):
        if line["path"] != path or line is went:
            continue
        newest_first.append(line)
        if "follows" in line:
            path = line["follows"]
            went = _find_edit(known, path, line["at"])
            newest_first += [{**went, "after": went["before"]}] if went else []
    return newest_first[::-1]


def _find_edit(lines: Iterable[JournalLine], path: str, at: int) -> JournalLine | None:
    return next((line for line in lines if line["path"] == path and line["at"] == at), None)


def had_content(lines: Iterable[JournalLine], path: str, after: Version) -> bool:
    """Whether a journal has had this content at the path, be the edit still in it or cut.

    Nothing is no content: whether a deletion takes back what was made, HEAD tells.
    """
    for line in lines if after else ():
        if line.get("path") == path:
            if after in (parse_entry(line["before"]), parse_entry(line["after"])):
                return True
        elif "had" in line and after and after[1] in line["had"].get(path, ()):
            return True
    return False


def list_calls(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The calls of a journal in their order: an opening with what its closing adds.

    `end` is None while no closing has come, and while one says that the call goes on: in its
    turn, or after it ("late").
    """
    opened: dict[tuple[str, str], JournalLine] = {}
    for line in lines:
        if "open" in line:
            begin = {"names": [], "begin": line["at"], "late": False, "goes_on": ""}
            opened[_get_call_key(line, "open")] = {**begin, **line, "end": None}
        elif "close" in line and (call := opened.get(_get_call_key(line, "close"))):
            call["names"] = [*call["names"], *line.get("names", ())]
            call["begin"] = max(call["at"], line.get("since", 0))
            call["goes_on"] = line.get("goes_on", "")
            call["end"] = None if call["goes_on"] else line["at"]
            call["late"] = call["goes_on"] == "late"
    return list(opened.values())


def _get_call_key(line: JournalLine, what: str) -> tuple[str, str]:
    return str(line.get("session")), str(line.get(what))


def list_edits_since_opening(
    lines: list[JournalLine], session_id: str, call_id: str
) -> list[JournalLine]:
    """The edits since a call was opened; all there are, where its opening is not known."""
    opened = (
        n for n, line in enumerate(lines) if _get_call_key(line, "open") == (session_id, call_id)
    )
    return list_edits(lines[max(opened, default=-1) + 1 :])


def is_contested(lines: list[JournalLine], path: str, who: Writer) -> bool:
    """Whether another call that names the path is open, or has been since this one was opened."""
    for line in reversed(lines):
        if "open" in line and _get_call_key(line, "open") == (who[0], who[2]):
            break
        if path in line.get("looked", ()) or (line.get("path") == path and get_author(line) != who):
            return True
    return any(
        call["end"] is None
        and path in call.get("looked", ())
        and _get_call_key(call, "open") != (who[0], who[2])
        for call in list_calls(lines)
    )


def list_edits_since_look(lines: list[JournalLine]) -> list[JournalLine]:
    """The edits seen after the newest look at the whole worktree."""
    start = max((n for n, line in enumerate(lines) if "look" in line), default=-1)
    return [line for line in list_edits(lines[start + 1 :]) if line["how"] != STATED]


def list_open_edits(lines: Iterable[JournalLine]) -> list[JournalLine]:
    """The open edits, which no commit has taken, in their order; `left` of those that one left
    out although the worktree was as it is."""
    open_edits: dict[str, list[tuple[int, JournalLine]]] = {}
    for number, line in enumerate(lines):
        if line.get("path") and "at" in line:
            open_edits.setdefault(line["path"], []).append((number, line))
        left, taken = line.get("left", {}), line.get("taken", {})
        for path in line.get("settled", ()):
            edits, stay = open_edits.pop(path, []), left.get(path, ())
            rest = [(n, {**edit, "left": True}) for n, edit in edits if get_edit_name(edit) in stay]
            open_edits |= {path: rest} if rest else {}
        for path in taken.keys() & open_edits:
            edits = open_edits.pop(path)
            rest = [(n, edit) for n, edit in edits if get_edit_name(edit) not in taken[path]]
            open_edits |= {path: rest} if rest else {}
    items = (item for edits in open_edits.values() for item in edits)
    return [line for _, line in sorted(items, key=lambda item: item[0])]


def get_edit_name(edit: JournalLine) -> list[Any]:
    """What names an edit among those of its path: when it was seen, and what stood there then."""
    version = parse_entry(edit["after"])
    return [edit["at"], version[1] if version else ""]


def get_latest_time(stamp: int) -> int:
    """The last ns that a stamp may stand for: a file system with whole seconds cuts the others."""
    return stamp if stamp % 1_000_000_000 else stamp + 999_999_999
