"""gitcp-ui - browse sessions, commits and points in the terminal"""

from __future__ import annotations

import os
import sys

from gitcp.console import browser, cli, options
from gitcp.console.options import make_value
from gitcp.core.render.panes import Browser
from gitcp.errors import OK, Error
from gitcp.repo import Repo
from gitcp.store import browse, pack_care
from gitcp.store.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LISTS = ("sessions", "commits", "points")
_MISSING = "the browser is drawn with prompt_toolkit: install gitcp with its extra 'picker'"
OPTIONS = (
    make_value(
        "list",
        "<list>",
        "the list shown at first: sessions (default), commits or points",
        nargs="?",
        default=_LISTS[0],
        choices=_LISTS,
    ),
)
_ENDED = 128 + 15  # as a shell says of SIGTERM


class Screen(Browser):
    """The browser of a repository."""

    def __init__(self, repo: Repo, shown: str) -> None:
        sessions = browse.Sessions(repo)
        others = (browse.Commits(repo), browse.Points(repo))
        title = os.path.basename(repo.top or repo.common)
        can_draw = (sys.stdout.encoding or "").lower().startswith("utf")
        super().__init__((sessions, *others), title, "│┃" if can_draw else "|#")
        self._watch = browse.Watch(repo, sessions)
        self.press(str(_LISTS.index(shown) + 1))

    def has_changed(self) -> bool:
        """Whether the repository or the shown session has changed since the last call."""
        return self._watch.has_changed()


def run(argv: Sequence[str]) -> int:
    """Show the browser until the person leaves it."""
    args = cli.parse("ui", OPTIONS, argv)
    repo = Repo.find_here()
    if not browser.can_run():
        raise Error("the browser needs a terminal; 'gitcp log' and 'gitcp sessions' need none")
    # Warnings are collected: they would be written over the screen.
    with (
        options.Collected(),
        pack_care.open_scratch(repo, always=True) as writable,
        Objects(writable),
    ):
        try:
            left = browser.run_screen(Screen(writable, args.list))
        except ImportError:
            raise Error(_MISSING) from None
    return _ENDED if left == browser.KILLED else OK
