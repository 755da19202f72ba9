"""Decide whether a commit holds work of a session (doc/behaviour.md "Matching").

`remaining` answers the opposite question by the same comparison (doc/scenarios.md "002 Linking"):

    match      before and at the commit   is any of the work in it?    in doubt no: do not link
    remaining  after a linked commit      is any of the work missing?  in doubt yes: keep it
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from typing import NotRequired, TypedDict

    from gitcp.core.record_types import Entry, Version

    class Matched(TypedDict):
        """paths: those with work of the session; shared: path -> what is in common."""

        paths: list[str]
        reasons: dict[str, str]
        shared: dict[str, frozenset[bytes]]

    class Linked(TypedDict):
        """Why a session belongs to a commit.  how: content, environment or process.  From agent
        on, what was stored: how many turns wrote what the commit has, and how many of the lines
        that it adds the session wrote, then how many it adds."""

        how: str
        paths: list[str]
        reasons: dict[str, str]
        agent: NotRequired[str]
        turns: NotRequired[int]
        lines: NotRequired[tuple[int, int]]

    Staged = tuple[str, str | None, str, str | None]  # old mode, old oid, new mode, new oid
    Change = tuple[bytes, bytes]  # a text before and after
    Blob = Callable[[str], bytes | None]  # None: there is no such object
    Shared = tuple[frozenset[bytes], str]  # what the changes have in common; the reason

    class Recorded(TypedDict):
        """A change of a path that a session recorded; other keys are ignored."""

        path: str
        oid: str | None  # None: the session deleted the path
        mode: NotRequired[str]
        live: bool  # the worktree's stream has it; False: it is away
        stashed: NotRequired[bool]  # a later entry of `git stash` has the recorded content
        before: NotRequired[Version]  # absent: not known
        own: NotRequired[frozenset[bytes]]  # the added lines that count; absent: all

    Evidence = set[tuple[str, bytes]]  # (path, what a commit has in common with a record of it)

    class Pair(TypedDict):
        """how: blobs; evidence, for a part of them; amend or rebase, as git names the rewrite."""

        commit: str
        checkpoint_id: str
        how: str


MOST_NEW = 50  # new files in a commit that are compared by lines with a moved one


def find_overlap(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """What a commit has in common with a session's work at a path, and the reason.

    staged: the change from the commit's parent.  blob: gives the content of an oid; called only if
    the oids do not decide.
    """
    old_mode, old, mode, new = staged
    changed = ABSENT not in (mode, old_mode) and old != new
    if not (changed and entry["live"] and entry["oid"]) or changes_mode_alone(entry):
        return compare_changes(entry, staged, blob)
    if entry.get("stashed") and not _has_any_change(entry, staged, blob):
        return frozenset(), "the session's change is in the stash, none of it in the commit"
    return frozenset([b"\0live"]), "the commit changes a file of the session"


def match_session(
    entries: Iterable[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool] = lambda _: False,
) -> Matched:
    """Find the paths of a commit that hold work of a session; if there is none, do not link.

    `reasons` has the reason for each path, also for one that does not count.  A moved file, which
    git shows as a deletion and an addition, counts under its new path if that has the recorded
    content, or most of it and the old path is gone: from the worktree, by `gone`, or in the commit,
    which may have another file there.
    """
    shared: dict[str, frozenset[bytes]] = {}
    reasons: dict[str, str] = {}
    moved: list[Recorded] = []
    for entry in entries:
        path = entry["path"]
        change = staged.get(path)
        if change is None or change[3] != entry["oid"]:
            moved.append(entry)
        if change is not None and path not in shared:
            common, reasons[path] = find_overlap(entry, change, blob)
            shared.update({path: common} if common else {})
    for old, new, common in _pair_moves(moved, staged, blob, gone):
        if new not in shared:
            shared[new] = common
            reasons[new] = f"the recorded content of '{old}'"
    return {"paths": sorted(shared), "reasons": reasons, "shared": shared}


def describe_links(sessions: Mapping[str, Linked]) -> str:
    """One line about the sessions that were stored for a commit."""
    stored = [(name, part) for name, part in sessions.items() if "lines" in part]
    if not stored:
        return ""
    session_id, first = max(stored, key=lambda item: item[1]["lines"][0])
    words = f"{first['agent']} {session_id[:8]}"
    if len(stored) > 1:
        words += f" and {_count(len(stored) - 1, 'other')}"
    if turns := sum(part["turns"] for _, part in stored):
        words += f", {_count(turns, 'prompt')}"
    if first["lines"][1]:
        own = sum(part["lines"][0] for _, part in stored)
        words += f", {own} of {_count(first['lines'][1], 'line')}"
    return f"linked: {words}; 'gitcp show HEAD'"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _has_any_change(entry: Recorded, staged: Staged, blob: Blob) -> bool:
    """Tell whether a commit adds a line the session added, or removes one it removed."""
    _, old, _, new = staged
    before, content, recorded = (blob(oid) if oid else b"" for oid in (old, new, entry["oid"]))
    if before is None or content is None or recorded is None:
        return True
    if any(map(is_binary, (before, content, recorded))):
        return content == recorded
    find_added = find_added_lines
    common = find_added(before, content) & find_added(before, recorded)
    common |= find_added(content, before) & find_added(recorded, before)
    return any(map(is_meaningful, common))


def _pair_moves(
    entries: Iterable[Recorded],
    staged: Mapping[str, Staged],
    blob: Blob,
    gone: Callable[[str], bool],
) -> list[tuple[str, str, frozenset[bytes]]]:
    """Pair recorded paths that the commit lacks with new files that have their content: (recorded
    path, new path, what they have in common)."""
    new = {path: c for path, c in staged.items() if c[0] == ABSENT and c[2] in REGULAR and c[3]}
    pairs = []
    for entry in entries if new else ():
        path, oid = entry["path"], entry.get("oid")
        change = staged.get(path)
        unchanged = change and change[1] == oid  # the parent's content: no evidence
        if oid is None or unchanged or entry.get("mode", REGULAR[0]) not in REGULAR:
            continue
        targets = [target for target in new if new[target][3] == oid]
        if not targets and len(new) <= MOST_NEW and _is_gone(entry, change, blob, gone):
            targets = [*new]
        old = change[:2] if change else (ABSENT, None)
        shared = ((to, _compare_moved(entry, (*old, *new[to][2:]), blob)) for to in targets)
        pairs += [(path, target, common) for target, common in shared if common]
    return pairs


def _is_gone(
    entry: Recorded, change: Staged | None, blob: Blob, gone: Callable[[str], bool]
) -> bool:
    """Whether the recorded file is gone from its path, or the commit has another file there."""
    if change is None:
        return gone(entry["path"])
    return change[2] == ABSENT or not _has_any_change(entry, change, blob)


def _compare_moved(entry: Recorded, change: Staged, blob: Blob) -> frozenset[bytes]:
    """What the change of a moved file, from its content at the recorded path, has in common with
    the record if the new file has most of the recorded lines."""
    oid, new = entry["oid"] or "", change[3] or ""
    data, content = blob(oid), blob(new)
    if data is None or content is None:
        return frozenset()
    record, mine = (find_added_lines(None, text) for text in (data, content))
    if oid == new:
        tells = is_binary(data) or select_significant(record)
        return frozenset([b"\0" + new.encode()]) if tells else frozenset()
    is_moved = is_renamed(mine, record)
    return compare_changes(entry, change, blob)[0] if is_moved else frozenset()


# Compare a recorded change of a path with a commit's change of it.
#
# A recorded change goes from `before` to the recorded entry, a commit's from its parent to its own
# entry.  Texts are compared by the lines that each change adds or removes, other contents as a
# whole. If `before` is not known, the commit's parent is used for it.
ABSENT = "000000"
REGULAR = ("100644", "100755")
_NONE: frozenset[bytes] = frozenset()


def build_change(old: Version, new: Version) -> Staged:
    """The change of a path from one version to another."""
    absent = (ABSENT, None)
    return (*(old or absent), *(new or absent))


def compare_deletion(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """Compare a record with a commit that deletes its path."""
    if entry["oid"] is not None:
        return _NONE, "the commit deletes it, the session did not"
    if not _has_recorded_lines(entry, staged, blob):
        return _NONE, "the session deleted another content"
    return _mark_content(b"deleted"), "the session deleted it"


def compare_undone_deletion(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """Compare a recorded deletion with a commit that has the path.

    A commit that only removes lines holds a part of the deletion; any other undoes it.
    """
    old_mode, old, mode, new = staged
    if old and new and old != new and {old_mode, mode} <= {*REGULAR}:
        before, content = blob(old), blob(new)
        if (
            before is not None
            and content is not None
            and not find_added_lines(before, content)
            and _has_recorded_lines(entry, staged, blob)
        ):
            return _mark_content(b"deleted"), "part of what the session deleted"
    return _NONE, "the session deleted it, the commit does not"


def _has_recorded_lines(entry: Recorded, staged: Staged, blob: Blob) -> bool:
    """Whether a commit removes a line that a recorded deletion removed, as far as is known; a live
    deletion is of whatever the path had."""
    before = entry.get("before")
    if entry["live"] or not before or before[1] == staged[1]:
        return True
    texts = [blob(oid) if oid else b"" for oid in (before[1], staged[1], staged[3])]
    if any(text is None or is_binary(text) for text in texts):
        return True
    recorded, old, new = (remove_space(text or b"") for text in texts)
    removed = find_added_lines(new, old)
    return not removed.isdisjoint(find_added_lines(None, recorded))


def compare_mode(entry: Recorded, new: str) -> Shared:
    """Compare a record with a commit that changes only the mode."""
    before = entry.get("before")
    if entry.get("mode") != new or (before and before[0] == new):
        return _NONE, "another mode than recorded"
    return _mark_content(new.encode()), "the recorded mode"


def changes_mode_alone(entry: Recorded) -> bool:
    """Whether a record is of a change of the mode, with the content as it was."""
    before = entry.get("before")
    return bool(before and before[1] == entry["oid"])


def compare_changes(entry: Recorded, staged: Staged, blob: Blob) -> Shared:
    """Compare a record with a commit's change of its path, whoever made that."""
    old_mode, old, mode, new = staged
    if mode == ABSENT:
        return compare_deletion(entry, staged, blob)
    if entry["oid"] is None:
        return compare_undone_deletion(entry, staged, blob)
    if old_mode != mode and (old == new or (old and changes_mode_alone(entry))):
        return compare_mode(entry, mode)
    if new is None or mode[:3] != entry.get("mode", mode)[:3]:  # file, symlink, submodule
        return _NONE, "another type than recorded"
    same = (_mark_content(new.encode()), "the recorded content") if new == entry["oid"] else None
    if mode not in REGULAR:
        return same or (_NONE, "another content than recorded")
    parent = old_mode, old
    base = entry.get("before", parent)
    if same and (entry["live"] or base == parent):
        return same
    parent_text, base_text = _read_file(blob, parent), _read_file(blob, base)
    content, recorded = blob(new), blob(entry["oid"])
    if parent_text is None or content is None or recorded is None:
        return _NONE, "the recorded content cannot be read"
    change = parent_text, content
    record = parent_text if base_text is None else base_text, recorded
    if any(map(is_binary, (*change, *record))):
        return same or (_NONE, "another binary content than recorded")
    if same and not any(_find_changed_lines(record)):
        return same  # an empty file, or reordered lines
    return _compare_texts(change, record, entry.get("own"))


