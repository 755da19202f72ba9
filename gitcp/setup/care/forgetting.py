"""Forgetting sessions: deleting their content from everything that gitcp keeps here."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from gitcp import git
from gitcp.checkpoints import merging, stored, writing
from gitcp.checkpoints.redact import pictures
from gitcp.checkpoints.share import summaries
from gitcp.checkpoints.transcripts import locate_copy
from gitcp.errors import Error
from gitcp.git import files, refs
from gitcp.git.objects import Objects, pack_care
from gitcp.git.records import decode_lines
from gitcp.record import journal, session
from gitcp.record.journal import held_lines
from gitcp.record.journal.line_kinds import list_keys
from gitcp.record.session import others
from gitcp.record.stream import expired_points, save_work
from gitcp.record.unheard import unrecorded
from gitcp.setup.care import space
from gitcp.setup.care.case import Survey
from gitcp.steps import undo
from gitcp.text import ids, shapes
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gitcp.checkpoints.stored import SessionEntry
    from gitcp.git.refs import Update
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import State


@dataclass(slots=True)
class ForgetChoice:
    """What to forget: one session, one checkpoint, what is older than a time, or everything."""

    session_id: str = ""
    checkpoint_id: str = ""
    before: float = 0.0  # seconds since 1970

    def has(self, checkpoint_id: str, entry: SessionEntry) -> bool:
        """Whether a session's part in a checkpoint is chosen."""
        if self.session_id or self.checkpoint_id:
            return self.session_id == entry["session_id"] or self.checkpoint_id == checkpoint_id
        return self._is_before(entry["metadata"].get("created_at"))

    def has_turn(self, session_id: str, time: float) -> bool:
        """Whether a turn of a session, last at work at a time (s since 1970), is chosen."""
        if self.session_id or self.checkpoint_id:
            return self.session_id == session_id
        return not self.before or time < self.before

    def list_sessions(self, repo: Repo) -> list[str]:
        """The sessions of which everything is forgotten."""
        if self.checkpoint_id:
            return []
        if self.session_id:
            return [self.session_id]
        known = {*others.list_state_ids(repo), *others.list_marked_ids(repo)}
        known |= {held_lines.find_session(ref, known) for ref in refs.list_refs(repo, ids.EDITS)}
        if self.before:
            known = {name for name in known if self._is_over(repo, name)}
        return sorted(known)

    def _is_over(self, repo: Repo, session_id: str) -> bool:
        state = others.peek_state(repo, session_id)
        ended = state is not None and state.get("phase") == "ended"
        return ended and self._is_before((state or {}).get("last_interaction_time"))

    def _is_before(self, time: object) -> bool:
        """Whether a time is before the chosen one, if there is one; an unknown time is not."""
        return not self.before or 0 < parse_time(time) < self.before


def forget_chosen(repo: Repo, choice: ForgetChoice) -> tuple[list[Update], dict[str, int]]:
    """Forget what is chosen; return the updates of refs, and the number of things of each kind.

    The objects stay until purge_objects() has these updates: a push that replaces a history reads
    what it replaces.  Raises Error, with nothing done, if a session at work would lose something.
    """
    sessions = choice.list_sessions(repo)
    streams = _find_streams(repo, sessions)
    counts = _count_kinds(repo, sessions, streams)
    moved, counts["checkpoint part"] = _forget_stored(repo, choice)
    moved += _delete_refs(repo, sessions, streams)
    _forget_files(repo, sessions, streams)
    with Objects(repo):
        counts["abandoned turn"] = summaries.count_chosen(repo, choice.has_turn)
        moved += summaries.forget(repo, choice.has_turn, sessions)
    return moved, counts


def count_chosen(repo: Repo, choice: ForgetChoice) -> dict[str, int]:
    """The number of things of each kind that forget_chosen() would forget; raises as it does."""
    sessions = choice.list_sessions(repo)
    counts = _count_kinds(repo, sessions, _find_streams(repo, sessions))
    with Objects(repo):
        tried = summaries.count_chosen(repo, choice.has_turn)
        parts = merging.count_chosen(repo, choice.has)
        return {**counts, "checkpoint part": parts, "abandoned turn": tried}


def _find_streams(repo: Repo, sessions: Collection[str]) -> dict[str, str]:
    """ref -> oid of each stream that has one of these sessions.  Raises Error if a session at work
    would lose something."""
    _refuse_active(repo, sessions)
    with Objects(repo):
        survey = Survey(repo)
        owners = {tip["ref"]: survey.list_owners(tip) for tip in survey.tips}
    streams = {ref: names for ref, names in owners.items() if not names.isdisjoint(sessions)}
    _refuse_active(repo, set().union(*streams.values()))
    return {ref: survey.refs[ref] for ref in streams}


def _count_kinds(repo: Repo, sessions: Iterable[str], streams: Collection[str]) -> dict[str, int]:
    known = {*others.list_state_ids(repo), *others.list_marked_ids(repo)}
    return {
        "checkpoint part": 0,
        "abandoned turn": 0,
        "session": len(known.intersection(sessions)),
        "stream": len(streams),
    }


