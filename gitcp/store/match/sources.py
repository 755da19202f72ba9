"""The sources of links that a commit lacks: each gives candidates, ask_sources() asks them all
(doc/behaviour.md "Three strengths")."""

from __future__ import annotations

import os

from gitcp.core.message import trailers
from gitcp.errors import Error
from gitcp.process import files as texts
from gitcp.record import decode_name, encode_name
from gitcp.start import late
from gitcp.store.git import commit_changes, reflog, refs, tree
from gitcp.store.git.commit import list_commits, need_commit, read_commit
from gitcp.store.match import commit_memory, lost_commits
from gitcp.store.match.case import LONG, MOST, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.match.candidates import Search
    from gitcp.store.match.case import Case

    # (a commit that lacks links;
    # the ids that it gets -> what shows each;
    # the ids that it does not get -> why the person removed each, None if nobody did;
    # the old commits that it was made of)
    Answer = tuple[Target, dict[str, str], dict[str, str | None], Sequence[str]]

# A commit is being made: of new work, by a merge, by a rebase or pick; or the lines of the index
# are asked for before the commit.
MAKING, MERGING, REPLAYING, STAGED = "making", "merging", "replaying", "staged"
# Commits exist: post-rewrite runs; HEAD moved, by an amend whose hook was killed or otherwise; a
# person names a merged branch.
REWRITE, AMENDED, SETTLE, ONTO = "rewrite", "amended", "settle", "onto"
# A person asks for lost links, with and without amends whose hook was killed.
RELINK, LOST = "relink", "lost"
_RANGE = 2000  # commits of a range that a person names


def ask_sources(case: Case, when: str) -> Iterator[Answer]:
    """The answers of all sources for one of the moments above."""
    for name, moments, find in SOURCES:
        for target, ids, excluded, old_commits in find(case) if when in moments else ():
            yield target, {i: name or how for i, how in ids.items()}, excluded, old_commits


def _follow_commits(
    case: Case, target: Target, old_commits: Sequence[str], excluded: Collection[str] = ()
) -> Answer:
    """The ids of the old commits whose work is in target, which git says was made of them."""
    linked = {old: _list_linked(case, old) for old in old_commits}
    held = {i for old, ids in linked.items() for i in _select_held(case, old, ids, target)}
    named = [checkpoint_id for ids in linked.values() for checkpoint_id in ids]
    ids = [i for i in named if i in held and i not in excluded]
    return _build_answer(case, target, named, ids, old_commits)


def _build_answer(
    case: Case,
    target: Target,
    source_ids: Iterable[str],
    ids: Iterable[str],
    old_commits: Sequence[str] = (),
) -> Answer:
    """The ids that move to target: ids, a part of those that git names, less those that a person
    removed from an old commit."""
    refused = late.find_commits.list_refused(case.objects, old_commits) if old_commits else {}
    moved = [i for i in dict.fromkeys(ids) if i not in refused]
    excluded = {i: refused.get(i) for i in [*source_ids, *refused] if i not in moved}
    present, how = target.list_ids(), case.rewrite.command if case.rewrite else ""
    return target, dict.fromkeys((i for i in moved if i not in present), how), excluded, old_commits


def _search_targets(search: Search, targets: Iterable[Target]) -> Iterator[Answer]:
    """The ids whose work the targets have by their difference."""
    for target, ids in search.find_missing(targets):
        yield target, ids, {}, ()


def _list_linked(case: Case, oid: str) -> list[str]:
    return late.find_commits.list_linked(case.objects, oid)


def _select_held(case: Case, old: str, ids: Sequence[str], target: Target) -> list[str]:
    """The ids of an old commit that have a file in the change of target, also under another name.

    An amend may leave files out.  If a rebase skips a commit, git says that it became the commit
    before it."""
    commit = read_commit(case.objects, old) if ids else None
    if commit is None:
        return [*ids]
    old_changes = commit_changes.read_changes(case.objects, commit)[1]
    parent, changes = target.read()
    is_gone, held = late.candidates.build_gone_check(case.objects, parent), []
    for checkpoint_id in ids:
        edits = late.candidates.read_edits(case.repo, case.objects, checkpoint_id, commit)
        edits = [edit for edit in edits if edit["path"] in old_changes]
        if not edits or late.candidates.is_concerned(case.objects, edits, changes, is_gone):
            held.append(checkpoint_id)
    return held


