"""Carries out an import: checkpoints first, then all notes at once, then the step that undoes it.

After a kill in between, the next import makes the same checkpoints under the same ids.
"""

from __future__ import annotations

import time
from functools import partial
from typing import NamedTuple

from gitcp import VERSION
from gitcp.agents import transcripts
from gitcp.agents.reading import edits
from gitcp.agents.transcripts import transcript_facts
from gitcp.checkpoints import links, notes, writing
from gitcp.checkpoints.redactor import Lazy, redact_text
from gitcp.checkpoints.transcripts import (
    LiveTranscript,
    StoredChunks,
    remove_copy,
    store_transcript,
)
from gitcp.extras.imports.find import Gathered
from gitcp.git.objects.reading import split_windows
from gitcp.lines import commit_lines
from gitcp.link import condense
from gitcp.steps import undo
from gitcp.steps.step import CHECKPOINT, NOTE, Effect
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.writing import SessionData
    from gitcp.extras.imports.find import Session
    from gitcp.extras.imports.planning import ImportedFile, Link, Part
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Usage

KIND = "imported"
_AT_ONCE = 100  # links whose checkpoints make one commit of the store
_PIECE = 1 << 20  # bytes of a conversation that are scanned at once
_PROMPT = 2000  # characters of a turn's prompt


class _Conversation(NamedTuple):
    """A session's stored conversation."""

    stored: StoredChunks | None  # its transcript
    prompts: list[str]
    usage: Usage | None
    spent: dict[int, Usage | None]  # time of a link -> its token usage until then
    turns: dict[str, dict[str, Any]]


def _store_conversation(repo: Repo, session: Session, times: Sequence[int]) -> _Conversation:
    name = session.session_id
    scan = session.client.scan
    redactor = Lazy(repo, name)
    source = LiveTranscript(name, session.path or None, redactor, scan)
    stored = store_transcript(repo, source, complete=True)
    chunks = None
    usage = None
    prompts: list[str] = []
    if stored:
        chunks = StoredChunks(stored.chunks, stored.content_hash)
        if stored.scan:
            usage = stored.scan["usage"]
            prompts = list(stored.scan["prompts"])
    turns: dict[str, dict[str, Any]] = {}
    for number, turn in enumerate(session.turns, 1):
        prompt = redact_text(repo, turn["prompt"], name)[:_PROMPT]
        facts = {"number": number, "prompt": prompt, "model": turn["model"]}
        turns[session.make_turn_id(number)] = facts
    spent = _compute_spent(session, times, usage)
    remove_copy(repo, name, "")
    return _Conversation(chunks, prompts, usage, spent, turns)


def _compute_spent(
    session: Session, times: Sequence[int], total: Usage | None
) -> dict[int, Usage | None]:
    """time in s -> a session's token usage until then.  A conversation that is one document has no
    lines with times: its total counts at each."""
    is_document = session.client.scan(b"{}\n")["bytes"] == 0  # its scan cannot be continued
    if total is None or is_document:
        return dict.fromkeys(times, total)
    spent: dict[int, Usage | None] = {}
    remaining = sorted(times)
    scan = session.client.scan(b"")
    unscanned: list[bytes] = []  # lines to scan
    size = 0
    try:
        with open(session.path, "rb") as stream:
            for line in stream:
                written = edits.find_line_time(line) // 10**9
                if written > remaining[0] or size > _PIECE:
                    scan = session.client.scan(b"".join(unscanned), scan)
                    scan = transcript_facts.make_cursor(scan)
                    unscanned.clear()
                    size = 0
                while remaining and written > remaining[0]:
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
    gathered: Gathered,
    new_links: Sequence[Link],
    reason: str,
    imported: Mapping[str, Usage],
) -> str:
    """Store the checkpoints of links, and link the commits; return the id of the step that undoes
    it.  imported: session -> the token usage of its existing checkpoints."""
    conversations = _store_conversations(repo, gathered, new_links)
    counted = dict(imported)
    effects: list[Effect] = []
    batches = [*split_windows(new_links, _AT_ONCE)]
    for batch in term.iterate_shown("Storing checkpoints", batches):
        items: list[tuple[str, SessionData]] = []
        for link in batch:
            for part in link.parts:
                data = _make_data(gathered, conversations, link, part, counted)
                items.append((link.checkpoint_id, data))
        ids = list(dict.fromkeys(checkpoint_id for checkpoint_id, _ in items))
        old_trees = [writing.find_tree_here(repo, id_) for id_ in ids]
        writing.write_sessions(repo, items, subject=f"Import: {reason}")
        for checkpoint_id, old in zip(ids, old_trees, strict=True):
            new = writing.find_tree_here(repo, checkpoint_id)
            if new != old:
                effects.append(Effect(CHECKPOINT, checkpoint_id, old, new))
    effects += _note_links(repo, new_links)
    step = undo.record_step(repo, "import", reason, effects)
    commit_lines.keep_ai_note(repo, [link.commit for link in new_links if link.commit])
    return step


