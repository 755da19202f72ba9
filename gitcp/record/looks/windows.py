"""The windows of a look: the calls that could have written, and the time when each ended.

A call ends with its event, else by its transcript, else at its session's next prompt or Stop,
else with the agent's process (doc/credit.md "Evidence").
"""

from __future__ import annotations

import os

from gitcp.agents import find_client
from gitcp.checkpoints import transcripts
from gitcp.errors import Error
from gitcp.git import files
from gitcp.record import session
from gitcp.record.journal import credit, get_home, read_journal
from gitcp.record.journal.line_kinds import Opening, Settlement
from gitcp.record.looks.credit_cases import Window
from gitcp.record.session import locate_auto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.journal import Journal
    from gitcp.record.journal.credit import OpenedCall
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import Marker, Version, Writer

_TAIL = 1 << 18  # bytes of a transcript that are searched for the end of a call


def list_windows(journal: Journal) -> list[Window]:
    """The windows that can explain the changes that a look finds now."""
    repo = journal.repo
    lines = journal.lines
    calls = credit.list_calls(lines)
    calling = {call.session for call in calls if call.is_running}
    concerned = session.read_concerned(repo, calling)
    sessions = {m["session_id"]: m for m in concerned if session.is_home(repo, m)}
    if journal.acting:
        sessions[journal.acting["session_id"]] = journal.acting
    callers = {m["session_id"]: m for m in concerned if m["session_id"] in calling} | sessions
    found = _CallWindows(repo, callers, journal.telling, journal.closing, journal.committers)
    windows: list[Window] = []
    for call in calls:
        if call.opening.kind != credit.ELSEWHERE:
            windows += found.list_of(call)
    for marker in sessions.values():
        if marker["phase"] == "active":
            is_telling = marker["session_id"] == journal.telling
            naming = journal.naming if is_telling else None
            windows += _list_turn_windows(repo, marker, lines, calls, naming)
    for marker in journal.visitors:
        git_dir = get_home(repo, marker)
        home_lines = read_journal(repo, git_dir)
        found = _CallWindows(repo, {marker["session_id"]: marker})
        for call in credit.list_calls(home_lines):
            windows += found.list_of(call)
        windows += _list_turn_windows(repo, marker, home_lines, (), None, git_dir)
    for marker in journal.guests:
        turn = _list_turn_windows(repo, marker, [], (), None, get_home(repo, marker))
        windows += [window for window in turn if window.kind == credit.TRANSCRIPT]
    return windows


class _CallEnd:
    """When a call ended, in ns; None if it still runs.  is_cut: it was cut short with its agent:
    then it may have run on."""

    __slots__ = ("at", "is_cut")

    def __init__(self, at: int | None, is_cut: bool) -> None:
        self.at = at
        self.is_cut = is_cut


class _CallWindows:
    """The windows of calls.

    sessions: the markers of their sessions, by id.  telling, closing, committers: as Journal has
    them.
    """

    def __init__(
        self,
        repo: Repo,
        sessions: Mapping[str, Marker],
        telling: str = "",
        closing: str = "",
        committers: Collection[str] | None = None,
    ) -> None:
        self._repo = repo
        self._sessions = sessions
        self._telling = telling
        self._closing = closing
        self._committers = committers

    def list_of(self, call: OpenedCall) -> list[Window]:
        """The windows of a call that is not a file tool's."""
        if call.opening.kind == "write":
            return []
        marker = self._sessions.get(call.session)
        ended = _find_end(call, marker)
        is_closing = call.opening.call == self._closing
        if ended.is_cut and ended.at is not None and _outlives_its_agent(self._repo, call):
            # What the person makes beside it is as that beside a server (doc/credit.md).
            return [_build_window(call, credit.SHELL, None, left=ended.at, is_closing=is_closing)]
        kind = credit.SHELL
        if self._waits(call, marker, ended):
            if marker and find_client(marker["agent_type"]).SESSION_ENV:
                return []
            kind = credit.WAITING
        is_late = call.is_late and ended.at is None and call.session != self._telling
        if is_late and _is_over(self._repo, call, marker):
            kind = credit.CUT
        kinds = [kind]
        if ended.is_cut:
            kinds.append(credit.CUT)
        return [_build_window(call, each, ended.at, is_closing=is_closing) for each in kinds]

    def _waits(self, call: OpenedCall, marker: Marker | None, ended: _CallEnd) -> bool:
        """Whether a call waits for a permission while another session makes a commit."""
        if ended.at is not None or self._committers is None or call.session in self._committers:
            return False
        return _is_waiting(self._repo, call, marker)


