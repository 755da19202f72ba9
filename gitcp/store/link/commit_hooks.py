"""What git's commit hooks decide: before the commit once, after it what became of that.

prepare() takes the verdict and stores it; conclude() reads the commit and obeys
(doc/behaviour.md "Linking a commit").
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.decide import phases
from gitcp.core.message import trailers
from gitcp.record import encode_name
from gitcp.start import late
from gitcp.store.git import commit_changes, refs
from gitcp.store.git.commit import need_commit, read_commit
from gitcp.store.link import commit_arguments, commit_match
from gitcp.store.match import commit_memory, lost_commits, sources
from gitcp.store.match.case import Case, Target
from gitcp.store.session import process
from gitcp.store.stream import place, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from gitcp.core.decide.overlap import Linked
    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.match.commit_memory import Verdict

    class Prepared(TypedDict):
        """ids: what the message is to carry; drop: what it copies and the commit has nothing
        of; gather: ids stand anywhere in it and are moved."""

        ids: list[str]
        drop: list[str]
        gather: bool
        sessions: dict[str, Linked]

    class Conclusion(TypedDict):
        """id: '' when nothing is to be condensed; dismissed: the person took the line out;
        noted: linked by a note; old: the base the streams were on; linked: they move on;
        carried: ids that the commit has besides, of what it copies; inherited: those of them that
        its message was not to have, and a note gets."""

        commit: str
        old: str
        id: str
        sessions: dict[str, Linked]
        dismissed: bool
        noted: bool
        linked: bool
        carried: list[str]
        inherited: list[str]


def prepare(repo: Repo, objects: Objects, args: Sequence[str]) -> Prepared:
    """prepare-commit-msg(file, source, revision): match, store the verdict, name the ids.  A step
    of a rebase, cherry-pick or am gets no new id."""
    source = args[1] if len(args) > 1 else ""
    head = refs.read_head(repo) or shadow_refs.get_zeros(repo)
    when = sources.REPLAYING if commit_memory.is_replaying(repo) else sources.MAKING
    if source == "merge" and when == sources.MAKING:
        when = sources.MERGING
    amends = when != sources.MERGING and commit_arguments.is_amend(repo, args)
    amended = read_commit(objects, head) if amends else None
    target = Target(objects, parent=head, changes=lambda: sources.read_staged(repo, head))
    copied = args[2] if source == "commit" and args[2:] and not amended else ""
    case = Case(repo, objects, head, target=target, amended=amended, copied=copied)
    case.is_seen = source == "squash"
    kept, brought, drop = _ask(case, when)
    if when == sources.MERGING:
        commit_memory.forget_verdict(repo)  # conclude() decides, when it is known what became of it
        drop = sorted(commit_memory.read_refused(repo).difference(brought))
        return {"ids": brought, "drop": drop, "gather": False, "sessions": {}}
    if when == sources.REPLAYING:
        return _replay(repo, objects, head, args, [*kept, *brought], drop)
    sessions = commit_match.match_sessions(repo, objects, target.read()[1], head)
    checkpoint_id = kept[-1] if kept else place.make_id()
    ids = list(dict.fromkeys([*kept, *brought, *([checkpoint_id] if sessions else [])]))
    parents = amended["parents"] if amended else [head]
    verdict: Verdict = {
        "id": checkpoint_id if sessions else "",
        "head": head,
        "parent": parents[0] if parents else shadow_refs.get_zeros(repo),
        "sessions": sessions,
        "ids": ids,
    }
    if sessions:
        verdict["maker"] = process.find_above("git")
    if brought:
        verdict["brings"] = True
    commit_memory.save_verdict(repo, verdict)
    drop = [one for one in drop if one not in ids]
    return {"ids": ids, "drop": drop, "gather": source == "squash", "sessions": sessions}


def _ask(case: Case, when: str) -> tuple[list[str], list[str], list[str]]:
    """The ids that a commit which is being made has of what it amends; those of what it takes from
    others; those that its message is not to have."""
    kept, brought, drop = list[str](), list[str](), list[str]()
    for target, ids, left, olds in sources.ask_sources(case, when):
        (brought if target is case.target else kept).extend(ids)
        drop += left
        if "squash" in ids.values():
            changes = target.read()[1]
            late.carried.follow_squash(case.repo, case.objects, [*ids], changes, case.head, olds)
    return kept, list(dict.fromkeys(brought)), drop


def _replay(
    repo: Repo,
    objects: Objects,
    head: str,
    args: Sequence[str],
    ids: Sequence[str],
    drop: Sequence[str],
) -> Prepared:
    """What a step of a rebase, cherry-pick or am takes along.  Its last step may end after what
    tells so is gone: the verdict remembers."""
    verdict: Verdict = {"id": "", "head": head, "parent": head, "sessions": {}, "ids": [*ids]}
    picked = read_commit(objects, "CHERRY_PICK_HEAD")
    if picked:
        verdict["picked"] = picked["oid"]
    if os.path.exists(os.path.join(repo.git_dir, "rebase-merge")):
        # The notes of what a rebase replays follow at its end, by post-rewrite.
        with open(args[0], "rb") as f:
            there = trailers.find_anywhere(f.read())
        verdict["ids"] = [one for one in ids if one in there]
    elif ids:
        verdict["brings"] = True
    commit_memory.save_verdict(repo, verdict)
    drop = [one for one in drop if one not in verdict["ids"]]
    return {"ids": verdict["ids"], "drop": drop, "gather": True, "sessions": {}}


def conclude(repo: Repo, objects: Objects) -> Conclusion:
    """post-commit: what HEAD became, held against the stored verdict
    (doc/behaviour.md "After the commit")."""
    commit_memory.clear_brought(repo)
    commit = need_commit(objects, "HEAD")
    lost_commits.look_again(repo, commit["oid"])
    parent = commit["parents"][0] if commit["parents"] else shadow_refs.get_zeros(repo)
    verdict = commit_memory.load_verdict(repo)
    holds = verdict is not None and verdict["parent"] == parent
    conclusion: Conclusion = {
        "commit": commit["oid"],
        "old": verdict["head"] if verdict and holds else parent,
        "id": "",
        "sessions": {},
        "dismissed": False,
        "noted": False,
        "linked": False,
        "carried": trailers.read(encode_name(commit["message"])),
        "inherited": [],
    }
    replays = commit_memory.is_replaying(repo)
    if not phases.find_transition(phases.ACTIVE, phases.GIT_COMMIT, rewriting=replays)[1]:
        return conclusion
    _obey(repo, objects, commit, verdict if holds else None, conclusion)
    conclusion["linked"] = bool(conclusion["id"] and conclusion["sessions"])
    if not conclusion["linked"]:
        conclusion["id"] = ""
    if verdict and holds and verdict.get("commented"):
        named = {*conclusion["carried"], conclusion["id"] or verdict["id"]}
        conclusion["inherited"] = [i for i in verdict.get("ids", ()) if i not in named]
    carried = [*conclusion["carried"], *conclusion["inherited"]]
    conclusion["carried"] = [i for i in carried if i != conclusion["id"]]
    trace.append_note("commit", f"{commit['oid']}: {conclusion}")
    return conclusion


def _obey(
    repo: Repo, objects: Objects, commit: Commit, verdict: Verdict | None, conclusion: Conclusion
) -> None:
    ids = trailers.read(encode_name(commit["message"]))
    if verdict and verdict["sessions"] and (verdict.get("told") or verdict["id"] in ids):
        conclusion["sessions"] = verdict["sessions"]
        # Without any text it was us who took the line out (check-message), or never put it in.
        by_us = not commit["message"].strip() or verdict.get("commented", False)
        conclusion["noted"] = by_us and verdict["id"] not in ids
        conclusion["dismissed"] = verdict["id"] not in ids and not by_us
        conclusion["id"] = "" if conclusion["dismissed"] else verdict["id"]
        return
    fresh = commit_changes.read_changes(objects, commit)[1]
    picked = read_commit(objects, verdict["picked"]) if verdict and "picked" in verdict else None
    if picked:  # what the conflict made of it may be a session's work
        fresh = commit_changes.subtract_changes(objects, fresh, [picked])
        conclusion["id"] = ids[-1] if ids else place.make_id()
        conclusion["noted"] = not ids
    elif ids and not _has_stored(repo, objects, ids):
        conclusion["id"] = ids[-1]
    elif verdict is None or (verdict["sessions"] and not verdict.get("told")):
        conclusion["id"], conclusion["noted"] = place.make_id(), True
    if conclusion["id"]:
        parent, replay = conclusion["old"], picked is not None
        conclusion["sessions"] = commit_match.match_sessions(
            repo, objects, fresh, parent, replay=replay
        )


def _has_stored(repo: Repo, objects: Objects, ids: list[str]) -> bool:
    return any(late.committed_read.list_session_ids(repo, objects, one) for one in ids)
