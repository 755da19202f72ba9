"""Which sessions and ids a commit is linked with: decided before it is made, obeyed after it
(doc/behaviour.md "Matching").

Git's own arguments, which it does not pass to a hook, tell what kind of commit is made.
"""

from __future__ import annotations

import os

from gitcp import git
from gitcp.git import commit_message, encode_name, refs
from gitcp.git.objects import (
    build_finder,
    compare_with_parents,
    need_commit,
    read_changes,
    read_commit,
)
from gitcp.link import linking
from gitcp.record import match, session
from gitcp.record.journal import credit, settling
from gitcp.record.journal.stretches import collect_work
from gitcp.record.session import make_id, phases
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Sequence

    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.record.match import Target, Verdict
    from gitcp.record.match.sources import Answer, Making, MatchCase
    from gitcp.text.record_types import (
        Commit,
        CommitMatch,
        Linked,
        Marker,
        MessageMatch,
        Recorded,
    )


@value_class
class Prepared:
    """What a message is to have.

    ids: those that it gets.  drop: those that it has from another commit, of whose work this one
    has nothing.  gather: whether ids anywhere in it move to its trailers."""

    ids: Sequence[str]
    drop: Sequence[str]
    gather: bool
    sessions: dict[str, Linked]

    def build_record(self, args: list[str]) -> MessageMatch:
        """The match record of prepare-commit-msg with these arguments."""
        return {
            "type": "match",
            "ids": [*self.ids],
            "drop": [*self.drop],
            "gather": self.gather,
            "sessions": self.sessions,
            "args": args,
        }


@value_class
class _Choice:
    """The id and the sessions of a commit that was made; dismissed, noted: as in Conclusion."""

    id: str
    sessions: dict[str, Linked]
    dismissed: bool = False
    noted: bool = False


@value_class
class Conclusion:
    """What is to be done for a commit."""

    commit: str
    old: str  # the base of the streams
    id: str  # '' if nothing is condensed
    sessions: dict[str, Linked]
    dismissed: bool  # whether the person removed the id
    noted: bool  # whether the link is a note
    carried: Sequence[str]  # the other ids of the commit
    # Those of them that go into its note because its message could not get them.
    inherited: Sequence[str]
    merged: Sequence[str]  # the commits that it squashes
    replays: bool  # whether git made it of another commit

    def take_choice(self, choice: _Choice, verdict: Verdict | None) -> None:
        """Have the commit linked as was chosen for it; verdict: what was decided before."""
        self.id = choice.id
        self.sessions = choice.sessions
        self.dismissed = choice.dismissed
        self.noted = choice.noted
        if verdict and verdict.commented:
            present = {*self.carried, self.id or verdict.id}
            self.inherited = [name for name in verdict.ids if name not in present]
        carried = [*self.carried, *self.inherited]
        self.carried = [name for name in carried if name != self.id]

    def build_record(self) -> CommitMatch:
        """The match record of post-commit.  linked: whether the streams move on."""
        return {
            "type": "match",
            "commit": self.commit,
            "old": self.old,
            "id": self.id,
            "sessions": self.sessions,
            "dismissed": self.dismissed,
            "noted": self.noted,
            "linked": bool(self.id),
            "carried": [*self.carried],
            "inherited": [*self.inherited],
            "merged": [*self.merged],
            "replays": self.replays,
        }


@value_class
class _Foreign:
    """The sessions of other worktrees that make a commit, and those that may write here unseen."""

    makers: list[Marker]
    unseen: list[Marker]


class _Told:
    """What the sources of links tell of a commit that is being made.

    replaced: ids of the commit that is amended.  brought: ids of other commits.  drop: ids that the
    message must not have.  merged: the commits that are squashed."""

    def __init__(self, case: MatchCase, answers: Iterable[Answer]) -> None:
        self.replaced: list[str] = []
        self.drop: list[str] = []
        self.merged: list[str] = []
        brought: dict[str, str] = {}
        for answer in answers:
            if answer.target is case.target:
                brought |= answer.ids
            else:
                self.replaced += answer.ids
            self.drop += answer.excluded
            if "squash" in answer.ids.values():
                self.merged += answer.old_commits
        self.brought = [*brought]


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
    candidates = open_markers
    if candidates is None:
        candidates = session.read_concerned(repo)
    acting: dict[str, str] = {}
    if is_made_now:
        acting = find_acting(candidates)
    looked_at = None
    if not is_replay:
        looked_at = changes
    lines = _look_at_commit(repo, looked_at, candidates, acting, is_made_now)
    if open_markers is None:
        candidates = _add_writers(repo, candidates, lines, changes)
    is_here = settling.build_stay_check(repo, parent)
    find_old = build_finder(repo.objects, parent)
    linked: dict[str, Linked] = {}
    for marker in candidates:
        session_id = marker["session_id"]
        how = acting.get(session_id)
        records = collect_work(lines, session_id, is_here).build_records(session_id not in brought)
        records = _mark_stashed(repo, records, changes, stash, is_replay or is_past)
        records += _list_elsewhere(repo, marker, changes)
        found = linking.match_session(
            records, changes, blob, lambda path: is_gone(repo, path), find_old
        )
        git.append_trace("match", f"'{session_id}': {found.paths} {found.reasons}")
        if found.shared or how:
            linked[session_id] = found.build_linked(how or "content")
    shared_paths = set[str]()
    for part in linked.values():
        shared_paths.update(part["paths"])
    for path in shared_paths:
        _leave_out_lineless(repo.objects, lines, linked, path, changes)
    return linked


