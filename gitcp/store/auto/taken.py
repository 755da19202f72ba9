"""What a commit of the session takes: its own unsettled work, as its last checkpoint has it.

The streams of its state say which paths are the session's; the journal says whose the lines in
them are.  A path with a line of somebody else's is left out.
"""

from __future__ import annotations

from gitcp.core.lines.replay import UNKNOWN
from gitcp.store.git.tree import TREE, Lookup
from gitcp.store.journal import journal
from gitcp.store.lines import edit_lines
from gitcp.store.stream.branches import Live

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypedDict

    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.record_types import Entry, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_changes import Changes

    class Work(TypedDict):
        """entries: path -> what it is to be in the commit (None: gone).  current: those of
        them that the turn which ends wrote.  mixed: where somebody else has a line."""

        entries: dict[str, Entry | None]
        current: set[str]
        mixed: set[str]


ABSENT = ("000000", None)


def work(
    repo: Repo,
    objects: Objects,
    state: State,
    head: str,
    tree: str | None,
    seen: Mapping[str, Entry | None],
) -> Work:
    """The session's work that lies in the worktree on the commit head, whose tree is given.

    seen: what its checkpoint of just now has: of work that fell back, and whose stream others
    have left behind since, that tells what there is.
    """
    live, before = Live(repo, objects, head), Lookup(objects, tree)
    changes: Changes = {}
    current: set[str] = set()
    for stream in state["streams"]:
        for path, file in stream["files"].items():
            is_live, entry = live.entry(stream["id"], stream["ref"], path)
            was, entry = before(path), entry if is_live else seen.get(path)
            if entry == was or not (is_live or entry):
                continue
            if entry and entry[0] == TREE:
                entry = None  # a directory stands where the file was
            changes[path] = (*(was or ABSENT), *(entry or ABSENT))
            if file["turn_id"] == state.get("turn_id"):
                current.add(path)
    credit = edit_lines.Edits(objects, journal.read(repo)).credit(changes)
    return {
        "entries": {p: (mode, oid) if oid else None for p, (_, _, mode, oid) in changes.items()},
        "current": current,
        "mixed": {path for path in credit if _is_shared(credit[path], state["session_id"])},
    }


def _is_shared(credit: PathCredit, session_id: str) -> bool:
    """Whether somebody else has a line among those that a path gains or loses.  What nobody is
    known to have written stands in the way of nothing."""
    authors = {*(who for _, who in credit["added"]), *credit["removed"]}
    return any(who[0] != session_id and who != UNKNOWN for who in authors)
