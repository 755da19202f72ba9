"""Who wrote the lines that are not committed yet: the journal's edits, replayed to the file."""

from __future__ import annotations

import os

from gitcp.core.blame import authors
from gitcp.core.credit import entries, evidence, replay
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.record import raw
from gitcp.store.journal import commit_credit, journal
from gitcp.store.journal.known import look
from gitcp.store.journal.restored import Elsewhere
from gitcp.store.session import state as states
from gitcp.store.snapshot import blobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.blame.authors import Author
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.commit_credit import Committed


def lines(repo: Repo, objects: Objects, path: str, committed: Committed) -> dict[int, Author]:
    """The authors of the lines of path as it lies in the worktree, by 1-based line.

    committed: as commit_credit.credits() has it.
    What came since the last look and nothing explains is the person's, unless the repository has
    had just that content there.
    """
    try:
        known = journal.read(repo)
        now_there = blobs.at(repo, objects, [path], write=False)[path]
        with open(os.path.join(raw(repo.top or ""), raw(path)), "rb") as file:
            data = file.read()
    except (Error, OSError, KeyError):
        return {}
    chain = entries.chain(entries.edits(known), path)
    contents = commit_credit.Contents(objects)
    base = objects.read(f"HEAD:{path}")
    parent = contents.version("100644", base[0] if base else None)
    if not now_there or parent is None or replay.whole(data):
        return {}
    if chain:
        taken = entries.settled(known)
        replayed = commit_credit.replayed(contents, parent, chain, taken, committed)
    else:
        replayed = replay.Replay(parent)
    now = replay.Version(now_there[1], replay.split(now_there[1], data))
    if entries.had(known, path, now_there) or _elsewhere(repo, objects).has(path, now_there):
        known_before = {} if replayed.knows(now) else committed(path, now.oid)
        replayed.step(now, replay.UNKNOWN, replay.every, known_before)
    else:
        replayed.step(now, replay.PERSON, commit_credit.regains(evidence.BETWEEN))
    numbers = enumerate(replayed.numbers, 1)
    return {n: _author(repo, replayed.author(number)) for n, number in numbers}


def _elsewhere(repo: Repo, objects: Objects) -> Elsewhere:
    return Elsewhere(repo, objects, look(repo).get("head") or "HEAD")


def _author(repo: Repo, who: tuple[str, str, str]) -> Author:
    session_id, turn_id, tool = who
    if not session_id:
        return authors.nobody(turn_id)
    try:
        state = states.load(repo, ids.session_id(session_id)) or {}
    except Error:
        state = {}
    metadata = {"agent": state.get("agent_type") or "", "turns": state.get("turns")}
    record: authors.Record = {
        "checkpoint_id": "",
        "session_id": session_id,
        "metadata": metadata,
        "lines": None,
        "time": "",
    }
    return authors.turn(record, turn_id, tool or None)
