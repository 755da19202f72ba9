"""The lines of `gitcp show` for commits: each session behind one, with its prompts there and what
came of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from gitcp.agents.reading import prompts_done
from gitcp.checkpoints.format import schema
from gitcp.steps import handover_text
from gitcp.terminal.history import build_commit_row
from gitcp.terminal.origins import describe_other_author
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
    format_number,
    join_words,
    pad,
    split_rows,
    wrap_line,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents.reading.prompts_done import Deed, Prompted
    from gitcp.checkpoints.format.line_authors import Author
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
_INSIDE = "  "  # before what a subagent did
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
    stored of each session.  with_hint: with what to type next.  root: of the repository, '' if it
    is not known.
    """

    ago: Ago
    width: int = NO_LIMIT
    full: bool = False
    talk: bool = True
    whole: bool = False
    verbose: bool = False
    with_hint: bool = False
    root: str = ""


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
        going_on = name
        if not checkpoints[0]["linked"]:
            going_on = shorten_id(checkpoints[0]["contents"][0]["session_id"])
        yield []
        more = f"'gitcp show -p {name}' adds the change, 'gitcp resume {going_on}' goes on"
        yield [(more, "dim")]


def _identify_commit(checkpoint: Record) -> str:
    for commit in checkpoint.get("commits") or ():
        return str(commit["oid"])
    return ""


def _draw_commit(checkpoints: Sequence[Record], view: View) -> Iterator[Line]:
    commits = checkpoints[0].get("commits") or ()
    parts = _list_parts(checkpoints)
    for commit in commits[:_COMMITS]:
        yield draw_row(_build_row(commit, view), view.width)
        lines = _describe_lines(commit, parts)
        if lines:
            yield [(f"lines: {lines}", "")]
    left = len(commits) - _COMMITS
    if left > 0:
        yield [(f"and {count_noun(left, 'more commit')}", "dim")]
    for checkpoint in checkpoints:
        yield from _draw_stored(checkpoint, view, has_commit=bool(commits))
    commit = commits[0] if commits else {}
    for part in _sort_sessions(parts, commit):
        yield []
        yield from _draw_session(part, parts, commit, view)


def _list_parts(checkpoints: Sequence[Record]) -> list[Any]:
    """The sessions of checkpoints, each once, as the newest has it."""
    found: list[Any] = []
    for checkpoint in checkpoints:
        for part in checkpoint.get("contents", ()):
            found.append({**part, "linked": checkpoint["linked"]})
    parts = {part["session_id"]: part for part in found}
    for part in sorted(found, key=_get_time):
        parts[part["session_id"]] = part
    return list(parts.values())


def _get_time(part: Any) -> str:
    return str(part.get("created_at") or "")


def _sort_sessions(parts: Sequence[Any], commit: Shown) -> list[Part]:
    """The sessions with their tasks folded in, those first that wrote most of a commit."""

    def count_lines(session: Part) -> int:
        name = session["session_id"]
        count = count_session(commit, name)
        for task in _list_tasks(name, parts):
            count += count_session(commit, task["session_id"])
        return count

    return sorted(schema.fold_tasks(parts), key=count_lines, reverse=True)


def _list_tasks(session_id: str, parts: Sequence[Any]) -> list[Any]:
    """The sessions that are tasks of a session, or tasks of these."""
    tasks: list[Any] = []
    for part in parts:
        if part.get("parent") == session_id:
            others = [one for one in parts if one is not part]
            tasks += [part, *_list_tasks(part["session_id"], others)]
    return tasks


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


@dataclass(slots=True)
class _Names:
    """How paths are shown.  root: of the repository where the agent worked, with a slash, '' if it
    is not known.  known: paths in the repository."""

    root: str
    known: Collection[str]

    def find(self, path: str) -> str:
        """A path as the repository has it; else as the agent does."""
        if self.root and path.startswith(self.root):
            return path.removeprefix(self.root)
        return _find_end(path, self.known) or path


def _find_end(path: str, known: Collection[str]) -> str:
    """The one of the known paths with which a path ends; '' for none."""
    parts = path.split("/")
    for start in range(len(parts)):
        end = "/".join(parts[start:])
        if end in known:
            return end
    return ""


def _find_names(done: Sequence[Prompted], known: Collection[str], root: str) -> _Names:
    """How the paths of a transcript are shown.  root: of the repository here.  That of another
    clone is found by a path that the repository has, too."""
    paths = []
    for prompted in done:
        paths += [deed.text for deed in prompted.deeds if deed.is_of_file]
    if root and any(path.startswith(f"{root}/") for path in paths):
        return _Names(f"{root}/", known)
    for path in paths:
        end = _find_end(path, known)
        if end and end != path:
            return _Names(path.removesuffix(end), known)
    return _Names("", known)


