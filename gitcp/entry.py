"""What installed hooks run: `python -I -S entry.py <event> …`, no site, no console script.

The package's own parent goes onto sys.path; it holds the third-party packages too, or
else site is brought in on their first import (git.md §2).
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from gitcp.hook import main

if __name__ == "__main__":
    sys.exit(main())
