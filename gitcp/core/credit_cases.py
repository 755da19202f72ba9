"""Which tool, call or turn made a change; and what is cut from a journal.

At a commit open edits stay, and the edits of the last commits, which may be amended or undone; at
the end of a turn all lines that no other repeats.
"""

from __future__ import annotations

import posixpath

from gitcp.core import credit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Sequence

    from gitcp.core.record_types import JournalLine

COMMITS = 3  # the last commits whose edits stay
CONTENTS = 300  # remembered contents of removed edits
_STAYING = credit.list_keys("staying")


def cut_back(
    lines: list[JournalLine], expanded: list[JournalLine], active: Container[str] = ()
) -> list[JournalLine]:
    """Return the lines that stay, in their order: those since the last commits, and older ones that
    are needed, after a line with the contents of the removed ones.

    expanded: the lines with a line for each edit of a `trees` line.  active: the sessions in
    mid-turn.
    """
    commits = [n for n, line in enumerate(lines) if "commit" in line]
    start = commits[-COMMITS - 1] + 1 if len(commits) > COMMITS else 0
    old, recent = lines[:start], lines[start:]
    needed = _find_needed(lines, expanded, active)
    removed = [line for n, line in enumerate(old) if n not in needed]
    left = [line for n, line in enumerate(old) if n in needed]
    return [*_build_had_line(removed), *left, *_build_cut_line(old, recent), *recent]


def drop_repeated(lines: list[JournalLine]) -> list[JournalLine]:
    """Return the lines without those that others repeat, at any age.

    Of the looks at one base, with only edits on that base between them, the first and the last
    stay; of the `held` lines the newest; of the checkpoints on a stream those that have a file
    which no later one has, that take files from streams, or that no ref holds yet.
    """
    repeated = _find_repeated_looks(lines)
    held = max((n for n, line in enumerate(lines) if "held" in line), default=-1)
    later: set[tuple[str, str, str]] = set()
    for n in range(len(lines) - 1, -1, -1):
        line = lines[n]
        if "held" in line and n < held:
            repeated.add(n)
        elif "stream" in line:
            files = {(line["session"], line["stream"], path) for path in line["files"]}
            if files and files <= later and n < held and "out" not in line:
                repeated.add(n)
            later |= files
    return [line for n, line in enumerate(lines) if n not in repeated]


def _find_repeated_looks(lines: list[JournalLine]) -> set[int]:
    """The indexes of the looks between the first and the last of each run at one base."""
    repeated: set[int] = set()
    base, ends = None, list[int]()
    for n, line in enumerate(lines):
        if "look" not in line and "path" not in line and "trees" not in line:
            continue
        if base is None or line.get("base") != base:
            base, ends = line.get("base"), []
        if "look" in line:
            if len(ends) > 1:
                repeated.add(ends.pop())
            ends.append(n)
    return repeated


def _find_needed(
    lines: list[JournalLine], expanded: list[JournalLine], active: Container[str]
) -> set[int]:
    """The indexes of the lines that stay at any age.

    An edit stays while it is open, a `trees` line while one of its edits is, a checkpoint while its
    session has an open edit, a large file while no commit has it; all stay until a ref holds them.
    The calls that run stay, and the newest look.  Of an active session the last call of a file tool
    at each path stays: its transcript tells of that write, too.
    """
    newest = {
        key: max((n for n, line in enumerate(lines) if key in line), default=-1)
        for key in ("look", "held")
    }
    open_edits = credit.list_open_edits(expanded)
    edits = {_get_key(edit) for edit in open_edits}
    times = {edit["at"] for edit in open_edits}
    sessions = {credit.get_author(edit)[0] for edit in open_edits}
    large, calls = credit.map_large(expanded), credit.list_calls(lines)
    running = {(call["session"], call["open"]) for call in calls if call["end"] is None}
    own = [call for call in calls if call["session"] in active]
    heard = {(c["session"], path): c["open"] for c in own for path in c.get("looked", ())}
    running |= {(session_id, call_id) for (session_id, _), call_id in heard.items()}

    def is_needed(line: JournalLine) -> bool:
        return (
            ("path" in line and _get_key(line) in edits)
            or ("trees" in line and line["at"] in times)
            or ("stream" in line and line["session"] in sessions)
            or line.get("large") in large
            or (line.get("session"), line.get("open", line.get("close"))) in running
        )

    return {
        n
        for n, line in enumerate(lines)
        if n in newest.values()
        or is_needed(line)
        or (n > newest["held"] and not _STAYING.isdisjoint(line))
    }


