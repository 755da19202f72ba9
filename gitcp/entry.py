"""The program of installed hooks, `python -I -S entry.py <event> …`: without site and scripts.

The package's parent directory is added to sys.path; if installed, it has the other packages, too.
Python compiles this file at each start, so it is short; the rest is in hook.py.
"""

import gc
import sys

if __name__ == "__main__":
    gc.set_threshold(1_000_000)  # objects: a search for garbage finds none, and looks at all others
    sys.path.append(__file__.rpartition("/")[0].rpartition("/")[0])
    try:
        from gitcp import hook
    except OSError as e:  # no descriptor is left, or the disk cannot be read
        print(f"warning: gitcp cannot start: {e.strerror}", file=sys.stderr)
    else:
        hook.leave(hook.start())
