"""Contents that git compares and that are not here.

A partial clone has left them with its remote, which may not answer, or they are lost.  git ends at
the first of them.  It goes on with stand-ins: objects in a temporary directory that have the names
of the missing ones.  A missing blob stands there as a binary file, so that git shows no lines of
it; a missing tree as one with nothing but a submodule, by whose name it is recognised.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from contextlib import ExitStack, contextmanager

from gitcp import memory
from gitcp.errors import Error, GitError
from gitcp.git import NOWHERE, decode_name, files
from gitcp.git.objects import Lookup, cat_file, read_commit
from gitcp.git.objects.cat_file import list_missing
from gitcp.git.objects.patches import unquote_name
from gitcp.git.records import encode_lines
from gitcp.text import console
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Set

    from gitcp.git import Git
    from gitcp.git.objects import Objects
    from gitcp.git.objects.patches import Patch
    from gitcp.git.repo import Repo
    from gitcp.lines.porcelain import BlameEntry

    Name = str | bytes
    CommitPath = tuple[str, str]

_RAW = "--raw -z --no-renames --no-abbrev --no-color"
_LOG = f"log {_RAW} -c --root --no-show-signature --no-notes --format="
_TREES = "rev-list --objects --no-object-names --missing=print --filter=blob:none --no-walk --stdin"
_ALTERNATES = "GIT_ALTERNATE_OBJECT_DIRECTORIES"
_COUNT = "GIT_CONFIG_COUNT"  # of the settings that the environment has
_BY_TREES = ("--full-history", "--full-diff", "-c")
_SUBMODULE = "160000"
_MARK = ".gitcp-absent"  # the only entry of the tree that stands in for another
_USED = "stand-ins"  # the table that says whether this process needed some


class Question:
    """What git is asked to compare.

    raw: the command that lists it, without reading a blob.  named: the commits, or trees, that are
    compared, or the command that prints them, without reading a tree.  stdin: of both commands.
    """

    def __init__(self, raw: Sequence[Name], named: Sequence[Name], stdin: bytes = b"") -> None:
        self.raw = raw
        self.named = named
        self.stdin = stdin

    def list_names(self, git: Git) -> bytes:
        """The names of the commits, or trees, a line each."""
        if self.named[:1] != ("log",):
            return encode_lines(map(str, self.named))
        out = git.run(*self.named, stdin=self.stdin)[1]
        return b"".join(b"%s\n" % name for name in out.split())


def ask_log(*chosen: Name, stdin: bytes = b"") -> Question:
    """The commits that `git log` chooses by these arguments, each with its parents."""
    # Without paths git reads no tree to choose them.
    limit = next((n for n, word in enumerate(chosen) if word in ("--", b"--")), len(chosen))
    free = [word for word in chosen[:limit] if word not in _BY_TREES]
    return Question((*_LOG.split(), *chosen), ("log", "--format=%H %P", *free, "--"), stdin)


def ask_difference(base: str, tip: str) -> Question:
    """Two trees, or the trees of two commits."""
    raw = "diff-tree", "-r", *_RAW.split(), "--end-of-options", base, tip, "--"
    return Question(raw, (base, tip))


class StandIns:
    """What stands in for missing objects.  env: with which git finds it; {} if nothing is missing.

    blobs, trees: the oids that are missing.
    """

    def __init__(self, blobs: Set[str] = frozenset(), trees: Set[str] = frozenset()) -> None:
        self.blobs = blobs
        self.trees = trees
        self.env: dict[str, str] = {}

    def write(self, repo: Repo, stack: ExitStack) -> None:
        """Write the stand-ins, if any are needed, into a directory that stack removes."""
        if not self.blobs and not self.trees:
            return
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gitcp-"))
        for oid in self.blobs:
            _write_loose(folder, oid, "blob", b"\0" + oid.encode())
        for oid in self.trees:
            entry = f"{_SUBMODULE} {_MARK}\0".encode() + bytes.fromhex(oid)
            _write_loose(folder, oid, "tree", entry)
        others = repo.git.env.get(_ALTERNATES)
        paths = folder
        if others:
            paths += os.pathsep + others
        self.env = {**NOWHERE, _ALTERNATES: paths, **_forbid_cache(repo)}
        memory.get_table(_USED)["yes"] = True

    def clear(self, patches: Sequence[Patch], commit: str = "") -> list[Patch]:
        """The patches without what git shows of trees that stand in for others.

        commit: the one to which they belong, to warn of what is not known of it."""
        names = [patch["path"] or patch["old"] for patch in patches]
        hidden = [name.removesuffix(_MARK) for name in names if _is_mark(name)]
        kept: list[Patch] = []
        for name, patch in zip(names, patches, strict=True):
            folder = next((folder for folder in hidden if name.startswith(folder)), None)
            if folder is None:
                kept.append(patch)
                lacking = ""
                if not self.blobs.isdisjoint((patch["was"], patch["oid"])):
                    lacking = name
            else:
                lacking = folder or "."
            if lacking and commit:
                warn_lacking(commit, lacking)
        return kept

    def warn(self) -> None:
        """Warn of each missing object, of which git shows the stand-in."""
        for kind, oids in (("blob", self.blobs), ("tree", self.trees)):
            for oid in sorted(oids):
                console.warn_lacking(f"{kind} '{oid}' cannot be compared", console.CONTENT)


def _forbid_cache(repo: Repo) -> dict[str, str]:
    """The environment in which git keeps no text that a textconv makes of a stand-in: its cache
    has them by oid, and would give them for the contents themselves."""
    keys = dict.fromkeys(repo.config.list_keys("diff.", ".cachetextconv"))
    count = int(os.environ.get(_COUNT) or 0)
    env = {_COUNT: str(count + len(keys))}
    for n, key in enumerate(keys, count):
        env |= {f"GIT_CONFIG_KEY_{n}": key, f"GIT_CONFIG_VALUE_{n}": "false"}
    return env


def _is_mark(name: str) -> bool:
    return name.rpartition("/")[2] == _MARK


def _write_loose(folder: str, oid: str, kind: str, data: bytes) -> None:
    place = os.path.join(folder, oid[:2])
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, oid[2:]), "wb") as f:
        f.write(zlib.compress(b"%s %d\0%s" % (kind.encode(), len(data), data)))


def warn_lacking(commit: str, path: str) -> None:
    """Warn that it is not known what a commit changed at a path."""
    console.warn_lacking(
        f"commit '{abbreviate(commit)}': '{path}' cannot be compared", console.CONTENT
    )


@contextmanager
def stand_in(
    repo: Repo, question: Question, lost: bool = False, search: bool = True
) -> Iterator[StandIns]:
    """Yield the stand-ins for the missing ones of the contents that git compares.  In a partial
    clone the remote is asked first, for all at once.

    lost: whether something is known to be missing; else only a partial clone is searched, if it
    is to be searched at all.
    """
    is_partial = lost or (search and cat_file.find_promisor(repo))
    if is_partial:
        missing = _find_missing(repo, question)
    else:
        missing = StandIns()
    with ExitStack() as stack:
        missing.write(repo, stack)
        yield missing


@contextmanager
def stand_in_history(repo: Repo, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the environment with stand-ins for all that is missing of the history of the revisions
    among names; no remote is asked."""
    cat_file.forbid_fetch(repo)
    revisions = repo.git.run("rev-parse", "--revs-only", "--default", "HEAD", *names)[1].split()
    with stand_in(repo, ask_log(*revisions, "--"), lost=True) as found:
        yield found.env


