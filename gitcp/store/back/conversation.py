"""The conversation of a point, put where its client looks: cut there, and under a new id.

The live transcript is cut where there is one, since what is stored is redacted.  The newer
conversation stays as it is, and the client's own command goes on with the older one.
"""

from __future__ import annotations

import os
import uuid

from gitcp.agents import find_client
from gitcp.agents.reading import asked
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.process.files import read_bytes as content
from gitcp.record import format_now
from gitcp.store.back.moments import AFTER
from gitcp.store.git.commit import read_commit
from gitcp.store.git.tree import Lookup
from gitcp.store.session import process
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs, stream_list
from gitcp.store.undo import effects
from gitcp.store.v1 import committed_list, committed_read, pictures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypedDict

    from gitcp.agents import Client
    from gitcp.core.back.point_list import Point
    from gitcp.core.record_types import State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    # What is stored of a conversation, the leaf to cut it at, whether nothing after that belongs
    # to it.
    Place = tuple[bytes, str, bool]

    class Stored(TypedDict):
        """A conversation as it is stored, redacted."""

        session_id: str
        agent: str
        transcript: bytes

    class Conversation(TypedDict):
        """A conversation ready to be put back.  effects: the files it needs (undo_log); command:
        what the person types to go on with it; notes: what is not in it, a sentence each."""

        session_id: str
        agent: str
        effects: list[dict[str, Any]]
        command: str
        notes: list[str]


_AGENT = "Claude Code"  # where nothing tells: the first that the original program knew
MOMENTS = ("prompt", "tool")


def cut_at_point(repo: Repo, objects: Objects, point: Point, same_id: bool) -> Conversation | None:
    """The conversation up to a point, ready to be put back; None for a point that has none, or
    where the live one is no further.

    same_id: under the id it has, in the place of the newer one.  Raises Error when that is held
    open by a client, when the client's transcripts are not known to be cut, and where the
    transcript does not have the moment.
    """
    if not point["session_id"]:
        return None
    state = states.peek(repo, point["session_id"]) or {}
    find_place = _place_in_turn if point["kind"] in MOMENTS else _place_at_end
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
        data += cutter.format_title(f"{point['session_prompt'] or 'rewound'} (rewound)", new_id)
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
    """Where a temporary checkpoint's conversation ends; None where it has none."""
    files = Lookup(objects, point["tree"]).read_folder(point["metadata_dir"] or ".entire/none")
    stored = b"\n".join(committed_read.read_pieces(objects, files))
    if not stored:
        return None
    inside = point["is_task_checkpoint"]  # the turn went on after it
    return stored, find_agent(state).get_cutter().find_last_leaf(stored), inside


def _place_in_turn(repo: Repo, objects: Objects, point: Point, state: State) -> Place | None:
    """Where a moment inside a turn is; None where the conversation had not begun."""
    data = read_live(state) or read_session(repo, objects, point["session_id"])["transcript"]
    cutter = find_agent(state).get_cutter()
    name, after = point["id"].removesuffix(AFTER), point["id"].endswith(AFTER)
    if point["kind"] == "tool":
        leaf = cutter.find_leaves_around(data, name)[after]
        if not leaf:
            raise Error(f"the transcript does not have the tool use '{name}'")
        return data, leaf, True
    prompts = cutter.list_prompts(data)
    prompt = asked.find_prompt(prompts, point["session_prompt"], point["time"])
    if prompt is None:
        raise Error(f"the transcript does not have the prompt of turn '{name}'")
    later = prompts[prompts.index(prompt) + 1 :]
    leaf = prompt[2] if not after else later[0][2] if later else cutter.find_last_leaf(data)
    return (data, leaf, False) if leaf else None


def make_effect(repo: Repo, path: str, data: bytes) -> dict[str, Any]:
    """The effect of writing a conversation, with its pictures; both contents are kept."""
    return {
        "file": path,
        "old": effects.keep_bytes(repo, content(path)),
        "new": effects.keep_bytes(repo, pictures.restore_pictures(repo, data)),
    }


def find_agent(state: State) -> Client:
    """The adapter of a session's client; raise Error where its conversations cannot be cut."""
    name = state.get("agent_type") or "Claude Code"
    client = find_client(name)
    if not client.can_cut():
        raise Error(f"the conversation of {name} cannot be cut; --files-only leaves it as it is")
    return client


