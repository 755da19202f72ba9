"""The lines of a worktree's journal, a class for each kind.  KEYS declares what they have."""

from __future__ import annotations

from gitcp.text import json, shapes
from gitcp.text.ids import UNKNOWN
from gitcp.text.shapes import find_fault, is_count, is_entries, is_entry, is_object_name, is_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any, Self

    from gitcp.text.record_types import State, Tool, Version, Writer


# Each key of a line, declared once: its shape (None: any value), what is said of it, and its
# meaning, which `make generate` writes to gitcp-formats(5).  Lines are of several kinds.  The first
# keys are those of more than one kind; then comes for each kind the key by which a line is known to
# be of it (`kind`), followed by the kind's other keys.
#
# What is said of it, in words:
# kind     a line with it is of this kind
# lasting  refs/gitcp/edits has such lines, from which a journal that lost them gets them back
# staying  such a line stays in the journal until a ref has it
# based    such a line gets the commit on which it was made
# owner    it names the session whose line it is: `forget` removes the line
# objects  it names objects which are needed as long as the line is there
# alone    each edit has its own: it does not come from the line with `trees` that has many edits
# cause    it goes when the edit is no longer given to a call
KEYS: dict[str, tuple[shapes.Shape, str, str]] = {
    "at": (is_count, "", "when, in nanoseconds by the clock of the file system"),
    "base": (is_object_name, "", "the commit at HEAD"),
    "session": (str, "owner", "the session"),
    "turn": (str, "", "its turn"),
    "who": (None, "owner", "the author: a session, turn and tool use, person, or unknown"),
    "how": (str, "", "how the author is known"),
    "names": ([str], "", "words of the command of a call, and of its output, redacted"),
    "task": (str, "", "the name by which the client calls what a call has left running"),
    "path": (is_path, "kind lasting staying alone", "an edit of this path"),
    "before": (is_entry, "based objects alone", "its mode and blob before, null for no file"),
    "after": (is_entry, "objects alone", "likewise afterwards"),
    "by": (None, "cause", "the call through which a content was restored"),
    "away": (
        bool,
        "cause",
        "true if that call keeps the content that it replaced, or a stash has it",
    ),
    "stashed": (bool, "", "true if a stash holds work on the path, whose lines may come back"),
    "from": ([[str]], "", "the commit, path and blob of lines that a command brought in"),
    "shared": (bool, "", "true if another session explains the edit as well"),
    "made": (is_count, "alone", "when the path changed, if a look saw it only later"),
    "follows": (is_path, "", "the former path of a renamed file"),
    "step": (str, "", "the step of the undo log that made the edit"),
    "joined": (
        [is_object_name],
        "objects alone",
        "the blobs of which it brought lines into the content that stood there",
    ),
    "kept": (bool, "", "false if the content is not stored, as that of an ignored file"),
    "trees": ([is_object_name], "kind staying based objects", "many edits, before and after"),
    "large": (is_path, "kind lasting staying", "a new file over a limit, which was not read"),
    "stamp": ([is_count], "", "its size, mtime and ctime; empty if it is gone"),
    "had": ({None: [is_object_name]}, "kind", "blobs of edits that were cut off, by path"),
    "cut": ([str], "kind", "a cut: the turns and tool uses with edits before and after it"),
    "open": (str, "kind", "the start of this tool use"),
    "kind": (str, "", "the kind of its tool"),
    "agent": (str, "", "the subagent that made it"),
    "model": (str, "", "the model of the turn"),
    "transcript": (str, "", "where the agent's own transcript is"),
    "seen": ([str], "", "the paths that were looked at, because it may discard them"),
    "unseen": ([str], "", "the paths below which it may have discarded what no look had seen"),
    "looked": (is_entries, "", "the content at the paths that a file tool names"),
    "ignored": ([str], "", "those of them that git ignores"),
    "writes": ({None: is_object_name}, "", "the blob that its input says a path will have"),
    "stashes": ([is_object_name], "", "the entries of the stash when a command began"),
    "close": (str, "kind", "the end of this tool use"),
    "since": (is_count, "", "when it really began"),
    "goes_on": (str, "", "whether what it left running goes on: turn, or late after its turn"),
    "look": (is_count, "kind based", "the time of a look at the whole worktree"),
    "commit": (is_object_name, "kind lasting", "a commit that settles edits"),
    "settled": ([str], "", "the paths that the worktree had as the commit has them"),
    "left": ({None: list}, "", "their edits that it left out, each a time and blob, by path"),
    "linked": ([str], "", "the sessions of such edits that the commit is linked with"),
    "transcripts": (
        {None: {"turn": str, "size": is_count}},
        "",
        "the bytes of transcripts of running turns whose client does not report tools",
    ),
    "taken": ({None: list}, "kind lasting", "edits of other paths that are settled, likewise"),
    "stream": (shapes.is_short_id, "kind lasting staying", "a checkpoint on this stream"),
    "files": (is_entries, "", "the files that it recorded"),
    "out": ({None: [is_path]}, "", "the files that streams no longer record, by stream"),
    "held": (is_object_name, "kind", "the commit of a session's ref that has all up to here"),
}


