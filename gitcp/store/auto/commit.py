"""One real commit on the person's branch, made beside them: index, HEAD and worktree are theirs.

From a private index; the person's hooks judge it as they judge a `git commit -m`.  Then, with
index.lock taken, HEAD moves by compare and swap and the index follows.  What is about to happen
is written down before (intent), so that killed at any instant the next event can settle it.
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.credit import entries, evidence
from gitcp.core.credit.entries import UNKNOWN
from gitcp.errors import GitError, Moved
from gitcp.process.running import Running
from gitcp.record import decode_name, encode_name
from gitcp.store.auto import index_files, person_hooks, refusal
from gitcp.store.auto.index_files import Git
from gitcp.store.auto.refusal import Refused
from gitcp.store.git import refs
from gitcp.store.git.commit import need_commit
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


def make_commit(repo: Repo, objects: Objects, about: Intent, message: str) -> list[str]:
    """Commit about's entries on its expected HEAD; the paths that the commit has.

    The caller holds the lock of this worktree's commits; about is filled in, and left on disk
    for the caller to drop.  Raises Refused with the reason, Moved when HEAD is not where it was;
    then nothing has changed.
    """
    index = index_files.make_private(repo, about["tree"], about["entries"])
    if index_files.write_tree(index) == about["tree"]:
        return []
    busy: set[str] = set()
    if person_hooks.has_hook(repo, *_BEFORE):
        busy = index_files.list_unstaged(index)
        about["stash"] = read_stash(repo)
        about["dirty"] = select_unchanged(repo, objects, about["dirty"])
        before = read_files(repo, objects, about)
        intent.write(repo, about)
        try:
            message = _run_hooks(repo, index.path, message)
        finally:
            put_back(repo, objects, about)
            note_changes(repo, objects, before)
    tree = index_files.write_tree(index)
    entries = {path: now for path, _, now in compare_trees(objects, about["tree"], tree)}
    if not entries:
        raise Refused("the hooks left nothing to commit")
    foreign = [path for path in entries if path in busy and path not in about["entries"]]
    if foreign:
        raise Refused(f"a hook added {refusal.list_paths(foreign, 'which is not of this turn')}")
    about["entries"], about["noted"] = entries, about["checkpoint_id"] not in message
    about["commit"] = _write_object(repo, tree, about["expected"], message)
    _publish(repo, about, message)
    return sorted(entries)


def _run_hooks(repo: Repo, index: str, message: str) -> str:
    """What the person's hooks make of the message; Refused when one of them says no."""
    path = repo.join_own("auto", "message")
    with open(path, "wb") as f:
        f.write(encode_name(message))
    person_hooks.run(repo, "pre-commit", index=index)
    person_hooks.run(repo, "prepare-commit-msg", path, "message", index=index)
    person_hooks.run(repo, "commit-msg", path, index=index)
    with open(path, "rb") as f:
        judged = decode_name(repo.git.run("stripspace", stdin=f.read() or b"\n")[1])
    if not judged.strip():
        raise Refused("the hooks left no message")
    return judged


def _write_object(repo: Repo, tree: str, parent: str, message: str) -> str:
    """The commit object, by the person, signed where they sign."""
    args = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree]
    args += ["-p", parent] if parent.strip("0") else []
    args += ["-S"] if repo.config.get_flag("commit.gpgsign") else []
    words = ("git", "-C", repo.worktree, *args)
    try:
        running = Running(words, person_hooks.make_environment(repo), True)
        return running.finish(encode_name(message))[1].decode().strip()
    except GitError as e:
        raise Refused(refusal.format_reason(e)) from None


def _publish(repo: Repo, about: Intent, message: str) -> None:
    """HEAD and the person's index, under index.lock; the intent is on disk before."""
    lock = index_files.Lock(repo)
    about["mark"] = lock.prepare()
    intent.write(repo, about)
    lock.take()
    try:
        after = index_files.prepare_next(repo, about["tree"], about["entries"])
        _move_head(repo, about, message)
        index_files.install(repo, after)
    finally:
        lock.let_go()


