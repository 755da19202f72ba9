"""The table of findings: for each check the code, severity, meaning and mend of what it finds.

`status`, `doctor`, `fsck` and `clean` are filters of this table (gitcp.store.care.check).
"""

from __future__ import annotations

import os

from gitcp.core.upkeep.findings import ERROR, NOTE, WARNING
from gitcp.store.care import (
    clients,
    committed,
    installation,
    links,
    objects,
    refs,
    sessions,
    states,
)
from gitcp.store.care.case import Row
from gitcp.store.relink import by_hand
from gitcp.store.repair import leftovers, packs, streams
from gitcp.store.repair import refs as ref_repair
from gitcp.store.repair import sessions as session_repair
from gitcp.store.share import withheld

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.core.record_types import Finding
    from gitcp.repo import Repo
    from gitcp.store.care.case import Case, Check, Checks, Mend
    from gitcp.store.git.objects import Objects

    Repair = Callable[[Repo, Objects, str], str]  # mends a subject; returns what was done


def _mend(mend: Callable[..., str], *facts: str) -> Mend:
    """Mend the subject of a finding by these facts of it."""
    names = ("subject", *facts)
    return lambda case, item: mend(case.repo, case.objects, *(item[name] for name in names))


def _draw_graph(mend: Repair) -> Mend:
    """A mend after which git's commit-graph is written again: `git fsck` fails if the graph names
    a commit that is gone."""

    def mend_and_draw(case: Case, item: Finding) -> str:
        done = mend(case.repo, case.objects, item["subject"])
        graphs = (f"{case.repo.common}/objects/info/commit-graph{end}" for end in ("", "s"))
        if done and any(map(os.path.exists, graphs)):
            case.repo.git.run("commit-graph", "write", "--reachable")
        return done

    return mend_and_draw


def _remove(age: int) -> Mend:
    return lambda case, item: leftovers.remove_leftover(case.repo, item["subject"], age)


def _mend_either(mend: Repair) -> Repair:
    """Put a ref without a commit back or delete it if mend cannot build its content again."""
    return lambda repo, objects, ref: (
        mend(repo, objects, ref) or ref_repair.mend_ref(repo, objects, ref)
    )


_STATE = ("repair", _mend(session_repair.mend_state))
_STREAM = ("repair", _draw_graph(_mend_either(streams.mend_stream)))
_EDITS = ("repair", _mend(_mend_either(ref_repair.mend_edits)))
_STORE = ("repair", _draw_graph(ref_repair.mend_store))
_JOURNAL = ("repair", _mend(session_repair.mend_journal))
_PACK = ("repair", _mend(packs.mend_pack))
_STORE_CHECKPOINT = (
    "repair", _mend(session_repair.store_missing_checkpoint, "checkpoint_id")
)  # fmt: skip
_BAD_REF = Row("bad-ref", ERROR, "a ref of gitcp has no commit",
    "repair", _mend(ref_repair.mend_ref))  # fmt: skip
_MISSING = Row("missing-object", ERROR, "an object that a ref of gitcp needs is missing",
    remedy="gitcp fetch --all")  # fmt: skip

