"""The authors of the lines of commits, by what their checkpoints recorded."""

from __future__ import annotations

import marshal
from functools import cached_property, partial
from zlib import crc32

from gitcp import agents
from gitcp.checkpoints import links
from gitcp.checkpoints.format import line_authors
from gitcp.git import decode_name, encode_name, refs
from gitcp.git.kept import make_key
from gitcp.git.objects import parse_ident
from gitcp.git.objects.reading import split_windows
from gitcp.lines import absent, porcelain, uncommitted
from gitcp.lines.committed import history, neighbours, recorded
from gitcp.lines.committed.beginning import find_beginning
from gitcp.lines.committed.earlier import LARGEST, UNTOLD, Earlier
from gitcp.lines.committed.recorded import CommittedPath, NamedCommit, Readers, tell_about
from gitcp.text import line_evidence, pairing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git import Git
    from gitcp.git.objects.patches import Change, Hunk
    from gitcp.git.repo import Repo
    from gitcp.lines.absent import CommitPath
    from gitcp.lines.blame_options import Options
    from gitcp.lines.committed.earlier import About
    from gitcp.lines.committed.recorded import LineAuthors, Spot
    from gitcp.lines.porcelain import BlameEntry
    from gitcp.lines.uncommitted import OpenLines
    from gitcp.text.line_replay import Version

    # The new lines, the path in the parent, the hunks.
    New = tuple[Sequence[int], str, Sequence[Hunk]]

_MANY = 10_000  # lines of a place whose content may be large
_TOGETHER = 32  # places whose contents are read in bulk
_MOST = 8  # paths whose histories are read alone; with more, the whole history is read


