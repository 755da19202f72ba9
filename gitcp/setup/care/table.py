"""The table of findings: for each check the code, severity, meaning and mend of what it finds.

`status`, `doctor`, `fsck` and `clean` are filters of this table (gitcp.setup.care.table).
"""

from __future__ import annotations

import os

from gitcp.checkpoints.share import remote
from gitcp.errors import Busy, Error, Moved
from gitcp.setup.care import (
    everyday,
    installation,
    leftovers,
    mend_objects,
    mend_refs,
    mend_states,
    mend_streams,
    session_findings,
    stored,
    stored_links,
    stored_objects,
)
from gitcp.setup.care.case import Case
from gitcp.setup.care.checks import search_case
from gitcp.setup.care.findings import ERROR, NOTE, WARNING, Diagnosis, Row
from gitcp.steps import by_hand
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gitcp.git.repo import Repo
    from gitcp.setup.care.checks import Check, Checks
    from gitcp.setup.care.everyday import Repair
    from gitcp.setup.care.findings import Finding, Mend


def _mend_checkpoint(mend: Callable[[Repo, str, str], str]) -> Mend:
    """Mend the subject of a finding and its checkpoint."""
    return lambda case, found: mend(case.repo, found.subject, found.checkpoint_id)


def _take_copy(case: Case, found: Finding) -> str:
    """Replace a state by its copy on a stream."""
    return mend_states.take_copy(case.repo, found.subject, found.ref)


def _draw_graph(mend: Repair) -> Mend:
    """A mend after which git's commit-graph is written again: `git fsck` fails if the graph names
    a commit that is gone."""

    def mend_and_draw(case: Case, found: Finding) -> str:
        done = mend(case.repo, found.subject)
        graphs = (f"{case.repo.common}/objects/info/commit-graph{end}" for end in ("", "s"))
        if done and any(map(os.path.exists, graphs)):
            case.repo.git.run("commit-graph", "write", "--reachable")
        return done

    return mend_and_draw


def _mend_either(mend: Repair) -> Repair:
    """Put a ref without a commit back or delete it if mend cannot build its content again."""
    return lambda repo, ref: mend(repo, ref) or mend_refs.mend_ref(repo, ref)


_STATE = ("repair", everyday.mend_subject(mend_states.mend_state))
_STREAM = ("repair", _draw_graph(_mend_either(mend_streams.mend_stream)))
_EDITS = ("repair", everyday.mend_subject(_mend_either(mend_refs.mend_edits)))
_STORE = ("repair", _draw_graph(mend_refs.mend_store))
_JOURNAL = ("repair", everyday.mend_subject(mend_states.mend_journal))
_STORE_CHECKPOINT = (
    "repair", _mend_checkpoint(mend_states.store_missing_checkpoint),
    "'gitcp fetch --all' if it was sent, else 'gitcp unlink <commit>'",
)  # fmt: skip
_FORGET = "what can be read of it is shown; 'gitcp forget <checkpoint>' takes it out"
_BAD_REF = Row("bad-ref", ERROR, "a ref of gitcp has no commit",
    "repair", everyday.mend_subject(mend_refs.mend_ref))  # fmt: skip
_MISSING = Row("missing-object", ERROR, "an object that a ref of gitcp needs is missing",
    remedy="'gitcp fetch --all' brings it if a remote has it")  # fmt: skip
