"""Which sessions and ids a commit is linked with: decided before it is made, obeyed after it
(doc/behaviour.md "Matching").

Git's own arguments, which it does not pass to a hook, tell what kind of commit is made.
"""

from __future__ import annotations

import os

from gitcp import git
from gitcp.git import commit_message, encode_name, objects, refs
from gitcp.git.objects import need_commit, read_commit
from gitcp.record import match, session
from gitcp.record.journal import credit, settling
from gitcp.record.journal.stretches import collect_work
from gitcp.record.match import linking
from gitcp.record.session import make_id, phases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Sequence
    from typing import TypedDict

    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.record.match import Target, Verdict
    from gitcp.record.match.sources import MatchCase
    from gitcp.text.record_types import Commit, Linked, Marker, Process, Recorded

    class Prepared(TypedDict):
        """ids: those that the message gets.  drop: those that it has from another commit, of whose
        work this one has nothing.  gather: whether ids anywhere in it move to its trailers."""

        ids: list[str]
        drop: list[str]
        gather: bool
        sessions: dict[str, Linked]

    class Conclusion(TypedDict):
        """What is to be done for a commit.

        old: the base of the streams.  id: '' if nothing is condensed.  dismissed: whether the
        person removed the id.  noted: whether the link is a note.  linked: whether the streams move
        on.  carried: the other ids of the commit; inherited: those of them that go into its note
        because its message could not get them.  merged: the commits that it squashes.  replays:
        whether git made it of another commit.
        """

        commit: str
        old: str
        id: str
        sessions: dict[str, Linked]
        dismissed: bool
        noted: bool
        linked: bool
        carried: list[str]
        inherited: list[str]
        merged: list[str]
        replays: bool


_VALUED = "mFcCtSu"  # one-letter options that take the rest of their word, or the next one


def locate_template(repo: Repo) -> str:
    """The message that git proposed for a commit."""
    return repo.join_own("template")


def is_amend(repo: Repo, args: Sequence[str]) -> bool:
    """Whether this commit replaces HEAD, given the arguments of prepare-commit-msg.

    git passes the hook the same for `--amend -m` as for `-m`.  If git's own arguments cannot be
    read, post-commit notices the amend.
    """

    words = session.read_git_arguments(repo, "commit")
    if words is not None:
        return any(len(word) > 3 and "--amend".startswith(word) for word in words)
    return list(args[1:]) == ["commit", "HEAD"]


def will_check_message(repo: Repo) -> bool:
    """Whether git will run commit-msg: not with -n.  True if its arguments cannot be read."""
    return not _has_option(repo, "--no-verify", 7, "n")


def is_quiet(repo: Repo) -> bool:
    """Whether git prints nothing of this commit, with -q.  False if its arguments cannot be
    read."""
    return _has_option(repo, "--quiet", 3, "q")


def _has_option(repo: Repo, option: str, least: int, letter: str) -> bool:
    """Whether this `git commit` has an option, shortened to least characters at most, or its letter
    among others."""

    for word in session.read_git_arguments(repo, "commit") or ():
        if len(word) >= least and option.startswith(word):
            return True
        if word[:1] == "-" and word[1:2] not in ("", "-"):
            letters = word[1:]
            ends = [i for i, value in enumerate(letters) if value in _VALUED]
            if letter in letters[: min(ends, default=len(letters))]:
                return True
    return False


def find_cleanup_mode(repo: Repo) -> str:
    """git's cleanup mode for the message, by an argument of this commit, else the configuration."""

    words = session.read_git_arguments(repo, "commit") or []
    for i, word in enumerate(words):
        if word == "--cleanup":
            return "".join(words[i + 1 : i + 2])
        if word.startswith("--cleanup="):
            return word.partition("=")[2]
    return repo.config.get("commit.cleanup", "default")


