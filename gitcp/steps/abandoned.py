"""What was tried and given up, by the recorded edits of each worktree, and by the summaries that
stay when the edits have gone."""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial

from gitcp import git
from gitcp.checkpoints import listing, redactor
from gitcp.checkpoints.share import summaries
from gitcp.errors import Error
from gitcp.git import decode_name, refs, worktrees
from gitcp.git.files import exclusive
from gitcp.git.objects import Lookup, Objects, edit_tree, find_file, pack_care
from gitcp.git.records import encode_lines
from gitcp.git.repo import Repo
from gitcp.lines.edit_lines import Edits
from gitcp.record import journal
from gitcp.record.journal.line_kinds import Settlement
from gitcp.record.session import others
from gitcp.steps import abandoned_rules
from gitcp.steps.back import removed
from gitcp.steps.back.plan import is_below
from gitcp.steps.back.present import KeptEdits, Present, read_kept_edits, read_present
from gitcp.text import line_replay
from gitcp.text.ids import EDITS
from gitcp.text.line_replay import Replay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.record.journal.line_kinds import Edit
    from gitcp.steps.abandoned_rules import FoundWork, GivenUp, Group, Turn
    from gitcp.text.record_types import Entry, Record, Version

    Entries = dict[str, dict[Version, None]]  # path -> its entries, without repeats

_LOG = "log --raw --no-abbrev --no-renames -z --ignore-missing --format="
_SHOWN = ("--no-show-signature", "--diff-merges=first-parent", "--no-ext-diff", "--stdin")
_PLAIN = " --no-color --no-ext-diff --no-textconv --src-prefix=a/ --dst-prefix=b/"


@dataclass(slots=True, frozen=True)
class _Key:
    """A turn, and the worktree of which its work is told."""

    session_id: str
    turn: str
    worktree: str


@dataclass(slots=True, frozen=True)
class _Held:
    """What something has at a path."""

    path: str
    entry: Version


class _Place:
    """A worktree: what it holds now, and what was recorded in it.  name: where it is."""

    present: Present | _Nothing

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.name = repo.worktree
        self.present = read_present(repo, dry=True)
        self._staged = _list_staged(repo)

    @cached_property
    def edits(self) -> list[Edit]:
        """Its edits, less those of files that git ignored, of which no commit was to come."""
        edits = self.present.kept_edits.list_all()
        return [line for line in edits if line.is_kept]

    def list_keys(self) -> set[_Key]:
        """The turns that have edits in it."""
        keys: set[_Key] = set()
        for line in self.edits:
            session_id, turn, _ = line.author
            keys.add(_Key(session_id, turn, self.name))
        return keys

    def list_entries(self, paths: Collection[str]) -> Iterator[_Held]:
        """What the worktree and the index have at paths."""
        for path in paths:
            yield _Held(path, self.present.get_file(path))
        for held in self._staged:
            if held.path in paths:
                yield held

    def list_open(self, paths: Collection[str]) -> Iterator[_Held]:
        """What the worktree and the index have at paths and HEAD has not."""
        head = Lookup(self.repo.objects, self.present.head_tree)
        for path, entry in self.present.entries.items():
            if path in paths:
                yield _Held(path, entry)
        for held in self._staged:
            if held.path in paths and find_file(head, held.path) != held.entry:
                yield held

    def has_unknown(self, paths: Iterable[str]) -> bool:
        """Whether one of some files is there whose content a scan leaves out: it is ignored now, or
        large."""
        return any(self._is_unknown(path) for path in paths)

    def _is_unknown(self, path: str) -> bool:
        if isinstance(self.present, _Nothing) or self.present.get_file(path):
            return False
        try:
            found = self.present.worktree.look_at(path)
        except PermissionError:
            return True
        return found is not None and not stat.S_ISDIR(found.st_mode)


