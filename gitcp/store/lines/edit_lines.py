"""The journal's edits of a path, replayed: whose the lines of what they came to are."""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.core.decide import line_evidence
from gitcp.core.lines import attribution, replay
from gitcp.core.lines.replay import UNKNOWN, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.lines.replay import Regains, Replay
    from gitcp.core.record_types import JournalLine, Writer
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects

    # (path, blob, the commit that has it, '' where HEAD was there lately) -> by index
    Committed = Callable[[str, str, str], Mapping[int, Writer]]

_FILES = ("100644", "100755", "120000")


class Edits:
    """A journal's edits, and the contents that they name, each read once."""

    def __init__(
        self, objects: Objects, lines: Sequence[JournalLine], committed: Committed | None = None
    ) -> None:
        """committed: tells the authors of a content that the journal knows as committed only."""
        self._objects, self._committed = objects, committed
        self._edits, self._taken = entries.list_edits(lines), entries.list_settled_contents(lines)
        self._contents: dict[str, Version | None] = {"": Version("", ())}

    def get_content(self, mode: str, oid: str | None) -> Version | None:
        """A content; None for one that is not there any more."""
        name = oid if oid and mode in _FILES else ""
        if name not in self._contents:
            blob = self._objects.read(name)
            data = blob[2] if blob and blob[1] == "blob" else None
            content = None if blob is None else Version(name, replay.split(name, data))
            self._contents[name] = content
        return self._contents[name]

    def _read_content(self, value: object) -> Version | None:
        """The content that an entry of a line names."""
        return self.get_content(*(entries.parse_entry(value) or ("", "")))

    def trace_content(self, path: str) -> list[JournalLine]:
        """entries.trace_content() of these."""
        return entries.trace_content(self._edits, path)

    def credit_paths(
        self,
        changes: Changes,
        other_parents: Sequence[Mapping[str, tuple[str, str]]] = (),
    ) -> dict[str, PathCredit]:
        """Each path of a commit with the authors of its lines.

        changes: against the first parent.  other_parents: what they have, path -> entry.
        """
        credited = {}
        for path, (old_mode, old, mode, new) in changes.items():
            parent, now = self.get_content(old_mode, old), self.get_content(mode, new)
            if parent is not None and now is not None:
                more = [self._read_content(other.get(path)) for other in other_parents]
                parents = [parent, *filter(None, more)]
                credited[path] = attribution.credit_path(
                    self.replay_path(path, parent), parents, now
                )
        return credited

    def replay_path(self, path: str, parent: Version, reading: bool = False) -> Replay:
        """A path's edits in their order, from the first one's before; from the parent's content
        where that is gone.  A step whose content is gone leaves what follows to nobody.

        reading: nobody waits to commit.
        """
        chain, committed = self.trace_content(path), self._committed
        first = self._read_content(chain[0]["before"]) if chain else parent
        start, origin = first or parent, chain[0]["path"] if chain else path
        # History costs as much as a blame: no commit asks it of a file edited in its place.
        back = reading or any("follows" in line or line["how"] == "restored" for line in chain)
        lines = replay.Replay(
            start, (lambda: committed(origin, start.oid, "")) if committed and back else None
        )
        at, broken = start.oid, first is None
        for line in chain:
            before, after = self._read_content(line["before"]), self._read_content(line["after"])
            if before is not None and before.oid != at and "follows" not in line:
                # HEAD moved under it: what went is in a commit, or is open still and so put away.
                lines.add_step(before, UNKNOWN, replay.accepts_any_line, is_kept=True)
                at = before.oid
            if after is None:
                broken = True
                continue
            known = {} if lines.knows(after) else self._find_recorded(line, after)
            who = UNKNOWN if broken else entries.get_author(line)
            taken = (line["path"], before.oid if before else "") in self._taken
            lines.add_step(
                after, who, choose_regains(line["how"]), known, taken or "stashed" in line
            )
            at, broken = after.oid, False
        return lines

    def _find_recorded(self, line: JournalLine, now: Version) -> Mapping[int, Writer]:
        """The authors of lines that an edit brought in, or back, as they are recorded elsewhere."""
        if "from" in line:
            return self._find_brought_in(line["from"], now)
        if self._committed and line["how"] == "restored":
            return self._committed(line["path"], now.oid, "")
        return {}

    def _find_brought_in(self, sources: Sequence[Sequence[str]], now: Version) -> dict[int, Writer]:
        """The authors, by index, of the lines of a content that came from its sources; of all,
        nobody, where a source is gone."""
        authors: dict[int, Writer] = {}
        for commit, path, oid in sources:
            source = self.get_content("100644", oid)
            if source is None:
                return dict.fromkeys(range(len(now.lines)), UNKNOWN)
            known = self._committed(path, oid, commit) if self._committed and commit else {}
            for i, j in replay.pair_lines(source.lines, now.lines):
                authors.setdefault(j, known.get(i, UNKNOWN))
        return authors


def choose_regains(how: str) -> Regains:
    """Which lines a step may move or give back, by how it is known: beside new work they are told
    by what they say."""
    return replay.accepts_any_line if how == "restored" else line_evidence.is_telling
