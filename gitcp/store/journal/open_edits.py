"""The open edits of a worktree: read for a commit, settled by a commit, and stated ones added."""

from __future__ import annotations

import os

from gitcp import files
from gitcp.core import credit, linking
from gitcp.errors import Error
from gitcp.store import journal, refs, session
from gitcp.store.journal import Journal, LastSeen, edits, read_clock
from gitcp.store.journal.edits import Work
from gitcp.store.objects import Lookup, find_file, find_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from gitcp.core.record_types import Commit, JournalLine, Marker, Staged, Version
    from gitcp.repo import Repo
    from gitcp.store.journal.edits import Stretch
    from gitcp.store.objects import Objects

    Changes = Mapping[str, Staged]

_WAITED = "its call waited for a permission, and had written nothing"


def look_for_commit(
    repo: Repo,
    changes: Changes | None,
    visitors: Sequence[Marker] = (),
    guests: Sequence[Marker] = (),
    committers: Collection[str] | None = None,
) -> list[JournalLine]:
    """The journal's lines; with changes, after a look at a commit's paths and the open edits'.

    A commit does not scan the worktree.  visitors, guests, committers: as Journal has them.
    """
    if changes is None:
        return journal.read_journal(repo)
    with Journal(repo) as held:
        held.visitors, held.guests, held.committers = visitors, guests, committers
        _look_at_open(held, changes)
        if credit.map_large(held.lines).keys() & changes:
            edits.name_large_files(held, changes, read_clock(repo))
        return held.lines


def build_stay_check(repo: Repo, head: str) -> Callable[[str], bool]:
    """Return a test whether an edit made on a commit was in the worktree when HEAD was at head:
    HEAD was that commit, or came from it without leaving the edit behind."""
    answers = {"": True, head: True}

    def has_stayed(base: str) -> bool:
        if base not in answers:
            head_now = refs.read_head(repo) or head
            answers[base] = refs.leads_to(repo, base, head) or (
                # The commit lies between head and HEAD of now.
                head != head_now
                and refs.leads_to(repo, head, base)
                and refs.leads_to(repo, base, head_now)
            )
        return answers[base]

    return has_stayed


def _look_at_open(held: Journal, paths: Iterable[str]) -> None:
    """Look at the paths, and at those of open edits."""
    from gitcp.core import edit_states

    open_paths = {line["path"] for line in edit_states.list_open_edits(held.lines)}
    edits.record_paths(held, sorted({*paths, *open_paths}), read_clock(held.repo))


def settle_commit(
    repo: Repo,
    commit: Commit,
    changes: Changes,
    sessions: Collection[str] | None = None,
    excluded: Collection[str] = (),
) -> None:
    """Record what a commit with these changes settles.

    sessions: those whose part in the commit is decided, by default all but the excluded ones.  The
    edits of other sessions stay open.
    """
    from gitcp.core import edit_states

    if not os.path.exists(repo.join_own(journal.NAME)):
        return
    with Journal(repo) as held:
        recorded = any(line.get("commit") == commit["oid"] for line in held.lines)
        if not held.lines or (recorded and not edit_states.list_open_edits(held.lines)):
            return
        _look_at_open(held, ())  # a commit may have taken its time
        find_present = LastSeen(repo, held.lines).get_entry
        find_committed = _build_file_lookup(repo.objects, commit["tree"])
        line = _build_commit_line(held.lines, commit, changes, find_present, find_committed)
        line["at"] = read_clock(repo)
        is_settled = _build_settled_check(repo.objects, changes, find_present, find_committed)
        open_edits = edit_states.list_open_edits(held.lines)
        _note_strangers(repo, commit, changes, open_edits)
        for session_id in {credit.get_author(edit)[0] for edit in open_edits} - {""}:
            decided = session_id not in excluded if sessions is None else session_id in sessions
            work = Work(held.lines, session_id)
            is_left = _divide_edits(line, work, is_settled if decided else lambda *_: False)
            if is_left and session_id in (sessions or ()):
                line.setdefault("linked", []).append(session_id)
        if not recorded and (ends := _read_transcript_ends(repo)):
            line["transcripts"] = ends
        if not recorded or edit_states.list_open_edits([*held.lines, line]) != open_edits:
            held.append([line])
            _forget_strangers(repo, open_edits, held)
            held.cut_back()


def _list_strange(edits: Iterable[JournalLine]) -> set[str]:
    """The paths of edits by sessions of other repositories."""
    return {edit["path"] for edit in edits if edit.get("how") == credit.STRANGER}


def _note_strangers(
    repo: Repo,
    commit: Commit,
    changes: Changes,
    open_edits: Iterable[JournalLine],
) -> None:
    """Note on a commit with these changes that a session of another repository wrote there."""
    if not _list_strange(open_edits).isdisjoint(changes):
        from gitcp.core import links
        from gitcp.store import notes

        notes.edit_note(repo, commit["oid"], lambda note: links.add_unknown(note or b""))


