"""Candidates for a link: checkpoints, each with its edits, held against what a commit changes.

An edit takes a path from what stood there before the linked commit to what that has.  The commit
itself tells both, where it is known; else the checkpoint's metadata.  Of the lines that the commit
added only those count that `lines.json` gives to a session of the checkpoint.
"""

from __future__ import annotations

import time

from gitcp.core import json
from gitcp.core.decide import line_evidence, overlap, relink_rules
from gitcp.core.decide.difference import ABSENT
from gitcp.core.lines import moves
from gitcp.core.v1 import summary
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import read_commit
from gitcp.store.git.tree import Lookup, find_tree
from gitcp.store.match import commit_memory
from gitcp.store.v1 import committed_read, committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Any

    from gitcp.core.decide.difference import Blob, Recorded, Staged
    from gitcp.core.record_types import Commit, Version
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects
    from gitcp.store.match.case import Target
    from gitcp.store.v1.committed_read import Checkpoint

BLOBS = "blobs"


def read_edits(
    repo: Repo, objects: Objects, checkpoint_id: str, commit: Commit | None = None
) -> list[Recorded]:
    """The edits of a stored checkpoint, as a commit that carries its id has them; [] without
    such a checkpoint.  Where it names no file of the commit, all that the commit changed."""
    if committed_refs.find_checkpoint(repo, objects, checkpoint_id) is None:
        return []
    changed = commit_changes.read_changes(objects, commit)[1] if commit else {}
    record = extract_edits(
        objects, committed_read.read_checkpoint(repo, objects, checkpoint_id), changed
    )
    if changed.keys().isdisjoint(entry["path"] for entry in record):
        record += [_build_edit(path, change) for path, change in changed.items()]
    return record


def extract_edits(objects: Objects, checkpoint: Checkpoint, changed: Changes) -> list[Recorded]:
    """read_edits() of a checkpoint that was read; changed: what its commit changes, {} if unknown.
    Where it names no file at all, all that the commit changes."""
    by_path: dict[str, Recorded] = {}
    touched = set[str]()
    for session in checkpoint["sessions"]:
        files = session["metadata"].get("files")
        for path, file in (files if isinstance(files, dict) else {}).items():
            if isinstance(file, dict) and file:
                by_path[path] = _parse_edit(path, file)
        paths = session["metadata"].get("files_touched")
        touched.update(p for p in (paths if isinstance(paths, list) else ()) if isinstance(p, str))
    named = changed.keys() & {*by_path, *touched}
    by_path |= {path: _build_edit(path, changed[path]) for path in named}
    by_path = by_path or {path: _build_edit(path, change) for path, change in changed.items()}
    _leave_foreign_lines(objects, checkpoint, by_path)
    return list(by_path.values())


def _build_edit(path: str, change: Staged) -> Recorded:
    old_mode, old, mode, oid = change
    before: Version = (old_mode, old) if old else None
    return {"path": path, "mode": mode, "oid": oid, "live": False, "before": before}


def _parse_edit(path: str, file: Mapping[str, Any]) -> Recorded:
    """An edit as metadata tells it: by anybody who can push, so not of any form."""
    mode, oid = (v if isinstance(v := file.get(key), str) else "" for key in ("mode", "oid"))
    entry: Recorded = {"path": path, "mode": mode or ABSENT, "oid": oid or None, "live": False}
    before = file.get("before", "")
    if before is None:
        entry["before"] = None
    elif isinstance(before, list) and [type(v) for v in before] == [str, str]:
        entry["before"] = (before[0], before[1])
    return entry


def _leave_foreign_lines(
    objects: Objects, checkpoint: Checkpoint, by_path: Mapping[str, Recorded]
) -> None:
    """Let only those lines count that lines.json gives a session, where it gives any."""
    written: dict[tuple[str, str], set[int]] = {}
    credited = False
    for session in checkpoint["sessions"]:
        blob = session["files"].get(summary.LINES)
        stored = objects.read(blob[1]) if blob else None
        for path, entries in _parse_lines(stored[2] if stored else b"").items():
            for oid, first, last, who in _list_ranges(entries):
                numbers = written.setdefault((path, oid), set())
                if who not in ("person", "unknown"):
                    credited = True
                    numbers.update(range(first, last + 1))
    for path, entry in by_path.items() if credited else ():
        mine = written.get((path, entry["oid"] or ""))
        text = commit_changes.read_content(objects, entry["oid"]) if mine is not None else None
        if mine is not None and text is not None and not line_evidence.is_binary(text):
            lines = enumerate(text.split(b"\n"), 1)
            entry["own"] = frozenset(s.removesuffix(b"\r") for n, s in lines if n in mine)


