"""The conversations that no hook heard of: what is known of them, and which lines they may have
written.

A client that runs no hooks (told not to, not trusted, started elsewhere) still keeps its
conversations.  They are compared with the sessions that were recorded by name, size and time; only
one that is new or has grown is read.
"""

from __future__ import annotations

import os
import time
from functools import cached_property

from gitcp import agents, git
from gitcp.agents.reading import edits
from gitcp.checkpoints import listing
from gitcp.checkpoints.format import line_authors
from gitcp.errors import Error
from gitcp.git import decode_name, files
from gitcp.git.files import exclusive
from gitcp.git.objects import parse_ident, read_commit
from gitcp.record import is_off, locate_recording, session, unheard
from gitcp.record.journal import read_journal
from gitcp.record.session import others
from gitcp.record.unheard import conversations
from gitcp.text import json, value_class
from gitcp.text.ids import UNKNOWN
from gitcp.text.spans import count_noun
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.agents import Client
    from gitcp.checkpoints.format.line_authors import Period
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.unheard.conversations import ConversationFile
    from gitcp.text.line_credit import PathCredit
    from gitcp.text.record_types import Commit

AUTO = "auto"  # the value of gitcp.import with which they are imported at once
WEEK = 7 * 24 * 3600  # seconds after its end in which a conversation's work is committed
_MOST_PATHS = 200  # paths that one git is asked for
_MOST_RESTING = 20  # recorded sessions whose conversations are compared at each commit
_OF_GITCP = b"# gitcp hook"  # is in the beginning of a hook of gitcp's
_HOOK_HEAD = 1 << 10  # bytes
_FOREVER = -1  # the size of a settled session that counts no more, however it grows
_MOST_WRITTEN = 200  # conversations
_SHAPE = {"sessions": {None: dict}, "files": {None: list}, "settled": {None: list}}


@value_class
class Unheard:
    """A session by its conversations, as far as gitcp has not recorded it.

    client: the name of its agent.  heard: when its last hook ran, in s since 1970, after which it
    went on without; 0 if no hook has heard of it.  Only what came after it counts.  began, ended:
    in s since 1970.  turns: how many prompts it has of its own; a copy of another session has none.
    paths: those that its file tools wrote.  commands: whether it ran commands, which may have
    written anything.  size: the bytes of its files.  told: whether a person was told of it.
    """

    session: str
    client: str
    paths: list[str]
    began: int = 0
    ended: int = 0
    turns: int = 0
    commands: bool = False
    size: int = 0
    told: bool = False
    heard: int = 0

    def to_json(self) -> Mapping[str, object]:
        """The fields by their names."""
        return {name: getattr(self, name) for name in Unheard.__annotations__}

    def may_have_written(self, path: str, change: ChangeTimes) -> bool:
        """Whether it may have written a change of a path."""
        if change.committed < self.began or change.authored > self.ended + WEEK:
            return False
        return path in self.paths or (self.commands and change.since <= self.ended)


@value_class
class ChangeTimes:
    """When a change was made, in s since 1970.

    since: the time of the parent; the change is not older.  authored, committed: the times of the
    commit; the first is older if the commit was rewritten.
    """

    since: int
    authored: int
    committed: int


def date_commit(objects: Objects, commit: Commit) -> ChangeTimes:
    """When the change of a commit was made."""
    authored = parse_ident(commit["author"])[1]
    committed = parse_ident(commit["committer"])[1]
    since = 0
    if commit["parents"]:
        parent = read_commit(objects, commit["parents"][0])
        if parent:
            since = parse_ident(parent["committer"])[1]
    return ChangeTimes(min(since, authored), min(authored, committed), committed)


