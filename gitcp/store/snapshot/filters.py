"""The files that git may convert on their way into a blob, found without asking git.

A file is plain if no core.autocrlf is set and no attributes file applies.  Any other file is left
to git, which reads the attributes.
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
    """Names the conversions of files by the settings that decide them."""

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
        self._conversions: dict[bytes, str] = {}

    def name_conversion(self, path: str) -> str:
        """A hash of the settings that decide a file's conversion; '' for a plain file."""
        attributes = self._read_attributes(path.rpartition("/")[0])
        if not attributes and not self._converts:
            return ""
        if attributes not in self._conversions:
            self._conversions[attributes] = self._objects.hash_object(
                "blob", self._join_settings(attributes)
            )
        return self._conversions[attributes]

    def list_from_head(self, path: str) -> list[str]:
        """The .gitattributes above path that a sparse checkout leaves only in HEAD."""
        folders = path.split("/")[:-1]
        names = ["/".join([*folders[:n], ".gitattributes"]) for n in range(len(folders) + 1)]
        return [name for name in names if name in self._absent]

    def _read_attributes(self, folder: str) -> bytes:
        """The attributes that apply in a folder, concatenated; b'' for none."""
        if folder not in self._folders:
            above = folder.rpartition("/")[0]
            inherited = self._read_attributes(above) if folder else self._everywhere
            name = f"{folder}/.gitattributes".lstrip("/")
            content = _read_file(self._work.join_full(name))
            if content is None and self._sparse:  # git reads it from the index
                entry = self._head(name)
                content = self._objects.need(entry[1], "blob") if entry else None
                self._absent.update([name] if content else [])
            # The folder's name keeps equal rules of different folders apart.
            own = b"%s\0%s\0" % (encode_name(folder), content) if content else b""
            self._folders[folder] = inherited + own
        return self._folders[folder]

    def _join_settings(self, attributes: bytes) -> bytes:
        config = self._work.repo.config
        parts = [config.get(key) for key in _KEYS]
        for word in sorted(set(stdlib.re.findall(_FILTER, attributes))):
            name = word.decode("utf-8", "surrogateescape")
            parts += [config.get(f"filter.{name}.{key}") for key in ("clean", "process")]
        return b"\0".join([*map(encode_name, parts), attributes])

    def _list_global_files(self) -> list[bytes]:
        repo, env = self._work.repo, self._work.repo.git.env
        own_file = os.path.expanduser(repo.config.get("core.attributesfile"))
        if own_file and not os.path.isfile(os.path.join(repo.worktree, own_file)):
            self._converts = True  # git may find it elsewhere
        base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", ""), ".config")
        own_file = own_file or os.path.join(base, "git", "attributes")
        paths = (*_SYSTEM, own_file, os.path.join(repo.common, "info", "attributes"))
        return [encode_name(os.path.join(repo.worktree, path)) for path in paths]


def _read_file(path: bytes) -> bytes | None:
    return files.peek(path) or None


def has_hung(repo: Repo) -> bool:
    """Whether a filter has hung lately, so that git runs without filters."""
    try:
        return abs(time.time() - os.lstat(_locate_mark(repo)).st_mtime) < _HOUR
    except OSError:
        return False


def compute_patience(repo: Repo) -> float | None:
    """The seconds to wait for a git that may run filters; None without a limit.

    It is half of a hook's remaining time, so that git can run again without filters.
    """
    seconds = deadline.count_seconds_left()
    return seconds / 2 if seconds is not None and list_off_options(repo) else seconds


def list_off_options(repo: Repo) -> list[str]:
    """The options of git that switch off every filter; [] if none is configured."""
    return list_unfiltered_options(repo, *_KINDS)


def list_unfiltered_options(repo: Repo, *kinds: str) -> list[str]:
    """The options of git that switch off every filter with a key of kinds, by default every
    required one."""
    lists = (repo.config.list_keys("filter.", kind) for kind in kinds or (".required",))
    names = {key.rpartition(".")[0] for keys in lists for key in keys}
    values = ("clean=", "process=", "required=false")
    return [word for name in sorted(names) for v in values for word in ("-c", f"{name}.{v}")]


def note_hang(repo: Repo) -> bool:
    """After git did not end in time, run it without filters for an hour, and warn.  Returns False
    if there are none, or they were switched off already."""
    if has_hung(repo) or not list_off_options(repo):
        return False
    private.touch_private(repo, _locate_mark(repo))
    message = "a filter of git did not end in time: for an hour checkpoints leave out its files"
    late.hook_warnings.keep_warning(repo, message)
    notice.warn(message)
    return True


def _locate_mark(repo: Repo) -> str:
    return repo.join_own("filters-hang")
