"""What an agent's events do to the state of their session.

Every function here runs under the session's lock, changes the state in memory and leaves
saving it, marker first, to its caller (update-session, write-checkpoint).
"""

from __future__ import annotations

import os

from gitcp.core.decide import phases
from gitcp.core.message import prompts
from gitcp.errors import Error
from gitcp.store.session import markers, phase, process, turn_log
from gitcp.store.stream import place
from gitcp.store.v1 import redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Entries, Record, State
    from gitcp.repo import Repo


_PROMPT = 4000  # characters of a prompt that a state keeps: the transcript has the rest


class SessionIDConflictError(Error):
    """The session is active in another worktree."""

    def __init__(self, session_id: str, there: str, here: str) -> None:
        super().__init__(
            f"SessionIDConflictError: session '{session_id}' is active in worktree '{there}';"
            f" it cannot also work in '{here}'"
        )


def begin_turn(
    repo: Repo, state: State, event: Record, head: str, dirty: Entries, time_ns: int, at: int
) -> None:
    """TurnStart: a new turn id, its prompt, its baseline of time_ns, by the worktree's clock at
    (doc/behaviour.md "Temporary checkpoints")."""
    phase.take_event(state, phases.TURN_START)
    state["turn_id"] = place.make_id()
    state["base_commit"] = head
    state.pop("last_checkpoint_id", None)
    state.pop("turn_checkpoint_ids", None)
    state.pop("pending_finalize", None)
    if event.get("turn"):
        state["prompt_id"] = event["turn"]
    prompt = redaction.redact_text(
        repo, prompts.clean(event.get("prompt") or ""), event["session_id"]
    )
    if prompt and not state.get("first_prompt"):
        state["first_prompt"] = prompts.shorten_prompt(prompt)
    turns = state.setdefault("turns", {})
    turns[state["turn_id"]] = {"number": len(turns) + 1, "prompt": prompt[:_PROMPT]}
    if event.get("model"):
        turns[state["turn_id"]]["model"] = event["model"]
    state.pop("resumed", None)
    note_process(repo, state, event)
    turn_log.begin(repo, state, head, dirty, time_ns, at)


def note_process(repo: Repo, state: State, event: Record) -> None:
    """What every event tells: from which process it comes, with which transcript."""
    if event.get("transcript_path") and not event.get("agent_id"):
        state["transcript_path"] = event["transcript_path"]
    agent_process = process.find_agent(repo.git.env)
    if agent_process:
        state["agent_process"] = agent_process


def refuse_elsewhere(repo: Repo, state: State) -> None:
    """Raise SessionIDConflictError when the session is active in another worktree, in a
    process that lives and is not the one that speaks now
    (doc/behaviour.md "Conflicts and warnings")."""
    there, here = state.get("worktree_path", ""), repo.worktree
    if markers.is_home(repo, state) or state.get("phase") != phases.ACTIVE:
        return
    if not os.path.isdir(there):
        return
    known = state.get("agent_process")
    if process.is_alive(known) and known != process.find_agent(repo.git.env):
        raise SessionIDConflictError(state["session_id"], there, here)


def move_home(repo: Repo, state: State) -> str | None:
    """Move the session to this worktree if it came from another; what to tell the person."""
    there, here = state.get("worktree_path", ""), repo.worktree
    stays = markers.is_home(repo, state)
    state["worktree_path"] = here
    if stays:
        return None
    left = state.pop("worktree_id", "")
    visits = [name for name in state.get("visits", ()) if name not in (left, repo.worktree_id)]
    state["visits"] = [*visits, left]  # an end of a turn takes out what has nothing open
    if repo.worktree_id:
        state["worktree_id"] = repo.worktree_id
    return f"session '{state['session_id']}' moves from worktree '{there}' to '{here}'"


def is_repeated(state: State, event: Record) -> bool:
    """Whether this prompt was already taken: two settings files may both name our hook."""
    turn_id = event.get("turn")
    known = bool(turn_id) and turn_id == state.get("prompt_id")
    return known and not event.get("notification") and state.get("phase") == phases.ACTIVE


def continue_turn(repo: Repo, state: State, event: Record) -> None:
    """The same turn continues: active again, with its baseline and verdict
    (doc/behaviour.md "Events")."""
    keep_verdict(state)
    phase.take_event(state, phases.TURN_START)
    note_process(repo, state, event)


def keep_verdict(state: State) -> None:
    """After the turn's end: a verdict that its Stop cleared unused counts again; one that was
    used is void by now, for the tip it speaks of has moved."""
    if state.get("phase") != phases.ACTIVE and state.get("last_verdict"):
        verdict = state["verdict"] = state["last_verdict"].copy()
        state["should_reset_shadow_branch"] = verdict["verdict"] in ("reset", "new")


def end_turn(repo: Repo, state: State, event: Record) -> None:
    """TurnEnd: idle, the flag to reset the stream cleared whether it was used or not."""
    phase.take_event(state, phases.TURN_END)
    phase.clear_verdict(state)
    note_process(repo, state, event)


def end_session(repo: Repo, state: State, event: Record) -> None:
    """SessionStop: ended, with the time."""
    phase.take_event(state, phases.SESSION_END)
    note_process(repo, state, event)


def start_session(repo: Repo, state: State, event: Record) -> None:
    """SessionStart of a session that is known: resumed, or its transcript replaced."""
    phase.take_event(state, phases.SESSION_START)
    if event.get("source") != "compact":
        state["resumed"] = True  # until its next prompt
    note_process(repo, state, event)
