"""The open edits of other sessions in a working copy that a command discards."""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.core.guard.discards import covers
from gitcp.store.auto.index_files import list_staged
from gitcp.store.git.objects import Objects
from gitcp.store.git.tree import Lookup, find_file, find_tree
from gitcp.store.guard import presence
from gitcp.store.journal import journal
from gitcp.store.journal.work import Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.guard.discards import Discard
    from gitcp.repo import Repo


def find_lost(repo: Repo, session_id: str, discards: Sequence[Discard]) -> dict[str, list[str]]:
    """session -> the paths of its open edits that the discards of a command of session_id cover,
    for sessions whose agent runs."""
    lines, lost = journal.read(repo), dict[str, list[str]]()
    objects = Objects.get_shared(repo)
    tree = find_tree(objects, "HEAD")
    head, staged = Lookup(objects, tree), list_staged(repo, tree or repo.empty_tree)
    for other in presence.list_open(repo, session_id):
        work = Work(lines, other)
        for path in filter(work.is_present, work.list_paths()):
            tracked: bool | None = bool(staged.get(path) or find_file(head, path))
            if path in staged and not staged[path]:  # HEAD alone has it: either reaches it
                tracked = None
            if any(covers(discard, path, tracked) for discard in discards):
                lost.setdefault(other, []).append(path)
    return lost


def find_discarded(repo: Repo, session_id: str, call_id: str) -> dict[str, list[str]]:
    """session -> the paths of its open edits that a call of session_id has deleted or taken back,
    by the look at its end, for sessions whose agent runs."""
    lines, lost = journal.read(repo), dict[str, list[str]]()
    own = [
        n for n, line in enumerate(lines) if entries.get_cause(line)[::2] == (session_id, call_id)
    ]
    edits = [lines[n] for n in own if "path" in lines[n]]
    moved = {line.get("follows") for line in edits}
    gone = {x["path"]: x["after"] is None for x in edits if x["path"] not in moved}
    for other in presence.list_open(repo, session_id) if gone else ():
        before, now = Work(lines[: own[0]], other), Work(lines, other)
        for path in filter(before.is_present, gone):
            if gone[path] or not now.is_present(path):
                lost.setdefault(other, []).append(path)
    return lost
