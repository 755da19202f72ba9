"""The lines of `gitcp status`: whether it records, who is at work, what is not committed."""

from __future__ import annotations

from gitcp.terminal.rows import (
    ENDED,
    ID,
    INDENT,
    NO_LIMIT,
    STOPPED,
    ScreenRow,
    draw_below,
    draw_row,
    list_paths,
    name_state,
    shorten_path,
)
from gitcp.text import ids, prompt_text, value_class
from gitcp.text.ids import ARCHIVE
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, count_cells, count_noun, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.setup.care.sentences import Cause
    from gitcp.text.record_types import Record
    from gitcp.text.spans import Ago, Line

_WAKE = "'gitcp enable' wakes it"
_BEGIN = "'gitcp enable' begins"
_BEGIN_ELSEWHERE = "'gitcp enable' in a worktree of it begins"
_END = "'gitcp doctor --fix' ends it"
_ALL = "'gitcp sessions -a'"
_AGENTS = 3  # that are named
SCREEN = 24  # lines
_ARCHIVE = ARCHIVE  # of streams that were left


@value_class
class _Room:
    """How many of each kind have rows of their own."""

    sessions: int = 5
    stashes: int = 3
    worktrees: int = 2
    streams: int = 0

    def shrink(self) -> bool:
        """Give room away, of sessions last; whether there was any."""
        for kind in ("stashes", "worktrees", "sessions"):
            if getattr(self, kind) > 1:
                setattr(self, kind, getattr(self, kind) - 1)
                return True
        return False


@value_class
class _Screen:
    """What the rows of a status are drawn of.  width: cells of a row, rows.NO_LIMIT for any."""

    status: Record
    ago: Ago
    width: int
    verbose: bool
    room: _Room
    names: dict[str, str]  # session id -> short id
    causes: Sequence[Cause]


def draw_status(
    status: Record,
    sessions: Sequence[Record],
    streams: Sequence[Record],
    ago: Ago,
    width: int = NO_LIMIT,
    verbose: bool = False,
    causes: Sequence[Cause] = (),
) -> list[Line]:
    """The lines for the record of type status, sessions and streams, which are records as listed.

    A session has besides prompt, last (seconds since 1970), stream (the ref of its stream here, or
    '') and, if it has work outside its home, open (worktree -> files).  verbose: show all sessions
    and streams, and the last decision about each session's stream; else as many sessions as a
    screen has room for.  causes: what is wrong."""
    names = {s["session_id"]: shorten_id(s["session_id"]) for s in sessions}
    room = _Room()
    if verbose:
        every = len(sessions) + len(streams) + len(status.get("stashes", ()))
        room = _Room(every, every, every, every)
    screen = _Screen(status, ago, width, verbose, room, names, causes)
    while True:
        lines = [*_draw_sections(screen, sessions, streams)]
        if verbose or len(lines) <= SCREEN or not room.shrink():
            return lines


def _draw_sections(
    screen: _Screen, sessions: Sequence[Record], streams: Sequence[Record]
) -> Iterator[Line]:
    status = screen.status
    yield _draw_head(status)
    at_home = [s for s in sessions if _get_home(s) == status["worktree_id"]]
    here = [s for s in sessions if s in at_home or s.get("open", {}).get(status["worktree_id"])]
    yield from _draw_findings(screen, here)
    yield from _draw_here(screen, here)
    yield from _draw_other_worktrees(screen, [s for s in sessions if s not in at_home])
    if screen.verbose:
        yield from _draw_streams(screen, streams)
    yield from _draw_stashes(screen)
    last = [*_draw_places(screen), *_draw_last(screen, here, sessions)]
    if last:
        yield []
    yield from last


def _draw_head(status: Record) -> Line:
    """Whether and where gitcp records, and what to do."""
    state = status["state"]
    branch = status["branch"] or "detached HEAD"
    at = ", no commit yet"
    if status["head"]:
        at = f" at {abbreviate(status['head'])}"
    line: Line = [(f"on {branch}{at}, ", "")]
    if state == "enabled":
        line.append((f"recording {_name_agents(status.get('agents') or ())}".rstrip(), "green"))
        if status["strategy"] == "auto-commit":
            line.append(("; each prompt ends with a commit", ""))
        return line
    remedy = explain_beginning(state, status.get("bare"))
    what = "not recording"
    if state == "disabled":
        what = "disabled"
    line += [(what, "yellow"), (f": {remedy}", "")]
    return line


