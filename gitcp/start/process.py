"""How the process of a hook begins and ends.

In a checkout the third-party packages are not beside gitcp.  site, which finds them, is imported
when the first one is needed, since it costs 3 to 4 ms (doc/git.md "Locks and refs").

A hook lives for milliseconds: it does not search for garbage among its imports, and does not free
its memory object by object at its end.  The modules that are imported before the file of bytecode
is open have no `from __future__`, which costs 0.2 ms.
"""

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PACKAGES = ("orjson", "filelock", "plumbum")


class Elsewhere:
    """The last finder: when one of PACKAGES is imported, it has site set up sys.path."""

    @classmethod
    def find_spec(cls, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        if name not in PACKAGES:
            return None
        sys.meta_path.remove(cls)
        import site
        from importlib.machinery import PathFinder

        site.main()
        return PathFinder.find_spec(name)


_FEW = 50_000  # objects before a search for garbage; Python's 700 mean ten searches in the imports


def main() -> int:
    """Run gitcp-hook.

    Ctrl-C at a `git commit` ends its hooks at any point, without a message: the next event finds
    what is left to do.
    """
    gc.set_threshold(_FEW)
    try:
        from gitcp.start import bundle
        from gitcp.start.cpython import signals

        if signals.getsignal(signals.SIGINT) is signals.default_int_handler:
            signals.signal(signals.SIGINT, signals.SIG_DFL)
        # Some services start programs that ignore SIGCHLD: then git's status would be lost.
        signals.signal(signals.SIGCHLD, signals.SIG_DFL)
        bundle.use()
        sys.meta_path.append(Elsewhere)
        from gitcp import hook
    except OSError as e:  # no descriptor is left, or the disk cannot be read
        print(f"warning: gitcp cannot start: {e.strerror}", file=sys.stderr)
        return 0
    try:
        status: int = hook.main()
        bundle.complete()
    except BaseException as e:  # as where stderr takes nothing
        # 1 would be the status of a Python that cannot begin: another would do the work again
        status = _tell_death(e)
    return status


def _tell_death(reason: BaseException) -> int:
    """Say if possible why a hook ended in the middle; return the status, which refuses nothing."""
    try:
        print(f"warning: gitcp ended early: {type(reason).__name__}: {reason}", file=sys.stderr)
    except OSError:
        pass
    return 0


def leave(status: int) -> None:
    """Print what is left and end this process at once; all its files are written."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass  # the reader of its output is gone, or a disk takes no more
    os._exit(status)