def _forget_stored(repo: Repo, choice: ForgetChoice) -> tuple[list[Update], int]:
    def move_store() -> tuple[list[Update], int]:
        with Objects(repo):
            forgetting = merging.write_forgetting(repo, choice.has)
        if forgetting.updates:
            writing.move_refs(repo, forgetting.updates, "gitcp: forget")
        return forgetting.updates, forgetting.count

    with Objects(repo):
        writing.restore_branch(repo)
    return refs.retry_moved(repo, "v1", move_store)


def _refuse_active(repo: Repo, sessions: Iterable[str]) -> None:
    for name in sessions:
        state = others.peek_state(repo, name)
        if state and state.get("phase") == "active":
            raise Error(f"session '{name}' is at work: end it first")


def _delete_refs(repo: Repo, sessions: Collection[str], streams: dict[str, str]) -> list[Update]:
    """Delete the refs with content of sessions: streams, edits, and undo logs, which have whole
    worktrees."""
    gone: dict[str, str] = dict(streams)
    for ref, oid in refs.list_refs(repo, ids.EDITS).items():
        if held_lines.find_session(ref, sessions) in sessions:
            gone[ref] = oid
    if sessions:
        gone |= refs.list_refs(repo, undo.PREFIX)
    updates: list[Update] = [(ref, None, oid) for ref, oid in gone.items()]
    refs.update_refs(repo, updates, "gitcp: forget")
    return updates


def _forget_files(repo: Repo, sessions: Sequence[str], streams: Collection[str]) -> None:
    owners = set(sessions)
    with others.held_state(repo, sorted(owners | set(others.list_state_ids(repo)))):
        for name in others.list_state_ids(repo):
            if name in owners:
                others.forget_state(repo, name)
                continue
            state = session.load_state(repo, name)
            if state and _drop_streams(state, streams):
                save_work(repo, state)
        for name in owners:
            session.forget_marker(repo, name)
    unrecorded.settle(repo, owners, forever=True)
    for file in space.list_owned(repo, "copy"):
        if file.owners & owners:
            pictures.forget_pictures(repo, files.peek(file.path))
            files.remove_private(repo, file.path)
    for top in repo.list_folders():
        journal.leave_out(repo, os.path.dirname(top), lambda line: _is_about(line, owners))
    if owners:
        for folder in ("kept", "corrupt"):  # of which session is not known
            shutil.rmtree(repo.join_shared(folder), ignore_errors=True)
    expired_points.forget_expired(repo, owners)
    _remove_caches(repo)


def _remove_caches(repo: Repo) -> None:
    """Remove what was worked out: it is made again when it is asked for."""
    for top in repo.list_folders():
        shutil.rmtree(os.path.join(top, git.CACHE), ignore_errors=True)


def _drop_streams(state: State, streams: Collection[str]) -> bool:
    """Remove streams from the state of a session that stays; return whether it had any."""
    lasting = [stream for stream in state["streams"] if stream["ref"] not in streams]
    changed = len(lasting) < len(state["streams"])
    state["streams"] = lasting
    return changed


def _is_about(line: JournalLine, sessions: Collection[str]) -> bool:
    """Whether a line of a journal is of one of these sessions."""
    for key in list_keys("owner"):
        owner = line.keys.get(key)
        if isinstance(owner, list):
            owner = owner[0]
        if owner in sessions:
            return True
    return False


def purge_objects(repo: Repo, moved: Sequence[Update]) -> None:
    """Delete from reflogs and gitcp's packs the objects that nothing needs after these updates.
    While a session is at work, whose objects may have no ref yet, git prunes them later."""
    names = [update[0] for update in moved]
    old = [update[2] for update in moved if update[2]]
    tracking = refs.list_refs(repo, stored.TRACKING)
    refs.update_refs(repo, [(ref, None, oid) for ref, oid in tracking.items()], "gitcp: forget")
    pack_care.forget_logs(repo, [*names, refs.MEMORY])
    sessions = (others.peek_state(repo, name) for name in others.list_state_ids(repo))
    if any(state and state.get("phase") == "active" for state in sessions):
        pack_care.unpin_tips(repo, [*old, *tracking.values()])
    else:
        pack_care.destroy_unneeded(repo, _find_used(repo))


def _find_used(repo: Repo) -> list[str]:
    """The existing objects that journals, private indexes and copies of transcripts name."""
    named: set[str] = set()
    keys = list_keys("objects")
    for top in repo.list_folders():
        for line in journal.read_journal(repo, os.path.dirname(top)):
            for key in keys:
                named |= set(filter(shapes.is_object_name, line.keys.get(key) or ()))
        index = {"GIT_INDEX_FILE": os.path.join(top, git.CACHE, "index")}
        listed = repo.git.run("ls-files", "-s", env=index)[1]
        named |= {line.split()[1] for line in decode_lines(listed)}
    for name in files.list_names(locate_copy(repo)):
        if name.endswith(".json"):
            copy = files.load_cache(locate_copy(repo, name), shapes.TRANSCRIPT)
            named |= {chunk[0] for chunk in (copy or {}).get("chunks", ())}
    with Objects(repo):
        return sorted(named - repo.objects.list_absent(named))


def is_still_in_git(repo: Repo, moved: Sequence[Update]) -> bool:
    """Whether git still has forgotten objects, loose or in its own packs."""
    oids = [update[2] for update in moved if update[2]]
    checked = repo.git.run("cat-file", "--batch-check", stdin="\n".join(oids).encode())[1]
    return any(not line.endswith(" missing") for line in decode_lines(checked))
