"""Checkpoints whose commit is lost, paired with commits that lost their id
(doc/behaviour.md "Rewritten commits")."""

from __future__ import annotations

from gitcp.checkpoints import listing
from gitcp.checkpoints.stored import find_checkpoint
from gitcp.errors import GitError
from gitcp.git import commit_message, decode_name, gitdir, records, refs
from gitcp.git.kept import Kept, make_key
from gitcp.git.objects import need_commit, object_lists, parse_ident, read_commit
from gitcp.record import match
from gitcp.record.match import candidates, holding
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.match.candidates import Work
    from gitcp.record.match.holding import Evidence
    from gitcp.text.record_types import Commit

_MOST = 2000  # commits searched
_RECENT = 50  # commits searched if lately


@value_class
class FoundLink:
    """A commit that should be linked to a checkpoint.  how: what shows it."""

    commit: str
    checkpoint_id: str
    how: str


def find_lost(repo: Repo, among: str = "", lately: bool = False) -> list[FoundLink]:
    """The links that commits should have to lost checkpoints.

    A checkpoint is lost if no commit with its id is on a branch, or in the history of among.
    Commits that git copied from such a commit come first.  If there is none, it is the commits that
    change what the checkpoint's own commit changed, as a reflog or the checkpoint tells.

    among: the revision range to search, '' for all branches.  lately: search only checkpoints of
    the recent reflog and the newest commits, not the whole store."""
    if not lately:
        stored = [c["checkpoint_id"] for c in listing.list_checkpoints(repo, skip_summary=True)]
        return _find_links(repo, stored, among, _MOST)
    if not match.has_links(repo):
        return []
    stored = [name for name in _list_off_branches(repo) if find_checkpoint(repo, name)]
    return _find_links(repo, stored, among, _RECENT)


def _find_links(repo: Repo, stored: Sequence[str], among: str, limit: int) -> list[FoundLink]:
    """find_lost() for the stored ids, among the newest `limit` commits."""
    if not stored:
        return []
    lost = _Lost(repo, stored, among)
    works = lost.read_works()
    if not works:
        return []
    field = _Field(repo, _list_commits(repo, among, limit), lost, works)
    links: list[FoundLink] = []
    for checkpoint_id, copies in works.items():
        oids = field.find_copies(copies)
        if not oids and lost.is_nowhere(checkpoint_id):
            oids = field.find_similar(copies[0])
        for oid in oids:
            if oid not in lost.carriers[checkpoint_id]:
                how = candidates.tell_how(copies[0].edits, field.changes[oid])
                links.append(FoundLink(oid, checkpoint_id, how))
    return links


class _Lost:
    """The checkpoints of which a commit that carries their id is in no history that is asked about.

    carriers: id -> the commits that carry it."""

    def __init__(self, repo: Repo, stored: Sequence[str], among: str) -> None:
        self._repo = repo
        self.carriers = listing.find_carriers(repo, stored)
        self.linked: set[str] = set()
        for oids in self.carriers.values():
            self.linked.update(oids)
        unreached = _list_unreached(repo, self.linked, among)
        self._unreached: dict[str, list[str]] = {}
        for checkpoint_id, oids in self.carriers.items():
            self._unreached[checkpoint_id] = [oid for oid in oids if oid in unreached]

    def is_nowhere(self, checkpoint_id: str) -> bool:
        """Whether no commit that carries an id is in these histories."""
        return len(self._unreached[checkpoint_id]) == len(self.carriers[checkpoint_id])

    def read_works(self) -> dict[str, list[Work]]:
        """id -> the work of a checkpoint as each commit that carried it, and is not there now, has
        it, if it has any."""
        refused = match.read_refused(self._repo)
        wanted: list[str] = []
        for checkpoint_id, unreached in self._unreached.items():
            is_lost = bool(unreached) or self.is_nowhere(checkpoint_id)
            if is_lost and checkpoint_id not in refused:
                wanted.append(checkpoint_id)
        originals = _list_reflog(self._repo) if wanted else {}
        works: dict[str, list[Work]] = {}
        for checkpoint_id in sorted(wanted):
            oids = [*originals.get(checkpoint_id, ()), *self._unreached[checkpoint_id]]
            commits = _read_commits(self._repo, dict.fromkeys(oids))
            for original in commits or (None,):
                work = candidates.read_work(self._repo, checkpoint_id, original)
                if work.edits:
                    works.setdefault(checkpoint_id, []).append(work)
        return works