def list_replaced(case: Case) -> Iterator[Answer]:
    """Ids of the commit that is being amended."""
    if case.amended:
        parent = (case.amended["parents"] or [refs.get_zeros(case.repo)])[0]
        target = Target(case.objects, parent=parent, changes=lambda: read_staged(case.repo, parent))
        yield _follow_commits(case, target, [case.amended["oid"]])


def list_picked(case: Case) -> Iterator[Answer]:
    """Ids of the commit that a cherry-pick, or a step of a rebase, replays."""
    picked = read_commit(case.objects, "CHERRY_PICK_HEAD")
    if picked:
        yield _follow_commits(case, case.target, [picked["oid"]])


def list_taken_back(case: Case) -> Iterator[Answer]:
    """Ids of commits that HEAD lost, for the commit that is being made."""
    lost = lost_commits.find_lost(case.repo, case.objects, case.head)
    search = case.search(lost) if lost else None
    if search:
        yield from _search_targets(search, [case.target])
    changes = case.target.read()[1] if search else {}
    lost_commits.keep_pending(case.repo, case.objects, search, case.head, changes)


def list_picked_before(case: Case) -> Iterator[Answer]:
    """Ids of the commits that `cherry-pick -n` applied before the last one, which alone git names.

    They are not in HEAD, and target has their change.  What a person refused elsewhere does not
    count: the picked commit carries the id rightly.  Commits of the same paths come first, then
    the others, whose files HEAD may have renamed."""
    if _exists(case, "MERGE_MSG") and not _exists(case, "MERGE_HEAD"):
        beside = case.repo, case.objects, ["HEAD"], MOST
        same_paths = late.find_commits.list_beside(*beside, paths=case.target.read()[1])
        commits = [*same_paths, *late.find_commits.list_beside(*beside)]
        yield from _search_targets(case.search(commits, refused=()), [case.target])


def list_squashed(case: Case) -> Iterator[Answer]:
    """Ids of the commits that `merge --squash` squashed, by trailer or note: all or none."""
    message = _read_text(case, "SQUASH_MSG")
    names = [line.split(" ")[1] for line in message.splitlines() if line.startswith("commit ")]
    commits = [commit for name in names if (commit := read_commit(case.objects, name))]
    if names:
        old_commits = [commit["oid"] for commit in commits]
        linked = [i for old in old_commits for i in _list_linked(case, old)]
        named = [*trailers.find_anywhere(encode_name(message)), *linked]
        refused = commit_memory.read_refused(case.repo)
        ids = [i for i in named if i not in refused]
        holds = ids and _holds_squash(case, commits)
        yield _build_answer(case, case.target, named, ids if holds else (), old_commits)


def _holds_squash(case: Case, commits: Sequence[Commit]) -> bool:
    """Whether target has what a merge squashed.

    The commits are searched together, since a later one may overwrite an earlier one.  A path in
    common is enough if the person sees their list.  git leaves SQUASH_MSG behind if a squash
    changed nothing or was given up."""
    changes = case.target.read()[1]
    for commit in commits if case.is_seen else ():
        if not changes.keys().isdisjoint(commit_changes.read_changes(case.objects, commit)[1]):
            return True
    return case.search(commits, seconds=LONG).is_held(case.target)


