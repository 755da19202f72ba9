"""The sources of links that a commit lacks: what they are asked about, what they answer, and those
that a commit asks as it is made; `searches` has the others (doc/behaviour.md "Three strengths").
"""

from __future__ import annotations

import os

from gitcp.git import commit_message, decode_name, encode_name, files, objects, refs
from gitcp.git.objects import read_commit
from gitcp.record import match
from gitcp.record.match import Target
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.record.match.candidates import Search
    from gitcp.record.match.line import Line
    from gitcp.record.match.rewrites import Rewrite
    from gitcp.text.record_types import Commit

MOST = 50  # commits
SECONDS = 0.3  # that one hook spends; the next one goes on
LONG = 3600  # seconds, for what git or a person names
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


@value_class
class Making:
    """A commit that is being made.

    amended: the commit that it replaces.  copied: the name of a commit whose message it takes.
    is_seen: whether the person sees the message of a squash."""

    target: Target
    amended: Commit | None = None
    copied: str = ""
    is_seen: bool = False


@value_class
class Merged:
    """What a person names: the commit that merged a branch by other means, and the branch's tip."""

    merge: str
    tip: str


class MatchCase:
    """What the sources are asked about.

    since: where HEAD was when no commit lacked a link; making: the commit that is being made;
    rewrite: what post-rewrite said; onto: what a person names as merged; among: the revision range
    to search for lost links, '' for all branches; lately: search only the recent past; seconds: the
    time that a search may take."""

    def __init__(
        self,
        repo: Repo,
        head: str = "",
        since: str = "",
        making: Making | None = None,
        rewrite: Rewrite | None = None,
        onto: Merged | None = None,
        among: str = "",
        lately: bool = False,
        dry_run: bool = False,
        seconds: float = SECONDS,
    ) -> None:
        self.repo = repo
        self.head = head
        self.since = since
        self.making = making or Making(Target(repo.objects))
        self.target = self.making.target
        self.rewrite = rewrite
        self.onto = onto
        self.dry_run = dry_run
        self.among = among
        self.lately = lately
        self._seconds = seconds
        self.done = head  # the last commit that was searched in time, '' for none
        self._line: Line | None = None

    def read_line(self) -> Line | None:
        """Return the newest commits after since; None if it is not known."""
        if self._line is None and self.since and read_commit(self.repo.objects, self.since):
            from gitcp.record.match.line import Line

            tips = [self.head]
            if self.repo.jj:
                from gitcp.git import jj

                tips += jj.list_other_parents(self.repo.worktree, self.head)
            # Not only first parents: a pull that merges brings its commits as second ones.
            self._line = Line(self.repo, [*tips, f"^{self.since}"])
        return self._line

    def _list_newer(self) -> list[str]:
        """Return the newest of them that merge nothing, parents first."""
        line = self.read_line()
        if line is None:
            return []
        return line.oids[-MOST:]

    def list_fresh(self) -> list[str]:
        """Return the newest commits after since that have not been judged, parents first."""
        newer = self._list_newer()
        if not newer:
            return []
        judged = set(match.read_judged(self.repo))
        return [oid for oid in newer if oid not in judged]

    def list_unlinked(self) -> list[str]:
        """Return those too that were judged and found to be of no session: they may hold work of
        commits elsewhere."""
        newer = self._list_newer()
        if not newer:
            return []
        judged = set(match.read_judged(self.repo))
        return [oid for oid in newer if oid not in judged or not list_linked(self, oid)]

    def make_targets(self, oids: Iterable[str]) -> list[Target]:
        """Return a target for each of the commits that exists."""
        own = self.repo.objects
        return [Target(own, oid) for oid in oids if read_commit(own, oid)]

    def search(
        self,
        commits: Iterable[Commit],
        seconds: float = 0.0,
        refused: Collection[str] | None = None,
        beside: Collection[str] = (),
        line: Line | None = None,
    ) -> Search:
        """Return a search for work of the checkpoints of commits.  seconds: the time that it may
        take, by default that of the case."""
        from gitcp.record.match import candidates

        until = seconds or self._seconds
        return candidates.Search(self.repo, commits, until, refused, beside, line)

    def note_search(self, search: Search, oids: Sequence[str]) -> None:
        """Note how far a search in these commits has come."""
        if oids and search.asked != oids[-1]:
            self.done = search.asked


