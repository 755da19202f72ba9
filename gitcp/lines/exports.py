"""The authors of commits' lines in the formats of other tools."""

from __future__ import annotations

from functools import partial

from gitcp import VERSION
from gitcp.checkpoints import notes
from gitcp.checkpoints.format import exports, line_authors
from gitcp.errors import GitError
from gitcp.git import decode_name, encode_name, refs
from gitcp.git.objects import (
    Objects,
    edit_tree,
    need_commit,
    parse_ident,
    read_commit,
    write_commit,
)
from gitcp.git.objects.reading import split_windows, spread_batches
from gitcp.lines.committed import history
from gitcp.lines.committed.evidence import Evidence
from gitcp.text import term
from gitcp.text.spans import abbreviate
from gitcp.text.times import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from gitcp.checkpoints.format.exports import Lines, Log
    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git.objects.patches import Change
    from gitcp.git.repo import Repo
    from gitcp.lines.committed.recorded import LineAuthors
    from gitcp.lines.tally import CommitCounts
    from gitcp.text.record_types import Entry, Record

    Converted = TypeVar("Converted")

_SUBJECT = "Notes added by gitcp"


def build_traces(repo: Repo, revisions: Sequence[str]) -> Iterator[Record]:
    """Yield an Agent Trace record for each commit of the revisions that has a session's line."""
    with Objects(repo):
        for oid, lines in _list_commits(repo, revisions):
            _, seconds = _read_committer(repo.objects, oid)
            when = format_utc(seconds)
            record = exports.build_record(oid, when, lines, VERSION)
            if record is not None:
                yield record


def write_notes(repo: Repo, revisions: Sequence[str], *options: str) -> tuple[list[str], list[str]]:
    """Write the authorship logs of the revisions' commits as notes under notes.AI, in one commit.

    What other tools attested stays, as does a note that is not an authorship log.  options: of git
    log, to choose commits.  Returns (commits whose note changed, warnings).
    """
    logs: dict[str, Log] = {}
    warnings = []
    with Objects(repo):
        for oid, lines in _list_commits(repo, revisions, *options):
            for path, authors in lines.items():
                if not exports.can_name(path) and _has_session(authors):
                    warnings.append(f"left out of the note on '{abbreviate(oid)}': '{path}'")
            logs[oid] = exports.build_log(oid, lines, _read_committer(repo.objects, oid)[0])
        if not logs:
            return [], warnings
        changed, refused = refs.retry_moved(repo, "notes", lambda: _write_notes(repo, logs))
    return changed, warnings + refused


def _write_notes(repo: Repo, logs: Mapping[str, Log]) -> tuple[list[str], list[str]]:
    """Write the notes once; return (commits whose note changed, warnings)."""
    tip = read_commit(repo.objects, notes.AI)
    tree = None
    old_tip = None
    parents = []
    if tip:
        tree = tip["tree"]
        old_tip = tip["oid"]
        parents = [old_tip]
    edits: dict[str, Entry | None] = {}
    changed = []
    refused = []
    for oid, log in logs.items():
        path, entry = notes.find_place(repo.objects, tree, oid)
        old = b""
        if entry:
            old = repo.objects.need(entry[1], "blob")
        theirs = None
        if old.strip():
            theirs = exports.parse_log(decode_name(old))
        if old.strip() and theirs is None:
            refused.append(f"the note on '{abbreviate(oid)}' is not an authorship log: left alone")
            continue
        if not log["attested"] and not (theirs and exports.list_own_keys(theirs)):
            continue
        new = exports.format_log(exports.unite_logs(log, theirs)).encode()
        if new != old:
            if new:
                edits[path] = ("100644", repo.objects.write("blob", new))
            else:
                edits[path] = None
            changed.append(oid)
    if edits:
        edited = edit_tree(repo.objects, tree, edits)
        commit = write_commit(repo, edited, parents, _SUBJECT)
        if repo.config.get_option("gitcp.ai-notes"):
            refs.set_markers(repo)
        refs.update_refs(repo, [(notes.AI, commit, old_tip)], "gitcp: note")
    return changed, refused


def _has_session(authors: Mapping[int, Author]) -> bool:
    """Whether a session wrote one of these lines."""
    return any(author["who"] == "session" for author in authors.values())


def _list_commits(
    repo: Repo, revisions: Sequence[str], *options: str
) -> Iterator[tuple[str, Lines]]:
    """Yield (oid, authors of the lines of each path) of the commits that have authors, a link or a
    note."""

    def find_lines(evidence: Evidence, change: Change) -> tuple[str, Lines] | None:
        oid = change["oid"]
        is_linked = bool(evidence.get_commit(oid).ids) or evidence.readers.attested.has_note(oid)
        if is_linked or change["patches"]:
            lines = _find_lines(repo, evidence, change)
        else:
            lines = {}
        if is_linked or any(map(len, lines.values())):
            return (oid, lines)
        return None

    yield from filter(None, map_commits(repo, find_lines, revisions, (), options))


