"""Ask jj about a workspace, and give git a view of one that is no git worktree.

The view is the git directory `.jj/gitcp.git`: its refs and objects are those of jj's store, as in a
linked worktree, its HEAD is `@-`.  What reads a worktree through git works there unchanged.  The
program, the store and jj's last answer are taken from what `enable` registered in the person's
state directory, by the workspace's real path: `.jj` may be a clone's (doc/trust.md "jj").
"""

from __future__ import annotations

import os
import stat
import time

from gitcp.errors import Error, GitError, NoJj
from gitcp.git import Git, Running, files
from gitcp.git.files import read_file
from gitcp.git.gitdir import is_tracked
from gitcp.text import ids, json, shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypedDict

    from gitcp.git import Location

    class Change(TypedDict):
        """A change as jj shows it.  commit, parents: oids; workspaces: those in which it is `@`."""

        change: str
        commit: str
        parents: list[str]
        workspaces: str
        message: bytes

    class Workspace(TypedDict):
        """A registered workspace.  root: its real path; jj: the program; store: the git directory
        with its refs and objects; name: its worktree id, '' for jj's default workspace."""

        root: str
        jj: str
        store: str
        name: str


OWN = "gitcp.git"  # the view's name in .jj
# HEAD while `@-` is jj's root commit: a name that no branch can have.
_UNBORN = "ref: refs/heads/@gitcp-unborn\n"
# Where package managers put jj: an agent's client may start its hooks without them on PATH.
_FOLDERS = "~/.cargo/bin ~/.local/bin /opt/homebrew/bin /usr/local/bin ~/.nix-profile/bin".split()
_QUIET = ("--ignore-working-copy", "--no-pager", "--color=never", "--quiet")
_FIELDS = (
    *("change_id", "commit_id", 'parents.map(|p| p.commit_id()).join(" ")'),
    *("working_copies", "description"),
)
_CHANGE = ' ++ "\\0" ++ '.join(_FIELDS)
_MADE_OF = 'commit.commit_id() ++ " " ++ predecessors.map(|p| p.commit_id()).join(" ")'
_COMMIT_IDS = ("commit.commit_id()", "commit_id")  # since 0.30, and before
_UNKNOWN = "gitcp is not enabled in the jj repository '{}': 'gitcp enable' there registers it"
_ENTRY_SHAPE = {"root": str, "jj": str, "store": str, "name": str}
_LARGEST_ENTRY = 1 << 16  # bytes
_ENTRY = "workspace"


def begins_workspace(folder: str) -> bool:
    """Whether a jj workspace begins at a directory: it has a directory `.jj`, below which git
    tracks nothing."""
    folder = os.path.realpath(folder)
    return _has_folder(folder) and not is_tracked(folder, ".jj")


def _has_folder(folder: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(os.path.join(folder, ".jj")).st_mode)
    except OSError:
        return False


def find_registered(root: str) -> Workspace | None:
    """The registered workspace at a directory, if its `.jj` may be followed; else None."""
    root = os.path.realpath(root)
    kept = None
    if _has_folder(root):
        kept = _read_registered(_locate_entry(root, _ENTRY))
    if kept and kept["root"] == root and not is_tracked(root, ".jj"):
        return kept
    return None


def list_registered() -> Iterator[Workspace]:
    """All registered workspaces that may be followed."""
    top = files.locate_state("jj")
    for name in files.list_names(top):
        kept = _read_registered(os.path.join(top, name, _ENTRY))
        if kept:
            workspace = find_registered(kept["root"])
            if workspace:
                yield workspace


def add_workspace(workspace: Workspace) -> None:
    """Let a workspace be followed from now on.  Raises Error if that cannot be written."""
    path = _locate_entry(workspace["root"], _ENTRY)
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    except OSError as e:
        raise Error(f"cannot write '{path}': {e.strerror}") from None
    files.replace_file(path, json.dumps(dict(workspace)).encode(), 0o600)


def remove_workspace(root: str) -> None:
    """Let a workspace be followed no more."""
    folder = os.path.dirname(_locate_entry(os.path.realpath(root), _ENTRY))
    for name in files.list_names(folder):
        files.remove_file(os.path.join(folder, name))
    files.remove_if_empty(folder)


