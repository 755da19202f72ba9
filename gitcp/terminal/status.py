"""The lines of `gitcp status`: whether it records, sessions at work, streams and reasons."""

from __future__ import annotations

from gitcp.setup.care.findings import format_remedy
from gitcp.text import ids, prompt_text
from gitcp.text.ids import ARCHIVE
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, count_noun, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitcp.text.record_types import Record
    from gitcp.text.spans import Ago, Line

_WAKE = "'gitcp enable' wakes it"
_BEGIN, _BEGIN_ELSEWHERE = "'gitcp enable' installs the hooks", "'gitcp enable' in a worktree of it"
_PHASES = {"active": "green", "idle": "cyan", "ended": "dim"}
# What is said of a session whose agent's process is gone, by its phase.
_DEAD = {"active": ("active, its agent is gone", "red"), "idle": ("ended", "dim")}
_STATUS_PROMPT = 60
_NAMED = 4  # paths of an entry of the stash
_SCREEN = 24  # lines
# How many of each kind are listed; if that is more than a screen, fewer, first of the first kinds.
_LISTED = {"stashes": 5, "streams": 3, "worktrees": 2, "sessions": 4}
_ARCHIVE = ARCHIVE  # of streams that were left


def draw_status(
    status: Record,
    sessions: Sequence[Record],
    streams: Sequence[Record],
    ago: Ago,
    verbose: bool = False,
) -> list[Line]:
    """The lines for the record of type status, sessions and streams, which are records as listed.

    A session has besides prompt, last (seconds since 1970), stream (the ref of its stream here, or
    '') and, if it has work outside its home, open (worktree -> files).  verbose: show all sessions
    and streams, and the last decision about each session's stream; else as many as a screen has
    room for, but three sessions and one of each other kind."""
    if verbose:
        listed = dict.fromkeys(
            _LISTED, len(sessions) + len(streams) + len(status.get("stashes", ()))
        )
        return [*_draw_sections(status, sessions, streams, ago, listed, verbose)]
    listed = {**_LISTED}
    while True:
        lines = [*_draw_sections(status, sessions, streams, ago, listed, verbose)]
        most = max(listed, key=lambda kind: listed[kind] - 2 * (kind == "sessions"))
        if len(lines) <= _SCREEN or listed[most] == 1:
            return lines
        listed[most] -= 1


def _draw_sections(
    status: Record,
    sessions: Sequence[Record],
    streams: Sequence[Record],
    ago: Ago,
    listed: Mapping[str, int],
    verbose: bool,
) -> Iterator[Line]:
    yield _draw_head(status)
    for finding in status.get("findings", ()):
        yield [("  ! ", "red"), (f"{finding['reason']}: {format_remedy(finding)}", "yellow")]
    names = {s["session_id"]: shorten_id(s["session_id"]) for s in sessions}
    at_home = [s for s in sessions if _get_home(s) == status["worktree_id"]]
    here = [s for s in sessions if s in at_home or s.get("open", {}).get(status["worktree_id"])]
    if here:
        yield []
        yield [("Sessions:", "bold")]
        for session in here[: listed["sessions"]]:
            yield from _draw_open_session(
                session, status, names[session["session_id"]], ago, verbose
            )
    elif status["settled"]:
        yield [("no session is running, and all their work is committed", "dim")]
    elif status["state"] == "enabled":
        yield [("no session yet: one begins with the next prompt of an agent", "dim")]
    if more := status["settled"] + len(here[listed["sessions"] :]):
        counted = count_noun(more, "more session" if sessions else "earlier session")
        yield [(f"  {'and ' if sessions else ''}{counted} ('gitcp sessions -a')", "dim")]
    yield from _draw_claims(status.get("claims") or (), names, ago)
    yield from _draw_other_worktrees([s for s in sessions if s not in at_home], listed)
    yield from _draw_streams(status, streams, names, ago, listed, verbose)
    yield from _draw_lost_work(status, names, listed)
    yield from _draw_store(status)