def _mark_content(content: bytes) -> frozenset[bytes]:
    return frozenset([b"\0" + content])


def _read_file(blob: Blob, version: tuple[str, str | None] | None) -> bytes | None:
    """The content of a regular file; b"" for no file, None if it is missing."""
    return blob(version[1]) if version and version[1] and version[0] in REGULAR else b""


def _find_changed_lines(change: Change) -> tuple[set[bytes], set[bytes]]:
    """(the lines that a change adds, those that it removes)."""
    old, new = change
    return find_added_lines(old, new), find_added_lines(new, old)


def _compare_texts(change: Change, record: Change, own: frozenset[bytes] | None) -> Shared:
    """Compare a commit's change of a text with a recorded one by their lines.

    White space in lines does not count, unless the commit changes nothing else.
    """
    long: set[bytes] = set()
    bare = remove_space
    if bare(change[0]) != bare(change[1]):
        lines = collect_lines(change[1]) | collect_lines(record[1])
        long = set(map(bare, select_significant(lines)))
        change, record = (bare(change[0]), bare(change[1])), (bare(record[0]), bare(record[1]))
        own = None if own is None else frozenset(map(bare, own))
    added, removed = _find_changed_lines(change)
    recorded, recorded_removed = _find_changed_lines(record)
    if own is not None:
        recorded &= own
    common = frozenset(added & recorded)
    if is_contained(added, recorded):
        return common, "every line the commit adds was recorded"
    if is_contained(recorded, added):
        return common, "every line of the record is in the commit"
    awaited = recorded - collect_lines(change[0])
    if has_enough_in_common(added, awaited, long):
        return common, "significant lines in common with the record"
    common = frozenset(b"\0" + line for line in removed & recorded_removed)
    if common and not added and removed <= recorded_removed:
        return common, "every line the commit removes was removed in the record"
    is_telling = any(map(is_meaningful, recorded_removed))
    if common and not recorded and recorded_removed <= removed and is_telling:
        return common, "every line the record removes is removed in the commit"
    if not (added or removed or recorded_removed or find_added_lines(*record)):
        place = find_place(*change, own)
        if place and place == find_place(*record, own):
            return _mark_content(place), "lines that the file had before, at the recorded place"
    return _NONE, "other lines than recorded"