def find_since_cut(lines: list[JournalLine]) -> tuple[list[JournalLine], set[str]]:
    """(the lines after the last cut, which are complete; the ids of turns and tool uses that have
    edits both before and after it)."""
    number = max((n for n, line in enumerate(lines) if "cut" in line), default=-1)
    if number < 0 and any("had" in line for line in lines):
        return [], set()  # cut by a version that wrote no `cut` line
    return lines[number + 1 :], set(lines[number]["cut"] if number >= 0 else ())


def _build_cut_line(old: list[JournalLine], recent: list[JournalLine]) -> list[JournalLine]:
    """The line that marks a cut between old and recent lines; [] if no edit is before it."""
    if not any("who" in line or "cut" in line for line in old):
        return []
    before = {i for line in old for i in [*_list_ids(line), *line.get("cut", ())]}
    after = {i for line in recent for i in _list_ids(line)}
    return [{"cut": sorted(before & after)}]


def _list_ids(line: JournalLine) -> set[str]:
    """The ids of the turn and the tool use of an edit."""
    session, *ids = credit.get_cause(line)
    return set(ids if session else ()) - {""}


def _build_had_line(removed: list[JournalLine]) -> list[JournalLine]:
    """The line that remembers the newest contents of the paths in removed lines."""
    contents: dict[tuple[str, str], None] = {}
    for line in removed:
        pairs = [(path, oid) for path, oids in line.get("had", {}).items() for oid in oids]
        if "path" in line:
            versions = (credit.parse_entry(line["before"]), credit.parse_entry(line["after"]))
            pairs = [(line["path"], version[1]) for version in versions if version]
        for pair in pairs:
            contents.pop(pair, None)
            contents[pair] = None
    by_path: dict[str, list[str]] = {}
    for path, oid in list(contents)[-CONTENTS:]:
        by_path.setdefault(path, []).append(oid)
    return [{"had": by_path}] if by_path else []


def _get_key(line: JournalLine) -> tuple[str, int, str]:
    return line["path"], int(line["at"]), str(line.get("after"))


def list_unfounded(
    lines: list[JournalLine], corrected: list[JournalLine], session_id: str
) -> dict[str, set[str]]:
    """commit -> its paths with edits of a session: the commits that settled edits of it by lines,
    and by the same lines corrected none."""
    had, has = (_list_settled(each, session_id) for each in (lines, corrected))
    return {commit: paths for commit, paths in had.items() if paths and not has.get(commit)}


def _list_settled(lines: list[JournalLine], session_id: str) -> dict[str, set[str]]:
    """commit -> the paths of edits of a session that it settled."""
    settled: dict[str, set[str]] = {}
    for n, line in enumerate(lines):
        if "commit" in line:
            before, after = (credit.list_open_edits(lines[:end]) for end in (n, n + 1))
            left = [(edit["path"], credit.get_edit_name(edit)) for edit in after]
            paths = settled.setdefault(line["commit"], set())
            for edit in before:
                name = edit["path"], credit.get_edit_name(edit)
                if credit.get_author(edit)[0] == session_id and name not in left:
                    paths.add(edit["path"])
    return settled


# Which tool, call or turn, or the person, made a change that a look found.
#
# A window is the time in which a call could write without naming its paths: a shell, an unknown
# tool, or a whole turn of an agent that does not report its tools.  A file tool has a window, too,
# for a look that comes before its end.