def list_copied(case: Case) -> Iterator[Answer]:
    """Ids in a message that -c or -C takes from another commit, or that a pick has left.

    target has some of their work, or their checkpoint is not in this store."""
    named = trailers.find_anywhere(encode_name(_read_text(case, "MERGE_MSG")))
    other = read_commit(case.objects, case.copied) if case.copied else None
    refused = commit_memory.read_refused(case.repo) if named or other else set()
    if other:
        named = [*trailers.read(encode_name(other["message"])), *named]
        refused |= late.find_commits.list_refused(case.objects, [other["oid"]]).keys()
    ids = []
    for checkpoint_id in (i for i in named if i not in refused):
        edits = late.candidates.read_edits(case.repo, case.objects, checkpoint_id)
        parent, changes = case.target.read()
        is_gone = late.candidates.build_gone_check(case.objects, parent)
        if not edits or late.candidates.has_work(case.objects, edits, changes, is_gone):
            ids.append(checkpoint_id)
    if named:
        yield _build_answer(case, case.target, named, ids)


def _exists(case: Case, name: str) -> bool:
    return os.path.exists(os.path.join(case.repo.git_dir, name))


def _read_text(case: Case, name: str) -> str:
    return decode_name(texts.peek(os.path.join(case.repo.git_dir, name)))


def read_staged(repo: Repo, parent: str) -> Changes:
    """What the index that git commits from changes against parent; zeros: against no commit."""
    return commit_changes.read_staged(
        repo.hook_git, parent if parent.strip("0") else repo.empty_tree
    )


def list_rewritten(case: Case) -> Iterator[Answer]:
    """Ids of the commits that an amend replaced, or that a rebase replayed or squashed."""
    rewrite = case.rewrite or late.rewritten.NOTHING
    new_commits = {*rewrite.sources, *rewrite.targets}
    carried = {i for new in new_commits for i in _list_linked(case, new)}
    for new in rewrite.targets:
        old_commits = rewrite.sources.get(new)
        if old_commits and rewrite.command == "amend":
            amended = need_commit(case.objects, new)
            refused = commit_memory.read_left_out(case.repo, old_commits[0], amended)
            if refused:
                commit_memory.write_refused(case.repo, refused)
            _note_left_out(case, old_commits[0], amended, refused)
            carried |= refused
        if old_commits:
            yield _follow_commits(case, Target(case.objects, new), old_commits, carried)


def list_split(case: Case) -> Iterator[Answer]:
    """Ids of a commit that a rebase stopped for and the person split; git names its last part
    only."""
    if case.rewrite and case.rewrite.added:
        oids = dict.fromkeys(old for olds in case.rewrite.sources.values() for old in olds)
        search = case.search(late.candidates.select_linked(case.objects, oids))
        yield from _search_targets(search, case.make_targets(case.rewrite.added))


def list_killed(case: Case) -> Iterator[Answer]:
    """Ids of amended commits whose last hook was killed.  An id that the person removed stays out.

    In a repository without reflogs, HEAD is an amend of since if the parents and the author with
    his time are equal."""
    refused = commit_memory.read_refused(case.repo)
    moves = reflog.list_head_moves(case.repo)
    if not moves and case.since not in ("", case.head):
        since, head = (read_commit(case.objects, oid) for oid in (case.since, case.head))
        if since and head and all(since[key] == head[key] for key in ("parents", "author")):
            moves = [("", case.since, b""), (case.since, case.head, b"commit (amend)")]
    starts = [i for i, (_, new, _) in enumerate(moves, 1) if new == case.since]
    for old, new, reason in moves[starts[-1] if starts else 0 :]:
        amended = read_commit(case.objects, new) if reason.startswith(b"commit (amend)") else None
        if amended and _list_linked(case, new):
            yield _follow_commits(case, Target(case.objects, new), [old], _list_linked(case, old))
        elif amended:
            excluded = refused | commit_memory.read_left_out(case.repo, old, amended)
            if case.since:
                _note_left_out(case, old, amended, excluded)
            yield _follow_commits(case, Target(case.objects, new), [old], excluded)


def _note_left_out(case: Case, old: str, amended: Commit, excluded: Collection[str]) -> None:
    """List an old commit as lost if the amended one lacks some of its content, which may be
    committed later.  excluded: ids whose work does not count."""
    commit, lookup = read_commit(case.objects, old), tree.Lookup(case.objects, amended["tree"])
    edits = [
        edit
        for checkpoint_id in _list_linked(case, old)
        if commit and checkpoint_id not in excluded
        for edit in late.candidates.read_edits(case.repo, case.objects, checkpoint_id, commit)
    ]
    if any((lookup(edit["path"]) or ("", None))[1] != edit["oid"] for edit in edits):
        lost_commits.add_commits(case.repo, [old])


