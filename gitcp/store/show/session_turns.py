"""What a session was asked, turn by turn, and which files came of it: from its checkpoints."""

from __future__ import annotations

from gitcp.core.v1 import session_part
from gitcp.errors import Error
from gitcp.store.stream import shadow_refs, stream_history
from gitcp.store.v1 import committed_read
from gitcp.store.v1.parts import Parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def with_turns(repo: Repo, objects: Objects, session: Record) -> Record:
    """A session record whose checkpoints have `asked`, the prompts that each is of, and `files`:
    path -> 'added', 'modified' or 'deleted', of a committed one ''.

    A checkpoint that cannot be read has neither; what a rewind left on the stream is no turn.
    """
    chains = stream_history.chains(repo, shadow_refs.listing(repo, objects))
    temporary = {step["oid"]: step for chain in chains.values() for step in chain}
    detailed = []
    for checkpoint in session["checkpoints"]:
        if checkpoint["message"] == shadow_refs.FOLLOWED:
            continue
        try:
            more = _of(repo, objects, session["session_id"], checkpoint, temporary)
        except Error:
            more = {}
        detailed.append({**checkpoint, **more})
    return {**session, "checkpoints": detailed}


def _of(
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
