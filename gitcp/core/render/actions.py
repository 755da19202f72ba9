"""What the menu of `gitcp ui` offers for what is marked: commands, each with one that shows its
plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.render.panes import Row


class Action(NamedTuple):
    """A command of gitcp.  plan: the command that shows what it would do, () if none does.  asks:
    what is typed behind it, '' for nothing.  copied: what is copied instead of a command."""

    label: str
    command: Sequence[str] = ()
    plan: Sequence[str] = ()
    asks: str = ""
    copied: str = ""


def list_actions(name: str, row: Row | None, part: Row | None) -> list[Action]:
    """The actions on a row of the list of that name.  part: what is marked beside it."""
    actions = list[Action]()
    if row and name == "sessions":
        actions += _list_of_session(row, part)
    elif row:
        place = row.id
        has_point = name == "points" or row.item["checkpoints"]
        actions += [_plan("rewind to here", "rewind", "--to", place)] if has_point else []
        bisect = ("bisect", place, "--", "sh", "-c")
        actions.append(
            Action("bisect from here", bisect, ("bisect", "-n", place), "the command that fails")
        )
        if name == "commits":
            resume = Action("resume its conversations", ("resume", place))
            actions += [resume] if has_point else []
            actions.append(Action("open a page of it", ("page", "--open", place)))
    undo = ("undo", "--yes"), ("undo", "--dry-run")
    actions.append(Action("undo what gitcp changed last", *undo))
    if row:
        actions.append(Action("copy the id", copied=row.id))
    return actions


def _list_of_session(row: Row, part: Row | None) -> list[Action]:
    """A prompt or a call of a session is taken back or staged alone, else the whole session."""
    entry = part.item if part and isinstance(part.item, dict) else {}
    turn = row.item["turns"].get(entry.get("number"), "")
    calls = entry.get("ids", ())
    what, stage, rewind = "the session's edits", list[str](), ["--session", row.id]
    if turn:
        what, stage, rewind = "this prompt's edits", ["--turn", turn], ["--turn", turn]
    elif calls:
        what, stage, rewind = "this call's edits", ["--call", calls[0]], ["--tool", calls[0]]
    return [
        _plan(f"take back {what}", "rewind", *rewind),
        _plan(f"stage {what}", "stage", "--session", row.id, *stage),
        Action("resume the conversation", ("resume", row.id)),
        Action("open a page of it", ("page", "--open", row.id)),
    ]


def _plan(label: str, *command: str) -> Action:
    return Action(label, command, (*command, "--dry-run"))
