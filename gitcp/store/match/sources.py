"""Where a link may come from that a commit lacks: the table of sources, each with its candidates,
and the one question to all of them (doc/behaviour.md "Three strengths")."""

from __future__ import annotations

import os

from gitcp.core.message import trailers
from gitcp.errors import Error
from gitcp.process import files as texts
from gitcp.record import decode_name, encode_name
from gitcp.start import late
from gitcp.store.git import commit_changes, reflog, tree
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

    # A commit that lacks links; the ids that it is to have, and how that shows; those that it is
    # not to have, with the reason of a person who took one off; the commits that it was made of.
    Answer = tuple[Target, dict[str, str], dict[str, str | None], Sequence[str]]

# A commit is being made: of work, of a merge, of what a rebase or a pick replays; it is not yet,
# and its lines are asked for.
MAKING, MERGING, REPLAYING, STAGED = "making", "merging", "replaying", "staged"
# post-rewrite tells; HEAD moved; a person asks for what is lost, here or in a range, or for a
# branch that was merged.
REWRITE, AMENDED, SETTLE, ONTO = "rewrite", "amended", "settle", "onto"
RELINK, LOST = "relink", "lost"
_RANGE = 2000  # commits of a range that a person names


def ask_sources(case: Case, when: str) -> Iterator[Answer]:
    """What the sources that are asked then know of each commit that may lack links."""
    for name, times, find in SOURCES:
        for target, ids, left, olds in find(case) if when in times else ():
            yield target, {one: name or how for one, how in ids.items()}, left, olds


def _follow(case: Case, target: Target, olds: Sequence[str], but: Collection[str] = ()) -> Answer:
    """The ids that a commit has of those that git says it was made of, without some."""
    linked = {old: _list_linked(case, old) for old in olds}
    kept = {one for old, each in linked.items() for one in _keep(case, old, each, target)}
    named = [one for each in linked.values() for one in each]
    ids = [one for one in named if one in kept and one not in but]
    return _answer(case, target, named, ids, olds)


def _answer(
    case: Case,
    target: Target,
    source_ids: Iterable[str],
    ids: Iterable[str],
    olds: Sequence[str] = (),
) -> Answer:
    """Of the ids that git names those that follow to a commit, without what a person took off
    those that it was made of."""
    refused = late.find_commits.list_refused(case.objects, olds) if olds else {}
    well = [one for one in dict.fromkeys(ids) if one not in refused]
    left = {one: refused.get(one) for one in [*source_ids, *refused] if one not in well}
    has, how = target.list_ids(), case.rewrite.command if case.rewrite else ""
    return target, dict.fromkeys((one for one in well if one not in has), how), left, olds


def _search_targets(search: Search, news: Iterable[Target]) -> Iterator[Answer]:
    """The ids whose work commits have by the difference."""
    for target, ids in search.find_missing(news):
        yield target, ids, {}, ()


def _list_linked(case: Case, oid: str) -> list[str]:
    return late.find_commits.list_linked(case.objects, oid)


def _keep(case: Case, old: str, ids: Sequence[str], target: Target) -> list[str]:
    """Those ids of an old commit of whose files at least one is in the change of the new one, be
    it by another name: an amend may leave them out, and of a commit that was skipped git says that
    it became the one before it."""
    was = read_commit(case.objects, old) if ids else None
    if was is None:
        return [*ids]
    had = commit_changes.read_changes(case.objects, was)[1]
    parent, changes = target.read()
    lacks, kept = late.candidates.build_gone_check(case.objects, parent), []
    for one in ids:
        edits = late.candidates.read_edits(case.repo, case.objects, one, was)
        record = [entry for entry in edits if entry["path"] in had]
        if not record or late.candidates.is_concerned(case.objects, record, changes, lacks):
            kept.append(one)
    return kept


def list_replaced(case: Case) -> Iterator[Answer]:
    """What the commit that is being made amends."""
    if case.amended:
        parent = (case.amended["parents"] or ["0" * len(case.amended["oid"])])[0]
        target = Target(case.objects, parent=parent, changes=lambda: read_staged(case.repo, parent))
        yield _follow(case, target, [case.amended["oid"]])


def list_picked(case: Case) -> Iterator[Answer]:
    """What a cherry-pick, or a step of a rebase, replays."""
    picked = read_commit(case.objects, "CHERRY_PICK_HEAD")
    if picked:
        yield _follow(case, case.target, [picked["oid"]])


def list_taken_back(case: Case) -> Iterator[Answer]:
    """Commits that HEAD lost, for the one that is being made."""
    lost = lost_commits.find_lost(case.repo, case.objects, case.head)
    search = case.search(lost) if lost else None
    if search:
        yield from _search_targets(search, [case.target])
    changes = case.target.read()[1] if search else {}
    lost_commits.keep_pending(case.repo, case.objects, search, case.head, changes)


