"""The paths of a repository, asked of git once, and its configuration."""

from __future__ import annotations

import os
import stat

from gitcp import memory
from gitcp.core import config_table, formats
from gitcp.core.formats import hash_worktree
from gitcp.errors import Error, NoRepository
from gitcp.files import METHOD
from gitcp.git import Git, is_alone
from gitcp.gitdir import Answers, ask_config, ask_place, is_embedded
from gitcp.store.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Self

    from gitcp.gitdir import Values

_EMBEDDED = "'{}' is not a repository for gitcp: the one around it tracks its files"
# Variables that tie git to an index, a subdirectory or a worktree: a Repo sets its own.
_TIES = ("GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_INTERNAL_SUPER_PREFIX")


class Config:
    """git's configuration, read by one process when it is first needed."""

    __slots__ = ("_answers", "_git", "_values")

    def __init__(self, git: Git, answers: Answers | None = None) -> None:
        self._git, self._answers = git, answers
        self._values: Values | None = None

    def get_all(self, key: str) -> list[str]:
        """Every value of key (section and name in lower case), the strongest last."""
        if self._values is None:
            self._values = self._answers.read_config() if self._answers else ask_config(self._git)
            METHOD["core.fsyncmethod"] = self.get("core.fsyncmethod")
        return self._values.get(key, [])

    def read_values(self) -> Values:
        """All that is set: key -> its values, the strongest last."""
        self.get_all("")
        return self._values or {}

    def list_keys(self, prefix: str, suffix: str) -> list[str]:
        """The names of all keys that are set, start with prefix and end in suffix."""
        return [k for k in self.read_values() if k.startswith(prefix) and k.endswith(suffix)]

    def get(self, key: str, default: str = "") -> str:
        values = self.get_all(key)
        return values[-1] if values else default

    def get_flag(self, key: str, default: bool = False) -> bool:
        """A boolean as git reads it; raise Error, which names the key, for another value."""
        value = self.get(key, str(default)).lower()
        if value in ("true", "yes", "on", "1"):
            return True
        if value in ("false", "no", "off", "0", ""):
            return False
        raise Error(f"bad boolean config value '{value}' for '{key}'")

    def get_option(self, key: str) -> Any:
        """The value of a key in the table of gitcp's keys; its default if it is not set or not
        valid."""
        return config_table.read_value(key, self.get_all(key))


