"""The auto-commit strategy: the end of a turn or of a task makes a commit on the person's
branch, without disturbing HEAD, index and worktree, or says why it makes none."""

from __future__ import annotations

import os
import time

from gitcp import git, link
from gitcp.checkpoints import notes
from gitcp.checkpoints.stored import list_session_ids
from gitcp.errors import Busy, Error, GitError, Late, Moved
from gitcp.git import Running, decode_name, encode_name, refs
from gitcp.git import status as status_
from gitcp.git.commit_message import KEY
from gitcp.git.config_table import AUTO
from gitcp.git.files import exclusive
from gitcp.git.objects import TREE, Lookup, compare_trees, find_tree, need_commit
from gitcp.git.objects.object_lists import is_ancestor
from gitcp.git.records import encode_lines
from gitcp.lines import edit_lines
from gitcp.link import condense, disclosure
from gitcp.record import journal, session
from gitcp.record.journal import Journal, credit, edits, read_clock, read_last_seen
from gitcp.record.journal.line_kinds import build_edit
from gitcp.record.session import locate_auto, make_id, others
from gitcp.record.snapshot import scan
from gitcp.record.snapshot.index import (
    IndexFile,
    Lock,
    copy_index,
    install_index,
    list_staged,
    list_under_way,
)
from gitcp.record.stream import (
    find_current,
    find_trailer,
    read_changes,
    read_streams,
    read_tip,
    writing,
)
from gitcp.text import ids as ids_
from gitcp.text.ids import TASK_KEY, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any, TypedDict

    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.record.session import Intent
    from gitcp.text.line_credit import PathCredit
    from gitcp.text.record_types import Commit, Entries, Entry, Linked, Record, State

    StagedEntries = Mapping[str, Entry | None]

    class Work(TypedDict):
        """The work to commit.  entries: path -> entry, None if deleted.  current: the paths that
        the ending turn wrote.  mixed: the paths with lines of other authors."""

        entries: dict[str, Entry | None]
        current: set[str]
        mixed: set[str]

    Blocked = dict[str, set[str]]  # why -> paths

_NOISE = ("[GNUPG:]", "hint:", "warning:", "fatal: failed to write commit object")
# Lines about their progress that pre-commit and lint-staged print before the reason.
_PROGRESS = tuple(f"[{word}]" for word in "INFO WARNING STARTED COMPLETED SKIPPED".split())
_LONG = 300  # characters of a reason that a person reads


class Refused(Error):
    """No commit is made; the message continues 'not committed: '."""


def list_paths(paths: Collection[str], what: str) -> str:
    """`'<path>' and 2 more <what>`."""
    first, *further = sorted(paths)
    return f"'{first}'{f' and {len(further)} more' if further else ''} {what}"


def format_reason(e: GitError) -> str:
    """The message of git, or of a program that it called, on one line."""
    return shorten_lines(e.complaint.splitlines()) or "git says nothing about it"


def shorten_lines(lines: Iterable[str]) -> str:
    """The useful lines, joined by '; ' and cut to _LONG characters."""
    useful = [line.strip() for line in lines if line.strip()]
    useful = [line for line in dict.fromkeys(useful) if not line.startswith((*_NOISE, *_PROGRESS))]
    text = "; ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in useful)
    while "...." in text:  # leaders to a column
        text = text.replace("....", "...")
    if len(text) <= _LONG:
        return text
    return f"{text[:_LONG].rstrip()}…"