# Compare contents of a file by their sets of lines, as evidence of who wrote them.
#
# The number and the order of equal lines do not count: a moved line is not an added one, and a
# staged half of a file is a part of it in any order.  A line is its bytes without the line ending
# ("\n" or "\r\n").
_SPACE = b" \t\r\x0b\x0c"  # in a line
SIGNIFICANT = 10  # trimmed bytes of a significant line
_SNIFFED = 8000  # bytes in which git looks for a NUL to tell binary content


def is_binary(data: bytes) -> bool:
    """Tell whether git would call this content binary."""
    return b"\0" in data[:_SNIFFED]


def collect_lines(data: bytes) -> set[bytes]:
    """Return the lines of a text, without their endings."""
    return {*data.removesuffix(b"\r").replace(b"\r\n", b"\n").split(b"\n")}


def drop_blank_lines(lines: set[bytes]) -> set[bytes]:
    """Return the lines that are not blank."""
    return {line for line in lines if line.strip()}


def find_added_lines(a: bytes | None, b: bytes | None) -> set[bytes]:
    """Return the non-blank lines of b that a does not have; None: there is no file."""
    return drop_blank_lines(collect_lines(b or b"") - collect_lines(a or b""))


def find_place(a: bytes, b: bytes, own: Container[bytes] | None = None) -> bytes:
    """Return what a change from a to b removes and adds, with the line before and the line after
    that are not blank; b"" if no added line is meaningful, or own lacks one of them.

    own: the lines that may be added, None for any.
    """
    old, new = a.split(b"\n"), b.split(b"\n")
    start = _count_equal(old, new)
    end = _count_equal(old[start:][::-1], new[start:][::-1])
    added = [line for line in new[start : len(new) - end] if line.strip()]
    if not any(map(is_meaningful, added)) or not (own is None or all(x in own for x in added)):
        return b""
    before = [line for line in new[:start] if line.strip()][-1:]
    after = [line for line in new[len(new) - end :] if line.strip()][:1]
    removed = old[start : len(old) - end]
    return b"\n".join([*before, b"\0", *removed, b"\0", *added, b"\0", *after])