class _Nothing:
    """What a worktree that was removed holds."""

    head = ""
    head_tree = None

    def __init__(self, repo: Repo, gone: removed.RemovedWorktree) -> None:
        self.lines = gone.lines
        self.kept_edits = KeptEdits(repo, gone.lines)
        self.entries: dict[str, Version] = {}

    def get_file(self, path: str) -> Entry | None:
        """None: there is no file."""
        return None


class _RemovedPlace(_Place):
    """A worktree that was removed: what was recorded in it."""

    def __init__(self, repo: Repo, gone: removed.RemovedWorktree) -> None:
        self.repo = repo
        self.name = gone.name
        self.present = _Nothing(repo, gone)
        self._staged = []


def _list_staged(repo: Repo) -> list[_Held]:
    """The entries of the index."""
    staged: list[_Held] = []
    for record in repo.git.read_records("ls-files", "--stage", "-z"):
        about, _, path = decode_name(record).partition("\t")
        mode, oid, _ = about.split(" ")
        staged.append(_Held(path, (mode, oid)))
    return staged


def list_turns(repo: Repo, scopes: Collection[str] = (), *, shared: bool = True) -> list[Record]:
    """A record of type "abandoned" for each turn of which work was given up, in any worktree, the
    newest first; also those of which only the summary is left.  scopes: only work at or below these
    paths; shared: also the turns of other clones."""
    here = _list_here(repo, scopes)
    records = [*here.records]
    if shared:
        known = {(key.session_id, key.turn) for key in here.recorded}
        known.update(summaries.get_turn(record) for record in records)
        known.update(summaries.get_turn(record) for record in summaries.read_kept(repo))
        for record in summaries.read_shared(repo):
            if summaries.get_turn(record) not in known and _is_in(record, scopes):
                records.append({"type": "abandoned", **record})
    return sorted(records, key=_get_age)


def _is_in(record: Record, scopes: Collection[str]) -> bool:
    """Whether a record has a path at or below scopes."""
    return any(is_below(path, scopes) for path in record["files"])


def _get_age(record: Record) -> int:
    return -int(record["time"])


@dataclass(slots=True)
class _Here:
    """The records of this clone, and the turns that have edits."""

    records: list[Record]
    recorded: set[_Key]


def _list_here(repo: Repo, scopes: Collection[str] = ()) -> _Here:
    records: dict[_Key, Record] = {}
    for record in summaries.read_kept(repo):
        if _is_in(record, scopes):
            records[_get_key(record)] = record
    recorded: set[_Key] = set()
    found: dict[_Key, Record] = {}
    with ExitStack() as opened:
        places = [*_open_places(repo, opened)]
        places += [_RemovedPlace(repo, gone) for gone in removed.list_removed(repo)]
        for place in places:
            recorded |= place.list_keys()
            for record in _list_recorded(place, places, scopes):
                found[_get_key(record)] = record
    for key, record in found.items():
        records[key] = _complete(record, records.get(key))
    # What has come back since it was summed up is not given up.
    for key in recorded - found.keys():
        records.pop(key, None)
    return _Here(sorted(records.values(), key=_get_age), recorded)


def _complete(record: Record, kept: Record | None) -> Record:
    """A record with the texts of the one that was kept while the session's state was there."""
    if kept is None:
        return record
    completed = dict(record)
    for name in ("agent", "prompt", "next_prompt"):
        completed[name] = record[name] or kept.get(name, "")
    return completed


def _get_key(record: Record) -> _Key:
    return _Key(record["session_id"], record["turn"], record["worktree"])


def _open_places(repo: Repo, opened: ExitStack) -> Iterator[_Place]:
    """The worktrees of the repository, until opened is closed; none that cannot be read."""
    if repo.top:
        yield _Place(repo)
    for top in _list_other_worktrees(repo):
        try:
            other = opened.enter_context(pack_care.open_scratch(Repo.find(top)))
            opened.enter_context(Objects(other))
            if other.top:
                yield _Place(other)
        except (Error, OSError) as e:
            git.append_trace("abandoned", f"'{top}' is not looked at: {e}")


