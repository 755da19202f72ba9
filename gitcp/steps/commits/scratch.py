"""Scratch worktrees, in which a command is run on states of the worktree.

A scratch worktree is a repository of its own in a temporary directory.  It reads the objects and
the configuration of the person's, and has their branches and tags, attributes, sparse patterns and
submodules; but no hook runs there, and a command that commits, stashes or fetches there changes
nothing of theirs.

<git-dir>/gitcp/bisect/<name> has the path of each scratch worktree from before it is made until it
is removed; `process` there is the running command.  The lock "bisect" is held meanwhile: without
it, whatever is listed is abandoned.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import partial

from gitcp.errors import Error, GitError
from gitcp.git import WITHOUT_HOOKS, Git, build_person_env, decode_name, files, shell, silence_hooks
from gitcp.git.files import read_file
from gitcp.git.objects import compare_trees
from gitcp.git.objects.object_lists import list_files
from gitcp.git.objects.partial_clone import need_contents
from gitcp.record import session
from gitcp.record.session import process
from gitcp.steps import under_way, undo
from gitcp.steps.back import steps, wishes
from gitcp.steps.step import BISECT, REFUSE
from gitcp.steps.undo_tree import UndoTree
from gitcp.text import shapes
from gitcp.text.ids import COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    from gitcp.git.repo import Repo

# What the person's configuration may not decide in a scratch worktree.
_SETTINGS = {
    "core.bare": "false",
    "core.fsmonitor": "false",
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    "index.sparse": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
# Nor does a hook of theirs run in one, whatever the commands do that run there.
_EVENTS = (
    "pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-merge"
    " post-rewrite applypatch-msg pre-applypatch post-applypatch"
)
_NO_HOOKS = silence_hooks(*_EVENTS.split())
_ASK_DIRECTORIES = ("rev-parse", "--path-format=absolute", "--absolute-git-dir", "--git-common-dir")
_REFS = ("for-each-ref", "--format=%(objectname) %(refname)")
_SHARED = ("refs/heads", "refs/tags", "refs/remotes")
_OUR_BRANCHES = b" refs/heads/entire/"


class Scratch:
    """A scratch worktree, in a `with`.  top: its directory, named as the person's is.  output: the
    file with what the last command printed."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._name = under_way.PREFIX + os.urandom(6).hex()
        self._note_process = partial(_note_process, repo)
        self._place = os.path.join(tempfile.gettempdir(), self._name)
        self.top = os.path.join(self._place, os.path.basename(repo.worktree) or "worktree")
        self.output = os.path.join(self._place, "output")
        self._record = repo.join_own(under_way.BISECT, self._name)
        self._tree: str | None = None
        self._times: dict[str, int] = {}  # path -> the second that its file was given

    def __enter__(self) -> Self:
        files.write_private(self._repo, self._record, os.fsencode(self._place), durable=True)
        try:
            os.mkdir(self._place, 0o700)
            self._copy = Copy(self.top, self._repo.git, self._repo.git_dir, self._repo.common)
            self._copy.create()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        remove_folder(self._place)
        for path in (_get_process_path(self._repo), self._record):
            files.remove_private(self._repo, path)

    def share_path(self, path: str) -> None:
        """Copy what stands at a path of the worktree, whose links stay as they are."""
        source = os.path.join(self._repo.worktree, path)
        target = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source) and not os.path.islink(source):
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target, follow_symlinks=False)

    def go_to(self, tree: str) -> None:
        """Give the worktree the files of a tree; what a command changed in them is taken back, and
        its other files stay.  Raises Error if a content is missing."""
        changed = [p for p, _, new in compare_trees(self._repo.objects, self._tree, tree) if new]
        need_contents(self._repo, list_files(self._repo.objects, tree))
        self._repo.objects.flush()
        self._copy.check_out(tree)
        self._tree = tree
        self._set_times(changed)
        self._fill_submodules(tree)

    def run(self, words: Sequence[str], folder: str) -> int:
        """Run a command in a folder below the root; shell.run_apart() says how."""
        if folder:
            where = os.path.join(self.top, folder)
        else:
            where = self.top
        os.makedirs(where, exist_ok=True)
        return shell.run_apart(words, where, self._copy.env, self.output, self._note_process)

    def _set_times(self, paths: Sequence[str]) -> None:
        """Give each file that was written again a later second than before: caches of bytecode and
        of builds compare seconds, and the runs of a quick test are within one."""
        now = int(time.time())
        moved = False
        for path in paths:
            full = os.path.join(self.top, path)
            before = self._times.get(path, 0)
            self._times[path] = max(now, before + 1)
            if before >= now and os.path.isfile(full) and not os.path.islink(full):
                os.utime(full, (self._times[path],) * 2)
                moved = True
        if moved:
            self._copy.git.run("update-index", "-q", "--refresh", ok=(0, 1))

    def _fill_submodules(self, tree: str) -> None:
        """Give each submodule that the person's worktree has the commit of the tree."""
        for path, (mode, oid) in list_files(self._repo.objects, tree):
            source = os.path.join(self._repo.worktree, path)
            if mode == COMMIT and os.path.lexists(os.path.join(source, ".git")):
                _fill_submodule(source, os.path.join(self.top, path), oid)


