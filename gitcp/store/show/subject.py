"""The records of a commit, a checkpoint or a session, by its name."""

from __future__ import annotations

from gitcp.core.v1 import session_part
from gitcp.errors import Error
from gitcp.store.git.commit import parse_commit, parse_ident, read_names
from gitcp.store.git.tree import Lookup, read_tree
from gitcp.store.session import state as states
from gitcp.store.show import lookup
from gitcp.store.stream import shadow_refs, state_copy, stream_list
from gitcp.store.turn import session_list, session_read
from gitcp.store.v1 import committed_list, committed_read, committed_refs, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Record, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def read_records(repo: Repo, objects: Objects, name: str) -> list[Record]:
    """read_subject() of a name; raises Error also as lookup.resolve_name() does."""
    return read_subject(repo, objects, lookup.resolve_name(repo, objects, name))


def read_subject(
    repo: Repo, objects: Objects, subject: lookup.Subject, lazy: bool = False
) -> list[Record]:
    """The checkpoints of a commit, or a checkpoint, or a session with its turns.

    Transcripts are bytes.  lazy: the checkpoints of a session are an iterator that reads one at a
    time.  Raises Error for a commit without a checkpoint."""
    kind, key = subject
    if kind == "commit":
        return read_linked(repo, objects, key)
    if kind == "checkpoint":
        return read_committed(repo, objects, [key])
    if kind == "temporary":
        return [read_temporary(repo, objects, key)]
    states_here = [session_read.read_state(repo, key)] if key in states.list_ids(repo) else []
    sessions = session_list.build_records(states_here, session_list.list_temporary(repo, objects))
    sessions = session_list.add_stored(repo, sessions, session_id=key)
    turns = [(session, _read_turns(repo, objects, session)) for session in sessions]
    return [{**session, "checkpoints": part if lazy else list(part)} for session, part in turns]


def _read_turns(repo: Repo, objects: Objects, session: Record) -> Iterator[Record]:
    """The checkpoints of a session with `asked`, its prompts, and `files`: path -> 'added',
    'modified' or 'deleted', or '' for a committed one.

    An unreadable checkpoint has neither.  Checkpoints that a rewind wrote are left out.
    """
    chains = stream_list.read_chains(repo, shadow_refs.list_tips(repo, objects))
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
        stored = committed_read.read_checkpoint(repo, objects, checkpoint["checkpoint_id"])
        entry = committed_read.pick_session(stored, session_id)
        asked = committed_read.Parts(objects, stored["checkpoint_id"]).read_prompts(
            entry["files"], entry["directory"]
        )
        part = session_part.build_part(entry["metadata"], asked)
        return {"asked": part["asked"], "files": dict.fromkeys(part["files"], "")}
    step = stream_list.read_details(objects, temporary[checkpoint["oid"]])
    return {"asked": [step["prompt"]] if step["prompt"] else [], "files": step["files"]}


def read_linked(repo: Repo, objects: Objects, oid: str) -> list[Record]:
    """The checkpoints of a commit.  Raises Error if it has none, or none is stored here."""
    names = find_commits.list_ids(repo, objects, oid)
    if not names:
        raise Error(f"commit '{oid[:12]}' has no checkpoint: no session is behind it")
    here = [name for name in names if committed_refs.find_checkpoint(repo, objects, name)]
    if not here:
        absent = f"checkpoint '{names[0]}' of commit '{oid[:12]}' is not in this repository"
        raise Error(f"{absent}; 'gitcp fetch' may bring it")
    return read_committed(repo, objects, here, oid) + [
        {"type": "checkpoint", "checkpoint_id": name, "missing": True}
        for name in names
        if name not in here
    ]


def read_committed(repo: Repo, objects: Objects, ids: list[str], first: str = "") -> list[Record]:
    """A record for each checkpoint id: that of list-checkpoints, with its commits on any branch
    (the commit first at the front), and contents: each session's part, prompts and transcript
    (bytes)."""
    carrying = find_commits.find_carriers(repo, objects, ids)
    names = read_names(repo, {oid for oids in carrying.values() for oid in oids})
    records = []
    for name in ids:
        checkpoint = committed_read.read_checkpoint(repo, objects, name)
        oids = sorted(carrying[name], key=lambda oid: oid != first)
        commits = [_describe_commit(objects, oid, names[oid]) for oid in oids]
        contents = []
        for entry in checkpoint["sessions"]:
            content = committed_read.read_session(objects, checkpoint, entry["index"])
            part = session_part.build_part(content["metadata"], content["prompts"])
            more = {key: content[key] for key in ("prompts", "hash", "tasks", "transcript")}
            contents.append({"index": entry["index"], **part, **more})
        listed = committed_list.build_record(checkpoint)
        records.append({**listed, "commits": commits, "contents": contents})
    return records


def _describe_commit(objects: Objects, oid: str, author: str) -> Record:
    commit = parse_commit(oid, objects.need(oid, "commit"))
    return {
        "oid": oid,
        "author": author,
        "time": parse_ident(commit["author"])[1],
        "message": commit["message"].partition("\n")[0],
    }


def read_temporary(repo: Repo, objects: Objects, oid: str) -> Record:
    """The record of a temporary checkpoint (read-stream) with its agent, turn id, transcript
    (bytes) and `start`, the line where the turn's part of the transcript begins."""
    commit = parse_commit(oid, objects.need(oid, "commit"))
    message = commit["message"]
    tip: Tip = {
        "ref": "",
        "oid": oid,
        "tree": commit["tree"],
        "stream": shadow_refs.find_trailer(message, "Gitcp-Stream") or oid[:12],
        "base": shadow_refs.find_trailer(message, "Base-Commit"),
        "session_id": shadow_refs.find_trailer(message, "Entire-Session"),
        "time": 0,
    }
    (step, *_) = stream_list.read_chains(repo, [tip])[""]
    detailed = stream_list.read_details(objects, step)
    del detailed["ref"]
    entry = Lookup(objects, tip["tree"])(shadow_refs.METADATA + tip["session_id"])
    files = read_tree(objects, entry[1]) if entry else {}
    parts = committed_read.Parts(objects, oid[:12])
    state = parts.read_json(files, "", "state", state_copy.NAME)
    return {
        **detailed,
        "agent": state.get("agent_type", ""),
        "turn_id": state.get("turn_id", ""),
        "start": state.get("checkpoint_transcript_start", 0),
        "transcript": parts.read_transcript(files),
    }