def _store_conversations(
    repo: Repo, gathered: Gathered, new_links: Sequence[Link]
) -> dict[str, _Conversation]:
    times: dict[str, list[int]] = {}
    for link in new_links:
        for part in link.parts:
            times.setdefault(part.session, []).append(link.time)
    return {
        name: _store_conversation(repo, gathered.sessions[name], times[name])
        for name in term.iterate_shown("Storing conversations", sorted(times))
    }


def _note_links(repo: Repo, new_links: Sequence[Link]) -> list[Effect]:
    """Note the checkpoints on the commits; return the effects."""
    by_commit = {link.commit: link for link in new_links if link.commit}
    before = {oid: notes.read_note(repo.objects, oid) for oid in by_commit}
    notes.edit_notes(repo, {oid: partial(_add_to_note, link) for oid, link in by_commit.items()})
    effects: list[Effect] = []
    for oid, link in by_commit.items():
        old = before[oid]
        new = _add_to_note(link, old)
        if new == old:
            continue
        old_blob = None
        if old is not None:
            old_blob = repo.objects.write("blob", old)
        new_blob = repo.objects.write("blob", new)
        effects.append(Effect(NOTE, oid, old_blob, new_blob))
    return effects


def _add_to_note(link: Link, note: bytes | None) -> bytes:
    if link.by_hand:
        return links.add_link_by_hand(note or b"", link.checkpoint_id)
    return links.add_link(note or b"", link.checkpoint_id)


def _make_data(
    gathered: Gathered,
    conversations: dict[str, _Conversation],
    link: Link,
    part: Part,
    counted: dict[str, Usage],
) -> SessionData:
    """A session's part in the checkpoint of a commit.  counted: session -> the token usage of
    checkpoints so far, which is updated."""
    session = gathered.sessions[part.session]
    conversation = conversations[part.session]
    turns = conversation.turns
    written = {path: _name_turns(file, turns) for path, file in part.files.items()}
    turn_ids: set[str] = set()
    for file in part.files.values():
        turn_ids.update(file.turns)
    created_at = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(link.time))
    metadata: dict[str, Any] = {
        "cli_version": VERSION,
        "session_id": part.session,
        "strategy": "manual-commit",
        "kind": KIND,
        "created_at": created_at,
        "checkpoints_count": 0,
        "files_touched": sorted(written),
        "agent": session.client.AGENT_TYPE,
        "turn_id": "".join(_sort_turns(turn_ids, turns)[-1:]),
        "transcript_path": condense.shorten_home(session.path),
        "files": written,
        "turns": _select_turns(turns, turn_ids),
        "initial_attribution": {"calculated_at": created_at, **part.attribution},
    }
    if link.commit:
        metadata["commit"] = link.commit
    if part.coarse:
        metadata["coarse"] = True
    metadata |= _compute_cost(conversation, link.time, part.session, counted)
    return {
        "session_id": part.session,
        "transcript": conversation.stored,
        "prompts": conversation.prompts,
        "metadata": metadata,
        "lines": part.lines,
    }


def _compute_cost(
    conversation: _Conversation, until: int, session: str, counted: dict[str, Usage]
) -> dict[str, Any]:
    """A session's token usage until a commit, and the part of it that no checkpoint counts yet."""
    if not conversation.usage:
        return {}
    spent = conversation.spent[until]
    delta = transcripts.subtract_tokens(spent, counted.get(session))
    counted[session] = transcripts.add_tokens(counted.get(session), delta)
    return {"token_usage": spent or transcripts.make_usage(), "token_usage_delta": delta}


def _name_turns(file: ImportedFile, turns: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A file as metadata have it, with the turns that wrote it."""
    turn_ids = _sort_turns(file.turns, turns)
    last_id = "".join(turn_ids[-1:])
    return {
        "oid": file.oid,
        "mode": file.mode,
        "turns": turn_ids,
        "before": file.before,
        "turn_id": last_id,
        "prompt": turns.get(last_id, {}).get("prompt", ""),
    }


def _sort_turns(ids: Iterable[str], turns: dict[str, dict[str, Any]]) -> list[str]:
    """Turn ids by their numbers; those without a number first."""
    return sorted(ids, key=lambda turn: int(turns.get(turn, {}).get("number", 0)))


def _select_turns(turns: dict[str, dict[str, Any]], ids: Iterable[str]) -> dict[str, Any]:
    """The known turns of these ids, without empty values."""
    turn_ids = (turn for turn in sorted(ids) if turn in turns)
    return {turn: {key: value for key, value in turns[turn].items() if value} for turn in turn_ids}
