"""The points to go back to: temporary, archived and committed checkpoints, steps of the undo log
and moments inside a turn (doc/behaviour.md "Going back")."""

from __future__ import annotations

import json
import os
import stat
from functools import partial
from typing import NamedTuple

from gitcp.agents.reading.conversation import describe_calls
from gitcp.checkpoints import format, redactor, transcripts
from gitcp.errors import Error
from gitcp.git import decode_name, refs
from gitcp.git import objects as gitcp_objects
from gitcp.git.objects import (
    Lookup,
    compare_trees,
    edit_tree,
    find_file,
    find_tree,
    parse_ident,
    read_commit,
)
from gitcp.git.objects.merging import merge_blobs
from gitcp.git.objects.object_lists import list_commits
from gitcp.link import commits as show_commits
from gitcp.record import stream
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import Edit, Opening
from gitcp.record.session import others
from gitcp.record.snapshot import scan
from gitcp.record.snapshot.index import list_under_way
from gitcp.record.stream import stream_list
from gitcp.record.turn import sessions
from gitcp.steps import undo
from gitcp.steps.back import ignored, removed, restore
from gitcp.steps.back import plan as back
from gitcp.steps.back.plan import describe_lacking
from gitcp.steps.back.restore import (
    KeptEdits,
    Owners,
    Present,
    find_other_names,
    read_kept_edits,
    read_present,
    read_signatures,
)
from gitcp.text import term
from gitcp.text.ids import SESSION_KEY
from gitcp.text.spans import abbreviate
from gitcp.text.times import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.looks.taken import TakenCall
    from gitcp.record.snapshot import Worktree
    from gitcp.steps.back.plan import Action, Conflict, Facts, Plan, Point
    from gitcp.steps.back.restore import Known, Signature
    from gitcp.steps.undo import Effect
    from gitcp.text.record_types import Record, Tip, Version, Writer

    class Wish(TypedDict):
        """Actions wanted in the worktree, conflicts of contents, notes.  merged: path -> the blobs
        of which a merge brings lines into the present content.  raw: bytes and permissions that git
        does not keep."""

        actions: list[Action]
        conflicts: list[Conflict]
        notes: list[str]
        merged: dict[str, list[str]]
        raw: Known
        effects: list[Effect]  # on files that git ignores

    Wisher = Callable[[Present], Wish]
    Edits = Mapping[str, Sequence[tuple[Version, Version]]]  # path -> (before, after), in order

    Moment = Edit | Opening

# The moments inside a turn, and the edits of a session, turn or tool use, by the journal.
#
# Edits that were cut from the journal are read from the refs of their sessions.
AFTER = ":after"
KINDS = ("prompt", "tool")  # of the points that are moments inside a turn
_COMMAND = "a command"  # stands for one whose words are not known
_UNNAMED = ("before `", f"before {_COMMAND}")  # messages of points that are shell calls
_OF_TOOLS = (credit.TOOL, credit.TRANSCRIPT, credit.STATED)  # `how` of edits by file tools


def find_edits(
    edits_kept: KeptEdits, session: str, turn: str, tool: str
) -> tuple[str, list[Moment]]:
    """(a description, the edits in their order) of a session, one of its turns or tool uses.

    session, turn, tool: the beginning of an id, '' for any.  Calls that may have overwritten
    content that nobody had seen are among the lines.  Raises Error when an id matches none or
    several.
    """
    lines = _list_standing(edits_kept.list_moments(everywhere=True)[0])
    words = []
    for number, (kind, name) in enumerate((("session", session), ("turn", turn), ("tool", tool))):
        if name:
            ids = {cause[number] for cause in map(_get_cause, lines) if cause[0]} - {""}
            chosen = _pick_id(kind, name, ids)
            lines = [line for line in lines if _get_cause(line)[number] == chosen]
            words.append(f"{kind} {chosen}")
    return ", ".join(words), [line for line in lines if _get_cause(line)[0]]


def _get_cause(line: Moment) -> Writer:
    """The call that caused an edit, or the call that a line opens."""
    if isinstance(line, Opening):
        return line.session, line.turn, line.call
    return line.cause


def _list_standing(lines: Iterable[Moment]) -> list[Moment]:
    """The edits that can be taken back.

    An edit that discarded content is left out if another session or the person has restored that
    content since."""
    standing: list[Moment] = []
    later: dict[str, list[Edit]] = {}  # path -> its later edits, the newest first
    for line in reversed(list(lines)):
        if isinstance(line, Opening):
            standing.append(line)
            continue
        since = later.setdefault(line.path, [])
        cause = line.cause
        discarded = cause[0] and cause != line.author
        if not (discarded and _is_restored(line, since)):
            standing.append(line)
        since.append(line)
    return standing[::-1]


