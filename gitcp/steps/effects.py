"""The effects of a step, what it changed beside the files of the worktree: described, inverted and
made."""

from __future__ import annotations

import os
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
from gitcp.steps.back import plan
from gitcp.steps.undo import get_kind, hold_log, read_steps, withdraw_step
from gitcp.text.ids import BRANCHES, NOTES
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.back.plan import Conflict
    from gitcp.steps.undo import Effect

_NAMED = 3  # ignored files that a summary names
# The refs that steps may change.
_OWN = "refs/gitcp/", "refs/entire/", BRANCHES, NOTES


def invert_effects(effects: Iterable[Effect]) -> list[Effect]:
    """The effects that undo these, in reverse order."""
    inverse = [{**effect, "old": effect["new"], "new": effect["old"]} for effect in effects]
    for effect in inverse:
        if "commits" in effect:
            effect["commits"] = effect["commits"][::-1]
    return inverse[::-1]


def join_staging(repo: Repo, effects: Iterable[Effect]) -> list[Effect]:
    """The effects, with each run of those on the index alone as one: of several that are made at
    once each would find what the others have left."""
    joined: list[Effect] = []
    for effect in effects:
        last = joined[-1] if joined else None
        if last and _can_join(repo, last, effect):
            joined[-1] = _join_pair(repo, last, effect)
        else:
            joined.append(effect)
    return joined


def _can_join(repo: Repo, first: Effect, second: Effect) -> bool:
    """Whether two effects change entries of the index at one HEAD, the second from the first."""
    for effect in (first, second):
        if "index" not in effect or "commits" in effect:
            return False
    if first["head"] != second["head"]:
        return False
    after = dict(list_files(repo.objects, first["new"]))
    before = dict(list_files(repo.objects, second["old"]))
    both = _list_staged_paths(repo.objects, first) & _list_staged_paths(repo.objects, second)
    return all(after.get(path) == before.get(path) for path in both)


def _join_pair(repo: Repo, first: Effect, second: Effect) -> Effect:
    old = dict(list_files(repo.objects, first["old"]))
    new = dict(list_files(repo.objects, second["new"]))
    in_first = _list_staged_paths(repo.objects, first)
    in_second = _list_staged_paths(repo.objects, second)
    for path, entry in list_files(repo.objects, second["old"]):
        if path not in in_first:
            old[path] = entry
    for path, entry in list_files(repo.objects, first["new"]):
        if path not in in_second:
            new[path] = entry
    joined = {**second}
    joined["old"] = index.write_part(repo.objects, old)
    joined["new"] = index.write_part(repo.objects, new)
    intents = {*first.get("intents", ()), *second.get("intents", ())}
    if intents:
        joined["intents"] = sorted(intents)
    return joined


def summarize_effects(repo: Repo, effects: Sequence[Effect]) -> str:
    """What effects change in git, as in `HEAD is at 1a2b3c4, 2 files changed in the index`."""
    words = []
    for effect in effects:
        if get_kind(effect) == "stash":
            what = "is off the stash"
            if effect["new"]:
                what = "is back"
            words.append(f"{_name_subject(effect)} {what}")
        if get_kind(effect) == "index":
            if "commits" in effect:
                head = [abbreviate(effect["commits"][1]) or "no commit"]
            else:
                head = []
            words += [f"HEAD is at {oid}" for oid in head]
            count = len(_list_staged_paths(repo.objects, effect))
            if count:
                words += [f"{count_noun(count, 'file')} changed in the index"]
    ignored = [effect for effect in effects if name_ignored(repo, effect)]
    returned = [effect for effect in ignored if effect["new"]]
    removed = [effect for effect in ignored if not effect["new"]]
    for group, state in ((returned, "back"), (removed, "gone")):
        if len(group) > _NAMED:
            words.append(f"{len(group)} ignored files are {state}")
        else:
            words += [f"'{name_ignored(repo, effect)}' is {state}" for effect in group]
    return ", ".join(words)


def name_ignored(repo: Repo, effect: Effect) -> str:
    """The path, relative to the root of the worktree, of an effect on a file that git ignores; ''
    for another effect."""
    path = str(effect.get("file", ""))
    if "mode" not in effect or not path.startswith(f"{repo.worktree}/"):
        return ""
    return path[len(repo.worktree) + 1 :]


def find_possible(
    repo: Repo, effects: Iterable[Effect], keep: bool
) -> tuple[list[Effect], list[str], list[Conflict]]:
    """(the effects that can be made, a sentence for each that is left alone, the conflicts).

    A file that a step created or deleted and that was changed since, as a client does with a
    conversation, is left alone; with keep so is everything that was changed since.
    """
    todo = []
    notes = []
    blocked: list[Conflict] = []
    for effect in effects:
        subject = _name_subject(effect)
        if "index" in effect and (obstacle := _find_obstacle(repo, effect)):
            why = f"{obstacle} (--conflict=keep leaves it, and undoes the rest)"
            blocked += [] if keep else [{"path": subject, "reason": why}]
        elif _read_current(repo, effect) in (effect["old"], effect["new"]):
            todo.append(effect)
        elif keep or ("file" in effect and None in (effect["old"], effect["new"])):
            notes.append(f"'{subject}' has gone on since, and stays as it is")
        else:
            blocked.append({"path": subject, "reason": "changed since by somebody else"})
    return todo, notes, blocked


