"""Checks of sessions: their states, refs and markers, without which commits do not see their
work; git's locks and lost links; and their mends."""

from __future__ import annotations

import os
import time

from gitcp import link as store_relink
from gitcp.checkpoints import notes, transcripts, writing
from gitcp.errors import Error, InputError
from gitcp.git import format_now, refs
from gitcp.git.files import exclusive
from gitcp.lines import carried
from gitcp.link import condense, relink, unhooked, unread
from gitcp.record import journal, session
from gitcp.record.journal import edits
from gitcp.record.match.sources import LOST, MatchCase
from gitcp.record.session import make_id, others, process
from gitcp.record.stream import ARCHIVE, archive_stream, peek_tip
from gitcp.record.turn import sessions
from gitcp.setup.care import mend_states
from gitcp.setup.care.findings import Finding
from gitcp.text import ids as ids_
from gitcp.text.spans import abbreviate, count_noun
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.checkpoints.writing import SessionData
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.setup.care.case import Case, Survey
    from gitcp.text.record_types import State, Stream, Tip


def look_at_states(case: Case) -> Iterator[Finding]:
    """Check every state, its streams and its marker; then all streams."""
    survey = case.survey
    # both now: sessions go on meanwhile
    states = survey.states
    markers = survey.markers
    for state in states:
        if state.get("unreadable") == sessions.ANOTHERS:
            continue
        fault = state.get("unreadable") or _find_fault(state["session_id"])
        if fault:
            yield Finding("bad-state", state["session_id"], fault)
            continue
        yield from _check_streams(survey, state)
        tip = find_newer(survey, state)
        if tip:
            reason = f"the copy on '{tip['ref']}' is newer"
            yield Finding("old-state", state["session_id"], reason, ref=tip["ref"])
        else:  # the repair writes the marker, too
            yield from _check_marker(survey, state)
    names = {state["session_id"] for state in states}
    for name in markers:
        if name not in names:
            yield Finding("lost-state", name, "it has a marker and no state")
    yield from _check_tips(survey)


_JOINED = "joined to its session again"


def look_at_journal(case: Case) -> Iterator[Finding]:
    """Check the journal of each worktree, whose readers skip lines that they cannot read."""
    for path in (os.path.join(top, journal.NAME) for top in case.repo.list_folders()):
        count = mend_states.count_unreadable_lines(path)
        if count:
            what = "it is not a text file"
            if count > 0:
                what = f"{count} of its lines cannot be read"
            yield Finding("bad-journal", path, what)


def _find_fault(session_id: str) -> str:
    try:
        ids_.check_session_id(session_id)
    except InputError as e:
        return str(e)
    return ""


def _check_streams(survey: Survey, state: State) -> Iterator[Finding]:
    """Report streams that no ref has.  It is a note while all their contents exist, as after a
    person deleted the branch."""
    for stream in survey.list_lost(state):
        count = count_noun(len(stream["files"]), "file")
        reason = f"names stream '{stream['id']}' of {count}, which no ref has"
        oids = [file["oid"] for file in stream["files"].values() if file["oid"]]
        complete = all(survey.repo.objects.read(oid) for oid in oids)
        yield Finding("lost-stream", state["session_id"], reason, complete)


def find_newer(survey: Survey, state: State) -> Tip | None:
    """The stream of a session that has a newer copy of its state, None if there is none.

    A process that is killed after it wrote the ref and before it wrote the state leaves one.
    Archives and streams of other bases are left out: they may have a copy of an earlier session
    with this id.
    """
    names_of_refs = [state.get("shadow_ref", ""), *(stream["ref"] for stream in state["streams"])]
    names = set(map(ids_.parse_stream_name, names_of_refs))
    for tip in survey.tips:
        is_of_session = tip["base"] == state.get("base_commit")
        is_of_session = is_of_session or ids_.parse_stream_name(tip["ref"]) in names
        if tip["ref"].startswith(ARCHIVE) or not is_of_session:
            continue
        copy = survey.find_copy(tip, state["session_id"])
        same = copy is not None and copy.get("started_at") == state.get("started_at")
        if copy and same and copy.get("revision", 0) > state.get("revision", 0):
            return tip
    return None


def _check_marker(survey: Survey, state: State) -> Iterator[Finding]:
    name = state["session_id"]
    if name in survey.markers:
        if not session.is_unsettled(state):
            yield Finding("bad-marker", name, "it has a marker and no open work")
        elif survey.markers[name] != session.build_marker(state):
            yield Finding("bad-marker", name, "its marker differs from its state")
    elif session.is_unsettled(state):
        yield Finding("no-marker", name, "it has open work and no marker")


