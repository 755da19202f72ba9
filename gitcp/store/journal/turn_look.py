"""The looks that a turn's start and its end make anyway, taken into the journal."""

from __future__ import annotations

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
    """A look at the whole worktree: it begins where it is made."""

    def __init__(self, repo: Repo) -> None:
        self._repo, self._begun, self.at = repo, read_end(repo), read_clock(repo)
        self._cost = -look.measure_children()

    def end_scan(self) -> None:
        """The worktree has been read: what follows is not the look's cost."""
        self._cost += look.measure_children()

    def take(
        self,
        objects: Objects,
        head: str,
        dirty: Mapping[str, Version],
        acting: State | None = None,
        telling: str = "",
    ) -> list[JournalLine]:
        """Take in what differed from the commit head; return the journal's lines.

        Nobody waits while a worktree is read: of a path that the journal was told of meanwhile,
        that is what is known.
        acting: the session whose turn it is, though its marker may say that it is over.
        telling: the one whose client tells just now that something of it has ended.
        """
        with Journal(self._repo) as journal:
            journal.telling = telling
            if acting:
                journal.acting = {**markers.build_marker(acting), "phase": "active"}
            newer = journal.list_edits_since(self._begun, self.at)
            meanwhile = {line["path"]: entries.parse_entry(line["after"]) for line in newer}
            look.take_scan(objects, journal, head, {**dirty, **meanwhile}, self.at, self._cost)
            return journal.lines


def begin_turn(repo: Repo, state: State, at: int) -> None:
    """A turn begins: calls of the last one that no event closed are over."""
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
    """A turn is over: its calls are closed, but for the tasks that its client says go on; the
    session's ref holds the contents of the turn."""
    with Journal(repo) as journal:
        calls.close_calls(journal, state, at, set(tasks))
        _note_late(journal, state)
        late.edits_ref.hold_edits(repo, objects, journal, state["session_id"], subject)


def _note_late(journal: Journal, state: State) -> None:
    """Remember in the state whether a call goes on past its turn: a commit has to ask."""
    session_id = state["session_id"]
    every = entries.list_calls(journal.lines)
    state["late_calls"] = any(c["late"] and c["session"] == session_id for c in every)
    if not state["late_calls"]:
        del state["late_calls"]
