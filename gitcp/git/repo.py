"""The repository around a directory, found once in a process."""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.errors import Error, NoRepository
from gitcp.git import Config, Git, Location
from gitcp.git.files import METHOD
from gitcp.git.gitdir import Answers, ask_config, ask_place, is_embedded
from gitcp.git.objects import Objects, get_objects
from gitcp.text.ids import hash_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from gitcp.git import Values

_EMBEDDED = "'{}' is not a repository for gitcp: the one around it tracks its files"
# Variables that tie git to an index, a subdirectory or a worktree: a Repo sets its own.
_TIES = ("GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_INTERNAL_SUPER_PREFIX")


class Repo(Location):
    """One working tree of one repository (or a bare one: top is None), with its objects.

    hook_git has the index of the hook that runs this process (doc/git.md "Which hooks run").
    workspace is the name of a jj workspace that is no git worktree, '' for the default one.
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
        super().__init__(top, git_dir, common, algo, base, Config(self._read_config))
        self._answers = answers
        place = {"GIT_DIR": git_dir} | ({"GIT_WORK_TREE": top} if top else {})
        if not self.has_git:
            place["GIT_COMMON_DIR"] = common  # not what a file below the worktree names
        self.git = base.copy_with(top, {**dict.fromkeys(_TIES), **place})
        index = base.env.get("GIT_INDEX_FILE")
        if index and top and not os.path.isabs(index):
            index = os.path.join(base.cwd, index)
        if index:
            self.hook_git = self.git.copy_with(top, {"GIT_INDEX_FILE": index})
        else:
            self.hook_git = self.git
        self._has_jj: dict[str, bool] = {}  # directory -> whether it has a `.jj`

    def read_config_again(self) -> None:
        """Read the configuration anew when it is next needed, after a change of it."""
        self._answers = None
        self.config = Config(self._read_config)

    def open_worktree(self, top: str, git_dir: str) -> Repo:
        """Another worktree of the repository.  It has the same configuration, unless git is told to
        have others in worktrees."""
        other = Repo(top, git_dir, self.common, self.algo, self.git)
        names = self.config.list_keys("includeif.", ".path")
        if not names and "extensions.worktreeconfig" not in self.config.read_values():
            other.config = self.config
        return other

    def _read_config(self) -> Values:
        if self._answers:
            values = self._answers.read_config()
        else:
            values = ask_config(self.git)
        METHOD["core.fsyncmethod"] = values.get("core.fsyncmethod", [""])[-1]
        return values

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
        answers = None
        if env is None:
            answers = _EARLY.pop(folder, None)
        if answers:
            base = answers.git.copy_with(cwd, {})
        else:
            base = Git(cwd, env)
        is_free = "GIT_DIR" not in base.env
        if is_free and _is_jj_alone(folder):
            repo = cls._find_jj(folder, None, base, init)
            if repo:
                return repo
        if eager and answers is None:
            answers = Answers(base, folder)
        if answers:
            place = answers.read_place()
        else:
            place = ask_place(base)
        top = place[3] if len(place) > 3 else None
        may_be_jj = is_free and (top or len(place) < 3) and folder != top
        if may_be_jj:
            repo = cls._find_jj(folder, top, base, init)
            if repo:
                return repo
        if len(place) < 3:
            raise NoRepository(folder)
        if is_free and is_embedded(place[0], folder):
            raise Error(_EMBEDDED.format(place[0]))
        return cls(top, place[0], place[1], place[2], base, answers)

    @classmethod
    def _find_jj(cls, folder: str, stop: str | None, base: Git, init: str | None) -> Repo | None:
        """The jj workspace around a directory, below stop; None for none."""

        from gitcp.git import jj

        root = jj.find_root(folder, stop)
        if not root:
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
        return get_objects(self)

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
        from gitcp.git import jj

        return bool(jj.find_registered(folder))

    @property
    def worktree_hash(self) -> str:
        """The first 6 hex digits of the SHA-256 of worktree_id."""
        return hash_worktree(self.worktree_id)

    def list_folders(self) -> list[str]:
        """gitcp's directory of each worktree; it may not exist."""
        worktrees = os.path.join(self.common, "worktrees")
        names = sorted(os.listdir(worktrees)) if os.path.isdir(worktrees) else ()
        return [self.join_shared(), *(os.path.join(worktrees, n, "gitcp") for n in names)]


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
        below = folder
        folder = os.path.dirname(folder)
        if folder == below:
            break
    return False


def _read_cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        raise Error("the current directory is gone") from None
