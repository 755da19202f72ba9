"""The two index files of an auto-commit: the private one from which it is made, and the person's,
which then has HEAD's entries of the committed paths, and its own of all others."""

from __future__ import annotations

from gitcp.errors import GitError
from gitcp.git import decode_name, status
from gitcp.record.snapshot.index import IndexFile, copy_index, list_staged
from gitcp.steps.commits.person_hooks import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry

    StagedEntries = Mapping[str, Entry | None]

_MARKS = ("ls-files", "-v", "-z")
# below <git-dir>/gitcp/auto
PRIVATE = "index"
NEXT = "next-index"


def make_private(repo: Repo, tree: str, entries: StagedEntries) -> IndexFile:
    """A private index of the tree with these entries, and the stat data of the person's index."""
    index = copy_index(repo, PRIVATE)
    index.run("read-tree", "--reset", tree)
    index.put(entries)
    return index


def list_unstaged(index: IndexFile) -> set[str]:
    """The paths whose files differ from the index, or that it lacks."""
    args = ("ls-files", "--modified", "--deleted", "--others", "--exclude-standard", "-z")
    return {decode_name(path) for path in index.run(*args).split(b"\0")[:-1]}


def prepare_next(repo: Repo, tree: str, after: StagedEntries) -> IndexFile:
    """The person's next index: the entries of `after` for paths that are not staged against tree;
    other entries and all flags stay.  The caller holds index.lock."""
    index = copy_index(repo, NEXT)
    staged = list_staged(repo, tree, index.path)
    marked_paths = status.parse_marked(index.run(*_MARKS))
    index.put({path: entry for path, entry in after.items() if path not in staged})
    for option, paths in zip(("--assume-unchanged", "--skip-worktree"), marked_paths, strict=True):
        flagged_paths = b"".join(path + b"\0" for path in paths if after.get(decode_name(path)))
        if flagged_paths:
            index.run("update-index", option, "-z", "--stdin", stdin=flagged_paths)
    return index


def write_tree(index: IndexFile) -> str:
    """Write the tree of an index; raises Refused with git's reason."""
    try:
        return index.run("write-tree").decode().strip()
    except GitError as e:
        raise Refused(e.complaint) from None
