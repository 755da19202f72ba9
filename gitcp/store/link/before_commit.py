"""What prepare-commit-msg decides: prepare() stores its verdict for post-commit (after_commit.py;
doc/behaviour.md "Linking a commit")."""

from __future__ import annotations

import os

from gitcp.core.message import trailers
from gitcp.start import late
from gitcp.store.git import refs
from gitcp.store.git.commit import read_commit
from gitcp.store.link import commit_arguments, commit_match
from gitcp.store.match import commit_memory, sources
from gitcp.store.match.case import Case, Target
from gitcp.store.session import process
from gitcp.store.session.state import make_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from gitcp.core.decide.overlap import Linked
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
    checkpoint_id = replaced[-1] if replaced else make_id()
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