# The person's hooks around an auto-commit, with the person's own environment and git.
#
# Hooks and signers get the environment of the agent's client, and of gitcp's variables only
# GIT_INDEX_FILE and GITCP_ACTIVE.
# The variables that tie git to a repository or an index.
TIES = ("GIT_INDEX_FILE", "GIT_PREFIX", "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
# The value of GITCP_ACTIVE with which gitcp's own hooks run only pipelines that the person
# configured.
CONFIGURED = "configured"


def make_environment(repo: Repo, index: str | None = None) -> dict[str, str]:
    """The person's environment, as for a `git commit -m` here."""
    env = {k: v for k, v in os.environ.items() if k not in TIES}
    env |= {"GITCP_ACTIVE": CONFIGURED, "GIT_EDITOR": ":"}
    if repo.git_dir != os.path.join(repo.worktree, ".git"):
        env |= {"GIT_DIR": repo.git_dir, "GIT_WORK_TREE": repo.worktree}
    if index:
        return {**env, "GIT_INDEX_FILE": index}
    return env


def run_person_hook(repo: Repo, name: str, *args: str, index: str | None = None) -> None:
    """Run a hook as `git commit` does, if there is one; raises Refused if it fails."""
    command = ("git", "-C", repo.worktree, "hook", "run", "--ignore-missing", name, "--", *args)
    hook = Running(command, make_environment(repo, index), False, apart=True)
    try:
        status, _ = hook.finish(ok=range(256))
    except Late:
        git.extend_deadline(10)  # to clean up after it
        raise Refused(f"the {name} hook takes too long") from None
    if status:
        why = shorten_lines(hook.errors.decode(errors="replace").splitlines())
        raise Refused(f"the {name} hook says no{f': {why}' if why else ''}")


def has_hook(repo: Repo, *hooks: str) -> bool:
    """Whether one of these hooks of the person's is an executable file, or configured."""
    for key in repo.config.list_keys("hook.", ".event"):
        if key.startswith("hook.gitcp-"):
            continue
        events = repo.config.get_all(key)
        if not set(events).isdisjoint(hooks):
            return True
    folder = repo.git.read_line("rev-parse", "--git-path", "hooks")
    hooks_folder = os.path.join(os.fsencode(repo.worktree), folder)
    return any(os.access(os.path.join(hooks_folder, os.fsencode(name)), os.X_OK) for name in hooks)


# The two index files of an auto-commit: the private one from which it is made, and the person's,
# which then has HEAD's entries of the committed paths, and its own of all others.
_MARKS = ("ls-files", "-v", "-z")
# below <git-dir>/gitcp/auto
PRIVATE = "index"
NEXT = "next-index"


def make_private(repo: Repo, tree: str, entries: StagedEntries) -> IndexFile:
    """A private index of the tree with these entries, and the stat data of the person's index."""
    index = copy_index(repo, PRIVATE)
    index.run("read-tree", "--reset", tree)
    index.put(entries)
    return index


def list_unstaged(index: IndexFile) -> set[str]:
    """The paths whose files differ from the index, or that it lacks."""
    args = ("ls-files", "--modified", "--deleted", "--others", "--exclude-standard", "-z")
    return {decode_name(path) for path in index.run(*args).split(b"\0")[:-1]}


def prepare_next(repo: Repo, tree: str, after: StagedEntries) -> IndexFile:
    """The person's next index: the entries of `after` for paths that are not staged against tree;
    other entries and all flags stay.  The caller holds index.lock."""
    index = copy_index(repo, NEXT)
    staged = list_staged(repo, tree, index.path)
    marked_paths = status_.parse_marked(index.run(*_MARKS))
    index.put({path: entry for path, entry in after.items() if path not in staged})
    for option, paths in zip(("--assume-unchanged", "--skip-worktree"), marked_paths, strict=True):
        flagged_paths = b"".join(path + b"\0" for path in paths if after.get(decode_name(path)))
        if flagged_paths:
            index.run("update-index", option, "-z", "--stdin", stdin=flagged_paths)
    return index


def write_tree(index: IndexFile) -> str:
    """Write the tree of an index; raises Refused with git's reason."""
    try:
        return index.run("write-tree").decode().strip()
    except GitError as e:
        raise Refused(e.complaint) from None


# Makes an auto-commit on the person's branch, without disturbing index, HEAD or worktree.
#
# The commit is made from a private index, and the person's hooks run on it as on a `git commit
# -m`. Then, under index.lock, HEAD moves by compare and swap, and the person's index follows.  The
# intent is written before, so that the next event can settle what a kill leaves.
_BEFORE = ("pre-commit", "prepare-commit-msg", "commit-msg")


def make_commit(repo: Repo, plan: Intent, message: str) -> list[str]:
    """Commit an intent's entries on its expected HEAD; return the paths that the commit has.

    The caller holds the lock of this worktree's commits.  The intent is filled in, and stays on
    disk for the caller to drop.  Raises Refused, or Moved if HEAD has moved; then nothing has
    changed.
    """
    index = make_private(repo, plan["tree"], plan["entries"])
    if write_tree(index) == plan["tree"]:
        return []
    unstaged: set[str] = set()
    if has_hook(repo, *_BEFORE):
        unstaged = list_unstaged(index)
        plan["stash"] = read_stash(repo)
        plan["dirty"] = select_unchanged(repo, plan["dirty"])
        files_before = scan.read_paths(repo, sorted(plan["entries"]), write=False)
        others.write_intent(repo, plan)
        try:
            message = _run_hooks(repo, index.path, message)
        finally:
            put_back(repo, plan)
            note_changes(repo, files_before)
    tree = write_tree(index)
    entries = {path: entry for path, _, entry in compare_trees(repo.objects, plan["tree"], tree)}
    if not entries:
        raise Refused("the hooks left nothing to commit")
    foreign = [path for path in entries if path in unstaged and path not in plan["entries"]]
    if foreign:
        raise Refused(f"a hook added {list_paths(foreign, 'which is not of this turn')}")
    plan["entries"], plan["noted"] = entries, plan["checkpoint_id"] not in message
    plan["commit"] = _write_object(repo, tree, plan["expected"], message)
    _publish(repo, plan, message)
    return sorted(entries)


def _run_hooks(repo: Repo, index: str, message: str) -> str:
    """Run the person's hooks; return the message that they leave.  Raises Refused if one fails."""
    path = locate_auto(repo, "message")
    with open(path, "wb") as f:
        f.write(encode_name(message))
    run_person_hook(repo, "pre-commit", index=index)
    run_person_hook(repo, "prepare-commit-msg", path, "message", index=index)
    run_person_hook(repo, "commit-msg", path, index=index)
    with open(path, "rb") as f:
        result = decode_name(repo.git.run("stripspace", stdin=f.read() or b"\n")[1])
    if not result.strip():
        raise Refused("the hooks left no message")
    return result


def _write_object(repo: Repo, tree: str, parent: str, message: str) -> str:
    """Write the commit object as the person, signed if they sign; return its oid."""
    args = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree]
    if parent.strip("0"):
        args += ["-p", parent]
    if repo.config.get_flag("commit.gpgsign"):
        args += ["-S"]
    command = ("git", "-C", repo.worktree, *args)
    try:
        running = Running(command, make_environment(repo), True)
        return running.finish(encode_name(message))[1].decode().strip()
    except GitError as e:
        raise Refused(format_reason(e)) from None


