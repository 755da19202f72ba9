"""What post-commit decides: conclude() compares the commit with the verdict that before_commit.py
stored, and obeys (doc/behaviour.md "After the commit")."""

from __future__ import annotations

from gitcp import trace
from gitcp.core.decide import phases
from gitcp.core.message import trailers
from gitcp.record import encode_name
from gitcp.start import late
from gitcp.store.git import commit_changes, refs
from gitcp.store.git.commit import need_commit, read_commit
from gitcp.store.match import commit_memory, lost_commits
from gitcp.store.session.state import make_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from gitcp.core.decide.overlap import Linked
    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.match.commit_memory import Verdict

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


def conclude(repo: Repo, objects: Objects) -> Conclusion:
    """Compare HEAD with the stored verdict."""
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
        conclusion["id"] = ids[-1] if ids else make_id()
        conclusion["noted"] = not ids
    elif ids and not any(late.committed_read.list_session_ids(repo, objects, i) for i in ids):
        conclusion["id"] = ids[-1]
    elif verdict is None or (verdict["sessions"] and not verdict.get("told")):
        conclusion["id"], conclusion["noted"] = make_id(), True
    if conclusion["id"]:
        parent, replay = conclusion["old"], picked is not None
        conclusion["sessions"] = late.commit_match.match_sessions(
            repo, objects, fresh, parent, replay=replay
        )
