"""git's formats by git alone: what GITCP_PLAIN=1 puts in the place of gitcp's own code.

The answers are the same, from as many processes as it takes, except where no command of git has
them: the old value of the first entry of a reflog, and the reflog of an unborn HEAD; the packs of a
multi-pack-index, so that none is joined beside one.

Without the switch, too, git packs objects that are stored, checks packs, and writes objects aside
(build_quarantine).
"""

from __future__ import annotations

import os

from gitcp import git
from gitcp.errors import GitError
from gitcp.git import ANY, decode_name, encode_name, fill_pipe
from gitcp.git.files import locate_scratch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import BinaryIO

    from gitcp.git import Location
    from gitcp.text.record_types import Tree

    Move = tuple[str, str, bytes]  # old oid, new oid, reason

# Large files become loose objects, too, and each answer comes at once.
_WAYS = ("-c", "core.bigFileThreshold=1024g")
_ENV = {"GIT_FLUSH": "1"}
_PACK = (
    "-c core.bigFileThreshold=1m -c pack.threads=1 -c pack.compression=1 -c pack.indexVersion=2"
    " -c pack.packSizeLimit=0 -c pack.writeReverseIndex=false"
    " pack-objects -q --delta-base-offset"
)
# Few are compared, and few follow one another: a hook waits for these deltas, and reads them.
_DELTAS = ("--window=3", "--depth=10")
_NO_DELTAS = ("--window=0",)  # but those that there are
_DETAILS = 5  # lines of stat data after an entry of `ls-files --debug`