# Packs are first, since everything is read from them; then the journal, since reading states moves
# a damaged one aside.
STORED: Checks = {
    objects.look_at_packs: (
        Row("bad-pack", ERROR, "git cannot open a pack of gitcp", *_PACK),
    ),
    states.look_at_journal: (
        Row("bad-journal", ERROR, "the journal of a worktree has lines that cannot be read",
            *_JOURNAL),
    ),
    refs.look_at_refs: (
        _BAD_REF,
        Row("lock", WARNING, "the lock file of a ref was left behind",
            "repair", _remove(leftovers.LOCK_AGE)),
    ),
    objects.look_at_objects: (
        Row("broken-stream", ERROR, "a stream lacks objects", *_STREAM),
        Row("broken-edits", ERROR, "the edits of a session lack objects", *_EDITS),
        Row("broken-store", ERROR, "the permanent store lacks objects", *_STORE),
        Row("secret", ERROR, "stored data holds what looks like a secret",
            remedy=withheld.ALLOW),
        _BAD_REF,
        _MISSING,
    ),
    states.look_at_states: (
        Row("bad-state", ERROR, "the state of a session cannot be read, or is not one", *_STATE),
        Row("lost-state", ERROR, "a session has a marker, and no state", *_STATE),
        Row("old-state", ERROR, "the copy of a state on its stream is newer than the state",
            "repair", _mend(session_repair.take_copy, "ref")),
        Row("lost-stream", ERROR, "a state names a stream that no ref has",
            remedy="'gitcp clean' settles it when it is old"),
        Row("no-marker", ERROR, "a state has open work, and no marker tells commits of it",
            *_STATE),
        Row("bad-marker", WARNING, "a marker disagrees with its state", *_STATE),
        Row("orphan-stream", WARNING, "a stream has unsettled work, and no state names it",
            remedy="'gitcp clean' removes it when it is old"),
        Row("not-a-stream", WARNING, "a branch has the name of a stream, and no checkpoints",
            remedy="rename it, or delete it, if it is not yours"),
    ),
    refs.look_at_scratch: (
        Row("leftover", WARNING, "a temporary file was left behind",
            "repair", _remove(leftovers.SCRATCH_AGE)),
    ),
    refs.look_at_installed: (
        Row("no-hook", WARNING, "a file that enable writes is missing"),
        Row("changed-hook", WARNING, "a file that enable wrote was changed"),
    ),
    committed.look_at_checkpoints: (
        Row("bad-summary", ERROR,
            "the metadata.json of a checkpoint lacks a key, or has a wrong value"),
        Row("bad-metadata", ERROR,
            "the metadata.json of a session lacks a key, or has a wrong value"),
        Row("bad-path", ERROR, "a checkpoint lists other sessions than it has"),
        Row("bad-number", ERROR,
            "the directories of a checkpoint's sessions are not numbered 0, 1, 2"),
        Row("bad-chunk", ERROR, "a chunk of a transcript is missing, or out of order"),
        Row("bad-hash", ERROR, "the hash of a transcript is wrong, or missing"),
        Row("stray", NOTE, "a file on the branch belongs to no checkpoint"),
        _MISSING,
    ),
    links.look_at_linked: (
        Row("dangling-trailer", WARNING, "a commit names a checkpoint that is not stored",
            *_STORE_CHECKPOINT),
        Row("left-out", WARNING, "a checkpoint lacks a session's part of its commit",
            *_STORE_CHECKPOINT),
        Row("dangling-note", WARNING, "a note names a checkpoint that is not stored",
            remedy="gitcp fetch"),
        Row("empty-link", NOTE,
            "a commit is linked to a checkpoint and has nothing of its content"),
        Row("wrong-note", WARNING, "a note links a commit to a checkpoint of another commit",
            "repair", _mend(by_hand.take_link_back, "checkpoint_id")),
        Row("no-store", WARNING, "commits name checkpoints, and none is stored here",
            remedy="gitcp fetch"),
        _MISSING,
    ),
}  # fmt: skip
STORE: Checks = {
    refs.look_at_deleted_store: (
        Row("deleted-store", ERROR, "the branch of checkpoints was deleted"),
    ),
    objects.look_at_withheld: (
        Row("withheld", WARNING, "a push leaves out what looks like a secret"),
    ),
}  # fmt: skip
_SESSIONS: Checks = {
    sessions.look_at_processes: (
        Row("unseen-processes", WARNING, "no process can be seen here"),
    ),
    sessions.look_at_sessions: (
        Row("unread-transcript", WARNING, "a transcript cannot be read"),
        Row("dead-session", WARNING, "a turn that nobody ends", "end", sessions.end_session,
            choices={
                "keep": sessions.end_session,
                "condense": sessions.end_and_store,
                "discard": sessions.end_and_discard,
            }),
        Row("provisional", WARNING, "a transcript was not completed",
            "finalize", sessions.complete_transcripts),
    ),
    sessions.look_at_claims: (
        Row("dead-claim", WARNING, "a claim is held for nobody",
            "release", sessions.release_claim),
    ),
    sessions.look_at_locks: (
        Row("git-lock", WARNING, "a lock of git was left behind"),
    ),
}  # fmt: skip
_LINKS: Checks = {
    sessions.look_at_links: (
        Row("lost-link", WARNING, "a commit lost its checkpoint id",
            "relink", sessions.link_commit),
    ),
}  # fmt: skip
DOCTOR: dict[Check, tuple[Row, ...]] = {
    **installation.ROOM,
    installation.look_at_record: installation.CHECKS[installation.look_at_record],
    objects.look_at_packs: STORED[objects.look_at_packs],
    states.look_at_journal: STORED[states.look_at_journal],
    **installation.CHECKS,
    **clients.CHECKS,
    **installation.FAILURES,
    **installation.OLD,
    **STORE,
    **_SESSIONS,
    **STORED,
    **_LINKS,
}
del DOCTOR[refs.look_at_installed]  # hooks are checked where git and the clients look