class Repo:
    """One working tree of one repository (or a bare one: top is None).

    top, git_dir and common are absolute paths, to which git is bound; hook_git has the index of the
    hook that runs this process (doc/git.md "Which hooks run").  workspace is the name of a jj
    workspace that is no git worktree, '' for the default one.
    """

    workspace = ""

    def __init__(
        self,
        top: str | None,
        git_dir: str,
        common: str,
        algo: str,
        base: Git,
        answers: Answers | None = None,
    ) -> None:
        self.top, self.git_dir, self.common, self.algo = top, git_dir, common, algo
        ties = dict.fromkeys(_TIES)
        place = {"GIT_DIR": git_dir} | ({"GIT_WORK_TREE": top} if top else {})
        if not self.has_git:
            place["GIT_COMMON_DIR"] = common  # not what a file below the worktree names
        self.git = base.copy_with(top, {**ties, **place})
        index = base.env.get("GIT_INDEX_FILE")
        if index and top and not os.path.isabs(index):
            index = os.path.join(base.cwd, index)
        self.hook_git = self.git.copy_with(top, {"GIT_INDEX_FILE": index}) if index else self.git
        self.config = Config(self.git, answers)
        self.uses_git_alone = is_alone(self.git.env)
        self._has_jj: dict[str, bool] = {}  # directory -> whether it has a `.jj`
        self.opened: list[Objects] = []  # of each `with Objects(repo)`, the innermost last

    @classmethod
    def find(
        cls,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        eager: bool = False,
        init: str | None = None,
    ) -> Repo:
        """The repository around cwd; raise Error if there is none.

        eager: read the configuration at the same time, since it will be needed.
        init: where a jj workspace's own git directory is made if it has none, '' for inside it.
        """
        folder = cwd or _read_cwd()
        answers = _EARLY.pop(folder, None) if env is None else None
        base = answers.git.copy_with(cwd, {}) if answers else Git(cwd, env)
        is_free = "GIT_DIR" not in base.env
        if is_free and _is_jj_alone(folder) and (repo := cls._find_jj(folder, None, base, init)):
            return repo
        if eager and answers is None:
            answers = Answers(base, folder)
        place = answers.read_place() if answers else ask_place(base)
        top = place[3] if len(place) > 3 else None
        may_be_jj = is_free and (top or len(place) < 3) and folder != top
        if may_be_jj and (repo := cls._find_jj(folder, top, base, init)):
            return repo
        if len(place) < 3:
            raise NoRepository(folder)
        if is_free and is_embedded(place[0], folder):
            raise Error(_EMBEDDED.format(place[0]))
        return cls(top, place[0], place[1], place[2], base, answers)

    @classmethod
    def _find_jj(cls, folder: str, stop: str | None, base: Git, init: str | None) -> Repo | None:
        """The jj workspace around a directory, below stop; None for none."""

        from gitcp import jj

        if not (root := jj.find_root(folder, stop)):
            return None
        git_dir, common, name = jj.open_workspace(root, init)
        repo = cls(root, git_dir, common, "sha1", base)
        repo.algo = repo.config.get("extensions.objectformat", "sha1").lower()
        repo.workspace = name
        return repo

    @classmethod
    def find_here(cls) -> Repo:
        """The repository around the current directory, found once in a process."""
        cwd = _read_cwd()
        if cwd not in _OPENED:
            _OPENED[cwd] = cls.find(eager=True)
        return _OPENED[cwd]

    @classmethod
    def find_at(cls, place: str) -> Repo:
        """The repository around a directory, found once in a process."""
        real = os.path.realpath(place)
        if real not in _OPENED:
            _OPENED[real] = cls.find(real, eager=True)
        return _OPENED[real]

    def copy_with(self, env: Mapping[str, str | None]) -> Self:
        """The same repository, its git with env over the environment (None: without)."""
        git = self.git.copy_with(None, env)
        other = type(self)(self.top, self.git_dir, self.common, self.algo, git)
        other.workspace = self.workspace
        return other

    @property
    def objects(self) -> Objects:
        """The object database: that of the innermost `with Objects(repo)`, else the one of this
        process, which stays open."""
        if self.opened:
            return self.opened[-1]

        return Objects.get_shared(self)

    @property
    def worktree(self) -> str:
        """The root of the working tree; raise Error in a bare repository."""
        if self.top is None:
            raise Error(f"not a work tree: '{self.git_dir}'")
        return self.top

    @property
    def worktree_id(self) -> str:
        """'' for the main worktree, else git's name of the linked one
        (doc/formats.md "Identifiers")."""
        inside = os.path.join(self.common, "worktrees") + os.sep
        if self.git_dir.startswith(inside):
            return self.git_dir.removeprefix(inside)
        return self.workspace

    @property
    def jj(self) -> bool:
        """Whether the working tree is a registered jj workspace, with or without a `.git` beside
        it."""
        return bool(self.top) and self._is_workspace(self.worktree)

    @property
    def jj_root(self) -> str:
        """The jj workspace with the same branches: this worktree or the main one; '' for none."""
        if self.jj:
            return self.worktree
        main = os.path.dirname(self.common)
        return main if self._is_workspace(main) else ""

    def _is_workspace(self, folder: str) -> bool:
        """Whether a directory is a registered jj workspace."""
        if folder not in self._has_jj:
            self._has_jj[folder] = os.path.isdir(f"{folder}/.jj")
        if not self._has_jj[folder]:
            return False
        from gitcp import jj

        return bool(jj.find_registered(folder))

    @property
    def has_git(self) -> bool:
        """Whether git itself sees this worktree, so that its hooks run for commits made here."""
        return not self.git_dir.endswith("/.jj/gitcp.git")

    @property
    def worktree_hash(self) -> str:
        """The first 6 hex digits of the SHA-256 of worktree_id."""
        return hash_worktree(self.worktree_id)

    def join_own(self, *parts: str) -> str:
        """A path in gitcp's directory of this worktree."""
        return "/".join((self.git_dir, "gitcp", *parts))

    def join_shared(self, *parts: str) -> str:
        """A path in gitcp's directory that all worktrees share."""
        return "/".join((self.common, "gitcp", *parts))

    def list_folders(self) -> list[str]:
        """gitcp's directory of each worktree; it may not exist."""
        worktrees = os.path.join(self.common, "worktrees")
        names = sorted(os.listdir(worktrees)) if os.path.isdir(worktrees) else ()
        return [self.join_shared(), *(os.path.join(worktrees, n, "gitcp") for n in names)]

    def share_file(self, path: str) -> None:
        """Set the permissions of gitcp's file or directory as git sets those of its own
        (core.sharedRepository).  Raise OSError."""
        if setting := self.config.get("core.sharedrepository"):
            mode = os.stat(path).st_mode
            if (shared := formats.compute_shared_mode(setting, mode)) != stat.S_IMODE(mode):
                os.chmod(path, shared)

    def make_folder(self, path: str) -> None:
        """Create a directory in the git directory, shared as git's are.  Raise OSError."""
        if not os.path.isdir(path):
            self.make_folder(os.path.dirname(path))
            try:
                os.mkdir(path)
            except FileExistsError:
                return
            self.share_file(path)

    @property
    def empty_tree(self) -> str:
        return {
            "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }[self.algo]


_OPENED: dict[str, Repo] = memory.get_table("repositories")
_EARLY: dict[str, Answers] = memory.get_table("answers")


def look_early() -> None:
    """Ask git about the current directory in advance.

    A hook calls this first, and imports modules while git answers.
    """
    try:
        folder = _read_cwd()
    except Error:
        return  # an agent's event names the directory that counts
    git = Git()
    if "GIT_DIR" in git.env or not _is_jj_alone(folder):
        _EARLY[folder] = Answers(git, folder)


def _is_jj_alone(folder: str) -> bool:
    """Whether a directory is in a jj workspace that git does not see, so that asking git is
    useless."""
    while not any(map(os.path.lexists, (f"{folder}/.git", f"{folder}/HEAD"))):
        if os.path.isdir(f"{folder}/.jj"):
            return True
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            break
    return False


def _read_cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        raise Error("the current directory is gone") from None
