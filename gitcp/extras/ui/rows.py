"""The rows of `gitcp ui`, and what is to be read of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gitcp.agents.transcripts import transcript_facts
from gitcp.extras.ui.panes import PaneRow, count_changes
from gitcp.steps.back.plan import CREATE, DELETE, KEEP, MODIFY, count_verbs
from gitcp.steps.back.point import describe_lacking
from gitcp.terminal import going_back
from gitcp.terminal.rows import STATES
from gitcp.terminal.usage import count_session, format_lines, format_usage
from gitcp.text import prompt_text, spans
from gitcp.text.json import ensure_object
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents.reading.turns import GatheredTurn, Part
    from gitcp.extras.ui.panes import Block
    from gitcp.steps.back.plan import Plan
    from gitcp.steps.back.point import Point
    from gitcp.text.record_types import Record
    from gitcp.text.spans import Ago

    Day = Callable[[float], tuple[str, str]]  # seconds since 1970 -> its day, its time

_STATE_COLOURS = {"open": "green", "waiting": "yellow", "stopped": "yellow"}
_COLOURS = {CREATE: "green", MODIFY: "yellow", DELETE: "red", KEEP: "dim"}
_WORDS = 400  # characters of a text in one row


def build_session(record: Record, when: Day) -> PaneRow:
    """The row of a session: an `activity` with `part`, what its newest commit stored of it, and
    `asked`, its prompts."""
    day, time = when(record["last"])
    state = record["state"]
    session_id = record["session_id"]
    added = count_session(record, session_id)
    head = [(shorten_id(session_id), "yellow")]
    if state in _STATE_COLOURS:
        head.append((f" {STATES.get(state, state)}", _STATE_COLOURS[state]))
    if record["files_touched"]:
        head.append((" not committed", "yellow"))
    if added:
        head.append((f" +{spans.format_number(added)}", "green"))
    head += [(f" {record['agent'] or 'Agent'}", "green"), (f" {time}", "dim")]
    name = prompt_text.read_first_line(record["prompt"])
    prompt = spans.shorten(name, _WORDS) or str(record["part"].get("title") or "no prompt")
    words = f"{session_id} {_join(head)} {day} {record['prompt']} {' '.join(record['asked'])}"
    command = ["show", shorten_id(session_id)]
    lines = [head, [(" > ", "dim"), (prompt, "")]]
    return PaneRow(session_id, day, lines, words, command, record, state != "ended")


def build_turns(
    turns: Sequence[GatheredTurn], command: Sequence[str], when: Day
) -> Iterator[PaneRow]:
    """The rows of a conversation: prompts, answers and calls."""
    for turn in turns:
        time = when((transcript_facts.parse_time(turn["start"]) or 0) / 1e9)[1]
        head = [
            (f"#{turn['number']} ", "yellow"),
            (f"{time} " if time else "", "dim"),
            (spans.shorten(prompt_text.read_first_line(turn["prompt"]), _WORDS), "bold"),
        ]
        name = f"{turn['number']}"
        yield PaneRow(name, "", [head], turn["prompt"], command, turn)
        for number, part in enumerate(turn["parts"]):
            line = _draw_part(part)
            words = part.get("text", "") or f"{_join(line)} {part.get('given', '')}"
            yield PaneRow(f"{name}.{number}", "", [line], words, command, part)


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
    if path.startswith("/") and len(parts) > 3:
        return "/".join(["…", *parts[-2:]])
    return path


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
    given = part.get("given", "")
    if given:
        blocks.append(("text", [f"{part['name']} {part['path']}".strip(), *given.split("\n")]))
    changed = patch or _list_edit(part)
    if changed:
        blocks.append(("diff", changed))
    result = part.get("result", "")
    if result:
        blocks.append(("code", result.split("\n")))
    return [*blocks, *(b for p in part.get("task", ()) for b in build_talk(p, ()))]


def _list_edit(part: Part) -> list[str]:
    """The edit of a call as a patch, which has no line numbers."""
    if not part.get("diff"):
        return _list_patch(part.get("given", ""))
    path = part["path"].lstrip("/")
    head = [f"--- a/{path}", f"+++ b/{path}"]
    return [*head, *(f"{sign}{text}" for sign, text in part["diff"])]


def _list_patch(given: str) -> list[str]:
    """The rows of the patch in the input of a call; [] without one."""
    for text in [given, *_list_values(given)]:
        if text.startswith("*** Begin Patch"):
            return text.split("\n")[1:-1]
    return []


def build_commit(commit: Record, when: Day) -> PaneRow:
    """The row of a commit with the sessions behind it."""
    day, _ = when(commit["time"])
    parts = [part for c in commit["checkpoints"] for part in c.get("contents", ())]
    agents = ", ".join(dict.fromkeys(part["agent"] or "Agent" for part in parts))
    share = format_lines(commit, ("agent",))
    oid = commit["oid"]
    subject = commit["message"]
    lines = [
        [(abbreviate(oid), "yellow"), (f" {subject}", "bold" if parts else "")],
        [("  ", ""), (commit["author"], "blue"), (f"  {agents}", "green"), (f"  {share}", "")],
    ]
    prompts = " ".join(prompt for part in parts for prompt in part["asked"])
    words = f"{oid} {day} {subject} {commit['author']} {agents} {prompts}"
    if parts:
        shown = ["show", abbreviate(oid)]
    else:
        shown = ["log", "-1", abbreviate(oid)]
    return PaneRow(oid, day, lines, words, shown, commit)


def build_commit_parts(
    row: PaneRow, message: str, files: Sequence[tuple[str, list[str]]], when: Day
) -> Iterator[PaneRow]:
    """The parts of a commit: all of it, the prompts of each session, its files."""
    patch = [line for _, rows in files for line in rows]
    commit = row.item
    described = [
        f"commit {abbreviate(commit['oid'])}",
        ", ".join([commit["author"], *when(commit["time"])]),
        "",
        message.strip(),
    ]
    blocks: list[Block] = [("text", "\n".join(described).split("\n")), ("diff", patch)]
    line = [("all of it  ", "bold"), (count_changes(patch), "green")]
    yield PaneRow("all", "", [line], message, row.command, blocks)
    for checkpoint in commit["checkpoints"]:
        name = checkpoint["checkpoint_id"]
        for part in checkpoint.get("contents", ()):
            for number, prompt in enumerate(part["asked"]):
                line = [
                    (f"{part['agent'] or 'Agent'} ", "cyan"),
                    (spans.shorten(prompt_text.read_first_line(prompt), _WORDS), ""),
                ]
                used = format_usage(part.get("token_usage_delta"), part["agent"])
                added = count_session(commit, part["session_id"])
                lines = ""
                if added:
                    lines = f"+{spans.count_noun(added, 'line')}"
                facts = [f"session {shorten_id(part['session_id'])}", used, lines]
                talk: list[Block] = [("text", [*filter(None, facts), "", *prompt.split("\n")])]
                row_id = f"{name} {part['session_id']} {number}"
                yield PaneRow(row_id, "", [line], prompt, ["show", name], talk)
    for path, rows in files:
        line = [(path, ""), (f"  {count_changes(rows)}", "green")]
        yield PaneRow(
            f"/{path}", "", [line], path, ["show", spans.abbreviate(row.id)], [("diff", rows)]
        )


def build_point(point: Point, name: str, when: Day) -> PaneRow:
    """The row of a point to go back to."""
    day, time = when(point.time)
    facts = ["set aside" if point.kind == "archived" else ""]
    facts.append(describe_lacking(point.kind, point.lacking))
    note = ", ".join(filter(None, facts))
    head = [(name, "yellow"), (f" {time}", "dim"), (f"  {note}" if note else "", "dim")]
    text = spans.shorten(going_back.describe_point(point), _WORDS)
    words = f"{point.id} {day} {_join(head)} {text} {point.session_id}"
    command = ["rewind", "--to", name.strip(), "--dry-run", "--patch"]
    return PaneRow(point.id, day, [head, [("  ", ""), (text, "")]], words, command, point)


def build_plan(
    row: PaneRow, plan: Plan, files: Sequence[tuple[str, list[str]]], session: str
) -> Iterator[PaneRow]:
    """The parts of a point: the whole plan to go there, each path."""
    patch = [line for _, rows in files for line in rows]
    effect = going_back.format_effect(count_verbs(plan.actions))
    texts = [f"going back there {effect}", *_list_notes(plan)]
    blocks: list[Block] = [("text", [*texts, session]), *([("diff", patch)] if patch else [])]
    yield PaneRow(
        "all", "", [[("going there ", "bold"), (effect, "")]], effect, row.command, blocks
    )
    changed = dict(files)
    for action in plan.actions:
        path = action.path
        verb = action.verb
        line = [(f"{verb:<7}", _COLOURS[verb]), (path, ""), (f"  {action.reason}", "dim")]
        shown: list[Block] = [("text", [f"{verb} {path}", action.reason])]
        if path in changed:
            shown += [("diff", changed[path])]
        yield PaneRow(f"/{path}", "", [line], path, row.command, shown)


def _list_notes(plan: Plan) -> list[str]:
    """The notes and conflicts of a plan as sentences."""
    conflicts = [f"conflict: '{c.path}': {c.reason}" for c in plan.conflicts]
    return [*(f"note: {note}" for note in plan.notes), *conflicts]


# lines of a prompt and of an answer of a session as a whole
_PROMPT_ROWS = 8
_SAID_ROWS = 8


def describe_session(
    record: Mapping[str, Any], turns: Sequence[GatheredTurn], ago: Ago
) -> list[Block]:
    """What is to be read of a session as a whole: its last prompt, who and when, the last words,
    and what is known of it."""
    if turns:
        asked = turns[-1]["prompt"]
    else:
        asked = record["prompt"]
    rows = spans.cut_rows(asked.strip().split("\n"), _PROMPT_ROWS, _tell_left)
    if asked:
        texts = [f"> {rows[0]}", *(f"  {row}" for row in rows[1:])]
    else:
        texts = []
    about = [record["agent"] or "Agent", ago(record["last"])]
    if turns and turns[-1]["number"]:
        about.append(f"prompt {turns[-1]['number']} of {turns[-1]['number']}")
    texts.append(" · ".join(about))
    said = []
    for turn in turns:
        for part in turn["parts"]:
            if part["kind"] == "answer":
                said.append(part["text"])
    if said:
        words = spans.cut_rows(said[-1].strip().split("\n"), _SAID_ROWS, _tell_left)
        texts += ["", f"said: {words[0]}", *(f"      {row}" for row in words[1:])]
    return [("text", texts), ("text", _list_facts(record, turns))]


def _tell_left(count: int) -> str:
    return f"… {spans.count_noun(count, 'more line')}"


def _list_facts(record: Mapping[str, Any], turns: Sequence[GatheredTurn]) -> list[str]:
    """What is known of a session besides its words."""
    part = record["part"]
    usage = record.get("token_usage") or part.get("token_usage")
    used = format_usage(usage, record["agent"])
    shares = format_lines(record, ("agent", "person", "unknown"))
    uses = sum(p["kind"] == "call" for turn in turns for p in turn["parts"])
    counted = f"{spans.count_noun(len(turns), 'prompt')}, {spans.count_noun(uses, 'tool use')}"
    state = STATES.get(record["state"], record["state"])
    facts = [f"session {shorten_id(record['session_id'])}, {state}"]
    facts += [counted, used, f"lines of its last commit: {shares}" if shares else ""]
    names = [f"  {path}" for path in record["files_touched"]]
    if names:
        facts += ["", "not committed:", *names]
    facts += [] if turns else ["", "its conversation is not stored here"]
    return [fact for n, fact in enumerate(facts) if fact or n > 2]


def _join(line: Sequence[tuple[str, str]]) -> str:
    return "".join(text for text, _ in line)
