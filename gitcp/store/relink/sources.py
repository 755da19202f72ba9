"""Where a link may come from that a commit lacks: the table of sources, each with its candidates
(doc/behaviour.md "Three strengths")."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.store.git import reflog
from gitcp.store.git.commit import list_commits, need_commit, read_commit
from gitcp.store.git.tree import Lookup
from gitcp.store.link import commit_verdict, lost_commits
from gitcp.store.match import candidates, commit_memory
from gitcp.store.match.candidates import Search
from gitcp.store.relink import rewritten
from gitcp.store.v1 import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.relink.rewritten import Rewrite

REWRITE, AMENDED, SETTLE, RELINK, ONTO = "rewrite", "amended", "settle", "relink", "onto"
_MOST = 50  # commits that are looked at
_RANGE = 2000  # the same, of a range that a person names
_LONG = 3600  # seconds: what git or a person names is asked to its end


class Candidates:
    """New commits and what they may hold.  olds: git says that each of them was made of these;
    but: ids that do not follow.  search: it does not; the difference is to show it."""

    def __init__(
        self,
        news: Sequence[str],
        olds: Sequence[str] = (),
        but: Collection[str] = (),
        search: Search | None = None,
    ) -> None:
        self.news, self.olds, self.but, self.search = news, olds, but, search


class Case:
    """What the sources are asked about.  since: where HEAD was when all before was well; rewrite:
    what post-rewrite tells; onto: a commit that was merged and the head of its branch."""

    def __init__(
        self,
        repo: Repo,
        objects: Objects,
        head: str = "",
        since: str = "",
        rewrite: Rewrite = rewritten.NOTHING,
        onto: tuple[str, str] = ("", ""),
        dry_run: bool = False,
    ) -> None:
        self.repo, self.objects, self.head, self.since = repo, objects, head, since
        self.rewrite, self.onto, self.dry_run = rewrite, onto, dry_run
        self.done = head  # the last commit there was time for, '' for none
        self._fresh: list[str] | None = None

    def fresh(self) -> list[str]:
        """The commits since then that nobody has judged, oldest first."""
        if self._fresh is None:
            args = ("--first-parent", "--reverse", "--no-merges", f"--max-count={_MOST}")
            there = self.since and read_commit(self.objects, self.since)
            oids = list_commits(self.repo, *args, self.head, f"^{self.since}") if there else []
            judged = set(commit_memory.read_judged(self.repo)) if oids else ()
            self._fresh = [oid for oid in oids if oid not in judged]
        return self._fresh


def list_rewritten(case: Case) -> Iterator[Candidates]:
    """What an amend replaced, or a rebase replayed and squashed."""
    rewrite = case.rewrite
    every = {*rewrite.olds, *rewrite.news}
    carried = {one for new in every for one in find_commits.linked(case.objects, new)}
    for new in rewrite.news:
        olds = rewrite.olds.get(new)
        if olds and rewrite.command == "amend":
            after = need_commit(case.objects, new)
            refused = commit_verdict.refused(case.repo, olds[0], after)
            if refused:
                commit_memory.write_refused(case.repo, refused)
            _remember(case, olds[0], after, refused)
            carried |= refused
        if olds:
            yield Candidates([new], olds, carried)


def list_split(case: Case) -> Iterator[Candidates]:
    """A commit that a rebase stopped for and the person made several of: git tells of the last one
    only."""
    if case.rewrite.added:
        olds = dict.fromkeys(old for each in case.rewrite.olds.values() for old in each)
        yield Candidates(case.rewrite.added, search=_search(case, olds, candidates.SECONDS))


def list_killed(case: Case) -> Iterator[Candidates]:
    """Commits that were amended and whose last hook was killed.  A line that the person took out
    stays out."""
    everywhere, entries = commit_memory.read_refused(case.repo), reflog.list_head_moves(case.repo)
    seen = [at for at, (_, new, _) in enumerate(entries) if new == case.since]
    for old, new, reason in entries[seen[-1] + 1 if seen else 0 :]:
        after = read_commit(case.objects, new) if reason.startswith(b"commit (amend)") else None
        if after and find_commits.linked(case.objects, new):
            yield Candidates([new], [old], find_commits.linked(case.objects, old))
        elif after:
            refused = everywhere | commit_verdict.refused(case.repo, old, after)
            if case.since:
                _remember(case, old, after, refused)
            yield Candidates([new], [old], refused)


def _remember(case: Case, old: str, after: Commit, but: Collection[str]) -> None:
    """Note a commit of whose content the one that took its place has left something out: it may
    be committed later.  but: ids that the person does not want there."""
    before, look = read_commit(case.objects, old), Lookup(case.objects, after["tree"])
    record = [
        entry
        for one in find_commits.linked(case.objects, old)
        if before and one not in but
        for entry in candidates.read_edits(case.repo, case.objects, one, before)
    ]
    if any((look(entry["path"]) or ("", None))[1] != entry["oid"] for entry in record):
        lost_commits.add(case.repo, [old])


def list_in_jj(case: Case) -> Iterator[Candidates]:
    """What jj rewrote, squashed or split."""
    fresh = case.fresh() if case.repo.jj_root else []
    refused = commit_memory.read_refused(case.repo) if fresh else ()
    sources = rewritten.list_jj(case.repo, case.objects, fresh) if fresh else {}
    for new, olds in sources.items():
        yield Candidates([new], olds, refused)


def list_lost(case: Case) -> Iterator[Candidates]:
    """Commits that HEAD lost or never had: taken back, or squashed and rebased by a forge."""
    fresh = case.fresh()
    lost = lost_commits.find(case.repo, case.objects, case.head)
    beside = _beside(case, fresh) if fresh else []
    if not (lost or beside):
        return
    search = Search(case.repo, case.objects, [*beside, *lost])
    yield Candidates(fresh, search=search)
    if fresh and search.asked != fresh[-1]:
        case.done = search.asked
    search.commits = lost
    lost_commits.keep(case.repo, case.objects, search, case.head, {})


def _beside(case: Case, fresh: Sequence[str]) -> list[Commit]:
    """The commits with an id that were made here, or are on a branch, and that HEAD has not,
    where none of the commits that came to it has the id."""
    moves = reflog.list_head_moves(case.repo)[-_MOST:]
    tips = dict.fromkeys(new for _, new, _ in moves if read_commit(case.objects, new))
    there = {one for oid in fresh for one in find_commits.linked(case.objects, oid)}
    return [
        commit
        for commit in find_commits.beside(case.repo, case.objects, tips)
        if not there.issuperset(find_commits.linked(case.objects, commit["oid"]))
    ]


def list_merged(case: Case) -> Iterator[Candidates]:
    """A branch that was merged by other means.  Raises Error for what is no commit, and where the
    two have no history in common."""
    merged, tip = (need_commit(case.objects, name)["oid"] for name in case.onto)
    status, out = case.repo.git.run("merge-base", merged, tip, ok=(0, 1))
    if status:
        target, head = case.onto
        raise Error(f"'{target}' and '{head}' have no commit in common")
    args = ("--reverse", "--no-merges", f"--max-count={_RANGE}", f"^{out.decode().split()[0]}")
    search = _search(case, list_commits(case.repo, *args, tip), _LONG)
    yield Candidates(
        list_commits(case.repo, *args, merged) if search.commits else (), search=search
    )


def _search(case: Case, olds: Collection[str], seconds: float) -> Search:
    linked = candidates.select_linked(case.objects, olds)
    return Search(case.repo, case.objects, linked, seconds)


# Its name, as a link says it ('': the command's or the evidence's); when it is asked; what it has.
SOURCES = (
    ("", (REWRITE,), list_rewritten),
    ("rebase", (REWRITE,), list_split),
    ("amend", (AMENDED, RELINK), list_killed),
    ("jj", (SETTLE,), list_in_jj),
    ("lost", (SETTLE,), list_lost),
    ("", (ONTO,), list_merged),
)
