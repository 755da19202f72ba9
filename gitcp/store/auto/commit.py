"""Makes an auto-commit on the person's branch, without disturbing index, HEAD or worktree.

The commit is made from a private index, and the person's hooks run on it as on a `git commit -m`.
Then, under index.lock, HEAD moves by compare and swap, and the person's index follows.  The intent
is written before, so that the next event can settle what a kill leaves.
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.credit import entries, evidence
from gitcp.core.credit.entries import UNKNOWN
from gitcp.errors import GitError, Moved
from gitcp.process.running import Running
from gitcp.record import decode_name, encode_lines, encode_name
from gitcp.store.auto import index_files, person_hooks, refusal
from gitcp.store.auto.index_files import Git
from gitcp.store.auto.refusal import Refused
from gitcp.store.git import refs
from gitcp.store.git.commit import is_ancestor, need_commit
from gitcp.store.git.tree import Lookup, compare_trees
from gitcp.store.journal.journal import Journal, read_clock
from gitcp.store.journal.last_seen import LastSeen
from gitcp.store.session import intent
from gitcp.store.snapshot import blobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.record_types import Entries, Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.session.intent import Intent


_BEFORE = ("pre-commit", "prepare-commit-msg", "commit-msg")


def make_commit(repo: Repo, objects: Objects, plan: Intent, message: str) -> list[str]:
    """Commit an intent's entries on its expected HEAD; return the paths that the commit has.

    The caller holds the lock of this worktree's commits.  The intent is filled in, and stays on
    disk for the caller to drop.  Raises Refused, or Moved if HEAD has moved; then nothing has
    changed.
    """
    index = index_files.make_private(repo, plan["tree"], plan["entries"])
    if index_files.write_tree(index) == plan["tree"]:
        return []
    unstaged: set[str] = set()
    if person_hooks.has_hook(repo, *_BEFORE):
        unstaged = index_files.list_unstaged(index)
        plan["stash"] = read_stash(repo)
        plan["dirty"] = select_unchanged(repo, objects, plan["dirty"])
        files_before = blobs.read_paths(repo, objects, sorted(plan["entries"]), write=False)
        intent.write(repo, plan)
        try:
            message = _run_hooks(repo, index.path, message)
        finally:
            put_back(repo, objects, plan)
            note_changes(repo, objects, files_before)
    tree = index_files.write_tree(index)
    entries = {path: entry for path, _, entry in compare_trees(objects, plan["tree"], tree)}
    if not entries:
        raise Refused("the hooks left nothing to commit")
    foreign = [path for path in entries if path in unstaged and path not in plan["entries"]]
    if foreign:
        raise Refused(f"a hook added {refusal.list_paths(foreign, 'which is not of this turn')}")
    plan["entries"], plan["noted"] = entries, plan["checkpoint_id"] not in message
    plan["commit"] = _write_object(repo, tree, plan["expected"], message)
    _publish(repo, plan, message)
    return sorted(entries)


def _run_hooks(repo: Repo, index: str, message: str) -> str:
    """Run the person's hooks; return the message that they leave.  Raises Refused if one fails."""
    path = repo.join_own("auto", "message")
    with open(path, "wb") as f:
        f.write(encode_name(message))
    person_hooks.run(repo, "pre-commit", index=index)
    person_hooks.run(repo, "prepare-commit-msg", path, "message", index=index)
    person_hooks.run(repo, "commit-msg", path, index=index)
    with open(path, "rb") as f:
        result = decode_name(repo.git.run("stripspace", stdin=f.read() or b"\n")[1])
    if not result.strip():
        raise Refused("the hooks left no message")
    return result


def _write_object(repo: Repo, tree: str, parent: str, message: str) -> str:
    """Write the commit object as the person, signed if they sign; return its oid."""
    args = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree]
    args += ["-p", parent] if parent.strip("0") else []
    args += ["-S"] if repo.config.get_flag("commit.gpgsign") else []
    command = ("git", "-C", repo.worktree, *args)
    try:
        running = Running(command, person_hooks.make_environment(repo), True)
        return running.finish(encode_name(message))[1].decode().strip()
    except GitError as e:
        raise Refused(refusal.format_reason(e)) from None


