"""The output of `gitcp blame`: git's own, with sessions in place of the authors of lines."""

from __future__ import annotations

import os
import tempfile

from gitcp.core.blame import layout, porcelain
from gitcp.core.blame import options as arguments
from gitcp.core.lines import authors
from gitcp.errors import Error
from gitcp.record import decode_name, encode_name
from gitcp.store.lines import run
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitcp.core.blame.layout import Row
    from gitcp.core.blame.options import Options
    from gitcp.core.blame.porcelain import Entry
    from gitcp.core.lines.authors import Author
    from gitcp.core.record_types import Record
    from gitcp.git import Git
    from gitcp.repo import Config, Repo
    from gitcp.store.lines.evidence import Evidence
    from gitcp.store.lines.run import Blamed

    # (abbreviated name, date) of a commit.
    Date = tuple[bytes, bytes]

_UNKNOWN = b"?", b"<?>"
# What git alone can show before the author: the option, or the configuration that asks for it.
_HEADS = frozenset(("score-debug", "color-lines", "color-by-age"))
_MARKS = ("blame.markunblamablelines", "blame.markignoredlines", "blame.coloring")


def format_output(
    repo: Repo, git: Git, options: Options, blamed: Blamed, evidence: Evidence
) -> Iterator[bytes]:
    """What the person asked for, line by line: a format for programs or the table.

    blamed: what git says in that format (run.start_blame).
    """
    if not arguments.choose_format(options):
        yield from _format_table(repo, git, options, blamed, evidence)
        return
    entries, rest = blamed
    moved = _prepare_evidence(repo, options, evidence, entries)
    for line in porcelain.rewrite_entries(
        entries, lambda entry, n: _show_author(evidence, options, entry, n, moved)
    ):
        yield line + b"\n"
    yield rest


def build_records(
    repo: Repo, options: Options, blamed: Blamed, evidence: Evidence
) -> Iterator[Record]:
    """A record `line` for each line (gitcp-record(5))."""
    entries = porcelain.complete(blamed[0])
    moved = _prepare_evidence(repo, options, evidence, entries)
    for entry in entries:
        author = _find_author(evidence, entry, 0, moved)
        guess = _guess_author(evidence, options, entry, author)
        yield {
            "type": "line",
            "line": entry["final"],
            "commit": entry["oid"],
            "original_line": entry["orig"],
            "path": entry["path"],
            **author,
            "author": decode_name(dict(entry["headers"]).get(b"author", b"")),
            "content": decode_name(entry["content"] or b""),
            **({"guess": guess} if guess else {}),
        }


def build_untracked_records(repo: Repo, path: str, evidence: Evidence) -> list[Record]:
    """A record `line`, as build_records() has it, for each line of a file that git does not know.

    Raises Error where it cannot be read.
    """
    try:
        with open(os.path.join(repo.worktree, path), "rb") as file:
            lines = file.read().removesuffix(b"\n").split(b"\n")
    except OSError as e:
        raise Error(f"cannot read '{path}': {e.strerror}") from None
    zeros = "0" * len(repo.empty_tree)
    return [
        {
            "type": "line",
            "line": number,
            "commit": zeros,
            "original_line": number,
            "path": path,
            **evidence.find_author(zeros, path, number),
            "author": "",
            "content": decode_name(content),
        }
        for number, content in enumerate(lines if lines != [b""] else [], 1)
    ]


def _format_table(
    repo: Repo, git: Git, options: Options, blamed: Blamed, evidence: Evidence
) -> Iterator[bytes]:
    entries, rest = porcelain.complete(blamed[0]), blamed[1]
    if not entries:
        yield rest
        return
    moved = _prepare_evidence(repo, options, evidence, entries)
    config, flags = repo.config, set(options["flags"])
    flags |= {"e"} if config.get_flag("blame.showemail") and "no-e" not in flags else set()
    flags |= {"b"} if config.get_flag("blame.blankboundary") else set()
    mode = options["date"] or config.get("blame.date") or "iso"
    dated, width = display_commits(repo, entries, mode)
    dates = pad_dates(dated, width)
    heads = porcelain.map_headers(entries)
    rows = [
        _build_row(
            flags,
            entry,
            heads[entry["oid"]],
            dates,
            _show_author(evidence, options, entry, 0, moved),
        )
        for entry in entries
    ]
    edges = run.read_edges(git, options, entries) if _asks_git(flags, config) else None
    abbrev = _choose_abbrev(options, [name for name, _ in dated.values()], len(entries[0]["oid"]))
    path = run.find_asked_path(repo, git, options, entries)
    yield from layout.format_table(rows, flags, abbrev, path, edges)
    yield rest


def _asks_git(flags: set[str], config: Config) -> bool:
    return bool(flags & _HEADS) or any(config.get(key) for key in _MARKS)


def _prepare_evidence(
    repo: Repo, options: Options, evidence: Evidence, entries: list[Entry]
) -> bool:
    """Prepare the evidence; whether a line may have another text where it came from."""
    moved = may_read_otherwise(repo, options)
    evidence.prefetch(entries, contents=moved)
    return moved