@value_class
class Answer:
    """What a source says of a commit that lacks links.

    ids: those that it gets -> what shows each.  excluded: those that it does not get -> why the
    person removed each, None if nobody did.  old_commits: what it was made of."""

    target: Target
    ids: dict[str, str]
    excluded: dict[str, str | None]
    old_commits: Sequence[str]

    def name_source(self, how: str) -> Answer:
        """The same with how for what shows the ids; '' leaves it."""
        if not how:
            return self
        return Answer(self.target, dict.fromkeys(self.ids, how), self.excluded, self.old_commits)


@value_class
class Source:
    """How its links are found, '' for the rewriting command or the evidence; when it is asked."""

    how: str
    moments: tuple[str, ...]
    ask: Callable[[MatchCase], Iterator[Answer]]


def ask_sources(
    case: MatchCase, when: str, sources: Sequence[Source] | None = None
) -> Iterator[Answer]:
    """The answers of the sources that are asked at a moment; by default of those that a commit asks
    as it is made."""
    for source in sources or SOURCES:
        if when in source.moments:
            for answer in source.ask(case):
                yield answer.name_source(source.how)


def follow_commits(
    case: MatchCase, target: Target, old_commits: Sequence[str], excluded: Collection[str] = ()
) -> Answer:
    """The ids of the old commits whose work is in target, which git says was made of them."""
    named: list[str] = []
    held: set[str] = set()
    for old in old_commits:
        linked = list_linked(case, old)
        named += linked
        held.update(_select_held(case, old, linked, target))
    held.difference_update(excluded)
    ids = [name for name in named if name in held]
    return build_answer(case, target, named, ids, old_commits)


def build_answer(
    case: MatchCase,
    target: Target,
    source_ids: Iterable[str],
    ids: Iterable[str],
    old_commits: Sequence[str] = (),
) -> Answer:
    """The ids that move to target: ids, a part of those that git names, less those that a person
    removed from an old commit."""
    refused: dict[str, str] = {}
    if old_commits:
        from gitcp.checkpoints import listing

        refused = listing.list_refused(case.repo.objects, old_commits)
    moved = [name for name in dict.fromkeys(ids) if name not in refused]
    excluded: dict[str, str | None] = {}
    for name in [*source_ids, *refused]:
        if name not in moved:
            excluded[name] = refused.get(name)
    how = case.rewrite.command if case.rewrite else ""
    present = target.list_ids()
    lacking = [name for name in moved if name not in present]
    return Answer(target, dict.fromkeys(lacking, how), excluded, old_commits)


def search_targets(search: Search, targets: Iterable[Target]) -> Iterator[Answer]:
    """The ids whose work the targets have by their difference."""
    for target, ids in search.find_missing(targets):
        yield Answer(target, ids, {}, ())


def list_linked(case: MatchCase, oid: str) -> list[str]:
    """The ids of the checkpoints that a commit is linked to."""
    from gitcp.checkpoints import listing

    return listing.list_linked(case.repo.objects, oid)


def _select_held(case: MatchCase, old: str, ids: Sequence[str], target: Target) -> list[str]:
    """The ids of an old commit that have a file in the change of target, also under another name.

    An amend may leave files out.  If a rebase skips a commit, git says that it became the commit
    before it."""
    if not ids:
        return []
    commit = read_commit(case.repo.objects, old)
    if commit is None:
        return [*ids]

    from gitcp.record.match import candidates, holding

    old_changes = objects.read_changes(case.repo.objects, commit)[1]
    change = target.build_change()
    selected: list[str] = []
    for checkpoint_id in ids:
        edits = candidates.read_edits(case.repo, checkpoint_id, commit)
        edits = [edit for edit in edits if edit["path"] in old_changes]
        if not edits or holding.hold(edits, change).paths:
            selected.append(checkpoint_id)
    return selected