def _is_restored(line: Edit, since: Iterable[Edit]) -> bool:
    """Whether another's edit restored what an edit discarded, and it was not discarded again."""
    before = line.before
    after = line.after
    for later in since:
        result = later.after
        if result == before and later.cause[0] != line.cause[0]:
            return True
        if result == after:
            return False
    return False


def _pick_id(kind: str, name: str, ids: Iterable[str]) -> str:
    try:
        return sessions.pick_id(name, ids)
    except Error as e:
        message = str(e).replace("no such session", f"the journal knows no {kind}")
        raise Error(message.replace("session id", f"{kind} id")) from None


def make_point(kind: str, point_id: str, seconds: int, message: str, **more: Any) -> Point:
    """A point at a time, in seconds since 1970; more: other keys of Point."""
    date = format_utc(seconds)
    head: Point = {**back.EMPTY, "id": point_id, "kind": kind, "message": message}
    return {**head, "time": seconds, "date": date, **more}  # type: ignore[typeddict-item]


def list_moments(
    edits: tuple[list[Moment], set[str]],
    prompts: Mapping[str, str],
    commands: Mapping[str, str],
) -> list[Point]:
    """A point before each tool use and each turn that begins in some edits, the newest first.

    edits: as KeptEdits.list_moments() returns them.  prompts: turn id -> prompt.  commands: as
    KeptEdits.map_commands() returns them.  A call is named by its command, else by the first path
    that it changed; one without edits is listed if it may have overwritten unseen content or took
    ignored files.
    """
    lines = edits[0]
    seen = set(edits[1])
    openings = [line for line in lines if isinstance(line, Opening)]
    lacking = {opening.call: opening.unseen for opening in openings if opening.unseen}
    points: list[Point] = []
    for line in lines:
        session, turn, tool = _get_cause(line)
        if isinstance(line, Opening) and line.unseen:
            turn_name = ""
        else:
            turn_name = turn
        for kind, name in (("prompt", turn_name), ("tool", tool)):
            if session and name and name not in seen:
                seen.add(name)
                prompt = prompts.get(turn, "")
                is_tool = kind == "tool"
                if is_tool:
                    event = _describe_call(line, commands.get(name, ""))
                else:
                    event = prompt
                point = make_point(
                    kind,
                    name,
                    line.at // 10**9,
                    f"before {event}",
                    session_id=session,
                    session_prompt=prompt,
                    tool_use_id=name if is_tool else "",
                )
                points.append(back.mark_lacking(point, lacking.get(tool, ()) if is_tool else ()))
    return points[::-1]


def _describe_call(line: Moment, command: str) -> str:
    """What a call did: its command, else its first edit.  line: that edit, or the opening of a call
    without edits."""
    if command:
        return f"`{command}`"
    if isinstance(line, Opening):
        return _COMMAND
    if line.how not in _OF_TOOLS:
        return f"{_COMMAND} that changed {line.path}"
    if line.before is None:
        return f"writing {line.path}"
    if line.after is None:
        return f"deleting {line.path}"
    return f"editing {line.path}"


def _name_commands(repo: Repo, points: Iterable[Point]) -> None:
    """Put the commands of shell calls into the messages of their points, as far as the transcripts
    of their clients are there; the journal has a command without its options."""
    by_session: dict[str, list[Point]] = {}
    for point in points:
        if point["kind"] == "tool" and point["message"].startswith(_UNNAMED):
            by_session.setdefault(point["session_id"], []).append(point)
    for session_id, own in by_session.items():
        path = (others.peek_state(repo, session_id) or {}).get("transcript_path")
        try:
            data = b""
            if isinstance(path, str):
                data = transcripts.read_live(path)
        except OSError:
            continue
        commands = describe_calls(data, {point["id"] for point in own})
        if commands:
            redact = redactor.make_redaction(repo, session_id)
        else:
            redact = str
        for point in own:
            command = commands.get(point["id"])
            if command:
                point["message"] = f"before `{redact(command)}`" + _describe_place(point)


def read_tree(present: Present, name: str) -> tuple[str, str]:
    """(the tree of the worktree before a tool use or a turn; the first commit made since, '' for
    none).  name: its id; with AFTER appended, the moment after it."""
    moment_id = name.removesuffix(AFTER)
    after = name.endswith(AFTER)
    moment = present.kept_edits.find_since(moment_id, after)
    if moment is None:
        raise Error(f"no such turn or tool use: '{moment_id}'")
    since, commit = moment
    versions: dict[str, Version] = {}
    for line in since:
        versions.setdefault(line.path, line.before)
    return edit_tree(present.repo.objects, present.tree, versions), commit


