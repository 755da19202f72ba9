"""The part of the worktree's change that some authors wrote, put into the index
(doc/behaviour.md "Staging a part")."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.git.objects import Lookup, find_file, find_tree
from gitcp.lines.edit_lines import Edits
from gitcp.link.commit import find_acting
from gitcp.record.journal import credit
from gitcp.record.journal.credit import parse_entry
from gitcp.record.session import others
from gitcp.record.snapshot import index, scan
from gitcp.record.turn import sessions
from gitcp.steps import effects, undo
from gitcp.steps.back import plan
from gitcp.steps.back.restore import Present, read_present
from gitcp.steps.commits import parts
from gitcp.text import line_replay
from gitcp.text.ids import PERSON, REGULAR, UNKNOWN, build_change
from gitcp.text.line_replay import has_no_lines, split_lines
from gitcp.text.pairing import find_changed_lines
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypedDict

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.commits.parts import Operation
    from gitcp.text import record_types
    from gitcp.text.record_types import Entry, JournalLine, Version, Writer

    Change = tuple[Version, Version]  # the entries of a path before and after

    # `make generate` writes the comments of a type's keys into the manual and the schema.
    class Left(TypedDict):
        """What is left out."""

        path: str
        first: int  # its first line in the worktree, or if lines only go, in what is staged; or 0
        last: int  # likewise its last line; both are 0 for a whole file
        authors: list[str]  # the sessions that wrote it, empty for no agent
        needs: list[str]  # those whose lines it needs

    class Part(TypedDict):
        """What becomes of a path."""

        path: str
        old: Version  # its entry in the index before
        new: Version  # the one after
        added: int  # the number of lines
        removed: int  # likewise


_SHORTEST = 4  # digits of the beginning of a turn's id


class Selection:
    """Whose work is meant: that of sessions, of one turn or call of a session, or no agent's."""

    def __init__(
        self, ids: Sequence[str], by_hand: bool = False, turn: str = "", call: str = ""
    ) -> None:
        self.ids = ids
        self.by_hand = by_hand
        self.turn = turn
        self.call = call

    def has(self, who: Writer) -> bool:
        """Whether the work of an author is meant."""
        session_id, turn, call = who
        if not session_id:
            return self.by_hand
        return session_id in self.ids and self.turn in ("", turn) and self.call in ("", call)

    def describe(self) -> str:
        """Whose work it is, as in `session 1a2b3c4d, turn 2`."""
        words = [f"session {shorten_id(session_id)}" for session_id in self.ids]
        if self.turn:
            words += [f"turn {self.turn}"]
        if self.call:
            words += [f"call {self.call}"]
        return ", ".join(words + (["no agent"] if self.by_hand else []))


def find_own_session(repo: Repo) -> str:
    """The id of the session whose agent runs this command.  Raises Error if none is known."""
    ids = sorted(find_acting(others.read_here(repo)))
    if len(ids) == 1:
        return ids[0]
    which = "no agent runs this"
    if ids:
        which = f"several agents run this: {' '.join(ids)}"
    raise Error(f"{which}; name the session by --session")


def select(
    repo: Repo,
    lines: Iterable[JournalLine],
    names: Sequence[str],
    by_hand: bool = False,
    turn: str = "",
    call: str = "",
) -> Selection:
    """The selection that the beginnings of ids name; turn: also the number of a turn.  Raises Error
    for an id that is not known, and for a turn or call without a single session."""
    writers = {who for line in credit.list_edits(lines) for who in _list_writers(line) if who[0]}
    known = {*others.list_state_ids(repo), *(who[0] for who in writers)}
    ids = list(dict.fromkeys(sessions.pick_id(name, known) for name in names))
    if not turn and not call:
        return Selection(ids, by_hand)
    if len(ids) != 1 or by_hand:
        raise Error("--turn and --call need exactly one session")
    writers_of_session = [who for who in writers if who[0] == ids[0]]
    chosen = ""
    if turn:
        chosen = _pick_turn(repo, ids[0], turn, {who[1] for who in writers_of_session})
    return Selection(
        ids, False, chosen, _pick("call", call, {who[2] for who in writers_of_session})
    )


def _list_writers(line: JournalLine) -> tuple[Writer, Writer]:
    return credit.get_author(line), credit.get_cause(line)


