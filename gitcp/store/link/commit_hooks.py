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
from gitcp.store.link import commit_arguments, commit_match, commit_verdict, lost_commits
from gitcp.store.match import commit_memory
from gitcp.store.session import process
from gitcp.store.stream import place, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_match import Linked
    from gitcp.store.link.commit_verdict import Verdict

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


def rewriting(repo: Repo) -> bool:
    """Whether a rebase, cherry-pick or am replays commits here."""
    return any(os.path.exists(os.path.join(repo.git_dir, name)) for name in phases.REWRITING)


def prepare(repo: Repo, objects: Objects, args: Sequence[str]) -> Prepared:
    """prepare-commit-msg(file, source, revision): match, store the verdict, name the ids."""
    source = args[1] if len(args) > 1 else ""
    head = refs.read_head(repo) or shadow_refs.zeros(repo)
    if rewriting(repo):
        return _replayed(repo, objects, head, args)
    if source == "merge":
        commit_verdict.forget(repo)  # conclude() decides, when it is known what became of it
        brought = late.inherited_ids.picked_before(repo, objects, lambda: _staged(repo, head))
        drop = sorted(commit_memory.read_refused(repo).difference(brought))
        return {"ids": brought, "drop": drop, "gather": False, "sessions": {}}
    amended = read_commit(objects, head) if commit_arguments.amends(repo, args) else None
    changes = _staged(repo, head)
    sessions = commit_match.sessions(repo, objects, changes, head)
    ids, drop = _inherited(repo, objects, amended) if amended else ([], [])
    checkpoint_id = ids[-1] if ids else place.fresh_id()
    copied, refused = ([], {}) if amended else _copied(objects, args)
    wanted = [one for one in copied if one not in refused]
    brought, left = _brought(repo, objects, source, head, wanted, changes)
    ids += brought
    if sessions:
        ids.append(checkpoint_id)
    ids = list(dict.fromkeys(ids))
    parents = amended["parents"] if amended else [head]
    verdict: Verdict = {
        "id": checkpoint_id if sessions else "",
        "head": head,
        "parent": parents[0] if parents else shadow_refs.zeros(repo),
        "sessions": sessions,
        "ids": ids,
    }
    if sessions:
        verdict["maker"] = process.above("git")
    commit_verdict.save(repo, verdict)
    drop += [one for one in [*copied, *left] if one not in ids]
    return {"ids": ids, "drop": drop, "gather": source == "squash", "sessions": sessions}


def _brought(
    repo: Repo, objects: Objects, source: str, head: str, copied: list[str], changes: Changes
) -> tuple[list[str], list[str]]:
    """The ids of what the commit takes from others: copied, taken back, squashed, picked; and
    those that a squash names of which it has nothing."""
    ids = lost_commits.ids(repo, objects, head, changes)
    messages = (os.path.join(repo.git_dir, name) for name in ("SQUASH_MSG", "MERGE_MSG"))
    if not (copied or any(map(os.path.exists, messages))):
        if ids:
            commit_verdict.expect_copy(repo)
        return ids, []
    ids = late.inherited_ids.evident(repo, objects, copied, changes) + ids
    visible = source == "squash"
    squashed, merged, left = late.inherited_ids.squashed(repo, objects, head, changes, visible)
    if squashed:
        late.carried.squashed(repo, objects, squashed, changes, head, merged)
    picked = late.inherited_ids.picked_before(repo, objects, lambda: changes)
    ids += picked + squashed + late.inherited_ids.picked(repo, objects, changes)
    refused = commit_memory.read_refused(repo).difference(picked)
    ids = [one for one in ids if one not in refused]
    if ids or squashed:
        commit_verdict.expect_copy(repo)
    return ids, [*left, *refused]


def _inherited(repo: Repo, objects: Objects, amended: Commit) -> tuple[list[str], list[str]]:
    """The ids that what replaces a commit keeps, and those of which it has nothing any more."""
    refused = late.find_commits.refused(objects, [amended["oid"]])
    ids = late.find_commits.linked(objects, amended["oid"])
    if not ids:
        return [], [*refused]
    parent = (amended["parents"] or [shadow_refs.zeros(repo)])[0]
    gone = late.inherited_ids.left_out(repo, objects, ids, amended, parent, _staged(repo, parent))
    return [one for one in ids if one not in gone], [*refused, *sorted(gone)]


def _staged(repo: Repo, head: str) -> Changes:
    return commit_changes.read_staged(repo.hook_git, head if head.strip("0") else repo.empty_tree)


def _replayed(repo: Repo, objects: Objects, head: str, args: Sequence[str]) -> Prepared:
    """A step of a rebase, cherry-pick or am gets no new id.  Its last step may end after what
    tells so is gone: the verdict remembers."""
    verdict: Verdict = {"id": "", "head": head, "parent": head, "sessions": {}, "ids": []}
    replayed, drop = read_commit(objects, "CHERRY_PICK_HEAD"), list[str]()
    if replayed:
        verdict["picked"] = replayed["oid"]
        drop += late.find_commits.refused(objects, [replayed["oid"]])
        # The notes of what a rebase replays follow at its end, by post-rewrite.
        rebases = os.path.exists(os.path.join(repo.git_dir, "rebase-merge"))
        picked = None if rebases else replayed
        verdict["ids"] = late.inherited_ids.picked(repo, objects, _staged(repo, head), picked)
        if verdict["ids"] and not rebases:
            commit_verdict.expect_copy(repo)
    commit_verdict.save(repo, verdict)
    amended = read_commit(objects, head) if commit_arguments.amends(repo, args) else None
    drop += _inherited(repo, objects, amended)[1] if amended else []
    ids = [one for one in verdict["ids"] if one not in drop]
    return {"ids": ids, "drop": drop, "gather": True, "sessions": {}}


def _copied(objects: Objects, args: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The ids in the message that -c or -C takes from another commit; those that a person took
    off that."""
    other = read_commit(objects, args[2]) if args[1:2] == ["commit"] and args[2:] else None
    if other is None:
        return [], {}
    return trailers.read(encode_name(other["message"])), late.find_commits.refused(
        objects, [other["oid"]]
    )


def conclude(repo: Repo, objects: Objects) -> Conclusion:
    """post-commit: what HEAD became, held against the stored verdict
    (doc/behaviour.md "After the commit")."""
    commit_verdict.copy_made(repo)
    commit = need_commit(objects, "HEAD")
    lost_commits.look_again(repo, commit["oid"])
    parent = commit["parents"][0] if commit["parents"] else shadow_refs.zeros(repo)
    verdict = commit_verdict.load(repo)
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
    counts = phases.find_transition(phases.ACTIVE, phases.GIT_COMMIT, rewriting=rewriting(repo))[1]
    if not counts:
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
    trace.note("commit", f"{commit['oid']}: {conclusion}")
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
        conclusion["id"] = ids[-1] if ids else place.fresh_id()
        conclusion["noted"] = not ids
    elif ids and not _has_stored(repo, objects, ids):
        conclusion["id"] = ids[-1]
    elif verdict is None or (verdict["sessions"] and not verdict.get("told")):
        conclusion["id"], conclusion["noted"] = place.fresh_id(), True
    if conclusion["id"]:
        parent, replay = conclusion["old"], picked is not None
        conclusion["sessions"] = commit_match.sessions(repo, objects, fresh, parent, replay=replay)


def _has_stored(repo: Repo, objects: Objects, ids: list[str]) -> bool:
    return any(late.committed_read.session_ids(repo, objects, one) for one in ids)
