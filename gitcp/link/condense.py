"""Condensing: write a commit's sessions to the permanent store, in one commit on it.

The order is objects, store, states.  After a kill in between, the next event of a session finds the
checkpoint in the store and settles its state (unhooked.py).  A session whose data is damaged is
left out and waits for its own next event.
"""

from __future__ import annotations

import os
from itertools import islice

from gitcp import git
from gitcp.agents import find_client, locate_subagent_transcript, transcripts
from gitcp.checkpoints import redactor, writing
from gitcp.checkpoints import transcripts as stored_transcripts
from gitcp.checkpoints.format import list_strings, parse_json
from gitcp.checkpoints.stored import find_checkpoint, list_session_ids, read_checkpoint
from gitcp.errors import Error, InputError
from gitcp.git import format_now, objects, refs
from gitcp.git.files import touch_private
from gitcp.lines import commit_lines, locate_shared
from gitcp.record import journal, session
from gitcp.record.journal import settling
from gitcp.record.journal.credit import list_written_paths
from gitcp.record.journal.stretches import collect_work
from gitcp.record.stream import find_live, set_streams, tasks
from gitcp.text import ids as ids_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.transcripts import StoredTranscript
    from gitcp.checkpoints.writing import SessionData
    from gitcp.git.repo import Repo
    from gitcp.lines.commit_lines import Credit
    from gitcp.text.record_types import (
        Commit,
        Earlier,
        File,
        Linked,
        Record,
        Scan,
        Staged,
        State,
        Usage,
        Waiting,
    )

# The metadata of a session in a committed checkpoint, and its task files.


def describe_session(
    repo: Repo,
    state: State,
    linked: Linked,
    changes: dict[str, Staged],
    stored: StoredTranscript | None,
    credit: Credit,
) -> SessionData:
    """The data of one session of a commit with these changes; state gets its tokens until now."""
    session_id = state["session_id"]
    lines = credit.build_ranges(session_id)
    session_files = _describe_files(state, linked, changes, credit)
    metadata: Record = {
        "cli_version": state.get("cli_version"),
        "session_id": session_id,
        "strategy": "manual-commit",
        "created_at": format_now(),
        "branch": read_branch(repo),
        "checkpoints_count": state.get("checkpoint_count", 0),
        "files_touched": sorted(session_files),
        "agent": state.get("agent_type"),
        "turn_id": state.get("turn_id"),
        "transcript_identifier_at_start": state.get("transcript_identifier_at_start"),
        "checkpoint_transcript_start": state.get("checkpoint_transcript_start", 0),
        "transcript_path": shorten_home(state.get("transcript_path")),
        "files": session_files,
        "turns": _describe_turns(state, _list_turns(session_files, lines)),
        "tools": credit.map_tools(session_id),
        "initial_attribution": credit.compute_attribution(session_id),
    }
    metadata |= note_spent(state, stored)
    return {
        "session_id": session_id,
        "transcript": stored,
        "prompts": stored_transcripts.list_prompts(state, stored),
        "metadata": metadata,
        "lines": lines,
        "ephemeral_branch": state.get("shadow_ref", "").removeprefix("refs/heads/"),
    }


def note_spent(state: State, stored: StoredTranscript | None) -> Record:
    """token_usage of the session and its delta since the last condensation; noted in state.  None
    until the transcript is read to its end."""
    if stored and not stored.is_whole:
        return {}
    cumulative = count_tokens(state, stored)
    if not cumulative:
        return {}
    before: Usage | None = state.get("tokens_at_condensation")
    state["token_usage"] = state["tokens_at_condensation"] = cumulative
    delta = transcripts.subtract_tokens(cumulative, before)
    return {"token_usage": cumulative, "token_usage_delta": delta}


