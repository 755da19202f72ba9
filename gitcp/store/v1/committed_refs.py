"""The refs that hold checkpoints, and where in them one is."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.record import text
from gitcp.store.git.tree import TREE, read_tree
from gitcp.store.v1.committed_write import REF, order_tracking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import Tree
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_PATTERNS = (
    REF,
    "refs/remotes/**/entire/checkpoints/v1",
    "refs/heads/entire/sessions",
    "refs/remotes/**/entire/sessions",
)


def sources(repo: Repo) -> list[str]:
    """The refs that hold checkpoints: ours, or the remotes' where it is absent; then legacy."""
    return _preferred(repo, _listed(repo))


def everywhere(repo: Repo) -> list[str]:
    """sources(), and behind them the remotes' branches that ours stands before."""
    names = _listed(repo)
    return list(dict.fromkeys([*_preferred(repo, names), *names]))


def _listed(repo: Repo) -> list[str]:
    names = repo.git.lines("for-each-ref", "--format=%(refname)", *_PATTERNS, sep=b"\n")
    return [text(name) for name in names]


def _preferred(repo: Repo, names: list[str]) -> list[str]:
    def pick(branch: str) -> list[str]:
        local = f"refs/heads/{branch}"
        if local in names:
            return [local]
        remote = [n for n in names if n.endswith(f"/{branch}")]
        return order_tracking(repo, remote)

    return pick("entire/checkpoints/v1") + pick("entire/sessions")


def find(repo: Repo, objects: Objects, checkpoint_id: str) -> tuple[str, str] | None:
    """(ref, tree) of a checkpoint; None when no ref has it.

    Raises Error where a ref that may have it cannot be read, and no other has it.
    """
    return Places(repo, objects).find(checkpoint_id)


class Places:
    """find() for many: the refs are listed once, and each directory is read once.

    It tells what the refs were when it first looked: for one answer, not for one who waits.
    """

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._refs: list[str] | None = None
        self._tips: dict[str, str | None] = {}
        self._trees: dict[str, Tree | Error] = {}

    def find(self, checkpoint_id: str) -> tuple[str, str] | None:
        """As the function of that name."""
        trouble: list[Error] = []
        if tree := self.tree_in(REF, checkpoint_id, trouble):
            return REF, tree
        if self._refs is None:
            self._refs = everywhere(self._repo)
        for ref in self._refs:
            if tree := self.tree_in(ref, checkpoint_id, trouble):
                return ref, tree
        if trouble:
            raise trouble[0]
        return None

    def shards(self, ids: Iterable[str]) -> list[str]:
        """The directories that find() will yet read for these, to be fetched at once."""
        try:
            tip = self._tip(REF, [])
            entries = self._read(tip) if tip else {}
        except Error:
            return []
        names = dict.fromkeys(one[:2] for one in ids)
        oids = [entries[name][1] for name in names if name in entries]
        return [oid for oid in oids if oid not in self._trees]

    def tree_in(self, ref: str, checkpoint_id: str, trouble: list[Error]) -> str | None:
        """The directory of a checkpoint in one ref; None when it has none, or one that cannot
        be read: then trouble tells."""
        shard, rest = checkpoint_id[:2], checkpoint_id[2:]
        try:
            tree = self._tip(ref, trouble)
            for name in (shard, rest):
                entry = self._read(tree).get(name) if tree else None
                if entry is None:
                    return None
                if entry[0] != TREE:
                    at = f"'{ref}:{shard}'" if name == shard else f"checkpoint '{checkpoint_id}'"
                    raise Error(f"{at} is no directory")
                tree = entry[1]
        except Error as e:
            trouble.append(Error(f"checkpoint '{checkpoint_id}': {e}"))
            return None
        return tree

    def _tip(self, ref: str, trouble: list[Error]) -> str | None:
        if ref not in self._tips:
            tip = self._objects.read(f"{ref}^{{tree}}")
            self._tips[ref] = tip[0] if tip else None
        if self._tips[ref] is None and self._objects.read(ref):
            tip = self._objects.read(f"{ref}^{{tree}}")  # the ref may have come meanwhile
            self._tips[ref] = tip[0] if tip else None
            if tip is None:
                trouble.append(Error(f"'{ref}': its tree is missing"))
        return self._tips[ref]

    def _read(self, oid: str) -> Tree:
        if oid not in self._trees:
            try:
                self._trees[oid] = read_tree(self._objects, oid)
            except Error as e:
                self._trees[oid] = e
        tree = self._trees[oid]
        if isinstance(tree, Error):
            raise tree
        return tree
