"""An auto-commit on the person's branch, made without disturbing index, HEAD or worktree.

The commit is made from a private index, and the person's hooks run on it as on a `git commit -m`.
Then, under index.lock, HEAD moves by compare and swap, and the person's index follows.  The plan is
stored before, so that the next event can settle what a kill leaves.
"""

from __future__ import annotations

import os

from gitcp import git
from gitcp.errors import Busy, GitError, Moved
from gitcp.git import Running, decode_name, encode_name, refs
from gitcp.git.files import read_or_set_aside
from gitcp.git.objects import Lookup, compare_trees, need_commit
from gitcp.git.objects.object_lists import is_ancestor
from gitcp.git.records import encode_lines
from gitcp.record.journal import Journal, credit, read_clock, read_last_seen
from gitcp.record.journal.line_kinds import build_edit
from gitcp.record.session import locate_auto, others
from gitcp.record.snapshot import scan
from gitcp.record.snapshot.index import IndexFile, Lock, install_index
from gitcp.steps.commits.person_hooks import (
    Refused,
    format_reason,
    has_hook,
    list_paths,
    make_environment,
    run_person_hook,
)
from gitcp.steps.commits.private_index import (
    list_unstaged,
    make_private,
    prepare_next,
    write_tree,
)
from gitcp.text import value_class
from gitcp.text.ids import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.record_types import Entries, Entry

_BEFORE = ("pre-commit", "prepare-commit-msg", "commit-msg")


@value_class
class AutoCommitPlan:
    """An auto-commit, as it is stored while it is made.

    tool_use_id: of the task whose end makes it, '' for none.  expected: HEAD's commit (zeros:
    unborn).  tree: its tree.  tip: the checkpoint that holds dirty, the entries that differed from
    it when the hooks began.  stash: the newest stash then.  commit: the one that is made; entries:
    its part of the person's index; noted: whether the id goes into a note; mark: by which its
    index.lock is known.
    """

    session_id: str
    checkpoint_id: str
    tool_use_id: str
    expected: str
    tree: str
    tip: str
    dirty: dict[str, Entry | None]
    entries: dict[str, Entry | None]
    stash: str = ""
    commit: str = ""
    noted: bool = False
    mark: Sequence[int] = ()

    def note_begin(self, stash: str, dirty: dict[str, Entry | None]) -> None:
        """Take note of what was there when the hooks began."""
        self.stash = stash
        self.dirty = dirty

    def note_commit(self, commit: str, entries: dict[str, Entry | None], noted: bool) -> None:
        """Take note of the commit that was made."""
        self.commit = commit
        self.entries = entries
        self.noted = noted

    def note_lock(self, mark: Sequence[int]) -> None:
        """Take note of the lock by which the index is changed."""
        self.mark = mark

    def store(self, repo: Repo) -> None:
        """Write it durably: from here on the next process can finish the commit."""
        others.write_intent(
            repo,
            {
                "session_id": self.session_id,
                "checkpoint_id": self.checkpoint_id,
                "tool_use_id": self.tool_use_id,
                "expected": self.expected,
                "tree": self.tree,
                "tip": self.tip,
                "dirty": self.dirty,
                "stash": self.stash,
                "commit": self.commit,
                "mark": list(self.mark),
                "noted": self.noted,
                "entries": self.entries,
            },
        )


def read_plan(repo: Repo) -> AutoCommitPlan | None:
    """The commit that a kill left; None without one, and for a damaged one, which is set aside: its
    commit stands or does not, and hooks find it as any other."""
    stored = read_or_set_aside(repo, lambda: others.read_intent(repo))
    if stored is None:
        return None
    return AutoCommitPlan(**stored)


def make_commit(repo: Repo, plan: AutoCommitPlan, message: str) -> list[str]:
    """Commit a plan's entries on its expected HEAD; return the paths that the commit has.

    The caller holds the lock of this worktree's commits.  The plan takes note of what is made, and
    stays on disk for the caller to drop.  Raises Refused, or Moved if HEAD has moved; then nothing
    has changed.
    """
    index = make_private(repo, plan.tree, plan.entries)
    if write_tree(index) == plan.tree:
        return []
    unstaged: set[str] = set()
    if has_hook(repo, *_BEFORE):
        unstaged = list_unstaged(index)
        plan.note_begin(read_stash(repo), select_unchanged(repo, plan.dirty))
        files_before = scan.read_paths(repo, sorted(plan.entries), write=False)
        plan.store(repo)
        try:
            message = _run_hooks(repo, index.path, message)
        finally:
            put_back(repo, plan)
            note_changes(repo, files_before)
    tree = write_tree(index)
    entries: dict[str, Entry | None] = {}
    for path, _, entry in compare_trees(repo.objects, plan.tree, tree):
        entries[path] = entry
    if not entries:
        raise Refused("the hooks left nothing to commit")
    foreign = (entries.keys() & unstaged) - plan.entries.keys()
    if foreign:
        raise Refused(f"a hook added {list_paths(foreign, 'which is not of this turn')}")
    commit = _write_object(repo, tree, plan.expected, message)
    plan.note_commit(commit, entries, plan.checkpoint_id not in message)
    _publish(repo, plan, message)
    return sorted(entries)