def is_needed() -> bool:
    """Whether this process needed stand-ins."""
    return bool(memory.get_table(_USED))


def _find_missing(repo: Repo, question: Question) -> StandIns:
    try:
        return StandIns(_ask_remote(repo, _list_blobs(repo, question, NOWHERE)))
    except GitError:
        pass  # a tree is missing, or the question is wrong
    try:
        trees = _ask_remote(repo, _list_missing_trees(repo, question))
        if trees:
            trees = _list_missing_trees(repo, question)  # also those that were found meanwhile
        with ExitStack() as stack:
            known = StandIns(trees=trees)
            known.write(repo, stack)
            blobs = _list_blobs(repo, question, {**NOWHERE, **known.env})
        return StandIns(_ask_remote(repo, blobs), trees)
    except GitError:
        return StandIns()  # git says what is wrong when it is asked


def _list_blobs(repo: Repo, question: Question, env: dict[str, str]) -> set[str]:
    """The blobs that are compared."""
    running = repo.git.start(*question.raw, feed=bool(question.stdin), env=env)
    blobs: set[str] = set()
    for token in running.stream_records(stdin=question.stdin):
        row = token.lstrip(b"\n")
        if row.startswith(b":"):
            fields = decode_name(row.lstrip(b":")).split(" ")
            count = len(row) - len(row.lstrip(b":")) + 1
            for mode, oid in zip(fields[:count], fields[count : 2 * count], strict=True):
                if mode != _SUBMODULE and oid.strip("0"):
                    blobs.add(oid)
    return blobs


