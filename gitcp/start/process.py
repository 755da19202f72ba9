"""How the process of a hook begins and ends.

In a checkout the third-party packages are elsewhere than gitcp: site is brought in when the first
one is asked for, 3 to 4 ms that only such a hook pays (doc/git.md "Locks and refs").

A hook lives for milliseconds: what it imports is no garbage to look for, and at its end the
memory goes back whole, not object by object.  In what is imported before the file of bytecode is
open no annotation is delayed: `from __future__` costs 0.2 ms.
"""

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PACKAGES = ("orjson", "filelock", "plumbum")


class Elsewhere:
    """A finder that stands last: asked for one of PACKAGES, it lets site set up sys.path."""

    @classmethod
    def find_spec(cls, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        if name not in PACKAGES:
            return None
        sys.meta_path.remove(cls)
        import site
        from importlib.machinery import PathFinder

        site.main()
        return PathFinder.find_spec(name)


_FEW = 50_000  # objects made before garbage is looked for: 700 mean ten times in the imports


def main() -> int:
    """Run gitcp-hook.

    Ctrl-C at a `git commit` ends its hooks with it, at any instant and without a word: the next
    event finds what is left to do.
    """
    gc.set_threshold(_FEW)
    try:
        from gitcp.start import bundle
        from gitcp.start.cpython import signals

        if signals.getsignal(signals.SIGINT) is signals.default_int_handler:
            signals.signal(signals.SIGINT, signals.SIG_DFL)
        # Ignored, as some services start programs, no status of git comes.
        signals.signal(signals.SIGCHLD, signals.SIG_DFL)
        bundle.use()
        sys.meta_path.append(Elsewhere)
        from gitcp.start.late import hook
    except OSError as e:  # no descriptor is left, or the disk cannot be read
        print(f"warning: gitcp cannot start: {e.strerror}", file=sys.stderr)
        return 0
    status: int = hook.main()
    bundle.complete()
    return status


def leave(status: int) -> None:
    """End this process now: everything of ours is written, but what is still to be printed."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(status)  # nobody listens any more: Python knows how to end then
    os._exit(status)
