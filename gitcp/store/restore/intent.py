"""The record of a step that has begun: what a kill in its middle leaves to go by.

<git-dir>/gitcp/rewind/intent is there from before the first file is touched until all are
checked.  Whoever comes next finishes what it tells; it never goes away unnoticed.
"""

from __future__ import annotations

import json
import os

from gitcp.core.rewind.plan import effective
from gitcp.errors import Changed
from gitcp.store.git import private, refs
from gitcp.store.git.files import read as content
from gitcp.store.restore import apply, staging
from gitcp.store.restore.present import signs
from gitcp.store.snapshot import blobs
from gitcp.store.undo import effects, undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.rewind.plan import Action
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.restore.staging import Staging

    Intent = dict[str, Any]  # step, commit, staging, actions, effects, head


def begin(repo: Repo, intent: Intent) -> None:
    """Write the record, durably."""
    data = json.dumps(intent).encode()
    private.write(repo, _path(repo), data, durable=True)


def end(repo: Repo) -> None:
    """The step is done, or taken back: nothing is left to do."""
    os.unlink(_path(repo))


def pending(repo: Repo) -> Intent | None:
    """The record of a step that was not finished; None without one."""
    data = content(_path(repo))
    return dict(json.loads(data)) if data else None


def recover(repo: Repo, objects: Objects) -> list[str]:
    """Finish the step that a kill left unfinished; what was done, a sentence each.

    A step whose safety was not kept yet has touched nothing: it is dropped.  What somebody
    changed since stays as it is, and is told.  Files made aside for a step that had not begun
    go.  The caller holds the lock.
    """
    left = pending(repo)
    sentences = _recover(repo, objects, left) if left else []
    for name in staging.abandoned(repo):
        staging.Staging(repo, name).remove()
    return sentences


def _recover(repo: Repo, objects: Objects, left: Intent) -> list[str]:
    aside = staging.Staging(repo, left["staging"])
    if not _logged(repo, left["commit"]):
        aside.remove()
        end(repo)
        return [f"an interrupted {left['step']} had changed nothing: it is forgotten"]
    todo, foreign = _open(repo, objects, left)
    aside.remove()
    _finish(repo, objects, aside, todo, left)
    effects.put(repo, objects, left["effects"])
    aside.remove()
    end(repo)
    done = f"an interrupted {left['step']} has been completed ({len(todo)} files were left)"
    return [done, *(f"'{path}' was changed since, and stays as it is" for path in foreign)]


def _logged(repo: Repo, commit: str) -> bool:
    tip = refs.read(repo, undo_log.ref(repo))
    return tip is not None and any(s["commit"] == commit for s in undo_log.read(repo))


def _open(repo: Repo, objects: Objects, left: Intent) -> tuple[list[Action], list[str]]:
    """(the actions that are still to do, the paths that are neither before nor after)."""
    actions = [_entries(a) for a in effective(left["actions"])]
    there = blobs.at(repo, objects, [a["path"] for a in actions], write=True)
    todo, foreign = [], []
    for action in actions:
        now = there.get(action["path"])
        if now == action["was"] and action["path"] in there:
            todo.append(action)
        elif now != action["now"]:
            foreign.append(action["path"])
    return todo, foreign


def _finish(repo: Repo, objects: Objects, aside: Staging, todo: list[Action], left: Intent) -> None:
    wanted = {a["path"]: a["now"] for a in todo if a["now"]}
    after = undo_log.look(objects, left["commit"], "after")
    aside.fill(wanted, after)
    now = signs(repo, [a["path"] for a in todo])
    try:
        apply.Apply(os.fsencode(repo.worktree), aside, todo, now).run(lambda done, of: None)
    except Changed:
        again, _ = _open(repo, objects, left)
        if again == todo:
            raise
        aside.remove()
        _finish(repo, objects, aside, again, left)


def _entries(action: Action) -> Action:
    """An action as JSON gives it back, its entries as pairs."""
    was, now = action["was"], action["now"]
    return {
        **action,
        "was": (was[0], was[1]) if was else None,
        "now": (now[0], now[1]) if now else None,
    }


def _path(repo: Repo) -> str:
    return repo.own("rewind", "intent")
