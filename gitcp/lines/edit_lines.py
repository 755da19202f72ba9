"""Replaying the journal's edits of a path, to find the authors of its lines."""

from __future__ import annotations

from gitcp.record.journal import credit
from gitcp.text import line_replay
from gitcp.text.line_replay import Version
from gitcp.text.shapes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from gitcp.git.objects import Changes, Objects
    from gitcp.text.line_replay import PathCredit, Regains, Replay
    from gitcp.text.record_types import JournalLine, Writer

    # (path, blob, a commit that has it or '' to search the recent HEADs) -> line index -> author
    Committed = Callable[[str, str, str], Mapping[int, Writer]]
    Kind = TypeVar("Kind", bound=Replay)

_FILES = ("100644", "100755", "120000")


class Edits:
    """A journal's edits, and the contents that they name, each read once."""

    def __init__(
        self, objects: Objects, lines: Sequence[JournalLine], committed: Committed | None = None
    ) -> None:
        """committed: finds the authors of a content that the journal knows only as committed."""
        from gitcp.record.journal import credit

        self._objects, self._committed = objects, committed
        self._edits, self._settled = (
            credit.list_edits(lines),
            credit.list_settled_contents(lines),
        )
        self._contents: dict[str, Version | None] = {"": Version("", ())}

    def get_content(self, mode: str, oid: str | None) -> Version | None:
        """A content; None if its blob is missing."""
        name = oid if oid and mode in _FILES else ""
        if name not in self._contents:
            blob = self._objects.read(name)
            data = blob[2] if blob and blob[1] == "blob" else None
            content = (
                None if blob is None else Version(name, line_replay.split_text_lines(name, data))
            )
            self._contents[name] = content
        return self._contents[name]

    def _read_content(self, value: object) -> Version | None:
        """The content that an entry of a line names."""
        return self.get_content(*(credit.parse_entry(value) or ("", "")))

    def trace_content(self, path: str) -> list[JournalLine]:
        """trace_content() of the journal's edits."""
        from gitcp.record.journal import credit

        return credit.trace_content(self._edits, path)

    def credit_paths(
        self,
        changes: Changes,
        other_parents: Sequence[Mapping[str, tuple[str, str]]] = (),
    ) -> dict[str, PathCredit]:
        """Each changed path of a commit with the authors of its lines.

        changes: against the first parent.  other_parents: path -> entry in each other parent.
        """
        credited = {}
        self.read_ahead(changes)
        origins = self._find_moves(changes)
        for path, (old_mode, old, mode, new) in changes.items():
            parent, content = self.get_content(old_mode, old), self.get_content(mode, new)
            if parent is not None and content is not None:
                in_parents = (self._read_content(files.get(path)) for files in other_parents)
                parents = [parent, *filter(None, in_parents)]
                origin = self.get_content(*changes[origins[path]][:2]) if path in origins else None
                credited[path] = line_replay.credit_path(
                    self.replay_path(path, origin or parent), parents, content, origin
                )
        for path in credited.keys() & set(origins.values()):
            credited[path]["uncounted"] = True
        return credited

    def _find_moves(self, changes: Changes) -> dict[str, str]:
        """new path -> the path that its file was moved from."""
        removed = {path: old for path, (_, old, _, new) in changes.items() if old and not new}
        added = {path: new for path, (_, old, _, new) in changes.items() if new and not old}
        if not removed or not added:
            return {}

        from gitcp.checkpoints.format import line_authors

        return line_authors.find_moves(removed, added, self._read_lines)

    def _read_lines(self, oid: str) -> Sequence[bytes]:
        content = self.get_content(_FILES[0], oid)
        return content.lines if content else ()

    def read_ahead(self, changes: Changes) -> None:
        """Have the contents in memory that a replay of changed paths asks for one by one."""
        sides = [*changes.values()]
        named = [(mode, oid) for mode, oid, *_ in sides] + [(mode, oid) for *_, mode, oid in sides]
        for path in changes:
            for line in self.trace_content(path):
                named += filter(None, map(credit.parse_entry, (line["before"], line["after"])))
        self._objects.read_ahead(oid for mode, oid in named if oid and mode in _FILES)

    def replay_path(self, path: str, parent: Version, reading: bool = False) -> Replay:
        """Replay a path's edits from the content before the first one, or from the parent's if that
        is missing.  The edit after a missing content has the author UNKNOWN.

        reading: whether to ask the history for the authors of lines that no edit wrote.  That costs
        as much as a blame; a commit asks only for a file that was moved or restored.
        """
        return self.replay_as(line_replay.Replay, path, parent, reading)

    def replay_as(
        self, kind: type[Kind], path: str, parent: Version, reading: bool = False
    ) -> Kind:
        """replay_path() into a replay of that class."""
        chain = self.trace_content(path)
        first = self._read_content(chain[0]["before"]) if chain else parent
        start, origin = first or parent, chain[0]["path"] if chain else path
        asks = reading or any("follows" in line or line["how"] == "restored" for line in chain)
        committed = self._committed if asks else None
        lines = kind(start, (lambda: committed(origin, start.oid, "")) if committed else None)
        oid, is_after_gap = start.oid, first is None
        begun: list[tuple[int, int]] = []  # when each step was made, and how many lines were before
        for line in chain:
            begun.append((credit.time_made(line), lines.count))
            before, after = self._read_content(line["before"]), self._read_content(line["after"])
            lines.at = int(line["at"])
            if before is not None and before.oid != oid and "follows" not in line:
                # HEAD has moved: the missing lines are in a commit, or their edit is away.
                recorded = committed(line["path"], before.oid, "") if committed else {}
                lines.cause = UNKNOWN
                lines.add_step(
                    before, UNKNOWN, line_replay.accepts_any_line, recorded, is_kept=True
                )
                oid = before.oid
            if after is not None:
                writer = UNKNOWN if is_after_gap else credit.get_author(line)
                self._add_edit(lines, line, before, after, writer)
                if line["how"] == credit.STATED and before and lines.knows(before):
                    # Made elsewhere: what seemed to bring its lines here later has not made them.
                    later = (count for at, count in begun if at > begun[-1][0])
                    lines.claim_lines(before, writer, next(later, lines.count))
                oid = after.oid
            is_after_gap = after is None
        return lines

    def _add_edit(
        self,
        lines: Replay,
        line: JournalLine,
        before: Version | None,
        after: Version,
        writer: Writer,
    ) -> None:
        """Add an edit of writer to the replay of its path."""
        recorded = {} if lines.knows(after) else self._find_recorded(line, after)
        is_settled = (line["path"], before.oid if before else "") in self._settled
        is_kept = is_settled or "stashed" in line
        lines.cause = credit.get_cause(line)
        lines.add_step(after, writer, choose_regains(line["how"]), recorded, is_kept)

    def _find_recorded(self, line: JournalLine, content: Version) -> Mapping[int, Writer]:
        """The recorded authors of lines that an edit copied from other files, or restored."""
        if "from" in line:
            return self._find_copied(line["from"], content)
        if self._committed and line["how"] == "restored":
            return self._committed(line["path"], content.oid, "")
        return {}

    def _find_copied(self, sources: Sequence[Sequence[str]], content: Version) -> dict[int, Writer]:
        """The authors, by index, of lines that came from sources; UNKNOWN for all lines if a
        source is missing."""
        authors: dict[int, Writer] = {}
        for commit, path, oid in sources:
            source = self.get_content("100644", oid)
            if source is None:
                return dict.fromkeys(range(len(content.lines)), UNKNOWN)
            committed = self._committed(path, oid, commit) if self._committed and commit else {}
            for i, j in line_replay.pair_similar_lines(source.lines, content.lines):
                authors.setdefault(j, committed.get(i, UNKNOWN))
        return authors


def choose_regains(how: str) -> Regains:
    """The test of a line that an edit moves or brings back: a restore may do so with any line, new
    work only with a significant one."""
    return line_replay.accepts_any_line if how == "restored" else line_replay.is_significant
