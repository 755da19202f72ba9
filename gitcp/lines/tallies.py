"""The tallies of commits.  Whose a commit's lines are does not change as long as its checkpoints,
its notes and the commits that its lines came from are the same: its tally is kept."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property, partial

from gitcp.errors import GitError
from gitcp.git import encode_name, files
from gitcp.git.kept import Kept, make_key
from gitcp.git.objects.cat_file import list_missing
from gitcp.git.objects.reading import split_windows
from gitcp.git.records import encode_lines
from gitcp.lines import exports
from gitcp.lines.committed import history, memo
from gitcp.lines.committed.beginning import NEVER
from gitcp.lines.committed.evidence import Evidence
from gitcp.lines.tally import count_commit, unpack_tally
from gitcp.text import console
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gitcp.git.objects import Objects
    from gitcp.git.objects.patches import Change
    from gitcp.git.repo import Repo
    from gitcp.lines.tally import Tally

RULE = f"3 {memo.FORMAT}"  # changes with each change of what a tally says
_WINDOW = 512  # commits whose kept tallies are looked at together
_OBJECT = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
_MANY = 5000  # commits that were not recorded and are counted unasked
_NO_WALK = "--no-walk=unsorted", "--stdin"


@dataclass(slots=True)
class _Counted:
    """A tally that is kept, and what it depends on besides the commit.

    sign: of the commit.  ground: of the memo if its lines were traced, else ''.  sources: (commit,
    its sign) of those that its lines came from.  lacks: (message, kind) of what was not here.
    packed: the tally.
    """

    sign: bytes
    ground: str
    sources: list[tuple[str, bytes]]
    lacks: list[tuple[str, str]]
    packed: Any

    def pack(self) -> Any:
        """The same in types that marshal writes."""
        return self.sign, self.ground, self.sources, self.lacks, self.packed


class Counter:
    """Counts commits, those that were counted before by what was kept."""

    def __init__(self, repo: Repo, revisions: Sequence[str] = ()) -> None:
        """revisions: the range of the commits; () for HEAD."""
        self._repo = repo
        self.evidence = Evidence(repo, revisions=revisions or ["HEAD"])
        self._kept = Kept(repo, "tallies", RULE)
        self._signs: dict[str, bytes] = {}

    def count(self, oids: Sequence[str]) -> dict[str, Tally]:
        """commit (full oid) -> its tally; commits that are not here are left out."""
        asked = dict.fromkeys(oids)
        counted: dict[str, Tally] = {}
        if not asked:
            return counted
        changes = history.read_changes(self._repo, _NO_WALK, encode_lines(asked), bare=True)
        for window in split_windows(changes, _WINDOW):
            packed = self.find_kept(window)
            lacking = [change["oid"] for change in window if change["oid"] not in packed]
            packed |= self._count_window(lacking)
            counted |= {oid: unpack_tally(one) for oid, one in packed.items()}
        self._kept.save()
        return counted

    def find_kept(self, window: Sequence[Change]) -> dict[str, Any]:
        """commit -> its packed tally, of the commits whose tally is kept and still holds."""
        oids = [change["oid"] for change in window]
        self.evidence.prefetch_signs(oids, window)
        entries: dict[str, _Counted] = {}
        for oid in oids:
            self._signs[oid] = self._sign(oid)
            entry = self._kept.find(encode_name(oid))
            if entry is not None and entry[0] == self._signs[oid]:
                entries[oid] = _Counted(*entry)
        entries = self._select_valid(entries)
        for entry in entries.values():
            for message, kind in entry.lacks:
                console.warn_lacking(message, kind)
        self.evidence.forget()
        return {oid: entry.packed for oid, entry in entries.items()}

    def _select_valid(self, entries: dict[str, _Counted]) -> dict[str, _Counted]:
        """The entries that still hold, of commits whose own signs are the same."""
        traced = [entry for entry in entries.values() if entry.ground]
        sources = list(dict.fromkeys(oid for entry in traced for oid, _ in entry.sources))
        self.evidence.prefetch_signs(sources)
        signs = {oid: self._sign(oid) for oid in sources}
        lacks = {oid for entry in entries.values() for oid in _list_objects(entry.lacks)}
        missing: set[str] = set()
        if lacks:
            missing = list_missing(self._repo, lacks)
        valid: dict[str, _Counted] = {}
        for oid, entry in entries.items():
            if entry.ground and entry.ground != self._ground:
                continue
            if any(signs[source] != sign for source, sign in entry.sources):
                continue
            if missing.issuperset(_list_objects(entry.lacks)):
                valid[oid] = entry
        return valid

    @cached_property
    def _ground(self) -> str:
        return self.evidence.readers.memo.read_ground()

    def _sign(self, oid: str) -> bytes:
        return make_key(self._surroundings, self.evidence.sign_commit(oid))

    @cached_property
    def _surroundings(self) -> bytes:
        """What decides of every commit: how git compares contents, where the history is cut, and
        the conversations of which no hook has heard."""
        repo = self._repo
        names = [f"{repo.common}/{n}" for n in ("shallow", "info/grafts", "info/attributes")]
        if repo.top:
            names.append(os.path.join(repo.top, ".gitattributes"))
        contents = [files.read_cache(name) for name in names]
        keys = sorted(repo.config.list_keys("diff.", ""))
        settings = [(key, repo.config.get_all(key)) for key in [*keys, "core.attributesfile"]]
        unheard = self.evidence.readers.unheard.sessions.values()
        conversations = sorted(map(repr, unheard))
        return make_key(contents, settings, conversations)

    def _count_window(self, oids: Sequence[str]) -> dict[str, Any]:
        """commit -> its packed tally, counted now; it is kept."""
        counted: dict[str, Any] = {}
        if not oids:
            return counted
        changes = history.read_changes(self._repo, _NO_WALK, encode_lines(oids))
        for window in split_windows(changes, exports.WINDOW):
            found = exports.describe_window(_describe, self.evidence, window)
            counted |= dict(self.keep(found))
        return counted

    def keep(self, found: Sequence[_Found]) -> list[tuple[str, Any]]:
        """Keep what _describe() found for commits; return (commit, packed tally) of each."""
        sources = [source for one in found for source in one[1] or ()]
        self.evidence.prefetch_signs(list(dict.fromkeys(sources)))
        for packed, traced, lacks in found:
            oid = packed[0]
            if lacks is None:
                continue
            ground = self._ground if traced is not None else ""
            signed = [(source, self._sign(source)) for source in traced or ()]
            entry = _Counted(self._signs[oid], ground, signed, lacks, packed)
            self._kept.keep(encode_name(oid), entry.pack())
        self.evidence.forget()
        return [(packed[0], packed) for packed, _, _ in found]

    def save(self) -> None:
        """Write what is to be kept."""
        self._kept.save()


# A packed tally, the commits that its lines came from (None: none was traced), and what lacked as
# (message, kind) (None: it is not known what, and the tally is not to be kept).
_Found = tuple["Any", "list[str] | None", "list[tuple[str, str]] | None"]


def _describe(evidence: Evidence, change: Change) -> _Found:
    packed = count_commit(exports.describe_commit(evidence, change)).pack()
    sources = evidence.list_sources(change)
    names = {abbreviate(change["oid"]), *evidence.get_commit(change["oid"]).ids}
    for source in sources or ():
        names |= {abbreviate(source), *evidence.get_commit(source).ids}
    traced = None if sources is None else sorted(sources)
    return packed, traced, _list_lacks(names)


def _list_lacks(names: set[str]) -> list[tuple[str, str]] | None:
    """(message, kind) of what lacked of these commits and checkpoints; None if a message does not
    say which object lacks, or of what."""
    lacks: list[tuple[str, str]] = []
    for message, kind in console.list_lacking().items():
        subject = message.split("'")[1:2]
        if not subject:
            return None
        if subject[0] in names:
            if not _list_objects([(message, kind)]):
                return None
            lacks.append((message, kind))
    return lacks


def _list_objects(lacks: Iterable[tuple[str, str]]) -> set[str]:
    """The objects that messages name."""
    found: set[str] = set()
    for message, _ in lacks:
        found.update(_OBJECT.findall(message))
    return found


def find_start(repo: Repo) -> int | None:
    """The time of the first thing recorded, in s since 1970, if more than _MANY commits of HEAD are
    older; else None."""
    beginning = Evidence(repo).beginning
    if beginning == NEVER:
        return None
    options = f"--max-count={_MANY + 1}", f"--before=@{beginning - 1}"
    try:
        older = repo.git.read_records("rev-list", *options, "HEAD", sep=b"\n")
    except GitError:
        return None
    return beginning if len(older) > _MANY else None


def list_tallies(
    repo: Repo,
    revisions: Sequence[str],
    paths: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Iterator[Tally]:
    """The tallies of the commits of revisions (default: HEAD) that change paths, in git's order,
    with the files below paths alone.

    options: of git log.  Raises Error with git's message for a bad revision.
    """
    counter = Counter(repo, revisions)
    names = map(encode_name, ("--end-of-options", *revisions, "--", *paths))
    changes = history.read_changes(repo, [*options, *names], bare=True)
    order: dict[str, Any] = {}  # commit -> its packed tally, None if it is to be counted
    for window in split_windows(changes, _WINDOW):
        found = counter.find_kept(window)
        order |= {change["oid"]: found.get(change["oid"]) for change in window}
    lacking = [oid for oid, packed in order.items() if packed is None]
    counted = _count_all(repo, counter, lacking)
    for kept in order.values():
        tally = unpack_tally(next(counted) if kept is None else kept)
        if paths:
            tally = tally.limit(partial(exports.is_below, paths=paths))
        if tally.files or not paths:
            yield tally
    counter.save()


def _count_all(repo: Repo, counter: Counter, oids: Sequence[str]) -> Iterator[Any]:
    """The packed tallies of commits, in their order, by several processes if they are many."""
    if not oids:
        return
    shared = counter.evidence

    def begin(objects: Objects) -> Callable[[list[Change]], list[Any]]:
        evidence = Evidence(repo, revisions=shared.revisions, share_with=shared)
        return partial(exports.describe_window, _describe, evidence)

    changes = history.read_changes(repo, _NO_WALK, encode_lines(oids))
    for found in split_windows(exports.spread_changes(repo, begin, changes), exports.WINDOW):
        for _, packed in counter.keep(found):
            yield packed
