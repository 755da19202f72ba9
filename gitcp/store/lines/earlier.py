"""Lines that a commit puts in and did not write: it formatted, moved or restored them.

git tells where a line was before white space in it changed, or it moved within its file.  A
commit that reverts another one, or that gives a path a content it had before, wrote nothing; nor
did one that is linked write those lines of an earlier content of which its checkpoints name nobody.
"""

from __future__ import annotations

import re

from gitcp.core.blame import options
from gitcp.core.decide import line_evidence
from gitcp.core.decide.line_evidence import remove_space
from gitcp.core.lines import line_diff, replay
from gitcp.errors import Error, GitError
from gitcp.record import decode_name, encode_name
from gitcp.store.lines import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gitcp.core.blame.porcelain import Entry
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched

    Place = tuple[str, str]  # commit, path
    Spot = tuple[str, str, int]  # commit, path, line from 1: where the commit put it in

_REVERTS = re.compile(rb"^This reverts commit ([0-9a-f]{40,64})\b", re.M)
# A line moved within its file where it has as many letters and digits as say something.
_FOLLOW = ("-w", f"-M{line_evidence.SIGNIFICANT}", "--ignore-revs-file=", "--no-textconv")
_RAW = "log --raw -z --no-abbrev --no-renames --no-show-signature --no-notes --format=%H".split()
_RANGES = 200  # of lines that one question to git names
_ALL = ("", "")
_VERSIONS = 20  # of a path that are read before a commit


