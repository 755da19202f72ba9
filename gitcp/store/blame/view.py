"""The output of `gitcp blame`: git's own, with sessions in place of the authors of lines."""

from __future__ import annotations

from gitcp.core.blame import layout, porcelain
from gitcp.core.blame import options as arguments
from gitcp.core.lines import authors
from gitcp.record import decode_name, encode_name
from gitcp.store.blame import dates
from gitcp.store.lines import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gitcp.core.blame.layout import Row
    from gitcp.core.blame.options import Options
    from gitcp.core.blame.porcelain import Entry
    from gitcp.core.lines.authors import Author
    from gitcp.core.record_types import Record
    from gitcp.git import Git
    from gitcp.repo import Config, Repo
    from gitcp.store.blame.dates import Label
    from gitcp.store.lines.evidence import Evidence
    from gitcp.store.lines.run import Blamed

_UNKNOWN = b"?", b"<?>"
# Options, and keys of the configuration, for text before the author that only git can compute.
_MARGIN_OPTIONS = frozenset(("score-debug", "color-lines", "color-by-age"))
_MARGIN_KEYS = ("blame.markunblamablelines", "blame.markignoredlines", "blame.coloring")


def format_output(
    repo: Repo, git: Git, options: Options, blamed: Blamed, evidence: Evidence
) -> Iterator[bytes]:
    """Yield the lines in the requested format: one for programs, or the table.

    blamed: the result of run.start_blame() with these options.
    """
    if not arguments.choose_format(options):
        yield from _format_table(repo, git, options, blamed, evidence)
        return
    entries, rest = blamed
    lines = _Lines(repo, options, evidence, entries)
    for row in porcelain.rewrite_entries(entries, lines.name_author):
        yield row + b"\n"
    yield rest


def build_records(
    repo: Repo, options: Options, blamed: Blamed, evidence: Evidence
) -> Iterator[Record]:
    """Yield a record `line` for each line (gitcp-record(5))."""
    entries = porcelain.complete(blamed[0])
    lines = _Lines(repo, options, evidence, entries)
    for entry in entries:
        author = lines.find_author(entry)
        guess = lines.guess_author(entry, author)
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


class _Lines:
    """The authors of the lines that git blames."""

    def __init__(
        self, repo: Repo, options: Options, evidence: Evidence, entries: list[Entry]
    ) -> None:
        self._evidence, self._flags = evidence, options["flags"]
        self._compares = can_differ(repo, options)
        evidence.prefetch(entries, contents=self._compares)

    def find_author(self, entry: Entry, offset: int = 0) -> Author:
        content = entry["content"] if self._compares else None
        number = entry["orig"] + offset
        return self._evidence.find_author(entry["oid"], entry["path"], number, content)

    def guess_author(self, entry: Entry, author: Author) -> Author | None:
        """With --coarse the likely author of a line whose author is unknown."""
        if author["who"] != "unknown" or "coarse" not in self._flags:
            return None
        return self._evidence.guess_author(entry["oid"], entry["path"])

    def name_author(self, entry: Entry, offset: int = 0) -> tuple[bytes, bytes] | None:
        """The name and mail to show in place of the commit's author; None: git's own."""
        author = self.find_author(entry, offset)
        if author["who"] == "session":
            return encode_name(authors.format_label(author)), encode_name(
                authors.format_mail(author)
            )
        if guess := self.guess_author(entry, author):
            return encode_name(f"{authors.format_label(guess)}?"), _UNKNOWN[1]
        if author["who"] == "unrecorded" and "mark-unknown" in self._flags:
            agent = author["agent"]
            return (encode_name(f"{agent} (attested)"), b"<?>") if agent else _UNKNOWN
        return _UNKNOWN if author["who"] == "unknown" else None


def can_differ(repo: Repo, options: Options) -> bool:
    """Whether a line that git blames on a commit may read otherwise there: by options, by a list
    of ignored commits, or because git blames the output of a text conversion."""
    config = repo.config
    configured = config.get("blame.ignorerevsfile") or config.list_keys("diff.", ".textconv")
    return bool(configured) or arguments.can_find_moved_lines(options)


def _format_table(
    repo: Repo, git: Git, options: Options, blamed: Blamed, evidence: Evidence
) -> Iterator[bytes]:
    entries, rest = porcelain.complete(blamed[0]), blamed[1]
    if not entries:
        yield rest
        return
    lines = _Lines(repo, options, evidence, entries)
    config, flags = repo.config, set(options["flags"])
    flags |= {"e"} if config.get_flag("blame.showemail") and "no-e" not in flags else set()
    flags |= {"b"} if config.get_flag("blame.blankboundary") else set()
    labels, width = dates.read_dates(
        repo, entries, options["date"] or config.get("blame.date") or "iso"
    )
    padded, headers = dates.pad_dates(labels, width), porcelain.map_headers(entries)
    rows = [
        _build_row(flags, entry, headers[entry["oid"]], padded, lines.name_author(entry))
        for entry in entries
    ]
    margins = run.read_margins(git, options, entries) if _needs_margins(flags, config) else None
    abbrev = _choose_abbrev(options, labels)
    path = run.find_asked_path(repo, git, options, entries)
    yield from layout.format_table(rows, flags, abbrev, path, margins)
    yield rest


def _needs_margins(flags: set[str], config: Config) -> bool:
    return bool(flags & _MARGIN_OPTIONS) or any(config.get(key) for key in _MARGIN_KEYS)


def _build_row(
    flags: set[str],
    entry: Entry,
    headers: dict[bytes, bytes],
    padded: dict[str, bytes],
    author: tuple[bytes, bytes] | None,
) -> Row:
    name, mail = author or (headers[b"author"], headers[b"author-mail"])
    raw_time = headers[b"author-time"] + b" " + headers[b"author-tz"]
    return {
        "oid": entry["oid"],
        "orig": entry["orig"],
        "final": entry["final"],
        "path": encode_name(entry["path"]),
        "boundary": b"boundary" in headers,
        "name": mail if "e" in flags else name,
        "date": raw_time if "t" in flags else padded[entry["oid"]],
        "content": entry["content"] or b"",
    }


def _choose_abbrev(options: Options, labels: Mapping[str, Label]) -> int:
    """The digits of a commit in the table."""
    abbrev, size = options["abbrev"], len(next(iter(labels)))
    if abbrev == 0:
        return size
    # One digit more than git's choice: a boundary commit spends one on its mark.
    longest = max(len(name) for name, _ in labels.values())
    return min(size, (longest if abbrev is None else abbrev) + 1)
