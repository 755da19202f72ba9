"""Candidates for a link: the edits of checkpoints, compared with what a commit changes; lost
checkpoints, and what a rewrite replaced.

An edit takes a path from its content in the parent of the linked commit to its content in that
commit.  Both are read from the commit where it is known, else from the checkpoint's metadata.  An
added line counts only if `lines.json` gives it to a session of the checkpoint.
"""

from __future__ import annotations

import os
import time

from gitcp import git
from gitcp.checkpoints import listing, recorded_edits
from gitcp.checkpoints.format import line_authors
from gitcp.checkpoints.stored import find_checkpoint, read_checkpoint
from gitcp.errors import Error, GitError
from gitcp.git import commit_message, files, gitdir, jj, refs
from gitcp.git.kept import Kept, make_key
from gitcp.git.objects import need_commit, object_lists, parse_ident, read_changes, read_commit
from gitcp.git.objects.object_lists import is_ancestor, list_commits
from gitcp.git.records import encode_lines
from gitcp.record import match
from gitcp.record.match import holding
from gitcp.text.shapes import is_object_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from gitcp.checkpoints.stored import StoredCheckpoint
    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.record.match import Target
    from gitcp.text.record_types import Blob, Commit, Recorded


BLOBS = "blobs"
_DAY = 86400  # seconds by which clocks may differ


def read_edits(repo: Repo, checkpoint_id: str, commit: Commit | None = None) -> list[Recorded]:
    """Return the edits of a stored checkpoint as commit, which carries its id, has them; [] if no
    such checkpoint is stored.

    If the checkpoint names none of the files that commit changed, they are the files to which its
    files were moved, or, if none was, all files that commit changed."""
    if find_checkpoint(repo, checkpoint_id) is None:
        return []
    if commit:
        changed = read_changes(repo.objects, commit)[1]
    else:
        changed = {}
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
    by_path = _list_edits(checkpoint, changed)
    recorded_edits.limit_lines(objects, checkpoint, by_path)
    return list(by_path.values())


def _list_edits(checkpoint: StoredCheckpoint, changed: Changes) -> dict[str, Recorded]:
    """Return path -> edit of extract_edits(), of which every line counts."""
    by_path = recorded_edits.parse_edits(checkpoint)
    for path in changed.keys() & {*by_path, *recorded_edits.list_touched(checkpoint)}:
        by_path[path] = recorded_edits.build_edit(path, changed[path])
    return by_path or {
        path: recorded_edits.build_edit(path, change) for path, change in changed.items()
    }


def list_edits(objects: Objects, commit: Commit) -> list[Recorded]:
    """Return all that a commit changes as edits."""
    changes = read_changes(objects, commit)[1]
    return [recorded_edits.build_edit(path, changes[path]) for path in changes]


def _find_new_names(
    edits: Iterable[Recorded], changes: Changes, read_blob: Blob
) -> Mapping[str, str]:
    """Return the new files in changes that are moved files of edits: new path -> old path."""
    added = {path: new for path, (_, old, _, new) in changes.items() if new and not old}
    removed = {edit["path"]: edit["oid"] for edit in edits if edit["oid"]}
    return holding.find_moves(removed, added, read_blob)


def tell_how(edits: Iterable[Recorded], changes: Changes) -> str:
    """Return BLOBS if changes give every path its recorded content, else "evidence"."""
    is_exact = all(e["path"] in changes and changes[e["path"]][3] == e["oid"] for e in edits)
    return BLOBS if is_exact else "evidence"


def select_linked(objects: Objects, oids: Iterable[str]) -> list[Commit]:
    """Return the commits that exist and are linked to a checkpoint, in the order of oids."""
    commits = (commit for oid in oids if (commit := read_commit(objects, oid)))
    return [commit for commit in commits if listing.list_linked(objects, commit["oid"])]


