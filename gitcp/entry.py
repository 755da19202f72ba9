"""What installed hooks run: `python -I -S entry.py <event> …`, no site, no console script.

The package's own parent goes onto sys.path; installed, it holds the third-party packages too.
Python compiles this file at each start, for half a millisecond: what can be is in start/process.py.
"""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        from gitcp.start import process
    except OSError as e:  # no descriptor is left, or the disk cannot be read
        print(f"warning: gitcp cannot start: {e.strerror}", file=sys.stderr)
    else:
        process.leave(process.main())