def _count_equal(a: list[bytes], b: list[bytes]) -> int:
    """Return how many lines two texts have in common at their start."""
    return next((n for n, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))  # noqa: B905


def is_meaningful(line: bytes) -> bool:
    """Tell whether a line has a letter or a digit."""
    return any(byte >= 0x80 or chr(byte).isalnum() for byte in line)


def select_significant(lines: set[bytes], long: Container[bytes] = ()) -> set[bytes]:
    """Return the significant lines, trimmed (doc/credit.md "Linking by evidence").

    long: lines that are significant although they are short.
    """
    trimmed = (line.strip() for line in lines)
    return {
        line
        for line in trimmed
        if line in long or (len(line) >= SIGNIFICANT and is_meaningful(line))
    }


def is_significant(line: bytes) -> bool:
    """Tell whether a line is significant."""
    return bool(select_significant({line}))


def is_contained(lines: set[bytes], record: set[bytes]) -> bool:
    """Tell whether all lines are in the record, and one of them is meaningful."""
    return any(map(is_meaningful, lines)) and lines <= record


def has_enough_in_common(
    mine: set[bytes], recorded: set[bytes], long: Container[bytes] = ()
) -> bool:
    """Tell whether two sets of added lines have enough significant lines in common to link them.

    Enough is two lines and a tenth of the recorded ones, or one line if either set has fewer than
    two.  long: as for select_significant().
    """
    mine, recorded = select_significant(mine, long), select_significant(recorded, long)
    common = len(mine & recorded)
    if min(len(mine), len(recorded)) < 2:
        return common >= 1
    return common >= 2 and common * 10 >= len(recorded)


