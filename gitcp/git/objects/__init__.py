"""Objects: read and write them, look into trees, make commits and compare them.

Small objects are read without git, from loose files and packs; git reads all others, and many.
"""

from __future__ import annotations

import os
import time
from itertools import islice

from gitcp import git, memory
from gitcp.errors import Error
from gitcp.git import decode_name, encode_name, files, gitdir
from gitcp.git.gitdir import Unsure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, BinaryIO, Self

    from gitcp.git import Git, Location
    from gitcp.git.gitdir.packs import Packs
    from gitcp.git.objects.cat_file import Ahead, Object
    from gitcp.text.record_types import Commit, Entry, Staged, Tree

    Changes = dict[str, Staged]

# The objects of a repository: read by one long-lived cat-file, written into gitcp's packs.
_AT_ONCE = 400  # names that fit into a pipe, so that neither side waits for the other
_FEW = 100  # objects that are read without git in less time than git takes to start
_SMALL = 1 << 12  # bytes of an object that is written again in less time than it is searched for
_WHOLE = 1 << 20  # files up to this many bytes are read at once, larger ones streamed
_TREE = "^{tree}"
_SUBMODULE = "160000"
_RELATIVE = ("", ".", "..")
# bytes of one object, and of all, that stay in memory
_NEAR_EACH = 1 << 20
_NEAR_ALL = 16 << 20


