"""The person's index, the operation of git that it is in, and index files made beside it below
<git-dir>/gitcp.

An index file is changed as a copy, which then replaces the person's under git's own lock: no git
ever sees half of a change.
"""

from __future__ import annotations

import os
import time

from gitcp.errors import Busy, Changed
from gitcp.git import WITHOUT_HOOKS, decode_name, files
from gitcp.git.objects import (
    Lookup,
    edit_tree,
    find_file,
    find_tree,
    need_commit,
    object_lists,
    read_changes,
)
from gitcp.record.session import locate_auto
from gitcp.record.snapshot import own_index, scan
from gitcp.text import console, json
from gitcp.text.shapes import is_count
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry

    Entries = Mapping[str, Entry | None]

# The person's hooks run for what they do themselves, not for these index files.
_WAYS = (*WITHOUT_HOOKS, *"-c core.fsmonitor=false -c core.useReplaceRefs=false".split())
_RECENT = 20  # commits that an old index may set back
_PATIENCE = 3.0  # seconds for another git to let go of the index
_UNDER_WAY = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}


class IndexFile:
    """An index file below <git-dir>/gitcp/auto, by a name, and git that runs on it."""

    def __init__(self, repo: Repo, name: str) -> None:
        self.repo = repo
        self.path = locate_auto(repo, name)

    def run(self, *args: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)) -> bytes:
        """The output of git; raises GitError."""
        env = {"GIT_INDEX_FILE": self.path}
        self.repo.objects.flush()
        return self.repo.git.run(*_WAYS, *args, stdin=stdin, ok=ok, env=env, filters=True)[1]

    def put(self, entries: Entries) -> None:
        """Set the entries of paths; None removes the path."""
        if not entries:
            return
        removal = "0", "0" * len(self.repo.empty_tree)
        # Removals come first: a file may replace a directory.
        ordered = sorted(entries.items(), key=lambda item: item[1] is not None)
        info = object_lists.encode_index_info({path: entry or removal for path, entry in ordered})
        self.run("update-index", "-z", "--index-info", stdin=info)
        self.run("update-index", "-q", "--refresh", ok=(0, 1))

    def add_intents(self, paths: Iterable[str]) -> None:
        """Add entries that only say that a file will be added; none for a file that is gone."""
        top = self.repo.worktree
        there = [path for path in paths if os.path.lexists(os.path.join(top, path))]
        if there:
            self.run("add", "--force", "--intent-to-add", "--", *there)

    def remove(self) -> None:
        for path in (self.path, f"{self.path}.lock"):
            files.remove_file(path)


def list_under_way(repo: Repo) -> list[str]:
    """The operations of git that are in progress, as 'a rebase'."""
    names = (name for name in _UNDER_WAY if os.path.lexists(os.path.join(repo.git_dir, name)))
    return list(dict.fromkeys(_UNDER_WAY[name] for name in names))


def list_staged(repo: Repo, tree: str, index: str = "") -> dict[str, Entry | None]:
    """path -> entry of the person's index, or of the file `index`, where it differs from tree, None
    if it lacks the path.  Intents to add are left out; a conflict has a mode that no entry has."""
    args = "diff-index --cached --raw -z --no-renames --no-abbrev --ita-invisible-in-index"
    env = {"GIT_INDEX_FILE": index} if index else {}
    repo.objects.flush()
    out = repo.git.run(*_WAYS, *args.split(), tree, env=env)[1].split(b"\0")
    entries: dict[str, Entry | None] = {}
    for row, path in zip(out[::2], out[1::2], strict=False):
        _, mode, _, oid, status = row.decode().split(" ")
        mode = f"U{mode}" if status == "U" else mode
        entries[decode_name(path)] = None if status == "D" else (mode, oid)
    return entries


def list_intents(repo: Repo, paths: Iterable[str]) -> list[str]:
    """Those of these paths, which the person's index does not have, that it says will be added."""
    names = sorted(paths)
    if not names:
        return []
    args = "diff-files --ita-invisible-in-index --diff-filter=A --name-only -z --"
    found = repo.git.run(*_WAYS, *args.split(), *names)[1].split(b"\0")
    return [decode_name(name) for name in found if name]


def read_entries(repo: Repo, paths: Iterable[str], index: str = "") -> dict[str, Entry | None]:
    """path -> entry of these paths in the person's index, or in the file `index`."""
    tree = find_tree(repo.objects, "HEAD")
    staged = list_staged(repo, tree or repo.empty_tree, index)
    head = Lookup(repo.objects, tree)
    return {path: staged[path] if path in staged else find_file(head, path) for path in paths}


