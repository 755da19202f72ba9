"""Records the starts and ends of tool calls in the journal.

The caller holds the session's lock; the journal's is taken here.
"""

from __future__ import annotations

import os
import stat
import time

from gitcp import git
from gitcp.errors import Error
from gitcp.git import files, refs
from gitcp.record import get_call, session
from gitcp.record.journal import (
    Journal,
    credit,
    find_root_above,
    group_by_worktree,
    hold_edits,
    read_clock,
    read_journal,
)
from gitcp.record.journal.line_kinds import Closing, Opening, build_edit, build_opening
from gitcp.record.snapshot import Filters, Worktree
from gitcp.text.ids import EXECUTABLE, FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import Edit, JournalLine
    from gitcp.record.looks.call_places import CallPlaces
    from gitcp.record.looks.losses import Losses
    from gitcp.text.record_types import Event, State, Tool, Version, Writer


_SLACK = 200_000_000  # ns between a call's end and the start of this process on a busy machine
_WINDOWS = ("shell", "mcp", "other")
_LOSING = frozenset("rm mv cp tee truncate unlink shred sed".split())
_READING = frozenset("cat ls head tail grep rg wc stat file less diff".split())
_SIGNS = frozenset(";&|<>()`$\n")  # of several calls, and of files that are written
_NAMED = 40  # words of a command that are looked for in other repositories


def take_call(repo: Repo, state: State, event: Event, head: str | None = None) -> bool:
    """Record the start or end of a tool that can write; return whether the state changed.  head:
    HEAD, if it was read."""
    call = get_call(event)
    starts = event["event"] == "tool-start"
    act = begin_call if starts else _end_and_hold  # of a file tool
    paths = list(call.get("input_paths", ()))
    changed = False
    if call.get("kind") not in ("write", *_WINDOWS):
        return False
    if event.get("agent_id"):
        call = call.copy()
        call["agent"] = event["agent_id"]
        event["tool"] = call
    if call["kind"] == "write" and not all(_is_at_home(repo, path) for path in paths):
        visited = group_by_worktree(repo, paths)
        if visited:
            from gitcp.record.journal import worktrees

            changed = worktrees.take_call(repo, state, call, act, visited)
        paths = [path for path in paths if not any(path in group for group in visited.values())]
        # record.turn.visits goes on with those that are in another repository.
        event["elsewhere"] = [path for path in paths if find_root_above(path)]
    places: CallPlaces | None = None
    if call["kind"] == "shell":
        named = list_other_roots(repo.worktree, event)
        if named:
            event["elsewhere"] = named
        if os.path.isdir(os.path.join(repo.common, "worktrees")):
            places = _find_places(repo, state, event)
    is_here = places is None or places.is_here
    is_looked_at = places is None or repo.worktree in places.looked_at
    tool_paths = session.resolve_paths(repo, paths)
    with Journal(repo, head, telling=state["session_id"], naming=tool_paths) as journal:
        at = read_clock(repo)
        if call["kind"] == "write" and tool_paths:
            act(journal, state, call, tool_paths, at)
        elif call["kind"] != "write" and starts:
            kind = call["kind"] if is_here else credit.ELSEWHERE
            _open_call(journal, state, event, kind, tool_paths, at, is_looked_at)
        elif call["kind"] != "write":
            _reopen_call(journal, state, event, is_here)
            _close_call(journal, state, event, tool_paths, at, is_looked_at)
            _hold(journal, state)
    if places and places.others:
        changed = _take_call_in_others(repo, state, event, places) or changed
    if call["kind"] == "shell" or tool_paths:
        _keep_ignored(repo, state, event, at, places, journal.lines)
    return changed


def _keep_ignored(
    repo: Repo,
    state: State,
    event: Event,
    at: int,
    places: CallPlaces | None,
    lines: list[JournalLine],
) -> None:
    """_take_ignored() in each worktree of a call.  places: of a shell call, None for this worktree
    alone.  lines: of the journal."""
    call = event["tool"]
    if call["kind"] == "shell":
        if places is None or places.is_here:
            _take_ignored(repo, state, event, at, [], repo)
        if places:
            for worktree in places.others:
                _take_ignored(worktree, state, event, at, [], repo)
    elif call["kind"] == "write":
        opening = credit.find_opening(lines, state["session_id"], str(call.get("id", "")))
        if opening and opening.ignored:
            _take_ignored(repo, state, event, at, opening.ignored, repo)