def _publish(repo: Repo, plan: Intent, message: str) -> None:
    """Write the intent, then move HEAD and the person's index under index.lock."""
    lock = Lock(repo)
    plan["mark"] = lock.prepare()
    others.write_intent(repo, plan)
    _take(lock)
    try:
        next_index = prepare_next(repo, plan["tree"], plan["entries"])
        _move_head(repo, plan, message)
        install_index(repo, next_index)
    finally:
        lock.let_go()


def _take(lock: Lock) -> None:
    try:
        lock.take()
    except Busy as e:
        raise Refused(str(e)) from None


def _move_head(repo: Repo, plan: Intent, message: str) -> None:
    suffix = " (initial)"
    if plan["expected"].strip("0"):
        suffix = ""
    reason = f"commit{suffix}: {message.splitlines()[0]}"
    commits = plan["commit"], plan["expected"]
    options = ("-c", "core.filesRefLockTimeout=2000")
    args = (*options, "update-ref", "-m", reason, "HEAD", *commits)
    command = ("git", "-C", repo.worktree, *args)
    try:
        Running(command, make_environment(repo), False).finish()
    except GitError as e:
        head = refs.read_head(repo) or "0" * len(plan["expected"])
        if head != plan["expected"]:  # git's message is translated
            raise Moved("HEAD", plan["expected"], head) from None
        raise Refused(format_reason(e)) from None


def settle_commit(repo: Repo, plan: Intent) -> bool:
    """Finish or undo a commit that was killed; return whether it exists.  Doing so again changes
    nothing.  The caller holds the lock of this worktree's commits, and stores the commit."""
    lock = Lock(repo, plan["mark"])
    exists = bool(plan["commit"] and is_ancestor(repo, plan["commit"], "HEAD"))
    if exists:
        if not lock.is_ours():
            lock.prepare()
            _take(lock)
        head = Lookup(repo.objects, need_commit(repo.objects, "HEAD")["tree"])
        unchanged = {path: entry for path, entry in plan["entries"].items() if head(path) == entry}
        install_index(repo, prepare_next(repo, plan["tree"], unchanged))
    lock.let_go()
    return exists


