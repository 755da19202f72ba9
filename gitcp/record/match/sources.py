"""The sources of links that a commit lacks: each gives candidates, ask_sources() asks them all
(doc/behaviour.md "Three strengths")."""

from __future__ import annotations

import os

from gitcp import git
from gitcp.errors import Error
from gitcp.git import commit_message, decode_name, encode_name, files, objects, refs
from gitcp.git.objects import Lookup, find_tree, need_commit, read_commit
from gitcp.record import match
from gitcp.record.match import Target
from gitcp.text.ids import build_change
from gitcp.text.shapes import is_object_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.record.match.candidates import Rewrite, Search, Work
    from gitcp.text.record_types import Commit, Recorded, Version

# What the sources of links are asked about: a case, and the commits in it that may lack links.
MOST = 50  # commits
SECONDS = 0.3  # that one hook spends; the next one goes on
LONG = 3600  # seconds, for what git or a person names


class MatchCase:
    """What the sources are asked about.

    since: where HEAD was when no commit lacked a link; rewrite: what post-rewrite said; onto: a
    merged commit and the tip of the merged branch; among: the revision range to search for lost
    links, '' for all branches; lately: search only the recent past; seconds: the time that a search
    may take.

    While a commit is being made, target is that commit, amended the one that it replaces, copied
    the name of a commit whose message it takes, and is_seen whether the person sees the message
    of a squash."""

    def __init__(
        self,
        repo: Repo,
        head: str = "",
        since: str = "",
        rewrite: Rewrite | None = None,
        onto: tuple[str, str] = ("", ""),
        among: str = "",
        lately: bool = False,
        dry_run: bool = False,
        target: Target | None = None,
        amended: Commit | None = None,
        copied: str = "",
        is_seen: bool = False,
        seconds: float = SECONDS,
    ) -> None:
        self.repo = repo
        self.head = head
        self.since = since
        self.rewrite = rewrite
        self.onto = onto
        self.dry_run = dry_run
        self.among = among
        self.lately = lately
        self.target = target or Target(repo.objects)
        self.amended = amended
        self.copied = copied
        self.is_seen = is_seen
        self._seconds = seconds
        self.done = head  # the last commit that was searched in time, '' for none
        self._newer: list[str] | None = None

    def _list_newer(self) -> list[str]:
        """Return the newest commits after since, parents first."""
        if self._newer is None:
            # Not only first parents: a pull that merges brings its commits as second ones.
            args = ("--topo-order", "--reverse", "--no-merges", f"--max-count={MOST}")
            self._newer = []
            if self.since and read_commit(self.repo.objects, self.since):
                from gitcp.git.objects.object_lists import list_commits

                self._newer = list_commits(self.repo, *args, self.head, f"^{self.since}")
        return self._newer

    def list_fresh(self) -> list[str]:
        """Return the newest commits after since that have not been judged, parents first."""
        newer = self._list_newer()
        judged = set(match.read_judged(self.repo)) if newer else ()
        return [oid for oid in newer if oid not in judged]

    def list_unlinked(self) -> list[str]:
        """Return those too that were judged and found to be of no session: they may hold work of
        commits elsewhere."""
        newer = self._list_newer()
        judged = set(match.read_judged(self.repo)) if newer else ()
        return [oid for oid in newer if oid not in judged or not _list_linked(self, oid)]

    def make_targets(self, oids: Iterable[str]) -> list[Target]:
        """Return a target for each of the commits that exists."""
        return [
            Target(self.repo.objects, oid) for oid in oids if read_commit(self.repo.objects, oid)
        ]

    def search(
        self,
        commits: Iterable[Commit],
        seconds: float = 0.0,
        refused: Collection[str] | None = None,
        beside: Collection[str] = (),
    ) -> Search:
        """Return a search for work of the checkpoints of commits.  seconds: the time that it may
        take, by default that of the case."""
        time = seconds or self._seconds

        from gitcp.record.match import candidates

        return candidates.Search(self.repo, commits, time, refused, beside)