def put_effects(repo: Repo, effects: Iterable[Effect]) -> None:
    """Make effects, except those that are made already.

    Raises Changed or Moved if a subject is neither as before nor as after its effect, and Error if
    a content is not kept any more.  Effects that were made are then undone.
    """
    done: list[Effect] = []
    try:
        for _, group in groupby(effects, get_kind):
            todo = [e for e in group if not _is_made(repo, e)]
            _make_effects(repo, todo)
            done += todo
    except (Error, OSError):
        for effect in invert_effects(done):
            _make_effects(repo, [effect])
        raise


def _is_made(repo: Repo, effect: Effect) -> bool:
    commits = effect.get("commits")
    if commits and (refs.read_head(repo) or "") != commits[1]:
        return False
    current: str | None = _read_current(repo, effect)
    return bool(current == effect["new"])


def _make_effects(repo: Repo, group: list[Effect]) -> None:
    """Make effects of one kind; those of notes or checkpoints all at once."""
    for effect in group:
        if _read_current(repo, effect) != effect["old"]:
            raise Changed(f"'{_name_subject(effect)}' has changed meanwhile")
    if not group:
        return
    if get_kind(group[0]) == "note":
        notes.edit_notes(repo, {e["note"]: partial(_swap_note, repo.objects, e) for e in group})
    elif get_kind(group[0]) == "checkpoint":
        trees = {effect["checkpoint"]: effect["new"] for effect in group}
        writing.set_trees(repo, trees)
    for effect in group:
        if "stash" in effect:
            _put_stash(repo, effect)
        elif "index" in effect:
            _put_staged(repo, effect)
        elif "ref" in effect:
            refs.update_refs(repo, [(effect["ref"], effect["new"], effect["old"])], "gitcp: undo")
        elif "file" in effect:
            _write_file(repo, effect)


def _name_subject(effect: Effect) -> str:
    """The subject of an effect, for messages."""
    if "note" in effect:
        return f"note on {effect['note'][:12]}"
    if "stash" in effect:
        return f"stash entry {effect['stash'][:12]}"
    if "index" in effect:
        return "index"
    return str(effect[get_kind(effect)])


def _read_current(repo: Repo, effect: Effect) -> str | None:
    if "stash" in effect:
        return effect["stash"] if effect["stash"] in refs.list_stashes(repo) else None
    if "index" in effect:
        current = index.read_entries(repo, _list_staged_paths(repo.objects, effect))
        return index.write_part(repo.objects, current)
    if "note" in effect:
        text = notes.read_note(repo.objects, effect["note"])
        if text is None:
            return None
        return repo.objects.hash_object("blob", text)
    if "checkpoint" in effect:
        return writing.find_tree_here(repo, effect["checkpoint"])
    if "ref" in effect:
        if not effect["ref"].startswith(_OWN):
            raise Error(f"'{effect['ref']}' is not a ref of gitcp: no step of gitcp changed it")
        return refs.read_ref(repo, effect["ref"])
    _check_file(repo, effect["file"])
    data = read_bytes(effect["file"])
    return None if data is None else hash_bytes(data)


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
    """The effect of entries of the index that were replaced, as two trees.

    head: HEAD, without which it is not undone.  intents: the paths of which the index says without
    the entries that they will be added.  Versions that do not know the key `index` find that `file`
    has changed, and refuse to undo it."""
    made = [path for path, entry in old.items() if entry is None and new.get(path)]
    intents = index.list_intents(repo, made)
    return {
        **({"intents": intents} if intents else {}),
        "index": repo.worktree_hash,
        "file": index.locate_index(repo),
        "old": index.write_part(repo.objects, old),
        "new": index.write_part(repo.objects, new),
        "head": refs.read_head(repo) or "",
    }


def describe_commits(
    repo: Repo,
    entries: tuple[index.Entries, index.Entries],
    commits: tuple[str, str],
) -> Effect:
    """The effect of commits that moved HEAD, on the same branch, and entries of the index with it.

    entries: before and after.  commits: HEAD before and after, '' for none.  It is undone only
    while HEAD is at the second one, and no remote-tracking branch has what HEAD leaves."""
    effect = describe_staging(repo, *entries)
    return {**effect, "commits": list(commits), "branch": refs.read_branch(repo)}


