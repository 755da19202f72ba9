"""git's refs and reflogs: read them without git, and move refs in transactions, which one git
makes for the whole process; and the entries of `git stash`."""

from __future__ import annotations

import os
import time

from gitcp import git
from gitcp.errors import Error, GitError, Moved
from gitcp.git import ANY, WITHOUT_HOOKS, decode_name, encode_name, files, fill_pipe, gitdir
from gitcp.git.files import exclusive, locate_scratch
from gitcp.git.gitdir import Unsure
from gitcp.git.objects import Lookup, find_tree
from gitcp.text.ids import BRANCHES, NOTES, V1

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, State, Version

    Result = TypeVar("Result")
    Update = tuple[str, str | None, str | None]  # ref, new oid or None, old oid or None

# gitcp's transactions do not run the person's reference-transaction hook
# (doc/git.md "Locks and refs").
_WAYS = (
    *WITHOUT_HOOKS,
    *("-c", "core.fsync=reference", "-c", "core.filesRefLockTimeout=2000"),
    *("-c", "core.packedRefsTimeout=5000"),
)


class _Transactions:
    """`git update-ref --stdin`, which makes one transaction after the other until this process
    ends, or one fails."""

    def __init__(self, repo: Repo, reason: str) -> None:
        self._args = (*_WAYS, "update-ref", "-m", reason, "-z", "--stdin")
        self.reason, self._run = reason, repo.git.start(*self._args, feed=True)

    def make_orders(self, orders: Sequence[str]) -> None:
        """Make orders, all or none.  Raises GitError, and Late at the deadline."""
        commands = "\0".join(("start", *orders, "commit", ""))
        fill_pipe(self._run.get_pipes()[0], encode_name(commands))
        answer = b""
        while not answer.endswith(b"commit: ok\n"):
            data = self._run.read_next()
            if not data:
                status = self.end_git()
                errors = self._run.errors.replace(b"fatal: commit: ", b"fatal: ")
                raise GitError(("git", *self._args), status, errors)
            answer += data

    def end_git(self) -> int:
        """Have git end; return its status."""
        return self._run.finish(ok=ANY)[0]


def make_transaction(repo: Repo, orders: Sequence[str], reason: str | None) -> None:
    """Make orders for update-ref, all or none, with the reason in the reflogs; None: no reflog
    stays.  Raises GitError."""
    running: _Transactions | None = git.LASTING.pop(repo.git, None)
    if running and reason not in (None, running.reason):
        running.end_git()
        running = None
    repo.objects.flush()
    running = running or _Transactions(repo, reason or "gitcp")
    running.make_orders(orders)
    git.LASTING[repo.git] = running


# Read refs, and move them in one transaction that checks every old value.
_TRIES = 20
_STALE = 2.0  # seconds: core.filesRefLockTimeout of gitcp's transactions
_OURS = (BRANCHES, "refs/gitcp/", NOTES, "refs/entire/")
_MOVED = r"cannot lock ref '(.*?)': (?:is at (\w+) but expected (\w+))?"
_RETRY = ("but expected", "reference already exists", "unable to resolve reference")


def set_markers(repo: Repo) -> None:
    """Set the markers that there is data and that it is not pushed, before a ref moves."""
    for name in ("linked", "unpushed"):
        files.touch_private(repo, repo.join_shared(name))


def update_refs(repo: Repo, updates: Sequence[Update], reason: str) -> None:
    """Make updates in their order, all or none, with the reason in the reflog.

    (ref, new, old) moves, (ref, new, None) creates, (ref, None, old) deletes.  Raises Moved if a
    ref is not at its old value, GitError for any other failure.
    """
    if not updates:
        return
    orders = []
    for ref, new, old in updates:
        orders.append("option no-deref")  # else a symbolic ref would move its target
        if new and old:
            orders += [f"update {ref}", new, old]
        elif new:
            orders += [f"create {ref}", new]
        elif old:
            orders += [f"delete {ref}", old]
        else:
            raise Error(f"'{ref}': neither an old nor a new value")
    is_logged = any(new for _, new, _ in updates)  # a deletion takes the reflog along
    for left in range(len(updates), -1, -1):  # a killed process may have left each ref's lock
        try:
            make_transaction(repo, orders, reason if is_logged else None)
            return
        except GitError as e:
            if not (left and _take_stale_locks(repo, e.complaint, updates)):
                raise _explain(repo, e, updates) from None