@dataclass(slots=True)
class _Share:
    """What a prompt wrote of a commit.  prompt: its text as it was recorded.  files: path -> added
    lines, 0 for none, or if it is not known how many.  deleted: paths."""

    prompt: str = ""
    files: dict[str, int] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)

    def take(self, other: _Share) -> None:
        """Add what another turn of the prompt wrote."""
        for path, lines in other.files.items():
            self.files[path] = self.files.get(path, 0) + lines
        self.deleted += other.deleted


@dataclass(slots=True)
class _Story:
    """A session behind a commit.  done: its prompts.  shares: number of a prompt -> what it wrote
    of the commit.  lost: what prompts wrote that are not among them.  names: of paths.  files: of
    the commit, with the lines that it adds to each, by session or a word of WHO."""

    session: Any
    done: Sequence[Prompted]
    shares: dict[int, _Share]
    lost: list[_Share]
    names: _Names
    files: dict[str, dict[str, int]]

    def choose(self) -> Sequence[Prompted]:
        """The prompts that led to the commit: those whose lines it has, else those recorded, else
        of those since the session's commit before the ones that wrote its files, else the last."""
        session = self.session
        numbers = set(self.shares)
        if not numbers:
            prompts = {one.number: one.prompt for one in self.done}
            turns = session.get("linked_turns") or ()
            numbers = {prompt_text.find_number(prompts, turn) for turn in turns} - {0}
        if numbers:
            return [one for one in self.done if one.number in numbers]
        if self.lost:
            return []
        start = session.get("checkpoint_transcript_start")
        if not isinstance(start, int):
            start = 0
        since = [one for one in self.done if one.line >= start]
        if not since:
            since = list(self.done[-1:])
        wrote = [one for one in since if _list_wrote(one, session["files"], self.names)]
        return wrote or since[-1:]

    def find_share(self, prompted: Prompted) -> _Share:
        """What a prompt wrote of the commit: also the files of which it is not recorded who wrote
        some lines, if the transcript has them."""
        share = self.shares.get(prompted.number, _Share())
        found = _Share("", dict(share.files), share.deleted)
        if not self.session.get("linked"):
            return found
        for deed in _list_wrote(prompted, self.files, self.names):
            path = self.names.find(deed.text)
            if not {"unknown", "unrecorded"}.isdisjoint(self.files[path]):
                found.files.setdefault(path, 0)
        return found

    def count_others(self, prompted: Prompted) -> int:
        """The files that a prompt wrote and the commit does not change."""
        if not self.files:
            return 0
        names = {self.names.find(deed.text) for deed in prompted.list_written()}
        return len(names - self.files.keys())


def _tell_story(session: Any, parts: Sequence[Any], commit: Shown, view: View) -> _Story:
    transcript = session.get("transcript") or b""
    subagents = session.get("subagents")
    done = prompts_done.list_prompted(transcript, session["agent"], subagents)
    files = ensure_object(commit.get("files"))
    names = _find_names(done, {*files, *session["files"]}, view.root)
    story = _Story(session, done, {}, [], names, files)
    prompts = {one.number: one.prompt for one in done}
    for turn in session.get("wrote") or ():
        share = _Share(turn["prompt"], turn["files"], turn["deleted"])
        _add_share(story, prompt_text.find_number(prompts, turn), share)
    for task in _list_tasks(session["session_id"], parts):
        if task["wrote"]:
            number = _find_giver(task, done)
            for turn in task["wrote"]:
                _add_share(story, number, _Share("", turn["files"], turn["deleted"]))
    return story


def _add_share(story: _Story, number: int, share: _Share) -> None:
    """Add a share to the prompt of a number, 0 if it is not in the transcript."""
    if not number and not share.prompt and story.done:
        number = story.done[-1].number
    if number:
        story.shares.setdefault(number, _Share()).take(share)
    else:
        story.lost.append(share)


def _find_giver(task: Any, done: Sequence[Prompted]) -> int:
    """The number of the prompt that gave a task, by the time at which it began; 0 for none."""
    begun = prompts_done.list_prompted(task.get("transcript") or b"", task["agent"])
    number = 0
    for prompted in done:
        if not number or not begun or prompted.start <= begun[0].start:
            number = prompted.number
    return number


def _draw_session(part: Part, parts: Sequence[Any], commit: Shown, view: View) -> Iterator[Line]:
    """A session behind a commit."""
    session: Any = part
    story = _tell_story(session, parts, commit, view)
    chosen = story.choose()
    name = shorten_id(part["session_id"])
    agent = part["agent"] or "Agent"
    words = _describe_session(session, chosen, story.done)
    head: Line = [("session ", ""), (name, "yellow")]
    head.append((", ", ""))
    head.append((agent, "green"))
    head.append((words, ""))
    yield head
    yield from _draw_facts(session, parts, commit, view)
    is_told = bool(chosen) or any(share.prompt for share in story.lost)
    if not is_told:
        for prompt in prompt_text.list_names(part["asked"]):
            yield from draw_prompt(prompt, view)
    shown = chosen
    if view.whole:
        shown = story.done
    for prompted in shown:
        yield from draw_prompt(prompted.prompt, view)
        if not view.talk:
            continue
        if view.full or not commit or prompted not in chosen:
            yield from _draw_done(prompted, session["files"], story.names, view)
        else:
            yield from _draw_share(story.find_share(prompted), view)
            yield from _draw_rest(prompted, story.count_others(prompted), view)
    for share in story.lost:
        if share.prompt:
            yield from draw_prompt(share.prompt, view)
        if view.talk:
            yield from _draw_share(share, view)
    left = len(story.done) - len(shown)
    if left and shown:
        others = count_noun(left, "other prompt")
        yield [(f"  … {others}: --all", "dim")]