class Objects:
    """The object database of repo, which code asks as repo.objects.

    `with Objects(repo):` opens a database for a command, and closes it at the end.  Up to 16 MiB of
    what was read or written stay in memory by oid.  Names that are not oids are resolved each time,
    since refs move.

    Objects that this process writes are in memory and in an unfinished pack until flush().  Each
    transaction of refs, the end of a context and close() flush them; code that has git read an
    object, or names one in a file of gitcp, flushes them itself before.
    """

    def __init__(self, repo: Location) -> None:
        self.repo = repo
        self._place = repo.common, repo.git.env.get("GIT_OBJECT_DIRECTORY", "")
        self._hasher: Callable[[bytes], Any] | None = None
        self._ahead: Ahead | None = None
        self._near: dict[str, Object] = {}
        self._bytes = 0
        self.trees: dict[str, Tree] = {}  # small ones, which read_tree() has parsed

    def __enter__(self) -> Self:
        _OPEN.setdefault(self.repo, []).append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _OPEN[self.repo].remove(self)
        if not _OPEN[self.repo]:
            del _OPEN[self.repo]
        self.close()

    def reopen(self) -> Self:
        """A database of the same repository for another process, with its own git."""
        return type(self)(self.repo)

    @property
    def ahead(self) -> Ahead:
        """git's process that reads, and what it reads in bulk, ahead of its use."""
        if self._ahead is None:
            from gitcp.git.objects.cat_file import Ahead

            self._ahead = Ahead(self.repo, self.read_direct, self.find_direct)
        return self._ahead

    @property
    def packs(self) -> Packs:
        """gitcp's packs, of which a process makes one at a time, imported when they are first
        needed."""
        if self._place not in _PACKS:
            from gitcp.git.gitdir.packs import Packs

            _PACKS[self._place] = Packs(self.repo)
        return _PACKS[self._place]

    def flush(self) -> bool:
        """Put the objects that this process has written in their place, where git and other
        processes find them; return whether there are any."""
        packs = _PACKS.get(self._place)
        return bool(packs and packs.flush())

    def flush_named(self, data: bytes) -> None:
        """flush() if data, the next content of a file of gitcp, names an object that is added."""
        packs = _PACKS.get(self._place)
        if packs:
            packs.flush_named(data)

    def close(self) -> None:
        """Flush what was written, and end git."""
        self.flush()
        if self._ahead:
            self._ahead.end_batch()
            self._ahead = None

    def read(self, spec: str) -> Object | None:
        """(oid, kind, data) of an object name or simple revision; None if it is missing."""
        if self._ahead and self._ahead.has(spec):
            return self._ahead.got[spec]
        if spec in self._near:
            return self._near[spec]
        if not spec or "\0" in spec:
            return None
        if not self._is_git_running() or spec.removesuffix(_TREE) in self._near:
            try:
                return self._keep_near(self.read_direct(spec))
            except Unsure:
                pass
        if len(spec) != len(self.repo.empty_tree) or spec.strip("0123456789abcdef"):
            named = self._find_head(spec)
            if named is None or named[0] in self._near:
                return self._near[named[0]] if named else None
            spec = named[0]
        obj = self.ahead.get_batch().read_object(spec)
        if obj is None and self.flush():
            obj = self.ahead.get_batch().read_object(spec)
        return self._keep_near(obj)

    def read_direct(self, spec: str) -> Object | None:
        """The object that a full oid, a full ref or HEAD names, or a parent of it as in `HEAD^2`,
        its `^{tree}`, or a path in it as in `HEAD:a.c`, read without git from memory, loose files
        and packs; None if there is no such ref, parent or path.  Raises Unsure if git has to read
        it."""
        if self.repo.uses_git_alone:
            raise Unsure
        name = spec.removesuffix(_TREE)
        oid = self._resolve(name)
        if oid is None:
            return None
        obj = self._read_stored(oid)
        if name == spec or obj[1] == "tree":
            return obj
        if obj[1] != "commit":
            raise Unsure
        self._near[oid] = obj
        tree = decode_name(obj[2].partition(b"\n")[0].removeprefix(b"tree "))
        if not gitdir.is_oid(self.repo, encode_name(tree)):
            raise Unsure
        return self._read_stored(tree)

    def find_direct(self, name: str) -> str | None:
        """The oid of `<commit>:<path>`, found without git; None if there is no such file.  Raises
        Unsure for other names, and if git has to find it."""
        commit, _, path = name.partition(":")
        tree = None
        if path:
            tree = self.read_direct(commit + _TREE)
        if tree is None:
            raise Unsure
        entry: Entry = (TREE, tree[0])
        for part in path.split("/"):
            if part in _RELATIVE:
                raise Unsure
            if entry[0] != TREE:
                return None
            oid, kind, data = self._read_stored(entry[1])
            if kind != "tree":
                raise Unsure
            found = _parse_tree(oid, data).get(part)
            if found is None:
                return None
            entry = found
        if entry[0] == _SUBMODULE:
            raise Unsure
        return entry[1]

    def _resolve(self, name: str) -> str | None:
        if name == "HEAD":
            return gitdir.find_head(self.repo)
        if name in gitdir.PSEUDO_REFS:
            return gitdir.find_pseudo_ref(self.repo, name)
        if ":" in name:
            return self.find_direct(name)
        commit, _, number = name.rpartition("^")
        if commit and number.isdecimal():
            return self._find_parent(commit, int(number))
        if name.startswith("refs/") and not any(sign in name for sign in "^~:@"):
            return gitdir.find_ref(self.repo, name)
        if gitdir.is_oid(self.repo, encode_name(name)):
            return name
        raise Unsure

    def _find_parent(self, name: str, number: int) -> str | None:
        """A parent of a commit, the first is 1; None if it has not so many."""
        oid = self._resolve(name)
        if oid is None or not number:
            raise Unsure
        obj = self._read_stored(oid)
        if obj[1] != "commit":
            raise Unsure
        parents = parse_commit(oid, obj[2])["parents"]
        if number <= len(parents):
            return parents[number - 1]
        return None

    def _read_stored(self, oid: str) -> Object:
        return self._near.get(oid) or (oid, *self.packs.read_small(oid))

    def _keep_near(self, obj: Object | None) -> Object | None:
        """Keep an object in memory; return it."""
        if obj and obj[0] not in self._near:
            git.append_trace("object", f"{obj[0]} {obj[1]} {len(obj[2])}")
            self._remember(obj)
        return obj

    def read_ahead(self, oids: Iterable[str]) -> None:
        """Read these objects in bulk, and keep the small ones in memory."""
        unread = [oid for oid in dict.fromkeys(oids) if oid not in self._near]
        if len(unread) < _FEW:
            unread = [oid for oid in unread if not self._read_direct(oid)]
        if unread:
            self.flush()
        for start in range(0, len(unread), _AT_ONCE):
            for obj in self.ahead.get_batch().read_objects(unread[start : start + _AT_ONCE]):
                if obj:
                    self._remember(obj)

    def peek(self, spec: str) -> Object | None:
        """read() without git; None also if git has to read the object."""
        try:
            return self._keep_near(self.read_direct(spec))
        except Unsure:
            return None

    def _read_direct(self, oid: str) -> bool:
        """Read an object without git, unless git runs already; return whether it is in memory."""
        if not self._is_git_running():
            self.peek(oid)
        return oid in self._near

    def _find_head(self, spec: str) -> tuple[str, int] | None:
        """Batch.find_head(), also of objects that this process wrote and that git cannot read
        yet."""
        named = self.ahead.get_batch().find_head(spec)
        if named is None and not spec.startswith("refs/") and self.flush():
            named = self.ahead.get_batch().find_head(spec)
        return named

    def _is_git_running(self) -> bool:
        return self._ahead is not None and self._ahead.batch is not None

    def _remember(self, obj: Object) -> None:
        size = len(obj[2])
        if size > _NEAR_EACH:
            return
        if self._bytes + size > _NEAR_ALL:
            self._near.clear()
            self._bytes = 0
        self._near[obj[0]] = obj
        self._bytes += size

    def read_each(self, oids: Iterable[str]) -> Iterator[Object | None]:
        """Yield the objects in their order, read in bulk; none stays in memory.  The caller reads
        no other object meanwhile."""
        names = iter(oids)
        self.flush()
        while True:
            window = list(islice(names, _AT_ONCE))
            if not window:
                break
            answers = self.ahead.get_batch().read_objects(window)
            try:
                for answer in answers:  # noqa: UP028  the others are taken if the caller stops
                    yield answer
            finally:
                for _ in answers:
                    pass

    def list_absent(self, oids: Iterable[str]) -> set[str]:
        """The oids of missing objects, asked for in bulk."""
        unsure = sorted({oid for oid in oids if oid not in self._near and not self.packs.has(oid)})
        if not unsure:
            return set()
        self.flush()
        absent: set[str] = set()
        for start in range(0, len(unsure), _AT_ONCE):
            window = unsure[start : start + _AT_ONCE]
            heads = zip(window, self.ahead.get_batch().find_heads(window), strict=True)
            absent.update(oid for oid, head in heads if head is None)
        return absent

    def need(self, oid: str, kind: str) -> bytes:
        """The data of an object; raises Error if it is missing or of another kind."""
        obj = self.read(oid)
        if obj is None or obj[1] != kind:
            raise Error(f"missing {kind} '{oid}'")
        return obj[2]

    def read_blob(self, oid: str | None) -> bytes | None:
        """The bytes of a blob; None if there is no such blob, as for a submodule."""
        obj = self.read(oid) if oid else None
        return obj[2] if obj and obj[1] == "blob" else None

    def read_size(self, oid: str) -> int:
        """The size of an object in bytes; raises Error if it is missing."""
        obj = self._near.get(oid)
        if obj:
            return len(obj[2])
        head = self._find_head(oid)
        if head is None:
            raise Error(f"missing object '{oid}'")
        return head[1]

    def hash_object(self, kind: str, data: bytes) -> str:
        """The oid of data as an object of that kind; nothing is written."""
        if self.repo.uses_git_alone:
            return self.packs.writer.hash_object(kind, data)
        if self._hasher is None:
            self._hasher = files.find_hasher(self.repo.algo)
        return str(self._hasher(b"%s %d\0%s" % (kind.encode(), len(data), data)).hexdigest())

    def prepare_large_writes(self) -> None:
        """Prepare for megabytes to be written: hash with hashlib, which takes 3 ms to import and is
        four times as fast."""

        self._hasher = files.find_hasher(self.repo.algo, much=True)
        self.packs.prepare_large_writes()

    def write(self, kind: str, data: bytes) -> str:
        """Store an object; return its oid.  git has it after flush()."""
        oid = self.hash_object(kind, data)
        if (len(data) < _SMALL and self.packs.has_few()) or not self.packs.has(oid):
            self.packs.add_object(kind, oid, data)
        if oid not in self._near:
            self._remember((oid, kind, data))
        return oid

    def write_blobs(self, contents: Sequence[bytes]) -> list[str]:
        """Store one or more small blobs, most of which gitcp's packs already have; return their
        oids."""
        oids = [self.hash_object("blob", data) for data in contents]
        held = self.packs.list_held(oids)
        for oid, data in zip(oids, contents, strict=True):
            if oid not in held:
                self.packs.add_object("blob", oid, data)
        return oids

    def write_file(self, path: bytes) -> str:
        """Store the bytes of a regular file, unfiltered, as a blob; a large one is streamed.

        Raises OSError if it cannot be read, Error if it shrinks each time it is read.
        """
        for _ in range(3):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb", buffering=0) as f:
                size = os.fstat(fd).st_size
                if size <= _WHOLE:
                    data = f.read(size + 1)[: size or None]
                    if len(data) >= size:
                        return self.write("blob", data)
                elif oid := self._store_stream(f, size):
                    return oid
        raise Error(f"'{decode_name(path)}' changes while it is read")

    def _store_stream(self, f: BinaryIO, size: int) -> str | None:
        """Store a file of size bytes as a blob; return its oid, None if f has fewer.

        It is hashed first: to compress it takes several times as long, and a pack of gitcp may
        already have it, since the end of the call that wrote the file."""
        if self.repo.uses_git_alone:
            return self.packs.add_stream(f, size)
        oid = hash_stream(f, size, self.repo.algo)
        if oid is None or self.packs.has(oid):
            return oid
        f.seek(0)
        return self.packs.add_stream(f, size)