def retry_moved(repo: Repo, lock: str, attempt: Callable[[], Result]) -> Result:
    """Call attempt(), which reads a ref, builds on it and moves it, under a lock of gitcp; return
    its result.

    If another program moves the ref meanwhile (Moved), attempt() is called again, up to _TRIES
    times.
    """
    for left in reversed(range(_TRIES)):
        try:
            with exclusive(repo, lock):
                return attempt()
        except Moved:
            if not left:
                raise
    raise AssertionError


def _explain(repo: Repo, e: GitError, updates: Sequence[Update]) -> Error:
    message = e.complaint
    if "reference broken" in message or "Is a directory" in message:
        names = " or ".join(f"'{ref}'" for ref, _, _ in updates if f"'{ref}'" in message)
        return Error(f"git cannot read {names or 'a ref'}: 'gitcp fsck --fix' repairs it")
    import re

    match = re.search(_MOVED, message)
    if match and any(sign in message for sign in _RETRY):
        ref = match[1]
        old = next((old for name, _, old in updates if name == ref), None)
        return Moved(ref, old, match[2] or read_ref(repo, ref))
    return e


def read_ref(repo: Repo, ref: str) -> str | None:
    """The oid of a full ref name, None if there is no such ref.  git is asked only if the files do
    not have the oid."""
    try:
        return gitdir.find_ref(repo, ref)
    except Unsure:
        status, out = repo.git.run("rev-parse", "-q", "--verify", ref, ok=(0, 1, 128))
        return out.decode().strip() if status == 0 else None


def read_head(repo: Repo) -> str | None:
    """The oid of HEAD, None if it is unborn; read as by read_ref()."""
    try:
        return gitdir.find_head(repo)
    except Unsure:
        return read_ref(repo, "HEAD")


def read_branch(repo: Repo) -> str:
    """The full name of the branch that HEAD is on; HEAD if it is detached."""
    try:
        content = gitdir.read_head(repo)
        return (content.startswith(b"ref: ") and decode_name(content[5:])) or "HEAD"
    except Unsure:
        _, out = repo.git.run("symbolic-ref", "-q", "--no-recurse", "HEAD", ok=(0, 1))
        return decode_name(out.strip()) or "HEAD"


def read_base(repo: Repo) -> str:
    """The oid of HEAD; zeros if it is unborn."""
    return read_head(repo) or get_zeros(repo)


def get_zeros(repo: Repo) -> str:
    """The oid of zeros, which stands for no commit."""
    return "0" * len(repo.empty_tree)


def drop_empty_patterns(repo: Repo, patterns: Iterable[str]) -> list[str]:
    """The patterns of for-each-ref that may match, by what is below their directories; one with
    `**/`, by what follows that."""

    def may_match(pattern: str) -> bool:
        plain = min((pattern.partition(sign)[0] for sign in "*?["), key=len)
        folder = plain.rpartition("/")[0] + "/"
        tail = pattern.rpartition("**")[2]
        return gitdir.may_be_below(repo, folder) and (
            tail == pattern or gitdir.may_end(repo, folder, tail)
        )

    return [pattern for pattern in patterns if may_match(pattern)]


def list_refs(repo: Repo, *patterns: str) -> dict[str, str]:
    """ref -> oid of every ref below the patterns.  git is asked only if the patterns are not
    directories, or the files there are many or do not have the oids."""
    if patterns:
        stored = gitdir.list_stored(repo, patterns)
        if stored is not None:
            return stored
        patterns = tuple(drop_empty_patterns(repo, patterns))
        if not patterns:
            return {}
    form = "--format=%(refname)%00%(objectname)"
    lines = repo.git.read_records("for-each-ref", form, *patterns, sep=b"\n")
    pairs = (line.split(b"\0") for line in lines)
    return {decode_name(ref): oid.decode() for ref, oid in pairs}


def _take_stale_locks(repo: Repo, message: str, updates: Sequence[Update]) -> bool:
    """Remove the lock file that git's message names, left by a killed git on one of gitcp's refs,
    and those on the other refs of the transaction; return whether the first was removed.

    The caller holds gitcp's lock.  Only a file older than git waits is removed, and never
    packed-refs.lock, which any git may hold (doc/git.md "Locks and refs").
    """
    path, sign, _ = message.partition("Unable to create '")[2].partition("': File exists")
    inside = ""
    if sign and path.endswith(".lock"):
        inside = os.path.relpath(path, repo.common)
    if not (inside.startswith(_OURS) and _take_stale_lock(repo, path)):
        return False
    for ref, _, _ in updates:
        if ref.startswith(_OURS):
            _take_stale_lock(repo, os.path.join(repo.common, f"{ref}.lock"))
    return True


