"""The repositories that this person let gitcp work in, by `gitcp enable` or by starting a session
there: only in these git is run for a session whose home is elsewhere (doc/trust.md "Another
repository").

Each is an entry in the person's state directory, by the real path of the common git directory.
Whether a place belongs to one is read from files, since git would obey the configuration there.
"""

from __future__ import annotations

import os

from gitcp import files, jj
from gitcp.core import formats
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_LARGEST = 1 << 16  # bytes


def add_repository(repo: Repo) -> None:
    """Register a repository with its main worktree.  Raises Error if that cannot be written."""
    common, (main, name) = os.path.realpath(repo.common), os.path.split(repo.common)
    is_main = repo.top is not None and repo.git_dir == repo.common
    top = repo.worktree if is_main else main if name == ".git" else ""
    path, entry = _locate_entry(common), (common, os.path.realpath(top) if top else "")
    if repo.has_git and _read_entry(path) != entry:
        try:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        except OSError as e:
            raise Error(f"cannot write '{path}': {e.strerror}") from None
        files.replace_file(path, os.fsencode("\0".join(entry)), 0o600, durable=False)


def remove_repository(repo: Repo) -> None:
    """Take a repository out of the register."""
    files.remove_file(_locate_entry(os.path.realpath(repo.common)))


def is_registered(root: str) -> bool:
    """Whether a worktree, by the directory with its `.git`, belongs to a registered repository and
    is where that repository has it; or is a registered jj workspace without git."""
    root = os.path.realpath(root)
    if not os.path.lexists(os.path.join(root, ".git")):
        return bool(jj.find_registered(root))
    git_dir = find_git_dir(root)
    common = find_common_dir(git_dir)
    entry = _read_entry(_locate_entry(common))
    if git_dir == common:
        return entry == (common, root)
    if entry is None or entry[0] != common:
        return False
    link = os.fsdecode(files.peek(os.path.join(git_dir, "gitdir"))).strip()
    return os.path.realpath(os.path.dirname(os.path.join(git_dir, link))) == root


def find_git_dir(root: str) -> str:
    """The real path of the git directory that the `.git` of a worktree is or names."""
    git = os.path.join(root, ".git")
    text = os.fsdecode(files.peek(git)) if os.path.isfile(git) else ""
    name = text.removeprefix("gitdir:").strip()
    return os.path.realpath(os.path.join(root, name) if name else git)


def find_common_dir(git_dir: str) -> str:
    """The common directory of a git directory, which is a linked worktree's if git put it there."""
    above, name = os.path.split(os.path.dirname(git_dir))
    return above if name == "worktrees" else git_dir


def _locate_entry(common: str) -> str:
    key = formats.start_sha256(os.fsencode(common)).hexdigest()
    return files.locate_state("repositories", key[:32])


def _read_entry(path: str) -> tuple[str, str] | None:
    """(the common directory, the main worktree, '' without one) of an entry; None for none."""
    common, separator, top = os.fsdecode(files.peek(path, most=_LARGEST)).partition("\0")
    return (common, top) if separator else None