def _name_agents(agents: Sequence[str]) -> str:
    if len(agents) <= _AGENTS:
        return ", ".join(agents)
    return f"{', '.join(agents[: _AGENTS - 1])} and {len(agents) - _AGENTS + 1} more"


def explain_beginning(state: str, bare: object = False) -> str:
    """How to begin recording if gitcp is disabled or not set up; bare: there is no worktree."""
    if state == "disabled":
        return _WAKE
    return _BEGIN_ELSEWHERE if bare else _BEGIN


def _draw_findings(screen: _Screen, here: Sequence[Record]) -> Iterator[Line]:
    """What is wrong, a line a cause."""
    stopped = [s for s in here if name_state(s["phase"], bool(s.get("dead"))) == STOPPED]
    if len(stopped) == 1:
        name = screen.names[stopped[0]["session_id"]]
        yield _draw_cause(screen, f"session {name} stopped within a prompt", _END)
    elif stopped:
        what = f"{len(stopped)} sessions stopped within a prompt"
        yield _draw_cause(screen, what, _END.replace("ends it", "ends them"))
    for cause in screen.causes:
        yield _draw_cause(screen, cause.sentence, cause.remedy)
    relinkable = screen.status.get("relinkable")
    if relinkable:
        them = "it" if relinkable == 1 else "them"
        what = f"{count_noun(relinkable, 'commit')} lost what session wrote {them}"
        yield _draw_cause(screen, what, "'gitcp relink' finds it again")


def _draw_cause(screen: _Screen, sentence: str, remedy: str) -> Line:
    return [("! ", "red"), (f"{sentence}: {remedy}" if remedy else sentence, "yellow")]


def _draw_here(screen: _Screen, here: Sequence[Record]) -> Iterator[Line]:
    """The sessions of this worktree: those with uncommitted files, then the others."""
    uncommitted = [s for s in here if _list_files(screen.status, s) or "unreadable" in s]
    at_work = [s for s in here if s not in uncommitted]
    left = screen.room.sessions
    for title, sessions in (("not committed", uncommitted), ("at work", at_work)):
        shown = sessions[:left]
        left -= len(shown)
        if shown:
            yield []
            yield [(title, "bold")]
        for session in shown:
            yield from _draw_session(screen, session)


def _draw_session(screen: _Screen, session: Record) -> Iterator[Line]:
    name = screen.names[session["session_id"]]
    if "unreadable" in session:
        yield [(f"  {name}  ", "yellow"), (f"cannot be read: {session['unreadable']}", "red")]
        return
    prompt = prompt_text.read_first_line(session["prompt"])
    row = ScreenRow(
        name,
        screen.ago(session["last"]),
        session.get("agent_type") or "Agent",
        f"> {prompt}" if prompt else "no prompt yet",
        indent=INDENT,
    )
    yield draw_row(row, screen.width)
    yield from _draw_facts(screen, session)


def _draw_facts(screen: _Screen, session: Record) -> Iterator[Line]:
    """Below the row of a session: its state, its uncommitted files, and where else it is."""
    status = screen.status
    files = _list_files(status, session)
    state = name_state(session["phase"], bool(session.get("dead")))
    doing = "" if state == ENDED else state
    claims = [c for c in status.get("claims") or () if c["session_id"] == session["session_id"]]
    for claim in claims:
        if claim["tool"]:
            doing = f"{doing}: {claim['tool']} {claim['path']}".rstrip()
            doing += f", since {screen.ago(claim['created'])}"
        pid = (claim.get("process") or {}).get("pid")
        if screen.verbose and pid:
            doing += f", process {pid}"
    if ": " in doing and files:
        yield draw_below(doing, screen.width)
        doing = ""
    words = list_paths(files, screen.width, room=len(doing) + 2)
    if doing or words:
        yield draw_below("  ".join(filter(None, (doing, words))), screen.width)
    elsewhere = _describe_elsewhere(status, session, bool(files))
    if elsewhere:
        yield draw_below(elsewhere, screen.width)
    if not screen.verbose:
        return
    if files:
        yield draw_below(_format_work_here(session, status, {*files}), NO_LIMIT)
    verdict = session.get("last_verdict")
    if isinstance(verdict, dict) and verdict.get("reason") and verdict.get("verdict") != "none":
        why = f"{verdict.get('verdict', '')}: {verdict['reason']}"
        yield draw_below(why, NO_LIMIT)