def relate(
    commit: Commit | None, other: Commit | None, is_named: bool = False, has_own: bool = False
) -> str:
    """Return how a commit, None if it is unknown, is related to other, in which work of it is
    searched for: by a name of core/holding.  other: None for a commit that its author makes now.

    is_named: git or a person names commit, or HEAD lost it; has_own: other has an id already."""
    if commit is None:
        return holding.SAME
    if other:
        _, time = parse_ident(commit["author"])
        if commit["author"] == other["author"] and time:
            return holding.REPLAYED
        if not _have_same_author(commit, other):
            return holding.OTHER
    if is_named:
        return holding.RETAKEN
    return holding.OTHER if has_own else holding.SAME


def _have_same_author(commit: Commit, other: Commit) -> bool:
    """Whether two commits have the same author, by the name alone if a forge made one of them: it
    writes its own mail of the person."""
    authors = [parse_ident(one["author"])[0] for one in (commit, other)]
    if any(line_authors.is_forge(one["committer"]) for one in (commit, other)):
        authors = [author.partition(" <")[0] for author in authors]
    return authors[0] == authors[1]


class Search:
    """Search commits for work of the checkpoints of other commits; each checkpoint is read once.

    commits: those whose checkpoints are searched for.  seconds: the time that it may take.
    refused: the ids that are never found, None for those that a person refused.  beside: the oids
    of those commits that neither git nor a person names, and that HEAD did not lose."""

    def __init__(
        self,
        repo: Repo,
        commits: Iterable[Commit],
        seconds: float,
        refused: Collection[str] | None,
        beside: Collection[str] = (),
    ) -> None:
        self._repo = repo
        self._refused = refused
        self._until = time.monotonic() + seconds
        self.commits = list({commit["oid"]: commit for commit in commits}.values())
        self._beside = beside
        self._works: dict[str, list[Work]] = {}
        self.asked = ""

    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self._until

    def is_held(self, target: Target) -> bool:
        """Return whether a commit has work of any of the commits."""
        change = target.build_change()
        return any(
            holding.is_any(work.hold(change))
            for commit in self.commits
            for work in self.read_works(commit)
        )

    def find_missing(self, targets: Iterable[Target]) -> Iterator[tuple[Target, dict[str, str]]]:
        """Yield each target with the ids that it lacks and whose work it has, while there is time.

        An id's value says what shows it.  `asked` is the last existing commit whose search ended.
        The first one is searched however long it takes, so that each hook settles one."""
        for target in targets:
            is_first = bool(target.oid) and not self.asked
            if self.is_late() and not is_first:
                return
            matches = [*self._match(target, float("inf") if is_first else self._until)]
            if target.oid and not is_first and self.is_late():
                return
            ids = holding.choose_candidate(matches)
            if ids and self._refused is None:
                self._refused = match.read_refused(self._repo)
            excluded = {*target.list_ids(), *(self._refused or ())}
            yield target, {i: self._tell_how(i, target) for i in ids if i not in excluded}
            self.asked = target.oid

    def _tell_how(self, checkpoint_id: str, target: Target) -> str:
        works = (work for commit in self.commits for work in self.read_works(commit))
        edits = (work.edits for work in works if work.checkpoint_id == checkpoint_id and work.edits)
        return min(tell_how(one, target.read()[1]) for one in edits)

    def _match(self, target: Target, until: float) -> Iterable[dict[str, holding.Evidence]]:
        """Return for each commit, by id, what its edits have in common with target, if that is
        enough.  Ends at the time until."""
        change = target.build_change()
        if change.changes:
            works = [*self._list_works(target, change, until)]
        else:
            works = []
        unit_count = len({unit for work in works for unit in work.hold(change)["common"]})
        other = None
        if target.oid:
            other = read_commit(self._repo.objects, target.oid)
        shared: dict[str, dict[str, holding.Evidence]] = {}
        for work in works:
            is_named = work.oid not in self._beside
            has_own = bool(target.list_ids())
            relation = relate(work.commit, other, is_named, has_own)
            evidence = work.find_enough(change, relation, unit_count)
            if evidence:
                shared.setdefault(work.oid, {})[work.checkpoint_id] = evidence
        return shared.values()

    def _list_works(self, target: Target, change: holding.Change, until: float) -> Iterator[Work]:
        """Yield the works of which target has something, before the time until.

        What commits with the work's id have that target is based on is left out."""
        for commit in self.commits:
            if time.monotonic() >= until:
                return
            for work in self.read_works(commit):
                if holding.is_any(work.hold(change)):
                    yield work.leave_out(self._list_carriers(work.checkpoint_id, commit, target))

    def _list_carriers(self, checkpoint_id: str, commit: Commit, target: Target) -> list[Commit]:
        """Return the commits with an id that target is based on."""
        since = max(0, parse_ident(commit["author"])[1] - _DAY)
        tip = target.oid or target.parent
        if not tip.strip("0"):
            return []
        oids = listing.list_carriers(self._repo, checkpoint_id, tip, since)
        return [
            one
            for one in select_linked(self._repo.objects, oids)
            if one["oid"] != target.oid
            and checkpoint_id in listing.list_linked(self._repo.objects, one["oid"])
        ]

    def read_works(self, commit: Commit) -> list[Work]:
        """Return the edits of each checkpoint that a commit is linked to."""
        oid = commit["oid"]
        if oid not in self._works:
            ids = listing.list_linked(self._repo.objects, oid)
            self._works[oid] = [read_work(self._repo, one, commit) for one in ids]
        return self._works[oid]