def list_keys(word: str) -> frozenset[str]:
    """The keys of which a word is said."""
    return frozenset(key for key, (_, words, _) in KEYS.items() if word in words.split())


_SHAPE = {f"{key}?": shape for key, (shape, _, _) in KEYS.items() if shape}
_LASTING = list_keys("lasting")
_WORDS = ("person", "unknown")


class JournalLine:
    """A line of a journal.  keys: as the file has them, also those that this version does not know;
    nothing changes them."""

    __slots__ = ("keys",)

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self.keys = keys

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.keys == other.keys

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.keys!r})"

    @property
    def at(self) -> int:
        """When it was written, in ns; 0 if it does not say so."""
        return int(self.keys.get("at", 0))

    @property
    def base(self) -> str:
        """The commit on which it was made; '' if it does not name one."""
        return str(self.keys.get("base", ""))

    @property
    def session(self) -> str:
        """The session whose line it is; '' for none."""
        return str(self.keys.get("session", ""))

    @property
    def is_lasting(self) -> bool:
        """Whether it is an edit, a checkpoint, a commit or a large file."""
        return "at" in self.keys and not _LASTING.isdisjoint(self.keys)

    def having(self, **keys: Any) -> Self:
        """The line with these keys."""
        return type(self)({**self.keys, **keys})

    def lacking(self, keys: Collection[str]) -> Self:
        """The line without these keys."""
        return type(self)({key: value for key, value in self.keys.items() if key not in keys})

    def dump(self) -> bytes:
        """The bytes of the line, with its newline."""
        return json.dumps(self.keys, separators=(",", ":")).encode() + b"\n"


class WrittenLine(JournalLine):
    """A line that has an author: an edit, many edits, or a large file."""

    __slots__ = ()

    @property
    def author(self) -> Writer:
        """Who wrote the lines; UNKNOWN if it names nobody."""
        who = self.keys.get("who")
        if not isinstance(who, str):
            return _parse_writer(who) or UNKNOWN
        if who in _WORDS:
            return "", who, ""
        return UNKNOWN

    @property
    def by_session(self) -> str:
        """The session that wrote the lines; '' if none did."""
        if isinstance(self.keys.get("who"), str):
            return ""
        return self.author[0]

    @property
    def is_persons_alone(self) -> bool:
        """Whether the person wrote the lines, and no call of a session led to that."""
        return self.keys.get("who") == "person" and "by" not in self.keys

    @property
    def cause(self) -> Writer:
        """The call that made the edit, even if another author wrote its lines.  Without one it is
        the author if that is a session, else UNKNOWN."""
        writer = _parse_writer(self.keys.get("by"))
        if writer:
            return writer
        author = self.author
        return author if author[0] else UNKNOWN

    @property
    def how(self) -> str:
        """How the author is known."""
        return str(self.keys.get("how", ""))

    @property
    def made(self) -> int:
        """When the path changed, or was seen if that is not known; ns."""
        return int(self.keys.get("made", self.at))


def _parse_writer(value: Any) -> Writer | None:
    """The session, turn and tool use of a line; None if it names none."""
    if isinstance(value, list) and len(value) == 3:
        session_id, turn, call_id = value
        if isinstance(session_id, str) and isinstance(turn, str) and isinstance(call_id, str):
            return session_id, turn, call_id
    return None