def locate_answer(root: str) -> str:
    """The path of what jj answered last in a registered workspace."""
    return _locate_entry(os.path.realpath(root), "answer")


def _locate_entry(root: str, name: str) -> str:
    key = ids.start_sha256(os.fsencode(root)).hexdigest()
    return files.locate_state("jj", key[:32], name)


def _read_registered(path: str) -> Workspace | None:
    try:
        kept = json.loads(files.read_file(path, _LARGEST_ENTRY) or b"")
    except (Error, ValueError, RecursionError):
        return None
    return None if shapes.find_fault(kept, _ENTRY_SHAPE) else kept


def find_root(start: str, stop: str | None = None) -> str | None:
    """The nearest directory where a jj workspace begins, from start upwards and below stop; None
    for none.  Above a `.jj` that git tracks it is searched no further than that git's worktree."""
    folder = os.path.realpath(start)
    end = stop and os.path.realpath(stop)
    skipped = False
    while folder != end and not (skipped and os.path.lexists(os.path.join(folder, ".git"))):
        if begins_workspace(folder):
            return folder
        skipped = skipped or os.path.lexists(os.path.join(folder, ".jj"))
        below = folder
        folder = os.path.dirname(folder)
        if folder == below:
            break
    return None


def choose_git(repo: Location) -> Git:
    """The person's git in the current directory; where git sees no worktree, git of the view."""
    if repo.has_git:
        return Git()
    return repo.git.copy_with(os.getcwd(), {})


def find_program(recorded: str = "") -> str:
    """The path of jj: on PATH, beside the recorded one, or in _FOLDERS; raise NoJj for none.

    A relative directory is passed over, since it would be one of the worktree."""
    folders = [*os.get_exec_path(), os.path.dirname(recorded), *map(os.path.expanduser, _FOLDERS)]
    for path in (os.path.join(folder, "jj") for folder in folders if os.path.isabs(folder)):
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise NoJj("jj is not on PATH")


def find_program_of(root: str) -> str:
    """The path of jj for a workspace; raise NoJj for none."""
    known = find_registered(root)
    if known:
        return find_program(known["jj"])
    return find_program("")


def _ask(root: str, *args: str, may_fail: bool = False) -> bytes:
    """What jj prints in a workspace; b"" if it fails and may.  Raise GitError, and NoJj."""
    env = {k: v for k, v in Git().env.items() if not k.startswith("GIT_")}
    running = Running((find_program_of(root), "-R", root, *_QUIET, *args), env, False)
    statuses = (0, 1, 2) if may_fail else (0,)
    status, out = running.finish(ok=statuses)
    if status:
        return b""
    return out


def read_here(root: str) -> Change:
    """The change at `@` in jj's last snapshot; jj is asked once for each of its operations.
    Raise NoJj even where the answer is stored: the next operation needs jj."""
    find_program_of(root)
    operation = _find_operation(root)
    answer = b""
    if operation:
        answer = _recall_answer(root, operation)
    if not answer:
        answer = _ask(root, "log", "--no-graph", "-r", "@", "-T", _CHANGE)
        if operation and operation == _find_operation(root):
            _store_answer(root, operation, answer)
    return _parse_change(answer)


def list_other_parents(root: str, head: str) -> list[str]:
    """The parents of `@` beside HEAD, which is the first; [] where jj does not answer."""
    try:
        change = read_here(root)
    except (GitError, NoJj):
        return []
    if head not in change["parents"]:
        return []  # HEAD was moved since by git
    return [oid for oid in change["parents"] if oid != head]


def _find_operation(root: str) -> bytes:
    """The id of jj's last operation; b"" if there are several, or jj stores it elsewhere."""
    try:
        heads = os.listdir(os.path.join(_locate_repository(root), "op_heads", "heads"))
    except OSError:
        return b""
    if len(heads) != 1:
        return b""
    return os.fsencode(heads[0])


def _locate_repository(root: str) -> str:
    """The real path of jj's repository: in a further workspace `repo` is a file that names it."""
    folder = os.path.join(root, ".jj")
    place = "repo"
    if os.path.isfile(os.path.join(folder, "repo")):
        place = _read_line(folder, "repo")
    return os.path.realpath(os.path.join(folder, place))