class _Conversation:
    """A git that answers each input with one line."""

    def __init__(self, repo: Location, args: tuple[str, ...], folder: str) -> None:
        # No alternates: gitcp's packs may lack what the repository has.
        env = {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": None}
        own = repo.git.copy_with(None, {**_ENV, **env, "GIT_WORK_TREE": None})
        self._argv = ("git", *_WAYS, "-C", folder, *args)
        self._run = git.Running(self._argv, own.env, True)

    def ask(self, data: bytes) -> str:
        """git's answer.  Raises GitError if it ends, Late at the deadline."""
        fill_pipe(self._run.get_pipes()[0], data)
        answer = b""
        while not answer.endswith(b"\n"):
            more = self._run.read_next()
            if not more:
                raise GitError(self._argv, self.end(), self._run.errors)
            answer += more
        return answer.decode().strip()

    def end(self) -> int:
        """Have git end; return its status."""
        return self._run.finish(ok=ANY)[0]


class Writer:
    """Makes loose objects in a directory of its own, from which they go into a pack."""

    def __init__(self, repo: Location) -> None:
        self._repo = repo
        self._gits = dict[tuple[str, ...], _Conversation]()
        self._pid = 0
        self.folder = ""

    def hash_object(self, kind: str, data: bytes, write: bool = False) -> str:
        """The oid of an object; write: make it."""

        def fill(f: BinaryIO) -> None:
            f.write(data)

        return self.hash_file(kind, fill, write)

    def hash_file(self, kind: str, fill: Callable[[BinaryIO], None], write: bool) -> str:
        """The oid of an object with the content that fill() writes to a file; write: make it."""
        path = os.path.join(self._open_folder(), "content")
        with open(path, "wb") as f:
            fill(f)
        options = ("-t", kind, "--no-filters", "--stdin-paths", *(["-w"] if write else []))
        try:
            return self._ask(("hash-object", *options), b"content\n")
        finally:
            os.unlink(path)

    def make_tree(self, entries: Tree) -> str:
        """Make a tree; return its oid."""
        kinds = {"040000": "tree", "160000": "commit"}
        lines = (
            f"{mode} {kinds.get(mode, 'blob')} {oid}\t{name}\0"
            for name, (mode, oid) in entries.items()
        )
        self._open_folder()
        return self._ask(
            ("mktree", "-z", "--batch", "--missing"), encode_name("".join(lines)) + b"\0"
        )

    def _open_folder(self) -> str:
        """The directory, which is made, and removed at the end of the process at the latest."""
        if self._pid != os.getpid():  # a fork has its own
            parent = self._repo.git.env.get("GIT_OBJECT_DIRECTORY") or locate_scratch(self._repo)
            self._pid = os.getpid()
            self._gits = {}
            self.folder = os.path.join(parent, f"plain-{self._pid}-{os.urandom(4).hex()}")
            git.LASTING[self._repo.git.copy_with(None, {})] = self
        self._repo.make_folder(self.folder)
        return self.folder

    def _ask(self, args: tuple[str, ...], data: bytes) -> str:
        if args not in self._gits:
            self._gits[args] = _Conversation(self._repo, args, self.folder)
        try:
            return self._gits[args].ask(data)
        except GitError:
            del self._gits[args]
            raise

    def end_git(self) -> None:
        """End the gits that write, and remove the directory."""
        if self._pid == os.getpid():
            while self._gits:
                self._gits.popitem()[1].end()
            remove_folder(self.folder)


def remove_folder(top: str) -> None:
    """Remove a directory with all that is in it, if it exists."""
    for folder, _, files in os.walk(top, topdown=False):
        for name in files:
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


class Index:
    """The objects of one pack.  Raises OSError if git cannot read its index.

    path: of the pack, without `.pack`.
    """

    def __init__(self, repo: Location, path: str) -> None:
        with open(f"{path}.idx", "rb") as f:
            index = f.read()
        try:
            out = repo.git.run("show-index", f"--object-format={repo.algo}", stdin=index)[1]
        except GitError as e:
            raise OSError(e.complaint) from None
        self._oids = {line.split()[1].decode() for line in out.splitlines()}

    def has(self, oid: str) -> bool:
        """Whether the pack has an object."""
        return oid in self._oids

    def list_held(self, oids: set[str]) -> set[str]:
        """Those of some objects that the pack has."""
        return self._oids & oids

    def list_oids(self) -> set[str]:
        """The objects that the pack has."""
        return self._oids

    def read_object(self, oid: str) -> None:
        """None: git reads it."""

    def read_head(self, oid: str) -> bytes:
        """b"": git would have to read it."""
        return b""

    def read_small(self) -> bytes:
        """b"": its bytes are not kept."""
        return b""


def has_alternates(repo: Location) -> bool:
    """Whether the repository borrows objects."""
    return b"\nalternate: " in repo.git.run("count-objects", "-v")[1]


def is_intact(repo: Location, path: str) -> bool:
    """Whether git can read all of a pack."""
    try:
        repo.git.run("verify-pack", f"{path}.idx")
    except GitError:
        return False
    return True


def build_quarantine(repo: Location, folder: str) -> dict[str, str]:
    """The environment in which git writes objects to folder, and reads those of the repository."""
    env = repo.git.env
    objects = env.get("GIT_OBJECT_DIRECTORY") or os.path.join(repo.common, "objects")
    if ":" in objects or objects.startswith('"'):  # git separates the directories by colons
        escaped = objects.replace("\\", "\\\\").replace('"', '\\"')
        objects = f'"{escaped}"'
    alternates = ":".join(filter(None, (objects, env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES"))))
    return {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": alternates}


def pack_objects(
    repo: Location,
    oids: Iterable[str],
    base: str,
    env: Mapping[str, str],
    alike: Mapping[str, str] | None = None,
) -> str:
    """Make the pack <base>-<name> of objects; return its name.

    alike: oid -> a word that an object has in common with those of which it may be a delta, for
    some of them; None to make no deltas."""
    if alike is None:
        args = [*_PACK.split(), *_NO_DELTAS, base]
        lines = [f"{oid}\n" for oid in oids]
    else:
        args = [*_PACK.split(), *_DELTAS, base]
        lines = [f"{oid} {alike.get(oid, '')}\n" for oid in oids]
    return repo.git.run(*args, stdin="".join(lines).encode(), env=env)[1].decode().strip()


def read_log(repo: Location, ref: str) -> Iterator[Move]:
    """Yield the entries of a reflog, newest first; the old value of the oldest is zeros."""
    form = ("log", "-g", "--no-show-signature", "--no-notes", "--format=%H %gs", ref, "--")
    _, out = repo.git.run(*form, ok=(0, 128))
    lines = [line.partition(b" ") for line in out.splitlines()]
    oids = [*(oid.decode() for oid, _, _ in lines), "0" * len(repo.empty_tree)]
    for at, (_, _, reason) in enumerate(lines):
        yield oids[at + 1], oids[at], reason


def list_young(listing: bytes, since: int) -> tuple[list[bytes], list[bytes]]:
    """(the entries whose ctime or mtime is since (seconds) or later, those of them whose mtime is
    earlier), of `ls-files -s -z --debug`, as `update-index --index-info` reads them."""
    row, *parts = listing.split(b"\0")
    young: list[tuple[bytes, int]] = []
    for part in parts:
        *details, following = part.split(b"\n", _DETAILS)
        changed, dated = (int(line.split()[1].partition(b":")[0]) for line in details[:2])
        if max(changed, dated) >= since:
            young.append((row + b"\0", dated))
        row = following
    return [row for row, _ in young], [row for row, dated in young if dated < since]


def read_names(repo: Location, path: str) -> dict[str, str]:
    """path -> oid of the entries of an index file."""
    _, out = repo.git.run("ls-files", "-s", "-z", env={"GIT_INDEX_FILE": path})
    rows = (line.split(b"\t", 1) for line in out.split(b"\0")[:-1])
    return {decode_name(path): entry.split()[1].decode() for entry, path in rows}
