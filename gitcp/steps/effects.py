"""The effects of a step, what it changed beside the files of the worktree: described, inverted and
made."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby

from gitcp import agents
from gitcp.checkpoints import notes, writing
from gitcp.errors import Changed, Error, GitError, Moved
from gitcp.git import refs
from gitcp.git.files import hash_bytes, read_bytes, replace_file
from gitcp.git.objects import need_commit
from gitcp.git.objects.object_lists import list_commits, list_files
from gitcp.record import contents
from gitcp.record.session import others
from gitcp.record.snapshot import index
from gitcp.steps.step import (
    CHECKPOINT,
    FILE,
    INDEX,
    NOTE,
    REF,
    STASH,
    Conflict,
    Effect,
    HeadMove,
    IndexFacts,
)
from gitcp.steps.undo import Written, hold_log, read_steps, withdraw_step
from gitcp.text import replace
from gitcp.text.ids import BRANCHES, NOTES
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry

_NAMED = 3  # ignored files that a summary names
# The refs that steps may change.
_OWN = "refs/gitcp/", "refs/entire/", BRANCHES, NOTES


def invert_effects(effects: Iterable[Effect]) -> list[Effect]:
    """The effects that undo these, in reverse order."""
    inverse = [effect.invert() for effect in effects]
    return inverse[::-1]


def join_staging(repo: Repo, effects: Iterable[Effect]) -> list[Effect]:
    """The effects, with each run of those on the index alone as one: of several that are made at
    once each would find what the others have left."""
    joined: list[Effect] = []
    for effect in effects:
        if joined and _can_join(repo, joined[-1], effect):
            joined[-1] = _join_pair(repo, joined[-1], effect)
        else:
            joined.append(effect)
    return joined


def _can_join(repo: Repo, first: Effect, second: Effect) -> bool:
    """Whether two effects change entries of the index at one HEAD, the second from the first."""
    for effect in (first, second):
        if effect.kind != INDEX or effect.index.move:
            return False
    if first.index.head != second.index.head:
        return False
    after = dict(list_files(repo.objects, _need_end(first.new)))
    before = dict(list_files(repo.objects, _need_end(second.old)))
    both = _list_staged_paths(repo.objects, first) & _list_staged_paths(repo.objects, second)
    return all(after.get(path) == before.get(path) for path in both)


def _join_pair(repo: Repo, first: Effect, second: Effect) -> Effect:
    old = dict(list_files(repo.objects, _need_end(first.old)))
    new = dict(list_files(repo.objects, _need_end(second.new)))
    in_first = _list_staged_paths(repo.objects, first)
    in_second = _list_staged_paths(repo.objects, second)
    for path, entry in list_files(repo.objects, _need_end(second.old)):
        if path not in in_first:
            old[path] = entry
    for path, entry in list_files(repo.objects, _need_end(first.new)):
        if path not in in_second:
            new[path] = entry
    intents = sorted({*first.index.intents, *second.index.intents})
    return replace(
        second,
        old=index.write_part(repo.objects, old),
        new=index.write_part(repo.objects, new),
        index=replace(second.index, intents=tuple(intents)),
    )


def _need_end(tree: str | None) -> str:
    """A tree of an effect on the index, which always has one before and one after it."""
    if tree is None:
        raise Error("an effect on the index lacks its entries")
    return tree


def summarize_effects(repo: Repo, effects: Sequence[Effect]) -> str:
    """What effects change in git, as in `HEAD is at 1a2b3c4, 2 files changed in the index`."""
    words: list[str] = []
    returned: list[str] = []
    removed: list[str] = []
    for effect in effects:
        ignored = name_ignored(repo, effect)
        if effect.kind == STASH and effect.new:
            words.append(f"{_name_subject(effect)} is back")
        elif effect.kind == STASH:
            words.append(f"{_name_subject(effect)} is off the stash")
        elif effect.kind == INDEX:
            words += _summarize_index(repo, effect)
        elif ignored and effect.new:
            returned.append(ignored)
        elif ignored:
            removed.append(ignored)
    words += _summarize_ignored(returned, "back")
    words += _summarize_ignored(removed, "gone")
    return ", ".join(words)


def _summarize_index(repo: Repo, effect: Effect) -> list[str]:
    words: list[str] = []
    if effect.index.move:
        head = abbreviate(effect.index.move.new) or "no commit"
        words.append(f"HEAD is at {head}")
    count = len(_list_staged_paths(repo.objects, effect))
    if count:
        words.append(f"{count_noun(count, 'file')} changed in the index")
    return words


def _summarize_ignored(paths: Sequence[str], state: str) -> list[str]:
    if len(paths) > _NAMED:
        return [f"{len(paths)} ignored files are {state}"]
    return [f"'{path}' is {state}" for path in paths]


def name_ignored(repo: Repo, effect: Effect) -> str:
    """The path, relative to the root of the worktree, of an effect on a file that git ignores; ''
    for another effect."""
    root = f"{repo.worktree}/"
    if effect.kind != FILE or effect.mode is None or not effect.subject.startswith(root):
        return ""
    return effect.subject.removeprefix(root)


@dataclass(slots=True)
class Possible:
    """Which effects can be made, a sentence for each that is left alone, and the conflicts."""

    todo: list[Effect] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


def find_possible(repo: Repo, effects: Iterable[Effect], keep: bool) -> Possible:
    """Divide effects into those that can be made and others.

    A file that a step created or deleted and that was changed since, as a client does with a
    conversation, is left alone; with keep so is everything that was changed since.
    """
    found = Possible()
    for effect in effects:
        subject = _name_subject(effect)
        obstacle = ""
        if effect.kind == INDEX:
            obstacle = _find_obstacle(repo, effect)
        is_own_file = effect.kind == FILE and None in (effect.old, effect.new)
        if obstacle:
            why = f"{obstacle} (--conflict=keep leaves it, and undoes the rest)"
            if not keep:
                found.conflicts.append(Conflict(subject, why))
        elif _read_current(repo, effect) in (effect.old, effect.new):
            found.todo.append(effect)
        elif keep or is_own_file:
            found.notes.append(f"'{subject}' has gone on since, and stays as it is")
        else:
            found.conflicts.append(Conflict(subject, "changed since by somebody else"))
    return found


def put_effects(repo: Repo, effects: Iterable[Effect]) -> None:
    """Make effects, except those that are made already.

    Raises Changed or Moved if a subject is neither as before nor as after its effect, and Error if
    a content is not kept any more.  Effects that were made are then undone.
    """
    done: list[Effect] = []
    try:
        for kind, group in groupby(effects, lambda effect: effect.kind):
            todo = [effect for effect in group if not _is_made(repo, effect)]
            _make_effects(repo, kind, todo)
            done += todo
    except (Error, OSError):
        for effect in invert_effects(done):
            _make_effects(repo, effect.kind, [effect])
        raise


def _is_made(repo: Repo, effect: Effect) -> bool:
    move = effect.index.move
    if move and (refs.read_head(repo) or "") != move.new:
        return False
    return _read_current(repo, effect) == effect.new


def _make_effects(repo: Repo, kind: str, group: Sequence[Effect]) -> None:
    """Make effects of one kind; those of notes or checkpoints all at once."""
    for effect in group:
        if _read_current(repo, effect) != effect.old:
            raise Changed(f"'{_name_subject(effect)}' has changed meanwhile")
    if not group:
        return
    if kind == NOTE:
        edits = {effect.subject: partial(_swap_note, repo.objects, effect) for effect in group}
        notes.edit_notes(repo, edits)
    elif kind == CHECKPOINT:
        writing.set_trees(repo, {effect.subject: effect.new for effect in group})
    elif kind == REF:
        for effect in group:
            refs.update_refs(repo, [(effect.subject, effect.new, effect.old)], "gitcp: undo")
    else:
        put_one = {STASH: _put_stash, INDEX: _put_staged, FILE: _write_file}[kind]
        for effect in group:
            put_one(repo, effect)


def _name_subject(effect: Effect) -> str:
    """The subject of an effect, for messages."""
    if effect.kind == NOTE:
        return f"note on {effect.subject[:12]}"
    if effect.kind == STASH:
        return f"stash entry {effect.subject[:12]}"
    if effect.kind == INDEX:
        return "index"
    return effect.subject


def _read_current(repo: Repo, effect: Effect) -> str | None:
    subject = effect.subject
    if effect.kind == STASH:
        if subject in refs.list_stashes(repo):
            return subject
        return None
    if effect.kind == INDEX:
        current = index.read_entries(repo, _list_staged_paths(repo.objects, effect))
        return index.write_part(repo.objects, current)
    if effect.kind == NOTE:
        text = notes.read_note(repo.objects, subject)
        if text is None:
            return None
        return repo.objects.hash_object("blob", text)
    if effect.kind == CHECKPOINT:
        return writing.find_tree_here(repo, subject)
    if effect.kind == REF:
        if not subject.startswith(_OWN):
            raise Error(f"'{subject}' is not a ref of gitcp: no step of gitcp changed it")
        return refs.read_ref(repo, subject)
    if effect.kind != FILE:
        raise Error("the step has changed something that this version of gitcp does not know")
    _check_file(repo, subject)
    data = read_bytes(subject)
    if data is None:
        return None
    return hash_bytes(data)


def _check_file(repo: Repo, path: str) -> None:
    """Raise Error unless a file is where a client has conversations, or in this worktree: these
    alone are written by their absolute paths.  The log is a ref, and may have come from elsewhere
    (doc/trust.md)."""
    if _is_in_worktree(repo, path):
        return
    home = os.path.expanduser("~")
    folders = list[str]()
    for client in map(agents.get_client, agents.list_names()):
        if client.TRANSCRIPTS:
            folders.append(client.locate(home, client.TRANSCRIPTS))
    for session_id in others.list_state_ids(repo):
        live = (others.peek_state(repo, session_id) or {}).get("transcript_path")
        if isinstance(live, str) and os.path.isabs(live):
            folders += [os.path.dirname(live)]
    parent = os.path.realpath(os.path.dirname(path))
    if not any(f"{parent}/".startswith(f"{os.path.realpath(folder)}/") for folder in folders):
        raise Error(f"'{path}' is not a conversation of a client: no step of gitcp wrote it")


def _is_in_worktree(repo: Repo, path: str) -> bool:
    """Whether a file is in the worktree, behind no symbolic link and in no `.git`."""
    root = repo.worktree
    folder = os.path.dirname(path)
    if not path.startswith(f"{root}/") or os.path.normpath(path) != path:
        return False
    if os.path.realpath(folder) != os.path.realpath(root) + folder[len(root) :]:
        return False
    return ".git" not in path[len(root) :].casefold().split("/")


def describe_staging(repo: Repo, old: index.Entries, new: index.Entries) -> Effect:
    """The effect of entries of the index that were replaced."""
    made = [path for path, entry in old.items() if entry is None and new.get(path)]
    intents = tuple(index.list_intents(repo, made))
    return Effect(
        INDEX,
        repo.worktree_hash,
        index.write_part(repo.objects, old),
        index.write_part(repo.objects, new),
        path=index.locate_index(repo),
        index=IndexFacts(refs.read_head(repo) or "", intents),
    )


def describe_commits(repo: Repo, old: index.Entries, new: index.Entries, move: HeadMove) -> Effect:
    """The effect of commits that moved HEAD, on the same branch, and entries of the index with it.

    It is undone only while HEAD is at the end of the move, and no remote-tracking branch has what
    HEAD leaves."""
    effect = describe_staging(repo, old, new)
    return replace(effect, index=replace(effect.index, move=move))


def _find_obstacle(repo: Repo, effect: Effect) -> str:
    """Why an effect on the index cannot be made at this HEAD; '' if it can."""
    head = refs.read_head(repo) or ""
    move = effect.index.move
    if move is None:
        if head == effect.index.head:
            return ""
        return "HEAD has moved since"
    if head not in (move.old, move.new) or refs.read_branch(repo) != move.branch:
        return "HEAD has moved since"
    if head == move.old and is_pushed(repo, move.old, move.new):
        return "the commits were pushed"
    return ""


def is_pushed(repo: Repo, old: str, new: str) -> bool:
    """Whether a remote-tracking branch has a commit that HEAD leaves by moving from old to new."""
    if not old:
        return False
    revisions = [old]
    if new:
        revisions.append(f"^{new}")
    abandoned = list_commits(repo, "--reverse", *revisions)
    if not abandoned:
        return False
    args = ("for-each-ref", "--count=1", f"--contains={abandoned[0]}", "refs/remotes")
    return bool(repo.git.read_line(*args))


def move_head(repo: Repo, old: str, new: str, reason: str) -> None:
    """Move HEAD and its branch from a commit to another, '' for none; do nothing if it is there.
    Raises Moved if HEAD is at neither."""
    head = refs.read_head(repo) or ""
    if head == new:
        return
    if head != old:
        raise Moved("HEAD", old, head)
    if new:
        where = ["update-ref", "-m", reason, "HEAD", new]
    else:
        where = ["update-ref", "-d", "HEAD"]
    where.append(old or refs.get_zeros(repo))
    try:
        repo.git.run("-c", "core.filesRefLockTimeout=2000", *where)
    except GitError as e:
        raise Error(f"HEAD cannot be moved: {e.complaint.splitlines()[0]}") from None


def _list_staged_paths(objects: Objects, effect: Effect) -> set[str]:
    found: set[str] = set()
    for tree in (effect.old, effect.new):
        for path, _ in list_files(objects, _need_end(tree)):
            found.add(path)
    return found


def _put_staged(repo: Repo, effect: Effect) -> None:
    old: dict[str, Entry | None] = {}
    old.update(dict.fromkeys(_list_staged_paths(repo.objects, effect)))
    new = dict(old)
    old.update(list_files(repo.objects, _need_end(effect.old)))
    new.update(list_files(repo.objects, _need_end(effect.new)))
    intents = [path for path in effect.index.intents if new.get(path) is None]
    index.replace_entries(repo, old, new, lambda: _go_back(repo, effect), intents)


def _go_back(repo: Repo, effect: Effect) -> None:
    """Move HEAD as a reset does, after which the work can be committed again with its links."""
    move = effect.index.move
    if move:
        if move.old and refs.read_head(repo) == move.old:
            repo.git.run("update-ref", "ORIG_HEAD", move.old)
        move_head(repo, move.old, move.new, f"reset: moving to {move.new}")


def settle_index(repo: Repo) -> None:
    """Complete the newest step if a kill came after it moved HEAD and before it changed the index;
    drop it if it has changed neither.  Only when index.is_abandoned()."""
    with hold_log(repo):
        index.release_abandoned(repo)
        log = read_steps(repo)
        if not log or log[-1].is_move:
            return
        step = log[-1]
        effects = [effect for effect in step.effects if effect.kind == INDEX]
        if not effects:
            return
        head = refs.read_head(repo) or ""
        target = ""
        if effects[0].index.move:
            target = effects[0].index.move.new
        if head == target:
            put_effects(repo, effects)
        elif not _is_made(repo, effects[0]):
            parent = None
            parents = need_commit(repo.objects, step.commit)["parents"]
            if parents:
                parent = parents[0]
            withdraw_step(repo, Written(step.commit, parent))


def describe_stash(repo: Repo, oid: str) -> Effect:
    """The effect of an entry of `git stash` that is put back.  Versions that do not know the kind
    leave the file alone, and say so."""
    path = os.path.join(repo.common, "logs", "refs", "stash")
    return Effect(STASH, oid, None, oid, path=path)


def _put_stash(repo: Repo, effect: Effect) -> None:
    """Put an entry on the list of `git stash`, or take it off."""
    oid = effect.subject
    if effect.new:
        message = need_commit(repo.objects, oid)["message"].partition("\n")[0]
        repo.git.run("stash", "store", "-q", "-m", message, oid)
    else:
        number = refs.list_stashes(repo).index(oid)
        repo.git.run("stash", "drop", "-q", f"stash@{{{number}}}")


def _swap_note(objects: Objects, effect: Effect, old: bytes | None) -> bytes | None:
    current = None
    if old is not None:
        current = objects.hash_object("blob", old)
    if current != effect.old:
        return old
    if effect.new:
        return objects.need(effect.new, "blob")
    return None


def _write_file(repo: Repo, effect: Effect) -> None:
    path = effect.subject
    data = contents.read_kept(repo, effect.new)
    if data is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = 0o600
    if effect.mode is not None:
        mode = effect.mode & 0o777
    replace_file(path, data, mode)
