"""Streams move on to a new commit: carried forward after a linked one, renamed after others.

A bystander's state is never written here: it finds its stream by id at its own next event
(doc/behaviour.md "After a linked commit").
"""

from __future__ import annotations

from gitcp import trace
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.store.git import refs
from gitcp.store.git.commit import write_commit
from gitcp.store.git.tree import edit_tree
from gitcp.store.snapshot import blobs
from gitcp.store.stream import branches, place, recall, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Commit, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def carry_streams(
    repo: Repo, objects: Objects, old: str, commit: Commit, condensed: set[str] | None
) -> list[refs.Edit]:
    """Move the streams of base old to the commit made on it; return the ref edits done.

    condensed: the sessions the commit was linked to, whose states are saved; None: it was not.
    """
    done: list[refs.Edit] = []
    with exclusive(repo, f"stream-{repo.worktree_hash}"):
        for tip in list_moving_streams(repo, objects, old, commit["oid"]):
            linked = condensed is not None
            edits = _settle_stream(repo, objects, tip, commit, condensed or set()) if linked else []
            edits = edits or place.rename_stream(repo, objects, tip, commit["oid"])
            refs.update_refs(repo, edits, "gitcp: carry forward")
            done += edits
    return done


def list_moving_streams(repo: Repo, objects: Objects, base: str, new: str) -> list[Tip]:
    """The tips of the streams that a commit new on base moves, whichever mode made them.

    Those of base; those whose base moved unseen (a pull, a cherry-pick) and whose work is
    here, or was and is settled now.  Others stay where coming back finds them.
    """
    listed = refs.list_refs(repo, *shadow_refs.PLACES)
    parsed = {ref: ids.parse_shadow(ref) for ref in listed}
    here = [
        ref for ref, parts in parsed.items() if parts and parts["worktree"] == repo.worktree_hash
    ]
    tips, own = [], branches.list_refs(repo, base, listed)
    moved = branches.list_refs(repo, new, listed)
    for ref in dict.fromkeys([*own, *here]):
        if ref in moved:
            continue  # by a session's event, between the commit and this hook
        try:
            obj = objects.read(listed[ref])
            tip = shadow_refs.parse_tip(ref, obj) if obj else None
        except Error as e:
            trace.append_note("stream", str(e))  # a branch of the person's: never touched
            continue
        if tip and (ref in own or _is_here(repo, objects, tip, new)):
            tips.append(tip)
    return tips


def _is_here(repo: Repo, objects: Objects, tip: Tip, new: str) -> bool:
    named = branches.map_named_paths(repo, tip["stream"], shadow_refs.list_sessions(objects, tip))
    if any(named.values()):
        return branches.should_follow(repo, objects, tip, new)
    return not recall.holds_lost_work(repo, objects, tip)


def _settle_stream(
    repo: Repo, objects: Objects, tip: Tip, commit: Commit, condensed: set[str]
) -> list[refs.Edit]:
    """What a linked commit leaves of a stream starts the next one, under the same id."""
    named = branches.map_named_paths(repo, tip["stream"], shadow_refs.list_sessions(objects, tip))
    unsettled = set().union(*named.values())
    present = blobs.list_dirty(repo, objects, unsettled, commit["oid"])
    edits: list[refs.Edit] = []
    if present:
        spot = place.rename_stream(repo, objects, tip, commit["oid"])[0]
        metadata = {
            path: entry
            for path, entry in shadow_refs.read_metadata(objects, tip["tree"]).items()
            if path.rpartition("/")[2] in named
        }
        tree = edit_tree(objects, commit["tree"], {**present, **metadata})
        last = tip["session_id"] if tip["session_id"] in named else min(named)
        message = shadow_refs.build_message(shadow_refs.CARRIED, last, commit["oid"], tip["stream"])
        oid = write_commit(objects, repo, tree, [], message)
        if not spot[0].startswith(shadow_refs.ARCHIVE):
            edits.append((spot[0], oid, None))
        else:
            present = {}  # the name is taken: all of it stays in the archive
    if unsettled - set(present) or recall.holds_lost_work(repo, objects, tip, condensed):
        edits.insert(0, place.archive_stream(repo, tip))
    return [*edits, (tip["ref"], None, tip["oid"])]