class Edit(WrittenLine):
    """An edit of a path."""

    __slots__ = ("at", "path")

    def __init__(self, keys: Mapping[str, Any]) -> None:
        self.keys = keys
        self.path: str = keys["path"]
        self.at: int = keys["at"]

    @property
    def before(self) -> Version:
        """Its mode and blob before; None for no file."""
        return parse_entry(self.keys.get("before"))

    @property
    def after(self) -> Version:
        """Its mode and blob afterwards; None for no file."""
        return parse_entry(self.keys.get("after"))

    @property
    def name(self) -> list[Any]:
        """Its name among the edits of its path, as in `left` and `taken`: [time, oid after it]."""
        version = self.after
        return [self.at, version[1] if version else ""]

    @property
    def restorer(self) -> str:
        """The session of the call through which a content was restored; '' if it names none."""
        writer = _parse_writer(self.keys.get("by"))
        return writer[0] if writer else ""

    @property
    def is_put_away(self) -> bool:
        """Whether that call keeps the content that it replaced, or a stash has it."""
        return bool(self.keys.get("away"))

    @property
    def is_stashed(self) -> bool:
        """Whether a stash holds work on the path, whose lines may come back."""
        return "stashed" in self.keys

    @property
    def is_kept(self) -> bool:
        """Whether the content is stored, unlike that of an ignored file."""
        return bool(self.keys.get("kept", True))

    @property
    def follows(self) -> str:
        """The former path of a renamed file; '' for others."""
        return str(self.keys.get("follows", ""))

    @property
    def step(self) -> str:
        """The step of the undo log that made it; '' for none."""
        return str(self.keys.get("step", ""))

    @property
    def joined(self) -> Sequence[str] | None:
        """The blobs of which a step brought lines into what stood there; None without a merge."""
        blobs: Sequence[str] | None = self.keys.get("joined")
        return blobs

    @property
    def sources(self) -> Sequence[Sequence[str]]:
        """[commit, path, blob] of each of the contents whose lines a command brought in."""
        sources: Sequence[Sequence[str]] = self.keys.get("from", ())
        return sources

    @property
    def is_left(self) -> bool:
        """Whether a commit has settled the path without this edit."""
        return "left" in self.keys

    @property
    def is_left_by_own(self) -> bool:
        """Whether such a commit is linked with the edit's session."""
        return bool(self.keys.get("left"))

    def leave(self, is_linked: bool) -> Edit:
        """The edit, which a commit has left out; is_linked: one that is linked with its session."""
        return Edit({**self.keys, "left": self.is_left_by_own or is_linked})

    def come_back(self) -> Edit:
        """The edit, as if no commit had left it out."""
        return self.lacking(("left",))


class ManyEdits(WrittenLine):
    """Many edits by one author, of one look."""

    __slots__ = ()

    @property
    def trees(self) -> Sequence[str]:
        """The trees that have the paths before and after."""
        trees: Sequence[str] = self.keys["trees"]
        return trees


class Large(WrittenLine):
    """A new file over a limit, which was not read."""

    __slots__ = ()

    @property
    def path(self) -> str:
        """Its path."""
        return str(self.keys["large"])

    @property
    def stamp(self) -> list[int]:
        """Its size, mtime and ctime; [] if it is gone."""
        stamp: list[int] = self.keys["stamp"]
        return stamp


