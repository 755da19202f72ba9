"""The index of searches, <common>/gitcp/cache/search.sqlite: what it has, and how it is brought up
to date."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import NamedTuple
from zlib import crc32

from gitcp.agents.reading.items import list_items
from gitcp.checkpoints import format, listing, notes
from gitcp.checkpoints.redactor import get_redactor
from gitcp.checkpoints.stored import Parts, Places, list_sources
from gitcp.errors import Error, GitError
from gitcp.extras.search import rules
from gitcp.extras.search.rules import cut_turns
from gitcp.git import decode_name, encode_name
from gitcp.git.files import exclusive, peek
from gitcp.git.objects import Lookup, Objects, find_tree, parse_ident, read_commit, read_tree
from gitcp.git.objects.object_lists import is_ancestor, list_commits, read_names
from gitcp.git.objects.reading import run_task, split_windows, spread_batches
from gitcp.git.records import encode_lines
from gitcp.record import stream
from gitcp.record.session import client_transcript, others
from gitcp.text import console, json, prompt_text
from gitcp.text.ids import ABANDONED, EDITS, parse_checkpoint_ref
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Connection
    from typing import Any, TypeVar

    from gitcp.extras.search.rules import FoundTurn
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import State

    Commit = tuple[str, str, int, str, str, str]  # oid, author, time, subject, checkpoint, message
    T = TypeVar("T")
    Source = tuple[str, str, str]  # kind, name, version
    # A session's turns in a source: session, agent, branch, turns, the numbers of those that wrote
    # what was committed.  Workers send tuples.
    Conversation = tuple[str, str, str, list[FoundTurn], set[int]]
    Lack = tuple[str, str, str]  # oids of missing objects, message and its kind
    _Read = tuple[Source, list[Conversation], list[Lack]]


def read_basis(repo: Repo) -> dict[str, str]:
    """name -> checksum of the files that change what git says of commits while no ref moves: other
    names for authors (gitmailmap(5)), and the edge of a shallow clone."""
    names = [".mailmap"] * bool(repo.top) + repo.config.get_all("mailmap.file")[-1:]
    top = repo.top or repo.common
    paths = {name: os.path.join(top, os.path.expanduser(name)) for name in names}
    paths["shallow"] = os.path.join(repo.common, "shallow")
    return {name: f"{crc32(peek(path))}" for name, path in paths.items()}


def take_commits(repo: Repo, database: Connection, basis: Mapping[str, str]) -> None:
    """Add new linked commits, note which commits are on a branch or tag, and delete those whose
    link was removed.

    What came and went since the last time is read; everything if that time is not known, or if
    notes or what read_basis() returns changed.
    """
    heads = list_commits(repo, "--no-walk=unsorted", *listing.ALL)
    with Objects(repo):
        basis = {**basis, **_read_blobs(repo)}
        since: list[str] = []
        if read_state(database, "basis") == basis:
            since = list(read_state(database, "heads"))
        came, went, since = _list_moves(repo, since)
        database.execute("begin immediate")
        _store_commits(database, _list_linked(repo, since, came), came, went, bool(since))
        keep_state(database, "basis", basis)
        keep_state(database, "heads", dict.fromkeys(heads, ""))
        database.execute("commit")


def _read_blobs(repo: Repo) -> dict[str, str]:
    """name -> oid of the objects that change what git says of commits: notes, and other names for
    authors; '' for one that is not here."""
    mailmap = repo.config.get("mailmap.blob") or ""
    if not mailmap and not repo.top:
        mailmap = "HEAD:.mailmap"
    found = {}
    for spec in (notes.REF, mailmap):
        named = repo.objects.read(spec)
        found[spec] = ""
        if named:
            found[spec] = named[0]
    return found


class _Moves(NamedTuple):
    """The commits that came to branches and tags since these heads, and those that went."""

    came: set[str]
    went: set[str]
    since: list[str]


def _list_moves(repo: Repo, since: list[str]) -> _Moves:
    """What came and went since these heads.  If git lacks one of them, all commits came, and since
    is empty."""
    try:
        came = list_commits(repo, *listing.ALL, "--stdin", stdin=_exclude(since))
        went = since and list_commits(
            repo, "--stdin", "--not", *listing.ALL, stdin=encode_lines(since)
        )
    except GitError:
        if not since:
            raise
        return _list_moves(repo, [])
    return _Moves(set(came), set(went), since)


def _exclude(commits: Iterable[str]) -> bytes:
    return encode_lines(f"^{oid}" for oid in commits)


def _store_commits(
    database: Connection,
    carried: Iterable[Commit],
    came: Container[str],
    went: Container[str],
    others_stay: bool,
) -> None:
    """Store the links that commits carry, and which commits are on a branch or tag.

    Those are the commits that came, and if others_stay also those that were there and did not go.
    """
    rows = database.execute("select oid, checkpoint, id, author, live from linked")
    known = {(oid, checkpoint): facts for oid, checkpoint, *facts in rows}
    linked: set[tuple[str, str]] = set()
    for *row, message in carried:
        oid = str(row[0])
        author = row[1]
        checkpoint = str(row[-1])
        linked.add((oid, checkpoint))
        if (oid, checkpoint) in known:
            if author != known[oid, checkpoint][1]:
                change = author, known[oid, checkpoint][0]
                database.execute("update linked set author=? where id=?", change)
            continue
        cursor = database.execute(
            "insert or ignore into linked(oid, author, time, subject, checkpoint, live)"
            " values(?, ?, ?, ?, ?, ?)",
            (*row, oid in came),
        )
        if cursor.rowcount == 1:
            database.execute(
                "insert into messages(rowid, message) values(?, ?)", (cursor.lastrowid, message)
            )
    for (oid, checkpoint), (key, _, was_live) in known.items():
        is_live = oid in came
        if others_stay and was_live and oid not in went:
            is_live = True
        if oid in came and (oid, checkpoint) not in linked:
            database.execute("delete from linked where id=?", (key,))
            database.execute("delete from messages where rowid=?", (key,))
        elif is_live != was_live:
            database.execute("update linked set live=? where id=?", (is_live, key))


def _list_linked(repo: Repo, since: Sequence[str], came: Container[str]) -> Iterator[Commit]:
    """The links of the commits on branches and tags: those in messages that no note removes, and
    those in notes.

    since: heads; if there are any, only commits that came since then (came) are read.
    """
    reader = notes.Reader(repo.objects)
    places = Places(repo)
    args = ("log", "-z", "--no-show-signature", "--no-notes", "--format=%H%n%aN%n%ct%n%s%n%B")
    sought = (*listing.CARRYING, "--stdin")
    for item in repo.git.stream_records(*args, *sought, stdin=_exclude(since)):
        oid, author, seconds, subject, message = decode_name(item).split("\n", 4)
        note = reader.read_note(oid) or b""
        for checkpoint in listing.select_links(
            repo.objects, places, oid, encode_name(message), note
        ):
            yield oid, author, int(seconds or 0), subject, checkpoint, message
    noted = [
        (read_commit(repo.objects, oid), names)
        for oid, names in notes.list_links(repo.objects)
        if not since or oid in came
    ]
    authors = read_names(repo, {commit["oid"] for commit, _ in noted if commit})
    for commit, names in noted:
        if commit:
            oid = commit["oid"]
            message = commit["message"]
            subject = message.partition("\n")[0]
            time = parse_ident(commit["author"])[1]
            yield from ((oid, authors[oid], time, subject, name, message) for name in names)


# The index of searches, <common>/gitcp/cache/search.sqlite, made from the store alone.
#
# It is private (0600), never pushed, and made again if it is damaged or of another version.
#
# _MACHINE: SQLite's errors of the machine: permission, busy, locked, out of memory, read only,
# input and output, full, cannot open.
_MACHINE = (3, 5, 6, 7, 8, 10, 13, 14)
_VERSION = 8
# turn.mark: a checksum of the prompt.  linked.live: whether the commit is on a branch or tag.
_TABLES = """
create table source(id integer primary key, kind text, name text, version text,
  unique(kind, name));