def hash_stream(f: BinaryIO, size: int, algo: str) -> str | None:
    """The oid of the next size bytes of f as a blob; None if f has fewer."""
    import hashlib

    digest = hashlib.new(algo, b"blob %d\0" % size)
    remaining = size
    while remaining:
        data = f.read(min(remaining, _WHOLE))
        if not data:
            break
        digest.update(data)
        remaining -= len(data)
    return None if remaining else str(digest.hexdigest())


# git directory -> the database of this process, whose cat-file runs until the process ends.
_SHARED: dict[str, Objects] = memory.get_table("objects")
_OPEN: dict[Location, list[Objects]] = memory.get_table("open objects")  # the innermost last
# (common directory, object directory if it is another, as in a scratch copy) -> the packs there.
_PACKS: dict[tuple[str, str], Packs] = memory.get_table("packs")


def get_objects(repo: Location) -> Objects:
    """The database that was opened last for repo, else the one of this process, which stays
    open."""
    opened = _OPEN.get(repo)
    if opened:
        return opened[-1]
    if repo.git_dir not in _SHARED:
        _SHARED[repo.git_dir] = Objects(repo)
    return _SHARED[repo.git_dir]


def abandon_unflushed() -> None:
    """Remove the packs that this process has begun and not put in place, at its end."""
    for packs in _PACKS.values():
        packs.abandon()