class Copy:
    """A repository at top that reads the objects and the configuration of another one.

    source, git_dir, common: git in the other repository, and its directories.  hooks: the settings
    of its hooks; by default it has none.  env: for the commands that run in it."""

    def __init__(
        self,
        top: str,
        source: Git,
        git_dir: str,
        common: str,
        hooks: Mapping[str, str] = _NO_HOOKS,
    ) -> None:
        env = {k: v for k, v in build_person_env(source.env).items() if not k.startswith("GIT_")}
        passed_on = {
            k: v for k, v in os.environ.items() if k.startswith(("GIT_CONFIG", "GIT_AUTHOR"))
        }
        self.top = top
        self.env = {**env, **passed_on}
        self.git = Git(top, self.env)
        self._source = source
        self._git_dir = git_dir
        self._common = common
        self._hooks = hooks

    def create(self) -> None:
        """Make the repository."""
        os.makedirs(self.top, exist_ok=True)
        form = decode_name(self._source.read_line("rev-parse", "--show-object-format"))
        options = ("-c", "init.defaultRefFormat=files", *WITHOUT_HOOKS)
        self.git.run(*options, "init", "-q", "--template=", f"--object-format={form}")
        self._write_objects()
        self._write_config()
        self._copy_files()
        self._write_refs()

    def check_out(self, tree: str) -> None:
        """Give index and worktree the entries of a tree."""
        try:
            self.git.run("read-tree", "--reset", "-u", tree, filters=True)
        except GitError as e:
            raise Error(f"cannot prepare the files: {e.complaint.splitlines()[0]}") from None

    def _join(self, *parts: str) -> str:
        return os.path.join(self.top, ".git", *parts)

    def _write_objects(self) -> None:
        env = self._source.env
        objects = env.get("GIT_OBJECT_DIRECTORY") or os.path.join(self._common, "objects")
        alternates = env.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "").split(os.pathsep)
        os.makedirs(self._join("objects", "info"), exist_ok=True)
        places = "".join(f"{place}\n" for place in (objects, *filter(None, alternates)))
        _write(self._join("objects", "info", "alternates"), places)

    def _write_config(self) -> None:
        """Include the person's configuration, and set after it what it may not decide."""
        places = [os.path.join(self._common, "config")]
        places.append(os.path.join(self._git_dir, "config.worktree"))
        settings = {**_SETTINGS, **self._hooks}
        if os.path.isdir(lfs := os.path.join(self._common, "lfs")):
            settings["lfs.storage"] = lfs
        lines = [("include.path", place) for place in places if os.path.exists(place)]
        with open(self._join("config"), "a", encoding="utf-8", errors="surrogateescape") as f:
            for key, value in [*lines, *settings.items()]:
                section, _, name = key.rpartition(".")
                head, _, subsection = section.partition(".")
                if subsection:
                    head += f' "{subsection}"'
                quoted = value.replace("\\", "\\\\")
                quoted = quoted.replace('"', '\\"')
                f.write(f'[{head}]\n\t{name} = "{quoted}"\n')

    def _copy_files(self) -> None:
        info = os.path.join("info", "sparse-checkout")
        names = [(self._git_dir, info), (self._common, "shallow")]
        names += [(self._common, os.path.join("info", n)) for n in ("attributes", "exclude")]
        os.makedirs(self._join("info"), exist_ok=True)
        for folder, name in names:
            if os.path.isfile(source := os.path.join(folder, name)):
                shutil.copyfile(source, self._join(name))

    def _write_refs(self) -> None:
        """Give it the branches and tags, and HEAD, of the person's repository."""
        refs = self._source.read_records(*_REFS, *_SHARED, sep=b"\n")
        lines = [line for line in refs if line and _OUR_BRANCHES not in line]
        with open(self._join("packed-refs"), "wb") as f:
            f.writelines(line + b"\n" for line in lines)
        status, name = self._source.run("symbolic-ref", "-q", "HEAD", ok=(0, 1))
        if status == 0:
            head = b"ref: " + name
        else:
            head = self._source.read_line("rev-parse", "HEAD") + b"\n"
        with open(self._join("HEAD"), "wb") as f:
            f.write(head)


