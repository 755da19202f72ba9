"""What git says was rewritten: the ids of the old commits follow to what they became.

Nothing here touches a commit: a link that the new message lacks is a note
(doc/behaviour.md "Rewritten commits").
"""

from __future__ import annotations

import os

from gitcp import jj, trace
from gitcp.core.upkeep.shapes import object_name
from gitcp.errors import Error
from gitcp.store.git import commit_changes, notes, private, reflog
from gitcp.store.git.commit import need_commit, read_commit, rev_list
from gitcp.store.git.tree import Lookup
from gitcp.store.link import commit_hooks, commit_verdict, lost_commits, unhooked
from gitcp.store.match import candidates, commit_memory, inherited_ids
from gitcp.store.v1 import committed_read, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitcp.core.decide.relink_rules import Pair
    from gitcp.core.record_types import Commit, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

MOST = 2000  # commits looked at


def follow(
    repo: Repo, objects: Objects, command: str, lines: Sequence[str]
) -> tuple[list[Pair], dict[str, Sequence[str]]]:
    """post-rewrite: the ids of what was rewritten follow to what it became.

    lines: `<old> <new> …` as git gives them; several olds of one new were squashed.  Returns
    the links that were noted, and of a rebase the commits in which work() is to look for the
    sessions' work: new -> olds, oldest first.
    """
    if command == "amend" and commit_hooks.rewriting(repo):
        return [], {}  # a step of a rebase, whose own post-rewrite comes at its end
    olds = became(lines)
    if command == "rebase":
        return _rebased(repo, objects, olds)
    done: list[Pair] = []
    carried = {one for new in olds for one in find_commits.linked(objects, new)}
    for new, sources in olds.items():
        refused = _amended(repo, objects, sources[0], new) if len(sources) == 1 else set()
        done += hand_on(repo, objects, new, sources, command, carried | refused)
    return done, {}


def _rebased(
    repo: Repo, objects: Objects, olds: Mapping[str, Sequence[str]]
) -> tuple[list[Pair], dict[str, Sequence[str]]]:
    finals, were = _replayed(repo, olds)
    fresh = [oid for oid in finals if oid not in were] if were is not None else []
    olds = _with_amended(repo, objects, olds, fresh, were or ())
    carried = {one for new in {*olds, *finals} for one in find_commits.linked(objects, new)}
    done: list[Pair] = []
    there = set(finals)
    for new in [oid for oid in olds if oid in there]:
        done += hand_on(repo, objects, new, olds[new], "rebase", carried)
    done += _split(repo, objects, olds, fresh)
    replayed = [oid for oid in finals if oid in olds or oid in fresh]
    return done, {oid: olds.get(oid, []) for oid in replayed}


def _with_amended(
    repo: Repo,
    objects: Objects,
    olds: Mapping[str, Sequence[str]],
    fresh: Sequence[str],
    were: Collection[str],
) -> Mapping[str, Sequence[str]]:
    """The olds with what a rebase amended itself: of a commit that it goes on to amend, behind an
    exec, git tells as it was before, and of one it left in its place and then amended nothing."""
    moves = reflog.head(repo) if fresh else []
    came = {new: old for old, new, _ in moves if old != new}
    whole = dict(olds)
    for new in fresh:
        sources, step = list(olds.get(new, ())), new
        while _amends(objects, old := came.pop(step, ""), step):
            sources = [*whole.pop(old, [old] if old in were else []), *sources]
            step = old
        if sources:
            whole[new] = list(dict.fromkeys(sources))
    return whole


def _amends(objects: Objects, old: str, new: str) -> bool:
    before, after = read_commit(objects, old) if old else None, read_commit(objects, new)
    return bool(before and after and before["parents"] == after["parents"])


def hand_on(
    repo: Repo,
    objects: Objects,
    new: str,
    olds: Sequence[str],
    how: str,
    but: Collection[str],
    dry_run: bool = False,
) -> list[Pair]:
    """Note on a commit the ids of the commits that it was made of, without those in but; the links
    that were made."""
    ids = dict.fromkeys(one for old in olds for one in carried_over(repo, objects, old, new))
    wanted = [one for one in ids if one not in but]
    if not dry_run:
        for one in wanted:
            notes.add(repo, objects, new, one)
        take_away(repo, objects, new, olds)
    return [{"commit": new, "checkpoint_id": one, "how": how} for one in wanted]


def take_away(repo: Repo, objects: Objects, new: str, olds: Sequence[str]) -> None:
    """Take off a commit what a person took off those that it was made of, where git has copied
    the line of its message."""
    there = find_commits.linked(objects, new)
    for one, why in find_commits.refused(objects, olds).items() if there else ():
        if one in there:
            notes.take_away(repo, objects, new, one, why)


def amended_sessions(repo: Repo, objects: Objects, command: str, lines: Sequence[str]) -> list[str]:
    """The sessions of the checkpoints of a commit that was amended, by post-rewrite: what their
    transcripts have by now comes with it."""
    if command != "amend" or commit_hooks.rewriting(repo):
        return []
    ids = {one for new in became(lines) for one in find_commits.linked(objects, new)}
    return sorted({s for one in ids for s in committed_read.session_ids(repo, objects, one) if s})


