"""What `gitcp ui` shows: sessions, commits and points, each read when it is looked at."""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterable, Iterator, Sequence

from gitcp.agents import find_client
from gitcp.agents.reading.turns import gather_turns
from gitcp.checkpoints import listing
from gitcp.checkpoints.format.schema import build_part
from gitcp.checkpoints.stored import list_sources, pick_session, read_checkpoint, read_session
from gitcp.errors import Error
from gitcp.extras.reports import activities
from gitcp.extras.ui.panes import PaneRow, cut_patch
from gitcp.extras.ui.rows import (
    build_commit,
    build_commit_parts,
    build_plan,
    build_point,
    build_session,
    build_talk,
    build_turns,
    describe_session,
)
from gitcp.git import decode_name, refs
from gitcp.git.files import read_stamp
from gitcp.git.objects import edit_tree
from gitcp.git.records import load_entry
from gitcp.lines import tallies
from gitcp.link import commits
from gitcp.record import journal, session
from gitcp.record.journal import credit
from gitcp.record.session import client_transcript, others
from gitcp.record.turn import sessions
from gitcp.steps.back import conversation, points, present
from gitcp.steps.back.point import shorten_names
from gitcp.steps.back.preparing import Preview
from gitcp.steps.whose import open_work
from gitcp.text import spans, term
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.agents.reading.turns import GatheredTurn, Part
    from gitcp.extras.ui.panes import Block
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import Edit
    from gitcp.text.record_types import Record

_WINDOW = 50  # states that are read at once
_PATCH = "--no-color --no-ext-diff --no-textconv -M -p".split()
_LONGEST = 4_000_000  # bytes of a patch that are shown


def split_time(seconds: float) -> tuple[str, str]:
    """A local time as its day and its minute; '' for 0."""
    local = time.localtime(seconds)
    if seconds:
        return (time.strftime("%A %Y-%m-%d", local), time.strftime("%H:%M", local))
    return ("", "")