def get_latest_time(stamp: int) -> int:
    """The latest time, in ns, that a file's time stamp can mean on a file system that stores whole
    seconds."""
    return stamp if stamp % 1_000_000_000 else stamp + 999_999_999


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
    able = [w for w in windows if explains(w, change)]
    best = _find_best(able, change["path"])
    if change["restored"] and not (best and best["kind"] in (credit.TOOL, credit.TRANSCRIPT)):
        return {"who": credit.UNKNOWN, "how": credit.RESTORED, "shared": False, "by": best}
    if best is None:
        who = credit.UNKNOWN if any(_may_explain(w, change) for w in windows) else credit.PERSON
        return {"who": who, "how": credit.BETWEEN, "shared": False, "by": None}
    rank = _rank_window(best, change["path"])
    rivals = [w for w in able if _rank_window(w, change["path"]) == rank]
    if len({w["who"][0] for w in rivals}) > 1:
        words = frozenset(list_words(added))
        counts = [len(words.intersection(w["names"])) for w in rivals]
        rivals = [w for w, count in zip(rivals, counts, strict=True) if count == max(counts)]
        best = max(rivals, key=lambda w: w["begin"])
    how = credit.WINDOW if best["kind"] in (credit.SHELL, credit.CUT) else best["kind"]
    shared = len({w["who"][0] for w in rivals}) > 1
    return {"who": best["who"], "how": how, "shared": shared, "by": best}


def explains(window: credit.Window, change: credit.Change) -> bool:
    """Whether a change was made in a window, as far as its times tell.

    What runs on after its call is often a server, at which the person works: it explains only new
    files that the command names.  A file that was there before may be what it reads."""
    at, named = change["at"], _is_named(window, change["path"])
    if window["kind"] == credit.WAITING:
        return False
    if "writes" in window:
        has_its_content = window["writes"].get(change["path"]) == change.get("oid")
        return has_its_content and at is not None and window["begin"] <= get_latest_time(at)
    if _is_after_call(window, at):
        is_own = change["new"] and _is_file_named(window["names"], change["path"])
        return is_own and _touches(window, at)
    if window["kind"] in (credit.TRANSCRIPT, credit.CUT):
        return named and (at is None or window["begin"] <= get_latest_time(at))
    seen_before = window["opened"] <= change["seen"]
    if not change["gone"]:
        return _touches(window, at) and (named or _holds(window, at, seen_before))
    return _overlaps(window, change) and (named or seen_before)


def _is_after_call(window: credit.Window, at: int | None) -> bool:
    """Whether a change came, or may have come, when of the call only the background was left."""
    left = window.get("left")
    if left is None or window.get("closing"):
        return False
    return at is None or get_latest_time(at) > left


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
    begins, end = seen_before or get_latest_time(window["begin"]) <= at, window["end"]
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
        begun, at = window["begin"], change["at"]
        return change["seen"] <= begun and at is not None and begun <= get_latest_time(at)
    if _is_after_call(window, change["at"]):
        able = change["new"] or not window["late"] or _is_named(window, change["path"])
        return able and _touches(window, change["at"])
    return window["kind"] in (credit.SHELL, credit.WAITING, credit.TURN) and _touches(
        window, change["at"]
    )


def _overlaps(window: credit.Window, change: credit.Change) -> bool:
    """Whether a path can have been deleted in a window."""
    at, end = change["at"], window["end"]
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
    return path in window["names"] if exact else is_path_named(window["names"], path)


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
    first, last = parts[0], parts[-1]
    if len(name) < len(first) + len(last) or not _is_alike(first, name[: len(first)]):
        return False
    if last and not _is_alike(last, name[-len(last) :]):
        return False
    start, end = len(first), len(name) - len(last)
    for part in parts[1:-1]:
        while start < end and not _is_alike(part, name[start : start + len(part)]):
            start += 1
        start += len(part)
    return start <= end


def _is_alike(pattern: str, text: str) -> bool:
    return len(pattern) == len(text) and all(
        p in ("?", c) for p, c in zip(pattern, text, strict=True)
    )


def list_words(text: str) -> list[str]:
    """The words of a command or its output that could name a path, each once, without options."""
    candidates = dict.fromkeys(text[: 1 << 16].translate(_BREAKS).split())
    return [w for w in candidates if len(w) < 256 and not w.startswith("-") and w.strip("./*")][
        :_MOST
    ]
