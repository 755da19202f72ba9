"""The moments inside a turn, and the edits of a session, turn or tool use, by the journal.

Edits that were cut from the journal are read from the refs of their sessions.
"""

from __future__ import annotations

from gitcp.agents import locate_subagent_transcript
from gitcp.agents.reading import conversation
from gitcp.checkpoints import redactor, transcripts
from gitcp.errors import Error
from gitcp.git.objects import edit_tree
from gitcp.record import journal
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import Edit, Opening
from gitcp.record.session import others
from gitcp.record.turn import sessions
from gitcp.steps.back import removed, taking_back
from gitcp.steps.back.point import Point, mark_lacking
from gitcp.steps.back.present import KeptEdits, read_kept_edits
from gitcp.text import replace, value_class
from gitcp.text.times import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.git.repo import Repo
    from gitcp.steps.back.present import Moment, Moments, Present
    from gitcp.steps.back.taking_back import EditEntries
    from gitcp.text.record_types import Version, Writer

_WORDS = {"session": "session", "turn": "prompt", "tool": "edit or command"}
_COMMAND = "a command"  # stands for one whose words are not known
_UNNAMED = ("before `", f"before {_COMMAND}")  # messages of points that are shell calls
_OF_TOOLS = (credit.TOOL, credit.TRANSCRIPT, credit.STATED)  # `how` of edits by file tools


@value_class
class FoundEdits:
    """Edits in their order, with what they are of, as `session 1a2b, turn 2`."""

    what: str
    lines: list[Moment]


def find_edits(kept: KeptEdits, session: str, turn: str, tool: str) -> FoundEdits:
    """The edits of a session, one of its turns or tool uses.

    session, turn, tool: the beginning of an id, '' for any.  Calls that may have overwritten
    content that nobody had seen are among the lines.  Raises Error when an id matches none or
    several.
    """
    lines = _list_standing(kept.list_moments(everywhere=True).lines)
    words: list[str] = []
    for number, (kind, name) in enumerate((("session", session), ("turn", turn), ("tool", tool))):
        if not name:
            continue
        causes = [_get_cause(line) for line in lines]
        ids = {cause[number] for cause in causes if cause[0]} - {""}
        chosen = _pick_id(kind, name, ids)
        lines = [line for line in lines if _get_cause(line)[number] == chosen]
        words.append(f"{kind} {chosen}")
    return FoundEdits(", ".join(words), [line for line in lines if _get_cause(line)[0]])


def _get_cause(line: Moment) -> Writer:
    """The call that caused an edit, or the call that a line opens."""
    if isinstance(line, Opening):
        return line.session, line.turn, line.call
    return line.cause


def _list_standing(lines: Sequence[Moment]) -> list[Moment]:
    """The edits that can be taken back.

    An edit that discarded content is left out if another session or the person has restored that
    content since."""
    standing: list[Moment] = []
    later: dict[str, list[Edit]] = {}  # path -> its later edits, the newest first
    for line in reversed(lines):
        if isinstance(line, Opening):
            standing.append(line)
            continue
        since = later.setdefault(line.path, [])
        cause = line.cause
        discarded = cause[0] and cause != line.author
        if not (discarded and _is_restored(line, since)):
            standing.append(line)
        since.append(line)
    return standing[::-1]


def _is_restored(line: Edit, since: Iterable[Edit]) -> bool:
    """Whether another's edit restored what an edit discarded, and it was not discarded again."""
    before = line.before
    after = line.after
    for later in since:
        result = later.after
        if result == before and later.cause[0] != line.cause[0]:
            return True
        if result == after:
            return False
    return False


def _pick_id(kind: str, name: str, ids: Iterable[str]) -> str:
    try:
        return sessions.pick_id(name, ids)
    except Error as e:
        message = str(e).replace("no such session", f"no such {_WORDS[kind]}")
        raise Error(message.replace("session id", f"{kind} id")) from None


def list_moments(
    moments: Moments, prompts: Mapping[str, str], commands: Mapping[str, str]
) -> list[Point]:
    """A point before each tool use and each turn that begins in some edits, the newest first.

    prompts: turn id -> prompt.  commands: as KeptEdits.map_commands() returns them.  A call is
    named by its command, else by the first path that it changed; one without edits is listed if it
    may have overwritten unseen content or took ignored files.
    """
    seen = set(moments.cut)
    lacking: dict[str, Sequence[str]] = {}
    for line in moments.lines:
        if isinstance(line, Opening) and line.unseen:
            lacking[line.call] = line.unseen
    points: list[Point] = []
    for line in moments.lines:
        session, turn, tool = _get_cause(line)
        if not session:
            continue
        prompt = prompts.get(turn, "")
        seconds = line.at // 10**9
        is_lacking = isinstance(line, Opening) and bool(line.unseen)
        if turn and turn not in seen and not is_lacking:
            seen.add(turn)
            points.append(
                Point(
                    turn,
                    "prompt",
                    f"before {prompt}",
                    time=seconds,
                    date=format_utc(seconds),
                    session_id=session,
                    session_prompt=prompt,
                )
            )
        if tool and tool not in seen:
            seen.add(tool)
            event = _describe_call(line, commands.get(tool, ""))
            point = Point(
                tool,
                "tool",
                f"before {event}",
                time=seconds,
                date=format_utc(seconds),
                session_id=session,
                session_prompt=prompt,
                tool_use_id=tool,
            )
            points.append(mark_lacking(point, lacking.get(tool, ())))
    return points[::-1]


