"""Which tool, call or turn, or the person, made a change that a look found.

A window is the time in which a call could write without naming its paths: a shell, an unknown
tool, or a whole turn of an agent that does not report its tools.  A file tool has a window, too,
for a look that comes before its end.
"""

from __future__ import annotations

import posixpath

from gitcp.record.journal import credit
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gitcp.text.record_types import Writer


class Window:
    """A time in which a call, or a turn, may have changed files.

    opened: when the call was announced.  begin, end: when it ran; end is None while it runs.
    All times are in ns.  left: when the call ended if a part of it ran on in the background.
    is_late: this part runs on after the turn, too.
    kind: shell; waiting, a shell of which no process is seen; cut, a shell that ended with its
    agent at an unknown time; tool; transcript; turn.  names: the paths written by a tool or
    according to a transcript, else the words of the command and its output.  is_closing: the call
    has just ended, without a look since.  stashes: the entries of `git stash` when the call
    began.  writes: of a tool that was cut short with its agent, path -> the blob that it was
    to write; None for others.
    """

    __slots__ = (
        "begin",
        "end",
        "is_closing",
        "is_late",
        "kind",
        "left",
        "names",
        "opened",
        "stashes",
        "who",
        "writes",
    )

    def __init__(
        self,
        who: Writer,
        kind: str,
        *,
        opened: int,
        begin: int,
        end: int | None,
        names: Collection[str],
        is_late: bool = False,
        left: int | None = None,
        is_closing: bool = False,
        stashes: Sequence[str] = (),
        writes: Mapping[str, str] | None = None,
    ) -> None:
        self.who = who
        self.kind = kind
        self.opened = opened
        self.begin = begin
        self.end = end
        self.names = names
        self.is_late = is_late
        self.left = left
        self.is_closing = is_closing
        self.stashes = stashes
        self.writes = writes


class SeenChange:
    """A path whose content differs from the one last seen.

    oid: of the content now, '' without one.  at: when it changed, in ns; for a deleted path, when
    a directory above it last changed; None if that is not known.
    seen: the time of the last look at it.  is_new: created.  is_gone: deleted.
    is_restored: the repository had this content for the path already.
    """

    __slots__ = ("at", "is_gone", "is_new", "is_restored", "oid", "path", "seen")

    def __init__(
        self,
        path: str,
        *,
        oid: str,
        at: int | None,
        seen: int,
        is_new: bool,
        is_gone: bool,
        is_restored: bool,
    ) -> None:
        self.path = path
        self.oid = oid
        self.at = at
        self.seen = seen
        self.is_new = is_new
        self.is_gone = is_gone
        self.is_restored = is_restored


class Attribution:
    """who: the author; how: the kind of evidence; is_shared: windows of other sessions explain the
    change as well; by: the window in which it was made, even if who is UNKNOWN."""

    __slots__ = ("by", "how", "is_shared", "who")

    def __init__(self, who: Writer, how: str, *, is_shared: bool, by: Window | None) -> None:
        self.who = who
        self.how = how
        self.is_shared = is_shared
        self.by = by


def get_latest_time(stamp: int) -> int:
    """The latest time, in ns, that a file's time stamp can mean on a file system that stores whole
    seconds."""
    if stamp % 1_000_000_000:
        return stamp
    return stamp + 999_999_999


# Commands of git that take content out of the worktree without losing it.
_AWAY = frozenset(("stash", "checkout", "restore", "reset", "switch", "clean"))
# Commands, and commands of git, that bring content from elsewhere into the worktree.
_BRINGING = frozenset(
    """cp mv cat patch rsync install checkout restore show cat-file cherry-pick merge stash apply
    revert am diff read-tree checkout-index archive reset switch rebase pull""".split()
)
_BREAKS = str.maketrans(dict.fromkeys("\"'`;|&<>(){}=,:\n\t\r\0", " "))
_MOST = 400  # stored words of a call


