"""Conversations of clients that no hook heard of: whether it is time to look for them.

<common>/gitcp/cache/folders lists where clients keep the conversations of this repository, with the
time of each folder at the last look, 0 for what was not there: a line is `<ns> <path>`.
A line `<ns>:<session> <path>` has a conversation of a recorded session that rests, which grows if a
client resumes it.
git's hook in sh compares the times of all these with that of the list itself.
"""

from __future__ import annotations

import os

from gitcp import git
from gitcp.git import files
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo

LIST = "folders"
# The key beside the hooks in the person's configuration, in s since 1970: a repository in which no
# session was recorded yet knows by it since when it is enabled.
ENABLED = "hook.gitcp-post-commit.since"
SLACK = 10  # seconds from a prompt to the end of its hook
FLAG = "all-heard"  # the file that is there if no conversation is known that was not recorded


def locate_record(repo: Repo) -> str:
    """What was found at the last look."""
    return repo.join_shared("unrecorded")


def may_lack_some(repo: Repo) -> bool:
    """Whether some conversation that is known may not have been recorded."""
    if os.path.exists(repo.join_shared_cache(FLAG)):
        return False
    return os.path.exists(locate_record(repo))


@value_class
class Comparison:
    """Of the list with what is there.  is_look_due: a client's folder has changed since the last
    look, a conversation has grown without a hook of its session, or there was no look in this home.
    grown: the newest time of what has changed and was heard, 0 for nothing."""

    is_look_due: bool
    grown: int


def is_look_due(repo: Repo) -> bool:
    """Whether something may have come that no hook has heard of."""
    return compare_list(repo).is_look_due


def compare_list(repo: Repo) -> Comparison:
    """Compare the list with what is there."""
    lines = files.read_cache(repo.join_shared_cache(LIST)).decode("utf-8", "surrogateescape")
    home = os.path.join(os.path.expanduser("~"), "")
    is_of_home = False
    grown = 0
    for line in lines.splitlines():
        seen, _, path = line.partition(" ")
        seen_time, _, session_id = seen.partition(":")
        time = read_time(path)
        if str(time) != seen_time:
            if not _is_heard(repo, session_id, time):
                return Comparison(is_look_due=True, grown=0)
            grown = max(grown, time)
        if path.startswith(home):
            is_of_home = True
    return Comparison(not is_of_home, grown)


def date_list(repo: Repo, time: int) -> None:
    """Give the list the time of the newest conversation in it, all of which hooks have heard: until
    one grows again, git's hook in sh need not start Python."""
    try:
        os.utime(repo.join_shared_cache(LIST), ns=(time, time))
    except OSError as e:
        git.append_trace("files", str(e))


def _is_heard(repo: Repo, session_id: str, time: int) -> bool:
    """Whether a hook of a session ran when its conversation grew, or later; '' is no session.  Its
    state is written for other reasons, too: `gitcp status` compares the sizes of conversations."""
    if not session_id:
        return False

    from gitcp.record import session

    return time <= read_time(session.get_state_path(repo, session_id)) + SLACK * 10**9


def read_time(path: str) -> int:
    """When a file or a folder changed last, in ns since 1970; 0 without one."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
