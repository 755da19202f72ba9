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
    from collections.abc import Collection, Sequence


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


def attribute_change(
    change: credit.Change, windows: Sequence[credit.Window], added: str = ""
) -> credit.Verdict:
    """Attribute a change to a window that explains it, else to the person.  A file tool at its path
    comes first, then a call that names the path, then other calls, then a turn.  A restored
    content has no author, unless a tool or a transcript names the path.

    added: the added lines; their words decide between sessions that explain the change alike."""
    windows = [w for w in windows if w["kind"] != credit.TOOL or _is_named(w, change["path"])]
    candidates = [w for w in windows if explains(w, change)]
    best = _find_best(candidates, change["path"])
    if change["restored"] and not (best and best["kind"] in (credit.TOOL, credit.TRANSCRIPT)):
        return {"who": ids.UNKNOWN, "how": credit.RESTORED, "shared": False, "by": best}
    if best is None:
        if any(_may_explain(w, change) for w in windows):
            who = ids.UNKNOWN
        else:
            who = ids.PERSON
        return {"who": who, "how": credit.BETWEEN, "shared": False, "by": None}
    rank = _rank_window(best, change["path"])
    rivals = [w for w in candidates if _rank_window(w, change["path"]) == rank]
    if len({w["who"][0] for w in rivals}) > 1:
        words = frozenset(list_words(added))
        counts = [len(words.intersection(w["names"])) for w in rivals]
        rivals = [w for w, count in zip(rivals, counts, strict=True) if count == max(counts)]
        best = max(rivals, key=lambda w: w["begin"])
    if best["kind"] in (credit.SHELL, credit.CUT):
        how = credit.WINDOW
    else:
        how = best["kind"]
    shared = len({w["who"][0] for w in rivals}) > 1
    return {"who": best["who"], "how": how, "shared": shared, "by": best}


def explains(window: credit.Window, change: credit.Change) -> bool:
    """Whether a change was made in a window, as far as its times tell.

    What runs on after its call is often a server, at which the person works: it explains only new
    files that the command names.  A file that was there before may be what it reads."""
    at = change["at"]
    named = _is_named(window, change["path"])
    if window["kind"] == credit.WAITING:
        return False
    if "writes" in window:
        has_its_content = window["writes"].get(change["path"]) == change.get("oid")
        return has_its_content and at is not None and window["begin"] <= get_latest_time(at)
    if _is_after_call(window, at):
        is_its_file = change["new"] and _is_file_named(window["names"], change["path"])
        return is_its_file and _touches(window, at)
    if window["kind"] in (credit.TRANSCRIPT, credit.CUT):
        return named and (at is None or window["begin"] <= get_latest_time(at))
    seen_before = window["opened"] <= change["seen"]
    if not change["gone"]:
        return _touches(window, at) and (named or _holds(window, at, seen_before))
    return _overlaps(window, change) and (named or seen_before)


def _is_after_call(window: credit.Window, at: int | None) -> bool:
    """Whether a change came, or may have come, when only background processes of the call ran."""
    in_background_since = window.get("left")
    if in_background_since is None or window.get("closing"):
        return False
    return at is None or get_latest_time(at) > in_background_since


def _touches(window: credit.Window, at: int | None) -> bool:
    """Whether the time that a stamp can mean overlaps a window."""
    end = window["end"]
    return at is not None and window["begin"] <= get_latest_time(at) and (end is None or at <= end)


def _holds(window: credit.Window, at: int | None, seen_before: bool) -> bool:
    """Whether all of the time that a stamp can mean is in a window that it touches.

    seen_before: a look at the path came after the opening, so the change did not precede it.
    """
    if at is None or get_latest_time(at) == at:
        return at is not None
    begins = seen_before or get_latest_time(window["begin"]) <= at
    end = window["end"]
    return begins and (end is None or window.get("closing", False) or get_latest_time(at) <= end)


def _may_explain(window: credit.Window, change: credit.Change) -> bool:
    """Whether a window that does not explain a change cannot be excluded either.

    A deletion has no time of its own, a stamp of whole seconds no order within the second.  What
    runs on in the background may have made any new file, after its turn no other change to a file
    that its command does not name.
    """
    if change["gone"]:
        return _overlaps(window, change)
    if "writes" in window:  # a later author may have changed what it wrote
        begin = window["begin"]
        at = change["at"]
        return change["seen"] <= begin and at is not None and begin <= get_latest_time(at)
    if _is_after_call(window, change["at"]):
        is_possible = change["new"] or not window["late"] or _is_named(window, change["path"])
        return is_possible and _touches(window, change["at"])
    return window["kind"] in (credit.SHELL, credit.WAITING, credit.TURN) and _touches(
        window, change["at"]
    )


def _overlaps(window: credit.Window, change: credit.Change) -> bool:
    """Whether a path can have been deleted in a window."""
    at = change["at"]
    end = window["end"]
    return (end is None or change["seen"] < end) and (at is None or window["begin"] <= at)


def can_put_away(window: credit.Window) -> bool:
    """Whether a call may be a command of git that takes content out of the worktree."""
    return "git" in window["names"] and not _AWAY.isdisjoint(window["names"])


def can_bring_in(window: credit.Window) -> bool:
    """Whether a call may be a command that brings content from elsewhere."""
    return window["kind"] in (credit.SHELL, credit.CUT) and not _BRINGING.isdisjoint(
        window["names"]
    )


def _find_best(windows: Sequence[credit.Window], path: str) -> credit.Window | None:
    return max(windows, key=lambda w: (_rank_window(w, path), w["begin"]), default=None)


def _rank_window(window: credit.Window, path: str) -> int:
    if _is_named(window, path):
        return 3 if window["kind"] == credit.TOOL else 2
    return int(window["kind"] != credit.TURN)


def _is_named(window: credit.Window, path: str) -> bool:
    exact = window["kind"] in (credit.TOOL, credit.TRANSCRIPT)
    if exact:
        return path in window["names"]
    return is_path_named(window["names"], path)


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
