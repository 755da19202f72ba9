"""Where git's hooks are, and what has to be written there for ours.

A hook of somebody else is moved aside and called from ours.  A directory outside the
repository, or a hook that is tracked, is written only when that is forced.
"""

from __future__ import annotations

import os

from gitcp.core.setup import hook_scripts, hook_text
from gitcp.record import raw, text
from gitcp.store.git import files
from gitcp.store.setup import exclude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.setup.installation import Write
    from gitcp.repo import Repo
    from gitcp.store.setup.manifest import Entry, Manifest

    Plan = tuple[list[Write], list[str]]  # what to write, what to say

_EDITED = "'{}' was edited since gitcp wrote it: left as it is (--force replaces it)"
_CALLED = "'{}' calls ours as '{}'"


def folder(repo: Repo) -> str:
    """The directory git itself looks for hooks in, absolute (core.hooksPath, worktrees)."""
    where = repo.git.out("rev-parse", "--path-format=absolute", "--git-path", "hooks")
    return os.path.normpath(text(where))


def plan(repo: Repo, known: Manifest, py: str, entry: str, force: bool) -> Plan:
    """What to write so that each of git's hooks does our part; py, entry: hook_scripts."""
    where = folder(repo)
    if os.path.lexists(where) and not os.path.isdir(where):
        return [], [f"git runs no hooks here: '{where}' is not a directory"]
    closed = set() if force else _not_ours_to_write(repo, where)
    writes: list[Write] = []
    notes: list[str] = []
    refused = []
    for hook in hook_scripts.HOOKS:
        path = os.path.join(where, hook)
        found = _plan_one(path, hook, known, (py, entry), force)
        if isinstance(found, str):
            notes.append(found)
        elif found and hook in closed:
            refused.append(hook)
        elif found:
            writes.append(found)
    if refused:
        notes.append(_refusal(where, len(closed) == len(hook_scripts.HOOKS), refused))
    if writes and any(sign in where.split(os.sep) for sign in (".husky", ".lefthook")):
        notes.append(f"if '{where}' is written anew, run 'gitcp enable' again")
    return writes, notes


def _plan_one(
    path: str, hook: str, known: Manifest, baked: tuple[str, str], force: bool
) -> Write | str | None:
    """What to write, or what to say, or neither: it is there."""
    data = files.read(path) if os.path.exists(path) else None
    old = text(data or b"")
    chain = hook_text.read_chain(old) if hook_text.is_ours(old) else None
    note = f"wrote '{path}'"
    new: Write = {"path": path, "kind": "hook", "data": b"", "note": note, "alone": True}
    if hook_text.is_ours(old):
        entry = known.find(path)
        mine = (entry and known.intact(entry)) or hook_text.untouched(hook, old)
        if not mine and not force:
            return _EDITED.format(path)
    elif hook_text.is_entires(old):
        chain = {"suffix": hook_text.ENTIRE_BACKUP, "shell": ""}
        kept = files.read(path + hook_text.ENTIRE_BACKUP)
        chain["shell"] = hook_text.chain_of(text(kept or b""))["shell"]
        new["note"] = f"took over '{path}' from Entire"
    elif os.path.lexists(path):
        if "pre-commit" in old and hook_text.is_ours(text(files.read(path + ".legacy") or b"")):
            return _CALLED.format(path, hook + ".legacy")
        chain, new["aside"] = hook_text.chain_of(old), hook_scripts.BACKUP
        new["note"] = f"wrote '{path}', which calls '{hook}{hook_scripts.BACKUP}' too"
    new["data"] = raw(hook_scripts.script(hook, *baked, chain))
    return new if new["data"] != data else None


def _not_ours_to_write(repo: Repo, where: str) -> set[str]:
    """The hooks that other people, or other repositories, would get from us."""
    real = os.path.realpath(where)
    if exclude.inside(real, repo.common) or exclude.inside(real, repo.git_dir):
        return set()
    if repo.top is None or not exclude.inside(real, repo.top):
        return set(hook_scripts.HOOKS)
    paths = [os.path.join(real, hook) for hook in hook_scripts.HOOKS]
    return {os.path.basename(path) for path in exclude.tracked(repo, paths)}


def without_ours(path: str, entry: Entry, data: bytes) -> bytes | None:
    """Somebody's hook without our part; None when that was all of it."""
    aside = entry["aside"]
    chained = bool(aside) and os.path.lexists(path + aside)
    left = hook_text.without_ours(os.path.basename(path), text(data), chained)
    return None if left is None else raw(left)


def _refusal(where: str, outside: bool, hooks: Iterable[str]) -> str:
    why = "is outside the repository" if outside else "has hooks that are tracked"
    lines = [f"    {where}/{hook}: {hook_scripts.lines_to_add(hook)}" for hook in hooks]
    what = f"'{where}' {why}: nothing is written there without --force; lines to add:"
    return "\n".join([what, *lines])
