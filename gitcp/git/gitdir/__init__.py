"""git's own files and formats, as far as gitcp reads and writes them by itself.

A hook that asked git for each of them would take several times as long.  Only what is short and has
one meaning is read here; anything else is git's to answer (Unsure, None, or the function that asks
git for the same).  With GITCP_PLAIN=1 git answers everything (`plain`, Repo.uses_git_alone).

========== ===================================================== ================================
what       functions                                             by git alone
========== ===================================================== ================================
place      Answers, find_top, is_tracked                         rev-parse, ls-files
config     Answers.read_config, ask_config                       config --list
refs       find_ref, find_head, read_head, list_stored,          rev-parse, symbolic-ref,
           may_be_below, may_end, find_pseudo_ref,               for-each-ref
           stamp_branches, has_many_branches
reflogs    read_log, measure_log                                 log -g
index      equals_tree, drop_listed; `index_file`                diff-index, ls-files --debug,
                                                                 update-index --index-info
objects    `packs`: Packs.read_small, hash and add objects       cat-file, hash-object, mktree
packs      `packs`: make, list and keep gitcp's own, which git   pack-objects, show-index,
           joins                                                 verify-pack
========== ===================================================== ================================

core.formats has the formats of packs and of git's answers; store.refs moves refs, by git; and
gitcp.git.objects is the database for the rest of gitcp.  Files of an operation under way, such as
MERGE_MSG, and what git cannot read any more, are read where they are needed: no command of git
shows them.
"""

from __future__ import annotations

import os
import stat
import time

from gitcp import memory
from gitcp.errors import Error, GitError, Late
from gitcp.git import CACHE, Git, append_trace, decode_name, encode_name, files, is_alone
from gitcp.git.files import put_file, read_file
from gitcp.text import json, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.git import Location, Running

    Stamp = list[int] | None  # of a file; None for no file
    Move = tuple[str, str, bytes]  # old oid, new oid, reason
    Values = dict[str, list[str]]  # key -> its values, the effective one last


class Unsure(Exception):
    """git has to be asked."""


