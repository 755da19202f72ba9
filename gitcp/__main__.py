"""gitcp - what bin/, `python -m gitcp` and installed commands all run"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

from gitcp import lazy_modules


def main() -> int:
    """Run the command named by argv[0] (gitcp-<name>, git-<name>) or by the first argument.

    Ctrl-C during its import ends the process without a message, as it ends git.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    called = os.path.basename(sys.argv[0]).partition("-")[2]
    if "hook" in (called, *sys.argv[1:2]):
        del sys.argv[1 : 1 + (called != "hook")]
        program = import_module("gitcp.hook")
    else:
        lazy_modules.use()  # what is imported from here on runs when it is used
        program = import_module("gitcp.program")
    status: int = program.main()
    return status


if __name__ == "__main__":
    sys.exit(main())