def _take_ignored(
    repo: Repo, state: State, event: Event, at: int, paths: list[str], home: Repo
) -> None:
    """Keep what git ignores in a worktree and a call may take, before it; note what it took, after
    it.  What is not kept stops no call.  paths: the ignored ones that a file tool names.  home: the
    session's own worktree."""
    parts = state["session_id"], str(event["tool"].get("id", "")), repo.worktree_hash
    key = files.find_hasher("sha1")("\0".join(parts).encode("utf-8", "surrogateescape"))
    record = repo.join_shared("kept", f"{key.hexdigest()}.json")
    try:
        if event["event"] == "tool-start":
            if paths or _may_take(repo, event):
                from gitcp.record.looks import taken

                baseline = session.read_baseline(home, state["session_id"])
                began = int(baseline["time_ns"]) if baseline else 0
                taken.begin_call(repo, state, event, record, at, paths, began)
        elif os.path.exists(record):
            from gitcp.record.looks import taken

            taken.end_call(repo, event, record)
    except (Error, OSError) as e:
        git.append_trace("files", f"{record}: {e}")


def _reads_only(command: str) -> bool:
    """Whether a command is one call that reads."""
    name = command.split(maxsplit=1)[:1]
    return bool(name) and name[0] in _READING and _SIGNS.isdisjoint(command)


def _may_take(repo: Repo, event: Event) -> bool:
    """Whether the words of a command name a file that git may ignore, or that may be lost outside
    of the repository."""
    from gitcp.record.looks import credit_cases

    command = str(event["tool"].get("command") or "")
    if _reads_only(command):
        return False
    words = credit_cases.list_words(command)[:_NAMED]
    written = command.replace(">&", "").replace("> /dev/null", "").replace(">/dev/null", "")
    is_losing = ">" in written or not _LOSING.isdisjoint(words)
    if "clean" in words and "git" in words:
        return True
    folder = os.path.realpath(event.get("cwd") or repo.worktree)
    work = Worktree(repo)
    named = []
    for word in words:
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(word)))
        if not path.startswith(repo.worktree + os.sep):
            if is_losing and (os.path.isfile(path) or os.path.isdir(path)):
                return True
            continue
        inside = path[len(repo.worktree) + 1 :]
        st = work.look_at(inside)
        if is_losing and ("*" in word or (st and stat.S_ISDIR(st.st_mode))):
            return True
        if st and not stat.S_ISDIR(st.st_mode):
            named.append(inside)
    return bool(work.drop_tracked(named))


def _end_and_hold(journal: Journal, state: State, call: Tool, paths: list[str], at: int) -> None:
    end_call(journal, state, call, paths, at)
    _hold(journal, state)


def _hold(journal: Journal, state: State) -> None:
    """Let the session's ref hold the edits of a linked worktree, whose journal goes with it: a
    client may remove it before the turn ends."""
    if not journal.repo.worktree_id:
        return

    from gitcp.text import prompt_text

    prompt = state.get("turns", {}).get(state.get("turn_id", ""), {}).get("prompt", "")
    subject = prompt_text.make_subject(prompt, state.get("agent_type") or "")
    hold_edits(journal.repo, journal, state["session_id"], subject)


def _find_places(repo: Repo, state: State, event: Event) -> CallPlaces:
    """The worktrees of a shell call that begins, or has ended."""
    begun: int | None = None
    if event["event"] == "tool-end":
        call_id = str(event["tool"].get("id", ""))
        opening = credit.find_opening(read_journal(repo), state["session_id"], call_id)
        if opening:
            begun = opening.at

    from gitcp.record.looks import call_places

    return call_places.find_places(repo, event, begun)


