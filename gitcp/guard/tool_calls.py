"""The guard at a tool call: judge it, and hold its claims on paths from its start to its end.

Only a verdict refuses a tool call.  The caller reports errors, and the call goes on.
"""

from __future__ import annotations

import os
import time

from gitcp import git, guard
from gitcp.errors import Error
from gitcp.git import files
from gitcp.git.files import Damaged, exclusive
from gitcp.git.repo import Repo
from gitcp.guard import guard_rules
from gitcp.record import get_call, locate_claims, session
from gitcp.text import json, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gitcp.guard.guard_rules import Base, Block, Claim, GuardVerdict
    from gitcp.text.record_types import Event, Tool

    Copies = list[tuple[Repo, list[str]]]
    Held = list[tuple[Repo, Claim]]

# Claims of tool calls on paths: one small file each, in the working copy's own git directory.
#
# A claim lasts from tool-start to tool-end.  Claims are read, judged and written under one lock
# that a hook holds for milliseconds.  A claim whose agent is gone is removed when it is next read
# (doc/guard.md "Claims").
_POLL = (0.02, 0.25)  # seconds between two tries of a call that waits: at first, at most
_TAIL = 1 << 20  # bytes of a transcript's end that are read


def make_key(event: Event, tool: Tool, paths: Iterable[str]) -> str:
    """The name of a tool call's claim, made from its id, or from its paths if it has none."""
    parts = [event["session_id"], event.get("agent_id") or "", tool.get("id") or ""]
    if not tool.get("id"):
        parts += [tool.get("name", ""), *sorted(set(paths))]
    return str(
        files.find_hasher("sha1")("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
    )


def make_claim(
    event: Event, paths: Iterable[str], started: Base | None, env: Mapping[str, str]
) -> Claim:
    """The claim of a tool-start event on paths, relative to the root of one working copy."""
    tool = get_call(event)
    names = sorted(set(paths))
    return {
        "key": make_key(event, tool, names),
        "session_id": event["session_id"],
        "agent_id": event.get("agent_id") or "",
        "tool_use_id": tool.get("id") or "",
        "tool": tool.get("name", ""),
        "paths": names,
        "process": session.find_agent(env),
        "transcript": event.get("agent_transcript_path") or event.get("transcript_path") or "",
        "created": time.time(),
        "started": started,
    }


def take_claim(
    repo: Repo, mine: Claim, wait: float = 0, pausing: Callable[[], object] | None = None
) -> Block | None:
    """Claim paths; None if they were free, else what is in the way after wait seconds.

    Without pausing they are claimed although another holds them.  Else pausing() is called before
    each pause, to release locks that others need.  Claims of calls that their transcript shows
    ended are removed at once.
    """
    limit = time.monotonic() + wait
    pause = _POLL[0]
    while True:
        with _lock_claims(repo):
            held = _list_living(repo)

            other = guard_rules.find_blocking_claim(mine, held)
            if other and has_ended(other.claim):
                _remove_claim(repo, other.claim["key"])
                continue
            if not (other and pausing):
                _drop_earlier(repo, mine, held)
                _write_claim(repo, mine)
                return other
        if time.monotonic() >= limit:
            return other
        owner = other.claim["session_id"]
        git.append_trace("claim", f"waiting for '{owner}' to end with '{other.path}'")
        pausing()
        time.sleep(min(pause, max(0.0, limit - time.monotonic())))
        pause = min(pause * 1.5, _POLL[1])


def release_claims(repo: Repo, match: Callable[[Claim], bool]) -> None:
    """Remove every claim that matches."""
    for claim in select_claims(repo, match):
        release_claim(repo, claim["key"])


def release_claim(repo: Repo, key: str) -> None:
    """Remove the claim of this name."""
    with _lock_claims(repo):
        _remove_claim(repo, key)


def list_claims(repo: Repo) -> list[Claim]:
    """The claims whose agent is at work, oldest first; nothing is removed."""
    living = select_claims(repo, lambda claim: _is_held(repo, claim))
    return sorted(living, key=lambda claim: claim["created"])


def format_company(repo: Repo, session_ids: list[str]) -> str:
    """The line about other sessions that are at work here, with the paths that they claim."""
    held = list_claims(repo)
    sessions = []
    for session_id in session_ids:
        claimed: set[str] = set()
        for claim in held:
            if claim["session_id"] == session_id:
                claimed.update(claim["paths"])
        paths = sorted(claimed)
        name = session_id[:8]
        if paths:
            name += f" (editing {', '.join(paths[:3])})"
        sessions.append(name)
    many = len(sessions) > 1
    who = "another session is"
    if many:
        who = f"{len(sessions)} other sessions are"
    return f"gitcp: {who} at work in this working copy: {', '.join(sessions)}"


def has_ended(claim: Claim) -> bool:
    """Whether the owner's transcript shows that the call is over, although no tool-end came."""
    data = files.peek(claim["transcript"], -_TAIL)
    since = int(claim["created"] * 1000 + 1) * 1_000_000  # a transcript has milliseconds

    from gitcp.agents.transcripts import transcript_facts

    return transcript_facts.find_end(data, claim["tool_use_id"], since) is not None


def _lock_claims(repo: Repo) -> exclusive:
    return exclusive(repo, f"claims-{repo.worktree_hash}")


def _list_living(repo: Repo) -> list[Claim]:
    """The claims whose agent is at work.  Others are removed; damaged ones are set aside."""
    living: list[Claim] = []
    for name in files.list_names(locate_claims(repo)):
        try:
            claim = files.load_json(locate_claims(repo, name), shapes.CLAIM)
        except Damaged as e:
            files.set_aside(repo, e)
            continue
        if claim and claim["key"] == name and _is_held(repo, claim):
            living.append(claim)
        elif claim:
            git.append_trace("claim", f"'{name}' of '{claim['session_id']}': nobody holds it")
            _remove_claim(repo, name)
    return living


def _is_held(repo: Repo, claim: Claim) -> bool:
    """Whether a claim's agent is at work.  An agent on another machine, or with an unknown process,
    counts as such for a while, by the file system's clock."""
    try:
        written = os.stat(locate_claims(repo, claim["key"])).st_mtime
    except OSError:
        return False
    from gitcp.record.session import process

    return process.is_agent_working(claim["process"], written)


def _drop_earlier(repo: Repo, mine: Claim, held: Iterable[Claim]) -> None:
    """Remove the same agent's earlier claims that are over; all of them if calls have no ids."""
    for claim in held:
        if claim["key"] == mine["key"] or not guard_rules.is_same_agent(mine, claim):
            continue
        if claim["paths"] and (not claim["tool_use_id"] or has_ended(claim)):
            _remove_claim(repo, claim["key"])


def select_claims(repo: Repo, match: Callable[[Claim], bool]) -> list[Claim]:
    """The readable claims that match; nothing is changed."""
    claims: list[Claim] = []
    for name in files.list_names(locate_claims(repo)):
        claim: Claim | None = files.load_cache(locate_claims(repo, name), shapes.CLAIM)
        if claim and claim["key"] == name and match(claim):
            claims.append(claim)
    return claims


def _write_claim(repo: Repo, claim: Claim) -> None:
    files.write_private(repo, locate_claims(repo, claim["key"]), json.dumps(claim).encode())


def _remove_claim(repo: Repo, key: str) -> None:
    files.remove_private(repo, locate_claims(repo, key))


def leave_claim(repo: Repo, event: Event) -> None:
    """Release the claims of a session, or of one of its subagents, as its turn begins or ends."""
    session_id = event["session_id"]
    agent_id = event.get("agent_id")

    def is_own(claim: Claim) -> bool:
        return claim["session_id"] == session_id and agent_id in (None, "", claim["agent_id"])

    release_claims(repo, is_own)


_KINDS = ("write", "shell", "other")  # tools that may change the working copy


def start_call(repo: Repo, event: Event, pausing: Callable[[], object]) -> str:
    """Judge a tool call before it starts; return the objection, '' if it may write: its paths are
    claimed then.

    In `deny` a call with an objection claims nothing.  pausing: called before waiting for
    another's claim (take_claim).
    """
    tool = get_call(event)
    deny = guard.get_mode(repo) == "deny"
    if tool.get("kind") not in _KINDS:
        return ""
    copies = group_by_working_copy(repo, tool.get("input_paths") or ())
    if tool.get("kind") != "write" or not copies:
        copies = _add_home(copies, repo)
    objections = []
    pausing_to_deny = None
    if deny:
        pausing_to_deny = pausing
    for copy, paths in copies:
        objection = _start_in_copy(copy, paths, event, pausing_to_deny)
        if objection and deny:
            let_go(list_held(repo, event))  # its claims in other working copies
            return objection
        objections.append(objection)
    return "\n\n".join(filter(None, objections))


def _add_home(copies: Copies, repo: Repo) -> Copies:
    """The working copies with that of repo, last and without paths if it is not among them."""
    if any(copy.worktree == repo.worktree for copy, _ in copies):
        return copies
    return [*copies, (repo, [])]


def _start_in_copy(
    repo: Repo, paths: list[str], event: Event, pausing: Callable[[], object] | None
) -> str:
    """The objection to a call in one working copy; pausing: None if nothing is denied."""
    look = guard.read_base(repo)
    session_id = event["session_id"]
    objections = list[str]()
    judged = guard_rules.judge_start(look, session_id, guard.find_live(repo, look))
    if judged["verdict"] != "allow" and not _has_only_moves(event):
        verdicts = [judged]
    else:
        verdicts = []
    if not (verdicts and pausing):
        verdicts += _judge_discards(repo, event, look)
    for judged in verdicts:
        objections.append(guard.format_objection(judged, session_id))
        if pausing:
            return objections[0]
    mine = make_claim(event, paths, look, repo.git.env)
    wait = 0
    if pausing:
        wait = _compute_wait(repo)
    block = take_claim(repo, mine, wait, pausing)
    if block:
        judged = guard_rules.judge_editing(look, block)
        age = max(0, int(time.time() - block.claim["created"]))
        objections.append(guard.format_objection(judged, session_id, age=f"{age} s"))
    return "\n\n".join(objections)


def _has_only_moves(event: Event) -> bool:
    command = get_call(event).get("command") or ""

    from gitcp.agents.transcripts import shell_words

    return bool(command) and shell_words.has_only_moves(command)


def _judge_discards(repo: Repo, event: Event, look: Base) -> list[GuardVerdict]:
    """A verdict for each live session whose open edits here a command discards, or takes into the
    index or a commit of this session."""
    tool = event["tool"]
    command = str(tool.get("command") or "")
    if tool.get("kind") != "shell" or not command:
        return []
    verdicts: list[GuardVerdict] = []
    if "stash" in command:
        from gitcp.guard import stashes

        verdicts += stashes.judge_call(repo, event["session_id"], command, look)
    if not guard.list_open(repo, event["session_id"]):
        return verdicts  # reading the command takes longer than this question

    cwd = event.get("cwd") or ""
    for taking, judge in ((False, guard_rules.judge_discard), (True, guard_rules.judge_taking)):
        from gitcp.record.looks import losses

        found = losses.find_losses(repo, command, cwd, taking)
        if found:
            from gitcp.guard import reports

            lost = reports.find_lost(repo, event["session_id"], found)
            verdicts += [judge(look, other, paths) for other, paths in lost.items()]
    return verdicts


class JudgedCall:
    """What is said of a tool call that has ended.

    objection: '' for none.  is_taken: whether the commit or change that it started on belongs to
    another session now, so that its edit belongs to no change."""

    __slots__ = ("is_taken", "objection")

    def __init__(self, objection: str, is_taken: bool) -> None:
        self.objection = objection
        self.is_taken = is_taken


def end_call(event: Event, held: Held) -> JudgedCall:
    """Judge a tool call, which holds these claims, after it ended.

    A repeated tool-end, one without its tool-start, and a command that only moves are not judged.
    """
    objections = []
    is_taken = False
    for copy, claim in held:
        judged = _end_in_copy(copy, claim)
        if judged:
            session_id = claim["session_id"]
            kept = f"{', '.join(claim['paths'])}, and on refs/gitcp/edits/{session_id}"
            objections.append(guard.format_objection(judged, event["session_id"], kept))
            is_taken = is_taken or judged["stored"]
    if not objections or _has_only_moves(event):
        return JudgedCall("", is_taken=False)
    return JudgedCall("\n\n".join(objections), is_taken)


def judge_losses(repo: Repo, event: Event) -> str:
    """The objection to a call that has discarded another session's work, '' if it has not, by the
    look at its end, whatever its words are.  A call without an id is not told from others."""
    session_id = event["session_id"]
    objections = list[str]()
    call_ids = []
    stashing = {*event.get("stashing", ())}
    for tool in _list_tools(event):
        if tool.get("id"):
            call_ids.append(str(tool["id"]))
            if "stash" in str(tool.get("command") or ""):
                stashing.add(str(tool["id"]))
    if not (stashing or guard.list_open(repo, session_id)):
        return ""
    look = guard.read_base(repo)
    for call_id in call_ids:
        if call_id in stashing:
            from gitcp.guard import stashes

            taken = stashes.judge_taken(repo, session_id, call_id, look)
            objections += [guard.format_objection(judged, session_id) for judged in taken]

        from gitcp.guard import reports

        lost = reports.find_discarded(repo, session_id, call_id)
        verdicts = (guard_rules.judge_discard(look, other, lost[other], call_id) for other in lost)
        objections += [guard.format_objection(judged, session_id) for judged in verdicts]
    return "\n\n".join(objections)


def _list_tools(event: Event) -> list[Tool]:
    """The tools of an event of one call, or of several."""
    return event.get("tools") or [get_call(event)]


def let_go(held: Held) -> None:
    """Release claims, each in its working copy."""
    for copy, claim in held:
        release_claim(copy, claim["key"])


def list_held(repo: Repo, event: Event) -> Held:
    """The claims of a tool call, in every working copy that has its paths."""
    pairs = []
    for tool in _list_tools(event):
        copies = group_by_working_copy(repo, tool.get("input_paths") or ())
        for copy, paths in _add_home(copies, repo):
            keys = {make_key(event, tool, paths), make_key(event, tool, ())}
            held = select_claims(copy, lambda claim, keys=keys: claim["key"] in keys)  # type: ignore[misc]
            pairs += [(copy, claim) for claim in held]
    return pairs


def _end_in_copy(repo: Repo, claim: Claim) -> GuardVerdict | None:
    """The verdict on a call that has ended; None if it is allowed."""
    started = claim["started"]
    if not started:
        return None
    look = guard.read_base(repo)
    session_id = claim["session_id"]
    original: Base | None = look
    if started["name"] != look["name"]:
        original = guard.read_base_again(repo, started)
    live = guard.find_live(repo, look, original)
    judged = guard_rules.judge_end(started, original, look, session_id, live)
    # A command may move HEAD on purpose.
    if judged["verdict"] == "allow" or (judged["verdict"] == "moved" and not claim["paths"]):
        return None
    return judged


def _compute_wait(repo: Repo) -> int:
    wait = int(repo.config.get_option("gitcp.guard-wait"))
    remaining = git.count_seconds_left()
    if remaining is None:
        return wait
    return min(wait, int(remaining / 2))


def group_by_working_copy(home: Repo, paths: Iterable[str]) -> list[tuple[Repo, list[str]]]:
    """(working copy, paths relative to its root) for absolute paths; others are left out.

    home comes first if it has any.  A worktree inside home is a working copy of its own, a
    repository there only if it is registered.
    """
    copies: dict[str, tuple[Repo, list[str]]] = {}
    for name in paths:
        for path in session.list_targets(name):
            repo = _find_owner(home, path)
            inside = None
            if repo:
                inside = session.find_relative_path(repo, path)
            if repo and inside:
                copies.setdefault(repo.worktree, (repo, []))[1].append(inside)
    return sorted(copies.values(), key=lambda item: item[0] is not home)


def _find_owner(home: Repo, path: str) -> Repo | None:
    """The working copy of a path."""
    folder = os.path.realpath(os.path.dirname(path))
    root = os.path.realpath(home.worktree)
    stop = None
    if session.find_relative_path(home, path):
        stop = root
    nearest = _find_root(folder, stop)
    if nearest is None:
        return None
    if nearest == root or os.path.samefile(nearest, root):
        return home

    from gitcp.record import registered

    git_dir = registered.find_git_dir(nearest)
    is_ours = registered.find_common_dir(git_dir) == home.common
    if not (is_ours or registered.is_registered(nearest)):
        return home
    try:
        outside = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        repo = Repo.find(nearest, outside)
    except Error:
        return home
    return repo if repo.top else None


def _find_root(folder: str, stop: str | None) -> str | None:
    """The nearest directory from folder up to stop that is the root of a repository."""
    while folder != stop:
        has_git, has_jj = (os.path.lexists(f"{folder}/{name}") for name in (".git", ".jj"))

        from gitcp.git import jj

        if has_git or (has_jj and jj.begins_workspace(folder)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent
    return stop
