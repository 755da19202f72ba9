"""A path that several calls of file tools have in hand at once: each call's own words tell its
part, and what stands there besides is the others'."""

from __future__ import annotations

from gitcp.core.credit import entries, evidence, file_edits
from gitcp.store.journal import look, windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import JournalLine, Version, Writer
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.journal import Journal
    from gitcp.store.journal.known import Known


def build_edits(
    objects: Objects,
    journal: Journal,
    records: Known,
    call: JournalLine,
    who: Writer,
    path: str,
    now: Version,
    at: int,
) -> list[JournalLine]:
    """The edits that led a path from what is known to now, one of them a call's that ends."""
    was = records.get_entry(path)
    steps = _split_steps(objects, journal, call, who, path, was, now)
    if not steps:
        return [entries.build_edit(path, was, now, who, "tool", at)]
    able = [window for window in windows.list_windows(journal) if window["who"] != who]
    lines = []
    for before, after, own in steps:
        change = look.describe_change(journal.repo, records, path, before, after, False)
        verdict = evidence.attribute_change(change, [] if own else able)
        if own or (verdict["by"] is None and before != was):
            lines.append(entries.build_edit(path, before, after, who, "tool", at))
        else:
            lines.append(
                entries.build_edit(path, before, after, verdict["who"], verdict["how"], at)
            )
    return lines


def _split_steps(
    objects: Objects,
    journal: Journal,
    call: JournalLine,
    who: Writer,
    path: str,
    was: Version,
    now: Version,
) -> list[tuple[Version, Version, bool]]:
    """(before, after, whether the call itself did it) from was to now; [] where nothing tells."""
    if now is None:
        return []
    contents = [_read_content(objects, entry) for entry in (was, now)]
    ends = file_edits.derive_contents(call, *contents)
    if ends is None:
        return []
    start, left = ((now[0], objects.write("blob", data)) for data in ends)
    since = entries.list_edits_since_opening(journal.lines, who[0], who[2])
    if left in [entries.parse_entry(line["after"]) for line in since if line["path"] == path]:
        start = left = was or left  # its part is known: somebody has looked
    if was and was[1] == start[1]:
        start = was
    steps = [(was, start, False), (start, left, True), (left, now, False)]
    return [step for step in steps if step[0] != step[1]]


def _read_content(objects: Objects, entry: Version) -> bytes:
    blob = objects.read(entry[1]) if entry else None
    return blob[2] if blob and blob[1] == "blob" else b""