def match_sessions(
    repo: Repo,
    changes: Changes,
    parent: str,
    open_markers: list[Marker] | None = None,
    is_made_now: bool = True,
    is_replay: bool = False,
    brought: Collection[str] = (),
    is_past: bool = False,
) -> dict[str, Linked]:
    """The sessions that a commit with these changes on parent belongs to, each with the reasons.

    open_markers: the sessions to match, None for all.  is_made_now: the environment or a process
    above may name the session.  is_replay: the commit was rewritten from another one, so only
    evidence counts.  brought: the sessions whose ids come from a commit that is made again; what it
    left out of their work links nothing here.  is_past: no hook saw the commit, and the
    worktree is no longer as it was, so only evidence counts."""
    stash = refs.Stash(repo)
    blob = repo.objects.read_blob
    linked: dict[str, Linked] = {}
    if open_markers is None:
        candidates = session.read_concerned(repo)
    else:
        candidates = open_markers
    acting = find_acting(candidates) if is_made_now else {}
    foreign = _list_foreign(repo, candidates, acting)
    looked_at = None if is_replay else changes
    committers = acting if is_made_now else None
    lines = settling.look_for_commit(repo, looked_at, *foreign, committers)
    if open_markers is None:
        candidates = _add_writers(repo, candidates, lines, changes)
    is_here = settling.build_stay_check(repo, parent)
    find_old = objects.build_finder(repo.objects, parent)
    for marker in candidates:
        session_id = marker["session_id"]
        how = acting.get(marker["session_id"])
        records = collect_work(lines, session_id, is_here).build_records(session_id not in brought)
        records = _mark_stashed(repo, records, changes, stash, is_replay or is_past)
        records += _list_elsewhere(repo, marker, changes)
        verdict = linking.match_session(
            records, changes, blob, lambda path: is_gone(repo, path), find_old
        )
        git.append_trace("match", f"'{session_id}': {verdict['paths']} {verdict['reasons']}")
        if verdict["paths"] or how:
            linked[session_id] = linking.build_linked(verdict, how or "content")
    for path in {path for part in linked.values() for path in part["paths"]}:
        _leave_out_lineless(repo.objects, lines, linked, path, changes)
    return linked


def leave_out_merged(
    repo: Repo, commit: Commit, linked: dict[str, Linked], markers: list[Marker] | None = None
) -> dict[str, Linked]:
    """What match_sessions() found for a commit, without the work that a merge has from one of its
    parents."""
    if not linked:
        return linked
    sides = objects.compare_with_parents(repo.objects, commit)[1:]
    for parent, changes in zip(commit["parents"][1:], sides, strict=True):
        linked_to_side = match_sessions(
            repo, changes, parent, markers, is_made_now=False, is_replay=True
        )
        remaining: dict[str, Linked] = {}
        for session_id, part in linked.items():
            if session_id in linked_to_side:
                found = linked_to_side[session_id]["paths"]
            else:
                found = []
            paths = [path for path in part["paths"] if path in found]
            if paths or part["how"] != "content":
                reasons = {path: part["reasons"][path] for path in paths}
                remaining[session_id] = {**part, "paths": paths, "reasons": reasons}
        linked = remaining
    return linked


def _add_writers(
    repo: Repo, candidates: list[Marker], lines: list[JournalLine], changes: Changes
) -> list[Marker]:
    """Add the sessions that wrote one of the changed files, also before it was moved."""
    edits = credit.list_edits(lines)
    moved = {edit.follows for edit in edits if edit.follows and edit.path in changes}
    writers = credit.list_writers(lines, {*changes, *moved})
    if writers <= {marker["session_id"] for marker in candidates}:
        return candidates
    return session.read_concerned(repo, writers)


def _list_foreign(
    repo: Repo, candidates: list[Marker], acting: Container[str]
) -> tuple[list[Marker], list[Marker]]:
    """(the sessions of other worktrees that make the commit; those that may write here unseen)."""
    of_others = [m for m in candidates if not session.is_home(repo, m)]
    makers = [m for m in of_others if m["session_id"] in acting]
    return makers, [m for m in of_others if m["phase"] == "active" and not m["tool_events"]]


def _list_elsewhere(repo: Repo, marker: Marker, changes: Changes) -> list[Recorded]:
    """The session's edits of the changed paths that lie in other worktrees."""
    if session.is_home(repo, marker) and not marker.get("visits"):
        return []

    from gitcp.record.journal import elsewhere

    return elsewhere.list_records(repo, marker, changes)