def _run_hooks(repo: Repo, index: str, message: str) -> str:
    """Run the person's hooks; return the message that they leave.  Raises Refused if one fails."""
    path = locate_auto(repo, "message")
    with open(path, "wb") as f:
        f.write(encode_name(message))
    run_person_hook(repo, "pre-commit", index=index)
    run_person_hook(repo, "prepare-commit-msg", path, "message", index=index)
    run_person_hook(repo, "commit-msg", path, index=index)
    with open(path, "rb") as f:
        result = decode_name(repo.git.run("stripspace", stdin=f.read() or b"\n")[1])
    if not result.strip():
        raise Refused("the hooks left no message")
    return result


def _write_object(repo: Repo, tree: str, parent: str, message: str) -> str:
    """Write the commit object as the person, signed if they sign; return its oid."""
    args = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree]
    if parent.strip("0"):
        args += ["-p", parent]
    if repo.config.get_flag("commit.gpgsign"):
        args += ["-S"]
    command = ("git", "-C", repo.worktree, *args)
    try:
        running = Running(command, make_environment(repo), True)
        return running.finish(encode_name(message))[1].decode().strip()
    except GitError as e:
        raise Refused(format_reason(e)) from None


def _publish(repo: Repo, plan: AutoCommitPlan, message: str) -> None:
    """Write the intent, then move HEAD and the person's index under index.lock."""
    lock = Lock(repo)
    plan.note_lock(lock.prepare())
    plan.store(repo)
    _take(lock)
    try:
        next_index = prepare_next(repo, plan.tree, plan.entries)
        _move_head(repo, plan, message)
        install_index(repo, next_index)
    finally:
        lock.let_go()


def _take(lock: Lock) -> None:
    try:
        lock.take()
    except Busy as e:
        raise Refused(str(e)) from None


def _move_head(repo: Repo, plan: AutoCommitPlan, message: str) -> None:
    suffix = " (initial)"
    if plan.expected.strip("0"):
        suffix = ""
    reason = f"commit{suffix}: {message.splitlines()[0]}"
    commits = plan.commit, plan.expected
    options = ("-c", "core.filesRefLockTimeout=2000")
    args = (*options, "update-ref", "-m", reason, "HEAD", *commits)
    command = ("git", "-C", repo.worktree, *args)
    try:
        Running(command, make_environment(repo), False).finish()
    except GitError as e:
        head = refs.read_head(repo) or "0" * len(plan.expected)
        if head != plan.expected:  # git's message is translated
            raise Moved("HEAD", plan.expected, head) from None
        raise Refused(format_reason(e)) from None


def settle_commit(repo: Repo, plan: AutoCommitPlan) -> bool:
    """Finish or undo a commit that was killed; return whether it exists.  Doing so again changes
    nothing.  The caller holds the lock of this worktree's commits, and stores the commit."""
    lock = Lock(repo, list(plan.mark))
    exists = bool(plan.commit and is_ancestor(repo, plan.commit, "HEAD"))
    if exists:
        if not lock.is_ours():
            lock.prepare()
            _take(lock)
        head = Lookup(repo.objects, need_commit(repo.objects, "HEAD")["tree"])
        unchanged = {path: entry for path, entry in plan.entries.items() if head(path) == entry}
        install_index(repo, prepare_next(repo, plan.tree, unchanged))
    lock.let_go()
    return exists


def note_changes(repo: Repo, before: Entries) -> None:
    """Record the changes that hooks made to files, by the entries before.

    Otherwise the next look takes them for the person's, and a session's file that a hook has
    formatted is not committed any more.
    """
    after = scan.read_paths(repo, sorted(before), write=True)
    if all(after.get(path) == entry for path, entry in before.items()):
        return
    with Journal(repo) as held:
        seen = read_last_seen(repo, held.lines)
        now = read_clock(repo)
        lines: list[Edit] = []
        for path, entry in before.items():
            is_changed = path in after and after[path] != entry
            if is_changed and seen.get_entry(path) == entry:
                edit = build_edit(path, entry, after[path], UNKNOWN, credit.HOOK, now)
                lines.append(edit)
        held.append(lines)


STASH = "refs/stash"


def read_stash(repo: Repo) -> str:
    """The newest stash, '' for none: it changes if the person stashes something."""
    return refs.read_ref(repo, STASH) or ""


def select_unchanged(repo: Repo, files: Mapping[str, Entry | None]) -> dict[str, Entry | None]:
    """The files that the worktree has with the same entry."""
    present = scan.read_paths(repo, sorted(files), write=False)
    unchanged: dict[str, Entry | None] = {}
    for path, entry in files.items():
        if path in present and present[path] == entry:
            unchanged[path] = entry
    return unchanged


def put_back(repo: Repo, plan: AutoCommitPlan) -> None:
    """Restore the files that hooks have reset to HEAD's content.

    Does nothing if the stash has changed: then the work was put away on purpose.
    """
    head = Lookup(repo.objects, plan.tree)
    reset = {path: entry for path, entry in plan.dirty.items() if head(path) != entry}
    for _ in range(2):  # a file that is away for a moment is back by the second look
        committed = {path: head(path) for path in reset}
        reset = {path: reset[path] for path in select_unchanged(repo, committed)}
        if not reset or read_stash(repo) != plan.stash:
            return
    git.append_trace("auto", f"put back: {sorted(reset)}")
    _write(repo, reset)


def _write(repo: Repo, files: Mapping[str, Entry | None]) -> None:
    index = IndexFile(repo, "lost")
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