class Opening(JournalLine):
    """The start of a call, of a tool that may write."""

    __slots__ = ()

    @property
    def call(self) -> str:
        """The id of the tool use."""
        return str(self.keys["open"])

    @property
    def name(self) -> tuple[str, str]:
        """(its session, the id of the tool use)."""
        return self.session, self.call

    @property
    def turn(self) -> str:
        """Its turn."""
        return str(self.keys.get("turn", ""))

    @property
    def kind(self) -> str:
        """The kind of its tool, or elsewhere."""
        return str(self.keys.get("kind", ""))

    @property
    def agent(self) -> str:
        """The subagent that made it; '' for the main one."""
        return str(self.keys.get("agent", ""))

    @property
    def model(self) -> str:
        """The model of its turn; '' if that is not known."""
        return str(self.keys.get("model", ""))

    @property
    def transcript(self) -> str | None:
        """Where the agent's own transcript is."""
        path: str | None = self.keys.get("transcript")
        return path

    @property
    def names(self) -> Sequence[str]:
        """The words of its command, and the paths that it names."""
        names: Sequence[str] = self.keys.get("names", ())
        return names

    @property
    def is_of_file_tool(self) -> bool:
        """Whether it is a file tool's, which names its paths."""
        return "looked" in self.keys

    @property
    def looked(self) -> Mapping[str, Any]:
        """path -> what stood there, of those that a file tool names."""
        looked: Mapping[str, Any] = self.keys.get("looked", {})
        return looked

    @property
    def seen(self) -> Sequence[str]:
        """The paths that were looked at, because it may discard them."""
        paths: Sequence[str] = self.keys.get("seen", ())
        return paths

    @property
    def unseen(self) -> Sequence[str]:
        """The paths below which it may have discarded what no look had seen."""
        paths: Sequence[str] = self.keys.get("unseen", ())
        return paths

    @property
    def ignored(self) -> list[str] | None:
        """The paths of `looked` that git ignores; None if that was not asked."""
        paths: list[str] | None = self.keys.get("ignored")
        return paths

    @property
    def writes(self) -> Mapping[str, str]:
        """path -> the blob that its input says the path will have."""
        writes: Mapping[str, str] = self.keys.get("writes", {})
        return writes

    @property
    def stashes(self) -> list[str] | None:
        """The entries of the stash when a command began; None for a file tool."""
        entries: list[str] | None = self.keys.get("stashes")
        return entries


class Closing(JournalLine):
    """The end of a call, or a word that it runs on."""

    __slots__ = ()

    @property
    def call(self) -> str:
        """The id of the tool use."""
        return str(self.keys["close"])

    @property
    def name(self) -> tuple[str, str]:
        """(its session, the id of the tool use), as the opening has it."""
        return self.session, self.call

    @property
    def since(self) -> int:
        """When it really began, in ns; 0 if that is not known."""
        return int(self.keys.get("since", 0))

    @property
    def names(self) -> Sequence[str]:
        """The words of its output that may be paths."""
        names: Sequence[str] = self.keys.get("names", ())
        return names

    @property
    def goes_on(self) -> str:
        """What of it goes on: turn, late after its turn, or '' for nothing."""
        return str(self.keys.get("goes_on", ""))

    @property
    def task(self) -> str:
        """The name by which the client calls what it has left running; '' for none."""
        return str(self.keys.get("task", ""))


class LookLine(JournalLine):
    """A look at the whole worktree."""

    __slots__ = ()

    @property
    def time(self) -> int:
        """When it began, in ns."""
        return int(self.keys["look"])


class Settlement(JournalLine):
    """What a commit has settled, or what no commit takes any more."""

    __slots__ = ()

    @property
    def commit(self) -> str:
        """The commit; '' if edits were let go without one."""
        return str(self.keys.get("commit", ""))

    @property
    def settled(self) -> Sequence[str]:
        """The paths that the worktree had as the commit has them."""
        paths: Sequence[str] = self.keys.get("settled", ())
        return paths

    @property
    def left(self) -> Mapping[str, list[Any]]:
        """path -> the names of their edits that it left out."""
        names: Mapping[str, list[Any]] = self.keys.get("left", {})
        return names

    @property
    def taken(self) -> Mapping[str, list[Any]]:
        """path -> the names of the edits at other paths that are settled."""
        names: Mapping[str, list[Any]] = self.keys.get("taken", {})
        return names

    @property
    def linked(self) -> Sequence[str]:
        """The sessions of edits that it left out, with which it is linked."""
        sessions: Sequence[str] = self.keys.get("linked", ())
        return sessions

    @property
    def transcripts(self) -> Mapping[str, Mapping[str, Any]]:
        """session -> turn, and size of its transcript in bytes, of running turns whose client does
        not report tools."""
        ends: Mapping[str, Mapping[str, Any]] = self.keys.get("transcripts", {})
        return ends


