"""Whose lines a commit has: the contents for initial_attribution, gathered (E§5)."""

from __future__ import annotations

from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_match import Changes
    from gitcp.store.session.state import State
    from gitcp.store.stream.live import Live


def attribution(
    objects: Objects,
    live: Live,
    state: State,
    changes: Changes,
    paths: Collection[str],
    others: Mapping[str, State],
) -> dict[str, Any]:
    """initial_attribution of a session in a commit: the committed files against the commit's
    own parent.  others: the other sessions of the commit, whose lines are not the person's;
    a path that only they wrote does not count here at all."""
    from gitcp.core.decide import attribution as core

    theirs: dict[str, list[bytes]] = {}
    for other in others.values():
        for path, data in _records(objects, live, other, changes).items():
            theirs.setdefault(path, []).append(data)
    mine, contents = _records(objects, live, state, changes), {}
    for path, (old_mode, old, mode, new) in changes.items():
        if path in theirs and path not in paths:
            continue
        before, after = _blob(objects, old_mode, old), _blob(objects, mode, new)
        # Not recorded: the running turn wrote it all, or the session had no part in it.
        record = mine.get(path, after if path in paths else before)
        contents[path] = (before, record, after)
    told = core.initial_attribution(contents, others=theirs)
    return {"calculated_at": states.timestamp(), **told}


def _records(objects: Objects, live: Live, state: State, changes: Changes) -> dict[str, bytes]:
    """What a session recorded of the commit's paths: a live path as the tip has it."""
    found = {}
    for stream in state["streams"]:
        for path in stream["files"].keys() & changes.keys():
            told = stream["files"][path]
            is_live, tip = live.entry(stream["id"], stream["ref"], path)
            mode, oid = (tip or ("000000", "")) if is_live else (told["mode"], told["oid"])
            found[path] = _blob(objects, mode, oid or None)
    return found


def _blob(objects: Objects, mode: str, oid: str | None) -> bytes:
    found = objects.read(oid) if oid and mode != "160000" else None
    return found[2] if found else b""
