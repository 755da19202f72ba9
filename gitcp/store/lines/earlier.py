"""Lines that a commit adds but did not write: it formatted, moved or restored them.

git finds where a line was before its white space changed or it moved within its file.  A commit
that reverts another one, or gives a path a content that it had before, wrote nothing.  A linked
commit did not write a line that an earlier content had, unless its checkpoints name an author.
"""

from __future__ import annotations

import re

from gitcp.console import notice
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

    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched

    Place = tuple[str, str]  # commit, path
    Spot = tuple[str, str, int]  # commit, path, line from 1: where the commit put it in
    Classify = Callable[[str, str, bytes], tuple[str, bool]]
    Step = tuple[str, str, str, bool]  # path, blob before, blob after, whether by a merge

_REVERTS = re.compile(rb"^This reverts commit ([0-9a-f]{40,64})\b", re.M)
# git follows a moved line only if it has enough letters and digits.
_FOLLOW = ("-w", f"-M{line_evidence.SIGNIFICANT}", "--ignore-revs-file=", "--no-textconv")
_RAW = "log --raw -z --no-abbrev --no-renames --no-show-signature --no-notes".split()
_WHOLE = "-c", "--topo-order", "--format=%x02%H%x00%an <%ae> %at%x00%B%x00"
_RANGES = 200  # of lines in the arguments of one git
_ALL = ("", "")
_VERSIONS = 20  # of a path that are read before a commit


class Writers:
    """Who changed which path in a history.  complete: whether all of it was read."""

    def __init__(self) -> None:
        self.complete = False
        self._places: dict[str, tuple[int, str]] = {}  # commit -> its number, its author
        self._recorded: set[str] = set()  # the authors that are recorded
        # Path -> author -> the number of his oldest commit that changes it.
        self._oldest: dict[str, dict[str, int]] = {}
        # New path -> paths that went in the same commit, where git may find its lines.
        self._sources: dict[str, set[str]] = {}

    def take(self, commit: str, author: str, is_told: bool, changes: Sequence[Step]) -> None:
        """Add the next older commit.  author: a name for him; is_told: whether he is recorded."""
        number = len(self._places)
        if is_told:
            self._recorded.add(author)
        self._places[commit] = number, author
        gone = [path for path, _, new, _ in changes if not new.strip("0")]
        for path, old, _, _ in changes:
            self._oldest.setdefault(path, {})[author] = number
            if gone and not old.strip("0"):
                self._sources.setdefault(path, set()).update(gone)

    def may_matter(self, commit: str, path: str) -> bool:
        """Whether a line that a commit adds at a path may be that of a session or a recorded person
        before it."""
        if not self.complete or commit not in self._places:
            return True
        number, author = self._places[commit]
        is_told = author in self._recorded
        paths, visited = [path], {path}
        while paths:
            path = paths.pop()
            for other, oldest in self._oldest.get(path, {}).items():
                if other != author and oldest > number and (is_told or other in self._recorded):
                    return True
            new = self._sources.get(path, set()) - visited
            visited |= new
            paths += new
        return False


