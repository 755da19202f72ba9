"""Whose lines a commit has: the contents for initial_attribution, gathered (E§5)."""

from __future__ import annotations

from gitcp.store import shadow
from gitcp.store import state as states
from gitcp.store.work import base_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from gitcp.repo import Repo
    from gitcp.store.commit import Commit
    from gitcp.store.objects import Objects
    from gitcp.store.state import State
    from gitcp.store.tree import Entry


def attribution(
    repo: Repo,
    objects: Objects,
    state: State,
    made: Commit,
    parent: str,
    paths: Collection[str],
    others: Collection[str],
) -> dict[str, Any]:
    """initial_attribution of a session in a commit: committed files only, against the
    commit's own parent; paths that only other sessions wrote are nobody's here."""
    from gitcp.core import attribution as core
    from gitcp.store.tree import diff_trees

    before, after = base_tree(objects, parent), made["tree"]
    live = shadow.Live(repo, objects, parent)
    recorded = {p: (s, f) for s in state["streams"] for p, f in s["files"].items()}
    contents = {}
    for path, was, now in diff_trees(objects, before, after):
        if path.startswith(".entire/") or (path in others and path not in paths):
            continue
        shadow_bytes = None
        if path in paths:
            shadow_bytes = _blob(objects, now)  # not recorded: the running turn wrote it
        if path in recorded:
            stream, file = recorded[path]
            is_live, tip = live.entry(stream["id"], stream["ref"], path)
            entry = tip if is_live else (file["mode"], file["oid"])
            shadow_bytes = _blob(objects, entry if entry and entry[1] else None)
        contents[path] = (_blob(objects, was) or b"", shadow_bytes, _blob(objects, now) or b"")
    return {"calculated_at": states.timestamp(), **core.initial_attribution(contents)}


def _blob(objects: Objects, entry: Entry | None) -> bytes | None:
    if entry is None or entry[0] == "160000":
        return None
    found = objects.read(entry[1])
    return found[2] if found else None
