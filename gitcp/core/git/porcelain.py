"""Read what `git status --porcelain=v2 -z --branch --no-renames` says, and `git ls-files -v`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TRACKED = {"Permission denied": "closed", "Too many levels of symbolic links": "behind"}
GONE, FILE, EXECUTABLE, LINK, COMMIT = "000000", "100644", "100755", "120000", "160000"


class Row:
    """A path of the index that differs from HEAD (x), or in the worktree from the index (y).

    x and y are git's letters, '.' for the same; head is HEAD's entry or None.  moved: it is
    a submodule in one of HEAD and index alone.
    """

    __slots__ = ("head", "moved", "path", "x", "y")

    def __init__(self, path: str, xy: str, head: tuple[str, str] | None, mode: str = "") -> None:
        self.path, self.head = path, head
        self.x, self.y = xy[0], xy[1]
        self.moved = (mode == COMMIT) != (head is not None and head[0] == COMMIT)


class Status:
    """head: HEAD's commit, None when unborn; branch: its name, None when detached."""

    __slots__ = ("branch", "head", "rows", "untracked")

    def __init__(self) -> None:
        self.head: str | None = None
        self.branch: str | None = None
        self.rows: list[Row] = []
        self.untracked: list[str] = []  # a nested repository ends in a slash


def parse_status(out: bytes) -> Status:
    """The status in git's words; raise ValueError on a line of another format."""
    status = Status()
    for line in out.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        kind, _, rest = line.partition(" ")
        if kind == "?":
            status.untracked.append(rest)
        elif kind == "1":
            xy, _, old, mode, _, oid, _, path = rest.split(" ", 7)
            status.rows.append(Row(path, xy, (old, oid) if old != GONE else None, mode))
        elif kind == "u":  # three stages; which is HEAD's is not said
            xy, *_, path = rest.split(" ", 9)
            status.rows.append(Row(path, xy, None))
        elif kind == "#":
            _parse_header(status, rest)
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
    """(paths to assume unchanged, paths to skip) of what `git ls-files -v -z` says."""
    rows = [(line[:1], line[2:]) for line in listing.split(b"\0")[:-1]]
    assumed = [path for tag, path in rows if tag.islower()]
    return assumed, [path for tag, path in rows if tag in b"Ss"]


def list_unreadable(warnings: bytes) -> Iterator[tuple[str, str]]:
    """(what, path) of what git could not look into, from its standard error.

    `folder`: it cannot be listed, which hides what is untracked in it.  Of a tracked path that
    cannot be looked up git then says nothing on standard output: it is `closed`, or `behind` a
    link that leads to itself.
    """
    for line in warnings.decode("utf-8", "surrogateescape").split("\n"):
        what, _, why = line.rpartition(": ")
        if what.startswith("warning: could not open directory '"):
            yield "folder", what.partition("'")[2][:-1].rstrip("/")
        elif why in _TRACKED and not what.startswith(("warning: ", "error: ")):
            yield _TRACKED[why], what
