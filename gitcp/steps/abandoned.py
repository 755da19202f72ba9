"""What was tried and given up, by the recorded edits of each worktree, and by the summaries that
stay when the edits have gone."""

from __future__ import annotations

import os
import shlex
import stat
from contextlib import ExitStack
from functools import cached_property, partial
from itertools import chain

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
from gitcp.text.ids import EDITS
from gitcp.text.line_replay import Replay, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.record.journal.line_kinds import Edit
    from gitcp.steps.abandoned_rules import Found, GivenUp, Key
    from gitcp.text import record_types
    from gitcp.text.record_types import Record

    Entries = dict[str, dict[record_types.Version, None]]  # path -> its entries, without repeats

_LOG = "log --raw --no-abbrev --no-renames -z --ignore-missing --format="
_SHOWN = ("--no-show-signature", "--diff-merges=first-parent", "--no-ext-diff", "--stdin")
_PLAIN = " --no-color --no-ext-diff --no-textconv --src-prefix=a/ --dst-prefix=b/"


class _Place:
    """A worktree: what it holds now, and what was recorded in it.  name: where it is."""

    present: Present | _Nothing

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.name = repo.worktree
        self.present = read_present(repo, dry=True)
        staged = map(decode_name, repo.git.read_records("ls-files", "--stage", "-z"))
        facts = (fact.partition("\t") for fact in staged)
        self._staged = [(path, _parse_staged(about)) for about, _, path in facts]

    @cached_property
    def edits(self) -> list[Edit]:
        """Its edits, less those of files that git ignored, of which no commit was to come."""
        edits = self.present.kept_edits.list_all()
        return [line for line in edits if line.is_kept]

    def list_keys(self) -> set[tuple[str, str, str]]:
        """The turns that have edits in it, as _get_key() names them."""
        return {(*line.author[:2], self.name) for line in self.edits}

    def list_entries(self, paths: Collection[str]) -> Iterator[tuple[str, record_types.Version]]:
        """What the worktree and the index have at paths."""
        yield from ((path, self.present.get_file(path)) for path in paths)
        yield from ((path, entry) for path, entry in self._staged if path in paths)

    def list_open(self, paths: Collection[str]) -> Iterator[tuple[str, record_types.Version]]:
        """What the worktree and the index have at paths and HEAD has not."""
        head = Lookup(self.repo.objects, self.present.head_tree)
        yield from ((path, v) for path, v in self.present.entries.items() if path in paths)
        yield from (
            (path, v) for path, v in self._staged if path in paths and find_file(head, path) != v
        )

    def has_unknown(self, path: str) -> bool:
        """Whether a file is there whose content a scan leaves out: it is ignored now, or large."""
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
        self.entries: dict[str, record_types.Version] = {}

    def get_file(self, path: str) -> record_types.Entry | None:
        """None: there is no file."""
        return None


class _RemovedPlace(_Place):
    """A worktree that was removed: what was recorded in it."""

    def __init__(self, repo: Repo, gone: removed.RemovedWorktree) -> None:
        self.repo = repo
        self.name = gone.name
        self.present = _Nothing(repo, gone)
        self._staged = []


def _parse_staged(fields: str) -> record_types.Entry:
    mode, oid, _ = fields.split(" ")
    return mode, oid


def list_turns(repo: Repo, scopes: Collection[str] = (), *, shared: bool = True) -> list[Record]:
    """A record of type "abandoned" for each turn of which work was given up, in any worktree, the
    newest first; also those of which only the summary is left.  scopes: only work at or below these
    paths; shared: also the turns of other clones."""
    records, recorded = _list_here(repo, scopes)
    known = {key[:2] for key in recorded} | {summaries.get_turn(record) for record in records}
    known |= {summaries.get_turn(record) for record in summaries.read_kept(repo)}
    records += [
        {"type": "abandoned", **record}
        for record in (summaries.read_shared(repo) if shared else ())
        if summaries.get_turn(record) not in known
        and any(is_below(path, scopes) for path in record["files"])
    ]
    return sorted(records, key=lambda record: -int(record["time"]))


def _list_here(
    repo: Repo, scopes: Collection[str] = ()
) -> tuple[list[Record], set[tuple[str, str, str]]]:
    """(the records of this clone, the turns that have edits, as _get_key() names them)."""
    records: dict[tuple[str, str, str], Record] = {
        _get_key(record): record
        for record in summaries.read_kept(repo)
        if any(is_below(path, scopes) for path in record["files"])
    }
    with ExitStack() as opened:
        places = [*_open_places(repo, opened)]
        places += [_RemovedPlace(repo, gone) for gone in removed.list_removed(repo)]
        found = [record for place in places for record in _list_recorded(place, places, scopes)]
    for record in found:
        known = records.get(_get_key(record), {})  # from when the session's state was there
        texts = {k: known.get(k, "") for k in ("agent", "prompt", "next_prompt") if not record[k]}
        records[_get_key(record)] = {**record, **texts}
    # What has come back since it was summed up is not given up.
    recorded = set[tuple[str, str, str]]().union(*(place.list_keys() for place in places))
    back = recorded - {_get_key(record) for record in found}
    given_up = [record for key, record in records.items() if key not in back]
    return sorted(given_up, key=lambda record: -int(record["time"])), recorded