class Evidence:
    """The authors of lines by commit and path."""

    def __init__(
        self,
        repo: Repo,
        worktree: bool = True,
        revisions: Sequence[str] = ("HEAD",),
        share_with: Evidence | None = None,
        proven_alone: bool = False,
    ) -> None:
        """worktree: whether the zero commit means the worktree, whose edits the journal has.
        revisions: the range of the commits that prefetch_changes() gets.  share_with: another
        Evidence, with which this one shares what it reads of whole histories.  proven_alone:
        without the lines that only their neighbours prove, for what is stored."""
        self._repo = repo
        self._proven_alone = proven_alone
        self._journalled = worktree
        self.revisions = revisions
        self.readers = Readers(repo)
        histories = None
        if share_with:
            histories = share_with._earlier
        self._earlier: Earlier = Earlier(repo, self._name_author, histories)
        self._commits: dict[str, NamedCommit] = {}
        self._names: dict[str, str] = {}  # commit -> the result of _name_author()
        self._defaults: dict[str, Author] = {}  # commit -> the result of find_default_author()
        self._before: dict[str, bool] = {}  # commit -> the result of is_before()
        self._places: dict[CommitPath, CommittedPath] = {}
        self._open_lines: dict[str, set[int]] = {}  # path -> its uncommitted lines that are asked
        self._cut: set[CommitPath] = set()  # places of which it is not known what the commit added

    def get_commit(self, oid: str) -> NamedCommit:
        """A commit, whose facts are read once until forget()."""
        if oid not in self._commits:
            self._commits[oid] = NamedCommit(self.readers, oid)
        return self._commits[oid]

    def get_place(self, commit: str, path: str) -> CommittedPath:
        """A path in a commit, whose facts are read once until forget()."""
        if (commit, path) not in self._places:
            self.get_commit(commit).note_asked(path)
            self._places[commit, path] = CommittedPath(self.readers, self.get_commit(commit), path)
        return self._places[commit, path]

    def prefetch(self, entries: Sequence[BlameEntry], contents: bool = False) -> None:
        """Read in bulk what find_author() needs for these lines.

        contents: whether it will get the contents of the lines."""
        self._cut |= absent.list_cut_places(self._repo, entries)
        places = history.group_by_place(entries)
        for (commit, path), lines in places.items():
            if not commit.strip("0"):
                self._ask_open_lines(self.get_place(commit, path), lines)
        incomplete = self._prefetch(places, contents)
        stored = {p: n for p, n in places.items() if p[0].strip("0") and not self._is_large(p, n)}
        unstated = self._list_unstated(stored)
        unstated = {p: n for p, n in unstated.items() if not self.get_commit(p[0]).is_merge()}
        asked = [*dict.fromkeys((*incomplete, *unstated))]
        if asked:
            previous = history.map_previous_paths(entries)
            paths = [path for _, path in asked]
            paths += [previous[place] for place in asked if place in previous]
            changes = self._read_changes([commit for commit, _ in asked], paths)
            self._align(incomplete, changes)
            # All lines that a commit adds are traced, as for its patch.
            new = self._map_new_lines(changes)
            self._trace_lines({p: new[p] for p in self._list_unstated(unstated) if p in new})
        self.readers.memo.save()

    def _ask_open_lines(self, place: CommittedPath, lines: Iterable[int]) -> None:
        """Note uncommitted lines of a path whose authors will be asked."""
        asked = self._open_lines.setdefault(place.path, set())
        if not asked.issuperset(lines):
            asked.update(lines)
            place.forget_authors()

    def _is_large(self, place: CommitPath, lines: Sequence[int]) -> bool:
        """Whether a place has many lines, and a content in which none is looked for."""
        oid = None
        if len(lines) > _MANY:
            oid = self.get_place(*place).oid
        return oid is not None and self._repo.objects.read_size(oid) > LARGEST

    def blame_lines(
        self, git: Git, options: Options, contents: bool = False
    ) -> Iterator[tuple[BlameEntry, Author]]:
        """Yield the lines of `git blame`, with all headers, each with its author.

        contents: whether a line may read differently in the commit that it came from.
        """
        groups = history.start_groups(git, options)()
        self.prefetch(porcelain.complete_entries(groups.entries), contents)
        content = None
        for entry in groups.list_lines():
            if contents:
                content = entry.content
            yield entry, self.find_author(entry.oid, entry.path, entry.orig, content)

    def _prefetch(
        self, lines: Mapping[CommitPath, Iterable[int]], contents: bool = False
    ) -> list[CommitPath]:
        """Read in bulk what is recorded of these lines; return the places that have recorded lines
        and lack some of these."""
        committed = {name: self.get_place(*name) for name in lines if name[0].strip("0")}
        commits = list(dict.fromkeys(commit for commit, _ in committed))
        self._repo.objects.ahead.fetch(commits)
        self.readers.prefetch_notes(commits)
        self._prefetch_records(commits)
        linked = {place.spec: place for place in committed.values() if place.commit.stored}
        for spec, oid in self._repo.objects.ahead.resolve(linked).items():
            linked[spec].note_oid(oid)
        if contents:
            self._repo.objects.ahead.fetch(place.oid for place in linked.values() if place.oid)
        return [name for name, place in committed.items() if place.has_unrecorded(lines[name])]

    def _align(self, places: Iterable[CommitPath], changes: Iterable[Change]) -> None:
        """Align the recorded lines of places by git's hunks."""
        chosen = {*places}
        for change in changes:
            for patch in change["patches"]:
                name = (change["oid"], patch["path"])
                if name in chosen:
                    self.get_place(*name).align(patch["hunks"])

    def _read_changes(self, commits: Iterable[str], paths: Iterable[str]) -> list[Change]:
        oids = [*dict.fromkeys(commits)]
        names = [encode_name(path) for path in dict.fromkeys(paths)]

        def compute() -> tuple[list[Change], bool]:
            changes = history.read_path_changes(self._repo, oids, names)
            return changes, not absent.is_needed()

        key = f"changes {make_key(oids, names).hex()}"
        found: list[Change] = self.readers.memo.find(key, False, compute)
        return found

    def prefetch_changes(self, window: Sequence[Change]) -> None:
        """Read in bulk what find_line_authors() needs for these commits."""
        self.readers.prefetch_notes([change["oid"] for change in window])
        for change in window:
            commit = self.get_commit(change["oid"])
            commit.note_change(change, is_whole=not absent.is_needed())
            for patch in change["patches"]:
                if patch["hunks"]:
                    place = self.get_place(change["oid"], patch["path"])
                    place.note_patch(patch["oid"], patch["hunks"])
        self._prefetch_records(change["oid"] for change in window)
        traced = [change for change in window if not self.is_before(change["oid"])]
        self._trace_lines(self._map_new_lines(traced))

    def _prefetch_records(self, commits: Iterable[str]) -> None:
        """Read in bulk what the checkpoints of commits have."""
        names: list[str] = []
        for oid in commits:
            names += self.get_commit(oid).ids
        self.readers.recorded.prefetch(names)

    def _map_new_lines(self, changes: Iterable[Change]) -> dict[CommitPath, New]:
        """What _trace_lines() needs of commits that are no merges."""
        found: dict[CommitPath, New] = {}
        for change in changes:
            for patch in change["patches"]:
                if patch["hunks"] and patch["path"] and len(change["parents"]) < 2:
                    found[(change["oid"], patch["path"])] = (
                        line_authors.list_new_lines(patch["hunks"]),
                        patch["old"],
                        patch["hunks"],
                    )
        return found

    def _trace_lines(self, places: Mapping[CommitPath, New]) -> None:
        """Find where lines were before, if their own commits do not tell their authors."""
        pending = self._list_unstated({place: lines for place, (lines, _, _) in places.items()})
        while pending:
            found = self._find_spots(pending, places)
            origins: dict[CommitPath, list[int]] = {}
            for name, spots in found.items():
                place = self.get_place(*name)
                place.note_spots({n: spots.get(n) for n in pending[name]})
                for commit, path, line in spots.values():
                    origins.setdefault((commit, path), []).append(line)
            incomplete = self._prefetch(origins)
            if incomplete:
                self._align(incomplete, self._read_changes(*zip(*incomplete, strict=True)))
            pending = self._list_unstated(origins)

    def _find_spots(
        self, pending: Mapping[CommitPath, Sequence[int]], places: Mapping[CommitPath, New]
    ) -> dict[CommitPath, dict[int, Spot]]:
        """The earlier places of lines at each place; what was found before is kept."""
        memo = self.readers.memo
        find = self._earlier.find_spots
        asked = {}
        # Those of a path together: their histories have contents in common.
        for name, lines in sorted(pending.items(), key=lambda item: item[0][1]):
            commit = self.get_commit(name[0])
            _, previous, hunks = places.get(name, ((), "", ()))
            question = [*lines], previous, [*hunks], bool(commit.ids)
            key = f"{name[0]} {crc32(marshal.dumps(question, 2)):08x} {name[1]}"
            asked[name] = key, partial(find, name, *question, commit.about.message)
        unknown = [name for name, (key, _) in asked.items() if not memo.has(key, depends=True)]
        if unknown:
            self._walk(unknown)
        parts = {part[0]: part for part in split_windows(unknown, _TOGETHER)}
        nothing: New = ((), "", ())
        found = {}
        for name, (key, compute) in asked.items():
            if name in parts:
                olds = [places.get(place, nothing)[1] for place in parts[name]]
                self._earlier.read_contents(zip(parts[name], olds, strict=True))
            found[name] = memo.find(key, True, compute)
        return found

    def _list_unstated(
        self, places: Mapping[CommitPath, Iterable[int]]
    ) -> dict[CommitPath, list[int]]:
        """The lines whose commit names no author and that were not traced yet."""
        unstated: dict[CommitPath, list[int]] = {}
        unknown = line_authors.build_nobody("unknown")
        for name, lines in places.items():
            if self.is_before(name[0]):
                continue
            place = self.get_place(*name)
            lacking = {n for n in lines if place.stated.get(n, unknown)["who"] == "unknown"}
            untraced = lacking.difference(place.before)
            if untraced:
                unstated[name] = sorted(untraced)
        return unstated

    @cached_property
    def beginning(self) -> int:
        """When the first thing was recorded, in s since 1970."""
        stores = self.readers.memo.list_stores()
        return find_beginning(self._repo, self.readers.periods, stores, self._list_tips())

    def is_before(self, oid: str) -> bool:
        """Whether a commit is older than the first thing recorded here, and says nothing of a
        checkpoint itself: it was not recorded, and its lines are not traced."""
        if oid not in self._before:
            self._before[oid] = bool(oid.strip("0")) and self._judge_age(oid)
        return self._before[oid]

    def _judge_age(self, oid: str) -> bool:
        commit = self.get_commit(oid)
        idents = commit.about.author, commit.about.committer
        times = [parse_ident(ident)[1] for ident in idents]
        if max(times) >= self.beginning or commit.named.list_all():
            return False
        return not commit.note and not self.readers.attested.has_note(oid)

    def sign_commit(self, oid: str) -> bytes:
        """What a commit's own lines depend on besides its contents: its checkpoints as they are
        here, its notes, and who wrote what they do not tell."""
        commit = self.get_commit(oid)
        readers = self.readers
        trees = [(name, readers.recorded.find_tree(name)) for name in commit.named.list_all()]
        notes = [readers.notes.find_oid(oid), readers.attested.find_oid(oid)]
        nobody = self.find_default_author(oid)
        return make_key(trees, notes, nobody["who"], nobody["agent"], self.is_before(oid))

    def prefetch_signs(self, oids: Sequence[str], changes: Iterable[Change] = ()) -> None:
        """Read in bulk what sign_commit() needs; changes: what is known of these commits."""
        for change in changes:
            self.get_commit(change["oid"]).note_about(tell_about(change))
        lacking = [oid for oid in oids if not self.get_commit(oid).is_read()]
        self._repo.objects.ahead.fetch(lacking)
        self.readers.prefetch_notes(oids)
        names: list[str] = []
        for oid in oids:
            names += self.get_commit(oid).named.linked
        self._repo.objects.ahead.fetch(self.readers.recorded.places.list_unread_shards(names))

    def list_sources(self, change: Change) -> set[str] | None:
        """The commits that the lines of a commit were traced to; None if no line was traced."""
        sources: set[str] | None = None
        for patch in change["patches"]:
            place = self._places.get((change["oid"], patch["path"]))
            if place is not None and place.before:
                sources = sources or set()
                sources |= place.sources
        return sources

    def _walk(self, places: Collection[CommitPath]) -> None:
        if len({path for _, path in places}) > _MOST:
            self._earlier.walk_all(self._list_tips)
            self._earlier.read_renames(places)
        else:
            self._earlier.walk(places)

    def _name_author(self, commit: str, about: About | None = None) -> str:
        """A name that is the same for commits whose unrecorded lines have the same author; one with
        records has a name of its own.  about: what the commit says."""
        if commit not in self._names:
            if about:
                self.get_commit(commit).note_about(about)
            self._names[commit] = self._choose_name(commit)
        return self._names[commit]

    def _choose_name(self, oid: str) -> str:
        readers = self.readers
        commit = self.get_commit(oid)
        readers.memo.note_ids(commit.named.list_all())
        if readers.attested.has_note(oid) or any(map(readers.recorded.has_place, commit.ids)):
            return oid
        nobody = self.find_default_author(oid)
        return f"{nobody['who']} {nobody['agent']}"

    def _list_tips(self) -> list[str]:
        head = None
        if [*self.revisions] == ["HEAD"]:
            head = refs.read_head(self._repo)
        if head:
            return [head]
        names = self._repo.git.read_records("rev-parse", "--revs-only", *self.revisions, sep=b"\n")
        return [decode_name(name) for name in names if not name.startswith(b"^")]

    def find_author(
        self, commit: str, path: str, line: int, content: bytes | None = None
    ) -> Author:
        """Who wrote a line (1-based) of path in commit; build_nobody() if that is not known.

        content: how the line reads now.  If it reads otherwise in the commit, white space aside,
        git has only guessed where it came from, and its author is unknown.
        """
        author = self.find_line_authors(commit, path).get(line)
        if author is None and (commit, path) in self._cut:
            return line_authors.build_nobody("unknown")
        if author is None:
            return self._find_silent(commit, path) or self.find_default_author(commit)
        if content is not None:
            lines = self.get_place(commit, path).content
            if not 0 < line <= len(lines) or lines[line - 1].split() != content.split():
                return line_authors.build_nobody("unknown")
        return author

    def find_time(self, entry: BlameEntry, author: Author) -> int | None:
        """When a line was committed, or, if it is not, written, in seconds since 1970; None if
        that is not known.  author: the result of find_author()."""
        if entry.is_committed:
            return int(dict(entry.headers).get(b"committer-time", b"0")) or None
        if author["who"] == "unknown":  # the line may be another one than in the journal
            return None
        return self.get_place(entry.oid, entry.path).times.get(entry.orig, 0) // 10**9 or None

    def find_default_author(self, commit: str) -> Author:
        """The author of a commit's lines for which nothing is recorded.

        "unknown" if the commit has a checkpoint, or lines by a session of another repository; else
        "person" if its author recorded his work at that time, and "unrecorded" if he did not, if
        the commit names an agent, or if a forge made it.
        """
        if commit not in self._defaults:
            self._defaults[commit] = self._judge_commit(commit)
        return self._defaults[commit]

    def _judge_commit(self, oid: str) -> Author:
        commit = self.get_commit(oid)
        if not oid.strip("0"):
            return line_authors.build_nobody("person")
        if commit.ids or links.has_unknown(commit.note):
            return line_authors.build_nobody("unknown")
        about = commit.about
        name, seconds = parse_ident(about.author)
        agent = line_authors.find_attested_agent(name, about.message)
        mail = name.rpartition("<")[2].rstrip(">")
        is_told = line_authors.covers_range(self.readers.periods, mail, seconds)
        if agent or not is_told or line_authors.is_forge(about.committer):
            return {**line_authors.build_nobody("unrecorded"), "agent": agent}
        return line_authors.build_nobody("person")

    def find_line_authors(self, commit: str, path: str) -> LineAuthors:
        """The authors of the lines of path in commit: those that are recorded, else those that a
        note of Git AI attests, else those of the earlier lines that they are traced to."""
        place = self.get_place(commit, path)
        if place.authors is None and not commit.strip("0"):
            lines = self._read_uncommitted(path)
            place.take_open(lines, self._leave_silent(place, lines.authors))
        elif place.authors is None:
            self._credit_place(place)
        return place.authors or {}

    def _credit_place(self, place: CommittedPath) -> None:
        """Find the authors of the lines of a path in a commit."""
        sources: set[str] = set()
        earlier: LineAuthors = {}
        for n, spot in place.before.items():
            if spot:
                origin = self._find_origin((place.commit.oid, place.path, n))
                sources.add(origin[0])
                earlier[n] = self._find_origin_author(origin)
        authors = {**self._leave_silent(place, place.stated), **earlier}
        if not self._proven_alone:
            authors |= self._find_neighbours(place, earlier)
        place.credit(authors, sources)

    def _find_origin_author(self, origin: Spot) -> Author:
        """The author of a line where it was put in."""
        commit, path, line = origin
        stated = self.get_place(commit, path).stated.get(line)
        return stated or self._find_silent(commit, path) or self.find_default_author(commit)

    def _find_neighbours(self, place: CommittedPath, earlier: LineAuthors) -> LineAuthors:
        """The authors of lines that only their neighbours prove.  earlier: of the lines that were
        traced."""
        if not place.hunks or not place.recorded:
            return {}
        nobody = self._find_silent(place.commit.oid, place.path)
        if nobody is not None or self.find_default_author(place.commit.oid)["who"] != "unknown":
            return {}
        new = line_authors.list_new_lines(place.hunks)
        lacking = [n for n in new if n not in place.stated or place.stated[n]["who"] == "unknown"]
        if not lacking:
            return {}
        others = {n for n, author in earlier.items() if author["who"] != "unknown"}
        taken = {n for n, author in place.stated.items() if author["who"] != "unknown"}
        return neighbours.find_neighbours(
            place.hunks, place.recorded, place.beside, others | taken, place.content
        )

    def _leave_silent(self, place: CommittedPath, authors: LineAuthors) -> LineAuthors:
        """The authors of lines at a place; of those that no session wrote, none is a person's where
        a conversation may have written them of which no hook has heard."""
        nobody = self._find_silent(place.commit.oid, place.path)
        if nobody is None:
            return authors
        left = dict.fromkeys(line_authors.list_new_lines(place.hunks or ()), nobody)
        for n, author in authors.items():
            if author["who"] == "person":
                left[n] = nobody
            else:
                left[n] = author
        return left

    def _find_silent(self, commit: str, path: str) -> Author | None:
        """The author of lines that a conversation may have written of which no hook has heard;
        None if there is no such conversation."""
        if not self.readers.unheard.sessions:
            return None
        if commit.strip("0"):
            one = self.get_commit(commit).find_unheard(path)
        else:
            one = self.readers.unheard.find_author(path, uncommitted.date_change(self._repo, path))
        if one is None:
            return None
        agent = agents.get_agent_type(one.client)
        return {**line_authors.build_nobody("unknown"), "agent": agent}

    def _find_origin(self, spot: Spot) -> Spot:
        """The earliest known place of a line.  A line that only moved between commits of which
        nothing is known stays with the last of them: nothing is to be learned from the others."""
        chain = {spot: None}
        while True:
            before = self.get_place(*spot[:2]).before.get(spot[2])
            if not (before and before not in chain):
                break
            chain[before] = None
            spot = before
        spots = [*chain]
        while len(spots) > 1 and all(self._name_author(s[0]) in UNTOLD for s in spots[-2:]):
            spots.pop()
        return spots[-1]

    def list_silent_lines(self, commit: str, path: str, oid: str) -> set[int]:
        """The lines (1-based) of a blob that a linked commit added at path without an author."""
        if not self.get_commit(commit).ids:
            return set()
        place = self.get_place(commit, path)
        before = self._read_lines(self.get_place(f"{commit}^", path).oid)
        after = self._read_lines(place.oid)
        _, added = pairing.find_changed_lines(before, after)
        silent = set(added).difference([line - 1 for line in place.recorded])
        pairs = pairing.pair_lines(after, self._read_lines(oid))
        return {j + 1 for i, j in pairs if i in silent}

    def _read_lines(self, oid: str | None) -> list[bytes]:
        return line_evidence.split_lines(self.readers.read_blob(oid))

    def guess_author(self, commit: str, path: str) -> Author | None:
        """The only session that touched path, as a guess at the author of an unknown line of a
        linked commit; it is shown as a guess and not stored."""
        records = [
            r for r in self.get_commit(commit).records if path in recorded.list_touched_paths(r)
        ]
        if len({record["session_id"] for record in records}) != 1:
            return None
        files = records[-1]["metadata"].get("files")
        file = None
        if isinstance(files, dict):
            file = files.get(path)
        turn = None
        if isinstance(file, dict):
            turn = file.get("turn_id")
        return line_authors.build_author(records[-1], str(turn or ""), None)

    def forget(self) -> None:
        """Keep what was found, and forget what was read, so that memory does not grow with the
        number of commits."""
        self.readers.memo.save()
        for part in (self.readers.recorded, self.readers.attested, self._earlier):
            part.forget()
        self._commits.clear()
        self._names.clear()
        self._defaults.clear()
        self._before.clear()
        self._places.clear()

    def _read_uncommitted(self, path: str) -> OpenLines:
        """The authors of the lines of path in the worktree."""
        content = None
        if self._journalled:
            content = uncommitted.read_content(self._repo, path)
        if content is None:
            return uncommitted.OpenLines()
        credited = self.credit_content(path, content, self._open_lines.get(path))
        # A content too large to be compared has no content.lines.
        lines = self._repo.objects.need(content.oid, "blob").split(b"\n")
        return uncommitted.OpenLines(credited.authors, credited.times, lines)

    def credit_content(
        self, path: str, content: Version, lines: Collection[int] | None = None
    ) -> OpenLines:
        """The authors of the lines of a content that is not committed.  content: of path, whose
        blob can be read.  lines: those that are asked, from 1 on; None for all."""
        name = history.name_writer
        committed = history.History(self._repo, self.blame_lines, "HEAD", name=name)
        find = committed.find_authors
        edited = uncommitted.find_authors(self._repo, path, content, find, lines)
        ids = uncommitted.list_brought_ids(self._repo, path, content.oid)
        self.readers.recorded.prefetch(ids)
        records = self.readers.recorded.read_all_records(ids)
        brought = self.readers.credit_blob(records, path, content.oid)
        authors = line_authors.prefer_sessions(edited.authors, brought)
        return uncommitted.OpenLines(authors, edited.times, content.lines)