def _build_window(
    call: OpenedCall,
    kind: str,
    ended: int | None,
    *,
    left: int | None = None,
    is_closing: bool = False,
) -> Window:
    """The window of a call; left: by default as the call has it."""
    opening = call.opening
    stashes: Sequence[str] = ()
    if "stash" in call.names:
        stashes = opening.stashes or ()
    return Window(
        (call.session, opening.turn, opening.call),
        kind,
        opened=opening.at,
        begin=call.begin,
        end=ended,
        names=call.names,
        is_late=call.is_late,
        left=call.left if left is None else left,
        is_closing=is_closing,
        stashes=stashes,
    )


def _find_end(call: OpenedCall, marker: Marker | None, transcript: str | None = None) -> _CallEnd:
    """The end of a call.  transcript: by default that which its opening names."""
    if call.end is not None:
        return _CallEnd(call.end, is_cut=False)
    from gitcp.agents.transcripts import transcript_facts

    opening = call.opening
    tail = _read_tail(transcript or opening.transcript)
    ended = transcript_facts.find_end(tail, opening.call, opening.at, bool(call.goes_on))
    if ended is not None:
        return _CallEnd(ended + 1_000_000, is_cut=False)  # a transcript has milliseconds
    agent = marker.get("agent_process") if marker else None
    if call.goes_on or not session.is_gone(agent):
        return _CallEnd(None, is_cut=False)
    return _CallEnd(max(opening.at, transcript_facts.find_last_time(tail) or 0), is_cut=True)


def _outlives_its_agent(repo: Repo, call: OpenedCall) -> bool:
    """Whether a process of a call is seen, whose agent is gone."""
    from gitcp.record.session import process

    return process.has_working_process(repo.worktree, call.session)


def _is_waiting(repo: Repo, call: OpenedCall, marker: Marker | None) -> bool:
    """Whether an open call of a shell has no process: its client asks the person for a permission.

    The commands of an editor may run beside its agent, unseen, unless they name their session."""
    agent = marker.get("agent_process") if marker else None

    from gitcp.record.session import process

    if call.opening.kind != credit.SHELL or call.goes_on or not process.is_alive(agent):
        return False
    if not session.can_see_processes():
        return False
    since = call.opening.at
    if process.has_started(agent, since):
        return False
    return not process.has_working_process(repo.worktree, call.session, agent, since)


def _is_over(repo: Repo, call: OpenedCall, marker: Marker | None) -> bool:
    """Whether no process is left of a call that ran on past its turn; False if unknown."""
    agent = marker.get("agent_process") if marker else None

    from gitcp.record.session import process

    if not session.can_see_processes():
        return False
    return not process.has_working_process(repo.worktree, call.session, agent, call.opening.at)


def _read_tail(path: str | None) -> bytes:
    return files.peek(path or "", -_TAIL)


def _list_turn_windows(
    repo: Repo,
    marker: Marker,
    lines: list[JournalLine],
    calls: Iterable[OpenedCall],
    naming: frozenset[str] | None,
    git_dir: str | None = None,
) -> list[Window]:
    """The windows of a running turn: the paths that its transcript says were written, its open
    file tools, and the whole turn if its client reports no tools and may have used some.

    calls: those of this worktree, for a session at home here.  naming: the paths named by the tool
    that is being reported; None without one.
    """
    baseline = session.read_baseline(repo, marker["session_id"], git_dir)
    if baseline is None:
        return []
    writer: Writer = (marker["session_id"], str(baseline.get("turn", "")), "")
    since = int(baseline.get("at") or baseline["time_ns"])
    agent = marker.get("agent_process")
    ended = None
    if session.is_gone(agent):
        from gitcp.agents.transcripts import transcript_facts

        tail = _read_tail(baseline.get("transcript"))
        ended = max(since, transcript_facts.find_last_time(tail) or 0)
    written = _list_uncommitted_paths(repo, marker, baseline, lines)
    written -= _list_tool_paths(lines, marker["session_id"], since) | (naming or set())
    windows = _list_tool_windows(marker, calls, baseline)

    def add_window(kind: str, names: Collection[str]) -> None:
        windows.append(Window(writer, kind, opened=since, begin=since, end=ended, names=names))

    if written:
        add_window(credit.TRANSCRIPT, written)
    is_silent = not marker["tool_events"] and naming is None
    if is_silent and not _is_only_talk(marker["agent_type"], baseline):
        add_window(credit.TURN, ())
    return windows