def _recall_answer(root: str, operation: bytes) -> bytes:
    """What jj answered at this operation; b"" if that is not stored."""
    try:
        content = read_file(locate_answer(root)) or b""
    except Error:
        return b""
    stored, _, answer = content.partition(b"\0")
    if stored == operation and answer.count(b"\0") >= len(_FIELDS) - 1:
        return answer
    return b""


def _store_answer(root: str, operation: bytes, answer: bytes) -> None:
    try:
        _write_file(locate_answer(root), operation + b"\0" + answer)
    except OSError:
        pass  # the workspace is not registered, or the disk is full: jj is asked again


def _parse_change(out: bytes) -> Change:
    change_id, commit, parents, workspaces, message = out.split(b"\0", 4)
    return {
        "change": change_id.decode(),
        "commit": commit.decode(),
        "parents": parents.decode().split(),
        "workspaces": workspaces.decode("utf-8", "surrogateescape"),
        "message": message,
    }


def find_change(root: str, name: str) -> Change | None:
    """The change that has an id now; None if it is gone, or more than one has it."""
    if not name.isalpha():
        return None  # no id of jj's, and no safe part of a revset
    argv = ("log", "--no-graph", "-r", f"change_id({name})", "-T", _CHANGE)
    out = _ask(root, *argv, may_fail=True)
    if out.count(b"\0") == len(_FIELDS) - 1:
        return _parse_change(out)
    return None


def list_operations(root: str) -> list[str]:
    """The descriptions of jj's last operations, newest first."""
    argv = ("op", "log", "--no-graph", "--limit=50", "-T", 'description.first_line() ++ "\n"')
    return _ask(root, *argv).decode("utf-8", "replace").splitlines()


def list_predecessors(root: str, commits: Iterable[str]) -> dict[str, list[str]]:
    """commit -> the commits that it was made of, for commits and all of their predecessors.

    An older jj is asked about each commit, and does not say which predecessor is made of which.
    """

    def ask_evolution(revset: str, template: str) -> list[list[str]]:
        """The words of each line; [] if this jj does not know the template."""
        argv = ("evolog", "--no-graph", "-r", revset, "-T", f'{template} ++ "\\n"')
        return [line.split() for line in _ask(root, *argv, may_fail=True).decode().splitlines()]

    names = list(commits)
    rows = ask_evolution(" | ".join(names), _MADE_OF)
    if rows:
        return {commit: sources for commit, *sources in rows}
    evolutions = [
        next(filter(None, (ask_evolution(name, form) for form in _COMMIT_IDS)), [])
        for name in names
    ]
    return {rows[0][0]: [row[0] for row in rows[1:]] for rows in evolutions if rows}


def list_made_since(root: str, old: str) -> list[str]:
    """The person's own commits from old to `@-`, oldest first; [] if old is unknown now.

    Commits that a fetch brought have another author.
    """
    revset = "(::@-) & mine()"
    if old.strip("0"):
        revset = f"({old}..@-) & mine()"
    argv = ("log", "--no-graph", "--reversed", "--limit=100", "-r", revset)
    return _ask(root, *argv, "-T", 'commit_id ++ "\n"', may_fail=True).decode().split()


def read_user_mail(root: str) -> str:
    """The address that jj gives to new commits, '' if none is configured."""
    out = _ask(root, "config", "get", "user.email", may_fail=True)
    return out.decode("utf-8", "surrogateescape").strip()


def open_workspace(root: str, create: str | None = None) -> tuple[str, str, str]:
    """(git directory, common directory, name) of a workspace that is no git worktree; the name
    is '' for the default one.

    Its HEAD is moved to `@-`.  create: the directory below which the git directory is made if
    there is none, '' for the workspace itself, which is then registered; with None raise Error if
    it is not registered and belongs to no repository that is.
    """
    own = os.path.join(root, ".jj", OWN)
    known = find_registered(root) or _join_repository(root)
    if known is None and create is None:
        was_enabled = os.path.isdir(own)  # by an older gitcp, at another path, or by another person
        raise (NoJj if was_enabled else Error)(_UNKNOWN.format(root))
    try:
        change = read_here(root)
        if known is None or create == "":
            known = _describe_workspace(root, change)
    except (GitError, NoJj) as e:
        if isinstance(e, NoJj) and known:
            raise NoJj(f"{e}: nothing is recorded in the workspace '{root}'") from None
        raise Error(f"cannot ask jj about '{root}': {e}") from None
    if not os.path.isfile(os.path.join(own, "HEAD")):
        own = os.path.join(create or root, ".jj", OWN)
        _create_view(own, known, change)
    if create == "":
        add_workspace(known)
    if not create:
        _move_head(root, own, change)
    return own, known["store"], known["name"]


