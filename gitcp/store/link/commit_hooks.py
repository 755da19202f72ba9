"""What git's commit hooks decide.

prepare() decides before the commit and stores the verdict; conclude() compares the commit with it
and obeys (doc/behaviour.md "Linking a commit").
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
from gitcp.store.stream import place

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
        """ids: those that the message gets; drop: those that it has copied, of whose work the
        commit has nothing; gather: whether ids anywhere in it move to its trailers."""

        ids: list[str]
        drop: list[str]
        gather: bool
        sessions: dict[str, Linked]

    class Conclusion(TypedDict):
        """id: '' if nothing is condensed; dismissed: whether the person removed the id; noted:
        whether the link is a note; old: the base of the streams; linked: whether they move on;
        carried: the other ids of the commit; inherited: those of them that its message could not
        get and its note gets; merged: the commits that it squashes."""

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


def prepare(repo: Repo, objects: Objects, head: str, args: Sequence[str]) -> Prepared:
    """prepare-commit-msg(file, source, revision) on HEAD: match the commit, store the verdict,
    return the ids.  A step of a rebase, cherry-pick or am gets no new id."""
    source = args[1] if len(args) > 1 else ""
    when = sources.REPLAYING if commit_memory.is_replaying(repo) else sources.MAKING
    if source == "merge" and when == sources.MAKING:
        when = sources.MERGING
    amends = when != sources.MERGING and commit_arguments.is_amend(repo, args)
    amended = read_commit(objects, head) if amends else None
    target = Target(objects, parent=head, changes=lambda: sources.read_staged(repo, head))
    copied = args[2] if source == "commit" and args[2:] and not amended else ""
    case = Case(repo, objects, head, target=target, amended=amended, copied=copied)
    case.is_seen = source == "squash"
    replaced, brought, drop, merged = _ask(case, when)
    if when == sources.MERGING:
        commit_memory.forget_verdict(repo)  # conclude() decides, when the merge is made
        drop = sorted(commit_memory.read_refused(repo).difference(brought))
        return {"ids": brought, "drop": drop, "gather": False, "sessions": {}}
    if when == sources.REPLAYING:
        return _replay(repo, objects, head, args, [*replaced, *brought], drop)
    parts = _list_sessions(repo, objects, brought)
    sessions = commit_match.match_sessions(repo, objects, target.read()[1], head, brought=parts)
    checkpoint_id = replaced[-1] if replaced else place.make_id()
    ids = list(dict.fromkeys([*replaced, *brought, *([checkpoint_id] if sessions else [])]))
    parents = amended["parents"] if amended else [head]
    verdict: Verdict = {
        "id": checkpoint_id if sessions else "",
        "head": head,
        "parent": parents[0] if parents else refs.get_zeros(repo),
        "sessions": sessions,
        "ids": ids,
        "merged": merged,
    }
    if sessions:
        verdict["maker"] = process.find_git()
    if brought:
        verdict["brings"] = True
    commit_memory.save_verdict(repo, verdict)
    drop = [i for i in drop if i not in ids]
    return {"ids": ids, "drop": drop, "gather": source == "squash", "sessions": sessions}


def _list_sessions(repo: Repo, objects: Objects, checkpoint_ids: Sequence[str]) -> set[str]:
    """The sessions that have a part in one of the checkpoints."""
    lists = (late.committed_read.list_session_ids(repo, objects, one) for one in checkpoint_ids)
    return {session_id for ids in lists for session_id in filter(None, ids)}


def _ask(case: Case, when: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """(ids of the commit that is amended; ids of other commits; ids that the message must not
    have; the commits that it squashes)."""
    replaced, brought, drop, merged = list[str](), list[str](), list[str](), list[str]()
    for target, ids, excluded, old_commits in sources.ask_sources(case, when):
        (brought if target is case.target else replaced).extend(ids)
        drop += excluded
        merged += old_commits if "squash" in ids.values() else ()
    return replaced, list(dict.fromkeys(brought)), drop, merged


def _replay(
    repo: Repo,
    objects: Objects,
    head: str,
    args: Sequence[str],
    ids: Sequence[str],
    drop: Sequence[str],
) -> Prepared:
    """prepare() of a step of a rebase, cherry-pick or am.

    The verdict names the picked commit, since CHERRY_PICK_HEAD may be gone by post-commit."""
    verdict: Verdict = {"id": "", "head": head, "parent": head, "sessions": {}, "ids": [*ids]}
    picked = read_commit(objects, "CHERRY_PICK_HEAD")
    if picked:
        verdict["picked"] = picked["oid"]
    if os.path.exists(os.path.join(repo.git_dir, "rebase-merge")):
        # post-rewrite copies the notes at the end of the rebase.
        with open(args[0], "rb") as f:
            present = trailers.find_anywhere(f.read())
        verdict["ids"] = [i for i in ids if i in present]
    elif ids:
        verdict["brings"] = True
    commit_memory.save_verdict(repo, verdict)
    drop = [i for i in drop if i not in verdict["ids"]]
    return {"ids": verdict["ids"], "drop": drop, "gather": True, "sessions": {}}


def conclude(repo: Repo, objects: Objects) -> Conclusion:
    """post-commit: compare HEAD with the stored verdict (doc/behaviour.md "After the commit")."""
    commit_memory.clear_brought(repo)
    commit = need_commit(objects, "HEAD")
    lost_commits.look_again(repo, commit["oid"])
    parent = commit["parents"][0] if commit["parents"] else refs.get_zeros(repo)
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
        "merged": verdict.get("merged", []) if verdict and holds else [],
    }
    replays = commit_memory.is_replaying(repo)
    if not phases.find_transition(phases.ACTIVE, phases.GIT_COMMIT, rewriting=replays)[1]:
        return conclusion
    _obey(repo, objects, commit, verdict if holds else None, conclusion)
    conclusion["linked"] = bool(conclusion["id"] and conclusion["sessions"])
    if not conclusion["linked"]:
        conclusion["id"] = ""
    if verdict and holds and verdict.get("commented"):
        present = {*conclusion["carried"], conclusion["id"] or verdict["id"]}
        conclusion["inherited"] = [i for i in verdict.get("ids", ()) if i not in present]
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
        # Without other text the id was removed by check-message, or never written.
        by_us = not commit["message"].strip() or verdict.get("commented", False)
        conclusion["noted"] = by_us and verdict["id"] not in ids
        conclusion["dismissed"] = verdict["id"] not in ids and not by_us
        conclusion["id"] = "" if conclusion["dismissed"] else verdict["id"]
        return
    fresh = commit_changes.read_changes(objects, commit)[1]
    picked = read_commit(objects, verdict["picked"]) if verdict and "picked" in verdict else None
    if picked:  # a session may have resolved its conflict
        fresh = commit_changes.subtract_changes(objects, fresh, [picked])
        conclusion["id"] = ids[-1] if ids else place.make_id()
        conclusion["noted"] = not ids
    elif ids and not any(late.committed_read.list_session_ids(repo, objects, i) for i in ids):
        conclusion["id"] = ids[-1]
    elif verdict is None or (verdict["sessions"] and not verdict.get("told")):
        conclusion["id"], conclusion["noted"] = place.make_id(), True
    if conclusion["id"]:
        parent, replay = conclusion["old"], picked is not None
        conclusion["sessions"] = commit_match.match_sessions(
            repo, objects, fresh, parent, replay=replay
        )
