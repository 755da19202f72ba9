"""What `git status --porcelain=v2 -z --branch --no-renames` and `git ls-files -v -z` print."""

from __future__ import annotations

from gitcp.text.ids import COMMIT, GONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOKUP_ERRORS = {"Permission denied": "closed", "Too many levels of symbolic links": "behind"}


class Row:
    """A path that differs between HEAD and index (x), or between index and worktree (y).

    x, y: git's letters, '.' for no difference.  head: HEAD's entry or None.  moved: the path is a
    submodule in either HEAD or the index, but not in both.
    """

    __slots__ = ("head", "moved", "path", "x", "y")

    def __init__(self, path: str, xy: str, head: tuple[str, str] | None, mode: str = "") -> None:
        self.path = path
        self.head = head
        self.x = xy[0]
        self.y = xy[1]
        self.moved = (mode == COMMIT) != (head is not None and head[0] == COMMIT)


class Status:
    """head: HEAD's commit, None if unborn; branch: its name, None if detached."""

    __slots__ = ("branch", "head", "rows", "untracked")

    def __init__(self) -> None:
        self.head: str | None = None
        self.branch: str | None = None
        self.rows: list[Row] = []
        self.untracked: list[str] = []  # a nested repository ends in a slash


def parse_status(out: bytes) -> Status:
    """The parsed status; raise ValueError for a line of another format."""
    status = Status()
    for line in out.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        kind, _, text = line.partition(" ")
        if kind == "?":
            status.untracked.append(text)
        elif kind == "1":
            xy, _, old, mode, _, oid, _, path = text.split(" ", 7)
            status.rows.append(Row(path, xy, (old, oid) if old != GONE else None, mode))
        elif kind == "u":  # three stages; the line does not tell which is HEAD's
            xy, *_, path = text.split(" ", 9)
            status.rows.append(Row(path, xy, None))
        elif kind == "#":
            _parse_header(status, text)
        elif kind != "!":
            raise ValueError(f"not a line of git status: {line!r}")
    return status


def _parse_header(status: Status, text: str) -> None:
    key, _, value = text.partition(" ")
    if key == "branch.oid":
        status.head = None if value == "(initial)" else value
    elif key == "branch.head":
        status.branch = None if value == "(detached)" else value


def parse_marked(listing: bytes) -> tuple[list[bytes], list[bytes]]:
    """(assume-unchanged paths, skip-worktree paths) in the output of `git ls-files -v -z`."""
    marked = [line for line in listing.split(b"\0")[:-1] if not line.startswith(b"H ")]
    rows = [(line[:1], line[2:]) for line in marked]
    assumed = [path for tag, path in rows if tag.islower()]
    return assumed, [path for tag, path in rows if tag in b"Ss"]


def list_unreadable(warnings: bytes) -> Iterator[tuple[str, str]]:
    """Yield (kind, path) of the paths that git could not read, by its standard error.

    `folder`: a directory that cannot be listed; its untracked files are unknown.  `closed`: a
    tracked path without permission to look it up.  `behind`: a tracked path below a symbolic link
    to itself.  The output of git status has neither of the last two.
    """
    for line in warnings.decode("utf-8", "surrogateescape").split("\n"):
        subject, _, reason = line.rpartition(": ")
        if subject.startswith("warning: could not open directory '"):
            yield "folder", subject.partition("'")[2][:-1].rstrip("/")
        elif reason in _LOOKUP_ERRORS and not subject.startswith(("warning: ", "error: ")):
            yield _LOOKUP_ERRORS[reason], subject