def list_replaced(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commit that is being amended."""
    amended = case.making.amended
    if amended:
        parent = refs.get_zeros(case.repo)
        if amended["parents"]:
            parent = amended["parents"][0]
        yield follow_commits(case, aim_at_index(case.repo, parent), [amended["oid"]])


def aim_at_index(repo: Repo, parent: str) -> Target:
    """The commit that git makes of its index on parent."""
    return Target(repo.objects, parent=parent, read=lambda: read_staged(repo, parent))


def read_staged(repo: Repo, parent: str) -> Changes:
    """What the index that git commits from changes against parent; zeros: against no commit."""
    base = parent
    if not parent.strip("0"):
        base = repo.empty_tree
    return objects.read_staged(repo.hook_git, base)


def list_taken_back(case: MatchCase) -> Iterator[Answer]:
    """Ids of commits that HEAD lost, for the commit that is being made."""
    if not match.may_have_lost(case.repo, case.head):
        return  # no file says that HEAD has lost a commit

    from gitcp.record.match import taken_back

    lost = taken_back.list_lost(case.repo, case.head)
    search = None
    changes: Changes = {}
    if lost:
        search = case.search(lost)
        yield from search_targets(search, [case.target])
        changes = case.target.changes
    taken_back.keep_pending(case.repo, search, lost, case.head, changes)


def list_picked_before(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commits that `cherry-pick -n` applied before the last one, which alone git names.

    They are not in HEAD, and target has their change.  What a person refused elsewhere does not
    count: the picked commit carries the id rightly.  Commits of the same paths come first, then
    the others, whose files HEAD may have renamed."""
    if not _exists(case, "MERGE_MSG") or _exists(case, "MERGE_HEAD"):
        return

    from gitcp.checkpoints import listing

    beside = (case.repo, ["HEAD"], MOST)
    same_paths = listing.list_beside(*beside, paths=case.target.changes)
    commits = [*same_paths, *listing.list_beside(*beside)]
    yield from search_targets(case.search(commits, refused=()), [case.target])


def list_squashed(case: MatchCase) -> Iterator[Answer]:
    """Ids of the commits that `merge --squash` squashed, by trailer or note: all or none."""
    message = _read_text(case, "SQUASH_MSG")
    names = [line.split(" ")[1] for line in message.splitlines() if line.startswith("commit ")]
    if not names:
        return
    commits: list[Commit] = []
    for name in names:
        commit = read_commit(case.repo.objects, name)
        if commit:
            commits.append(commit)
    old_commits = [commit["oid"] for commit in commits]
    named = commit_message.find_anywhere(encode_name(message))
    for old in old_commits:
        named += list_linked(case, old)
    refused = match.read_refused(case.repo)
    ids = [name for name in named if name not in refused]
    if ids and not _holds_squash(case, commits):
        ids = []
    yield build_answer(case, case.target, named, ids, old_commits)


def _holds_squash(case: MatchCase, commits: Sequence[Commit]) -> bool:
    """Whether target has what a merge squashed.

    The commits are searched together, since a later one may overwrite an earlier one.  A path in
    common is enough if the person sees their list.  git leaves SQUASH_MSG behind if a squash
    changed nothing or was given up."""
    changes = case.target.changes
    if case.making.is_seen:
        for commit in commits:
            if not changes.keys().isdisjoint(objects.read_changes(case.repo.objects, commit)[1]):
                return True
    return case.search(commits, seconds=LONG).is_held(case.target)


def list_copied(case: MatchCase) -> Iterator[Answer]:
    """Ids in a message that -c or -C takes from another commit, or that a pick has left.

    target has some of their work, or their checkpoint is not in this store."""
    named = commit_message.find_anywhere(encode_name(_read_text(case, "MERGE_MSG")))
    other = None
    if case.making.copied:
        other = read_commit(case.repo.objects, case.making.copied)
    if other:
        named = [*commit_message.read_trailers(encode_name(other["message"])), *named]
    if not named:
        return
    refused = match.read_refused(case.repo)
    if other:
        from gitcp.checkpoints import listing

        refused |= listing.list_refused(case.repo.objects, [other["oid"]]).keys()
    allowed = [name for name in named if name not in refused]
    ids = [name for name in allowed if _has_work_of(case, name)]
    yield build_answer(case, case.target, named, ids)


def _has_work_of(case: MatchCase, checkpoint_id: str) -> bool:
    """Whether target has some of the work of a checkpoint, or that is not in this store."""
    from gitcp.record.match import candidates, holding

    edits = candidates.read_edits(case.repo, checkpoint_id)
    return not edits or holding.is_any(holding.hold(edits, case.target.build_change()))


def _exists(case: MatchCase, name: str) -> bool:
    return os.path.exists(os.path.join(case.repo.git_dir, name))


def _read_text(case: MatchCase, name: str) -> str:
    return decode_name(files.peek(os.path.join(case.repo.git_dir, name)))


SOURCES = (
    Source("amend", (MAKING,), list_replaced),
    Source("lost", (MAKING,), list_taken_back),
    Source("pick", (MAKING, MERGING, STAGED), list_picked_before),
    Source("squash", (MAKING, STAGED), list_squashed),
    Source("copy", (MAKING, STAGED), list_copied),
)