def note_changes(repo: Repo, before: Entries) -> None:
    """Record the changes that hooks made to files, by the entries before.

    Otherwise the next look takes them for the person's, and a session's file that a hook has
    formatted is not committed any more.
    """
    after = scan.read_paths(repo, sorted(before), write=True)
    if all(after.get(path) == entry for path, entry in before.items()):
        return
    with Journal(repo) as journal:
        seen = read_last_seen(repo, journal.lines)
        time = read_clock(repo)
        journal.append(
            [
                build_edit(path, entry, after[path], UNKNOWN, credit.HOOK, time)
                for path, entry in before.items()
                if path in after and after[path] != entry and seen.get_entry(path) == entry
            ]
        )


STASH = "refs/stash"


def read_stash(repo: Repo) -> str:
    """The newest stash, '' for none: it changes if the person stashes something."""
    return refs.read_ref(repo, STASH) or ""


def select_unchanged(repo: Repo, files: Mapping[str, Entry | None]) -> dict[str, Entry | None]:
    """The files that the worktree has with the same entry."""
    present = scan.read_paths(repo, sorted(files), write=False)
    return {
        path: entry for path, entry in files.items() if path in present and present[path] == entry
    }


def put_back(repo: Repo, plan: Intent) -> None:
    """Restore the files that hooks have reset to HEAD's content.

    Does nothing if the stash has changed: then the work was put away on purpose.
    """
    head = Lookup(repo.objects, plan["tree"])
    reset = {path: entry for path, entry in plan["dirty"].items() if head(path) != entry}
    for _ in range(2):  # a file that is away for a moment is back by the second look
        reset = {path: reset[path] for path in select_unchanged(repo, {p: head(p) for p in reset})}
        if not reset or read_stash(repo) != plan["stash"]:
            return
    git.append_trace("auto", f"put back: {sorted(reset)}")
    _write(repo, reset)


def _write(repo: Repo, files: Mapping[str, Entry | None]) -> None:
    index = IndexFile(repo, "lost")
    index.remove()
    present = {path: entry for path, entry in files.items() if entry}
    try:
        for path in files.keys() - present.keys():
            os.unlink(os.path.join(os.fsencode(repo.worktree), encode_name(path)))
        if present:
            index.put(present)
            names = encode_lines(sorted(present), "\0")
            index.run("checkout-index", "-f", "-z", "--stdin", stdin=names)
    finally:
        index.remove()


# The auto-commit strategy: the end of a turn, or of a task, makes a real commit of its work.
#
# First it makes a temporary checkpoint, as every strategy does, which holds the content while the
# person's hooks run.  Then it makes the commit, one at a time in a worktree, stores it, and settles
# the streams.  If no commit can be made, the reason is reported, and the checkpoint remains.
_STAGED = "is staged by hand"
_MIXED = "holds changes that are not the session's"
_WAIT = 45.0  # seconds to wait for the commits of other sessions, whose hooks may be slow


def save_work(ctx: Context, event: dict[str, Any]) -> list[Record]:
    """Checkpoint the work of an event's session, then commit it; the records of the result.

    Raises Error as a checkpoint does.  A record reports that no commit could be made.
    """
    state = ctx.read_state(event["session_id"])
    if state is None:
        return []
    oid = link.write_checkpoint(ctx.repo, state, event, ctx.head)
    ctx.keep(state)
    if oid is None:
        if not state["streams"]:
            return []
        tree = find_tree(ctx.repo.objects, ctx.head)
        tip = find_current(ctx.repo, state, ctx.head)
        if tip:
            recorded = read_changes(ctx.repo.objects, tip)
        else:
            recorded = {}
        work = find_work(ctx.repo, state, tree, recorded)
        return _tell_waiting(_list_blocked(ctx.repo, tree, work))
    ctx.leave()  # hold no session's lock while the person's hooks run
    held = False
    try:
        with exclusive(ctx.repo, f"auto-{ctx.repo.worktree_hash}", _WAIT):
            held = True
            settle_killed(ctx)
            return _try_commit(ctx, event["session_id"], oid)
    except (Busy, Refused) as e:
        return [_tell_why(str(e) if held else "another session's commit is not done")]


def _tell_why(why: str) -> Record:
    message = f"gitcp: not committed, {why}; what it changed is saved"
    return {"type": "say", "message": message}