def _move_head(repo: Repo, about: Intent, message: str) -> None:
    first = "" if about["expected"].strip("0") else " (initial)"
    reason = f"commit{first}: {message.splitlines()[0]}"
    ends = about["commit"], about["expected"]
    wait = ("-c", "core.filesRefLockTimeout=2000")
    args = (*wait, "update-ref", "-m", reason, "HEAD", *ends)
    words = ("git", "-C", repo.worktree, *args)
    try:
        Running(words, person_hooks.make_environment(repo), False).finish()
    except GitError as e:
        now = refs.read_head(repo) or "0" * len(about["expected"])
        if now != about["expected"]:  # where git says so, it does in the person's language
            raise Moved("HEAD", about["expected"], now) from None
        raise Refused(refusal.format_reason(e)) from None


def settle(repo: Repo, objects: Objects, about: Intent) -> bool:
    """Finish, or undo, what a kill left of a commit; whether it stands.  To do so twice changes
    nothing.  The caller holds the lock of this worktree's commits and sees to what is stored."""
    lock = index_files.Lock(repo, about["mark"])
    stands = bool(about["commit"]) and repo.git.run(
        "merge-base", "--is-ancestor", about["commit"], "HEAD", ok=(0, 1, 128)
    )[0] == 0  # fmt: skip
    if stands:
        if not lock.is_ours():
            lock.prepare()
            lock.take()
        head = Lookup(objects, need_commit(objects, "HEAD")["tree"])
        still = {path: entry for path, entry in about["entries"].items() if head(path) == entry}
        index_files.install(repo, index_files.prepare_next(repo, about["tree"], still))
    lock.let_go()
    return stands


def read_files(repo: Repo, objects: Objects, about: Intent) -> Entries:
    """How the files of a commit stand in the worktree, before hooks look at it."""
    return blobs.read_paths(repo, objects, sorted(about["entries"]), write=False)


def note_changes(repo: Repo, objects: Objects, before: Entries) -> None:
    """Let the journal know how files that stood so before the hooks ran stand now.

    Without it the next look takes the change for the person's, and a session's file that a hook
    has formatted would not be committed any more.
    """
    now = blobs.read_paths(repo, objects, sorted(before), write=True)
    if all(now.get(path) == entry for path, entry in before.items()):
        return
    with Journal(repo) as journal:
        known, at = LastSeen(repo, objects, journal.lines), read_clock(repo)
        journal.append(
            [
                entries.build_edit(path, entry, now[path], UNKNOWN, evidence.HOOK, at)
                for path, entry in before.items()
                if path in now and now[path] != entry and known.get_entry(path) == entry
            ]
        )


STASH = "refs/stash"


def read_stash(repo: Repo) -> str:
    """What tells whether the person stashed something: the newest entry, '' for none."""
    return refs.read_ref(repo, STASH) or ""


def select_unchanged(
    repo: Repo, objects: Objects, files: Mapping[str, Entry | None]
) -> dict[str, Entry | None]:
    """Those of the files that stand in the worktree as given."""
    now = blobs.read_paths(repo, objects, sorted(files), write=False)
    return {path: entry for path, entry in files.items() if path in now and now[path] == entry}


def put_back(repo: Repo, objects: Objects, about: Intent) -> None:
    """Put back what stood in the worktree before the hooks and is as in HEAD's tree now.

    Where the stash has changed somebody put the work away on purpose.
    """
    head = Lookup(objects, about["tree"])
    lost = {path: entry for path, entry in about["dirty"].items() if head(path) != entry}
    for _ in range(2):  # what is away for a moment is back when the stash has been asked
        lost = {
            path: lost[path] for path in select_unchanged(repo, objects, {p: head(p) for p in lost})
        }
        if not lost or read_stash(repo) != about["stash"]:
            return
    trace.append_note("auto", f"put back: {sorted(lost)}")
    _write(repo, lost)


def _write(repo: Repo, files: Mapping[str, Entry | None]) -> None:
    index = Git(repo, "lost")
    index.remove()
    present = {path: entry for path, entry in files.items() if entry}
    try:
        for path in files.keys() - present.keys():
            os.unlink(os.path.join(os.fsencode(repo.worktree), encode_name(path)))
        if present:
            index.put(present)
            names = b"".join(encode_name(path) + b"\0" for path in sorted(present))
            index.run("checkout-index", "-f", "-z", "--stdin", stdin=names)
    finally:
        index.remove()
