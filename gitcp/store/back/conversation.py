"""The conversation up to a point, cut and put where its client looks, under a new id.

The live transcript is cut where there is one, because the stored one is redacted.  The newer
conversation stays as it is, and the client's own command resumes the older one.
"""

from __future__ import annotations

import os
import uuid

from gitcp.agents import find_client
from gitcp.agents.reading.conversation import find_prompt
from gitcp.errors import Error
from gitcp.process.files import read_bytes as content
from gitcp.record import format_now
from gitcp.store.back.moments import AFTER, KINDS
from gitcp.store.git.commit import read_commit
from gitcp.store.git.tree import Lookup
from gitcp.store.session import process
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs, state_copy, stream_list
from gitcp.store.undo import effects
from gitcp.store.v1 import committed_list, committed_read, pictures
from gitcp.store.v1.committed_tree import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypedDict

    from gitcp.agents import Client
    from gitcp.core.back.point_list import Point
    from gitcp.core.record_types import State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    # The stored transcript, the leaf to cut it at, whether to leave out everything after the leaf.
    Place = tuple[bytes, str, bool]

    class Stored(TypedDict):
        """A stored conversation, redacted."""

        session_id: str
        agent: str
        transcript: bytes

    class Conversation(TypedDict):
        """A conversation ready to be put back.  effects: the files to write (undo_log); command:
        what the person types to resume it; notes: a sentence for each thing that it lacks."""

        session_id: str
        agent: str
        effects: list[dict[str, Any]]
        command: str
        notes: list[str]


_AGENT = "Claude Code"  # for a session that names no agent: the original program knew no other


def cut_at_point(repo: Repo, objects: Objects, point: Point, same_id: bool) -> Conversation | None:
    """The conversation up to a point; None if the point has none or the live one ends there.

    same_id: keep the id and replace the newer conversation.  Raises Error when a client has that
    open, when gitcp cannot cut the client's transcripts, and when the transcript does not have
    the point.
    """
    if not point["session_id"]:
        return None
    state = states.peek(repo, point["session_id"]) or {}
    find_place = _place_in_turn if point["kind"] in KINDS else _place_at_end
    place = find_place(repo, objects, point, state)
    if place is None:
        return None
    agent = find_agent(state)
    cutter = agent.get_cutter()
    if same_id:
        _refuse_open(state, agent, point["session_id"])
    new_id = point["session_id"] if same_id else str(uuid.uuid4())
    data, notes = _cut_stored(place, state, agent, point["session_id"], new_id)
    if cutter.find_last_leaf(data) == cutter.find_last_leaf(read_live(state)):
        return None
    path = _choose_path(repo, state, agent, new_id, same_id)
    if not same_id:
        data += agent.format_title(f"{point['session_prompt'] or 'rewound'} (rewound)", new_id)
    written = [make_effect(repo, path, data)]
    if not same_id:
        written += _copy_subagents(repo, state, path, data)
    return {
        "session_id": new_id,
        "agent": agent.NAME,
        "effects": written,
        "command": agent.format_resume_command(new_id),
        "notes": notes,
    }


def _place_at_end(repo: Repo, objects: Objects, point: Point, state: State) -> Place | None:
    """Where the conversation of a temporary checkpoint ends; None if it has none."""
    files = Lookup(objects, point["tree"]).read_folder(point["metadata_dir"] or ".entire/none")
    stored = b"\n".join(committed_read.read_pieces(objects, files))
    if not stored:
        return None
    inside = point["is_task_checkpoint"]  # the turn went on after it
    return stored, find_agent(state).get_cutter().find_last_leaf(stored), inside


def _place_in_turn(repo: Repo, objects: Objects, point: Point, state: State) -> Place | None:
    """Where a moment inside a turn is; None if the conversation had not begun."""
    data = read_live(state) or read_session(repo, objects, point["session_id"])["transcript"]
    cutter = find_agent(state).get_cutter()
    name, after = point["id"].removesuffix(AFTER), point["id"].endswith(AFTER)
    if point["kind"] == "tool":
        leaf = cutter.find_leaves_around(data, name)[after]
        if not leaf:
            raise Error(f"the transcript does not have the tool use '{name}'")
        return data, leaf, True
    prompts = cutter.list_prompts(data)
    prompt = find_prompt(prompts, point["session_prompt"], point["time"])
    if prompt is None:
        raise Error(f"the transcript does not have the prompt of turn '{name}'")
    later = prompts[prompts.index(prompt) + 1 :]
    leaf = prompt[2] if not after else later[0][2] if later else cutter.find_last_leaf(data)
    return (data, leaf, False) if leaf else None


def make_effect(repo: Repo, path: str, data: bytes) -> dict[str, Any]:
    """The effect that writes a conversation with its pictures; keeps the old and new bytes."""
    return {
        "file": path,
        "old": effects.keep_bytes(repo, content(path)),
        "new": effects.keep_bytes(repo, pictures.restore_pictures(repo, data)),
    }


def find_agent(state: State) -> Client:
    """The adapter of a session's client; raises Error if its conversations cannot be cut."""
    name = state.get("agent_type") or _AGENT
    client = find_client(name)
    if not client.can_cut():
        raise Error(f"the conversation of {name} cannot be cut; --files-only leaves it as it is")
    return client