def _list_other_worktrees(repo: Repo) -> list[str]:
    tops = [top for top in worktrees.list_roots(repo) if os.path.isdir(top)]
    here = os.path.realpath(repo.top) if repo.top else ""
    return [top for top in tops if os.path.realpath(top) != here]


def _list_recorded(
    place: _Place, places: Sequence[_Place], scopes: Collection[str]
) -> Iterator[Record]:
    groups: list[Group] = []
    for group in abandoned_rules.group_edits(place.edits):
        if _is_possible(group, places, scopes):
            groups.append(group)
    written: set[str] = set()
    for group in groups:
        written |= group.paths
    kept: Entries = {}
    if written:
        kept = _read_kept(place, places, written)
    found: list[FoundWork] = []
    for group in groups:
        found += _look_at_group(place.repo, group, kept)
    moves = _Moves(place, kept)
    for parts in abandoned_rules.unite(found):
        chosen = [part for part in parts if is_below(part.path, scopes) and not moves.has(part)]
        if chosen:
            yield _build_record(place, places[0], chosen)


def _is_possible(group: Group, places: Sequence[_Place], scopes: Collection[str]) -> bool:
    """Whether an agent may have given up something at or below scopes, in files that moved to each
    other."""
    if not any(is_below(path, scopes) for path in group.paths):
        return False
    if not any(line.author[0] for line in group.edits):
        return False
    return not any(place.has_unknown(group.paths) for place in places)


class _Moves:
    """The files that got lines of others."""

    def __init__(self, place: _Place, kept: Entries) -> None:
        self._present = place.present
        self._kept = kept
        self._contents = Edits(place.repo.objects, ())
        self._edits: dict[str, list[Edit]] = {}
        for line in place.edits:
            self._edits.setdefault(line.path, []).append(line)
        self._lines: dict[Version, set[bytes]] = {None: set()}

    def has(self, part: GivenUp) -> bool:
        """Whether a file that was edited since has the lines, and had them not before."""
        if not part.wrote:
            return False
        for path, edits in self._edits.items():
            if path != part.path and self._has_taken(path, edits, part):
                return True
        return False

    def _has_taken(self, path: str, edits: Sequence[Edit], part: GivenUp) -> bool:
        """Whether a file, by its edits, got the lines since."""
        since = [line for line in edits if line.at >= part.at]
        if not since:
            return False
        before = self._read(since[0].before)
        for entry in self._kept.get(path) or (self._present.get_file(path),):
            if abandoned_rules.was_moved(part.wrote, before, self._read(entry)):
                return True
        return False

    def _read(self, entry: Version) -> set[bytes]:
        if entry not in self._lines:
            content = None
            if entry:
                content = self._contents.get_content(*entry)
            if content:
                self._lines[entry] = {line.strip() for line in content.lines}
            else:
                self._lines[entry] = set()
        return self._lines[entry]


def _look_at_group(repo: Repo, group: Group, kept: Entries) -> Iterator[FoundWork]:
    """What turns gave up in files that were moved to each other."""
    edits = Edits(repo.objects, group.edits)
    paths = sorted(group.paths)
    edits.read_ahead(dict.fromkeys(paths, ("", None, "", None)))

    def read(entry: Version) -> line_replay.Version | None:
        if entry is None:
            return None
        return edits.get_content(*entry)

    for path in paths:
        chain = edits.trace_content(path)
        replay = partial(edits.replay_as, Replay, path, line_replay.Version("", ()))
        history = abandoned_rules.EditHistory(chain, replay, read)
        yield history.list_given_up([*kept.get(path, ())])


def _read_kept(place: _Place, places: Sequence[_Place], paths: Collection[str]) -> Entries:
    """path -> its entries in each worktree and index, the stash, and the commits since the one on
    which the first edit was made."""
    repo = place.repo
    kept: Entries = {path: {} for path in paths}
    for held in place.list_entries(paths):
        kept[held.path][held.entry] = None
    for each in places:
        if each is not place:
            for held in each.list_open(paths):
                kept[held.path][held.entry] = None
    for stashed in refs.Stash(repo).list_all():
        for path, entry in stashed.list_versions(paths):
            kept[path][entry] = None
    base = next((edit.base for edit in place.edits if edit.base), "")
    for held in _list_committed(repo, place.present, base):
        if held.path in kept:
            kept[held.path][held.entry] = None
    return kept