def _take_call_in_others(repo: Repo, state: State, event: Event, places: CallPlaces) -> bool:
    """Record the start or end of a shell call in the journals of other worktrees; return whether
    the state's `visits` changed."""
    from gitcp.record.journal import worktrees

    session_id = state["session_id"]
    call_id = str(event["tool"].get("id", ""))
    opening = credit.find_opening(read_journal(repo), session_id, call_id)

    def act(journal: Journal, at: int) -> None:
        is_looked_at = journal.repo.worktree in places.looked_at
        if event["event"] == "tool-start":
            _open_call(journal, state, event, credit.SHELL, [], at, is_looked_at)
            return
        if opening and not credit.find_opening(journal.lines, session_id, call_id):
            # It was made during the call, or the output alone names it.
            journal.append([opening.having(kind=credit.SHELL)])
        _close_call(journal, state, event, [], at, is_looked_at)
        _hold(journal, state)

    return worktrees.take_shell_call(state, places.others, act)


def _is_at_home(repo: Repo, path: str) -> bool:
    """Whether a path is in this worktree, with no `.git` between its root and the path."""
    folder = os.path.dirname(path)
    while folder.startswith(repo.worktree + os.sep):
        if os.path.lexists(os.path.join(folder, ".git")):
            return False
        folder = os.path.dirname(folder)
    return folder == repo.worktree or not os.path.isabs(path)


def list_other_roots(worktree: str, event: Event) -> list[str]:
    """The `.git` of other registered repositories, in the worktree or beside it, in which a command
    runs or whose paths it names.  A linked worktree is where its main one is."""
    from gitcp.record.looks import credit_cases

    folder = os.path.realpath(event.get("cwd") or worktree)
    words = credit_cases.list_words(str(event["tool"].get("command") or ""))[:_NAMED]
    paths = dict.fromkeys(os.path.join(folder, word) for word in (".", *words))
    named = (os.path.join(path, ".git") if os.path.isdir(path) else path for path in paths)
    roots = dict.fromkeys(find_root_above(path) for path in named)
    others = [root for root in roots if root not in ("", worktree)]
    if others:
        from gitcp.record import registered

        home = _find_main(worktree)
        near = [root for root in others if _is_near(root, worktree) or _is_near(root, home)]
        others = [root for root in near if registered.is_registered(root)]
    return [os.path.join(root, ".git") for root in others]


def _is_near(root: str, worktree: str) -> bool:
    """Whether the main worktree of a root is inside another worktree or beside it, and is not that
    one."""
    main = _find_main(root)
    is_inside = main.startswith(worktree + os.sep)
    return main != worktree and (is_inside or os.path.dirname(main) == os.path.dirname(worktree))


def _find_main(root: str) -> str:
    """The main worktree of the repository that a worktree belongs to; the root itself if it is no
    linked worktree."""
    if not os.path.isfile(os.path.join(root, ".git")):
        return root

    from gitcp.record import registered

    git_dir = registered.find_git_dir(root)
    above, name = os.path.split(registered.find_common_dir(git_dir))
    return above if name == ".git" else root


def _open_call(
    journal: Journal,
    state: State,
    event: Event,
    kind: str,
    paths: list[str],
    at: int,
    is_looked_at: bool,
) -> None:
    """Open a call's window.  kind: that of its tool, or ELSEWHERE.  is_looked_at: whether the whole
    worktree is looked at."""
    call = event["tool"]
    losses = _look_for_changes(journal, state, event, at, is_looked_at)
    words = [*paths, *_list_words(journal.repo, event, call.get("command") or "")]
    opening = build_opening(state, call, kind, at).having(names=words)
    if losses and losses.seen:
        opening = opening.having(seen=losses.seen)
    if losses and losses.unseen:
        opening = opening.having(unseen=losses.unseen)
    opening = opening.having(stashes=refs.list_stashes(journal.repo))
    if state.get("transcript_path"):
        opening = opening.having(transcript=state["transcript_path"])
    journal.append([opening])