def read_task_files(
    repo: Repo,
    parent: str,
    state: State,
    changes: Container[str],
    credit: Credit,
) -> dict[str, bytes]:
    """The session's task files, on its live streams and outside: path below tasks/ -> bytes.

    A task whose work is in the journal is left out unless changes has some of its paths.
    """

    def list_written(agent_id: str) -> set[str]:
        return list_written_paths(credit.lines, agent_id)

    blobs = _read_stream_tasks(repo, parent, state)
    excluded = set()
    for path, data in blobs.items():
        if path.endswith("/checkpoint.json"):
            agent = (parse_json(data) or {}).get("agent_id")
            if isinstance(agent, str):
                written = list_written(agent)
            else:
                written = set()
            if written and not any(p in changes for p in written):
                excluded.add(path.split("/")[0])
    files = {path: data for path, data in blobs.items() if path.split("/")[0] not in excluded}
    return files | tasks.list_ended_files(repo, state, list_written, changes)


def _read_stream_tasks(repo: Repo, parent: str, state: State) -> dict[str, bytes]:
    """The readable task files on a session's streams; warns once of the others."""
    blobs: dict[str, bytes] = {}
    for stream in state["streams"]:
        tip = find_live(repo, parent, stream["id"], stream["ref"])
        try:
            for path, oid in tasks.list_stored(repo.objects, tip, state["session_id"]).items():
                blobs[path] = repo.objects.need(oid, "blob")
        except Error as e:
            from gitcp.text import console

            console.warn_lacking(f"tasks of session '{state['session_id']}' are left out: {e}")
    return blobs


def _describe_files(
    state: State, linked: Linked, changes: dict[str, Staged], credit: Credit
) -> dict[str, Record]:
    """For each of the session's paths in the commit: its content there and in the parent, the
    turns that wrote its lines, and the last of them with its prompt."""
    recorded: dict[str, File] = {}
    for stream in state["streams"]:
        recorded |= stream["files"]
    session_id = state["session_id"]
    turns = state.get("turns", {})
    touched: dict[str, Record] = {}
    for path in sorted({*linked["paths"], *credit.list_touched(session_id)}):
        old_mode, old, mode, oid = changes.get(path, ("", None, "000000", None))
        writers = [turn for turn in credit.list_turns(session_id, path) if turn]
        writers.sort(key=lambda turn: int(turns.get(turn, {}).get("number", 0)))
        if not writers:  # the turn that recorded the file, or the running one
            writers = [state.get("turn_id", "")]
            if path in recorded and recorded[path].get("turn_id"):
                writers = [recorded[path]["turn_id"]]
        prompt = turns.get(writers[-1], {}).get("prompt", "")
        file = {"oid": oid or "", "mode": mode, "turn_id": writers[-1], "prompt": prompt}
        touched[path] = {**file, "turns": writers, "before": None}
        if old:
            touched[path]["before"] = [old_mode, old]
        if credit.is_by_window(session_id, path):
            touched[path]["by_window"] = True
    return touched


def _list_turns(session_files: dict[str, Record], lines: dict[str, list[Record]]) -> set[str]:
    """The ids of the turns that files or lines name."""
    turns: set[str] = set()
    for file in session_files.values():
        turns.update(file["turns"])
    for entries in lines.values():
        for entry in entries:
            turns.update(run[2] for run in entry["ranges"])
    return turns


def _describe_turns(state: State, turns: Container[str]) -> dict[str, Record]:
    """Number, prompt and model of each of these turns."""
    described: dict[str, Record] = {}
    for turn, facts in state.get("turns", {}).items():
        if turn in turns:
            known = [key for key in ("number", "prompt", "model") if facts.get(key)]
            described[turn] = {key: facts[key] for key in known}
    return described


def read_branch(repo: Repo) -> str | None:
    """The name of the branch HEAD is on; None when detached, or if it is not UTF-8."""
    name = refs.read_branch(repo).partition("refs/heads/")[2]
    if name and ids_.replace_surrogates(name) == name:
        return name
    return None