class CheckpointLine(JournalLine):
    """A checkpoint on a stream of its session."""

    __slots__ = ()

    @property
    def stream(self) -> str:
        """The id of the stream."""
        return str(self.keys["stream"])

    @property
    def turn(self) -> str:
        """Its turn."""
        return str(self.keys.get("turn", ""))

    @property
    def files(self) -> Mapping[str, Any]:
        """path -> the entry that it recorded."""
        entries: Mapping[str, Any] = self.keys["files"]
        return entries

    @property
    def out(self) -> Mapping[str, list[str]]:
        """stream -> the files that it no longer records."""
        paths: Mapping[str, list[str]] = self.keys.get("out", {})
        return paths


class HeldLine(JournalLine):
    """The word that a session's ref holds all lines up to here."""

    __slots__ = ()


class Had(JournalLine):
    """What paths had by lines that were cut off."""

    __slots__ = ()

    @property
    def contents(self) -> Mapping[str, list[str]]:
        """path -> the blobs."""
        blobs: Mapping[str, list[str]] = self.keys["had"]
        return blobs


class Cut(JournalLine):
    """A place where lines were cut off."""

    __slots__ = ()

    @property
    def ids(self) -> list[str]:
        """The turns and tool uses with edits before and after it."""
        names: list[str] = self.keys["cut"]
        return names


# By the key that a line of the kind has, which stands first in it as gitcp writes them.
KINDS: dict[str, type[JournalLine]] = {
    "path": Edit,
    "look": LookLine,
    "open": Opening,
    "close": Closing,
    "stream": CheckpointLine,
    "commit": Settlement,
    "held": HeldLine,
    "taken": Settlement,
    "large": Large,
    "trees": ManyEdits,
    "had": Had,
    "cut": Cut,
}


def read_line(keys: Mapping[str, Any]) -> JournalLine:
    """The line that has these keys."""
    for key in keys:
        kind = KINDS.get(key)
        if kind is None:
            continue
        if kind is Edit and not (keys["path"] and "at" in keys):
            return JournalLine(keys)
        return kind(keys)
    return JournalLine(keys)


def parse_lines(data: bytes, are_checked: bool = False) -> list[JournalLine]:
    """The lines of a journal in their order, without damaged lines.  are_checked: none is."""
    texts = [line for line in data.split(b"\n") if line.startswith(b"{")]
    try:  # parsing all at once takes half the time
        items: list[dict[str, Any]] = json.loads(b"[%s]" % b",".join(texts))
    except (ValueError, RecursionError):
        items = []
    if len(items) != len(texts):
        items = _parse_each(texts)
    if are_checked:
        return [read_line(item) for item in items]
    return [read_line(item) for item in items if not find_fault(item, _SHAPE)]


def _parse_each(texts: Iterable[bytes]) -> list[dict[str, Any]]:
    items = []
    for text in texts:
        try:
            items.append(json.loads(text))
        except (ValueError, RecursionError):
            continue
    return items


def dump_lines(lines: Iterable[JournalLine]) -> bytes:
    """The bytes of lines, each with its newline."""
    return b"".join([line.dump() for line in lines])


def parse_entry(value: Any) -> Version:
    """The entry in a line; None for no file and for anything that is no entry."""
    if isinstance(value, (list, tuple)) and len(value) == 2:
        mode, oid = value
        if isinstance(mode, str) and isinstance(oid, str):
            return mode, oid
    return None


def build_edit(path: str, before: Version, after: Version, who: Writer, how: str, at: int) -> Edit:
    """The line for an edit of path from before to after."""
    sides = {"before": spell_entry(before), "after": spell_entry(after)}
    return Edit({"path": path, **sides, "who": spell_writer(who), "how": how, "at": at})


def spell_entry(entry: Version) -> list[str] | None:
    """An entry as lines have it."""
    return list(entry) if entry else None


def spell_writer(who: Writer) -> list[str] | str:
    """An author as lines have it."""
    return list(who) if who[0] else who[1]


def build_opening(state: State, call: Tool, kind: str, at: int) -> Opening:
    """The line for the beginning of a call; state: its session's.  call: as an event has it.
    kind: that of its tool, such as write or shell."""
    turn = state.get("turn_id", "")
    line = {
        "open": call.get("id", ""),
        "session": state["session_id"],
        "turn": turn,
        "kind": kind,
        "at": at,
    }
    if call.get("agent"):
        line["agent"] = call["agent"]
    model = state.get("turns", {}).get(turn, {}).get("model")
    if model:
        line["model"] = model
    return Opening(line)
