"""Trees: read one, look a path up, edit a few paths, compare two.

Only the directories of the paths in question are read and written.
"""

from __future__ import annotations

import time

from gitcp.errors import Error, GitError
from gitcp.record import decode_name, encode_lines, encode_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gitcp.core.linking import Staged
    from gitcp.core.record_types import Commit, Entry, Tree
    from gitcp.git import Git
    from gitcp.repo import Repo
    from gitcp.store.objects import Objects

    Changes = dict[str, Staged]

TREE = "040000"
_DEEPEST, _MOST = 200, 10_000_000
_SMALL_TREE, _KEPT = 1 << 13, 256  # bytes of a tree that stays parsed, and how many of them
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
    start, end, digits = 0, len(data), data.hex()
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
    named = objects.read(f"{commit}^{{tree}}") if commit and commit.strip("0") else None
    return named[0] if named else None


def write_tree(objects: Objects, entries: Tree) -> str:
    """Store one tree; return its oid."""
    # git sorts a directory as if its name ended in a slash
    keyed = sorted(
        (encode_name(n) + b"/" * (e[0] == TREE), encode_name(n), e) for n, e in entries.items()
    )
    data = [
        b"%s %s\0%s" % (mode.lstrip("0").encode(), name, bytes.fromhex(oid))
        for _, name, (mode, oid) in keyed
    ]
    return objects.write("tree", b"".join(data))


def encode_index_info(entries: Mapping[str, Entry]) -> bytes:
    """Entries by path as `git update-index -z --index-info` reads them."""
    return encode_lines((f"{mode} {oid}\t{path}" for path, (mode, oid) in entries.items()), "\0")


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
    return write_tree(objects, tree) if tree else None


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
            self._seen[path] = read_tree(self._objects, oid) if mode == TREE else {}
        return self._seen[path]


def list_files(objects: Objects, tree: str, most: int = _MOST) -> Iterator[tuple[str, Entry]]:
    """Yield (path, entry) of every file below a tree.

    Raises Error for more than `most` entries, and for directories nested too deep: a few objects
    can refer to each other so often that they make up any number of paths.
    """
    yield from _list_files(objects, tree, "", [most])


def _list_files(
    objects: Objects, tree: str, prefix: str, left: list[int]
) -> Iterator[tuple[str, Entry]]:
    if prefix.count("/") > _DEEPEST:
        raise Error(f"directories nested more than {_DEEPEST} deep: '{prefix[:60]}'")
    entries = read_tree(objects, tree)
    left[0] -= len(entries) + 1
    if left[0] < 0:
        raise Error(f"too many entries below '{tree}'")
    for name, (mode, oid) in entries.items():
        if mode == TREE:
            yield from _list_files(objects, oid, f"{prefix}{name}/", left)
        else:
            yield prefix + name, (mode, oid)


def compare_trees(
    objects: Objects, old: str | None, new: str | None, prefix: str = ""
) -> Iterator[tuple[str, Entry | None, Entry | None]]:
    """Yield (path, old entry, new entry) for each file that differs."""
    if old == new:
        return
    a = read_tree(objects, old) if old else {}
    b = read_tree(objects, new) if new else {}
    for name in sorted(name for name in {*a, *b} if a.get(name) != b.get(name)):
        entries = a.get(name), b.get(name)
        old_tree, new_tree = (e[1] if e and e[0] == TREE else None for e in entries)
        if old_tree or new_tree:
            yield from compare_trees(objects, old_tree, new_tree, f"{prefix}{name}/")
        old_file, new_file = (None if e and e[0] == TREE else e for e in entries)
        if old_file != new_file:
            yield prefix + name, old_file, new_file


# Commit objects: identities, writing, reading, parsing.
NOBODY = ("Unknown", "unknown@local")  # the name and mail of a person without an identity


def read_ident(repo: Repo, role: str = "COMMITTER") -> str:
    """`Name <mail> seconds zone` of the person, as git would write it for role now.

    role: AUTHOR or COMMITTER.  Environment, then configuration, then NOBODY.
    """
    env, config = repo.git.env, repo.config
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


def read_names(repo: Repo, commits: Iterable[str]) -> dict[str, str]:
    """oid -> the name of its author by the mailmap, as git log and git blame show it, of commits
    (full oids)."""
    if not (oids := encode_lines(commits)):
        return {}
    options = "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--format=%H %aN"
    _, out = repo.git.run("log", *options, "--stdin", stdin=oids)
    rows = (line.split(b" ", 1) for line in out.splitlines())
    return {oid.decode(): decode_name(name) for oid, name in rows}


def write_commit(repo: Repo, tree: str, parents: Sequence[str], message: str) -> str:
    """Store a commit by the person, now; return its oid."""
    head = [f"tree {tree}", *(f"parent {p}" for p in parents)]
    head += [f"author {read_ident(repo, 'AUTHOR')}", f"committer {read_ident(repo)}"]
    return repo.objects.write(
        "commit", encode_name("\n".join([*head, "", message.rstrip("\n")]) + "\n")
    )


def read_commit(objects: Objects, spec: str) -> Commit | None:
    """The commit that spec names, also through tags; None if there is none."""
    obj = objects.read(spec)
    if obj and obj[1] == "tag":
        obj = objects.read(f"{spec}^{{commit}}")
    return parse_commit(obj[0], obj[2]) if obj and obj[1] == "commit" else None


