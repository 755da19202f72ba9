"""Bringing the index up to date: new sources are read, and deleted ones removed.

A source is a checkpoint (its version is its tree), a stream's tip, or the conversation of an open
session (its file's size and time).  Transactions store whole sources, so that after a kill the next
search continues.
"""

from __future__ import annotations

import os
from datetime import datetime
from zlib import crc32

from gitcp.console import notice
from gitcp.core.git.ids import parse_checkpoint_ref
from gitcp.core.message import prompts
from gitcp.core.search import query
from gitcp.core.search.turns import cut_turns
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.start import late
from gitcp.store.git.commit import is_ancestor
from gitcp.store.git.prefetch import Prefetched, run_task, split_windows
from gitcp.store.git.spread import spread_batches
from gitcp.store.git.tree import Lookup, find_tree, read_tree
from gitcp.store.search import commits
from gitcp.store.search import database as storage
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs, state_copy
from gitcp.store.v1 import committed_list, committed_read, committed_refs, redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from sqlite3 import Connection
    from typing import Any

    from gitcp.core.record_types import State
    from gitcp.core.search.turns import Turn
    from gitcp.repo import Repo

    Source = tuple[str, str, str]  # kind, name, version
    # session, agent, branch, turns, the numbers of those that wrote what was committed
    Spoken = list[tuple[str, str, str, list[Turn], set[int]]]
    Lack = tuple[str, str, str]  # oids of missing objects, message and its kind
    _Read = tuple[Source, Spoken, list[Lack]]

_SHORTEST = 3  # characters of a word in the vocabulary: trigrams have so many
_STORES = ("/entire/checkpoints/v1", "/entire/sessions")
_UNREAD = ("refs/gitcp/edits/", "refs/gitcp/undo")  # refs that no search depends on
_BATCH = 4  # checkpoints that are read together


def refresh_index(repo: Repo, database: Connection, progress: Callable[[int, int], None]) -> None:
    """Bring the index up to date; progress(done, all) is called as sources are read.

    The caller holds the lock of the index.
    """
    tips, basis = _read_tips(repo), commits.read_basis(repo)
    _take_arrived(repo, database)
    before = storage.read_state(database, "tips")
    if before != tips or storage.read_state(database, "files") != basis:
        stored = {
            ref: oid
            for ref, oid in tips.items()
            if ref.endswith(_STORES) or parse_checkpoint_ref(ref)
        }
        if _is_rewritten(repo, storage.read_state(database, "stores"), stored):
            storage.clear_tables(database)  # no word of forgotten content may stay
            before = {}
        storage.keep_state(database, "stores", stored)
        if _pick_own(before) != _pick_own(tips):
            _take_sources(repo, database, progress)
        commits.take_commits(repo, database, basis)
        storage.keep_state(database, "tips", tips)
        storage.keep_state(database, "files", basis)
    _take_conversations(repo, database)


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
    with Prefetched(repo) as objects:
        streams = (("stream", t["ref"], t["oid"]) for t in shadow_refs.list_tips(repo, objects))
        sources = [*_list_checkpoints(repo, objects), *streams]
        versions = _read_versions(database, sessions=False)
        fresh = [source for source in sources if versions.get(source[:2]) != source[2]]
        _forget_sources(database, versions.keys() - {source[:2] for source in sources})

        def begin(own: Prefetched) -> Callable[[list[Source]], list[_Read]]:
            return lambda batch: [(source, *_read_source(own, source)) for source in batch]

        done = 0
        for batch in spread_batches(objects, split_windows(fresh, _BATCH), begin, alone=2):
            database.execute("begin immediate")
            for source, sessions, lacking in batch:
                _store_source(database, source, sessions, lacking)
            database.execute("commit")
            done += len(batch)
            progress(done, len(fresh))


def _take_arrived(repo: Repo, database: Connection) -> None:
    """Have the sources read again of which a missing part has arrived."""
    rows = database.execute("select source, absent from lacking where absent <> ''").fetchall()
    if not rows:
        return
    with Prefetched(repo) as objects:
        absent = objects.list_absent(oid for _, oids in rows for oid in oids.split())
    for source, oids in rows:
        if not absent.issuperset(oids.split()):
            database.execute("update source set version = '' where id = ?", (source,))
            storage.keep_state(database, "tips", {})