def _build_row(
    flags: set[str],
    entry: Entry,
    headers: dict[bytes, bytes],
    dates: dict[str, bytes],
    pair: tuple[bytes, bytes] | None,
) -> Row:
    name, mail = pair or (headers[b"author"], headers[b"author-mail"])
    raw_time = headers[b"author-time"] + b" " + headers[b"author-tz"]
    return {
        "oid": entry["oid"],
        "orig": entry["orig"],
        "final": entry["final"],
        "path": encode_name(entry["path"]),
        "boundary": b"boundary" in headers,
        "name": mail if "e" in flags else name,
        "date": raw_time if "t" in flags else dates[entry["oid"]],
        "content": entry["content"] or b"",
    }


def _choose_abbrev(options: Options, oids: list[bytes], size: int) -> int:
    asked = options["abbrev"]
    if asked == 0:
        return size
    # One digit more than git's choice: a boundary commit spends one on its mark.
    return min(size, (max(map(len, oids)) if asked is None else asked) + 1)


def _show_author(
    evidence: Evidence, options: Options, entry: Entry, offset: int, moved: bool
) -> tuple[bytes, bytes] | None:
    author = _find_author(evidence, entry, offset, moved)
    if author["who"] == "session":
        return encode_name(authors.format_label(author)), encode_name(authors.format_mail(author))
    guess = _guess_author(evidence, options, entry, author)
    if guess is not None:
        return encode_name(f"{authors.format_label(guess)}?"), _UNKNOWN[1]
    if author["who"] == "unrecorded" and "mark-unknown" in options["flags"]:
        return (
            (encode_name(f"{author['agent']} (attested)"), b"<?>") if author["agent"] else _UNKNOWN
        )
    return _UNKNOWN if author["who"] == "unknown" else None


def _guess_author(
    evidence: Evidence, options: Options, entry: Entry, author: Author
) -> Author | None:
    if author["who"] != "unknown" or "coarse" not in options["flags"]:
        return None
    return evidence.guess_author(entry["oid"], entry["path"])


def _find_author(evidence: Evidence, entry: Entry, offset: int, moved: bool) -> Author:
    content = entry["content"] if moved else None
    return evidence.find_author(entry["oid"], entry["path"], entry["orig"] + offset, content)


def may_read_otherwise(repo: Repo, options: Options) -> bool:
    """Whether git may show a line whose commit has it otherwise: by options, by a list of
    commits to pass over, or because it blames what a text conversion makes of the file."""
    config = repo.config
    configured = config.get("blame.ignorerevsfile") or config.list_keys("diff.", ".textconv")
    return bool(configured) or arguments.can_find_moved_lines(options)


def display_commits(repo: Repo, rows: Iterable[Entry], mode: str) -> tuple[dict[str, Date], int]:
    """How git names and dates the commits of rows; and the columns it gives to dates in mode.

    One git process.  The time of what is not committed, and 1970 for a mode whose width only a
    date tells, are shown by commits in a scratch directory that goes at once.
    """
    times = porcelain.map_headers(rows)
    stamps = {
        oid: headers[b"author-time"] + b" " + headers[b"author-tz"]
        for oid, headers in times.items()
        if not oid.strip("0")
    }
    width = layout.get_date_width(mode)
    if width is None:
        stamps[""] = b"0 +0000"
    stored = [oid for oid in times if oid.strip("0")]
    known = (
        _read_dates_in_scratch(repo, stored, stamps, mode)
        if stamps
        else _read_log(repo.git, stored, mode)
    )
    if width is None:
        width = layout.count_columns(known.pop("")[1])
    return known, width


def _read_dates_in_scratch(
    repo: Repo, stored: Sequence[str], stamps: Mapping[str, bytes], mode: str
) -> dict[str, Date]:
    with tempfile.TemporaryDirectory(prefix="gitcp-") as scratch:
        env = {
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(repo.common, "objects"),
        }
        oids = {}
        make = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
        for name, stamp in stamps.items():
            tree = b"0" * len(shadow_refs.get_zeros(repo))
            commit = b"tree %s\nauthor x <x> %s\ncommitter x <x> %s\n\n" % (tree, stamp, stamp)
            oids[name] = decode_name(repo.git.run(*make, stdin=commit, env=env)[1].strip())
        known = _read_log(repo.git, [*stored, *oids.values()], mode, env)
    for name, oid in oids.items():
        abbreviated, date = known.pop(oid)
        known[name] = b"0" * len(abbreviated), date
    return known


def _read_log(
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
            known[decode_name(oid.strip())] = name, date
    return known


def pad_dates(dates: Mapping[str, Date], width: int) -> dict[str, bytes]:
    """The date of each commit, as wide as git makes them."""
    return {
        oid: date + b" " * (width - layout.count_columns(date)) for oid, (_, date) in dates.items()
    }
