"""The windows of a look: the calls that could have written, and the time when each ended.

A call ends with its event, else by its transcript, else at its session's next prompt or Stop,
else with the agent's process (doc/credit.md "Evidence").
"""

from __future__ import annotations

import os

from gitcp.agents import find_client
from gitcp.checkpoints import transcripts
from gitcp.git import files
from gitcp.record import session
from gitcp.record.journal import credit, get_home, read_journal
from gitcp.record.session import locate_auto

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from gitcp.git.repo import Repo
    from gitcp.record.journal import Journal
    from gitcp.record.journal.credit import Window
    from gitcp.text.record_types import JournalLine, Marker, Version, Writer

_TAIL = 1 << 18  # bytes of a transcript that are searched for the end of a call


def list_windows(journal: Journal) -> list[Window]:
    """The windows that can explain the changes that a look finds now."""
    repo = journal.repo
    lines = journal.lines
    calls = credit.list_calls(lines)
    calling = {call["session"] for call in calls if call["end"] is None}
    concerned = session.read_concerned(repo, calling)
    sessions = {m["session_id"]: m for m in concerned if session.is_home(repo, m)}
    if journal.acting:
        sessions[journal.acting["session_id"]] = journal.acting
    callers = {m["session_id"]: m for m in concerned if m["session_id"] in calling} | sessions
    own_calls = [call for call in calls if call.get("kind") != credit.ELSEWHERE]
    windows = _list_call_windows(repo, own_calls, callers, journal.telling, journal.committers)
    for window in windows:
        window["closing"] = window["who"][2] == journal.closing
    for marker in sessions.values():
        if marker["phase"] == "active":
            telling = marker["session_id"] == journal.telling
            naming = journal.naming if telling else None
            windows += _list_turn_windows(repo, marker, lines, calls, naming)
    for marker in journal.visitors:
        git_dir = get_home(repo, marker)
        home_lines = read_journal(repo, git_dir)
        home_calls = credit.list_calls(home_lines)
        windows += _list_call_windows(repo, home_calls, {marker["session_id"]: marker})
        windows += _list_turn_windows(repo, marker, home_lines, (), None, git_dir)
    for marker in journal.guests:
        turn = _list_turn_windows(repo, marker, [], (), None, get_home(repo, marker))
        windows += [window for window in turn if window["kind"] == credit.TRANSCRIPT]
    return windows


def _list_call_windows(
    repo: Repo,
    calls: list[JournalLine],
    sessions: dict[str, Marker],
    telling: str = "",
    committers: Collection[str] | None = None,
) -> list[Window]:
    """The windows of the calls that are not file tools'.  telling, committers: as Journal has
    them."""
    windows: list[Window] = []
    for call in (call for call in calls if call.get("kind") != "write"):
        marker = sessions.get(call["session"])
        ended, cut = _find_end(repo, call, marker)
        if cut and ended is not None and _outlives_its_agent(repo, call):
            # What the person makes beside it is as that beside a server (doc/credit.md).
            beside = _build_window(call, None)
            beside["left"] = ended
            windows.append(beside)
            continue
        waits = ended is None and committers is not None and call["session"] not in committers
        waits = waits and _is_waiting(repo, call, marker)
        if waits and marker and find_client(marker["agent_type"]).SESSION_ENV:
            continue
        windows.append(_build_window(call, ended))
        if waits:
            windows[-1]["kind"] = credit.WAITING
        late = call["late"] and ended is None and call["session"] != telling
        if late and _is_over(repo, call, marker):
            windows[-1]["kind"] = credit.CUT
        if cut:
            windows.append({**windows[-1], "kind": credit.CUT})
    return windows


def _build_window(call: JournalLine, ended: int | None) -> Window:
    return {
        "who": (call["session"], str(call.get("turn", "")), str(call["open"])),
        "opened": int(call["at"]),
        "begin": int(call["begin"]),
        "end": ended,
        "names": call["names"],
        "late": call["late"],
        "left": call["left"],
        "kind": "shell",
        "stashes": call.get("stashes", ()) if "stash" in call["names"] else (),
    }


def _find_end(repo: Repo, call: JournalLine, marker: Marker | None) -> tuple[int | None, bool]:
    """(when a call ended, in ns, None if it still runs; whether it was cut short with its agent:
    then it may have run on)."""
    if call["end"] is not None:
        return int(call["end"]), False
    from gitcp.agents.transcripts import transcript_facts

    tail = _read_tail(call.get("transcript"))
    call_key = str(call["open"]), int(call["at"]), bool(call["goes_on"])
    ended = transcript_facts.find_end(tail, *call_key)
    if ended is not None:
        return ended + 1_000_000, False  # a transcript has milliseconds
    if call["goes_on"]:
        return None, False
    agent = marker.get("agent_process") if marker else None
    if not session.is_gone(agent):
        return None, False
    return max(int(call["at"]), transcript_facts.find_last_time(tail) or 0), True


