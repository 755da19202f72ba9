"""The change that a page shows: its files before and after, and the authors of added lines."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain

from gitcp.errors import Error, GitError
from gitcp.extras.page import gather
from gitcp.extras.page.page_parts import list_added, trace_lines
from gitcp.git import decode_name, encode_name
from gitcp.git.objects.object_lists import read_names
from gitcp.lines import absent, blame_options, porcelain
from gitcp.lines.committed import history
from gitcp.lines.porcelain import BlameEntry
from gitcp.text.ids import is_binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.extras.page.gather import Credits
    from gitcp.extras.page.page_parts import Step
    from gitcp.git import Git
    from gitcp.git.objects.patches import Hunk, Patch
    from gitcp.git.repo import Repo
    from gitcp.lines.committed.evidence import Evidence
    from gitcp.text.record_types import Record

    Spans = Sequence[tuple[int, int]]  # (first, last) of runs of lines

_WINDOW = 64  # files that are blamed together
_BESIDE = 4  # processes of git blame at a time


@dataclass(slots=True)
class LineWriter:
    """The author of an added line.  name: as git shows it.  commit: that added it."""

    author: Author
    name: str
    commit: str


@dataclass(slots=True)
class PageFile:
    """A changed file.

    path: '' if it was deleted; old: its path before, '' if it is new.  edits: as `git diff -U0` has
    them.  before, after: the lines, None for a binary file.  sizes: bytes before and after.
    writers: line of after, from 1 -> its author, for added lines.
    """

    path: str
    old: str
    edits: Sequence[Hunk]
    before: list[str] | None
    after: list[str] | None
    sizes: tuple[int, int]
    writers: dict[int, LineWriter] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its path, of a deleted file the one that it had."""
        return self.path or self.old

    @property
    def added(self) -> int:
        """The number of added lines."""
        return sum([edit[3] for edit in self.edits])

    @property
    def removed(self) -> int:
        """The number of removed lines."""
        return sum([edit[1] for edit in self.edits])


def find_ends(repo: Repo, records: Sequence[Record], name: str) -> tuple[str, str]:
    """The commits (before, after) the change of commit records (newest first); before may be the
    empty tree.

    name: of the records; if it is a range, before is its start.
    """
    tip = str(records[0]["oid"])
    excluded: list[str] = records[-1]["parents"][:1]
    if gather.is_range(name):
        limits = repo.git.read_records("rev-parse", "--revs-only", *name.split(), sep=b"\n")
        excluded = [decode_name(limit)[1:] for limit in limits if limit.startswith(b"^")]
    if not excluded:
        return repo.empty_tree, tip
    try:
        return decode_name(repo.git.read_records("merge-base", tip, *excluded, sep=b"\n")[0]), tip
    except (GitError, IndexError):  # no common history
        return repo.empty_tree, tip


def read_files(
    repo: Repo,
    evidence: Evidence,
    ends: tuple[str, str],
    steps: Mapping[str, Sequence[Step]],
    credited: Credits,
    say: Callable[[str], None],
) -> Iterator[PageFile]:
    """The files that steps changed and that are otherwise in the later of ends.

    steps, credited: of gather.count_lines().
    """
    base, tip = ends
    changes = history.compare_trees(repo, base, tip)
    patches = [p for p in changes if p["path"] in steps or p["old"] in steps]
    oids = repo.objects.ahead.resolve([f"{base}:{p['old']}" for p in patches if p["old"]])
    with ExitStack() as stack:
        git = repo.git
        if absent.is_needed():
            env = stack.enter_context(absent.stand_in_history(repo, [tip]))
            git = repo.git.copy_with(None, env)
        lines = AddedLines(repo, git, evidence, tip, credited)
        for start in range(0, len(patches), _WINDOW):
            say(f"files: {start} of {len(patches)}")
            window = patches[start : start + _WINDOW]
            blobs = [patch["was"] for patch in window] + [patch["oid"] for patch in window]
            repo.objects.ahead.fetch_small(oid for oid in blobs if oid.strip("0"))
            authors_by_path = lines.find_writers(window, steps)
            for patch in window:
                old = repo.objects.read_blob(oids.get(f"{base}:{patch['old']}")) or b""
                if not patch["oid"]:
                    new = old
                else:
                    new = repo.objects.read_blob(patch["oid"]) or b""
                yield _build_file(patch, old, new, authors_by_path.get(patch["path"], {}))


def _build_file(patch: Patch, old: bytes, new: bytes, writers: dict[int, LineWriter]) -> PageFile:
    sizes = len(old), len(new)
    path = patch["path"]
    before = patch["old"]
    if is_binary(old) or is_binary(new):
        return PageFile(path, before, patch["hunks"], None, None, sizes, writers)
    end = "\n"
    if _has_dos_ends(old) and _has_dos_ends(new):
        end = "\r\n"
    lines = _split_lines(old, end), _split_lines(new, end)
    return PageFile(path, before, patch["hunks"], *lines, sizes, writers)


def _has_dos_ends(data: bytes) -> bool:
    """Whether each line ends as DOS has it."""
    return data.count(b"\n") == data.count(b"\r\n")