def _list_missing_trees(repo: Repo, question: Question) -> set[str]:
    names = question.list_names(repo.git)
    out = repo.git.run(*_TREES.split(), stdin=names, env=NOWHERE)[1]
    return {line[1:] for line in out.decode().split() if line.startswith("?")}


def _ask_remote(repo: Repo, oids: set[str]) -> set[str]:
    """The objects among oids that are missing, also after the remote of a partial clone, if it may
    be asked, has sent what it has."""
    missing = list_missing(repo, oids)
    if missing:
        remote = cat_file.find_remote(repo)
        if remote:
            cat_file.fetch_missing(repo, remote, sorted(missing))
            missing = list_missing(repo, missing)
    return missing


def list_shallow(repo: Repo) -> set[str]:
    """The commits (full oids) whose parents a shallow clone lacks."""
    data = files.read_bytes(os.path.join(repo.common, "shallow")) or b""
    return set(data.decode().split())


def warn_shallow(commit: str) -> None:
    """Warn that it is not known what a commit at the edge of a shallow clone changed."""
    console.warn_lacking(
        f"commit '{abbreviate(commit)}': its parents are not here", console.HISTORY
    )


def list_cut_places(repo: Repo, entries: Iterable[BlameEntry]) -> set[CommitPath]:
    """The places of lines that git blames on a commit because the content before it is not here;
    each is warned of."""
    shallow = list_shallow(repo)
    used = memory.get_table(_USED)
    if not shallow and not used:
        return set()
    previous: dict[CommitPath, str] = {}
    for entry in entries:
        if entry.is_committed:
            name = dict(entry.headers).get(b"previous", b"")
            spec = ""
            if name:
                oid, _, path = name.partition(b" ")
                spec = f"{decode_name(oid)}:{decode_name(unquote_name(path))}"
            previous.setdefault((entry.oid, entry.path), spec)
    oids = repo.objects.ahead.resolve(spec for spec in previous.values() if spec)
    cut = set()
    for place, spec in previous.items():
        if not spec and place[0] in shallow:
            warn_shallow(place[0])
            cut.add(place)
            continue
        if spec:
            is_missing = not oids[spec]
        else:
            is_missing = bool(used) and _is_hidden(repo.objects, *place)
        if is_missing:
            warn_lacking(*place)
            cut.add(place)
    return cut


def _is_hidden(objects: Objects, commit: str, path: str) -> bool:
    """Whether a parent of a commit, or a directory there that may have the path, is missing."""
    parsed = read_commit(objects, commit)
    try:
        if parsed:
            for parent in parsed["parents"]:
                before = read_commit(objects, parent)
                if not before:
                    return True
                Lookup(objects, before["tree"])(path)
    except Error:
        return True
    return False
