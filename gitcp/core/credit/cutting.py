"""What a journal keeps when it is cut back at a commit: what is unsettled, and the last commits'
edits, for one that is amended or undone."""

from __future__ import annotations

from gitcp.core.credit import entries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import JournalLine

COMMITS = 3  # of which the edits stay
LARGEST = 64 << 10  # bytes from which on a journal is cut


def kept(lines: list[JournalLine], expanded: list[JournalLine]) -> list[JournalLine]:
    """The lines that stay, in their order.

    expanded: the same with the edits of `trees` lines one by one; such a line stays while one
    of its paths is unsettled.
    """
    commits = [n for n, line in enumerate(lines) if "commit" in line]
    recent = commits[-COMMITS - 1] if len(commits) > COMMITS else -1
    held = max((n for n, line in enumerate(lines) if "held" in line), default=-1)
    last = {
        max((n for n, line in enumerate(lines) if key in line), default=-1)
        for key in ("look", "held")
    }
    unsettled = {_same(line) for line in entries.unsettled(expanded)}
    times = {line["at"] for line in entries.unsettled(expanded)}
    running = {
        (call["session"], call["open"]) for call in entries.calls(lines) if call["end"] is None
    }
    return [
        line
        for n, line in enumerate(lines)
        if n > recent
        or n in last
        or ("path" in line and (n > held or _same(line) in unsettled))
        or ("trees" in line and (n > held or line["at"] in times))
        or (line.get("session"), line.get("open", line.get("close"))) in running
    ]


def _same(line: JournalLine) -> tuple[str, int, str]:
    return line["path"], int(line["at"]), str(line.get("after"))
