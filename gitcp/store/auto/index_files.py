"""The two index files of a commit: a private one it is made from, and the person's, which
afterwards says of the committed paths what HEAD says, and of all others what it said before."""

from __future__ import annotations

import os
import time

from gitcp.core.git import porcelain
from gitcp.errors import GitError
from gitcp.process import files
from gitcp.record import decode_name, encode_name
from gitcp.store.auto.refusal import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo

    Entries = Mapping[str, Entry | None]

# The person's hooks hear of a commit, not of the index files it is made with.
_WAYS = ("-c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.useReplaceRefs=false").split()
_MARKS = ("ls-files", "-v", "-z")
_PATIENCE = 3.0  # seconds for another git to let go of the index
PRIVATE, NEXT = "index", "next-index"  # below <git-dir>/gitcp/auto


class Git:
    """git on one index file of ours."""

    def __init__(self, repo: Repo, name: str) -> None:
        self.repo, self.path = repo, repo.join_own("auto", name)

    def run(self, *args: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> bytes:
        """What git prints of it; raises GitError."""
        env = {"GIT_INDEX_FILE": self.path}
        return self.repo.git.run(*_WAYS, *args, stdin=stdin, ok=ok, env=env, filters=True)[1]

    def put(self, entries: Entries) -> None:
        """Set the entries; None takes a path out."""
        zeros = "0" * len(self.repo.empty_tree)
        lines = [
            b"%s %s\t%s\0" % (*map(str.encode, entry or ("0", zeros)), encode_name(path))
            # What goes makes room first: a file may stand where a directory was.
            for path, entry in sorted(entries.items(), key=lambda item: item[1] is not None)
        ]
        if lines:
            self.run("update-index", "-z", "--index-info", stdin=b"".join(lines))
            self.run("update-index", "-q", "--refresh", ok=(0, 1))

    def remove(self) -> None:
        for path in (self.path, f"{self.path}.lock"):
            files.remove_file(path)


def list_staged(repo: Repo, tree: str, index: str = "") -> dict[str, Entry | None]:
    """What the person's index (or the file index) has otherwise than tree: path -> entry, None
    for what it lacks.  An intent to add is nothing yet; a conflict is an entry like no other."""
    args = "diff-index --cached --raw -z --no-renames --no-abbrev --ita-invisible-in-index"
    env = {"GIT_INDEX_FILE": index} if index else {}
    out = repo.git.run(*_WAYS, *args.split(), tree, env=env)[1].split(b"\0")
    entries: dict[str, Entry | None] = {}
    for row, path in zip(out[::2], out[1::2], strict=False):
        _, mode, _, oid, kind = row.decode().split(" ")
        entries[decode_name(path)] = (
            None if kind == "D" else (f"{kind}{mode}" if kind == "U" else mode, oid)
        )
    return entries


def make_private(repo: Repo, tree: str, entries: Entries) -> Git:
    """An index of the tree with the entries in it, and the stat data the person's knows."""
    index = Git(repo, PRIVATE)
    _copy(_locate_theirs(repo), index.path)
    index.run("read-tree", "--reset", tree)
    index.put(entries)
    return index


def list_unstaged(index: Git) -> set[str]:
    """The paths whose file is other than the index has it, or that it does not know."""
    args = ("ls-files", "--modified", "--deleted", "--others", "--exclude-standard", "-z")
    return {decode_name(path) for path in index.run(*args).split(b"\0")[:-1]}


def prepare_next(repo: Repo, tree: str, after: Entries) -> Git:
    """The person's index as it is to become: of the paths that stand there as in tree those
    of `after`, all else untouched, and so is what git is not to look for changes in.  The caller
    holds index.lock."""
    index = Git(repo, NEXT)
    _copy(_locate_theirs(repo), index.path)
    theirs, marked = list_staged(repo, tree, index.path), porcelain.parse_marked(index.run(*_MARKS))
    index.put({path: entry for path, entry in after.items() if path not in theirs})
    for option, paths in zip(("--assume-unchanged", "--skip-worktree"), marked, strict=True):
        again = b"".join(path + b"\0" for path in paths if after.get(decode_name(path)))
        if again:
            index.run("update-index", option, "-z", "--stdin", stdin=again)
    return index


def install(repo: Repo, index: Git) -> None:
    """Make it the person's index.  The caller holds index.lock, and releases it afterwards."""
    os.rename(index.path, _locate_theirs(repo))


def _locate_theirs(repo: Repo) -> str:
    return os.path.join(repo.git_dir, "index")


def _copy(source: str, to: str) -> None:
    os.makedirs(os.path.dirname(to), exist_ok=True)
    files.remove_file(to)
    try:
        with open(source, "rb") as f:
            data, status = f.read(), os.fstat(f.fileno())
    except FileNotFoundError:
        return
    with open(to, "wb") as f:
        f.write(data)
    os.utime(to, ns=(status.st_atime_ns, status.st_mtime_ns))  # what is racy stays racy


class Lock:
    """index.lock of the person's git, taken as git takes it; known again by inode and date."""

    def __init__(self, repo: Repo, mark: list[int] | None = None) -> None:
        self.path = os.path.join(repo.git_dir, "index.lock")
        self._scratch = repo.join_own("auto", "lock")
        self.mark = mark or []

    def prepare(self) -> list[int]:
        """What index.lock will be known by once it is ours: to be written down before."""
        os.makedirs(os.path.dirname(self._scratch), exist_ok=True)
        with open(self._scratch, "wb") as f:
            self.mark = _make_mark(os.fstat(f.fileno()))
        return self.mark

    def take(self) -> None:
        """Take it; raise Refused when another git keeps it."""
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
        """Whether index.lock is there and is the one that was marked."""
        try:
            return _make_mark(os.stat(self.path)) == self.mark
        except FileNotFoundError:
            return False

    def let_go(self) -> None:
        """Let go of it, if it is ours."""
        if self.is_ours():
            os.unlink(self.path)


def _make_mark(status: os.stat_result) -> list[int]:
    return [status.st_ino, status.st_mtime_ns]


def write_tree(index: Git) -> str:
    """The tree of an index; Refused with git's reason when it has none."""
    try:
        return index.run("write-tree").decode().strip()
    except GitError as e:
        raise Refused(e.complaint) from None