def shorten_home(path: str | None) -> str | None:
    """A path relative to the home directory if it is below it, else unchanged."""
    home = os.path.expanduser("~")
    if path and path.startswith(home + os.sep):
        return os.path.relpath(path, home)
    return path


def count_tokens(state: State, stored: StoredTranscript | None) -> Usage | None:
    """Cumulative usage of the session's transcript and of its subagents' transcripts on disk.

    What the transcript has from before the session's start does not count: a fork begins with a
    copy of another conversation.  The caller saves the state.
    """
    if stored is None or not stored.scan:
        return None
    client = find_client(state.get("agent_type", ""))
    total = _add_subagents(state, stored.scan, client)
    if total and "tokens_at_condensation" not in state:
        _note_earlier_costs(state, stored, client)
    copied = state.get("tokens_before")
    if total and copied:
        return transcripts.subtract_tokens(total, copied)
    return total


def _add_subagents(state: State, scan: Scan | Earlier, client: Any) -> Usage | None:
    path = state.get("transcript_path")
    usages = []
    if path:
        for name in scan["subagents"]:
            try:
                transcript = locate_subagent_transcript(client.NAME, path or "", name)
                if transcript:
                    usages += [client.scan(stored_transcripts.read_live(transcript))["usage"]]
            except (OSError, InputError):
                continue  # the file is gone, or its name is invalid
    return transcripts.add_subagents(scan["usage"], usages)


def _note_earlier_costs(state: State, stored: StoredTranscript, client: Any) -> None:
    """Note in state what does not count for our checkpoints: the tokens before the session's
    start, and those that the original program has condensed."""
    earlier = stored.find_earlier(str(state.get("started_at", "")))
    before = None
    if earlier:
        before = _add_subagents(state, earlier, client)
    if before:
        state["tokens_before"] = before
    start = state.get("checkpoint_transcript_start", 0)
    if start:
        scan = client.scan(b"".join(islice(stored.list_lines(), start)))
        condensed = transcripts.subtract_tokens(_add_subagents(state, scan, client), before)
        state["tokens_at_condensation"] = condensed


def condense_sessions(
    repo: Repo,
    commit: Commit,
    checkpoint_id: str,
    sessions: list[tuple[State, Linked]],
    noted: bool = False,
    extra: Mapping[str, Any] | None = None,
    replaced: Sequence[str] = (),
) -> dict[str, Exception]:
    """Condense sessions with their part in a commit under checkpoint_id.

    Return session -> error for each that failed; raise if all did.  The caller holds the locks, and
    saves the states of the others.  noted: whether a note carries the id. extra: further keys of
    the metadata.  replaced: as for Credit."""
    parent, changes = objects.read_changes(repo.objects, commit)
    failed = dict[str, Exception]()
    states = [state for state, _ in sessions]
    _bring_edits(repo, sessions, changes)
    credit = commit_lines.Credit(repo, commit, changes, states, replaced)
    items: list[tuple[str, SessionData]] = []
    storeds: list[tuple[State, StoredTranscript | None]] = []
    for state, linked in sessions:
        with Apart(state["session_id"], failed):
            stored = stored_transcripts.store_session(
                repo, state, check=True, most=stored_transcripts.FEW
            )
            data = describe_session(repo, state, linked, changes, stored, credit)
            files = read_task_files(repo, parent, state, changes, credit)
            _add(data, linked, files, extra or {})
            if noted:
                data["metadata"]["commit"] = commit["oid"]
            items.append((checkpoint_id, data))
            storeds.append((state, stored))
    raise_if_none(failed, items)
    items += _build_other_shares(repo, checkpoint_id, credit, items)
    writing.write_sessions(repo, items)
    settling.settle_commit(repo, commit, changes, {s["session_id"] for s, _ in storeds})
    for (state, stored), (_, data) in zip(storeds, items, strict=False):
        with Apart(state["session_id"], failed):
            settle_state(repo, state)
            _move_state_on(repo, state, data["metadata"], checkpoint_id, stored, commit["oid"])
    raise_if_none(failed, [state for state, _ in storeds if state["session_id"] not in failed])
    _keep_notes(repo, commit)
    return failed