def _split_lines(data: bytes, end: str) -> list[str]:
    if data:
        return decode_name(data).removesuffix(end).split(end)
    return []


def list_writing(records: Sequence[Record], files: Sequence[PageFile]) -> dict[str, list[str]]:
    """The sessions that wrote lines of files -> their checkpoints, those of the newest commits of
    records first."""
    order: dict[str, int] = {}
    for record in records:
        for checkpoint in record["checkpoints"]:
            order.setdefault(checkpoint["checkpoint_id"], len(order))
    wanted: dict[str, set[str]] = {}
    for file in files:
        for writer in file.writers.values():
            if writer.author["who"] == "session":
                ids = wanted.setdefault(writer.author["session_id"], set())
                ids.add(writer.author["checkpoint_id"])
    last = len(order)
    return {
        session_id: sorted(ids, key=lambda name: (order.get(name, last), name))
        for session_id, ids in wanted.items()
    }


class AddedLines:
    """Finds the authors of lines that were added up to a commit."""

    def __init__(
        self,
        repo: Repo,
        git: Git,
        evidence: Evidence,
        tip: str,
        credited: Credits,
    ) -> None:
        """git: that blames."""
        self._repo = repo
        self._git = git
        self._evidence = evidence
        self._tip = tip
        self._credited = credited
        # Only git follows blame.ignoreRevsFile.
        self._may_trace = not repo.config.get("blame.ignorerevsfile")

    def find_writers(
        self, patches: Sequence[Patch], steps: Mapping[str, Sequence[Step]]
    ) -> dict[str, dict[int, LineWriter]]:
        """path -> line -> author of the lines that patches add.

        If the steps of a path lead from one end to the other, they tell the commit of a line; else
        git blame does.  A submodule, and a path that git cannot blame, is left out.
        """
        entries: dict[str, list[BlameEntry]] = {}
        untraced: dict[str, Spans] = {}
        for patch in patches:
            path = patch["path"]
            spans = list_added(patch["hunks"])
            if spans:
                traced = self._trace_lines(patch, spans, steps.get(path, ()))
                if traced:
                    entries[path] = traced
                elif self._repo.objects.read_blob(patch["oid"]) is not None:  # else a submodule
                    untraced[path] = spans
        self._add_authors([*chain.from_iterable(entries.values())])
        entries |= self._blame_lines(untraced)
        every = chain.from_iterable(entries.values())
        unknown = [entry for entry in every if not self._find_credited(entry)]
        self._evidence.prefetch(unknown, contents=True)
        writers: dict[str, dict[int, LineWriter]] = {}
        for path, rows in entries.items():
            writers[path] = {entry.final: self._find_writer(entry) for entry in rows}
        return writers

    def _trace_lines(self, patch: Patch, spans: Spans, steps: Sequence[Step]) -> list[BlameEntry]:
        """The entries of git blame for lines of a file, without headers; [] if the steps do not
        tell all of their commits."""
        if not self._may_trace:
            return []
        origins = trace_lines(steps, patch["was"], patch["oid"])
        if not origins:
            return []
        numbers: list[int] = []
        for first, last in spans:
            numbers += range(first, last + 1)
        data = self._repo.objects.read_blob(patch["oid"])
        if data is None or not origins.keys() >= set(numbers):
            return []
        lines = data.split(b"\n")
        return [
            BlameEntry(*origins[n], n, 1, patch["path"], headers=[], content=lines[n - 1])
            for n in numbers
        ]

    def _add_authors(self, entries: Sequence[BlameEntry]) -> None:
        """Add the authors of their commits to entries, as git blame does."""
        names = read_names(self._repo, dict.fromkeys(entry.oid for entry in entries))
        for entry in entries:
            entry.headers = [(b"author", encode_name(names[entry.oid]))]

    def _blame_lines(self, spans: Mapping[str, Spans]) -> dict[str, list[BlameEntry]]:
        """The entries of git blame for lines of files."""
        entries: dict[str, list[BlameEntry]] = {}
        paths = list(spans)
        for start in range(0, len(paths), _BESIDE):
            running = {}
            for path in paths[start : start + _BESIDE]:
                ranges = [f"-L{first},{last}" for first, last in spans[path]]
                request = blame_options.parse_arguments([*ranges, self._tip, "--", path])
                running[path] = history.start_blame(self._git, request)
            for path, wait in running.items():
                with suppress(Error):
                    entries[path] = porcelain.complete_entries(wait())
        return entries

    def _find_credited(self, entry: BlameEntry) -> Author | None:
        """The author of a line that a commit of the page added."""
        credit = None
        if self._may_trace:
            credit = self._credited.get((entry.oid, entry.path))
        return credit and credit[0].get(entry.orig, credit[1])

    def _find_writer(self, entry: BlameEntry) -> LineWriter:
        place = entry.oid, entry.path, entry.orig, entry.content
        author = self._find_credited(entry) or self._evidence.find_author(*place)
        name = decode_name(dict(entry.headers).get(b"author", b""))
        return LineWriter(author, name, entry.oid)
