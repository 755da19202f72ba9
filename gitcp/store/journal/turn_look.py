"""Records the looks at the worktree that the start and the end of a turn make."""

from __future__ import annotations

import time

from gitcp.core.credit import entries
from gitcp.start import late
from gitcp.store.journal import calls, look
from gitcp.store.journal.journal import Journal, read_clock, read_end
from gitcp.store.session import markers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gitcp.core.record_types import JournalLine, State, Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


class Look:
    """A look at the whole worktree.

    scan: what it saw.  began, at: the time before, in ns and by the worktree's clock.
    """

    def __init__(self, repo: Repo) -> None:
        self._repo, self.began = repo, time.time_ns()
        self._begun, self.at = read_end(repo), read_clock(repo)
        self._cost = -look.measure_children()
        self.scan = late.snapshot.scan_worktree(repo)
        self._cost += look.measure_children()

    def take(
        self,
        objects: Objects,
        head: str,
        dirty: Mapping[str, Version],
        acting: State | None = None,
        telling: str = "",
    ) -> list[JournalLine]:
        """Record what differed from the commit head; return the journal's lines.

        The worktree is read without the lock, so an edit that was recorded meanwhile wins.
        acting: the session whose turn it is, even if its marker says that it is over.
        telling: the session whose client reports the end of a call or turn.
        """
        with Journal(self._repo) as journal:
            journal.telling = telling
            if acting:
                journal.acting = {**markers.build_marker(acting), "phase": "active"}
            edits = journal.list_edits_since(self._begun, self.at)
            newest = {line["path"]: entries.parse_entry(line["after"]) for line in edits}
            look.record_scan(objects, journal, head, {**dirty, **newest}, self.at, self._cost)
            return journal.lines


def begin_turn(repo: Repo, state: State, at: int) -> None:
    """Close the calls of the last turn that no event closed."""
    with Journal(repo) as journal:
        calls.close_calls(journal, state, at)
        _note_late(journal, state)


def end_turn(
    repo: Repo,
    objects: Objects,
    state: State,
    at: int,
    tasks: Collection[str],
    subject: str,
) -> None:
    """Close a turn's calls, except the tasks that its client reports as running, and let the
    session's ref hold the turn's contents."""
    with Journal(repo) as journal:
        calls.close_calls(journal, state, at, set(tasks))
        _note_late(journal, state)
        late.edits_ref.hold_edits(repo, objects, journal, state["session_id"], subject)
        journal.drop_repeated()


def _note_late(journal: Journal, state: State) -> None:
    """Note in the state whether a call runs on past its turn: commits look for its edits."""
    state.pop("late_calls", None)
    session_id = state["session_id"]
    if any(c["late"] and c["session"] == session_id for c in entries.list_calls(journal.lines)):
        state["late_calls"] = True
