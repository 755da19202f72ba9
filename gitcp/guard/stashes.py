"""The verdict on a command that takes an entry of the stash."""

from __future__ import annotations

import os

from gitcp.agents.transcripts.shell_words import find_taken_entries
from gitcp.git import refs
from gitcp.git.objects import read_commit
from gitcp.guard import guard_rules
from gitcp.record import session
from gitcp.record.journal.stashes import MADE, TAKEN, list_paths, locate_entries, read_writers
from gitcp.record.session import others, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gitcp.git.repo import Repo
    from gitcp.guard.guard_rules import Base, GuardVerdict


def judge_call(repo: Repo, session_id: str, command: str, base: Base) -> list[GuardVerdict]:
    """A verdict for each entry of another live session, or of the person, that a command would take
    off the list."""
    entries = refs.list_stashes(repo)
    taken = find_taken_entries(command, entries)
    if taken:
        return _judge(repo, session_id, taken, entries, base)
    return []


def judge_taken(repo: Repo, session_id: str, call_id: str, base: Base) -> list[GuardVerdict]:
    """judge_call() for the entries that a call has already taken off the list."""
    path = locate_entries(repo)
    if not os.path.exists(path):
        return []
    by_call = [
        oid
        for oid, (owner, _, call) in read_writers(repo, TAKEN).items()
        if (owner, call) == (session_id, call_id)
    ]
    return _judge(repo, session_id, by_call, refs.list_stashes(repo), base, call_id)


def _judge(
    repo: Repo,
    session_id: str,
    taken: Collection[str],
    entries: Sequence[str],
    base: Base,
    call_id: str = "",
) -> list[GuardVerdict]:
    """A verdict for each of the taken entries that is the person's or another live session's."""
    made = read_writers(repo, MADE)
    own_entries = [oid for oid in entries if made.get(oid, ("",))[0] == session_id]
    verdicts = []
    for oid in taken:
        owner = made[oid][0] if oid in made else ""
        if owner != session_id and (not owner or _is_live(repo, owner)):
            name = _name_entry(repo, oid, entries)
            paths = list_paths(repo, oid)
            verdicts.append(guard_rules.judge_stash(base, owner, name, own_entries, paths, call_id))
    return verdicts


def _is_live(repo: Repo, session_id: str) -> bool:
    marker = session.find_marker(repo, session_id)
    if marker is None or marker["phase"] == "ended":
        return False
    return process.is_agent_working(marker["agent_process"], others.read_last_heard(repo, marker))


def _name_entry(repo: Repo, oid: str, entries: Sequence[str]) -> str:
    """An entry for people, such as `1a2b3c4d5e6f stash@{0}: On main: message`."""
    commit = read_commit(repo.objects, oid)
    place = ""
    if oid in entries:
        place = f"stash@{{{entries.index(oid)}}}: "
    message = ""
    if commit:
        message = commit["message"].partition("\n")[0]
    return f"{oid[:12]} {place}{message}".rstrip()