def add_worktree(root: str) -> None:
    """Let the workspace of a worktree be followed if it has one.  Raises Error."""
    if begins_workspace(root):
        try:
            add_workspace(_describe_workspace(root, read_here(root)))
        except (GitError, NoJj):
            pass  # without jj, or where it fails, git alone is asked


def _describe_workspace(root: str, change: Change) -> Workspace:
    """What is registered of a workspace, as jj says it."""
    store = _ask(root, "git", "root").decode("utf-8", "surrogateescape").rstrip("\n")
    name = change["workspaces"].partition("@")[0]
    return _make_workspace(root, find_program_of(root), os.path.realpath(store), name)


def _make_workspace(root: str, jj: str, store: str, name: str) -> Workspace:
    if name in ("", "default"):
        worktree_id = ""
    else:
        worktree_id = f"jj-{name}"
    return {"root": os.path.realpath(root), "jj": jj, "store": store, "name": worktree_id}


def _join_repository(root: str) -> Workspace | None:
    """Register a further workspace of a repository that has a registered one, if jj there names
    it; None if it does not."""
    if not os.path.isfile(os.path.join(root, ".jj", "repo")):
        return None
    try:
        here = _locate_repository(root)
    except ValueError:
        return None  # a name with NUL
    template = 'name ++ "\\0" ++ root ++ "\\0"'
    for known in list_registered():
        if _locate_repository(known["root"]) == here:
            out = _ask(known["root"], "workspace", "list", "-T", template, may_fail=True)
            words = out.decode("utf-8", "surrogateescape").split("\0")
            for name, place in zip(words[::2], words[1::2], strict=False):
                if os.path.realpath(place) == root:
                    joined = _make_workspace(root, known["jj"], known["store"], name)
                    add_workspace(joined)
                    return joined
    return None


def _create_view(own: str, workspace: Workspace, change: Change) -> None:
    os.makedirs(own, 0o750, exist_ok=True)
    ignore = os.path.join(os.path.dirname(own), ".gitignore")
    if not os.path.exists(ignore):
        _write_file(ignore, b"/*\n")  # as jj itself does where git shares the directory
    contents = {
        # git and gitcp ask the registry instead of these two, which an older gitcp reads.
        "workspace": workspace["name"],
        "commondir": os.path.relpath(workspace["store"], own) + "\n",
        "HEAD": _format_head(change),  # last, since with it the view is complete
    }
    for file, text in contents.items():
        _write_file(os.path.join(own, file), os.fsencode(text))


def _move_head(root: str, own: str, change: Change) -> None:
    """Move HEAD to `@-`; its reflog names the commits made here, as jj does where git sees it."""
    before = _read_line(own, "HEAD") + "\n"
    head = _format_head(change)
    if before == head:
        return
    if before != _UNBORN:
        old = before.strip()
    else:
        old = "0" * len(change["commit"])
    logs = os.path.join(own, "logs")
    os.makedirs(logs, exist_ok=True)
    with open(os.path.join(logs, "HEAD"), "a", encoding="utf-8") as f:
        for oid in list_made_since(root, old):
            f.write(f"{old} {oid} jj <> {int(time.time())} +0000\texport from jj\n")
            old = oid
    _write_file(os.path.join(own, "HEAD"), head.encode())


def _format_head(change: Change) -> str:
    """HEAD for a change: its first parent, unborn if that is jj's root commit."""
    base = (change["parents"] or [""])[0]
    if base.strip("0"):
        return base + "\n"
    return _UNBORN


def _read_line(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as f:
        return f.read().rstrip("\n")


def _write_file(path: str, data: bytes) -> None:
    tmp = f"{path}.{os.getpid()}"
    with open(tmp, "wb") as f:
        f.write(data)
    os.rename(tmp, path)
