"""gitcp-ui - browse sessions, commits and points in the terminal"""

from __future__ import annotations

import base64
import os
import shlex
import sys
import termios

from gitcp.commands import make_value
from gitcp.errors import OK, Error
from gitcp.extras.ui import browse
from gitcp.extras.ui.panes import Browser
from gitcp.git import refs, shell
from gitcp.git.objects import Objects, pack_care
from gitcp.git.repo import Repo
from gitcp.terminal import browser, cli, extras
from gitcp.text import console, term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.extras.ui.panes import Action

_LISTS = ("sessions", "commits", "points")
_MISSING = "the browser is drawn with prompt_toolkit"
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


class Screen(Browser):
    """The browser of a repository."""

    def __init__(self, repo: Repo, shown: str) -> None:
        sessions = browse.Sessions(repo)
        others = (browse.Commits(repo), browse.Points(repo))
        title = os.path.basename(repo.top or repo.common)
        branch = refs.read_branch(repo).removeprefix("refs/heads/")
        if branch:
            title += f" · {branch}"
        can_draw = (sys.stdout.encoding or "").lower().startswith("utf")
        super().__init__((sessions, *others), title, "│┃" if can_draw else "|#")
        self._watch = browse.watch(repo, sessions)
        self.press(str(_LISTS.index(shown) + 1))

    def has_changed(self) -> bool:
        """Whether the repository or the shown session has changed since the last call."""
        return self._watch.has_changed()


def do_action(action: Action) -> str:
    """Do what was chosen, if the person agrees to its plan; return what the screen says of it."""
    if action.copied:
        text = base64.b64encode(action.copied.encode()).decode()
        print(f"\x1b]52;c;{text}\a", end="", flush=True)  # to the terminal's clipboard
        return f"copied, if the terminal has a clipboard: {action.copied}"
    words = shlex.join(["gitcp", *action.command])
    if action.plan:
        cli.say(f"$ {shlex.join(['gitcp', *action.plan])}")
        if _call(action.plan):
            _ask("Nothing is done.  Enter goes back: ")
            return f"nothing was done: {words}"
    typed = ""
    if action.asks:
        typed = _ask(f"{action.asks.capitalize()}: ")
    command = [*action.command, *([typed] if action.asks else ())]
    words = shlex.join(["gitcp", *command])
    cli.say(f"$ {words}")
    if (action.asks and not typed) or _ask("Run it?  Only 'yes' does: ") != "yes":
        return f"nothing was done: {words}"
    status = _call(command)
    _ask("Enter goes back: ")
    if status == OK:
        return f"done: {words}"
    return f"it ended with status {status}: {words}"


def _call(command: Sequence[str]) -> int:
    """Run a command of this gitcp at the terminal."""
    sys.stdout.flush()
    return term.run_foreground([*shell.build_own_command(), *command], os.environ)


def _ask(question: str) -> str:
    """What the person types; what was typed or pasted before the question does not count."""
    termios.tcflush(0, termios.TCIFLUSH)
    print(console.escape_unprintable(question), end="", flush=True)
    try:
        return sys.stdin.readline().strip()
    except KeyboardInterrupt:
        return ""


def run(argv: Sequence[str]) -> int:
    """Show the browser until the person leaves it."""
    args = cli.parse("ui", OPTIONS, argv)
    repo = Repo.find_here()
    if not browser.can_run():
        raise Error("the browser needs a terminal; 'gitcp log' and 'gitcp sessions' need none")
    term.stop_progress()  # its line would be drawn over the screen
    # Warnings are collected: they would be written over the screen.
    with (
        console.Collected(),
        pack_care.open_scratch(repo, always=True) as writable,
        Objects(writable),
    ):
        screen = Screen(writable, args.list)
        try:
            while browser.run_screen(screen) == "do" and screen.chosen:
                message = do_action(screen.chosen)
                screen.read_again()
                screen.say(message)
        except ImportError:
            raise extras.make_missing(_MISSING) from None
    return OK