def _close_call(
    journal: Journal,
    state: State,
    event: Event,
    paths: list[str],
    at: int,
    is_looked_at: bool,
) -> None:
    """Close a call's window; arguments as for _open_call()."""
    call = event["tool"]
    if _note_stashes(journal, state, call):
        event["stashing"] = [*event.get("stashing", ()), str(call.get("id", ""))]
    closing: dict[str, Any] = {"close": call.get("id", "")}
    closing |= {"session": state["session_id"], "at": at}
    since = None
    if call.get("duration_ms") is not None:
        since = at - _measure_age(event) - int(call["duration_ms"]) * 1_000_000 - _SLACK
        closing["since"] = since
    words = _list_words(journal.repo, event, call.get("output") or "")
    names = [*paths, *(w for w in words if "/" in w or "." in w)]
    if names:
        closing["names"] = names
    if call.get("background") or _has_left_running(call, state, journal):
        closing["goes_on"] = "turn"
        closing["task"] = call.get("background_id", "")
    journal.append([Closing(closing)])
    if since is not None:
        _take_back(journal, state, event, since)
    journal.note_end(str(call.get("id", "")))
    _look_for_changes(journal, state, event, at, is_looked_at)


def _measure_age(event: Event) -> int:
    """The time in ns since the client began to report a call's end."""
    if "came" in event:
        return time.time_ns() - int(event["came"])
    from gitcp.record.session import process

    return process.measure_age()


def _take_back(journal: Journal, state: State, event: Event, since: int) -> None:
    """Take back what was given to a call before it really began, at since in ns."""
    before = journal.lines
    session_id = state["session_id"]
    journal.take_back_edits(session_id, str(event["tool"].get("id", "")), since)
    if journal.lines is before:
        return

    from gitcp.record.journal import settling

    partly = settling.unlink_unfounded(journal.repo, session_id, before, journal.lines)
    if partly:  # the caller takes the lines back
        unfounded = event.setdefault("unfounded", {})
        for oid, paths in partly.items():
            unfounded[oid] = sorted(paths)


def _note_stashes(journal: Journal, state: State, call: Tool) -> bool:
    """Note which entries of `git stash` a call has made, and which it has taken; return whether it
    did so without the word, by an alias or in a script."""
    who: Writer = (state["session_id"], state.get("turn_id", ""), str(call.get("id", "")))
    opening = credit.find_opening(journal.lines, who[0], who[2])
    if opening is None or opening.stashes is None:
        return False
    is_named = "stash" in str(call.get("command") or "")
    before = opening.stashes
    if not is_named and refs.list_stashes(journal.repo) == before:
        return False

    from gitcp.record.journal import stashes

    if not is_named:
        if stashes.may_be_anothers(journal.lines, who):
            return False
        journal.append([opening.having(names=[*opening.names, "stash"])])
    stashes.note_call(journal.repo, who, before, journal.lines)
    return not is_named


def _list_words(repo: Repo, event: Event, text: str) -> list[str]:
    """The words of a text that could name a path, and how the disk spells those that exist.

    The journal outlives the turn: what is secret by its place in the text is replaced while it has
    that place."""
    from gitcp.checkpoints import redactor
    from gitcp.record.looks import credit_cases

    words = credit_cases.list_words(redactor.redact_command(repo, text, event["session_id"]))
    if session.has_many_names(repo):
        folder = os.path.realpath(event.get("cwd") or repo.worktree)
        paths = (os.path.join(folder, word) for word in words)

        from gitcp.git.objects import reading

        spellings = [reading.find_on_disk(repo, p) for p in paths if os.path.lexists(p)]
        words += filter(None, spellings)
    return words


def _look_for_changes(
    journal: Journal, state: State, event: Event, at: int, is_looked_at: bool
) -> Losses | None:
    """Look at the whole worktree; if that costs too much, at what a command may discard, which is
    returned."""
    command = str(event["tool"].get("command") or "")

    from gitcp.record import looks

    is_elsewhere = not session.is_home(journal.repo, state)
    if is_looked_at and looks.scan_if_cheap(journal, at, first=is_elsewhere):
        return None
    if not command:
        return None

    from gitcp.record.looks import losses

    return losses.look_at_losses(journal, command, event.get("cwd") or "", at)