def attribute_change(change: SeenChange, windows: Sequence[Window], added: str = "") -> Attribution:
    """Attribute a change to a window that explains it, else to the person.  A file tool at its path
    comes first, then a call that names the path, then other calls, then a turn.  A restored
    content has no author, unless a tool or a transcript names the path.

    added: the added lines; their words decide between sessions that explain the change alike."""
    path = change.path
    windows = [w for w in windows if w.kind != credit.TOOL or _is_named(w, path)]
    candidates = [w for w in windows if explains(w, change)]
    best = _find_best(candidates, path)
    is_told = best is not None and best.kind in (credit.TOOL, credit.TRANSCRIPT)
    if change.is_restored and not is_told:
        return Attribution(ids.UNKNOWN, credit.RESTORED, is_shared=False, by=best)
    if best is None:
        who = ids.PERSON
        if any(_may_explain(w, change) for w in windows):
            who = ids.UNKNOWN
        return Attribution(who, credit.BETWEEN, is_shared=False, by=None)
    rank = _rank_window(best, path)
    rivals = [w for w in candidates if _rank_window(w, path) == rank]
    if _are_several(rivals):
        rivals = _choose_by_words(rivals, added)
        best = max(rivals, key=lambda w: w.begin)
    how = best.kind
    if how in (credit.SHELL, credit.CUT):
        how = credit.WINDOW
    return Attribution(best.who, how, is_shared=_are_several(rivals), by=best)


def _are_several(windows: Sequence[Window]) -> bool:
    """Whether windows are of several sessions."""
    return len({w.who[0] for w in windows}) > 1


def _choose_by_words(windows: Sequence[Window], added: str) -> list[Window]:
    """The windows that name most words of the added lines."""
    words = frozenset(list_words(added))
    counts = [len(words.intersection(w.names)) for w in windows]
    most = max(counts)
    return [w for w, count in zip(windows, counts, strict=True) if count == most]


def explains(window: Window, change: SeenChange) -> bool:
    """Whether a change was made in a window, as far as its times tell.

    What runs on after its call is often a server, at which the person works: it explains only new
    files that the command names.  A file that was there before may be what it reads."""
    at = change.at
    named = _is_named(window, change.path)
    if window.kind == credit.WAITING:
        return False
    if window.writes is not None:
        has_its_content = window.writes.get(change.path) == change.oid
        return has_its_content and at is not None and window.begin <= get_latest_time(at)
    if _is_after_call(window, at):
        is_its_file = change.is_new and _is_file_named(window.names, change.path)
        return is_its_file and _touches(window, at)
    if window.kind in (credit.TRANSCRIPT, credit.CUT):
        return named and (at is None or window.begin <= get_latest_time(at))
    seen_before = window.opened <= change.seen
    if not change.is_gone:
        return _touches(window, at) and (named or _holds(window, at, seen_before))
    return _overlaps(window, change) and (named or seen_before)


def _is_after_call(window: Window, at: int | None) -> bool:
    """Whether a change came, or may have come, when only background processes of the call ran."""
    in_background_since = window.left
    if in_background_since is None or window.is_closing:
        return False
    return at is None or get_latest_time(at) > in_background_since


def _touches(window: Window, at: int | None) -> bool:
    """Whether the time that a stamp can mean overlaps a window."""
    end = window.end
    return at is not None and window.begin <= get_latest_time(at) and (end is None or at <= end)


def _holds(window: Window, at: int | None, seen_before: bool) -> bool:
    """Whether all of the time that a stamp can mean is in a window that it touches.

    seen_before: a look at the path came after the opening, so the change did not precede it.
    """
    if at is None or get_latest_time(at) == at:
        return at is not None
    begins = seen_before or get_latest_time(window.begin) <= at
    end = window.end
    return begins and (end is None or window.is_closing or get_latest_time(at) <= end)


def _may_explain(window: Window, change: SeenChange) -> bool:
    """Whether a window that does not explain a change cannot be excluded either.

    A deletion has no time of its own, a stamp of whole seconds no order within the second.  What
    runs on in the background may have made any new file, after its turn no other change to a file
    that its command does not name.
    """
    if change.is_gone:
        return _overlaps(window, change)
    if window.writes is not None:  # a later author may have changed what it wrote
        begin = window.begin
        at = change.at
        return change.seen <= begin and at is not None and begin <= get_latest_time(at)
    if _is_after_call(window, change.at):
        is_possible = change.is_new or not window.is_late or _is_named(window, change.path)
        return is_possible and _touches(window, change.at)
    return window.kind in (credit.SHELL, credit.WAITING, credit.TURN) and _touches(
        window, change.at
    )