def find_point_tree(present: Present, point: Point) -> str:
    """The tree of the worktree at a point; '' if it has none."""
    if point["kind"] not in KINDS:
        return point["tree"]
    if not point["worktree"]:
        return read_tree(present, point["id"])[0]
    gone = removed.find_removed(present.repo, point["worktree"])
    moment_id = point["id"].removesuffix(AFTER)
    is_after = point["id"].endswith(AFTER)
    if gone:
        tree = removed.build_tree(present.repo, gone, moment_id, is_after)
        if tree:
            return tree
    raise Error(f"no such turn or tool use: '{moment_id}'")


def read_edits(repo: Repo, point: Point) -> KeptEdits:
    """The edits of the worktree of a point."""
    if point["worktree"]:
        gone = removed.find_removed(repo, point["worktree"])
        if gone:
            return KeptEdits(repo, gone.lines)
    return read_kept_edits(repo)


def list_changes(edits_kept: KeptEdits, point: Point) -> dict[str, tuple[Version, Version]]:
    """path -> its entries before and after a tool use or a turn, for each that it changed."""
    number = 2 if point["kind"] == "tool" else 1
    name = point["id"].removesuffix(AFTER)
    changes: dict[str, tuple[Version, Version]] = {}
    for line in edits_kept.list_all():
        cause = line.cause
        if cause[0] and cause[number] == name:
            first = changes.get(line.path, (line.before, None))[0]
            changes[line.path] = (first, line.after)
    return {path: pair for path, pair in sorted(changes.items()) if pair[0] != pair[1]}


# Merging three blobs by `git merge-file`, as a merge of branches does.


# What a step wants of the worktree: that of a point, or the present one without some edits.
REFUSE, MARKERS, KEEP = CONFLICTS = ("refuse", "markers", "keep")
_EMPTY: Wish = {
    "actions": [],
    "conflicts": [],
    "notes": [],
    "merged": {},
    "raw": {},
    "effects": [],
}
_IGNORED = "ignored when it was written"  # why a file's content is not recorded
_BOTH = "changed since in the same place (--conflict=markers keeps both, =keep what is there)"


def wish_nothing(*notes: str) -> Wisher:
    """Build the wish that changes no file."""
    return lambda present: {**_EMPTY, "notes": [*notes]}


def go_to_point(point: Point, scopes: Sequence[str]) -> Wisher:
    """Build the wish for the worktree as it was at a point, limited to scopes (paths from the
    root; none: all)."""

    def make_wish(present: Present) -> Wish:
        if point["kind"] in KINDS and not point["worktree"]:
            tree, commit = read_tree(present, point["id"])
            note = f"the point is from before commit {abbreviate(commit)}; HEAD stays where it is"
            notes = [note] if commit else []
        else:
            tree = find_point_tree(present, point)
            notes = _describe_base(point, present)
        calls = ignored.list_since(present.repo, point, present.lines, AFTER)
        back_again = ignored.plan_return(present.repo, calls, scopes, point["session_id"])
        known = Lookup(present.repo.objects, tree)
        _refuse_unknown(
            present, scopes, lambda path: known(path) or _has_below(back_again.paths, path)
        )
        base = find_tree(present.repo.objects, point["base_commit"])
        facts = _gather_facts(present, base, point["session_id"])
        facts["left_out"] = {**_read_left_out(present.repo.objects, point), **present.left_out}
        changes = compare_trees(present.repo.objects, present.tree, tree)
        below = (change for change in changes if back.is_below(change[0], scopes))
        lacking = describe_lacking(point["kind"], point["lacking"])
        notes = [*notes, *filter(None, [lacking]), *_describe_operations(present)]
        actions = back.plan_tree(below, facts)
        raw = _read_raw(present, point)
        return {
            **_EMPTY,
            "actions": actions,
            "notes": [*notes, *back_again.notes],
            "raw": raw,
            "effects": back_again.effects,
        }

    return make_wish


def go_to_tree(tree: str) -> Wisher:
    """Build the wish for the worktree with the files of a tree, whoever made them, for a test."""

    def make_wish(present: Present) -> Wish:
        compared = compare_trees(present.repo.objects, present.tree, tree)
        changes = [(*c, "for a test") for c in compared if not c[0].startswith(back.OURS)]
        return {**_EMPTY, "actions": back.plan_paths(changes, _gather_facts(present))}

    return make_wish


def _has_below(paths: Iterable[str], scope: str) -> bool:
    return any(back.is_below(path, [scope]) for path in paths)