def _reopen_call(journal: Journal, state: State, event: Event, is_here: bool) -> None:
    """Open a call whose start was not reported: it began after its session's last event.  Open one
    here that began elsewhere, if its end shows that it worked here, too."""
    session_id = state["session_id"]
    tool = event["tool"]
    baseline = session.read_baseline(journal.repo, session_id)
    opening = credit.find_opening(journal.lines, session_id, tool.get("id", ""))
    if opening and opening.kind == credit.ELSEWHERE and is_here:
        journal.append([opening.having(kind=tool["kind"])])
    if baseline is None or opening:
        return
    last = int(baseline.get("at") or baseline["time_ns"])
    for line in journal.lines:
        if line.session == session_id:
            last = max(last, line.at)
    words = _list_words(journal.repo, event, tool.get("command") or "")
    kind = tool["kind"] if is_here else credit.ELSEWHERE
    journal.append([build_opening(state, tool, kind, last).having(names=words)])


def _has_left_running(call: Tool, state: State, journal: Journal) -> bool:
    """Whether a command left a process running, as `cmd &` does."""
    command = str(call.get("command") or "").replace("&&", "").replace(">&", "").replace("&>", "")
    if "&" not in command:
        return False
    session_id = state["session_id"]
    opening = credit.find_opening(journal.lines, session_id, call.get("id", ""))
    if opening:
        since = opening.at
    else:
        since = time.time_ns()
    agent = state.get("agent_process")

    from gitcp.record.session import process

    return process.has_working_process(journal.repo.worktree, session_id, agent, since)


# The calls of file tools: what stands at their paths when they begin and when they end.
#
# Nothing is scanned, and what is not needed is not imported: the agent waits for each call.
_PLAIN = 1 << 20  # bytes up to which a file is read here
_REFUSED = (0, 1, 128)  # a tool may name paths that git refuses


def begin_call(journal: Journal, state: State, call: Tool, paths: list[str], at: int) -> None:
    """Record the start of a call; a change at its paths until now is another's."""
    reader = PathReader(journal.repo)
    seen = journal.read_last_seen()
    unchanged: dict[str, Any] = {}
    for path in paths:
        st = reader.stat(path)
        if st and seen.is_unwritten(path, st.st_ctime_ns):
            entry = reader.read_entry(path, write=False)
            if seen.is_unmoved(path) or seen.get_entry(path) == entry:
                unchanged[path] = entry
    ignored = reader.list_ignored(paths)
    present = _read_entries(reader, [path for path in paths if path not in unchanged], ignored)
    if reader.omitted:
        from gitcp.record import looks

        present |= looks.look_at_omitted(journal, reader.omitted, at)
    if any(seen.get_entry(path) != entry for path, entry in present.items()):
        from gitcp.record import looks

        looks.record_entries(journal, seen, present, at, ignored)
    opening = build_opening(state, call, "write", at)
    looked = {**unchanged, **present}
    opening = opening.having(looked=looked, ignored=sorted(ignored))
    if len(paths) == 1:
        [path] = paths
        oid = _find_promised_blob(reader, journal.repo.objects, call, path, looked.get(path))
        if oid:
            opening = opening.having(writes={path: oid})
    journal.append([opening])


def _find_promised_blob(
    reader: PathReader, objects: Objects, call: Tool, path: str, entry: Version
) -> str:
    """The blob that a path will have if the call does what its input says; '' if it does not say
    enough, or git may store something else.  It tells of the call's work if no end of it is heard,
    or somebody else writes there before its end.

    entry: what the path has."""
    if not ("content" in call or call.get("edits")):
        return ""
    before = reader.contents.get(path, b"")
    if path not in reader.contents and entry:
        before = objects.read_blob(entry[1]) or b""
    ends = credit.derive_contents(call, before, before)
    if ends is None or not reader.keeps_bytes(path, ends[1]):
        return ""
    return objects.hash_object("blob", ends[1])


def _read_entries(reader: PathReader, paths: list[str], ignored: set[str]) -> dict[str, Any]:
    """The entries of the paths; blobs of ignored ones are not stored."""
    return {path: reader.read_entry(path, write=path not in ignored) for path in paths}


