"""All there is to tell of one checkpoint, committed or temporary, as a record."""

from __future__ import annotations

from gitcp.core.v1 import session_part, summary
from gitcp.errors import Error
from gitcp.store.git.commit import parse_commit, stamp
from gitcp.store.git.tree import Lookup, read_tree
from gitcp.store.link import find_commits
from gitcp.store.stream import shadow_refs, stream_history
from gitcp.store.v1 import committed_list, committed_read, committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Commit, Record, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def of_commit(repo: Repo, objects: Objects, oid: str) -> list[Record]:
    """The checkpoints of a commit.  Raises Error when it has none, or none that is here."""
    names = find_commits.list_ids(repo, objects, oid)
    if not names:
        raise Error(f"commit '{oid[:12]}' has no checkpoint: no session is behind it")
    here = [name for name in names if committed_refs.find(repo, objects, name)]
    if not here:
        absent = f"checkpoint '{names[0]}' of commit '{oid[:12]}' is not in this repository"
        raise Error(f"{absent}; 'gitcp fetch' may bring it")
    missing = [{"type": "checkpoint", "checkpoint_id": n, "missing": True} for n in names]
    return committed(repo, objects, here, oid) + [
        m for m in missing if m["checkpoint_id"] not in here
    ]


def committed(repo: Repo, objects: Objects, names: list[str], first: str = "") -> list[Record]:
    """A record for each checkpoint id: what list-checkpoints tells, its commits on any branch
    (the commit first before the others), and contents: what each session did, its prompts and
    its transcript (bytes)."""
    carrying = find_commits.commits(repo, objects, names)
    records = []
    for name in names:
        checkpoint = committed_read.read(repo, objects, name)
        oids = sorted(carrying[name], key=lambda oid: oid != first)
        commits = [_commit(parse_commit(oid, objects.need(oid, "commit"))) for oid in oids]
        contents = []
        for entry in checkpoint["sessions"]:
            content = committed_read.session(objects, checkpoint, entry["index"])
            part = session_part.session(content["metadata"], content["prompts"])
            more = {key: content[key] for key in ("prompts", "hash", "tasks", "transcript")}
            contents.append({"index": entry["index"], **part, **more})
        listed = committed_list.record(checkpoint)
        records.append({**listed, "commits": commits, "contents": contents})
    return records


def _commit(commit: Commit) -> Record:
    person, seconds = stamp(commit["author"])
    return {
        "oid": commit["oid"],
        "author": person.partition(" <")[0],
        "time": seconds,
        "message": commit["message"].partition("\n")[0],
    }


def temporary(repo: Repo, objects: Objects, oid: str) -> Record:
    """The record of a temporary checkpoint as read-stream gives it, its agent, state and
    transcript (bytes), and `start`, the line at which the turn's part of that begins."""
    commit = parse_commit(oid, objects.need(oid, "commit"))
    message = commit["message"]
    tip: Tip = {
        "ref": "",
        "oid": oid,
        "tree": commit["tree"],
        "stream": shadow_refs.trailer(message, "Gitcp-Stream") or oid[:12],
        "base": shadow_refs.trailer(message, "Base-Commit"),
        "session_id": shadow_refs.trailer(message, "Entire-Session"),
        "time": 0,
    }
    (step, *_) = stream_history.chains(repo, [tip])[""]
    detailed = stream_history.detailed(objects, step)
    del detailed["ref"]
    entry = Lookup(objects, tip["tree"])(shadow_refs.METADATA + tip["session_id"])
    files = read_tree(objects, entry[1]) if entry else {}
    state = _state(objects, files.get("state.json"))
    return {
        **detailed,
        "agent": state.get("agent_type") or "",
        "turn_id": state.get("turn_id") or "",
        "start": state.get("checkpoint_transcript_start") or 0,
        "transcript": b"\n".join(committed_read.pieces(objects, files)),
    }


def _state(objects: Objects, entry: tuple[str, str] | None) -> dict[str, Any]:
    return summary.load(objects.need(entry[1], "blob")) or {} if entry else {}