# The place of the repository and its configuration: asked of git, and cached, which saves each hook
# two processes.
#
# <git-dir>/gitcp/cache/asked has the answers, with the stamps of files that they depend on.  They
# are not cached if only git can answer: under variables that change the place, with included files,
# in a linked worktree, and in another user's directory (safe.directory).
_SHAPE = {
    "key": {None: str},
    "where": [str],
    "config": {None: [str]},
    "files": {None: shapes.is_stamp},
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
    if shapes.find_fault(kept, _SHAPE) or kept["where"][-1:] != [top]:
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

    where: what Answers.read_place() returns.  origins: the files of the configuration.
    """
    git_dir = where[0]
    top = where[-1]
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
    path = _build_path(top)
    new = f"{path}.{os.getpid()}"
    try:
        if "core.sharedrepository" not in config and not os.path.isdir(os.path.dirname(path)):
            os.mkdir(os.path.dirname(path))
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as f:
            f.write(json.dumps(answers).encode())
        put_file(git_dir, new, path)
    except OSError:
        pass  # gitcp is not enabled here


def _build_path(top: str) -> str:
    return os.path.join(top, ".git", "gitcp", CACHE, "asked")


def find_top(cwd: str) -> str | None:
    """The nearest directory above cwd with a .git, if git is sure to find the same."""
    folder = cwd
    device = None
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
            if own and stat.S_ISDIR(st.st_mode):
                return folder
            return None
        device = here.st_dev
        parent = os.path.dirname(folder)
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
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        program = os.path.join(folder or ".", "git")
        if os.access(program, os.X_OK):
            return program
    return ""


def _list_sources(env: Mapping[str, str], git_dir: str) -> list[str]:
    """All files of configuration that git reads if they exist."""
    person = list_person_sources(env)
    system = ["/etc/gitconfig"]
    git = _find_git(env)
    for program in (git, os.path.realpath(git)):  # either may stand beside git's etc/
        for part in ("/bin/", "/lib/", "/libexec/"):
            prefix, separator, _ = program.partition(part)
            if separator:
                system += [f"{prefix}/etc/gitconfig"]
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
    if regular:
        return [st.st_ctime_ns, st.st_mtime_ns, st.st_size, st.st_ino]
    return [0]


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
        self.git = git
        self._began = time.time_ns()
        self._kept = recall_answers(cwd, git.env)
        self._where: list[str] = self._kept["where"] if self._kept else []
        if self._kept:
            self._asked = None
        else:
            self._asked = (git.start(*_WHERE), git.start(*_CONFIG))

    def read_place(self) -> list[str]:
        """The git directory, the common one, the object format; and the top of a worktree."""
        if self._asked:
            self._where = read_place(self._asked[0])
        return self._where

    def read_config(self) -> Values:
        """The configuration; call read_place() first."""
        if self._asked is None:
            if self._kept:
                return dict(self._kept["config"])
            return {}
        values, origins = read_config(self._asked[1])
        if len(self._where) > 3 and None not in origins:
            sources = [origin for origin in origins if origin]
            keep_answers(self.git.env, self._where, values, sources, self._began)
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
        argv = ("ls-files", "-z", "--", f":(icase,literal){name}")
        env = {_LITERAL: "0"}
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
    while True:
        above = os.path.dirname(folder)
        if above == folder:
            break
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
            if status == 0:
                top = [paths[2].removesuffix("\n")]
            else:
                top = []
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
        name, has_value, value = item.partition("\n")
        if not has_value:
            value = "true"
        values.setdefault(name, []).append(value)
        if origin.startswith("file:"):
            origins.add(origin.removeprefix("file:"))
        else:
            origins.add(None)
    return values, origins


# Refs, read from files; from packed-refs, if it is long, only the part that is needed.
# Those of all worktrees.
_SHARED = ("refs/heads/", "refs/remotes/", "refs/gitcp/", "refs/notes/", "refs/entire/")
_ODD = bytes(range(33)) + b"~^:?*[\\\x7f"  # not allowed in the name of a ref
_FEW = 30  # refs; to read so many files takes less time than to start git
_LONG = 1 << 16  # bytes of packed-refs of which only a part is read
_PACKED: dict[bytes, tuple[tuple[int, ...], bytes]] = memory.get_table("packed refs")


def has_files(repo: Location) -> bool:
    """Whether refs are read from files, which git has not put into a reftable."""
    if repo.uses_git_alone:
        storage = "git"
    else:
        storage = repo.config.get("extensions.refstorage", "files")
    return bool(storage == "files")


def find_ref(repo: Location, ref: str) -> str | None:
    """The oid of a full ref name, None if there is no such ref; raises Unsure if the files do not
    have the oid."""
    if ref.startswith(_SHARED) and has_files(repo):
        content = _read_stored(repo, encode_name(ref))
        if is_oid(repo, content):
            return content.decode()
        if not content and not os.path.lexists(os.path.join(repo.common, ref)):
            return None
    raise Unsure


def find_head(repo: Location) -> str:
    """The oid of HEAD; raises Unsure if the files do not have it, as on an unborn branch."""
    append_trace("head", "asked")
    content = read_head(repo)
    if content.startswith(b"ref: refs/heads/"):
        content = _read_stored(repo, content[5:])
    if is_oid(repo, content):
        return content.decode()
    raise Unsure


PSEUDO_REFS = ("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


def find_pseudo_ref(repo: Location, name: str) -> str | None:
    """The oid of one of PSEUDO_REFS in this worktree, None if there is none; raises Unsure if its
    file does not have it."""
    if not has_files(repo):
        raise Unsure
    path = os.path.join(repo.git_dir, name)
    content = files.peek(path).partition(b"\n")[0]
    if is_oid(repo, content):
        return content.decode()
    if os.path.lexists(path):
        raise Unsure
    return None


def read_head(repo: Location) -> bytes:
    """The content of HEAD's file, an oid or `ref: <name>`; raises Unsure if refs are not in
    files."""
    if not has_files(repo):
        raise Unsure
    return _read_file(os.path.join(os.fsencode(repo.git_dir), b"HEAD"))


def _read_stored(repo: Location, name: bytes) -> bytes:
    """The content of a ref's file, else its value in packed-refs; b"" if it is in neither."""
    common = os.fsencode(repo.common)
    return _read_file(os.path.join(common, name)) or _find_packed(_read_packed(common, name), name)


def _find_packed(packed: bytes, name: bytes) -> bytes:
    """The value of a ref in the content of packed-refs; b"" if it is not there."""
    before, entry, _ = packed.partition(b" " + name + b"\n")
    return before.rpartition(b"\n")[2] if entry else b""


def _read_packed(common: bytes, *prefixes: bytes) -> bytes:
    """The lines of packed-refs; of a long one, parts with all refs that begin with the prefixes.  A
    short one is read again only if it was replaced."""
    path = os.path.join(common, b"packed-refs")
    try:
        st = os.stat(path)
    except OSError:
        return b""
    if st.st_size > _LONG:
        return b"".join(_read_part(path, prefix) for prefix in prefixes)
    stamp = st.st_ino, st.st_mtime_ns, st.st_size
    if _PACKED.get(path, ((), b""))[0] != stamp:
        _PACKED[path] = stamp, files.peek(path)
    return _PACKED[path][1]


def _read_part(path: bytes, prefix: bytes) -> bytes:
    """Whole lines of packed-refs, among them all refs that begin with prefix; all lines if git has
    not sorted them."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        size = os.fstat(fd).st_size
        if b" sorted " not in os.pread(fd, _LONG, 0).partition(b"\n")[0]:
            return os.pread(fd, size, 0)
        start, _ = _find_between(fd, size, prefix)
        _, end = _find_between(fd, size, prefix + b"\xff")
        return os.pread(fd, end - start, start)
    finally:
        os.close(fd)


def _find_between(fd: int, size: int, name: bytes) -> tuple[int, int]:
    """The offsets of two lines of sorted packed-refs between which a ref stands, or would."""
    low = 0
    high = size
    while high - low > _LONG:
        middle = (low + high) // 2
        block = os.pread(fd, _LONG, middle)
        start = block.find(b"\n") + 1
        while block[start : start + 1] == b"^":  # what the tag before it points to
            start = block.find(b"\n", start) + 1
        if block[start:].partition(b"\n")[0].partition(b" ")[2] < name:
            low = middle + start
        else:
            high = middle + start
    return low, high


def is_oid(repo: Location, content: bytes) -> bool:
    """Whether a text has the form of an object's full name in this repository."""
    return len(content) == len(repo.empty_tree) and not content.strip(b"0123456789abcdef")


def _read_file(path: bytes) -> bytes:
    data = files.read_once(path, lambda: files.peek(path), b"")
    if data.count(b"\n") == 1:
        return data.removesuffix(b"\n")
    return data


def may_be_below(repo: Location, prefix: str) -> bool:
    """Whether there may be refs in prefix, a directory.  Only the files are asked."""
    if not has_files(repo):
        return True
    common = os.fsencode(repo.common)
    name = encode_name(prefix)
    try:
        if _list_folder(os.path.join(common, name)):
            return True
    except NotADirectoryError:
        pass
    return b" " + name in _read_packed(common, name)


def may_end(repo: Location, folder: str, tail: str) -> bool:
    """Whether the name of a ref below a folder may end in tail.  Only the files are asked."""
    if not has_files(repo):
        return True
    common = os.fsencode(repo.common)
    name = encode_name(folder)
    end = encode_name(tail)
    loose = _list_files(common, [name])
    if loose is None or any(ref.endswith(end) for ref in loose):
        return True
    return end + b"\n" in _read_packed(common, name)


def list_stored(repo: Location, folders: Sequence[str]) -> dict[str, str] | None:
    """list_refs() from the files; None if git has to be asked, or answers sooner."""
    if not all(map(_is_folder, folders)) or not has_files(repo):
        return None
    common = os.fsencode(repo.common)
    names = [encode_name(folder) for folder in folders]
    loose = _list_files(common, names)
    packed = _read_packed(common, *names)  # after: git packs a ref before it deletes its file
    if loose is None or sum(packed.count(b" " + name) for name in names) > _FEW:
        return None
    oids = _list_packed(packed, names) | loose
    for name, content in oids.items():
        if content.startswith(b"ref: refs/"):  # as a remote's HEAD
            oids[name] = _read_stored(repo, content[5:])
    if not all(_is_plain_ref(repo, name, oid) for name, oid in oids.items()):
        return None
    return {decode_name(name): oids[name].decode() for name in sorted(oids)}


def _is_folder(pattern: str) -> bool:
    """Whether a pattern is a directory of refs that all worktrees share."""
    is_plain = not any(sign in pattern for sign in "*?[")
    return is_plain and pattern.endswith("/") and pattern.startswith(_SHARED)


def _is_plain_ref(repo: Location, name: bytes, content: bytes) -> bool:
    """Whether a ref has an oid and a name that git accepts; False for one that is symbolic, damaged
    or deleted meanwhile."""
    is_name = b".." not in name and name.translate(None, _ODD) == name
    return is_name and is_oid(repo, content) and bool(content.strip(b"0"))


def _list_packed(packed: bytes, folders: Sequence[bytes]) -> dict[bytes, bytes]:
    """ref -> value of the refs below the folders in the content of packed-refs."""
    parts = ((folder, part) for folder in folders for part in packed.split(b" " + folder)[1:])
    names = (folder + part.partition(b"\n")[0] for folder, part in parts)
    return {name: _find_packed(packed, name) for name in names}


def _list_files(common: bytes, folders: Sequence[bytes]) -> dict[bytes, bytes] | None:
    """ref -> content of each file of a ref below the folders; None if they are many."""
    paths = list[bytes]()
    left = [*folders]
    while left:
        folder = left.pop()
        try:
            entries = _list_folder(os.path.join(common, folder))
        except OSError:
            return None
        for name, is_folder in entries.items():
            if is_folder:
                left.append(folder + name + b"/")
            elif not name.endswith(b".lock"):
                paths.append(folder + name)
        if len(paths) + len(left) > _FEW:
            return None
    return {path: _read_file(os.path.join(common, path)) for path in paths}


def _list_folder(path: bytes) -> dict[bytes, bool]:
    """name -> whether it is a directory, of what is in a directory of refs."""

    def scan() -> dict[bytes, bool]:
        with os.scandir(path) as entries:
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}

    try:
        return files.read_once(path, scan, {})
    except FileNotFoundError:
        return {}  # git removes an empty one


