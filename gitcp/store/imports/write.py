"""Carries out an import: checkpoints first, then all notes at once, then the step that undoes it.

After a kill in between, the next import makes the same checkpoints under the same ids.
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
_AT_ONCE = 100  # links whose checkpoints make one commit of the store
_PIECE = 1 << 20  # bytes of a conversation that are scanned at once
_PROMPT = 2000  # characters of a turn's prompt


class _Conversation:
    """A session's stored conversation.  stored: its transcript.  usage: its token usage.  spent:
    time of a link -> its token usage until then."""

    __slots__ = ("prompts", "spent", "stored", "turns", "usage")

    def __init__(
        self, repo: Repo, objects: Objects, session: Session, times: Sequence[int]
    ) -> None:
        name = session.session_id
        scan, redactor = session.client.scan, redaction.Lazy(repo, name)
        source = transcript.Source(name, session.path or None, redactor, scan)
        stored = transcript.store_transcript(repo, objects, source, complete=True)
        self.stored = (
            transcript.StoredChunks(stored.chunks, stored.content_hash) if stored else None
        )
        scanned = stored.scan if stored and stored.scan else None
        self.prompts = list(scanned["prompts"]) if scanned else []
        self.usage: Usage | None = scanned["usage"] if scanned else None
        self.spent = _compute_spent(session, times, self.usage)
        self.turns: dict[str, dict[str, Any]] = {}
        for number, turn in enumerate(session.turns, 1):
            prompt = redaction.redact_text(repo, turn["prompt"], name)[:_PROMPT]
            facts = {"number": number, "prompt": prompt, "model": turn["model"]}
            self.turns[session.make_turn_id(number)] = facts
        transcript_copy.remove_copy(repo, name, "")


def _compute_spent(
    session: Session, times: Sequence[int], total: Usage | None
) -> dict[int, Usage | None]:
    """time in s -> a session's token usage until then.  A conversation that is one document has no
    lines with times: its total counts at each."""
    is_document = session.client.scan(b"{}\n")["bytes"] == 0  # its scan cannot be continued
    if total is None or is_document:
        return dict.fromkeys(times, total)
    spent: dict[int, Usage | None] = {}
    remaining, scan = sorted(times), session.client.scan(b"")
    unscanned: list[bytes] = []  # lines to scan
    size = 0
    try:
        with open(session.path, "rb") as stream:
            for line in stream:
                time = edits.find_line_time(line) // 10**9
                if time > remaining[0] or size > _PIECE:
                    scan = session.client.scan(b"".join(unscanned), scan)
                    scan = transcript_scan.make_cursor(scan)
                    unscanned.clear()
                    size = 0
                while remaining and time > remaining[0]:
                    spent[remaining.pop(0)] = scan["usage"]
                if not remaining:
                    break
                unscanned.append(line)
                size += len(line)
    except OSError:
        pass
    return {**dict.fromkeys(times, total), **spent}


def write_links(
    repo: Repo,
    objects: Objects,
    gathered: Gathered,
    links: Sequence[Link],
    reason: str,
    imported: Mapping[str, Usage],
) -> str:
    """Store the checkpoints of links, and link the commits; return the id of the step that undoes
    it.  imported: session -> the token usage of its existing checkpoints."""
    conversations = _store_conversations(repo, objects, gathered, links)
    counted = dict(imported)
    effects: list[Effect] = []
    for batch in progress.iterate_shown("Storing checkpoints", list(_split_batches(links))):
        items = [
            (link["checkpoint_id"], _make_data(gathered, conversations, link, part, counted))
            for link in batch
            for part in link["parts"]
        ]
        ids = list(dict.fromkeys(checkpoint_id for checkpoint_id, _ in items))
        old_trees = [committed_write.find_tree_here(repo, objects, id_) for id_ in ids]
        committed_write.write_sessions(repo, objects, items, subject=f"Import: {reason}")
        for checkpoint_id, old in zip(ids, old_trees, strict=True):
            new = committed_write.find_tree_here(repo, objects, checkpoint_id)
            if new != old:
                effects.append({"checkpoint": checkpoint_id, "old": old, "new": new})
    effects += _note_links(repo, objects, links)
    step = undo_log.record_step(repo, objects, "import", reason, effects)
    ai_notes.keep(repo, [link["commit"] for link in links if link["commit"]])
    return step


def _split_batches(links: Iterable[Link]) -> Iterable[list[Link]]:
    remaining = iter(links)
    while batch := list(islice(remaining, _AT_ONCE)):
        yield batch


def _store_conversations(
    repo: Repo, objects: Objects, gathered: Gathered, links: Sequence[Link]
) -> dict[str, _Conversation]:
    times: dict[str, list[int]] = {}
    for link in links:
        for part in link["parts"]:
            times.setdefault(part["session"], []).append(link["time"])
    return {
        name: _Conversation(repo, objects, gathered.sessions[name], times[name])
        for name in progress.iterate_shown("Storing conversations", sorted(times))
    }


def _note_links(repo: Repo, objects: Objects, links: Sequence[Link]) -> list[Effect]:
    """Note the checkpoints on the commits; return the effects."""
    links_by_commit = {link["commit"]: link for link in links if link["commit"]}
    old = {oid: notes.read_note(objects, oid) for oid in links_by_commit}
    new = {oid: _add_to_note(link, old[oid]) for oid, link in links_by_commit.items()}
    edits = {oid: partial(_add_to_note, link) for oid, link in links_by_commit.items()}
    notes.edit_notes(repo, objects, edits)
    return [
        {
            "note": oid,
            "old": None if note is None else objects.write("blob", note),
            "new": objects.write("blob", new[oid]),
        }
        for oid, note in old.items()
        if note != new[oid]
    ]


def _add_to_note(link: Link, note: bytes | None) -> bytes:
    edit = links.add_link_by_hand if link["by_hand"] else links.add_link
    return edit(note or b"", link["checkpoint_id"])


def _make_data(
    gathered: Gathered,
    conversations: dict[str, _Conversation],
    link: Link,
    part: Part,
    counted: dict[str, Usage],
) -> SessionData:
    """A session's part in the checkpoint of a commit.  counted: session -> the token usage of
    checkpoints so far, which is updated."""
    session, conversation = gathered.sessions[part["session"]], conversations[part["session"]]
    turns = conversation.turns
    files = {path: _name_turns(file, turns) for path, file in part["files"].items()}
    turn_ids = {turn for file in files.values() for turn in file["turns"]}
    created_at = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(link["time"]))
    metadata: dict[str, Any] = {
        "cli_version": VERSION,
        "session_id": part["session"],
        "strategy": "manual-commit",
        "kind": KIND,
        "created_at": created_at,
        "checkpoints_count": 0,
        "files_touched": sorted(files),
        "agent": session.client.AGENT_TYPE,
        "turn_id": "".join(_sort_turns(turn_ids, turns)[-1:]),
        "transcript_path": session_metadata.shorten_home(session.path),
        "files": files,
        "turns": _select_turns(turns, turn_ids),
        "initial_attribution": {"calculated_at": created_at, **part["attribution"]},
    }
    details = {"commit": link["commit"], "coarse": part["coarse"]}
    metadata |= {key: value for key, value in details.items() if value}
    metadata |= _compute_cost(conversation, link["time"], part["session"], counted)
    return {
        "session_id": part["session"],
        "transcript": conversation.stored,
        "prompts": conversation.prompts,
        "metadata": metadata,
        "lines": part["lines"],
    }


def _compute_cost(
    conversation: _Conversation, time: int, session: str, counted: dict[str, Usage]
) -> dict[str, Any]:
    """A session's token usage until a commit, and the part of it that no checkpoint counts yet."""
    if not conversation.usage:
        return {}
    spent = conversation.spent[time]
    delta = tokens.subtract(spent, counted.get(session))
    counted[session] = tokens.add(counted.get(session), delta)
    return {"token_usage": spent or tokens.make_usage(), "token_usage_delta": delta}


def _name_turns(file: dict[str, Any], turns: dict[str, dict[str, Any]]) -> dict[str, Any]:
    turn_ids = _sort_turns(file["turns"], turns)
    last_id = turn_ids[-1] if turn_ids else ""
    prompt = turns.get(last_id, {}).get("prompt", "")
    return {**file, "turns": turn_ids, "turn_id": last_id, "prompt": prompt}


def _sort_turns(ids: Iterable[str], turns: dict[str, dict[str, Any]]) -> list[str]:
    """Turn ids by their numbers; those without a number first."""
    return sorted(ids, key=lambda turn: int(turns.get(turn, {}).get("number", 0)))


def _select_turns(turns: dict[str, dict[str, Any]], ids: Iterable[str]) -> dict[str, Any]:
    """The known turns of these ids, without empty values."""
    turn_ids = (turn for turn in sorted(ids) if turn in turns)
    return {turn: {key: value for key, value in turns[turn].items() if value} for turn in turn_ids}