class Record:
    """What was found at the last look, in <common>/gitcp/unrecorded.

    sessions: id -> the session.  files: path of a conversation -> its size, and its session, '' for
    one of another repository.  settled: id -> the size up to which a person has settled a session,
    and when, in s.  written: id -> when gitcp itself wrote a conversation, in s.
    """

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._path = unheard.locate_record(repo)
        stored = files.load_cache(self._path, _SHAPE)
        self.is_new = stored is None
        stored = stored or {"sessions": {}, "files": {}, "settled": {}}
        self.sessions: dict[str, Unheard] = {}
        for session_id, fields in stored["sessions"].items():
            try:
                self.sessions[session_id] = Unheard(**fields)
            except TypeError:
                pass  # of another version: it is read again
        self.files: dict[str, list[int | str]] = stored["files"]
        self.settled: dict[str, list[int]] = stored["settled"]
        self.written: dict[str, int] = {}
        for session_id, at in json.ensure_object(stored.get("written")).items():
            if isinstance(at, int):
                self.written[session_id] = at
        by_mail = _read_periods(repo)
        self._mails = set(by_mail)
        self.periods: list[Period] = []
        for periods in by_mail.values():
            self.periods += periods

    def save(self) -> None:
        """Write it, unless the repository cannot be written."""
        stored = {
            "sessions": {name: found.to_json() for name, found in self.sessions.items()},
            "files": self.files,
            "settled": self.settled,
            "written": self.written,
        }
        flag = self._repo.join_shared_cache(unheard.FLAG)
        try:
            if self._list_counted():
                files.remove_private(self._repo, flag)
            files.write_private(self._repo, self._path, json.dumps(stored).encode())
            if not self._list_counted():
                files.touch_private(self._repo, flag)
        except (Error, OSError) as e:
            git.append_trace("files", str(e))

    def list_unrecorded(self) -> list[Unheard]:
        """The sessions that gitcp should have recorded and did not, the oldest first; also those
        that an import has read, if a commit may have taken their work since."""
        found = [
            one
            for one in self._list_counted()
            if not self._is_settled(one) or self._has_later_commits(one)
        ]
        return sorted(found, key=lambda one: (one.began, one.session))

    def list_unsettled(self) -> list[Unheard]:
        """The sessions of list_unrecorded() that no import has read; starts no git."""
        return [one for one in self._list_counted() if not self._is_settled(one)]

    def may_be_imported_later(self) -> bool:
        """Whether a commit that is made now may have work of a session."""
        now = int(time.time())
        return any(
            one.ended + WEEK > now and not self._is_over(one) for one in self._list_counted()
        )

    def find_author(self, path: str, change: ChangeTimes) -> Unheard | None:
        """The first session that may have written a change of a path that no import has read."""
        for one in self._counted:
            size, at = self.settled.get(one.session, (0, 0))
            is_read = size == _FOREVER or change.committed <= at
            if not is_read and one.may_have_written(path, change):
                return one
        return None

    def is_own(self, commit: Commit) -> bool:
        """Whether a person of this clone made a commit: conversations of others are not here."""
        names = parse_ident(commit["author"])[0], parse_ident(commit["committer"])[0]
        return any(name.rpartition("<")[2].rstrip(">") in self._mails for name in names)

    @cached_property
    def _counted(self) -> list[Unheard]:
        return self._list_counted()

    def _list_counted(self) -> list[Unheard]:
        """The sessions with prompts of their own that began while gitcp recorded here, and are
        still unknown to it."""
        return [
            one
            for one in self.sessions.values()
            if one.turns and _is_within(one.began, self.periods) and not _is_known(self._repo, one)
        ]

    def _is_settled(self, one: Unheard) -> bool:
        return self._is_over(one) or self.settled.get(one.session, (0, 0))[0] >= one.size

    def _is_over(self, one: Unheard) -> bool:
        return self.settled.get(one.session, (0, 0))[0] == _FOREVER

    def _has_later_commits(self, one: Unheard) -> bool:
        """Whether a commit made since an import read a session, and within a week of its end, has
        a path that it wrote."""
        at = self.settled[one.session][1]
        if self._is_over(one) or not one.paths or one.ended + WEEK <= at:
            return False
        paths = one.paths[:_MOST_PATHS]
        times = f"--since={at + 1}", f"--until={one.ended + WEEK}"
        return bool(self._repo.git.run("rev-list", "-1", *times, *listing.ALL, "--", *paths)[1])


def _read_periods(repo: Repo) -> dict[str, list[Period]]:
    """When this clone recorded, by mail address."""
    text = decode_name(files.read_cache(locate_recording(repo)))
    lines = line_authors.parse_lines(text)
    if lines:
        return line_authors.build_periods(lines)
    since = read_enabled(repo)
    if not since:
        return {}
    mail = repo.config.get("user.email")
    return {mail: [(since, None)]}


