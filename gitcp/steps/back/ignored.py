"""What going back does with files that git does not have: ignored files that tool calls took come
back, and what was not kept is named (gitcp.record.looks.taken)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from gitcp.git import decode_name
from gitcp.record import contents
from gitcp.record.journal.line_kinds import Closing, Opening
from gitcp.record.looks import taken
from gitcp.record.snapshot import Worktree
from gitcp.steps import effects
from gitcp.steps.back import plan
from gitcp.steps.step import FILE, Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.record.looks.taken import TakenCall, TakenFile
    from gitcp.steps.back.point import Point

_NAMED = 5  # files that come back of which each has a sentence


@dataclass(slots=True)
class Return:
    """What comes back of what calls took.  effects: of a step.  notes: sentences for the plan.
    paths: of all that they took."""

    effects: list[Effect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Loss:
    """A file that calls took, one after the other.  first, last: as the first and the last call
    tell; sessions: theirs."""

    first: TakenFile
    last: TakenFile
    sessions: set[str]


def find_time(point: Point, lines: Iterable[JournalLine]) -> int:
    """When a point was, in ns.  lines: of the journal, which has the moments inside a turn."""
    name = point.moment_id
    began: list[int] = []
    ended: list[int] = []
    for line in lines:
        if isinstance(line, Opening) and name in (line.call, line.turn):
            began.append(line.at)
        elif isinstance(line, Closing) and line.call == name:
            ended.append(line.at)
    if point.is_after and ended:
        return max(ended)
    if began:
        return min(began)
    return point.time * 10**9


def list_since(repo: Repo, point: Point, lines: Iterable[JournalLine]) -> list[TakenCall]:
    """The calls of this worktree that began since a point.  lines: of the journal."""
    if point.worktree:
        return []
    name = point.moment_id
    since = find_time(point, lines)
    calls: list[TakenCall] = []
    for call in _list_here(repo):
        is_of_point = name in (call["call"], call["turn"])
        if (is_of_point and not point.is_after) or (not is_of_point and call["at"] >= since):
            calls.append(call)
    return calls


def find_calls(repo: Repo, session: str, turn: str, tool: str) -> list[TakenCall]:
    """The calls of this worktree by the beginnings of ids, '' for any."""
    return [
        call
        for call in _list_here(repo)
        if call["session"].startswith(session)
        and call["turn"].startswith(turn)
        and call["call"].startswith(tool)
    ]


def _list_here(repo: Repo) -> list[TakenCall]:
    return [call for call in taken.list_calls(repo) if call["worktree"] == repo.worktree_hash]


def plan_return(
    repo: Repo, calls: Iterable[TakenCall], scopes: Collection[str], session_id: str
) -> Return:
    """What comes back of what calls took, the oldest call first.

    scopes: as for plan.is_below().  session_id: whose later contents may be replaced; those of
    anybody else stay."""
    work = Worktree(repo)
    planned = Return()
    for path, loss in _collect(work, calls).items():
        if scopes and not plan.is_below(path.removesuffix("/"), scopes):
            continue
        planned.paths.append(path)
        why = _explain_absence(repo, work, loss, session_id)
        if why is None:
            continue
        if why:
            planned.notes.append(f"'{path}' {why}")
            continue
        full = decode_name(taken.locate_file(work, loss.first))
        current = taken.hash_file(full) or None
        first = loss.first
        effect = Effect(FILE, full, current, first["kept"], mode=first["mode"])
        planned.effects.append(effect)
    planned.notes = [*_describe_return(repo, planned.effects), *planned.notes]
    return planned


def _collect(work: Worktree, calls: Iterable[TakenCall]) -> dict[str, _Loss]:
    """path -> its loss, for each file that calls took or may have taken."""
    losses: dict[str, _Loss] = {}
    for call in calls:
        for file in call["files"]:
            if not call["ended"] and not taken.is_taken(work, file):
                continue
            loss = losses.setdefault(file["path"], _Loss(file, file, set()))
            loss.last = file
            loss.sessions.add(call["session"])
    return losses


def _explain_absence(repo: Repo, work: Worktree, loss: _Loss, session_id: str) -> str | None:
    """Why a file does not come back; '' if it does, None if nothing is to be done."""
    wanted = loss.first
    full = taken.locate_file(work, wanted)
    is_there = os.path.lexists(full)
    if not wanted["kept"]:
        if is_there and not wanted["sign"]:
            return None  # a directory that was made anew
        return f"does not come back: {wanted['why']}"
    if not os.path.exists(contents.locate_kept(repo, wanted["kept"])):
        return "does not come back: its content is not kept any more"
    if not is_there:
        if _has_room(work, wanted["path"]):
            return ""
        return "does not come back: another file is above it"
    current = taken.hash_file(full)
    if current == wanted["kept"]:
        return None
    is_own = loss.sessions <= {session_id}
    if work.look_at(wanted["path"]) and is_own and current and current == loss.last["after"]:
        return ""
    return "was changed since, and stays as it is"


def _has_room(work: Worktree, path: str) -> bool:
    """Whether the nearest directory above a path that exists is one, and no symbolic link."""
    folder = os.path.dirname(path)
    while folder and not os.path.lexists(work.join_full(folder)):
        folder = os.path.dirname(folder)
    full = work.join_full(folder)
    return os.path.isdir(full) and os.path.realpath(full) == os.path.normpath(full)


def _describe_return(repo: Repo, returning: Sequence[Effect]) -> list[str]:
    notes = [
        f"'{effects.name_ignored(repo, effect)}' comes back: git ignores it, and a command took it"
        for effect in returning[:_NAMED]
    ]
    if returning[_NAMED:]:
        notes.append(f"so do {len(returning) - _NAMED} more ignored files")
    return notes


def keep_replaced(repo: Repo, planned: Iterable[Effect]) -> None:
    """Keep what effects on ignored files replace, before they are made."""
    for effect in planned:
        if effect.old:
            contents.keep_bytes(repo, contents.read_now(effect.subject))