def _find_lines(repo: Repo, evidence: Evidence, change: Change) -> Lines:
    oid = change["oid"]
    hunks = {patch["path"]: patch["hunks"] for patch in change["patches"] if patch["path"]}
    if not hunks:
        return {path: _find_recorded(evidence, oid, path) for path in _list_resolved(repo, oid)}
    return {p: line_authors.select_added(_find_recorded(evidence, oid, p), hunks[p]) for p in hunks}


def _find_recorded(evidence: Evidence, oid: str, path: str) -> dict[int, Author]:
    """The authors of lines that have a checkpoint, not only a note of another tool, and that are
    proven by themselves."""
    authors = evidence.find_line_authors(oid, path).items()
    return {
        line: author
        for line, author in authors
        if author["checkpoint_id"] and not author.get("by_neighbours")
    }


def _list_resolved(repo: Repo, merge: str) -> list[str]:
    """The paths that differ in a merge from all its parents; git log shows no patch of a merge."""
    args = ("diff-tree", "-c", "-r", "-z", "--name-only", "--no-commit-id", merge)
    try:
        return [decode_name(path) for path in repo.git.read_records(*args)]
    except GitError:  # a tree is missing, which was warned of
        return []


def _read_committer(objects: Objects, oid: str) -> tuple[str, int]:
    return parse_ident(need_commit(objects, oid)["committer"])


# The commits of a range with their changes and checkpoints, one after the other.
WINDOW = 256  # commits whose checkpoints are read at once
_ALONE = 4  # windows before worker processes are started: they cost what a thousand commits do
# Options of git log with paths, to leave out no branch and find renames; is_below() then selects
# the files.
WHOLE = ("--full-history", "--full-diff")


def list_commits(
    repo: Repo,
    revisions: Sequence[str],
    paths: Sequence[str],
    options: Sequence[str] = (),
    share_with: Evidence | None = None,
) -> Iterator[CommitCounts]:
    """The commits of revisions that change paths; arguments as for map_commits()."""
    return map_commits(repo, describe_commit, revisions, paths, options, share_with)


def map_commits(
    repo: Repo,
    convert: Callable[[Evidence, Change], Converted],
    revisions: Sequence[str],
    paths: Sequence[str],
    options: Sequence[str] = (),
    share_with: Evidence | None = None,
) -> Iterator[Converted]:
    """What convert(evidence, commit) returns for each commit of the revisions (default: HEAD) that
    changes paths.

    options: of git log.  share_with: as for Evidence.  A long history is divided among several
    processes: convert() must return what spread_batches() can send.  Raises Error with git's
    message for a bad revision.
    """
    names = map(encode_name, ("--end-of-options", *revisions, "--", *paths))
    shared = share_with  # of this process, which does a batch before it forks

    def begin(objects: Objects) -> Callable[[list[Change]], list[Converted]]:
        nonlocal shared
        evidence = Evidence(repo, revisions=revisions or ["HEAD"], share_with=shared)
        shared = shared or evidence
        return partial(describe_window, convert, evidence)

    yield from spread_changes(repo, begin, history.read_changes(repo, [*options, *names]))


def spread_changes(
    repo: Repo,
    begin: Callable[[Objects], Callable[[list[Change]], list[Converted]]],
    changes: Iterator[Change],
) -> Iterator[Converted]:
    """What begin() makes of windows of changes, in several processes if they are many."""
    windows = split_windows(changes, WINDOW)
    batches = spread_batches(repo.objects, windows, begin, _ALONE)
    for batch in term.iterate_counted("reading commits", batches):
        yield from batch


def describe_window(
    convert: Callable[[Evidence, Change], Converted], evidence: Evidence, window: Sequence[Change]
) -> list[Converted]:
    evidence.prefetch_changes(window)
    parts = [convert(evidence, change) for change in window]
    evidence.forget()
    return parts


def describe_commit(evidence: Evidence, change: Change) -> CommitCounts:
    """A commit with its records and the authors of its lines."""
    oid = change["oid"]
    commit = evidence.get_commit(change["oid"])
    known: dict[str, LineAuthors] = {}
    for patch in change["patches"]:
        if patch["hunks"] and patch["path"]:
            authors = evidence.find_line_authors(oid, patch["path"])
            if authors:
                known[patch["path"]] = authors
    return {
        **change,
        "linked": bool(commit.ids),
        "unsaid": evidence.find_default_author(oid),
        "records": [{**record, "lines": None} for record in commit.records],
        "known": known,
    }


def is_below(path: str, paths: Sequence[str]) -> bool:
    """Whether a path is one of paths or in one of these directories; True without paths."""
    return not paths or any(p in (".", path) or path.startswith(f"{p}/") for p in paths)
