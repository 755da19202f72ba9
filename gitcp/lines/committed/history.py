"""The authors of lines that were committed before, by the checkpoints of those commits.

The journal has only unsettled edits.  The authors of a content that was committed, and then moved
or restored, are those that blame finds.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from io import BytesIO
from itertools import islice

from gitcp.errors import USAGE, Error, GitError, UsageError
from gitcp.git import AS_UTF8, build_fetch_env, decode_name, encode_name, jj, refs
from gitcp.git.objects import patches
from gitcp.git.repo import Repo
from gitcp.lines import absent, blame_options, porcelain
from gitcp.text.ids import PERSON, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git import Git, Running
    from gitcp.git.objects.patches import Change, Patch
    from gitcp.lines.blame_options import Options
    from gitcp.lines.blame_table import BlameRun
    from gitcp.lines.porcelain import BlameEntry, Groups
    from gitcp.text.record_types import Writer

    Blame = Callable[[Git, Options], Iterable[tuple[BlameEntry, Author]]]
    Output = TypeVar("Output")


_OBJECT = r"\b(?:[0-9a-f]{40}|[0-9a-f]{64})\b"


def start_blame(git: Git, options: Options) -> Callable[[], list[BlameEntry]]:
    """Start `git blame`; return a function that waits for the entries of its lines.

    git runs in its Git's directory.  The function raises Error with git's message.
    """
    finish = _start_git(git, options.names, _read_all, "--porcelain", *options.given)
    return lambda: porcelain.parse_porcelain(finish()).entries


def start_groups(git: Git, options: Options) -> Callable[[], Groups]:
    """start_blame() for a whole file; little is kept for a line.  With --incremental the groups
    have no contents."""
    if blame_options.choose_format(options) == "incremental":
        form = "--incremental"
        read = _read_incremental
    else:
        form = "--porcelain"
        read = _read_groups
    return _start_git(git, options.names, read, form, *options.given)


def _read_all(running: Running) -> bytes:
    return running.finish()[1]


def _read_incremental(running: Running) -> Groups:
    groups = porcelain.Groups()
    groups.take(porcelain.parse_porcelain(_read_all(running)))
    return groups


def _read_groups(running: Running) -> Groups:
    groups = porcelain.Groups()
    groups.read(iter(running.read_next, b""))
    running.finish()
    return groups


def read_table(git: Git, options: Options) -> bytes:
    """The output of `git blame` with the person's arguments, for eyes.  Raises Error
    with git's message."""
    return _start_git(git, options.names, _read_all, *options.given)()


def group_by_place(entries: Iterable[BlameEntry]) -> dict[tuple[str, str], Sequence[int]]:
    """(commit, path there) -> line numbers there, of entries."""
    groups: dict[tuple[str, str], list[range]] = {}
    for entry in entries:
        count = 1
        if entry.content is None:
            count = entry.count
        numbers = range(entry.orig, entry.orig + count)
        groups.setdefault((entry.oid, entry.path), []).append(numbers)
    return {place: _join_ranges(ranges) for place, ranges in groups.items()}


def _join_ranges(ranges: Sequence[range]) -> Sequence[int]:
    if len(ranges) == 1:
        return ranges[0]
    return [n for numbers in ranges for n in numbers]


def map_previous_paths(entries: Iterable[BlameEntry]) -> dict[tuple[str, str], str]:
    """(commit, path there) -> path in the commit's parent, of entries that have one."""
    paths: dict[tuple[str, str], str] = {}
    for entry in entries:
        for key, value in entry.headers:
            if key == b"previous":
                paths[entry.oid, entry.path] = decode_name(
                    patches.unquote_name(value.split(b" ", 1)[1])
                )
    return paths