class Sessions:
    """The sessions with a state, and those behind the commits of all branches."""

    name = "sessions"
    nothing = "no session was recorded here yet: 'gitcp status' says why"

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._lines = Lines(repo)
        self._edits: dict[str, list[Edit]] | None = None  # of a turn or a tool use
        self._talk: tuple[str, list[GatheredTurn]] = ("", [])
        self.transcript = ""  # of the session that was read last, if it is the client's own

    def list_rows(self) -> Iterator[PaneRow]:
        """The sessions, the one that did something last first."""
        seen = set[str]()
        self._edits = None
        streams = (self._list_open(), self._list_stored())
        for record in heapq.merge(*streams, key=lambda record: -record["last"]):
            if record["session_id"] not in seen:
                seen.add(record["session_id"])
                yield build_session(record, split_time)

    def _list_open(self) -> Iterator[Record]:
        """The sessions with a state, those whose state changed last first."""
        folder = session.get_folder(self._repo)
        names = others.list_state_ids(self._repo)
        stamps = {name: read_stamp(os.path.join(folder, f"{name}.json")) for name in names}
        names.sort(key=lambda name: stamps[name][2:], reverse=True)
        for start in range(0, len(names), _WINDOW):
            window = (sessions.read_state(self._repo, n) for n in names[start : start + _WINDOW])
            own = [state for state in window if state.get("unreadable") != sessions.ANOTHERS]
            open_work.set_files(self._repo, own)
            records = []
            for state in own:
                checkpoint_id = state.get("last_checkpoint_id") or ""
                part = self._read_part(checkpoint_id, state["session_id"])
                record = activities.build_activity(self._repo, state)
                record |= {"part": part, "checkpoint": checkpoint_id if part else ""}
                turns = state.get("turns", {})
                record["asked"] = [str(turn.get("prompt")) for turn in turns.values()]
                record["turns"] = {turn.get("number"): name for name, turn in turns.items()}
                records.append({**record, "token_usage": state.get("token_usage")})
            yield from sorted(records, key=lambda record: -record["last"])

    def _read_part(self, checkpoint_id: str, session_id: str) -> Record:
        """What a checkpoint stored of a session; {} if it is not here."""
        try:
            stored = read_checkpoint(self._repo, checkpoint_id)
            return {**build_part(pick_session(stored, session_id)["metadata"])}
        except Error:
            return {}

    def _list_stored(self) -> Iterator[Record]:
        """The sessions behind commits, by their newest commit."""
        if not list_sources(self._repo):
            return
        seen = set[str]()
        for commit in commits.list_commits(self._repo, (), listing.CARRYING):
            for checkpoint in commit["checkpoints"]:
                for part in checkpoint.get("contents", ()):
                    if part["session_id"] in seen:
                        continue
                    seen.add(part["session_id"])
                    yield {
                        "session_id": part["session_id"],
                        "agent": part["agent"],
                        "state": "ended",
                        "last": float(commit["time"]),
                        "prompt": next(reversed(part["asked"]), ""),
                        "asked": part["asked"],
                        "turns": {},
                        "files_touched": [],
                        "part": part,
                        "commit": commit["oid"],
                        "checkpoint": checkpoint["checkpoint_id"],
                    }

    def complete_row(self, row: PaneRow) -> PaneRow | None:
        """The row with the lines of its newest commit that are the session's."""
        oid = row.item.get("commit")
        if not oid:
            return None
        record = {**row.item, "lines": self._lines.count(oid)}
        return build_session(record, split_time)

    def list_parts(self, row: PaneRow) -> list[PaneRow]:
        """The session as a whole, its prompts, answers and calls."""
        transcript, agent = self._read_transcript(row.item)
        turns = gather_turns(transcript, find_client(agent), load=load_entry)
        _shorten_paths((part for turn in turns for part in turn["parts"]), self._repo)
        self._talk = (row.id, turns)
        self._edits = None
        count = spans.count_noun(len(turns), "prompt")
        head = [("session ", "bold"), (shorten_id(row.id), "yellow"), (f"  {count}", "dim")]
        blocks = describe_session(row.item, turns, term.format_since)
        whole = PaneRow("all", "", [head], row.id, row.command, blocks)
        return [whole, *build_turns(turns, row.command, split_time)]

    def _read_transcript(self, record: Record) -> tuple[bytes, str]:
        """The transcript of a session, the client's own if there is one, and its agent."""
        session_id = record["session_id"]
        self.transcript = ""
        if session_id in others.list_state_ids(self._repo):
            state = sessions.read_state(self._repo, session_id)
            self.transcript = str(state.get("transcript_path") or "")
            data = client_transcript.read_live(state)
            if data:
                return data, str(state.get("agent_type") or "")
        if record["checkpoint"]:
            stored = read_checkpoint(self._repo, record["checkpoint"])
            content = read_session(self._repo.objects, stored, session_id)
            return content.transcript, str(content.metadata.get("agent") or "")
        try:
            kept = conversation.read_session(self._repo, session_id)
        except Error:
            return b"", record["agent"]
        return kept.transcript, kept.agent

    def read_content(self, row: PaneRow, part: PaneRow) -> list[Block]:
        """What a part says, and the patch of what it changed as far as the journal has it."""
        if part.id == "all":
            patch = self._draw_edits(self._list_uncommitted(row))
            blocks: list[Block] = [*part.item]
            if patch:
                blocks.append(("diff", patch))
            elif self._talk[1]:
                turn = self._talk[1][-1]
                blocks += [block for block in self._read_turn(row, turn) if block[0] == "diff"]
            return blocks
        return self._read_turn(row, part.item)

    def _read_turn(self, row: PaneRow, item: Any) -> list[Block]:
        """What a turn, or a part of one, says, and the patch of what it changed."""
        turn_id = row.item["turns"].get(item.get("number"), "")
        names = [turn_id] if turn_id else []
        if not turn_id:
            for part in item.get("parts", [item]):
                names += part.get("ids", ())
        edits = []
        for name in names:
            edits += self._find(name)
        return build_talk(item, self._draw_edits(edits))

    def _find(self, name: str) -> list[Edit]:
        """The edits that the journal has of a turn or a tool use."""
        if self._edits is None:
            self._edits = {}
            for line in present.read_kept_edits(self._repo).list_all():
                for cause in filter(None, line.cause[1:]):
                    self._edits.setdefault(cause, []).append(line)
        return self._edits.get(name, [])

    def _list_uncommitted(self, row: PaneRow) -> list[Edit]:
        """The edits of a session that no commit has."""
        if not row.item["files_touched"]:
            return []
        open_edits = credit.list_open_edits(journal.read_journal(self._repo))
        return [line for line in open_edits if line.cause[0] == row.id]

    def _draw_edits(self, edits: Sequence[Edit]) -> list[str]:
        """The patch from before the first edit of each path to after the last one; [] if a content
        is not kept any more."""
        before: dict[str, Edit] = {}
        for line in edits:
            before.setdefault(line.path, line)
        if not before:
            return []
        sides = [
            {path: line.before for path, line in before.items()},
            {line.path: line.after for line in edits},
        ]
        try:
            trees = [edit_tree(self._repo.objects, None, side) for side in sides]
            self._repo.objects.flush()
            out = self._repo.git.run("diff", *_PATCH, *trees)[1]
        except Error:
            return []
        return decode_name(out[:_LONGEST]).splitlines()


