"""What was done in a repository in a period, by day, session and branch."""

from __future__ import annotations

import os

from gitcp.core.stats.sums import Sums
from gitcp.errors import Error
from gitcp.git import Git
from gitcp.repo import Config, Repo
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.lines import ranges
from gitcp.store.session import process
from gitcp.store.show import commit_list
from gitcp.store.turn import session_read
from gitcp.store.v1 import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from gitcp.core.record_types import Record


def build_recap(repo: Repo, since: str, until: str = "", author: str = "") -> Record:
    """A record `recap` (gitcp-record(5)) of the commits of all branches and tags since a date in
    git's syntax, and of the sessions with open work.

    author: only commits of matching authors, as in git-log(1); open sessions, which have no
    author, are then left out.
    """
    chosen = [f"--since={since}", *([f"--until={until}"] if until else [])]
    chosen += [f"--author={author}"] if author else []
    days: dict[str, dict[str, Any]] = {}
    for commit in commit_list.list_commits(repo, (), [*chosen, *find_commits.ALL]):
        day = days.setdefault(commit["day"], {"sessions": {}, "commits": []})
        parts = [part for link in commit["checkpoints"] for part in link.get("contents", ())]
        brief = {"oid": commit["oid"], "author": commit["author"], "message": commit["message"]}
        for part in parts:
            _add_session(day["sessions"], part, brief)
        if not parts:
            day["commits"].append(brief)
    sums = _sum_lines(repo, [*chosen, *find_commits.ALL])
    counts = {row.pop("day"): row for row in sums["days"]}
    return {
        "type": "recap",
        "repository": repo.top or repo.common,
        **{key: sums[key] for key in ("commits", "turns", "added", "removed", "tokens")},
        "days": [
            {
                "day": day,
                "lines": counts.get(day, {}),
                "sessions": [_finish_row(row) for row in days[day]["sessions"].values()],
                "commits": days[day]["commits"],
            }
            for day in sorted(days, reverse=True)
        ],
        "open": [] if author else _list_open(repo, since),
    }


def _add_session(
    sessions: dict[tuple[str, str], dict[str, Any]], part: Record, commit: Record
) -> None:
    """Add a session's part in a commit to its row of that day and branch."""
    key = part["session_id"], str(part.get("branch") or "")
    names = {"session_id": key[0], "agent": part["agent"], "branch": key[1]}
    row = sessions.setdefault(key, {**names, "prompts": {}, "commits": {}, "files": {}})
    row["prompts"].update(dict.fromkeys(reversed(part["asked"])))
    row["commits"].setdefault(commit["oid"], commit)
    row["files"].update(dict.fromkeys(part["files"]))


def _finish_row(row: dict[str, Any]) -> Record:
    """A row as a record, with prompts oldest first."""
    return {
        **row,
        "prompts": list(reversed(row["prompts"])),
        "commits": list(row["commits"].values()),
        "files": sorted(row["files"]),
    }


def _sum_lines(repo: Repo, options: list[str]) -> Record:
    sums = Sums()
    with Prefetched(repo) as objects:
        for commit in ranges.list_commits(repo, objects, (), (), options):
            sums.take(commit)
    return sums.build_record()


def _list_open(repo: Repo, since: str) -> list[Record]:
    """The sessions with open work that had an event since a date."""
    least = float(repo.git.read_line("rev-parse", f"--since={since}").rpartition(b"=")[2])
    return [row for row in list_sessions(repo) if row["last"] >= least and row["files_touched"]]


def list_sessions(repo: Repo) -> list[Record]:
    """A record `activity` (gitcp-record(5)) of each session with a state, the latest first."""
    records = []
    for state in session_read.list_states(repo):
        agent, phase = state.get("agent_process"), state.get("phase")
        lives = not process.is_gone(agent)
        words = {"active": "open", "idle": "waiting"}
        moment = state.get("last_interaction_time") or state.get("started_at")
        records.append(
            {
                "type": "activity",
                "repository": repo.top or repo.common,
                "session_id": state["session_id"],
                "agent": str(state.get("agent_type") or ""),
                "state": words.get(str(phase), "ended") if lives else "ended",
                "worktree": os.path.basename(state.get("worktree_path") or ""),
                "last": session_read.parse_time(moment),
                "prompt": session_read.get_last_prompt(state),
                "files_touched": list(state.get("files_touched") or ()),
            }
        )
    return sorted(records, key=lambda record: -record["last"])


_DEEP = 6  # levels of directories that are searched
_PASSED = frozenset(("node_modules", "__pycache__", "venv", "target", "vendor"))


def list_repositories(directories: Sequence[str]) -> list[Repo]:
    """The enabled repositories in and below directories, each once, sorted by path.

    A repository with several worktrees is given by its main one, if that is found.  Without
    directories those of `gitcp.workspace`, else the current repository.  Raises Error for a path
    that is not a directory, and without a current repository.
    """
    places = list(directories) or Config(Git()).get_all("gitcp.workspace")
    if not places:
        return [Repo.find_here()]
    enabled = [repo for repo in find_below(places) if os.path.isdir(repo.join_shared())]
    return sorted(enabled, key=lambda repo: repo.top or repo.common)


def find_below(directories: Sequence[str]) -> list[Repo]:
    """The repositories in and below directories, each once, by the main worktree if that is found.
    Raises Error for a path that is not a directory."""
    by_common: dict[str, Repo] = {}
    for place in directories:
        top = os.path.abspath(os.path.expanduser(place))
        if not os.path.isdir(top):
            raise Error(f"not a directory: '{place}'")
        for folder in _walk_checkouts(top):
            try:
                repo = Repo.find(folder)
            except Error:
                continue  # git refuses it, or it is not a repository
            if not (repo.worktree_id and repo.common in by_common):
                by_common[repo.common] = repo
    return list(by_common.values())


def _walk_checkouts(top: str) -> Iterator[str]:
    """The directories with a `.git` or `.jj` in them; such a directory is not searched further."""
    level = [top]
    for _ in range(_DEEP + 1):
        below: list[str] = []
        for folder in level:
            names = {entry.name: entry for entry in _list_entries(folder)}
            if ".git" in names or ".jj" in names:
                yield folder
            else:
                below += [e.path for name, e in names.items() if _is_open(name, e)]
        level = sorted(below)


def _list_entries(folder: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return ()


def _is_open(name: str, entry: os.DirEntry[str]) -> bool:
    return name[:1] != "." and name not in _PASSED and entry.is_dir(follow_symlinks=False)