def _fill_submodule(source: str, top: str, oid: str) -> None:
    """Give a submodule's directory the files of a commit, with its own submodules."""
    git = Git(source, {k: v for k, v in os.environ.items() if not k.startswith("GIT_")})
    if os.path.lexists(os.path.join(top, ".git")):
        copy_git = Git(top, git.env)
        if decode_name(copy_git.run("rev-parse", "HEAD", ok=(0, 128))[1]).strip() != oid:
            copy_git.run("read-tree", "--reset", "-u", oid, filters=True)
            copy_git.run("update-ref", "--no-deref", "HEAD", oid)
    else:
        git_dir, common = decode_name(git.read_line(*_ASK_DIRECTORIES)).split("\n")
        copy = Copy(top, git, git_dir, common)
        copy.create()
        copy.check_out(oid)
        copy.git.run("update-ref", "--no-deref", "HEAD", oid)
    for line in git.read_records("ls-tree", "-r", "-z", oid):
        head, _, name = line.partition(b"\t")
        mode, _, inner = decode_name(head).split(" ")
        below = os.path.join(source, decode_name(name))
        if mode == COMMIT and os.path.lexists(os.path.join(below, ".git")):
            _fill_submodule(below, os.path.join(top, decode_name(name)), inner)


@contextmanager
def raising_at_broken_pipe() -> Iterator[None]:
    """Raise SystemExit at SIGPIPE, which would kill the process, so that everything is cleaned up
    when nobody reads the output any more."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGPIPE, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)


def _note_process(repo: Repo, pid: int) -> None:
    data = json.dumps(session.describe(pid)).encode()
    files.write_private(repo, _get_process_path(repo), data)


def _get_process_path(repo: Repo) -> str:
    return repo.join_own(under_way.BISECT, "process")


def remove_abandoned(repo: Repo) -> None:
    """End the command that a kill left running, and remove its scratch worktree.  The caller holds
    the lock."""
    path = _get_process_path(repo)
    running = files.load_cache(path, shapes.PROCESS)
    if running and process.is_alive(running):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(running["pid"], signal.SIGKILL)
    files.remove_private(repo, path)
    for place in under_way.list_scratch_worktrees(repo):
        remove_folder(place)
        files.remove_private(repo, repo.join_own(under_way.BISECT, os.path.basename(place)))


def remove_folder(place: str) -> None:
    """Remove a directory of ours, also the directories in it that cannot be written; none is no
    error, and a link in its place stays."""

    def allow(remove: object, path: str, _: object) -> None:
        for each in (os.path.dirname(path), path):
            if os.path.isdir(each) and not os.path.islink(each):
                os.chmod(each, stat.S_IRWXU)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.lexists(path):
            os.unlink(path)

    if os.path.isdir(place) and not os.path.islink(place):
        shutil.rmtree(place, onerror=allow)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as f:
        f.write(text)


class InPlace:
    """The worktree itself, used like a Scratch, in a `with`: each state is a step of the undo log,
    and at the end all steps are undone as one.

    <git-dir>/gitcp/bisect/in-place has the id of the first step; after a kill the next bisection
    undoes what it names."""

    def __init__(self, repo: Repo, mover: steps.Mover, original: str) -> None:
        self._repo = repo
        self._mover = mover
        self._original = original
        self._first = ""
        self.top = repo.worktree
        self.output = _get_output(repo)
        self._note_process = partial(_note_process, repo)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._first:
            self.go_to(self._original)  # what the command changed goes as well
            finish_in_place(self._repo, self._mover)

    def go_to(self, tree: str) -> None:
        """Give the worktree the files of a tree.  Raises Error if a content is missing."""
        step = undo.make_step(BISECT, f"test {tree[:10]}")
        if not self._first:
            self._first = step.id
            files.write_private(
                self._repo, under_way.get_place(self._repo), self._first.encode(), durable=True
            )
        self._mover.take_step(lambda: steps.Move(wishes.go_to_tree(tree), step))

    def run(self, words: Sequence[str], folder: str) -> int:
        """Run a command in a folder below the root; shell.run_apart() says how."""
        if folder:
            where = os.path.join(self.top, folder)
        else:
            where = self.top
        os.makedirs(where, exist_ok=True)
        return shell.run_apart(
            words, where, build_person_env(os.environ), self.output, self._note_process
        )


def finish_in_place(repo: Repo, mover: steps.Mover) -> bool:
    """Undo the steps of a bisection in place, if they are in force; return whether they were.
    Raises Error, with nothing changed, if a file was changed since in the same place."""
    first = decode_name(read_file(under_way.get_place(repo)) or b"")
    is_in_force = first in UndoTree(undo.read_steps(repo)).in_force
    try:
        if is_in_force:
            mover.undo_steps(first, REFUSE, whole=True)
    except Error as e:
        command = f"'gitcp undo --conflict=keep {first}'"
        raise Error(
            f"the worktree is at a tested state, from which {command} goes back: {e}"
        ) from None
    for path in (_get_process_path(repo), _get_output(repo), under_way.get_place(repo)):
        files.remove_private(repo, path)
    return is_in_force


def _get_output(repo: Repo) -> str:
    return repo.join_own(under_way.BISECT, "output")