def _get_home(session: Record) -> str:
    """Git's name of a session's home worktree, "" for the main one."""
    return session.get("worktree_id") or ""


def _list_files(status: Record, session: Record) -> list[str]:
    """The uncommitted files of a session in this worktree."""
    touched = session.get("files_touched") or ()
    places = session.get("open", {_get_home(session): touched})
    return sorted({*touched} & {*places.get(status["worktree_id"], ())})


def _describe_elsewhere(status: Record, session: Record, has_files: bool) -> str:
    """The work of a session in other worktrees, and its home if that is another."""
    here = status["worktree_id"]
    home = _get_home(session)
    touched = session.get("files_touched") or ()
    places = session.get("open", {home: touched})
    outside = sum(len(places[place]) for place in places if place != here)
    parts = []
    if outside:
        if has_files:
            counted = f"{outside} more"
        else:
            counted = count_noun(outside, "file")
        parts.append(f"{counted} in another worktree")
    if home != here:
        parts.append(f"at home in {session['worktree_path']}")
    if session.get("also_in"):
        parts.append(f"also in {', '.join(session['also_in'])}")
    return ", ".join(parts)


def _format_work_here(session: Record, status: Record, files: set[str]) -> str:
    """Where the uncommitted files of this worktree are: new in this turn, on the session's newest
    stream here, or left beside it."""
    streams = [
        files.intersection(stream["files"])
        for stream in session["streams"]
        if ids.is_in_worktree(stream.get("ref", ""), status["worktree"])
    ]
    ref = session["stream"]
    uncommitted = count_noun(len(files), "uncommitted file")
    fresh = 0
    if session["phase"] == "active":
        fresh = len(files.difference(*streams))
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


def _draw_other_worktrees(screen: _Screen, sessions: Sequence[Record]) -> Iterator[Line]:
    places: dict[str, list[Record]] = {}
    for session in sessions:
        places.setdefault(session["worktree_path"], []).append(session)
    if not places:
        return
    yield []
    yield [("in other worktrees", "bold")]
    shown = sorted(places)[: screen.room.worktrees]
    for place in shown:
        listed = places[place]
        words = count_noun(len(listed), "session")
        working = sum(s["phase"] == "active" and not s.get("dead") for s in listed)
        if working:
            words += f", {working} working"
        if listed[0].get("removed"):
            words += ", removed"
        path = place
        if screen.width != NO_LIMIT:
            path = shorten_path(place, screen.width - count_cells(words) - 4)
        yield [(f"  {path}  {words}", "")]
    left = len(places) - len(shown)
    if left:
        yield [(f"  and {count_noun(left, 'more worktree')} ('gitcp status -v')", "dim")]


def _draw_streams(screen: _Screen, streams: Sequence[Record]) -> Iterator[Line]:
    if streams:
        yield []
        yield [("Streams:", "bold")]
    for stream in streams:
        yield _draw_stream(stream, screen.names, screen.status["worktree"], screen.ago)
    left = screen.status["more_streams"]
    if left:
        how = "gitcp list-streams; 'gitcp clean' removes expired ones"
        yield [(f"  and {count_noun(left, 'more stream')} ({how})", "dim")]


def _draw_stream(stream: Record, labels: dict[str, str], worktree: str, ago: Ago) -> Line:
    who = " ".join(labels.get(s) or shorten(s, 13) for s in stream["sessions"])
    other = "  (another worktree)"
    if stream["worktree"] in ("", worktree):
        other = ""
    held = count_noun(stream["checkpoints"], "checkpoint")
    held += f", {count_noun(len(stream['files']), 'file')}"
    if stream.get("settled"):
        kind = "settled"
    else:
        kind = stream["kind"]
    colour = {"live": "green", "suffix": "cyan"}.get(kind, "dim")
    return [
        (f"  {kind:8}  ", colour),
        (f"{_shorten_ref(stream['ref'])}  {held}, {ago(stream['time'])}  ", ""),
        (who, "yellow"),
        (other, "dim"),
    ]