def list_picked_before(case: Case) -> Iterator[Answer]:
    """What a `cherry-pick -n` of several commits brought before the last, of which alone git tells:
    commits that HEAD has not, whose change the new one has in it.  A commit that has an id has it
    rightly, whatever was refused of others.  Commits of the same paths come first; HEAD may have
    renamed what the others changed."""
    if _exists(case, "MERGE_MSG") and not _exists(case, "MERGE_HEAD"):
        repo, objects = case.repo, case.objects
        same = late.find_commits.list_beside_head(repo, objects, paths=case.target.read()[1])
        every = [*same, *late.find_commits.list_beside_head(repo, objects)]
        yield from _search_targets(case.search(every, refused=()), [case.target])


def list_squashed(case: Case) -> Iterator[Answer]:
    """What `merge --squash` brought, by trailer or note: all of it or nothing."""
    message = _read_text(case, "SQUASH_MSG")
    words = [line.split(" ") for line in message.splitlines() if line.startswith("commit ")]
    commits = [commit for w in words if (commit := read_commit(case.objects, w[1]))]
    if words:
        olds = [commit["oid"] for commit in commits]
        noted = [one for old in olds for one in _list_linked(case, old)]
        named = [*trailers.find_anywhere(encode_name(message)), *noted]
        refused = {*commit_memory.read_refused(case.repo)}
        ids = [one for one in named if one not in refused]
        holds = ids and _holds_squash(case, commits)
        yield _answer(case, case.target, named, ids if holds else (), olds)


def _holds_squash(case: Case, commits: Sequence[Commit]) -> bool:
    """Whether the new commit has what a merge squashed: all are asked together, for a later one
    may overwrite an earlier one.  Where the person sees them, a path in common is enough; git
    leaves its file behind where a squash brought nothing, or was given up."""
    parent, changes = case.target.read()
    for commit in commits if case.is_seen else ():
        if not changes.keys().isdisjoint(commit_changes.read_changes(case.objects, commit)[1]):
            return True
    return case.search(commits, seconds=LONG).is_held(changes, parent)


def list_copied(case: Case) -> Iterator[Answer]:
    """What the message says that -c or -C takes from another commit, or a pick left to a message
    that does not show it: ids of which the new one has something, or whose checkpoint is not in
    this store."""
    named = trailers.find_anywhere(encode_name(_read_text(case, "MERGE_MSG")))
    other = read_commit(case.objects, case.copied) if case.copied else None
    refused = commit_memory.read_refused(case.repo) if named or other else set()
    if other:
        named = [*trailers.read(encode_name(other["message"])), *named]
        refused |= late.find_commits.list_refused(case.objects, [other["oid"]]).keys()
    ids = []
    for one in (one for one in named if one not in refused):
        record = late.candidates.read_edits(case.repo, case.objects, one)
        parent, changes = case.target.read()
        gone = late.candidates.build_gone_check(case.objects, parent)
        if not record or late.candidates.match_edits(case.objects, record, changes, gone):
            ids.append(one)
    if named:
        yield _answer(case, case.target, named, ids)


def _exists(case: Case, name: str) -> bool:
    return os.path.exists(os.path.join(case.repo.git_dir, name))


def _read_text(case: Case, name: str) -> str:
    return decode_name(texts.peek(os.path.join(case.repo.git_dir, name)))


def read_staged(repo: Repo, parent: str) -> Changes:
    """What the index that git commits from changes against a commit, zeros for none."""
    return commit_changes.read_staged(
        repo.hook_git, parent if parent.strip("0") else repo.empty_tree
    )


def list_rewritten(case: Case) -> Iterator[Answer]:
    """What an amend replaced, or a rebase replayed and squashed."""
    rewrite = case.rewrite or late.rewritten.NOTHING
    every = {*rewrite.olds, *rewrite.news}
    carried = {one for new in every for one in _list_linked(case, new)}
    for new in rewrite.news:
        olds = rewrite.olds.get(new)
        if olds and rewrite.command == "amend":
            after = need_commit(case.objects, new)
            refused = commit_memory.read_left_out(case.repo, olds[0], after)
            if refused:
                commit_memory.write_refused(case.repo, refused)
            _remember(case, olds[0], after, refused)
            carried |= refused
        if olds:
            yield _follow(case, Target(case.objects, new), olds, carried)


def list_split(case: Case) -> Iterator[Answer]:
    """A commit that a rebase stopped for and the person made several of: git tells of the last one
    only."""
    if case.rewrite and case.rewrite.added:
        olds = dict.fromkeys(old for each in case.rewrite.olds.values() for old in each)
        search = case.search(case.select_linked(olds))
        yield from _search_targets(search, case.make_targets(case.rewrite.added))