def _cut_stored(
    place: Place, state: State, agent: Client, old_id: str, new_id: str
) -> tuple[bytes, list[str]]:
    stored, leaf, exact = place
    for data, redacted in ((read_live(state), False), (stored, True)):
        cut, notes = agent.get_cutter().cut_conversation(
            data, leaf, old_id, new_id, redacted, exact
        )
        if cut:
            return cut, notes
    raise Error(f"the transcript of session '{old_id[:8]}' cannot be cut at this point")


def read_live(state: State) -> bytes:
    """The client's own transcript, not redacted; b'' if there is none."""
    path = state.get("transcript_path")
    return (content(path) or b"") if isinstance(path, str) and os.path.isabs(path) else b""


def _choose_path(repo: Repo, state: State, agent: Client, new_id: str, same_id: bool) -> str:
    """A path where the client keeps the live transcript; without one, where it looks for this
    worktree."""
    live = state.get("transcript_path")
    known = isinstance(live, str) and os.path.isdir(os.path.dirname(live))
    if same_id and known:
        return str(live)
    name = agent.name_transcript(new_id, format_now())
    root = _find_root(str(live), name, agent) if known else ""
    return os.path.join(root or find_home(agent, os.path.realpath(repo.worktree)), name)


def _find_root(live: str, name: str, agent: Client) -> str:
    """The directory below which the client has a live transcript under such a name; "" if it is
    not where the client's transcripts are, as one that was archived."""
    root = live
    for _ in name.split(os.sep):
        root = os.path.dirname(root)
    is_flat = os.sep not in name
    return root if is_flat or root.endswith(os.sep + agent.TRANSCRIPTS) else ""


def find_home(agent: Client, cwd: str) -> str:
    """The directory where a client looks for the conversations of cwd."""
    return str(agent.locate_sessions(os.path.expanduser("~"), cwd))


def _copy_subagents(repo: Repo, state: State, path: str, data: bytes) -> list[dict[str, Any]]:
    """The effects that copy the transcripts of the subagents that the conversation names."""
    live = state.get("transcript_path")
    if not isinstance(live, str) or not live.endswith(".jsonl"):
        return []
    folder = os.path.join(live.removesuffix(".jsonl"), "subagents")
    if not os.path.isdir(folder):
        return []
    target = os.path.join(path.removesuffix(".jsonl"), "subagents")
    copies = []
    for name in sorted(os.listdir(folder)):
        agent_id = name.removeprefix("agent-").partition(".")[0]
        transcript = content(os.path.join(folder, name))
        if transcript is not None and agent_id and agent_id.encode() in data:
            copies.append(make_effect(repo, os.path.join(target, name), transcript))
    return copies


def _refuse_open(state: State, agent: Client, session_id: str) -> None:
    owner, home = state.get("agent_process"), os.path.expanduser("~")
    alive = state.get("phase") != "ended" and bool(owner) and process.is_alive(owner)
    if alive or agent.is_open(home, session_id):
        raise Error(f"session '{session_id[:8]}' is open in its client")


def read_checkpoints(repo: Repo, objects: Objects, ids: Iterable[str]) -> Iterator[Stored]:
    """The conversations of committed checkpoints."""
    for checkpoint_id in ids:
        checkpoint = committed_read.read_checkpoint(repo, objects, checkpoint_id)
        for entry in checkpoint["sessions"]:
            session = committed_read.read_session(objects, checkpoint, entry["index"])
            yield {
                "session_id": session["session_id"],
                "agent": str(session["metadata"].get("agent") or _AGENT),
                "transcript": session["transcript"],
            }


def read_temporary(objects: Objects, oid: str) -> Stored:
    """The conversation of a temporary checkpoint; raises Error if it is missing."""
    commit = read_commit(objects, oid)
    if commit is None:
        raise Error(f"missing commit '{oid}'")
    session_id = shadow_refs.find_trailer(commit["message"], "Entire-Session")
    return _read_tree(objects, commit["tree"], session_id)


def _read_tree(objects: Objects, tree: str, session_id: str) -> Stored:
    files = Lookup(objects, tree).read_folder(shadow_refs.METADATA + session_id)
    state = read_json(objects, files, state_copy.NAME) or {}
    transcript = b"\n".join(committed_read.read_pieces(objects, files))
    agent = str(state.get("agent_type") or _AGENT)
    return {"session_id": session_id, "agent": agent, "transcript": transcript}


def read_session(repo: Repo, objects: Objects, session_id: str) -> Stored:
    """The newest stored conversation of a session: on a stream, or committed."""
    if newest := stream_list.find_newest(repo, objects, session_id):
        return _read_tree(objects, newest["tree"], session_id)
    ids = [
        c["checkpoint_id"]
        for c in committed_list.list_checkpoints(repo, brief=True)
        if any(s["session_id"] == session_id for s in c["sessions"])
    ]
    stored = [s for s in read_checkpoints(repo, objects, ids) if s["session_id"] == session_id]
    if not stored:
        raise Error(f"nothing is stored of session '{session_id}' yet")
    return max(stored, key=lambda session: len(session["transcript"]))