# A commit is being made: of new work, by a merge, by a rebase or pick; or the lines of the index
# are asked for before the commit.
MAKING = "making"
MERGING = "merging"
REPLAYING = "replaying"
STAGED = "staged"
# Commits exist: post-rewrite runs; HEAD moved, by an amend whose hook was killed or otherwise; a
# person names a merged branch.
REWRITE = "rewrite"
AMENDED = "amended"
SETTLE = "settle"
ONTO = "onto"
IN_JJ = "in jj"
# A person asks for lost links, with and without amends whose hook was killed.
RELINK = "relink"
LOST = "lost"
_RANGE = 2000  # commits of a range that a person names


def ask_sources(case: MatchCase, when: str) -> Iterator[Answer]:
    """The answers of all sources for one of the moments above."""
    for name, moments, find in SOURCES:
        if when in moments:
            for target, ids, excluded, old_commits in find(case):
                yield target, {i: name or how for i, how in ids.items()}, excluded, old_commits


def _follow_commits(
    case: MatchCase, target: Target, old_commits: Sequence[str], excluded: Collection[str] = ()
) -> Answer:
    """The ids of the old commits whose work is in target, which git says was made of them."""
    linked = {old: _list_linked(case, old) for old in old_commits}
    held = {i for old, ids in linked.items() for i in _select_held(case, old, ids, target)}
    named = [checkpoint_id for ids in linked.values() for checkpoint_id in ids]
    ids = [i for i in named if i in held and i not in excluded]
    return _build_answer(case, target, named, ids, old_commits)


def _build_answer(
    case: MatchCase,
    target: Target,
    source_ids: Iterable[str],
    ids: Iterable[str],
    old_commits: Sequence[str] = (),
) -> Answer:
    """The ids that move to target: ids, a part of those that git names, less those that a person
    removed from an old commit."""

    from gitcp.checkpoints import listing

    if old_commits:
        refused = listing.list_refused(case.repo.objects, old_commits)
    else:
        refused = {}
    moved = [i for i in dict.fromkeys(ids) if i not in refused]
    excluded = {i: refused.get(i) for i in [*source_ids, *refused] if i not in moved}
    present = target.list_ids()
    how = case.rewrite.command if case.rewrite else ""
    return target, dict.fromkeys((i for i in moved if i not in present), how), excluded, old_commits


def _search_targets(search: Search, targets: Iterable[Target]) -> Iterator[Answer]:
    """The ids whose work the targets have by their difference."""
    for target, ids in search.find_missing(targets):
        yield target, ids, {}, ()


def _list_linked(case: MatchCase, oid: str) -> list[str]:

    from gitcp.checkpoints import listing

    return listing.list_linked(case.repo.objects, oid)


def _select_held(case: MatchCase, old: str, ids: Sequence[str], target: Target) -> list[str]:
    """The ids of an old commit that have a file in the change of target, also under another name.

    An amend may leave files out.  If a rebase skips a commit, git says that it became the commit
    before it."""
    commit = None
    if ids:
        commit = read_commit(case.repo.objects, old)
    if commit is None:
        return [*ids]
    old_changes = objects.read_changes(case.repo.objects, commit)[1]
    change = target.build_change()
    selected = []

    from gitcp.record.match import candidates, holding

    for checkpoint_id in ids:
        edits = candidates.read_edits(case.repo, checkpoint_id, commit)
        edits = [edit for edit in edits if edit["path"] in old_changes]
        if not edits or holding.hold(edits, change)["paths"]:
            selected.append(checkpoint_id)
    return selected