def _bring_edits(
    repo: Repo, sessions: Sequence[tuple[State, Linked]], changes: objects.Changes
) -> None:
    """Move the sessions' edits of the changed paths here from other worktrees and former names."""
    for state, linked in sessions:
        if state.get("visits") or not session.is_home(repo, state):
            from gitcp.record.journal import elsewhere

            elsewhere.bring_edits(repo, state, changes)
        former = linked.get("former")
        if former:
            from gitcp.record.journal import elsewhere

            elsewhere.bring_renamed(repo, state, former, changes)


def _keep_notes(repo: Repo, commit: Commit) -> None:
    commit_lines.keep_ai_note(repo, [commit["oid"]])
    if not os.path.exists(locate_shared(repo)):
        try:
            from gitcp.lines.committed import recorded

            recorded.share_recording(repo)
        except Error as e:  # the next commit shares it
            git.append_trace("condense", f"recording: {e!r}")


def _add(
    data: SessionData,
    linked: Linked,
    task_files: dict[str, bytes],
    extra: Mapping[str, Any],
) -> None:
    data["tasks"] = task_files
    data["metadata"] |= extra
    if task_files:
        data["metadata"]["tasks"] = tasks.list_tasks(task_files)
    added = data["metadata"]["initial_attribution"]["lines_added"]
    linked["agent"] = data["metadata"]["agent"] or "agent"
    linked["turns"] = len(data["metadata"]["turns"])
    linked["lines"] = added["agent"], sum(added.values())


class Apart:
    """A `with` around the work for one session of several: an error is put into failed, and the
    others go on."""

    __slots__ = ("_failed", "_session_id")

    def __init__(self, session_id: str, failed: dict[str, Exception]) -> None:
        self._session_id = session_id
        self._failed = failed

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _traceback: object) -> bool:
        if not isinstance(error, Exception):
            return False
        git.append_trace("condense", f"'{self._session_id}': {error!r}")
        self._failed[self._session_id] = error
        return True


def raise_if_none(failed: Mapping[str, Exception], done: object) -> None:
    """Raise the first error if nothing was done."""
    if failed and not done:
        raise next(iter(failed.values()))


def _build_other_shares(
    repo: Repo,
    checkpoint_id: str,
    credit: commit_lines.Credit,
    items: list[tuple[str, SessionData]],
) -> list[tuple[str, SessionData]]:
    """The sessions that an extended checkpoint had already: their shares have changed."""
    stored = list_session_ids(repo, checkpoint_id)
    session_ids = set(filter(None, stored)) - {data["session_id"] for _, data in items}
    return [
        (
            checkpoint_id,
            {
                "session_id": session_id,
                "metadata": {"initial_attribution": credit.compute_attribution(session_id)},
                "lines": credit.build_ranges(session_id),
            },
        )
        for session_id in sorted(session_ids)
    ]


def settle_state(repo: Repo, state: State) -> None:
    """Remove from a state what its session has no open edit of any more."""
    if state.get("visits"):
        from gitcp.record.journal import elsewhere

        elsewhere.forget_visits(repo, state)
    if not session.is_home(repo, state):
        return
    work = collect_work(journal.read_journal(repo), state["session_id"])
    set_streams(repo, state)
    state["checkpoint_count"] = 0
    for stream in state["streams"]:
        if any(map(work.is_present, stream["files"])):
            state["checkpoint_count"] = 1
    session.clear_verdict(state)


