"""Links that commits lost: through rewriting, or because no hook of ours saw them made.

Nothing here touches a commit: a link that is found again is a note on it (behaviour.md §5.7).
"""

from __future__ import annotations

import os

from gitcp.core.decide import relink_rules as core
from gitcp.record import text
from gitcp.store.git import notes
from gitcp.store.git.commit import read_commit
from gitcp.store.link import commit_hooks, commit_match, find_commits, unhooked_commits
from gitcp.store.v1 import committed_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitcp.core.decide.relink_rules import Found
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.session.state import State

MOST = 2000  # commits looked at


def rewritten(
    repo: Repo, objects: Objects, command: str, lines: Sequence[str]
) -> tuple[list[Found], dict[str, list[str]]]:
    """post-rewrite: the ids of what was rewritten follow to what it became.

    lines: `<old> <new> …` as git gives them; several olds of one new were squashed.  Returns
    the links that were noted, and the commits in which work() is to look for the sessions'
    work: new -> olds, oldest first.
    """
    if command == "amend" and commit_hooks.rewriting(repo):
        return [], {}  # a step of a rebase, whose own post-rewrite comes at its end
    olds: dict[str, list[str]] = {}
    for old, new in (line.split(" ")[:2] for line in lines if " " in line):
        olds.setdefault(new, []).append(old)
    finals, fresh = _replayed(repo) if command == "rebase" else ([], [])
    kept = {one for new in {*olds, *finals} for one in find_commits.of_commit(repo, objects, new)}
    done: list[Found] = []
    for new, sources in olds.items():
        came = sources
        if command == "rebase":
            came = [old for old in sources if new in finals and _share(objects, old, new)]
        ids = [i for old in came for i in find_commits.of_commit(repo, objects, old)]
        for one in dict.fromkeys(ids):
            if one not in kept:
                notes.add(repo, objects, new, one)
                done.append({"commit": new, "checkpoint_id": one, "how": command})
    made = [oid for oid in finals if oid in olds or oid in fresh]
    return done, {oid: olds.get(oid, []) for oid in made}


def _share(objects: Objects, old: str, new: str) -> bool:
    """Whether a rewritten commit changes a path of the original: git also says of a commit
    that was skipped that it became the one before it."""
    pair = [read_commit(objects, old), read_commit(objects, new)]
    was, now = [set(commit_match.of_commit(objects, one)[1]) if one else set() for one in pair]
    return not was or bool(was & now)


def _replayed(repo: Repo) -> tuple[list[str], set[str]]:
    """What a rebase that ends made of its branch, oldest first; those that are new there."""
    found: dict[str, str] = {}
    for folder in ("rebase-merge", "rebase-apply"):
        for name in ("onto", "orig-head"):
            try:
                with open(os.path.join(repo.git_dir, folder, name), encoding="ascii") as f:
                    found[name] = f.read().strip()
            except (OSError, UnicodeDecodeError):
                continue
    if "onto" not in found:
        return [], set()

    def line(*others: str) -> list[str]:
        args = ("rev-list", "--reverse", f"--max-count={MOST}", "HEAD", f"^{found['onto']}")
        return [oid.decode() for oid in repo.git.lines(*args, *others, sep=b"\n")]

    before = found.get("orig-head")
    return line(), set(line(f"^{before}") if before else ())


def work(repo: Repo, objects: Objects, state: State, made: Mapping[str, Sequence[str]]) -> None:
    """Look for a session's work in what a rebase made (new -> olds): all of what it stopped for
    or an exec committed; of what it rewrote, what was put in on the way.

    The caller holds the session's lock and saves the state.
    """
    for oid, olds in made.items():
        commit = read_commit(objects, oid)
        if commit:
            unhooked_commits.one(repo, objects, state, commit, olds)


def lost(repo: Repo, objects: Objects) -> list[Found]:
    """The commits on branches to which checkpoints without a commit belong, by patch-id where
    the original commit is still known, else by the blobs they contain; none in doubt."""
    files = {
        told["checkpoint_id"]: core.blobs(told["sessions"]) for told in committed_list.listing(repo)
    }
    carried = find_commits.commits(repo, objects, files)
    wanted = {one: told for one, told in files.items() if not _on_a_branch(repo, carried[one])}
    if not wanted:
        return []
    free = _candidates(repo, {oid for oids in carried.values() for oid in oids})
    gone = {one: oids for one, oids in _reflog(repo).items() if one in wanted}
    originals = _patch_ids(repo, [oid for oids in gone.values() for oid in oids])
    known = {one: {originals[o] for o in oids if o in originals} for one, oids in gone.items()}
    patches = _patch_ids(repo, list(free)) if known else {}
    return core.pair(wanted, known, free, patches)


def _on_a_branch(repo: Repo, commits: Sequence[str]) -> bool:
    # find.commits() sees tags and notes too; a noted commit may be one that was rewritten.
    for oid in commits:
        args = ("for-each-ref", "--count=1", f"--contains={oid}", "refs/heads", "refs/remotes")
        if repo.git.lines(*args, sep=b"\n"):
            return True
    return False


def _candidates(repo: Repo, carrying: set[str]) -> dict[str, set[tuple[str, str]]]:
    """Commits on branches that carry no id -> the (path, blob) pairs they bring."""
    args = "log --no-merges --raw -z --no-abbrev --no-renames --no-notes --format=%H%n%B%x00"
    where = ("--exclude=entire/*", "--branches", f"--max-count={MOST}")
    _, out = repo.git.run(*args.split(), *where)
    found: dict[str, set[tuple[str, str]]] = {}
    oid, item = "", iter(out.split(b"\0"))
    for part in item:
        line = part.lstrip(b"\n")
        if line.startswith(b":"):
            new = line.split(b" ")[3].decode()
            found[oid].add((text(next(item, b"")), new))
        elif len(head := line.partition(b"\n")[0]) in (40, 64):
            oid = head.decode()
            found[oid] = set()
    return {oid: told for oid, told in found.items() if oid not in carrying}


def _reflog(repo: Repo) -> dict[str, list[str]]:
    """checkpoint id -> commits only reflogs know that carry it."""
    from gitcp.core.message import trailers

    form = ("--no-notes", "-z", "--format=%H%n%B", f"--max-count={MOST}")
    found: dict[str, list[str]] = {}
    for entry in repo.git.lines("log", "--reflog", "-E", "--grep=^Entire-Checkpoint:", *form):
        oid, _, message = entry.partition(b"\n")
        for one in trailers.read(message):
            found.setdefault(one, []).append(oid.decode())
    return found


def _patch_ids(repo: Repo, commits: Sequence[str]) -> dict[str, str]:
    """commit -> its stable patch-id; merges and empty commits have none."""
    if not commits:
        return {}
    names = "\n".join(commits).encode() + b"\n"
    _, patch = repo.git.run("diff-tree", "--stdin", "-p", "--root", "--no-ext-diff", stdin=names)
    if not patch:
        return {}
    _, out = repo.git.run("patch-id", "--stable", stdin=patch)
    pairs = [line.split() for line in out.decode().splitlines()]
    return {commit: patch_id for patch_id, commit in pairs}