def _is_amended(was: Commit, now: Commit) -> bool:
    return was["parents"] == now["parents"] and was["author"] == now["author"]


def list_killed(case: Case) -> Iterator[Answer]:
    """Commits that were amended and whose last hook was killed.  A line that the person took out
    stays out.  Where nothing is logged, a commit of the same parents and the same author, with his
    time, stands in for the one that was looked at."""
    everywhere = commit_memory.read_refused(case.repo)
    entries = reflog.list_head_moves(case.repo)
    if not entries and case.since not in ("", case.head):
        was, now = (read_commit(case.objects, oid) for oid in (case.since, case.head))
        if was and now and _is_amended(was, now):
            entries = [("", case.since, b""), (case.since, case.head, b"commit (amend)")]
    seen = [at for at, (_, new, _) in enumerate(entries) if new == case.since]
    for old, new, reason in entries[seen[-1] + 1 if seen else 0 :]:
        after = read_commit(case.objects, new) if reason.startswith(b"commit (amend)") else None
        if after and _list_linked(case, new):
            yield _follow(case, Target(case.objects, new), [old], _list_linked(case, old))
        elif after:
            refused = everywhere | commit_memory.read_left_out(case.repo, old, after)
            if case.since:
                _remember(case, old, after, refused)
            yield _follow(case, Target(case.objects, new), [old], refused)


def _remember(case: Case, old: str, after: Commit, but: Collection[str]) -> None:
    """Note a commit of whose content the one that took its place has left something out: it may
    be committed later.  but: ids that the person does not want there."""
    before, look = read_commit(case.objects, old), tree.Lookup(case.objects, after["tree"])
    record = [
        entry
        for one in _list_linked(case, old)
        if before and one not in but
        for entry in late.candidates.read_edits(case.repo, case.objects, one, before)
    ]
    if any((look(entry["path"]) or ("", None))[1] != entry["oid"] for entry in record):
        lost_commits.add_commits(case.repo, [old])


def list_in_jj(case: Case) -> Iterator[Answer]:
    """What jj rewrote, squashed or split."""
    fresh = case.list_fresh() if case.repo.jj_root else []
    refused = commit_memory.read_refused(case.repo) if fresh else ()
    sources = late.rewritten.list_jj(case.repo, case.objects, fresh) if fresh else {}
    for new, olds in sources.items():
        yield _follow(case, Target(case.objects, new), olds, refused)


def list_lost(case: Case) -> Iterator[Answer]:
    """Commits that HEAD lost or never had: taken back, or squashed and rebased by a forge."""
    fresh = case.list_fresh()
    lost = lost_commits.find_lost(case.repo, case.objects, case.head)
    beside = _list_beside(case, fresh) if fresh else []
    if not (lost or beside):
        return
    search = case.search([*beside, *lost])
    yield from _search_targets(search, case.make_targets(fresh))
    if fresh and search.asked != fresh[-1]:
        case.done = search.asked
    search.commits = lost
    lost_commits.keep_pending(case.repo, case.objects, search, case.head, {})


def _list_beside(case: Case, fresh: Sequence[str]) -> list[Commit]:
    """The commits with an id that were made here, or are on a branch, and that HEAD has not,
    where none of the commits that came to it has the id."""
    moves = reflog.list_head_moves(case.repo)[-MOST:]
    tips = dict.fromkeys(new for _, new, _ in moves if read_commit(case.objects, new))
    there = {one for oid in fresh for one in _list_linked(case, oid)}
    return [
        commit
        for commit in late.find_commits.list_beside_head(case.repo, case.objects, tips)
        if not there.issuperset(_list_linked(case, commit["oid"]))
    ]


def list_merged(case: Case) -> Iterator[Answer]:
    """A branch that was merged by other means.  Raises Error for what is no commit, and where the
    two have no history in common."""
    merged, tip = (need_commit(case.objects, name)["oid"] for name in case.onto)
    status, out = case.repo.git.run("merge-base", merged, tip, ok=(0, 1))
    if status:
        target, head = case.onto
        raise Error(f"'{target}' and '{head}' have no commit in common")
    args = ("--reverse", "--no-merges", f"--max-count={_RANGE}", f"^{out.decode().split()[0]}")
    search = case.search(case.select_linked(list_commits(case.repo, *args, tip)), seconds=LONG)
    if search.commits:
        yield from _search_targets(
            search, case.make_targets(list_commits(case.repo, *args, merged))
        )


def list_unplaced(case: Case) -> Iterator[Answer]:
    """Checkpoints whose commit is on no branch."""
    pairs = late.lost_links.find_lost(case.repo, case.objects, case.among, case.lately)
    for oid, ids in pairs:
        yield Target(case.objects, oid), ids, {}, ()


# Its name, as a link says it ('': the command's or the evidence's); when it is asked; what it has.
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