def _check_tips(survey: Survey) -> Iterator[Finding]:
    for tip in survey.tips:
        if tip["ref"].startswith(ARCHIVE):
            continue  # an archive outlives its session, until it expires
        if survey.is_orphaned(tip) and not survey.is_settled(tip):
            last = f"session '{tip['session_id']}' wrote it last"
            reason = f"no state names it; {last}, and may have nothing else"
            yield Finding("orphan-stream", tip["ref"], reason, oid=tip["oid"])
    for ref in survey.strangers:
        yield Finding("not-a-stream", ref, "it is not a stream of checkpoints: never touched")


# Checks of sessions, git's locks and lost links, and their mends.
STUCK = 3600  # seconds without an event after which a turn with an unknown process counts as left
_LOCKS = ("packed-refs.lock", "config.lock", "shallow.lock")
_OWN_LOCKS = ("HEAD.lock", "index.lock")
_LOCK_AGE = 60  # seconds: git holds none so long, unless it waits for a person


def look_at_processes(case: Case) -> Iterator[Finding]:
    """Check whether gitcp can see processes."""
    if not session.can_see_processes():
        reason = "no process can be seen here: a session counts as left after an hour of silence"
        remedy = "let gitcp read /proc or run ps"
        yield Finding("unseen-processes", "ps", reason, remedy=remedy)


def look_at_sessions(case: Case) -> Iterator[Finding]:
    """Report turns whose agent is gone, and transcripts that are incomplete or unreadable."""
    for state in case.states:
        if not state.get("unreadable"):
            yield from _check_session(case.repo, state)


def _check_session(repo: Repo, state: State) -> Iterator[Finding]:
    name = state["session_id"]
    why = transcripts.explain_unreadable(repo, state.get("transcript_path"))
    if why:
        reason = f"the transcript of session '{name}' is not stored any more: {why}"
        yield Finding("unread-transcript", name, reason, remedy="let its owner read it")
    is_here = (state.get("worktree_id") or "") == repo.worktree_id
    if state.get("phase") != "active":
        if state.get("turn_checkpoint_ids"):
            count = count_noun(len(state["turn_checkpoint_ids"]), "checkpoint")
            reason = f"session '{name}' has an incomplete transcript in {count}"
            yield Finding("provisional", name, reason, remedy="complete it", has_mend=is_here)
        return
    why_left = _explain_left(state)
    if why_left:
        remedy = "end it"
        if not is_here:
            remedy = f"run this in '{state.get('worktree_path')}'"
        reason = f"session '{name}' is {why_left}"
        yield Finding("dead-session", name, reason, remedy=remedy, has_mend=is_here)


def _explain_left(state: State) -> str:
    """The reason why a turn will not end; '' if its agent runs, or may run."""
    agent = state.get("agent_process")
    if process.is_alive(agent):
        return ""
    if session.is_gone(agent):
        return "within a prompt, and its agent is gone"
    last_event = parse_time(state.get("last_interaction_time"))
    if last_event < time.time() - STUCK:
        return "within a prompt without an event for an hour"
    return ""


def look_at_locks(case: Case) -> Iterator[Finding]:
    """Report git's own locks that were left behind; gitcp never removes them."""
    repo = case.repo
    paths = [os.path.join(repo.common, name) for name in _LOCKS]
    paths += [os.path.join(repo.git_dir, name) for name in _OWN_LOCKS]
    for path in paths:
        try:
            is_stale = time.time() - os.stat(path).st_mtime > _LOCK_AGE
        except FileNotFoundError:
            continue
        if is_stale:
            reason = f"'{path}' was left behind, and git writes nothing until it is removed"
            yield Finding("git-lock", path, reason, remedy="remove it if no git runs")


def look_at_links(case: Case) -> Iterator[Finding]:
    """Report commits that lost their link and can be linked again."""
    dry_case = MatchCase(case.repo, dry_run=True)
    for link in relink.reconcile(dry_case, LOST):
        commit = link["commit"]
        checkpoint = link["checkpoint_id"]
        reason = f"commit {abbreviate(commit)} lost its checkpoint {checkpoint}"
        remedy = "link it by a note"
        yield Finding("lost-link", commit, reason, remedy=remedy, checkpoint_id=checkpoint)
    states = [state for state in case.states if not state.get("unreadable")]
    new: dict[str, None] = {}
    for among in ("", None):
        for oid, name, _ in unhooked.list_missing(case.repo, states, among):
            if name == unhooked.NEW:
                new[oid] = None
    for commit in new:
        reason = f"no hook saw commit {abbreviate(commit)} being made, which has a session's work"
        yield Finding("lost-link", commit, reason, remedy="link it by a note")


