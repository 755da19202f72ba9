"""Draw the lines of `gitcp status`: whether it records, sessions at work, streams and reasons."""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.core.render.spans import count_noun, shorten, shorten_ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Record
    from gitcp.core.render.spans import Ago, Line


_WAKE = "'gitcp enable' wakes it"
_BEGIN, _BEGIN_ELSEWHERE = "'gitcp enable' installs the hooks", "'gitcp enable' in a worktree of it"
_PHASES = {"active": "green", "idle": "cyan", "ended": "dim"}
# What is said of a session whose agent's process is gone, by its phase.
_DEAD = {"active": ("active, its agent is gone", "red"), "idle": ("ended", "dim")}
_PROMPT = 60
_SESSIONS, _STREAMS, _PLACES = 4, 3, 2  # those that a screen of 24 lines has room for
_ARCHIVE = "refs/gitcp/archive/"  # of streams that were left


def draw_status(
    about: Record,
    sessions: Sequence[Record],
    streams: Sequence[Record],
    ago: Ago,
    verbose: bool = False,
) -> Iterator[Line]:
    """The lines for the record of type status, sessions and streams, which are records as listed.

    A session has besides prompt, last (seconds since 1970), stream (the ref of its stream here, or
    '') and, if it has work outside its home, open (worktree -> files).  verbose: show all sessions
    and streams, and the last decision about each session's stream."""
    yield _draw_head(about)
    for finding in about.get("findings", ()):
        yield [("  ! ", "red"), (f"{finding['reason']}: {format_remedy(finding)}", "yellow")]
    names = shorten_ids([s["session_id"] for s in sessions])
    at_home = [s for s in sessions if _get_home(s) == about["worktree_id"]]
    here = [s for s in sessions if s in at_home or s.get("open", {}).get(about["worktree_id"])]
    if here:
        yield []
        yield [("Sessions:", "bold")]
        for session in here if verbose else here[:_SESSIONS]:
            yield from _draw_session(session, about, names[session["session_id"]], ago, verbose)
    elif about["settled"]:
        yield [("no session is at work here, or has work that no commit holds", "dim")]
    elif about["state"] == "enabled":
        yield [("no session yet: one begins with the next prompt of an agent", "dim")]
    if more := about["settled"] + (0 if verbose else len(here[_SESSIONS:])):
        counted = count_noun(more, "more session" if sessions else "earlier session")
        yield [(f"  {'and ' if sessions else ''}{counted} (gitcp list-sessions)", "dim")]
    yield from _draw_claims(about.get("claims") or (), names, ago)
    yield from _draw_other_worktrees([s for s in sessions if s not in at_home], verbose)
    yield from _draw_streams(about, streams, names, ago, verbose)
    yield from _draw_lost_work(about, names)
    yield from _draw_store(about)


def _draw_head(about: Record) -> Line:
    """Whether and where gitcp records, and what to do."""
    state, branch = about["state"], about["branch"] or "detached HEAD"
    at = f" at {about['head'][:7]}" if about["head"] else ", no commit yet"
    if state == "enabled":
        return [("enabled", "green"), (f", {about['strategy']}, on {branch}{at}", "")]
    remedy = explain_beginning(state, about.get("bare"))
    return [(state, "yellow"), (f", on {branch}{at}: {remedy}", "")]


def explain_beginning(state: str, bare: object = False) -> str:
    """How to begin recording if gitcp is disabled or not set up; bare: there is no worktree."""
    return _WAKE if state == "disabled" else _BEGIN_ELSEWHERE if bare else _BEGIN


def format_remedy(finding: Record) -> str:
    """The remedy of a finding: a quoted command, or a sentence."""
    remedy = str(finding["remedy"])
    return f"'{remedy}'" if remedy.startswith("gitcp ") else remedy


def _get_home(session: Record) -> str:
    """Git's name of a session's home worktree, "" for the main one."""
    return session.get("worktree_id") or ""