_BRANCHES = "refs/heads", "refs/remotes", "logs"
_MOST = 2000  # directories and files that are looked at
_MANY = 300  # branches


def stamp_branches(repo: Location) -> list[list[object]]:
    """What changes when a branch, here or of a remote, or a reflog does; [] if git has to be asked.

    git makes a lock beside each branch that it changes, so it is enough to look at directories,
    however many branches they have.  Of a branch that does not change the reflog does not, either;
    other reflogs are looked at themselves."""
    if not has_files(repo):
        return []
    tops = [os.path.join(repo.common, name) for name in _BRANCHES]
    worktrees = os.path.join(repo.common, "worktrees")
    tops += [os.path.join(worktrees, name, "logs") for name in files.list_names(worktrees)]
    of_branches: list[str] = []
    for name in _BRANCHES[:2]:
        of_branches += (os.path.join(repo.common, name), os.path.join(repo.common, "logs", name))
    paths = [os.path.join(repo.common, "packed-refs")]
    folders: list[str] = []
    for top in tops:
        for folder, _, names in os.walk(top):
            folders.append(folder)
            if not folder.startswith(tuple(of_branches)):
                paths += [os.path.join(folder, name) for name in names]
            if len(folders) + len(paths) > _MOST:
                return []
    stamps: list[list[object]] = [[path, *files.read_stamp(path)] for path in sorted(paths)]
    for folder in folders:
        changed = _read_settled_time(folder)
        if not changed:
            return []
        stamps.append([folder, changed])
    return stamps


