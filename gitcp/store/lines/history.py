"""Who wrote lines that were committed before: by the checkpoints behind those commits.

The journal keeps what is unsettled.  A content that it knows only as it was committed, because it
came to another path or was brought back, has for each line the author that blame finds.
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

_MOST = 100  # places HEAD has been at that are looked at


class History:
    """The authors of committed contents, each asked once."""

    def __init__(
        self, repo: Repo, objects: Prefetched, evidence: Evidence, parent: str, but: str = ""
    ) -> None:
        """parent: the commit in which a content is looked for first; but: one that counts not."""
        self._repo, self._objects, self._evidence = repo, objects, evidence
        self._take_parent, self._but = parent, but
        self._places: list[str] | None = None
        self._known: dict[tuple[str, str], dict[int, Writer]] = {}
        self.checkpoints: dict[Writer, str] = {}  # that tell of a session's, of all that was asked

    def find_authors(self, path: str, oid: str, commit: str = "") -> dict[int, Writer]:
        """The authors of the lines of a blob at a path, by index; {} where no commit here that
        HEAD was at lately has it there.  commit: one that has."""
        key = path, oid
        if key not in self._known:
            commit = commit or self._find_commit(path, oid) or ""
            self._known[key] = self._blame_content(commit, path) if commit else {}
        return self._known[key]

    def _find_commit(self, path: str, oid: str) -> str | None:
        if not oid:
            return None
        if self._places is None:
            newest = reversed(reflog.list_head_moves(self._repo))
            heads = [head for _, head, _ in newest][:_MOST]
            places = dict.fromkeys([self._take_parent, *heads])
            self._places = [one for one in places if one.strip("0") and one != self._but]
        specs = {f"{place}:{path}": place for place in self._places}
        oids = self._objects.resolve(specs)
        return next((place for spec, place in specs.items() if oids[spec] == oid), None)

    def _blame_content(self, commit: str, path: str) -> dict[int, Writer]:
        try:
            rows = self._evidence.blame_lines(self._repo.git, options.parse([commit, "--", path]))
        except Error:
            return {}
        self.checkpoints |= map_checkpoints(whose for _, whose in rows)
        return {row["final"] - 1: make_writer(whose) for row, whose in rows}


def map_checkpoints(lines: Iterable[Author]) -> dict[Writer, str]:
    """The checkpoint that tells of each session's author among these."""
    return {make_writer(one): one["checkpoint_id"] for one in lines if one["checkpoint_id"]}


def make_writer(line: Author) -> Writer:
    """An author of blame's as the journal names it."""
    if line["who"] == "session":
        return line["session_id"], line["turn_id"], line["tool_use_id"] or ""
    return PERSON if line["who"] == "person" else UNKNOWN