def _look_at_commit(
    repo: Repo,
    changes: Changes | None,
    candidates: list[Marker],
    acting: dict[str, str],
    is_made_now: bool,
) -> list[JournalLine]:
    """The journal after a look at what a commit changes, None for a copy of another commit.
    acting: the sessions that make it, as find_acting() has them."""
    foreign = _list_foreign(repo, candidates, acting)
    committers = acting if is_made_now else None
    return settling.look_for_commit(repo, changes, foreign.makers, foreign.unseen, committers)


def leave_out_merged(
    repo: Repo, commit: Commit, linked: dict[str, Linked], markers: list[Marker] | None = None
) -> dict[str, Linked]:
    """What match_sessions() found for a commit, without the work that a merge has from one of its
    parents."""
    if not linked:
        return linked
    sides = compare_with_parents(repo.objects, commit)[1:]
    for parent, changes in zip(commit["parents"][1:], sides, strict=True):
        of_side = match_sessions(repo, changes, parent, markers, is_made_now=False, is_replay=True)
        remaining: dict[str, Linked] = {}
        for session_id, part in linked.items():
            paths: list[str] = []
            if session_id in of_side:
                paths = [path for path in part["paths"] if path in of_side[session_id]["paths"]]
            if paths or part["how"] != "content":
                reasons = {path: part["reasons"][path] for path in paths}
                remaining[session_id] = {**part, "paths": paths, "reasons": reasons}
        linked = remaining
    return linked


def _add_writers(
    repo: Repo, candidates: list[Marker], lines: list[JournalLine], changes: Changes
) -> list[Marker]:
    """Add the sessions that wrote one of the changed files, also before it was moved."""
    paths = {*changes}
    for edit in credit.list_edits(lines):
        if edit.follows and edit.path in changes:
            paths.add(edit.follows)
    writers = credit.list_writers(lines, paths)
    if writers <= {marker["session_id"] for marker in candidates}:
        return candidates
    return session.read_concerned(repo, writers)


def _list_foreign(repo: Repo, candidates: list[Marker], acting: Container[str]) -> _Foreign:
    """The sessions of other worktrees among these, as far as they take part in a commit."""
    foreign = _Foreign([], [])
    for marker in candidates:
        if session.is_home(repo, marker):
            continue
        if marker["session_id"] in acting:
            foreign.makers.append(marker)
        if marker["phase"] == "active" and not marker["tool_events"]:
            foreign.unseen.append(marker)
    return foreign


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
    ends = [objects.read_blob(oid) if oid else b"" for oid in (old, new)]
    lacking = [one for one in writers if not _has_line(objects, lines, one, path, ends)]
    if len(lacking) == len(writers):
        return
    for session_id in lacking:
        part = linked[session_id]
        part["paths"].remove(path)
        part["reasons"][path] = "none of its lines is in the commit"
        if not part["paths"] and part["how"] == "content":
            del linked[session_id]


def _has_line(
    objects: Objects,
    lines: list[JournalLine],
    session_id: str,
    path: str,
    ends: Sequence[bytes | None],
) -> bool:
    """Whether the change of a path from the first of the ends to the last has a line of a session;
    also if it has no edit there."""
    from gitcp.record.match import remains

    stretches = collect_work(lines, session_id).list_stretches(path)
    if not stretches:
        return True
    return any(remains.has_line(one.read_contents(objects.read_blob), ends) for one in stretches)