def _shorten_paths(parts: Iterable[Part], repo: Repo) -> None:
    """Make the paths of calls relative to the worktree."""
    root = (repo.top or repo.common) + "/"
    for part in parts:
        if "path" in part:
            part["path"] = part["path"].removeprefix(root)
        _shorten_paths(part.get("task", ()), repo)


class Commits:
    """The commits of HEAD with the sessions behind them."""

    name = "commits"
    nothing = "there is no commit yet"

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._lines = Lines(repo)

    def list_rows(self) -> Iterator[PaneRow]:
        """The commits in the order of git log."""
        if refs.read_head(self._repo):
            for commit in commits.list_commits(self._repo, ("HEAD",)):
                yield build_commit(commit, split_time)

    def complete_row(self, row: PaneRow) -> PaneRow | None:
        """The row with the lines of the commit."""
        if not row.item["checkpoints"]:
            return None
        return build_commit({**row.item, "lines": self._lines.count(row.id)}, split_time)

    def list_parts(self, row: PaneRow) -> list[PaneRow]:
        """All of a commit, the prompts behind it, its files."""
        args = ("--format=", "--diff-merges=first-parent", "--no-show-signature", row.id)
        out = self._repo.git.run("show", *_PATCH, *args)[1]
        files = cut_patch(decode_name(out[:_LONGEST]).splitlines())
        message = listing.read_texts(self._repo.objects, row.id).message
        return list(build_commit_parts(row, decode_name(message), files, split_time))

    def read_content(self, row: PaneRow, part: PaneRow) -> list[Block]:
        """The message and the patch, a prompt, or the patch of a file."""
        return list(part.item)


class Points:
    """The points to go back to, each with the plan of going there."""

    name = "points"
    nothing = "no point to go back to"

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._preview: Preview | None = None

    def list_rows(self) -> Iterator[PaneRow]:
        """The points of this worktree, newest first."""
        self._preview = None
        if not self._repo.top:
            return
        listed = [one for one in points.list_points(self._repo) if one.can_be_gone_to]
        names = shorten_names(listed)
        for point in listed:
            yield build_point(point, names[point.id], split_time)

    def complete_row(self, row: PaneRow) -> PaneRow | None:
        """A point lacks nothing."""
        return None

    def list_parts(self, row: PaneRow) -> list[PaneRow]:
        """The plan of going to a point, and each path in it."""
        self._preview = self._preview or Preview(self._repo)
        plan = self._preview.get_plan(row.item)
        patch = self._preview.draw_diff(row.item)
        session_id = shorten_id(row.item.session_id)
        heading = f"session {session_id}" if session_id else ""
        return list(build_plan(row, plan, cut_patch(patch), heading))

    def read_content(self, row: PaneRow, part: PaneRow) -> list[Block]:
        """The plan with its patch, or a path's part of it."""
        return list(part.item)


class Lines:
    """Counts the lines of commits, one when it is seen."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._counter: tallies.Counter | None = None

    def count(self, oid: str) -> Any:
        """The lines of a commit by author, as in its record; None if they are not known."""
        if self._counter is None:
            self._counter = tallies.Counter(self._repo)
        return commits.count_lines(self._counter, [oid]).get(oid)


def watch(repo: Repo, shown: Sessions) -> Watch:
    """A Watch that compares with how the repository is now."""
    worktree_files = (
        repo.join_own(journal.NAME),
        f"{repo.git_dir}/HEAD",
        f"{repo.git_dir}/logs/HEAD",
    )
    branch_files = (f"{repo.common}/refs/heads", f"{repo.common}/packed-refs")
    watching = Watch((session.get_folder(repo), *worktree_files, *branch_files), shown)
    watching.has_changed()
    return watching


class Watch:
    """Looks whether sessions, commits or points have changed, by the stamps of files alone."""

    def __init__(self, paths: Sequence[str], shown: Sessions) -> None:
        """paths: those that change with them.  shown: its transcript is one of them, too."""
        self._paths = paths
        self._shown = shown
        self._seen: list[list[int]] = []

    def has_changed(self) -> bool:
        """Whether something has changed since the last call."""
        before = self._seen
        self._seen = [read_stamp(path) for path in (*self._paths, self._shown.transcript) if path]
        return before != self._seen
