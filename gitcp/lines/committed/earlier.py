"""Lines that a commit adds but did not write: it formatted, moved, copied or restored them.

The rules are in doc/credit.md "Where a line was".  What a commit changed in a path is read from
`git log --raw`, the contents from the object store.  A line is followed from content to content to
the commit that put it in.
"""

from __future__ import annotations

import bisect
import re
from itertools import islice

from gitcp.errors import GitError
from gitcp.git import decode_name, encode_name
from gitcp.git.objects import compare_trees, find_tree
from gitcp.lines.committed import line_moves
from gitcp.text import ids, line_evidence, pairing, value_class
from gitcp.text.carry import moves, origins
from gitcp.text.carry import text as carry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set

    from gitcp.git.objects.patches import Hunk
    from gitcp.git.repo import Repo
    from gitcp.lines.absent import CommitPath
    from gitcp.lines.committed.line_moves import Run, Text
    from gitcp.text.record_types import Entry

    Classify = Callable[[str, "About | None"], str]
    Spot = tuple[str, str, int]  # commit, path, line from 1: where the commit put it in

_REVERTS = rb"(?m)^This reverts commit ([0-9a-f]{40,64})\b"
_RAW = "log --raw --root -z -c --no-abbrev --no-renames --no-show-signature --no-notes".split()
_FORM = "--topo-order", "--format=%x02%H %P%x00%an <%ae> %at%x00%cn <%ce> %ct%x00%B%x00"
_VERSIONS = 20  # contents of a path that are read before a linked commit
LARGEST = 2 << 20  # bytes of a content whose lines are looked for
_AHEAD = 6  # contents of a path that are read together
_OTHERS = 40  # paths of a commit; of one that changes more, each path is looked at alone
_NEAREST = 8  # paths whose nearest commits are kept in memory
_KEPT = 32 << 20  # bytes of contents that are kept in memory
_ABOUTS = 1 << 16  # commits whose messages are kept in memory
_KEYWORDS = b"from import export use using include"  # that lines of imports may gain
_ANY = frozenset(("", "?"))  # names that are not known
UNTOLD = frozenset(("unknown ", "unrecorded "))  # names of commits of which nothing is known


def list_reverted(message: bytes) -> list[str]:
    """The commits (full oids) that a message says its commit reverts."""
    return [decode_name(oid) for oid in re.findall(_REVERTS, message)]


@value_class
class About:
    """What a commit says of itself."""

    author: str  # both are `Name <mail> seconds`
    committer: str
    message: bytes


