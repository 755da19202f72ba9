"""The authors of commits' lines in the formats of other tools."""

from __future__ import annotations

import time

from gitcp import VERSION
from gitcp.core.exports import agent_trace, git_ai, git_ai_union
from gitcp.core.lines import alignment
from gitcp.record import decode_name
from gitcp.store.git import notes, refs
from gitcp.store.git.commit import need_commit, parse_ident, read_commit, write_commit
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.git.tree import edit_tree
from gitcp.store.lines import ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitcp.core.exports.git_ai import Lines, Log
    from gitcp.core.git.patches import Change
    from gitcp.core.lines.authors import Author
    from gitcp.core.record_types import Entry, Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.lines.evidence import Evidence

_SUBJECT = "Notes added by gitcp"


def build_traces(repo: Repo, revisions: Sequence[str]) -> Iterator[Record]:
    """Yield an Agent Trace record for each commit of the revisions that has a session's line."""
    with Prefetched(repo) as objects:
        for oid, lines in _list_commits(repo, objects, revisions):
            _, seconds = _read_committer(objects, oid)
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
            record = agent_trace.build_record(oid, when, lines, VERSION)
            if record is not None:
                yield record


def write_notes(repo: Repo, revisions: Sequence[str], *options: str) -> tuple[list[str], list[str]]:
    """Write the authorship logs of the revisions' commits as notes under notes.AI, in one commit.

    What other tools attested stays, as does a note that is no authorship log.  options: of git log,
    to choose commits.  Returns (commits whose note changed, warnings).
    """
    logs: dict[str, Log] = {}
    warnings = []
    with Prefetched(repo) as objects:
        for oid, lines in _list_commits(repo, objects, revisions, *options):
            warnings += [
                f"left out of the note on '{oid[:12]}': '{path}'"
                for path in lines
                if not git_ai.can_name(path)
                and any(author["who"] == "session" for author in lines[path].values())
            ]
            logs[oid] = git_ai.build_log(oid, lines, _read_committer(objects, oid)[0])
        if not logs:
            return [], warnings
        changed, refused = refs.retry_moved(
            repo, "notes", lambda: _write_notes(repo, objects, logs)
        )
    return changed, warnings + refused


def _write_notes(
    repo: Repo, objects: Objects, logs: Mapping[str, Log]
) -> tuple[list[str], list[str]]:
    """Write the notes once; return (commits whose note changed, warnings)."""
    tip = read_commit(objects, notes.AI)
    tree = tip["tree"] if tip else None
    edits: dict[str, Entry | None] = {}
    changed, refused = [], []
    for oid, log in logs.items():
        path, entry = notes.find_place(objects, tree, oid)
        old = objects.need(entry[1], "blob") if entry else b""
        theirs = git_ai.parse_log(decode_name(old)) if old.strip() else None
        if old.strip() and theirs is None:
            refused.append(f"the note on '{oid[:12]}' is no authorship log: left alone")
            continue
        if not log["attested"] and not (theirs and git_ai_union.list_own_keys(theirs)):
            continue
        new = git_ai.format_log(git_ai_union.unite_logs(log, theirs)).encode()
        if new != old:
            edits[path] = ("100644", objects.write("blob", new)) if new else None
            changed.append(oid)
    if edits:
        edited = edit_tree(objects, tree, edits)
        commit = write_commit(objects, repo, edited, [tip["oid"]] if tip else [], _SUBJECT)
        if repo.config.get_option("gitcp.ai-notes"):
            refs.set_markers(repo)
        refs.update_refs(repo, [(notes.AI, commit, tip["oid"] if tip else None)], "gitcp: note")
    return changed, refused


def _list_commits(
    repo: Repo, objects: Prefetched, revisions: Sequence[str], *options: str
) -> Iterator[tuple[str, Lines]]:
    """Yield (oid, authors of the lines of each path) of the commits that have authors, a link or a
    note."""

    def find_lines(evidence: Evidence, change: Change) -> tuple[str, Lines] | None:
        oid = change["oid"]
        is_linked = bool(evidence.get_commit(oid).ids) or evidence.readers.attested.has_note(oid)
        lines = _find_lines(repo, evidence, change) if is_linked or change["patches"] else {}
        return (oid, lines) if is_linked or any(map(len, lines.values())) else None

    yield from filter(None, ranges.map_commits(repo, objects, find_lines, revisions, (), options))


def _find_lines(repo: Repo, evidence: Evidence, change: Change) -> Lines:
    oid = change["oid"]
    hunks = {patch["path"]: patch["hunks"] for patch in change["patches"] if patch["path"]}
    if not hunks:
        return {path: _find_recorded(evidence, oid, path) for path in _list_resolved(repo, oid)}
    return {p: alignment.select_added(_find_recorded(evidence, oid, p), hunks[p]) for p in hunks}


def _find_recorded(evidence: Evidence, oid: str, path: str) -> dict[int, Author]:
    """The authors of lines that have a checkpoint, not only a note of another tool."""
    authors = evidence.find_line_authors(oid, path).items()
    return {line: author for line, author in authors if author["checkpoint_id"]}


def _list_resolved(repo: Repo, merge: str) -> list[str]:
    """The paths that differ in a merge from all its parents; git log shows no patch of a merge."""
    args = ("diff-tree", "-c", "-r", "-z", "--name-only", "--no-commit-id", merge)
    return [decode_name(path) for path in repo.git.read_records(*args)]


def _read_committer(objects: Objects, oid: str) -> tuple[str, int]:
    return parse_ident(need_commit(objects, oid)["committer"])
