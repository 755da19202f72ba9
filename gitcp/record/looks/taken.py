"""What a tool call takes that git does not have: files that git ignores, which are kept before the
call so that going back restores them, and files outside of the repository, which are only named.

A call that names such a file has a record, <common>/gitcp/kept/<key>.json, from its start on.  Its
end leaves there what it took, and removes a record of a call that took nothing.  Contents are kept
beside it (gitcp.record.contents).
"""

from __future__ import annotations

import glob
import itertools
import os
import stat

from gitcp import git
from gitcp.agents.transcripts import shell_words
from gitcp.git import decode_name, encode_name, files
from gitcp.git.files import hash_bytes
from gitcp.record import contents
from gitcp.record.looks import call_places
from gitcp.record.snapshot import Worktree
from gitcp.text import json, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypedDict

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Event, State

    class TakenFile(TypedDict):
        """A file that a call names.

        path: relative to the root of the worktree, absolute outside of it.  kept: the name of its
        content before the call, '' if that was not kept; why: for what reason.  sign: its size,
        times and inode before the call, [] for a directory.  mode: its permissions.  copied: when
        the call made the copy, in ns, 0 if the content was kept already.  after: the name of what
        the call left there, '' for nothing or what is not known."""

        path: str
        kept: str
        why: str
        sign: list[int]
        mode: int
        copied: int
        after: str

    class TakenCall(TypedDict):
        """The record of a call.  at: when it began, in ns.  worktree: its hash.  ended: whether
        the end of the call was heard, after which `files` are those that it took."""

        session: str
        turn: str
        call: str
        at: int
        worktree: str
        ended: bool
        files: list[TakenFile]


LARGEST = 5 << 20  # bytes of a file that is kept
MOST_FILES = 50  # of a call
MOST_BYTES = 20 << 20  # of a call
_MOST_NAMES = 200  # files that the words of a call may name
_RECORD = ".json"
_OUTSIDE = "outside of the repository"
_TOO_LARGE = f"larger than {LARGEST >> 20} MiB"
_TOO_MANY = f"more than {MOST_FILES} files in one call"
_TOO_MUCH = f"more than {MOST_BYTES >> 20} MiB in one call"
_SHAPE = {
    **dict.fromkeys(("session", "turn", "call", "worktree"), str),
    "at": shapes.is_count,
    "ended": bool,
    "files": [
        {
            **dict.fromkeys(("path", "kept", "why", "after"), str),
            "sign": [int],
            "mode": shapes.is_count,
            "copied": shapes.is_count,
        }
    ],
}


def begin_call(
    repo: Repo,
    state: State,
    event: Event,
    record: str,
    at: int,
    paths: Iterable[str],
    began: int,
) -> None:
    """Keep what a call may take, before it runs.  record: the path of its record.  paths: those of
    a file tool that git ignores.  began: when its turn did, in ns, 0 if that is not known.  Nothing
    is written if a shell call names nothing that git ignores and nothing outside."""
    folder = os.path.realpath(event.get("cwd") or repo.worktree)
    named = shell_words.find_named(str(event["tool"].get("command") or ""), folder)
    keeping = _Keeping(repo)
    ignored = [*paths, *_list_ignored(keeping.worktree, named)]
    outside = _list_outside(repo, named, began)
    if not ignored and not outside:
        return
    with contents.hold_kept(repo):
        contents.make_folder(repo)
        for path in ignored:
            if path.endswith("/"):
                keeping.keep_folder(path.removesuffix("/"))
            else:
                keeping.keep_file(path)
        for path, st in outside.items():
            keeping.name_outside(path, st)
        call: TakenCall = {
            "session": state["session_id"],
            "turn": state.get("turn_id", ""),
            "call": str(event["tool"].get("id", "")),
            "at": at,
            "worktree": repo.worktree_hash,
            "ended": False,
            "files": keeping.files,
        }
        files.write_private(repo, record, json.dumps(call).encode())


