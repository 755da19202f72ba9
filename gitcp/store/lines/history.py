"""The authors of lines that were committed before, by the checkpoints of those commits.

The journal has only unsettled edits.  The authors of a content that was committed, and then moved
or restored, are those that blame finds.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import contextmanager

from gitcp.console import options
from gitcp.core import blame_format, line_replay, linking, patches
from gitcp.core.credit import PERSON, UNKNOWN
from gitcp.core.linking import remove_space
from gitcp.errors import USAGE, Error, GitError, UsageError
from gitcp.git import AS_UTF8
from gitcp.record import decode_name, encode_name
from gitcp.store import refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gitcp.core.blame_format import BlameEntry, Options
    from gitcp.core.line_authors import Author
    from gitcp.core.patches import Change, Patch
    from gitcp.core.record_types import Writer
    from gitcp.git import Git
    from gitcp.repo import Repo
    from gitcp.running import Running
    from gitcp.store.lines.evidence import Evidence

    Blamed = tuple[list[BlameEntry], bytes]  # and the output behind them
    Place = tuple[str, str]  # commit, path
    Spot = tuple[str, str, int]  # commit, path, line from 1: where the commit put it in
    About = tuple[str, str, bytes]  # of a commit: author, committer, message
    Classify = Callable[[str, About], str]
    Step = tuple[str, str, str, bool]  # path, blob before, blob after, whether by a merge


# Running `git blame` and `git log -p`, and reading their output.


def start_blame(git: Git, options: Options) -> Callable[[], Blamed]:
    """Start `git blame` in the requested format, by default porcelain; return a function that waits
    for its result."""
    form = f"--{blame_format.choose_format(options) or 'porcelain'}"
    finish = _start_git(git, options["names"], form, *options["given"])
    return lambda: blame_format.parse_porcelain(finish())


def run_blame(git: Git, options: Options) -> Blamed:
    """The entries of `git blame` with the person's arguments, and the output behind them.

    git runs in its Git's directory.  Raises Error with git's message.
    """
    return start_blame(git, options)()


def read_table(git: Git, options: Options) -> bytes:
    """The output of `git blame` with the person's arguments, for eyes.  Raises Error as
    run_blame() does."""
    return _start_git(git, options["names"], *options["given"])()


def group_by_place(entries: Iterable[BlameEntry]) -> dict[tuple[str, str], list[int]]:
    """(commit, path there) -> line numbers there, of entries."""
    lines: dict[tuple[str, str], list[int]] = {}
    for entry in entries:
        count = entry["count"] if entry["content"] is None else 1
        numbers = range(entry["orig"], entry["orig"] + count)
        lines.setdefault((entry["oid"], entry["path"]), []).extend(numbers)
    return lines


def map_previous_paths(entries: Iterable[BlameEntry]) -> dict[tuple[str, str], str]:
    """(commit, path there) -> path in the commit's parent, of entries that have one."""
    paths: dict[tuple[str, str], str] = {}
    for entry in entries:
        for key, value in entry["headers"]:
            if key == b"previous":
                paths[entry["oid"], entry["path"]] = decode_name(
                    patches.unquote_name(value.split(b" ", 1)[1])
                )
    return paths


def _start_git(git: Git, candidates: Sequence[str], *args: str) -> Callable[[], bytes]:
    """Start `git blame` with these arguments; return a function that waits for its output.

    candidates: the arguments that may be the file, which git need not track."""
    # Filters and textconv are the person's.
    options = "-c", "core.useReplaceRefs=false", *AS_UTF8, "blame"
    running = git.start(*options, *map(encode_name, args), filters=True)

    def finish() -> bytes:
        try:
            return _finish_git(running)
        except Error as refused:
            with _add_to_index(git, candidates) as env:
                if not env:
                    raise refused from None
                again = git.start(*options, *map(encode_name, args), env=env, filters=True)
                return _finish_git(again)

    return finish


