"""The conversation up to a point, cut and put where its client looks, under a new id.

The live transcript is cut where there is one, because the stored one is redacted.  The newer
conversation stays as it is, and the client's own command resumes the older one.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, replace

from gitcp.agents import find_client
from gitcp.agents.reading.conversation import find_prompt
from gitcp.checkpoints import listing
from gitcp.checkpoints import stored as checkpoints
from gitcp.checkpoints.redact import pictures
from gitcp.checkpoints.stored import read_json
from gitcp.errors import Error
from gitcp.git import format_now
from gitcp.git.files import read_bytes
from gitcp.git.objects import Lookup, read_commit
from gitcp.link import commits
from gitcp.record import contents, stream
from gitcp.record.session import others, process
from gitcp.record.session.client_transcript import (
    find_conversation,
    find_home,
    find_local,
    read_live,
)
from gitcp.record.stream import stream_list
from gitcp.record.unheard import unrecorded
from gitcp.steps import effects, undo
from gitcp.steps.step import FILE, Effect
from gitcp.text.ids import SESSION_KEY
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType

    from gitcp.agents import Client
    from gitcp.agents.transcripts.cuts import CutTranscript
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.back.point import Point
    from gitcp.text.record_types import Record, State


@dataclass(slots=True)
class CutPoint:
    """Where a conversation is cut: a stored transcript, a leaf of it, and whether everything after
    the leaf is left out."""

    stored: bytes
    leaf: str
    is_exact: bool


@dataclass(slots=True)
class Stored:
    """A stored conversation, redacted."""

    session_id: str
    agent: str
    transcript: bytes


@dataclass(slots=True)
class ReadyConversation:
    """A conversation ready to be put back.  effects: the files to write; command: what the person
    types to resume it; notes: a sentence for each thing that it lacks."""

    session_id: str
    agent: str
    effects: list[Effect]
    command: str
    notes: list[str]

    def make_record(self) -> Record:
        """It as a record."""
        return {
            "session_id": self.session_id,
            "agent": self.agent,
            "command": self.command,
            "notes": self.notes,
        }


@dataclass(slots=True, frozen=True)
class Restored:
    """The outcome for one conversation.  what: 'written', 'kept' (the local one is as new or
    newer), 'replaced', 'beside' (the local one diverged), or 'impossible'; command: resumes it;
    notes: sentences.  new_id: of the session under which one is put beside."""

    session_id: str
    agent: str
    what: str
    path: str = ""
    command: str = ""
    notes: Sequence[str] = ()
    effects: Sequence[Effect] = ()
    new_id: str = ""

    def make_record(self) -> Record:
        """It as a record."""
        return {
            "type": "conversation",
            "session_id": self.session_id,
            "agent": self.agent,
            "what": self.what,
            "path": self.path,
            "command": self.command,
            "notes": list(self.notes),
        }


_AGENT = "Claude Code"  # for a session that names no agent: the original program knew no other


def cut_at_point(
    repo: Repo, point: Point, same_id: bool, dry: bool = False
) -> ReadyConversation | None:
    """The conversation up to a point; None if the point has none or the live one ends there, and
    for a program that keeps none, as under gitcp-run(1).

    same_id: keep the id and replace the newer conversation; dry: write nothing.  Raises Error when
    a client has that open, when gitcp cannot cut the client's transcripts, and when the transcript
    does not have the point.
    """
    if not point.session_id:
        return None
    state = others.peek_state(repo, point.session_id) or {}
    if not find_client(state.get("agent_type") or _AGENT).can_cut() and not read_live(state):
        return None
    if point.is_moment:
        cut_point = _find_in_turn(repo, point, state)
    else:
        cut_point = _find_end(repo, point, state)
    if cut_point is None:
        return None
    agent = find_agent(state)
    cutter = agent.get_cutter()
    if same_id:
        _refuse_open(state, agent, point.session_id)
        new_id = point.session_id
    else:
        new_id = str(uuid.uuid4())
    cut = _cut_stored(cut_point, state, agent, point.session_id, new_id)
    data = cut.data
    if cutter.find_last_leaf(data) == cutter.find_last_leaf(read_live(state)):
        return None
    path = _choose_path(repo, state, agent, new_id, same_id)
    if not same_id:
        data += agent.format_title(f"{point.session_prompt or 'rewound'} (rewound)", new_id)
    written = [make_effect(repo, path, data, dry)]
    if not same_id:
        written += _copy_subagents(repo, state, path, data, dry)
    if not dry:
        unrecorded.note_written(repo, [new_id])
    return ReadyConversation(
        new_id, agent.NAME, written, agent.format_resume_command(new_id), cut.notes
    )


def _find_end(repo: Repo, point: Point, state: State) -> CutPoint | None:
    """Where the conversation of a temporary checkpoint ends; None if it has none."""
    files = Lookup(repo.objects, point.tree).read_folder(point.metadata_dir or ".entire/none")
    stored = b"\n".join(checkpoints.read_pieces(repo.objects, files))
    if not stored:
        return None
    leaf = find_agent(state).get_cutter().find_last_leaf(stored)
    return CutPoint(stored, leaf, point.is_task_checkpoint)  # the turn went on after it


def _find_in_turn(repo: Repo, point: Point, state: State) -> CutPoint | None:
    """Where a moment inside a turn is; None if the conversation had not begun."""
    data = read_live(state) or read_session(repo, point.session_id).transcript
    cutter = find_agent(state).get_cutter()
    name = point.moment_id
    if point.kind == "tool":
        around = cutter.find_leaves_around(data, name)
        leaf = around.after if point.is_after else around.before
        if not leaf:
            raise Error(f"the transcript does not have the edit or command '{name}'")
        return CutPoint(data, leaf, True)
    prompts = cutter.list_prompts(data)
    prompt = find_prompt(prompts, point.session_prompt, point.time)
    if prompt is None:
        raise Error(f"the transcript does not have the prompt '{name}'")
    later = prompts[prompts.index(prompt) + 1 :]
    if not point.is_after:
        leaf = prompt.leaf
    elif later:
        leaf = later[0].leaf
    else:
        leaf = cutter.find_last_leaf(data)
    if not leaf:
        return None
    return CutPoint(data, leaf, False)


def make_effect(repo: Repo, path: str, data: bytes, dry: bool = False) -> Effect:
    """The effect that writes a conversation with its pictures; keeps the old and new bytes, but not
    if dry."""
    old = contents.keep_bytes(repo, read_bytes(path), dry)
    new = contents.keep_bytes(repo, pictures.restore_pictures(repo, data), dry)
    return Effect(FILE, path, old, new)


def find_agent(state: State) -> Client:
    """The adapter of a session's client; raises Error if its conversations cannot be cut."""
    name = state.get("agent_type") or _AGENT
    client = find_client(name)
    if not client.can_cut():
        raise Error(f"the conversation of {name} cannot be cut; --files-only leaves it as it is")
    return client