def tell_lacking(database: Connection) -> None:
    """Warn of what the sources of the index lack."""
    for message, kind in database.execute("select distinct message, kind from lacking"):
        notice.warn_lacking(message, kind)


def _read_versions(database: Connection, sessions: bool) -> dict[tuple[str, str], str]:
    """(kind, name) -> version of the sources that are running sessions, or of all others."""
    query = "select kind, name, version from source where (kind = 'session') = ?"
    rows = database.execute(query, (sessions,))
    return {(kind, name): version for kind, name, version in rows}


def _list_checkpoints(repo: Repo, objects: Prefetched) -> Iterator[Source]:
    seen: set[str] = set()
    for ref in committed_refs.list_sources(repo):
        for name, tree in committed_list.list_trees(repo, objects, ref, ""):
            if name not in seen:
                seen.add(name)
                yield "checkpoint", name, tree


def _read_source(objects: Prefetched, source: Source) -> tuple[Spoken, list[Lack]]:
    """(session, agent, branch, turns) of each session in a source, and what it lacks."""
    kind, name, version = source
    parts = committed_read.Parts(objects, name)
    read = _read_checkpoint if kind == "checkpoint" else _read_stream
    with notice.Collected() as lacks:
        try:
            spoken = read(objects, parts, version)
        except Error as e:
            spoken = []
            parts.note_lack("", e, notice.ABSENT)
    objects.forget()
    absent = " ".join(parts.absent)
    return spoken, [(absent, lack, notice.get_kind(lack)) for lack in dict.fromkeys(lacks)]


def _read_checkpoint(objects: Prefetched, parts: committed_read.Parts, tree: str) -> Spoken:
    run_task(objects, committed_list.Loader(objects, brief=True).read_ahead([tree]))
    sessions = []
    for entry in parts.load_checkpoint("", tree, brief=True)["sessions"]:
        metadata = entry["metadata"]
        transcript = parts.read_transcript(entry["files"], entry["directory"])
        turns = list(cut_turns(transcript, _get_start(metadata))) or _build_turns(metadata)
        wrote = _add_files(turns, metadata)
        agent, branch = summary.get_text(metadata, "agent"), summary.get_text(metadata, "branch")
        sessions.append((str(entry["session_id"]), agent, branch, turns, wrote))
    return sessions


def _build_turns(metadata: Mapping[str, Any]) -> list[Turn]:
    """The turns of a session without a transcript: the prompts of its metadata."""
    try:
        time = int(datetime.fromisoformat(str(metadata.get("created_at"))).timestamp())
    except ValueError:
        time = 0
    stored = metadata.get("turns")
    return [
        {
            "number": turn["number"],
            "time": time,
            "prompt": turn["prompt"],
            "answer": "",
            "calls": "",
            "files": [],
            "outputs": "",
        }
        for turn in (stored.values() if isinstance(stored, dict) else ())
        if isinstance(turn, dict)
        and isinstance(turn.get("number"), int)
        and isinstance(turn.get("prompt"), str)
    ]


def _add_files(turns: list[Turn], metadata: Mapping[str, Any]) -> set[int]:
    """Add to turns the files of a checkpoint's metadata, since a transcript names none for a shell;
    return the numbers of the turns that wrote them."""
    wrote: set[int] = set()
    files, stored = metadata.get("files"), metadata.get("turns")
    by_number = {turn["number"]: turn for turn in turns}
    asked = {number: turn["prompt"] for number, turn in by_number.items()}
    for path, file in files.items() if isinstance(files, dict) else ():
        for turn_id in file.get("turns") or () if isinstance(file, dict) else ():
            facts = stored.get(turn_id) if isinstance(stored, dict) else None
            turn = by_number.get(prompts.find_number(asked, facts))
            if turn:
                wrote.add(turn["number"])
            if turn and not any(f"/{named}".endswith(f"/{path}") for named in turn["files"]):
                turn["files"].append(path)
    return wrote


def _read_stream(objects: Prefetched, parts: committed_read.Parts, tip: str) -> Spoken:
    sessions: Spoken = []
    folder = shadow_refs.METADATA.rstrip("/")
    entry = Lookup(objects, find_tree(objects, tip))(folder)
    for session_id, (_, oid) in (read_tree(objects, entry[1]) if entry else {}).items():
        files = read_tree(objects, oid)
        state = parts.read_json(files, session_id, "state", state_copy.NAME)
        turns = cut_turns(parts.read_transcript(files, session_id), _get_start(state))
        sessions.append((session_id, state.get("agent_type", ""), "", list(turns), set()))
    return sessions


