"""Commits with the sessions behind them: one pass of `git log`, one `cat-file --batch`."""

from __future__ import annotations

from itertools import starmap

from gitcp.console import notice
from gitcp.core.message import links
from gitcp.core.v1 import session_part, summary
from gitcp.errors import Error, GitError
from gitcp.record import decode_name
from gitcp.store.git import notes
from gitcp.store.git.commit import build_log_args
from gitcp.store.git.prefetch import Prefetched, run_tasks, split_windows
from gitcp.store.git.spread import spread_batches
from gitcp.store.v1 import committed_list, committed_read, committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    from gitcp.core.record_types import Record
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Steps
    from gitcp.store.v1.committed_read import Checkpoint

    Converted = TypeVar("Converted")
    _Fields = tuple[bytes, bytes, bytes]

_KEYS = "oid tree parents author email date day time message".split()
# Only the message and the note may have newlines; no field has a NUL.
_FORMAT = "%H%n%T%n%P%n%aN%n%aE%n%aI%n%as%n%ct%n%s%x00%B%x00%N%x00"
_LOG = f"log --no-color --no-show-signature --no-notes --notes={notes.REF} --format={_FORMAT}"
_WINDOW = 64  # commits whose checkpoints are read at once
# Commits in the first batch, which is small so that the first line comes soon, and in others;
# batches before worker processes are started.
_FIRST, _BATCH, _ALONE = 8, 256, 8


def list_commits(
    repo: Repo, revisions: Sequence[str], options: Sequence[str] = (), paths: Sequence[str] = ()
) -> Iterator[Record]:
    """A commit record for each commit of the revisions (none: HEAD), in the order of git log.

    options: of git log, such as ALL; paths: only commits that change one of them.  checkpoints:
    the ids of the last trailer block, then of the note, each with its sessions, or `missing` if it
    is not stored here.  Raises Error for an unknown revision.
    """
    return map_commits(repo, iter, revisions, options, paths)


def map_commits(
    repo: Repo, convert: Callable[[Iterator[Record]], Iterator[Converted]], *chosen: Sequence[str]
) -> Iterator[Converted]:
    """The values that convert() makes of the records of list_commits().

    Several processes share a long history: spread_batches() must be able to send the values.
    """

    def begin(objects: Prefetched) -> Callable[[list[_Fields]], list[Converted]]:
        store = _Store(repo, objects)
        return lambda batch: list(convert(store.read_records(batch)))

    with Prefetched(repo) as objects:
        batches = split_windows(_read_fields(repo, *chosen), _FIRST, _BATCH)
        for part in spread_batches(objects, batches, begin, _ALONE):
            yield from part


def list_bare_commits(repo: Repo, *chosen: Sequence[str]) -> Iterator[Record]:
    """The commits of list_commits(), with the ids of their checkpoints alone."""
    return starmap(_parse_commit, _read_fields(repo, *chosen))


def _read_fields(
    repo: Repo, revisions: Sequence[str], options: Sequence[str] = (), paths: Sequence[str] = ()
) -> Iterator[_Fields]:
    """(header, message, note) of each commit, by git log."""
    args = build_log_args(options, revisions, paths)
    fields: list[bytes] = []
    try:
        # Flush each commit: the next one may take git long to find.
        running = repo.git.start(*_LOG.split(), *args, env={"GIT_FLUSH": "1"})
        for field in running.stream_records():
            fields.append(field)
            if len(fields) == 3:
                yield fields[0], fields[1], fields[2]
                fields = []
    except GitError as e:
        raise e.shorten() from None


def _parse_commit(head: bytes, message: bytes, note: bytes) -> Record:
    # git ends the commit before with a newline.
    fields = decode_name(head.lstrip(b"\n")).split("\n")
    commit: Record = {"type": "commit", **dict(zip(_KEYS, fields, strict=True))}
    commit["parents"] = commit["parents"].split()
    commit["time"] = int(commit["time"] or 0)
    linked = links.list_links(message, note)  # links by text count only if they are stored
    commit["checkpoints"] = [{"checkpoint_id": i, "linked": how} for i, how in linked.items()]
    return commit


