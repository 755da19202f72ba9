"""Where checkpoints are stored: each on a ref of its own, or all on a branch.

A place is named by its ref; CHECKPOINTS is the place of all that have their own
(doc/formats.md "Checkpoints as refs").
"""

from __future__ import annotations

from gitcp.core.git.ids import (
    CHECKPOINTS,
    build_checkpoint_ref,
    is_ulid,
    parse_checkpoint_ref,
)
from gitcp.errors import Error, Moved
from gitcp.store.git import refs
from gitcp.store.git.tree import TREE, read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import Tree
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

REF = "refs/heads/entire/checkpoints/v1"
MEMORY = "refs/gitcp/store"  # where REF was when gitcp last moved or saw it
_LEGACY = "refs/heads/entire/sessions"
TRACKING = "refs/remotes/**/entire/checkpoints/v1"
_TRACKING_LEGACY = "refs/remotes/**/entire/sessions"


def list_sources(repo: Repo) -> list[str]:
    """The places to read checkpoints from: CHECKPOINTS if any has a ref of its own; our branch, or
    the remotes' branches if we have none; then the same of the legacy branch."""
    return _choose_places(repo, _list_all_places(repo))


def list_own_places(repo: Repo) -> list[str]:
    """The places that this clone writes to and shares."""
    return [place for place in (CHECKPOINTS, REF) if place in _list_all_places(repo)]


def list_places(repo: Repo) -> list[str]:
    """list_sources(), then the remotes' branches that are not read because ours exists."""
    places = _list_all_places(repo)
    return list(dict.fromkeys([*_choose_places(repo, places), *places]))


def list_tips(repo: Repo) -> dict[str, str]:
    """ref -> oid of every checkpoint that has a ref of its own."""
    tips = refs.list_refs(repo, CHECKPOINTS)
    return {ref: oid for ref, oid in tips.items() if parse_checkpoint_ref(ref)}


def has_own_refs(repo: Repo) -> bool:
    """Whether any checkpoint has a ref of its own."""
    if not refs.may_be_below(repo, f"{CHECKPOINTS}/"):
        return False
    return bool(repo.git.run("for-each-ref", "--count=1", CHECKPOINTS)[1])


def has_checkpoints(repo: Repo) -> bool:
    """Whether this clone has checkpoints, on our branch or on refs."""
    return refs.read_ref(repo, REF) is not None or has_own_refs(repo)


def remember_branch(repo: Repo) -> str:
    """Remember where the branch is, whoever moved it; return explain_deletion()."""
    memory, tip = refs.read_ref(repo, MEMORY), refs.read_ref(repo, REF)
    if tip and tip != memory and not repo.jj_root:
        try:
            refs.update_refs(repo, [(MEMORY, tip, memory)], "gitcp: the branch was moved")
        except Moved:
            pass  # by another process, which remembers it
    return "" if tip else explain_deletion(repo)


def explain_deletion(repo: Repo) -> str:
    """What happened to the branch that MEMORY remembers, and the commands that bring it back and
    agree; "" if the branch is there, or checkpoints have refs of their own."""
    if refs.read_ref(repo, REF) or needs_own_ref(repo) or not refs.read_ref(repo, MEMORY):
        return ""
    name = REF.removeprefix("refs/heads/")
    ways = f"'git branch {name} {MEMORY}' brings it back, 'git update-ref -d {MEMORY}' agrees to it"
    return f"branch '{name}', the store of checkpoints, was deleted: {ways}"


def is_branch_sent(repo: Repo) -> bool:
    """Whether the branch is pushed: unless checkpoints get their own refs, by gitcp.store or
    because jj would make a bookmark of the branch."""
    kind = repo.config.get_option("gitcp.store")
    return bool(kind == "branch") if kind else not repo.jj_root


def needs_own_ref(repo: Repo) -> bool:
    """Whether a new checkpoint gets a ref of its own.  Without gitcp.store and without jj it is
    stored as the existing checkpoints are."""
    return not is_branch_sent(repo) or (
        not repo.config.get_option("gitcp.store") and has_own_refs(repo)
    )


def find_holding_ref(place: str, checkpoint_id: str) -> str:
    """The ref of a checkpoint of a place."""
    return build_checkpoint_ref(checkpoint_id) if place == CHECKPOINTS else place


def list_remote_branches(repo: Repo) -> list[str]:
    """The remote-tracking branches of checkpoints, the destination's first."""
    return order_tracking(repo, list(refs.list_refs(repo, TRACKING)))


def order_tracking(repo: Repo, branches: list[str]) -> list[str]:
    """Remote-tracking branches, those of the destination before origin's before others."""
    if len(branches) > 1:
        target = repo.config.get_option("gitcp.remote")
        preferred = [f"refs/remotes/{name}/" for name in (target, "origin")]
        branches.sort(key=lambda ref: ([not ref.startswith(p) for p in preferred], ref))
    return branches


