"""A repository to ask: what gitcp knows of it, for programs, editors and agents.

Nothing here prints, changes directory or writes into the repository, but for objects that a
snapshot stores and the index of search().  Paths are the repository's: from its top, with slashes.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from gitcp.console import notice
from gitcp.core.blame import options
from gitcp.core.search.query import add_filters, parse_query
from gitcp.errors import Error
from gitcp.repo import Repo
from gitcp.store.back import trees
from gitcp.store.back.present import Present
from gitcp.store.blame import origin, view
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.lines import run
from gitcp.store.lines.evidence import Evidence
from gitcp.store.search import ask
from gitcp.store.turn import session_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

    from gitcp.agents.reading.around_call import Around
    from gitcp.agents.reading.conversation import Entry
    from gitcp.core.record_types import Record


class Repository:
    """The repository around a directory; in a `with`, or until close().

    lacks: what could not be read, in words.  Each method raises gitcp.errors.Error where it
    cannot answer.  Records have the keys of gitcp-record(5).
    """

    def __init__(self, path: str = ".") -> None:
        self.repo = Repo.find(os.path.abspath(path), eager=True)
        self.objects = Prefetched(self.repo)
        self.lacks: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process of git that reads objects."""
        self.objects.close()

    @contextmanager
    def _open_objects(self) -> Iterator[tuple[Repo, Prefetched]]:
        """What a question needs; its warnings go to lacks, and nothing it read is held."""
        with notice.Collected() as lacks:
            try:
                yield self.repo, self.objects
            finally:
                self.objects.forget()
                self.lacks += [lack for lack in lacks if lack not in self.lacks]

    def sessions(self, stored: bool = True) -> list[Record]:
        """Each session that has a state, or with stored a checkpoint in the permanent store; the
        one that started last first."""
        with self._open_objects() as (repo, objects):
            return session_list.list_sessions(repo, objects, stored)

    def show(self, name: str) -> list[Record]:
        """What a name stands for: the checkpoints of a commit, a checkpoint, a session or a point,
        each by its name or the beginning of it; transcripts are bytes."""
        with self._open_objects() as (repo, objects):
            return trees.show(repo, objects, name)

    def checkpoint(self, name: str) -> Record:
        """The first checkpoint that show() gives."""
        for record in self.show(name):
            if record["type"] == "checkpoint":
                return record
        raise Error(f"'{name}' is a session or a point, and no checkpoint")

    def blame(self, path: str, revision: str = "") -> list[Record]:
        """A record `line` for each line of a file in the worktree, or in a revision."""
        given = options.parse([*([revision] if revision else []), "--", path])
        with self._open_objects() as (repo, objects):
            evidence = Evidence(repo, objects)
            if not revision and not repo.git.read_records("ls-files", "-z", "--", path):
                return view.build_untracked_records(repo, path, evidence)
            return list(view.build_records(repo, given, run.run_blame(repo.git, given), evidence))

    def read_words(self, line: Any) -> tuple[Around | None, list[Entry]]:
        """What was said where a session wrote a line that blame() gave: the call with the words
        before and after it, None where it is not known, and (role, text) of all of its turn."""
        with self._open_objects() as (repo, objects):
            return origin.read_words(repo, objects, line)

    def why(self, path: str, first: int, last: int = 0, revision: str = "") -> list[Record]:
        """A record `origin` for each run of lines, first to last (0: first alone), that one edit
        or commit brought: its prompt, the tool call and the words before it."""
        place = f"{path}:{first},{last or first}"
        with self._open_objects() as (repo, objects):
            evidence = Evidence(repo, objects)
            return list(origin.list_origins(repo, repo.git, objects, evidence, place, revision))

    def search(
        self, words: str, paths: tuple[str, ...] = (), most: int = 10, **options: Any
    ) -> tuple[list[Record], int]:
        """The turns that a query finds (gitcp-search(1)), the best first, at most so many; and how
        many more there are.  options: as store.search.ask.find_hits() has them."""
        query = parse_query(words)
        add_filters(query, {"path": paths})
        with self._open_objects() as (repo, _):
            return ask.find_hits(repo, query, most=most, **options)

    def snapshot(self) -> Record:
        """The worktree as it stands, stored: tree and head, their oids; left_out: path -> why it
        is not in the tree."""
        with self._open_objects() as (repo, objects):
            now = Present(repo, objects)
        return {"tree": now.tree, "head": now.head, "left_out": now.left_out}