# Trees: read one, look a path up, edit a few paths, compare two.
#
# Only the directories of the paths in question are read and written.
TREE = "040000"
# bytes of a tree that stays parsed, and how many of them
_SMALL_TREE = 1 << 13
_KEPT = 256
_MODES = {"40000": TREE, "100644": "100644", "100755": "100755"}


def read_tree(objects: Objects, oid: str) -> Tree:
    """The entries of one tree by name; raises Error if it is missing or malformed."""
    if oid in objects.trees:
        return dict(objects.trees[oid])
    data = objects.need(oid, "tree")
    entries = _parse_tree(oid, data)
    if len(data) <= _SMALL_TREE:
        if len(objects.trees) >= _KEPT:
            objects.trees.clear()
        objects.trees[oid] = dict(entries)
    return entries


def _parse_tree(oid: str, data: bytes) -> Tree:
    entries: Tree = {}
    width = len(oid) // 2 + 1
    start = 0
    end = len(data)
    digits = data.hex()
    while start < end:
        nul = data.find(b"\0", start)
        mode, _, name = data[start:nul].decode("utf-8", "surrogateescape").partition(" ")
        start = nul + width
        usual = _MODES.get(mode)
        if nul < 0 or start > end or not (usual or (mode.isascii() and mode.isdigit())):
            raise Error(f"malformed tree '{oid}'")
        entries[name] = (usual or mode.zfill(6), digits[2 * nul + 2 : 2 * start])
    return entries