def read_work(repo: Repo, checkpoint_id: str, commit: Commit | None) -> Work:
    """Return the work of a stored checkpoint, as commit has it."""
    return Work(repo.objects, commit, read_edits(repo, checkpoint_id, commit), checkpoint_id)


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
        without: Sequence[holding.Change] = (),
    ) -> None:
        self._objects = objects
        self.commit = commit
        self.edits = edits
        self.checkpoint_id = checkpoint_id
        self._without = without
        self.oid = commit["oid"] if commit else ""
        self._held: tuple[holding.Change, holding.Held] | None = None  # of the change asked last

    def leave_out(self, commits: Iterable[Commit]) -> Work:
        """Return this work without what these commits have."""
        without = [match.Target(self._objects, one["oid"]).build_change() for one in commits]
        return Work(self._objects, self.commit, self.edits, self.checkpoint_id, without)

    def hold(self, change: holding.Change) -> holding.Held:
        """Return what a commit has of the edits."""
        if self._held is None or self._held[0] is not change:
            self._held = (change, holding.hold(self.edits, change, self._without))
        return self._held[1]

    def find_enough(
        self, change: holding.Change, relation: str, together: int = 0
    ) -> holding.Evidence:
        """Return what a commit has of the edits if it is enough to link the two, else nothing.

        together: how many units it has of all works that are searched for."""
        part = self.hold(change)

        def is_equal() -> bool:
            whole = part
            if self.commit:
                edits = list_edits(self._objects, self.commit)
                whole = holding.hold(edits, change, self._without)
            return whole["is_all_work"] and whole["is_all_change"]

        reason = holding.explain_enough(part, change, relation, is_equal, together)
        if reason:
            git.append_trace("match", f"{sorted({path for path, _ in part['common']})}: {reason}")
        return {*part["common"]} if reason else set()


# Checkpoints whose commit is lost, paired with commits that lost their id
# (doc/behaviour.md "Rewritten commits").
_MOST = 2000  # commits searched
_RECENT = 50  # commits searched if lately


def find_lost(
    repo: Repo, among: str = "", lately: bool = False
) -> list[tuple[str, dict[str, str]]]:
    """Pairs (commit, {id: what shows it}) of commits that should be linked to a lost checkpoint.

    A checkpoint is lost if no commit with its id is on a branch, or in the history of among.
    Commits that git copied from such a commit come first.  If there is none, it is the commits that
    change what the checkpoint's own commit changed, as a reflog or the checkpoint tells.

    among: the revision range to search, '' for all branches.  lately: search only checkpoints of
    the recent reflog and the newest commits, not the whole store."""
    if not lately:
        stored = [c["checkpoint_id"] for c in listing.list_checkpoints(repo, skip_summary=True)]
        return _pair_links(repo, stored, among, _MOST)
    if not os.path.exists(repo.join_shared("linked")):
        return []
    lost = _list_off_branches(repo)
    stored = [i for i in lost if find_checkpoint(repo, i)]
    return _pair_links(repo, stored, among, _RECENT)


