"""What is settled before a command reads: long transcripts, and commits that no hook has seen."""

from __future__ import annotations

from gitcp import git
from gitcp.errors import Error
from gitcp.git.repo import Repo
from gitcp.link import relink, unread
from gitcp.record import is_off, match, open_context
from gitcp.text import console


def settle_here() -> None:
    """Settle the repository around the current directory, if there is one, for a command that
    reads all that is recorded."""
    try:
        repo = Repo.find_here()
    except Error:  # the command says so
        return
    unread.complete(repo)
    look_at_head(repo)


def look_at_head(repo: Repo) -> None:
    """Settle the commits up to HEAD that no hook has seen, as the next event would, and report
    pulled ones on standard error.  An error does not stop the command that reads."""
    if not match.read_looked(repo) or is_off(repo) or match.is_replaying(repo):
        return
    message = ""
    try:
        # What is lacking where these commits may come from is nothing that the command shows.
        with open_context(repo) as ctx, console.Collected():
            if match.is_unseen(repo, ctx.head):
                message = relink.link_pulled(ctx)
    except (Error, OSError) as e:
        git.append_trace("settle", f"not now: {e}")
    else:
        if message:
            console.tell(f"gitcp: {message}")
