"""Fetching missing checkpoints from the destination when a person asks for one."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.start import late
from gitcp.store.git import partial
from gitcp.store.git.commit import list_commits
from gitcp.store.show import lookup
from gitcp.store.v1 import committed_refs, destination, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_SECONDS = 5.0


def fetch_missing(
    repo: Repo, objects: Objects, name: str, depth: int = 1, *, offline: bool = False
) -> None:
    """Fetch the store if it lacks the checkpoint of name, a checkpoint or a commit, and objects of
    it that a partial clone left out.

    depth: the number of first parents that are searched for a commit with a checkpoint.  Messages
    go to standard error.  Each fetch takes 5 seconds at most.  offline: nothing is fetched.
    """
    if offline:
        partial.forbid_fetch(repo)
        return
    _fetch_store(repo, objects, name, depth)
    if remote := partial.find_remote(repo):
        _fetch_parts(repo, objects, remote, name, depth)


def _fetch_parts(repo: Repo, objects: Objects, remote: str, name: str, depth: int) -> None:
    names = _list_ids(repo, objects, name, depth)
    stored = (committed_refs.find_checkpoint(repo, objects, id_) for id_ in names)
    trees = [place[1] for place in stored if place]
    if not trees or not partial.lacks_objects(repo, trees):
        return
    notice.tell(f"fetching transcripts from '{remote}'")
    if not partial.fetch_missing(repo, remote, trees, _SECONDS, walk=True):
        partial.forbid_fetch(repo)
        objects.close()  # a git that runs may fetch
        notice.warn_lacking(f"'{remote}' did not answer in {_SECONDS:g} seconds")


def _fetch_store(repo: Repo, objects: Objects, name: str, depth: int) -> None:
    source = destination.find_source(repo)
    lacking = _list_lacking(repo, objects, name, depth) if source else []
    if not lacking:
        return
    notice.tell(f"fetching checkpoints from '{source}'")
    try:
        late.sync.fetch_store(repo, objects, source, _SECONDS, lacking)
    except Error as e:
        notice.warn_lacking(str(e))
        return
    if _list_lacking(repo, objects, name, depth):
        notice.tell(f"'{source}' does not have the missing checkpoints")


def _list_lacking(repo: Repo, objects: Objects, name: str, depth: int) -> list[str]:
    """The ids of the checkpoints of name that are not stored here."""
    names = _list_ids(repo, objects, name, depth)
    return [id_ for id_ in names if committed_refs.find_checkpoint(repo, objects, id_) is None]


def _list_ids(repo: Repo, objects: Objects, name: str, depth: int) -> list[str]:
    """A checkpoint's own id, or the ids on a commit or on the nearest first parent that has any."""
    if ids.is_checkpoint_id(name):
        return [name]
    try:
        kind, oid = lookup.resolve_name(repo, objects, name)
    except Error:
        return []
    if kind != "commit":
        return []
    commits = [oid]
    if depth > 1:
        commits = list_commits(repo, "--first-parent", f"--max-count={depth}", oid)
    linked = (find_commits.list_ids(repo, objects, commit) for commit in commits)
    return next(filter(None, linked), [])