def _pair_links(
    repo: Repo, stored: Collection[str], among: str, limit: int
) -> list[tuple[str, dict[str, str]]]:
    """find_lost() for the stored ids, among the newest `limit` commits."""
    if not stored:
        return []
    carried = listing.find_carriers(repo, stored)
    refused = match.read_refused(repo)
    linked = {oid for oids in carried.values() for oid in oids}
    unreached = _list_unreached(repo, linked, among)
    unreached_by_id = {i: [oid for oid in oids if oid in unreached] for i, oids in carried.items()}
    lost = {i for i in carried if len(unreached_by_id[i]) == len(carried[i])}
    wanted = sorted(i for i in carried if (unreached_by_id[i] or i in lost) and i not in refused)
    works = _read_works(repo, {i: unreached_by_id[i] for i in wanted})
    if works:
        oids = _list_commits(repo, among, limit)
    else:
        oids = []
    repo.objects.read_ahead(oids)
    commits = [commit for oid in oids if (commit := read_commit(repo.objects, oid))]
    authors = {w.commit["author"] for copies in works.values() for w in copies if w.commit}
    free = [commit for commit in commits if commit["oid"] not in linked]
    by_author = _group_by_author(commit for commit in commits if commit["author"] in authors)
    copied = [c for c in commits if c["oid"] in linked and c["author"] in by_author]
    changed = object_lists.read_many_changes(repo, [*free, *copied])
    # A commit that cannot be read is in none of them.
    unlinked = {one["oid"]: changed[one["oid"]] for one in free if one["oid"] in changed}
    pairs: list[tuple[str, dict[str, str]]] = []
    if changed:
        for checkpoint_id, copies in works.items():
            oids = []
            for work in copies:
                if work.commit:
                    copies_in_reach = by_author.get(work.commit["author"], ())
                else:
                    copies_in_reach = ()
                oids += _choose_commits(
                    repo,
                    work,
                    {oid: changed[oid] for oid in copies_in_reach if oid in changed},
                    True,
                )
            if not oids and checkpoint_id in lost:
                oids = _choose_commits(repo, copies[0], unlinked)
            for oid in dict.fromkeys(oids):
                if oid not in carried[checkpoint_id]:
                    pairs.append((oid, {checkpoint_id: tell_how(copies[0].edits, changed[oid])}))
    return pairs


def _group_by_author(commits: Iterable[Commit]) -> dict[str, list[str]]:
    """The oids of commits by author and time, which git keeps when it copies a commit."""
    by_author: dict[str, list[str]] = {}
    for commit in commits:
        if parse_ident(commit["author"])[1]:
            by_author.setdefault(commit["author"], []).append(commit["oid"])
    return by_author


def _read_works(repo: Repo, lost: Mapping[str, Sequence[str]]) -> dict[str, list[Work]]:
    """id -> the work of a checkpoint as each commit that carried it has it, if it has any.

    lost: id -> the commits that carry it outside of the reflogs."""
    originals = _list_reflog(repo) if lost else {}
    works: dict[str, list[Work]] = {}
    for checkpoint_id, carriers in lost.items():
        oids = dict.fromkeys([*originals.get(checkpoint_id, ()), *carriers])
        commits = []
        for oid in oids:
            commit = read_commit(repo.objects, oid)
            if commit:
                commits.append(commit)
        for original in commits or (None,):
            work = read_work(repo, checkpoint_id, original)
            if work.edits:
                works.setdefault(checkpoint_id, []).append(work)
    return works