def _mark_stashed(
    repo: Repo, records: list[Recorded], paths: Container[str], stash: refs.Stash, is_past: bool
) -> list[Recorded]:
    """The records, with `stashed` set on those in the worktree whose paths a stash changes; of a
    past commit, the records as if none were in the worktree."""
    if is_past:
        return [{**record, "live": False} for record in records]
    marked: list[Recorded] = []
    for record in records:
        path = record["path"]
        is_there = record["live"] and record["oid"]
        if is_there and path in paths and stash.changes(path):
            from gitcp.record.match import taken_back

            is_stashed = taken_back.is_in_stash(repo.objects, [record], stash.list_all())
            marked.append({**record, "stashed": is_stashed})
        else:
            marked.append(record)
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
    when = _find_occasion(repo, source)
    amended = None
    if when != sources.MERGING and is_amend(repo, args):
        amended = read_commit(repo.objects, head)
    copied = ""
    if source == "commit" and args[2:] and not amended:
        copied = args[2]
    target = sources.aim_at_index(repo, head)
    making = sources.Making(target, amended, copied, is_seen=source == "squash")
    case = sources.MatchCase(repo, head, making=making)
    if when == sources.REPLAYING:
        from gitcp.record.match import searches

        told = _Told(case, searches.ask_sources(case, when))
        return _replay(repo, head, args, [*told.replaced, *told.brought], told.drop)
    told = _Told(case, sources.ask_sources(case, when))
    if when == sources.MERGING:
        return _prepare_merge(repo, told.brought)
    return _prepare_new(repo, head, args, making, told, moved)


def _prepare_new(
    repo: Repo, head: str, args: Sequence[str], making: Making, told: _Told, moved: bool
) -> Prepared:
    """prepare_commit() of a commit that is made of the index."""
    brought = _list_sessions(repo, told.brought)
    sessions = match_sessions(repo, making.target.changes, head, brought=brought)
    _check_index(repo, head, making.target, moved)
    unmade = match.list_unmade(repo)
    tried: list[str] = []
    if not making.amended:
        tried = _find_tried(repo, unmade, args)
    if told.replaced:
        checkpoint_id = told.replaced[-1]
    else:
        checkpoint_id = _reuse_id(repo, tried)
    ids = [*told.replaced, *told.brought]
    if sessions:
        ids.append(checkpoint_id)
    verdict = match.Verdict(
        checkpoint_id if sessions else "",
        head,
        _find_parent(repo, head, making.amended),
        sessions,
        ids=list(dict.fromkeys(ids)),
        merged=told.merged,
        unmade=unmade,
        maker=session.find_git() if sessions else None,
        brings=bool(told.brought),
    )
    match.save_verdict(repo, verdict)
    drop = [name for name in (*told.drop, *tried) if name not in verdict.ids]
    return Prepared(verdict.ids, drop, making.is_seen, sessions)


def _find_parent(repo: Repo, head: str, amended: Commit | None) -> str:
    """The first parent of a commit that is made on head, or in place of one; zeros for none."""
    if amended is None:
        return head
    if amended["parents"]:
        return amended["parents"][0]
    return refs.get_zeros(repo)


def _check_index(repo: Repo, head: str, target: Target, moved: bool) -> None:
    """Warn if the index of a commit on head is older than another commit."""
    if _may_be_old(repo, head, moved):
        from gitcp.record.snapshot import index

        index.warn_of_reverts(repo, target.changes, head)


def _may_be_old(repo: Repo, head: str, moved: bool) -> bool:
    """Whether the index of a commit may be older than HEAD: it is not that of the worktree, or
    another process has moved the branch below the worktree since the last event of a session."""
    name = os.path.basename(os.environ.get("GIT_INDEX_FILE", ""))
    if name and not name.removesuffix(".lock").startswith(("index", "next-index")):
        return True
    if not moved:
        return False
    moves = refs.list_head_moves(repo)
    return bool(moves) and moves[-1][1] != head


def _find_occasion(repo: Repo, source: str) -> str:
    """The kind of the commit that is made, by the source of its message: a moment of the sources
    of links."""
    from gitcp.record.match import sources

    if match.is_replaying(repo):
        return sources.REPLAYING
    if source == "merge":
        return sources.MERGING
    return sources.MAKING


def _prepare_merge(repo: Repo, brought: list[str]) -> Prepared:
    """prepare_commit() of a merge: conclude_commit() decides, when it is made."""
    match.forget_verdict(repo)
    drop = sorted(match.read_refused(repo).difference(brought))
    return Prepared(brought, drop, False, {})


def _reuse_id(repo: Repo, tried: Sequence[str]) -> str:
    """The last id that was tried and not refused, else a new one."""
    if tried:
        refused = match.read_refused(repo)
        for checkpoint_id in reversed(tried):
            if checkpoint_id not in refused:
                return checkpoint_id
    return make_id()


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


