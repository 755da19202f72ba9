"""A step that `gitcp undo` can undo, and what it changed beside files of the worktree: as stored in
the undo log (gitcp-formats(5)), and as code reads it."""

from __future__ import annotations

from gitcp.text import replace, value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gitcp.text.record_types import Record

    # permissions (S_IFLNK: a symbolic link), blob of the bytes; None: as git writes it
    Raw = tuple[int | None, str | None]

# What an effect changes: the key of a stored effect that names its subject.
STASH = "stash"
INDEX = "index"
NOTE = "note"
CHECKPOINT = "checkpoint"
REF = "ref"
FILE = "file"
KINDS = (STASH, INDEX, NOTE, CHECKPOINT, REF, FILE)

# The kinds of steps that undo others, or take them again.
UNDO = "undo"
REDO = "redo"
MOVES = (UNDO, REDO)
BISECT = "bisect"  # a state that was tested in place

# What to do with a path whose later edits do not merge.
REFUSE = "refuse"
MARKERS = "markers"
KEEP = "keep"
CONFLICTS = (REFUSE, MARKERS, KEEP)


@value_class
class Conflict:
    """Why a step cannot be taken; then no path of it is changed."""

    path: str
    reason: str


@value_class
class HeadMove:
    """HEAD before and after commits, '' for none, and its branch."""

    old: str
    new: str
    branch: str


@value_class
class IndexFacts:
    """What an effect on the index has beside two trees of entries.

    head: HEAD, without which it is not undone.  intents: the paths of which the index says without
    the entries that they will be added.  move: of HEAD, None if it stayed."""

    head: str = ""
    intents: tuple[str, ...] = ()
    move: HeadMove | None = None


@value_class
class Effect:
    """What a step changed beside files of the worktree.

    kind: of KINDS.  subject: the commit of a note, the id of a checkpoint, the name of a ref, the
    absolute path of a file, the hash of the index's worktree, the commit of a stash entry.  old,
    new: a blob of the notes, a tree of the permanent store, an oid, the name of a kept content, a
    tree of index entries; None for absent.  path: the file by which versions that do not know the
    kind see that it has changed; mode: the permissions of a file, None for those of a private one.
    """

    kind: str
    subject: str
    old: str | None
    new: str | None
    path: str = ""
    mode: int | None = None
    index: IndexFacts = IndexFacts()

    def invert(self) -> Effect:
        """The effect that undoes this one."""
        index = self.index
        if index.move:
            back = HeadMove(index.move.new, index.move.old, index.move.branch)
            index = replace(index, move=back)
        return replace(self, old=self.new, new=self.old, index=index)

    def list_ends(self) -> list[str]:
        """What is there before and after it, less what is absent."""
        return [end for end in (self.old, self.new) if end]

    def make_record(self) -> Record:
        """It as it is stored."""
        record: Record = {self.kind: self.subject}
        if self.path:
            record[FILE] = self.path
        record["old"] = self.old
        record["new"] = self.new
        if self.mode is not None:
            record["mode"] = self.mode
        if self.kind == INDEX:
            record["head"] = self.index.head
            if self.index.intents:
                record["intents"] = list(self.index.intents)
            move = self.index.move
            if move:
                record["commits"] = [move.old, move.new]
                record["branch"] = move.branch
        return record


def parse_effect(record: Record) -> Effect:
    """A stored effect; of no kind if it names no subject."""
    kind = ""
    for known in KINDS:
        if isinstance(record.get(known), str):
            kind = known
            break
    path = ""
    if kind in (STASH, INDEX):
        path = str(record.get(FILE) or "")
    mode = record.get("mode")
    if not isinstance(mode, int):
        mode = None
    index = IndexFacts()
    if kind == INDEX:
        move = None
        commits = record.get("commits")
        if commits and len(commits) == 2:
            old, new = commits
            move = HeadMove(old or "", new or "", str(record.get("branch") or ""))
        intents = tuple(record.get("intents") or ())
        index = IndexFacts(str(record.get("head") or ""), intents, move)
    subject = str(record.get(kind, ""))
    return Effect(kind, subject, record.get("old"), record.get("new"), path, mode, index)


@value_class
class Step:
    """A step of the undo log.

    kind: the command's name.  reason: what it did, on one line, redacted.  parent: the step that
    was in force before, '' for none; position: the one that is then.  targets: the steps that an
    undo or a redo moves, the newest first.  head, branch: those before it.  point, session_id: the
    point that was gone back to.  raw: path -> bytes and permissions that git does not keep, None
    if none were looked for.  commit, time: its commit in the log, and the seconds since 1970.
    """

    id: str
    kind: str
    reason: str
    effects: Sequence[Effect] = ()
    parent: str = ""
    position: str | None = None  # None: its own id
    targets: Sequence[str] = ()
    head: str = ""
    branch: str = ""
    session_id: str = ""
    point: str = ""
    raw: Mapping[str, Raw] | None = None
    commit: str = ""
    time: int = 0

    @property
    def place(self) -> str:
        """The step that is in force after it."""
        if self.position is None:
            return self.id
        return self.position

    @property
    def is_move(self) -> bool:
        """Whether it undoes or redoes others."""
        return self.kind in MOVES

    def describe(self) -> str:
        """What it did: `rewind: to 61ee289d`."""
        return f"{self.kind}: {self.reason}"

    def make_record(self) -> Record:
        """It as it is stored."""
        record: Record = {
            "parent": self.parent,
            "position": self.place,
            "head": self.head,
            "branch": self.branch,
            "id": self.id,
            "kind": self.kind,
            "reason": self.reason,
            "effects": [effect.make_record() for effect in self.effects],
        }
        if self.targets:
            record["target"] = self.targets[-1]
        if self.kind == UNDO:
            record["targets"] = list(self.targets)
        if self.point:
            record["session_id"] = self.session_id
            record["point"] = self.point
        if self.raw is not None:
            record["raw"] = {path: list(kept) for path, kept in self.raw.items()}
        return record

    def make_listed_record(self) -> Record:
        """It as commands print it."""
        return {"type": "step", **self.make_record(), "commit": self.commit, "time": self.time}


def parse_raw(stored: Mapping[str, Sequence[Any]]) -> dict[str, Raw]:
    """The bytes and permissions of paths, as stored."""
    raw: dict[str, Raw] = {}
    for path, pair in stored.items():
        mode, oid = pair
        raw[path] = mode, oid
    return raw


_NEEDED = {"id", "kind", "reason", "parent", "effects"}


@value_class
class LogPlace:
    """Where a step stands in the log: its commit, and the seconds since 1970."""

    commit: str = ""
    time: int = 0


def parse_step(record: Record, place: LogPlace) -> Step | None:
    """A stored step; None if it is none."""
    if not record.keys() >= _NEEDED:
        return None
    targets: list[str] = []
    if record.get("target"):
        targets = record.get("targets") or [record["target"]]
    if record["kind"] in MOVES and not targets:
        return None
    raw: dict[str, Raw] | None = None
    if "raw" in record:
        raw = parse_raw(record["raw"])
    return Step(
        record["id"],
        record["kind"],
        record["reason"],
        [parse_effect(effect) for effect in record["effects"]],
        record["parent"],
        record.get("position"),
        targets,
        record.get("head") or "",
        record.get("branch") or "",
        str(record.get("session_id") or ""),
        str(record.get("point") or ""),
        raw,
        place.commit,
        place.time,
    )
