"""The edits that a step of gitcp makes: nobody's, also where a look sees half of the step."""

from __future__ import annotations

from gitcp.git import files
from gitcp.record.journal import INTENT
from gitcp.record.journal.credit import RESTORED
from gitcp.record.journal.line_kinds import build_edit, parse_entry
from gitcp.text.ids import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitcp.record.journal import Journal
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.record_types import Version

    Changed = dict[str, tuple[Version, Version]]

_SHAPE = {"id": str, "actions": [dict], "merged": {None: [str]}}


def build_edits(
    step_id: str, changed: Changed, merged: Mapping[str, Sequence[str]], at: int
) -> list[Edit]:
    """The lines for the changes of a step.  merged: path -> the blobs of which it brought lines
    into the content that stood there."""
    edits: list[Edit] = []
    for path, pair in changed.items():
        edit = build_edit(path, *pair, UNKNOWN, RESTORED, at).having(step=step_id)
        if merged.get(path):
            edit = edit.having(joined=[*merged[path]])
        edits.append(edit)
    return edits


def record_made(journal: Journal, changed: Changed, at: int) -> Changed:
    """Record the changes that the step under way, or its withdrawal, has made, as far as its intent
    says; return the others."""
    intent = files.load_cache(journal.repo.join_own(*INTENT), _SHAPE)
    if not intent:
        return changed
    made: Changed = {}
    for action in intent["actions"]:
        path = action["path"]
        was = parse_entry(action["was"])
        now = parse_entry(action["now"])
        pair = changed.get(path)
        if pair and pair in ((was, now), (now, was)):
            made[path] = pair
    journal.append_edits(build_edits(intent["id"], made, intent["merged"], at))
    return {path: pair for path, pair in changed.items() if path not in made}
