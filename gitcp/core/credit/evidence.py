"""Which session, or the person, a change of a path belongs to: one decision for every look.

A window is the time in which a call of a session could write without naming what it writes: a
shell, a tool that is not known, or a whole turn of an agent that tells nothing of its tools.
A tool that names its path needs none of this, unless somebody looks before its end.
"""

from __future__ import annotations

import posixpath

from gitcp.core.credit.entries import PERSON, UNKNOWN, get_latest_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import NotRequired, TypedDict

    from gitcp.core.record_types import Writer

    class Window(TypedDict):
        """opened: when it was announced; begin, end: ns, when the call ran; end None while it
        is open.  names: words of its command and output.  late: the turn is over, something of
        the call goes on.  kind: shell; cut, of one that ended with its agent, nobody knows
        when; tool, where names are the paths it writes; transcript, where they are all that one
        says were written; turn.  closing: it has just ended, and nothing was looked at since.
        stashes: the entries of `git stash` at its beginning."""

        who: Writer
        opened: int
        begin: int
        end: int | None
        names: Collection[str]
        late: bool
        kind: str
        closing: NotRequired[bool]
        stashes: NotRequired[Sequence[str]]

    class Change(TypedDict):
        """A path that differs from what was last known of it.

        at: when it changed, ns; of one that is gone, when a directory above it last did.
        seen: the last look at it.  new: nothing stood there; gone: nothing stands there now.
        restored: the repository had this content for the path.
        """

        path: str
        at: int | None
        seen: int
        new: bool
        gone: bool
        restored: bool

    class Verdict(TypedDict):
        """who, how it is known; shared: others explain it as well; by: the window it went
        through, although it may be nobody's work."""

        who: Writer
        how: str
        shared: bool
        by: Window | None


TOOL, WINDOW, TRANSCRIPT, TURN = "tool", "window", "transcript", "turn"
SHELL, CUT = "shell", "cut"
BETWEEN, RESTORED, HOOK = "between", "restored", "hook"

# What takes content out of the worktree without undoing it.
_AWAY = frozenset(("stash", "checkout", "restore", "reset", "switch", "clean"))

# What takes content from elsewhere into the worktree: commands, and those of git.
_BRINGING = frozenset(
    """cp mv cat patch rsync install checkout restore show cat-file cherry-pick merge stash apply
    revert am diff read-tree checkout-index archive reset switch rebase pull""".split()
)

_BREAKS = str.maketrans(dict.fromkeys("\"'`;|&<>(){}=,:\n\t\r\0", " "))
_MOST = 400  # words of one call that are kept


def attribute_change(change: Change, windows: Sequence[Window]) -> Verdict:
    """Decide about one change: a file tool at work on the path comes before a call that names
    it, that before one that does not, and that before a whole turn; nobody's is a content that
    only came back, but for what a tool has written into its own path."""
    windows = [w for w in windows if w["kind"] != TOOL or _is_named(w, change["path"])]
    able = [w for w in windows if explains(w, change)]
    best = _find_best(able, change["path"])
    if change["restored"] and not (best and best["kind"] in (TOOL, TRANSCRIPT)):
        return {"who": UNKNOWN, "how": RESTORED, "shared": False, "by": best}
    if best is None:
        who = UNKNOWN if any(_may_explain(w, change) for w in windows) else PERSON
        return {"who": who, "how": BETWEEN, "shared": False, "by": None}
    rivals = {
        w["who"][0]
        for w in able
        if _rank_window(w, change["path"]) == _rank_window(best, change["path"])
    }
    how = WINDOW if best["kind"] in (SHELL, CUT) else best["kind"]
    return {"who": best["who"], "how": how, "shared": len(rivals) > 1, "by": best}


def explains(window: Window, change: Change) -> bool:
    """Whether a change can have been made in a window."""
    at, named = change["at"], _is_named(window, change["path"])
    if window["kind"] in (TRANSCRIPT, CUT):
        return named and (at is None or window["begin"] <= get_latest_time(at))
    if window["late"] and not (change["new"] or named):
        return False
    looked = window["opened"] <= change["seen"]  # it was as known when the call began
    if not change["gone"]:
        return _touches(window, at) and (named or _holds(window, at, looked))
    return _overlaps(window, change) and (named or (looked and not window["late"]))


