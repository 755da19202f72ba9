"""Whose the lines of commits are, by what the checkpoints behind them recorded."""

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

    from gitcp.core.blame.options import Options
    from gitcp.core.blame.porcelain import Entry
    from gitcp.core.git.patches import Change, Hunk
    from gitcp.core.lines.authors import Author, Record
    from gitcp.git import Git
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched

    Known = dict[int, Author]  # by 1-based line
    Place = tuple[str, str]  # commit, path
    Spot = tuple[str, str, int]  # and a line of it, from 1
    # Lines that are new, the path in the parent, whether a line that went may read the same.
    New = tuple[Sequence[int], str, bool]

_MOST = 50  # paths whose histories are read; of more, all of it


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
        """worktree: what is not committed is the worktree's, of which the journal tells.
        revisions: a range, of which prefetch_changes() is given the commits.  like: another one,
        with which this one shares what is read of whole histories."""
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
        self._lines: dict[Place, Known] = {}
        self._stated: dict[Place, Known] = {}
        self._known: dict[Place, Known] = {}
        self._before: dict[Place, dict[int, Spot | None]] = {}  # where lines were; None: nowhere
        self._contents: dict[str, list[bytes]] = {}
        self._worktree: dict[str, tuple[Known, Sequence[bytes]]] = {}

    def prefetch(self, entries: Sequence[Entry], contents: bool = False) -> None:
        """Have at hand what author() will need of these lines: a few questions to git, however
        many they are.  contents: it will be given how they read."""
        places = run.group_by_place(entries)
        self._prefetch(places, contents)
        commits = {commit for commit, _ in places if commit.strip("0")}
        single = {commit for commit in commits if not self._is_merge(commit)}
        asked = {place: lines for place, lines in places.items() if place[0] in single}
        if unstated := self._list_unstated(asked):
            # All that such a commit puts in, as who asks of its patch does: git's search for a
            # line that moved goes by all the lines that it is asked for.
            befores = run.map_previous_paths(entries)
            names = [name for p in unstated for name in (p[1], befores.get(p)) if name]
            new = self._map_new_lines(self._changes([commit for commit, _ in unstated], names))
            # A line may be a copy of one that stays: who asks of a file can afford to look.
            self._trace_lines({p: (*new[p][:2], True) for p in unstated if p in new})

    def blame_lines(
        self, git: Git, options: Options, contents: bool = False
    ) -> list[tuple[Entry, Author]]:
        """The lines that `git blame` tells of, with all headers, each with its author.

        contents: git may tell of a line that reads differently where it came from.
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
        there = read_commit(self._objects, commit) if commit.strip("0") else None
        return len(there["parents"] if there else ()) > 1

    def _prefetch(self, places: Mapping[Place, Iterable[int]], contents: bool = False) -> None:
        wanted = [place for place in places if place[0].strip("0")]
        commits = list(dict.fromkeys(commit for commit, _ in wanted))
        self._objects.fetch(commits)
        self._fetch_notes(commits)
        self.recorded.prefetch(one for commit in commits for one in self._list_ids(commit))
        specs = [f"{commit}:{path}" for commit, path in wanted if self.read_records(commit)]
        self._oids |= self._objects.resolve(specs)
        if contents:
            self._objects.fetch(oid for spec in specs if (oid := self._oids.get(spec)))
        self._align([place for place in wanted if self._lacks(place, places[place])])

    def prefetch_changes(self, window: Sequence[Change]) -> None:
        """Have at hand what line_authors() will need of commits that git has told of."""
        self._fetch_notes([change["oid"] for change in window])
        for change in window:
            self._makers[change["oid"]] = change["author"], change["message"]
            oid, note = change["oid"], self._notes.read_note(change["oid"]) or b""
            self._named[oid] = find_commits.find_ids(change["message"], note, self.recorded.places)
            for patch in change["patches"]:
                if patch["hunks"]:
                    self._oids[f"{oid}:{patch['path']}"] = patch["oid"]
                    self._hunks[oid, patch["path"]] = patch["hunks"]
        self.recorded.prefetch(one for change in window for one in self._named[change["oid"]])
        self._trace_lines(self._map_new_lines(window))

    def _map_new_lines(self, changes: Iterable[Change]) -> dict[Place, New]:
        """What _trace() takes of commits that are no merges."""
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
        """Know where those of the lines were before of which their commit does not tell."""
        pending = self._list_unstated({place: lines for place, (lines, _, _) in places.items()})
        while pending:
            self._walk(pending)
            origins: dict[Place, list[int]] = {}
            for place, lines in pending.items():
                _, before, alike = places.get(place, ((), "", False))
                about = before, alike, self.is_linked(place[0]), self._read_maker(place[0])[1]
                spots = self._earlier.find_spots(place, lines, *about)
                self._before.setdefault(place, {}).update({n: spots.get(n) for n in lines})
                self._known.pop(place, None)
                for commit, path, line in spots.values():
                    origins.setdefault((commit, path), []).append(line)
            self._prefetch(origins)
            pending = self._list_unstated(origins)

    def _list_unstated(self, places: Mapping[Place, Iterable[int]]) -> dict[Place, list[int]]:
        """Those of the lines whose commit names nobody for them, and that were not asked for."""
        unstated: dict[Place, list[int]] = {}
        unknown = authors.build_nobody("unknown")
        for place, lines in places.items():
            stated, asked = self._find_stated_authors(*place), self._before.get(place, ())
            lacking = {n for n in lines if stated.get(n, unknown)["who"] == "unknown"}
            if left := lacking.difference(asked):
                unstated[place] = sorted(left)
        return unstated

    def _find_stated_authors(self, commit: str, path: str) -> Known:
        """The authors of lines as they are recorded, or as a note of another tool attests."""
        key = commit, path
        if key not in self._stated:
            attested = self._attested.find_authors(commit, path)
            known = self.find_recorded_authors(commit, path)
            self._stated[key] = authors.fill_unknown(known, attested)
        return self._stated[key]

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
        """Who wrote a line (1-based) of path in commit; nobody() of whom nothing is known.

        content: how the line reads now; where it reads differently in the commit, white space
        apart, blame has moved it there and nothing is known.
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
        """Whose the lines of a commit are of which nothing is known.

        "unknown" where it has a checkpoint; else "person" where what its author did then was
        recorded, and "unrecorded" where it was not, or where the commit names an agent.
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
            there = read_commit(self._objects, commit)
            known = (there["author"], encode_name(there["message"])) if there else ("", b"")
            self._makers[commit] = known
        return self._makers[commit]

    def find_line_authors(self, commit: str, path: str) -> Known:
        """The authors of the lines of path in commit: as they are recorded; where nothing is
        known, as a note of another tool attests; else as they were before."""
        key = commit, path
        if key not in self._known:
            before = self._before.get(key, {})
            origins = {n: self._find_origin(spot) for n, spot in before.items() if spot}
            earlier = {
                n: self._find_stated_authors(c, p).get(line) or self.find_default_author(c)
                for n, (c, p, line) in origins.items()
            }
            self._known[key] = {**self._find_stated_authors(commit, path), **earlier}
        return self._known[key]

    def _find_origin(self, spot: Spot) -> Spot:
        """Where a line was put in first, as far as it is known."""
        seen = {spot}
        while before := self._before.get(spot[:2], {}).get(spot[2]):
            if before in seen:
                break
            seen.add(before)
            spot = before
        return spot

    def find_recorded_authors(self, commit: str, path: str) -> Known:
        """The authors of the lines of path that are recorded for commit."""
        key = commit, path
        if key not in self._lines:
            records = self.read_records(commit)
            oid = self._find_oid(commit, path) if records else None
            known = self.credit_blob(records, path, oid) if oid else {}
            if known and key in self._hunks:
                hunks = self._hunks[key]
                known = alignment.align_authors(known, hunks, lambda: self._read_content(*key))
            self._lines[key] = known
        return self._lines[key]

    def credit_blob(self, records: Sequence[Record], path: str, oid: str) -> Known:
        """authors.credit_blob() of what is here."""
        return authors.credit_blob(records, path, oid, self.read_blob, self.recorded.find_session)

    def is_linked(self, commit: str) -> bool:
        """Whether the commit names a checkpoint."""
        return bool(self._list_ids(commit))

    def has_note(self, commit: str) -> bool:
        """Whether the commit has a note of Git AI, whoever wrote it."""
        return self._attested.has_note(commit)

    def read_records(self, commit: str) -> Sequence[Record]:
        """What the sessions of a commit's checkpoints recorded; where that is no lines, with
        those that their transcripts prove."""
        if commit not in self._records:
            records = self.recorded.read_all_records(self._list_ids(commit))
            about = self._repo, self._objects, commit
            self._records[commit] = recorded.complete_records(*about, records)
        return self._records[commit]

    def list_silent_lines(self, commit: str, path: str, oid: str) -> set[int]:
        """The lines (1-based) of a blob that a linked commit put in at path, telling nobody."""
        if not self.is_linked(commit):
            return set()
        oids = self._find_oid(f"{commit}^", path), self._find_oid(commit, path), oid
        before, after, now = (line_diff.split_lines(self.read_blob(one or "")) for one in oids)
        silent = set(line_diff.find_changed_lines(before, after)[1])
        silent -= {line - 1 for line in self.find_recorded_authors(commit, path)}
        return {j + 1 for i, j in line_diff.pair_lines(after, now) if i in silent}

    def guess_author(self, commit: str, path: str) -> Author | None:
        """Whom a line of a linked commit may be of where nothing is known: the one session that
        touched the path.  A guess: for eyes alone, and shown as one."""
        records = [r for r in self.read_records(commit) if path in recorded.list_touched_paths(r)]
        if len({record["session_id"] for record in records}) != 1:
            return None
        files = records[-1]["metadata"].get("files")
        about = files.get(path) if isinstance(files, dict) else None
        turn = about.get("turn_id") if isinstance(about, dict) else None
        return authors.build_author(records[-1], str(turn or ""), None)

    def forget(self) -> None:
        """Let go of what was read: memory stays flat however many commits are asked for."""
        self.recorded.forget()
        self._attested.forget()
        for kept in (self._named, self._records, self._oids, self._hunks, self._lines):
            kept.clear()
        self._stated.clear()
        self._makers.clear()
        self._before.clear()
        self._earlier.forget()
        for known in (self._known, self._contents):
            known.clear()

    def _fetch_notes(self, commits: Sequence[str]) -> None:
        self._objects.fetch(oid for commit in commits if (oid := self._notes.find_oid(commit)))
        self._attested.prefetch(commits)

    def _lacks(self, place: Place, lines: Iterable[int]) -> bool:
        """Whether the record of a place leaves out one of the lines that git says are new there."""
        known = self.find_recorded_authors(*place)
        return bool(known) and any(line not in known for line in lines)

    def _changes(self, commits: Iterable[str], paths: Iterable[str]) -> list[Change]:
        names = [encode_name(path) for path in dict.fromkeys(paths)]
        return run.read_path_changes(self._repo, [*dict.fromkeys(commits)], names)

    def _align(self, places: Sequence[Place]) -> None:
        if not places:
            return
        for change in self._changes(*zip(*places, strict=True)):
            for patch in change["patches"]:
                self._hunks[change["oid"], patch["path"]] = patch["hunks"]
        for place in places:
            self._lines.pop(place, None)
            self._stated.pop(place, None)

    def _find_authors(self, commit: str, path: str) -> Known:
        if commit.strip("0"):
            return self.find_line_authors(commit, path)
        return self._read_uncommitted(path)[0]

    def _read_uncommitted(self, path: str) -> tuple[Known, Sequence[bytes]]:
        """The authors of the lines of path in the worktree, and these lines."""
        if path not in self._worktree:
            about = self._repo, self._objects, path
            now = uncommitted.read_content(*about) if self._journalled else None
            if now is None:
                return {}, ()
            committed = history.History(self._repo, self._objects, self, "HEAD").find_authors
            known = uncommitted.find_authors(*about, now, committed)
            ids = uncommitted.list_brought_ids(*about, now.oid)
            self.recorded.prefetch(ids)
            more = self.credit_blob(self.recorded.read_all_records(ids), path, now.oid)
            self._worktree[path] = authors.prefer_sessions(known, more), now.lines
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
        """The bytes of a blob by its full oid; None where it is not here."""
        there = self._objects.read(oid) if oid.isalnum() else None
        return there[2] if there and there[1] == "blob" else None

    def _read_content(self, commit: str, path: str) -> Sequence[bytes]:
        """The lines of path in commit; [] where it is not here."""
        if not commit.strip("0"):
            return self._read_uncommitted(path)[1]
        oid = self._find_oid(commit, path) or ""
        if oid not in self._contents:
            data = self.read_blob(oid)
            self._contents[oid] = data.split(b"\n") if data is not None else []
        return self._contents[oid]
