"""The file that a search looks into: <common>/gitcp/search.sqlite, made from the store alone.

It is private (0600), never pushed, and made again when it is damaged or of another version.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

    from gitcp.repo import Repo

_VERSION = 1
_TABLES = """
create table source(id integer primary key, kind text, name text, version text,
  unique(kind, name));
create table turn(id integer primary key autoincrement, session text, number integer, mark integer,
  time integer, agent text, branch text, unique(session, number, mark));
create table source_turn(source integer, turn integer, primary key(source, turn)) without rowid;
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
create table state(key text primary key, value text);
"""

_NAMES = "source source_turn turn turn_file linked texts outputs messages word_parts word state"


def path(repo: Repo) -> str:
    """Where the file is."""
    return repo.shared("search.sqlite")


@contextmanager
def opened(repo: Repo) -> Iterator[Connection]:
    """The database in a `with`, made where there is none; one that is damaged is made again.

    Raises Error where it can be neither read nor made.
    """
    import sqlite3

    try:
        database = _connect(repo)
    except OSError as e:
        raise Error(f"cannot use '{path(repo)}': {e.strerror}") from None
    except sqlite3.DatabaseError:
        remove(repo)
        try:
            database = _connect(repo)
        except sqlite3.Error as e:
            raise Error(f"cannot use '{path(repo)}': {e}") from None
    try:
        yield database
    finally:
        database.close()


def remove(repo: Repo) -> None:
    """Remove the file and what SQLite keeps beside it: the next search makes it anew."""
    for end in ("", "-journal", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path(repo) + end)


def clear(database: Connection) -> None:
    """Take everything out, so that nothing of it is left in the file."""
    names = "".join(f"drop table {name};" for name in _NAMES.split())
    database.executescript(f"begin immediate;{names}{_TABLES}commit;vacuum;")


def _connect(repo: Repo) -> Connection:
    import sqlite3

    at = path(repo)
    os.makedirs(os.path.dirname(at), exist_ok=True)
    os.close(os.open(at, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    database = sqlite3.connect(at, timeout=30, isolation_level=None)
    try:
        database.execute("pragma synchronous=off")  # what is lost is made again
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