def _list_all_places(repo: Repo) -> list[str]:
    own = [CHECKPOINTS] if has_own_refs(repo) else []
    branches = [ref for ref in (REF, _LEGACY) if refs.read_ref(repo, ref)]
    return [*own, *branches, *refs.list_refs(repo, TRACKING, _TRACKING_LEGACY)]


def _choose_places(repo: Repo, ref_names: list[str]) -> list[str]:
    def pick(branch: str) -> list[str]:
        local = f"refs/heads/{branch}"
        if local in ref_names:
            return [local]
        remote = [n for n in ref_names if n.endswith(f"/{branch}")]
        return order_tracking(repo, remote)

    own = [CHECKPOINTS] if CHECKPOINTS in ref_names else []
    return own + pick("entire/checkpoints/v1") + pick("entire/sessions")


def find_checkpoint(repo: Repo, objects: Objects, checkpoint_id: str) -> tuple[str, str] | None:
    """(ref, tree) of a checkpoint; None if no ref has it.

    Raises Error if no readable ref has it and one is unreadable.
    """
    return Places(repo, objects).find_checkpoint(checkpoint_id)


class Places:
    """find_checkpoint() for many: the refs are listed once, and each directory is read once.

    A ref that moves later is not noticed.
    """

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._refs: list[str] | None = None
        self._may_have_own: bool | None = None
        self._tips: dict[str, str | None] = {}
        self._trees: dict[str, Tree | Error] = {}

    def find_checkpoint(self, checkpoint_id: str) -> tuple[str, str] | None:
        """As find_checkpoint()."""
        trouble: list[Error] = []
        if tree := self.find_tree(CHECKPOINTS, checkpoint_id, trouble):
            return build_checkpoint_ref(checkpoint_id), tree
        if is_ulid(checkpoint_id) and not trouble:
            return None
        if tree := self.find_tree(REF, checkpoint_id, trouble):
            return REF, tree
        if self._refs is None:
            self._refs = list_places(self._repo)
        for ref in self._refs:
            if ref != CHECKPOINTS and (tree := self.find_tree(ref, checkpoint_id, trouble)):
                return ref, tree
        if trouble:
            raise trouble[0]
        return None

    def list_unread_shards(self, ids: Iterable[str], place: str = REF) -> list[str]:
        """The directories that find_tree() has still to read in a place for these ids."""
        try:
            tip = self._read_tip(place, []) if place != CHECKPOINTS else None
            entries = self._read_tree(tip) if tip else {}
        except Error:
            return []
        shards = dict.fromkeys(checkpoint_id[:2] for checkpoint_id in ids)
        oids = [entries[shard][1] for shard in shards if shard in entries]
        return [oid for oid in oids if oid not in self._trees]

    def find_tree(self, place: str, checkpoint_id: str, trouble: list[Error]) -> str | None:
        """The directory of a checkpoint in one place, else None.  If the place is unreadable, an
        error is added to trouble."""
        if place == CHECKPOINTS:
            if self._may_have_own is None:
                self._may_have_own = refs.may_be_below(self._repo, f"{CHECKPOINTS}/")
            own = build_checkpoint_ref(checkpoint_id)
            return self._read_tip(own, trouble) if self._may_have_own else None
        shard = checkpoint_id[:2]
        try:
            tree = self._read_tip(place, trouble)
            for name in (shard, checkpoint_id[2:]):
                entry = self._read_tree(tree).get(name) if tree else None
                if entry is None:
                    return None
                if entry[0] != TREE:
                    bad = f"'{place}:{shard}'" if name == shard else f"checkpoint '{checkpoint_id}'"
                    raise Error(f"{bad} is no directory")
                tree = entry[1]
        except Error as e:
            trouble.append(Error(f"checkpoint '{checkpoint_id}': {e}"))
            return None
        return tree

    def _read_tip(self, ref: str, trouble: list[Error]) -> str | None:
        if ref not in self._tips:
            tip = self._objects.read(f"{ref}^{{tree}}")
            self._tips[ref] = tip[0] if tip else None
        if self._tips[ref] is None and self._objects.read(ref):
            tip = self._objects.read(f"{ref}^{{tree}}")  # the ref may be new
            self._tips[ref] = tip[0] if tip else None
            if tip is None:
                trouble.append(Error(f"'{ref}': its tree is missing"))
        return self._tips[ref]

    def _read_tree(self, oid: str) -> Tree:
        if oid not in self._trees:
            try:
                self._trees[oid] = read_tree(self._objects, oid)
            except Error as e:
                self._trees[oid] = e
        tree = self._trees[oid]
        if isinstance(tree, Error):
            raise tree
        return tree