def _list_committed(repo: Repo, present: Present | _Nothing, base: str) -> Iterator[_Held]:
    """What commits since base gave the paths that they changed: those of any branch, and those that
    the journal names."""
    tips: list[str] = []
    for line in present.lines:
        if isinstance(line, Settlement) and line.commit:
            tips.append(line.commit)
    if present.head:
        tips.insert(0, present.head)
    if base:
        tips.append(f"^{base}")
    _, out = repo.git.run(*_LOG.split(), *listing.ALL, *_SHOWN, stdin=encode_lines(tips))
    fields = iter(out.split(b"\0"))
    for field in fields:
        if b":" not in field[:2]:
            continue  # the newline that ends a commit's header may stand before it
        _, mode, _, oid, status = decode_name(field.lstrip(b"\n:")).split(" ")
        entry = None
        if status != "D":
            entry = mode, oid
        yield _Held(decode_name(next(fields)), entry)


def _build_record(place: _Place, first: _Place, parts: list[GivenUp]) -> Record:
    """The record of a turn's work in a place.  first: where the work of a worktree that was removed
    comes back."""
    repo = place.repo
    target = place
    if isinstance(place, _RemovedPlace):
        target = first
    newest = max(parts, key=lambda part: part.at)
    turn = newest.turn
    state = _read_state(repo, turn.session_id)
    own = (state.get("turns") or {}).get(turn.turn) or {}
    redact = redactor.make_redaction(repo, turn.session_id)
    files: Record = {}
    for part in parts:
        files[part.path] = {"added": part.added, "removed": part.removed, "how": part.how}
    return {
        "type": "abandoned",
        "session_id": turn.session_id,
        "turn": turn.turn,
        "agent": str(state.get("agent_type") or ""),
        "prompt": redact(str(own.get("prompt") or "")),
        "time": newest.at // 1_000_000_000,
        "how": newest.how,
        "by": newest.by.session_id,
        "next_prompt": redact(_find_next_prompt(repo, newest)),
        "worktree": place.name,
        "files": files,
        "restore": _format_way_back(place, target, turn, parts),
        "parts": parts,
    }


def _find_next_prompt(repo: Repo, newest: GivenUp) -> str:
    """The prompt of the turn that ended another, or else of the one that followed it."""
    by = newest.by
    if by.turn:
        turns = _read_state(repo, by.session_id).get("turns") or {}
        if turns.get(by.turn):
            return str(turns[by.turn].get("prompt") or "")
    turns = _read_state(repo, newest.turn.session_id).get("turns") or {}
    names = list(turns)
    if newest.turn.turn in names:
        later = names[names.index(newest.turn.turn) + 1 :]
        if later:
            return str(turns[later[0]].get("prompt") or "")
    return ""


def _read_state(repo: Repo, session_id: str) -> Mapping[str, Any]:
    if not session_id:
        return {}
    return others.peek_state(repo, session_id) or {}


def _format_way_back(place: _Place, target: _Place, turn: Turn, parts: Sequence[GivenUp]) -> str:
    """The command that brings a turn's work in a place back to a target: as it was where nothing
    else has changed since, else as a patch; "" if its contents are gone, or the target is."""
    repo = target.repo
    if isinstance(target, _RemovedPlace) or _is_lost(repo, parts):
        return ""
    paths = shlex.join(["--", *(part.path for part in parts)])
    top = repo.worktree
    at = ""
    if os.path.realpath(top) != os.path.realpath(os.curdir):
        at = f" -C {shlex.quote(top)}"
    ends = _name_ends(place, turn)
    if all(target.present.get_file(part.path) == part.before for part in parts):
        return f"gitcp{at} rewind --files-only --to {ends.last}:after {paths}"
    options = "--binary"
    if _has_other_form(repo):
        options = f"--binary{_PLAIN}"
    diff = f"gitcp{at} diff {options} {ends.first} {ends.last}:after {paths}"
    return f"{diff} | git{at} apply --3way"