class Walk:
    """The commits of a history, and what each changed.

    paths: those whose changes are read, and all commits that are left out change none of them; no
    paths: all.  complete: whether all of the history is here.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        self.complete = True
        self.tips: list[str] = []  # the commits whose histories were read, as far as they are here
        self.parents: dict[str, Sequence[str]] = {}
        self.abouts: dict[str, About] = {}
        self.order: dict[str, int] = {}  # commit -> its number; those of its ancestors are higher
        self.deleted: dict[str, list[str]] = {}  # commit -> paths
        # Path -> for each commit that changes it, oldest first: its number, and the names of it and
        # of all that changed the path before; filled by Earlier as far as it is needed.
        self.names: dict[str, list[tuple[int, frozenset[str]]]] = {}
        self._rows: dict[bytes, dict[str, bytes]] = {}  # path -> commit -> git's line
        self._steps: dict[str, dict[str, tuple[list[str], str]]] = {}  # the lines read
        self._givers: dict[str, dict[str, list[str]]] = {}  # the results of map_givers()
        self._befores: dict[str, tuple[dict[str, int], list[str]]] = {}
        self._nearest: dict[str, dict[str, Sequence[str]]] = {}  # the results of _list_nearest()
        self._changed: dict[str, list[str]] = {}  # commit -> the paths that it changes

    def read(self, repo: Repo, tips: Sequence[str]) -> None:
        """Read the histories of these commits, without what was read before."""
        here = [tip for tip in self.tips if tip in self.order]
        names = [*map(encode_name, tips), *(encode_name(f"^{tip}") for tip in here)]
        self.tips += tips
        paths = map(encode_name, sorted(self.paths))
        ask: list[str | bytes] = [*_RAW, *_FORM]
        if self.paths:
            ask.append("--simplify-merges")
        ask += ["--end-of-options", *names, b"--", *paths]
        known = self.order
        self.order = {}
        rows = self._rows
        self._rows = {}
        try:
            self._take(repo.git.stream_records(*ask))
        except GitError:  # a part of the history is not here
            self.complete &= bool(known) and not self.order
        # What was read now is newer than what it follows.
        count = len(known) + len(self.order)
        self.order = known | {commit: n - count for commit, n in self.order.items()}
        if known:
            for path, changes in rows.items():
                self._rows[path] = self._rows.get(path, {}) | changes
        for found in (self._steps, self._givers, self._befores, self._nearest, self._changed):
            found.clear()

    def _take(self, tokens: Iterator[bytes]) -> None:
        commit = ""
        for token in tokens:
            if token.startswith(b"\x02"):
                commit, *parents = token[1:].decode().split(" ")
                if parents != [""]:
                    self.parents[commit] = parents
                else:
                    self.parents[commit] = []
                self.order[commit] = len(self.order)
                author = decode_name(next(tokens))
                committer = decode_name(next(tokens))
                message = next(tokens)
                if len(self.abouts) < _ABOUTS:
                    self.abouts[commit] = About(author, committer, message)
            elif token[:2].lstrip(b"\n"):  # else the end of a commit's message
                path = next(tokens)
                self._rows.setdefault(path, {})[commit] = token
                if token.endswith(b"D"):
                    self.deleted.setdefault(commit, []).append(decode_name(path))

    def has(self, commit: str, path: str) -> bool:
        """Whether the history of a path up to a commit was read."""
        return commit in self.parents and (not self.paths or path in self.paths)

    def map_steps(self, path: str) -> dict[str, tuple[list[str], str]]:
        """commit -> (the blobs of a path before, in each parent; its blob after), of the commits
        that change it; zeros: no blob."""
        if path not in self._steps:
            rows = self._rows.get(encode_name(path), {})
            self._steps[path] = {commit: _parse_row(row) for commit, row in rows.items()}
        return self._steps[path]

    def list_befores(self, commit: str, path: str) -> list[str]:
        """The next blobs of a path before a commit that changes it, as far as they are likely to
        be asked for."""
        if path not in self._befores:
            steps = self.map_steps(path)
            numbers = dict(zip(steps, range(len(steps)), strict=True))
            self._befores[path] = numbers, [olds[0] for olds, _ in steps.values()]
        numbers, blobs = self._befores[path]
        return blobs[numbers[commit] :][:_AHEAD]

    def list_commits(self, path: str) -> list[str]:
        """The commits that change a path, oldest first."""
        return [*reversed(self._rows.get(encode_name(path), {}))]

    def list_changed(self, commit: str) -> list[str]:
        """The paths that a commit changes, in a walk of all paths."""
        if not self._changed:
            for name, rows in self._rows.items():
                path = decode_name(name)
                for oid in rows:
                    self._changed.setdefault(oid, []).append(path)
        return self._changed.get(commit, [])

    def is_added(self, commit: str, path: str) -> bool:
        """Whether a commit, which is no merge, adds a path."""
        olds, _ = self.map_steps(path)[commit]
        return len(olds) == 1 and not olds[0].strip("0")

    def find_step(self, starts: Iterable[str], path: str, oid: str) -> str:
        """The commit that gave a path a blob (zeros: none) that it has in starts: the nearest at or
        before one of them, first parents first; '' if none is known."""
        gave = self.map_givers(path).get(oid, ())
        if len(gave) < 2 and self.complete:  # no other one can have done it
            return next(iter(gave), "")
        near = (step for start in starts for step in self._list_nearest(start, path))
        return next((step for step in near if step in gave), "")

    def map_givers(self, path: str) -> dict[str, list[str]]:
        """blob (zeros: none) -> the commits that gave it to a path."""
        if path not in self._givers:
            givers = self._givers[path] = dict[str, list[str]]()
            for commit, (_, oid) in self.map_steps(path).items():
                givers.setdefault(oid, []).append(commit)
        return self._givers[path]

    def _list_nearest(self, start: str, path: str) -> Sequence[str]:
        """The commits that gave a path what it may have in a commit: the nearest at or before it on
        each line of its history, first parents first."""
        if path not in self._nearest and len(self._nearest) == _NEAREST:
            self._nearest.clear()
        steps = self.map_steps(path)
        known = self._nearest.setdefault(path, {})
        if not steps:
            return ()
        oldest = self.order[next(reversed(steps))]
        todo = [start]
        while todo:
            commit = todo[-1]
            parents = self.parents.get(commit, ())
            if commit in steps:
                known[commit] = (commit,)
            elif self.order.get(commit, oldest) >= oldest:
                known[commit] = ()
            else:
                unread = [parent for parent in parents if parent not in known]
                if unread:
                    todo += reversed(unread)
                    continue
                known[commit] = _join_nearest([known[parent] for parent in parents])
            todo.pop()
        return known[start]


def _join_nearest(lists: Sequence[Sequence[str]]) -> Sequence[str]:
    """What all parents of a commit have, each commit once."""
    if len(lists) == 1:
        return lists[0]
    joined: dict[str, None] = {}
    for commits in lists:
        joined.update(dict.fromkeys(commits))
    return tuple(joined)


def read_walk(repo: Repo, tips: Sequence[str], paths: Iterable[str] = ()) -> Walk:
    """The histories of these commits."""
    walk = Walk(paths)
    walk.read(repo, tips)
    return walk


def _parse_row(row: bytes) -> tuple[list[str], str]:
    fields = row.lstrip(b"\n").decode().split(" ")
    count = len(fields[0]) - len(fields[0].lstrip(":"))
    return fields[count + 1 : 2 * count + 1], fields[2 * count + 1]


def _may_carry(
    old: carry.Text, new: carry.Text, removed: Iterable[int], wanted: Iterable[int]
) -> bool:
    """Whether one of the wanted lines has no other words than removed lines have, or reads like a
    line that is still there: else none carries on any, which need not be looked for."""
    lines = [line for line in wanted if line < len(new.lines)]
    gone = [old.lines[line] for line in removed if line < len(old.lines)]
    if gone and carry.has_words_of([*gone, _KEYWORDS], [new.lines[line] for line in lines]):
        return True
    keys = [new.hard_keys[line] for line in lines]
    return any(key in old.places and carry.is_telling(key) for key in keys)


def _select_carried(
    carried: origins.Carried, removed: Collection[int], wanted: Sequence[int]
) -> dict[int, int]:
    """index in the later content -> index in the earlier one of those wanted lines that carry on
    lines that a change removed, or copy others."""
    pairs = {}
    for line in wanted:
        if line < len(carried.origins):
            origin = carried.origins[line]
        else:
            origin = carry.NOTHING
        is_copy = carried.get_how(line) == origins.COPIED
        if origin != carry.NOTHING and (is_copy or origin in removed):
            pairs[line] = origin
    return pairs


def _place_runs(commit: str, path: str, runs: Iterable[Run]) -> dict[int, Spot]:
    found: dict[int, Spot] = {}
    for run in runs:
        for n, line in enumerate(run.lines):
            found[line] = (commit, path, run.first + n)
    return found


class _Changed:
    """A path that a commit changes.  old, new: its blobs before and after, '' for none."""

    __slots__ = ("new", "old", "path")

    def __init__(self, path: str, old: str, new: str) -> None:
        self.path = path
        self.old = old
        self.new = new.strip("0") and new


def _get_oid(entry: Entry | None) -> str:
    if entry:
        return entry[1]
    return ""


class Earlier:
    """Finds where lines were before; each history is read once until forget()."""

    def __init__(self, repo: Repo, classify: Classify, share_with: Earlier | None = None) -> None:
        """classify: (commit, what it says) -> a name that is the same for commits whose unrecorded
        lines have the same author; one with records has a name of its own.  share_with: another
        Earlier, with which this one shares the whole history."""
        self._repo = repo
        self._classify = classify
        self._whole: list[Walk] = []
        if share_with:
            self._whole = share_with._whole
        # Whether a part of a history or a content was not here; a list of renames.
        self._lacks = self._is_broken = False
        self._walks: list[Walk] = []
        self._renames: dict[str, dict[str, str]] = {}  # commit -> new path -> old path
        self._texts: dict[str, Text | None] = {}
        self._sources: dict[tuple[str, str], moves.Source] = {}  # by the blobs of a change
        self._pairs: dict[tuple[Text, Text], pairing.Pairs] = {}  # of equal lines
        self._size = 0
        self._mixed: dict[str, bool] = {}  # the results of _has_foreign()

    def walk_all(self, tips: Callable[[], Sequence[str]]) -> None:
        """Read whole histories, unless this was done."""
        if not self._whole:
            self._whole.append(read_walk(self._repo, tips()))

    def walk(self, places: Iterable[CommitPath]) -> None:
        """Read the histories of places that were not read yet."""
        unread = [place for place in places if not self._find_walk(*place)]
        if unread:
            commits, paths = (dict.fromkeys(part) for part in zip(*unread, strict=True))
            self._walks.append(read_walk(self._repo, [*commits], paths))

    def _find_walk(self, commit: str, path: str) -> Walk | None:
        walks = (*self._whole, *self._walks)
        found = next((walk for walk in walks if walk.has(commit, path)), None)
        self._lacks |= found is not None and not found.complete
        return found

    def _need_walk(self, commit: str, path: str) -> Walk | None:
        self.walk([(commit, path)])
        return self._find_walk(commit, path)

    def _need_foreign_walk(self, commit: str, path: str) -> Walk | None:
        """_need_walk() for a commit that the history may lack: if that was read as a whole, so is
        the commit's own, which many paths may ask for."""
        for walk in self._whole:
            if not walk.has(commit, path) and commit not in walk.tips:
                walk.read(self._repo, [commit])
        if self._whole:
            return self._find_walk(commit, path)
        return self._need_walk(commit, path)

    def forget(self) -> None:
        """Forget what was read, but for whole histories."""
        self._walks.clear()
        self._renames.clear()
        self._mixed.clear()
        self._forget_texts()

    def _forget_texts(self) -> None:
        self._texts.clear()
        self._sources.clear()
        self._pairs.clear()
        self._size = 0

    def find_spots(
        self,
        place: CommitPath,
        lines: Sequence[int],
        previous: str,
        hunks: Sequence[Hunk],
        linked: bool,
        message: bytes,
    ) -> tuple[dict[int, Spot], bool]:
        """(line -> the earlier place of lines that a commit adds at a path, whether all that was
        asked for is here).

        previous: the path in its parent, "" for none.  hunks: those of the patch; () if the path
        in the parent is not to be searched.  linked: whether the commit names a checkpoint.
        message: of the commit.
        """
        self._lacks = self._is_broken
        spots = self._find_spots(place, lines, previous, hunks, linked, message)
        return {line: spot for line, spot in spots.items() if spot[0] != place[0]}, not self._lacks

    def _find_spots(
        self,
        place: CommitPath,
        lines: Sequence[int],
        previous: str,
        hunks: Sequence[Hunk],
        linked: bool,
        message: bytes,
    ) -> dict[int, Spot]:
        commit, path = place
        walk = self._need_walk(commit, path)
        step = None
        if walk:
            step = walk.map_steps(path).get(commit)
        if not walk or not step or len(step[0]) > 1:
            return {}
        paths = dict.fromkeys((path, previous or path))
        number = walk.order[commit]
        foreign = [i for i in list_reverted(message) if walk.order.get(i, number) <= number]
        spots: dict[int, Spot] = {}
        if foreign or self._may_differ(commit, [*paths]):
            if previous and hunks:
                spots = self._find_moved(walk, place, lines, previous, hunks)
            for start, oid in self._list_sources(walk, place, message):
                untraced = [n for n in lines if n not in spots]
                spots |= self._find_restored(untraced, step[1], path, start, oid)
            if linked:
                untraced = [n for n in lines if n not in spots]
                spots |= self._find_returned(walk, place, untraced)
        untraced = [n for n in lines if n not in spots]
        return spots | self._find_elsewhere(walk, place, previous, untraced)

    def _may_differ(self, commit: str, paths: Sequence[str]) -> bool:
        """Whether a line that a commit adds may have another author before it, at these paths."""
        names: set[str] = set()
        for path in paths:
            walk = self._need_walk(commit, path)
            names |= self._list_names(walk, path, walk.order[commit]) if walk else _ANY
        own = self._name_commit(walk, commit) if walk else ""
        return not (names <= {own} or names | {own} <= UNTOLD)

    def _list_names(self, walk: Walk, path: str, number: int) -> frozenset[str]:
        """The names of the commits after a number that change a path, also under its former
        names."""
        if not walk.complete:
            return _ANY
        known = walk.names.setdefault(path, [])
        commits = walk.list_commits(path)
        while len(known) < len(commits) and walk.order[commits[len(known)]] > number:
            commit = commits[len(known)]
            names = known[-1][1] if known else frozenset()
            if len(names) < 2:
                names |= {self._name_commit(walk, commit)}
            if len(names) < 2 and (former := self._find_former(walk, commit, path)):
                before = self._need_walk(commit, former)
                names |= self._list_names(before, former, before.order[commit]) if before else _ANY
            known.append((walk.order[commit], names))
        end = bisect.bisect_left(known, -number, key=lambda entry: -entry[0])
        return known[end - 1][1] if end else frozenset()

    def _name_commit(self, walk: Walk, commit: str) -> str:
        return self._classify(commit, walk.abouts.get(commit))

    def _find_moved(
        self,
        walk: Walk,
        place: CommitPath,
        lines: Sequence[int],
        previous: str,
        hunks: Sequence[Hunk],
    ) -> dict[int, Spot]:
        """line -> the earlier place of lines that the commit formatted, moved or copied."""
        commit, path = place
        step = walk.map_steps(path).get(commit)
        if not step:
            return {}
        before: Walk | None = walk
        step_before: tuple[list[str], str] | None = step
        if previous != path:
            before = self._need_walk(commit, previous)
            step_before = None
            if before:
                step_before = before.map_steps(previous).get(commit)
        oid = ""
        if step_before:
            oid = step_before[0][0]
        old = self._read_text(oid)
        new = self._read_text(step[1])
        if not (before and old and new):
            return {}
        removed: set[int] = set()
        for start, count, _, _ in hunks:
            removed.update(range(start - 1, start - 1 + count))
        wanted = [n - 1 for n in lines]
        if not _may_carry(old.carried, new.carried, removed, wanted):
            return {}
        carried = self._carry(old, new)
        pairs = _select_carried(carried, removed, wanted)
        sources = {n: pairs[n - 1] + 1 for n in lines if n - 1 in pairs}
        return self._follow(before.parents[commit], previous, oid, sources)

    def _carry(self, old: Text, new: Text) -> origins.Carried:
        """Where the lines of a content come from."""
        before = old.carried
        after = new.carried
        if len(before.lines) != len(old.keys) or len(after.lines) != len(new.keys):
            return origins.carry(before, after)
        equal = [carry.NOTHING] * len(after.lines)
        for i, j in self._pair(old, new):
            equal[j] = i
        return origins.carry_on(before, after, equal)

    def _pair(self, old: Text, new: Text) -> pairing.Pairs:
        """The equal lines of two contents; all paths of a commit ask for it."""
        if (old, new) not in self._pairs:
            self._pairs[old, new] = pairing.pair_lines(old.keys, new.keys)
        return self._pairs[old, new]

    def _find_elsewhere(
        self, walk: Walk, place: CommitPath, previous: str, lines: Sequence[int]
    ) -> dict[int, Spot]:
        """line -> the earlier place of lines that the commit moved or copied from other paths."""
        commit, path = place
        if not lines or not self._has_foreign(walk, commit):
            return {}
        text = self._read_text(walk.map_steps(path)[commit][1])
        if not text:
            return {}
        new = text.carried
        added = [n - 1 for n in lines if n <= len(new.lines)]
        wanted = {new.hard_keys[line] for line in added if carry.is_telling(new.hard_keys[line])}
        if sum(map(carry.weigh, wanted)) < moves.MOVED:
            return {}
        others = [
            other
            for other in self._list_others(walk, place)
            if other.path != previous and self._has_any(other, wanted)
        ]
        if not any(self._may_differ(commit, [other.path]) for other in others):
            return {}
        sources = [self._read_source(other) for other in others]
        found = moves.find_moved(new, added, sources)
        spots: dict[int, Spot] = {}
        for number, other in enumerate(others):
            before = self._need_walk(commit, other.path)
            origins_there = {n + 1: p.line + 1 for n, p in found.items() if p.source == number}
            if before and origins_there:
                starts = before.parents[commit]
                spots |= self._follow(starts, other.path, other.old, origins_there)
        return spots

    def _has_foreign(self, walk: Walk, commit: str) -> bool:
        """Whether a path that a commit changes may have lines of another author; also where that
        is not known before its history is read."""
        if walk.paths:
            return True
        if commit not in self._mixed:
            changed = walk.list_changed(commit)
            self._mixed[commit] = len(changed) <= _OTHERS and self._may_differ(commit, changed)
        return self._mixed[commit]

    def _has_any(self, other: _Changed, wanted: Set[bytes]) -> bool:
        """Whether a path had one of the wanted lines."""
        text = self._read_text(other.old)
        return text is not None and not text.hard_keys.isdisjoint(wanted)

    def _read_source(self, other: _Changed) -> moves.Source:
        """What a path had, and the lines of it that the commit removed; all paths of the commit ask
        for it."""
        change = other.old, other.new
        if change not in self._sources:
            self._sources[change] = self._compare(other)
        return self._sources[change]

    def _compare(self, other: _Changed) -> moves.Source:
        old = self._read_text(other.old)
        if old is None:
            return moves.Source(carry.Text([]))
        new = None
        if other.new:
            new = self._read_text(other.new)
        if new is None:
            return moves.Source(old.carried, range(len(old.carried.lines)))
        removed = {*range(len(old.keys))}
        removed.difference_update([i for i, _ in self._pair(old, new)])
        return moves.Source(old.carried, removed)

    def _list_others(self, walk: Walk, place: CommitPath) -> Iterator[_Changed]:
        """The other paths of which a commit changes or deletes a file, unless they are many."""
        commit, path = place
        if walk.paths:
            objects = self._repo.objects
            before = find_tree(objects, f"{commit}^")
            after = find_tree(objects, commit)
            changed = [*islice(compare_trees(objects, before, after), _OTHERS + 1)]
            named = [_Changed(p, _get_oid(old), _get_oid(new)) for p, old, new in changed]
        else:
            paths = walk.list_changed(commit)[: _OTHERS + 1]
            steps = [(p, walk.map_steps(p)[commit]) for p in paths]
            named = [_Changed(p, olds[0].strip("0") and olds[0], oid) for p, (olds, oid) in steps]
        if len(named) <= _OTHERS:
            yield from (one for one in named if one.path != path and one.old)

    def _list_sources(
        self, walk: Walk, place: CommitPath, message: bytes
    ) -> Iterator[tuple[Sequence[str], str]]:
        """Yield (commits, the blob that the path has there) for the contents that a commit may
        restore at a path."""
        commit, path = place
        for reverted in list_reverted(message):
            found = self._need_foreign_walk(reverted, path)
            step = None
            if found:
                step = found.map_steps(path).get(reverted)
            if found and step:
                yield found.parents[reverted], step[0][0]
        steps = walk.map_steps(path)
        oid = steps[commit][1]
        if len(walk.map_givers(path)[oid]) > 1:
            versions = self._list_versions(walk, place)
            yield from [([found], blob) for found, blob in versions if blob == oid][:1]

    def _list_versions(self, walk: Walk, place: CommitPath) -> Iterator[tuple[str, str]]:
        """Yield (commit, the blob that it gave a path) before a commit, nearest first."""
        found, path = place
        steps = walk.map_steps(path)
        seen = {found}
        while True:
            before = steps[found][0][0]
            found = walk.find_step(walk.parents[found], path, before)
            if not found or found in seen:
                return
            seen.add(found)
            if before.strip("0"):
                yield found, before

    def _find_restored(
        self,
        lines: Sequence[int],
        new: str,
        path: str,
        starts: Sequence[str],
        oid: str,
    ) -> dict[int, Spot]:
        """line -> the earlier place of lines of a blob that the path has as another blob, oid, in
        the commits starts."""
        if not lines:
            return {}
        text = self._read_text(new)
        source = self._read_text(oid)
        if text is None or source is None:
            return {}
        wanted = {n - 1 for n in lines}
        pairs = pairing.pair_lines(source.keys, text.keys)
        return self._follow(starts, path, oid, {j + 1: i + 1 for i, j in pairs if j in wanted})

    def _find_returned(
        self, walk: Walk, place: CommitPath, lines: Sequence[int]
    ) -> dict[int, Spot]:
        """line -> the earlier place of significant lines that the path and an earlier content of it
        have once; with its white space, a line that the path has with other white space, too."""
        if not lines:
            return {}
        text = self._read_text(walk.map_steps(place[1])[place[0]][1])
        if text is None:
            return {}
        keys = {n: text.keys[n - 1] for n in lines if n <= len(text.keys)}
        telling = line_evidence.select_significant({*keys.values()})
        left: dict[bytes, int] = {}
        doubled: dict[bytes, int] = {}  # with its white space: it is there with other one, too
        for number, key in keys.items():
            if key in telling and text.places[key] >= 0:
                left[key] = number
            elif key in telling and number <= len(text.carried.lines):
                doubled[text.carried.lines[number - 1]] = number
        doubled = {line: n for line, n in doubled.items() if text.exact_places[line] >= 0}
        spots: dict[int, Spot] = {}
        for found, oid in islice(self._list_versions(walk, place), _VERSIONS):
            if not (left or doubled):
                break
            source = self._read_text(oid)
            if source:
                had = line_moves.find_once(source, left.keys())
                sources = {left.pop(key): index + 1 for key, index in had.items()}
                for line in [*doubled]:
                    index = source.exact_places.get(line, -1)
                    if index >= 0:
                        sources[doubled.pop(line)] = index + 1
                spots |= self._follow([found], place[1], oid, sources)
        return spots

    def _follow(
        self, starts: Sequence[str], path: str, oid: str, sources: Mapping[int, int]
    ) -> dict[int, Spot]:
        """key -> where a line was put in, white space and moves aside; sources: key -> line of a
        blob that a path has in the commits starts."""
        if not sources:
            return {}
        text = self._read_text(oid)
        if text is None:
            return {}
        spots: dict[int, Spot] = {}
        todo = [(starts, path, oid, line_moves.build_runs(sources.values(), text))]
        while todo:
            starts, path, oid, runs = todo.pop()
            walk = None
            if starts:
                walk = self._need_walk(starts[0], path)
            found = ""
            if walk:
                found = walk.find_step(starts, path, oid)
            if not walk or not found:
                continue
            if len(self._list_names(walk, path, walk.order[found] - 1)) == 1:
                spots |= _place_runs(found, path, runs)  # one author, whichever commit it was
                continue
            if walk.map_steps(path)[found][0][0] not in self._texts:
                self._read_ahead(walk.list_befores(found, path))
            for before in self._list_before(walk, found, path):
                old = self._read_text(before[2])
                new = self._read_text(oid)
                if not old or not new:
                    runs = []  # it is not known what they had
                    break
                kept, runs = line_moves.find_runs(runs, old, new)
                if kept:
                    todo += [(*before, kept)]
            spots |= _place_runs(found, path, runs)
        return {key: spots[line] for key, line in sources.items() if line in spots}

    def _list_before(
        self, walk: Walk, commit: str, path: str
    ) -> Iterator[tuple[Sequence[str], str, str]]:
        """Yield (parents, path, blob) for each content that a path, also under a former name, had
        before a commit."""
        olds, _ = walk.map_steps(path)[commit]
        stored = [old for old in olds if old.strip("0")]
        for old in stored:
            yield walk.parents[commit], path, old
        former = self._find_former(walk, commit, path)
        before = None
        if former:
            before = self._need_walk(commit, former)
        if before:
            step = before.map_steps(former).get(commit)
            if step:
                yield before.parents[commit], former, step[0][0]

    def _find_former(self, walk: Walk, commit: str, path: str) -> str:
        """The name from which a commit, which is no merge, renamed a file to path; '' for none."""
        if not walk.is_added(commit, path) or not (walk.paths or commit in walk.deleted):
            return ""
        oid = walk.map_steps(path)[commit][1]
        gone: Sequence[str] = ()
        if not walk.paths:
            gone = walk.deleted[commit]
        same = [name for name in gone if walk.map_steps(name)[commit][0][0] == oid]
        if len(same) == 1:
            return same[0]
        if commit not in self._renames:
            self._read_renames([commit])
        return self._renames[commit].get(path, "")

    def read_renames(self, places: Iterable[CommitPath]) -> None:
        """Find together which commits before places, in a whole history, renamed a file to their
        paths, also from name to name."""
        for walk in self._whole:
            paths = {path for commit, path in places if commit in walk.order}
            seen = {""}
            while paths:
                added: list[CommitPath] = []
                for path in paths:
                    for commit in walk.map_steps(path):
                        if commit in walk.deleted and walk.is_added(commit, path):
                            added.append((commit, path))
                commits = dict.fromkeys(commit for commit, _ in added)
                self._read_renames([commit for commit in commits if commit not in self._renames])
                seen |= paths
                paths = {self._find_former(walk, *place) for place in added} - seen

    def _read_renames(self, commits: Sequence[str]) -> None:
        self._renames |= {commit: {} for commit in commits}
        ask = "diff-tree", "--stdin", "--raw", "-z", "-r", "-M", "--diff-filter=R"
        lines = "".join(f"{commit}\n" for commit in commits).encode()
        if not commits:
            return
        names = self._renames[commits[0]]
        try:
            tokens = self._repo.git.stream_records(*ask, stdin=lines)
            for token in tokens:
                if token.startswith(b":"):
                    old = decode_name(next(tokens))
                    names[decode_name(next(tokens))] = old
                else:
                    names = self._renames[token.decode().strip()]
        except GitError:  # a blob is not here
            self._is_broken = True

    def read_contents(self, places: Iterable[tuple[CommitPath, str]]) -> None:
        """Read in bulk what find_spots() needs first; places: with the path in the parent."""
        oids: list[str] = []
        for (commit, path), previous in places:
            paths = [*dict.fromkeys((path, previous or path))]
            if self._may_differ(commit, paths):
                for name in paths:
                    walk = self._need_walk(commit, name)
                    if walk and commit in walk.map_steps(name):
                        olds, oid = walk.map_steps(name)[commit]
                        oids += [olds[0], oid]
        self._read_ahead(oids)

    def _read_ahead(self, oids: Iterable[str]) -> None:
        unread = [i for i in dict.fromkeys(oids) if i.strip("0") and i not in self._texts]
        ahead = self._repo.objects.ahead
        known = [oid for oid in unread if ahead.has(oid)]
        ahead.fetch(unread)
        for oid in unread:
            self._read_text(oid)
        for oid in set(unread).difference(known):
            ahead.got.pop(oid, None)

    def _read_text(self, oid: str) -> Text | None:
        """A blob; None if it is not here, no text, or too large to look for lines in it."""
        if oid not in self._texts:
            if self._size > _KEPT:
                self._forget_texts()
            data = None
            if oid.strip("0"):
                data = self._repo.objects.read_blob(oid)
            fits = data is not None and len(data) <= LARGEST and not ids.is_binary(data)
            if data is not None and fits:
                self._texts[oid] = line_moves.Text(data)
            else:
                self._texts[oid] = None
            self._size += len(data or b"")
        self._lacks |= self._texts[oid] is None and bool(oid.strip("0"))
        return self._texts[oid]