@contextmanager
def _add_to_index(git: Git, candidates: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the environment with a copy of the index to which the untracked files among candidates
    are added; {} if there are none.

    `git blame` refuses a file that neither HEAD nor the index has.  The copy lacks deleted files,
    so that git may find that one was moved to the new file.
    """
    places = [os.path.join(git.cwd, name) for name in candidates]
    files = [
        name
        for name, place in zip(candidates, places, strict=True)
        if os.path.lexists(place) and not os.path.isdir(place)
    ]
    ask = "ls-files", "-z", "--others", "--full-name", "--"
    try:
        untracked = git.read_records(*ask, *map(encode_name, files)) if files else []
    except GitError:  # a file outside the worktree
        untracked = []
    if not untracked:
        yield {}
        return
    gone = git.read_records("diff-files", "-z", "--name-only", "--diff-filter=D")
    own = git.read_line("rev-parse", "--git-path", "index")
    empty = git.read_line("hash-object", "--stdin")
    with tempfile.TemporaryDirectory(prefix="gitcp-") as folder:
        env = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        shutil.copyfile(os.path.join(os.fsencode(git.cwd), own), env["GIT_INDEX_FILE"])
        entries = b"".join(
            [b"100644 %s\t%s\0" % (empty, path) for path in untracked]
            + [b"0 %s\t%s\0" % (b"0" * len(empty), path) for path in gone]
        )
        command = "-c", "core.splitIndex=false", "update-index", "-z", "--index-info"
        git.run(*command, stdin=entries, env=env)
        yield env


def _finish_git(running: Running) -> bytes:
    try:
        return running.finish()[1]
    except GitError as e:
        if e.git_status == USAGE:
            usage = str(e.shorten()).replace("usage: git ", "no file given\nusage: gitcp ", 1)
            raise UsageError(usage.removeprefix("error: ")) from None
        raise e.shorten() from None


def read_margins(
    git: Git, options: Options, entries: Sequence[BlameEntry]
) -> list[tuple[bytes, bytes]]:
    """(git's text before the author, git's text between number and content) of each line: colours,
    scores and marks."""
    width = len(str(max((entry["final"] for entry in entries), default=0)))
    margins = []
    lines = _start_git(git, options["names"], *options["given"], "-s")().split(b"\n")
    for line, entry in zip(lines, entries, strict=False):
        end = len(line) - len(entry["content"] or b"")
        number = b" %*d) " % (width, entry["final"])
        start = line.rindex(number, 0, end)
        margins.append((line[:start], line[start + len(number) : end]))
    return margins


def find_asked_path(repo: Repo, git: Git, options: Options, entries: Sequence[BlameEntry]) -> bytes:
    """The path of the blamed file, from the top of the worktree."""
    top = repo.top or "."
    prefix = os.path.relpath(os.path.realpath(git.cwd), os.path.realpath(top))
    args = [os.path.normpath(os.path.join(prefix, name)) for name in options["names"]]
    paths = {entry["path"] for entry in entries}
    # `<rev> <file>`, or `<file> <rev>`, which git accepts too.
    likely = [a for a in reversed(args) if a in paths or os.path.lexists(os.path.join(top, a))]
    return encode_name((likely or args or [""])[0])


_LOG = """log --no-color --no-follow --no-show-signature --no-notes -p -U0 -M --root --full-index
--inter-hunk-context=0 --src-prefix=a/ --dst-prefix=b/ --no-ext-diff --no-textconv
--submodule=short --no-color-moved""".split()


def read_changes(repo: Repo, args: Sequence[str | bytes]) -> Iterator[Change]:
    """Yield the commits of `git log` with these arguments.

    Merges have no patches, unless an argument asks for them.  Raises Error with git's message for
    a bad revision.
    """
    try:
        yield from patches.parse_commits(
            repo.git.stream_records(*_LOG, *patches.FORMAT, *args, sep=b"\n")
        )
    except GitError as e:
        raise e.shorten() from None


def read_path_changes(repo: Repo, commits: Sequence[str], paths: Sequence[bytes]) -> list[Change]:
    """The changes of these commits (full oids) in these paths, by one process of git."""
    options = *_LOG, *patches.FORMAT, "--no-walk=unsorted", "--stdin"
    args: tuple[str | bytes, ...] = (*options, "--", *paths)
    _, out = repo.git.run(*args, stdin="\n".join(commits).encode() + b"\n")
    return list(patches.parse_commits(out.split(b"\n")))


def compare_trees(repo: Repo, base: str, tip: str) -> list[Patch]:
    """The patches from base to tip, which are commits or trees."""
    args = "diff-tree", "-r", *_LOG[1:], "--end-of-options", base, tip, "--"
    return patches.parse_patches(repo.git.stream_records(*args, sep=b"\n"))


# Lines that a commit adds but did not write: it formatted, moved or restored them.
#
# git finds where a line was before its white space changed or it moved within its file.  A commit
# that reverts another one, or gives a path a content that it had before, wrote nothing.  A linked
# commit did not write a line that an earlier content had, unless its checkpoints name an author.
_REVERTS = re.compile(rb"^This reverts commit ([0-9a-f]{40,64})\b", re.M)
# git follows a moved line only if it has enough letters and digits.
_FOLLOW = ("-w", f"-M{linking.SIGNIFICANT}", "--ignore-revs-file=", "--no-textconv")
_RAW = "log --raw -z --no-abbrev --no-renames --no-show-signature --no-notes".split()
_WHOLE = "-c", "--topo-order", "--format=%x02%H%x00%an <%ae> %at%x00%cn <%ce>%x00%B%x00"
_RANGES = 200  # of lines in the arguments of one git
_ALL = ("", "")
_VERSIONS = 20  # of a path that are read before a commit


class Writers:
    """Who changed which path in a history.  complete: whether all of it was read."""

    def __init__(self) -> None:
        self.complete = False
        self._places: dict[str, tuple[int, str]] = {}  # commit -> its number, its author
        # Path -> author -> the number of his oldest commit that changes it.
        self._oldest: dict[str, dict[str, int]] = {}
        # New path -> paths that went in the same commit, where git may find its lines.
        self._sources: dict[str, set[str]] = {}
        self._reverted: dict[str, list[str]] = {}  # commit -> those that it says it reverts

    def take(self, commit: str, author: str, message: bytes, changes: Sequence[Step]) -> None:
        """Add the next older commit.  author: a name that is the same for commits whose lines have
        the same author."""
        number = len(self._places)
        self._places[commit] = number, author
        if reverted := list_reverted(message):
            self._reverted[commit] = reverted
        gone = [path for path, _, new, _ in changes if not new.strip("0")]
        for path, old, _, _ in changes:
            self._oldest.setdefault(path, {})[author] = number
            if gone and not old.strip("0"):
                self._sources.setdefault(path, set()).update(gone)

    def may_matter(self, commit: str, path: str) -> bool:
        """Whether a line that a commit adds at a path may have another author before it."""
        if not self.complete or commit not in self._places:
            return True
        number, author = self._places[commit]
        reverted = self._reverted.get(commit, ())
        if any(self._places.get(other, (0, ""))[0] <= number for other in reverted):
            return True  # the lines are from outside its history
        paths, visited = [path], {path}
        while paths:
            path = paths.pop()
            older = self._oldest.get(path, {}).items()
            if any(other != author and oldest > number for other, oldest in older):
                return True
            new = self._sources.get(path, set()) - visited
            visited |= new
            paths += new
        return False


def list_reverted(message: bytes) -> list[str]:
    """The commits (full oids) that a message says its commit reverts."""
    return [decode_name(oid) for oid in _REVERTS.findall(message)]


class Earlier:
    """Finds where lines were before; each history is read once until forget()."""

    def __init__(self, repo: Repo, like: Earlier | None = None) -> None:
        """like: another Earlier, with which this one shares the histories."""
        self._repo = repo
        # The blobs that more than one commit gave a path; the commits need not be ancestors.
        self._repeated: dict[Place, str] = like._repeated if like else {}
        # The places whose histories are read; _ALL: every history.
        self._read: set[Place] = like._read if like else set()
        self._writers: Writers = like._writers if like else Writers()

    def walk_all(self, tips: Callable[[], Sequence[str]], classify: Classify) -> None:
        """Find the commits of whole histories that give a path a content that it had before, and
        who changed each path.

        classify: (commit, its author, committer and message) -> a name that is the same for
        commits whose lines have the same author.
        """
        if _ALL in self._read:
            return
        self._read.add(_ALL)
        newest: dict[tuple[str, str], Place] = {}
        try:
            for commit, about, changes in self._read_commits(tips()):
                self._writers.take(commit, classify(commit, about), about[2], changes)
                for path, _, oid, merged in changes:
                    newer = newest.setdefault((path, oid), (commit, path))
                    if newer[0] != commit and not merged:
                        self._repeated[newer] = self._repeated[commit, path] = oid
            self._writers.complete = True
        except GitError:
            pass  # a part of the history is not here

    def _read_commits(self, tips: Sequence[str]) -> Iterator[tuple[str, About, list[Step]]]:
        """Yield (commit, what it says, its changes) for each commit, newest first."""
        args: list[str | bytes] = ["--end-of-options", *map(encode_name, tips), b"--"]
        tokens = self._repo.git.stream_records(*_RAW, *_WHOLE, *args)
        row: tuple[str, About, list[Step]] | None = None
        for token in tokens:
            if token.startswith(b"\x02"):
                if row:
                    yield row
                author, committer = decode_name(next(tokens)), decode_name(next(tokens))
                row = decode_name(token[1:]), (author, committer, next(tokens)), []
            elif row and (fields := token.lstrip(b"\n")).startswith(b":"):
                old, new = (decode_name(oid) for oid in fields.split(b" ")[-3:-1])
                row[2].append((decode_name(next(tokens)), old, new, fields.startswith(b"::")))
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
        significant = {remove_space(line) for line in linking.select_significant({*lines})}
        return bool(significant) and not significant.isdisjoint(
            map(remove_space, self._read_lines(commit, path))
        )

    def _list_sources(self, place: Place, message: bytes) -> Iterator[str]:
        """The commits whose lines a commit may restore at a path."""
        for reverted in list_reverted(message):
            yield f"{reverted}^"
        oid = self._repeated.get(place, "")
        if oid.strip("0"):
            versions = self._list_versions(place, f"--find-object={oid}")
            yield from [commit for commit, blob in versions if blob == oid][:1]

    def _find_returned(
        self, place: Place, lines: set[int], content: Sequence[bytes]
    ) -> dict[int, Spot]:
        """line -> the earlier place of lines that an earlier content of the path had."""
        telling = linking.select_significant({content[n - 1] for n in lines})
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
        pairs = line_replay.pair_similar_lines(self._read_lines(source, place[1]), content)
        in_source = {j + 1: i + 1 for i, j in pairs if j + 1 in set(lines)}
        return self._find_blamed(source, place[1], in_source) if in_source else {}

    def _find_blamed(self, commit: str, path: str, lines: Mapping[int, int]) -> dict[int, Spot]:
        """key -> where git says that a line was added, white space and moves aside; lines: key ->
        line in commit."""
        ranges = [f"-L{start},{end}" for start, end in line_replay.group_runs(lines.values())]
        args = [*_FOLLOW, *(ranges if len(ranges) <= _RANGES else ()), commit, "--", path]
        try:
            entries, _ = run_blame(self._repo.git, blame_format.parse_arguments(args))
        except Error as e:
            if self._repo.config.get("blame.ignorerevsfile"):
                options.warn_lacking(f"moved and formatted lines count as new: {e}")
            return {}
        spots = {e["final"]: (e["oid"], e["path"], e["orig"]) for e in entries}
        return {key: spots[line] for key, line in lines.items() if line in spots}

    def _read_lines(self, commit: str, path: str) -> Sequence[bytes]:
        blob = self._repo.objects.read(f"{commit}:{path}")
        return line_replay.split_lines(blob[2]) if blob and blob[1] == "blob" else ()


_MOST = 100  # commits that HEAD was at


class History:
    """The authors of committed contents; each content is blamed once."""

    def __init__(self, repo: Repo, evidence: Evidence, parent: str, excluded: str = "") -> None:
        """parent: the commit that is searched first; excluded: a commit that is not searched."""
        self._repo, self._evidence = repo, evidence
        self._parent, self._excluded = parent, excluded
        self._commits: list[str] | None = None
        self._authors: dict[tuple[str, str], dict[int, Writer]] = {}
        self.checkpoints: dict[
            Writer, str
        ] = {}  # of the sessions among all authors that were found

    def find_authors(self, path: str, oid: str, commit: str = "") -> dict[int, Writer]:
        """The authors, by index, of the lines of a blob at a path; {} if no recent HEAD has it
        there.  commit: one that has it."""
        key = path, oid
        if key not in self._authors:
            commit = commit or self._find_commit(path, oid) or ""
            self._authors[key] = self._blame_content(commit, path) if commit else {}
        return self._authors[key]

    def _find_commit(self, path: str, oid: str) -> str | None:
        if not oid:
            return None
        if self._commits is None:
            newest = reversed(refs.list_head_moves(self._repo))
            heads = [head for _, head, _ in newest][:_MOST]
            commits = dict.fromkeys([self._parent, *heads])
            self._commits = [c for c in commits if c.strip("0") and c != self._excluded]
        specs = {f"{commit}:{path}": commit for commit in self._commits}
        oids = self._repo.objects.ahead.resolve(specs)
        return next((commit for spec, commit in specs.items() if oids[spec] == oid), None)

    def _blame_content(self, commit: str, path: str) -> dict[int, Writer]:
        try:
            rows = self._evidence.blame_lines(
                self._repo.git, blame_format.parse_arguments([commit, "--", path])
            )
        except Error:
            return {}
        self.checkpoints |= map_checkpoints(author for _, author in rows)
        return {row["final"] - 1: make_writer(author) for row, author in rows}


def map_checkpoints(authors: Iterable[Author]) -> dict[Writer, str]:
    """writer -> checkpoint of the authors that have one."""
    return {make_writer(a): a["checkpoint_id"] for a in authors if a["checkpoint_id"]}


def make_writer(author: Author) -> Writer:
    """The writer that the journal has for an author of a line."""
    if author["who"] == "session":
        return author["session_id"], author["turn_id"], author["tool_use_id"] or ""
    return PERSON if author["who"] == "person" else UNKNOWN