class _Field:
    """The commits in which lost work is searched for.

    changes: commit -> what it changes, of those without an id and of copies of lost commits; a
    commit that cannot be read is not in it."""

    def __init__(
        self,
        repo: Repo,
        oids: Sequence[str],
        lost: _Lost,
        works: Mapping[str, Sequence[Work]],
    ) -> None:
        self._repo = repo
        repo.objects.read_ahead(oids)
        commits = _read_commits(repo, oids)
        authors = _list_authors(works.values())
        self._by_author = _group_by_author(one for one in commits if one["author"] in authors)
        read: list[Commit] = []
        copied: list[Commit] = []
        for commit in commits:
            if commit["oid"] not in lost.linked:
                read.append(commit)
            elif commit["author"] in self._by_author:
                copied.append(commit)
        self._free = [commit["oid"] for commit in read]
        self.changes = object_lists.read_many_changes(repo, [*read, *copied])

    def find_copies(self, copies: Iterable[Work]) -> list[str]:
        """The commits that git copied from one that carried a checkpoint; they have its author and
        its time."""
        oids: dict[str, None] = {}
        for work in copies:
            if work.commit:
                same = self._by_author.get(work.commit["author"], ())
                found = self._choose_copies(work, [oid for oid in same if oid in self.changes])
                oids |= dict.fromkeys(found)
        return [*oids]

    def _choose_copies(self, work: Work, oids: Sequence[str]) -> list[str]:
        """Those of the copies that have edits of a checkpoint.  What one of them has does not count
        in a later one that is based on it."""
        found: dict[str, Evidence] = {}
        for oid in reversed(oids):  # older ones first
            earlier = [one for one in found if object_lists.is_ancestor(self._repo, one, oid)]
            commits = [need_commit(self._repo.objects, one) for one in earlier]
            evidence = self._find_evidence(work, oid, work.leave_out(commits))
            if evidence:
                found[oid] = evidence
        return _choose(found)

    def find_similar(self, work: Work) -> list[str]:
        """The commits without an id that have edits of a checkpoint.  Edits without their old
        content match only by their exact blobs."""
        paths = {edit["path"] for edit in work.edits}
        oids = {edit["oid"] for edit in work.edits}
        knows_before = all("before" in edit for edit in work.edits)
        found: dict[str, Evidence] = {}
        for oid in reversed(self._free):  # older ones first
            changes = self.changes.get(oid)
            if changes is None:
                continue
            is_far = paths.isdisjoint(changes) and oids.isdisjoint(c[3] for c in changes.values())
            if is_far or not (
                knows_before or candidates.tell_how(work.edits, changes) == candidates.BLOBS
            ):
                continue
            evidence = self._find_evidence(work, oid, work.leave_out(()))
            if evidence:
                found[oid] = evidence
        return _choose(found)

    def _find_evidence(self, work: Work, oid: str, remaining: Work) -> Evidence:
        """What a commit has of the part of some work that remains, if it is enough and the work's
        own commit is not based on it."""
        commit = need_commit(self._repo.objects, oid)
        parent = "".join(commit["parents"][:1])
        change = match.build_change(self._repo.objects, parent, self.changes[oid])
        evidence = remaining.find_enough(change, candidates.relate(work.commit, commit))
        if evidence and work.oid and object_lists.is_ancestor(self._repo, oid, work.oid):
            return set()
        return evidence


def _choose(found: Mapping[str, Evidence]) -> list[str]:
    """The commits that have most of some work: one is left out if another has all of its edits and
    more, and both if they have the same."""
    return holding.choose_candidate([{oid: shared} for oid, shared in found.items()])


def _read_commits(repo: Repo, oids: Iterable[str]) -> list[Commit]:
    """Those of the commits that exist."""
    commits: list[Commit] = []
    for oid in oids:
        commit = read_commit(repo.objects, oid)
        if commit:
            commits.append(commit)
    return commits


