"""The repositories that this person let gitcp work in, by `gitcp enable` or by starting a session
there.  For a session whose home is elsewhere, gitcp runs git in no other repository (doc/trust.md
"Another repository").

Each is an entry in the person's state directory, by the real path of the common git directory.  A
random token is beside the entry and in the repository, so another repository that is put at the
same path is not taken for it.  Whether a directory belongs to a registered repository is read from
files, since git would obey the configuration there.
"""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.git import files, jj
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo

_LARGEST = 1 << 16  # bytes
_TOKEN = 16  # random bytes


def add_repository(repo: Repo) -> None:
    """Register a repository with its main worktree.  Raises Error if that cannot be written."""
    common, (parent, name) = os.path.realpath(repo.common), os.path.split(repo.common)
    is_main = repo.top is not None and repo.git_dir == repo.common
    if is_main:
        top = repo.worktree
    else:
        top = parent if name == ".git" else ""
    path = _locate_entry(common)
    entry = (common, os.path.realpath(top) if top else "")
    if not repo.has_git:
        return
    if _read_entry(path) != entry:
        try:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        except OSError as e:
            raise Error(f"cannot write '{path}': {e.strerror}") from None
        files.replace_file(path, os.fsencode("\0".join(entry)), 0o600, durable=False)
    if _read(f"{path}.token") != (_read(_locate_token(repo.common)) or None):
        with files.exclusive(repo, "install"):
            # A token that is there stays: another person may have registered the repository.
            token = _read(_locate_token(repo.common))
            if not token:
                token = os.urandom(_TOKEN).hex().encode()
                files.write_private(repo, _locate_token(repo.common), token)
            files.replace_file(f"{path}.token", token, 0o600, durable=False)


def remove_repository(repo: Repo) -> None:
    """Take a repository out of the register."""
    path = _locate_entry(os.path.realpath(repo.common))
    files.remove_file(path)
    files.remove_file(f"{path}.token")


def is_registered(root: str) -> bool:
    """Whether a worktree, by the directory with its `.git`, belongs to a registered repository and
    is where that repository has it; or is a registered jj workspace without git."""
    root = os.path.realpath(root)
    if not os.path.lexists(os.path.join(root, ".git")):
        return bool(jj.find_registered(root))
    git_dir = find_git_dir(root)
    common = find_common_dir(git_dir)
    path = _locate_entry(common)
    entry = _read_entry(path)
    token = _read(f"{path}.token")
    if not token or token != _read(_locate_token(common)):
        return False
    if git_dir == common:
        return entry == (common, root)
    if entry is None or entry[0] != common:
        return False
    link = os.fsdecode(files.peek(os.path.join(git_dir, "gitdir"))).strip()
    return os.path.realpath(os.path.dirname(os.path.join(git_dir, link))) == root


def find_git_dir(root: str) -> str:
    """The real path of the git directory that the `.git` of a worktree is or names."""
    git = os.path.join(root, ".git")
    text = ""
    if os.path.isfile(git):
        text = os.fsdecode(files.peek(git))
    name = text.removeprefix("gitdir:").strip()
    return os.path.realpath(os.path.join(root, name) if name else git)


def find_common_dir(git_dir: str) -> str:
    """The common directory of a git directory: the one above `worktrees/<name>` if it is a linked
    worktree's, else itself."""
    above, name = os.path.split(os.path.dirname(git_dir))
    return above if name == "worktrees" else git_dir


def _locate_entry(common: str) -> str:
    key = ids.start_sha256(os.fsencode(common)).hexdigest()
    return files.locate_state("repositories", key[:32])


def _locate_token(common: str) -> str:
    return os.path.join(common, "gitcp", "registered")


def _read(path: str) -> bytes:
    if os.path.isfile(path):
        return files.peek(path, most=_LARGEST)
    return b""


def _read_entry(path: str) -> tuple[str, str] | None:
    """(the common directory, the main worktree, '' without one) of an entry; None for none."""
    common, separator, top = os.fsdecode(files.peek(path, most=_LARGEST)).partition("\0")
    return (common, top) if separator else None