def _start_git(
    git: Git, candidates: Sequence[str], read: Callable[[Running], Output], *args: str
) -> Callable[[], Output]:
    """Start `git blame` with these arguments; return a function that waits for what read() makes of
    its output.

    candidates: the arguments that may be the file, which git need not track."""
    # Filters and textconv are the person's.
    options = "-c", "core.useReplaceRefs=false", *AS_UTF8, "blame"
    words: list[str | bytes] = [*options, *map(encode_name, args)]
    until_read = ExitStack()
    git = until_read.enter_context(_join_parents(git))
    running = git.start(*words, env=build_fetch_env(), filters=True)

    def finish() -> Output:
        with until_read:
            try:
                return read(running)
            except GitError as e:
                refused = e
            if refused.git_status == USAGE:
                usage = str(refused.shorten())
                usage = usage.replace("usage: git ", "no file given\nusage: gitcp ", 1)
                raise UsageError(usage.removeprefix("error: ")) from None
            named = re.search(_OBJECT, refused.complaint)  # it is missing
            if named:
                around = absent.stand_in_history(Repo.find(git.cwd), candidates)
            else:
                around = _complete_repository(git, candidates)
            with around as env:
                if not env:
                    raise refused.shorten() from None
                again = git.start(*words, env={**build_fetch_env(), **env}, filters=True)
                try:
                    return read(again)
                except GitError as e:
                    raise e.shorten() from None

    return finish


@contextmanager
def _join_parents(git: Git) -> Iterator[Git]:
    """Yield the git that blames the worktree on all parents of jj's `@`, as on those of a merge
    that is not committed: git knows the first alone.

    Its directory has what the worktree's own has, and a MERGE_HEAD that names the others."""
    if not jj.find_root(git.cwd):
        yield git
        return
    repo = Repo.find(git.cwd)
    head = refs.read_head(repo) or ""
    others: list[str] = []
    if repo.jj:
        others = jj.list_other_parents(repo.worktree, head)
    if not others:
        yield git
        return
    with tempfile.TemporaryDirectory(prefix="gitcp-") as folder:
        own = {"HEAD": head, "MERGE_HEAD": "\n".join(others), "commondir": repo.common}
        for name in os.listdir(repo.git_dir):
            if name not in own:
                os.symlink(os.path.join(repo.git_dir, name), os.path.join(folder, name))
        env = _write_git_dir(folder, repo.worktree, own)
        yield git.copy_with(git.cwd, env)


def _write_git_dir(folder: str, top: str, files: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worktree whose git directory is folder, with these files of a line."""
    for name, line in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(encode_name(f"{line}\n"))
    return {"GIT_DIR": folder, "GIT_WORK_TREE": top}


@contextmanager
def _complete_repository(git: Git, candidates: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the environment in which `git blame` accepts an untracked file among candidates and a
    branch without a commit, both of which it refuses; {} if there is neither.

    It names a copy of the index with the untracked files, and a directory whose HEAD is an empty
    commit."""
    if git.read_line("rev-parse", "--is-inside-work-tree") != b"true":
        yield {}
        return
    untracked = _list_untracked(git, candidates)
    is_unborn = not git.run("rev-parse", "--verify", "-q", "HEAD", ok=(0, 1))[1]
    if not untracked and not is_unborn:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="gitcp-") as folder:
        env = _copy_index(git, folder, untracked)
        yield {**env, **_write_first_commit(git, folder)} if is_unborn else env


def _list_untracked(git: Git, candidates: Sequence[str]) -> list[bytes]:
    places = [os.path.join(git.cwd, name) for name in candidates]
    files = [
        name
        for name, place in zip(candidates, places, strict=True)
        if os.path.lexists(place) and not os.path.isdir(place)
    ]
    ask = "ls-files", "-z", "--others", "--full-name", "--"
    try:
        if files:
            return git.read_records(*ask, *map(encode_name, files))
        return []
    except GitError:  # a file outside the worktree
        return []


