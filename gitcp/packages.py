"""Packages that are installed beside gitcp, or elsewhere, as for a checkout.

A hook starts without site, which finds the latter, since it costs 3 to 4 ms.
"""

from __future__ import annotations

import sys


def find_package(name: str) -> None:
    """Let Python find a package, which its caller then imports."""
    try:
        __import__(name)
    except ImportError:
        if sys.flags.isolated and sys.flags.no_site:  # a hook
            import site

            site.main()