def find_file(look: Callable[[str], Entry | None], path: str) -> Entry | None:
    """The entry of a file by a Lookup; None also for a directory."""
    entry = look(path)
    return None if entry and entry[0] == TREE else entry


def find_tree(objects: Objects, commit: str | None) -> str | None:
    """The tree of a commit, by any name; None for zeros, and for a missing one."""
    named = None
    if commit and commit.strip("0"):
        named = objects.read(f"{commit}^{{tree}}")
    return named[0] if named else None


def write_tree(objects: Objects, entries: Tree) -> str:
    """Store one tree; return its oid."""
    if objects.repo.uses_git_alone:
        return objects.packs.note_written(objects.packs.writer.make_tree(entries))
    keyed: list[tuple[bytes, bytes]] = []
    for name, (mode, oid) in entries.items():
        key = encode_name(name)
        row = b"%s %s\0%s" % (mode.lstrip("0").encode(), key, bytes.fromhex(oid))
        if mode == TREE:
            key += b"/"  # git sorts a directory as if its name ended in a slash
        keyed.append((key, row))
    keyed.sort()
    return objects.write("tree", b"".join([row for _, row in keyed]))


def edit_tree(objects: Objects, base: str | None, edits: Mapping[str, Entry | None]) -> str:
    """The tree base (None: the empty one) with edits applied; return its oid.

    edits: path -> entry to set, or None to remove a file or a directory.  A directory that is set
    is changed by the edits below it.  A path set below a file replaces the file; a file set over a
    directory replaces the directory.  Directories that become empty are removed.
    """
    return _edit_folder(objects, base, edits) or objects.write("tree", b"")


def _edit_folder(
    objects: Objects, base: str | None, edits: Mapping[str, Entry | None]
) -> str | None:
    tree = read_tree(objects, base) if base else {}
    before = dict(tree)
    below: dict[str, dict[str, Entry | None]] = {}
    for path, entry in edits.items():
        name, slash, tail = path.partition("/")
        if slash:
            below.setdefault(name, {})[tail] = entry
        elif entry is None:
            tree.pop(name, None)
        else:
            tree[name] = entry
    for name, inner in below.items():
        mode, oid = tree.get(name, ("", ""))
        is_tree = mode == TREE
        if not is_tree and not any(inner.values()):
            continue  # nothing below a file to remove
        subtree = _edit_folder(objects, oid if is_tree else None, inner)
        if subtree:
            tree[name] = (TREE, subtree)
        else:
            tree.pop(name, None)
    if base and tree == before:
        return base
    if tree:
        return write_tree(objects, tree)
    return None


def find_entry(objects: Objects, tree: str, path: str) -> Entry | None:
    """The entry at a path below a tree; None if there is none."""
    entry: Entry | None = (TREE, tree)
    for name in path.split("/"):
        if entry is None or entry[0] != TREE:
            return None
        entry = read_tree(objects, entry[1]).get(name)
    return entry