class _Store:
    """Reads many checkpoints of the permanent store at a time."""

    def __init__(self, repo: Repo, objects: Prefetched) -> None:
        self._repo, self._objects = repo, objects
        self._refs: list[str] | None = None
        self._places = committed_refs.Places(repo, objects)

    def read_records(self, batch: list[_Fields]) -> Iterator[Record]:
        """The records of commits, with the stored details of each checkpoint."""
        windows = (list(starmap(_parse_commit, part)) for part in split_windows(batch, _WINDOW))
        for window in run_tasks(self._objects, map(self._add_sessions, windows)):
            yield from window

    def _add_sessions(self, window: list[Record]) -> Steps[list[Record]]:
        """Add the stored details of each checkpoint to the records of commits."""
        names = [c["checkpoint_id"] for commit in window for c in commit["checkpoints"]]
        loaded = yield from self._load_checkpoints(list(dict.fromkeys(names)))
        stored = yield from self._gather_details(loaded)
        for commit in window:
            commit["checkpoints"] = [
                link
                for link in commit["checkpoints"]
                if link["linked"] != "text" or link["checkpoint_id"] in stored
            ]
            for link in commit["checkpoints"]:
                link.update(stored.get(link["checkpoint_id"], {"missing": True}))
        return window

    def _load_checkpoints(self, ids: list[str]) -> Steps[dict[str, Checkpoint]]:
        stored: dict[str, Checkpoint] = {}
        loader = committed_list.Loader(self._objects, brief=True)
        if ids and self._refs is None:
            self._refs = committed_refs.list_places(self._repo)
        trouble: dict[str, list[Error]] = {name: [] for name in ids}
        for ref in self._refs or ():
            left = [name for name in ids if name not in stored]
            if not left:
                break
            yield self._places.list_unread_shards(left, ref)
            placed = {n: self._places.find_tree(ref, n, trouble[n]) for n in left}
            trees = {name: tree for name, tree in placed.items() if tree}
            yield from loader.read_ahead(trees.values())
            for name, tree in trees.items():
                if tree in loader.trees or self._is_tree(tree):
                    stored[name] = loader.load(
                        name, committed_refs.find_holding_ref(ref, name), tree
                    )
                else:
                    trouble[name].append(Error(f"checkpoint '{name}': missing tree '{tree}'"))
        for error in (e for name in ids if name not in stored for e in trouble[name]):
            notice.warn_lacking(str(error), notice.ABSENT)
        return stored

    def _is_tree(self, oid: str) -> bool:
        obj = self._objects.read(oid)
        return obj is not None and obj[1] == "tree"

    def _gather_details(self, stored: dict[str, Checkpoint]) -> Steps[dict[str, Record]]:
        """id -> what the record of a commit has of a checkpoint."""
        parts = {
            name: [session_part.build_part(entry["metadata"]) for entry in checkpoint["sessions"]]
            for name, checkpoint in stored.items()
        }
        yield from self._read_prompts(stored, parts)
        details = {}
        for name, checkpoint in stored.items():
            contents = parts[name]
            strategies = (
                summary.get_text(x, "strategy") for x in (checkpoint["summary"], *contents)
            )
            details[name] = {
                "strategy": next(filter(None, strategies), ""),
                "sessions": [part["session_id"] for part in contents],
                "contents": contents,
            }
            if checkpoint["lacks"]:
                details[name]["lacks"] = list(dict.fromkeys(checkpoint["lacks"]))
        return details

    def _read_prompts(
        self, stored: dict[str, Checkpoint], parts: dict[str, list[Record]]
    ) -> Steps[None]:
        """Read prompt.txt of the sessions whose metadata does not have exactly one prompt."""
        silent = [
            (checkpoint, entry, part)
            for name, checkpoint in stored.items()
            for entry, part in zip(checkpoint["sessions"], parts[name], strict=True)
            if len(part["asked"]) != 1
        ]
        files = [entry["files"] for _, entry, _ in silent]
        if silent:
            yield [f[summary.PROMPT][1] for f in files if summary.PROMPT in f]
        for checkpoint, entry, part in silent:
            reader = committed_read.Parts(self._objects, checkpoint["checkpoint_id"])
            prompts = reader.read_prompts(entry["files"], entry["directory"])
            part["asked"] = session_part.choose_prompts(part["asked"], prompts)
            checkpoint["lacks"] += reader.lacks