def _publish(repo: Repo, plan: Intent, message: str) -> None:
    """Write the intent, then move HEAD and the person's index under index.lock."""
    lock = index_files.Lock(repo)
    plan["mark"] = lock.prepare()
    intent.write(repo, plan)
    lock.take()
    try:
        next_index = index_files.prepare_next(repo, plan["tree"], plan["entries"])
        _move_head(repo, plan, message)
        index_files.install(repo, next_index)
    finally:
        lock.let_go()


def _move_head(repo: Repo, plan: Intent, message: str) -> None:
    suffix = "" if plan["expected"].strip("0") else " (initial)"
    reason = f"commit{suffix}: {message.splitlines()[0]}"
    commits = plan["commit"], plan["expected"]
    options = ("-c", "core.filesRefLockTimeout=2000")
    args = (*options, "update-ref", "-m", reason, "HEAD", *commits)
    command = ("git", "-C", repo.worktree, *args)
    try:
        Running(command, person_hooks.make_environment(repo), False).finish()
    except GitError as e:
        head = refs.read_head(repo) or "0" * len(plan["expected"])
        if head != plan["expected"]:  # git's message is translated
            raise Moved("HEAD", plan["expected"], head) from None
        raise Refused(refusal.format_reason(e)) from None


def settle(repo: Repo, objects: Objects, plan: Intent) -> bool:
    """Finish or undo a commit that was killed; return whether it exists.  Doing so again changes
    nothing.  The caller holds the lock of this worktree's commits, and stores the commit."""
    lock = index_files.Lock(repo, plan["mark"])
    exists = bool(plan["commit"] and is_ancestor(repo, plan["commit"], "HEAD"))
    if exists:
        if not lock.is_ours():
            lock.prepare()
            lock.take()
        head = Lookup(objects, need_commit(objects, "HEAD")["tree"])
        unchanged = {path: entry for path, entry in plan["entries"].items() if head(path) == entry}
        index_files.install(repo, index_files.prepare_next(repo, plan["tree"], unchanged))
    lock.let_go()
    return exists


def note_changes(repo: Repo, objects: Objects, before: Entries) -> None:
    """Record the changes that hooks made to files, by the entries before.

    Otherwise the next look takes them for the person's, and a session's file that a hook has
    formatted is not committed any more.
    """
    after = blobs.read_paths(repo, objects, sorted(before), write=True)
    if all(after.get(path) == entry for path, entry in before.items()):
        return
    with Journal(repo) as journal:
        seen, time = LastSeen(repo, objects, journal.lines), read_clock(repo)
        journal.append(
            [
                entries.build_edit(path, entry, after[path], UNKNOWN, evidence.HOOK, time)
                for path, entry in before.items()
                if path in after and after[path] != entry and seen.get_entry(path) == entry
            ]
        )


STASH = "refs/stash"


def read_stash(repo: Repo) -> str:
    """The newest stash, '' for none: it changes if the person stashes something."""
    return refs.read_ref(repo, STASH) or ""


def select_unchanged(
    repo: Repo, objects: Objects, files: Mapping[str, Entry | None]
) -> dict[str, Entry | None]:
    """The files that the worktree has with the same entry."""
    present = blobs.read_paths(repo, objects, sorted(files), write=False)
    return {
        path: entry for path, entry in files.items() if path in present and present[path] == entry
    }


def put_back(repo: Repo, objects: Objects, plan: Intent) -> None:
    """Restore the files that hooks have reset to HEAD's content.

    Does nothing if the stash has changed: then the work was put away on purpose.
    """
    head = Lookup(objects, plan["tree"])
    removed = {path: entry for path, entry in plan["dirty"].items() if head(path) != entry}
    for _ in range(2):  # a file that is away for a moment is back by the second look
        removed = {
            path: removed[path]
            for path in select_unchanged(repo, objects, {p: head(p) for p in removed})
        }
        if not removed or read_stash(repo) != plan["stash"]:
            return
    trace.append_note("auto", f"put back: {sorted(removed)}")
    _write(repo, removed)


def _write(repo: Repo, files: Mapping[str, Entry | None]) -> None:
    index = Git(repo, "lost")
    index.remove()
    present = {path: entry for path, entry in files.items() if entry}
    try:
        for path in files.keys() - present.keys():
            os.unlink(os.path.join(os.fsencode(repo.worktree), encode_name(path)))
        if present:
            index.put(present)
            names = encode_lines(sorted(present), "\0")
            index.run("checkout-index", "-f", "-z", "--stdin", stdin=names)
    finally:
        index.remove()
