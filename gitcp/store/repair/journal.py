"""A journal with lines that cannot be read: it goes aside, and what can be read stays."""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.lock import exclusive
from gitcp.process.regular_file import Damaged, move_aside, read_file
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_MOST = 1 << 30  # bytes


def count_lines(path: str) -> int:
    """How many lines of a journal cannot be read; -1 for what is no file of text."""
    try:
        data = read_file(path, _MOST) or b""
    except Damaged:
        return -1
    if not data.isascii():
        return -1
    data = data[: data.rfind(b"\n") + 1]  # a line that is still being written is no lack
    return data.count(b"\n") - len(entries.load(data))


def mend_journal(repo: Repo, _: Objects, path: str) -> str:
    """Move a damaged journal aside and keep the lines that can be read; of one without any, the
    next reader makes another from the edits of sessions.  What was done."""
    with exclusive(repo, f"journal-{repo.worktree_hash}"):
        count = count_lines(path)
        if not count:
            return ""
        data = b"" if count < 0 else read_file(path, _MOST) or b""
        aside = move_aside(repo.common, path)
        lines = [line for line in data.splitlines(True) if entries.load(line)]
        if lines:
            private.write(repo, path, b"".join(lines))
    return f"kept {len(lines)} lines, moved it to '{aside}'"