def _take_stale_lock(repo: Repo, path: str) -> bool:
    """Remove a lock file that is older than git waits for one; return whether it is gone."""
    away = locate_scratch(repo, f"stale-{os.getpid()}-{time.monotonic_ns()}")
    try:
        before = os.lstat(encode_name(path))
        repo.make_folder(os.path.dirname(away))
        if _read_clock(away) - before.st_mtime < _STALE:
            return False
        os.rename(encode_name(path), away)
        if not os.path.samestat(os.lstat(away), before):
            os.link(away, encode_name(path))  # a running git has made it meanwhile
            return False
    except FileNotFoundError:
        return True  # its owner has removed it
    finally:
        if os.path.lexists(away):
            os.unlink(away)
    git.append_trace("refs", f"removed the stale lock '{path}'")
    return True


def _read_clock(path: str) -> float:
    """The time by the clock of the file system that holds path, which it creates."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        return os.fstat(fd).st_mtime
    finally:
        os.close(fd)


# Reading reflogs without a process: the moves of HEAD, and the stash.
_STASHES = 20  # newest entries
# What moved HEAD: a commit was made in this worktree, others or copies were brought to it, or
# HEAD left for another commit.
MADE = "made"
BROUGHT = "brought"
LEFT = "left"
UNKNOWN = "unknown"
_REASONS = {
    MADE: (b"commit", b"merge", b"revert"),
    BROUGHT: (b"pull", b"rebase", b"cherry-pick", b"am:", b"clone:", b"fetch", b"initial pull",
              b"update by push"),
    LEFT: (b"reset:", b"checkout:", b"switch:", b"branch", b"Branch", b"stash", b"bisect", b"am "),
}  # fmt: skip
AUTOSTASHES = "rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH"


class HeadMark:
    """Where HEAD was in this worktree: its oid, and the bytes of its reflog, which grows with each
    move; 0 if only the oid was written down, as in `<git-dir>/gitcp/look` and `looked`.

    A session's state has the mark of its last event."""

    __slots__ = ("oid", "size")

    def __init__(self, oid: str, size: int = 0) -> None:
        self.oid = oid
        self.size = size


def mark_head(repo: Repo, head: str) -> HeadMark:
    """The mark of now.  head: the oid of HEAD, which the caller has read."""
    return HeadMark(head, gitdir.measure_log(repo))


def read_mark(state: State) -> HeadMark:
    """The mark in a session's state."""
    return HeadMark(state.get("base_commit") or "", state.get("head_log", 0))


def write_mark(state: State, mark: HeadMark) -> None:
    """Replace the mark in a session's state."""
    state["base_commit"] = mark.oid
    state["head_log"] = mark.size


def list_moves_since(repo: Repo, mark: HeadMark, now: HeadMark | None = None) -> list[gitdir.Move]:
    """The moves of HEAD in this worktree since a mark, oldest first; if the reflog does not have
    the mark, all that it has at its end.  now: the mark of now; without it only the oid counts."""
    moves: list[gitdir.Move] = []
    if now and mark.size:
        grown = now.size - mark.size
        if 0 < grown <= gitdir.LOG_TAIL:
            moves = [*gitdir.read_log(repo, "HEAD", grown)][::-1]
        if not grown or _begin_at(moves, mark.oid):
            return moves
        return list_head_moves(repo)
    for move in gitdir.read_log(repo, "HEAD"):
        if move[1] == mark.oid:
            break
        moves.append(move)
        if move[0] == mark.oid:
            break
    return moves[::-1]


def _begin_at(moves: Sequence[gitdir.Move], oid: str) -> bool:
    """Whether moves begin where a mark was; a hook may have taken its oid on to a commit since."""
    made = (new for _, new, reason in moves if tell_move(reason) != LEFT)
    return oid in (*(old for old, _, _ in moves[:1]), *made)


def list_head_moves(repo: Repo) -> list[gitdir.Move]:
    """The last moves of HEAD in this worktree, oldest first."""
    return [*gitdir.read_log(repo, "HEAD")][::-1]


def tell_move(reason: bytes) -> str:
    """What moved HEAD, by git's reason in the reflog: MADE, BROUGHT, LEFT or UNKNOWN."""
    if reason.startswith(b"merge ") and reason.endswith(b": Fast-forward"):
        return BROUGHT
    return next((kind for kind in _REASONS if reason.startswith(_REASONS[kind])), UNKNOWN)