class _Keeping:
    """What is kept before one call, within its limits."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.worktree = Worktree(repo)
        self.files: list[TakenFile] = []
        self._left = MOST_BYTES
        self._count = 0

    def keep_folder(self, path: str) -> None:
        """Keep the files below an ignored directory; all of them, or none if they are too many."""
        below: list[str] = []
        for top, folders, names in os.walk(self.worktree.join_full(path)):
            if b".git" in folders or b".git" in names:
                self._leave_out(f"{path}/", "with a repository of its own")
                return
            for name in names:
                full = os.path.join(top, name)
                below.append(decode_name(os.path.relpath(full, self.worktree.top)))
            if self._count + len(below) > MOST_FILES:
                self._leave_out(f"{path}/", _TOO_MANY)
                return
        for inside in sorted(below):
            self.keep_file(inside)

    def keep_file(self, path: str) -> None:
        """Keep an ignored file; if that is not possible, say why."""
        st = self.worktree.look_at(path)
        if st is None:
            return
        if self._count == MOST_FILES:
            self._leave_out(path, _TOO_MANY, st)
        elif stat.S_ISLNK(st.st_mode):
            target = os.readlink(self.worktree.join_full(path))
            self._leave_out(path, f"a symbolic link to '{decode_name(target)}'", st)
        elif not stat.S_ISREG(st.st_mode):
            self._leave_out(path, "no regular file", st)
        elif st.st_size > LARGEST:
            self._leave_out(path, _TOO_LARGE, st)
        elif st.st_size > self._left:
            self._leave_out(path, _TOO_MUCH, st)
        else:
            self._count += 1
            self._left -= st.st_size
            self._keep_content(path, st)

    def name_outside(self, path: str, st: os.stat_result) -> None:
        """Note a file outside of the repository, which is not kept."""
        self._leave_out(path, _OUTSIDE, st)

    def _keep_content(self, path: str, st: os.stat_result) -> None:
        try:
            with open(self.worktree.join_full(path), "rb") as f:
                data = f.read(LARGEST + 1)
            name = hash_bytes(data)
            was_kept = os.path.exists(contents.locate_kept(self.repo, name))
            contents.keep_bytes(self.repo, data, durable=False)
            copied = os.stat(contents.locate_kept(self.repo, name)).st_mtime_ns
        except OSError as e:
            self._leave_out(path, f"it cannot be kept: {e.strerror}", st)
            return
        file = _describe_file(path, st)
        file["kept"] = name
        file["copied"] = 0 if was_kept else copied
        self.files.append(file)

    def _leave_out(self, path: str, why: str, st: os.stat_result | None = None) -> None:
        if len(self.files) < 2 * MOST_FILES:
            self.files.append({**_describe_file(path, st), "why": why})


def _describe_file(path: str, st: os.stat_result | None) -> TakenFile:
    return {
        "path": path,
        "kept": "",
        "why": "",
        "sign": _sign(st),
        "mode": stat.S_IMODE(st.st_mode) if st else 0,
        "copied": 0,
        "after": "",
    }


def _sign(st: os.stat_result | None) -> list[int]:
    if st is None:
        return []
    return [st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino]


def _list_ignored(work: Worktree, named: shell_words.NamedPaths) -> list[str]:
    """The ignored files that a command names, and the ignored files and directories that it may
    lose with a directory; a directory has a slash at its end."""
    lost = {*_list_inside(work.repo, named.lost)}
    plain: list[str] = []
    folders: list[str] = []
    for path in dict.fromkeys([*_list_inside(work.repo, named.all), *lost]):
        st = work.look_at(path)
        if st and not stat.S_ISDIR(st.st_mode):
            plain.append(path)
        elif st and path in lost:
            folders.append(path)
    ignored = work.list_ignored([*work.drop_tracked(plain), *folders], ok=_ANY)
    found = [path for path in plain if path in ignored]
    found += [f"{path}/" for path in folders if path in ignored]
    partly = [path for path in folders if path not in ignored]
    partly += _list_inside(work.repo, named.cleaned, with_root=True)
    if partly:
        found += _list_below(work.repo, partly)
    return [*dict.fromkeys(found)]


_ANY = (0, 1, 128)  # a command may name paths that git refuses


def _list_below(repo: Repo, folders: list[str]) -> list[str]:
    """What git ignores below some directories, whole directories with a slash at their end."""
    command = "ls-files -z --others --ignored --exclude-standard --directory"
    paths = [path or "." for path in folders]
    env = {"GIT_LITERAL_PATHSPECS": "1"}
    _, out = repo.git.run(*command.split(), "--", *paths, ok=_ANY, env=env)
    return [decode_name(name) for name in out.split(b"\0")[:-1]]


def _list_inside(repo: Repo, paths: Iterable[str], with_root: bool = False) -> Iterator[str]:
    """The paths in the worktree, relative to its root, with those that a pattern means."""
    root = os.path.realpath(repo.worktree)
    for path in _expand(paths):
        if path.startswith(f"{root}/.git/"):
            continue
        if path.startswith(f"{root}/"):
            yield decode_name(encode_name(path[len(root) + 1 :]))
        elif with_root and (path == root or root.startswith(f"{path}/")):
            yield ""


def _expand(paths: Iterable[str]) -> Iterator[str]:
    """The paths, and for a pattern of the shell those that it means, as far as they are few."""
    left = _MOST_NAMES
    for path in dict.fromkeys(paths):
        found: Iterable[str] = [path]
        if any(c in path for c in "*?["):
            found = glob.iglob(path)
        for one in itertools.islice(found, left):
            left -= 1
            yield one


def _list_outside(
    repo: Repo, named: shell_words.NamedPaths, began: int
) -> dict[str, os.stat_result]:
    """path -> its stat(), of the files outside of every worktree of this repository that a command
    may lose.  What was written since its turn began is taken for the session's own."""
    outside: dict[str, os.stat_result] = {}
    roots = call_places.map_roots(repo)
    for path in _expand(named.lost):
        if any(path == root or path.startswith(f"{root}/") for root in roots):
            continue
        try:
            st = os.lstat(path)
        except OSError:
            continue
        is_plain = stat.S_ISREG(st.st_mode) or stat.S_ISDIR(st.st_mode)
        if is_plain and st.st_mtime_ns < began:
            outside[path] = st
    return outside


