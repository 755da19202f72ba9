"""Sharing checkpoints: push and fetch with a union merge, never by force
(doc/behaviour.md "Sharing")."""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress

from gitcp import trace
from gitcp.console import notice
from gitcp.core.exports import git_ai_union
from gitcp.core.git.ids import CHECKPOINTS, build_checkpoint_ref, parse_checkpoint_ref
from gitcp.errors import Error, Moved
from gitcp.lock import exclusive
from gitcp.record import encode_lines
from gitcp.store.git import notes, private, refs
from gitcp.store.git.commit import list_commits, need_commit, read_commit, write_commit
from gitcp.store.git.tree import compare_trees, edit_tree
from gitcp.store.pack import dropping
from gitcp.store.share import push_check
from gitcp.store.share.remote import Remote
from gitcp.store.v1 import committed_refs, committed_write, conversion, destination
from gitcp.store.v1.find_commits import ALL
from gitcp.store.v1.merge import histories
from gitcp.store.v1.merge import notes as note_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.destination import Tips
    from gitcp.store.v1.merge.notes import Join


_BEFORE = ("merge-base", "--is-ancestor")
_CHUNK = 200  # refs that go together
_SUBJECT = "Notes shared by gitcp"


def push_store(
    repo: Repo,
    objects: Objects,
    name: str,
    timeout: float,
    *,
    search: float | None = None,
    again: bool = True,
    leave: Container[str] = (),
) -> tuple[Tips, int]:
    """Bring the remote to where we are; return (what it has now, how many merges that took).

    Refs go in chunks; what the remote has taken is remembered after each, so that what is cut
    short goes on where it was.  Where somebody was faster, theirs is fetched and united with ours,
    and the push tried again until timeout (seconds).
    search: how many seconds a hook may search for secrets before that, as many by default.
    again: ask the remote even if it has all, as far as we know, or there is nothing to push.
    leave: refs that are not to be pushed.  Raises Error naming the remote when it cannot be
    reached, refuses, or time runs out.
    """
    remote, merges, known = None, 0, destination.read_pushed(repo, name)
    while True:
        tips = _choose_outgoing(repo, objects, known, leave)
        if not again and tips.items() <= known.items():
            _note_pushed(repo, objects, name, known)
            return tips, merges
        if remote is None:
            limit = timeout if search is None else search
            push_check.refuse_secrets(repo, objects, tips, known, limit)
            remote = Remote(repo, name, timeout)
            if again:
                known = remote.list_refs(*_list_shared(repo))
        moved = _push_chunks(repo, remote, tips, known)
        if not moved:
            _note_pushed(repo, objects, name, known)
            return tips, merges
        _wait_turn(remote, merges)
        merges += 1
        known |= _fetch_all(repo, objects, remote)
        _refuse_forgotten(repo, name, moved, known)


def _refuse_forgotten(repo: Repo, name: str, moved: Collection[str], theirs: Tips) -> None:
    """Raise Error where the remote's history of a checkpoint is one that was forgotten here."""
    for ref in moved:
        ours, there = refs.read_ref(repo, ref), theirs.get(ref)
        if _choose_join(ref) or not ours or not there:
            continue
        if not _is_ancestor(repo, ours, there):
            remedy = "'gitcp forget --remote' takes it out there"
            raise Error(f"'{name}' still has what was forgotten here: {remedy}")


def forget_there(repo: Repo, name: str, timeout: float) -> tuple[int, list[str]]:
    """Put our histories in the place of the remote's that were forgotten here, one ref at a time
    and only where the remote has what was fetched last; return (how many it took, the refs that
    somebody else has moved there meanwhile)."""
    remote, known = Remote(repo, name, timeout), destination.read_pushed(repo, name)
    places = (committed_refs.REF, CHECKPOINTS)
    ours, count, left = refs.list_refs(repo, *places), 0, list[str]()
    for ref, there in _keep_shared(remote.list_refs(*places), places).items():
        tip = ours.get(ref)
        if tip is None or tip == there or _is_ancestor(repo, tip, there):
            continue
        if known.get(ref) != there or remote.push_refs({ref: tip}, lease=there):
            left.append(ref)
            continue
        count += 1
        known[ref] = tip
        destination.set_pushed(repo, name, known)
    return count, left


def _is_ancestor(repo: Repo, commit: str, other: str) -> bool:
    """Whether other, which need not be here, is in the history of commit."""
    return repo.git.run(*_BEFORE, other, commit, ok=(0, 1, 128))[0] == 0