def unlink_unfounded(
    repo: Repo,
    session_id: str,
    before: list[JournalLine],
    after: list[JournalLine],
) -> dict[str, set[str]]:
    """Note on commits that they are not linked to this session if their links rest on edits that
    were taken back from it: by the journal's lines before that and after.  Return the commits that
    have others of its edits, each with its paths that have none.

    A link by hand stays, and one to a checkpoint with more than this session's part of the commit.
    """

    from gitcp.core import journal_cuts

    wholly, partly = journal_cuts.list_unfounded(before, after, session_id)
    for oid, paths in wholly.items():
        from gitcp.store.v1 import checkpoint_list

        texts = checkpoint_list.read_texts(repo.objects, oid)

        from gitcp.core import links

        for checkpoint_id in links.list_carried(*texts).keys() - links.list_by_hand(texts[1]):
            try:
                from gitcp.store.v1 import checkpoints

                stored = checkpoints.read_checkpoint(repo, checkpoint_id)
            except Error:
                continue  # it is not in this clone, or damaged
            files = set(stored["summary"].get("files_touched", ()))
            if [s["session_id"] for s in stored["sessions"]] == [session_id] and files <= paths:
                from gitcp.store import notes

                notes.deny_link(repo, oid, checkpoint_id, _WAITED)
    return partly


def _forget_strangers(repo: Repo, before: list[JournalLine], held: Journal) -> None:
    """Remove the marker of such edits if all that were open before are settled."""
    from gitcp.core import edit_states

    if _list_strange(before) and not _list_strange(edit_states.list_open_edits(held.lines)):
        files.remove_private(repo, repo.join_own(journal.VISITED))


def _build_file_lookup(objects: Objects, tree: str) -> Callable[[str], Version]:
    """Return a function that finds a file in a tree."""
    lookup = Lookup(objects, tree)
    return lambda path: find_file(lookup, path)


def _build_commit_line(
    lines: Iterable[JournalLine],
    commit: Commit,
    changes: Changes,
    find_present: Callable[[str], Version],
    find_committed: Callable[[str], Version],
) -> JournalLine:
    """The commit's line with the paths that are in the worktree as the commit has them."""
    settled = [path for path in changes if find_present(path) == find_committed(path)]
    sources = {line["follows"] for line in lines if "follows" in line and line["path"] in settled}
    settled += [
        path for path in sorted(sources) if not (find_present(path) or find_committed(path))
    ]
    return {"commit": commit["oid"], "settled": settled}


def _build_settled_check(
    objects: Objects,
    changes: Changes,
    find_present: Callable[[str], Version],
    find_committed: Callable[[str], Version],
) -> Callable[[str, Stretch], bool]:
    """Return a test whether the commit has all of a stretch at a path."""

    def is_settled(path: str, stretch: Stretch) -> bool:
        committed, record = find_committed(path), stretch.build_record(path)
        present = [find_present(path)]
        if stretch.live and path in changes:  # a commit of all its lines settles a stretch
            present.append(committed)
        return any(
            linking.explain_settled(record, changes, entry, committed, objects.read_blob)
            for entry in present
        )

    return is_settled


def _divide_edits(
    line: JournalLine, work: Work, is_settled: Callable[[str, Stretch], bool]
) -> bool:
    """Add to a commit's line the session's edits that it left at the paths it settles, and those
    that it took at others; whether it left some."""
    from gitcp.core import edit_states

    is_left = False
    for path in work.list_paths():
        for stretch in work.list_stretches(path):
            settled = is_settled(path, stretch)
            if settled != (path in line["settled"]):
                edits = line.setdefault("taken" if settled else "left", {}).setdefault(path, [])
                edits += map(edit_states.get_edit_name, stretch.edits)
                is_left = is_left or not settled
    return is_left


def let_edits_go(repo: Repo, session_id: str, paths: Iterable[str]) -> None:
    """Settle a session's open edits at these paths: no commit takes them any more."""
    from gitcp.core import edit_states

    with Journal(repo) as held:
        work = Work(held.lines, session_id)
        edits = {path: work.list_edits(path) for path in paths}
        settled = {
            path: [*map(edit_states.get_edit_name, edits[path])] for path in edits if edits[path]
        }
        held.append([{"taken": settled, "at": read_clock(repo)}] if settled else [])


def record_edits(
    repo: Repo,
    session_id: str,
    base: str,
    files: Mapping[str, tuple[Version, str]],
) -> None:
    """Record edits that a script or another program states, made on the commit base.

    files: path -> (the entry that the session made, the turn).  They count as the session's work
    and say nothing of the worktree.  Entries that its open edits have already are left out.
    """
    base_tree = Lookup(repo.objects, find_tree(repo.objects, base))
    with Journal(repo) as held:
        work, at, held.base = Work(held.lines, session_id), read_clock(repo), base
        held.append(
            [
                credit.build_edit(
                    path, base_tree(path), entry, (session_id, turn, ""), credit.STATED, at
                )
                for path, (entry, turn) in sorted(files.items())
                if not any(stretch.own == entry for stretch in work.list_stretches(path))
            ]
        )


def _read_transcript_ends(repo: Repo) -> JournalLine:
    """The sizes of transcripts of active sessions whose client does not report its tools."""
    ends: JournalLine = {}
    for marker in session.read_recent(repo):
        if marker["phase"] == "active" and not marker["tool_events"]:
            base = session.read_baseline(repo, marker["session_id"])
            if base and (size := session.read_size(base.get("transcript"))):
                ends[marker["session_id"]] = {"turn": str(base.get("turn", "")), "size": size}
    return ends
