"""Run gitcp out of one file: its modules are unpacked once, for hooks start them as files.

They go to $XDG_DATA_HOME/gitcp, else ~/.local/share/gitcp, into a directory by their content.
"""

import os
import shutil
import sys
import tempfile
import zipfile

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(f"fatal: gitcp needs Python 3.11 or newer, this is {sys.version.split()[0]}")

ARCHIVE = os.path.dirname(os.path.abspath(__file__))


def unpacked() -> str:
    """The directory of the modules."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    with zipfile.ZipFile(ARCHIVE) as archive:
        place = os.path.join(data, "gitcp", archive.comment.decode())
        if os.path.isdir(place):
            return place
        os.makedirs(os.path.dirname(place), exist_ok=True)
        own = tempfile.mkdtemp(dir=os.path.dirname(place))
        archive.extractall(own)
    try:
        os.rename(own, place)
    except OSError:  # another one was faster
        shutil.rmtree(own)
    return place


place = unpacked()
sys.path[0] = place
sys.path.append(os.path.join(place, "instead"))
from gitcp.__main__ import main  # noqa: E402

sys.argv[0] = "gitcp"
sys.exit(main())