def _overlaps(window: Window, change: SeenChange) -> bool:
    """Whether a path can have been deleted in a window."""
    at = change.at
    end = window.end
    return (end is None or change.seen < end) and (at is None or window.begin <= at)


def can_put_away(window: Window) -> bool:
    """Whether a call may be a command of git that takes content out of the worktree."""
    return "git" in window.names and not _AWAY.isdisjoint(window.names)


def can_bring_in(window: Window) -> bool:
    """Whether a call may be a command that brings content from elsewhere."""
    return window.kind in (credit.SHELL, credit.CUT) and not _BRINGING.isdisjoint(window.names)


def _find_best(windows: Sequence[Window], path: str) -> Window | None:
    return max(windows, key=lambda w: (_rank_window(w, path), w.begin), default=None)


def _rank_window(window: Window, path: str) -> int:
    if _is_named(window, path):
        return 3 if window.kind == credit.TOOL else 2
    return int(window.kind != credit.TURN)


def _is_named(window: Window, path: str) -> bool:
    exact = window.kind in (credit.TOOL, credit.TRANSCRIPT)
    if exact:
        return path in window.names
    return is_path_named(window.names, path)


def _is_file_named(words: Collection[str], path: str) -> bool:
    """Whether a word of a command names exactly this path, seen from a directory above or below."""
    plain = (word.removeprefix("./") for word in words)
    return any(f"/{word}".endswith(f"/{path}") or path.endswith(f"/{word}") for word in plain)


def is_path_named(words: Collection[str], path: str) -> bool:
    """Whether a word of a command names the path, a directory above it, or a matching pattern."""
    base = posixpath.basename(path)
    return any(_fits_word(word, path, base) for word in words)


def _fits_word(word: str, path: str, base: str) -> bool:
    if "*" in word or "?" in word:
        return _fits(word, path) or _fits(word, base)
    plain = word.rstrip("/").removeprefix("./")
    return bool(plain) and (
        plain == path
        or plain.endswith("/" + path)
        or path.startswith(plain + "/")
        or plain.rpartition("/")[2] == base
    )


def _fits(pattern: str, name: str) -> bool:
    """Whether a glob of `*` and `?` matches; `*` also matches a slash."""
    parts = pattern.split("*")
    if len(parts) == 1:
        return len(pattern) == len(name) and _is_alike(pattern, name)
    first = parts[0]
    last = parts[-1]
    if len(name) < len(first) + len(last) or not _is_alike(first, name[: len(first)]):
        return False
    if last and not _is_alike(last, name[-len(last) :]):
        return False
    start = len(first)
    end = len(name) - len(last)
    for part in parts[1:-1]:
        while start < end and not _is_alike(part, name[start : start + len(part)]):
            start += 1
        start += len(part)
    return start <= end


def _is_alike(pattern: str, text: str) -> bool:
    return len(pattern) == len(text) and all(
        p in ("?", c) for p, c in zip(pattern, text, strict=True)
    )


def list_folders(command: str, folder: str) -> list[str]:
    """The directories in which a command that begins in folder may run, as far as `cd` tells."""
    folders = [folder]
    words = command[: 1 << 16].translate(_BREAKS).split()
    for number, word in enumerate(words[:-1]):
        if word in ("cd", "pushd"):
            path = posixpath.join(folders[-1], words[number + 1])
            folders.append(posixpath.normpath(path))
    return list(dict.fromkeys(folders))


def list_words(text: str) -> list[str]:
    """The words of a command or its output that could name a path, each once, without options."""
    candidates = dict.fromkeys(text[: 1 << 16].translate(_BREAKS).split())
    return [w for w in candidates if len(w) < 256 and not w.startswith("-") and w.strip("./*")][
        :_MOST
    ]