def _describe_call(line: Moment, command: str) -> str:
    """What a call did: its command, else its first edit.  line: that edit, or the opening of a call
    without edits."""
    if command:
        return f"`{command}`"
    if isinstance(line, Opening):
        return _COMMAND
    if line.how not in _OF_TOOLS:
        return f"{_COMMAND} that changed {line.path}"
    if line.before is None:
        return f"writing {line.path}"
    if line.after is None:
        return f"deleting {line.path}"
    return f"editing {line.path}"


def name_commands(repo: Repo, points: Iterable[Point]) -> list[Point]:
    """The points, with the commands of shell calls in their messages as far as the transcripts of
    their clients are there; the journal has a command without its options."""
    listed = list(points)
    calls_by_session: dict[str, set[str]] = {}
    for point in listed:
        if _is_shell_call(point):
            calls_by_session.setdefault(point.session_id, set()).add(point.id)
    commands: dict[str, str] = {}
    for session_id, calls in calls_by_session.items():
        commands |= _read_commands(repo, session_id, calls)
    named: list[Point] = []
    for point in listed:
        command = commands.get(point.id)
        if command and _is_shell_call(point):
            message = f"before `{command}`" + describe_place(point)
            named.append(replace(point, message=message))
        else:
            named.append(point)
    return named


def _is_shell_call(point: Point) -> bool:
    return point.kind == "tool" and point.message.startswith(_UNNAMED)


def _read_commands(repo: Repo, session_id: str, calls: set[str]) -> dict[str, str]:
    """call -> its command, redacted, by the transcript of a session's client."""
    state = others.peek_state(repo, session_id) or {}
    path = state.get("transcript_path")
    if not isinstance(path, str):
        return {}
    commands = conversation.describe_calls(_read_live(path), calls)
    for agent_id in _list_subagents(repo, session_id, calls - commands.keys()):
        try:
            agent = str(state.get("agent_type") or "")
            other = locate_subagent_transcript(agent, path, agent_id)
        except Error:
            continue  # the client or the id has none
        if other:
            data = _read_live(other)
            commands |= conversation.describe_calls(data, calls, of_subagent=True)
    if not commands:
        return {}
    redact = redactor.make_redaction(repo, session_id)
    return {call: redact(command) for call, command in commands.items()}


def _read_live(path: str) -> bytes:
    """A transcript of a client as it is now; b"" if it is not there."""
    try:
        return transcripts.read_live(path)
    except OSError:
        return b""


def _list_subagents(repo: Repo, session_id: str, calls: set[str]) -> set[str]:
    """The subagents of a session that made some of these calls."""
    agent_ids: set[str] = set()
    if not calls:
        return agent_ids
    for line in journal.read_journal(repo):
        if isinstance(line, Opening) and line.session == session_id and line.call in calls:
            agent_ids.add(line.agent)
    return agent_ids - {""}


def describe_place(point: Point) -> str:
    """The words that follow the message of a point of a worktree that was removed; '' for one of
    this worktree."""
    if not point.worktree:
        return ""
    return f" (in {point.worktree}, which was removed)"


@value_class
class MomentTree:
    """The tree of the worktree at a moment, and the first commit made since, '' for none."""

    tree: str
    commit: str


def read_tree(present: Present, name: str) -> MomentTree:
    """The tree of the worktree before a tool use or a turn, or after it.  name: that of a point.

    Raises Error for one that is not known."""
    moment = Point(name, "")
    since = present.kept_edits.find_since(moment.moment_id, moment.is_after)
    if since is None:
        raise Error(f"no such prompt, edit or command: '{moment.moment_id}'")
    versions: dict[str, Version] = {}
    for line in since.edits:
        versions.setdefault(line.path, line.before)
    tree = edit_tree(present.repo.objects, present.tree, versions)
    return MomentTree(tree, since.commit)


def find_point_tree(present: Present, point: Point) -> str:
    """The tree of the worktree at a point; '' if it has none."""
    if not point.is_moment:
        return point.tree
    if not point.worktree:
        return read_tree(present, point.id).tree
    gone = removed.find_removed(present.repo, point.worktree)
    tree = ""
    if gone:
        tree = removed.build_tree(present.repo, gone, point.moment_id, point.is_after)
    if not tree:
        raise Error(f"no such prompt, edit or command: '{point.moment_id}'")
    return tree


def read_edits(repo: Repo, point: Point) -> KeptEdits:
    """The edits of the worktree of a point."""
    if point.worktree:
        gone = removed.find_removed(repo, point.worktree)
        if gone:
            return KeptEdits(repo, gone.lines)
    return read_kept_edits(repo)


def list_changes(kept: KeptEdits, point: Point) -> dict[str, EditEntries]:
    """path -> its entries before and after a tool use or a turn, for each that it changed."""
    number = 1
    if point.kind == "tool":
        number = 2
    changes: dict[str, EditEntries] = {}
    for line in kept.list_all():
        cause = line.cause
        if not cause[0] or cause[number] != point.moment_id:
            continue
        path = line.path
        before = line.before
        if path in changes:
            before = changes[path].before
        changes[path] = taking_back.EditEntries(before, line.after)
    return {path: one for path, one in sorted(changes.items()) if one.before != one.after}