def _draw_head(status: Record) -> Line:
    """Whether and where gitcp records, and what to do."""
    state, branch = status["state"], status["branch"] or "detached HEAD"
    at = f" at {abbreviate(status['head'])}" if status["head"] else ", no commit yet"
    if state == "enabled":
        return [("enabled", "green"), (f", {status['strategy']}, on {branch}{at}", "")]
    remedy = explain_beginning(state, status.get("bare"))
    return [(state, "yellow"), (f", on {branch}{at}: {remedy}", "")]


def explain_beginning(state: str, bare: object = False) -> str:
    """How to begin recording if gitcp is disabled or not set up; bare: there is no worktree."""
    return _WAKE if state == "disabled" else _BEGIN_ELSEWHERE if bare else _BEGIN


def _get_home(session: Record) -> str:
    """Git's name of a session's home worktree, "" for the main one."""
    return session.get("worktree_id") or ""


def _draw_open_session(
    session: Record, status: Record, name: str, ago: Ago, verbose: bool
) -> Iterator[Line]:
    if "unreadable" in session:
        yield [(f"  {name}  ", "yellow"), (f"cannot be read: {session['unreadable']}", "red")]
        return
    yield [
        (f"  {name}  ", "yellow"),
        (f"{session.get('agent_type') or 'Agent'}  ", ""),
        _describe_phase(session),
        (f"  {ago(session['last'])}  {_format_work(session, status)}", ""),
    ]
    if prompt := prompt_text.name_prompt(session["prompt"]):
        yield [("      ", ""), (shorten(prompt, _STATUS_PROMPT), "")]
    if also := session.get("also_in"):
        yield [(f"      also in {', '.join(also)}", "dim")]
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
            (shorten(doing, _STATUS_PROMPT) or "between tool calls", ""),
            (f"  since {ago(claim['created'])}" + (f", process {pid}" if pid else ""), "dim"),
        ]


def _format_work(session: Record, status: Record) -> str:
    """Where the uncommitted files of a session are: here, in other worktrees, or nowhere."""
    here, home = status["worktree_id"], _get_home(session)
    touched = set(session.get("files_touched") or ())
    places = session.get("open", {home: touched})
    files = touched & {*places.get(here, ())}
    outside = sum(len(places[place]) for place in places if place != here)
    parts = [_format_work_here(session, status, files)] if files else []
    if outside:
        counted = f"{outside} more" if files else count_noun(outside, "uncommitted file")
        parts.append(f"{counted} in another worktree")
    if home != here:
        parts.append(f"at home in {session['worktree_path']}")
    return ", ".join(parts if files or outside else ["nothing uncommitted", *parts])


def _format_work_here(session: Record, status: Record, files: set[str]) -> str:
    """Where the uncommitted files of this worktree are: new in this turn, on the session's newest
    stream here, or left beside it."""
    streams = [
        files.intersection(stream["files"])
        for stream in session["streams"]
        if ids.is_in_worktree(stream.get("ref", ""), status["worktree"])
    ]
    ref, uncommitted = session["stream"], count_noun(len(files), "uncommitted file")
    fresh = len(files.difference(*streams)) if session["phase"] == "active" else 0
    if fresh == len(files):
        return f"{uncommitted} of this turn"
    if not streams:
        return f"{uncommitted}, in no checkpoint"
    if not ref:
        return f"{uncommitted}, whose stream is gone"
    if ref.startswith(_ARCHIVE) and not fresh:
        return f"{count_noun(len(files), 'file')} left behind on {ref}"
    newest = len(streams[-1])
    if not newest:
        return f"{uncommitted}, in no checkpoint"
    parts = [f"{count_noun(newest, 'uncommitted file')} on {_shorten_ref(ref)}"]
    if fresh:
        parts.append(f"{fresh} more of this turn")
    older = len(files) - fresh - newest
    if older:
        parts.append(f"{older} more that it has not")
    return ", ".join(parts)


def _draw_other_worktrees(sessions: Sequence[Record], listed: Mapping[str, int]) -> Iterator[Line]:
    places: dict[str, list[Record]] = {}
    for session in sessions:
        places.setdefault(session["worktree_path"], []).append(session)
    if places:
        yield []
        yield [("Other worktrees:", "bold")]
    shown = sorted(places)[: listed["worktrees"]]
    for place in shown:
        active = sum(s["phase"] == "active" for s in places[place])
        more = f", {active} active" if active else ""
        more += ", removed" if places[place][0].get("removed") else ""
        yield [(f"  {place}  {count_noun(len(places[place]), 'session')}{more}", "")]
    if left := len(places) - len(shown):
        yield [(f"  and {count_noun(left, 'more worktree')} ('gitcp status -v')", "dim")]