def _choose_commits(
    repo: Repo, work: Work, changed: Mapping[str, Changes], are_copies: bool = False
) -> list[str]:
    """The commits that have edits of a checkpoint, without those that its own commit is based on.
    A commit is left out if another one has all of its edits and more, and both if they have the
    same.

    are_copies: all have author and time of the checkpoint's own commit, so what one of them has
    does not count in a later one that is based on it.  If not, edits without their old content
    match only by their exact blobs."""
    edits = work.edits
    paths = {edit["path"] for edit in edits}
    oids = {edit["oid"] for edit in edits}
    knows_before = all("before" in edit for edit in edits)
    found: dict[str, holding.Evidence] = {}
    for oid, changes in [*changed.items()][::-1]:  # older ones first
        is_far = paths.isdisjoint(changes) and oids.isdisjoint(c[3] for c in changes.values())
        is_clear = not is_far and (knows_before or tell_how(edits, changes) == BLOBS)
        if are_copies or is_clear:
            commit = need_commit(repo.objects, oid)
            change = match.build_change(repo.objects, "".join(commit["parents"][:1]), changes)
            relation = relate(work.commit, commit)
            earlier = [one for one in found if are_copies and is_ancestor(repo, one, oid)]
            remaining = work.leave_out(need_commit(repo.objects, one) for one in earlier)
            shared = remaining.find_enough(change, relation)
            if shared and not (work.oid and is_ancestor(repo, oid, work.oid)):
                found[oid] = shared
    return holding.choose_candidate([{oid: shared} for oid, shared in found.items()])


def _list_unreached(repo: Repo, commits: Iterable[str], among: str) -> set[str]:
    """Those of the commits and of their history that the history of among lacks; with '' those
    that no branch has, here or of a remote."""
    # find_carriers() reads tags and notes too; a commit with a note may have been rewritten.
    # A branch that was left behind keeps the commits from before a rewrite.
    tips = [oid for oid in _parse_range(repo, among) if oid[0] != "^"] if among else []
    args = ("--stdin", "--not", *(tips or ("--branches", "--remotes")))
    return set(list_commits(repo, *args, stdin=encode_lines(commits)))


def _parse_range(repo: Repo, among: str) -> list[str]:
    """The commits where a range begins (with ^) and where it ends."""
    try:
        args = ("rev-parse", "--revs-only", "--end-of-options", among)
        return repo.git.run(*args)[1].decode().split()
    except GitError as e:
        raise e.shorten() from None


def _list_commits(repo: Repo, among: str, limit: int) -> list[str]:
    args = ("--end-of-options", among, "--") if among else ("--exclude=entire/*", "--branches")
    try:
        return list_commits(repo, "--no-merges", f"--max-count={limit}", *args)
    except GitError as e:
        raise e.shorten() from None


def _list_off_branches(repo: Repo) -> list[str]:
    """The checkpoints that recent commits of reflogs carry which no branch has; asked of git again
    when a branch or a reflog has changed."""
    kept = Kept(repo, "lost", "1")
    stamp = gitdir.stamp_branches(repo)
    key = make_key(stamp)
    known: list[str] | None = kept.find(key) if stamp else None
    if known is None:
        known = [*_list_reflog(repo, _RECENT, "--not", "--branches", "--remotes")]
        if stamp:
            kept.keep(key, known)
            kept.save()
    return known


def _list_reflog(repo: Repo, limit: int = _MOST, *args: str) -> dict[str, list[str]]:
    """checkpoint id -> the commits of reflogs that carry it, newest first; args of git log."""
    form = ("--no-notes", "-z", "--format=%H%n%B", f"--max-count={limit}")
    carriers: dict[str, list[str]] = {}
    for entry in repo.git.read_records("log", "--reflog", "-E", commit_message.GREP, *form, *args):
        oid, _, message = entry.partition(b"\n")
        for checkpoint_id in commit_message.read_trailers(message):
            carriers.setdefault(checkpoint_id, []).append(oid.decode())
    return carriers


class Rewrite:
    """What post-rewrite says of a command.

    sources: new commit -> its sources, oldest first; targets: the new commits that get links;
    added: the targets that a rebase made and git does not name."""

    def __init__(
        self,
        command: str,
        sources: Mapping[str, Sequence[str]],
        targets: Sequence[str],
        added: Sequence[str] = (),
    ) -> None:
        self.command = command
        self.sources = sources
        self.targets = targets
        self.added = added

    def list_replayed(self) -> dict[str, Sequence[str]]:
        """The commits that a rebase made, oldest first, each with its sources; {} if the command
        is no rebase."""
        return {oid: self.sources.get(oid, ()) for oid in self.targets if self.command == "rebase"}


