"""Who wrote the lines that are not committed yet: the journal's edits, replayed to the file."""

from __future__ import annotations

import os

from gitcp.core.blame import authors
from gitcp.core.credit import entries, evidence, replay
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.record import raw
from gitcp.store.journal import commit_credit, journal
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.blame.authors import Author
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.commit_credit import Committed

_HERE = "worktree"  # stands for the oid of what lies in the worktree


def lines(repo: Repo, objects: Objects, path: str, committed: Committed) -> dict[int, Author]:
    """The authors of the lines of path as it lies in the worktree, by 1-based line.

    committed: as commit_credit.credits() has it.
    A path that the journal does not know has none: what nothing explains is the person's.
    """
    try:
        chain = entries.chain(entries.edits(journal.read(repo)), path)
        with open(os.path.join(raw(repo.top or ""), raw(path)), "rb") as file:
            data = file.read()
    except (Error, OSError):
        return {}
    contents = commit_credit.Contents(objects)
    base = objects.read(f"HEAD:{path}")
    parent = contents.version("100644", base[0] if base else None)
    if not chain or parent is None or replay.whole(data):
        return {}
    replayed = commit_credit.replayed(contents, parent, chain, committed)
    if replayed is None:
        return {}
    now = replay.Version(_HERE, replay.split(_HERE, data))
    replayed.step(now, replay.PERSON, commit_credit.regains(evidence.BETWEEN))
    numbers = enumerate(replayed.numbers, 1)
    return {n: _author(repo, replayed.author(number)) for n, number in numbers}


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
