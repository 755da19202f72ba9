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
from gitcp.git.files import read_cache, write_private
from gitcp.git.objects import TREE, Objects, find_tree, need_commit, read_commit, read_tree
from gitcp.git.objects.reading import run_task, run_tasks, split_windows, spread_batches
from gitcp.git.places import build_file_name
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
        return lambda batch: [
            convert(checkpoint)
            for loaded in run_tasks(
                objects, (_load_window(objects, *w, skip_summary) for w in batch)
            )
            for checkpoint in loaded
        ]

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
        entries = yield from self._read_trees(list(trees))
        below = yield from self._read_trees(
            [files[name][1] for files in entries for name in list_numbers(files)]
        )
        roots = [
            files for files in entries if not (self._skip_summary and find_sole_session(files))
        ]
        names = (format.METADATA, *more)
        yield [files[n][1] for files in (*roots, *below) for n in names if n in files]

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
    refs = stored.list_tips(repo).items()
    tips = ((ids_.parse_checkpoint_ref(ref), oid) for ref, oid in refs)
    for window in split_windows((tip for tip in tips if tip[0].startswith(prefix)), _AT_ONCE):
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
    listed = set()
    for p in places:
        for name, _ in list_trees(repo, p, prefix):
            listed.add(name)
    return sorted(filter(ids_.is_checkpoint_id, listed))


def build_record(checkpoint: StoredCheckpoint) -> Record:
    """A checkpoint as a record of a stream (gitcp-record(5))."""
    root = checkpoint["summary"]
    sessions = checkpoint["sessions"]
    metadata = [s["metadata"] for s in sessions]
    created = [m["created_at"] for m in metadata if m.get("created_at")]
    listed: Record = {
        "type": "checkpoint",
        "checkpoint_id": checkpoint["checkpoint_id"],
        "ref": checkpoint["ref"],
        "strategy": format.get_text(root, "strategy"),
        "branch": next(filter(None, (format.get_text(m, "branch") for m in (root, *metadata))), ""),
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
    path_lines = b"\n".join(encode_name(path) for path in paths or () if "\n" not in path)
    if paths is not None and not path_lines:
        return []
    lines = b""
    if path_lines:
        lines = b"--\n" + path_lines + b"\n"
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


def list_carriers(repo: Repo, checkpoint_id: str, tip: str, since: int) -> list[str]:
    """The commits in the history of tip, made after a time in s since 1970, whose message or note
    has a line with the id, newest first."""
    grep = f"{commit_message.GREP}[[:space:]]*{checkpoint_id}"
    args = ["-E", "--regexp-ignore-case", grep, f"--since=@{since}", tip]
    try:
        out = repo.git.run(*_COMMIT_LOG, f"--notes={notes.REF}", *args)[1]
    except GitError:  # the ref of the notes is damaged
        out = repo.git.run(*_COMMIT_LOG, "--no-notes", *args)[1]
    return out.decode().split()


def list_ids(repo: Repo, commit: str) -> list[str]:
    """The checkpoint ids of one commit (full oid), for readers: those it is linked to, then those
    that recorded_edits.select_meant() finds elsewhere in its message."""
    message, note = read_texts(repo.objects, commit)
    return select_links(repo.objects, stored.Places(repo), commit, message, note)


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
    return list(links.list_carried(*read_texts(objects, commit)))


def list_refused(objects: Objects, commits: Iterable[str]) -> dict[str, str]:
    """id -> reason of the links that persons removed from commits (full oids); without ids that
    another of the commits still has."""
    texts = [read_texts(objects, oid) for oid in commits]
    carried = {i for text in texts for i in links.list_carried(*text)}
    removed = {i: why for _, note in texts for i, why in links.list_removed(note).items()}
    return {i: why for i, why in removed.items() if i not in carried}


def read_texts(
    objects: Objects, commit: str, reader: notes.Reader | None = None
) -> tuple[bytes, bytes]:
    """The message and the note of a commit (full oid); b"" for a missing one."""
    answer = objects.read(commit)
    message = b""
    if answer and answer[1] == "commit":
        message = answer[2].partition(b"\n\n")[2]
    return message, (reader or notes.Reader(objects)).read_note(commit) or b""


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
    our_tree, their_tree = (find_tree(objects, tips.get(refs.REF)) for tips in (ours, theirs))
    own = {parse_checkpoint_ref(ref): theirs.get(ref) == oid for ref, oid in ours.items()}
    lacking = {name for name, is_equal in own.items() if name and not is_equal}
    return _list_changed(objects, our_tree, their_tree) - own.keys() | lacking


def _list_changed(objects: Objects, ours: str | None, theirs: str | None) -> set[str]:
    """The ids of the checkpoints in our tree that their tree lacks, or has otherwise."""
    changed: set[str] = set()
    if theirs:
        their_shards = read_tree(objects, theirs)
    else:
        their_shards = {}
    for shard, entry in (read_tree(objects, ours) if ours else {}).items():
        if entry == their_shards.get(shard) or entry[0] != TREE:
            continue
        mode, oid = their_shards.get(shard, ("", ""))
        if mode == TREE:
            their_entries = read_tree(objects, oid)
        else:
            their_entries = {}
        for name, checkpoint in read_tree(objects, entry[1]).items():
            if checkpoint[0] == TREE and their_entries.get(name) != checkpoint:
                changed.add(shard + name)
    return changed


def read_pushed(repo: Repo, place: str) -> Tips:
    """The tips that a place (its URL) had after our last push or fetch."""
    lines = decode_name(read_cache(_join_pushed(repo, place))).splitlines()
    pairs = [line.split() for line in lines]
    fits = all(len(pair) == 2 and is_object_name(pair[0]) and is_ref(pair[1]) for pair in pairs)
    if fits:
        return {pair[1]: pair[0] for pair in pairs}
    return {}


def set_pushed(repo: Repo, place: str, tips: Mapping[str, str]) -> None:
    """Write down the tips that a place (its URL) has now."""
    lines = (f"{oid} {ref}\n" for ref, oid in tips.items())
    write_private(repo, _join_pushed(repo, place), encode_name("".join(lines)))


def _join_pushed(repo: Repo, place: str) -> str:
    return repo.join_shared("pushed", build_file_name(place))