def _is_only_talk(agent_type: str, baseline: session.Baseline) -> bool:
    """Whether a turn has no call of a tool that may write: its client reports those, and its
    transcript has something else of the turn."""
    client = find_client(agent_type)
    if "tool-end" not in client.EVENTS.values() or not client.get_reader():
        return False
    start = int(baseline.get("offset", 0))
    try:
        data = transcripts.read_live(baseline.get("transcript") or "", start)
    except (OSError, ValueError):
        return False

    from gitcp.agents.reading.items import list_items

    items = [*list_items(data)]
    tools = {item["name"] for item in items if item["kind"] == "call"}
    return bool(items) and all(client.KINDS.get(name) in ("read", "todo") for name in tools)


def _list_tool_windows(
    marker: Marker, calls: Iterable[OpenedCall], baseline: session.Baseline
) -> list[Window]:
    """The running turn's file tools that have not ended: each may have written its paths."""
    since = int(baseline.get("at") or baseline["time_ns"])
    windows: list[Window] = []
    for call in calls:
        opening = call.opening
        if call.session != marker["session_id"] or opening.at < since:
            continue
        if not opening.is_of_file_tool or not call.is_running:
            continue
        ended = _find_end(call, marker, baseline.get("transcript"))
        windows.append(
            Window(
                (call.session, opening.turn, opening.call),
                credit.TOOL,
                opened=opening.at,
                begin=call.begin,
                end=ended.at,
                names=opening.looked.keys(),
                is_late=call.is_late,
                left=call.left,
                writes=opening.writes if ended.is_cut else None,
            )
        )
    return windows


def _list_tool_paths(lines: list[JournalLine], session_id: str, since: int) -> set[str]:
    """The paths that the session's tool events have named since the turn began."""
    found: set[str] = set()
    for line in lines:
        if isinstance(line, Opening) and line.session == session_id and line.at >= since:
            found |= line.looked.keys()
    return found


def _list_uncommitted_paths(
    repo: Repo, marker: Marker, baseline: session.Baseline, lines: list[JournalLine]
) -> set[str]:
    """The paths that the transcript says were written since the turn began, or since the commit
    that took them."""
    paths = _list_written_paths(repo, marker, baseline, int(baseline.get("offset", 0)))
    if not paths:
        return paths
    for line in lines:
        if not isinstance(line, Settlement):
            continue
        end = line.transcripts.get(marker["session_id"])
        if end and end["turn"] == baseline.get("turn"):
            committed = paths.intersection(line.settled)
            if committed:
                paths -= committed - _list_written_paths(repo, marker, baseline, end["size"])
    return paths


def _list_written_paths(
    repo: Repo, marker: Marker, baseline: session.Baseline, offset: int
) -> set[str]:
    """The paths of this worktree that the transcript, from a byte on, says were written."""
    return set(
        session.resolve_paths(repo, list_transcript_paths(marker["agent_type"], baseline, offset))
    )


def list_transcript_paths(agent_type: str, baseline: session.Baseline, offset: int) -> list[str]:
    """The paths, as the agent named them, that a turn's transcript, from a byte on, says were
    written."""
    try:
        data = transcripts.read_live(baseline.get("transcript") or "", offset)
        scan = None
        if data:
            scan = find_client(agent_type).scan(data)
    except (OSError, ValueError):
        return []
    return scan["written"] if scan else []


def read_judged_files(repo: Repo) -> Mapping[str, Version]:
    """path -> entry of an auto-commit while the repository's hooks run on it; {} otherwise."""
    if not os.path.exists(locate_auto(repo)):
        return {}

    from gitcp.record.session import others

    try:
        commit_intent = others.read_intent(repo)
    except Error:
        return {}  # the next event sets it aside
    return commit_intent["entries"] if commit_intent else {}


def is_made_by_hook(
    judged: Mapping[str, Version], lines: list[JournalLine], path: str, before: Version
) -> bool:
    """Whether a change of a path, from this entry, is by the hooks that run on an auto-commit: the
    entry is the commit's, or a hook's."""
    if path not in judged:
        return False
    if judged[path] == before:
        return True
    edits = credit.trace_content(credit.list_edits(lines), path)
    return bool(edits) and edits[-1].how == credit.HOOK
