"""The rows of `gitcp ui`, and what is to be read of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gitcp.agents import transcripts
from gitcp.agents.transcripts import transcript_facts
from gitcp.extras.ui.panes import Row, count_changes
from gitcp.steps.back.plan import CREATE, DELETE, KEEP, MODIFY, count_verbs, describe_lacking
from gitcp.terminal import going_back
from gitcp.terminal.usage import count_session, format_lines, format_usage
from gitcp.text import prompt_text, spans
from gitcp.text.json import ensure_object
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents.reading.turns import Part, Turn
    from gitcp.extras.ui.panes import Block
    from gitcp.steps.back.plan import Plan, Point
    from gitcp.text.record_types import Record

    Day = Callable[[float], tuple[str, str]]  # seconds since 1970 -> its day, its time

_STATES = {"open": "green", "waiting": "yellow"}
_COLOURS = {CREATE: "green", MODIFY: "yellow", DELETE: "red", KEEP: "dim"}
_WORDS = 400  # characters of a text in one row


def build_session(record: Record, when: Day) -> Row:
    """The row of a session: an `activity` with `part`, what its newest commit stored of it, and
    `asked`, its prompts."""
    day, time = when(record["last"])
    state, part, session_id = record["state"], record["part"], record["session_id"]
    usage = record.get("token_usage") or part.get("token_usage")
    fresh, creation, _, output, _ = transcripts.list_counts(
        transcripts.count_spent(usage, record["agent"])
    )
    spent = fresh + creation + output
    added = count_session(record, session_id)
    share = f"  +{spans.format_number(added)}" if added else ""
    files = spans.count_noun(len(record["files_touched"]), "open file")
    head = [
        (time, "dim"),
        (f" {state}" if state in _STATES else "", _STATES.get(state, "")),
        (f" {record['agent'] or 'Agent'}", "cyan"),
        (share, "bold"),
        (f"  {spans.format_number(spent)}" if spent else "", "dim"),
        (f"  {files}" if record["files_touched"] else "", "yellow"),
    ]
    name = prompt_text.read_first_line(record["prompt"])
    prompt = spans.shorten(name, _WORDS) or f"session {session_id}"
    words = f"{session_id} {_join(head)} {day} {record['prompt']} {' '.join(record['asked'])}"
    command = ["show", session_id]
    lines = [head, [("  ", ""), (prompt, "")]]
    return Row(session_id, day, lines, words, command, record, state != "ended")


def build_turns(turns: Sequence[Turn], command: Sequence[str], when: Day) -> Iterator[Row]:
    """The rows of a conversation: prompts, answers and calls."""
    for turn in turns:
        time = when((transcript_facts.parse_time(turn["start"]) or 0) / 1e9)[1]
        head = [
            (f"#{turn['number']} ", "yellow"),
            (f"{time} " if time else "", "dim"),
            (spans.shorten(turn["prompt"], _WORDS), "bold"),
        ]
        name = f"{turn['number']}"
        yield Row(name, "", [head], turn["prompt"], command, turn)
        for number, part in enumerate(turn["parts"]):
            line = _draw_part(part)
            words = part.get("text", "") or f"{_join(line)} {part.get('given', '')}"
            yield Row(f"{name}.{number}", "", [line], words, command, part)


def _draw_part(part: Part) -> list[tuple[str, str]]:
    if part["kind"] == "answer":
        return [("   ", ""), (spans.shorten(part["text"], _WORDS), "dim")]
    if part["kind"] == "image":
        return [("   ", ""), (f"image ({part['type']})", "dim")]
    detail = _shorten_path(part["path"]) or part.get("given", "")
    if detail.startswith("{"):
        detail = next(filter(None, _list_values(detail)), "")
    diff = [f"{sign}{text}" for sign, text in part.get("diff", ())]
    return [
        (f"   {part['name']} ", "cyan"),
        (spans.shorten(detail, _WORDS), ""),
        (f"  {count_changes(diff)}" if diff else "", "green"),
        (f"  {part['ended']}" if part.get("ended") else "", "red"),
    ]


def _shorten_path(path: str) -> str:
    """A path; of one outside of the worktree the end."""
    parts = path.split("/")
    return "/".join(["…", *parts[-2:]]) if path.startswith("/") and len(parts) > 3 else path


def _list_values(text: str) -> Iterator[str]:
    """The values of an object in JSON as texts; none of any other text."""
    try:
        yield from map(str, ensure_object(json.loads(text)).values())
    except ValueError:
        pass


def build_talk(part: Any, patch: Sequence[str]) -> list[Block]:
    """What is to be read of a prompt, an answer or a call; patch: what it changed, if that is
    known, else the edit is taken from the call.  part: of a turn, or a Turn."""
    if "parts" in part:
        texts = [text for p in part["parts"] for text in _list_edit(p)]
        changed = patch or texts
        return [("text", part["prompt"].split("\n")), *([("diff", changed)] if changed else [])]
    if part["kind"] != "call":
        return [("text", part.get("text", f"image ({part.get('type', '')})").split("\n"))]
    blocks: list[Block] = []
    if given := part.get("given", ""):
        blocks.append(("text", [f"{part['name']} {part['path']}".strip(), *given.split("\n")]))
    if changed := patch or _list_edit(part):
        blocks.append(("diff", changed))
    if result := part.get("result", ""):
        blocks.append(("code", result.split("\n")))
    return [*blocks, *(b for p in part.get("task", ()) for b in build_talk(p, ()))]


def _list_edit(part: Part) -> list[str]:
    """The edit of a call as a patch, which has no line numbers."""
    if not part.get("diff"):
        return []
    path = part["path"].lstrip("/")
    head = [f"--- a/{path}", f"+++ b/{path}"]
    return [*head, *(f"{sign}{text}" for sign, text in part["diff"])]


def build_commit(commit: Record) -> Row:
    """The row of a commit with the sessions behind it."""
    parts = [part for c in commit["checkpoints"] for part in c.get("contents", ())]
    agents = ", ".join(dict.fromkeys(part["agent"] or "Agent" for part in parts))
    share = format_lines(commit, ("agent",))
    oid, subject = commit["oid"], commit["message"]
    lines = [
        [(abbreviate(oid), "yellow"), (f" {subject}", "bold" if parts else "")],
        [("  ", ""), (commit["author"], "dim"), (f"  {agents}", "cyan"), (f"  {share}", "")],
    ]
    prompts = " ".join(prompt for part in parts for prompt in part["asked"])
    words = f"{oid} {commit['day']} {subject} {commit['author']} {agents} {prompts}"
    shown = ["show", abbreviate(oid)] if parts else ["log", "-1", abbreviate(oid)]
    return Row(oid, commit["day"], lines, words, shown, commit)


def build_commit_parts(
    row: Row, message: str, files: Sequence[tuple[str, list[str]]]
) -> Iterator[Row]:
    """The parts of a commit: all of it, the prompts of each session, its files."""
    patch = [line for _, rows in files for line in rows]
    commit = row.item
    described = [
        f"commit {commit['oid']}",
        f"{commit['author']}, {commit['date']}",
        "",
        message.strip(),
    ]
    blocks: list[Block] = [("text", "\n".join(described).split("\n")), ("diff", patch)]
    line = [("all of it  ", "bold"), (count_changes(patch), "green")]
    yield Row("all", "", [line], message, row.command, blocks)
    for checkpoint in commit["checkpoints"]:
        name = checkpoint["checkpoint_id"]
        for part in checkpoint.get("contents", ()):
            for number, prompt in enumerate(part["asked"]):
                line = [
                    (f"{part['agent'] or 'Agent'} ", "cyan"),
                    (spans.shorten(prompt, _WORDS), ""),
                ]
                used = format_usage(part.get("token_usage_delta"), part["agent"])
                added = count_session(commit, part["session_id"])
                lines = f"+{spans.count_noun(added, 'line')}" if added else ""
                facts = [f"checkpoint {name}, session {part['session_id']}", used, lines]
                talk: list[Block] = [("text", [*filter(None, facts), "", *prompt.split("\n")])]
                row_id = f"{name} {part['session_id']} {number}"
                yield Row(row_id, "", [line], prompt, ["show", name], talk)
    for path, rows in files:
        line = [(path, ""), (f"  {count_changes(rows)}", "green")]
        yield Row(
            f"/{path}", "", [line], path, ["show", spans.abbreviate(row.id)], [("diff", rows)]
        )


def build_point(point: Point, name: str, when: Day) -> Row:
    """The row of a point to go back to."""
    day, time = when(point["time"])
    facts = ["archived" if point["kind"] == "archived" else ""]
    facts.append(describe_lacking(point["kind"], point["lacking"]))
    note = ", ".join(filter(None, facts))
    head = [(name, "yellow"), (f" {time}", "dim"), (f"  {note}" if note else "", "dim")]
    text = spans.shorten(going_back.describe_point(point), _WORDS)
    words = f"{point['id']} {day} {_join(head)} {text} {point['session_id']}"
    command = ["rewind", "--to", name.strip(), "--dry-run", "--patch"]
    return Row(point["id"], day, [head, [("  ", ""), (text, "")]], words, command, point)


def build_plan(
    row: Row, plan: Plan, files: Sequence[tuple[str, list[str]]], session: str
) -> Iterator[Row]:
    """The parts of a point: the whole plan to go there, each path."""
    patch = [line for _, rows in files for line in rows]
    effect = going_back.format_effect(count_verbs(plan["actions"]))
    texts = [f"going back there {effect}", *_list_notes(plan)]
    blocks: list[Block] = [("text", [*texts, session]), *([("diff", patch)] if patch else [])]
    yield Row("all", "", [[("going there ", "bold"), (effect, "")]], effect, row.command, blocks)
    changed = dict(files)
    for action in plan["actions"]:
        path, verb = action["path"], action["verb"]
        line = [(f"{verb:<7}", _COLOURS[verb]), (path, ""), (f"  {action['reason']}", "dim")]
        shown: list[Block] = [("text", [f"{verb} {path}", action["reason"]])]
        shown += [("diff", changed[path])] if path in changed else []
        yield Row(f"/{path}", "", [line], path, row.command, shown)


def _list_notes(plan: Plan) -> list[str]:
    """The notes and conflicts of a plan as sentences."""
    conflicts = [f"conflict: '{c['path']}': {c['reason']}" for c in plan["conflicts"]]
    return [*(f"note: {note}" for note in plan["notes"]), *conflicts]


def describe_session(record: Mapping[str, Any], turns: Sequence[Turn]) -> list[Block]:
    """What is to be read of a session as a whole."""
    part = record["part"]
    usage = record.get("token_usage") or part.get("token_usage")
    used = format_usage(usage, record["agent"])
    shares = format_lines(record, ("agent", "person", "unknown"))
    calls = sum(p["kind"] == "call" for turn in turns for p in turn["parts"])
    counted = f"{spans.count_noun(len(turns), 'turn')}, {spans.count_noun(calls, 'call')}"
    facts = [f"session {record['session_id']}", f"{record['agent'] or 'Agent'}, {record['state']}"]
    facts += [counted, used, f"lines of its last commit: {shares}" if shares else ""]
    names = [f"  {path}" for path in record["files_touched"]]
    facts += ["", "not committed:", *names] if names else []
    facts += [] if turns else ["", "its conversation is not stored here"]
    return [("text", [fact for n, fact in enumerate(facts) if fact or n > 3])]


def _join(line: Sequence[tuple[str, str]]) -> str:
    return "".join(text for text, _ in line)
