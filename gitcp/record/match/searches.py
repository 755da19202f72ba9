"""The sources of links that no commit asks as it is made: of commits that git replays, and of those
that exist (doc/behaviour.md "Three strengths")."""

from __future__ import annotations

from gitcp.checkpoints import listing
from gitcp.errors import Error
from gitcp.git import objects, refs
from gitcp.git.objects import need_commit, object_lists, parse_ident, read_commit
from gitcp.record import match
from gitcp.record.match import Target, candidates, lost, rewrites, sources, taken_back
from gitcp.record.match.sources import (
    AMENDED,
    IN_JJ,
    LONG,
    LOST,
    MOST,
    ONTO,
    RELINK,
    REPLAYING,
    REWRITE,
    SETTLE,
    Answer,
    Source,
    build_answer,
    follow_commits,
    list_linked,
    list_replaced,
    search_targets,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gitcp.git.gitdir import Move
    from gitcp.record.match.line import Line
    from gitcp.record.match.sources import MatchCase
    from gitcp.text.record_types import Commit

_RANGE = 2000  # commits of a range that a person names
_CARRIERS = 200  # linked commits of HEAD's
_DAY = 86400  # seconds by which clocks may differ


def list_picked(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commit that a cherry-pick, or a step of a rebase, replays."""
    picked = read_commit(case.repo.objects, "CHERRY_PICK_HEAD")
    if picked:
        yield follow_commits(case, case.target, [picked["oid"]])


def list_rewritten(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commits that an amend replaced, or that a rebase replayed or squashed."""
    rewrite = case.rewrite or rewrites.NOTHING
    carried: set[str] = set()
    for new in {*rewrite.sources, *rewrite.targets}:
        carried.update(list_linked(case, new))
    for new in rewrite.targets:
        old_commits = rewrite.sources.get(new)
        if not old_commits:
            continue
        if rewrite.command == "amend":
            amended = need_commit(case.repo.objects, new)
            refused = match.read_left_out(case.repo, old_commits[0], amended)
            if refused:
                match.write_refused(case.repo, refused)
            _note_left_out(case, old_commits[0], amended, refused)
            carried |= refused
        yield follow_commits(case, Target(case.repo.objects, new), old_commits, carried)


def list_split(case: MatchCase) -> Iterator[Answer]:
    """Ids of a commit that a rebase stopped for and the person split; git names its last part
    only."""
    if not case.rewrite or not case.rewrite.added:
        return
    oids: dict[str, None] = {}
    for old_commits in case.rewrite.sources.values():
        oids |= dict.fromkeys(old_commits)
    search = case.search(candidates.select_linked(case.repo.objects, oids))
    yield from search_targets(search, case.make_targets(case.rewrite.added))


def list_killed(case: MatchCase) -> Iterator[Answer]:
    """Ids of amended commits whose last hook was killed.  An id that the person removed stays
    out."""
    refused = match.read_refused(case.repo)
    for old, new, reason in _list_moves(case):
        amended = None
        if reason.startswith(b"commit (amend)"):
            amended = read_commit(case.repo.objects, new)
        if amended is None:
            continue
        target = Target(case.repo.objects, new)
        if list_linked(case, new):
            yield follow_commits(case, target, [old], list_linked(case, old))
            continue
        excluded = refused | match.read_left_out(case.repo, old, amended)
        if case.since:
            _note_left_out(case, old, amended, excluded)
        yield follow_commits(case, target, [old], excluded)


def _list_moves(case: MatchCase) -> Sequence[Move]:
    """The moves of HEAD since it was looked at.

    In a repository without reflogs, HEAD is an amend of since if the parents and the author with
    his time are equal."""
    moves = refs.list_moves_since(case.repo, refs.HeadMark(case.since))
    if moves or case.since in ("", case.head) or refs.list_head_moves(case.repo):
        return moves
    since = read_commit(case.repo.objects, case.since)
    head = read_commit(case.repo.objects, case.head)
    if since is None or head is None:
        return moves
    if since["parents"] != head["parents"] or since["author"] != head["author"]:
        return moves
    return [("", case.since, b""), (case.since, case.head, b"commit (amend)")]


def list_copied_unlinked(case: MatchCase) -> Iterator[Answer]:
    """The ids in messages that a rebase or pick without hooks copied, although a person had removed
    the link: an earlier commit with the same author and time is the one that was copied."""
    if not case.since:
        return
    refused = match.read_refused(case.repo)
    if not refused:
        return
    since = refs.list_moves_since(case.repo, refs.HeadMark(case.since))
    fresh = {new for _, new, why in since if refs.tell_move(why) == refs.BROUGHT}
    if not fresh:
        return
    earlier: dict[str, list[str]] = {}
    for oid in dict.fromkeys(new for _, new, _ in refs.list_head_moves(case.repo)):
        same: list[str] = []
        commit = read_commit(case.repo.objects, oid)
        if commit:
            same = earlier.setdefault(commit["author"], [])
        if oid in fresh and not refused.isdisjoint(list_linked(case, oid)):
            yield build_answer(case, Target(case.repo.objects, oid), (), (), same)
        same.append(oid)


def _note_left_out(case: MatchCase, old: str, amended: Commit, excluded: Collection[str]) -> None:
    """List an old commit as lost if the amended one lacks some of its content, which may be
    committed later.  excluded: ids whose work does not count."""
    commit = read_commit(case.repo.objects, old)
    if commit is None:
        return
    lookup = objects.Lookup(case.repo.objects, amended["tree"])
    for checkpoint_id in list_linked(case, old):
        if checkpoint_id in excluded:
            continue
        for edit in candidates.read_edits(case.repo, checkpoint_id, commit):
            entry = lookup(edit["path"])
            oid = entry[1] if entry else None
            if oid != edit["oid"]:
                taken_back.add_commits(case.repo, [old])
                return


def list_in_jj(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commits that jj rewrote, squashed or split."""
    if not case.repo.jj_root:
        return
    fresh = case.list_fresh()
    if not fresh:
        return
    refused = match.read_refused(case.repo)
    for new, old_commits in rewrites.list_jj(case.repo, fresh).items():
        yield follow_commits(case, Target(case.repo.objects, new), old_commits, refused)


def list_returned(case: MatchCase) -> Iterator[Answer]:
    """Ids of commits that HEAD lost by a reset, or that a forge squashed or rebased.  Then those
    are written down that may be made again."""
    fresh = case.list_unlinked()
    dropped = taken_back.list_lost(case.repo, case.head)
    beside: list[Commit] = []
    line = case.read_line()
    if fresh and line:
        beside = _list_beside(case, fresh, line)
    if not dropped and not beside:
        return
    unnamed = {one["oid"] for one in beside}.difference(one["oid"] for one in dropped)
    search = case.search([*beside, *dropped], beside=unnamed, line=line)
    yield from search_targets(search, case.make_targets(fresh))
    case.note_search(search, fresh)
    taken_back.keep_pending(case.repo, search, dropped, case.head, {})


def _list_beside(case: MatchCase, fresh: Sequence[str], line: Line) -> list[Commit]:
    """The linked commits of the reflog and of branches that are not in the history of every fresh
    commit, and of which an id is neither on another fresh commit nor on a copy of theirs in HEAD's
    history.  Those that came with the fresh ones count if a merge brought them: then another fresh
    commit may be their squash."""
    repo = case.repo
    moves = refs.list_head_moves(repo)[-MOST:]
    tips = dict.fromkeys(new for _, new, _ in moves if read_commit(repo.objects, new))
    bases = fresh[:1]
    if not all(line.is_based(oid, fresh[0]) for oid in fresh):
        bases = repo.git.run("merge-base", "--octopus", *fresh, ok=(0, 1))[1].decode().split()
    beside = listing.list_beside(repo, bases, MOST + len(fresh), tips)
    if not beside:
        return []
    oldest = min(parse_ident(commit["committer"])[1] for commit in beside)
    carriers = listing.map_carriers(repo, case.head, oldest - _DAY, _CARRIERS)

    def is_placed(checkpoint_id: str, commit: Commit) -> bool:
        for oid in carriers.get(checkpoint_id, ()):
            is_own = oid == commit["oid"] and line.has_merge()
            if not is_own and (oid in fresh or _is_copy(need_commit(repo.objects, oid), commit)):
                return True
        return False

    def is_unplaced(commit: Commit) -> bool:
        return not all(is_placed(one, commit) for one in list_linked(case, commit["oid"]))

    return list(filter(is_unplaced, beside))[-MOST:]


def _is_copy(commit: Commit, other: Commit) -> bool:
    """Whether git copied one commit from another: it keeps author, time and message."""
    return commit["author"] == other["author"] and commit["message"] == other["message"]


def list_merged(case: MatchCase) -> Iterator[Answer]:
    """Ids of a branch that was merged by other means.  Raises Error if a name is no commit, or the
    two have no commit in common."""
    if case.onto is None:
        return
    merge = need_commit(case.repo.objects, case.onto.merge)["oid"]
    tip = need_commit(case.repo.objects, case.onto.tip)["oid"]
    status, out = case.repo.git.run("merge-base", merge, tip, ok=(0, 1))
    if status:
        raise Error(f"'{case.onto.merge}' and '{case.onto.tip}' have no commit in common")
    base = out.decode().split()[0]
    args = ("--reverse", "--no-merges", f"--max-count={_RANGE}", f"^{base}")
    branch = candidates.select_linked(
        case.repo.objects, object_lists.list_commits(case.repo, *args, tip)
    )
    if branch:
        targets = case.make_targets(object_lists.list_commits(case.repo, *args, merge))
        yield from search_targets(case.search(branch, seconds=LONG), targets)


def list_unplaced(case: MatchCase) -> Iterator[Answer]:
    """Ids of checkpoints whose commit is on no branch."""
    for link in lost.find_lost(case.repo, case.among, case.lately):
        yield Answer(Target(case.repo.objects, link.commit), {link.checkpoint_id: link.how}, {}, ())


SOURCES = (
    Source("amend", (REPLAYING,), list_replaced),
    Source("pick", (REPLAYING,), list_picked),
    Source("", (RELINK, LOST), list_unplaced),
    Source("", (REWRITE,), list_rewritten),
    Source("rebase", (REWRITE,), list_split),
    Source("amend", (AMENDED, RELINK), list_killed),
    Source("", (AMENDED,), list_copied_unlinked),
    Source("jj", (SETTLE, IN_JJ), list_in_jj),
    Source("lost", (SETTLE,), list_returned),
    Source("", (ONTO,), list_merged),
)


def ask_sources(case: MatchCase, when: str) -> Iterator[Answer]:
    """The answers of these sources for a moment."""
    return sources.ask_sources(case, when, SOURCES)
