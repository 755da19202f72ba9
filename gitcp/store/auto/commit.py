"""One real commit on the person's branch, made beside them: index, HEAD and worktree are theirs.

From a private index; the person's hooks judge it as they judge a `git commit -m`.  Then, with
index.lock taken, HEAD moves by compare and swap and the index follows.  What is about to happen
is written down before (intent), so that killed at any instant the next event can settle it.
"""

from __future__ import annotations

from gitcp.errors import GitError, Moved
from gitcp.process.running import Running
from gitcp.record import raw, text
from gitcp.store.auto import hook_edits, index_files, intent, lost, person_hooks, refusal
from gitcp.store.auto.refusal import Refused
from gitcp.store.git import refs
from gitcp.store.git.commit import need_commit
from gitcp.store.git.tree import Lookup, diff_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.auto.intent import Intent
    from gitcp.store.git.objects import Objects

_BEFORE = ("pre-commit", "prepare-commit-msg", "commit-msg")


def make(repo: Repo, objects: Objects, about: Intent, message: str) -> list[str]:
    """Commit about's entries on its expected HEAD; the paths that the commit has.

    The caller holds the lock of this worktree's commits; about is filled in, and left on disk
    for the caller to drop.  Raises Refused with the reason, Moved when HEAD is not where it was;
    then nothing has changed.
    """
    index = index_files.private(repo, about["tree"], about["entries"])
    if index_files.tree_of(index) == about["tree"]:
        return []
    busy: set[str] = set()
    if person_hooks.there(repo, *_BEFORE):
        busy = index_files.unstaged(index)
        about["stash"] = lost.stash(repo)
        about["dirty"] = lost.still(repo, objects, about["dirty"])
        before = hook_edits.stand(repo, objects, about)
        intent.write(repo, about)
        try:
            message = _judged(repo, index.path, message)
        finally:
            lost.put_back(repo, objects, about)
            hook_edits.note(repo, objects, before)
    tree = index_files.tree_of(index)
    entries = {path: now for path, _, now in diff_trees(objects, about["tree"], tree)}
    if not entries:
        raise Refused("the hooks left nothing to commit")
    foreign = [path for path in entries if path in busy and path not in about["entries"]]
    if foreign:
        raise Refused(f"a hook added {refusal.list_paths(foreign, 'which is not of this turn')}")
    about["entries"], about["noted"] = entries, about["checkpoint_id"] not in message
    about["commit"] = _object(repo, tree, about["expected"], message)
    _publish(repo, about, message)
    return sorted(entries)


def _judged(repo: Repo, index: str, message: str) -> str:
    """What the person's hooks make of the message; Refused when one of them says no."""
    path = repo.own("auto", "message")
    with open(path, "wb") as f:
        f.write(raw(message))
    person_hooks.run(repo, "pre-commit", index=index)
    person_hooks.run(repo, "prepare-commit-msg", path, "message", index=index)
    person_hooks.run(repo, "commit-msg", path, index=index)
    with open(path, "rb") as f:
        judged = text(repo.git.run("stripspace", stdin=f.read() or b"\n")[1])
    if not judged.strip():
        raise Refused("the hooks left no message")
    return judged


def _object(repo: Repo, tree: str, parent: str, message: str) -> str:
    """The commit object, by the person, signed where they sign."""
    args = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree]
    args += ["-p", parent] if parent.strip("0") else []
    args += ["-S"] if repo.config.flag("commit.gpgsign") else []
    words = ("git", "-C", repo.worktree, *args)
    try:
        running = Running(words, person_hooks.environment(repo), True)
        return running.finish(raw(message))[1].decode().strip()
    except GitError as e:
        raise Refused(refusal.reason(e)) from None


def _publish(repo: Repo, about: Intent, message: str) -> None:
    """HEAD and the person's index, under index.lock; the intent is on disk before."""
    lock = index_files.Lock(repo)
    about["mark"] = lock.prepare()
    intent.write(repo, about)
    lock.take()
    try:
        after = index_files.prepared(repo, about["tree"], about["entries"])
        _move_head(repo, about, message)
        index_files.install(repo, after)
    finally:
        lock.release()


def _move_head(repo: Repo, about: Intent, message: str) -> None:
    first = "" if about["expected"].strip("0") else " (initial)"
    reason = f"commit{first}: {message.splitlines()[0]}"
    ends = about["commit"], about["expected"]
    wait = ("-c", "core.filesRefLockTimeout=2000")
    args = (*wait, "update-ref", "-m", reason, "HEAD", *ends)
    words = ("git", "-C", repo.worktree, *args)
    try:
        Running(words, person_hooks.environment(repo), False).finish()
    except GitError as e:
        now = refs.head(repo) or "0" * len(about["expected"])
        if now != about["expected"]:  # where git says so, it does in the person's language
            raise Moved("HEAD", about["expected"], now) from None
        raise Refused(refusal.reason(e)) from None


def settle(repo: Repo, objects: Objects, about: Intent) -> bool:
    """Finish, or undo, what a kill left of a commit; whether it stands.  To do so twice changes
    nothing.  The caller holds the lock of this worktree's commits and sees to what is stored."""
    lock = index_files.Lock(repo, about["mark"])
    stands = bool(about["commit"]) and repo.git.run(
        "merge-base", "--is-ancestor", about["commit"], "HEAD", ok=(0, 1, 128)
    )[0] == 0  # fmt: skip
    if stands:
        if not lock.ours():
            lock.prepare()
            lock.take()
        head = Lookup(objects, need_commit(objects, "HEAD")["tree"])
        still = {path: entry for path, entry in about["entries"].items() if head(path) == entry}
        index_files.install(repo, index_files.prepared(repo, about["tree"], still))
    lock.release()
    return stands