def _copy_index(git: Git, folder: str, untracked: Sequence[bytes]) -> dict[str, str]:
    """The environment with a copy of the index, in folder, to which untracked files are added.

    The copy lacks deleted files, so that git may find that one was moved to the new file.
    """
    gone = git.read_records("diff-files", "-z", "--name-only", "--diff-filter=D")
    index = _locate(git, "--git-path", "index")
    empty = git.read_line("hash-object", "--stdin")
    env = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
    if os.path.exists(index):  # there is none before the first `git add`
        shutil.copyfile(index, env["GIT_INDEX_FILE"])
    entries = b"".join(
        [b"100644 %s\t%s\0" % (empty, path) for path in untracked]
        + [b"0 %s\t%s\0" % (b"0" * len(empty), path) for path in gone]
    )
    command = "-c", "core.splitIndex=false", "update-index", "-z", "--index-info"
    git.run(*command, stdin=entries, env=env)
    return env


def _write_first_commit(git: Git, folder: str) -> dict[str, str]:
    """The environment of a worktree of this repository, made in folder, whose HEAD is a commit
    without files."""
    common = _locate(git, "--git-common-dir")
    top = _locate(git, "--show-toplevel")
    env = {"GIT_OBJECT_DIRECTORY": os.path.join(folder, "objects")}
    os.mkdir(env["GIT_OBJECT_DIRECTORY"])
    tree = git.run("mktree", env=env)[1].strip()
    commit = b"tree %s\nauthor <> 0 +0000\ncommitter <> 0 +0000\n\n" % tree
    write = "hash-object", "-t", "commit", "-w", "--stdin"
    head = git.run(*write, stdin=commit, env=env)[1].strip()
    own = {"HEAD": head.decode(), "commondir": decode_name(common)}
    work = _write_git_dir(folder, decode_name(top), own)
    return {**work, "GIT_ALTERNATE_OBJECT_DIRECTORIES": env["GIT_OBJECT_DIRECTORY"]}


def _locate(git: Git, *question: str) -> bytes:
    """The path that `git rev-parse` answers, from the root."""
    return os.path.join(os.fsencode(git.cwd), git.read_line("rev-parse", *question))


def read_margins(git: Git, options: Options, rows: Sequence[BlameRun]) -> list[tuple[bytes, bytes]]:
    """(git's text before the author, git's text between number and content) of each line of the
    table: colours, scores and marks."""
    width = len(str(max((row.final + row.count - 1 for row in rows), default=0)))
    margins = []
    lines = iter(_start_git(git, options.names, _read_all, "-s", *options.given)().split(b"\n"))
    for row in rows:
        for final, content in enumerate(BytesIO(row.content), row.final):
            line = next(lines)
            end = len(line) - len(content) + 1
            number = b" %*d) " % (width, final)
            start = line.rindex(number, 0, end)
            margins.append((line[:start], line[start + len(number) : end]))
    return margins


def find_asked_path(repo: Repo, git: Git, options: Options, entries: Sequence[BlameEntry]) -> bytes:
    """The path of the blamed file, from the top of the worktree."""
    top = repo.top or "."
    prefix = os.path.relpath(os.path.realpath(git.cwd), os.path.realpath(top))
    args = [os.path.normpath(os.path.join(prefix, name)) for name in options.names]
    paths = {entry.path for entry in entries}
    # `<rev> <file>`, or `<file> <rev>`, which git accepts too.
    likely = [a for a in reversed(args) if a in paths or os.path.lexists(os.path.join(top, a))]
    return encode_name((likely or args or [""])[0])


_LOG = """log --no-color --no-follow --no-show-signature --no-notes -p -U0 -M --root --full-index
--inter-hunk-context=0 --src-prefix=a/ --dst-prefix=b/ --no-ext-diff --no-textconv
--submodule=short --no-color-moved""".split()


