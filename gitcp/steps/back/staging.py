"""The directory of one step, to which files are written as git writes them before they are moved
into place."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress

from gitcp.errors import Error, GitError
from gitcp.git import WITHOUT_HOOKS, encode_name
from gitcp.git.objects.object_lists import encode_index_info
from gitcp.git.objects.partial_clone import need_contents
from gitcp.git.records import encode_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.step import Raw
    from gitcp.text.record_types import Entry

# Options of git against settings of the repository that must not act on a step's files.
_WAYS = (
    *WITHOUT_HOOKS,
    *"-c core.splitIndex=false -c core.fsmonitor=false -c core.sparseCheckout=false".split(),
    *"-c core.bare=false -c core.useReplaceRefs=false".split(),
)
_ATTRIBUTES = ".gitattributes"


class Staging:
    """The directory of one step.  new: files to be moved into place; old: replaced files."""

    def __init__(self, repo: Repo, name: str) -> None:
        self._repo = repo
        self.place = repo.join_own("rewind", name)
        self.new, self.old = os.path.join(self.place, "new"), os.path.join(self.place, "old")

    def write_files(
        self, targets: Mapping[str, Entry], will: Callable[[str], Entry | None]
    ) -> None:
        """Write the target files, by path.  will: the entry that a path has after the step, for
        attributes files.  Raises Error when a content is missing or cannot be written."""
        self._repo.make_folder(os.path.dirname(self.place))
        os.makedirs(self.new, exist_ok=True)
        attributes = {}
        for path in _list_attributes(targets):
            entry = will(path)
            if entry:
                attributes[path] = entry
        check_out(self._repo, targets, attributes, self.new, f"{self.new}.index")

    def add_raw(self, raw: Mapping[str, Raw]) -> None:
        """Give written files the bytes and permissions that git does not keep.  raw: by path; paths
        that were not written are passed over."""
        for path, item in raw.items():
            if os.path.lexists(self.get_path(path)):
                put_raw(self._repo.objects, self.get_path(path), item)

    def get_path(self, path: str) -> bytes:
        """Where write_files() wrote a path."""
        return os.path.join(os.fsencode(self.new), encode_name(path))

    def get_replaced_path(self, number: int) -> bytes:
        """Where the file that an action replaces is kept until the step is done."""
        return os.path.join(os.fsencode(self.old), b"%d" % number)

    def remove_all(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self.place, ignore_errors=True)


def check_out(
    repo: Repo,
    targets: Mapping[str, Entry],
    attributes: Mapping[str, Entry],
    folder: str,
    index: str,
) -> None:
    """Write files to a folder (absolute) as git does, by an index file made for that.

    attributes: the entries of attributes files, which apply and are not written.  Raises Error
    when a content is missing or cannot be written."""
    if not targets:
        return
    entries = {**attributes, **targets}
    need_contents(repo, entries.items())
    info = encode_index_info(entries)
    git = repo.git.copy_with(folder, {"GIT_INDEX_FILE": index, "GIT_WORK_TREE": folder})
    repo.objects.flush()
    try:
        git.run(*_WAYS, "update-index", "-z", "--index-info", stdin=info)
        names = encode_lines(targets, "\0")
        git.run(*_WAYS, "checkout-index", "-f", "-z", "--stdin", stdin=names, filters=True)
    except GitError as e:
        raise Error(f"cannot prepare the files: {e.complaint.splitlines()[0]}") from None
    for path in targets:
        if not os.path.lexists(os.path.join(os.fsencode(folder), encode_name(path))):
            raise Error(f"cannot prepare '{path}': its content is not here")


def _list_attributes(paths: Iterable[str]) -> set[str]:
    """The attributes files that apply to paths."""
    files = set()
    for path in paths:
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            files.add(f"{folder}/{_ATTRIBUTES}".lstrip("/"))
    return files


def put_raw(objects: Objects, path: bytes, raw: Raw) -> None:
    """Give a staged file, or a directory, its bytes and permissions."""
    mode, oid = raw
    if mode == stat.S_IFLNK:
        beside = path + b".gitcp"
        with suppress(OSError), open(path, "rb") as f:  # on a disk without links it stays a file
            os.symlink(f.read(), beside)
            os.replace(beside, path)
        return
    if oid:
        with open(path, "wb") as f:
            f.write(objects.need(oid, "blob"))
    if mode is not None:
        os.chmod(path, mode)