class Earlier:
    """Finds where lines were before; each history is read once until forget()."""

    def __init__(self, repo: Repo, objects: Prefetched, like: Earlier | None = None) -> None:
        """like: another Earlier, with which this one shares the histories."""
        self._repo, self._objects = repo, objects
        # The blobs that more than one commit gave a path; the commits need not be ancestors.
        self._repeated: dict[Place, str] = like._repeated if like else {}
        # The places whose histories are read; _ALL: every history.
        self._read: set[Place] = like._read if like else set()
        self._writers: Writers = like._writers if like else Writers()

    def walk_all(self, tips: Callable[[], Sequence[str]], classify: Classify) -> None:
        """Find the commits of whole histories that give a path a content that it had before, and
        who changed each path.

        classify: (commit, author, message) -> a name that is the same for commits whose lines have
        the same author, and whether he is recorded.
        """
        if _ALL in self._read:
            return
        self._read.add(_ALL)
        newest: dict[tuple[str, str], Place] = {}
        try:
            for commit, author, message, changes in self._read_commits(tips()):
                self._writers.take(commit, *classify(commit, author, message), changes)
                for path, _, oid, merged in changes:
                    newer = newest.setdefault((path, oid), (commit, path))
                    if newer[0] != commit and not merged:
                        self._repeated[newer] = self._repeated[commit, path] = oid
            self._writers.complete = True
        except GitError:
            pass  # a part of the history is not here

    def _read_commits(self, tips: Sequence[str]) -> Iterator[tuple[str, str, bytes, list[Step]]]:
        """Yield (commit, author, message, its changes) for each commit, newest first."""
        args: list[str | bytes] = ["--end-of-options", *map(encode_name, tips), b"--"]
        tokens = self._repo.git.stream_records(*_RAW, *_WHOLE, *args)
        row: tuple[str, str, bytes, list[Step]] | None = None
        for token in tokens:
            if token.startswith(b"\x02"):
                if row:
                    yield row
                commit, author = decode_name(token[1:]), decode_name(next(tokens))
                row = commit, author, next(tokens), []
            elif row and (fields := token.lstrip(b"\n")).startswith(b":"):
                old, new = (decode_name(oid) for oid in fields.split(b" ")[-3:-1])
                row[3].append((decode_name(next(tokens)), old, new, fields.startswith(b"::")))
        if row:
            yield row

    def walk(self, places: Iterable[Place]) -> None:
        """Find the commits in the histories of places that give their paths a content that they
        had before."""
        unread = [] if _ALL in self._read else [p for p in places if p not in self._read]
        self._read.update(unread)
        if unread:
            commits, paths = (dict.fromkeys(part) for part in zip(*unread, strict=True))
            self._walk([*commits], [*paths])

    def _walk(self, tips: Sequence[str], paths: Sequence[str]) -> None:
        newest: dict[tuple[str, str], Place] = {}
        try:
            for commit, path, oid in self._read_log(tips, paths):
                place = commit, path
                if paths:
                    self._read.add(place)
                newer = newest.setdefault((path, oid), place)
                if newer != place:
                    self._repeated[newer] = self._repeated[place] = oid
        except GitError:
            pass  # a part of the history is not here

    def _read_log(
        self, tips: Sequence[str], paths: Sequence[str], *options: str
    ) -> Iterator[tuple[str, str, str]]:
        """Yield (commit, path, blob) for each change of paths, newest first."""
        commit = oid = ""
        args = [*map(encode_name, tips), b"--", *map(encode_name, paths)]
        ask: tuple[str | bytes, ...] = (*_RAW, "--format=%H", *options, "--end-of-options", *args)
        for token in self._repo.git.stream_records(*ask):
            if oid:
                yield commit, decode_name(token), oid
                oid = ""
            elif token.lstrip(b"\n").startswith(b":"):
                oid = decode_name(token.split(b" ")[3])
            else:
                commit = decode_name(token)

    def may_matter(self, place: Place) -> bool:
        """Whether it may matter where a line was that a commit adds at a path."""
        return self._writers.may_matter(*place)

    def find_spots(
        self,
        place: Place,
        lines: Sequence[int],
        previous: str,
        alike: bool,
        linked: bool,
        message: bytes,
    ) -> dict[int, Spot]:
        """line -> the earlier place of lines that a commit adds at a path.

        previous: the path in its parent, "" for none.  alike: whether a removed line may read the
        same.  linked: whether the commit names a checkpoint.  message: of the commit.
        """
        sources, alike = [*self._list_sources(place, message)], alike and bool(previous)
        if not (alike or sources or linked):
            return {}
        content = self._read_lines(*place)
        lines = [line for line in lines if line <= len(content)]
        spots: dict[int, Spot] = {}
        if alike and self._has_line(f"{place[0]}^", previous, [content[n - 1] for n in lines]):
            spots = self._find_blamed(*place, {line: line for line in lines})
        for source in sources:
            if untraced := [line for line in lines if line not in spots]:
                spots |= self._find_restored(place, untraced, content, source)
        if linked:
            spots |= self._find_returned(place, {n for n in lines if n not in spots}, content)
        return {line: spot for line, spot in spots.items() if spot[0] != place[0]}

    def forget(self) -> None:
        """Forget the histories that were read, unless all were."""
        if _ALL not in self._read:
            self._repeated.clear()
            self._read.clear()

    def _has_line(self, commit: str, path: str, lines: Iterable[bytes]) -> bool:
        """Whether one of these lines is in a file, white space aside."""
        significant = {remove_space(line) for line in line_evidence.select_significant({*lines})}
        return bool(significant) and not significant.isdisjoint(
            map(remove_space, self._read_lines(commit, path))
        )

    def _list_sources(self, place: Place, message: bytes) -> Iterator[str]:
        """The commits whose lines a commit may restore at a path."""
        for oid in _REVERTS.findall(message):
            yield f"{decode_name(oid)}^"
        oid = self._repeated.get(place, "")
        if oid.strip("0"):
            versions = self._list_versions(place, f"--find-object={oid}")
            yield from [commit for commit, blob in versions if blob == oid][:1]

    def _find_returned(
        self, place: Place, lines: set[int], content: Sequence[bytes]
    ) -> dict[int, Spot]:
        """line -> the earlier place of lines that an earlier content of the path had."""
        telling = line_evidence.select_significant({content[n - 1] for n in lines})
        significant = {n for n in lines if content[n - 1].strip() in telling}
        spots: dict[int, Spot] = {}
        versions = self._list_versions(place, f"--max-count={_VERSIONS}") if significant else ()
        for source, _ in versions:
            if not telling.isdisjoint(line.strip() for line in self._read_lines(source, place[1])):
                untraced = sorted(significant - spots.keys())
                spots |= self._find_restored(place, untraced, content, source)
            if significant <= spots.keys():
                break
        return spots

    def _list_versions(self, place: Place, *options: str) -> list[tuple[str, str]]:
        """(commit, blob) for each change of a path before a commit, newest first."""
        try:
            history = self._read_log([f"{place[0]}^"], [place[1]], *options)
            return [(commit, oid) for commit, _, oid in history]
        except GitError:
            return []  # it has no parent, or a part of the history is not here

    def _find_restored(
        self, place: Place, lines: Sequence[int], content: Sequence[bytes], source: str
    ) -> dict[int, Spot]:
        """line -> the earlier place of lines that the path has in the commit source."""
        pairs = replay.pair_lines(self._read_lines(source, place[1]), content)
        in_source = {j + 1: i + 1 for i, j in pairs if j + 1 in set(lines)}
        return self._find_blamed(source, place[1], in_source) if in_source else {}

    def _find_blamed(self, commit: str, path: str, lines: Mapping[int, int]) -> dict[int, Spot]:
        """key -> where git says that a line was added, white space and moves aside; lines: key ->
        line in commit."""
        ranges = [f"-L{start},{end}" for start, end in line_diff.group_runs(lines.values())]
        args = [*_FOLLOW, *(ranges if len(ranges) <= _RANGES else ()), commit, "--", path]
        try:
            entries, _ = run.run_blame(self._repo.git, options.parse(args))
        except Error as e:
            if self._repo.config.get("blame.ignorerevsfile"):
                notice.warn_lacking(f"moved and formatted lines count as new: {e}")
            return {}
        spots = {e["final"]: (e["oid"], e["path"], e["orig"]) for e in entries}
        return {key: spots[line] for key, line in lines.items() if line in spots}

    def _read_lines(self, commit: str, path: str) -> Sequence[bytes]:
        blob = self._objects.read(f"{commit}:{path}")
        return line_diff.split_lines(blob[2]) if blob and blob[1] == "blob" else ()