def _leave_out_lineless(
    objects: Objects,
    lines: list[JournalLine],
    linked: dict[str, Linked],
    path: str,
    changes: Changes,
) -> None:
    """Remove path from each session that has no line of it in the commit, if another session
    has."""
    writers = [session_id for session_id, part in linked.items() if path in part["paths"]]
    if len(writers) < 2:
        return
    _, old, _, new = changes[path]
    from gitcp.record.match import holding

    ends = [objects.read_blob(oid) if oid else b"" for oid in (old, new)]
    lacking = {
        session_id
        for session_id in writers
        if (stretches := collect_work(lines, session_id).list_stretches(path))
        and not any(holding.has_line(s.read_contents(objects.read_blob), ends) for s in stretches)
    }
    if len(lacking) < len(writers):
        for session_id in lacking:
            part = linked[session_id]
            part["paths"].remove(path)
            part["reasons"][path] = "none of its lines is in the commit"
            if not part["paths"] and part["how"] == "content":
                del linked[session_id]


def _mark_stashed(
    repo: Repo, edits: list[Recorded], paths: Container[str], stash: refs.Stash, is_past: bool
) -> list[Recorded]:
    """The edits, with `stashed` set on those in the worktree whose paths a stash changes; of a past
    commit, the edits as if none were in the worktree."""
    if is_past:
        return [{**edit, "live": False} for edit in edits]
    marked = [*edits]
    for number, edit in enumerate(edits):
        path = edit["path"]
        if edit["live"] and path in paths and edit["oid"] and stash.changes(path):
            from gitcp.record.match import sources

            is_stashed = sources.is_in_stash(repo.objects, [edit], stash.list_all())
            marked[number] = {**edit, "stashed": is_stashed}
    return marked


def find_acting(open_markers: list[Marker]) -> dict[str, str]:
    """id -> "environment" or "process", for the active sessions that a variable, or an ancestor of
    this process, names."""
    active = [m for m in open_markers if m["phase"] == "active"]
    if not active:
        return {}
    how = {m["session_id"]: "environment" for m in active if _is_in_environment(m)}
    if how or not any(m["agent_process"] for m in active):
        return how

    above = set(session.list_ancestors())
    from gitcp.record.session import process

    for marker in active:
        agent = marker["agent_process"]
        if agent and agent["pid"] in above and process.is_alive(agent):
            how[marker["session_id"]] = "process"
    return how


def _is_in_environment(marker: Marker) -> bool:
    """Whether a variable of the session's client names the session."""
    variables = {name for name, value in os.environ.items() if value == marker["session_id"]}
    if not variables:
        return False

    from gitcp import agents

    return not variables.isdisjoint(agents.list_session_variables(marker["agent_type"]))


def is_gone(repo: Repo, path: str) -> bool:
    """Whether the worktree has nothing at a path."""
    return not os.path.lexists(os.path.join(os.fsencode(repo.worktree), encode_name(path)))


def prepare_commit(repo: Repo, head: str, args: Sequence[str], moved: bool = False) -> Prepared:
    """prepare-commit-msg(file, source, revision) on HEAD: match the commit, store the verdict,
    return the ids.  A step of a rebase, cherry-pick or am gets no new id.  moved: whether HEAD has
    moved since the last event of a session."""
    from gitcp.record.match import sources

    source = args[1] if len(args) > 1 else ""
    when = _find_occasion(repo, args)
    amends = when != sources.MERGING and is_amend(repo, args)
    amended = None
    if amends:
        amended = read_commit(repo.objects, head)
    target = sources.aim_at_index(repo, head)
    copied = ""
    if source == "commit" and args[2:] and not amended:
        copied = args[2]
    case = sources.MatchCase(repo, head, target=target, amended=amended, copied=copied)
    case.is_seen = source == "squash"
    replaced, brought, drop, merged = _ask_sources(case, when)
    if when == sources.MERGING:
        return _prepare_merge(repo, brought)
    if when == sources.REPLAYING:
        return _replay(repo, head, args, [*replaced, *brought], drop)
    sessions = match_sessions(repo, target.read()[1], head, brought=_list_sessions(repo, brought))
    _check_index(repo, head, target, moved)
    unmade = match.list_unmade(repo)
    if amends:
        tried = []
    else:
        tried = _find_tried(repo, unmade, args)
    if replaced:
        checkpoint_id = replaced[-1]
    else:
        checkpoint_id = _reuse_id(repo, tried)
    ids = list(dict.fromkeys([*replaced, *brought, *([checkpoint_id] if sessions else [])]))
    verdict: Verdict = {
        "id": checkpoint_id if sessions else "",
        "head": head,
        "parent": [*(amended["parents"] if amended else [head]), refs.get_zeros(repo)][0],
        "sessions": sessions,
        "ids": ids,
        "merged": merged,
        "unmade": unmade,
    }
    if sessions:
        verdict["maker"] = _find_maker()
    if brought:
        verdict["brings"] = True
    match.save_verdict(repo, verdict)
    drop = [i for i in (*drop, *tried) if i not in ids]
    return {"ids": ids, "drop": drop, "gather": case.is_seen, "sessions": sessions}


