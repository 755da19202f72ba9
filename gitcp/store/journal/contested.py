"""A path that several calls of file tools write at once: the words of each call tell its part,
and the rest of the change is the others'."""

from __future__ import annotations

from gitcp.core.credit import entries, evidence, file_edits
from gitcp.store.journal import look, windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import JournalLine, Version, Writer
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.journal import Journal
    from gitcp.store.journal.last_seen import LastSeen


def build_edits(
    objects: Objects,
    journal: Journal,
    seen: LastSeen,
    call: JournalLine,
    writer: Writer,
    path: str,
    after: Version,
    at: int,
) -> list[JournalLine]:
    """The edits of a path from its last seen entry to after, one of them by the ending call."""
    before = seen.get_entry(path)
    steps = _split_steps(objects, journal, call, writer, path, before, after)
    if not steps:
        return [entries.build_edit(path, before, after, writer, "tool", at)]
    other_windows = [window for window in windows.list_windows(journal) if window["who"] != writer]
    edits = []
    for old, new, is_own in steps:
        change = look.describe_change(journal.repo, seen, path, old, new, False)
        verdict = evidence.attribute_change(change, [] if is_own else other_windows)
        if is_own or (verdict["by"] is None and old != before):
            who, how = writer, "tool"
        else:
            who, how = verdict["who"], verdict["how"]
        edits.append(entries.build_edit(path, old, new, who, how, at))
    return edits


def _split_steps(
    objects: Objects,
    journal: Journal,
    call: JournalLine,
    writer: Writer,
    path: str,
    before: Version,
    after: Version,
) -> list[tuple[Version, Version, bool]]:
    """(entry, next entry, whether the call made the step) for each step from before to after; []
    if the call's words do not tell."""
    if after is None:
        return []
    oids = (entry[1] if entry else None for entry in (before, after))
    contents = [objects.read_blob(oid) or b"" for oid in oids]
    ends = file_edits.derive_contents(call, *contents)
    if ends is None:
        return []
    start, end = ((after[0], objects.write("blob", data)) for data in ends)
    edits = entries.list_edits_since_opening(journal.lines, writer[0], writer[2])
    if end in [entries.parse_entry(line["after"]) for line in edits if line["path"] == path]:
        start = end = before or end  # an earlier look has recorded the call's part
    if before and before[1] == start[1]:
        start = before
    steps = [(before, start, False), (start, end, True), (end, after, False)]
    return [step for step in steps if step[0] != step[1]]