def _cut_stored(
    place: Place, state: State, agent: Client, old_id: str, new_id: str
) -> tuple[bytes, list[str]]:
    stored, leaf, exact = place
    for data, redacted in ((read_live(state), False), (stored, True)):
        kept, notes = agent.get_cutter().cut_conversation(
            data, leaf, old_id, new_id, redacted, exact
        )
        if kept:
            return kept, notes
    raise Error(f"the transcript of session '{old_id[:8]}' cannot be cut at this point")


def read_live(state: State) -> bytes:
    """The transcript as the client has it, not redacted; b'' when there is none."""
    path = state.get("transcript_path")
    known = isinstance(path, str) and os.path.isabs(path)
    return (content(str(path)) or b"") if known else b""


def _choose_path(repo: Repo, state: State, agent: Client, new_id: str, same_id: bool) -> str:
    """Beside the live transcript, where the client looked before; else where it looks here."""
    live = state.get("transcript_path")
    known = isinstance(live, str) and os.path.isdir(os.path.dirname(live))
    if same_id and known:
        return str(live)
    name = agent.name_transcript(new_id, format_now())
    if known and os.sep not in name:
        return os.path.join(os.path.dirname(str(live)), name)
    return os.path.join(find_home(agent, os.path.realpath(repo.worktree)), name)


def find_home(agent: Client, cwd: str) -> str:
    """The folder where a client looks for the conversations of cwd."""
    return str(agent.locate_sessions(os.path.expanduser("~"), cwd))


def _copy_subagents(repo: Repo, state: State, path: str, data: bytes) -> list[dict[str, Any]]:
    """The transcripts of the subagents that the conversation speaks of travel along."""
    live = state.get("transcript_path")
    if not isinstance(live, str) or not live.endswith(".jsonl"):
        return []
    folder = os.path.join(live.removesuffix(".jsonl"), "subagents")
    if not os.path.isdir(folder):
        return []
    target = os.path.join(path.removesuffix(".jsonl"), "subagents")
    copies = []
    for name in sorted(os.listdir(folder)):
        named = name.removeprefix("agent-").partition(".")[0]
        theirs = content(os.path.join(folder, name))
        if theirs is not None and named and named.encode() in data:
            copies.append(make_effect(repo, os.path.join(target, name), theirs))
    return copies


def _refuse_open(state: State, agent: Client, session_id: str) -> None:
    owner, home = state.get("agent_process"), os.path.expanduser("~")
    alive = state.get("phase") != "ended" and bool(owner) and process.is_alive(owner)
    if alive or agent.is_open(home, session_id):
        raise Error(f"session '{session_id[:8]}' is open in its client")


def read_checkpoints(repo: Repo, objects: Objects, ids: Iterable[str]) -> Iterator[Stored]:
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
    commit = read_commit(objects, oid)
    if commit is None:
        raise Error(f"missing commit '{oid}'")
    session_id = shadow_refs.find_trailer(commit["message"], "Entire-Session")
    return _read_tree(objects, commit["tree"], session_id)


def _read_tree(objects: Objects, tree: str, session_id: str) -> Stored:
    files = Lookup(objects, tree).read_folder(shadow_refs.METADATA + session_id)
    copy = files.get("state.json")
    state = summary.parse_json(objects.need(copy[1], "blob")) or {} if copy else {}
    transcript = b"\n".join(committed_read.read_pieces(objects, files))
    agent = str(state.get("agent_type") or _AGENT)
    return {"session_id": session_id, "agent": agent, "transcript": transcript}


def read_session(repo: Repo, objects: Objects, session_id: str) -> Stored:
    """The newest that is stored of a session: on a stream, or committed."""
    if newest := stream_list.find_newest(repo, objects, session_id):
        return _read_tree(objects, newest["tree"], session_id)
    with_it = [
        c["checkpoint_id"]
        for c in committed_list.list_checkpoints(repo, brief=True)
        if any(s["session_id"] == session_id for s in c["sessions"])
    ]
    stored = [s for s in read_checkpoints(repo, objects, with_it) if s["session_id"] == session_id]
    if not stored:
        raise Error(f"nothing is stored of session '{session_id}' yet")
    return max(stored, key=lambda session: len(session["transcript"]))