def _outlives_its_agent(repo: Repo, call: JournalLine) -> bool:
    """Whether a process of a call is seen, whose agent is gone."""
    from gitcp.record.session import process

    return process.has_working_process(repo.worktree, call["session"])


def _is_waiting(repo: Repo, call: JournalLine, marker: Marker | None) -> bool:
    """Whether an open call of a shell has no process: its client asks the person for a permission.

    The commands of an editor may run beside its agent, unseen, unless they name their session."""
    agent = marker.get("agent_process") if marker else None

    from gitcp.record.session import process

    if call.get("kind") != credit.SHELL or call["goes_on"] or not process.is_alive(agent):
        return False
    since = int(call["at"])
    return session.can_see_processes() and not (
        process.has_started(agent, since)
        or process.has_working_process(repo.worktree, call["session"], agent, since)
    )


def _is_over(repo: Repo, call: JournalLine, marker: Marker | None) -> bool:
    """Whether no process is left of a call that ran on past its turn; False if unknown."""
    agent = marker.get("agent_process") if marker else None
    arguments = repo.worktree, call["session"], agent, int(call["at"])

    from gitcp.record.session import process

    return session.can_see_processes() and not process.has_working_process(*arguments)


def _read_tail(path: str | None) -> bytes:
    return files.peek(path or "", -_TAIL)


def _list_turn_windows(
    repo: Repo,
    marker: Marker,
    lines: list[JournalLine],
    calls: Iterable[JournalLine],
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

        ended = max(
            since, transcript_facts.find_last_time(_read_tail(baseline.get("transcript"))) or 0
        )
    common: dict[str, Any] = {"who": writer, "opened": since, "begin": since, "end": ended}
    written = _list_uncommitted_paths(repo, marker, baseline, lines)
    written -= _list_tool_paths(lines, marker["session_id"], since) | (naming or set())
    windows = _list_tool_windows(repo, marker, calls, baseline)
    if written:
        windows.append({**common, "names": written, "late": False, "kind": "transcript"})  # type: ignore[typeddict-item]
    is_silent = not marker["tool_events"] and naming is None
    if is_silent and not _is_only_talk(marker["agent_type"], baseline):
        windows.append({**common, "names": (), "late": False, "kind": "turn"})  # type: ignore[typeddict-item]
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
    repo: Repo, marker: Marker, calls: Iterable[JournalLine], baseline: session.Baseline
) -> list[Window]:
    """The running turn's file tools that have not ended: each may have written its paths."""
    session_id = marker["session_id"]
    since = int(baseline.get("at") or baseline["time_ns"])
    windows: list[Window] = []
    for call in calls:
        is_of_turn = call["session"] == session_id and call["at"] >= since
        if is_of_turn and "looked" in call and call["end"] is None:
            named = {**call, "names": call["looked"], "transcript": baseline.get("transcript")}
            ended, cut = _find_end(repo, named, marker)
            windows.append({**_build_window(named, ended), "kind": "tool"})
            if cut:
                windows[-1]["writes"] = call.get("writes", {})
    return windows


def _list_tool_paths(lines: list[JournalLine], session_id: str, since: int) -> set[str]:
    """The paths that the session's tool events have named since the turn began."""
    calls = (line for line in lines if line.get("session") == session_id and "looked" in line)
    found: set[str] = set()
    for call in calls:
        if int(call["at"]) >= since:
            for path in call["looked"]:
                found.add(path)
    return found


def _list_uncommitted_paths(
    repo: Repo, marker: Marker, baseline: session.Baseline, lines: list[JournalLine]
) -> set[str]:
    """The paths that the transcript says were written since the turn began, or since the commit
    that took them."""
    paths = _list_written_paths(repo, marker, baseline, int(baseline.get("offset", 0)))
    if paths:
        for line in lines:
            end = line.get("transcripts", {}).get(marker["session_id"])
            if end and end["turn"] == baseline.get("turn"):
                committed = paths.intersection(line.get("settled", ()))
                paths -= committed - (
                    _list_written_paths(repo, marker, baseline, end["size"])
                    if committed
                    else committed
                )
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

    commit_intent = others.read_intent(repo)
    return commit_intent["entries"] if commit_intent else {}


def is_made_by_hook(
    judged: Mapping[str, Version], lines: list[JournalLine], path: str, before: Version
) -> bool:
    """Whether a change of a path, from this entry, is by the hooks that run on an auto-commit: the
    entry is the commit's, or a hook's."""
    from gitcp.record.journal import credit

    if path not in judged:
        return False
    if judged[path] == before:
        return True
    edits = credit.trace_content(credit.list_edits(lines), path)
    return bool(edits and edits[-1]["how"] == credit.HOOK)