def take_over(repo: Repo, state: State, checkpoint_id: str, head: str) -> None:
    """Move a state on to a stored checkpoint: a kill came before the state was saved."""
    if state.get("last_checkpoint_id") == checkpoint_id:
        return
    entries = read_checkpoint(repo, checkpoint_id)["sessions"]
    metadata = next(e["metadata"] for e in entries if e["session_id"] == state["session_id"])
    if isinstance(metadata.get("token_usage"), dict):
        state["token_usage"] = state["tokens_at_condensation"] = metadata["token_usage"]
    _move_state_on(repo, state, metadata, checkpoint_id, None, head)
    if state.get("phase") != "active":
        pending = state.setdefault("pending_finalize", {"ids": [], "size": -1})
        pending["ids"] = [*pending["ids"], checkpoint_id]


def _move_state_on(
    repo: Repo,
    state: State,
    metadata: Mapping[str, Any],
    checkpoint_id: str,
    stored: StoredTranscript | None,
    head: str,
) -> None:
    """Move a state on to a stored checkpoint, which has this metadata of the session."""
    tasks.forget_tasks(repo, state, list_strings(metadata.get("tasks")))
    if session.is_home(repo, state):
        state["base_commit"] = state["attribution_base_commit"] = head
    state["last_checkpoint_id"] = checkpoint_id
    # The transcript of work that stays open starts at 0.
    is_open = state["checkpoint_count"] > 0
    if stored and not stored.is_whole:
        turns = [*metadata.get("turns", ())]
        wait_for_transcript(repo, state, [checkpoint_id], stored, is_open, turns)
    elif is_open or not stored:
        state["checkpoint_transcript_start"] = 0
    else:
        state["checkpoint_transcript_start"] = stored.items
    if stored and stored.scan and stored.scan["last_identifier"]:
        state["transcript_identifier_at_start"] = stored.scan["last_identifier"]
    if state.get("phase") == "active":
        ids = state.setdefault("turn_checkpoint_ids", [])
        if checkpoint_id not in ids:
            ids.append(checkpoint_id)
    elif stored or state.get("transcript_path"):  # an unreadable transcript may be readable later
        pending = state.setdefault("pending_finalize", {"ids": []})
        pending["ids"] = [*pending["ids"], checkpoint_id]
        pending["size"] = -1
        if stored:
            pending["size"] = stored.size
            pending["live"] = stored.live


def finalize(repo: Repo, state: State) -> list[str]:
    """Give the turn's checkpoints the complete transcript, in one commit; return their ids.  Of a
    long transcript that was not read to its end they get what was read and the last lines, and
    wait for the rest (unread.py).

    The state keeps their ids and the transcript's size: if the client has written more by the next
    event, they are finalized again.  The last checkpoint gets the turn's tokens and ended tasks
    since its last commit.  The caller saves the state.
    """
    pending = state.get("pending_finalize") or {"ids": [], "size": -1}
    ids = list(dict.fromkeys([*pending["ids"], *state.get("turn_checkpoint_ids", ())]))
    if not ids or not redactor.can_read_rules(repo):
        return []
    stored = stored_transcripts.store_session(
        repo, state, complete=True, most=stored_transcripts.FEW
    )
    if stored and not stored.is_whole and not stored.live:
        stored = None  # its file is gone; the checkpoints have last lines that were not kept here
    task_files = tasks.list_all_ended_files(repo, state)
    fresh = bool(state.pop("turn_checkpoint_ids", None))
    size = pending["size"]
    if stored:
        size = stored.size
    lacks_all = stored is None and not state.get("guest")  # a guest's turn gets its prompt late
    has_grown = fresh or size != pending["size"]
    if stored and not stored.is_whole:
        has_grown = fresh or stored.live != pending.get("live")
    if not task_files and (lacks_all or not has_grown):
        return []
    data: SessionData = {
        "session_id": state["session_id"],
        "transcript": stored,
        "prompts": stored_transcripts.list_prompts(state, stored),
        "metadata": {"agent": state.get("agent_type")},
    }
    subject = f"Finalize transcript for Checkpoint: {ids[0]}"
    items = [(checkpoint_id, data) for checkpoint_id in ids[:-1]]
    spent = note_spent(state, stored)
    done = tasks.list_tasks(task_files)
    if done:
        spent["tasks"] = done
    metadata = {**data["metadata"], **spent}
    items.append((ids[-1], {**data, "metadata": metadata, "tasks": task_files}))
    writing.write_sessions(repo, items, subject=subject)
    tasks.forget_tasks(repo, state, done)
    state.pop("pending_finalize", None)
    if fresh and stored:
        state["pending_finalize"] = {"ids": ids, "size": size, "live": stored.live}
    elif fresh and not state.get("guest"):
        state["pending_finalize"] = {"ids": ids, "size": size, "live": []}
    if stored and not stored.is_whole:
        wait_for_transcript(repo, state, ids, stored)
    return ids


