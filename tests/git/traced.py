"""What a GITCP_TRACE file says of the processes that ran."""

from __future__ import annotations

from pathlib import Path

# Where the repository is and what is configured: known while the files it comes from are as old.
_KEPT = ("git rev-parse --path-format=absolute ", "git config -z --list ")


def processes(trace: Path) -> list[str]:
    """The commands of git and jj, but for the two questions whose answers may be kept."""
    notes = [line.partition(" git: ")[2] for line in trace.read_text().splitlines()]
    return [note.rpartition(" (")[0] for note in notes if note and not note.startswith(_KEPT)]