def build_log_args(
    options: Sequence[str], revisions: Sequence[str], paths: Sequence[str]
) -> list[str | bytes]:
    """The arguments of `git log` for options, revisions and paths that a person gives."""
    return [*options, "--end-of-options", *revisions, "--", *map(encode_name, paths)]


def list_commits(repo: Repo, *args: str, stdin: bytes = b"") -> list[str]:
    """The oids that git rev-list prints for these arguments, in its order."""
    return repo.git.run("rev-list", *args, stdin=stdin)[1].decode().split()


def is_ancestor(repo: Repo, ancestor: str, commit: str) -> bool | None:
    """Whether a commit has ancestor in its history, or is it; None if one of them is not here."""
    status, _ = repo.git.run("merge-base", "--is-ancestor", ancestor, commit, ok=(0, 1, 128))
    return None if status == 128 else status == 0


def need_commit(objects: Objects, spec: str) -> Commit:
    """read_commit(); raises Error if there is none."""
    commit = read_commit(objects, spec)
    if commit is None:
        raise Error(f"not a commit: '{spec}'")
    return commit


def _decode_text(text: bytes, encoding: str) -> str:
    """Decode a text of a commit that names its encoding; as UTF-8 if that is unknown or wrong."""
    try:
        return text.decode(encoding) if encoding else decode_name(text)
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
_OURS = ".entire/"


def read_staged(git: Git, parent: str) -> Changes:
    """The changes of git's index against the tree-ish parent."""
    args = "diff-index --cached --raw -z --no-renames --no-abbrev --ignore-submodules=none"
    out = git.read_records(*args.split(), parent)
    return {
        decode_name(path): _parse_change(head)
        for head, path in zip(out[::2], out[1::2], strict=True)
    }


def _parse_change(raw: bytes) -> Staged:
    """The change in git's raw format: `:<mode> <mode> <oid> <oid> <status>`."""
    old_mode, mode, *oids, _ = raw[1:].decode().split(" ")
    old, new = (oid if oid.strip("0") else None for oid in oids)
    return old_mode, old, mode, new


def read_tree_changes(objects: Objects, old: str | None, new: str) -> Changes:
    """The changes of a tree against another; old: None for no tree."""
    from gitcp.core import linking

    return {
        path: linking.build_change(before, after)
        for path, before, after in compare_trees(objects, old, new)
        if not path.startswith(_OURS)
    }


def read_changes(objects: Objects, commit: Commit) -> tuple[str, Changes]:
    """(the first parent of a commit, zeros without one; the changes of the commit against it).

    A merge changes the paths that it has from no parent.
    """
    parent = (commit["parents"] or ["0" * len(commit["oid"])])[0]
    return parent, compare_with_parents(objects, commit)[0]


def compare_with_parents(objects: Objects, commit: Commit) -> list[Changes]:
    """The changes of a commit against each parent, at the paths that it has from none."""
    trees = [find_tree(objects, parent) for parent in commit["parents"]] or [None]
    sides = [read_tree_changes(objects, tree, commit["tree"]) for tree in trees]
    own = set(sides[0]).intersection(*sides)
    return [{path: side[path] for path in side if path in own} for side in sides]


def read_many_changes(repo: Repo, commits: Iterable[Commit]) -> dict[str, Changes]:
    """oid -> the changes of a commit, for many at once; a commit that cannot be read is left
    out."""
    by_oid = {commit["oid"]: commit for commit in commits}
    single = [oid for oid, commit in by_oid.items() if len(commit["parents"]) < 2]
    changes = _ask_changes(repo, single) if single else {}
    for oid in by_oid.keys() - changes.keys():
        import contextlib

        with contextlib.suppress(Error):
            changes[oid] = read_changes(repo.objects, by_oid[oid])[1]
    return changes


def _ask_changes(repo: Repo, oids: list[str]) -> dict[str, Changes]:
    args = "diff-tree --stdin --always --root -r -z --no-renames --no-abbrev"
    changes: dict[str, Changes] = {}
    try:
        _, out = repo.git.run(*args.split(), stdin=encode_lines(oids))
    except GitError:
        return {}  # an object is missing: each commit is read alone
    fields = iter(out.split(b"\0")[:-1])
    for field in fields:
        if not field.startswith(b":"):
            own = changes[field.decode()] = {}
        elif not (path := decode_name(next(fields))).startswith(_OURS):
            own[path] = _parse_change(field)
    return changes


def subtract_changes(objects: Objects, changes: Changes, commits: Iterable[Commit]) -> Changes:
    """The changes that none of the other commits makes too, whatever its parent has."""
    other_changes = [read_changes(objects, other)[1] for other in commits]
    return {
        path: change
        for path, change in changes.items()
        if not any(
            path in other and _is_same(objects, other[path], change) for other in other_changes
        )
    }


def _is_same(objects: Objects, entry: Staged, other: Staged) -> bool:
    return entry[2:] == other[2:] or _list_added(objects, entry) == _list_added(objects, other)


def _list_added(objects: Objects, change: Staged) -> set[bytes]:
    _, old, _, new = change
    from gitcp.core import linking

    return linking.find_added_lines(objects.read_blob(old), objects.read_blob(new))