def wait_for_transcript(
    repo: Repo,
    state: State,
    checkpoint_ids: list[str],
    stored: StoredTranscript,
    is_open: bool | None = None,
    turns: Sequence[str] = (),
) -> None:
    """Have checkpoints wait until the session's transcript is read up to where it ends now; the
    caller saves the state.  is_open, turns: as Waiting has them, None and none without a commit."""
    waiting: Waiting = {
        "ids": checkpoint_ids,
        "turn_id": state.get("turn_id", ""),
        "end": stored.end,
    }
    if is_open is not None:
        waiting["is_open"] = is_open
        waiting["turns"] = list(turns)
    touch_private(repo, stored_transcripts.locate_unread(repo, state["session_id"]))
    listed = state.setdefault("unread", [])
    if is_open is None and listed:
        last = listed[-1]
        if last["ids"] == checkpoint_ids and "is_open" not in last:
            listed.pop()  # the client has written more since
    listed.append(waiting)


def complete_waiting(repo: Repo, state: State, stored: StoredTranscript) -> None:
    """Give the checkpoints that have waited longest their transcript, and what it tells: tokens,
    numbers of turns, and with which line their part begins.  stored: the transcript up to where it
    was when they were written.  The caller saves the state."""
    waiting = state["unread"][0]
    then = _recall_state(state, waiting["turn_id"])
    prompts: list[str] = []
    if stored.scan:
        prompts = stored.scan["prompts"]
    stored_transcripts.number_turns(state, [*then["turns"].values()], prompts)
    metadata = {"agent": state.get("agent_type"), **note_spent(state, stored)}
    if "is_open" in waiting:
        metadata["turns"] = _describe_turns(state, waiting["turns"])
        metadata["checkpoint_transcript_start"] = state.get("checkpoint_transcript_start", 0)
        if waiting["is_open"]:
            state["checkpoint_transcript_start"] = 0
        else:
            state["checkpoint_transcript_start"] = stored.items
    items: list[tuple[str, SessionData]] = []
    for checkpoint_id in waiting["ids"]:
        data: SessionData = {
            "session_id": state["session_id"],
            "transcript": stored,
            "prompts": stored_transcripts.list_prompts(then, stored),
            "metadata": {},
        }
        if find_checkpoint(repo, checkpoint_id):  # nobody has deleted it
            items.append((checkpoint_id, data))
    if items:
        items[-1][1]["metadata"] |= metadata
        subject = f"Finalize transcript for Checkpoint: {items[0][0]}"
        writing.write_sessions(repo, items, subject=subject)
    del state["unread"][0]
    if not state["unread"]:
        del state["unread"]


def _recall_state(state: State, turn_id: str) -> State:
    """A state without the turns after one of them; with all if there is no such turn."""
    turns = state.get("turns", {})
    names = [*turns]
    if turn_id in names:
        count = names.index(turn_id) + 1
    else:
        count = len(names)
    return {**state, "turns": dict(islice(turns.items(), count))}