def _refuse_unknown(present: Present, scopes: Iterable[str], look: Callable[[str], object]) -> None:
    """Raise Error for a path that neither the snapshot of the worktree nor look has."""
    for path in scopes:
        if path and not present.look(path) and not look(path):
            st = present.worktree.look_at(path)
            if st and not stat.S_ISDIR(st.st_mode):
                why = present.left_out.get(path, "ignored by git")
                raise Error(f"'{path}' is not recorded ({why}): it stays as it is")
            raise Error(f"no file '{path}' in the worktree, and none at the point")


def _read_raw(present: Present, point: Point) -> Known:
    """For a point before a step, the bytes and permissions that the step kept."""
    steps = undo.read_steps(present.repo) if point["kind"] == "safety" else ()
    chosen = [step for step in steps if step["commit"] == point["id"]]
    return restore.read_steps(present.repo.objects, chosen)


def _read_left_out(objects: Objects, point: Point) -> dict[str, str]:
    """path -> the reason why the point's snapshot left it out."""
    listed = f"{point['metadata_dir']}/omitted.json"
    entry = None
    if point["metadata_dir"]:
        entry = Lookup(objects, point["tree"])(listed)
    if entry is None:
        return {}
    omitted = json.loads(objects.need(entry[1], "blob"))
    return {item["path"]: item["reason"] for item in omitted}


def _describe_base(point: Point, present: Present) -> list[str]:
    base = point["base_commit"]
    if not base or base == (present.head or "0" * len(base)):
        return []
    head = abbreviate(present.head or "") or "unborn"
    return [
        f"the point stands on commit {abbreviate(base)}, HEAD is {head}; HEAD stays where it is"
    ]


def _describe_operations(present: Present) -> list[str]:
    """A sentence for each operation of git that is under way in this worktree."""
    return [
        f"{what} is under way; it is neither ended nor continued"
        for what in list_under_way(present.repo)
    ]


def _gather_facts(present: Present, base: str | None = None, session_id: str = "") -> Facts:
    """The facts that a plan needs; base: the tree of the point's base commit, None if unknown;
    session_id: the point's session."""
    head = Lookup(present.repo.objects, present.head_tree)
    before = Lookup(present.repo.objects, base)
    owners = Owners(present)
    return {
        "head": lambda path: find_file(head, path),
        "base": lambda path: find_file(before, path),
        "owner": owners.find_owner,
        "writer": owners.find_writer,
        "edited": lambda path, version: _format_time(owners.find_edit(path, version)),
        "theirs": lambda path, version: owners.find_other(path, version, session_id),
        "committed": owners.is_committed,
        "left_out": dict(present.left_out),
        "hidden": {
            path
            for path in scan.list_sparse(present.repo)
            if not os.path.lexists(present.worktree.join_full(path))
        },
    }