def _find_obstacle(repo: Repo, effect: Effect) -> str:
    """Why an effect on the index cannot be made at this HEAD; '' if it can."""
    head = refs.read_head(repo) or ""
    if "commits" not in effect:
        if head == effect["head"]:
            return ""
        return "HEAD has moved since"
    old, new = effect["commits"]
    if head not in (old, new) or refs.read_branch(repo) != effect["branch"]:
        return "HEAD has moved since"
    if head == old and is_pushed(repo, old, new):
        return "the commits were pushed"
    return ""


def is_pushed(repo: Repo, old: str, new: str) -> bool:
    """Whether a remote-tracking branch has a commit that HEAD leaves by moving from old to new."""
    if old:
        abandoned = list_commits(repo, "--reverse", old, *([f"^{new}"] if new else []))
    else:
        abandoned = []
    if not abandoned:
        return False
    args = ("for-each-ref", "--count=1", f"--contains={abandoned[0]}", "refs/remotes")
    return bool(repo.git.read_line(*args))


def move_head(repo: Repo, commits: tuple[str, str], reason: str) -> None:
    """Move HEAD and its branch from the first commit to the second, '' for none; do nothing if it
    is there.  Raises Moved if HEAD is at neither."""
    head = refs.read_head(repo) or ""
    old, new = commits
    if head == new:
        return
    zeros = refs.get_zeros(repo)
    if head != old:
        raise Moved("HEAD", old, head)
    where = ("update-ref", "-d", "HEAD") if not new else ("update-ref", "-m", reason, "HEAD", new)
    try:
        repo.git.run("-c", "core.filesRefLockTimeout=2000", *where, old or zeros)
    except GitError as e:
        raise Error(f"HEAD cannot be moved: {e.complaint.splitlines()[0]}") from None


def _list_staged_paths(objects: Objects, effect: Effect) -> set[str]:
    found: set[str] = set()
    for end in ("old", "new"):
        for path, _ in list_files(objects, effect[end]):
            found.add(path)
    return found


def _put_staged(repo: Repo, effect: Effect) -> None:
    none = dict.fromkeys(_list_staged_paths(repo.objects, effect))
    old, new = ({**none, **dict(list_files(repo.objects, effect[end]))} for end in ("old", "new"))
    intents = [path for path in effect.get("intents", ()) if new.get(path) is None]
    index.replace_entries(repo, old, new, lambda: _go_back(repo, effect), intents)


def _go_back(repo: Repo, effect: Effect) -> None:
    """Move HEAD as a reset does, after which the work can be committed again with its links."""
    if "commits" in effect:
        old, new = effect["commits"]
        if old and refs.read_head(repo) == old:
            repo.git.run("update-ref", "ORIG_HEAD", old)
        move_head(repo, (old, new), f"reset: moving to {new}")


def settle_index(repo: Repo) -> None:
    """Complete the newest step if a kill came after it moved HEAD and before it changed the index;
    drop it if it has changed neither.  Only when index.is_abandoned()."""
    with hold_log(repo):
        index.release_abandoned(repo)
        log = read_steps(repo)
        step = log[-1] if log else None
        if step:
            effects = [e for e in step["effects"] if "index" in e]
        else:
            effects = []
        if step is None or not effects or step["kind"] in plan.MOVES:
            return
        head = refs.read_head(repo) or ""
        if head == effects[0].get("commits", [""])[-1]:
            put_effects(repo, effects)
        elif not _is_made(repo, effects[0]):
            parents = need_commit(repo.objects, step["commit"])["parents"]
            withdraw_step(repo, (step["commit"], parents[0] if parents else None))


def describe_stash(repo: Repo, oid: str) -> Effect:
    """The effect of an entry of `git stash` that is put back.  Versions that do not know the key
    `stash` leave the file alone, and say so."""
    return {
        "stash": oid,
        "file": os.path.join(repo.common, "logs", "refs", "stash"),
        "old": None,
        "new": oid,
    }


def _put_stash(repo: Repo, effect: Effect) -> None:
    """Put an entry on the list of `git stash`, or take it off."""
    oid = effect["stash"]
    if effect["new"]:
        message = need_commit(repo.objects, oid)["message"].partition("\n")[0]
        repo.git.run("stash", "store", "-q", "-m", message, oid)
    else:
        number = refs.list_stashes(repo).index(oid)
        repo.git.run("stash", "drop", "-q", f"stash@{{{number}}}")


def _swap_note(objects: Objects, effect: Effect, old: bytes | None) -> bytes | None:
    if old is None:
        current = None
    else:
        current = objects.hash_object("blob", old)
    if current != effect["old"]:
        return old
    if effect["new"]:
        return objects.need(effect["new"], "blob")
    return None


def _write_file(repo: Repo, effect: Effect) -> None:
    path = effect["file"]
    data = contents.read_kept(repo, effect["new"])
    if data is None:
        os.unlink(path)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        mode = effect.get("mode")
        replace_file(path, data, mode & 0o777 if isinstance(mode, int) else 0o600)