def _pick_turn(repo: Repo, session_id: str, name: str, ids: set[str]) -> str:
    turns = (others.peek_state(repo, session_id) or {}).get("turns", {})
    numbered = [key for key, turn in turns.items() if str(turn.get("number")) == name]
    if numbered:
        return numbered[0]
    # The beginning of an id is digits alone too: a short one is a number.
    is_number = name.isdecimal() and len(name) < _SHORTEST
    return _pick("turn", name, set() if is_number else {*ids, *turns})


def _pick(kind: str, name: str, ids: set[str]) -> str:
    """The id that a name is, or begins; '' for no name."""
    if not name or name in ids:
        return name
    matching = sorted(key for key in ids if key.startswith(name))
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise Error(f"ambiguous {kind} '{name}': {' '.join(matching)}")
    raise Error(f"no such {kind} of this session: '{name}'")


class Stager:
    """Divides changes up to the worktree, as it is now, by their authors.

    base: the tree that the changes begin from.  edits: those that may have made them.  open_edits:
    (path, time) of those that no commit has.  overlaps, needs, notes: what the last division left
    out.
    """

    def __init__(
        self, present: Present, base: str | None, edits: Edits, open_edits: set[tuple[str, int]]
    ) -> None:
        self.present = present
        self._objects = present.repo.objects
        self._base = Lookup(self._objects, base)
        self._edits = edits
        self._open = open_edits
        self.overlaps: list[Left] = []
        self.needs: list[Left] = []
        self.notes: list[str] = []

    def list_parts(
        self,
        selection: Selection,
        scopes: Sequence[str],
        with_overlaps: bool = False,
        with_needed: bool = False,
    ) -> list[Part]:
        """What the work of some authors changes in the index, by path.

        scopes: the paths at or below which, none: all.  with_overlaps, with_needed: as for
        parts.choose_operations().  overlaps, needs and notes say then what is left out."""
        self.notes = []
        self._selection = selection
        return self.divide(self._list_changes(scopes), selection, with_overlaps, with_needed)

    def divide(
        self,
        changes: Mapping[str, Change],
        selection: Selection,
        with_overlaps: bool = False,
        with_needed: bool = False,
    ) -> list[Part]:
        """list_parts() of the changes of paths from one entry to another."""
        self._selection = selection
        self._with_overlaps = with_overlaps
        self._with_needed = with_needed
        self.overlaps = []
        self.needs = []
        self._edits.read_ahead({path: build_change(*pair) for path, pair in changes.items()})
        found = []
        for path, (old, new) in changes.items():
            result = self._divide(path, old, new)
            if result != old:
                found.append(self.count_lines(path, old, result))
        return found

    def list_edits(
        self, path: str, old: record_types.Version, new: record_types.Version
    ) -> Sequence[JournalLine]:
        """The edits that made one entry of a path from another; if not all of them are known, those
        that no commit has, or else all of the path."""
        chain = self._edits.trace_content(path)
        recent = _list_since(chain, old, new)
        if recent is None:
            return [line for line in chain if (line["path"], line["at"]) in self._open] or chain
        return recent

    def _list_changes(self, scopes: Sequence[str]) -> dict[str, Change]:
        """path -> its entries in the index and in the worktree, if they differ."""
        present = self.present
        tree = self.present.head_tree
        staged = index.list_staged(present.repo, tree or present.repo.empty_tree)
        hidden = scan.list_sparse(present.repo) if staged.keys() - present.entries else ()
        for scope in filter(None, scopes):
            is_there = present.worktree.look_at(scope) or self._base(scope)
            if not is_there and not any(plan.is_below(path, [scope]) for path in staged):
                raise Error(f"no file '{scope}' in the worktree, in HEAD or in the index")
        changes: dict[str, Change] = {}
        for path in sorted({*present.entries, *staged}):
            if path.startswith(plan.OURS) or path in hidden or not plan.is_below(path, scopes):
                continue
            committed = find_file(self._base, path)
            old = staged.get(path, committed)
            new = present.entries.get(path, committed)
            if old and old[0].startswith("U"):
                self.notes.append(f"'{path}' is unmerged, and is left out")
            elif old != new:
                changes[path] = old, new
        for path, reason in present.left_out.items():
            if self._selection.by_hand and plan.is_below(path, scopes):
                self.notes.append(f"'{path}' is not recorded ({reason}), and is left out")
        return changes

    def _divide(
        self, path: str, old: record_types.Version, new: record_types.Version
    ) -> record_types.Version:
        """The entry of a path with the selected work alone."""
        chain = self._edits.trace_content(path)
        writers = list_run_writers(chain, old, new)
        chosen = {self._selection.has(who) for who in writers or ()}
        if writers and len(chosen) == 1 and not may_be_back(chain, writers):
            return new if True in chosen else old
        if new is None:
            who = get_writer(chain[-1]) if chain else PERSON
            return None if self._selection.has(who) else old
        staged = read_text(self._objects, old)
        present = read_text(self._objects, new)
        if staged is None or present is None:
            return self._choose_whole(path, old, new, writers or set(map(get_writer, chain)))
        data = self._divide_lines(path, chain, old, new, (staged, present))
        if data is None:
            return old
        return self._choose_mode(chain, old, new), self._objects.write("blob", data)

    def _choose_whole(
        self, path: str, old: record_types.Version, new: Entry, writers: set[Writer]
    ) -> record_types.Version:
        """The entry of a path whose content cannot be divided."""
        chosen = {self._selection.has(who) for who in writers or {PERSON}}
        if len(chosen) == 2 and not self._with_overlaps:
            authors = sorted({who[0] for who in writers})
            self.overlaps.append(
                {"path": path, "first": 0, "last": 0, "authors": authors, "needs": []}
            )
        if True in chosen and (len(chosen) == 1 or self._with_overlaps):
            return new
        return old

    def _divide_lines(
        self,
        path: str,
        chain: Sequence[JournalLine],
        old: record_types.Version,
        new: Entry,
        texts: tuple[bytes, bytes],
    ) -> bytes | None:
        """The text with the selected operations; None if there is no file with them."""
        creator = find_creator(chain) if old is None else None
        has = self._selection.has
        if creator and not texts[1]:
            return b"" if has(creator) else None
        parent = self._edits.get_content(*(find_file(self._base, path) or ("", "")))
        operations = list_operations(
            self._edits, path, (old, new), texts, creator or UNKNOWN, parent
        )
        ways = self._with_overlaps, self._with_needed
        choice = parts.choose_operations(operations, has, creator, *ways)
        self.overlaps += [_describe(path, group) for group in choice.overlaps]
        self.needs += [_describe(path, run, needs) for run, needs in choice.needs]
        if old is None and not choice.taken:
            return None
        ends = texts[0].endswith(b"\n"), texts[1].endswith(b"\n")
        takes_end = True
        if ends[0] != ends[1]:
            takes_end = has(self._find_end_writer(chain, ends[1]))
        return parts.build_content(operations, choice.taken, ends, takes_end)

    def _find_end_writer(self, chain: Sequence[JournalLine], end: bool) -> Writer:
        """Who gave a text its end with a newline, or without one."""
        for line in plan.walk_back(chain):
            before = read_text(self._objects, parse_entry(line["before"]))
            if before is not None and before.endswith(b"\n") != end:
                return get_writer(line)
        return PERSON

    def _choose_mode(
        self, chain: Sequence[JournalLine], old: record_types.Version, new: Entry
    ) -> str:
        """The mode of a path whose content is divided."""
        for line in plan.walk_back(chain):
            before = parse_entry(line["before"])
            after = parse_entry(line["after"])
            if before and after and before[0] != after[0]:
                has = self._selection.has(get_writer(line))
                return new[0] if has else (old or before)[0]
            if not before and not old:
                return new[0]
        if old is None or self._selection.has(PERSON):
            return new[0]
        return old[0]

    def count_lines(self, path: str, old: record_types.Version, new: record_types.Version) -> Part:
        """The whole change of a path from one entry to another."""
        before, after = (
            split_lines(read_text(self._objects, version) or b"") for version in (old, new)
        )
        removed, added = find_changed_lines(before, after)
        return {"path": path, "old": old, "new": new, "added": len(added), "removed": len(removed)}


