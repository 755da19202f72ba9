"""The index of searches, <common>/gitcp/search.sqlite, made from the store alone.

It is private (0600), never pushed, and made again if it is damaged or of another version.
"""

from __future__ import annotations

import os
from contextlib import suppress

from gitcp.core import json
from gitcp.errors import Error
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from sqlite3 import Connection
    from typing import TypeVar

    from gitcp.repo import Repo

    T = TypeVar("T")

# SQLite's errors of the machine: permission, busy, locked, out of memory, read only, input and
# output, full, cannot open.
_MACHINE = (3, 5, 6, 7, 8, 10, 13, 14)
_VERSION = 7
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
    return repo.join_shared("search.sqlite")


def use_database(repo: Repo, work: Callable[[Connection], T]) -> T:
    """The result of work(database).  The database is created if there is none, and made again once
    if it is damaged.

    Raises Error if the file cannot be read or written.
    """
    try:
        return _open_and_work(repo, work)
    except stdlib.sqlite3.Error as e:
        if getattr(e, "sqlite_errorcode", 0) & 0xFF in _MACHINE:
            raise Error(f"cannot use '{locate_file(repo)}': {e}") from None
    remove_database(repo)
    try:
        return _open_and_work(repo, work)
    except stdlib.sqlite3.Error as e:
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
    return json.loads(row[0]) if row else {}


def keep_state(database: Connection, key: str, value: Mapping[str, str]) -> None:
    """Keep what the index was made from."""
    database.execute("insert or replace into state values(?, ?)", (key, json.dumps(dict(value))))


def _connect(repo: Repo) -> Connection:
    path = locate_file(repo)
    repo.make_folder(os.path.dirname(path))
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    database = stdlib.sqlite3.connect(path, timeout=30, isolation_level=None)
    try:
        database.execute("pragma synchronous=off")  # a lost index is made again
        (version,) = database.execute("pragma user_version").fetchone()
        if version == 0:
            database.executescript(
                f"begin immediate;{_TABLES}pragma user_version={_VERSION};commit"
            )
        elif version != _VERSION:
            raise stdlib.sqlite3.DatabaseError(f"version {version}")
        database.execute("select count(*) from source").fetchone()
    except BaseException:
        database.close()
        raise
    return database
