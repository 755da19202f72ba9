"""Which files git converts on their way into a blob, told without asking git.

A file is plain when nothing could apply to it: no core.autocrlf and no attributes file on
its way.  All else is left to git; what the attributes say is git's business.
"""

from __future__ import annotations

import os
import time

from gitcp.console import notice
from gitcp.process import deadline, files
from gitcp.record import encode_name
from gitcp.start import late, stdlib
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.snapshot.worktree import Worktree


_SYSTEM = ("/etc/gitattributes", "/usr/local/etc/gitattributes")
_FALSE = ("false", "no", "off", "0", "")
_KEYS = ("core.autocrlf", "core.eol", "core.checkroundtripencoding")
_FILTER = rb"filter=([^\s]+)"
_HOUR = 3600
_KINDS = (".clean", ".process")


class Filters:
    """way(path) is '' for a plain file, else a name for all that decides its conversion."""

    def __init__(
        self, worktree: Worktree, objects: Objects, head: Callable[[str], Entry | None]
    ) -> None:
        self._work, self._objects, self._head = worktree, objects, head
        config = worktree.repo.config
        self._converts = config.get("core.autocrlf", "no").lower() not in _FALSE
        self._sparse = config.get_flag("core.sparsecheckout")
        self._everywhere = b"\0".join(filter(None, map(_read_file, self._list_global_files())))
        self._absent: set[str] = set()
        self._folders: dict[str, bytes] = {}
        self._ways: dict[bytes, str] = {}

    def name_conversion(self, path: str) -> str:
        attributes = self._read_attributes(path.rpartition("/")[0])
        if not attributes and not self._converts:
            return ""
        if attributes not in self._ways:
            self._ways[attributes] = self._objects.hash_object(
                "blob", self._join_settings(attributes)
            )
        return self._ways[attributes]

    def list_from_head(self, path: str) -> list[str]:
        """The .gitattributes over path that sparse checkout left in HEAD alone."""
        folders = path.split("/")[:-1]
        names = ["/".join([*folders[:n], ".gitattributes"]) for n in range(len(folders) + 1)]
        return [name for name in names if name in self._absent]

    def _read_attributes(self, folder: str) -> bytes:
        """All attributes in force in a folder, one after another; b'' for none."""
        if folder not in self._folders:
            above = self._read_attributes(folder.rpartition("/")[0]) if folder else self._everywhere
            name = f"{folder}/.gitattributes".lstrip("/")
            here = _read_file(self._work.join_full(name))
            if here is None and self._sparse:  # git reads it from the index then
                entry = self._head(name)
                here = self._objects.need(entry[1], "blob") if entry else None
                self._absent.update([name] if here else [])
            # The folder's name keeps equal rules of different folders apart.
            own = b"%s\0%s\0" % (encode_name(folder), here) if here else b""
            self._folders[folder] = above + own
        return self._folders[folder]

    def _join_settings(self, attributes: bytes) -> bytes:
        config = self._work.repo.config
        parts = [config.get(key) for key in _KEYS]
        for word in sorted(set(stdlib.re.findall(_FILTER, attributes))):
            name = word.decode("utf-8", "surrogateescape")
            parts += [config.get(f"filter.{name}.{key}") for key in ("clean", "process")]
        return b"\0".join([*map(encode_name, parts), attributes])

    def _list_global_files(self) -> list[bytes]:
        repo = self._work.repo
        env = repo.git.env
        base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", ""), ".config")
        named = repo.config.get("core.attributesfile")
        if named and not os.path.isfile(os.path.join(repo.worktree, os.path.expanduser(named))):
            self._converts = True  # git may know better where it is
        named = os.path.expanduser(named) or os.path.join(base, "git", "attributes")
        inside = os.path.join(repo.common, "info", "attributes")
        return [encode_name(os.path.join(repo.worktree, p)) for p in (*_SYSTEM, named, inside)]


def _read_file(path: bytes) -> bytes | None:
    return files.peek(path) or None


def has_hung(repo: Repo) -> bool:
    """Whether git is to run without filters."""
    try:
        return abs(time.time() - os.lstat(_locate_mark(repo)).st_mtime) < _HOUR
    except OSError:
        return False


def compute_patience(repo: Repo) -> float | None:
    """How many seconds to wait for a git that may run filters: half of what is left to a hook, so
    that the other half is left where they hang; None without a limit."""
    left = deadline.count_seconds_left()
    return left / 2 if left is not None and list_off_options(repo) else left


def list_off_options(repo: Repo) -> list[str]:
    """The options of git that switch off every filter; [] where none is configured."""
    return list_unfiltered_options(repo, *_KINDS)


def list_unfiltered_options(repo: Repo, *kinds: str) -> list[str]:
    """The options of git that switch off every filter that is required, or has one of kinds."""
    keys = (
        key for kind in kinds or (".required",) for key in repo.config.list_keys("filter.", kind)
    )
    names = {key.rpartition(".")[0] for key in keys}
    values = ("clean=", "process=", "required=false")
    return [word for name in sorted(names) for v in values for word in ("-c", f"{name}.{v}")]


def note_hang(repo: Repo) -> bool:
    """Git did not end in time: let it run without filters from now on, and say so; False where
    there are none, or they were left out already."""
    if has_hung(repo) or not list_off_options(repo):
        return False
    private.touch_private(repo, _locate_mark(repo))
    message = "a filter of git did not end in time: for an hour checkpoints leave out its files"
    late.hook_warnings.keep_warning(repo, message)
    notice.warn(message)
    return True


def _locate_mark(repo: Repo) -> str:
    return repo.join_own("filters-hang")
