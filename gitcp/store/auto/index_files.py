"""The two index files of an auto-commit: the private one from which it is made, and the person's,
which then has HEAD's entries of the committed paths, and its own of all others."""

from __future__ import annotations

import os
import time

from gitcp.core.git import porcelain
from gitcp.errors import GitError
from gitcp.process import files
from gitcp.record import decode_name
from gitcp.store.auto.refusal import Refused
from gitcp.store.git.tree import encode_index_info
from gitcp.store.snapshot.index import copy_dated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo

    Entries = Mapping[str, Entry | None]

# The person's hooks run for the commit, not for its index files.
_WAYS = ("-c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.useReplaceRefs=false").split()
_MARKS = ("ls-files", "-v", "-z")
_PATIENCE = 3.0  # seconds for another git to let go of the index
PRIVATE, NEXT = "index", "next-index"  # below <git-dir>/gitcp/auto


class Git:
    """Runs git on an index file below <git-dir>/gitcp/auto."""

    def __init__(self, repo: Repo, name: str) -> None:
        self.repo, self.path = repo, repo.join_own("auto", name)

    def run(self, *args: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> bytes:
        """The output of git; raises GitError."""
        env = {"GIT_INDEX_FILE": self.path}
        return self.repo.git.run(*_WAYS, *args, stdin=stdin, ok=ok, env=env, filters=True)[1]

    def put(self, entries: Entries) -> None:
        """Set the entries of paths; None removes the path."""
        if not entries:
            return
        removal = "0", "0" * len(self.repo.empty_tree)
        # Removals come first: a file may replace a directory.
        ordered = sorted(entries.items(), key=lambda item: item[1] is not None)
        info = encode_index_info({path: entry or removal for path, entry in ordered})
        self.run("update-index", "-z", "--index-info", stdin=info)
        self.run("update-index", "-q", "--refresh", ok=(0, 1))

    def remove(self) -> None:
        for path in (self.path, f"{self.path}.lock"):
            files.remove_file(path)


def list_staged(repo: Repo, tree: str, index: str = "") -> dict[str, Entry | None]:
    """path -> entry of the person's index, or of the file `index`, where it differs from tree, None
    if it lacks the path.  Intents to add are left out; a conflict has a mode that no entry has."""
    args = "diff-index --cached --raw -z --no-renames --no-abbrev --ita-invisible-in-index"
    env = {"GIT_INDEX_FILE": index} if index else {}
    out = repo.git.run(*_WAYS, *args.split(), tree, env=env)[1].split(b"\0")
    entries: dict[str, Entry | None] = {}
    for row, path in zip(out[::2], out[1::2], strict=False):
        _, mode, _, oid, status = row.decode().split(" ")
        mode = f"U{mode}" if status == "U" else mode
        entries[decode_name(path)] = None if status == "D" else (mode, oid)
    return entries


def make_private(repo: Repo, tree: str, entries: Entries) -> Git:
    """A private index of the tree with these entries, and the stat data of the person's index."""
    index = Git(repo, PRIVATE)
    _copy(_locate_theirs(repo), index.path)
    index.run("read-tree", "--reset", tree)
    index.put(entries)
    return index


def list_unstaged(index: Git) -> set[str]:
    """The paths whose files differ from the index, or that it lacks."""
    args = ("ls-files", "--modified", "--deleted", "--others", "--exclude-standard", "-z")
    return {decode_name(path) for path in index.run(*args).split(b"\0")[:-1]}


def prepare_next(repo: Repo, tree: str, after: Entries) -> Git:
    """The person's next index: the entries of `after` for paths that are not staged against tree;
    other entries and all flags stay.  The caller holds index.lock."""
    index = Git(repo, NEXT)
    _copy(_locate_theirs(repo), index.path)
    staged = list_staged(repo, tree, index.path)
    marked_paths = porcelain.parse_marked(index.run(*_MARKS))
    index.put({path: entry for path, entry in after.items() if path not in staged})
    for option, paths in zip(("--assume-unchanged", "--skip-worktree"), marked_paths, strict=True):
        flagged_paths = b"".join(path + b"\0" for path in paths if after.get(decode_name(path)))
        if flagged_paths:
            index.run("update-index", option, "-z", "--stdin", stdin=flagged_paths)
    return index


def install(repo: Repo, index: Git) -> None:
    """Make an index the person's.  The caller holds index.lock, and releases it then."""
    os.rename(index.path, _locate_theirs(repo))


def _locate_theirs(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "index")


def _copy(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    files.remove_file(target)
    copy_dated(source, target)  # racy entries stay racy


class Lock:
    """The person's index.lock, taken as git takes it, and recognised by inode and date."""

    def __init__(self, repo: Repo, mark: list[int] | None = None) -> None:
        self.path = os.path.join(repo.git_dir, "index.lock")
        self._scratch = repo.join_own("auto", "lock")
        self.mark = mark or []

    def prepare(self) -> list[int]:
        """The mark that index.lock will have once it is taken, to store in the intent."""
        os.makedirs(os.path.dirname(self._scratch), exist_ok=True)
        with open(self._scratch, "wb") as f:
            self.mark = _make_mark(os.fstat(f.fileno()))
        return self.mark

    def take(self) -> None:
        """Take the lock; raises Refused if another git holds it."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                os.link(self._scratch, self.path)
                break
            except FileExistsError:
                if time.monotonic() > until:
                    os.unlink(self._scratch)
                    raise Refused("another git holds the index ('index.lock' exists)") from None
                time.sleep(0.02)
        os.unlink(self._scratch)

    def is_ours(self) -> bool:
        """Whether index.lock exists and has the mark."""
        try:
            return _make_mark(os.stat(self.path)) == self.mark
        except FileNotFoundError:
            return False

    def let_go(self) -> None:
        """Release the lock if it has the mark."""
        if self.is_ours():
            os.unlink(self.path)


def _make_mark(status: os.stat_result) -> list[int]:
    return [status.st_ino, status.st_mtime_ns]


def write_tree(index: Git) -> str:
    """Write the tree of an index; raises Refused with git's reason."""
    try:
        return index.run("write-tree").decode().strip()
    except GitError as e:
        raise Refused(e.complaint) from None
