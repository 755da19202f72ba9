"""What a commit settles of the open edits, and what it leaves of them."""

from __future__ import annotations

import os

from gitcp.core.credit import entries
from gitcp.core.decide import remaining
from gitcp.core.decide.remaining import SETTLED
from gitcp.store.git.tree import TREE, Lookup
from gitcp.store.journal import journal
from gitcp.store.journal.journal import Journal, clock
from gitcp.store.journal.known import Known
from gitcp.store.journal.work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from gitcp.core.decide.overlap import Staged
    from gitcp.core.record_types import Commit, JournalLine, Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Changes = Mapping[str, Staged]


def settle(
    repo: Repo,
    objects: Objects,
    commit: Commit,
    changes: Changes,
    sessions: Collection[str] | None = None,
    but: Collection[str] = (),
) -> None:
    """Write down what a commit with these changes settles.

    sessions: those whose part in the commit is decided, by default all but those named by but; the
    edits of others stay open.
    """
    if not os.path.exists(repo.own(journal.NAME)):
        return
    with Journal(repo) as held:
        open_edits = entries.unsettled(held.lines)
        again = any(line.get("commit") == commit["oid"] for line in held.lines)
        if not held.lines or (again and not open_edits):
            return
        writers = {entries.author(line)[0] for line in open_edits} - {""}
        decided = (writers if sessions is None else writers.intersection(sessions)) - {*but}
        _look(objects, held, open_edits)
        line = _line(repo, objects, held, commit, changes, writers, decided)
        if not again and (ends := _transcript_ends(repo)):
            line["transcripts"] = ends
        if not again or entries.unsettled([*held.lines, line]) != open_edits:
            held.append([line])
            held.cut()


def _look(objects: Objects, held: Journal, open_edits: Iterable[JournalLine]) -> None:
    """See what stands at the paths of open edits: a commit may have taken its time."""
    from gitcp.store.journal import look

    look.paths(objects, held, sorted({line["path"] for line in open_edits}), clock(held.repo))


def _line(
    repo: Repo,
    objects: Objects,
    held: Journal,
    commit: Commit,
    changes: Changes,
    writers: Iterable[str],
    decided: Collection[str],
) -> JournalLine:
    known, tree = Known(repo, objects, held.lines), Lookup(objects, commit["tree"])

    def look(path: str) -> Version:
        entry = tree(path)
        return None if entry and entry[0] == TREE else entry  # a directory where a file was

    settled = [path for path in changes if known.entry(path) == look(path)]
    moved = {x["follows"] for x in held.lines if "follows" in x and x["path"] in settled}
    settled += [path for path in sorted(moved) if not (known.entry(path) or look(path))]

    left: JournalLine = {}
    taken: JournalLine = {}
    blob = _blobs_of(objects)
    for session_id in sorted(writers):
        work = Work(held.lines, session_id)
        for path in work.paths():
            for one in work.stretches(path):
                is_done = (
                    session_id in decided
                    and remaining.rest(
                        one.record(path), changes, known.entry(path), look(path), blob, one.base
                    )[0]
                    == SETTLED
                )
                names = [entries.name(edit) for edit in one.edits]
                if is_done != (path in settled):
                    (taken if is_done else left).setdefault(path, []).extend(names)
    line: JournalLine = {"commit": commit["oid"], "settled": settled}
    return line | ({"left": left} if left else {}) | ({"taken": taken} if taken else {})


def _blobs_of(objects: Objects) -> Callable[[str], bytes | None]:
    """A function that returns the content of a blob by its oid, None for none."""

    def blob(oid: str) -> bytes | None:
        stored = objects.read(oid)
        return stored[2] if stored and stored[1] == "blob" else None

    return blob


def let_go(repo: Repo, session_id: str, paths: Iterable[str]) -> None:
    """Settle what a session has open at these paths: no commit takes it any more."""
    with Journal(repo) as held:
        work = Work(held.lines, session_id)
        taken = {
            path: [entries.name(edit) for one in every for edit in one.edits]
            for path in paths
            if (every := work.stretches(path))
        }
        held.append([{"taken": taken}] if taken else [])


def _transcript_ends(repo: Repo) -> JournalLine:
    """How far the transcripts go of sessions in a turn whose client tells nothing of its tools."""
    from gitcp.store.session import markers, turn_log

    ends: JournalLine = {}
    for marker in markers.of_late(repo):
        if marker["phase"] == "active" and not marker["tool_events"]:
            base = turn_log.baseline(repo, marker["session_id"])
            if base and (size := turn_log.size(base.get("transcript"))):
                ends[marker["session_id"]] = {"turn": str(base.get("turn", "")), "size": size}
    return ends