def read_enabled(repo: Repo) -> int:
    """When gitcp was enabled for every repository of this person, in s since 1970; 0 if it was not,
    or is off here.  With hooks that an older git copied from its template, it was when this
    repository was made."""
    if is_off(repo):
        return 0
    since = repo.config.get(unheard.ENABLED)
    if since.isdecimal():
        return int(since)
    hook = os.path.join(repo.common, "hooks", "post-commit")
    if _OF_GITCP not in files.peek(hook, most=_HOOK_HEAD):
        return 0
    return unheard.read_time(hook) // 10**9


def _is_within(seconds: int, periods: Iterable[Period]) -> bool:
    return any(start <= seconds and (end is None or seconds <= end) for start, end in periods)


def _is_known(repo: Repo, one: Unheard) -> bool:
    """Whether a hook has heard of a session since of which none had."""
    return not one.heard and os.path.exists(session.get_state_path(repo, one.session))


def is_looked_at(name: str) -> bool:
    """Whether the client of a name keeps its conversations in files, so that a look is cheap."""
    return bool(agents.find_client(name).TRANSCRIPTS)


def look(repo: Repo) -> Record:
    """Look for conversations that are new or have grown; return the record of all of them."""
    with exclusive(repo, "unheard"):
        record = Record(repo)
        clients = [agents.get_client(name) for name in agents.list_names() if is_looked_at(name)]
        home = os.path.expanduser("~")
        roots = conversations.list_roots(repo)
        folders = _list_folders(clients, home, roots)  # before the files in them are listed
        if not record.periods:
            _write_folders(repo, folders)
            return record
        changed = _find_changed(record, clients, home, roots)
        for session_id, group in changed.items():
            _read_session(repo, record, session_id, group, roots)
        if record.is_new and record.sessions:
            _settle_stored(repo, record)
        record.save()
        if repo.config.get_option("gitcp.import") == AUTO and record.may_be_imported_later():
            folders |= dict.fromkeys(_list_logs(repo), 0)
        _write_folders(repo, folders, _map_resting(repo))
        return record


def read_current(repo: Repo) -> Record:
    """The record; looks again if something has changed since the last look, unless the repository
    can only be read."""
    if not os.path.exists(locate_recording(repo)) and not read_enabled(repo):
        return Record(repo)
    record = Record(repo)
    if _is_out_of_date(repo, record) and os.access(repo.common, os.W_OK):
        return look(repo)
    return record


def _is_out_of_date(repo: Repo, record: Record) -> bool:
    if record.is_new or unheard.is_look_due(repo):
        return True
    sizes = {path: size for path, (size, session_id) in record.files.items() if session_id}
    return any(session.read_size(path) != size for path, size in sizes.items())


def _list_folders(clients: Sequence[Client], home: str, roots: Sequence[str]) -> dict[str, int]:
    """folder -> its time, of the folders in which conversations of the roots appear."""
    folders: dict[str, int] = {}
    for client in clients:
        for root in roots:
            for folder in client.list_conversation_folders(home, root):
                folders[folder] = unheard.read_time(folder)
    return folders


def _find_changed(
    record: Record, clients: Sequence[Client], home: str, roots: Sequence[str]
) -> dict[str, list[ConversationFile]]:
    """session -> its conversations, of the sessions with one that is new or has grown; updates the
    record's files."""
    since = min(start for start, _ in record.periods)
    listed: dict[str, Client] = {}
    for client in clients:
        for root in roots:
            listed.update(dict.fromkeys(client.list_conversations(home, root), client))
    found: dict[str, list[int | str]] = {}
    changed: dict[str, list[ConversationFile]] = {}
    for path, client in listed.items():
        try:
            st = os.stat(path)
        except OSError:
            continue
        if st.st_mtime < since:
            continue
        known = record.files.get(path)
        if known and known[0] == st.st_size:
            found[path] = known
            continue
        conversation = conversations.find_conversation(client, path, roots[0], roots)
        found[path] = [st.st_size, conversation.session if conversation else ""]
        if conversation:
            changed[conversation.session] = []
    for path, (_, session_id) in found.items():
        if session_id in changed:
            conversation = conversations.find_conversation(listed[path], path, roots[0], roots)
            if conversation:
                changed[conversation.session].append(conversation)
    record.files = found
    return changed