def _check_index(repo: Repo, head: str, target: Target, moved: bool) -> None:
    """Warn if the index of a commit on head is older than another commit."""
    if _may_be_old(repo, head, moved):
        from gitcp.record.snapshot import index

        index.warn_of_reverts(repo, target.read()[1], head)


def _may_be_old(repo: Repo, head: str, moved: bool) -> bool:
    """Whether the index of a commit may be older than HEAD: it is not that of the worktree, or
    another process has moved the branch below the worktree since the last event of a session."""
    name = os.path.basename(os.environ.get("GIT_INDEX_FILE", ""))
    if name and not name.removesuffix(".lock").startswith(("index", "next-index")):
        return True
    moves = refs.list_head_moves(repo) if moved else []
    return bool(moves) and moves[-1][1] != head


def _find_occasion(repo: Repo, args: Sequence[str]) -> str:
    """The kind of the commit that is made: a value of sources.ask_sources()'s `when`."""
    from gitcp.record.match import sources

    if match.is_replaying(repo):
        return sources.REPLAYING
    if "merge" in args[1:2]:
        return sources.MERGING
    return sources.MAKING


def _prepare_merge(repo: Repo, brought: list[str]) -> Prepared:
    """prepare_commit() of a merge: conclude_commit() decides, when it is made."""
    match.forget_verdict(repo)
    drop = sorted(match.read_refused(repo).difference(brought))
    return {"ids": brought, "drop": drop, "gather": False, "sessions": {}}


def _reuse_id(repo: Repo, tried: Sequence[str]) -> str:
    """The last id that was tried and not refused, else a new one."""
    refused = match.read_refused(repo) if tried else ()
    return next((i for i in reversed(tried) if i not in refused), "") or make_id()


def _find_tried(repo: Repo, unmade: Collection[str], args: Sequence[str]) -> list[str]:
    """The ids in a message that name nothing, since their commits were not made: the message was
    tried before, as `-F .git/COMMIT_EDITMSG` gives it."""
    if args[1:2] != ["message"] or not unmade:
        return []
    with open(args[0], "rb") as f:
        ids = [i for i in commit_message.read_trailers(f.read()) if i in unmade]
    if not ids:
        return []

    from gitcp.checkpoints import stored

    return [i for i in ids if stored.find_checkpoint(repo, i) is None]


def _find_maker() -> Process | None:
    """The process of the git that makes the commit."""

    return session.find_git()


def _list_sessions(repo: Repo, checkpoint_ids: Sequence[str]) -> set[str]:
    """The sessions that have a part in one of the checkpoints."""
    if not checkpoint_ids:
        return set()

    from gitcp.checkpoints import stored

    lists = (stored.list_session_ids(repo, one) for one in checkpoint_ids)
    found: set[str] = set()
    for ids in lists:
        for session_id in filter(None, ids):
            found.add(session_id)
    return found


