"""What is handed over of a conversation to another client (doc/behaviour.md "Handing over")."""

from __future__ import annotations

import os
from typing import Any

from gitcp.agents.reading.conversation import list_entries
from gitcp.agents.reading.items import list_items
from gitcp.checkpoints import redactor
from gitcp.errors import Error
from gitcp.git import decode_name
from gitcp.git.objects import Lookup, find_file, read_commit
from gitcp.record.session import client_transcript, others
from gitcp.steps import abandoned, handover_text
from gitcp.steps.back import conversation, named
from gitcp.steps.back.present import Present, read_present
from gitcp.text import console
from gitcp.text.prompt_text import is_notification
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypedDict

    from gitcp.git.repo import Repo
    from gitcp.steps.back.conversation import Stored
    from gitcp.steps.handover_text import Asked
    from gitcp.text.record_types import Record

    class Handover(TypedDict):
        """text: the prompt for the other client.  turns: how many turns it has; of: how many the
        session has."""

        session_id: str
        agent: str
        text: str
        turns: int
        of: int


_GIVEN_UP = 5  # turns
_TRIES = 8  # to keep a size
_STATES = {"completed": "[x]", "in_progress": "[>]"}


def make_handover(repo: Repo, name: str, size: int) -> Handover:
    """The hand-over of a session, redacted, in at most size bytes.

    name: the session's id, or a commit, branch or checkpoint that has this session alone.  Raises
    Error if it has several, or if no transcript is stored.
    """
    stored = _find_session(repo, name)
    session_id = stored.session_id
    agent = stored.agent
    data = stored.transcript
    # The client's own has also the turns since the last checkpoint.
    data = client_transcript.read_live(others.peek_state(repo, session_id) or {}) or data
    if not data:
        raise Error(f"no transcript is stored of session '{session_id}'")
    data = redactor.redact_transcript(repo, data, session_id)
    redact = redactor.make_redaction(repo, session_id)
    work = _gather(repo, session_id, agent, data, redact)
    room = size
    for _ in range(_TRIES):
        made, count = handover_text.format_handover(work, room)
        text = console.escape_unprintable(redact(made))  # which may be longer
        over = len(text.encode("utf-8", "replace")) - size
        if over <= 0:
            break
        room -= over
    return {
        "session_id": session_id,
        "agent": agent,
        "text": text,
        "turns": count,
        "of": len(work["turns"]),
    }


def _gather(
    repo: Repo, session_id: str, agent: str, data: bytes, redact: Callable[[str], str]
) -> handover_text.Work:
    """What is handed over, its texts redacted before anything cuts them."""
    present = read_present(repo, dry=True)
    touched = _list_files(repo, session_id)
    open_first = sorted(touched, key=lambda path: (path not in present.entries, path))
    decided, todo = _list_plans(data)
    turns = _list_turns(data, f"{repo.worktree}{os.sep}")
    for turn in turns:
        turn["prompt"], turn["answer"] = redact(turn["prompt"]), redact(turn["answer"])
        turn["calls"] = [*map(redact, turn["calls"])]
    return {
        "session_id": session_id,
        "agent": agent,
        "place": _describe_place(repo, present),
        "files": {path: _describe_file(repo, present, path) for path in open_first},
        "others": sorted(present.entries.keys() - touched),
        "given_up": _list_given_up(repo, session_id),
        "decided": [*map(redact, decided)],
        "todo": [*map(redact, todo)],
        "turns": turns,
    }


def _find_session(repo: Repo, name: str) -> Stored:
    sessions = conversation.read_stored(repo, name).sessions
    stored = {session.session_id: session for session in sessions}
    if len(stored) > 1:
        raise Error(f"'{name}' has several sessions, name one: {', '.join(stored)}")
    return next(iter(stored.values()))


def _list_turns(data: bytes, top: str) -> list[Asked]:
    """The turns of a transcript, oldest first.  top: what paths of calls begin with."""
    turns: list[Asked] = []
    for role, text in list_entries(data):
        if role == "User" and not is_notification(text):
            turns.append({"prompt": text, "calls": [], "answer": ""})
        elif turns and role == "Tool":
            turns[-1]["calls"].append(text.replace(top, ""))
        elif turns and role == "Assistant":
            turns[-1]["answer"] = text
    return turns


def _list_plans(data: bytes) -> tuple[list[str], list[str]]:
    """(the plans that were made and the questions that were answered; the newest list of work)."""
    decided = []
    todo = list[str]()
    asked = set[str]()
    for item in list_items(data):
        arguments: Any = item["input"] if isinstance(item["input"], dict) else {}
        if item["kind"] == "result" and item["id"] in asked and not item["failed"]:
            decided.append(" ".join(item["text"].split()))
        elif item["kind"] == "call" and arguments.get("questions"):
            asked.add(item["id"])
        elif item["kind"] == "call" and isinstance(arguments.get("plan"), str):
            decided.append(" ".join(arguments["plan"].split()))
        elif item["kind"] == "call" and (rows := [*_list_work(arguments)]):
            todo = rows
    return decided, todo


def _list_work(arguments: Any) -> Iterator[str]:
    """The lines of a list of work, as clients write one."""
    rows = arguments.get("todos") or arguments.get("plan")
    if isinstance(rows, list):
        for row in rows:
            text = None
            if isinstance(row, dict):
                text = next(
                    (row[k] for k in ("content", "step", "description") if row.get(k)), None
                )
            if isinstance(text, str):
                yield f"{_STATES.get(str(row.get('status')), '[ ]')} {text}"


def _list_files(repo: Repo, session_id: str) -> set[str]:
    """The paths that a session changed, by its checkpoints and its open edits."""
    touched: set[str] = set()
    for record in named.show_trees(repo, session_id):
        if record["type"] == "session":
            touched |= set(record.get("files_touched") or ())
            for checkpoint in record["checkpoints"]:
                if checkpoint["checkpoint_id"]:  # a temporary one has everybody's
                    touched |= set(checkpoint.get("files") or ())
    return touched


def _describe_place(repo: Repo, present: Present) -> str:
    _, out = repo.git.run("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1))
    branch = "With a detached HEAD"
    if out:
        branch = f"On branch '{decode_name(out).strip()}'"
    commit = None
    if present.head:
        commit = read_commit(repo.objects, present.head)
    if commit is None:
        return f"{branch}, without a commit."
    subject = commit["message"].partition("\n")[0]
    return f"{branch} at {abbreviate(commit['oid'])} ({subject})."


def _describe_file(repo: Repo, present: Present, path: str) -> str:
    if path in present.entries:
        if present.entries[path]:
            return "changed, not committed"
        return "deleted, not committed"
    is_committed = find_file(Lookup(repo.objects, present.head_tree), path)
    return "as committed" if is_committed else "not there"


def _list_given_up(repo: Repo, session_id: str) -> list[Record]:
    """What the session itself gave up.  The prompts of other sessions stay out: the hand-over is
    recorded, and a push sends it."""
    given_up = [r for r in abandoned.list_turns(repo) if r["session_id"] == session_id]
    shown = given_up[:_GIVEN_UP]
    return [r if r["by"] in ("", session_id) else {**r, "next_prompt": ""} for r in shown]