def end_call(journal: Journal, state: State, call: Tool, paths: list[str], at: int) -> None:
    """Record the end of a call; a change at its paths since its start is the session's."""
    reader = PathReader(journal.repo)
    seen = journal.read_last_seen()
    writer: Writer = (state["session_id"], state.get("turn_id", ""), str(call.get("id", "")))
    opening = _find_own_opening(journal.lines, writer)
    if opening and opening.ignored is not None:
        ignored = set(opening.ignored)
    else:
        ignored = reader.list_ignored(paths)
    edits: list[Edit] = []
    entries = _read_entries(reader, paths, ignored)
    if reader.omitted:
        found_by = writer, credit.TOOL

        from gitcp.record import looks

        entries |= looks.look_at_omitted(journal, reader.omitted, at, found_by)
    for path, after in entries.items():
        before = seen.get_entry(path)
        if before == after:
            continue
        if path in ignored:
            edit = build_edit(path, before, after, writer, credit.TOOL, at)
            edits.append(edit.having(kept=False))
        elif len(paths) == 1 and (
            _differs_from_promise(opening, path, after)
            or credit.is_contested(journal.lines, path, writer)
        ):
            from gitcp.record.looks import contested

            edits += contested.build_edits(journal, seen, call, writer, path, after, at)
        else:
            edits.append(build_edit(path, before, after, writer, credit.TOOL, at))
    if opening:
        closing = Closing({"close": writer[2], "session": writer[0], "at": at})
        journal.append([*edits, closing])
    else:
        journal.append(edits)


def _differs_from_promise(opening: Opening | None, path: str, after: Version) -> bool:
    """Whether a path has not the content that the input of a call said it would have: somebody else
    may have written it while the call was open."""
    if opening is None or after is None:
        return False
    promised = opening.writes.get(path)
    return bool(promised) and after[1] != promised


def _find_own_opening(lines: list[JournalLine], writer: Writer) -> Opening | None:
    """The newest opening of a file tool's call that says what git ignores."""
    for line in reversed(lines):
        if isinstance(line, Opening) and line.name == writer[::2] and line.ignored is not None:
            return line
    return None


class PathReader:
    """Reads single paths of a worktree as git would store them.  A plain file is hashed here
    without asking git; anything else is left to the snapshot.

    contents: path -> bytes of the plain files that were read.  omitted: what a snapshot leaves out,
    as in Scan.omitted."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.contents: dict[str, bytes] = {}
        self.omitted: list[dict[str, str]] = []
        self.work = Worktree(repo)
        self._filters = Filters(self.work, lambda path: None)
        self._sparse = repo.config.get_flag("core.sparsecheckout")

    def stat(self, path: str) -> os.stat_result | None:
        """lstat() of a path; None without a file, or behind a symbolic link."""
        try:
            return self.work.look_at(path)
        except OSError:
            return None

    def read_entry(self, path: str, write: bool) -> Version:
        """The entry of a path; None without one.  write: whether to store its blob."""
        st = self.stat(path)
        if st is None:
            return None
        mode = self.work.choose_mode(st, None)
        plain = stat.S_ISREG(st.st_mode) and mode in (FILE, EXECUTABLE) and st.st_size <= _PLAIN
        converted = self._sparse or self._filters.name_conversion(path)
        if not plain or converted or self.work.list_repositories(path):
            from gitcp.record.snapshot import scan

            read = scan.read_paths_and_omitted
            entries, omitted = read(self._repo, [path], write=write)
            self.omitted += omitted
            return entries.get(path)
        try:
            with open(self.work.join_full(path), "rb") as f:
                data = self.contents[path] = f.read()
        except OSError:
            return None
        if write:
            store = self._repo.objects.write
        else:
            store = self._repo.objects.hash_object
        return str(mode), store("blob", data)

    def keeps_bytes(self, path: str, data: bytes) -> bool:
        """Whether git certainly stores these bytes at a path as they are."""
        if not self._filters.name_conversion(path):
            return True
        return b"\r\n" not in data and self._filters.keeps_without_crlf(path)

    def list_ignored(self, paths: list[str]) -> set[str]:
        """The paths that git ignores; a tracked one is not ignored.

        git reads the index only for paths that a pattern matches: it can be long.
        """
        untracked = self.work.drop_tracked(paths)
        matched = self.work.list_ignored(untracked, "--no-index", ok=_REFUSED)
        return self.work.list_ignored(sorted(matched), ok=_REFUSED)