def has_many_branches(repo: Location) -> bool:
    """Whether there are so many branches, here or of remotes, in files of their own that git reads
    them for longer than it takes to start."""
    if not has_files(repo):
        return False
    count = 0
    for top in _BRANCHES[:2]:
        for _, _, names in os.walk(os.path.join(repo.common, top)):
            count += len(names)
            if count > _MANY:
                return True
    return False


def _read_settled_time(folder: str) -> int:
    """The time of a directory, in ns; 0 if it may change once more in the same moment."""
    try:
        changed = os.stat(folder).st_mtime_ns
    except OSError:
        return 0
    if files.is_settled(changed):
        return changed
    return 0


# Reflogs, read from their end.
LOG_TAIL = 1 << 16  # bytes read from the end of a log


def _locate_log(repo: Location, ref: str) -> str:
    return os.path.join(repo.git_dir if ref == "HEAD" else repo.common, "logs", ref)


def read_log(repo: Location, ref: str, size: int = LOG_TAIL) -> Iterator[Move]:
    """Yield the complete entries in the last size bytes of a reflog, newest first; git may be
    writing another one."""
    if not has_files(repo):
        from gitcp.git.gitdir import plain

        yield from plain.read_log(repo, ref)
        return
    data = files.peek(_locate_log(repo, ref), -size - 1)
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    for line in reversed(lines[1:] if len(data) > size else lines):
        head, _, reason = line.partition(b"\t")
        old, new, *_ = [*head.decode("ascii", "replace").split(" "), "", ""]
        yield old, new, reason