def read_changes(
    repo: Repo, chosen: Sequence[str | bytes], stdin: bytes = b"", bare: bool = False
) -> Iterator[Change]:
    """Yield the commits of `git log` with these arguments and this standard input.

    bare: without patches.  Merges have none, unless an argument asks for them.  What is not here
    is warned of: of a file whose content is missing there are no hunks, and at the edge of a
    shallow clone no patches.  Raises Error with git's message for a bad revision.
    """
    shallow = absent.list_shallow(repo)
    question = absent.ask_log(*chosen, stdin=stdin)
    done = 0
    lost = False
    while True:
        with absent.stand_in(repo, question, lost, search=not bare) as stand_ins:
            options = [*_LOG, *patches.FORMAT]
            if bare:
                options.append("--no-patch")
            running = repo.git.start(*options, *chosen, feed=bool(stdin), env=stand_ins.env)
            lines = running.stream_records(b"\n", stdin)
            try:
                for change in islice(patches.parse_commits(lines), done, None):
                    done += 1
                    change["patches"] = stand_ins.clear(change["patches"], change["oid"])
                    if change["oid"] in shallow and not bare:
                        absent.warn_shallow(change["oid"])
                        change["patches"] = []
                    yield change
                return
            except GitError as e:
                if lost or stand_ins.env:
                    raise e.shorten() from None
                lost = True  # or the revision is bad, which git says again


def read_path_changes(repo: Repo, commits: Sequence[str], paths: Sequence[bytes]) -> list[Change]:
    """The changes of these commits (full oids) in these paths, by one process of git."""
    listed = "\n".join(commits).encode() + b"\n"
    return list(read_changes(repo, ("--no-walk=unsorted", "--stdin", "--", *paths), listed))


def compare_trees(repo: Repo, base: str, tip: str) -> list[Patch]:
    """The patches from base to tip, which are commits or trees."""
    args = "diff-tree", "-r", *_LOG[1:], "--end-of-options", base, tip, "--"
    question = absent.ask_difference(base, tip)

    def read(lost: bool) -> list[Patch]:
        with absent.stand_in(repo, question, lost) as stand_ins:
            lines = repo.git.start(*args, env=stand_ins.env).stream_records(b"\n")
            return stand_ins.clear(patches.parse_patches(lines))

    try:
        return read(lost=False)
    except GitError:
        return read(lost=True)


_MOST = 100  # commits that HEAD was at


class History:
    """The authors of committed contents; each content is blamed once."""

    def __init__(
        self,
        repo: Repo,
        blame: Blame,
        parent: str,
        excluded: str = "",
        name: Callable[[Author], Writer] | None = None,
    ) -> None:
        """blame: Evidence.blame_lines() of committed lines.  parent: the commit that is searched
        first; excluded: a commit that is not searched.  name: makes the writer of an author; the
        default is make_writer()."""
        self._repo = repo
        self._blame = blame
        self._name = name or make_writer
        self._parent = parent
        self._excluded = excluded
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
            if commit:
                self._authors[key] = self._blame_content(commit, path)
            else:
                self._authors[key] = {}
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
            options = blame_options.parse_arguments([commit, "--", path])
            rows = [*self._blame(self._repo.git, options)]
        except Error:
            return {}
        self.checkpoints |= map_checkpoints(author for _, author in rows)
        return {row.final - 1: self._name(author) for row, author in rows}


def map_checkpoints(authors: Iterable[Author]) -> dict[Writer, str]:
    """writer -> checkpoint of the authors that have one."""
    return {make_writer(a): a["checkpoint_id"] for a in authors if a["checkpoint_id"]}


def make_writer(author: Author) -> Writer:
    """The writer that the journal has for an author of a line."""
    if author["who"] == "session":
        return author["session_id"], author["turn_id"], author["tool_use_id"] or ""
    return PERSON if author["who"] == "person" else UNKNOWN


def name_writer(author: Author) -> Writer:
    """make_writer() for a reader, who is told which lines are unrecorded; a journal does not."""
    if author["who"] == "unrecorded":
        return ("", "unrecorded", "")
    return make_writer(author)