def _read_session(
    repo: Repo,
    record: Record,
    session_id: str,
    group: Sequence[ConversationFile],
    roots: Sequence[str],
) -> None:
    """Read what no hook has heard of a session's conversations into the record."""
    before = record.sessions.pop(session_id, None)
    if not group:
        return
    ended = max(conversation.mtime for conversation in group)
    heard = _find_last_heard(repo, session_id, ended) or record.written.get(session_id, 0)
    if before and before.heard:
        record.sessions[session_id] = before  # what it did then, hooks do not hear later
    if heard and ended <= heard + unheard.SLACK:
        return
    one = _read_unheard(record, session_id, group, roots, heard, before)
    if heard and not (one.turns and (one.paths or one.commands)):
        return
    if heard and before and before.heard:
        one.heard = min(one.heard, before.heard)
        one.began = min(one.began, before.began)
        one.turns += before.turns
        one.paths = sorted({*one.paths, *before.paths})
        one.commands |= before.commands
    record.sessions[session_id] = one


def _find_last_heard(repo: Repo, session_id: str, ended: float) -> int:
    """When the last hook of a session ran, in s since 1970; 0 without one.  ended: when its
    conversations were last written; a hook that ran then or later is enough of an answer."""
    state = others.peek_state(repo, session_id)
    if state is None:
        return 0
    keys = ("last_interaction_time", "ended_at", "started_at")
    heard = int(max(parse_time(state.get(key)) for key in keys)) or 1
    if ended <= heard + unheard.SLACK:
        return heard
    for folder in repo.list_folders():
        for line in read_journal(repo, os.path.dirname(folder)):
            if line.session == session_id:
                heard = max(heard, line.at // 10**9)
    return heard


def _read_unheard(
    record: Record,
    session_id: str,
    group: Sequence[ConversationFile],
    roots: Sequence[str],
    heard: int,
    before: Unheard | None,
) -> Unheard:
    """What the conversations of a session tell of the time after its last hook.  before: as of the
    last look."""
    one = Unheard(session_id, group[0].client.NAME, [], heard=heard)
    one.told = before is not None and before.told
    since = 0
    if heard:
        since = (heard + unheard.SLACK) * 10**9
    paths: dict[str, None] = {}
    for conversation in group:
        reading = edits.Reading(conversation.client, conversation.cwd, conversation.agent)
        try:
            for edit in reading.read_edits(edits.read_entries(conversation.path)):
                if edit["at"] >= since:
                    paths[conversations.make_relative(edit["path"], roots)] = None
        except OSError:
            continue
        one.size += conversation.size
        one.ended = max(one.ended, int(conversation.mtime))
        one.commands |= reading.ran_commands and reading.last_command >= since
        if not conversation.agent:
            turns = [turn for turn in reading.turns if turn["at"] >= since]
            one.turns += len(turns)
            times = [turn["at"] // 10**9 for turn in turns if turn["at"]]
            # Without times: it began, as far as is known, when it was first seen.
            one.began = min(times, default=before.began if before else int(conversation.mtime))
    one.paths = sorted(filter(None, paths))
    return one


def _settle_stored(repo: Repo, record: Record) -> None:
    """Settle the sessions that checkpoints have, and whose states are gone."""
    for checkpoint in listing.list_checkpoints(repo, skip_summary=True):
        for entry in checkpoint["sessions"]:
            one = record.sessions.get(entry["session_id"])
            if one and not one.heard:
                record.settled[entry["session_id"]] = [_FOREVER, int(time.time())]


def _map_resting(repo: Repo) -> dict[str, str]:
    """path -> session, of the conversations of the recorded sessions that are not at work, of those
    whose states were written last: one that grows was resumed."""
    written = {
        session_id: unheard.read_time(session.get_state_path(repo, session_id))
        for session_id in others.list_state_ids(repo)
    }
    newest = sorted(written, key=lambda session_id: written[session_id], reverse=True)
    resting: dict[str, str] = {}
    for session_id in newest[:_MOST_RESTING]:
        state = others.peek_state(repo, session_id) or {}
        path = state.get("transcript_path")
        if path and state.get("phase") != "active" and " " not in session_id:
            resting[str(path)] = session_id
    return resting


def _list_logs(repo: Repo) -> list[str]:
    """The logs of HEAD in each worktree, one of which changes with each commit."""
    worktrees = os.path.join(repo.common, "worktrees")
    folders = [repo.common, *(os.path.join(worktrees, n) for n in agents.list_folders(worktrees))]
    return [os.path.join(folder, "logs", "HEAD") for folder in folders]


def _write_folders(
    repo: Repo, folders: Mapping[str, int], resting: Mapping[str, str] | None = None
) -> None:
    """Write the list of folders and of conversations that rest, which unheard.is_look_due() and
    git's hook in sh compare."""
    times = {folder: str(at) for folder, at in folders.items()}
    newest = max(folders.values(), default=0)
    for path, session_id in (resting or {}).items():
        at = unheard.read_time(path)
        times[path] = f"{at}:{session_id}"
        newest = max(newest, at)
    lines = [f"{seen} {path}\n" for path, seen in times.items() if "\n" not in path]
    listed = repo.join_shared_cache(unheard.LIST)
    try:
        data = "".join(lines).encode("utf-8", "surrogateescape")
        files.write_private(repo, listed, data)
        os.utime(listed, ns=(newest, newest))  # a folder that changed meanwhile is newer
    except (Error, OSError) as e:
        git.append_trace("files", str(e))


def settle(repo: Repo, session_ids: Iterable[str], *, forever: bool = False) -> None:
    """Note that a person has settled what sessions hold until now: an import has read it; forever:
    it was forgotten, or recorded and cleaned up."""
    with exclusive(repo, "unheard"):
        record = Record(repo)
        for session_id in session_ids:
            one = record.sessions.get(session_id)
            size = one.size if one and not forever else _FOREVER
            if one or forever:
                record.settled[session_id] = [size, int(time.time())]
        record.save()


def note_written(repo: Repo, session_ids: Iterable[str]) -> None:
    """Note that gitcp writes conversations, a part of recorded ones: only what comes to them later
    may be unrecorded."""
    if Record(repo).is_new:
        look(repo)  # the first one settles what is stored
    with exclusive(repo, "unheard"):
        record = Record(repo)
        record.written |= dict.fromkeys(session_ids, int(time.time()))
        for name in [*record.written][:-_MOST_WRITTEN]:
            del record.written[name]
        record.save()


def credit_nobody(repo: Repo, commit: Commit, paths: dict[str, PathCredit]) -> None:
    """Of the lines of a commit that are a person's, leave those to nobody that a conversation may
    have written of which no hook has heard."""
    record = read_current(repo)
    if not record.sessions:
        return
    change = date_commit(repo.objects, commit)
    for path, credit in paths.items():
        if record.find_author(path, change):
            credit.correct(dict.fromkeys(credit.list_persons_lines(), UNKNOWN))


def note_told(repo: Repo, told: Iterable[Unheard]) -> None:
    """Note that a person was told of sessions."""
    names = {one.session for one in told}
    with exclusive(repo, "unheard"):
        record = Record(repo)
        for session_id in names & record.sessions.keys():
            record.sessions[session_id].told = True
        record.save()


def describe(found: Sequence[Unheard]) -> str:
    """How many conversations were not recorded, and since when: `2 conversations since Tuesday
    were not recorded`."""
    verb = "was" if len(found) == 1 else "were"
    since = _format_day(min(one.began for one in found))
    return f"{count_noun(len(found), 'conversation')} since {since} {verb} not recorded"


def _format_day(seconds: int) -> str:
    """A time as people name it today: by the clock, the day of the week, or the date."""
    day = time.localtime(seconds)
    today = time.localtime()
    if day[:3] == today[:3]:
        return time.strftime("%H:%M", day)
    if time.time() - seconds < 6 * 24 * 3600:
        return time.strftime("%A", day)
    form = "%-d %B %Y"
    if day.tm_year == today.tm_year:
        form = "%-d %B"
    return time.strftime(form, day)