def measure_log(repo: Location) -> int:
    """The bytes of HEAD's reflog in this worktree, which grows with each move; 0 if there is no
    such file."""
    try:
        if has_files(repo):
            return os.stat(_locate_log(repo, "HEAD")).st_size
        return 0
    except OSError:
        return 0


# The index, as far as a look at some of its bytes tells (gitformat-index(5)).
_SHORT = 1 << 20  # bytes of an index that is read in less time than git starts
_WHOLE_NAMES = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")  # version 4 leaves out what names share
_CACHE_TREE = 1 << 20  # bytes at the end of an index: the trees of 20,000 directories and more


def equals_tree(path: str, tree: bytes) -> bool:
    """Whether an index file has the entries of a tree (its oid in bytes), by its cache tree; False
    if unknown."""
    try:
        with open(path, "rb", buffering=0) as f:
            count = int.from_bytes(f.read(12)[8:])
            f.seek(max(0, os.fstat(f.fileno()).st_size - _CACHE_TREE))
            data = f.read()
    except OSError:
        return False
    root = b"\0%d " % count  # its path, and its number of entries, all of the index
    start = data.rfind(b"TREE")
    while start > 0 and not data.startswith(root, start + 8):
        start = data.rfind(b"TREE", 0, start)
    return start > 0 and data.startswith(tree, data.find(b"\n", start + 8) + 1)


def drop_listed(path: str, names: Iterable[str]) -> list[str]:
    """The names that an index file may lack.  A long index is not read, nor one in which a name
    does not stand whole."""
    try:
        index = files.read_file(path, _SHORT) or b""
    except Error:
        index = b""
    if not index.startswith(_WHOLE_NAMES):
        return [*names]
    encoded = {name: encode_name(name) for name in names}
    # An entry's flags end with the length of its name, and have no bit set in a plain one.
    return [
        name
        for name, data in encoded.items()
        if b"%b%b\0" % ((len(data) & 0xFFFF).to_bytes(2, "big"), data) not in index
    ]
