"""The periods in which persons recorded their work: in <common>/gitcp/recording those of this
clone, in a note on the empty tree, which is pushed with the checkpoints, those of all."""

from __future__ import annotations

import os
import re

from gitcp import jj
from gitcp.core.git.ids import CHECKPOINTS
from gitcp.core.lines import recording
from gitcp.core.lines.recording import BEGUN, ENDED
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.git import notes, private
from gitcp.store.git.commit import parse_ident, read_ident
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.lines.recording import Periods
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

UNSHARED = "recording-unshared"  # the marker that the note lacks a line
_DATE = re.compile(r"@?(\d+)(?: [-+]\d{4})?")


def begin_recording(repo: Repo) -> None:
    """Note that work is recorded from now on, or still.

    In a clone without a note whose person has written checkpoints, the recording began with the
    first of them.
    """
    mail, seconds = _read_author(repo)
    event = _read_newest(repo)
    if event and event[1] == BEGUN and event[3] == mail:
        private.touch_private(repo, repo.join_shared("recording"))
        return
    if event is None:
        seconds = min([seconds, *(start for start, _ in _list_writers(repo).get(mail, ()))])
    clone = event[0] if event else os.urandom(6).hex()
    ended = [(clone, ENDED, seconds, event[3])] if event and event[1] == BEGUN else []
    _append(repo, [*ended, (clone, BEGUN, seconds, mail)])


def end_recording(repo: Repo, noticed: bool = False) -> None:
    """Note that recording has ended now; noticed: at the time of the last begin_recording()."""
    event = _read_newest(repo)
    if event and event[1] == BEGUN:
        seconds = _read_author(repo)[1]
        if noticed:
            seconds = min(seconds, int(os.stat(repo.join_shared("recording")).st_mtime))
        _append(repo, [(event[0], ENDED, max(seconds, event[2]), event[3])])


def share_recording(repo: Repo, objects: Objects) -> None:
    """Add this clone's lines to the note, if there are checkpoints with which it is pushed."""
    if not committed_refs.list_sources(repo):
        return
    own = set(_read(repo).splitlines())

    def edit(note: bytes | None) -> bytes:
        lines = sorted(own.union(decode_name(note or b"").splitlines()))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")

    notes.edit_note(repo, objects, repo.empty_tree, edit)
    private.remove_private(repo, repo.join_shared(UNSHARED))


def read_periods(repo: Repo, reader: notes.Reader) -> Periods:
    """The periods of recording by mail address, as far as this clone knows; without any note,
    everybody who wrote a checkpoint records since his first one."""
    try:
        shared = reader.read_note(repo.empty_tree) or b""
    except Error:
        shared = b""
    periods = recording.build_periods(recording.parse_lines(_read(repo) + decode_name(shared)))
    return periods or _list_writers(repo)


def _list_writers(repo: Repo) -> dict[str, list[tuple[int, int | None]]]:
    """mail -> [(time of the first checkpoint, None)] of those who wrote checkpoints."""
    starts: dict[str, int] = {}
    for ref in committed_refs.list_sources(repo)[:1]:
        start = f"--glob={ref}/*" if ref == CHECKPOINTS else ref
        for row in repo.git.read_records("log", "--format=%at %ae", start, sep=b"\n"):
            seconds, _, mail = decode_name(row).partition(" ")
            starts[mail] = min(int(seconds), starts.get(mail, int(seconds)))
    return {mail: [(seconds, None)] for mail, seconds in starts.items()}


def _read_author(repo: Repo) -> tuple[str, int]:
    """The mail address and the time that git, or jj, would give a commit made now."""
    name, seconds = parse_ident(read_ident(repo, "AUTHOR"))
    date = _DATE.fullmatch(repo.git.env.get("GIT_AUTHOR_DATE", ""))
    mail = name.rpartition("<")[2].rstrip(">")
    if repo.jj:
        try:
            mail = jj.read_user_mail(repo.worktree) or mail
        except Error:
            pass  # jj is missing
    return mail, int(date[1]) if date else seconds


def _read(repo: Repo) -> str:
    return decode_name(private.read_cache(repo.join_shared("recording")))


def _read_newest(repo: Repo) -> tuple[str, str, int, str] | None:
    """(clone, BEGUN or ENDED, time in seconds, mail) of the newest event."""
    events = recording.parse_lines(_read(repo))
    return events[-1] if events else None


def _append(repo: Repo, events: list[tuple[str, str, int, str]]) -> None:
    path = repo.join_shared("recording")
    data = _read(repo) + "".join(recording.format_line(*event) for event in events)
    private.write_private(repo, path, data.encode("utf-8", "surrogateescape"))
    private.write_private(repo, repo.join_shared(UNSHARED), b"")