def _is_lost(repo: Repo, parts: Iterable[GivenUp]) -> bool:
    """Whether a content of some work is not kept any more."""
    for part in parts:
        for end in (part.before, part.after):
            if end and repo.objects.read(end[1]) is None:
                return True
    return False


@dataclass(slots=True)
class _Ends:
    """The names of the first and the last moment of a turn."""

    first: str
    last: str


def _name_ends(place: _Place, turn: Turn) -> _Ends:
    """The turn's own name, but in a worktree that was removed those of its calls, since the turn
    may have work in others."""
    calls: list[str] = []
    if isinstance(place, _RemovedPlace):
        for line in place.edits:
            session_id, cause, call = line.cause
            if (session_id, cause) == (turn.session_id, turn.turn) and call:
                calls.append(call)
    if not calls:
        return _Ends(turn.turn, turn.turn)
    return _Ends(calls[0], calls[-1])


def _has_other_form(repo: Repo) -> bool:
    """Whether git's configuration may give a patch a form that `git apply` does not read."""
    config = repo.config
    if config.get_flag("diff.noprefix") or config.get("diff.external"):
        return True
    if config.list_keys("diff.", ".textconv"):
        return True
    return any("always" in config.get_all(key) for key in ("color.ui", "color.diff"))


def format_hint(repo: Repo, prompt: str) -> str:
    """A line for the agent of a prompt that names files in which work was given up; '' for none, or
    if that cannot be found out: the prompt goes on."""
    try:
        return _format_hint(repo, prompt)
    except (Error, OSError) as e:
        git.append_trace("abandoned", str(e))
        return ""


def _format_hint(repo: Repo, prompt: str) -> str:
    edits = read_kept_edits(repo).list_all()
    known = {line.path for line in edits if line.author[0]}
    for record in summaries.read_kept(repo):
        known.update(record["files"])
    named = abandoned_rules.find_named(prompt, sorted(known))
    if not named:
        return ""
    with Objects(repo):
        records = list_turns(repo, named, shared=False)
    files: set[str] = set()
    for record in records:
        files.update(record["files"])
    return abandoned_rules.format_hint(records, [path for path in named if path in files])


def make_trees(repo: Repo, record: Record) -> list[str]:
    """The trees, for git, of a record's files before and after the turn; [] if only its summary is
    left."""
    parts: Sequence[GivenUp] = record.get("parts") or ()
    if not parts:
        return []
    befores = {part.path: part.before for part in parts}
    afters = {part.path: part.after for part in parts}
    trees = [edit_tree(repo.objects, None, side) for side in (befores, afters)]
    repo.objects.flush()
    return trees


def make_plain(record: Record) -> Record:
    """A record as others read it."""
    return {k: v for k, v in record.items() if k != "parts"}


def keep_summaries(repo: Repo) -> None:
    """Keep the summaries of what was given up, before its edits are deleted."""
    has_journal = any(os.path.exists(os.path.join(f, journal.NAME)) for f in repo.list_folders())
    if not has_journal and not refs.list_refs(repo, EDITS):
        return  # nothing was recorded in any worktree
    with exclusive(repo, "abandoned"), Objects(repo):
        records = _list_here(repo).records
        kept = [{**make_plain(record), "restore": ""} for record in records]
        if kept != summaries.read_kept(repo):
            summaries.write_kept(repo, kept[: summaries.MOST])


def share_summaries(repo: Repo) -> None:
    """Prepare what a push sends of the work that was given up here."""
    with exclusive(repo, "abandoned"):
        here = _list_here(repo)
        recorded = {(key.session_id, key.turn) for key in here.recorded}
        summaries.write_shared(repo, here.records[: summaries.MOST], recorded)