NOTHING = Rewrite("", {}, ())


def read_rewrite(repo: Repo, command: str, lines: Iterable[str]) -> Rewrite:
    """The rewrite that post-rewrite says; lines: `<old> <new> …`, with several lines of one new
    commit if it squashes.  The steps of a rebase have no targets: the rebase has a post-rewrite of
    its own."""
    sources: dict[str, list[str]] = {}
    for old, new in (line.split(" ")[:2] for line in lines if " " in line):
        sources.setdefault(new, []).append(old)
    if command != "rebase":
        return Rewrite(command, sources, () if match.is_replaying(repo) else [*sources])
    branch, before = _find_replayed(repo, sources)
    if before is not None:
        added = [oid for oid in branch if oid not in before]
    else:
        added = []
    sources = _add_amended(repo, sources, added, before or ())
    targets = [oid for oid in branch if oid in sources or oid in added]
    return Rewrite(command, sources, targets, [oid for oid in added if oid not in sources])


def _find_replayed(repo: Repo, new: Iterable[str]) -> tuple[list[str], Collection[str] | None]:
    """(the rebased commits, oldest first; those of the branch before the rebase).

    `git rebase --apply` leaves no files unless it stops: then (new, None)."""
    onto, tip = (_read_rebase_file(repo, name) for name in ("onto", "orig-head"))
    if not onto:
        return list(new), None
    args = ("--reverse", f"--max-count={_MOST}", f"^{onto}")
    before = None
    if tip:
        before = set(list_commits(repo, *args, tip))
    return list_commits(repo, *args, "HEAD"), before


def _read_rebase_file(repo: Repo, name: str) -> str:
    """The oid in a file of the rebase that is under way, '' if there is none."""
    for folder in ("rebase-merge", "rebase-apply"):
        oids = files.read_words(os.path.join(repo.git_dir, folder, name), is_object_name)
        if oids:
            return oids[0]
    return ""


def _add_amended(
    repo: Repo,
    git_sources: Mapping[str, list[str]],
    added: Sequence[str],
    before: Collection[str],
) -> dict[str, list[str]]:
    """The sources that git named, and those of commits that the rebase itself amended.

    If the rebase amends a commit after an exec, git names the commit before the amend as the new
    one.  If it fast-forwards over a commit and then amends it, git does not name it at all."""
    moves = refs.list_head_moves(repo) if added else []
    previous = {new: old for old, new, _ in moves if old != new}
    sources = dict(git_sources)
    for new in added:
        olds = list(git_sources.get(new, ()))
        step = new
        while _is_amend(repo.objects, old := previous.pop(step, ""), step):
            olds = [*sources.pop(old, [old] if old in before else []), *olds]
            step = old
        if olds:
            sources[new] = list(dict.fromkeys(olds))
    return sources


def _is_amend(objects: Objects, old: str, new: str) -> bool:
    before = read_commit(objects, old) if old else None
    after = read_commit(objects, new)
    return bool(before and after and before["parents"] == after["parents"])


def list_jj(repo: Repo, commits: Sequence[str]) -> dict[str, list[str]]:
    """commit -> its nearest linked predecessors, nearest first, for those of the commits that jj
    made of others (`jj evolog`); {} if jj fails."""
    try:
        sources = jj.list_predecessors(repo.jj_root, commits)
    except Error as e:
        git.append_trace("jj", str(e))
        return {}
    return {new: _find_linked(repo.objects, sources, new) for new in commits if sources.get(new)}


def _find_linked(objects: Objects, sources: Mapping[str, Sequence[str]], new: str) -> list[str]:
    linked = []
    visited = {new}
    waiting = list(sources.get(new, ()))
    while waiting:
        old = waiting.pop(0)
        if old in visited:
            continue
        visited.add(old)
        if listing.list_linked(objects, old):
            linked.append(old)
        else:
            waiting += sources.get(old, ())
    return linked