def _list_wrote(prompted: Prompted, files: Collection[str], names: _Names) -> list[Deed]:
    """The edits of a prompt in files of the commit."""
    return [deed for deed in prompted.list_written() if names.find(deed.text) in files]


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


def draw_prompted(prompted: Prompted, files: Collection[str], view: View) -> Iterator[Line]:
    """A prompt and what came of it, by the transcript.  files: paths that the repository has."""
    yield from draw_prompt(prompted.prompt, view)
    if view.talk:
        names = _find_names([prompted], files, view.root)
        yield from _draw_done(prompted, files, names, view)


def draw_prompt(prompt: str, view: View) -> Iterator[Line]:
    """A prompt: `> ` and its lines, of which the last are left out if they are many."""
    name = prompt_text.name_prompt(prompt) or prompt
    rows = split_rows(name.strip())
    if not view.full:
        rows = [row for row in rows if row.strip()]
    if not view.talk:
        del rows[1:]
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


def _draw_done(
    prompted: Prompted, files: Collection[str], names: _Names, view: View
) -> Iterator[Line]:
    """What came of a prompt: each of files that was written, or all if none was, the other calls in
    a line, the last words; in full, all of it in its order."""
    if view.full:
        for deed in prompted.deeds:
            yield from _draw_deed(deed, names, view)
        return
    written = prompted.list_written()
    own = _list_wrote(prompted, files, names) or written
    for deed in own:
        yield _draw_call("wrote", names.find(deed.text), _format_deed(deed), view)
    yield from _draw_rest(prompted, len(written) - len(own), view)


def _draw_share(share: _Share, view: View) -> Iterator[Line]:
    """What a prompt wrote of a commit."""
    for path, lines in share.files.items():
        numbers = ""
        if lines:
            numbers = f"+{format_number(lines)}"
        yield _draw_call("wrote", path, numbers, view)
    for path in share.deleted:
        yield _draw_call("deleted", path, "", view)


def _draw_rest(prompted: Prompted, others: int, view: View) -> Iterator[Line]:
    """What came of a prompt besides the files that were named.  others: the number of the other
    files."""
    if others:
        yield [(f"    wrote   {count_noun(others, 'other file')}", "dim")]
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


def _draw_deed(deed: Deed, names: _Names, view: View) -> Iterator[Line]:
    if deed.kind == prompts_done.SAID:
        yield from _draw_block("said: ", split_rows(deed.text.strip()), view, 0, 0)
        return
    text = deed.text or deed.name
    if deed.is_of_file:
        text = names.find(text)
    yield _draw_call(_VERBS[deed.kind], text, _format_deed(deed), view)
    inside = view
    if view.width != NO_LIMIT:
        inside = replace(view, width=view.width - len(_INSIDE))
    for inner in deed.inner:
        for line in _draw_deed(inner, names, inside):
            yield [(_INSIDE, ""), *line]


def _format_deed(deed: Deed) -> str:
    return format_changes(deed.added, deed.removed)


def _draw_call(verb: str, text: str, numbers: str, view: View) -> Line:
    line: Line = [(f"    {verb:{_VERB}}", "dim")]
    numbered: Line = []
    if numbers:
        numbered = [("  ", ""), *colour_numbers(numbers)]
    if view.width == NO_LIMIT:
        text = join_words(text)
    else:
        room = view.width - 4 - _VERB
        if numbers:
            room -= count_cells(numbers) + 2
        text = pad(text, max(1, room))
    line.append((text, ""))
    return line + numbered


def describe_nothing(oid: str, person: str, author: Author, newest: str) -> list[Line]:
    """That no session wrote in a commit.  person: whose commit it is.  author: of its lines.
    newest: the newest commit before it in which one wrote, '' for none."""
    name = abbreviate(oid)
    if author["who"] == "person":
        said = f"{name} was written by {person}: no session wrote in it"
    else:
        words = describe_other_author(author["who"], author["agent"], person, oid)
        said = f"{name}, by {person}: {words}"
    lines: list[Line] = [[(said, "")]]
    if newest:
        example = abbreviate(newest)
        lines.append([(f"the newest with one: 'gitcp show {example}'", "dim")])
    return lines
