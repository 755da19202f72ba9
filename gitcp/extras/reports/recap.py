"""The records of recap."""

from __future__ import annotations

from gitcp.checkpoints import listing
from gitcp.extras.imports.find import list_own_addresses
from gitcp.extras.reports import activities
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines import tallies
from gitcp.lines.sums import (
    Sums,
)
from gitcp.lines.tally import WHO
from gitcp.link import commits
from gitcp.text.times import format_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.terminal.recap import Recap, RecapCommit, RecapSession
    from gitcp.text.record_types import Record


def build_recap(repo: Repo, since: str, until: str, author: str) -> Recap:
    """A record `recap` (gitcp-record(5)) of the commits of all branches and tags since a date in
    git's syntax, and of the sessions with open work.

    author: only commits of matching authors, as in git-log(1), which then count as the person's
    own; open sessions, which have no author, are left out.
    """
    chosen = [f"--since={since}", *([f"--until={until}"] if until else [])]
    if author:
        chosen += [f"--author={author}"]
    own = None if author else list_own_addresses(repo)
    chosen += listing.ALL
    sums = Sums()
    days: dict[str, dict[str, Any]] = {}
    with Objects(repo):
        for tally in tallies.list_tallies(repo, (), (), chosen):
            sums.take(tally)
    counted = sums.build_record()
    for commit in commits.list_commits(repo, (), chosen):
        day = days.setdefault(format_day(commit["time"]), {"sessions": {}, "commits": []})
        _add_commit(day, commit, own is None or commit["email"].lower() in own)
    return {
        "type": "recap",
        "repository": repo.top or repo.common,
        "commits": counted["commits"],
        "sessions": len(sums.list_stored()),
        "added": counted["added"],
        "tokens": counted["tokens"],
        "days": [
            {
                "day": day,
                "lines": {who: sums.days[day][who] for who in WHO},
                "sessions": [_finish_row(row) for row in days[day]["sessions"].values()],
                "commits": days[day]["commits"],
            }
            for day in sorted(days, reverse=True)
        ],
        "open": [] if author else _list_open(repo, since),
    }


def _add_commit(day: dict[str, Any], commit: Record, is_own: bool) -> None:
    """Add a commit to its sessions of that day, or to the commits without one."""
    shown: RecapCommit = {
        "oid": commit["oid"],
        "author": commit["author"],
        "message": commit["message"],
        "own": is_own,
    }
    parts = [part for link in commit["checkpoints"] for part in link.get("contents", ())]
    for part in parts:
        _add_session(day["sessions"], part, shown)
    if not parts:
        day["commits"].append(shown)


def _add_session(
    sessions: dict[tuple[str, str], dict[str, Any]], part: Record, commit: RecapCommit
) -> None:
    """Add a session's part in a commit to its row of that day and branch."""
    key = part["session_id"], str(part.get("branch") or "")
    names = {"session_id": key[0], "agent": part["agent"], "branch": key[1]}
    row = sessions.setdefault(key, {**names, "prompts": {}, "commits": {}, "files": {}})
    row["prompts"].update(dict.fromkeys(reversed(part["asked"])))
    row["commits"].setdefault(commit["oid"], {**commit, "prompts": part["asked"]})
    row["files"].update(dict.fromkeys(part["files"]))


def _finish_row(row: dict[str, Any]) -> RecapSession:
    """A row as a record, with prompts oldest first."""
    return {
        "session_id": row["session_id"],
        "agent": row["agent"],
        "branch": row["branch"],
        "prompts": list(reversed(row["prompts"])),
        "commits": list(row["commits"].values()),
        "files": sorted(row["files"]),
    }


def _list_open(repo: Repo, since: str) -> list[Record]:
    """The sessions with open work that had an event since a date."""
    least = float(repo.git.read_line("rev-parse", f"--since={since}").rpartition(b"=")[2])
    return [
        row
        for row in activities.list_sessions(repo)
        if row["last"] >= least and row["files_touched"]
    ]
