"""Listing committed checkpoints, with one `cat-file --batch` and in bounded memory."""

from __future__ import annotations

from contextlib import suppress

from gitcp.checkpoints import format, links, notes, recorded_edits, stored
from gitcp.checkpoints.stored import (
    Parts,
    find_holding_ref,
    find_sole_session,
    list_numbers,
    list_places,
    list_sources,
)
from gitcp.errors import Error, GitError, InputError
from gitcp.git import commit_message, decode_name, encode_name, refs
from gitcp.git import places as place_names
from gitcp.git.files import read_cache, write_private
from gitcp.git.objects import TREE, Objects, find_tree, need_commit, read_commit, read_tree
from gitcp.git.objects.reading import run_task, run_tasks, split_windows, spread_batches
from gitcp.git.records import parse_json
from gitcp.text import console
from gitcp.text import ids as ids_
from gitcp.text.ids import CHECKPOINT_ID, parse_checkpoint_ref
from gitcp.text.shapes import is_object_name, is_ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeVar

    from gitcp.checkpoints.stored import Places, StoredCheckpoint
    from gitcp.git.objects.reading import Steps
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, Record, Tree

    Converted = TypeVar("Converted")
    _Window = tuple[str, list[tuple[str, str]]]
    Tips = dict[str, str]  # ref -> oid

_WINDOW = 32  # checkpoints whose objects are read at once
_BATCH = 8  # windows that one process takes at once
_SHARDS = 32  # directories of checkpoints that are read at once
_AT_ONCE = 400  # commits of checkpoints that are read at once
_HEX = frozenset("0123456789abcdef")


def list_checkpoints(repo: Repo, skip_summary: bool = False) -> Iterator[StoredCheckpoint]:
    """Every checkpoint of list_sources(), once, in the order of ids in each source.

    skip_summary: as for Parts.load_checkpoint().
    """
    return map_checkpoints(repo, lambda checkpoint: checkpoint, skip_summary)


def map_checkpoints(
    repo: Repo, convert: Callable[[StoredCheckpoint], Converted], skip_summary: bool = False
) -> Iterator[Converted]:
    """What convert() returns for each checkpoint of list_checkpoints().

    A large store is divided among processes: spread_batches() sends what convert() returns."""

    def begin(objects: Objects) -> Callable[[list[_Window]], list[Converted]]:
        def load(batch: list[_Window]) -> list[Converted]:
            tasks = (_load_window(objects, *window, skip_summary) for window in batch)
            converted: list[Converted] = []
            for loaded in run_tasks(objects, tasks):
                converted += map(convert, loaded)
            return converted

        return load

    with Objects(repo):
        batches = split_windows(_list_windows(repo, list_sources(repo)), _BATCH)
        for batch in spread_batches(repo.objects, batches, begin):
            yield from batch


def _list_windows(repo: Repo, places: list[str]) -> Iterator[_Window]:
    """Yield (place, some of its checkpoints), each checkpoint in the first place that has it."""
    listed: set[str] = set()
    for place in places:
        fresh = (item for item in list_trees(repo, place, "") if item[0] not in listed)
        for window in split_windows(fresh, _WINDOW):
            if len(places) > 1:
                listed.update(dict(window))
            yield place, window


def _load_window(
    objects: Objects, place: str, window: list[tuple[str, str]], skip_summary: bool
) -> Steps[list[StoredCheckpoint]]:
    loader = Loader(objects, skip_summary)
    yield from loader.read_ahead(tree for _, tree in window)
    return [loader.load(name, find_holding_ref(place, name), tree) for name, tree in window]


