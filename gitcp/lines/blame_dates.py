"""The dates of blamed lines, as git shows them."""

from __future__ import annotations

import tempfile
import time

from gitcp.git import decode_name
from gitcp.git.gitdir import plain
from gitcp.lines import blame_table
from gitcp.text import value_class
from gitcp.text.spans import count_gits_digits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.git import Git
    from gitcp.git.repo import Repo
    from gitcp.lines.porcelain import BlameEntry

_USUAL = "iso"
_USUAL_WIDTH = len("2005-04-07 22:13:13 +0200")


@value_class
class Label:
    """How git shows a commit.  name: abbreviated."""

    name: bytes
    date: bytes


@value_class
class Dates:
    """labels: by choose_date() of an entry.  width: the columns of a date."""

    labels: dict[str, Label]
    width: int

    def pad(self) -> dict[str, bytes]:
        """The date of each name, padded to its column."""
        padded = {}
        for name, label in self.labels.items():
            room = self.width - blame_table.count_columns(label.date)
            padded[name] = label.date + b" " * room
        return padded


def read_dates(repo: Repo, entries: Sequence[BlameEntry], mode: str) -> Dates:
    """The dates of complete entries.  mode: a format of git's --date.

    Runs `git log` once, but for git's usual form.  git formats a date only as that of a commit, so
    the date of an uncommitted line is that of a commit in a scratch directory; so is 1970, whose
    date gives the columns of a template.
    """
    if mode == _USUAL:
        try:
            return _format_usual(entries)
        except (ValueError, OverflowError, OSError):
            pass  # a commit has a time that only git takes for one
    stored: dict[str, None] = {}
    times: dict[str, bytes] = {}
    for entry in entries:
        if entry.is_committed:
            stored[entry.oid] = None
        else:
            times[choose_date(entry)] = format_raw_time(entry)
    width = blame_table.get_date_width(mode)
    if width is None:
        times[""] = b"0 +0000"
    if times:
        labels = _read_with_scratch(repo, [*stored], times, mode)
    else:
        labels = _read_log(repo.git, [*stored], mode)
    if width is None:
        width = blame_table.count_columns(labels.pop("").date)
    return Dates(labels, width)


def _format_usual(entries: Iterable[BlameEntry]) -> Dates:
    """read_dates() in git's usual form."""
    labels: dict[str, Label] = {}
    for entry in entries:
        seconds, _, zone = format_raw_time(entry).partition(b" ")
        minutes = int(zone[-2:]) + 60 * int(zone[-4:-2])
        if zone.startswith(b"-"):
            minutes = -minutes
        moment = time.gmtime(int(seconds) + 60 * minutes)
        date = time.strftime("%Y-%m-%d %H:%M:%S ", moment).encode() + zone
        short = entry.oid[: count_gits_digits()]
        labels[choose_date(entry)] = Label(short.encode(), date)
    return Dates(labels, _USUAL_WIDTH)


def choose_date(entry: BlameEntry) -> str:
    """The name of an entry's date: its commit; for an uncommitted line its time."""
    if entry.is_committed:
        return entry.oid
    return decode_name(format_raw_time(entry))


def format_raw_time(entry: BlameEntry) -> bytes:
    """The author's time of an entry, as in a commit: seconds since 1970 and a time zone."""
    headers = dict(entry.headers)
    return headers[b"author-time"] + b" " + headers[b"author-tz"]


def _read_with_scratch(
    repo: Repo, stored: Sequence[str], times: Mapping[str, bytes], mode: str
) -> dict[str, Label]:
    """_read_log() of stored commits, and of a scratch commit for each key of times."""
    with tempfile.TemporaryDirectory(prefix="gitcp-") as scratch:
        env = plain.build_quarantine(repo, scratch)
        tree = b"0" * len(repo.empty_tree)
        command = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
        oids = {}
        for key, raw in times.items():
            commit = b"tree %s\nauthor x <x> %s\ncommitter x <x> %s\n\n" % (tree, raw, raw)
            oids[key] = decode_name(repo.git.run(*command, stdin=commit, env=env)[1].strip())
        labels = _read_log(repo.git, [*stored, *oids.values()], mode, env)
    for key, oid in oids.items():
        label = labels.pop(oid)
        labels[key] = Label(b"0" * len(label.name), label.date)
    return labels


def _read_log(
    git: Git, oids: Sequence[str], mode: str, env: Mapping[str, str] | None = None
) -> dict[str, Label]:
    args = ("log", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--stdin", "-z")
    form = (f"--date={mode}", "--format=%H%x01%h%x01%ad")
    _, out = git.run(*args, *form, stdin="\n".join(oids).encode() + b"\n", env=env)
    labels = {}
    for row in out.split(b"\0"):
        if row.strip():
            oid, name, date = row.split(b"\x01", 2)
            labels[decode_name(oid.strip())] = Label(name, date)
    return labels