def _list_authors(works: Iterable[Sequence[Work]]) -> set[str]:
    """The authors, with their times, of the commits of works."""
    authors: set[str] = set()
    for copies in works:
        for work in copies:
            if work.commit:
                authors.add(work.commit["author"])
    return authors


def _group_by_author(commits: Iterable[Commit]) -> dict[str, list[str]]:
    """The oids of commits by author and time, which git keeps when it copies a commit."""
    by_author: dict[str, list[str]] = {}
    for commit in commits:
        if parse_ident(commit["author"])[1]:
            by_author.setdefault(commit["author"], []).append(commit["oid"])
    return by_author


def _list_unreached(repo: Repo, commits: Collection[str], among: str) -> set[str]:
    """Those of the commits and of their history that the history of among lacks; with '' those
    that no branch has, here or of a remote."""
    # find_carriers() reads tags and notes too; a commit with a note may have been rewritten.
    # A branch that was left behind keeps the commits from before a rewrite.
    tips: list[str] = []
    if among:
        tips = [oid for oid in _parse_range(repo, among) if oid[0] != "^"]
    args = ("--stdin", "--not", *(tips or ("--branches", "--remotes")))
    return set(object_lists.list_commits(repo, *args, stdin=records.encode_lines(commits)))


def _parse_range(repo: Repo, among: str) -> list[str]:
    """The commits where a range begins (with ^) and where it ends."""
    try:
        args = ("rev-parse", "--revs-only", "--end-of-options", among)
        return repo.git.run(*args)[1].decode().split()
    except GitError as e:
        raise e.shorten() from None


def _list_commits(repo: Repo, among: str, limit: int) -> list[str]:
    """The newest commits that merge nothing, of a range or of all branches but the streams."""
    args = ["--exclude=entire/*", "--branches"]
    if among:
        args = ["--end-of-options", among, "--"]
    try:
        return object_lists.list_commits(repo, "--no-merges", f"--max-count={limit}", *args)
    except GitError as e:
        raise e.shorten() from None


def _list_off_branches(repo: Repo) -> list[str]:
    """The checkpoints that recent commits of reflogs carry which no branch has; asked of git again
    when a branch or a reflog has changed."""
    kept = Kept(repo, "lost", "1")
    stamp = gitdir.stamp_branches(repo)
    key = make_key(stamp)
    known: list[str] | None = None
    if stamp:
        known = kept.find(key)
    if known is None:
        known = _ask_off_branches(repo)
        if stamp:
            kept.keep(key, known)
            kept.save()
    return known


def _ask_off_branches(repo: Repo) -> list[str]:
    """_list_off_branches() by git.  Where branches are many, git reads them only if HEAD and the
    branches that it was on lack one of the commits."""
    if gitdir.has_many_branches(repo):
        tips = _list_tips_of_head(repo)
        if tips and not _list_reflog(repo, 1, "--not", *tips):
            return []
    return [*_list_reflog(repo, _RECENT, "--not", "--branches", "--remotes")]


def _list_tips_of_head(repo: Repo) -> list[str]:
    """The commits of HEAD and of the branches that HEAD was on lately; [] if it is unborn."""
    head = refs.read_head(repo)
    if head is None:
        return []
    names: dict[str, None] = {}
    for _, _, reason in refs.list_head_moves(repo)[-_RECENT:]:
        _, is_switch, left = reason.partition(b"checkout: moving from ")
        if is_switch:
            names[decode_name(left.partition(b" to ")[0])] = None
    tips = [head]
    for name in names:
        tip = refs.read_ref(repo, f"refs/heads/{name}")
        if tip:
            tips.append(tip)
    return tips


def _list_reflog(repo: Repo, limit: int = _MOST, *args: str) -> dict[str, list[str]]:
    """checkpoint id -> the commits of reflogs that carry it, newest first; args of git log."""
    form = ("--no-notes", "-z", "--format=%H%n%B", f"--max-count={limit}")
    carriers: dict[str, list[str]] = {}
    for entry in repo.git.read_records("log", "--reflog", "-E", commit_message.GREP, *form, *args):
        oid, _, message = entry.partition(b"\n")
        for checkpoint_id in commit_message.read_trailers(message):
            carriers.setdefault(checkpoint_id, []).append(oid.decode())
    return carriers