def _tell_waiting(blocked: Blocked) -> list[Record]:
    if not blocked:
        return []
    paths = "; ".join(list_paths(paths, what) for what, paths in blocked.items())
    return [{"type": "say", "message": f"gitcp: not committed yet: {paths}"}]


def _try_commit(ctx: Context, session_id: str, oid: str) -> list[Record]:
    until = time.monotonic() + _WAIT
    while time.monotonic() < until:
        try:
            return _commit_once(ctx, session_id, oid)
        except Moved as e:
            git.append_trace("auto", f"again: {e}")
            others.drop_intent(ctx.repo)
        except Refused as e:
            others.drop_intent(ctx.repo)
            return [_tell_why(str(e))]
    return [_tell_why("HEAD moves faster than the hooks judge a commit")]


def _format_message(repo: Repo, subject: str, checkpoint_id: str, session_id: str) -> str:
    """The message of an auto-commit, with the configured trailers."""
    key = repo.config.get_option("gitcp.disclose")
    if repo.config.get_option("gitcp.link") == "note":
        lines = []
    else:
        lines = [f"{KEY}: {checkpoint_id}"]
    if key:
        lines += disclosure.format_lines(repo, key, [session_id])
    return "\n".join([subject, *([""] if lines else []), *lines]) + "\n"


def _commit_once(ctx: Context, session_id: str, oid: str) -> list[Record]:
    repo = ctx.repo
    state = ctx.read_state(session_id)
    head = ctx.head
    if state is None:
        return []
    link.follow_head(repo, state, head)
    ctx.keep(state)
    tip = read_tip(repo.objects, oid)
    if tip:
        recorded = read_changes(repo.objects, tip)
    else:
        recorded = {}
    tree = find_tree(repo.objects, head)
    work = find_work(repo, state, tree, recorded)
    blocked = _list_blocked(repo, tree, work)
    plan = _make_intent(ctx, state, head, oid, recorded, work, blocked)
    notices = _tell_waiting(blocked)
    if not plan["entries"]:
        return notices
    subject = need_commit(repo.objects, oid)["message"].partition("\n")[0]
    message = _format_message(repo, subject, plan["checkpoint_id"], session_id)
    ctx.leave()
    paths = make_commit(repo, plan, message)
    if not paths:
        others.drop_intent(repo)
        return notices
    store_commit(ctx, plan)
    others.drop_intent(repo)
    try:
        run_person_hook(repo, "post-commit")
    except Refused as e:
        git.append_trace("auto", str(e))  # the commit exists already
    ids = {"checkpoint_id": plan["checkpoint_id"], "session_id": session_id}
    return [{"type": "checkpoint", "commit": plan["commit"], **ids}, *notices]


def _list_blocked(repo: Repo, tree: str | None, work: Work) -> Blocked:
    """reason -> paths of the work that cannot be committed now."""
    if not work["entries"]:
        return {}
    staged = {
        path
        for path, entry in list_staged(repo, tree or repo.empty_tree).items()
        if path in work["entries"] and entry != work["entries"][path]
    }
    reasons = {_STAGED: staged, _MIXED: work["mixed"] - staged}
    return {why: paths for why, paths in reasons.items() if paths}


def _make_intent(
    ctx: Context,
    state: State,
    head: str,
    oid: str,
    recorded: dict[str, Entry | None],
    work: Work,
    blocked: Blocked,
) -> Intent:
    """The intent of a commit.  recorded: the entries of its checkpoint oid.  Raises Refused if
    work of this turn is blocked."""
    repo = ctx.repo
    if work["entries"]:
        for operation in list_under_way(repo):
            raise Refused(f"{operation} is in progress")
    blocked_paths = set().union(*blocked.values())
    if blocked_paths & work["current"]:
        raise Refused("; ".join(list_paths(paths, why) for why, paths in blocked.items()))
    entries = work["entries"].keys() - blocked_paths
    task = find_trailer(need_commit(repo.objects, oid)["message"], TASK_KEY)
    return {
        "session_id": state["session_id"],
        "checkpoint_id": make_id(),
        "tool_use_id": task.rpartition("/tasks/")[2],
        "expected": head,
        "tree": find_tree(repo.objects, head) or repo.empty_tree,
        "tip": oid,
        "dirty": recorded,
        "stash": "",
        "commit": "",
        "mark": [],
        "noted": False,
        "entries": {path: work["entries"][path] for path in sorted(entries)},
    }