class Lookup:
    """find_entry() in one tree for many paths, each directory read once."""

    def __init__(self, objects: Objects, tree: str | None) -> None:
        self._objects = objects
        self._seen: dict[str, Tree] = {"": read_tree(objects, tree) if tree else {}}

    def __call__(self, path: str) -> Entry | None:
        folder, _, name = path.rpartition("/")
        return self.read_folder(folder).get(name)

    def read_folder(self, path: str) -> Tree:
        """The entries of a directory; {} for anything else."""
        if path not in self._seen:
            mode, oid = self(path) or ("", "")
            if mode == TREE:
                self._seen[path] = read_tree(self._objects, oid)
            else:
                self._seen[path] = {}
        return self._seen[path]


def build_finder(objects: Objects, commit: str) -> Callable[[str], Entry | None]:
    """Return a function that finds a path in a commit, which is read when it is first asked; zeros:
    in none."""
    lookups: list[Lookup] = []

    def find(path: str) -> Entry | None:
        if not lookups:
            lookups.append(Lookup(objects, find_tree(objects, commit)))
        return lookups[0](path)

    return find


def compare_trees(
    objects: Objects, old: str | None, new: str | None, prefix: str = "", without: str = ""
) -> Iterator[tuple[str, Entry | None, Entry | None]]:
    """Yield (path, old entry, new entry) for each file that differs.

    without: a path that is left out.
    """
    if old == new:
        return
    a = read_tree(objects, old) if old else {}
    b = read_tree(objects, new) if new else {}
    names = a.keys() ^ b.keys()
    names |= {name for name in a.keys() & b.keys() if a[name] != b[name]}
    for name in sorted(names):
        path = prefix + name
        if path == without:
            continue
        old_file = a.get(name)
        new_file = b.get(name)
        old_tree = None
        new_tree = None
        if old_file and old_file[0] == TREE:
            old_tree = old_file[1]
            old_file = None
        if new_file and new_file[0] == TREE:
            new_tree = new_file[1]
            new_file = None
        if old_tree or new_tree:
            yield from compare_trees(objects, old_tree, new_tree, f"{path}/", without)
        if old_file != new_file:
            yield path, old_file, new_file


# Commit objects: identities, writing, reading, parsing.
NOBODY = ("Unknown", "unknown@local")  # the name and mail of a person without an identity


def read_ident(repo: Location, role: str = "COMMITTER") -> str:
    """`Name <mail> seconds zone` of the person, as git would write it for role now.

    role: AUTHOR or COMMITTER.  Environment, then configuration, then NOBODY.
    """
    env = repo.git.env
    config = repo.config
    low = role.lower()
    name = env.get(f"GIT_{role}_NAME") or config.get(f"{low}.name") or config.get("user.name")
    mail = env.get(f"GIT_{role}_EMAIL") or config.get(f"{low}.email") or config.get("user.email")
    clean = str.maketrans("", "", "<>\n\0")
    name = (name or NOBODY[0]).translate(clean).strip() or NOBODY[0]
    mail = (mail or env.get("EMAIL") or NOBODY[1]).translate(clean).strip()
    return f"{name} <{mail}> {format_now()}"


def format_now() -> str:
    """The present time in the form of a commit: seconds and the local zone."""
    seconds = int(time.time())
    return f"{seconds} {time.strftime('%z', time.localtime(seconds))}"


def parse_ident(ident: str) -> tuple[str, int]:
    """(`Name <mail>`, seconds since 1970) of the author or committer of a commit; 0 without a
    time."""
    name, _, date = ident.rpartition("> ")
    seconds = date.partition(" ")[0]
    return f"{name}>", int(seconds) if seconds.isdecimal() else 0


def write_commit(repo: Location, tree: str, parents: Sequence[str], message: str) -> str:
    """Store a commit by the person, now; return its oid."""
    head = [f"tree {tree}", *(f"parent {p}" for p in parents)]
    head += [f"author {read_ident(repo, 'AUTHOR')}", f"committer {read_ident(repo)}"]
    return get_objects(repo).write(
        "commit", encode_name("\n".join([*head, "", message.rstrip("\n")]) + "\n")
    )


