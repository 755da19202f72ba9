"""The program of installed hooks, `python -I -S entry.py <event> …`: without site and scripts.

The package's parent directory is added to sys.path; if installed, it has the other packages, too.
Python compiles this file at each start, so it is short; the rest is in start/process.py.
"""

import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0].rpartition("/")[0])
    try:
        from gitcp import start

        start.import_os()
        from gitcp.start import process
    except OSError as e:  # no descriptor is left, or the disk cannot be read
        print(f"warning: gitcp cannot start: {e.strerror}", file=sys.stderr)
    else:
        process.leave(process.main())
