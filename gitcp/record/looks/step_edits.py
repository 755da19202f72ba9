"""The edits that a step of gitcp makes: nobody's, also where a look sees half of the step."""

from __future__ import annotations

from gitcp.git import files
from gitcp.record.journal import INTENT, credit
from gitcp.record.journal.credit import RESTORED, parse_entry
from gitcp.text.ids import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.record.journal import Journal
    from gitcp.text.record_types import JournalLine, Version

    Changed = dict[str, tuple[Version, Version]]

_SHAPE = {"id": str, "actions": [dict], "merged": list}


def build_edits(step_id: str, changed: Changed, at: int) -> list[JournalLine]:
    """The lines for the changes of a step."""
    return [
        {**credit.build_edit(path, *pair, UNKNOWN, RESTORED, at), "step": step_id}
        for path, pair in changed.items()
    ]


def record_made(journal: Journal, changed: Changed, at: int) -> Changed:
    """Record the changes that the step under way, or its withdrawal, has made, as far as its intent
    says; return the others.

    Merged paths are among the others: their content is new, and a look records it."""
    intent = files.load_cache(journal.repo.join_own(*INTENT), _SHAPE)
    if not intent:
        return changed
    made: Changed = {}
    for action in intent["actions"]:
        path, was, now = action["path"], parse_entry(action["was"]), parse_entry(action["now"])
        pair = changed.get(path)
        if pair and pair in ((was, now), (now, was)) and path not in intent["merged"]:
            made[path] = pair
    journal.append_edits(build_edits(intent["id"], made, at))
    return {path: pair for path, pair in changed.items() if path not in made}