def warn_of_reverts(repo: Repo, changes: Changes, head: str) -> None:
    """Warn of the paths that a commit with these changes on head sets back to what they were before
    a recent commit, and that the worktree has otherwise: its index is older than that commit."""
    # What the commit puts in the place of files that head has.
    unchecked = {path: (mode, oid) for path, (_, old, mode, oid) in changes.items() if old}
    for oid in object_lists.list_commits(repo, "--first-parent", f"--max-count={_RECENT}", head):
        commit = need_commit(repo.objects, oid)
        _, made = read_changes(repo.objects, commit)
        same = []
        for path, (mode, before, _, _) in made.items():
            if path in unchecked and unchecked[path] == (mode, before):
                same.append(path)
        present = scan.read_paths(repo, same, write=False)
        old = sorted(path for path in same if present.get(path) != unchecked[path])
        for path in same:
            del unchecked[path]
        if old:
            others = ""
            if len(old) > 1:
                others = f" and {len(old) - 1} more"
            subject = commit["message"].partition("\n")[0]
            console.warn(
                f"'{old[0]}'{others} is staged as it was before {abbreviate(oid)} ({subject}),"
                " which a commit takes back ('git restore --staged <path>' brings it up to date)"
            )


def write_part(objects: Objects, entries: Entries) -> str:
    """A tree of some entries of an index, without conflicts; its oid."""
    return edit_tree(objects, None, {p: e for p, e in entries.items() if e and e[0][0] != "U"})


def replace_entries(
    repo: Repo,
    old: Entries,
    new: Entries,
    record: Callable[[], object],
    intents: Iterable[str] = (),
) -> None:
    """Set entries of the person's index, after a call of record(); None removes a path.  intents:
    the removed paths of which it says then that they will be added.

    Raises Changed if the index does not have the old entries of these paths any more, and Busy if
    another git holds it.  The caller holds the lock of the undo log.
    """
    release_abandoned(repo)
    lock = Lock(repo, name="stage-lock")
    mark = json.dumps(lock.prepare()).encode()
    files.write_private(repo, _get_mark_path(repo), mark, durable=True)
    lock.take()
    index = copy_index(repo, "staged-index")
    try:
        if read_entries(repo, old, index.path) != old:
            raise Changed("the index has changed since it was looked at")
        index.put(new)
        index.add_intents(intents)
        record()
        install_index(repo, index)
    finally:
        lock.let_go()
        index.remove()
        files.remove_private(repo, _get_mark_path(repo))


def is_abandoned(repo: Repo) -> bool:
    """Whether replace_entries() was killed, unless it runs."""
    return os.path.exists(_get_mark_path(repo))


def release_abandoned(repo: Repo) -> None:
    """Release the index.lock that a killed replace_entries() left.  The caller holds the lock of
    the undo log."""
    if is_abandoned(repo):
        mark = files.load_cache(_get_mark_path(repo), [is_count])
        Lock(repo, mark).let_go()
        files.remove_private(repo, _get_mark_path(repo))


def _get_mark_path(repo: Repo) -> str:
    return locate_auto(repo, "stage-mark")


def install_index(repo: Repo, index: IndexFile) -> None:
    """Make an index the person's.  The caller holds index.lock, and releases it then."""
    os.rename(index.path, locate_index(repo))


def locate_index(repo: Repo) -> str:
    """The path of the person's index."""
    return os.path.join(repo.git_dir, "index")


def copy_index(repo: Repo, name: str) -> IndexFile:
    """An index file that is a copy of the person's index; an empty one if there is none."""
    index = IndexFile(repo, name)
    os.makedirs(os.path.dirname(index.path), exist_ok=True)
    files.remove_file(index.path)
    if own_index.copy_with_mtime(locate_index(repo), index.path) is None:  # racy entries stay racy
        files.remove_file(index.path)
    return index


class Lock:
    """The person's index.lock, taken as git takes it, and recognised by inode and date."""

    def __init__(self, repo: Repo, mark: list[int] | None = None, name: str = "lock") -> None:
        self.path = os.path.join(repo.git_dir, "index.lock")
        self._scratch = locate_auto(repo, name)
        self.mark = mark or []

    def prepare(self) -> list[int]:
        """The mark that index.lock will have once it is taken, to store in the intent."""
        os.makedirs(os.path.dirname(self._scratch), exist_ok=True)
        with open(self._scratch, "wb") as f:
            self.mark = _make_mark(os.fstat(f.fileno()))
        return self.mark

    def take(self) -> None:
        """Take the lock; raises Busy if another git holds it."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                os.link(self._scratch, self.path)
                break
            except FileExistsError:
                if time.monotonic() > until:
                    os.unlink(self._scratch)
                    raise Busy("another git holds the index ('index.lock' exists)") from None
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