create table turn(id integer primary key autoincrement, session text, number integer, mark integer,
  time integer, agent text, branch text, unique(session, number, mark));
create table source_turn(source integer, turn integer, wrote integer,
  primary key(source, turn)) without rowid;
create index source_of_turn on source_turn(turn);
create table turn_file(turn integer, path text);
create index file_of_turn on turn_file(turn);
create table linked(id integer primary key, oid text, author text, time integer, subject text,
  checkpoint text, live integer, unique(oid, checkpoint));
create index commit_of_checkpoint on linked(checkpoint);
create virtual table texts using fts5(prompt, answer, calls, files,
  tokenize='porter unicode61 remove_diacritics 2');
create virtual table outputs using fts5(words, content='', detail=none,
  tokenize='porter unicode61 remove_diacritics 2');
create virtual table messages using fts5(message,
  tokenize='porter unicode61 remove_diacritics 2');
create table word(id integer primary key, text text unique);
create virtual table word_parts using fts5(text, content='word', content_rowid='id',
  tokenize='trigram');
create table lacking(source integer, absent text, message text, kind text);
create table state(key text primary key, value text);
"""
_NAMES = (
    "source source_turn turn turn_file linked texts outputs messages word_parts word lacking state"
)


def locate_file(repo: Repo) -> str:
    """The path of the index."""
    return repo.join_shared_cache("search.sqlite")


def use_database(repo: Repo, work: Callable[[Connection], T], patience: float) -> T:
    """The result of work(database).  The database is created if there is none, and made again once
    if it is damaged; where nothing can be written, it is in memory, for this work alone.

    patience: the seconds to wait for another search.  Raises Error if the file cannot be read or
    written.
    """
    if _can_write(repo):
        with exclusive(repo, "search", patience):
            return _use_file(repo, work)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.executescript(_TABLES)
        return work(database)


def _can_write(repo: Repo) -> bool:
    folder = repo.join_shared()
    if not os.path.isdir(folder):
        folder = repo.common
    return os.access(folder, os.W_OK)


def _use_file(repo: Repo, work: Callable[[Connection], T]) -> T:
    try:
        return _open_and_work(repo, work)
    except sqlite3.Error as e:
        if getattr(e, "sqlite_errorcode", 0) & 0xFF in _MACHINE:
            raise Error(f"cannot use '{locate_file(repo)}': {e}") from None
    remove_database(repo)
    try:
        return _open_and_work(repo, work)
    except sqlite3.Error as e:
        raise Error(f"cannot use '{locate_file(repo)}': {e}") from None


def _open_and_work(repo: Repo, work: Callable[[Connection], T]) -> T:
    try:
        database = _connect(repo)
    except OSError as e:
        again = "remove it, and the next search makes it again"
        raise Error(f"cannot use '{locate_file(repo)}': {e.strerror}; {again}") from None
    try:
        return work(database)
    finally:
        database.close()


def remove_database(repo: Repo) -> None:
    """Remove the index and SQLite's files beside it; the next search makes it again."""
    for end in ("", "-journal", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(locate_file(repo) + end)


def clear_tables(database: Connection) -> None:
    """Delete all content, so that no word of it is left in the file."""
    names = "".join(f"drop table {name};" for name in _NAMES.split())
    database.executescript(f"begin immediate;{names}{_TABLES}commit;vacuum;")


def read_state(database: Connection, key: str) -> dict[str, str]:
    """What keep_state() has kept last; {} for nothing."""
    row = database.execute("select value from state where key=?", (key,)).fetchone()
    kept: dict[str, str] = {}
    if row is not None:
        kept = json.loads(row[0])
    return kept


def keep_state(database: Connection, key: str, value: Mapping[str, str]) -> None:
    """Keep what the index was made from."""
    database.execute("insert or replace into state values(?, ?)", (key, json.dumps(dict(value))))


def _connect(repo: Repo) -> Connection:
    path = locate_file(repo)
    repo.make_folder(os.path.dirname(path))
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    database = sqlite3.connect(path, timeout=30, isolation_level=None)
    try:
        database.execute("pragma synchronous=off")  # a lost index is made again
        (version,) = database.execute("pragma user_version").fetchone()
        if version == 0:
            database.executescript(
                f"begin immediate;{_TABLES}pragma user_version={_VERSION};commit"
            )
        elif version != _VERSION:
            raise sqlite3.DatabaseError(f"version {version}")
        database.execute("select count(*) from source").fetchone()
    except BaseException:
        database.close()
        raise
    return database


# Bringing the index up to date: new sources are read, and deleted ones removed.
#
# A source is a checkpoint (its version is its tree), a stream's tip, or the conversation of an
# open session (its file's size and time).  Transactions store whole sources, so that after a kill
# the next search continues.
_SHORTEST = 3  # characters of a word in the vocabulary: trigrams have so many
_STORES = ("/entire/checkpoints/v1", "/entire/sessions")
_UNREAD = (
    EDITS,
    "refs/gitcp/undo",
    ABANDONED,
)  # refs that no search depends on
_BATCH = 4  # checkpoints that are read together


def refresh_index(repo: Repo, database: Connection, progress: Callable[[int, int], None]) -> None:
    """Bring the index up to date; progress(done, all) is called as sources are read.

    The caller holds the lock of the index.
    """
    tips = _read_tips(repo)
    basis = read_basis(repo)
    _take_arrived(repo, database)
    before = read_state(database, "tips")
    if before != tips or read_state(database, "files") != basis:
        stored = {ref: oid for ref, oid in tips.items() if _is_store(ref)}
        if _is_rewritten(repo, read_state(database, "stores"), stored):
            clear_tables(database)  # no word of forgotten content may stay
            before = {}
        keep_state(database, "stores", stored)
        if _pick_own(before) != _pick_own(tips):
            _take_sources(repo, database, progress)
        take_commits(repo, database, basis)
        keep_state(database, "tips", tips)
        keep_state(database, "files", basis)
    _take_conversations(repo, database)


def _is_store(ref: str) -> bool:
    return ref.endswith(_STORES) or bool(parse_checkpoint_ref(ref))


def _read_tips(repo: Repo) -> dict[str, str]:
    """ref -> oid of all refs that a search depends on."""
    lines = repo.git.read_records("for-each-ref", "--format=%(refname) %(objectname)", sep=b"\n")
    tips = dict(decode_name(line).rsplit(" ", 1) for line in lines)
    return {ref: oid for ref, oid in tips.items() if not ref.startswith(_UNREAD)}


def _pick_own(tips: Mapping[str, str]) -> dict[str, str]:
    """Those of tips that sources are read from: gitcp's branches and refs."""
    return {
        ref: oid for ref, oid in tips.items() if "/entire/" in ref or ref.startswith("refs/gitcp/")
    }


def _is_rewritten(repo: Repo, before: Mapping[str, str], current: Mapping[str, str]) -> bool:
    """Whether a ref of the store lost commits that the index has."""
    moved = [(oid, current.get(ref, "")) for ref, oid in before.items() if current.get(ref) != oid]
    return any(not new or not is_ancestor(repo, old, new) for old, new in moved)


def _take_sources(repo: Repo, database: Connection, progress: Callable[[int, int], None]) -> None:
    with Objects(repo):
        streams = (("stream", t["ref"], t["oid"]) for t in stream.list_tips(repo))
        trees = listing.read_trees(repo, list_sources(repo))
        sources = [*(("checkpoint", name, tree) for name, tree in trees.items()), *streams]
        versions = _read_versions(database, sessions=False)
        fresh = [source for source in sources if versions.get(source[:2]) != source[2]]
        _forget_sources(database, versions.keys() - {source[:2] for source in sources})

        def begin(own: Objects) -> Callable[[list[Source]], list[_Read]]:
            return lambda batch: [(source, *_read_source(own, source)) for source in batch]

        done = 0
        writer = _Writer(database)
        for batch in spread_batches(repo.objects, split_windows(fresh, _BATCH), begin, alone=2):
            with writer.begin():
                for source, conversations, lacking in batch:
                    writer.store_source(source, conversations, lacking)
            done += len(batch)
            progress(done, len(fresh))


def _take_arrived(repo: Repo, database: Connection) -> None:
    """Have the sources read again of which a missing part has arrived."""
    rows = database.execute("select source, absent from lacking where absent <> ''").fetchall()
    if not rows:
        return
    with Objects(repo):
        lacking = " ".join([oids for _, oids in rows])
        absent = repo.objects.list_absent(lacking.split())
    for source, oids in rows:
        if not absent.issuperset(oids.split()):
            database.execute("update source set version = '' where id = ?", (source,))
            keep_state(database, "tips", {})


def tell_lacking(database: Connection) -> None:
    """Warn of what the sources of the index lack."""
    for message, kind in database.execute("select distinct message, kind from lacking"):
        console.warn_lacking(message, kind)


def _read_versions(database: Connection, sessions: bool) -> dict[tuple[str, str], str]:
    """(kind, name) -> version of the sources that are running sessions, or of all others."""
    query = "select kind, name, version from source where (kind = 'session') = ?"
    rows = database.execute(query, (sessions,))
    return {(kind, name): version for kind, name, version in rows}


def _read_source(objects: Objects, source: Source) -> tuple[list[Conversation], list[Lack]]:
    """The conversations of a source, and what it lacks."""
    kind, name, version = source
    parts = Parts(objects, name)
    with console.Collected() as lacks:
        try:
            if kind == "checkpoint":
                conversations = _read_checkpoint(objects, parts, version)
            else:
                conversations = _read_stream(objects, parts, version)
        except Error as e:
            conversations = []
            parts.damage.note("", e, console.ABSENT)
    objects.ahead.forget()
    absent = " ".join(parts.damage.absent)
    return conversations, [(absent, lack, console.get_kind(lack)) for lack in dict.fromkeys(lacks)]


def _read_checkpoint(objects: Objects, parts: Parts, tree: str) -> list[Conversation]:
    run_task(objects, listing.Loader(objects, skip_summary=True).read_ahead([tree]))
    conversations = []
    for entry in parts.load_checkpoint("", tree, skip_summary=True)["sessions"]:
        metadata = entry["metadata"]
        items = list_items(parts.read_transcript(entry["files"], entry["directory"]))
        turns = list(cut_turns(items, _get_start(metadata))) or _build_turns(metadata)
        wrote = _add_files(turns, metadata)
        agent = format.get_text(metadata, "agent")
        branch = format.get_text(metadata, "branch")
        conversations.append((str(entry["session_id"]), agent, branch, turns, wrote))
    return conversations


def _build_turns(metadata: Mapping[str, Any]) -> list[FoundTurn]:
    """The turns of a session without a transcript: the prompts of its metadata."""
    time = int(parse_time(metadata.get("created_at")))
    stored = metadata.get("turns")
    turns: list[FoundTurn] = []
    if isinstance(stored, dict):
        for turn in stored.values():
            if _has_prompt(turn):
                turns.append(
                    {
                        "number": turn["number"],
                        "time": time,
                        "prompt": turn["prompt"],
                        "answer": "",
                        "calls": "",
                        "files": [],
                        "outputs": "",
                    }
                )
    return turns


def _has_prompt(turn: object) -> bool:
    """Whether metadata tell the number and the prompt of a turn."""
    if not isinstance(turn, dict):
        return False
    return isinstance(turn.get("number"), int) and isinstance(turn.get("prompt"), str)


def _add_files(turns: list[FoundTurn], metadata: Mapping[str, Any]) -> set[int]:
    """Add to turns the files of a checkpoint's metadata, since a transcript names none for a shell;
    return the numbers of the turns that wrote them."""
    wrote: set[int] = set()
    files = metadata.get("files")
    stored = metadata.get("turns")
    by_number = {turn["number"]: turn for turn in turns}
    asked = {number: turn["prompt"] for number, turn in by_number.items()}
    if isinstance(files, dict):
        for path, file in files.items():
            if not isinstance(file, dict):
                continue
            for turn_id in file.get("turns") or ():
                facts = None
                if isinstance(stored, dict):
                    facts = stored.get(turn_id)
                turn = by_number.get(prompt_text.find_number(asked, facts))
                if turn:
                    wrote.add(turn["number"])
                if turn and not any(f"/{named}".endswith(f"/{path}") for named in turn["files"]):
                    turn["files"].append(path)
    return wrote


def _read_stream(objects: Objects, parts: Parts, tip: str) -> list[Conversation]:
    conversations: list[Conversation] = []
    folder = stream.METADATA.rstrip("/")
    entry = Lookup(objects, find_tree(objects, tip))(folder)
    if entry is None:
        return []
    for session_id, (_, oid) in read_tree(objects, entry[1]).items():
        files = read_tree(objects, oid)
        state = parts.read_json(files, session_id, "state", stream.NAME)
        items = list_items(parts.read_transcript(files, session_id))
        turns = cut_turns(items, _get_start(state))
        conversations.append((session_id, state.get("agent_type", ""), "", list(turns), set()))
    return conversations


def _get_start(state: object) -> int:
    if isinstance(state, dict):
        start = state.get("checkpoint_transcript_start")
        if isinstance(start, int):
            return start
    return 0


def _take_conversations(repo: Repo, database: Connection) -> None:
    """Read the turns of open sessions since their last checkpoints, from live transcripts."""
    live: dict[tuple[str, str], tuple[str, State]] = {}
    for name in others.list_state_ids(repo):
        state = others.peek_state(repo, name)
        if state and state.get("phase") != "ended":
            version = _format_version(state)
            if version:
                live["session", name] = version, state
    versions = _read_versions(database, sessions=True)
    _forget_sources(database, versions.keys() - live.keys())
    writer = _Writer(database)
    for (kind, name), (version, state) in live.items():
        if versions.get((kind, name)) != version:
            redactor = get_redactor(repo, state["session_id"])
            conversation = redactor.redact_jsonl(client_transcript.read_live(state))
            turns = list(cut_turns(list_items(conversation), _get_start(state)))
            agent = str(state.get("agent_type") or "")
            read = [(name, agent, "", turns, set[int]())]
            with writer.begin():
                writer.store_source((kind, name, version), read, ())


def _format_version(state: State) -> str:
    try:
        status = os.stat(state.get("transcript_path") or "")
    except OSError:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"


class _Writer:
    """Stores what was read of sources, and the words of it."""

    def __init__(self, database: Connection) -> None:
        self._database = database
        self._words: set[str] = set()  # that this process has put into the vocabulary, or found

    @contextmanager
    def begin(self) -> Iterator[None]:
        """A transaction; at its end the new words can be found by their parts."""
        database = self._database
        database.execute("begin immediate")
        (last,) = database.execute("select coalesce(max(id), 0) from word").fetchone()
        yield
        database.execute(
            "insert into word_parts(rowid, text) select id, text from word where id > ?", (last,)
        )
        database.execute("commit")

    def store_source(
        self,
        source: Source,
        conversations: Iterable[Conversation],
        lacking: Iterable[Lack],
    ) -> None:
        """Store the conversations of a source, in place of those that the index has of it."""
        database = self._database
        _forget_source(database, source[0], source[1])
        database.execute("insert into source(kind, name, version) values(?, ?, ?)", source)
        (key,) = database.execute("select last_insert_rowid()").fetchone()
        rows = [(key, *lack) for lack in lacking]
        database.executemany("insert into lacking values(?, ?, ?, ?)", rows)
        for session, agent, branch, turns, wrote in conversations:
            for turn in turns:
                row = self._store_turn(session, agent, branch, turn)
                values = (key, row, turn["number"] in wrote)
                database.execute("insert or ignore into source_turn values(?, ?, ?)", values)

    def _store_turn(self, session: str, agent: str, branch: str, turn: FoundTurn) -> int:
        """Store a turn unless the index has it with as much text; return its row."""
        database = self._database
        mark = crc32(turn["prompt"].encode("utf-8", "surrogatepass"))
        session, agent, branch = map(_make_utf8, (session, agent, branch))
        stored = database.execute(
            "select id from turn where session=? and number=? and mark=?",
            (session, turn["number"], mark),
        ).fetchone()
        if stored:
            length = database.execute(
                "select length(answer) + length(calls) from texts where rowid=?", stored
            ).fetchone()
            if length and length[0] >= len(turn["answer"]) + len(turn["calls"]):
                return int(stored[0])
            _delete_turn(database, stored[0])
        row = (session, turn["number"], mark, turn["time"], agent, branch)
        cursor = database.execute(
            "insert into turn(session, number, mark, time, agent, branch) values(?, ?, ?, ?, ?, ?)",
            row,
        )
        key = int(cursor.lastrowid or 0)
        if stored:
            database.execute("update source_turn set turn=? where turn=?", (key, stored[0]))
        self._store_texts(key, turn)
        return key

    def _store_texts(self, key: int, turn: FoundTurn) -> None:
        """Store the texts of a turn, and the words of them."""
        database = self._database
        paths = [_make_utf8(path) for path in turn["files"]]
        said = map(_make_utf8, (turn["prompt"], turn["answer"], turn["calls"]))
        texts = (*said, "\n".join(paths))
        database.execute(
            "insert into texts(rowid, prompt, answer, calls, files) values(?,?,?,?,?)",
            (key, *texts),
        )
        database.execute(
            "insert into outputs(rowid, words) values(?, ?)", (key, _make_utf8(turn["outputs"]))
        )
        database.executemany("insert into turn_file values(?, ?)", [(key, path) for path in paths])
        words = set(rules.split_tokens("\n".join(texts))) - self._words
        self._words |= words
        long_enough = [(word,) for word in sorted(words) if len(word) >= _SHORTEST]
        database.executemany("insert or ignore into word(text) values(?)", long_enough)


def _make_utf8(text: str) -> str:
    """A text that SQLite takes: a path may have any bytes."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def _forget_source(database: Connection, kind: str, name: str) -> None:
    """Delete a source, and the turns that no other source has."""
    source = database.execute(
        "select id from source where kind=? and name=?", (kind, name)
    ).fetchone()
    if not source:
        return
    turns = database.execute("select turn from source_turn where source=?", source).fetchall()
    database.execute("delete from source_turn where source=?", source)
    database.execute("delete from lacking where source=?", source)
    database.execute("delete from source where id=?", source)
    for (turn,) in turns:
        if not database.execute("select 1 from source_turn where turn=?", (turn,)).fetchone():
            _delete_turn(database, turn)


def _delete_turn(database: Connection, turn: int) -> None:
    # Its row of outputs stays: a table with content='' cannot delete.  The id is not used again.
    for table, key in (("turn", "id"), ("texts", "rowid"), ("turn_file", "turn")):
        database.execute(f"delete from {table} where {key}=?", (turn,))


def _forget_sources(database: Connection, gone: Iterable[tuple[str, str]]) -> None:
    database.execute("begin immediate")
    for kind, name in gone:
        _forget_source(database, kind, name)
    database.execute("commit")
