"""The linked commits in the index: new ones, those on a branch or tag, and their authors."""

from __future__ import annotations

import os
from zlib import crc32

from gitcp.core.message import links
from gitcp.errors import GitError
from gitcp.process.files import peek
from gitcp.record import decode_name, encode_lines, encode_name
from gitcp.store.git import notes
from gitcp.store.git.commit import list_commits, parse_ident, read_commit, read_names
from gitcp.store.git.objects import Objects
from gitcp.store.search import database as storage
from gitcp.store.v1 import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from gitcp.repo import Repo

    Commit = tuple[str, str, int, str, str, str]  # oid, author, time, subject, checkpoint, message


def read_basis(repo: Repo) -> dict[str, str]:
    """name -> checksum of the files that change commits without moving a ref: other names for
    authors (gitmailmap(5)), and the edge of a shallow clone."""
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
    heads = list_commits(repo, "--no-walk=unsorted", *find_commits.ALL)
    with Objects(repo) as objects:
        mailmap = repo.config.get("mailmap.blob") or ("" if repo.top else "HEAD:.mailmap")
        specs = notes.REF, mailmap
        basis = {**basis, **{spec: (objects.read(spec) or ("",))[0] for spec in specs}}
        is_same = storage.read_state(database, "basis") == basis
        since = list(storage.read_state(database, "heads")) if is_same else []
        came, went, since = _list_moves(repo, since)
        database.execute("begin immediate")
        _store_commits(database, _list_linked(repo, objects, since, came), came, went, bool(since))
        storage.keep_state(database, "basis", basis)
        storage.keep_state(database, "heads", dict.fromkeys(heads, ""))
        database.execute("commit")


def _list_moves(repo: Repo, since: list[str]) -> tuple[set[str], set[str], list[str]]:
    """(commits that came to branches and tags since these heads, those that went, the heads).

    No heads are returned if git lacks one; then everything came."""
    try:
        came = list_commits(repo, *find_commits.ALL, "--stdin", stdin=_exclude(since))
        went = since and list_commits(
            repo, "--stdin", "--not", *find_commits.ALL, stdin=encode_lines(since)
        )
    except GitError:
        if not since:
            raise
        return _list_moves(repo, [])
    return set(came), set(went), since


def _exclude(commits: Iterable[str]) -> bytes:
    return encode_lines(f"^{oid}" for oid in commits)


def _store_commits(
    database: Connection,
    carried: Iterable[Commit],
    came: Container[str],
    went: Container[str],
    others_stay: bool,
) -> None:
    """Store the links that commits carry, and which commits are on a branch or tag: those that
    came; others_stay: and those that were and did not go."""
    rows = database.execute("select oid, checkpoint, id, author, live from linked")
    known = {(oid, checkpoint): facts for oid, checkpoint, *facts in rows}
    linked: set[tuple[str, str]] = set()
    for *row, message in carried:
        oid, author, checkpoint = str(row[0]), row[1], str(row[-1])
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
        is_live = oid in came or bool(others_stay and was_live and oid not in went)
        if oid in came and (oid, checkpoint) not in linked:
            database.execute("delete from linked where id=?", (key,))
            database.execute("delete from messages where rowid=?", (key,))
        elif is_live != was_live:
            database.execute("update linked set live=? where id=?", (is_live, key))


def _list_linked(
    repo: Repo, objects: Objects, since: Sequence[str], came: Container[str]
) -> Iterator[Commit]:
    """Each link of a commit of branches and tags by its message, unless a note removes it, and each
    link by a note; of commits that came since these heads, if there are any."""
    reader = notes.Reader(objects)
    args = ("log", "-z", "--no-show-signature", "--no-notes", "--format=%H%n%aN%n%ct%n%s%n%B")
    sought = (*find_commits.CARRYING, "--stdin")
    for item in repo.git.stream_records(*args, *sought, stdin=_exclude(since)):
        oid, author, seconds, subject, message = decode_name(item).split("\n", 4)
        for checkpoint in links.list_links(encode_name(message), reader.read_note(oid) or b""):
            yield oid, author, int(seconds or 0), subject, checkpoint, message
    noted = [
        (read_commit(objects, oid), names)
        for oid, names in notes.list_links(objects)
        if not since or oid in came
    ]
    authors = read_names(repo, {commit["oid"] for commit, _ in noted if commit})
    for commit, names in noted:
        if commit:
            oid, message = commit["oid"], commit["message"]
            subject, time = message.partition("\n")[0], parse_ident(commit["author"])[1]
            yield from ((oid, authors[oid], time, subject, name, message) for name in names)
