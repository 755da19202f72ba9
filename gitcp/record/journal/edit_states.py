"""Which edits of a journal are open, settled or withdrawn."""

from __future__ import annotations

from gitcp.record.journal import credit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable
    from typing import Any

    from gitcp.text.record_types import JournalLine, Version


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
    edits = [edit for edit in edits if credit.get_author(edit)[0] == session_id]
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


def take_back_edits(
    lines: list[JournalLine], session_id: str, call_id: str, begun: int
) -> list[JournalLine]:
    """The lines, with the edits that were given to a call before it really began, at begun in ns:
    they are the person's, or nobody's if a call of another session was open then.  The same list
    if there are none."""
    wrong = {
        n: credit.time_made(line)
        for n, line in enumerate(lines)
        if line.get("how") in ("window", "restored")
        and credit.get_cause(line)[::2] == (session_id, call_id)
    }
    wrong = {n: at for n, at in wrong.items() if at < begun}
    foreign_calls = (
        [call for call in credit.list_calls(lines) if call["session"] != session_id]
        if wrong
        else []
    )
    corrected, causes = ([*lines], credit.list_keys("cause")) if wrong else (lines, ())
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
        n
        for n, line in enumerate(lines)
        if credit.get_call_key(line, "open") == (session_id, call_id)
    )
    return credit.list_edits(lines[max(opened, default=-1) + 1 :])


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
                (
                    n,
                    {
                        **e,
                        "left": e.get("left") or credit.get_author(e)[0] in line.get("linked", ()),
                    },
                )
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
    version = credit.parse_entry(edit["after"])
    return [edit["at"], version[1] if version else ""]
