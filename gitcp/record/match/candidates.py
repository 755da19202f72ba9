"""Candidates for a link: the edits of checkpoints, compared with what a commit changes.

An edit takes a path from its content in the parent of the linked commit to its content in that
commit.  Both are read from the commit where it is known, else from the checkpoint's metadata.  An
added line counts only if `lines.json` gives it to a session of the checkpoint.
"""

from __future__ import annotations

import time

from gitcp import git
from gitcp.checkpoints import listing, recorded_edits
from gitcp.checkpoints.format import line_authors
from gitcp.checkpoints.stored import Places, find_checkpoint, read_checkpoint
from gitcp.git.kept import Kept, make_key
from gitcp.git.objects import parse_ident, read_changes, read_commit
from gitcp.record import match
from gitcp.record.match import branches, holding
from gitcp.record.match.change import find_moves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from gitcp.checkpoints.stored import StoredCheckpoint
    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.record.match import Target
    from gitcp.record.match.change import Change
    from gitcp.record.match.holding import Evidence, Held
    from gitcp.record.match.line import Line
    from gitcp.text.record_types import Blob, Commit, Recorded

BLOBS = "blobs"
EVIDENCE = "evidence"
_DAY = 86400  # seconds by which clocks may differ


def read_edits(repo: Repo, checkpoint_id: str, commit: Commit | None = None) -> list[Recorded]:
    """Return the edits of a stored checkpoint as commit, which carries its id, has them; [] if no
    such checkpoint is stored.

    If the checkpoint names none of the files that commit changed, they are the files to which its
    files were moved, or, if none was, all files that commit changed."""
    if find_checkpoint(repo, checkpoint_id) is None:
        return []
    changed: Changes = {}
    if commit:
        changed = read_changes(repo.objects, commit)[1]
    checkpoint = read_checkpoint(repo, checkpoint_id)
    edits = extract_edits(repo.objects, checkpoint, changed)
    if changed.keys().isdisjoint(edit["path"] for edit in edits):
        moved = _find_new_names(edits, changed, repo.objects.read_blob)
        edits += [recorded_edits.build_edit(path, changed[path]) for path in moved or changed]
    return edits


def extract_edits(
    objects: Objects, checkpoint: StoredCheckpoint, changed: Changes
) -> list[Recorded]:
    """Return the edits of a checkpoint; everything in changed if it names no file at all.

    changed: what the checkpoint's commit changes, {} if the commit is unknown."""
    by_path = _map_edits(checkpoint, changed)
    recorded_edits.limit_lines(objects, checkpoint, by_path)
    return list(by_path.values())


def _map_edits(checkpoint: StoredCheckpoint, changed: Changes) -> dict[str, Recorded]:
    """Return path -> edit of extract_edits(), of which every line counts."""
    by_path = recorded_edits.parse_edits(checkpoint)
    for path in changed.keys() & {*by_path, *recorded_edits.list_touched(checkpoint)}:
        by_path[path] = recorded_edits.build_edit(path, changed[path])
    if by_path:
        return by_path
    return {path: recorded_edits.build_edit(path, change) for path, change in changed.items()}


def list_edits(objects: Objects, commit: Commit) -> list[Recorded]:
    """Return all that a commit changes as edits."""
    changes = read_changes(objects, commit)[1]
    return [recorded_edits.build_edit(path, changes[path]) for path in changes]


def _find_new_names(
    edits: Iterable[Recorded], changes: Changes, read_blob: Blob
) -> Mapping[str, str]:
    """Return the new files in changes that are moved files of edits: new path -> old path."""
    added: dict[str, str] = {}
    for path, (_, old, _, new) in changes.items():
        if new and not old:
            added[path] = new
    removed = {edit["path"]: edit["oid"] for edit in edits if edit["oid"]}
    return find_moves(removed, added, read_blob)


def tell_how(edits: Iterable[Recorded], changes: Changes) -> str:
    """Return BLOBS if changes give every path its recorded content, else EVIDENCE."""
    for edit in edits:
        if edit["path"] not in changes:
            return EVIDENCE
        _, _, _, oid = changes[edit["path"]]
        if oid != edit["oid"]:
            return EVIDENCE
    return BLOBS


def select_linked(objects: Objects, oids: Iterable[str]) -> list[Commit]:
    """Return the commits that exist and are linked to a checkpoint, in the order of oids."""
    commits: list[Commit] = []
    for oid in oids:
        commit = read_commit(objects, oid)
        if commit and listing.list_linked(objects, commit["oid"]):
            commits.append(commit)
    return commits


