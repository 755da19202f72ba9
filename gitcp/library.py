"""The read interface for programs, editors and agents: what gitcp knows about a repository.

Nothing here prints or changes directory.  Only snapshot() and abandoned() write objects, and
search() its index.  Paths are relative to the repository's top, with slashes.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from gitcp.errors import Error
from gitcp.extras.search import search
from gitcp.extras.search.rules import add_filters, parse_query
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines import blame, blame_options, conversations, line_origins
from gitcp.lines.committed import history
from gitcp.lines.committed.evidence import Evidence
from gitcp.record.turn import sessions
from gitcp.steps import abandoned
from gitcp.steps.back import named
from gitcp.steps.back.present import name_in_worktree, read_present
from gitcp.steps.whose import open_work
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

    from gitcp.agents.reading.conversation import CallContext, Entry
    from gitcp.lines.blame import BlamedLine
    from gitcp.terminal.hits import Hit
    from gitcp.text.record_types import Record


class Repository:
    """The repository around a directory, for a `with` or until close().

    lacks: messages about what could not be read.  A method that cannot answer raises
    gitcp.errors.Error.  Records have the keys of gitcp-record(5).
    """

    def __init__(self, path: str = ".") -> None:
        self.repo = Repo.find(os.path.abspath(path), eager=True)
        self._objects = Objects(self.repo).__enter__()
        self.lacks: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End git's process that reads objects."""
        self._objects.__exit__()

    @contextmanager
    def _open_objects(self) -> Iterator[Repo]:
        """The repository for one method.  Warnings go to lacks; the objects that it
        reads are forgotten."""
        with console.Collected() as lacks:
            try:
                yield self.repo
            finally:
                self.repo.objects.ahead.forget()
                self.lacks += [lack for lack in lacks if lack not in self.lacks]

    def sessions(self, stored: bool = True) -> list[Record]:
        """The sessions with a state and, if stored, those with a checkpoint in the permanent store;
        the last started first."""
        with self._open_objects() as repo:
            records = sessions.list_sessions(repo, stored)
            open_work.set_files(repo, records)
            return records

    def show(self, name: str) -> list[Record]:
        """The records behind a name or its beginning: the checkpoints of a commit, a checkpoint, a
        session or a point; transcripts are bytes."""
        with self._open_objects() as repo:
            return named.show_trees(repo, name)

    def checkpoint(self, name: str) -> Record:
        """The first checkpoint that show() gives."""
        for record in self.show(name):
            if record["type"] == "checkpoint":
                return record
        raise Error(f"'{name}' names a session or a point, not a checkpoint")

    def blame(self, path: str, revision: str = "") -> list[BlamedLine]:
        """A record `line` for each line of a file in the worktree, or in a revision."""
        request = blame_options.ask_file(path, revision)
        with self._open_objects() as repo:
            lines = history.start_groups(repo.git, request)()
            return list(blame.build_records(repo, request, lines, Evidence(repo)))

    def read_conversation(self, line: Any) -> tuple[CallContext | None, list[Entry]]:
        """The words around a session's line of blame(): its call with the words before and after,
        None if unknown, and (role, text) of its whole turn."""
        with self._open_objects() as repo:
            return conversations.read_conversation(repo, line)

    def why(self, path: str, first: int, last: int = 0, revision: str = "") -> list[Record]:
        """A record `origin` for each run of lines, first to last (0: first alone), that one edit
        or commit brought: its prompt, the tool call and the words before it."""
        place = line_origins.parse_place(f"{path}:{first},{last or first}")
        with self._open_objects() as repo:
            return line_origins.list_origins(repo, repo.git, Evidence(repo), place, revision)

    def search(
        self, words: str, paths: tuple[str, ...] = (), most: int = 10, **options: Any
    ) -> tuple[list[Hit], int]:
        """(the turns that a query finds (gitcp-search(1)), best first, at most `most`; the number
        of further ones).  options: of extras.search.search.find_hits()."""
        query = parse_query(words)
        add_filters(query, {"path": paths})
        with self._open_objects() as repo:
            return search.find_hits(repo, query, most=most, **options)

    def abandoned(self, *paths: str) -> list[Record]:
        """A record `abandoned` for each turn of which work was given up before a commit took it, at
        or below paths, the newest first."""
        with self._open_objects() as repo:
            top = repo.worktree if paths else ""
            scopes = [name_in_worktree(repo, os.path.join(top, path)) for path in paths]
            return [*map(abandoned.make_plain, abandoned.list_turns(repo, scopes))]

    def snapshot(self) -> Record:
        """Store the worktree as it stands: the oids of its tree and of head; left_out: path -> why
        it is not in the tree."""
        with self._open_objects() as repo:
            present = read_present(repo)
            repo.objects.flush()
        return {"tree": present.tree, "head": present.head, "left_out": present.left_out}
