"""What installed hooks run: `python -I -S entry.py <event> …`, no site, no console script.

The package's own parent goes onto sys.path; installed, it holds the third-party packages
too.  In a checkout they are elsewhere: site is brought in when the first one is asked for,
3 to 4 ms that only such a hook pays (git.md §2).
"""

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


def main() -> int:
    """Run gitcp-hook from where this file lies."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.meta_path.append(Elsewhere)
    from gitcp import hook

    return hook.main()


if __name__ == "__main__":
    sys.exit(main())
