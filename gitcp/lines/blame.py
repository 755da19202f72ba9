"""What `gitcp blame` shows: git's own output, with sessions in place of the authors of lines."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import groupby

from gitcp.checkpoints.format import line_authors
from gitcp.git import decode_name, encode_name
from gitcp.lines import blame_dates, blame_options, blame_table, porcelain
from gitcp.lines.blame_dates import choose_date
from gitcp.lines.blame_table import BlameRun
from gitcp.lines.committed import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import NotRequired

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git import Config, Git
    from gitcp.git.repo import Repo
    from gitcp.lines.blame_dates import Dates
    from gitcp.lines.blame_options import Options
    from gitcp.lines.committed.evidence import Evidence
    from gitcp.lines.porcelain import BlameEntry, Groups, Name

    class BlamedLine(Author):
        """A record `line` (gitcp-record(5)).  time: in s since 1970, None: not known.  guess: with
        --coarse, the likely author of a line whose author is unknown."""

        type: str
        line: int
        commit: str
        original_line: int
        path: str
        author: str
        time: int | None
        content: str
        guess: NotRequired[Author]

    # Lines of the table: with count, the shown author (None: git's own), their content.
    Part = tuple[BlameEntry, Name | None, bytes]

_NO_MAIL = b"<?>"
_UNKNOWN = b"?", _NO_MAIL
# Options, and keys of the configuration, for text before the author that only git can compute.
_MARGIN_OPTIONS = frozenset(("score-debug", "color-lines", "color-by-age"))
_MARGIN_KEYS = ("blame.markunblamablelines", "blame.markignoredlines", "blame.coloring")


def format_lines(
    repo: Repo, options: Options, blamed: Groups, evidence: Evidence
) -> Iterator[bytes]:
    """Yield the lines of a format for programs.  blamed: as for format_table()."""
    form = blame_options.choose_format(options)
    if form == "line-porcelain":
        porcelain.complete_entries(blamed.entries)
    lines = _BlameLines(repo, options, evidence, blamed.entries)
    entries: Iterable[BlameEntry] = blamed.entries
    if form != "incremental":
        entries = blamed.list_lines()
    if form == "line-porcelain":
        # The others have one time for all uncommitted lines.
        entries = map(lines.date_entry, entries)
    elif form == "porcelain":
        entries = map(_leave_out_headers, entries)
    for row in porcelain.rewrite_entries(entries, lines.name_author):
        yield row + b"\n"
    yield blamed.rest


def _leave_out_headers(entry: BlameEntry) -> BlameEntry:
    """An entry without headers, if it is not the first line of its group."""
    if entry.count:
        return entry
    return entry.having([])


def build_records(
    repo: Repo, options: Options, blamed: Groups, evidence: Evidence
) -> Iterator[BlamedLine]:
    """Yield a record `line` for each line (gitcp-record(5)).  blamed: as for format_table()."""
    entries = porcelain.complete_entries(blamed.entries)
    lines = _BlameLines(repo, options, evidence, entries)
    for entry in blamed.list_lines():
        author = lines.find_author(entry)
        record: BlamedLine = {
            "type": "line",
            "line": entry.final,
            "commit": entry.oid,
            "original_line": entry.orig,
            "path": entry.path,
            **author,  # type: ignore[typeddict-item]
            "author": decode_name(dict(entry.headers).get(b"author", b"")),
            "time": lines.find_time(entry, author),
            "content": decode_name(entry.content or b""),
        }
        guess = lines.guess_author(entry, author)
        if guess:
            record["guess"] = guess
        yield record


class _BlameLines:
    """The authors of the lines that git blames."""

    def __init__(
        self, repo: Repo, options: Options, evidence: Evidence, entries: list[BlameEntry]
    ) -> None:
        self._evidence = evidence
        self._flags = options.flags
        self._compares = can_differ(repo, options)
        evidence.prefetch(entries, contents=self._compares)

    def find_author(self, entry: BlameEntry, offset: int = 0) -> Author:
        content = None
        if self._compares:
            content = entry.content
        number = entry.orig + offset
        return self._evidence.find_author(entry.oid, entry.path, number, content)

    def guess_author(self, entry: BlameEntry, author: Author) -> Author | None:
        """With --coarse the likely author of a line whose author is unknown."""
        if author["who"] != "unknown" or "coarse" not in self._flags:
            return None
        return self._evidence.guess_author(entry.oid, entry.path)

    def date_entry(self, entry: BlameEntry) -> BlameEntry:
        """The entry; that of an uncommitted line with the time of its edit, if that is known."""
        if entry.is_committed:
            return entry
        seconds = self.find_time(entry, self.find_author(entry))
        if not seconds:
            return entry
        headers = dict(entry.headers)
        headers[b"author-time"] = b"%d" % seconds
        headers[b"author-tz"] = time.strftime("%z", time.localtime(seconds)).encode()
        return entry.having([*headers.items()])

    def find_time(self, entry: BlameEntry, author: Author) -> int | None:
        """When a line was committed or written, in seconds since 1970; None: not known."""
        return self._evidence.find_time(entry, author)

    def name_author(self, entry: BlameEntry, offset: int = 0) -> Name | None:
        """The name and mail to show in place of the commit's author; None: git's own."""
        author = self.find_author(entry, offset)
        who = author["who"]
        if who == "session":
            label = line_authors.format_label(author)
            return encode_name(label), encode_name(line_authors.format_mail(author))
        guess = self.guess_author(entry, author)
        if guess:
            return encode_name(f"{line_authors.format_label(guess)}?"), _NO_MAIL
        if who == "unknown":
            return _UNKNOWN
        if who != "unrecorded" or "mark-unknown" not in self._flags:
            return None
        if author["agent"]:
            return encode_name(f"{author['agent']} (attested)"), _NO_MAIL
        return _UNKNOWN

    def divide_group(self, group: BlameEntry, content: bytes) -> Iterator[Part]:
        """Yield the parts of a group of lines that have one author and one time."""
        is_plain = group.is_committed and not self._compares
        if is_plain and not self._evidence.find_line_authors(group.oid, group.path):
            yield group, self.name_author(group), content
            return
        lines: list[Part] = []
        for line in porcelain.divide_group(group, content):
            entry = self.date_entry(line)
            lines.append((entry, self.name_author(entry), (line.content or b"") + b"\n"))
        for _, same in groupby(lines, lambda part: (part[1], choose_date(part[0]))):
            entries, names, texts = zip(*same, strict=True)
            yield replace(entries[0], count=len(entries)), names[0], b"".join(texts)


def can_differ(repo: Repo, options: Options) -> bool:
    """Whether a line that git blames on a commit may read otherwise there: by options, by a list
    of ignored commits, or because git blames the output of a text conversion."""
    config = repo.config
    configured = config.get("blame.ignorerevsfile") or config.list_keys("diff.", ".textconv")
    return bool(configured) or blame_options.can_find_moved_lines(options)


def format_table(
    repo: Repo, git: Git, options: Options, blamed: Groups, evidence: Evidence
) -> Iterator[bytes]:
    """Yield the lines of the table.  blamed: the result of start_groups() with these options."""
    groups = porcelain.complete_entries(blamed.entries)
    if not groups:
        yield blamed.rest
        return
    lines = _BlameLines(repo, options, evidence, groups)
    parts: list[Part] = []
    for group, content in zip(groups, blamed.contents, strict=True):
        parts += lines.divide_group(group, content)
    entries = [entry for entry, _, _ in parts]
    flags = _collect_flags(repo.config, options)
    mode = options.date or repo.config.get("blame.date") or "iso"
    dates = blame_dates.read_dates(repo, entries, mode)
    padded = dates.pad()
    rows = [_build_row(flags, part, padded) for part in parts]
    margins = None
    if _needs_margins(flags, repo.config):
        margins = history.read_margins(git, options, rows)
    abbrev = _choose_abbrev(options, dates, len(entries[0].oid))
    path = history.find_asked_path(repo, git, options, entries)
    yield from blame_table.format_table(rows, flags, abbrev, path, margins)
    yield blamed.rest


def _collect_flags(config: Config, options: Options) -> set[str]:
    """The flags of the options, and those that the configuration adds."""
    flags = set(options.flags)
    if config.get_flag("blame.showemail") and "no-e" not in flags:
        flags.add("e")
    if config.get_flag("blame.blankboundary"):
        flags.add("b")
    return flags


def _needs_margins(flags: set[str], config: Config) -> bool:
    return bool(flags & _MARGIN_OPTIONS) or any(config.get(key) for key in _MARGIN_KEYS)


def _build_row(flags: set[str], part: Part, padded: Mapping[str, bytes]) -> BlameRun:
    entry, author, content = part
    headers = dict(entry.headers)
    name, mail = author or (headers[b"author"], headers[b"author-mail"])
    if "e" in flags:
        name = mail
    if "t" in flags:
        date = blame_dates.format_raw_time(entry)
    else:
        date = padded[choose_date(entry)]
    return BlameRun(
        entry.oid,
        entry.orig,
        entry.final,
        entry.count,
        encode_name(entry.path),
        boundary=b"boundary" in headers,
        name=name,
        date=date,
        content=content,
    )


def _choose_abbrev(options: Options, dates: Dates, size: int) -> int:
    """The digits of a commit in the table.  size: of a whole id."""
    digits = options.abbrev
    if digits == 0:
        return size
    if digits is None:
        digits = max(len(label.name) for label in dates.labels.values())
    # One digit more than git's choice: a boundary commit spends one on its mark.
    return min(size, digits + 1)