def _ask_sources(case: MatchCase, when: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """(ids of the commit that is amended, ids of other commits, ids that the message must not
    have, commits that are squashed)."""
    from gitcp.record.match import sources

    replaced = list[str]()
    brought = list[str]()
    drop = list[str]()
    merged = list[str]()
    for target, ids, excluded, old_commits in sources.ask_sources(case, when):
        (brought if target is case.target else replaced).extend(ids)
        drop += excluded
        if "squash" in ids.values():
            merged += old_commits
    return replaced, list(dict.fromkeys(brought)), drop, merged


def _replay(
    repo: Repo,
    head: str,
    args: Sequence[str],
    ids: Sequence[str],
    drop: Sequence[str],
) -> Prepared:
    """prepare_commit() of a step of a rebase, cherry-pick or am.

    The verdict names the picked commit, since CHERRY_PICK_HEAD may be gone by post-commit."""
    verdict: Verdict = {"id": "", "head": head, "parent": head, "sessions": {}, "ids": [*ids]}
    picked = read_commit(repo.objects, "CHERRY_PICK_HEAD")
    if picked:
        verdict["picked"] = picked["oid"]
    if os.path.exists(os.path.join(repo.git_dir, "rebase-merge")):
        # post-rewrite copies the notes at the end of the rebase.
        with open(args[0], "rb") as f:
            present = commit_message.find_anywhere(f.read())
        verdict["ids"] = [i for i in ids if i in present]
    elif ids:
        verdict["brings"] = True
    match.save_verdict(repo, verdict)
    drop = [i for i in drop if i not in verdict["ids"]]
    return {"ids": verdict["ids"], "drop": drop, "gather": True, "sessions": {}}


def conclude_commit(repo: Repo) -> Conclusion:
    """Compare HEAD with the stored verdict."""
    match.clear_brought(repo)
    commit = need_commit(repo.objects, "HEAD")
    match.look_again(repo, commit["oid"])
    if commit["parents"]:
        parent = commit["parents"][0]
    else:
        parent = refs.get_zeros(repo)
    verdict = match.load_verdict(repo)
    is_for_this_commit = verdict is not None and verdict["parent"] == parent
    conclusion: Conclusion = {
        "commit": commit["oid"],
        "old": verdict["head"] if verdict and is_for_this_commit else parent,
        "id": "",
        "sessions": {},
        "dismissed": False,
        "noted": False,
        "linked": False,
        "carried": commit_message.read_trailers(encode_name(commit["message"])),
        "inherited": [],
        "merged": verdict.get("merged", []) if verdict and is_for_this_commit else [],
        "replays": bool(verdict and "picked" in verdict),
    }
    replays = match.is_replaying(repo)
    if not phases.find_transition(phases.ACTIVE, phases.GIT_COMMIT, rewriting=replays)[1]:
        return conclusion
    _obey(repo, commit, verdict if is_for_this_commit else None, conclusion)
    conclusion["linked"] = bool(conclusion["id"] and conclusion["sessions"])
    if not conclusion["linked"]:
        conclusion["id"] = ""
    if verdict and is_for_this_commit and verdict.get("commented"):
        present = {*conclusion["carried"], conclusion["id"] or verdict["id"]}
        conclusion["inherited"] = [i for i in verdict.get("ids", ()) if i not in present]
    carried = [*conclusion["carried"], *conclusion["inherited"]]
    conclusion["carried"] = [i for i in carried if i != conclusion["id"]]
    git.append_trace("commit", f"{commit['oid']}: {conclusion}")
    return conclusion


def _obey(repo: Repo, commit: Commit, verdict: Verdict | None, conclusion: Conclusion) -> None:
    """Fill in the conclusion for a commit: by the verdict if that linked sessions and the message
    got its id; else by what the commit itself has.  verdict: None if there is none for it."""
    ids = commit_message.read_trailers(encode_name(commit["message"]))
    if verdict and verdict["sessions"] and (verdict.get("told") or verdict["id"] in ids):
        conclusion["sessions"] = verdict["sessions"]
        # Without other text the id was removed by check-message, or never written.
        is_removed_by_us = not commit["message"].strip() or verdict.get("commented", False)
        conclusion["noted"] = is_removed_by_us and verdict["id"] not in ids
        conclusion["dismissed"] = verdict["id"] not in ids and not is_removed_by_us
        if conclusion["dismissed"]:
            conclusion["id"] = ""
        else:
            conclusion["id"] = verdict["id"]
        return
    changes = objects.read_changes(repo.objects, commit)[1]
    picked = None
    if verdict and "picked" in verdict:
        picked = read_commit(repo.objects, verdict["picked"])

    from gitcp.checkpoints import stored

    if picked:  # a session may have resolved its conflict
        from gitcp.git.objects import object_lists

        changes = object_lists.subtract_changes(repo.objects, changes, [picked])
        conclusion["id"] = ids[-1] if ids else make_id()
        conclusion["noted"] = not ids
    elif ids and not any(stored.list_session_ids(repo, i) for i in ids):
        conclusion["id"] = ids[-1]
    elif verdict is None or (verdict["sessions"] and not verdict.get("told")):
        conclusion["id"] = make_id()
        conclusion["noted"] = True
    if conclusion["id"]:
        parent = conclusion["old"]
        replay = picked is not None
        matched = match_sessions(repo, changes, parent, is_replay=replay)
        conclusion["sessions"] = leave_out_merged(repo, commit, matched)
