"""The edits of a file tool at a path that others may have written while it ran."""

from __future__ import annotations

from gitcp.record import looks
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import build_edit
from gitcp.record.looks import credit_cases, windows
from gitcp.text import value_class
from gitcp.text.ids import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record.journal import Journal, LastSeen
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.record_types import Tool, Version, Writer


@value_class
class _EditStep:
    """A step from one entry of a path to the next.  is_own: whether the call made it."""

    before: Version
    after: Version
    is_own: bool


def build_edits(
    journal: Journal,
    seen: LastSeen,
    call: Tool,
    writer: Writer,
    path: str,
    after: Version,
    at: int,
) -> list[Edit]:
    """The edits of a path from its last seen entry to after, one of them by the ending call."""
    before = seen.get_entry(path)
    steps = _split_steps(journal, call, writer, path, before, after)
    if not steps:
        return [build_edit(path, before, after, writer, credit.TOOL, at)]
    other_windows = [window for window in windows.list_windows(journal) if window.who != writer]
    edits = []
    for step in steps:
        change = looks.describe_change(journal.repo, seen, path, step.before, step.after, False)
        who = writer
        how = credit.TOOL
        if not step.is_own:
            verdict = credit_cases.attribute_change(change, other_windows)
            who = verdict.who
            how = verdict.how
            if verdict.by is None and step.before != before:
                # The client's own formatter, or a person: what is formatted keeps its author.
                who = UNKNOWN
        edits.append(build_edit(path, step.before, step.after, who, how, at))
    return edits


def _split_steps(
    journal: Journal,
    call: Tool,
    writer: Writer,
    path: str,
    before: Version,
    after: Version,
) -> list[_EditStep]:
    """The steps from before to after; [] if the call's words do not tell."""
    if after is None:
        return []
    objects = journal.repo.objects
    old = b""
    if before:
        old = objects.read_blob(before[1]) or b""
    ends = credit.derive_contents(call, old, objects.read_blob(after[1]) or b"")
    if ends is None:
        return []
    start = (after[0], objects.write("blob", ends[0]))
    end = (after[0], objects.write("blob", ends[1]))
    for edit in credit.list_edits_since_opening(journal.lines, writer[0], writer[2]):
        if edit.path == path and edit.after == end:  # an earlier look has recorded the call's part
            start = before or end
            end = start
            break
    if before and before[1] == start[1]:
        start = before
    steps = [
        _EditStep(before, start, False),
        _EditStep(start, end, True),
        _EditStep(end, after, False),
    ]
    return [step for step in steps if step.before != step.after]