class Earlier:
    """Where lines were before; each history is read once until forget()."""

    def __init__(self, repo: Repo, objects: Prefetched, like: Earlier | None = None) -> None:
        """like: another one, with which this one shares the histories."""
        self._repo, self._objects = repo, objects
        # The blobs that more than one commit gave a path, be they ancestors or not.
        self._again: dict[Place, str] = like._again if like else {}
        # Of what histories are read: a commit and a path that it changed; "": all of them.
        self._read: set[Place] = like._read if like else set()

    def walk_all(self, tips: Callable[[], Sequence[str]]) -> None:
        """Read which commits of whole histories give a path a content it had."""
        if _ALL not in self._read:
            self._read.add(_ALL)
            self._walk(tips(), [])

    def walk(self, places: Iterable[Place]) -> None:
        """Read which commits in the histories of these places give their paths a content they
        had."""
        wanted = [] if _ALL in self._read else [p for p in places if p not in self._read]
        self._read.update(wanted)
        if wanted:
            commits, paths = (dict.fromkeys(part) for part in zip(*wanted, strict=True))
            self._walk([*commits], [*paths])

    def _walk(self, tips: Sequence[str], paths: Sequence[str]) -> None:
        first: dict[tuple[str, str], Place] = {}
        try:
            for commit, path, oid in self._read_log(tips, paths):
                place = commit, path
                if paths:
                    self._read.add(place)
                other = first.setdefault((path, oid), place)
                if other != place:
                    self._again[other] = self._again[place] = oid
        except GitError:
            pass  # a part of the history is not here

    def _read_log(
        self, tips: Sequence[str], paths: Sequence[str], *options: str
    ) -> Iterator[tuple[str, str, str]]:
        """(commit, path, blob) of all that commits made of paths, newest first."""
        commit = oid = ""
        args = [*map(encode_name, tips), b"--", *map(encode_name, paths)]
        for token in self._repo.git.stream_records(*_RAW, *options, "--end-of-options", *args):
            if oid:
                yield commit, decode_name(token), oid
                oid = ""
            elif token.lstrip(b"\n").startswith(b":"):
                oid = decode_name(token.split(b" ")[3])
            else:
                commit = decode_name(token)

    def find_spots(
        self,
        place: Place,
        lines: Sequence[int],
        before: str,
        alike: bool,
        linked: bool,
        message: bytes,
    ) -> dict[int, Spot]:
        """line -> where it was put in before, of lines that a commit puts in at a path.

        before: the path in its parent, "" for none.  alike: a line that went may read the same.
        linked: the commit names a checkpoint.  message: of the commit.
        """
        sources, alike = [*self._list_sources(place, message)], alike and bool(before)
        if not (alike or sources or linked):
            return {}
        now = self._read_lines(*place)
        lines = [line for line in lines if line <= len(now)]
        known: dict[int, Spot] = {}
        if alike and self._has(f"{place[0]}^", before, [now[n - 1] for n in lines]):
            known = self._find_blamed(*place, {line: line for line in lines})
        for source in sources:
            if rest := [line for line in lines if line not in known]:
                known |= self._find_restored(place, rest, now, source)
        if linked:
            known |= self._find_returned(place, {n for n in lines if n not in known}, now)
        return {line: spot for line, spot in known.items() if spot[0] != place[0]}

    def forget(self) -> None:
        """Let go of what paths had."""
        if _ALL not in self._read:
            self._again.clear()
            self._read.clear()

    def _has(self, commit: str, path: str, lines: Iterable[bytes]) -> bool:
        """Whether one of these lines may stand in a file, white space aside."""
        wanted = {remove_space(line) for line in line_evidence.select_significant({*lines})}
        return bool(wanted) and not wanted.isdisjoint(
            map(remove_space, self._read_lines(commit, path))
        )

    def _list_sources(self, place: Place, message: bytes) -> Iterator[str]:
        """The commits that may have lines that one restores at a path."""
        for oid in _REVERTS.findall(message):
            yield f"{decode_name(oid)}^"
        oid = self._again.get(place, "")
        if oid.strip("0"):
            before = self._list_versions(place, f"--find-object={oid}")
            yield from [commit for commit, was in before if was == oid][:1]

    def _find_returned(
        self, place: Place, lines: set[int], now: Sequence[bytes]
    ) -> dict[int, Spot]:
        """line -> where it was put in, of lines that an earlier content of the path had."""
        telling = line_evidence.select_significant({now[n - 1] for n in lines})
        wanted = {n for n in lines if now[n - 1].strip() in telling}
        known: dict[int, Spot] = {}
        versions = self._list_versions(place, f"--max-count={_VERSIONS}") if wanted else ()
        for source, _ in versions:
            if not telling.isdisjoint(line.strip() for line in self._read_lines(source, place[1])):
                known |= self._find_restored(place, sorted(wanted - known.keys()), now, source)
            if wanted <= known.keys():
                break
        return known

    def _list_versions(self, place: Place, *options: str) -> list[tuple[str, str]]:
        """(commit, blob) of what made a path before a commit, newest first."""
        try:
            history = self._read_log([f"{place[0]}^"], [place[1]], *options)
            return [(commit, oid) for commit, _, oid in history]
        except GitError:
            return []  # it has no parent, or a part of the history is not here

    def _find_restored(
        self, place: Place, lines: Sequence[int], now: Sequence[bytes], source: str
    ) -> dict[int, Spot]:
        then = self._read_lines(source, place[1])
        wanted = set(lines)
        there = {j + 1: i + 1 for i, j in replay.pair_lines(then, now) if j + 1 in wanted}
        return self._find_blamed(source, place[1], there) if there else {}

    def _find_blamed(self, commit: str, path: str, lines: Mapping[int, int]) -> dict[int, Spot]:
        """name -> where a line was put in, white space and moves aside; lines: name -> line."""
        ranges = [f"-L{first},{last}" for first, last in line_diff.group_runs(lines.values())]
        words = [*_FOLLOW, *(ranges if len(ranges) <= _RANGES else ()), commit, "--", path]
        try:
            entries, _ = run.run_blame(self._repo.git, options.parse(words))
        except Error:
            return {}
        spots = {entry["final"]: _get_spot(entry) for entry in entries}
        return {name: spots[line] for name, line in lines.items() if line in spots}

    def _read_lines(self, commit: str, path: str) -> Sequence[bytes]:
        blob = self._objects.read(f"{commit}:{path}")
        return line_diff.split_lines(blob[2]) if blob and blob[1] == "blob" else ()


def _get_spot(entry: Entry) -> Spot:
    return entry["oid"], entry["path"], entry["orig"]