def _get_key(record: Record) -> tuple[str, str, str]:
    return record["session_id"], record["turn"], record["worktree"]


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
    groups = [
        (paths, edits)
        for paths, edits in abandoned_rules.group_edits(place.edits)
        if any(is_below(path, scopes) for path in paths)
        and any(line.author[0] for line in edits)
        and not any(each.has_unknown(path) for each in places for path in paths)
    ]
    written = {path for paths, _ in groups for path in paths}
    if written:
        kept = _read_kept(place, places, written)
    else:
        kept = {}
    found: list[Found] = []
    for paths, edits in groups:
        found += _look_at_group(place.repo, Edits(place.repo.objects, edits), sorted(paths), kept)
    moves = _Moves(place, kept)
    for key, parts in abandoned_rules.unite(found):
        chosen = [part for part in parts if is_below(part["path"], scopes) and not moves.has(part)]
        if chosen:
            yield _build_record(place, places[0], key, chosen)


class _Moves:
    """The files that got lines of others."""

    def __init__(self, place: _Place, kept: Entries) -> None:
        self._present = place.present
        self._kept = kept
        self._contents = Edits(place.repo.objects, ())
        self._edits: dict[str, list[Edit]] = {}
        for line in place.edits:
            self._edits.setdefault(line.path, []).append(line)
        self._lines: dict[record_types.Version, set[bytes]] = {None: set()}

    def has(self, part: GivenUp) -> bool:
        """Whether a file that was edited since has the lines, and had them not before."""
        if part["wrote"]:
            for path, edits in self._edits.items():
                first = next((line for line in edits if line.at >= part["at"]), None)
                if path == part["path"] or first is None:
                    continue
                before = self._read(first.before)
                entries = self._kept.get(path) or (self._present.get_file(path),)
                if any(
                    abandoned_rules.was_moved(part["wrote"], before, self._read(e)) for e in entries
                ):
                    return True
        return False

    def _read(self, entry: record_types.Version) -> set[bytes]:
        if entry not in self._lines:
            content = None
            if entry:
                content = self._contents.get_content(*entry)
            if content:
                self._lines[entry] = {line.strip() for line in content.lines}
            else:
                self._lines[entry] = set()
        return self._lines[entry]


def _look_at_group(
    repo: Repo, edits: Edits, paths: Sequence[str], kept: Mapping[str, Iterable[Any]]
) -> Iterator[Found]:
    """What turns gave up in files that were moved to each other."""
    edits.read_ahead(dict.fromkeys(paths, ("", None, "", None)))

    def read(entry: record_types.Version) -> Version | None:
        return edits.get_content(*entry) if entry else None

    for path in paths:
        chain = edits.trace_content(path)
        replay = partial(edits.replay_as, Replay, path, Version("", ()))
        history = abandoned_rules.History(chain, replay, read)
        yield history.list_given_up([*kept.get(path, ())])


def _read_kept(place: _Place, places: Sequence[_Place], paths: Collection[str]) -> Entries:
    """path -> its entries in each worktree and index, the stash, and the commits since the one on
    which the first edit was made."""
    repo = place.repo
    kept: Entries = {path: {} for path in paths}
    others = (each.list_open(paths) for each in places if each is not place)
    stashed = (entry.list_versions(paths) for entry in refs.Stash(repo).list_all())
    for path, entry in chain(place.list_entries(paths), *others, *stashed):
        kept[path][entry] = None
    base = next((edit.base for edit in place.edits if edit.base), "")
    for path, entry in _list_committed(repo, place.present, base):
        if path in kept:
            kept[path][entry] = None
    return kept


def _list_committed(
    repo: Repo, present: Present | _Nothing, base: str
) -> Iterator[tuple[str, record_types.Version]]:
    """What commits since base gave the paths that they changed: those of any branch, and those that
    the journal names."""
    named = []
    for line in present.lines:
        if isinstance(line, Settlement) and line.commit:
            named.append(line.commit)
    tips = [present.head, *named] if present.head else named
    revisions = encode_lines([*tips, *([f"^{base}"] if base else [])])
    _, out = repo.git.run(*_LOG.split(), *listing.ALL, *_SHOWN, stdin=revisions)
    fields = iter(out.split(b"\0"))
    for field in fields:
        if b":" in field[:2]:  # the newline that ends a commit's header may stand before it
            _, mode, _, oid, status = decode_name(field.lstrip(b"\n:")).split(" ")
            yield decode_name(next(fields)), None if status == "D" else (mode, oid)