def link_commit(case: Case, item: Finding) -> str:
    """Link a commit by a note to the checkpoint that it lost, or that it has not got yet."""
    if not item.checkpoint_id:
        with case.ctx as ctx:
            linked = [
                *unhooked.link_range(ctx, "", dry_run=False),
                *relink.link_left_behind(ctx),
            ]
            if linked:
                return _JOINED
            return ""
    notes.add_link(case.repo, item.subject, item.checkpoint_id)
    carried.follow_lines(case.repo, [item.subject])
    return _JOINED


def end_session(case: Case, item: Finding) -> str:
    """End a session whose agent is gone."""
    with case.ctx as ctx:
        store_relink.end_session(ctx, item.subject)
        unread.read_on(ctx, item.subject, whole=True)
    return "ended; its work stays saved"


def end_and_store(case: Case, item: Finding) -> str:
    """End a session, and store its transcript as a checkpoint."""
    end_session(case, item)
    with case.ctx as ctx:
        checkpoint_id = _store_session(ctx, item.subject)
    return f"ended, and stored ('gitcp show {checkpoint_id}'); its work stays saved"


def end_and_discard(case: Case, item: Finding) -> str:
    """End a session, and discard its work that no commit has."""
    end_session(case, item)
    with case.ctx as ctx:
        _discard_work(ctx, item.subject)
    return "ended; its work is put aside, the files stay as they are"


def complete_transcripts(case: Case, item: Finding) -> str:
    """Store the transcript as it is now in the checkpoints of a session's last turn."""
    with case.ctx as ctx:
        state = _read_state(ctx, item.subject)
        condense.finalize(ctx.repo, state)
        ctx.keep(state)
        unread.read_on(ctx, item.subject, whole=True)
    return "completed as far as its transcript goes"


def _store_session(ctx: Context, session_id: str) -> str:
    """Store a session's transcript on v1 as a checkpoint without a commit; return its id.

    The work stays on its stream: the commit that takes it gets another checkpoint, which does not
    count the tokens of this one again.
    """
    unread.read_on(ctx, session_id, whole=True)
    state = _read_state(ctx, session_id)
    stored = transcripts.store_session(ctx.repo, state, complete=True)
    checkpoint_id = make_id()
    data: SessionData = {
        "session_id": session_id,
        "transcript": stored,
        "prompts": transcripts.list_prompts(state, stored),
        "metadata": {
            "cli_version": state.get("cli_version"),
            "session_id": session_id,
            "strategy": "manual-commit",
            "created_at": format_now(),
            "branch": condense.read_branch(ctx.repo),
            "checkpoints_count": state["checkpoint_count"],
            "files_touched": sorted(_list_paths(state)),
            "agent": state.get("agent_type"),
            "turn_id": state.get("turn_id"),
            **condense.note_spent(state, stored),
        },
    }
    writing.write_sessions(ctx.repo, [(checkpoint_id, data)])
    state["last_checkpoint_id"] = checkpoint_id
    ctx.keep(state)
    return checkpoint_id


def _discard_work(ctx: Context, session_id: str) -> None:
    """Discard a session's work that no commit has, so that no commit is linked to it any more.

    Streams without work of another session are archived until they expire.  The worktree stays as
    it is."""
    state = _read_state(ctx, session_id)
    with exclusive(ctx.repo, f"stream-{ctx.repo.worktree_hash}"):
        tips = [_find_unshared(ctx, session_id, stream) for stream in state["streams"]]
        for tip in filter(None, tips):
            updates = [archive_stream(ctx.repo, tip), (tip["ref"], None, tip["oid"])]
            refs.update_refs(ctx.repo, updates, "gitcp: doctor")
    edits.let_edits_go(ctx.repo, session_id, _list_paths(state))
    state["streams"] = []
    state["checkpoint_count"] = 0
    session.clear_verdict(state)
    ctx.keep(state)


def _list_paths(state: State) -> set[str]:
    """The files of all streams of a session."""
    paths: set[str] = set()
    for stream in state["streams"]:
        paths.update(stream["files"])
    return paths


def _find_unshared(ctx: Context, session_id: str, stream: Stream) -> Tip | None:
    """The tip of a stream that has a branch and no work of another session, else None."""
    tip = peek_tip(ctx.repo.objects, stream["ref"])
    if not tip or tip["stream"] != stream["id"] or tip["ref"].startswith(ARCHIVE):
        return None
    for marker in others.read_markers(ctx.repo):
        marked = [each["id"] for each in marker["streams"]]
        if marker["session_id"] != session_id and stream["id"] in marked:
            return None
    return tip


def _read_state(ctx: Context, session_id: str) -> State:
    state = ctx.read_state(session_id)
    if state is None:
        raise Error(f"no such session: '{session_id}'")
    return state