def _draw_streams(
    status: Record,
    streams: Sequence[Record],
    labels: dict[str, str],
    ago: Ago,
    listed: Mapping[str, int],
    verbose: bool,
) -> Iterator[Line]:
    shown = [s for s in streams if verbose or not s.get("settled")][: listed["streams"]]
    if streams:
        yield []
        yield [("Streams:", "bold")]
    for stream in shown:
        yield _draw_stream(stream, labels, status["worktree"], ago)
    if left := status["more_streams"] + len(streams) - len(shown):
        more = f"and {count_noun(left, 'more stream')}"
        counted = more if shown else count_noun(left, "settled stream")
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


def _draw_lost_work(
    status: Record, labels: dict[str, str], listed: Mapping[str, int]
) -> Iterator[Line]:
    """Work that a stash holds, and links that could be found again."""
    relinkable = status.get("relinkable")
    entries = status.get("stashes") or ()
    if relinkable or entries:
        yield []
    shown = entries[: listed["stashes"]]
    for entry in shown:
        names = [labels.get(name) or shorten(name, 13) for name in entry["sessions"]]
        yield _draw_entry(entry, names)
    left = entries[len(shown) :]
    if left:
        sessions = {name for entry in left for name in entry["sessions"]}
        work = f", with work of {count_noun(len(sessions), 'session')}" if sessions else ""
        yield [(f"and {len(left)} more in the stash{work}", "")]
    if relinkable:
        links = count_noun(relinkable, "link")
        yield [(f"{links} could be found again ('gitcp relink')", "yellow")]


def _draw_entry(entry: Record, owners: Sequence[str]) -> Line:
    """An entry of `git stash`: whose it is, its files, and the sessions that left work in it."""
    who = f"{shorten_id(entry['session_id'])} '{shorten(entry['prompt'], 40)}'"
    who = who.removesuffix(" ''") if entry["session_id"] else "by hand"
    paths = entry["paths"]
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    files = ", ".join(paths[:_NAMED]) + more
    work = f"; work of {' '.join(owners)}" if owners else ""
    return [
        (f"{entry['stash']} ", ""),
        (entry["oid"][:12], "yellow"),
        (f" {who}: {files}{work}", ""),
    ]


def _draw_store(status: Record) -> Iterator[Line]:
    """The places that checkpoints go to, and the number of those not yet sent."""
    name = status.get("destination", "")
    remote = status.get("remote")
    to = f"'gitcp push --to {remote or '<remote>'}'"
    lines = [_describe_place(place) for place in status.get("places", ())]
    if lines and status.get("remote_url"):
        url = status["remote_url"]
        lines.append((f"none go to '{remote}' ({url}): {to} sends them there, too", "dim"))
    if name == "none":
        lines.append(("checkpoints stay here (gitcp.remote is none)", "dim"))
    elif name:
        wrong = f"gitcp.remote names '{name}', which is not a remote ({to} names another)"
        lines.append((wrong, "yellow"))
    elif remote and not lines:
        lines.append((f"checkpoints stay here ({to} sends them)", "dim"))
    if lines:
        yield []
    for line in lines:
        yield [line]


def _describe_place(place: Record) -> tuple[str, str]:
    label, url = place["label"], place["url"]
    line = f"checkpoints go to '{label}'"
    if label != url:
        line += f" ({url})"
    if place.get("each_push"):
        line += " at each push"
    if place.get("unpushed"):
        lacks = f"lacks {count_noun(place['unpushed'], 'checkpoint')} ('gitcp push')"
        return f"{line}, which {lacks}", "yellow"
    if "unpushed" in place:
        line += ", which has all of them"
    return line, "dim"


def _shorten_ref(ref: str) -> str:
    return ref.removeprefix("refs/heads/")