def relate(
    commit: Commit | None, other: Commit | None, is_named: bool = False, has_own: bool = False
) -> str:
    """Return how a commit, None if it is unknown, is related to other, in which work of it is
    searched for: by a name of `holding`.  other: None for a commit that its author makes now.

    is_named: git or a person names commit, or HEAD lost it; has_own: other has an id already."""
    if commit is None:
        return holding.SAME
    if other:
        _, seconds = parse_ident(commit["author"])
        if commit["author"] == other["author"] and seconds:
            return holding.REPLAYED
        if not _have_same_author(commit, other):
            return holding.OTHER
    if is_named:
        return holding.RETAKEN
    if has_own:
        return holding.OTHER
    return holding.SAME


def _have_same_author(commit: Commit, other: Commit) -> bool:
    """Whether two commits have the same author, by the name alone if a forge made one of them: it
    writes its own mail of the person."""
    author, _ = parse_ident(commit["author"])
    other_author, _ = parse_ident(other["author"])
    is_by_forge = line_authors.is_forge(commit["committer"])
    if is_by_forge or line_authors.is_forge(other["committer"]):
        return author.partition(" <")[0] == other_author.partition(" <")[0]
    return author == other_author


class Work:
    """The edits of a checkpoint as commit, which carries its id, has them; other commits are
    compared with them.

    commit: None if it is unknown.  without: changes whose part of the edits does not count."""

    def __init__(
        self,
        objects: Objects,
        commit: Commit | None,
        edits: list[Recorded],
        checkpoint_id: str = "",
        without: Sequence[Change] = (),
    ) -> None:
        self._objects = objects
        self.commit = commit
        self.edits = edits
        self.checkpoint_id = checkpoint_id
        self._without = without
        self.oid = commit["oid"] if commit else ""
        self._last: Change | None = None  # the change that was asked last
        self._held: Held | None = None  # what that has

    def leave_out(self, commits: Iterable[Commit]) -> Work:
        """Return this work without what these commits have."""
        without = [match.Target(self._objects, one["oid"]).build_change() for one in commits]
        return Work(self._objects, self.commit, self.edits, self.checkpoint_id, without)

    def hold(self, change: Change) -> Held:
        """Return what a commit has of the edits."""
        if self._held is None or self._last is not change:
            self._last = change
            self._held = holding.hold(self.edits, change, self._without)
        return self._held

    def find_enough(self, change: Change, relation: str, together: int = 0) -> Evidence:
        """Return what a commit has of the edits if it is enough to link the two, else nothing.

        together: how many units it has of all works that are searched for."""
        part = self.hold(change)

        def is_equal() -> bool:
            whole = part
            if self.commit:
                edits = list_edits(self._objects, self.commit)
                whole = holding.hold(edits, change, self._without)
            return whole.is_all_work and whole.is_all_change

        reason = holding.explain_enough(part, change, relation, is_equal, together)
        if not reason:
            return set()
        git.append_trace("match", f"{sorted({path for path, _ in part.common})}: {reason}")
        return {*part.common}


def read_work(repo: Repo, checkpoint_id: str, commit: Commit | None) -> Work:
    """Return the work of a stored checkpoint, as commit has it."""
    return Work(repo.objects, commit, read_edits(repo, checkpoint_id, commit), checkpoint_id)