def list_in_jj(case: Case) -> Iterator[Answer]:
    """Ids of the commits that jj rewrote, squashed or split."""
    fresh = case.list_fresh() if case.repo.jj_root else []
    refused = commit_memory.read_refused(case.repo) if fresh else ()
    sources = late.rewritten.list_jj(case.repo, case.objects, fresh) if fresh else {}
    for new, old_commits in sources.items():
        yield _follow_commits(case, Target(case.objects, new), old_commits, refused)


def list_lost(case: Case) -> Iterator[Answer]:
    """Ids of commits that HEAD lost by a reset, or that a forge squashed or rebased."""
    fresh = case.list_fresh()
    lost = lost_commits.find_lost(case.repo, case.objects, case.head)
    beside = _list_beside(case, fresh) if fresh else []
    if not (lost or beside):
        return
    oids = {commit["oid"] for commit in beside}
    search = case.search([*beside, *lost], beside=oids.difference(one["oid"] for one in lost))
    yield from _search_targets(search, case.make_targets(fresh))
    if fresh and search.asked != fresh[-1]:
        case.done = search.asked
    search.commits = lost
    lost_commits.keep_pending(case.repo, case.objects, search, case.head, {})


def _list_beside(case: Case, fresh: Sequence[str]) -> list[Commit]:
    """The linked commits of the reflog and of branches that are not in the history of every fresh
    commit, and of which an id is on no other fresh commit.  Those that came with the fresh ones
    count if a merge brought them: then another fresh commit may be their squash."""
    repo, objects = case.repo, case.objects
    moves = reflog.list_head_moves(repo)[-MOST:]
    tips = dict.fromkeys(new for _, new, _ in moves if read_commit(objects, new))
    bases = repo.git.run("merge-base", "--octopus", *fresh, ok=(0, 1))[1].decode().split()
    beside = late.find_commits.list_beside(repo, objects, bases, MOST + len(fresh), tips)
    carriers: dict[str, set[str]] = {}
    for oid in fresh:
        for checkpoint_id in _list_linked(case, oid):
            carriers.setdefault(checkpoint_id, set()).add(oid)
    has_merge = list_commits(repo, "--merges", "--max-count=1", case.head, f"^{case.since}")

    def is_unplaced(commit: Commit) -> bool:
        own = {commit["oid"]} if has_merge else set[str]()
        return any(carriers.get(i, own) <= own for i in _list_linked(case, commit["oid"]))

    return list(filter(is_unplaced, beside))[-MOST:]


def list_merged(case: Case) -> Iterator[Answer]:
    """Ids of a branch that was merged by other means.  Raises Error if a name is no commit, or the
    two have no commit in common."""
    merged, tip = (need_commit(case.objects, name)["oid"] for name in case.onto)
    status, out = case.repo.git.run("merge-base", merged, tip, ok=(0, 1))
    if status:
        target, head = case.onto
        raise Error(f"'{target}' and '{head}' have no commit in common")
    args = ("--reverse", "--no-merges", f"--max-count={_RANGE}", f"^{out.decode().split()[0]}")
    branch = late.candidates.select_linked(case.objects, list_commits(case.repo, *args, tip))
    if branch:
        targets = case.make_targets(list_commits(case.repo, *args, merged))
        yield from _search_targets(case.search(branch, seconds=LONG), targets)


def list_unplaced(case: Case) -> Iterator[Answer]:
    """Ids of checkpoints whose commit is on no branch."""
    pairs = late.lost_links.find_lost(case.repo, case.objects, case.among, case.lately)
    for oid, ids in pairs:
        yield Target(case.objects, oid), ids, {}, ()


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
    ("jj", (SETTLE,), list_in_jj),
    ("lost", (SETTLE,), list_lost),
    ("", (ONTO,), list_merged),
)