def _build_record(place: _Place, first: _Place, key: Key, parts: list[GivenUp]) -> Record:
    """The record of a turn's work in a place.  first: where the work of a worktree that was removed
    comes back."""
    repo = place.repo
    if isinstance(place, _RemovedPlace):
        target = first
    else:
        target = place
    session_id, turn_id = key
    state = _read_state(repo, session_id)
    turns = state.get("turns") or {}
    newest = max(parts, key=lambda part: part["at"])
    by_session, by_turn = newest["by"]
    names = list(turns)
    if turn_id in names:
        later = names[names.index(turn_id) + 1 :]
    else:
        later = []
    ending = None
    if by_turn:
        ending = (_read_state(repo, by_session).get("turns") or {}).get(by_turn)
    ending = ending or (turns[later[0]] if later else {})
    redact = redactor.make_redaction(repo, session_id)
    return {
        "type": "abandoned",
        "session_id": session_id,
        "turn": turn_id,
        "agent": str(state.get("agent_type") or ""),
        "prompt": redact(str((turns.get(turn_id) or {}).get("prompt") or "")),
        "time": newest["at"] // 1_000_000_000,
        "how": newest["how"],
        "by": by_session,
        "next_prompt": redact(str(ending.get("prompt") or "")),
        "worktree": place.name,
        "files": {p["path"]: {k: p[k] for k in ("added", "removed", "how")} for p in parts},
        "restore": _format_way_back(place, target, key, parts),
        "parts": parts,
    }


def _read_state(repo: Repo, session_id: str) -> Mapping[str, Any]:
    return (others.peek_state(repo, session_id) if session_id else None) or {}


def _format_way_back(place: _Place, target: _Place, key: Key, parts: Sequence[GivenUp]) -> str:
    """The command that brings a turn's work in a place back to a target: as it was where nothing
    else has changed since, else as a patch; "" if its contents are gone, or the target is."""
    repo = target.repo
    present = target.present
    ends = [part[side] for part in parts for side in ("before", "after")]
    is_lost = any(end and repo.objects.read(end[1]) is None for end in ends)
    if is_lost or isinstance(target, _RemovedPlace):
        return ""
    paths = shlex.join(["--", *(part["path"] for part in parts)])
    top = repo.worktree
    if os.path.realpath(top) == os.path.realpath(os.curdir):
        at = ""
    else:
        at = f" -C {shlex.quote(top)}"
    begin, end = _name_ends(place, key)
    if all(present.get_file(part["path"]) == part["before"] for part in parts):
        return f"gitcp{at} rewind --files-only --to {end}:after {paths}"
    options = "--binary"
    if _has_other_form(repo):
        options = f"--binary{_PLAIN}"
    return f"gitcp{at} diff {options} {begin} {end}:after {paths} | git{at} apply --3way"


def _name_ends(place: _Place, key: Key) -> tuple[str, str]:
    """The names of the first and the last moment of a turn: the turn's own, but in a worktree that
    was removed those of its calls, since the turn may have work in others."""
    turn = key[1]
    if not isinstance(place, _RemovedPlace):
        return turn, turn
    calls: list[str] = []
    for line in place.edits:
        cause = line.cause
        if cause[:2] == key and cause[2]:
            calls.append(cause[2])
    if not calls:
        return turn, turn
    return calls[0], calls[-1]


def _has_other_form(repo: Repo) -> bool:
    """Whether git's configuration may give a patch a form that `git apply` does not read."""
    coloured = ("always" in repo.config.get_all(key) for key in ("color.ui", "color.diff"))
    return (
        repo.config.get_flag("diff.noprefix")
        or bool(repo.config.get("diff.external"))
        or bool(repo.config.list_keys("diff.", ".textconv"))
        or any(coloured)
    )


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
    known |= {path for record in summaries.read_kept(repo) for path in record["files"]}
    named = abandoned_rules.find_named(prompt, sorted(known))
    if not named:
        return ""
    with Objects(repo):
        records = list_turns(repo, named, shared=False)
    files = {path for record in records for path in record["files"]}
    return abandoned_rules.format_hint(records, [path for path in named if path in files])


def make_trees(repo: Repo, record: Record) -> list[str]:
    """The trees, for git, of a record's files before and after the turn; [] if only its summary is
    left."""
    parts: Sequence[Any] = record.get("parts") or ()
    sides = ({part["path"]: part[side] for part in parts} for side in ("before", "after"))
    if parts:
        trees = [edit_tree(repo.objects, None, side) for side in sides]
    else:
        trees = []
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
        records = _list_here(repo)[0]
        kept = [{**make_plain(record), "restore": ""} for record in records]
        if kept != summaries.read_kept(repo):
            summaries.write_kept(repo, kept[: summaries.MOST])


def share_summaries(repo: Repo) -> None:
    """Prepare what a push sends of the work that was given up here."""
    with exclusive(repo, "abandoned"):
        records, recorded = _list_here(repo)
        summaries.write_shared(repo, records[: summaries.MOST], {key[:2] for key in recorded})