def _touches(window: Window, at: int | None) -> bool:
    """Whether the time that a stamp stands for has a part in a window."""
    end = window["end"]
    return at is not None and window["begin"] <= get_latest_time(at) and (end is None or at <= end)


def _holds(window: Window, at: int | None, looked: bool) -> bool:
    """Whether all of that time, of a stamp that touches it, is in the window.  looked: what was
    there at its beginning is known, so that no change before it is taken for one in it."""
    if at is None or get_latest_time(at) == at:
        return at is not None
    begins, end = looked or get_latest_time(window["begin"]) <= at, window["end"]
    return begins and (end is None or window.get("closing", False) or get_latest_time(at) <= end)


def _may_explain(window: Window, change: Change) -> bool:
    """Whether nobody can tell that a call did not do it: a deletion leaves no time behind, a stamp
    of whole seconds tells no order within one, and what had gone on after the turn has ended."""
    if change["gone"]:
        return _overlaps(window, change)
    if window["kind"] in (SHELL, TURN) and not window["late"]:
        return _touches(window, change["at"])
    over = window["kind"] == CUT and window["late"] and change["new"]
    return over and change["at"] is not None and window["begin"] <= change["at"]


def _overlaps(window: Window, change: Change) -> bool:
    """Whether a path can have gone in a window, by the times that are known."""
    at, end = change["at"], window["end"]
    return (end is None or change["seen"] < end) and (at is None or window["begin"] <= at)


def can_put_away(window: Window) -> bool:
    """Whether a call is one of git's that take content away to keep it elsewhere."""
    return "git" in window["names"] and not _AWAY.isdisjoint(window["names"])


def can_bring_in(window: Window) -> bool:
    """Whether a call is one that may take content from elsewhere."""
    return window["kind"] in (SHELL, CUT) and not _BRINGING.isdisjoint(window["names"])


def _find_best(windows: Sequence[Window], path: str) -> Window | None:
    return max(windows, key=lambda w: (_rank_window(w, path), w["begin"]), default=None)


def _rank_window(window: Window, path: str) -> int:
    if _is_named(window, path):
        return 3 if window["kind"] == TOOL else 2
    return int(window["kind"] != TURN)


def _is_named(window: Window, path: str) -> bool:
    exact = window["kind"] in (TOOL, TRANSCRIPT)
    return path in window["names"] if exact else is_path_named(window["names"], path)


def is_path_named(words: Collection[str], path: str) -> bool:
    """Whether some word of a command names a path, a directory above it, or a pattern of it."""
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
    """A glob of `*` and `?`, without brackets: `*` also crosses a slash."""
    parts = pattern.split("*")
    if len(parts) == 1:
        return len(pattern) == len(name) and _is_alike(pattern, name)
    first, last = parts[0], parts[-1]
    if len(name) < len(first) + len(last) or not _is_alike(first, name[: len(first)]):
        return False
    if last and not _is_alike(last, name[-len(last) :]):
        return False
    at, end = len(first), len(name) - len(last)
    for part in parts[1:-1]:
        place = next((n for n in range(at, end) if _is_alike(part, name[n : n + len(part)])), -1)
        if place < 0:
            return False
        at = place + len(part)
    return at <= end


def _is_alike(pattern: str, text: str) -> bool:
    return len(pattern) == len(text) and all(
        p in ("?", c) for p, c in zip(pattern, text, strict=True)
    )


def list_words(text: str) -> list[str]:
    """The words of a command or its output that could name a path, each once; no options."""
    candidates = dict.fromkeys(text[: 1 << 16].translate(_BREAKS).split())
    return [w for w in candidates if len(w) < 256 and not w.startswith("-") and w.strip("./*")][
        :_MOST
    ]
