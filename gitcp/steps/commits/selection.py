"""Whose work is meant, by the beginnings of ids."""

from __future__ import annotations

from dataclasses import dataclass

from gitcp.errors import Error
from gitcp.link.commit import find_acting
from gitcp.record.journal import credit
from gitcp.record.session import others
from gitcp.record.turn import sessions
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import Writer

_SHORTEST = 4  # digits of the beginning of a turn's id


class Selection:
    """Whose work is meant: that of sessions, of one turn or call of a session, or no agent's."""

    def __init__(
        self, ids: Sequence[str], by_hand: bool = False, turn: str = "", call: str = ""
    ) -> None:
        self.ids = ids
        self.by_hand = by_hand
        self.turn = turn
        self.call = call

    def has(self, who: Writer) -> bool:
        """Whether the work of an author is meant."""
        session_id, turn, call = who
        if not session_id:
            return self.by_hand
        return session_id in self.ids and self.turn in ("", turn) and self.call in ("", call)

    def describe(self) -> str:
        """Whose work it is, as in `session 1a2b3c4d, turn 2`."""
        words = [f"session {shorten_id(session_id)}" for session_id in self.ids]
        if self.turn:
            words.append(f"turn {self.turn}")
        if self.call:
            words.append(f"call {self.call}")
        if self.by_hand:
            words.append("no agent")
        return ", ".join(words)


@dataclass(slots=True)
class NamedWork:
    """Whose work a command line names.

    sessions: beginnings of ids.  turn: that of an id, or a number.  call: that of an id; '' for
    any."""

    sessions: Sequence[str]
    by_hand: bool = False
    turn: str = ""
    call: str = ""


def find_own_session(repo: Repo) -> str:
    """The id of the session whose agent runs this command.  Raises Error if none is known."""
    ids = sorted(find_acting(others.read_here(repo)))
    if len(ids) == 1:
        return ids[0]
    which = "no agent runs this"
    if ids:
        which = f"several agents run this: {' '.join(ids)}"
    raise Error(f"{which}; name the session by --session")


def select(repo: Repo, lines: Iterable[JournalLine], named: NamedWork) -> Selection:
    """The selection that is named.  Raises Error for an id that is not known, and for a turn or
    call without a single session."""
    writers: set[Writer] = set()
    for line in credit.list_edits(lines):
        writers.add(line.author)
        writers.add(line.cause)
    known = {*others.list_state_ids(repo)}
    known.update(who[0] for who in writers if who[0])
    ids = list(dict.fromkeys(sessions.pick_id(name, known) for name in named.sessions))
    if not named.turn and not named.call:
        return Selection(ids, named.by_hand)
    if len(ids) != 1 or named.by_hand:
        raise Error("--turn and --call need exactly one session")
    own = [who for who in writers if who[0] == ids[0]]
    turn = ""
    if named.turn:
        turn = _pick_turn(repo, ids[0], named.turn, {who[1] for who in own})
    call = _pick("call", named.call, {who[2] for who in own})
    return Selection(ids, turn=turn, call=call)


def _pick_turn(repo: Repo, session_id: str, name: str, ids: set[str]) -> str:
    state = others.peek_state(repo, session_id) or {}
    turns = state.get("turns", {})
    for key, turn in turns.items():
        if str(turn.get("number")) == name:
            return str(key)
    # The beginning of an id is digits alone too: a short one is a number.
    if name.isdecimal() and len(name) < _SHORTEST:
        return _pick("turn", name, set())
    return _pick("turn", name, {*ids, *turns})


def _pick(kind: str, name: str, ids: set[str]) -> str:
    """The id that a name is, or begins; '' for no name."""
    if not name or name in ids:
        return name
    matching = sorted(key for key in ids if key.startswith(name))
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise Error(f"ambiguous {kind} '{name}': {' '.join(matching)}")
    raise Error(f"no such {kind} of this session: '{name}'")