def _wait_turn(remote: Remote, merges: int) -> None:
    """Let others go first, where somebody was faster twice; raise Error at the deadline."""
    if merges:
        time.sleep(min(remote.count_seconds_left(), random.uniform(0, 0.05 * 2 ** min(merges, 5))))
    if not remote.count_seconds_left():
        raise Error(f"'{remote.name}' is too busy: others pushed {merges} times meanwhile")


def _push_chunks(repo: Repo, remote: Remote, tips: Tips, remote_tips: Tips) -> list[str]:
    """Push what the remote is not known to have, and put that into known; the refs that somebody
    else has moved there meanwhile."""
    unsent = [ref for ref, oid in tips.items() if remote_tips.get(ref) != oid]
    moved: list[str] = []
    for at in range(0, len(unsent), _CHUNK):
        chunk = {ref: tips[ref] for ref in unsent[at : at + _CHUNK]}
        lost = remote.push_refs(chunk)
        moved += lost
        remote_tips |= {ref: oid for ref, oid in chunk.items() if ref not in lost}
        destination.set_pushed(repo, remote.name, remote_tips)
    return moved


def fetch_store(
    repo: Repo, objects: Objects, name: str, timeout: float, ids: Collection[str] = ()
) -> Tips:
    """Bring the remote's checkpoints and notes here, united with ours; return our tips.

    ids: where each of these checkpoints has a ref of its own there, they alone are brought.
    Raises Error naming the remote when it cannot be reached in timeout seconds.
    """
    remote = Remote(repo, name, timeout)
    wanted = {build_checkpoint_ref(one) for one in ids}
    theirs = remote.list_refs(*wanted) if wanted else {}
    if wanted and wanted == theirs.keys():
        _fetch_and_unite(repo, objects, remote, theirs)
    else:
        known = _fetch_all(repo, objects, remote)
        destination.set_pushed(repo, name, known)
    return list_local(repo)


def list_there(repo: Repo, name: str, timeout: float) -> Tips:
    """The tips that the remote has of what is shared; nothing is fetched.  Raises as
    fetch_store()."""
    return _list_remote(repo, Remote(repo, name, timeout))


def list_local(repo: Repo) -> Tips:
    """The tips of what is shared."""
    return _keep_shared(refs.list_refs(repo, *_list_shared(repo)), _list_shared(repo))


def _choose_outgoing(
    repo: Repo, objects: Objects, theirs: Tips, leave: Container[str] = ()
) -> Tips:
    """Our tips as they are pushed to where theirs are, without the refs in leave."""
    tips = {ref: oid for ref, oid in list_local(repo).items() if ref not in leave}
    for ref, oid in tips.items():
        if (joined := _choose_join(ref)) and theirs.get(ref) != oid:
            tips[ref] = select_notes(repo, objects, oid, theirs.get(ref, ""), joined)
    return tips


def _list_shared(repo: Repo) -> list[str]:
    """The refs that are shared; the last stands for all below it."""
    branch = [committed_refs.REF] if committed_refs.is_branch_sent(repo) else []
    ai = [notes.AI] if repo.config.get_option("gitcp.ai-notes") else []
    return [*branch, notes.REF, *ai, CHECKPOINTS]


def _keep_shared(tips: Tips, ref_names: Collection[str]) -> Tips:
    """Those of the refs that are names, or a checkpoint's own."""
    return {r: oid for r, oid in tips.items() if r in ref_names or parse_checkpoint_ref(r)}


def _choose_join(ref: str) -> Join | None:
    """How two notes of a ref become one; None for the checkpoints."""
    if ref == notes.AI:
        return git_ai_union.merge_notes
    return note_trees.unite_lines if ref == notes.REF else None


def _fetch_all(repo: Repo, objects: Objects, remote: Remote) -> Tips:
    """Fetch what is not here yet and unite it with ours; what the remote has."""
    theirs = _list_remote(repo, remote)
    _fetch_and_unite(repo, objects, remote, theirs)
    return theirs


def _list_remote(repo: Repo, remote: Remote) -> Tips:
    names = [*_list_shared(repo), committed_refs.REF]
    return _keep_shared(remote.list_refs(*dict.fromkeys(names)), names)