def _draw_session(
    session: Record, about: Record, name: str, ago: Ago, verbose: bool
) -> Iterator[Line]:
    if "unreadable" in session:
        yield [(f"  {name}  ", "yellow"), (f"cannot be read: {session['unreadable']}", "red")]
        return
    yield [
        (f"  {name}  ", "yellow"),
        (f"{session.get('agent_type') or 'Agent'}  ", ""),
        _describe_phase(session),
        (f"  {ago(session['last'])}  {_format_work(session, about)}", ""),
    ]
    if session["prompt"]:
        yield [("      ", ""), (shorten(session["prompt"], _PROMPT), "")]
    verdict = session.get("last_verdict") if verbose else None
    if isinstance(verdict, dict) and verdict.get("reason") and verdict.get("verdict") != "none":
        yield [(f"      {verdict.get('verdict', '')}: {verdict['reason']}", "dim")]


def _describe_phase(session: Record) -> tuple[str, str]:
    phase = session["phase"]
    usual = (phase, _PHASES.get(phase, ""))
    return _DEAD.get(phase, usual) if session.get("dead") else usual


def _draw_claims(claims: Sequence[Record], labels: dict[str, str], ago: Ago) -> Iterator[Line]:
    """The sessions in a turn whose agent runs, with their claims and times."""
    if claims:
        yield []
        yield [("At work now:", "bold")]
    for claim in claims:
        session_id = claim["session_id"]
        doing = " ".join(word for word in (claim["tool"], claim["path"]) if word)
        pid = (claim.get("process") or {}).get("pid")
        yield [
            (f"  {labels.get(session_id) or shorten(session_id, 13)}  ", "yellow"),
            (shorten(doing, _PROMPT) or "between tool calls", ""),
            (f"  since {ago(claim['created'])}" + (f", process {pid}" if pid else ""), "dim"),
        ]


def _format_work(session: Record, about: Record) -> str:
    """Where the uncommitted files of a session are: here, in other worktrees, or nowhere."""
    here, home = about["worktree_id"], _get_home(session)
    touched = set(session.get("files_touched") or ())
    places = session.get("open", {home: touched})
    files = touched & {*places.get(here, ())}
    outside = sum(len(places[place]) for place in places if place != here)
    parts = [_format_work_here(session, about, files)] if files else []
    if outside:
        counted = f"{outside} more" if files else count_noun(outside, "uncommitted file")
        parts.append(f"{counted} in another worktree")
    if home != here:
        parts.append(f"at home in {session['worktree_path']}")
    return ", ".join(parts if files or outside else ["nothing uncommitted", *parts])


def _format_work_here(session: Record, about: Record, files: set[str]) -> str:
    """Where the uncommitted files of this worktree are: new in this turn, on the session's newest
    stream here, or left beside it."""
    streams = [
        files.intersection(stream["files"])
        for stream in session["streams"]
        if ids.is_in_worktree(stream.get("ref", ""), about["worktree"])
    ]
    ref, uncommitted = session["stream"], count_noun(len(files), "uncommitted file")
    fresh = len(files.difference(*streams)) if session["phase"] == "active" else 0
    if fresh == len(files):
        return f"{uncommitted} of this turn"
    if not streams:
        return f"{uncommitted}, which no checkpoint has"
    if not ref:
        return f"{uncommitted}, whose stream is gone"
    if ref.startswith(_ARCHIVE) and not fresh:
        return f"{count_noun(len(files), 'file')} left behind on {ref}"
    newest = len(streams[-1])
    parts = [f"{count_noun(newest, 'uncommitted file')} on {_shorten_ref(ref)}"]
    if fresh:
        parts.append(f"{fresh} more of this turn")
    if left := len(files) - fresh - newest:
        parts.append(f"{left} more stashed or left behind")
    return ", ".join(parts)