def _parse_lines(data: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(data) if data else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _list_ranges(entries: object) -> list[tuple[str, int, int, str]]:
    """(blob, first line, last line, whose) of what lines.json says of a path."""
    ranges = []
    for entry in entries if isinstance(entries, list) else ():
        for run in entry.get("ranges", ()) if isinstance(entry, dict) else ():
            if isinstance(run, list) and [type(v) for v in run[:3]] == [int, int, str]:
                ranges.append((str(entry.get("oid")), run[0], min(run[1], 1 << 20), run[2]))
    return ranges


def match_edits(
    objects: Objects,
    record: list[Recorded],
    changes: Changes,
    gone: Callable[[str], bool] = lambda _: False,
) -> dict[str, frozenset[bytes]]:
    """What a commit with these changes has in common with edits, by evidence: path -> what.

    gone: whether the commit's parent lacks a path: a file that it has by another name is
    compared by that."""
    blobs = commit_changes.make_reader(objects)
    return overlap.match(_rename(record, changes, blobs, gone), changes, blobs, gone)["shared"]


def is_concerned(
    objects: Objects, record: list[Recorded], changes: Changes, gone: Callable[[str], bool]
) -> bool:
    """Whether a commit with these changes changes a file of some edits, be it by another name."""
    blob = commit_changes.make_reader(objects)
    paths = {entry["path"]: entry["oid"] for entry in _rename(record, changes, blob, gone)}
    come = {path: new for path, (_, old, _, new) in changes.items() if new and not old}
    left = {path: oid for path, oid in paths.items() if oid}
    return not paths.keys().isdisjoint(changes) or bool(_find_moves(left, come, blob))


def _rename(
    record: list[Recorded], changes: Changes, blob: Blob, gone: Callable[[str], bool]
) -> list[Recorded]:
    """The edits, those of a file that is gone at the path to which its content has moved, as far
    as the changes name that."""
    before = {
        e["path"]: was for e in record if e["path"] not in changes if (was := e.get("before"))
    }
    lost = {path: was[1] for path, was in before.items() if gone(path)}
    if not lost:
        return record
    there = {path: old for path, (_, old, _, _) in changes.items() if old}
    names = {was: now for now, was in _find_moves(lost, there, blob).items()}
    return [{**e, "path": names.get(e["path"], e["path"])} for e in record]


def _find_moves(gone: Mapping[str, str], come: Mapping[str, str], blob: Blob) -> dict[str, str]:
    return moves.find_moves(gone, come, lambda oid: (blob(oid) or b"").split(b"\n"))


def tell_how(record: Iterable[Recorded], changes: Changes) -> str:
    """What shows that a commit has recorded edits: BLOBS where it makes of every path what was
    recorded, else evidence of a part."""
    there = all(e["path"] in changes and changes[e["path"]][3] == e["oid"] for e in record)
    return BLOBS if there else "evidence"


def build_gone_check(objects: Objects, parent: str) -> Callable[[str], bool]:
    """To ask whether a commit lacks a path."""
    there = Lookup(objects, find_tree(objects, parent))
    return lambda path: there(path) is None


def select_linked(objects: Objects, oids: Iterable[str]) -> list[Commit]:
    """Those of some commits that are there and are linked to a checkpoint."""
    commits = (commit for oid in oids if (commit := read_commit(objects, oid)))
    return [commit for commit in commits if find_commits.list_linked(objects, commit["oid"])]


class Search:
    """Some commits and what their checkpoints recorded; each is read once.  refused: ids that are
    not found, by default those that a person refused."""

    def __init__(
        self,
        repo: Repo,
        objects: Objects,
        commits: Iterable[Commit],
        seconds: float,
        refused: Collection[str] | None,
    ) -> None:
        self._repo, self._objects, self._refused = repo, objects, refused
        self._until = time.monotonic() + seconds
        self.commits = list({commit["oid"]: commit for commit in commits}.values())
        self._edits: dict[str, dict[str, list[Recorded]]] = {}
        self.asked = ""

    def is_late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._until

    def is_held(self, changes: Changes, parent: str) -> bool:
        """Whether a commit with these changes on parent has work of any of the commits."""
        return any(self._match(changes, parent))

    def find_missing(self, news: Iterable[Target]) -> Iterator[tuple[Target, dict[str, str]]]:
        """Commits, each with the ids whose work it has and that it lacks, in the order of those of
        the search, and how that shows, while there is time; asked is the last of them."""
        for new in news:
            if self.is_late():
                return
            parent, changes = new.read()
            ids = relink_rules.choose([*self._match(changes, parent)])
            if ids and self._refused is None:
                self._refused = commit_memory.read_refused(self._repo)
            has = {*new.list_ids(), *(self._refused or ())}
            yield new, {one: self._tell_how(one, changes) for one in ids if one not in has}
            self.asked = new.oid

    def _tell_how(self, checkpoint_id: str, changes: Changes) -> str:
        records = [self.read_edits(commit).get(checkpoint_id) for commit in self.commits]
        return min(tell_how(record, changes) for record in records if record)

    def _match(self, changes: Changes, parent: str) -> Iterator[dict[str, relink_rules.Evidence]]:
        """What each commit, while there is time, has in common with these changes on parent, by id;
        none that has nothing."""
        gone = build_gone_check(self._objects, parent)
        for commit in self.commits if changes else ():
            if self.is_late():
                return
            edits = self.read_edits(commit)
            shared: dict[str, relink_rules.Evidence] = {}
            for one, record in edits.items():
                common = match_edits(self._objects, record, changes, gone)
                if common:
                    shared[one] = {(p, line) for p, lines in common.items() for line in lines}
            if shared:
                yield shared

    def read_edits(self, commit: Commit) -> dict[str, list[Recorded]]:
        """What each checkpoint of a commit recorded of it."""
        oid = commit["oid"]
        if oid not in self._edits:
            self._edits[oid] = {
                one: read_edits(self._repo, self._objects, one, commit)
                for one in find_commits.list_linked(self._objects, oid)
            }
        return self._edits[oid]
