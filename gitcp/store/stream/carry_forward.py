"""Moves streams to a new commit: carried forward after a linked commit, renamed after others.

No state of another session is written here: a session finds its stream by id at its next event
(doc/behaviour.md "After a linked commit").
"""

from __future__ import annotations

from gitcp import trace
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.start import late
from gitcp.store.git import refs
from gitcp.store.git.commit import need_commit, parse_ident, write_commit
from gitcp.store.git.tree import edit_tree
from gitcp.store.journal import journal
from gitcp.store.journal.work import list_withdrawn
from gitcp.store.stream import branches, recall, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Commit, Entry, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def carry_streams(
    repo: Repo, objects: Objects, old: str, commit: Commit, condensed: set[str] | None
) -> list[refs.Update]:
    """Move the streams of base old to the commit made on it; return the ref updates.

    condensed: the sessions that the commit is linked to, whose states are saved; None without a
    link.
    """
    updates: list[refs.Update] = []
    with exclusive(repo, f"stream-{repo.worktree_hash}"):
        for tip in list_moving_streams(repo, objects, old, commit["oid"]):
            if condensed is None:
                moved = late.place.rename_stream(repo, objects, tip, commit["oid"])
            else:
                moved = _settle_stream(repo, objects, tip, commit, condensed)
            refs.update_refs(repo, moved, "gitcp: carry forward")
            updates += moved
    return updates


def list_moving_streams(repo: Repo, objects: Objects, base: str, new: str) -> list[Tip]:
    """The tips of the streams that a commit new on base moves, in either mode.

    These are the streams of base, and those of other bases (after a pull or cherry-pick) whose
    work is here or settled.  The others stay until HEAD returns to their base.
    """
    candidates = refs.list_refs(repo, *shadow_refs.PREFIXES)
    parsed = ((ref, ids.parse_shadow(ref)) for ref in candidates)
    here = [ref for ref, parts in parsed if parts and parts["worktree"] == repo.worktree_hash]
    tips, at_base = [], branches.list_refs(repo, base, candidates)
    at_new = branches.list_refs(repo, new, candidates)
    for ref in dict.fromkeys([*at_base, *here]):
        if ref in at_new:
            continue  # moved by a session's event between the commit and this hook
        try:
            obj = objects.read(candidates[ref])
            tip = shadow_refs.parse_tip(ref, obj) if obj else None
        except Error as e:
            trace.append_note("stream", str(e))  # the person's branch: never touched
            continue
        if tip and (ref in at_base or _is_here(repo, objects, tip, new)):
            tips.append(tip)
    return tips


def _is_here(repo: Repo, objects: Objects, tip: Tip, new: str) -> bool:
    paths_by_session = branches.map_named_paths(
        repo, tip["stream"], shadow_refs.list_sessions(objects, tip)
    )
    if any(paths_by_session.values()):
        return branches.should_follow(repo, objects, tip, new)
    return not recall.holds_lost_work(repo, objects, tip)


def _settle_stream(
    repo: Repo, objects: Objects, tip: Tip, commit: Commit, condensed: set[str]
) -> list[refs.Update]:
    """The ref updates that start the stream again, under the same id, with the files that a linked
    commit left."""
    paths_by_session = branches.map_named_paths(
        repo, tip["stream"], shadow_refs.list_sessions(objects, tip)
    )
    unsettled = set().union(*paths_by_session.values())
    present: dict[str, Entry | None] = {}
    if unsettled:
        present = late.blobs.list_dirty(repo, objects, unsettled, commit["oid"])
    updates: list[refs.Update] = []
    if present:
        target = late.place.rename_stream(repo, objects, tip, commit["oid"])[0]
        metadata = {
            path: entry
            for path, entry in shadow_refs.read_metadata(objects, tip["tree"]).items()
            if path.rpartition("/")[2] in paths_by_session
        }
        tree = edit_tree(objects, commit["tree"], {**present, **metadata})
        owner = tip["session_id"]
        owner = owner if owner in paths_by_session else min(paths_by_session)
        about = (owner, commit["oid"], tip["stream"])
        message = shadow_refs.build_message(shadow_refs.CARRIED, *about)
        oid = write_commit(objects, repo, tree, [], message)
        if not target[0].startswith(shadow_refs.ARCHIVE):
            updates.append((target[0], oid, None))
        else:
            present = {}  # the name is taken: everything stays in the archive
    if (
        unsettled - set(present)
        or recall.holds_lost_work(repo, objects, tip, condensed)
        or _holds_withdrawn_work(repo, objects, tip)
    ):
        updates.insert(0, late.place.archive_stream(repo, tip))
    return [*updates, (tip["ref"], None, tip["oid"])]


def _holds_withdrawn_work(repo: Repo, objects: Objects, tip: Tip) -> bool:
    """Whether checkpoints of a stream have work that was taken back before a commit took it."""
    sessions, lines = shadow_refs.list_sessions(objects, tip), journal.read(repo)
    if not any(list_withdrawn(repo, lines, name, tip["stream"]) for name in sessions):
        return False
    first = commit = need_commit(objects, tip["oid"])
    while shadow_refs.find_trailer(commit["message"], "Entire-Session"):
        first = commit
        if not commit["parents"]:
            break
        commit = need_commit(objects, commit["parents"][0])
    # The archive of an earlier commit has what came before the stream was carried forward.
    is_carried = first["message"].startswith(shadow_refs.CARRIED)
    since = parse_ident(first["committer"])[1] * 1_000_000_000 if is_carried else 0
    return any(list_withdrawn(repo, lines, name, tip["stream"], since) for name in sessions)
