"""The original program switched off in this clone alone, where its hooks have to stay.

`.entire/settings.local.json` is the place that it has for that, and which git does not carry.
"""

from __future__ import annotations

import os

from gitcp.agents.install import json_text
from gitcp.core.setup.installation import ENTIRE_SWITCH
from gitcp.errors import InputError
from gitcp.record import raw
from gitcp.store.git import files
from gitcp.store.setup import exclude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.setup.installation import Write
    from gitcp.repo import Repo

    Plan = tuple[list[Write], list[str]]  # what to write, what to say

_KEY = "enabled"
_LEFT = "'{}' {}, so both programs record here: 'entire disable' switches the original off"


def path(repo: Repo) -> str:
    """The file of this worktree."""
    return os.path.join(repo.worktree, ".entire", "settings.local.json")


def plan(repo: Repo) -> Plan:
    """What to write so that the original's hooks do nothing here, and what to say."""
    file = path(repo)
    try:
        text = (files.read(file) or b"").decode() or "{}\n"
        settings = json_text.parse(text)
        if settings.get(_KEY) is False:
            return [], []
        if exclude.tracked(repo, [file]):
            raise InputError("is tracked")
        base = json_text.cut(text, (_KEY,)) if _KEY in settings else text
    except UnicodeDecodeError:
        return [], [_LEFT.format(file, "is not UTF-8")]
    except InputError as e:
        return [], [_LEFT.format(file, f"is {e}" if "JSON" in str(e) else e)]
    write: Write = {
        "path": file,
        "kind": ENTIRE_SWITCH,
        "data": raw(json_text.add(base, (_KEY,), False)),
        "note": f"wrote '{file}': Entire's hooks, which are tracked, do nothing in this clone",
        "alone": True,
        "worktree": os.path.realpath(repo.worktree),
    }
    return [write], []


def without_switch(data: bytes) -> bytes | None:
    """The file without what was written; None where nothing else is in it."""
    try:
        text = data.decode()
        settings = json_text.parse(text)
        if settings.get(_KEY) is not False:
            return data
        return None if len(settings) == 1 else raw(json_text.cut(text, (_KEY,)))
    except (InputError, ValueError):
        return data