def _format_time(edit: Edit | None) -> str:
    """The local time of an edit, with the date if it is old; '' for None."""
    if edit is None:
        return ""
    return term.format_clock(edit.made // 10**9)


def leave_out_edits(edits: Edits, conflict: str, why: str, raw: Known | None = None) -> Wisher:
    """Build the wish for the worktree without some edits; later edits of the same files stay.

    conflict: what to do with a path whose later edits do not merge: REFUSE, MARKERS or KEEP.
    """

    def make_wish(present: Present) -> Wish:
        merge = partial(merge_blobs, present.repo)
        changes: list[tuple[str, Version, Version, str]] = []
        unchanged: list[Action] = []
        merged: dict[str, list[str]] = {}
        conflicts: list[Conflict] = []
        for path, pairs in edits.items():
            current = present.get_file(path)
            target, clean = back.take_back(current, back.join_edits(pairs), merge)
            if clean or (conflict == MARKERS and target != current):
                both = current is not None and pairs[-1][1] != current
                if both:
                    merged[path] = [before[1] for before, _ in pairs if before]
                    reason = f"{why}, with what was changed since"
                else:
                    reason = why
                if target != current:
                    changes += [(path, current, target, reason)]
            elif conflict == KEEP:
                reason = "changed since, and the change cannot be unchanged beside it"
                unchanged.append(back.make_action(path, back.KEEP, current, target, reason))
            else:
                conflicts.append({"path": path, "reason": _BOTH})
        actions = [*back.plan_paths(changes, _gather_facts(present)), *unchanged]
        return {
            "actions": actions,
            "conflicts": conflicts,
            "notes": _describe_operations(present),
            "merged": merged,
            "raw": raw or {},
            "effects": [],
        }

    return make_wish


def take_back_edits(
    lines: Sequence[Moment],
    scopes: Sequence[str],
    conflict: str,
    calls: Sequence[TakenCall] = (),
) -> Wisher:
    """Build the wish for the worktree without some lines of find_edits(), limited to
    scopes.  Later edits by others stay, and so do files whose content is not recorded.  calls:
    those of which ignored files come back."""
    pairs: dict[str, list[tuple[Version, Version]]] = {}
    edits = [line for line in credit.list_edits(lines) if back.is_below(line.path, scopes)]
    unkept = sorted({line.path for line in edits if not line.is_kept})
    for edit in edits:
        if edit.path not in unkept:
            pairs.setdefault(edit.path, []).append((edit.before, edit.after))
    leave_out = leave_out_edits(pairs, conflict, "taken back")
    unseen: dict[str, None] = {}
    for line in lines:
        if isinstance(line, Opening):
            unseen |= dict.fromkeys(line.unseen)
    lacking = describe_lacking("tool", unseen)

    def make_wish(present: Present) -> Wish:
        session_id = calls[0]["session"] if calls else ""
        back_again = ignored.plan_return(present.repo, calls, scopes, session_id)
        known = [*pairs, *unkept, *back_again.paths]
        _refuse_unknown(present, scopes, lambda scope: _has_below(known, scope))
        read = present.repo.objects.read
        lost: list[Conflict] = [
            {"path": path, "reason": "its content is not kept any more"}
            for path, versions in pairs.items()
            if not all(e is None or read(e[1]) for pair in versions for e in pair)
        ]
        if lost and conflict != KEEP:
            return {**_EMPTY, "conflicts": lost}
        wish = leave_out(present)
        kept = [
            back.make_action(path, back.KEEP, None, None, _IGNORED)
            for path in unkept
            if path not in back_again.paths
        ]
        notes = [*wish["notes"], *filter(None, [lacking]), *back_again.notes]
        actions = [*wish["actions"], *kept]
        return {**wish, "actions": actions, "notes": notes, "effects": back_again.effects}

    return make_wish


class Prepared(NamedTuple):
    """A plan and the scan of the worktree that it was made for."""

    present: Present
    merged: dict[str, list[str]]  # path -> the blobs whose lines a merge brings back
    raw: Known
    plan: Plan
    todo: list[Action]
    tree: str  # the worktree after the plan
    signs: dict[str, Signature]  # the current one of each path that changes
    effects: list[Effect]  # on files that git ignores


def prepare(present: Present, wisher: Wisher) -> Prepared:
    """Plan what a wisher wants, for a scan of the worktree."""
    repo = present.repo
    _ = present.lines  # unseen edits are recorded in the journal before the step is
    wish = wisher(present)
    actions, on_disk = _check_disk(present, wish["actions"])
    actions.sort(key=lambda a: a["path"])
    todo = back.list_effective(actions)
    edits = {a["path"]: a["now"] for a in todo}
    tree = edit_tree(repo.objects, present.tree, edits)
    conflicts = [*wish["conflicts"], *on_disk, *back.find_name_conflicts(todo)]
    if repo.config.get_flag("core.ignorecase"):
        conflicts += _find_twins(Lookup(repo.objects, tree), todo)
    plan: Plan = {"actions": actions, "conflicts": conflicts, "notes": wish["notes"]}
    signs = read_signatures(repo, edits)
    return Prepared(present, wish["merged"], wish["raw"], plan, todo, tree, signs, wish["effects"])


def refuse_conflicts(conflicts: Sequence[Conflict]) -> None:
    """Raise Error naming every conflict, if there is any."""
    if conflicts:
        lines = [f"'{c['path']}': {c['reason']}" for c in conflicts]
        raise Error("nothing was changed, because of\n  " + "\n  ".join(lines))


def _check_disk(present: Present, wanted: Sequence[Action]) -> tuple[list[Action], list[Conflict]]:
    """(the actions, those that must not be done as a keep with its reason; the conflicts), by the
    files on disk that no tree has."""
    work = present.worktree
    todo = back.list_effective(wanted)
    gone = {action["path"] for action in todo if action["now"] is None}
    renamed = find_other_names(present.repo, (action["path"] for action in todo))
    actions: list[Action] = []
    conflicts: list[Conflict] = []
    for action in wanted:
        path = action["path"]
        reason = ""
        conflict = ""
        st = None
        if action["now"] and action["was"] is None:
            st = work.look_at(path)
        if action["verb"] == back.KEEP:
            pass
        elif not action["was"] and work.list_repositories(path):
            reason = "in a repository of its own"
        elif st and stat.S_ISDIR(st.st_mode):
            conflict = _find_file_below(work, path, gone)
        elif st and path not in renamed:
            why = present.left_out.get(path, "ignored by git")
            reason = f"something stands there ({why})"
        elif action["now"]:
            conflict = _find_file_above(work, path, gone)
        actions.append({**action, "verb": back.KEEP, "reason": reason} if reason else action)
        if conflict:
            conflicts += [{"path": path, "reason": conflict}]
    return actions, conflicts


def _find_file_above(work: Worktree, path: str, gone: Collection[str]) -> str:
    """The conflict with a file in place of a directory above path that the plan does not delete."""
    parts = path.split("/")[:-1]
    for n in range(len(parts)):
        folder = "/".join(parts[: n + 1])
        try:
            is_folder = stat.S_ISDIR(os.lstat(work.join_full(folder)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        if not is_folder:
            if folder in gone:
                return ""
            return f"'{folder}' is in its way, a file that no session made"
    return ""


def _find_file_below(work: Worktree, path: str, gone: Collection[str]) -> str:
    """The conflict with a file in the directory at path that the plan does not delete."""
    for folder, folders, names in os.walk(work.join_full(path)):
        links = [n for n in folders if os.path.islink(os.path.join(folder, n))]
        for name in [*names, *links]:
            inside = decode_name(os.path.relpath(os.path.join(folder, name), work.top))
            if inside not in gone:
                return f"'{inside}' would be lost with its directory"
    return ""


def _find_twins(after: Lookup, todo: Iterable[Action]) -> list[Conflict]:
    """Conflicts for names that differ in case alone, on a file system that ignores case."""
    conflicts: dict[str, Conflict] = {}
    for action in todo:
        if action["now"]:
            parts = action["path"].split("/")
        else:
            parts = []
        for n, name in enumerate(parts):
            folder = after.read_folder("/".join(parts[:n]))
            other = [x for x in folder if x != name and x.casefold() == name.casefold()]
            if other:
                path = "/".join(parts[: n + 1])
                conflicts[path] = {"path": path, "reason": f"cannot stand beside '{other[0]}' here"}
    return list(conflicts.values())


_LACKING = ("too-large", "unreadable")
DIFF = "diff --no-color --no-ext-diff --no-textconv".split()
_LONGEST = 200_000  # bytes of a patch that are shown before a choice
COMMITS = 50  # of HEAD's history that are searched for committed points


def list_points(repo: Repo, everywhere: bool = False, depth: int = COMMITS) -> list[Point]:
    """The points of read_points(), with those that change nothing folded and
    each call named by its command."""
    found = read_points(repo, everywhere, depth)
    if everywhere:
        found = back.sort_newest_first([*found, *_list_removed_moments(repo)])
    points = back.fold_points(found)
    _name_commands(repo, points)
    return points


def read_points(repo: Repo, everywhere: bool = False, depth: int = COMMITS) -> list[Point]:
    """Every point of this worktree, newest first.

    everywhere: also points of other bases, checkpoints of worktrees that were removed, and moments
    that were cut from the journal.  depth: the number of commits that are searched.
    """
    points = [*_list_temporary(repo, everywhere), *_list_steps(repo)]
    kept = read_kept_edits(repo)
    moments = kept.list_moments(everywhere)
    points += list_moments(moments, map_prompts(repo), kept.map_commands())
    points += _list_committed(repo, depth)
    points += _list_expired(repo, {point["id"] for point in points}, everywhere)
    return back.sort_newest_first(points)


def _list_removed_moments(repo: Repo) -> list[Point]:
    """The moments of worktrees that were removed."""
    points: list[Point] = []
    for gone in removed.list_removed(repo):
        moments = KeptEdits(repo, gone.lines).list_moments(everywhere=True)
        base = removed.find_base(gone)
        for point in list_moments(moments, map_prompts(repo), {}):
            points.append(_mark_removed({**point, "base_commit": base}, gone.name))
    return points


def _mark_removed(point: Point, name: str) -> Point:
    """The point as one of a worktree of that name, which was removed."""
    marked: Point = {**point, "worktree": name}
    marked["message"] += _describe_place(marked)
    return marked


def _describe_place(point: Point) -> str:
    """The words that follow the message of a point of a worktree that was removed; '' for one of
    this worktree."""
    if not point["worktree"]:
        return ""
    return f" (in {point['worktree']}, which was removed)"


class NoPoint(Error):
    """A name that no point has."""


def find_point(repo: Repo, name: str, everywhere: bool = True) -> Point:
    """The point of a name: the beginning of its or its checkpoint's id, or HEAD.

    With AFTER appended it names the moment after a turn or tool use.  Without everywhere, points of
    this base go before others.  Raises NoPoint when there is none, Error when several match or a
    commit has taken the point.
    """
    if name == "HEAD":
        return _read_head(repo.objects)
    exact = next((p for p in _list_temporary(repo, True) if p["id"] == name), None)
    if exact:
        return exact
    after = AFTER if name.endswith(AFTER) else ""
    for anywhere in (True,) if everywhere else (False, True):
        points = read_points(repo, anywhere)
        point = back.choose_point(points, name.removesuffix(after))
        if anywhere and not point:
            moments = _list_removed_moments(repo)
            point = back.choose_point(moments, name.removesuffix(after))
        if point:
            if after:
                message = point["message"].replace("before", "after", 1)
                point = {**point, "id": point["id"] + after, "message": message}
                return back.mark_lacking(point, ())
            return point
    commit = abbreviate(_find_successor(repo, points, name) or "")
    if commit:
        ways = f"'gitcp rewind --to HEAD' or 'gitcp show {commit}'"
        raise Error(f"point '{name}' became commit {commit}: {ways}")
    raise NoPoint(f"no such point: '{name}' ('gitcp rewind --list' shows them)")


def _read_head(objects: Objects) -> Point:
    commit = read_commit(objects, "HEAD")
    if commit is None:
        raise Error("there is no commit yet")
    subject = commit["message"].partition("\n")[0]
    oid = commit["oid"]
    seconds = parse_ident(commit["committer"])[1]
    return make_point("committed", oid, seconds, subject, base_commit=oid, tree=commit["tree"])


def _find_successor(repo: Repo, points: Iterable[Point], name: str) -> str | None:
    """The commit that took the work of a temporary checkpoint, which then is no point any more;
    None if no such checkpoint begins with name."""
    oid = show_commits.find_temporary(repo, name)
    commit = read_commit(repo.objects, oid) if oid else None
    if commit is None:
        return None
    session_id = stream.find_trailer(commit["message"], SESSION_KEY)
    base = stream.find_trailer(commit["message"], "Base-Commit")
    own = (point for point in points if point["session_id"] == session_id)
    commits = {point["id"] for point in own if point["kind"] == "committed"}
    since = list_commits(repo, "--reverse", f"^{base}", "HEAD") if base and commits else ()
    return next((oid for oid in since if oid in commits), None)


def _list_temporary(repo: Repo, everywhere: bool) -> Iterator[Point]:
    head = refs.read_base(repo)
    others_there = removed.list_hashes(repo) - {repo.worktree_hash}
    names: dict[str, str] = {}
    if everywhere:
        names = removed.map_names(repo)
    tips = [t for t in stream.list_tips(repo) if _is_here(repo, t, head, others_there, everywhere)]
    for ref, chain in stream_list.read_chains(repo, tips).items():
        kind, worktree = stream_list.parse_ref(ref)
        for checkpoint in chain:
            if checkpoint["message"] not in (stream.CARRIED, stream.FOLLOWED):
                point = _build_point(repo.objects, checkpoint, kind)
                if worktree not in ("", repo.worktree_hash):
                    point = _mark_removed(point, names.get(worktree, worktree))
                yield point


def _is_here(
    repo: Repo, tip: Tip, head: str, others_there: Collection[str], everywhere: bool
) -> bool:
    """Whether a stream is one of this worktree, or, if everywhere, of one that was removed.
    others_there: the hashes of the other worktrees that are there."""
    kind, worktree = stream_list.parse_ref(tip["ref"])
    if worktree not in ("", repo.worktree_hash) and (not everywhere or worktree in others_there):
        return False
    return everywhere or kind != "archived" or tip["base"].startswith(head[: len(tip["base"])])


def _build_point(objects: Objects, checkpoint: Record, kind: str) -> Point:
    """The point of a temporary checkpoint; `gone` is true if objects of it are missing."""
    same = "is_task_checkpoint tool_use_id session_id ref base_commit tree".split()
    point = make_point(
        "archived" if kind == "archived" else "temporary",
        checkpoint["oid"],
        checkpoint["time"],
        checkpoint["message"],
        metadata_dir=stream.METADATA + checkpoint["session_id"],
        **{key: checkpoint[key] for key in same},
    )
    try:
        root = gitcp_objects.read_tree(objects, point["tree"])
        files = Lookup(objects, point["tree"]).read_folder(point["metadata_dir"])
        point["content"] = _join_content(root)
        point["session_prompt"] = _read_prompt(objects, files)
        return back.mark_lacking(point, _list_omitted(objects, files))
    except Error:
        return {**point, "gone": True}


def _list_omitted(objects: Objects, files: dict[str, tuple[str, str]]) -> list[str]:
    """The files that a snapshot lacks for their size or because they could not be read."""
    entry = files.get("omitted.json")
    if entry:
        listed = json.loads(objects.need(entry[1], "blob"))
    else:
        listed = []
    return [item["path"] for item in listed if item["reason"] in _LACKING]


def _read_prompt(objects: Objects, files: dict[str, tuple[str, str]]) -> str:
    entry = files.get(format.PROMPT)
    prompts = ""
    if entry:
        prompts = decode_name(objects.need(entry[1], "blob"))
    return prompts.rpartition(format.SEPARATOR)[2]


def _join_content(root: dict[str, tuple[str, str]]) -> str:
    """The entries of a root tree as text, without `.entire/`; equal for equal worktrees."""
    return " ".join(
        f"{name}\0{oid}" for name, (_, oid) in sorted(root.items()) if name != ".entire"
    )


def _list_steps(repo: Repo) -> Iterator[Point]:
    """The worktree before each step of the undo log."""
    for step in reversed(undo.read_steps(repo)):
        tree = undo.find_tree(repo.objects, step["commit"], "before")
        if tree:
            yield make_point(
                "safety",
                step["commit"],
                step["time"],
                back.name_worktree_before(step, term.format_clock(step["time"])),
                ref=undo.get_ref(repo),
                tree=tree,
                content=_join_content(gitcp_objects.read_tree(repo.objects, tree)),
            )


def _list_committed(repo: Repo, depth: int) -> Iterator[Point]:
    """A point for each session of the checkpoints of HEAD's history."""
    if refs.read_head(repo) is None:
        return
    for commit in show_commits.list_commits(repo, [], [f"-n{depth}"]):
        for checkpoint in commit["checkpoints"]:
            for session in checkpoint.get("contents", ()):
                yield make_point(
                    "committed",
                    commit["oid"],
                    commit["time"],
                    commit["message"],
                    is_logs_only=True,
                    condensation_id=checkpoint["checkpoint_id"],
                    session_id=session["session_id"],
                    session_prompt=(session["asked"] or [""])[-1],
                    base_commit=commit["oid"],
                    tree=commit["tree"],
                )


def _list_expired(repo: Repo, ids: Collection[str], everywhere: bool) -> Iterator[Point]:
    """The points that `gitcp clean` deleted, marked gone."""
    head = refs.read_base(repo)
    for record in stream_list.list_records(repo):
        here = record["worktree"] in ("", repo.worktree_hash) and record["id"] not in ids
        base = record["base_commit"]
        if here and (everywhere or not base or base == head):
            yield make_point(
                record["kind"],
                record["id"],
                record["time"],
                record["message"],
                session_id=record["session_id"],
                base_commit=base,
                gone=True,
            )


def map_prompts(repo: Repo) -> dict[str, str]:
    """turn id -> prompt, for the sessions that have a state."""
    found: dict[str, str] = {}
    for state in sessions.list_states(repo):
        for turn_id, turn in (state.get("turns") or {}).items():
            if isinstance(turn, dict):
                found[turn_id] = str(turn.get("prompt") or "")
    return found


def make_record(point: Point) -> Record:
    """A point as a record, without `content`, which only compares trees."""
    return {"type": "point", **{k: v for k, v in point.items() if k != "content"}}


class Preview:
    """What going to each point would do, all for one scan of the worktree."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._present: Present | None = None
        self._prepared: dict[str, Prepared] = {}

    def get_plan(self, point: Point) -> Plan:
        """The plan to go to a point; without actions if no file changes."""
        return self._prepare(point).plan

    def draw_diff(self, point: Point) -> list[str]:
        """The first rows of the patch that going to a point would make."""
        prepared = self._prepare(point)
        trees = prepared.present.tree, prepared.tree
        self._repo.objects.flush()
        out = b""
        if prepared.todo:
            out = self._repo.git.run(*DIFF, *trees)[1]
        return decode_name(out[:_LONGEST]).splitlines()

    def count_verbs(self, point: Point) -> dict[str, int] | None:
        """verb -> number of paths; None for a point that has no files."""
        if not back.can_be_gone_to(point):
            return None
        return back.count_verbs(self.get_plan(point)["actions"])

    def _prepare(self, point: Point) -> Prepared:
        if point["id"] not in self._prepared:
            self._present = self._present or read_present(self._repo, dry=True)
            if back.can_be_gone_to(point):
                way = go_to_point(point, ())
            else:
                way = wish_nothing()
            try:
                prepared = prepare(self._present, way)
            except Error as e:
                prepared = prepare(self._present, wish_nothing(str(e)))
            self._prepared[point["id"]] = prepared
        return self._prepared[point["id"]]