class Loader:
    """Loads many checkpoints, of which directories can be read ahead.

    skip_summary: as for Parts.load_checkpoint()."""

    def __init__(self, objects: Objects, skip_summary: bool = False) -> None:
        self._objects = objects
        self._skip_summary = skip_summary
        self.trees: dict[str, Tree] = {}

    def prepare(self, trees: Iterable[str], *more: str) -> None:
        """Read ahead what load() needs of the checkpoints with these trees, and the files named
        more."""
        run_task(self._objects, self.read_ahead(trees, *more))

    def read_ahead(self, trees: Iterable[str], *more: str) -> Steps[None]:
        """prepare() as a task of run_tasks()."""
        roots = yield from self._read_trees(list(trees))
        folders: list[str] = []
        for root in roots:
            folders += [root[name][1] for name in list_numbers(root)]
        below = yield from self._read_trees(folders)
        if self._skip_summary:
            roots = [root for root in roots if not find_sole_session(root)]
        names = (format.METADATA, *more)
        blobs: list[str] = []
        for entries in (*roots, *below):
            blobs += [entries[name][1] for name in names if name in entries]
        yield blobs

    def _read_trees(self, oids: list[str]) -> Steps[list[Tree]]:
        unread = [oid for oid in oids if oid not in self.trees]
        yield unread
        for oid in unread:
            with suppress(Error):  # load() warns
                self.trees[oid] = read_tree(self._objects, oid)
        return [self.trees[oid] for oid in oids if oid in self.trees]

    def load(self, checkpoint_id: str, ref: str, tree: str) -> StoredCheckpoint:
        """Parts.load_checkpoint() with what was read ahead."""
        return self.make_parts(checkpoint_id).load_checkpoint(ref, tree, self._skip_summary)

    def make_parts(self, checkpoint_id: str) -> Parts:
        """A reader of the parts of a checkpoint with what was read ahead."""
        return Parts(self._objects, checkpoint_id, self.trees, parse_json)