def find_work(
    repo: Repo,
    state: State,
    tree: str | None,
    recorded: Mapping[str, Entry | None],
) -> Work:
    """The session's uncommitted work in the worktree, against HEAD's tree.

    recorded: the entries of its newest checkpoint.
    """
    tree_lookup = Lookup(repo.objects, tree)
    changes: Changes = {}
    current: set[str] = set()
    for stream in state["streams"]:
        for path, file in stream["files"].items():
            old = tree_lookup(path)
            entry = recorded.get(path)
            if path not in recorded or entry == old:
                continue
            if entry and entry[0] == TREE:
                entry = None  # a directory has replaced the file
            changes[path] = ids_.build_change(old, entry)
            if file["turn_id"] == state.get("turn_id"):
                current.add(path)
    credit = edit_lines.Edits(repo.objects, journal.read_journal(repo)).credit_paths(changes)
    return {
        "entries": {p: (mode, oid) if oid else None for p, (_, _, mode, oid) in changes.items()},
        "current": current,
        "mixed": {path for path in credit if _is_shared(credit[path], state["session_id"])},
    }


def _is_shared(credit: PathCredit, session_id: str) -> bool:
    """Whether another author has a line among those that a path gains or loses.  Lines of unknown
    authors do not count."""
    authors = {*(who for _, who in credit.added), *credit.removed}
    return any(who[0] != session_id and who != UNKNOWN for who in authors)


def settle_left_over(ctx: Context) -> None:
    """Settle a killed commit of this worktree, unless its process still runs.

    A failure is traced, and the next event tries again.
    """
    try:
        with ctx:
            ctx.leave()
            with exclusive(ctx.repo, f"auto-{ctx.repo.worktree_hash}", 0):
                settle_killed(ctx)
    except Error as e:
        git.append_trace("auto", f"what was left of a commit waits: {e}")


def settle_killed(ctx: Context) -> None:
    """Settle a killed commit; the caller holds the lock of this worktree's commits."""
    repo = ctx.repo
    plan = others.read_intent(repo)
    if plan is None:
        others.drop_intent(repo)
        return
    stands = settle_commit(repo, plan)
    fate = "stands" if stands else "is not"
    git.append_trace("auto", f"'{plan['commit']}' was killed, and {fate}")
    if stands:
        store_commit(ctx, plan)
    else:
        put_back(repo, plan)
    others.drop_intent(repo)


def store_commit(ctx: Context, plan: Intent) -> None:
    """Store the session of a commit that exists, once, and move its streams on."""
    repo = ctx.repo
    commit = need_commit(repo.objects, plan["commit"])
    state = ctx.read_state(plan["session_id"])
    if state is None:
        return
    stored = list_session_ids(repo, plan["checkpoint_id"])
    if plan["session_id"] not in stored:
        _condense(ctx, state, commit, plan)
    _settle_streams(repo, state, plan)
    ctx.keep(state)
    ctx.leave()  # carry_streams() reads the states from disk
    writing.carry_streams(repo, plan["expected"], commit, {plan["session_id"]})


def _condense(ctx: Context, state: State, commit: Commit, plan: Intent) -> None:
    repo = ctx.repo
    paths = sorted(plan["entries"])
    linked: Linked = {"how": "environment", "paths": paths, "reasons": {}}
    extra: dict[str, Any] = {"strategy": AUTO}
    if plan["tool_use_id"]:
        extra |= {"is_task": True, "tool_use_id": plan["tool_use_id"]}
    session.take_commit(state, paths)
    if plan["noted"]:
        notes.add_link(repo, commit["oid"], plan["checkpoint_id"])
    pair = [(state, linked)]
    condense.condense_sessions(
        repo, commit, plan["checkpoint_id"], pair, plan["noted"], extra=extra
    )


def _settle_streams(repo: Repo, state: State, plan: Intent) -> None:
    """Settle the paths that the commit took, even if a hook has changed their content."""
    edits.let_edits_go(repo, state["session_id"], plan["entries"])
    read_streams(repo, state)
    if not state["streams"]:
        state["checkpoint_count"] = 0
    state["base_commit"] = state["attribution_base_commit"] = plan["commit"]
