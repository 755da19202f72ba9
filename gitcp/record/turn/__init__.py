"""The changes that an agent's events make to the state of their session.

Every function here runs under the session's lock and changes the state in memory; the caller
saves it.
"""

from __future__ import annotations

import os

from gitcp.checkpoints import redactor
from gitcp.errors import Error
from gitcp.git import refs
from gitcp.record import session
from gitcp.record.session import clear_verdict, find_agent, is_home, make_id, phases, take_event
from gitcp.text import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entries, Event, State

_PROMPT = 4000  # characters of a prompt that a state keeps; the transcript has all


class SessionIDConflictError(Error):
    """The session is active in another worktree."""

    def __init__(self, session_id: str, active_path: str, path: str) -> None:
        super().__init__(
            f"SessionIDConflictError: session '{session_id}' is active in worktree '{active_path}';"
            f" it cannot also work in '{path}'"
        )


def begin_turn(
    repo: Repo, state: State, event: Event, head: str, dirty: Entries, time_ns: int, at: int
) -> None:
    """TurnStart: set a new turn id, its prompt and its baseline
    (doc/behaviour.md "Temporary checkpoints").  time_ns: now; at: now by the worktree's clock."""
    take_event(state, phases.TURN_START)
    state["turn_id"] = make_id()
    state.pop("last_checkpoint_id", None)
    state.pop("turn_checkpoint_ids", None)
    state.pop("pending_finalize", None)
    if event.get("turn"):
        state["prompt_id"] = event["turn"]
    turns = state.setdefault("turns", {})
    number = max((turn.get("number", 0) for turn in turns.values()), default=0) + 1
    turns[state["turn_id"]] = {"number": number}
    take_prompt(repo, state, event.get("prompt") or "")
    if event.get("model"):
        turns[state["turn_id"]]["model"] = event["model"]
    state.pop("resumed", None)
    note_process(repo, state, event)
    session.begin_turn(repo, state, head, dirty, time_ns, at)


def take_prompt(repo: Repo, state: State, text: str) -> None:
    """Set the prompt of a session's turn."""
    prompt = redactor.redact_text(repo, prompt_text.clean_prompt(text), state["session_id"])
    name = prompt_text.name_prompt(prompt)
    if name and not state.get("first_prompt"):
        state["first_prompt"] = prompt_text.shorten_prompt(name)
    state["turns"][state["turn_id"]]["prompt"] = prompt[:_PROMPT]


def note_process(repo: Repo, state: State, event: Event) -> None:
    """Note the agent's process and transcript, which every event names."""
    if event.get("transcript_path") and not event.get("agent_id") and not state.get("guest"):
        state["transcript_path"] = event["transcript_path"]
    agent_process = find_agent(repo.git.env)
    if agent_process:
        state["agent_process"] = agent_process


def refuse_elsewhere(repo: Repo, state: State) -> None:
    """Raise SessionIDConflictError if the session is active in another worktree in a live process
    other than this hook's agent (doc/behaviour.md "Conflicts and warnings")."""
    active_path = state.get("worktree_path", "")
    path = repo.worktree
    if is_home(repo, state) or state.get("phase") != phases.ACTIVE:
        return
    if not os.path.isdir(active_path):
        return
    agent = state.get("agent_process")

    from gitcp.record.session.process import is_alive

    if is_alive(agent) and agent != find_agent(repo.git.env):
        raise SessionIDConflictError(state["session_id"], active_path, path)


def move_home(repo: Repo, state: State) -> str | None:
    """Move the session to this worktree if its home is another; the message that says so."""
    old_path = state.get("worktree_path", "")
    new_path = repo.worktree
    stays = is_home(repo, state)
    state["worktree_path"] = new_path
    if stays:
        return None
    old_id = state.pop("worktree_id", "")
    visits = [visit for visit in state.get("visits", ()) if visit not in (old_id, repo.worktree_id)]
    state["visits"] = [*visits, old_id]  # the end of a turn removes those without open edits
    if repo.worktree_id:
        state["worktree_id"] = repo.worktree_id
    refs.write_mark(state, refs.mark_head(repo, state.get("base_commit", "")))
    return f"session '{state['session_id']}' moves from worktree '{old_path}' to '{new_path}'"


def is_repeated(state: State, event: Event) -> bool:
    """Whether this prompt was reported before: two settings files may both call the hook."""
    turn_id = event.get("turn")
    is_known = bool(turn_id) and turn_id == state.get("prompt_id")
    return is_known and not event.get("notification") and state.get("phase") == phases.ACTIVE


def continue_turn(repo: Repo, state: State, event: Event) -> None:
    """Continue the same turn, with its baseline and verdict (doc/behaviour.md "Events")."""
    keep_verdict(state)
    take_event(state, phases.TURN_START)
    note_process(repo, state, event)


def keep_verdict(state: State) -> None:
    """Restore the verdict of a turn that has ended.  One that was used is void: its tip has
    moved."""
    if state.get("phase") != phases.ACTIVE and state.get("last_verdict"):
        verdict = state["verdict"] = state["last_verdict"].copy()
        state["should_reset_shadow_branch"] = verdict["verdict"] in ("reset", "new")


def end_turn(repo: Repo, state: State, event: Event) -> None:
    """TurnEnd: idle, without a verdict on the stream."""
    take_event(state, phases.TURN_END)
    clear_verdict(state)
    note_process(repo, state, event)


def end_session(repo: Repo, state: State, event: Event) -> None:
    """SessionStop: ended."""
    take_event(state, phases.SESSION_END)
    note_process(repo, state, event)


def start_session(repo: Repo, state: State, event: Event) -> None:
    """SessionStart of a known session: resumed, or its transcript compacted."""
    take_event(state, phases.SESSION_START)
    if event.get("source") != "compact":
        state["resumed"] = True  # until its next prompt
    note_process(repo, state, event)


def find_refusal(repo: Repo, state: State, event: Event, head: str) -> str | None:
    """The warning that refuses a prompt because other sessions have uncommitted work here.

    None for a session at work here: only a new or resumed one is refused.
    """
    has_work = any(stream["files"] for stream in state["streams"])
    has_begun = state.get("turns") and not state.get("resumed")
    if is_home(repo, state) and (has_begun or has_work):
        return None

    from gitcp.record.turn import company

    return company.find_warning(repo, state, event, head)