def _draw_other_worktrees(sessions: Sequence[Record], verbose: bool) -> Iterator[Line]:
    places: dict[str, list[Record]] = {}
    for session in sessions:
        places.setdefault(session["worktree_path"], []).append(session)
    if places:
        yield []
        yield [("Other worktrees:", "bold")]
    listed = sorted(places) if verbose else sorted(places)[:_PLACES]
    for place in listed:
        active = sum(s["phase"] == "active" for s in places[place])
        more = f", {active} active" if active else ""
        more += ", removed" if places[place][0].get("removed") else ""
        yield [(f"  {place}  {count_noun(len(places[place]), 'session')}{more}", "")]
    if left := len(places) - len(listed):
        yield [(f"  and {count_noun(left, 'more worktree')} ('gitcp status -v')", "dim")]


def _draw_streams(
    about: Record, streams: Sequence[Record], labels: dict[str, str], ago: Ago, verbose: bool
) -> Iterator[Line]:
    listed = streams if verbose else [s for s in streams if not s.get("settled")][:_STREAMS]
    if streams:
        yield []
        yield [("Streams:", "bold")]
    for stream in listed:
        yield _draw_stream(stream, labels, about["worktree"], ago)
    if left := about["more_streams"] + len(streams) - len(listed):
        more = f"and {count_noun(left, 'more stream')}"
        counted = more if listed else count_noun(left, "settled stream")
        how = "gitcp list-streams; 'gitcp clean' removes expired ones"
        yield [(f"  {counted} ({how})", "dim")]


def _draw_stream(stream: Record, labels: dict[str, str], worktree: str, ago: Ago) -> Line:
    who = " ".join(labels.get(s) or shorten(s, 13) for s in stream["sessions"])
    other = "" if stream["worktree"] in ("", worktree) else "  (another worktree)"
    held = count_noun(stream["checkpoints"], "checkpoint")
    held += f", {count_noun(len(stream['files']), 'file')}"
    kind = "settled" if stream.get("settled") else stream["kind"]
    colour = {"live": "green", "suffix": "cyan"}.get(kind, "dim")
    return [
        (f"  {kind:8}  ", colour),
        (f"{_shorten_ref(stream['ref'])}  {held}, {ago(stream['time'])}  ", ""),
        (who, "yellow"),
        (other, "dim"),
    ]


def _draw_lost_work(about: Record, labels: dict[str, str]) -> Iterator[Line]:
    """Work that a stash holds, and links that could be found again."""
    stashed, relinkable = about.get("stashed") or (), about.get("relinkable")
    if stashed or relinkable:
        yield []
    for lost in stashed:
        name = labels.get(lost["session_id"]) or shorten(lost["session_id"], 13)
        where = f" is in {lost['stash']}; {_shorten_ref(lost['ref'])} keeps its checkpoints"
        yield [("work of ", ""), (name, "yellow"), (where, "")]
    if relinkable:
        links = count_noun(relinkable, "link")
        yield [(f"{links} could be found again ('gitcp relink')", "yellow")]


def _draw_store(about: Record) -> Iterator[Line]:
    """The destination of checkpoints, and the number of those not yet sent."""
    name, remote = about.get("destination", ""), about.get("remote")
    to = f"'gitcp push --to {remote or '<remote>'}'"
    if about.get("reachable") and about["unpushed"]:
        lacks = f"lacks {count_noun(about['unpushed'], 'checkpoint')} ('gitcp push')"
        line = f"checkpoints go to '{name}', which {lacks}", "yellow"
    elif about.get("reachable"):
        line = f"checkpoints go to '{name}', which has all of them", "dim"
    elif name == "none":
        line = "checkpoints stay here (gitcp.remote is none)", "dim"
    elif name:
        line = f"gitcp.remote names '{name}', which is no remote ({to} names another)", "yellow"
    elif remote:
        line = f"checkpoints stay here ({to} sends them)", "dim"
    else:
        return
    yield []
    yield [line]


def _shorten_ref(ref: str) -> str:
    return ref.removeprefix("refs/heads/")