def _cut_stored(
    cut_point: CutPoint, state: State, agent: Client, old_id: str, new_id: str
) -> CutTranscript:
    for data, redacted in ((read_live(state), False), (cut_point.stored, True)):
        cut: CutTranscript = agent.get_cutter().cut_conversation(
            data, cut_point.leaf, old_id, new_id, redacted, exact=cut_point.is_exact
        )
        if cut.data:
            return cut
    raise Error(f"the transcript of session '{shorten_id(old_id)}' cannot be cut at this point")


def _choose_path(repo: Repo, state: State, agent: Client, new_id: str, same_id: bool) -> str:
    """A path where the client keeps the live transcript; without one, where it looks for this
    worktree."""
    live = state.get("transcript_path")
    known = isinstance(live, str) and os.path.isdir(os.path.dirname(live))
    if same_id and known:
        return str(live)
    name = agent.name_transcript(new_id, format_now())
    root = ""
    if known:
        root = _find_root(str(live), name, agent)
    return os.path.join(root or find_home(agent, os.path.realpath(repo.worktree)), name)


def _find_root(live: str, name: str, agent: Client) -> str:
    """The directory below which the client has a live transcript under such a name; "" if it is
    not where the client's transcripts are, as one that was archived."""
    root = live
    for _ in name.split(os.sep):
        root = os.path.dirname(root)
    is_flat = os.sep not in name
    if is_flat or root.endswith(os.sep + agent.TRANSCRIPTS):
        return root
    return ""


def _copy_subagents(repo: Repo, state: State, path: str, data: bytes, dry: bool) -> list[Effect]:
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
        transcript = read_bytes(os.path.join(folder, name))
        if transcript is not None and agent_id and agent_id.encode() in data:
            copies.append(make_effect(repo, os.path.join(target, name), transcript, dry))
    return copies