def _draw_stashes(screen: _Screen) -> Iterator[Line]:
    """The entries of `git stash`: whose each is, its files, and the sessions with work in it."""
    entries = screen.status.get("stashes") or ()
    if not entries:
        return
    yield []
    yield [("in the stash", "bold")]
    shown = entries[: screen.room.stashes]
    for entry in shown:
        yield from _draw_entry(screen, entry)
    left = entries[len(shown) :]
    if left:
        sessions = {name for entry in left for name in entry["sessions"]}
        work = ""
        if sessions:
            work = f", with work of {count_noun(len(sessions), 'session')}"
        yield [(f"  and {len(left)} more{work}: 'git stash list'", "dim")]


def _draw_entry(screen: _Screen, entry: Record) -> Iterator[Line]:
    is_agents = bool(entry["session_id"])
    prompt = prompt_text.read_first_line(entry["prompt"])
    files = list_paths(entry["paths"], screen.width)
    row = ScreenRow(
        entry["oid"][:ID],
        entry["stash"],
        shorten_id(entry["session_id"]) if is_agents else "by hand",
        f"> {prompt}" if prompt else files,
        indent=INDENT,
        colour="green" if is_agents else "blue",
    )
    yield draw_row(row, screen.width)
    owners = " ".join(screen.names.get(name) or shorten_id(name) for name in entry["sessions"])
    below = [files] if prompt else []
    if owners:
        below.append(f"work of {owners}")
    if below:
        yield draw_below("  ".join(below), screen.width)


def _draw_last(
    screen: _Screen, here: Sequence[Record], sessions: Sequence[Record]
) -> Iterator[Line]:
    """The number of the sessions without a row, and how to see them."""
    status = screen.status
    settled = status["settled"]
    hidden = len(here) - min(len(here), screen.room.sessions)
    if hidden:
        yield [(f"and {count_noun(hidden, 'more session')}: 'gitcp status -v'", "dim")]
    earlier = f"{count_noun(settled, 'earlier session')}, all committed: {_ALL}"
    if settled and sessions:
        yield [(earlier, "dim")]
    elif settled:
        yield [(f"nobody is at work; {earlier}", "dim")]
    elif status["state"] == "enabled" and not sessions:
        yield [("no session yet: one begins with the next prompt of an agent", "dim")]
    stored = status.get("stored")
    if stored:
        yield [(f"{count_noun(stored, 'commit')} recorded: 'gitcp log' shows them", "dim")]


def _draw_places(screen: _Screen) -> Iterator[Line]:
    """Where the conversations of commits are sent, and how many are not sent yet."""
    status = screen.status
    name = status.get("destination", "")
    remote = status.get("remote")
    to = f"'gitcp push --to {remote or '<remote>'}'"
    places = status.get("places", ())
    for place in places:
        yield [_describe_place(place, screen.verbose)]
    if places and status.get("remote_url"):
        where = ""
        if screen.verbose:
            where = f" ({status['remote_url']})"
        yield [(f"none go to '{remote}'{where}: {to} sends them there, too", "dim")]
    if name == "none":
        yield [("conversations stay here (gitcp.remote is none)", "dim")]
    elif name:
        wrong = f"gitcp.remote names '{name}', which is not a remote ({to} names another)"
        yield [(wrong, "yellow")]
    elif remote and not places and status["state"] == "enabled":
        yield [(f"conversations stay here: {to} sends them", "dim")]


def _describe_place(place: Record, verbose: bool) -> tuple[str, str]:
    label = place["label"]
    url = place["url"]
    line = f"conversations go to '{label}'"
    if verbose and label != url:
        line += f" ({url})"
    if place.get("each_push"):
        line += " at each push"
    unpushed = place.get("unpushed")
    if unpushed:
        are = "is" if unpushed == 1 else "are"
        return f"{line}; {unpushed} {are} not sent yet: 'gitcp push'", "yellow"
    if unpushed == 0:
        line += "; all are sent"
    return line, "dim"


def _shorten_ref(ref: str) -> str:
    return ref.removeprefix("refs/heads/")