def _fetch_and_unite(repo: Repo, objects: Objects, remote: Remote, theirs: Tips) -> None:
    """Fetch those refs of the remote's that are not as here, under refs of our own, unite, and
    let go of them."""
    ours = refs.list_refs(repo, *theirs) if len(theirs) <= _CHUNK else refs.list_refs(repo)
    place = f"refs/gitcp/fetch/{os.getpid()}"
    wanted = [ref for ref, oid in theirs.items() if oid != ours.get(ref)]
    held = {f"{place}/{number}": ref for number, ref in enumerate(wanted)}
    if not held:
        return
    try:
        remote.fetch_refs({ref: target for target, ref in held.items()})
        brought = {held[target]: oid for target, oid in refs.list_refs(repo, place).items()}
        _unite_all(repo, objects, brought, ours)
        if committed_refs.REF in brought and repo.jj_root:
            conversion.leave_branch(repo)
    finally:
        left = [(target, None, oid) for target, oid in refs.list_refs(repo, place).items()]
        with suppress(Error):
            refs.update_refs(repo, left, "gitcp: fetched")


def _unite_all(repo: Repo, objects: Objects, theirs: Tips, ours: Tips) -> None:
    """unite_ref() for many: what is new here is taken in one transaction."""
    objects.read_ahead(theirs.values())
    strange = [ref for ref, oid in theirs.items() if read_commit(objects, oid) is None]
    for ref in strange:
        notice.warn_lacking(f"'{ref}' of the remote is no commit")
    new = {r for r in theirs if parse_checkpoint_ref(r) and r not in ours and r not in strange}
    left = theirs.keys() - strange - new
    try:
        with exclusive(repo, "v1"):
            refs.set_markers(repo)
            refs.update_refs(
                repo, [(ref, theirs[ref], None) for ref in sorted(new)], "gitcp: fetch"
            )
    except Moved:
        left |= new
    for ref in sorted(left):
        unite_ref(repo, objects, ref, theirs[ref])


def unite_ref(repo: Repo, objects: Objects, ref: str, theirs: str) -> str:
    """Move ref on to what has its history and theirs (an oid); return that."""
    own = parse_checkpoint_ref(ref)

    def attempt_move() -> str:
        ours = refs.read_ref(repo, ref)
        merged = histories.merge_histories(repo, objects, ours, theirs, _choose_join(ref), own)
        if merged != ours:
            committed_write.move_refs(repo, [(ref, merged, ours)], "gitcp: merge")
            trace.append_note("sync", f"{ref} is now {merged}")
            if ours and not _choose_join(ref) and not repo.git.says_yes(*_BEFORE, ours, merged):
                dropping.forget_logs(repo, [ref])
                dropping.unpin_tips(repo, [ours])  # the other side has forgotten it
        return merged

    return refs.retry_moved(repo, "notes" if _choose_join(ref) else "v1", attempt_move)


def _note_pushed(repo: Repo, objects: Objects, name: str, tips: Tips) -> None:
    """Remember what the remote has; where the destination has all nothing is left to push."""
    with exclusive(repo, "v1"), exclusive(repo, "notes"):
        destination.set_pushed(repo, name, tips)
        target = name == destination.read_destination(repo)
        if target and _choose_outgoing(repo, objects, tips).items() <= tips.items():
            private.remove_private(repo, repo.join_shared("unpushed"))


def select_notes(repo: Repo, objects: Objects, ours: str, theirs: str, joined: Join) -> str:
    """The tip to push for our tip of notes: ours where a ref here reaches every commit with a
    new note; else a commit on theirs, with the other notes and all that theirs has.

    theirs: the tip that the remote has, "" for none.  joined makes one note of two.
    """
    mine, there = need_commit(objects, ours)["tree"], read_commit(objects, theirs)
    tree = there["tree"] if there else None
    fresh = {
        path.replace("/", ""): path
        for path, was, _ in compare_trees(objects, tree, mine)
        if not was
    }
    lost = _list_unreached(repo, objects, fresh)
    if not lost:
        return ours
    selected = edit_tree(objects, mine, {fresh[commit]: None for commit in lost})
    if tree:
        selected = note_trees.unite_notes(objects, selected, tree, joined=joined)
    if selected == tree:
        return theirs
    return write_commit(objects, repo, selected, [theirs] if there else [], _SUBJECT)


def _list_unreached(repo: Repo, objects: Objects, ref_names: Iterable[str]) -> list[str]:
    """Those of these objects that are not here, and the commits that no ref of a person reaches."""
    kinds = {oid: (objects.read(oid) or ("", ""))[1] for oid in ref_names}
    commits = sorted(oid for oid, kind in kinds.items() if kind == "commit")
    lost = [oid for oid, kind in kinds.items() if not kind]
    if commits:
        unreached = list_commits(repo, "--stdin", "--not", *ALL, stdin=encode_lines(commits))
        lost += kinds.keys() & set(unreached)
    return lost
