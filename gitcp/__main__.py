"""gitcp - find a command by name; what bin/gitcp and `python -m gitcp` both run"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from gitcp import commands
from gitcp.errors import OK, USAGE


def main() -> int:
    """Run the command named by argv[0] (gitcp-<name>) or by the first argument."""
    called = os.path.basename(sys.argv[0]).partition("-")[2]
    name = called or (sys.argv.pop(1) if len(sys.argv) > 1 else "help")
    known = {**commands.STAGES, **commands.TOOLS}
    if name in known:
        return int(import_module(commands.module(name)).main())
    if name in ("-V", "--version", "version"):
        from gitcp.version import VERSION

        print("gitcp", VERSION)
        return OK
    if name in ("-h", "--help", "help"):
        print(listing())
        return OK
    print(f"error: '{name}' is not a gitcp command; see 'gitcp help'", file=sys.stderr)
    return USAGE


def listing() -> str:
    """The usage line and every command with its summary, people's commands first."""
    parts = ["usage: gitcp <command> [<args>]"]
    for title, table in (("for people", commands.TOOLS), ("for pipes", commands.STAGES)):
        parts.append(f"\n{title}:")
        parts += [f"    {name:18} {summary}" for name, summary in table.items()]
    return "\n".join(parts)


if __name__ == "__main__":
    raise SystemExit(main())