def list_replaced(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commit that is being amended."""
    if case.amended:
        parent = (case.amended["parents"] or [refs.get_zeros(case.repo)])[0]
        yield _follow_commits(case, aim_at_index(case.repo, parent), [case.amended["oid"]])


def list_picked(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commit that a cherry-pick, or a step of a rebase, replays."""
    picked = read_commit(case.repo.objects, "CHERRY_PICK_HEAD")
    if picked:
        yield _follow_commits(case, case.target, [picked["oid"]])


def list_taken_back(case: MatchCase) -> Iterator[Answer]:
    """Ids of commits that HEAD lost, for the commit that is being made."""
    lost = find_lost(case.repo, case.head)
    search = case.search(lost) if lost else None
    if search:
        yield from _search_targets(search, [case.target])
    changes = case.target.read()[1] if search else {}
    keep_pending(case.repo, search, case.head, changes)


def list_picked_before(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commits that `cherry-pick -n` applied before the last one, which alone git names.

    They are not in HEAD, and target has their change.  What a person refused elsewhere does not
    count: the picked commit carries the id rightly.  Commits of the same paths come first, then
    the others, whose files HEAD may have renamed."""
    if _exists(case, "MERGE_MSG") and not _exists(case, "MERGE_HEAD"):
        beside = case.repo, ["HEAD"], MOST

        from gitcp.checkpoints import listing

        same_paths = listing.list_beside(*beside, paths=case.target.read()[1])
        commits = [*same_paths, *listing.list_beside(*beside)]
        yield from _search_targets(case.search(commits, refused=()), [case.target])


def list_squashed(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commits that `merge --squash` squashed, by trailer or note: all or none."""
    message = _read_text(case, "SQUASH_MSG")
    names = [line.split(" ")[1] for line in message.splitlines() if line.startswith("commit ")]
    commits = [commit for name in names if (commit := read_commit(case.repo.objects, name))]
    if names:
        old_commits = [commit["oid"] for commit in commits]
        linked = [i for old in old_commits for i in _list_linked(case, old)]
        named = [*commit_message.find_anywhere(encode_name(message)), *linked]
        refused = match.read_refused(case.repo)
        ids = [i for i in named if i not in refused]
        holds = ids and _holds_squash(case, commits)
        yield _build_answer(case, case.target, named, ids if holds else (), old_commits)


def _holds_squash(case: MatchCase, commits: Sequence[Commit]) -> bool:
    """Whether target has what a merge squashed.

    The commits are searched together, since a later one may overwrite an earlier one.  A path in
    common is enough if the person sees their list.  git leaves SQUASH_MSG behind if a squash
    changed nothing or was given up."""
    changes = case.target.read()[1]
    if case.is_seen:
        for commit in commits:
            if not changes.keys().isdisjoint(objects.read_changes(case.repo.objects, commit)[1]):
                return True
    return case.search(commits, seconds=LONG).is_held(case.target)


def list_copied(case: MatchCase) -> Iterator[Answer]:
    """Ids in a message that -c or -C takes from another commit, or that a pick has left.

    target has some of their work, or their checkpoint is not in this store."""
    named = commit_message.find_anywhere(encode_name(_read_text(case, "MERGE_MSG")))
    other = None
    if case.copied:
        other = read_commit(case.repo.objects, case.copied)
    if named or other:
        refused = match.read_refused(case.repo)
    else:
        refused = set()
    if other:
        named = [*commit_message.read_trailers(encode_name(other["message"])), *named]

        from gitcp.checkpoints import listing

        refused |= listing.list_refused(case.repo.objects, [other["oid"]]).keys()
    ids = []
    for checkpoint_id in (i for i in named if i not in refused):
        from gitcp.record.match import candidates, holding

        edits = candidates.read_edits(case.repo, checkpoint_id)
        if not edits or holding.is_any(holding.hold(edits, case.target.build_change())):
            ids.append(checkpoint_id)
    if named:
        yield _build_answer(case, case.target, named, ids)


def _exists(case: MatchCase, name: str) -> bool:
    return os.path.exists(os.path.join(case.repo.git_dir, name))


def _read_text(case: MatchCase, name: str) -> str:
    return decode_name(files.peek(os.path.join(case.repo.git_dir, name)))


def aim_at_index(repo: Repo, parent: str) -> Target:
    """The commit that git makes of its index on parent."""
    return Target(repo.objects, parent=parent, changes=lambda: read_staged(repo, parent))


def read_staged(repo: Repo, parent: str) -> Changes:
    """What the index that git commits from changes against parent; zeros: against no commit."""
    return objects.read_staged(repo.hook_git, parent if parent.strip("0") else repo.empty_tree)


def list_rewritten(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commits that an amend replaced, or that a rebase replayed or squashed."""

    from gitcp.record.match import candidates

    rewrite = case.rewrite or candidates.NOTHING
    new_commits = {*rewrite.sources, *rewrite.targets}
    carried = {i for new in new_commits for i in _list_linked(case, new)}
    for new in rewrite.targets:
        old_commits = rewrite.sources.get(new)
        if old_commits and rewrite.command == "amend":
            amended = need_commit(case.repo.objects, new)
            refused = match.read_left_out(case.repo, old_commits[0], amended)
            if refused:
                match.write_refused(case.repo, refused)
            _note_left_out(case, old_commits[0], amended, refused)
            carried |= refused
        if old_commits:
            yield _follow_commits(case, Target(case.repo.objects, new), old_commits, carried)


def list_split(case: MatchCase) -> Iterator[Answer]:
    """Ids of a commit that a rebase stopped for and the person split; git names its last part
    only."""
    if case.rewrite and case.rewrite.added:
        oids = dict.fromkeys(old for olds in case.rewrite.sources.values() for old in olds)

        from gitcp.record.match import candidates

        search = case.search(candidates.select_linked(case.repo.objects, oids))
        yield from _search_targets(search, case.make_targets(case.rewrite.added))


def list_killed(case: MatchCase) -> Iterator[Answer]:
    """Ids of amended commits whose last hook was killed.  An id that the person removed stays out.

    In a repository without reflogs, HEAD is an amend of since if the parents and the author with
    his time are equal."""
    refused = match.read_refused(case.repo)
    moves = refs.list_moves_since(case.repo, refs.HeadMark(case.since))
    if case.since not in ("", case.head) and not (moves or refs.list_head_moves(case.repo)):
        since, head = (read_commit(case.repo.objects, oid) for oid in (case.since, case.head))
        if since and head and all(since[key] == head[key] for key in ("parents", "author")):
            moves = [("", case.since, b""), (case.since, case.head, b"commit (amend)")]
    for old, new, reason in moves:
        amended = None
        if reason.startswith(b"commit (amend)"):
            amended = read_commit(case.repo.objects, new)
        if amended and _list_linked(case, new):
            yield _follow_commits(
                case, Target(case.repo.objects, new), [old], _list_linked(case, old)
            )
        elif amended:
            excluded = refused | match.read_left_out(case.repo, old, amended)
            if case.since:
                _note_left_out(case, old, amended, excluded)
            yield _follow_commits(case, Target(case.repo.objects, new), [old], excluded)


def list_copied_unlinked(case: MatchCase) -> Iterator[Answer]:
    """The ids in messages that a rebase or pick without hooks copied, although a person had removed
    the link: an earlier commit with the same author and time is the one that was copied."""
    refused = match.read_refused(case.repo) if case.since else ()
    if refused:
        since = refs.list_moves_since(case.repo, refs.HeadMark(case.since))
    else:
        since = []
    fresh = {new for _, new, why in since if refs.tell_move(why) == refs.BROUGHT}
    moves = refs.list_head_moves(case.repo) if fresh else []
    earlier: dict[str, list[str]] = {}
    for oid in dict.fromkeys(new for _, new, _ in moves):
        commit = read_commit(case.repo.objects, oid)
        if commit:
            same = earlier.setdefault(commit["author"], [])
        else:
            same = []
        if oid in fresh and not set(_list_linked(case, oid)).isdisjoint(refused):
            yield _build_answer(case, Target(case.repo.objects, oid), (), (), same)
        same.append(oid)


def _note_left_out(case: MatchCase, old: str, amended: Commit, excluded: Collection[str]) -> None:
    """List an old commit as lost if the amended one lacks some of its content, which may be
    committed later.  excluded: ids whose work does not count."""
    commit = read_commit(case.repo.objects, old)
    lookup = objects.Lookup(case.repo.objects, amended["tree"])

    from gitcp.record.match import candidates

    edits = [
        edit
        for checkpoint_id in _list_linked(case, old)
        if commit and checkpoint_id not in excluded
        for edit in candidates.read_edits(case.repo, checkpoint_id, commit)
    ]
    if any((lookup(edit["path"]) or ("", None))[1] != edit["oid"] for edit in edits):
        add_commits(case.repo, [old])


def list_in_jj(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commits that jj rewrote, squashed or split."""
    fresh = case.list_fresh() if case.repo.jj_root else []
    refused = match.read_refused(case.repo) if fresh else ()

    from gitcp.record.match import candidates

    if fresh:
        sources = candidates.list_jj(case.repo, fresh)
    else:
        sources = {}
    for new, old_commits in sources.items():
        yield _follow_commits(case, Target(case.repo.objects, new), old_commits, refused)


def list_lost(case: MatchCase) -> Iterator[Answer]:
    """Ids of commits that HEAD lost by a reset, or that a forge squashed or rebased."""
    fresh = case.list_unlinked()
    lost = find_lost(case.repo, case.head)
    beside = _list_beside(case, fresh) if fresh else []
    if not (lost or beside):
        return
    oids = {commit["oid"] for commit in beside}
    search = case.search([*beside, *lost], beside=oids.difference(one["oid"] for one in lost))
    yield from _search_targets(search, case.make_targets(fresh))
    if fresh and search.asked != fresh[-1]:
        case.done = search.asked
    search.commits = lost
    keep_pending(case.repo, search, case.head, {})


def _list_beside(case: MatchCase, fresh: Sequence[str]) -> list[Commit]:
    """The linked commits of the reflog and of branches that are not in the history of every fresh
    commit, and of which an id is on no other fresh commit.  Those that came with the fresh ones
    count if a merge brought them: then another fresh commit may be their squash."""
    repo = case.repo
    moves = refs.list_head_moves(repo)[-MOST:]
    tips = dict.fromkeys(new for _, new, _ in moves if read_commit(repo.objects, new))
    bases = repo.git.run("merge-base", "--octopus", *fresh, ok=(0, 1))[1].decode().split()

    from gitcp.checkpoints import listing

    beside = listing.list_beside(repo, bases, MOST + len(fresh), tips)
    carriers: dict[str, set[str]] = {}
    for oid in fresh:
        for checkpoint_id in _list_linked(case, oid):
            carriers.setdefault(checkpoint_id, set()).add(oid)

    from gitcp.git.objects.object_lists import list_commits

    has_merge = list_commits(repo, "--merges", "--max-count=1", case.head, f"^{case.since}")

    def is_unplaced(commit: Commit) -> bool:
        own = {commit["oid"]} if has_merge else set[str]()
        return any(carriers.get(i, own) <= own for i in _list_linked(case, commit["oid"]))

    return list(filter(is_unplaced, beside))[-MOST:]


def list_merged(case: MatchCase) -> Iterator[Answer]:
    """Ids of a branch that was merged by other means.  Raises Error if a name is no commit, or the
    two have no commit in common."""
    merged, tip = (need_commit(case.repo.objects, name)["oid"] for name in case.onto)
    status, out = case.repo.git.run("merge-base", merged, tip, ok=(0, 1))
    if status:
        target, head = case.onto
        raise Error(f"'{target}' and '{head}' have no commit in common")
    args = ("--reverse", "--no-merges", f"--max-count={_RANGE}", f"^{out.decode().split()[0]}")

    from gitcp.git.objects.object_lists import list_commits
    from gitcp.record.match import candidates

    branch = candidates.select_linked(case.repo.objects, list_commits(case.repo, *args, tip))
    if branch:
        targets = case.make_targets(list_commits(case.repo, *args, merged))
        yield from _search_targets(case.search(branch, seconds=LONG), targets)


def list_unplaced(case: MatchCase) -> Iterator[Answer]:
    """Ids of checkpoints whose commit is on no branch."""

    from gitcp.record.match import candidates

    pairs = candidates.find_lost(case.repo, case.among, case.lately)
    for oid, ids in pairs:
        yield Target(case.repo.objects, oid), ids, {}, ()


# (the "how" of its links, '' for the rewriting command or the evidence; when it is asked; function)
SOURCES = (
    ("amend", (MAKING, REPLAYING), list_replaced),
    ("pick", (REPLAYING,), list_picked),
    ("lost", (MAKING,), list_taken_back),
    ("pick", (MAKING, MERGING, STAGED), list_picked_before),
    ("squash", (MAKING, STAGED), list_squashed),
    ("copy", (MAKING, STAGED), list_copied),
    ("", (RELINK, LOST), list_unplaced),
    ("", (REWRITE,), list_rewritten),
    ("rebase", (REWRITE,), list_split),
    ("amend", (AMENDED, RELINK), list_killed),
    ("", (AMENDED,), list_copied_unlinked),
    ("jj", (SETTLE, IN_JJ), list_in_jj),
    ("lost", (SETTLE,), list_lost),
    ("", (ONTO,), list_merged),
)
# Commits that HEAD lost and that may be made again: their ids come back with their content.
#
# A reset leaves them in ORIG_HEAD.  An amend that leaves content out replaces one.  A stash that
# was applied and kept can be applied on another branch.  <git-dir>/gitcp/taken-back lists the lost
# commits while some of their content may still be committed; the hooks' script starts us if the
# file is there, although no session is open.  <git-dir>/gitcp/orig-head is a hard link to the
# ORIG_HEAD that was read last: git replaces that file and never writes into it (doc/behaviour.md
# "Ids in a message").
_MOST_LOST = 50  # commits
_RECENT = 50  # entries of HEAD's reflog


def find_lost(repo: Repo, head: str) -> list[Commit]:
    """The linked commits that HEAD, at head, has lost: those listed, then those that a reset
    left since, oldest first."""
    listed = files.read_words(repo.join_own("taken-back"), is_object_name)
    lost = [*listed, *_list_reset(repo, head)]
    if not lost:
        return []

    from gitcp.record.match import candidates

    return candidates.select_linked(repo.objects, dict.fromkeys(lost))


def keep_pending(repo: Repo, search: Search | None, head: str, changes: Changes) -> None:
    """Write down the commits of a search whose work may still be committed after a commit with
    these changes on head.  The work of the others can never come back."""
    pending: list[str] = []
    if search and search.commits:
        check = _Pending(repo, head, changes)
        for commit in search.commits:
            # The next hook checks what this one has no time for.
            if search.is_late() or check.is_any_left(search.read_works(commit)):
                pending.append(commit["oid"])
    path = repo.join_own("taken-back")
    if pending:
        git.append_trace("commit", f"taken back, and still to come: {pending}")
        files.write_words(repo, path, pending[-_MOST_LOST:])
    else:
        files.remove_private(repo, path)


class _Pending:
    """Tells whether edits may still be committed after a commit with these changes on head."""

    def __init__(self, repo: Repo, head: str, changes: Changes) -> None:
        self._repo = repo
        self._changes = changes
        self._lookup = Lookup(repo.objects, find_tree(repo.objects, head))
        self._stash = refs.Stash(repo).list_entries()
        self._worktree: dict[str, Version] = {}

    def is_any_left(self, works: Iterable[Work]) -> bool:
        """Whether work may still be committed: it is somewhere, or the commit has a part of it in
        other files, and the other part may be in another one."""
        return any(self.may_return(work.edits) or self._has_moved_part(work) for work in works)

    def _has_moved_part(self, work: Work) -> bool:
        from gitcp.record.match import holding

        blob = self._repo.objects.read_blob
        held = work.hold(holding.Change(self._changes, blob, find_old=self._lookup))
        paths = {edit["path"] for edit in work.edits}
        return not held["is_all_work"] and any(path not in paths for path, _ in held["common"])

    def _find_after(self, path: str) -> Version:
        """What the commit has at a path."""
        if path not in self._changes:
            return self._lookup(path)
        mode, oid = self._changes[path][2:]
        return (mode, oid) if oid else None

    def may_return(self, edits: Sequence[Recorded]) -> bool:
        """Whether the worktree has work of edits that the commit lacks, or an entry of the stash
        has some, which may be applied on another branch."""
        open_ = [e for e in edits if (self._find_after(e["path"]) or ("", None))[1] != e["oid"]]
        paths = [edit["path"] for edit in open_]
        unread = sorted(path for path in paths if path not in self._worktree)
        if unread:
            from gitcp.record.snapshot import scan

            self._worktree |= scan.read_paths(self._repo, unread, write=True)
        steps = [(path, self._find_after(path), self._worktree.get(path)) for path in paths]
        return _has_work(self._repo.objects, open_, steps) or is_in_stash(
            self._repo.objects, edits, self._stash
        )


def is_in_stash(objects: Objects, edits: Sequence[Recorded], stash: Iterable[refs.Stashed]) -> bool:
    """Whether one of these entries of the stash has some of the work of edits."""
    paths = [edit["path"] for edit in edits]
    return any(_has_work(objects, edits, entry.list_steps(paths)) for entry in stash)


def _has_work(
    objects: Objects, edits: Sequence[Recorded], steps: Iterable[tuple[str, Version, Version]]
) -> bool:
    """Whether steps (path, old, new) have some of the work of edits."""
    changes = {path: build_change(old, new) for path, old, new in steps if old != new}

    from gitcp.record.match import holding

    return holding.is_any(holding.hold(edits, holding.Change(changes, objects.read_blob)))


def add_commits(repo: Repo, commits: Iterable[str]) -> None:
    """List commits as lost: their content may be committed again."""
    path = repo.join_own("taken-back")
    files.write_words(
        repo, path, list(dict.fromkeys([*files.read_words(path, is_object_name), *commits]))
    )


def add_stashed(repo: Repo, oid: str) -> None:
    """List a commit as lost if an entry of the stash has some of its work as well: that may be
    applied once more, on another branch."""
    commit = need_commit(repo.objects, oid)
    paths = objects.read_changes(repo.objects, commit)[1]
    stash = [e for e in refs.Stash(repo).list_entries() if any(map(e.changes, paths))]

    from gitcp.checkpoints import listing

    if stash:
        for checkpoint_id in listing.list_linked(repo.objects, oid):
            from gitcp.record.match import candidates

            edits = candidates.read_edits(repo, checkpoint_id, commit)
            if is_in_stash(repo.objects, edits, stash):
                add_commits(repo, [oid])
                return


def _mark_read(repo: Repo) -> None:
    """Note that ORIG_HEAD was read.  A file system without hard links has it read every time."""
    mark = repo.join_own("orig-head")
    files.remove_private(repo, mark)
    try:
        repo.make_folder(os.path.dirname(mark))
        os.link(match.get_orig_head(repo), mark)
    except OSError as e:
        git.append_trace("commit", f"ORIG_HEAD cannot be marked: {e}")


def _was_read(repo: Repo) -> bool:
    """Whether ORIG_HEAD is the file that was read last."""
    try:
        return os.path.samefile(match.get_orig_head(repo), repo.join_own("orig-head"))
    except OSError:
        return False


def _list_reset(repo: Repo, head: str) -> list[str]:
    """The commits that only ORIG_HEAD and resets of the reflog reach, oldest first; [] if
    ORIG_HEAD was read before.  A commit whose ids are on commits that replaced it, as after a
    rebase, is not lost."""
    orig = "".join(files.read_words(match.get_orig_head(repo), is_object_name))
    if not orig or (orig != head and _was_read(repo)):
        return []
    if orig == head:  # nothing is lost yet; a reset from here does not replace the file
        files.remove_private(repo, repo.join_own("orig-head"))
    else:
        _mark_read(repo)
    # A stash ends in a reset too and overwrites ORIG_HEAD; the reflog has the resets before it.
    resets = [
        old for old, _, why in refs.list_head_moves(repo)[-_RECENT:] if why.startswith(b"reset:")
    ]
    tips = [oid for oid in dict.fromkeys([*resets, orig]) if read_commit(repo.objects, oid)]
    if not tips:
        return []
    args = ["--first-parent", f"--max-count={_MOST_LOST}", *tips]
    born = head.strip("0")

    from gitcp.git.objects.object_lists import list_commits

    lost = list_commits(repo, *args, *([f"^{head}"] if born else []))[::-1]
    if lost and born:
        return _drop_replaced(repo, lost, head, tips)
    return lost


def _drop_replaced(repo: Repo, lost: list[str], head: str, tips: Iterable[str]) -> list[str]:

    from gitcp.git.objects.object_lists import list_commits

    fresh = list_commits(repo, f"--max-count={_MOST_LOST}", head, *(f"^{oid}" for oid in tips))

    from gitcp.checkpoints import listing

    list_linked = listing.list_linked
    ids = {checkpoint_id for oid in fresh for checkpoint_id in list_linked(repo.objects, oid)}
    return [oid for oid in lost if not ids.issuperset(list_linked(repo.objects, oid))]


if TYPE_CHECKING:
    # (a commit that lacks links;
    # the ids that it gets -> what shows each;
    # the ids that it does not get -> why the person removed each, None if nobody did;
    # the old commits that it was made of)
    Answer = tuple[Target, dict[str, str], dict[str, str | None], Sequence[str]]
