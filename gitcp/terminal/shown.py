"""The lines of `gitcp show` for commits: each session behind one, with its prompts there and what
came of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gitcp.agents.reading import prompts_done
from gitcp.checkpoints.format import schema
from gitcp.steps import handover_text
from gitcp.terminal.history import build_commit_row
from gitcp.terminal.rows import NO_LIMIT, colour_numbers, count_tasks, draw_row, format_changes
from gitcp.terminal.usage import count_session, describe_stored, format_usage
from gitcp.text import prompt_text
from gitcp.text.json import ensure_object
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import (
    abbreviate,
    count_cells,
    count_noun,
    escape_part,
    join_words,
    pad,
    split_rows,
    wrap_line,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents.reading.prompts_done import Deed, Prompted
    from gitcp.checkpoints.format.schema import Part
    from gitcp.text.record_types import Record
    from gitcp.text.spans import Ago, Line

    Shown = Mapping[str, Any]

# lines of a prompt: more are cut to the second number
_LINES = 12
_CUT = 10
_WORDS = 4  # lines of what an agent said last
_COMMITS = 5  # that carry the same
_VERB = 8  # cells of `wrote`
_WIDE = 80  # cells of a line without a terminal
_COUNTED = (  # kind of a deed, and what is said of many
    (prompts_done.READ, "read", "time"),
    (prompts_done.SHELL, "ran", "command"),
    (prompts_done.TASK, "gave", "task"),
    (prompts_done.FAILED, "failed at", "edit"),
)
_VERBS = {"read": "read", "shell": "ran", "task": "task", "write": "wrote", "failed": "failed"}


@dataclass(slots=True)
class View:
    """How commits are shown.

    width: cells of a line, NO_LIMIT for any.  full: nothing cut, and each call.  talk: with what
    came of the prompts.  whole: also the prompts that led to other commits.  verbose: with what is
    stored of each session.  with_hint: with what to type next.
    """

    ago: Ago
    width: int = NO_LIMIT
    full: bool = False
    talk: bool = True
    whole: bool = False
    verbose: bool = False
    with_hint: bool = False


def draw_commits(checkpoints: Sequence[Record], view: View) -> Iterator[Line]:
    """Checkpoints as read_committed() makes them, those of one commit together."""
    for number, (_, group) in enumerate(groupby(checkpoints, _identify_commit)):
        if number:
            yield []
        yield from _draw_commit([*group], view)
    name = ""
    if checkpoints:
        name = abbreviate(_identify_commit(checkpoints[0]))
    if name and view.with_hint:
        yield []
        more = f"'gitcp show -p {name}' adds the change, 'gitcp resume {name}' goes on"
        yield [(more, "dim")]


def _identify_commit(checkpoint: Record) -> str:
    commits = checkpoint.get("commits") or ()
    return str(commits[0]["oid"]) if commits else ""


def _draw_commit(checkpoints: Sequence[Record], view: View) -> Iterator[Line]:
    commits = checkpoints[0].get("commits") or ()
    parts = _list_parts(checkpoints)
    for commit in commits[:_COMMITS]:
        yield draw_row(_build_row(commit, view), view.width)
    if len(commits) > _COMMITS:
        yield [(f"and {count_noun(len(commits) - _COMMITS, 'more commit')}", "dim")]
    if commits:
        lines = _describe_lines(commits[0], parts)
        if lines:
            yield [(f"lines: {lines}", "")]
    for checkpoint in checkpoints:
        yield from _draw_stored(checkpoint, view, has_commit=bool(commits))
    commit = commits[0] if commits else {}
    for part in schema.fold_tasks(parts):
        yield []
        yield from _draw_session(part, parts, commit, view)


def _list_parts(checkpoints: Sequence[Record]) -> list[Any]:
    """The sessions of checkpoints, each once, as the last has it."""
    parts = {}
    for checkpoint in checkpoints:
        for part in checkpoint.get("contents", ()):
            parts[part["session_id"]] = part
    return list(parts.values())


def _build_row(commit: Shown, view: View) -> Any:
    lines = ensure_object(commit.get("lines"))
    added = sum(ensure_object(lines.get("added")).values())
    removed = sum(ensure_object(lines.get("removed")).values())
    return build_commit_row(commit, view.ago, format_changes(added, removed))


def _describe_lines(commit: Shown, parts: Sequence[Shown]) -> str:
    """Whose the lines are that a commit adds: `5 by Claude Code, 1 by A Person`."""
    lines = ensure_object(commit.get("lines"))
    agents = {part["session_id"]: part["agent"] or "Agent" for part in parts}
    counts: dict[str, int] = {}
    for name, count in ensure_object(lines.get("sessions")).items():
        agent = agents.get(name) or f"session {shorten_id(name)}"
        counts[agent] = counts.get(agent, 0) + count
    added = ensure_object(lines.get("added"))
    counts[commit["author"]] = counts.get(commit["author"], 0) + added.get("person", 0)
    words = [f"{count} by {name}" for name, count in counts.items() if count]
    unknown = added.get("unknown", 0) + added.get("unrecorded", 0)
    if unknown:
        words.append(f"{unknown} not recorded")
    return ", ".join(words)


def _draw_stored(checkpoint: Record, view: View, *, has_commit: bool) -> Iterator[Line]:
    """What is said of a checkpoint besides its sessions."""
    name = checkpoint["checkpoint_id"]
    if checkpoint.get("missing"):
        yield [(f"a session is not here ({name}): 'gitcp fetch' may bring it", "yellow")]
        return
    if not has_commit:
        yield [(f"stored as {name}, which no commit has", "dim")]
    if view.verbose:
        branch = ""
        if checkpoint["branch"]:
            branch = f"branch {checkpoint['branch']}"
        facts = [f"checkpoint {name}", checkpoint["strategy"], branch, checkpoint["created_at"]]
        yield [(", ".join(filter(None, facts)), "dim")]


def _draw_session(part: Part, parts: Sequence[Any], commit: Shown, view: View) -> Iterator[Line]:
    """A session behind a commit."""
    session: Any = part
    done = prompts_done.list_prompted(session.get("transcript") or b"", part["agent"])
    chosen = done if view.whole else _choose_prompted(session, done)
    yield [
        ("session ", ""),
        (shorten_id(part["session_id"]), "yellow"),
        (", ", ""),
        (part["agent"] or "Agent", "green"),
        (_describe_session(session, chosen, done), ""),
    ]
    yield from _draw_facts(session, parts, commit, view)
    if not chosen:
        for prompt in prompt_text.list_names(part["asked"]):
            yield from draw_prompt(prompt, view)
        return
    for prompted in chosen:
        yield from draw_prompted(prompted, session, view)
    others = len(done) - len(chosen)
    if others:
        yield [(f"  … {count_noun(others, 'other prompt')}: --all", "dim")]


def _choose_prompted(session: Any, done: Sequence[Prompted]) -> Sequence[Prompted]:
    """The prompts that led to a commit: those recorded, else of those since the session's commit
    before the ones that wrote its files, else the last."""
    prompts = {one.number: one.prompt for one in done}
    turns = session.get("linked_turns") or ()
    numbers = {prompt_text.find_number(prompts, turn) for turn in turns} - {0}
    if numbers:
        return [one for one in done if one.number in numbers]
    start = session.get("checkpoint_transcript_start")
    first = start if isinstance(start, int) else 0
    since = [one for one in done if one.line >= first] or done[-1:]
    wrote = [one for one in since if _list_wrote(one, session)]
    return wrote or since[-1:]


def _list_wrote(prompted: Prompted, session: Any) -> list[Deed]:
    """The edits of a prompt in files of the commit."""
    return [d for d in prompted.list_written() if _find_name(d.text, session) in session["files"]]


def _find_name(path: str, session: Any) -> str:
    """A path as the commit has it; else as the agent does."""
    for name in session["files"]:
        if path == name or path.endswith(f"/{name}"):
            return str(name)
    return path


def _describe_session(session: Any, chosen: Sequence[Prompted], done: Sequence[Prompted]) -> str:
    """`(claude-opus-4-6), prompt 2 of 2, 2 s`."""
    words = ""
    if session.get("model"):
        words = f" ({session['model']})"
    numbers = [str(one.number) for one in chosen]
    if len(numbers) == 1:
        words += f", prompt {numbers[0]} of {len(done)}"
    elif len(numbers) == len(done) and numbers:
        words += f", {len(done)} prompts"
    elif numbers:
        if len(numbers) <= _COMMITS:
            which = ", ".join(numbers)
        else:
            which = f"{len(numbers)}"
        words += f", prompts {which} of {len(done)}"
    seconds = sum(one.end - one.start for one in chosen) // 10**9
    if seconds:
        words += f", {_spell_seconds(seconds)}"
    tasks = count_tasks(session)
    if tasks:
        words += f", {tasks}"
    return words


def _spell_seconds(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h"


def _draw_facts(session: Any, parts: Sequence[Any], commit: Shown, view: View) -> Iterator[Line]:
    parent, agent = handover_text.find_parent(session.get("prompts") or session["asked"])
    if parent:
        yield [(f"  goes on from session {shorten_id(parent)} of {agent}", "dim")]
    if session.get("forgotten"):
        yield [(f"  forgotten {str(session['forgotten'])[:10]}: 'gitcp forget' took it out", "")]
    if session.get("hash") == "differs" and not session.get("transcript"):
        yield [("  the conversation is not here: 'gitcp fetch --all' may bring it", "red")]
    elif session.get("hash") == "differs":
        yield [("  the conversation is not as it was stored", "red")]
    if session.get("commit"):
        yield [(f"  known by a note, as of commit {session['commit']}", "dim")]
    intent = ensure_object(session.get("summary")).get("intent")
    if intent:
        yield [(f"  {intent}", "")]
    if not view.verbose:
        return
    yield [(f"  id {session['session_id']}", "dim")]
    added = count_session(commit, session["session_id"])
    yield [(f"  {count_noun(added, 'line')} of this commit", "dim")]
    for key, name in (("token_usage_delta", "this commit"), ("token_usage", "whole session")):
        used = format_usage(session.get(key), session["agent"])
        if used:
            yield [(f"  {name}: {used}", "dim")]
    stored = describe_stored(ensure_object(session.get("initial_attribution")))
    if stored:
        yield [(f"  {stored}", "dim")]
    for path in session.get("tasks") or ():
        yield [(f"  task {path}", "dim")]


def draw_prompted(prompted: Prompted, session: Any, view: View) -> Iterator[Line]:
    """A prompt and what came of it.  session: with its files."""
    yield from draw_prompt(prompted.prompt, view)
    if view.talk:
        yield from _draw_done(prompted, session, view)


def draw_prompt(prompt: str, view: View) -> Iterator[Line]:
    """A prompt: `> ` and its lines, of which the last are left out if they are many."""
    name = prompt_text.name_prompt(prompt) or prompt
    if not view.full:
        rows = [row for row in split_rows(name.strip()) if row.strip()]
    else:
        rows = []
    if view.full:
        rows = split_rows(name.strip())
    if not view.talk:
        rows = rows[:1]
    yield from _draw_block("> ", rows, view, _LINES, _CUT)


def _draw_block(sign: str, rows: Sequence[str], view: View, most: int, cut: int) -> Iterator[Line]:
    """A text behind a sign, folded to the width; of more than most lines the first cut ones."""
    width = (view.width or _WIDE) - 4
    folded: list[Line] = []
    for row in rows:
        line = escape_part(row).expandtabs(4)
        if view.width == NO_LIMIT:
            folded.append([(line, "")])
        else:
            folded += [*wrap_line([(line, "")], width)]
    left = 0
    if len(folded) > most and not view.full:
        left = len(folded) - cut
    shown = folded[: len(folded) - left]
    for number, drawn in enumerate(shown):
        text = "".join(part for part, _ in drawn)
        start = f"  {sign}" if not number else "    "
        yield [(start, "dim"), (text.strip() if number else text, "")]
    if left:
        yield [(f"    … {count_noun(left, 'more line')}: --full", "dim")]


def _draw_done(prompted: Prompted, session: Any, view: View) -> Iterator[Line]:
    """What came of a prompt: each file that was written, the other calls in a line, the last
    words; in full, all of it in its order."""
    if view.full:
        for deed in prompted.deeds:
            yield from _draw_deed(deed, session, view)
        return
    written = prompted.list_written()
    own = _list_wrote(prompted, session)
    for deed in own or written:
        yield _draw_call("wrote", _find_name(deed.text, session), deed, view)
    if own and len(written) > len(own):
        others = count_noun(len(written) - len(own), "other file")
        yield [(f"    wrote   {others}", "dim")]
    counts = []
    for kind, verb, noun in _COUNTED:
        count = prompted.count(kind)
        if count:
            counts.append(f"{verb} {count_noun(count, noun)}")
    if counts:
        yield [(f"    {', '.join(counts)}", "dim")]
    words = prompted.find_last_words()
    if words:
        rows = [row for row in split_rows(words) if row.strip()]
        yield from _draw_block("said: ", rows, view, _WORDS, _WORDS - 1)


def _draw_deed(deed: Deed, session: Any, view: View) -> Iterator[Line]:
    if deed.kind == prompts_done.SAID:
        yield from _draw_block("said: ", split_rows(deed.text.strip()), view, 0, 0)
        return
    if deed.text:
        text = _find_name(deed.text, session)
    else:
        text = deed.name
    yield _draw_call(_VERBS[deed.kind], text, deed, view)


def _draw_call(verb: str, text: str, deed: Deed, view: View) -> Line:
    numbers = format_changes(deed.added, deed.removed)
    start: Line = [(f"    {verb:{_VERB}}", "dim")]
    if view.width == NO_LIMIT:
        return [*start, (join_words(text), ""), (f"  {numbers}" if numbers else "", "")]
    room = view.width - 4 - _VERB - (count_cells(numbers) + 2 if numbers else 0)
    line = [*start, (pad(text, max(1, room)), "")]
    if numbers:
        line += [("  ", ""), *colour_numbers(numbers)]
    return line


def describe_nothing(commit: Shown, newest: str) -> list[Line]:
    """That no session wrote in a commit, and the newest commit before it in which one did, '' for
    none."""
    name = abbreviate(commit["oid"])
    lines: list[Line] = [
        [(f"{name} was written by {commit['author']}: no session wrote in it", "")]
    ]
    if newest:
        lines.append([(f"the newest with one: 'gitcp show {abbreviate(newest)}'", "dim")])
    return lines
