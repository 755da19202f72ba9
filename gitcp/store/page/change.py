"""The change that a page shows: its files before and after, and the authors of added lines."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain

from gitcp.core.blame import options, porcelain
from gitcp.core.lines import authors
from gitcp.core.page.hunks import list_added
from gitcp.core.page.origins import trace_lines
from gitcp.errors import Error, GitError
from gitcp.record import decode_name
from gitcp.store.lines import run
from gitcp.store.page import gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypedDict

    from gitcp.core.blame.porcelain import Entry
    from gitcp.core.git.patches import Hunk, Patch
    from gitcp.core.lines.authors import Author
    from gitcp.core.page.origins import Step
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched
    from gitcp.store.lines.evidence import Evidence

    Writer = tuple[Author, str]  # the author, and its name as git shows it

    class File(TypedDict):
        """path: '' if it was deleted; old: its path before, '' if it is new.  before, after: the
        lines, None for a binary file.  sizes: bytes before and after.  authors: line of after,
        from 1 -> its author, for added lines."""

        path: str
        old: str
        edits: Sequence[Hunk]
        before: list[str] | None
        after: list[str] | None
        sizes: tuple[int, int]
        authors: dict[int, Writer]


_WINDOW, _BESIDE = 64, 4  # files that are blamed together; processes of git blame at a time


def find_ends(repo: Repo, records: Sequence[Record], name: str) -> tuple[str, str]:
    """(before, after) of the change of commit records (newest first): commits, or the empty tree
    for before.

    name: the name of the records; if it is a range, before is its start.
    """
    tip = str(records[0]["oid"])
    left_out: list[str] = []
    if gather.is_range(name):
        limits = repo.git.read_records("rev-parse", "--revs-only", *name.split(), sep=b"\n")
        left_out = [decode_name(limit)[1:] for limit in limits if limit.startswith(b"^")]
    else:
        left_out = records[-1]["parents"][:1]
    if not left_out:
        return repo.empty_tree, tip
    try:
        return decode_name(repo.git.read_records("merge-base", tip, *left_out, sep=b"\n")[0]), tip
    except (GitError, IndexError):  # no common history
        return repo.empty_tree, tip


def read_files(
    repo: Repo,
    objects: Prefetched,
    evidence: Evidence,
    ends: tuple[str, str],
    steps: Mapping[str, Sequence[Step]],
    say: Callable[[str], None],
) -> Iterator[File]:
    """The files that steps changed and that are otherwise in the later of ends.

    steps: by path, newest first.
    """
    base, tip = ends
    patches = [
        p for p in run.compare_trees(repo, base, tip) if p["path"] in steps or p["old"] in steps
    ]
    oids = objects.resolve([f"{base}:{p['old']}" for p in patches if p["old"]])
    ask = Authors(repo, objects, evidence, ends)
    for at in range(0, len(patches), _WINDOW):
        say(f"files: {at} of {len(patches)}")
        window = patches[at : at + _WINDOW]
        objects.fetch_small(oid for p in window for oid in (p["was"], p["oid"]) if oid.strip("0"))
        authors_by_path = ask.find_writers(window, steps)
        for patch in window:
            old = _read_blob(objects, oids.get(f"{base}:{patch['old']}") or "")
            gone = not patch["oid"].strip("0")  # an id of zeroes
            new = old if not patch["oid"] else b"" if gone else _read_blob(objects, patch["oid"])
            yield _build_file(patch, old, new, authors_by_path.get(patch["path"], {}))


def _read_blob(objects: Prefetched, oid: str) -> bytes:
    obj = objects.read(oid) if oid else None
    return obj[2] if obj and obj[1] == "blob" else b""


def _build_file(patch: Patch, old: bytes, new: bytes, writers: dict[int, Writer]) -> File:
    binary = b"\0" in old[:8000] or b"\0" in new[:8000]
    dos = all(side.count(b"\n") == side.count(b"\r\n") for side in (old, new))
    end = "\r\n" if dos else "\n"
    return {
        "path": patch["path"],
        "old": patch["old"],
        "edits": patch["hunks"],
        "before": None if binary else _split_lines(old, end),
        "after": None if binary else _split_lines(new, end),
        "sizes": (len(old), len(new)),
        "authors": writers,
    }


def _split_lines(data: bytes, end: str) -> list[str]:
    return decode_name(data).removesuffix(end).split(end) if data else []


class Authors:
    """Asked for the authors of the lines that came between two commits."""

    def __init__(
        self, repo: Repo, objects: Prefetched, evidence: Evidence, ends: tuple[str, str]
    ) -> None:
        self._repo, self._objects, self._evidence, self._ends = repo, objects, evidence, ends
        self._blames = bool(repo.config.get("blame.ignorerevsfile"))  # which git alone obeys

    def find_writers(
        self, patches: Sequence[Patch], steps: Mapping[str, Sequence[Step]]
    ) -> dict[str, dict[int, Writer]]:
        """path -> line -> author of the lines that patches put in.

        Where the steps of a path lead from its one end to the other they tell the commit of a
        line, else git blames.  A submodule, and a path that git cannot blame, has none.
        """
        entries: dict[str, list[Entry]] = {}
        left: dict[str, list[tuple[int, int]]] = {}
        for patch in patches:
            path = patch["path"]
            if spans := list_added(patch["hunks"]):
                entries[path] = self._trace_entries(patch, spans, steps.get(path, ()))
                left |= {} if entries[path] else {path: spans}
        self._name_makers(list(chain(*entries.values())))
        entries |= self._blame_files(left)
        self._evidence.prefetch(list(chain(*entries.values())), contents=True)
        return {
            path: {entry["final"]: _find_writer(self._evidence, entry) for entry in rows}
            for path, rows in entries.items()
        }

    def _trace_entries(
        self, patch: Patch, spans: Sequence[tuple[int, int]], steps: Sequence[Step]
    ) -> list[Entry]:
        """What git blame would tell of these lines; [] where the steps do not tell."""
        origins = None if self._blames else trace_lines(steps, patch["was"], patch["oid"])
        there = self._objects.read(patch["oid"]) if origins else None
        wanted = [n for first, last in spans for n in range(first, last + 1)]
        if not origins or not there or there[1] != "blob" or not origins.keys() >= set(wanted):
            return []
        lines = there[2].split(b"\n")
        return [_build_entry(n, lines[n - 1], patch["path"], *origins[n]) for n in wanted]

    def _name_makers(self, entries: Sequence[Entry]) -> None:
        """Give entries the author of their commit, as git blame does: by the mailmap."""
        commits = dict.fromkeys(entry["oid"] for entry in entries)
        if not commits:
            return
        args = "log", "--no-walk=unsorted", "--no-show-signature", "--format=%H %aN", "--stdin"
        _, out = self._repo.git.run(*args, stdin="".join(f"{one}\n" for one in commits).encode())
        names = dict(line.split(b" ", 1) for line in out.splitlines())
        for entry in entries:
            entry["headers"] = [(b"author", names[entry["oid"].encode()])]

    def _blame_files(
        self, spans: Mapping[str, Sequence[tuple[int, int]]]
    ) -> dict[str, list[Entry]]:
        base, tip = self._ends
        since = [] if base == self._repo.empty_tree else [f"^{base}"]
        entries: dict[str, list[Entry]] = {}
        paths = list(spans)
        for at in range(0, len(paths), _BESIDE):
            waiting = {}
            for path in paths[at : at + _BESIDE]:
                wanted = [f"-L{first},{last}" for first, last in spans[path]]
                asked = options.parse([*wanted, tip, *since, "--", path])
                waiting[path] = run.start_blame(self._repo.git, asked)
            for path, wait in waiting.items():
                with suppress(Error):
                    entries[path] = porcelain.complete(wait()[0])
        return entries


def _build_entry(line: int, content: bytes, path: str, commit: str, there: int) -> Entry:
    """A line as git blame tells of it, without its headers."""
    return {
        "oid": commit,
        "orig": there,
        "final": line,
        "count": 1,
        "path": path,
        "headers": [],
        "content": content,
    }


def _find_writer(evidence: Evidence, entry: Entry) -> Writer:
    author = evidence.find_author(entry["oid"], entry["path"], entry["orig"], entry["content"])
    if author["who"] == "session":
        return author, authors.format_label(author)
    return author, decode_name(dict(entry["headers"]).get(b"author", b""))