def select_made(moves: Iterable[gitdir.Move]) -> set[str]:
    """The commits to which moves led and that were made in this worktree: not pulled, merged in,
    reset to or switched to."""
    return {new for _, new, reason in moves if tell_move(reason) in (MADE, UNKNOWN)}


def find_committed_head(repo: Repo, old: str) -> str | None:
    """HEAD if only commits made in this worktree lead from old to it; else None."""
    moves = list_moves_since(repo, HeadMark(old))
    if moves and moves[0][0] == old and all(move[2].startswith(b"commit") for move in moves):
        return moves[-1][1]
    return None


def leads_to(repo: Repo, old: str, new: str) -> bool:
    """Whether commits, pulls, merges and rewrites in this worktree moved HEAD from old to new, so
    that uncommitted changes stayed.  Moves to another commit and back do not count."""
    for before, after, reason in gitdir.read_log(repo, "HEAD"):
        if new == old:
            return True
        if after == new and tell_move(reason) in (MADE, BROUGHT):
            new = before
    return new == old


def list_reset_from(repo: Repo, to: str) -> list[str]:
    """The commits that the last resets to `to` in this worktree left, newest first."""
    commits: list[str] = []
    for before, after, reason in gitdir.read_log(repo, "HEAD"):
        if after == to and reason.startswith(b"reset:"):
            commits.append(before)
            to = before
        elif after == to or commits:
            break
    return commits


def list_stashes(repo: Repo) -> list[str]:
    """The oids of the entries of `git stash`, newest first: stash@{0}, stash@{1}, ..."""
    return [new for _, new, _ in gitdir.read_log(repo, "refs/stash")][:_STASHES]


def list_autostashes(repo: Repo) -> list[str]:
    """The oids of the autostashes of a rebase or merge under way here."""
    paths = (os.path.join(repo.git_dir, name) for name in AUTOSTASHES)
    return [files.peek(path).decode("ascii", "replace").strip() for path in paths]


# The commits of an entry of `git stash`: its base, worktree, index and untracked files.
_PARTS = ("^1", "", "^2", "^3")


class Stashed:
    """An entry of `git stash`, with the trees that it has."""

    def __init__(self, objects: Objects, oid: str) -> None:
        self._base, *self._trees = (
            Lookup(objects, find_tree(objects, f"{oid}{part}")) for part in _PARTS
        )

    def has(self, path: str, entry: Entry) -> bool:
        """Whether its worktree, index or untracked files have this entry at a path."""
        return any(tree(path) == entry for tree in self._trees)

    def changes(self, path: str) -> bool:
        """Whether it has any change of a path."""
        work, _, untracked = self._trees
        return work(path) != self._base(path) or untracked(path) is not None

    def list_steps(self, paths: Iterable[str]) -> Iterator[tuple[str, Version, Version]]:
        """Yield (path, its version in the base, the version that an apply restores)."""
        work, _, untracked = self._trees
        for path in paths:
            yield path, self._base(path), work(path) or untracked(path)

    def list_versions(self, paths: Iterable[str]) -> Iterator[tuple[str, Version]]:
        """Yield (path, version) for the versions in its worktree and index that its base has
        not."""
        work, index, untracked = self._trees
        for path in paths:
            for version in (work(path) or untracked(path), index(path)):
                if version != self._base(path):
                    yield path, version


class Stash:
    """The entries of `git stash`, newest first, read when they are first needed."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._entries: list[Stashed] | None = None
        self._every: list[Stashed] | None = None

    def list_entries(self) -> list[Stashed]:
        if self._entries is None:
            self._entries = [Stashed(self._repo.objects, oid) for oid in list_stashes(self._repo)]
        return self._entries

    def list_all(self) -> list[Stashed]:
        """The entries, and the autostashes of operations under way."""
        if self._every is None:
            oids = filter(None, list_autostashes(self._repo))
            self._every = [
                *self.list_entries(),
                *(Stashed(self._repo.objects, oid) for oid in oids),
            ]
        return self._every

    def holds(self, path: str, entry: Entry) -> bool:
        """Whether an entry or an autostash has this entry at a path."""
        return any(stashed.has(path, entry) for stashed in self.list_all())

    def changes(self, path: str) -> bool:
        """Whether an entry or an autostash has a change of a path."""
        return any(stashed.changes(path) for stashed in self.list_all())


# Where checkpoints are stored: each on a ref of its own, or all on a branch.
#
# A place is named by its ref; CHECKPOINTS is the place of all that have their own
# (doc/formats.md "Checkpoints as refs").
REF = V1
MEMORY = "refs/gitcp/store"  # where REF was when gitcp last moved or saw it