def _list_sessions(repo: Repo, checkpoint_ids: Sequence[str]) -> set[str]:
    """The sessions that have a part in one of the checkpoints."""
    if not checkpoint_ids:
        return set()

    from gitcp.checkpoints import stored

    lists = (stored.list_session_ids(repo, one) for one in checkpoint_ids)
    found = set[str]()
    for ids in lists:
        found.update(filter(None, ids))
    return found


def _replay(
    repo: Repo, head: str, args: Sequence[str], ids: Sequence[str], drop: Sequence[str]
) -> Prepared:
    """prepare_commit() of a step of a rebase, cherry-pick or am.

    The verdict names the picked commit, since CHERRY_PICK_HEAD may be gone by post-commit."""
    picked = read_commit(repo.objects, "CHERRY_PICK_HEAD")
    brings = bool(ids)
    if os.path.exists(os.path.join(repo.git_dir, "rebase-merge")):
        # post-rewrite copies the notes at the end of the rebase.
        with open(args[0], "rb") as f:
            present = commit_message.find_anywhere(f.read())
        ids = [name for name in ids if name in present]
        brings = False
    picked_oid = picked["oid"] if picked else ""
    verdict = match.Verdict("", head, head, {}, ids=ids, picked=picked_oid, brings=brings)
    match.save_verdict(repo, verdict)
    return Prepared(ids, [name for name in drop if name not in ids], True, {})


def conclude_commit(repo: Repo) -> Conclusion:
    """Compare HEAD with the stored verdict."""
    match.clear_brought(repo)
    commit = need_commit(repo.objects, "HEAD")
    match.reread_orig_head(repo, commit["oid"])
    parent = refs.get_zeros(repo)
    if commit["parents"]:
        parent = commit["parents"][0]
    stored = match.load_verdict(repo)
    verdict = None
    if stored and stored.parent == parent:
        verdict = stored
    conclusion = Conclusion(
        commit["oid"],
        old=verdict.head if verdict else parent,
        id="",
        sessions={},
        dismissed=False,
        noted=False,
        carried=commit_message.read_trailers(encode_name(commit["message"])),
        inherited=[],
        merged=verdict.merged if verdict else [],
        replays=bool(stored and stored.picked),
    )
    is_replay = match.is_replaying(repo)
    _, actions = phases.find_transition(phases.ACTIVE, phases.GIT_COMMIT, rewriting=is_replay)
    if actions:
        conclusion.take_choice(_choose(repo, commit, verdict, conclusion), verdict)
        git.append_trace("commit", f"{commit['oid']}: {conclusion}")
    return conclusion


def _choose(repo: Repo, commit: Commit, verdict: Verdict | None, conclusion: Conclusion) -> _Choice:
    """The id and the sessions of a commit: by the verdict if that linked sessions and the message
    got its id; else by what the commit itself has.  verdict: None if there is none for it."""
    ids = conclusion.carried
    if verdict and verdict.sessions and (verdict.told or verdict.id in ids):
        return _obey(commit, verdict, ids)
    changes = read_changes(repo.objects, commit)[1]
    picked = None
    if verdict and verdict.picked:
        picked = read_commit(repo.objects, verdict.picked)
    if picked:  # a session may have resolved its conflict
        from gitcp.git.objects import object_lists

        changes = object_lists.subtract_changes(repo.objects, changes, [picked])
    choice = _choose_id(repo, ids, verdict, picked)
    if choice.id:
        is_replay = picked is not None
        matched = match_sessions(repo, changes, conclusion.old, is_replay=is_replay)
        sessions = leave_out_merged(repo, commit, matched)
        return _Choice(choice.id if sessions else "", sessions, noted=choice.noted)
    return choice


def _obey(commit: Commit, verdict: Verdict, ids: Sequence[str]) -> _Choice:
    """What the verdict says of a commit whose message has these ids."""
    if verdict.id in ids:
        return _Choice(verdict.id, verdict.sessions)
    # Without other text the id was removed by check-message, or never written.
    if not commit["message"].strip() or verdict.commented:
        return _Choice(verdict.id, verdict.sessions, noted=True)
    return _Choice("", verdict.sessions, dismissed=True)


def _choose_id(
    repo: Repo, ids: Sequence[str], verdict: Verdict | None, picked: Commit | None
) -> _Choice:
    """The id under which sessions are stored that a commit with these ids turns out to have; none
    if it was decided that it has no session.  picked: the commit that it is a copy of."""
    from gitcp.checkpoints import stored

    if picked and ids:
        return _Choice(ids[-1], {})
    if picked:
        return _Choice(make_id(), {}, noted=True)
    if ids and not any(stored.list_session_ids(repo, name) for name in ids):
        return _Choice(ids[-1], {})
    if verdict is None or (verdict.sessions and not verdict.told):
        return _Choice(make_id(), {}, noted=True)
    return _Choice("", {})
