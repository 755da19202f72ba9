"""Carrying out an import: checkpoints first, then all notes at once, then the step that undoes it.

Killed in between, the next import makes the same checkpoints under the same ids, which are there.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import islice

from gitcp import VERSION
from gitcp.agents.reading import edits
from gitcp.console import progress
from gitcp.core.message import links
from gitcp.core.transcript import tokens, transcript_scan
from gitcp.store.git import notes
from gitcp.store.lines import ai_notes
from gitcp.store.link import session_metadata
from gitcp.store.undo import undo_log
from gitcp.store.v1 import committed_write, redaction, transcript, transcript_copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.core.record_types import Usage
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.imports.gather import Gathered, Session
    from gitcp.store.imports.plan import Link, Part
    from gitcp.store.undo.undo_log import Effect
    from gitcp.store.v1.committed_write import SessionData

KIND = "imported"
_AT_ONCE = 100  # commits whose checkpoints make one commit of the store
_PIECE = 1 << 20  # bytes of a conversation
_PROMPT = 2000  # characters of a turn's prompt


class _Kept:
    """A session's conversation as it was stored; spent: what it had cost by the time of each
    commit, and in the end."""

    __slots__ = ("given", "prompts", "spent", "turns", "whole")

    def __init__(
        self, repo: Repo, objects: Objects, session: Session, times: Sequence[int]
    ) -> None:
        name = session.session_id
        scan, redactor = session.client.scan, redaction.Lazy(repo, name)
        about = (name, session.path or None, redactor, scan)
        stored = transcript.store_transcript(repo, objects, *about, complete=True)
        self.given = transcript.Given(stored.chunks, stored.content_hash) if stored else None
        scanned = stored.scan if stored and stored.scan else None
        self.prompts = list(scanned["prompts"]) if scanned else []
        self.whole: Usage | None = scanned["usage"] if scanned else None
        self.spent = _compute_spent(session, times, self.whole)
        prompts = [
            redaction.redact_text(repo, turn["prompt"], name)[:_PROMPT] for turn in session.turns
        ]
        self.turns = {
            session.make_turn_id(number): {
                "number": number,
                "prompt": prompt,
                "model": turn["model"],
            }
            for number, (turn, prompt) in enumerate(zip(session.turns, prompts, strict=True), 1)
        }
        transcript_copy.remove_copy(repo, name, "")


def _compute_spent(
    session: Session, times: Sequence[int], total: Usage | None
) -> dict[int, Usage | None]:
    """What a session had cost at some times, in s: by its lines; of a conversation that is one
    document all of it, for its lines cannot be told apart."""
    if total is None or session.client.scan(b"{}\n")["bytes"] == 0:
        return dict.fromkeys(times, total)
    spent: dict[int, Usage | None] = {}
    left, scan = sorted(times), session.client.scan(b"")
    before: list[bytes] = []  # lines that are not scanned yet
    size = 0
    try:
        with open(session.path, "rb") as stream:
            for line in stream:
                at = edits.find_line_time(line) // 10**9
                due = bool(left) and at > left[0]
                if due or size > _PIECE:
                    scan = transcript_scan.make_cursor(session.client.scan(b"".join(before), scan))
                    before.clear()
                    size = 0
                while left and at > left[0]:
                    spent[left.pop(0)] = scan["usage"]
                if not left:
                    break
                before.append(line)
                size += len(line)
    except OSError:
        pass
    return {**dict.fromkeys(times, total), **spent}


def carry_out(
    repo: Repo,
    objects: Objects,
    gathered: Gathered,
    wanted: Sequence[Link],
    reason: str,
    imported: Mapping[str, Usage],
) -> str:
    """Store the checkpoints of links, and link; the id of the step that takes it back.  imported:
    what the checkpoints that are there count of tokens, by session."""
    kept = _keep(repo, objects, gathered, wanted)
    counted = dict(imported)
    effects: list[Effect] = []
    for batch in progress.iterate_shown("Storing checkpoints", list(_split_batches(wanted))):
        items = [
            (link["checkpoint_id"], _make_session_data(gathered, kept, link, part, counted))
            for link in batch
            for part in link["parts"]
        ]
        ids = list(dict.fromkeys(cid for cid, _ in items))
        old = {cid: committed_write.find_tree_here(repo, objects, cid) for cid in ids}
        committed_write.write_sessions(repo, objects, items, subject=f"Import: {reason}")
        for cid in ids:
            new = committed_write.find_tree_here(repo, objects, cid)
            if new != old[cid]:
                effects.append({"checkpoint": cid, "old": old[cid], "new": new})
    effects += _note_links(repo, objects, wanted)
    step = undo_log.record_step(repo, objects, "import", reason, effects)
    ai_notes.keep(repo, [link["commit"] for link in wanted if link["commit"]])
    return step


def _split_batches(wanted: Iterable[Link]) -> Iterable[list[Link]]:
    links_left = iter(wanted)
    while batch := list(islice(links_left, _AT_ONCE)):
        yield batch


def _keep(
    repo: Repo, objects: Objects, gathered: Gathered, wanted: Sequence[Link]
) -> dict[str, _Kept]:
    times: dict[str, list[int]] = {}
    for link in wanted:
        for part in link["parts"]:
            times.setdefault(part["session"], []).append(link["time"])
    return {
        name: _Kept(repo, objects, gathered.sessions[name], times[name])
        for name in progress.iterate_shown("Storing conversations", sorted(times))
    }


def _note_links(repo: Repo, objects: Objects, wanted: Sequence[Link]) -> list[Effect]:
    """Note the checkpoints on the commits; what that changed."""
    to_note = {link["commit"]: link for link in wanted if link["commit"]}
    old = {oid: notes.read_note(objects, oid) for oid in to_note}
    new = {oid: _add_to_note(link, old[oid]) for oid, link in to_note.items()}
    notes.edit_notes(repo, objects, {oid: partial(_add_to_note, to_note[oid]) for oid in to_note})
    return [
        {
            "note": oid,
            "old": None if old[oid] is None else objects.write("blob", old[oid] or b""),
            "new": objects.write("blob", new[oid]),
        }
        for oid in to_note
        if old[oid] != new[oid]
    ]


def _add_to_note(link: Link, note: bytes | None) -> bytes:
    edit = links.add_link_by_hand if link["by_hand"] else links.add_link
    return edit(note or b"", link["checkpoint_id"])


def _make_session_data(
    gathered: Gathered,
    sessions: dict[str, _Kept],
    link: Link,
    part: Part,
    counted: dict[str, Usage],
) -> SessionData:
    """A session's part in the checkpoint of a commit; counted: what checkpoints count of tokens
    so far, by session, which goes on."""
    session, conversation = gathered.sessions[part["session"]], sessions[part["session"]]
    turns = conversation.turns
    files = {path: _name_turns(file, turns) for path, file in part["files"].items()}
    turn_ids = {turn for file in files.values() for turn in file["turns"]}
    last = _sort_turns(turn_ids, turns)[-1:]
    when = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(link["time"]))
    metadata: dict[str, Any] = {
        "cli_version": VERSION,
        "session_id": part["session"],
        "strategy": "manual-commit",
        "kind": KIND,
        "created_at": when,
        "checkpoints_count": 0,
        "files_touched": sorted(files),
        "agent": session.client.AGENT_TYPE,
        "turn_id": "".join(last),
        "transcript_path": session_metadata.shorten_home(session.path),
        "files": files,
        "turns": _select_turns(turns, turn_ids),
        "initial_attribution": {"calculated_at": when, **part["attribution"]},
    }
    more = {"commit": link["commit"], "coarse": part["coarse"]}
    metadata |= {key: value for key, value in more.items() if value}
    metadata |= _compute_cost(conversation, link["time"], part["session"], counted)
    return {
        "session_id": part["session"],
        "transcript": conversation.given,
        "prompts": conversation.prompts,
        "metadata": metadata,
        "lines": part["lines"],
    }


def _compute_cost(
    conversation: _Kept, time: int, session: str, counted: dict[str, Usage]
) -> dict[str, Any]:
    """What a session had cost by the time of a commit, and what of that no checkpoint counts."""
    if not conversation.whole:
        return {}
    spent = conversation.spent[time]
    delta = tokens.subtract(spent, counted.get(session))
    counted[session] = tokens.add(counted.get(session), delta)
    return {"token_usage": spent or tokens.make_usage(), "token_usage_delta": delta}


def _name_turns(file: dict[str, Any], turns: dict[str, dict[str, Any]]) -> dict[str, Any]:
    wrote = _sort_turns(file["turns"], turns)
    last = wrote[-1] if wrote else ""
    prompt = turns.get(last, {}).get("prompt", "")
    return {**file, "turns": wrote, "turn_id": last, "prompt": prompt}


def _sort_turns(ids: Iterable[str], turns: dict[str, dict[str, Any]]) -> list[str]:
    """Turns by their numbers; one of no number first."""
    return sorted(ids, key=lambda turn: int(turns.get(turn, {}).get("number", 0)))


def _select_turns(turns: dict[str, dict[str, Any]], ids: Iterable[str]) -> dict[str, Any]:
    """The known turns of these ids, without what is empty in them."""
    known = (turn for turn in sorted(ids) if turn in turns)
    return {turn: {key: value for key, value in turns[turn].items() if value} for turn in known}
