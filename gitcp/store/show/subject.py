"""The records that a name stands for."""

from __future__ import annotations

from gitcp.core.v1 import session_part
from gitcp.errors import Error
from gitcp.store.session import state as states
from gitcp.store.show import checkpoint_view, lookup
from gitcp.store.stream import shadow_refs, stream_history
from gitcp.store.turn import session_list, session_read
from gitcp.store.v1 import committed_read
from gitcp.store.v1.parts import Parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def records(repo: Repo, objects: Objects, name: str, lazy: bool = False) -> list[Record]:
    """The checkpoints of a commit, or a checkpoint, or a session with its turns; transcripts are
    bytes.  lazy: the checkpoints of a session are an iterator, which reads each when it comes.
    Raises Error as lookup.resolve() does, and for a commit without a checkpoint."""
    kind, key = lookup.resolve(repo, objects, name)
    if kind == "commit":
        return checkpoint_view.of_commit(repo, objects, key)
    if kind == "checkpoint":
        return checkpoint_view.committed(repo, objects, [key])
    if kind == "temporary":
        return [checkpoint_view.temporary(repo, objects, key)]
    known = [session_read.read(repo, key)] if key in states.list_ids(repo) else []
    sessions = session_list.with_states(known, session_list.temporary(repo, objects))
    sessions = session_list.with_stored(repo, sessions, only=key)
    turns = [(session, _read_turns(repo, objects, session)) for session in sessions]
    return [{**session, "checkpoints": part if lazy else list(part)} for session, part in turns]


def _read_turns(repo: Repo, objects: Objects, session: Record) -> Iterator[Record]:
    """The checkpoints of a session with `asked`, the prompts that each is of, and `files`:
    path -> 'added', 'modified' or 'deleted', of a committed one ''.

    A checkpoint that cannot be read has neither; what a rewind left on the stream is no turn.
    """
    chains = stream_history.chains(repo, shadow_refs.listing(repo, objects))
    temporary = {step["oid"]: step for chain in chains.values() for step in chain}
    for checkpoint in session["checkpoints"]:
        if checkpoint["message"] == shadow_refs.FOLLOWED:
            continue
        try:
            more = _read_turn(repo, objects, session["session_id"], checkpoint, temporary)
        except Error:
            more = {}
        yield {**checkpoint, **more}


def _read_turn(
    repo: Repo,
    objects: Objects,
    session_id: str,
    checkpoint: Record,
    temporary: dict[str, Record],
) -> Record:
    if checkpoint["checkpoint_id"]:
        stored = committed_read.read(repo, objects, checkpoint["checkpoint_id"])
        entry = committed_read.pick(stored, session_id)
        asked = Parts(objects, stored["checkpoint_id"]).prompts(entry["files"], entry["directory"])
        part = session_part.session(entry["metadata"], asked)
        return {"asked": part["asked"], "files": dict.fromkeys(part["files"], "")}
    step = stream_history.detailed(objects, temporary[checkpoint["oid"]])
    return {"asked": [step["prompt"]] if step["prompt"] else [], "files": step["files"]}
