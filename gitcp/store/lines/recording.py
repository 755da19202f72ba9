"""Since when this clone records its person's work: in <common>/gitcp/recording, and in a note on
the empty tree, which goes where the checkpoints go."""

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
    """Note that work is recorded from now on; that it still is where it was.

    A clone that says nothing yet, and whose person has written checkpoints, did so before this
    was noted: since the first of them.
    """
    mail, seconds = _read_author(repo)
    last = _read_last(repo)
    if last and last[1] == BEGUN and last[3] == mail:
        private.touch_private(repo, repo.join_shared("recording"))
        return
    if last is None:
        seconds = min([seconds, *(first for first, _ in _list_writers(repo).get(mail, ()))])
    clone = last[0] if last else os.urandom(6).hex()
    ended = [(clone, ENDED, seconds, last[3])] if last and last[1] == BEGUN else []
    _append(repo, [*ended, (clone, BEGUN, seconds, mail)])


def end_recording(repo: Repo, noticed: bool = False) -> None:
    """Note that work is recorded no more; noticed: since it was last known that it is."""
    last = _read_last(repo)
    if last and last[1] == BEGUN:
        seconds = _read_author(repo)[1]
        if noticed:
            seconds = min(seconds, int(os.stat(repo.join_shared("recording")).st_mtime))
        _append(repo, [(last[0], ENDED, max(seconds, last[2]), last[3])])


def share_recording(repo: Repo, objects: Objects) -> None:
    """Let the note have this clone's lines, where there are checkpoints that it can go with."""
    if not committed_refs.list_sources(repo):
        return
    known = dict.fromkeys(_read(repo).splitlines())

    def edit(note: bytes | None) -> bytes:
        every = sorted({*known, *decode_name(note or b"").splitlines()})
        return "".join(f"{line}\n" for line in every).encode("utf-8", "surrogateescape")

    notes.edit_note(repo, objects, repo.empty_tree, edit)
    private.remove_private(repo, repo.join_shared(UNSHARED))


def read_periods(repo: Repo, reader: notes.Reader) -> Periods:
    """When work was recorded, by mail, as far as this clone was told; where nobody said so, each
    who wrote a checkpoint records since the first one."""
    try:
        shared = reader.read_note(repo.empty_tree) or b""
    except Error:
        shared = b""
    known = recording.build_periods(recording.parse_lines(_read(repo) + decode_name(shared)))
    return known or _list_writers(repo)


def _list_writers(repo: Repo) -> dict[str, list[tuple[int, int | None]]]:
    known: dict[str, int] = {}
    for ref in committed_refs.list_sources(repo)[:1]:
        start = f"--glob={ref}/*" if ref == CHECKPOINTS else ref
        for row in repo.git.read_records("log", "--format=%at %ae", start, sep=b"\n"):
            seconds, _, mail = decode_name(row).partition(" ")
            known[mail] = min(int(seconds), known.get(mail, int(seconds)))
    return {mail: [(seconds, None)] for mail, seconds in known.items()}


def _read_author(repo: Repo) -> tuple[str, int]:
    """The mail and the time that git, or jj where it works here, would give a commit made now."""
    name, seconds = parse_ident(read_ident(repo, "AUTHOR"))
    date = _DATE.fullmatch(repo.git.env.get("GIT_AUTHOR_DATE", ""))
    mail = name.rpartition("<")[2].rstrip(">")
    if repo.jj:
        try:
            mail = jj.read_user_mail(repo.worktree) or mail
        except Error:
            pass  # no jj to ask
    return mail, int(date[1]) if date else seconds


def _read(repo: Repo) -> str:
    return decode_name(private.read_cache(repo.join_shared("recording")))


def _read_last(repo: Repo) -> tuple[str, str, int, str] | None:
    events = recording.parse_lines(_read(repo))
    return events[-1] if events else None


def _append(repo: Repo, events: list[tuple[str, str, int, str]]) -> None:
    path = repo.join_shared("recording")
    data = _read(repo) + "".join(recording.format_line(*event) for event in events)
    private.write_private(repo, path, data.encode("utf-8", "surrogateescape"))
    private.write_private(repo, repo.join_shared(UNSHARED), b"")
