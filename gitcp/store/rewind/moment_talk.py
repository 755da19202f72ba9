"""The conversation as it was at a moment inside a turn: before a prompt, or around one call."""

from __future__ import annotations

from gitcp.core.conversation import asked
from gitcp.errors import Error
from gitcp.store.rewind import conversation
from gitcp.store.rewind.journal_edits import AFTER
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import State
    from gitcp.core.rewind.point_list import Point
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.rewind.conversation import Conversation

MOMENTS = ("prompt", "tool")


def at(repo: Repo, objects: Objects, point: Point, same_id: bool) -> Conversation | None:
    """The conversation at any point; None for one that has none, or that is no further.

    Raises Error like conversation.of_point(), and where the transcript does not have the moment.
    """
    if point["kind"] not in MOMENTS:
        return conversation.of_point(repo, objects, point, same_id)
    state = states.peek(repo, point["session_id"]) or {}
    data = conversation.live(state)
    if not data:
        from gitcp.store.rewind import resume

        data = resume.of_session(repo, objects, point["session_id"])["transcript"]
    place = _place(state, data, point)
    if place is None:
        return None  # nothing was said before it
    return conversation.ready(repo, point, state, (data, *place), same_id)


def _place(state: State, data: bytes, point: Point) -> tuple[str, bool] | None:
    """(the leaf to cut at, whether exactly there); None where the conversation had not begun."""
    cutter = conversation.agent_of(state).cutter()
    name, after = point["id"].removesuffix(AFTER), point["id"].endswith(AFTER)
    if point["kind"] == "tool":
        leaf = cutter.around_call(data, name)[after]
        if not leaf:
            raise Error(f"the transcript does not have the tool use '{name}'")
        return leaf, True
    prompts = cutter.prompts(data)
    prompt = asked.begun(prompts, point["session_prompt"], point["time"])
    if prompt is None:
        raise Error(f"the transcript does not have the prompt of turn '{name}'")
    later = prompts[prompts.index(prompt) + 1 :]
    leaf = prompt[2] if not after else later[0][2] if later else cutter.last(data)
    return (leaf, False) if leaf else None