class Search:
    """Search commits for work of the checkpoints of other commits; each checkpoint is read once.

    commits: those whose checkpoints are searched for.  seconds: the time that it may take.
    refused: the ids that are never found, None for those that a person refused.  beside: the oids
    of those commits that neither git nor a person names, and that HEAD did not lose.  line: on
    which no commit has work of one that it is based on, or that is based on it.

    asked: the last existing commit whose search ended."""

    def __init__(
        self,
        repo: Repo,
        commits: Iterable[Commit],
        seconds: float,
        refused: Collection[str] | None,
        beside: Collection[str] = (),
        line: Line | None = None,
    ) -> None:
        self._repo = repo
        self._refused = refused
        self._until = time.monotonic() + seconds
        self.commits = list({commit["oid"]: commit for commit in commits}.values())
        self._beside = beside
        self._line = line
        self._works: dict[str, list[Work]] = {}
        self._places = Places(repo)
        self._settled = Kept(repo, "settled", "1")
        self.asked = ""

    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self._until

    def list_works(self) -> Iterator[Work]:
        """The works of all commits."""
        for commit in self.commits:
            yield from self.read_works(commit)

    def is_held(self, target: Target) -> bool:
        """Return whether a commit has work of any of the commits."""
        change = target.build_change()
        return any(holding.is_any(work.hold(change)) for work in self.list_works())

    def find_missing(self, targets: Iterable[Target]) -> Iterator[tuple[Target, dict[str, str]]]:
        """Yield each target with the ids that it lacks and whose work it has, while there is time.

        An id's value says what shows it.  The first commit is searched however long it takes, so
        that each hook settles one."""
        for target in targets:
            is_first = bool(target.oid) and not self.asked
            if self.is_late() and not is_first:
                break
            if is_first:
                matches = [*self._match(target, float("inf"))]
            else:
                matches = [*self._match(target, self._until)]
                if target.oid and self.is_late():
                    break
            ids = self._select_allowed(holding.choose_candidate(matches), target)
            yield target, {name: self._tell_how(name, target) for name in ids}
            self.asked = target.oid
        self._settled.save()

    def _select_allowed(self, ids: Sequence[str], target: Target) -> list[str]:
        """Those of the ids that a commit lacks and that nobody refused."""
        if ids and self._refused is None:
            self._refused = match.read_refused(self._repo)
        excluded = {*target.list_ids(), *(self._refused or ())}
        return [checkpoint_id for checkpoint_id in ids if checkpoint_id not in excluded]

    def _tell_how(self, checkpoint_id: str, target: Target) -> str:
        """What shows that a commit has work of a checkpoint: BLOBS if one commit of it has all."""
        hows: list[str] = []
        for work in self.list_works():
            if work.checkpoint_id == checkpoint_id and work.edits:
                hows.append(tell_how(work.edits, target.changes))
        return min(hows)

    def _match(self, target: Target, until: float) -> Iterable[dict[str, Evidence]]:
        """Return for each commit, by id, what its edits have in common with target, if that is
        enough.  Ends at the time until."""
        change = target.build_change()
        works: list[Work] = []
        if change.changes:
            works = [*self._list_held_works(target, change, until)]
        units: set[tuple[str, bytes]] = set()
        for work in works:
            units.update(work.hold(change).common)
        other = None
        if target.oid:
            other = read_commit(self._repo.objects, target.oid)
        shared: dict[str, dict[str, Evidence]] = {}
        for work in works:
            is_named = work.oid not in self._beside
            has_own = bool(target.list_ids())
            relation = relate(work.commit, other, is_named, has_own)
            evidence = work.find_enough(change, relation, len(units))
            held = work.hold(change)
            may_be_part = bool(other) and not evidence and held.is_all_work
            if may_be_part and branches.is_squashed(self._repo, work.oid, target):
                evidence = {*held.common}
            if evidence:
                shared.setdefault(work.oid, {})[work.checkpoint_id] = evidence
        return shared.values()

    def _list_held_works(self, target: Target, change: Change, until: float) -> Iterator[Work]:
        """Yield the works of which target has something, before the time until.

        What commits with the work's id have that target is based on is left out."""
        for commit in self.commits:
            if time.monotonic() >= until:
                return
            if self._line and self._line.is_based(commit["oid"], target.oid):
                continue
            for work in self._select_held(commit, target, change):
                yield work.leave_out(self._list_carriers(work.checkpoint_id, commit, target))

    def _select_held(self, commit: Commit, target: Target, change: Change) -> list[Work]:
        """The works of a commit of which target has something.  That it has nothing is kept until a
        checkpoint of the commit is another one."""
        key = self._make_key(commit, target)
        if key and self._settled.find(key):
            return []
        works = self.read_works(commit)
        held = [work for work in works if holding.is_any(work.hold(change))]
        if key and not held:
            self._settled.keep(key, True)
        return held

    def _make_key(self, commit: Commit, target: Target) -> bytes:
        """What tells target, a commit and its checkpoints from all others; b"" while target is
        being made, and where a checkpoint is not stored."""
        if not target.oid:
            return b""
        ids = listing.list_linked(self._repo.objects, commit["oid"])
        stored = [self._places.find_checkpoint(checkpoint_id) for checkpoint_id in ids]
        if None in stored:
            return b""
        return make_key(target.oid, commit["oid"], stored)

    def _list_carriers(self, checkpoint_id: str, commit: Commit, target: Target) -> list[Commit]:
        """Return the commits with an id that target is based on."""
        since = max(0, parse_ident(commit["author"])[1] - _DAY)
        tip = target.oid or target.parent
        if not tip.strip("0"):
            return []
        objects = self._repo.objects
        oids = listing.list_carriers(self._repo, checkpoint_id, tip, since)
        carriers: list[Commit] = []
        for one in select_linked(objects, oids):
            if one["oid"] == target.oid:
                continue
            if checkpoint_id in listing.list_linked(objects, one["oid"]):
                carriers.append(one)
        return carriers

    def read_works(self, commit: Commit) -> list[Work]:
        """Return the edits of each checkpoint that a commit is linked to."""
        oid = commit["oid"]
        if oid not in self._works:
            ids = listing.list_linked(self._repo.objects, oid)
            self._works[oid] = [read_work(self._repo, one, commit) for one in ids]
        return self._works[oid]
