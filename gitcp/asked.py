"""Ask git for the place of the repository and for its configuration, and cache the answers, which
saves each hook two processes.

<git-dir>/gitcp/asked has the answers with the stamps of the files that they depend on.  They are
not cached if only git can answer: under variables that change the place, with included files, in a
linked worktree, and in another user's directory (safe.directory).
"""

from __future__ import annotations

import os
import stat
import time

from gitcp import memory
from gitcp.core import formats, json
from gitcp.errors import Error, GitError, Late
from gitcp.files import put_file, read_file
from gitcp.git import Git, is_alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from gitcp.git import Running

    Stamp = list[int] | None  # of a file; None for no file
    Values = dict[str, list[str]]  # key -> its values, the effective one last

_SHAPE = {
    "key": {None: str},
    "where": [str],
    "config": {None: [str]},
    "files": {None: lambda value: value is None or isinstance(value, list)},
}
_LARGEST = 1 << 20  # bytes
_LITERAL = "GIT_LITERAL_PATHSPECS"
_SLACK = 2_000_000_000  # ns: a younger file may have changed since git read it
# git's own variables that say where configuration is, and those that change no answer.
_SOURCES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_HARMLESS = (
    *("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER"),
    *("GIT_INDEX_FILE", "GIT_PREFIX", "GIT_EXEC_PATH", "GIT_REFLOG_ACTION", "GIT_TRACE"),
    "GIT_FLUSH",
    *("GIT_SSL_", "GIT_HTTP_", "GIT_CURL_", "GIT_PROXY_", "GIT_ALLOW_PROTOCOL", "GIT_DIFF_"),
    *("GIT_SSH", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_PS1_"),
    *("GIT_NO_REPLACE_OBJECTS", "GIT_LITERAL_PATHSPECS", "GIT_NO_LAZY_FETCH", "GIT_MERGE_AUTOEDIT"),
)


def recall_answers(cwd: str, env: Mapping[str, str]) -> dict[str, Any] | None:
    """The cached {where, config} of this directory if it is still valid, else None."""
    top = find_top(cwd)
    if top is None or not _is_plain(env) or is_alone(env):
        return None
    try:
        kept = json.loads(read_file(_build_path(top), _LARGEST) or b"")
    except (Error, ValueError, RecursionError):
        return None
    if formats.find_fault(kept, _SHAPE) or kept["where"][-1:] != [top]:
        return None
    same = all(_read_stamp(file) == stamp for file, stamp in kept["files"].items())
    return kept if same and kept["key"] == _compute_key(env) else None


def keep_answers(
    env: Mapping[str, str],
    where: list[str],
    config: Mapping[str, list[str]],
    origins: Iterable[str],
    began: int,
) -> None:
    """Cache answers of git, asked since began (ns), unless they may change unseen.

    where: as of Answers.read_place(); origins: the files of the configuration.
    """
    git_dir, top = where[0], where[-1]
    if find_top(top) != top or git_dir != os.path.join(top, ".git"):
        return
    if not _is_plain(env) or is_alone(env):
        return
    if any(key == "include.path" or key.startswith("includeif.") for key in config):
        return
    read = [os.path.join(top, origin) for origin in origins]
    stamps = {file: _read_stamp(file) for file in [*read, *_list_sources(env, git_dir)]}
    young = any(stamp and stamp[0] > began - _SLACK for stamp in stamps.values())
    if young or not all(stamps[file] for file in read):
        return
    answers = {"key": _compute_key(env), "where": where, "config": config, "files": stamps}
    new = f"{_build_path(top)}.{os.getpid()}"
    try:
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as f:
            f.write(json.dumps(answers).encode())
        put_file(git_dir, new, _build_path(top))
    except OSError:
        pass  # gitcp is not enabled here


def _build_path(top: str) -> str:
    return os.path.join(top, ".git", "gitcp", "asked")


def find_top(cwd: str) -> str | None:
    """The nearest directory above cwd with a .git, if git is sure to find the same."""
    folder, device = cwd, None
    while True:
        try:
            st = os.lstat(os.path.join(folder, ".git"))
        except OSError:
            st = None
        here = os.lstat(folder)
        if here.st_dev != (device or here.st_dev) or os.path.lexists(os.path.join(folder, "HEAD")):
            return None  # another file system, or perhaps a git directory
        if st:
            own = st.st_uid == here.st_uid == os.geteuid()
            return folder if own and stat.S_ISDIR(st.st_mode) else None
        device, parent = here.st_dev, os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _is_plain(env: Mapping[str, str]) -> bool:
    """Whether no variable changes the place or adds to the configuration."""
    ours = (name for name in env if name.startswith("GIT_"))
    return all(name in _SOURCES or name.startswith(_HARMLESS) for name in ours)


def _compute_key(env: Mapping[str, str]) -> dict[str, str]:
    """The key of the cache: the environment that git's answers depend on, and the git program."""
    names = ("HOME", "XDG_CONFIG_HOME", *_SOURCES)
    # Without the inode: a hook's PATH begins with a copy of git.
    stamp = (_read_stamp(_find_git(env)) or [])[1:3]
    return {**{name: env[name] for name in names if name in env}, "git": f"{stamp}"}


def _find_git(env: Mapping[str, str]) -> str:
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    files = (os.path.join(folder or ".", "git") for folder in folders)
    return next((file for file in files if os.access(file, os.X_OK)), "")


def _list_sources(env: Mapping[str, str], git_dir: str) -> list[str]:
    """All files of configuration that git reads if they exist."""
    person = list_person_sources(env)
    system = ["/etc/gitconfig"]
    git = _find_git(env)
    for program in (git, os.path.realpath(git)):  # either may stand beside git's etc/
        for part in ("/bin/", "/lib/", "/libexec/"):
            prefix, separator, _ = program.partition(part)
            system += [f"{prefix}/etc/gitconfig"] if separator else []
    if "GIT_CONFIG_SYSTEM" in env:
        system = [env["GIT_CONFIG_SYSTEM"]]
    own = [os.path.join(git_dir, name) for name in ("config", "config.worktree", "commondir")]
    return [os.path.join(os.path.dirname(git_dir), file) for file in (*person, *system, *own)]


def list_person_sources(env: Mapping[str, str]) -> list[str]:
    """The files of git's global configuration, there or not."""
    if "GIT_CONFIG_GLOBAL" in env:
        return [env["GIT_CONFIG_GLOBAL"]]
    home = env.get("HOME", "")
    base = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return [os.path.join(base, "git", "config"), os.path.join(home, ".gitconfig")]


def _read_stamp(file: str) -> Stamp:
    try:
        st = os.stat(file)
    except OSError:
        return None
    regular = stat.S_ISREG(st.st_mode)  # the times of /dev/null, say, mean nothing
    return [st.st_ctime_ns, st.st_mtime_ns, st.st_size, st.st_ino] if regular else [0]


_CONFIG = ("config", "-z", "--list", "--show-origin")
# The object format parts the paths, which may have line breaks.  The top level comes last: in a
# bare repository git fails there, after the other answers.
_FORMAT = "--show-object-format"
_WHERE = (
    *("rev-parse", "--path-format=absolute", "--git-dir", _FORMAT, "--git-common-dir", _FORMAT),
    "--show-toplevel",
)


class Answers:
    """git's answers in a directory; git is started at once unless they are cached."""

    def __init__(self, git: Git, cwd: str) -> None:
        self.git, self._began = git, time.time_ns()
        self._kept = recall_answers(cwd, git.env)
        self._where: list[str] = self._kept["where"] if self._kept else []
        self._asked = None if self._kept else (git.start(*_WHERE), git.start(*_CONFIG))

    def read_place(self) -> list[str]:
        """The git directory, the common one, the object format; and the top of a worktree."""
        if self._asked:
            self._where = read_place(self._asked[0])
        return self._where

    def read_config(self) -> Values:
        """The configuration; call read_place() first."""
        if self._asked is None:
            return dict(self._kept["config"]) if self._kept else {}
        values, origins = read_config(self._asked[1])
        if len(self._where) > 3 and None not in origins:
            files = [origin for origin in origins if origin]
            keep_answers(self.git.env, self._where, values, files, self._began)
        return values


def ask_place(git: Git) -> list[str]:
    """Like Answers.read_place(), without the cache."""
    return read_place(git.start(*_WHERE))


# Variables by which git would not look for the repository around a directory.
_TIES = dict.fromkeys(
    ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
)
_TRACKED: dict[str, bool] = memory.get_table("tracked")


def is_tracked(folder: str, name: str) -> bool:
    """Whether the git around a directory tracks an entry of it, or anything below the entry, in any
    case: then whoever made a commit may have written it.  Asked once in a process."""
    path = os.path.join(folder, name)
    if path not in _TRACKED:
        argv, env = ("ls-files", "-z", "--", f":(icase,literal){name}"), {_LITERAL: "0"}
        git = Git().copy_with(folder, _TIES)
        is_around = any(os.path.lexists(f"{place}/.git") for place in _list_around(folder))
        _TRACKED[path] = is_around and bool(git.run(*argv, ok=(0, 128), env=env)[1])
    return _TRACKED[path]


def is_embedded(git_dir: str, folder: str) -> bool:
    """Whether git found a git directory because a directory is in it, and the git around tracks it:
    its configuration may be a stranger's."""
    inside = f"{os.path.realpath(folder)}/".startswith(f"{git_dir}/")
    if not inside or ".git" in git_dir.split("/"):
        return False
    return is_tracked(*os.path.split(git_dir))


def _list_around(folder: str) -> Iterator[str]:
    """A directory and those above it."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield above
        folder = above


def read_place(running: Running) -> list[str]:
    """git's answer about the place; raise Error if it cannot run, Late if it does not answer in
    time."""
    try:
        status, out = running.finish(ok=(0, 128))
    except Late:
        raise
    except GitError as e:
        raise Error(str(e)) from None
    for algo in ("sha1", "sha256"):
        paths = os.fsdecode(out).split(f"\n{algo}\n")
        if len(paths) == 3:
            top = [paths[2].removesuffix("\n")] if status == 0 else []
            return [*paths[:2], algo, *top]
    return []


def ask_config(git: Git) -> Values:
    """The configuration, without the cache."""
    return read_config(git.start(*_CONFIG))[0]


def read_config(running: Running) -> tuple[Values, set[str | None]]:
    """(the configuration, the files it came from; None among them for what came from none)."""
    _, out = running.finish(ok=(0, 1))
    words = out.decode("utf-8", "surrogateescape").split("\0")
    values: Values = {}
    origins: set[str | None] = set()
    for origin, item in zip(words[::2], words[1::2], strict=False):
        name, eq, value = item.partition("\n")
        values.setdefault(name, []).append(value if eq else "true")
        origins.add(origin.removeprefix("file:") if origin.startswith("file:") else None)
    return values, origins
