"""Reading on in transcripts that were too long for one hook, and completing the checkpoints that
wait for them (doc/behaviour.md "Finalizing").

A checkpoint that is written before a transcript is read to its end has the lines that were read, a
line that stands for those between, and the last lines.  Later hooks, `gitcp push` and the commands
that read complete it, as the transcript was when it was written.  What is behind that is read only
after the state has been written without it, so that a kill loses nothing.
"""

from __future__ import annotations

from gitcp import git
from gitcp.checkpoints.transcripts import AT_ONCE, FEW, list_unread, locate_unread, store_session
from gitcp.errors import Error
from gitcp.git import files
from gitcp.git.repo import Repo
from gitcp.link import condense
from gitcp.record import Context, open_context
from gitcp.text import term

_AT_MOST = 4  # completions in a hook
_SPARE = 0.5  # seconds before a hook's time is over, in which nothing more is read


def read_on(ctx: Context, session_id: str, whole: bool) -> None:
    """Complete the checkpoints of a session that wait for its transcript: all of them, as far as
    the process has the time, or a few.  Leaves the context."""
    size = -1
    done = 0
    left = git.count_seconds_left()
    most = AT_ONCE if whole and left is None else FEW
    while done < _AT_MOST or (whole and _has_time()):
        state = ctx.read_state(session_id, rebuild=False)
        if state is None or not state.get("unread"):
            return
        stored = store_session(ctx.repo, state, complete=True, most=most, until_waiting=True)
        if stored is None:
            return
        if stored.is_whole:
            condense.complete_waiting(ctx.repo, state, stored)
            done += 1
        elif not whole or stored.size == size:
            ctx.keep(state)
            return
        ctx.keep(state)
        ctx.leave()  # writes the state; others may have the session meanwhile
        size = stored.size


def _has_time() -> bool:
    left = git.count_seconds_left()
    return left is None or left > _SPARE


def complete(repo: Repo) -> None:
    """Complete the checkpoints of all sessions that wait for their transcripts."""
    for session_id in list_unread(repo):
        term.show_line("reading long transcripts")
        try:
            _complete_session(repo, session_id)
        except (Error, OSError) as e:  # its data is damaged or busy; the others go on
            git.append_trace("unread", f"'{session_id}': {e}")
    term.hide_progress()


def _complete_session(repo: Repo, session_id: str) -> None:
    with open_context(repo) as ctx:
        read_on(ctx, session_id, whole=True)
        state = ctx.read_state(session_id, rebuild=False)
        if state is None or not state.get("unread"):
            files.remove_private(repo, locate_unread(repo, session_id))