def remove_space(data: bytes) -> bytes:
    """Return a text without the white space in its lines, which a formatter may change."""
    return data.translate(None, _SPACE)


def holds_change(content: bytes, base: bytes, tip: bytes) -> bool:
    """Tell whether a text has all lines that a change from base to tip added, and none that it
    removed, white space aside; False for binary content and for a change of no line."""
    if any(map(is_binary, (content, base, tip))):
        return False
    content_lines, base_lines, tip_lines = (
        drop_blank_lines(collect_lines(remove_space(data))) for data in (content, base, tip)
    )
    return (
        tip_lines != base_lines
        and tip_lines - base_lines <= content_lines
        and content_lines.isdisjoint(base_lines - tip_lines)
    )


def is_renamed(mine: set[bytes], recorded: set[bytes]) -> bool:
    """Tell whether a new file is a moved one: at least two significant lines in common, and, as
    for git, half of either's."""
    mine, recorded = select_significant(mine), select_significant(recorded)
    common = len(mine & recorded)
    return common >= 2 and common * 2 >= max(len(mine), len(recorded))


def is_change_left(
    base: bytes | None, tip: bytes | None, worktree: bytes | None, mode: str = "fuzzy"
) -> bool:
    """Tell whether the agent's change from base to tip is still in the worktree.

    One added line is enough; if the change only removed lines, all of them must be absent.  Binary
    content, and a change that adds and removes no line, must be the same bytes.  None: there is no
    file.  mode: `exact`, or `fuzzy`, where runs of white space count as one space.
    """
    if tip is None or worktree is None:
        return tip is worktree
    if any(is_binary(data) for data in (base or b"", tip, worktree)):
        return tip == worktree
    sets = collect_lines(base or b""), collect_lines(tip), collect_lines(worktree)
    if mode == "fuzzy":
        verdict = _compare_line_sets(*({b" ".join(s.split()) for s in x} for x in sets))
        if verdict is not None:
            return verdict
    verdict = _compare_line_sets(*sets)  # in fuzzy mode: the agent changed white space only
    return tip == worktree if verdict is None else verdict


def _compare_line_sets(base: set[bytes], tip: set[bytes], worktree: set[bytes]) -> bool | None:
    if new := drop_blank_lines(tip - base):
        return not new.isdisjoint(worktree)
    if gone := drop_blank_lines(base - tip):
        return gone.isdisjoint(worktree)
    return None


