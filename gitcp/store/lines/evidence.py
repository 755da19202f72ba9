"""The authors of the lines of commits, by what their checkpoints recorded."""

from __future__ import annotations

from gitcp.core.blame import porcelain
from gitcp.core.lines import alignment, authors, line_diff, recording
from gitcp.record import decode_name, encode_name
from gitcp.store.git import notes
from gitcp.store.git.commit import parse_ident, read_commit
from gitcp.store.lines import history, recorded, run, uncommitted
from gitcp.store.lines.earlier import Earlier
from gitcp.store.lines.recorded import Attested
from gitcp.store.lines.recording import read_periods
from gitcp.store.v1 import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.core.blame.options import Options
    from gitcp.core.blame.porcelain import Entry
    from gitcp.core.git.patches import Change, Hunk
    from gitcp.core.lines.authors import Author, Record
    from gitcp.git import Git
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched

    LineAuthors = dict[int, Author]  # by 1-based line
    Place = tuple[str, str]  # commit, path
    Spot = tuple[str, str, int]  # commit, path, line from 1
    # The new lines, the path in the parent, whether a removed line may read the same.
    New = tuple[Sequence[int], str, bool]

_MOST = 50  # paths whose histories are read one by one; with more, the whole history is read


class Evidence:
    """The authors of lines by commit and path; each checkpoint and blob is read once."""

    def __init__(
        self,
        repo: Repo,
        objects: Prefetched,
        worktree: bool = True,
        revisions: Sequence[str] = ("HEAD",),
        like: Evidence | None = None,
    ) -> None:
        """worktree: whether the zero commit means the worktree, whose edits the journal has.
        revisions: the range of the commits that prefetch_changes() gets.  like: another Evidence,
        with which this one shares what it reads of whole histories."""
        self._repo, self._objects = repo, objects
        self._journalled, self._revisions = worktree, revisions
        self.recorded = recorded.Recorded(repo, objects)
        self._notes = notes.Reader(objects)
        self._attested = Attested(objects)
        self._earlier: Earlier = Earlier(repo, objects, like._earlier if like else None)
        self._periods: recording.Periods | None = like._periods if like else None
        self._makers: dict[str, tuple[str, bytes]] = {}  # author, message of commits
        self._named: dict[str, list[str]] = {}
        self._records: dict[str, Sequence[Record]] = {}
        self._oids: dict[str, str | None] = {}  # of blobs, by `<commit>:<path>`
        self._hunks: dict[Place, Sequence[Hunk]] = {}
        self._lines: dict[Place, LineAuthors] = {}
        self._stated: dict[Place, LineAuthors] = {}
        self._authors: dict[Place, LineAuthors] = {}
        self._before: dict[Place, dict[int, Spot | None]] = {}  # where lines were; None: nowhere
        self._contents: dict[str, list[bytes]] = {}
        self._worktree: dict[str, tuple[LineAuthors, Sequence[bytes]]] = {}

    def prefetch(self, entries: Sequence[Entry], contents: bool = False) -> None:
        """Read in bulk what find_author() needs for these lines.

        contents: whether it will get the contents of the lines."""
        places = run.group_by_place(entries)
        self._prefetch(places, contents)
        commits = {commit for commit, _ in places if commit.strip("0")}
        single = {commit for commit in commits if not self._is_merge(commit)}
        if unstated := self._list_unstated({p: places[p] for p in places if p[0] in single}):
            # All lines that the commit adds are traced, as for its patch: git finds a moved line
            # among all the lines that it is asked about.
            previous = run.map_previous_paths(entries)
            paths = [path for p in unstated for path in (p[1], previous.get(p)) if path]
            new = self._map_new_lines(self._read_changes([c for c, _ in unstated], paths))
            # A line may be a copy of one that stays; for a single file there is time to look.
            self._trace_lines({p: (*new[p][:2], True) for p in unstated if p in new})

    def blame_lines(
        self, git: Git, options: Options, contents: bool = False
    ) -> list[tuple[Entry, Author]]:
        """The lines of `git blame`, with all headers, each with its author.

        contents: whether a line may read differently in the commit that it came from.
        """
        entries = porcelain.complete(run.run_blame(git, options)[0])
        self.prefetch(entries, contents)
        credited = []
        for entry in entries:
            about = entry["oid"], entry["path"], entry["orig"]
            author = self.find_author(*about, entry["content"] if contents else None)
            credited.append((entry, author))
        return credited

    def _is_merge(self, commit: str) -> bool:
        parsed = read_commit(self._objects, commit) if commit.strip("0") else None
        return len(parsed["parents"] if parsed else ()) > 1

    def _prefetch(self, places: Mapping[Place, Iterable[int]], contents: bool = False) -> None:
        committed = [place for place in places if place[0].strip("0")]
        commits = list(dict.fromkeys(commit for commit, _ in committed))
        self._objects.fetch(commits)
        self._fetch_notes(commits)
        self.recorded.prefetch(i for commit in commits for i in self._list_ids(commit))
        specs = [f"{commit}:{path}" for commit, path in committed if self.read_records(commit)]
        self._oids |= self._objects.resolve(specs)
        if contents:
            self._objects.fetch(oid for spec in specs if (oid := self._oids.get(spec)))
        self._align([place for place in committed if self._lacks(place, places[place])])

    def prefetch_changes(self, window: Sequence[Change]) -> None:
        """Read in bulk what find_line_authors() needs for these commits."""
        self._fetch_notes([change["oid"] for change in window])
        for change in window:
            self._makers[change["oid"]] = change["author"], change["message"]
            oid, note = change["oid"], self._notes.read_note(change["oid"]) or b""
            self._named[oid] = find_commits.find_ids(change["message"], note, self.recorded.places)
            for patch in change["patches"]:
                if patch["hunks"]:
                    self._oids[f"{oid}:{patch['path']}"] = patch["oid"]
                    self._hunks[oid, patch["path"]] = patch["hunks"]
        self.recorded.prefetch(i for change in window for i in self._named[change["oid"]])
        self._trace_lines(self._map_new_lines(window))

    def _map_new_lines(self, changes: Iterable[Change]) -> dict[Place, New]:
        """What _trace_lines() needs of commits that are no merges."""
        return {
            (change["oid"], patch["path"]): (
                alignment.list_new_lines(patch["hunks"]),
                patch["old"],
                patch["alike"] or self.is_linked(change["oid"]),
            )
            for change in changes
            for patch in change["patches"]
            if patch["hunks"] and patch["path"] and len(change["parents"]) < 2
        }

    def _trace_lines(self, places: Mapping[Place, New]) -> None:
        """Find where lines were before, if their own commits do not tell their authors."""
        pending = self._list_unstated({place: lines for place, (lines, _, _) in places.items()})
        while pending:
            self._walk(pending)
            origins: dict[Place, list[int]] = {}
            for place, lines in pending.items():
                _, previous, alike = places.get(place, ((), "", False))
                about = previous, alike, self.is_linked(place[0]), self._read_maker(place[0])[1]
                spots = self._earlier.find_spots(place, lines, *about)
                self._before.setdefault(place, {}).update({n: spots.get(n) for n in lines})
                self._authors.pop(place, None)
                for commit, path, line in spots.values():
                    origins.setdefault((commit, path), []).append(line)
            self._prefetch(origins)
            pending = self._list_unstated(origins)

    def _list_unstated(self, places: Mapping[Place, Iterable[int]]) -> dict[Place, list[int]]:
        """The lines whose commit names no author and that were not traced yet."""
        unstated: dict[Place, list[int]] = {}
        unknown = authors.build_nobody("unknown")
        for place, lines in places.items():
            stated, traced = self._find_stated_authors(*place), self._before.get(place, ())
            lacking = {n for n in lines if stated.get(n, unknown)["who"] == "unknown"}
            if untraced := lacking.difference(traced):
                unstated[place] = sorted(untraced)
        return unstated

    def _find_stated_authors(self, commit: str, path: str) -> LineAuthors:
        """The authors of lines that are recorded, else those that a note of Git AI attests."""
        place = commit, path
        if place not in self._stated:
            attested = self._attested.find_authors(commit, path)
            own = self.find_recorded_authors(commit, path)
            self._stated[place] = authors.fill_unknown(own, attested)
        return self._stated[place]

    def _walk(self, places: Collection[Place]) -> None:
        if len({path for _, path in places}) > _MOST:
            self._earlier.walk_all(self._list_tips)
        else:
            self._earlier.walk(places)

    def _list_tips(self) -> list[str]:
        names = self._repo.git.read_records("rev-parse", "--revs-only", *self._revisions, sep=b"\n")
        return [decode_name(name) for name in names if not name.startswith(b"^")]

    def find_author(
        self, commit: str, path: str, line: int, content: bytes | None = None
    ) -> Author:
        """Who wrote a line (1-based) of path in commit; build_nobody() if that is not known.

        content: how the line reads now.  If it reads otherwise in the commit, white space aside,
        git has only guessed where it came from, and its author is unknown.
        """
        author = self._find_authors(commit, path).get(line)
        if author is None:
            return self.find_default_author(commit)
        if content is not None:
            lines = self._read_content(commit, path)
            if not 0 < line <= len(lines) or lines[line - 1].split() != content.split():
                return authors.build_nobody("unknown")
        return author

    def find_default_author(self, commit: str) -> Author:
        """The author of a commit's lines for which nothing is recorded.

        "unknown" if the commit has a checkpoint; else "person" if its author recorded his work at
        that time, and "unrecorded" if he did not, or if the commit names an agent.
        """
        if not commit.strip("0"):
            return authors.build_nobody("person")
        if self.is_linked(commit):
            return authors.build_nobody("unknown")
        author, message = self._read_maker(commit)
        name, seconds = parse_ident(author)
        agent = recording.find_attested_agent(name, message)
        if self._periods is None:
            self._periods = read_periods(self._repo, self._notes)
        mail = name.rpartition("<")[2].rstrip(">")
        if agent or not recording.covers(self._periods, mail, seconds):
            return {**authors.build_nobody("unrecorded"), "agent": agent}
        return authors.build_nobody("person")

    def _read_maker(self, commit: str) -> tuple[str, bytes]:
        """The author of a commit, `Name <mail> seconds`, and its message."""
        if commit not in self._makers:
            parsed = read_commit(self._objects, commit)
            self._makers[commit] = (
                (parsed["author"], encode_name(parsed["message"])) if parsed else ("", b"")
            )
        return self._makers[commit]

    def find_line_authors(self, commit: str, path: str) -> LineAuthors:
        """The authors of the lines of path in commit: those that are recorded, else those that a
        note of Git AI attests, else those of the earlier lines that they are traced to."""
        place = commit, path
        if place not in self._authors:
            before = self._before.get(place, {})
            origins = {n: self._find_origin(spot) for n, spot in before.items() if spot}
            earlier = {
                n: self._find_stated_authors(c, p).get(line) or self.find_default_author(c)
                for n, (c, p, line) in origins.items()
            }
            self._authors[place] = {**self._find_stated_authors(commit, path), **earlier}
        return self._authors[place]

    def _find_origin(self, spot: Spot) -> Spot:
        """The earliest known place of a line."""
        visited = {spot}
        while before := self._before.get(spot[:2], {}).get(spot[2]):
            if before in visited:
                break
            visited.add(before)
            spot = before
        return spot

    def find_recorded_authors(self, commit: str, path: str) -> LineAuthors:
        """The authors of the lines of path that are recorded for commit."""
        place = commit, path
        if place not in self._lines:
            records = self.read_records(commit)
            oid = self._find_oid(commit, path) if records else None
            lines = self.credit_blob(records, path, oid) if oid else {}
            if lines and place in self._hunks:
                hunks = self._hunks[place]
                lines = alignment.align_authors(lines, hunks, lambda: self._read_content(*place))
            self._lines[place] = lines
        return self._lines[place]

    def credit_blob(self, records: Sequence[Record], path: str, oid: str) -> LineAuthors:
        """authors.credit_blob() with the blobs and checkpoints of this repository."""
        return authors.credit_blob(records, path, oid, self.read_blob, self.recorded.find_session)

    def is_linked(self, commit: str) -> bool:
        """Whether the commit names a checkpoint."""
        return bool(self._list_ids(commit))

    def has_note(self, commit: str) -> bool:
        """Whether the commit has a note of Git AI, whoever wrote it."""
        return self._attested.has_note(commit)

    def read_records(self, commit: str) -> Sequence[Record]:
        """The records of a commit's sessions; those without lines get the lines that their
        transcripts prove."""
        if commit not in self._records:
            records = self.recorded.read_all_records(self._list_ids(commit))
            about = self._repo, self._objects, commit
            self._records[commit] = recorded.complete_records(*about, records)
        return self._records[commit]

    def list_silent_lines(self, commit: str, path: str, oid: str) -> set[int]:
        """The lines (1-based) of a blob that a linked commit added at path without an author."""
        if not self.is_linked(commit):
            return set()
        oids = self._find_oid(f"{commit}^", path), self._find_oid(commit, path), oid
        before, after, blob = (line_diff.split_lines(self.read_blob(i or "")) for i in oids)
        silent = set(line_diff.find_changed_lines(before, after)[1])
        silent -= {line - 1 for line in self.find_recorded_authors(commit, path)}
        return {j + 1 for i, j in line_diff.pair_lines(after, blob) if i in silent}

    def guess_author(self, commit: str, path: str) -> Author | None:
        """The only session that touched path, as a guess at the author of an unknown line of a
        linked commit; it is shown as a guess and not stored."""
        records = [r for r in self.read_records(commit) if path in recorded.list_touched_paths(r)]
        if len({record["session_id"] for record in records}) != 1:
            return None
        files = records[-1]["metadata"].get("files")
        about = files.get(path) if isinstance(files, dict) else None
        turn = about.get("turn_id") if isinstance(about, dict) else None
        return authors.build_author(records[-1], str(turn or ""), None)

    def forget(self) -> None:
        """Forget what was read, so that memory does not grow with the number of commits."""
        for part in (self.recorded, self._attested, self._earlier):
            part.forget()
        by_commit: tuple[dict[str, Any], ...]
        by_commit = self._makers, self._named, self._records, self._oids, self._contents
        by_place: tuple[dict[Place, Any], ...]
        by_place = self._hunks, self._lines, self._stated, self._authors, self._before
        for cache in (*by_commit, *by_place):
            cache.clear()

    def _fetch_notes(self, commits: Sequence[str]) -> None:
        self._objects.fetch(oid for commit in commits if (oid := self._notes.find_oid(commit)))
        self._attested.prefetch(commits)

    def _lacks(self, place: Place, lines: Iterable[int]) -> bool:
        """Whether something is recorded for a place, but not all of lines, which are new there."""
        lines_recorded = self.find_recorded_authors(*place)
        return bool(lines_recorded) and any(line not in lines_recorded for line in lines)

    def _read_changes(self, commits: Iterable[str], paths: Iterable[str]) -> list[Change]:
        encoded = [encode_name(path) for path in dict.fromkeys(paths)]
        return run.read_path_changes(self._repo, [*dict.fromkeys(commits)], encoded)

    def _align(self, places: Sequence[Place]) -> None:
        """Read the hunks of places, by which find_recorded_authors() aligns their lines."""
        if not places:
            return
        for change in self._read_changes(*zip(*places, strict=True)):
            for patch in change["patches"]:
                self._hunks[change["oid"], patch["path"]] = patch["hunks"]
        for place in places:
            self._lines.pop(place, None)
            self._stated.pop(place, None)

    def _find_authors(self, commit: str, path: str) -> LineAuthors:
        if commit.strip("0"):
            return self.find_line_authors(commit, path)
        return self._read_uncommitted(path)[0]

    def _read_uncommitted(self, path: str) -> tuple[LineAuthors, Sequence[bytes]]:
        """The authors of the lines of path in the worktree, and these lines."""
        if path not in self._worktree:
            about = self._repo, self._objects, path
            content = uncommitted.read_content(*about) if self._journalled else None
            if content is None:
                return {}, ()
            committed = history.History(self._repo, self._objects, self, "HEAD").find_authors
            edited = uncommitted.find_authors(*about, content, committed)
            ids = uncommitted.list_brought_ids(*about, content.oid)
            self.recorded.prefetch(ids)
            brought = self.credit_blob(self.recorded.read_all_records(ids), path, content.oid)
            self._worktree[path] = authors.prefer_sessions(edited, brought), content.lines
        return self._worktree[path]

    def _list_ids(self, commit: str) -> list[str]:
        if commit not in self._named:
            texts = find_commits.read_texts(self._objects, commit, self._notes)
            self._named[commit] = find_commits.find_ids(*texts, self.recorded.places)
        return self._named[commit]

    def _find_oid(self, commit: str, path: str) -> str | None:
        spec = f"{commit}:{path}"
        if spec not in self._oids:
            self._oids |= self._objects.resolve([spec])
        return self._oids.get(spec)

    def read_blob(self, oid: str) -> bytes | None:
        """The bytes of a blob by its full oid; None if it is not here."""
        stored = self._objects.read(oid) if oid.isalnum() else None
        return stored[2] if stored and stored[1] == "blob" else None

    def _read_content(self, commit: str, path: str) -> Sequence[bytes]:
        """The lines of path in commit; [] if the blob is not here."""
        if not commit.strip("0"):
            return self._read_uncommitted(path)[1]
        oid = self._find_oid(commit, path) or ""
        if oid not in self._contents:
            data = self.read_blob(oid)
            self._contents[oid] = data.split(b"\n") if data is not None else []
        return self._contents[oid]
