"""The two questions that every hook has for git, put to it at once: where it is, what is set."""

from __future__ import annotations

import os
import time

from gitcp.asked import kept
from gitcp.errors import Error, GitError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git import Git
    from gitcp.process.running import Running

    Values = dict[str, list[str]]  # key -> its values, the strongest last

_CONFIG = ("config", "-z", "--list", "--show-origin")
# The top level comes last: in a bare repository git fails there, with the rest said.
_WHERE = (
    "rev-parse",
    "--path-format=absolute",
    "--git-dir",
    "--git-common-dir",
    "--show-object-format",
    "--show-toplevel",
)


class Answers:
    """git's answers in one directory; it is asked when this is made, unless they are known."""

    def __init__(self, git: Git, cwd: str) -> None:
        self._git, self._began = git, time.time_ns()
        self._kept = kept.recall(cwd, git.env)
        self._where: list[str] = self._kept["where"] if self._kept else []
        self._asked = None if self._kept else (git.start(*_WHERE), git.start(*_CONFIG))

    def where(self) -> list[str]:
        """The git directory, the common one, the object format; and the top of a worktree."""
        if self._asked:
            self._where = finish(self._asked[0])
        return self._where

    def values(self) -> Values:
        """The configuration; where() comes first."""
        if self._asked is None:
            return dict(self._kept["config"]) if self._kept else {}
        values, origins = parse(self._asked[1])
        if len(self._where) > 3 and None not in origins:
            files = [origin for origin in origins if origin]
            kept.keep(self._git.env, self._where, values, files, self._began)
        return values


def where(git: Git) -> list[str]:
    """As Answers.where(), asked of git now."""
    return finish(git.start(*_WHERE))


def finish(running: Running) -> list[str]:
    """What git has to say of where it is; raise Error where it cannot run."""
    try:
        status, out = running.finish(ok=(0, 128))
    except GitError as e:
        raise Error(str(e)) from None
    lines = [os.fsdecode(line) for line in out.split(b"\n")[:-1]]
    return lines if status == 0 else lines[:3]


def config(git: Git) -> Values:
    """The configuration, asked of git now."""
    return parse(git.start(*_CONFIG))[0]


def parse(running: Running) -> tuple[Values, set[str | None]]:
    """(the configuration, the files it came from; None among them for what came from none)."""
    _, out = running.finish(ok=(0, 1))
    words = out.decode("utf-8", "surrogateescape").split("\0")
    values: Values = {}
    origins: set[str | None] = set()
    for origin, item in zip(words[::2], words[1::2], strict=False):
        name, eq, value = item.partition("\n")
        values.setdefault(name, []).append(value if eq else "true")
        origins.add(origin.removeprefix("file:") if origin.startswith("file:") else None)
    return values, origins