def read_change(repo: Repo, dry: bool) -> Stager:
    """What divides the change from HEAD to the worktree.  dry: write nothing into the journal."""
    present = read_present(repo, dry)
    edits = Edits(repo.objects, present.lines)
    opened = {(line["path"], line["at"]) for line in credit.list_open_edits(present.lines)}
    return Stager(present, present.head_tree, edits, opened)


def read_change_since(repo: Repo, parent: str, dry: bool) -> Stager:
    """What divides the change since a commit ('' for none), whose edits commits may have, and may
    have been cut from the journal.  dry: as for read_change()."""
    present = read_present(repo, dry)
    edits = Edits(repo.objects, present.kept_edits.list_all())
    return Stager(present, find_tree(repo.objects, parent or None), edits, set())


def list_operations(
    edits: Edits,
    path: str,
    ends: Change,
    texts: tuple[bytes, bytes],
    creator: Writer,
    parent: line_replay.Version | None = None,
) -> list[Operation]:
    """The operations that make one text of a path from another, by their authors.

    ends: the entries before and after; texts: theirs.  creator: who wrote lines that no edit did.
    parent: the content before all edits, None for the first text."""
    before, after = (
        line_replay.Version(entry[1] if entry else "", split_lines(text))
        for entry, text in zip(ends, texts, strict=True)
    )
    weave = edits.replay_as(parts.Weave, path, parent or before)
    if not weave.knows(after):
        weave.add_step(after, PERSON)
    return parts.list_operations(weave, before, after, creator)