def holds_line(
    before: bytes | None, after: bytes | None, old: bytes | None, new: bytes | None
) -> bool:
    """Tell whether a commit's change from old to new adds a line that an edit from before to after
    added, or removes one that it removed, white space aside; None: there is no file.

    True for binary content, and for an edit without a meaningful line.
    """
    contents = [content or b"" for content in (before, after, old, new)]
    if any(map(is_binary, contents)):
        return True
    was, now, parent, commit = map(remove_space, contents)
    gained, lost = find_added_lines(was, now), find_added_lines(now, was)
    if not any(map(is_meaningful, gained | lost)):
        return True
    common = gained & find_added_lines(parent, commit)
    common |= lost & find_added_lines(commit, parent)
    return any(map(is_meaningful, common))


# Choose among several candidates for a link.


def choose_candidate(candidates: Sequence[Mapping[str, Evidence]]) -> list[str]:
    """The checkpoint ids, in order, of the candidates that explain a commit best.

    A candidate maps its ids to the evidence for each.  A candidate without an id of another one is
    left out if the other has all of its evidence; if their evidence is the same, both are.
    """
    evidence = [set().union(*candidate.values()) for candidate in candidates]
    ids: dict[str, None] = {}
    for own, candidate in zip(evidence, candidates, strict=True):
        rivals = (n for n, c in enumerate(candidates) if c.keys().isdisjoint(candidate))
        if own and not any(own <= evidence[n] for n in rivals):
            ids |= dict.fromkeys(candidate)
    return list(ids)


# Decide whether a linked commit left a session's work out
# (doc/behaviour.md "What a commit leaves open").  In doubt the work stays open.
EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)  # the empty blob: SHA-1, SHA-256


def explain_settled(
    entry: Recorded,
    committed: Mapping[str, Staged],
    worktree: Version,
    head: Version,
    blob: Blob = lambda _: None,
) -> str:
    """Why a recorded path has nothing left to commit; '' if it may have.

    committed: the commit's changes by path, as for match_session().  worktree, head: the entry of
    the path now, and in the new HEAD.  blob: gives the content of an oid; called only if the oids
    do not decide.  The record is compared from its `before`, if known: the commit's parent may
    have newer lines, as after a pull.
    """
    change = committed.get(entry["path"])
    recorded = (entry.get("mode", ""), entry["oid"]) if entry["oid"] else None
    if recorded is None:
        return "" if head else "HEAD has what was recorded"
    if head and head[1] == recorded[1]:
        is_mode_left = head != recorded and worktree == recorded and recorded[0]
        return "" if is_mode_left else "HEAD has what was recorded"
    if worktree is None and _is_moved(recorded[1], change, committed, blob):
        return "committed under another name"
    if not change or worktree != head or "before" not in entry:
        return ""
    is_whole = _has_all_changes(recorded, entry["before"], change, blob)
    return "all its lines are in the commit" if is_whole else ""


def _has_all_changes(recorded: Entry, base: Version, change: Staged, blob: Blob) -> bool:
    """Whether the commit has all recorded lines, although a person or a formatter changed the file
    further before it."""
    _, _, mode, new = change
    old_mode, old = base or (ABSENT, None)
    if not (new and {recorded[0], mode} <= {*REGULAR} and old_mode in (ABSENT, *REGULAR)):
        return False
    before, recorded_content, content = blob(old) if old else b"", blob(recorded[1]), blob(new)
    if before is None or recorded_content is None or content is None:
        return False
    return holds_change(content, before, recorded_content)


def _is_moved(oid: str, change: Staged | None, committed: Mapping[str, Staged], blob: Blob) -> bool:
    """Whether the commit has the recorded content, or all its lines, as a new file."""
    if oid in EMPTY or (change and change[2] != ABSENT):
        return False
    new = {to: mode for old, _, mode, to in committed.values() if old == ABSENT and to}
    if oid in new or len(new) > MOST_NEW:
        return oid in new
    return any(mode in REGULAR and _has_all_lines(oid, to, blob) for to, mode in new.items())


def _has_all_lines(oid: str, new: str, blob: Blob) -> bool:
    recorded, content = blob(oid), blob(new)
    if recorded is None or content is None:
        return False
    lines = (find_added_lines(None, data) for data in (content, recorded))
    return holds_change(content, b"", recorded) and is_renamed(*lines)