# Packs are first, since everything is read from them; then the journal, since reading states moves
# a damaged one aside.
STORED: Checks = {
    **everyday.PACKS,
    stored_objects.look_at_loose: (
        Row("empty-object", ERROR, "an object file of git is empty, as a power cut leaves it",
            "repair", everyday.mend_subject(mend_objects.mend_empty_object)),
    ),
    session_findings.look_at_journal: (
        Row("bad-journal", ERROR, "the journal of a worktree has lines that cannot be read",
            *_JOURNAL),
    ),
    stored_objects.look_at_refs: (
        _BAD_REF,
        Row("lock", WARNING, "the lock file of a ref was left behind",
            "repair", everyday.mend_subject(mend_objects.remove_lock)),
    ),
    stored_objects.look_at_objects: (
        Row("broken-stream", ERROR, "a stream lacks objects", *_STREAM),
        Row("broken-edits", ERROR, "the edits of a session lack objects", *_EDITS),
        Row("broken-store", ERROR, "the permanent store lacks objects", *_STORE),
        Row("secret", ERROR, "stored data holds what looks like a secret",
            remedy=remote.ALLOW),
        _BAD_REF,
        _MISSING,
    ),
    session_findings.look_at_states: (
        Row("bad-state", ERROR, "the state of a session cannot be read, or is not one", *_STATE),
        Row("lost-state", ERROR, "a session has a marker, and no state", *_STATE),
        Row("old-state", ERROR, "the copy of a state on its stream is newer than the state",
            "repair", _take_copy),
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
    leftovers.look_at_scratch: (
        Row("leftover", WARNING, "a temporary file was left behind", *everyday.REMOVE),
    ),
    **everyday.SCRATCH,
    stored.look_at_checkpoints: (
        Row("bad-summary", ERROR,
            "the metadata.json of a checkpoint lacks a key, or has a wrong value",
            remedy=_FORGET),
        Row("bad-metadata", ERROR,
            "the metadata.json of a session lacks a key, or has a wrong value",
            remedy=_FORGET),
        Row("bad-path", ERROR, "a checkpoint lists other sessions than it has", remedy=_FORGET),
        Row("bad-number", ERROR,
            "the directories of a checkpoint's sessions are not numbered 0, 1, 2",
            remedy=_FORGET),
        Row("bad-chunk", ERROR, "a chunk of a transcript is missing, or out of order",
            remedy=_FORGET),
        Row("bad-hash", ERROR, "the hash of a transcript is wrong, or missing", remedy=_FORGET),
        Row("stray", NOTE, "a file on the branch belongs to no checkpoint",
            remedy="it is not read, and does no harm"),
        Row("absent", NOTE,
            "a part of a checkpoint was left with the remote of this partial clone:"
            " 'gitcp fetch --all' brings it",
            remedy="gitcp fetch --all"),
        _MISSING,
    ),
    stored_links.look_at_linked: (
        Row("dangling-trailer", WARNING, "a commit names a checkpoint that is not stored",
            *_STORE_CHECKPOINT),
        Row("left-out", WARNING, "a checkpoint lacks a session's part of its commit",
            *_STORE_CHECKPOINT),
        Row("dangling-note", WARNING, "a note names a checkpoint that is not stored",
            remedy="'gitcp fetch --all' if it was sent, else 'gitcp unlink <commit>'"),
        Row("empty-link", NOTE,
            "a commit is linked to a checkpoint and has nothing of its content",
            remedy="'gitcp unlink <commit> <checkpoint>' if it is wrong"),
        Row("mention", NOTE, "a message names a checkpoint that its commit is not linked to",
            remedy="'gitcp link <commit> <checkpoint>' if it has work of it"),
        Row("wrong-note", WARNING, "a note links a commit to a checkpoint of another commit",
            "repair", _mend_checkpoint(by_hand.take_link_back)),
        Row("no-store", WARNING, "commits name checkpoints, and none is stored here",
            remedy="gitcp fetch"),
        _MISSING,
    ),
}  # fmt: skip
_SESSIONS: Checks = {
    session_findings.look_at_processes: (
        Row("unseen-processes", WARNING, "no process can be seen here"),
    ),
    session_findings.look_at_sessions: (
        Row("unread-transcript", WARNING, "a transcript cannot be read"),
        Row("dead-session", WARNING, "a turn that nobody ends", "end", session_findings.end_session,
            choices={
                "keep": session_findings.end_session,
                "condense": session_findings.end_and_store,
                "discard": session_findings.end_and_discard,
            }),
        Row("provisional", WARNING, "a transcript was not completed",
            "finalize", session_findings.complete_transcripts),
    ),
    session_findings.look_at_locks: (
        Row("git-lock", WARNING, "a lock of git was left behind"),
    ),
}  # fmt: skip
_LINKS: Checks = {
    session_findings.look_at_links: (
        Row("lost-link", WARNING, "a commit lost its checkpoint id",
            "relink", session_findings.link_commit),
    ),
}  # fmt: skip
DOCTOR: dict[Check, tuple[Row, ...]] = {
    **installation.ROOM,
    installation.look_at_record: installation.CHECKS[installation.look_at_record],
    **everyday.PACKS,
    stored_objects.look_at_loose: STORED[stored_objects.look_at_loose],
    session_findings.look_at_journal: STORED[session_findings.look_at_journal],
    **installation.CHECKS,
    **installation.CLIENT_CHECKS,
    **installation.FAILURES,
    **everyday.UNRECORDED,
    **installation.OLD,
    **everyday.STORE,
    **everyday.UNFINISHED,
    **_SESSIONS,
    **STORED,
    **_LINKS,
}
# The findings that `fsck`, `doctor` and `status` show, and their repair.
_PASSES = 4


def check_store(repo: Repo, *, secrets: bool = False, fix: bool = False) -> Iterator[Diagnosis]:
    """The findings on everything that gitcp stores in the repository, as they come.

    It starts a few git processes, and one more for each 500 links.  It keeps the ids of commits
    and checkpoints in memory, not their objects.
    secrets: search stored data for secrets too.  fix: mend what can be mended without loss,
    and check it again.
    """
    if fix:
        yield from _repair_store(repo, secrets)
        return
    with Case(repo, secrets) as case:
        yield from search_case(case, STORED)


def _repair_store(repo: Repo, secrets: bool) -> list[Diagnosis]:
    def find(mends: bool) -> Iterator[Diagnosis]:
        with Case(repo, secrets) as case:
            for diagnosis in search_case(case, STORED):
                if mends:
                    yield mend_finding(case, diagnosis, diagnosis.row.mend)
                else:
                    yield diagnosis

    return mend_all(find)


def mend_all(find: Callable[[bool], Iterable[Diagnosis]]) -> list[Diagnosis]:
    """Mend until nothing more is mended: a mend may uncover findings, or make way for another.

    find(mends) yields every finding, with what was done if it mends.  Returns what was mended and
    is gone, then what is left, with the reason.
    """
    mended: dict[str, Diagnosis] = {}
    for mends in (*[True] * _PASSES, False):
        with console.Collected() as warnings:
            found = list(find(mends))
        for warning in warnings:  # the findings say what is lacking
            console.warn(warning)
        done = {each.identify(): each for each in found if each.done}
        if not done:
            break
        mended |= done
    left = {each.identify() for each in found}
    return [each for key, each in mended.items() if key not in left] + found


def mend_finding(case: Case, diagnosis: Diagnosis, mend: Mend | None) -> Diagnosis:
    """Mend a finding; return it with what was done, or with the reason why nothing was: it is
    locked, has changed, or what it needs is not here."""
    if mend is None:
        return diagnosis
    try:
        done = mend(case, diagnosis.finding)
        if done:
            return Diagnosis(diagnosis.row, diagnosis.finding, done)
        why = "what it needs is not here"
    except (Busy, Moved, OSError, Error) as e:
        why = str(e)
    return Diagnosis(diagnosis.row, diagnosis.finding, failure=why)


def diagnose_repository(repo: Repo) -> list[Diagnosis]:
    """Every finding but notes; those that stop recording come first."""
    with Case(repo) as case:
        return [found for found in search_case(case, DOCTOR) if found.severity != NOTE]