def _refuse_open(state: State, agent: Client, session_id: str) -> None:
    owner = state.get("agent_process")
    home = os.path.expanduser("~")
    alive = state.get("phase") != "ended" and bool(owner) and process.is_alive(owner)
    if alive or agent.is_open(home, session_id):
        raise Error(f"session '{shorten_id(session_id)}' is open in its client: close it first")


def read_checkpoints(repo: Repo, ids: Iterable[str]) -> Iterator[Stored]:
    """The conversations of committed checkpoints."""
    for checkpoint_id in ids:
        checkpoint = checkpoints.read_checkpoint(repo, checkpoint_id)
        for entry in checkpoint["sessions"]:
            content = checkpoints.read_session(repo.objects, checkpoint, entry["index"])
            agent = str(content.metadata.get("agent") or _AGENT)
            yield Stored(content.session_id, agent, content.transcript)


def read_temporary(objects: Objects, oid: str) -> Stored:
    """The conversation of a temporary checkpoint; raises Error if it is missing."""
    commit = read_commit(objects, oid)
    if commit is None:
        raise Error(f"missing commit '{oid}'")
    session_id = stream.find_trailer(commit["message"], SESSION_KEY)
    return _read_tree(objects, commit["tree"], session_id)


def _read_tree(objects: Objects, tree: str, session_id: str) -> Stored:
    files = Lookup(objects, tree).read_folder(stream.METADATA + session_id)
    state = read_json(objects, files, stream.NAME) or {}
    transcript = b"\n".join(checkpoints.read_pieces(objects, files))
    agent = str(state.get("agent_type") or _AGENT)
    return Stored(session_id, agent, transcript)


def read_session(repo: Repo, session_id: str) -> Stored:
    """The newest stored conversation of a session: on a stream, or committed."""
    newest = stream_list.find_newest(repo, session_id)
    if newest:
        return _read_tree(repo.objects, newest["tree"], session_id)
    ids: list[str] = []
    for checkpoint in listing.list_checkpoints(repo, skip_summary=True):
        for entry in checkpoint["sessions"]:
            if entry["session_id"] == session_id:
                ids.append(checkpoint["checkpoint_id"])
    stored = [one for one in read_checkpoints(repo, ids) if one.session_id == session_id]
    if not stored:
        raise Error(f"nothing is stored of session '{session_id}' yet")
    return max(stored, key=lambda session: len(session.transcript))


# Putting stored conversations where their clients look, so that a person can resume them.
WRITTEN = "written"
KEPT = "kept"
REPLACED = "replaced"
IMPOSSIBLE = "impossible"
BESIDE = "beside"
DEPTH = 100  # first parents that are searched for a checkpoint


@dataclass(slots=True)
class StoredOf:
    """The conversations that a name means, and its commit, '' for none."""

    commit: str
    sessions: list[Stored]


def read_stored(repo: Repo, name: str) -> StoredOf:
    """The conversations of a branch, a commit, a checkpoint or a session.

    For a commit without a checkpoint the nearest of its first parents that has one is taken.
    Raises Error when there is none, or if all of its conversations were left with a remote.
    """
    subject = commits.resolve_name(repo, name)
    kind = subject.kind
    key = subject.key
    if kind == "commit":
        nearest = _find_nearest_checkpoint(repo, key)
        return StoredOf(nearest.commit, _read_present(repo, nearest.ids))
    if kind == "checkpoint":
        carriers = listing.find_carriers(repo, [key])[key] or [""]
        return StoredOf(carriers[0], _read_present(repo, [key]))
    if kind == "temporary":
        return StoredOf("", [read_temporary(repo.objects, key)])
    return StoredOf("", [read_session(repo, key)])


def _read_present(repo: Repo, ids: Sequence[str]) -> list[Stored]:
    """The conversations of checkpoints; raises Error if all of them were left with a remote."""
    found = [session for session in read_checkpoints(repo, ids) if session.session_id]
    if not found:  # of what it lacks there are warnings
        raise Error(f"the conversations of checkpoint '{ids[0]}' are not here")
    return found


@dataclass(slots=True)
class _Nearest:
    """A commit and the ids of its checkpoints."""

    commit: str
    ids: list[str]