def read_commit(objects: Objects, spec: str) -> Commit | None:
    """The commit that spec names, also through tags; None if there is none."""
    obj = objects.read(spec)
    if obj and obj[1] == "tag":
        obj = objects.read(f"{spec}^{{commit}}")
    if obj and obj[1] == "commit":
        return parse_commit(obj[0], obj[2])
    return None


def need_commit(objects: Objects, spec: str) -> Commit:
    """read_commit(); raises Error if there is none."""
    commit = read_commit(objects, spec)
    if commit is None:
        raise Error(f"not a commit: '{spec}'")
    return commit


def _decode_text(text: bytes, encoding: str) -> str:
    """Decode a text of a commit that names its encoding; as UTF-8 if that is unknown or wrong."""
    try:
        if encoding:
            return text.decode(encoding)
        return decode_name(text)
    except (LookupError, ValueError):
        return decode_name(text)


def parse_commit(oid: str, data: bytes) -> Commit:
    """Parse the bytes of a commit object."""
    head, _, message = data.partition(b"\n\n")
    commit: Commit = {
        "oid": oid,
        "tree": "",
        "parents": [],
        "author": "",
        "committer": "",
        "message": "",
    }
    # Before its message git writes the name of an encoding that is not UTF-8.
    encoding = head.partition(b"\nencoding ")[2].partition(b"\n")[0].decode("latin-1")
    commit["message"] = _decode_text(message, encoding)
    for line in _decode_text(head, encoding).split("\n"):
        key, _, value = line.partition(" ")
        if key == "parent":
            commit["parents"].append(value)
        elif key == "tree":
            commit["tree"] = value
        elif key == "author" and not commit["author"]:
            commit["author"] = value
        elif key == "committer" and not commit["committer"]:
            commit["committer"] = value
    return commit


# What a commit changes: before it is made by its index, afterwards by its trees.
OURS = ".entire/"


def read_staged(at: Git, parent: str) -> Changes:
    """The changes of git's index against the tree-ish parent."""
    args = "diff-index --cached --raw -z --no-renames --no-abbrev --ignore-submodules=none"
    out = at.read_records(*args.split(), parent)
    return {
        decode_name(path): parse_change(head)
        for head, path in zip(out[::2], out[1::2], strict=True)
    }


def parse_change(raw: bytes) -> Staged:
    """The change in git's raw format: `:<mode> <mode> <oid> <oid> <status>`."""
    old_mode, mode, *oids, _ = raw[1:].decode().split(" ")
    old, new = (oid if oid.strip("0") else None for oid in oids)
    return old_mode, old, mode, new


def read_tree_changes(objects: Objects, old: str | None, new: str) -> Changes:
    """The changes of a tree against another; old: None for no tree."""

    from gitcp.text import ids

    return {
        path: ids.build_change(before, after)
        for path, before, after in compare_trees(objects, old, new)
        if not path.startswith(OURS)
    }


def read_changes(objects: Objects, commit: Commit) -> tuple[str, Changes]:
    """(the first parent of a commit, zeros without one; the changes of the commit against it).

    A merge changes only the paths that are as in none of its parents.
    """
    parent = (commit["parents"] or ["0" * len(commit["oid"])])[0]
    return parent, compare_with_parents(objects, commit)[0]


def compare_with_parents(objects: Objects, commit: Commit) -> list[Changes]:
    """The changes of a commit against each parent, at the paths that differ from all parents."""
    trees = [find_tree(objects, parent) for parent in commit["parents"]] or [None]
    sides = [read_tree_changes(objects, tree, commit["tree"]) for tree in trees]
    everywhere = set(sides[0]).intersection(*sides)
    return [{path: side[path] for path in side if path in everywhere} for side in sides]