def need_index(repo: Repo) -> None:
    """Raise Error unless there is a worktree with an index of the person's."""
    if repo.worktree and not repo.has_git:
        raise Error("jj has no index here: 'jj split <path>' divides its working copy")


def read_text(objects: Objects, version: record_types.Version) -> bytes | None:
    """The text of a file, b"" for no file; None for what has no lines."""
    if version is None:
        return b""
    data = None
    if version[0] in REGULAR:
        data = objects.read_blob(version[1])
    if data is None or has_no_lines(data):
        return None
    return data


def get_writer(line: JournalLine) -> Writer:
    """The author of an edit, or the call that made it if that is not known."""
    who = credit.get_author(line)
    return who if who != UNKNOWN else credit.get_cause(line)


def list_run_writers(
    chain: Sequence[JournalLine], old: record_types.Version, new: record_types.Version
) -> set[Writer] | None:
    """Who made one content of a path from another; None if not all edits are known, or one took
    the content from another path."""
    recent = _list_since(chain, old, new)
    if recent is None:
        return None
    return {get_writer(line) for line in recent}


def may_be_back(chain: Sequence[JournalLine], writers: set[Writer]) -> bool:
    """Whether what seems to be the person's work may have lines of others that a stash had."""
    return writers == {PERSON} and any("stashed" in line for line in chain)


def _list_since(
    chain: Sequence[JournalLine], old: record_types.Version, new: record_types.Version
) -> Sequence[JournalLine] | None:
    """The edits that made one content of a path from another, those that were not taken back and
    restored if they suffice; None if not all are known, or one took the content from another
    path."""
    return _list_run(plan.walk_back(chain), old, new) or _list_run(reversed(chain), old, new)


def _list_run(
    edits: Iterable[JournalLine], old: record_types.Version, new: record_types.Version
) -> Sequence[JournalLine] | None:
    """_list_since() among edits, the newest first, each of which led to the one before."""
    found: list[JournalLine] = []
    for line in edits:
        if parse_entry(line["after"]) != new or "follows" in line:
            return None
        found.append(line)
        new = parse_entry(line["before"])
        if new == old:
            return found[::-1]
    return None


def find_creator(chain: Sequence[JournalLine]) -> Writer:
    """Who made the file at a path."""
    for line in plan.walk_back(chain):
        if parse_entry(line["before"]) is None:
            return get_writer(line)
    return PERSON


def _describe(path: str, run: Sequence[Operation], needs: Sequence[str] = ()) -> Left:
    lines = [o.at for o in run if o.kind == parts.ADDED] or [o.at for o in run]
    authors = sorted({o.who[0] for o in run})
    first = min(lines)
    last = max(lines)
    return {"path": path, "first": first, "last": last, "authors": authors, "needs": [*needs]}


def stage_parts(repo: Repo, found: Sequence[Part], reason: str) -> str:
    """Put parts into the index as a step of the undo log; return its id.  The caller has held the
    log's lock since it read the worktree.

    Raises Changed if the index is not as it was, and Busy if another git holds it."""
    old = {part["path"]: part["old"] for part in found}
    new = {part["path"]: part["new"] for part in found}
    step = ""

    def record() -> None:
        nonlocal step
        effect = effects.describe_staging(repo, old, new)
        what = f"{count_noun(len(found), 'file')} of {reason}"
        step = undo.record_step(repo, "stage", what, [effect])

    index.replace_entries(repo, old, new, record)
    return step