def end_call(repo: Repo, event: Event, record: str) -> None:
    """Leave in the record of a call, after it has run, what it took; let go of the other contents.
    A command that goes on in the background may take them later."""
    call = _read_record(record)
    if call is None or event["tool"].get("background"):
        return
    work = Worktree(repo)
    taken: list[TakenFile] = []
    with contents.hold_kept(repo):
        for file in call["files"]:
            if is_taken(work, file):
                taken.append(file)
            elif file["copied"]:
                _let_go(repo, file)
        if taken:
            call = {**call, "ended": True, "files": taken}
            files.write_private(repo, record, json.dumps(call).encode())
        else:
            files.remove_private(repo, record)


def is_taken(work: Worktree, file: TakenFile) -> bool:
    """Whether a file is gone or has another content; `after` is set to its name."""
    path = locate_file(work, file)
    try:
        st = os.lstat(path)
    except OSError:
        return True
    if not file["sign"] or stat.S_ISDIR(st.st_mode) or _sign(st) == file["sign"]:
        return False
    if not file["kept"]:
        return st.st_size != file["sign"][0] or st.st_mtime_ns != file["sign"][1]
    file["after"] = hash_file(path)
    return file["after"] != file["kept"]


def locate_file(work: Worktree, file: TakenFile) -> bytes:
    """The absolute path of a file."""
    return work.join_full(file["path"].removesuffix("/"))


def hash_file(path: bytes | str) -> str:
    """The name that the content of a file would be kept under; '' without a file that may be
    kept."""
    try:
        with open(path, "rb") as f:
            data = f.read(LARGEST + 1)
    except OSError:
        return ""
    return hash_bytes(data) if len(data) <= LARGEST else ""


def _let_go(repo: Repo, file: TakenFile) -> None:
    """Remove the copy that a call made, unless it was used since."""
    path = contents.locate_kept(repo, file["kept"])
    try:
        if os.stat(path).st_mtime_ns == file["copied"]:
            os.unlink(path)
    except OSError as e:
        git.append_trace("files", str(e))


def _read_record(path: str) -> TakenCall | None:
    call: TakenCall | None = files.load_cache(path, _SHAPE)
    return call


def list_calls(repo: Repo) -> list[TakenCall]:
    """The calls of every worktree that took something, or may have, the oldest first."""
    calls = []
    for name in files.list_names(contents.locate_kept(repo)):
        if name.endswith(_RECORD):
            call = _read_record(contents.locate_kept(repo, name))
            if call:
                calls.append(call)
    return sorted(calls, key=lambda call: call["at"])


def list_taking(repo: Repo) -> set[str]:
    """The ids of the calls that took something."""
    work = Worktree(repo)
    taking = set()
    for call in list_calls(repo):
        if call["ended"] or any(is_taken(work, file) for file in call["files"]):
            taking.add(call["call"])
    return taking


def list_needed(repo: Repo, before: float) -> set[str]:
    """The names of the kept files that records need which are not older than before, seconds since
    1970, and of these records."""
    needed = set()
    for name in files.list_names(contents.locate_kept(repo)):
        if not name.endswith(_RECORD):
            continue
        call = _read_record(contents.locate_kept(repo, name))
        if call and call["at"] >= before * 1e9:
            needed.add(name)
            needed |= {file["kept"] for file in call["files"]}
    return needed
