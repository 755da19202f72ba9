"""The authors of lines that were committed before, by the checkpoints of those commits.

The journal has only unsettled edits.  The authors of a content that was committed, and then moved
or restored, are those that blame finds.
"""

from __future__ import annotations

from gitcp.core.blame import options
from gitcp.core.credit.entries import PERSON, UNKNOWN
from gitcp.errors import Error
from gitcp.store.git import reflog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.lines.authors import Author
    from gitcp.core.record_types import Writer
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched
    from gitcp.store.lines.evidence import Evidence

_MOST = 100  # commits that HEAD was at


class History:
    """The authors of committed contents; each content is blamed once."""

    def __init__(
        self, repo: Repo, objects: Prefetched, evidence: Evidence, parent: str, excluded: str = ""
    ) -> None:
        """parent: the commit that is searched first; excluded: a commit that is not searched."""
        self._repo, self._objects, self._evidence = repo, objects, evidence
        self._parent, self._excluded = parent, excluded
        self._commits: list[str] | None = None
        self._authors: dict[tuple[str, str], dict[int, Writer]] = {}
        self.checkpoints: dict[
            Writer, str
        ] = {}  # of the sessions among all authors that were found

    def find_authors(self, path: str, oid: str, commit: str = "") -> dict[int, Writer]:
        """The authors, by index, of the lines of a blob at a path; {} if no recent HEAD has it
        there.  commit: one that has it."""
        key = path, oid
        if key not in self._authors:
            commit = commit or self._find_commit(path, oid) or ""
            self._authors[key] = self._blame_content(commit, path) if commit else {}
        return self._authors[key]

    def _find_commit(self, path: str, oid: str) -> str | None:
        if not oid:
            return None
        if self._commits is None:
            newest = reversed(reflog.list_head_moves(self._repo))
            heads = [head for _, head, _ in newest][:_MOST]
            commits = dict.fromkeys([self._parent, *heads])
            self._commits = [c for c in commits if c.strip("0") and c != self._excluded]
        specs = {f"{commit}:{path}": commit for commit in self._commits}
        oids = self._objects.resolve(specs)
        return next((commit for spec, commit in specs.items() if oids[spec] == oid), None)

    def _blame_content(self, commit: str, path: str) -> dict[int, Writer]:
        try:
            rows = self._evidence.blame_lines(self._repo.git, options.parse([commit, "--", path]))
        except Error:
            return {}
        self.checkpoints |= map_checkpoints(author for _, author in rows)
        return {row["final"] - 1: make_writer(author) for row, author in rows}


def map_checkpoints(authors: Iterable[Author]) -> dict[Writer, str]:
    """writer -> checkpoint of the authors that have one."""
    return {make_writer(a): a["checkpoint_id"] for a in authors if a["checkpoint_id"]}


def make_writer(author: Author) -> Writer:
    """The writer that the journal has for an author of a line."""
    if author["who"] == "session":
        return author["session_id"], author["turn_id"], author["tool_use_id"] or ""
    return PERSON if author["who"] == "person" else UNKNOWN