def list_trees(repo: Repo, place: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield (id, tree) of the checkpoints of a place whose ids begin with prefix."""
    if place == ids_.CHECKPOINTS:
        yield from _list_own_trees(repo, prefix)
    else:
        yield from _list_branch_trees(repo.objects, place, prefix)


def read_trees(repo: Repo, places: Iterable[str]) -> dict[str, str]:
    """id -> tree of every checkpoint, from the first of the places that has it."""
    trees: dict[str, str] = {}
    for place in places:
        for checkpoint_id, tree in list_trees(repo, place, ""):
            trees.setdefault(checkpoint_id, tree)
    return trees


def _list_own_trees(repo: Repo, prefix: str) -> Iterator[tuple[str, str]]:
    """list_trees() of the checkpoints that have refs of their own."""
    tips: list[tuple[str, str]] = []
    for ref, oid in stored.list_tips(repo).items():
        name = ids_.parse_checkpoint_ref(ref)
        if name.startswith(prefix):
            tips.append((name, oid))
    for window in split_windows(tips, _AT_ONCE):
        repo.objects.read_ahead(oid for _, oid in window)
        for name, oid in window:
            try:
                yield name, need_commit(repo.objects, oid)["tree"]
            except Error as e:
                console.warn_lacking(f"checkpoint '{name}': {e}", console.ABSENT)


def _list_branch_trees(objects: Objects, ref: str, prefix: str) -> Iterator[tuple[str, str]]:
    tip = objects.read(f"{ref}^{{tree}}")
    if tip is None:
        console.warn_lacking(f"'{ref}': its tree is missing", console.ABSENT)
    if tip:
        root = _read_entries(objects, tip[0], ref)
    else:
        root = {}
    for window in split_windows(_list_shards(ref, root, prefix), _SHARDS):
        objects.read_ahead(oid for _, oid in window)
        below = [(shard, _read_entries(objects, oid, f"{ref}:{shard}")) for shard, oid in window]
        for shard, entries in below:
            for name, (mode, tree) in entries.items():
                if not _HEX.issuperset(name) or not (shard + name).startswith(prefix):
                    continue
                if mode == TREE:
                    yield shard + name, tree
                else:
                    message = f"checkpoint '{shard}{name}' is not a directory"
                    console.warn_lacking(message, console.DAMAGED)


def _list_shards(ref: str, entries: Tree, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield (two digits, tree) of the directories whose checkpoints may begin with prefix."""
    for shard, (mode, oid) in entries.items():
        if len(shard) != 2 or not _HEX.issuperset(shard) or shard[: len(prefix)] != prefix[:2]:
            continue
        if mode == TREE:
            yield shard, oid
        else:
            console.warn_lacking(f"'{ref}:{shard}' is not a directory", console.DAMAGED)


def _read_entries(objects: Objects, tree: str, spec: str) -> Tree:
    try:
        return read_tree(objects, tree)
    except Error as e:
        console.warn_lacking(f"'{spec}': {e}", console.ABSENT)
        return {}


def resolve_id(repo: Repo, prefix: str) -> str:
    """The only checkpoint id that begins with prefix; raises Error if there is none, or several,
    which it lists."""
    if not prefix or not ids_.begins_checkpoint_id(prefix):
        raise InputError(f"not a checkpoint id: '{prefix}'")
    return ids_.pick_match("checkpoint", prefix, find_matching_ids(repo, prefix))


def find_matching_ids(repo: Repo, prefix: str) -> list[str]:
    """The checkpoint ids that begin with prefix, which may be any text, sorted."""
    if not ids_.begins_checkpoint_id(prefix):
        return []
    places = list_places(repo)
    listed: set[str] = set()
    for place in places:
        for name, _ in list_trees(repo, place, prefix):
            listed.add(name)
    return sorted(filter(ids_.is_checkpoint_id, listed))


def build_record(checkpoint: StoredCheckpoint) -> Record:
    """A checkpoint as a record of a stream (gitcp-record(5))."""
    root = checkpoint["summary"]
    sessions = checkpoint["sessions"]
    metadata = [s["metadata"] for s in sessions]
    created = [m["created_at"] for m in metadata if m.get("created_at")]
    branches = [format.get_text(m, "branch") for m in (root, *metadata)]
    listed: Record = {
        "type": "checkpoint",
        "checkpoint_id": checkpoint["checkpoint_id"],
        "ref": checkpoint["ref"],
        "strategy": format.get_text(root, "strategy"),
        "branch": next(filter(None, branches), ""),
        "created_at": max(created, default=""),
        "sessions": [s["session_id"] for s in sessions],
        "agents": list(dict.fromkeys(m["agent"] for m in metadata if m.get("agent"))),
        "checkpoints_count": root.get("checkpoints_count") or 0,
        "files_touched": format.list_strings(root.get("files_touched")),
    }
    if checkpoint["lacks"]:
        listed["lacks"] = checkpoint["lacks"]
    if isinstance(root.get("token_usage"), dict):
        listed["token_usage"] = root["token_usage"]
    return listed


# From checkpoint ids to commits: trailers on any branch, and notes.
# All branches and tags but those that gitcp writes.  What `git stash` makes is no commit of theirs.
ALL = (
    "--exclude=refs/stash",
    "--exclude=refs/heads/entire/*",
    "--exclude=refs/remotes/*/entire/*",
    "--exclude=refs/notes/*",
    "--exclude=refs/gitcp/*",
    "--exclude=refs/entire/*",
    "--all",
)
# Options that select the commits whose message names a checkpoint.
CARRYING = ("-E", "--regexp-ignore-case", commit_message.GREP, *ALL)
_COMMIT_LOG = "log", "--format=%H", "--no-show-signature", "--no-follow"


def find_carriers(repo: Repo, ids: Iterable[str]) -> dict[str, list[str]]:
    """checkpoint id -> the commits that carry it, newest first, then those with a note.

    An id without commits has an empty list.
    """
    carriers: dict[str, list[str]] = {i: [] for i in ids}
    if not carriers:
        return carriers
    reader = notes.Reader(repo.objects)
    places = stored.Places(repo)
    for oid, message in _grep_messages(repo, carriers):
        note = reader.read_note(oid) or b""
        for checkpoint_id in select_links(repo.objects, places, oid, message, note):
            if checkpoint_id in carriers:
                carriers[checkpoint_id].append(oid)
    for oid, checkpoint_id in _find_noted(repo.objects, carriers):
        kind = repo.objects.read(oid)
        if kind and kind[1] == "commit" and oid not in carriers[checkpoint_id]:
            carriers[checkpoint_id].append(oid)
    return carriers


def count_carrying(repo: Repo) -> int:
    """The number of commits that name a checkpoint in their message or note."""
    args = ["--format=%x00", "--no-show-signature", "--no-follow"]
    try:
        out = repo.git.run("log", f"--notes={notes.REF}", *args, *CARRYING)[1]
    except GitError:  # the ref of the notes is damaged
        out = repo.git.run("log", "--no-notes", *args, *CARRYING)[1]
    return out.count(b"\0")


def _find_noted(objects: Objects, ids: Iterable[str]) -> list[tuple[str, str]]:
    try:
        found: list[tuple[str, str]] = []
        for oid, names in notes.list_links(objects):
            for i in names:
                if i in ids:
                    found.append((oid, i))
        return found
    except Error as e:
        console.warn_lacking(f"'{notes.REF}': {e}")
        return []


def _grep_messages(repo: Repo, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Yield (oid, message) of each commit that may carry one of the ids, in git's order."""
    ids = list(ids)
    if len(ids) <= 100:
        pattern = "|".join(ids)
    else:
        pattern = CHECKPOINT_ID
    args = ["log", "-z", "--no-show-signature", "--no-notes", "--format=%H%n%B", "-E"]
    args += [f"{commit_message.GREP}[[:space:]]*({pattern})", "--regexp-ignore-case"]
    for item in repo.git.stream_records(*args, *ALL):
        oid, _, message = item.partition(b"\n")
        yield decode_name(oid), message


def list_beside(
    repo: Repo,
    bases: Iterable[str],
    most: int,
    tips: Iterable[str] = (),
    paths: Iterable[str] | None = None,
) -> list[Commit]:
    """The newest commits, at most so many, that carry an id, also in their note, and that no base
    has in its history, reachable from any ref or from tips; oldest first.  paths: only commits
    that change one of them."""
    args = [f"--max-count={most}", "--no-merges", *CARRYING, *tips, "--not", *bases]
    lines = b""
    if paths is not None:
        named = [encode_name(path) for path in paths if "\n" not in path]
        if not named:
            return []
        lines = b"\n".join([b"--", *named, b""])
        args += ["--stdin"]
    try:
        out = repo.git.run(*_COMMIT_LOG, f"--notes={notes.REF}", *args, stdin=lines)[1]
    except GitError:  # the ref of the notes is damaged
        out = repo.git.run(*_COMMIT_LOG, "--no-notes", *args, stdin=lines)[1]
    oids = out.decode().split()
    found: list[Commit] = []
    for oid in reversed(oids):
        commit = read_commit(repo.objects, oid)
        if commit:
            found.append(commit)
    return found


def map_carriers(repo: Repo, tip: str, since: int, most: int) -> dict[str, set[str]]:
    """checkpoint id -> the commits that carry it, of the newest in the history of tip that carry
    any, at most so many, made after a time in s since 1970."""
    oids = _list_carrying(repo, CHECKPOINT_ID, since, f"--max-count={most}", tip)
    repo.objects.read_ahead(oids)
    reader = notes.Reader(repo.objects)
    carriers: dict[str, set[str]] = {}
    for oid in oids:
        texts = read_texts(repo.objects, oid, reader)
        carried = links.list_carried(texts.message, texts.note)
        for checkpoint_id in carried:
            carriers.setdefault(checkpoint_id, set()).add(oid)
    return carriers


def list_carriers(repo: Repo, checkpoint_id: str, tip: str, since: int) -> list[str]:
    """The commits in the history of tip, made after a time in s since 1970, whose message or note
    has a line with the id, newest first."""
    return _list_carrying(repo, checkpoint_id, since, tip)


def _list_carrying(repo: Repo, name: str, since: int, *options: str) -> list[str]:
    """The commits made after a time, by the options of git log, with a line of an id that the
    pattern name describes, newest first."""
    grep = f"{commit_message.GREP}[[:space:]]*({name})"
    args = ["-E", "--regexp-ignore-case", grep, f"--since=@{since}", *options]
    try:
        out = repo.git.run(*_COMMIT_LOG, f"--notes={notes.REF}", *args)[1]
    except GitError:  # the ref of the notes is damaged
        out = repo.git.run(*_COMMIT_LOG, "--no-notes", *args)[1]
    return out.decode().split()


def list_ids(repo: Repo, commit: str) -> list[str]:
    """The checkpoint ids of one commit (full oid), for readers: those it is linked to, then those
    that recorded_edits.select_meant() finds elsewhere in its message."""
    texts = read_texts(repo.objects, commit)
    return select_links(repo.objects, stored.Places(repo), commit, texts.message, texts.note)


def select_links(
    objects: Objects, places: Places, commit: str, message: bytes, note: bytes
) -> list[str]:
    """list_ids() by the commit's message and note."""
    ids, others = links.find_ids(message, note)
    if others:
        ids = [*ids, *recorded_edits.select_meant(objects, places, commit, message, others)]
    return ids


def list_linked(objects: Objects, commit: str) -> list[str]:
    """The checkpoint ids that one commit (full oid) is linked to: those of its last trailer block,
    then of its note, less those that the note removes."""
    texts = read_texts(objects, commit)
    return list(links.list_carried(texts.message, texts.note))


def list_refused(objects: Objects, commits: Iterable[str]) -> dict[str, str]:
    """id -> reason of the links that persons removed from commits (full oids); without ids that
    another of the commits still has."""
    carried: set[str] = set()
    removed: dict[str, str] = {}
    for oid in commits:
        texts = read_texts(objects, oid)
        carried.update(links.list_carried(texts.message, texts.note))
        removed.update(links.list_removed(texts.note))
    return {one: why for one, why in removed.items() if one not in carried}


class CommitTexts:
    """What a commit says of its checkpoints; b"" for a missing message or note."""

    __slots__ = ("message", "note")

    def __init__(self, message: bytes, note: bytes) -> None:
        self.message = message
        self.note = note


def read_texts(objects: Objects, commit: str, reader: notes.Reader | None = None) -> CommitTexts:
    """The message and the note of a commit (full oid)."""
    answer = objects.read(commit)
    message = b""
    if answer and answer[1] == "commit":
        message = answer[2].partition(b"\n\n")[2]
    if reader is None:
        reader = notes.Reader(objects)
    return CommitTexts(message, reader.read_note(commit) or b"")


# What a place has of the store, as far as is known.
def list_tips(repo: Repo) -> Tips:
    """The tips of the refs that have checkpoints here, the branch also where it is not pushed."""
    ours = stored.list_tips(repo)
    tip = refs.read_ref(repo, refs.REF)
    if tip:
        ours[refs.REF] = tip
    return ours


def count_changed(objects: Objects, ours: Tips, theirs: Tips) -> int:
    """The number of checkpoints of our tips (ref -> oid) that theirs lack or have otherwise."""
    return len(list_changed(objects, ours, theirs))


def list_changed(objects: Objects, ours: Tips, theirs: Tips) -> set[str]:
    """The ids of the checkpoints of our tips (ref -> oid) that theirs lack or have otherwise."""
    our_tree = find_tree(objects, ours.get(refs.REF))
    their_tree = find_tree(objects, theirs.get(refs.REF))
    own: set[str] = set()
    lacking: set[str] = set()
    for ref, oid in ours.items():
        name = parse_checkpoint_ref(ref)
        if not name:
            continue
        own.add(name)
        if theirs.get(ref) != oid:
            lacking.add(name)
    return _list_changed(objects, our_tree, their_tree) - own | lacking


def _list_changed(objects: Objects, ours: str | None, theirs: str | None) -> set[str]:
    """The ids of the checkpoints in our tree that their tree lacks, or has otherwise."""
    changed: set[str] = set()
    if not ours:
        return changed
    their_shards: Tree = {}
    if theirs:
        their_shards = read_tree(objects, theirs)
    for shard, entry in read_tree(objects, ours).items():
        if entry == their_shards.get(shard) or entry[0] != TREE:
            continue
        mode, oid = their_shards.get(shard, ("", ""))
        their_entries: Tree = {}
        if mode == TREE:
            their_entries = read_tree(objects, oid)
        for name, checkpoint in read_tree(objects, entry[1]).items():
            if checkpoint[0] == TREE and their_entries.get(name) != checkpoint:
                changed.add(shard + name)
    return changed


def read_pushed(repo: Repo, place: str) -> Tips:
    """The tips that a place (its URL) had after our last push or fetch."""
    lines = decode_name(read_cache(_join_pushed(repo, place))).splitlines()
    tips: Tips = {}
    for line in lines:
        oid, _, ref = line.partition(" ")
        if not ref or not is_object_name(oid) or not is_ref(ref):
            return {}
        tips[ref] = oid
    return tips


def set_pushed(repo: Repo, place: str, tips: Mapping[str, str]) -> None:
    """Write down the tips that a place (its URL) has now."""
    lines = (f"{oid} {ref}\n" for ref, oid in tips.items())
    write_private(repo, _join_pushed(repo, place), encode_name("".join(lines)))


def _join_pushed(repo: Repo, place: str) -> str:
    return repo.join_shared("pushed", place_names.build_file_name(place))