def _get_start(state: object) -> int:
    start = state.get("checkpoint_transcript_start") if isinstance(state, dict) else 0
    return start if isinstance(start, int) else 0


def _take_conversations(repo: Repo, database: Connection) -> None:
    """Read the turns of open sessions since their last checkpoints, from live transcripts."""
    live: dict[tuple[str, str], tuple[str, State]] = {}
    for name in states.list_ids(repo):
        state = states.peek(repo, name)
        if state and state.get("phase") != "ended" and (version := _format_version(state)):
            live["session", name] = version, state
    versions = _read_versions(database, sessions=True)
    _forget_sources(database, versions.keys() - live.keys())
    for (kind, name), (version, state) in live.items():
        if versions.get((kind, name)) != version:
            redactor = redaction.get_redactor(repo, state["session_id"])
            conversation = redactor.redact_jsonl(late.conversation.read_live(state))
            turns = list(cut_turns(conversation, _get_start(state)))
            database.execute("begin immediate")
            sessions: Spoken = [(name, str(state.get("agent_type") or ""), "", turns, set())]
            _store_source(database, (kind, name, version), sessions, ())
            database.execute("commit")


def _format_version(state: State) -> str:
    try:
        status = os.stat(state.get("transcript_path") or "")
    except OSError:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"


def _store_source(
    database: Connection, source: Source, sessions: Spoken, lacking: Iterable[Lack]
) -> None:
    """Store the sessions of a source, in place of those that the index has of it."""
    _forget_source(database, source[0], source[1])
    database.execute("insert into source(kind, name, version) values(?, ?, ?)", source)
    (key,) = database.execute("select last_insert_rowid()").fetchone()
    rows = [(key, *lack) for lack in lacking]
    database.executemany("insert into lacking values(?, ?, ?, ?)", rows)
    for session, agent, branch, turns, wrote in sessions:
        for turn in turns:
            row = _store_turn(database, session, agent, branch, turn)
            values = (key, row, turn["number"] in wrote)
            database.execute("insert or ignore into source_turn values(?, ?, ?)", values)


def _store_turn(database: Connection, session: str, agent: str, branch: str, turn: Turn) -> int:
    """Store a turn unless the index has it with as much text; return its row."""
    mark = crc32(turn["prompt"].encode("utf-8", "surrogatepass"))
    session, agent, branch = map(_make_utf8, (session, agent, branch))
    paths = [_make_utf8(path) for path in turn["files"]]
    spoken = (_make_utf8(text) for text in (turn["prompt"], turn["answer"], turn["calls"]))
    texts = (*spoken, "\n".join(paths))
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
        "insert into turn(session, number, mark, time, agent, branch) values(?, ?, ?, ?, ?, ?)", row
    )
    key = int(cursor.lastrowid or 0)
    if stored:
        database.execute("update source_turn set turn=? where turn=?", (key, stored[0]))
    database.execute(
        "insert into texts(rowid, prompt, answer, calls, files) values(?,?,?,?,?)", (key, *texts)
    )
    database.execute(
        "insert into outputs(rowid, words) values(?, ?)", (key, _make_utf8(turn["outputs"]))
    )
    database.executemany("insert into turn_file values(?, ?)", [(key, path) for path in paths])
    _store_words(database, "\n".join(texts))
    return key


def _make_utf8(text: str) -> str:
    """A text that SQLite takes: a path may have any bytes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _store_words(database: Connection, text: str) -> None:
    """Add the words of a text to the vocabulary, in which parts of words are looked up."""
    for word in set(query.split_tokens(text)):
        if len(word) >= _SHORTEST:
            cursor = database.execute("insert or ignore into word(text) values(?)", (word,))
            if cursor.rowcount == 1:
                row = (cursor.lastrowid, word)
                database.execute("insert into word_parts(rowid, text) values(?, ?)", row)


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
    for table, key in (("turn", "id"), ("texts", "rowid"), ("turn_file", "turn")):
        database.execute(f"delete from {table} where {key}=?", (turn,))


def _forget_sources(database: Connection, gone: Iterable[tuple[str, str]]) -> None:
    database.execute("begin immediate")
    for kind, name in gone:
        _forget_source(database, kind, name)
    database.execute("commit")