def _find_nearest_checkpoint(repo: Repo, oid: str) -> _Nearest:
    """A commit, or the nearest of its first parents, with checkpoints that are here."""
    ancestor: str | None = oid
    for _ in range(DEPTH):
        commit = None
        if ancestor:
            commit = read_commit(repo.objects, ancestor)
        if commit is None:
            break
        ids = listing.list_ids(repo, commit["oid"])
        present = [i for i in ids if checkpoints.find_checkpoint(repo, i)]
        if present:
            return _Nearest(commit["oid"], present)
        if ids:
            missing = f"checkpoint '{ids[0]}' of commit '{abbreviate(commit['oid'])}' is not here"
            raise Error(f"{missing}; 'gitcp fetch' may bring it")
        ancestor = None
        if commit["parents"]:
            ancestor = commit["parents"][0]
    raise Error(f"no checkpoint belongs to '{abbreviate(oid)}' or the {DEPTH} commits before it")


def plan_restoring(repo: Repo, session: Stored, cwd: str, force: bool) -> Restored:
    """Plan what to write so that a conversation can be resumed in cwd (absolute, links resolved).

    A local conversation that has all of the stored one is kept; one that the stored one continues
    is replaced.  If the two diverged, the stored one gets a new id and is put beside the local
    one.  force: replace the local one in any case.  Nothing is written yet.
    """
    own_id = session.session_id
    outcome = Restored(own_id, session.agent, IMPOSSIBLE)
    agent = find_client(session.agent)
    if not agent.can_cut() or not session.transcript:
        path = find_conversation(repo, own_id)
        if path:
            command = agent.format_resume_command(own_id)
            return replace(outcome, what=KEPT, path=path, command=command)
        lack = "no transcript is stored"
        if session.transcript:
            lack = f"the transcripts of {session.agent} cannot be written"
        return replace(outcome, notes=[lack])
    cutter = agent.get_cutter()
    leaf = cutter.find_last_leaf(session.transcript)
    data, notes = cutter.cut_conversation(session.transcript, leaf, own_id, own_id, True)
    path = find_local(repo, agent, own_id, cwd)
    command = agent.format_resume_command(own_id)
    outcome = replace(outcome, command=command, path=path, notes=notes)
    local = read_bytes(path)
    if local is not None and not force:
        if cutter.cut_conversation(local, leaf, own_id, own_id, False).data:
            return replace(outcome, what=KEPT, notes=[])
        if not _is_older(cutter, local, data):
            return _put_beside(repo, agent, session, cwd, outcome)
    what = REPLACED
    if local is None:
        what = WRITTEN
    return replace(outcome, what=what, effects=[make_effect(repo, path, data)])


def _put_beside(
    repo: Repo, agent: Client, session: Stored, cwd: str, outcome: Restored
) -> Restored:
    """The outcome for a conversation put beside one that diverged.  Its new id is made from its
    last leaf: a second call with the same conversation finds it and writes nothing."""
    own_id = session.session_id
    cutter = agent.get_cutter()
    leaf = cutter.find_last_leaf(session.transcript)
    new_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{own_id} {leaf}"))
    path = find_local(repo, agent, new_id, cwd)
    outcome = replace(outcome, path=path, command=agent.format_resume_command(new_id))
    if os.path.exists(path):
        return replace(outcome, what=KEPT, notes=[])
    data = cutter.cut_conversation(session.transcript, leaf, own_id, new_id, True).data
    data += agent.format_title(f"session {shorten_id(own_id)} as it is stored", new_id)
    effect = make_effect(repo, path, data)
    return replace(outcome, what=BESIDE, effects=[effect], new_id=new_id)


def _is_older(cutter: ModuleType, local: bytes, data: bytes) -> bool:
    """Whether the stored conversation contains the end of the local one."""
    end = cutter.find_last_leaf(local)
    return not end or bool(cutter.cut_conversation(data, end, "", "", False).data)


def write_restored(repo: Repo, restored: Iterable[Restored], name: str) -> str:
    """Write the planned conversations; return the id of the undo step, '' if nothing is written."""
    outcomes = [outcome for outcome in restored if outcome.effects]
    planned: list[Effect] = []
    for outcome in outcomes:
        planned += outcome.effects
    if not planned:
        return ""
    unrecorded.note_written(repo, [outcome.new_id or outcome.session_id for outcome in outcomes])
    effects.put_effects(repo, planned)
    return undo.record_step(repo, "resume", name, planned)
