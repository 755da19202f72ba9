"""The abbreviated names and the dates of commits, as git shows them."""

from __future__ import annotations

import os

from gitcp.core.blame import layout, porcelain
from gitcp.record import decode_name
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.core.blame.porcelain import Entry
    from gitcp.git import Git
    from gitcp.repo import Repo

    Label = tuple[bytes, bytes]  # abbreviated name, date


def read_dates(repo: Repo, entries: Iterable[Entry], mode: str) -> tuple[dict[str, Label], int]:
    """(commit -> its label, the columns of a date), for the commits of complete() entries.
    mode: a format of git's --date.

    Runs `git log` once.  git formats a date only as that of a commit, so the zero commit's date is
    that of a commit in a scratch directory; so is 1970, whose date gives the columns of a template.
    """
    headers = porcelain.map_headers(entries)
    times = {
        oid: headers[oid][b"author-time"] + b" " + headers[oid][b"author-tz"]
        for oid in headers
        if not oid.strip("0")
    }
    width = layout.get_date_width(mode)
    if width is None:
        times[""] = b"0 +0000"
    stored = [oid for oid in headers if oid.strip("0")]
    if times:
        labels = _read_with_scratch(repo, stored, times, mode)
    else:
        labels = _read_log(repo.git, stored, mode)
    if width is None:
        width = layout.count_columns(labels.pop("")[1])
    return labels, width


def pad_dates(labels: Mapping[str, Label], width: int) -> dict[str, bytes]:
    """The date of each commit, padded to width columns."""
    return {
        oid: date + b" " * (width - layout.count_columns(date)) for oid, (_, date) in labels.items()
    }


def _read_with_scratch(
    repo: Repo, stored: Sequence[str], times: Mapping[str, bytes], mode: str
) -> dict[str, Label]:
    """_read_log() of stored commits, and of a scratch commit for each key of times."""
    with stdlib.tempfile.TemporaryDirectory(prefix="gitcp-") as scratch:
        env = {
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.path.join(repo.common, "objects"),
        }
        tree = b"0" * len(repo.empty_tree)
        command = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
        oids = {}
        for key, time in times.items():
            commit = b"tree %s\nauthor x <x> %s\ncommitter x <x> %s\n\n" % (tree, time, time)
            oids[key] = decode_name(repo.git.run(*command, stdin=commit, env=env)[1].strip())
        labels = _read_log(repo.git, [*stored, *oids.values()], mode, env)
    for key, oid in oids.items():
        name, date = labels.pop(oid)
        labels[key] = b"0" * len(name), date
    return labels


def _read_log(
    git: Git, oids: Sequence[str], mode: str, env: Mapping[str, str] | None = None
) -> dict[str, Label]:
    args = ("log", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--stdin", "-z")
    form = (f"--date={mode}", "--format=%H%x01%h%x01%ad")
    _, out = git.run(*args, *form, stdin="\n".join(oids).encode() + b"\n", env=env)
    rows = (row.split(b"\x01", 2) for row in out.split(b"\0") if row.strip())
    return {decode_name(oid.strip()): (name, date) for oid, name, date in rows}
