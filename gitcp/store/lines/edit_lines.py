"""The journal's edits of a path, replayed: whose the lines of what they came to are."""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.core.decide import line_evidence
from gitcp.core.lines import attribution, replay
from gitcp.core.lines.replay import UNKNOWN, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.lines.replay import Regains, Replay
    from gitcp.core.record_types import Author, JournalLine
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_changes import Changes

    Recorded = Mapping[str, Sequence[tuple[str, Author]]]  # path -> (oid, whose)
    # (path, blob, the commit that has it, '' where HEAD was there lately) -> by index
    Committed = Callable[[str, str, str], Mapping[int, Author]]

_FILES = ("100644", "100755", "120000")


class Contents:
    """Blobs as lines, each read once."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[str, Version | None] = {"": Version("", ())}

    def version(self, mode: str, oid: str | None) -> Version | None:
        """A content; None for one that is not there any more."""
        name = oid if oid and mode in _FILES else ""
        if name not in self._known:
            blob = self._objects.read(name)
            data = blob[2] if blob and blob[1] == "blob" else None
            self._known[name] = None if blob is None else Version(name, replay.split(name, data))
        return self._known[name]

    def of(self, value: object) -> Version | None:
        """The content an entry of a line names."""
        entry = entries.entry(value)
        return self.version(*entry) if entry else self.version("", "")


def credits(
    objects: Objects,
    lines: list[JournalLine],
    changes: Changes,
    other_parents: Sequence[Mapping[str, tuple[str, str]]] = (),
    recorded: Recorded | None = None,
    committed: Committed | None = None,
) -> dict[str, PathCredit]:
    """Each path of a commit with the authors of its lines.

    changes: against the first parent.  other_parents: what they have, path -> entry.
    recorded: what sessions have recorded of paths that no edit of the journal tells of.
    committed: (path, blob) -> the authors, by index, of the lines of a content that the journal
    knows as it was committed only.
    """
    contents, edits, taken = Contents(objects), entries.edits(lines), entries.settled(lines)
    credited = {}
    for path, (old_mode, old, mode, new) in changes.items():
        parent, now = contents.version(old_mode, old), contents.version(mode, new)
        if parent is None or now is None:
            continue
        chain = entries.chain(edits, path)
        if chain:
            authors = replayed(contents, parent, chain, taken, committed)
        else:
            authors = _of_records(contents, parent, (recorded or {}).get(path, ()))
        more = [v for other in other_parents if (v := contents.of(other.get(path)))]
        credited[path] = attribution.of_path(authors, [parent, *more], now)
    return credited


def replayed(
    contents: Contents,
    parent: Version,
    chain: Sequence[JournalLine],
    taken: Collection[tuple[str, str]],
    committed: Committed | None = None,
    reading: bool = False,
) -> Replay:
    """A path's edits in their order, from the first one's before; from the parent's content where
    that is gone.  A step whose content is gone leaves what follows to nobody.

    taken: (path, oid) of what is committed (entries.settled).  reading: nobody waits to commit.
    """
    first = contents.of(chain[0]["before"])
    start = first if first is not None else parent
    path = chain[0]["path"]
    # History costs as much as a blame: no commit asks it of a file that was edited in its place.
    back = reading or any("follows" in line or line["how"] == "restored" for line in chain)
    lines = replay.Replay(
        start, (lambda: committed(path, start.oid, "")) if committed and back else None
    )
    at, broken = lines.first.oid, first is None
    for line in chain:
        before, after = contents.of(line["before"]), contents.of(line["after"])
        if before is not None and before.oid != at and "follows" not in line:
            # HEAD moved under it: what went is in a commit, or is open still and so put away.
            lines.step(before, UNKNOWN, replay.every, kept=True)
            at = before.oid
        if after is None:
            broken = True
            continue
        known = {} if lines.knows(after) else _recorded(contents, line, after, committed)
        who = UNKNOWN if broken else entries.author(line)
        kept = "stashed" in line or (line["path"], before.oid if before else "") in taken
        lines.step(after, who, regains(line["how"]), known, kept)
        at, broken = after.oid, False
    return lines


def _recorded(
    contents: Contents, line: JournalLine, now: Version, committed: Committed | None
) -> Mapping[int, Author]:
    """The authors of lines that an edit brought in, or back, as they are recorded elsewhere."""
    if "from" in line:
        return _brought_in(contents, line["from"], now, committed)
    if committed and line["how"] == "restored":
        return committed(line["path"], now.oid, "")
    return {}


def _brought_in(
    contents: Contents, sources: Sequence[Sequence[str]], now: Version, committed: Committed | None
) -> dict[int, Author]:
    """The authors, by index, of the lines of a content that came from its sources; of all, nobody,
    where a source is gone."""
    authors: dict[int, Author] = {}
    for commit, path, oid in sources:
        source = contents.version("100644", oid)
        if source is None:
            return dict.fromkeys(range(len(now.lines)), UNKNOWN)
        known = committed(path, oid, commit) if committed and commit else {}
        for i, j in replay.pairs(source.lines, now.lines):
            authors.setdefault(j, known.get(i, UNKNOWN))
    return authors


def regains(how: str) -> Regains:
    """Which lines a step may move or give back, by how it is known: beside new work they are told
    by what they say."""
    return replay.every if how == "restored" else _telling


def _telling(line: bytes) -> bool:
    return bool(line_evidence.significant({line}))


def _of_records(
    contents: Contents, parent: Version, recorded: Sequence[tuple[str, Author]]
) -> Replay:
    lines = replay.Replay(parent)
    for oid, who in recorded:
        now = contents.version("100644", oid)
        if now is not None:
            lines.step(now, who)
    return lines
