"""The refs that hold checkpoints, and where in them one is."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.record import text
from gitcp.store.git.tree import TREE, read_tree
from gitcp.store.v1.committed_write import REF

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    existing = repo.git.lines("for-each-ref", "--format=%(refname)", *_PATTERNS, sep=b"\n")
    names = [text(name) for name in existing]

    def pick(branch: str) -> list[str]:
        local = f"refs/heads/{branch}"
        if local in names:
            return [local]
        remote = [n for n in names if n.endswith(f"/{branch}")]
        return sorted(remote, key=lambda n: (not n.startswith("refs/remotes/origin/"), n))

    return pick("entire/checkpoints/v1") + pick("entire/sessions")


def everywhere(repo: Repo) -> list[str]:
    """sources(), and behind them the remotes' branches that ours stands before."""
    existing = repo.git.lines("for-each-ref", "--format=%(refname)", *_PATTERNS, sep=b"\n")
    return list(dict.fromkeys([*sources(repo), *map(text, existing)]))


def find(repo: Repo, objects: Objects, checkpoint_id: str) -> tuple[str, str] | None:
    """(ref, tree) of a checkpoint; None when no ref has it.

    Raises Error where a ref that may have it cannot be read, and no other has it.
    """
    trouble: list[Error] = []
    if tree := tree_in(objects, REF, checkpoint_id, trouble):
        return REF, tree
    for ref in everywhere(repo):
        if tree := tree_in(objects, ref, checkpoint_id, trouble):
            return ref, tree
    if trouble:
        raise trouble[0]
    return None


def tree_in(objects: Objects, ref: str, checkpoint_id: str, trouble: list[Error]) -> str | None:
    """The directory of a checkpoint in one ref; None when it has none, or one that cannot be
    read: then trouble tells."""
    shard, rest, entry = checkpoint_id[:2], checkpoint_id[2:], None
    tip = objects.read(f"{ref}^{{tree}}")
    if tip is None and objects.read(ref):
        trouble.append(Error(f"'{ref}': its tree is missing"))
    try:
        for name, at in ((shard, f"'{ref}:{shard}'"), (rest, f"checkpoint '{checkpoint_id}'")):
            tree = entry[1] if entry else tip[0] if tip else None
            entry = read_tree(objects, tree).get(name) if tree else None
            if entry and entry[0] != TREE:
                raise Error(f"{at} is no directory")
            if entry is None:
                return None
    except Error as e:
        trouble.append(Error(f"checkpoint '{checkpoint_id}': {e}"))
        return None
    return entry[1] if entry else None