def became(lines: Sequence[str]) -> dict[str, list[str]]:
    """new -> olds, of `<old> <new> …` as git gives them to post-rewrite."""
    olds: dict[str, list[str]] = {}
    for old, new in (line.split(" ")[:2] for line in lines if " " in line):
        olds.setdefault(new, []).append(old)
    return olds


def _amended(repo: Repo, objects: Objects, old: str, new: str) -> set[str]:
    """What an amend did besides: the ids the person took out of the message."""
    after = need_commit(objects, new)
    refused = commit_verdict.refused(repo, old, after)
    if refused:
        commit_memory.write_refused(repo, refused)
    remember(repo, objects, old, after, refused)
    return refused


def remember(
    repo: Repo, objects: Objects, old: str, after: Commit, but: Collection[str] = ()
) -> None:
    """Note a commit of whose content the one that took its place has left something out: it may
    be committed later.  but: ids that the person does not want there."""
    before, look = read_commit(objects, old), Lookup(objects, after["tree"])
    record = [
        entry
        for one in find_commits.linked(objects, old)
        if before and one not in but
        for entry in candidates.read_edits(repo, objects, one, before)
    ]
    if any((look(entry["path"]) or ("", None))[1] != entry["oid"] for entry in record):
        lost_commits.add(repo, [old])


def _split(
    repo: Repo, objects: Objects, olds: Mapping[str, Sequence[str]], fresh: Iterable[str]
) -> list[Pair]:
    """A commit that a rebase stopped for and the person made two of: git tells of the last one
    only.  The others get the ids whose work they have, by evidence."""
    split = [commit for new in fresh if new not in olds and (commit := read_commit(objects, new))]
    if not split:
        return []
    sources = dict.fromkeys(old for each in olds.values() for old in each)
    rebased = candidates.Search(repo, objects, candidates.select_linked(objects, sources))
    done: list[Pair] = []
    for commit, ids in rebased.find_missing(split):
        for one in ids:
            notes.add(repo, objects, commit["oid"], one)
            done.append({"commit": commit["oid"], "checkpoint_id": one, "how": "rebase"})
    return done


def carried_over(repo: Repo, objects: Objects, old: str, new: str) -> list[str]:
    """The ids of an old commit that are the new one's as well, because that has some of its
    content: an amend may leave the content out, and of a commit that was skipped git says that it
    became the one before it."""
    ids = find_commits.linked(objects, old)
    was, now = read_commit(objects, old), read_commit(objects, new)
    if not (ids and was and now):
        return ids
    gone = inherited_ids.left_out(
        repo, objects, ids, was, *commit_changes.read_changes(objects, now)
    )
    return [one for one in ids if one not in gone]


def _replayed(repo: Repo, olds: Iterable[str]) -> tuple[list[str], Collection[str] | None]:
    """(what a rebase that ends made of its branch, oldest first; what the branch was before).  With
    --apply git notes nothing of itself until it stops: olds is all there is."""
    onto, before = (_noted(repo, name) for name in ("onto", "orig-head"))
    if not onto:
        return list(olds), None
    args = ("--reverse", f"--max-count={MOST}", f"^{onto}")
    were = set(rev_list(repo, *args, before)) if before else None
    return rev_list(repo, *args, "HEAD"), were


def _noted(repo: Repo, name: str) -> str:
    """What git has noted of a rebase that is under way, '' where it has not."""
    folders = (os.path.join(repo.git_dir, way) for way in ("rebase-merge", "rebase-apply"))
    words = (private.words(os.path.join(folder, name), object_name) for folder in folders)
    return next((one[0] for one in words if one), "")


def link_replayed(
    repo: Repo, objects: Objects, state: State, replayed: Mapping[str, Sequence[str]]
) -> None:
    """Look for a session's work in what a rebase made (new -> olds): all of what it stopped for
    or an exec committed; of what it rewrote, what was put in on the way.

    The caller holds the session's lock and saves the state.
    """
    for oid, olds in replayed.items():
        commit = read_commit(objects, oid)
        if commit:
            unhooked.link_one(repo, objects, state, commit, olds)


def follow_jj(repo: Repo, objects: Objects, commits: Sequence[str]) -> None:
    """Note on commits the ids of those that jj made them of (`jj evolog`): it runs no hooks.

    One jj process.  Nothing is followed where jj cannot be asked.
    """
    try:
        sources = jj.predecessors(repo.jj_root, commits)
    except Error as e:
        trace.note("jj", str(e))
        return
    refused = commit_memory.read_refused(repo)
    for new in commits:
        but = {*find_commits.linked(objects, new), *refused}
        olds = _linked(objects, sources, new)
        hand_on(repo, objects, new, olds, "jj", but)


def _linked(objects: Objects, sources: Mapping[str, Sequence[str]], new: str) -> list[str]:
    """The nearest commits with a link that a commit was made of, in jj's order."""
    linked, seen, waiting = [], {new}, list(sources.get(new, ()))
    while waiting:
        old = waiting.pop(0)
        if old in seen:
            continue
        seen.add(old)
        if find_commits.linked(objects, old):
            linked.append(old)
        else:
            waiting += sources.get(old, ())
    return linked
