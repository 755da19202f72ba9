"""One `git blame`, and what git has to be asked besides to show its lines to people."""

from __future__ import annotations

import os

from gitcp.core.blame import layout, porcelain
from gitcp.core.blame import options as arguments
from gitcp.core.git import quoting
from gitcp.errors import USAGE, GitError, UsageError
from gitcp.record import raw, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitcp.core.blame.options import Options
    from gitcp.core.blame.porcelain import Entry
    from gitcp.git import Git
    from gitcp.process.running import Running
    from gitcp.repo import Repo

    Blamed = tuple[list[Entry], bytes]  # and what git says behind them
    # (abbreviated name, date) of a commit.
    Date = tuple[bytes, bytes]


def begun(git: Git, options: Options) -> Callable[[], Blamed]:
    """Start git in the format asked for, or in `porcelain`; what is returned waits for it."""
    running = _started(git, f"--{arguments.form(options) or 'porcelain'}", *options["given"])
    return lambda: porcelain.parse(_finished(running))


def blame(git: Git, options: Options) -> Blamed:
    """The entries of `git blame` with the person's arguments, and what follows them.

    git runs where the person stands.  Raises Error with git's own words.
    """
    return begun(git, options)()


def whole(git: Git, options: Options) -> tuple[list[Entry], bytes]:
    """blame(), with all headers in each entry."""
    entries, rest = blame(git, options)
    return porcelain.whole(entries), rest


def places(entries: Iterable[Entry]) -> dict[tuple[str, str], list[int]]:
    """(commit, path there) of entries -> their lines there: what evidence is asked of."""
    lines: dict[tuple[str, str], list[int]] = {}
    for entry in entries:
        count = entry["count"] if entry["content"] is None else 1
        first = entry["orig"]
        lines.setdefault((entry["oid"], entry["path"]), []).extend(range(first, first + count))
    return lines


def befores(entries: Iterable[Entry]) -> dict[tuple[str, str], str]:
    """(commit, path there) of entries -> the path in the commit's parent, where it has one."""
    paths: dict[tuple[str, str], str] = {}
    for entry in entries:
        for key, value in entry["headers"]:
            if key == b"previous":
                paths[entry["oid"], entry["path"]] = text(quoting.unquote(value.split(b" ", 1)[1]))
    return paths


def moved(repo: Repo, options: Options) -> bool:
    """Whether git may show a line whose commit has it otherwise: by options, by a list of
    commits to pass over, or because it blames what a text conversion makes of the file."""
    config = repo.config
    configured = config.get("blame.ignorerevsfile") or config.keys("diff.", ".textconv")
    return bool(configured) or arguments.moves(options)


def edges(git: Git, options: Options, rows: Sequence[Entry]) -> list[tuple[bytes, bytes]]:
    """What git shows of each line before the author, and between the number and the content:
    for options whose effect (colours, scores, marks) git alone can tell."""
    width = len(str(max((row["final"] for row in rows), default=0)))
    parts = []
    lines = _finished(_started(git, *options["given"], "-s")).split(b"\n")
    for line, row in zip(lines, rows, strict=False):
        end = len(line) - len(row["content"] or b"")
        middle = b" %*d) " % (width, row["final"])
        at = line.rindex(middle, 0, end)
        parts.append((line[:at], line[at + len(middle) : end]))
    return parts


def _started(git: Git, *args: str) -> Running:
    ways = ("-c", "core.useReplaceRefs=false")  # filters and textconv are the person's
    return git.start(*ways, "blame", *map(raw, args), filters=True)


def _finished(running: Running) -> bytes:
    try:
        return running.finish()[1]
    except GitError as e:
        if e.git_status == USAGE:
            usage = str(e.plain()).replace("usage: git ", "no file given\nusage: gitcp ", 1)
            raise UsageError(usage.removeprefix("error: ")) from None
        raise e.plain() from None


def displayed(repo: Repo, rows: Iterable[Entry], mode: str) -> tuple[dict[str, Date], int]:
    """How git names and dates the commits of rows; and the columns it gives to dates in mode.

    One git process.  The time of what is not committed, and 1970 for a mode whose width only a
    date tells, are shown by commits in a scratch directory that goes at once.
    """
    times = porcelain.heads(rows)
    stamps = {
        oid: headers[b"author-time"] + b" " + headers[b"author-tz"]
        for oid, headers in times.items()
        if not oid.strip("0")
    }
    width = layout.date_width(mode)
    if width is None:
        stamps[""] = b"0 +0000"
    stored = [oid for oid in times if oid.strip("0")]
    known = _with_scratch(repo, stored, stamps, mode) if stamps else _log(repo.git, stored, mode)
    if width is None:
        width = layout.width(known.pop("")[1])
    return known, width


def _with_scratch(
    repo: Repo, stored: Sequence[str], stamps: Mapping[str, bytes], mode: str
) -> dict[str, Date]:
    import tempfile

    from gitcp.store.stream import shadow_refs

    with tempfile.TemporaryDirectory(prefix="gitcp-") as scratch:
        env = {
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(repo.common, "objects"),
        }
        oids = {}
        make = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
        for name, stamp in stamps.items():
            tree = b"0" * len(shadow_refs.zeros(repo))
            commit = b"tree %s\nauthor x <x> %s\ncommitter x <x> %s\n\n" % (tree, stamp, stamp)
            oids[name] = text(repo.git.run(*make, stdin=commit, env=env)[1].strip())
        known = _log(repo.git, [*stored, *oids.values()], mode, env)
    for name, oid in oids.items():
        abbreviated, date = known.pop(oid)
        known[name] = b"0" * len(abbreviated), date
    return known


def _log(
    git: Git, oids: Sequence[str], mode: str, env: Mapping[str, str] | None = None
) -> dict[str, Date]:
    args = ("log", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--stdin", "-z")
    form = (f"--date={mode}", "--format=%H%x01%h%x01%ad")
    _, out = git.run(*args, *form, stdin="\n".join(oids).encode() + b"\n", env=env)
    known = {}
    for item in out.split(b"\0"):
        oid, _, rest = item.partition(b"\x01")
        name, _, date = rest.partition(b"\x01")
        if oid:
            known[text(oid.strip())] = name, date
    return known


def padded(dates: Mapping[str, Date], width: int) -> dict[str, bytes]:
    """The date of each commit, as wide as git makes them."""
    return {oid: date + b" " * (width - layout.width(date)) for oid, (_, date) in dates.items()}


def asked(repo: Repo, options: Options, rows: Sequence[Entry]) -> bytes:
    """The path of the file asked for, from the top of the worktree."""
    here = os.path.relpath(os.path.realpath(os.getcwd()), os.path.realpath(repo.top or "."))
    names = [os.path.normpath(os.path.join(here, name)) for name in options["names"]]
    paths = {row["path"] for row in rows}
    # `<rev> <file>`, or `<file> <rev>` as git also takes it.
    likely = [n for n in reversed(names) if n in paths or os.path.lexists(_at(repo, n))]
    return raw((likely or names or [""])[0])


def _at(repo: Repo, path: str) -> str:
    return os.path.join(repo.top or ".", path)
