"""What git's commit hooks decide: before the commit once, after it what became of that.

prepare() takes the verdict and stores it; made() reads the commit and obeys (behaviour §5).
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.decide import phases
from gitcp.core.message import trailers
from gitcp.record import raw
from gitcp.store.git import refs
from gitcp.store.git.commit import need_commit, read_commit
from gitcp.store.link import commit_match, commit_verdict, inherited_ids
from gitcp.store.session import process
from gitcp.store.stream import place, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_match import Linked

    class Prepared(TypedDict):
        """ids: what the message is to carry; gather: ids stand anywhere in it and are moved."""

        ids: list[str]
        gather: bool
        sessions: dict[str, Linked]

    class Made(TypedDict):
        """id: '' when nothing is to be condensed; dismissed: the person took the line out;
        noted: linked by a note; old: the base the streams were on; linked: they move on."""

        commit: str
        old: str
        id: str
        sessions: dict[str, Linked]
        dismissed: bool
        noted: bool
        linked: bool


def rewriting(repo: Repo) -> bool:
    """Whether a rebase, cherry-pick or am replays commits here."""
    return any(os.path.exists(os.path.join(repo.git_dir, name)) for name in phases.REWRITING)


def prepare(repo: Repo, objects: Objects, args: Sequence[str]) -> Prepared:
    """prepare-commit-msg(file, source, revision): match, store the verdict, name the ids."""
    source = args[1] if len(args) > 1 else ""
    head = refs.head(repo) or shadow_refs.zeros(repo)
    if rewriting(repo):  # its last step may end after what tells so is gone
        commit_verdict.save(repo, {"id": "", "head": head, "parent": head, "sessions": {}})
        return {"ids": [], "gather": True, "sessions": {}}
    if source == "merge":
        commit_verdict.forget(repo)  # made() decides, when it is known what has become of it
        return {"ids": [], "gather": False, "sessions": {}}
    amended = read_commit(objects, head) if inherited_ids.amends(args) else None
    changes = commit_match.staged(repo.hook_git, head if head.strip("0") else repo.empty_tree)
    found = commit_match.sessions(repo, objects, changes, head)
    ids = inherited_ids.amended(repo, objects, amended) if amended else []
    checkpoint_id = ids[-1] if ids else place.fresh_id()
    ids += inherited_ids.undone(repo, objects, head, changes)
    ids += inherited_ids.squashed(repo) if source != "squash" else []
    ids = list(dict.fromkeys(ids))
    parents = amended["parents"] if amended else [head]
    verdict: commit_verdict.Verdict = {
        "id": checkpoint_id if found else "",
        "head": head,
        "parent": parents[0] if parents else shadow_refs.zeros(repo),
        "sessions": found,
    }
    if found:
        verdict["maker"] = process.above("git")
    commit_verdict.save(repo, verdict)
    if found and checkpoint_id not in ids:
        ids.append(checkpoint_id)
    return {"ids": ids, "gather": source == "squash", "sessions": found}


def made(repo: Repo, objects: Objects) -> Made:
    """post-commit: what HEAD became, held against the stored verdict (behaviour.md §5.4)."""
    commit = need_commit(objects, "HEAD")
    parent = commit["parents"][0] if commit["parents"] else shadow_refs.zeros(repo)
    verdict = commit_verdict.load(repo)
    holds = verdict is not None and verdict["parent"] == parent
    told: Made = {
        "commit": commit["oid"],
        "old": verdict["head"] if verdict and holds else parent,
        "id": "",
        "sessions": {},
        "dismissed": False,
        "noted": False,
        "linked": False,
    }
    counts = phases.transition(phases.ACTIVE, phases.GIT_COMMIT, rewriting=rewriting(repo))[1]
    if not counts:
        return told
    ids = trailers.read(raw(commit["message"]))
    if verdict and holds and verdict["sessions"] and (verdict.get("told") or verdict["id"] in ids):
        told["sessions"] = verdict["sessions"]
        # Without any text it was us who took the line out (check-message).
        told["noted"] = not commit["message"].strip()
        told["dismissed"] = verdict["id"] not in ids and not told["noted"]
        told["id"] = "" if told["dismissed"] else verdict["id"]
    elif ids and not _known(repo, objects, ids):
        told["id"] = ids[-1]
    elif not holds:
        told["id"], told["noted"] = place.fresh_id(), True
    if told["id"] and not told["sessions"]:
        told["sessions"] = commit_match.sessions(
            repo, objects, commit_match.of_commit(objects, commit)[1], parent
        )
    told["linked"] = bool(told["id"] and told["sessions"])
    if not told["linked"]:
        told["id"] = ""
    trace.note("commit", f"{commit['oid']}: {told}")
    return told


def _known(repo: Repo, objects: Objects, ids: list[str]) -> bool:
    from gitcp.store.link import unhooked_commits  # a plain commit does without

    return any(unhooked_commits.known(repo, objects, one) for one in ids)
