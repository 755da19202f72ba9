"""Objects of a repository read one by one, without a git for each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Object(NamedTuple):
    """What git keeps under a name."""

    oid: str
    kind: str
    data: bytes


class Reader:
    """One `git cat-file --batch` of a worktree, which sees each ref as it is when asked; another
    one when packs came or went, for git reads on in a pack that was deleted.

    It is at work elsewhere: a process in the worktree might be one that a session left there.
    """

    def __init__(self, top: Path) -> None:
        self._git = ["git", f"--git-dir={top}/.git"]
        self._packs = top / ".git/objects/pack"
        if not self._packs.exists():  # a linked worktree
            asked = [*self._git, "rev-parse", "--git-path", "objects/pack"]
            self._packs = Path(os.fsdecode(subprocess.check_output(asked)).rstrip("\n"))
        self._begin()

    def _begin(self) -> None:
        self._since = self._packs.stat().st_mtime_ns
        self._process = subprocess.Popen(
            [*self._git, "cat-file", "--batch"],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def read(self, spec: str) -> Object | None:
        """The object that a revision names, None where there is none."""
        if self._packs.stat().st_mtime_ns != self._since:
            self.close()
            self._begin()
        asked, answers = self._process.stdin, self._process.stdout
        assert asked and answers
        asked.write(spec.encode() + b"\n")
        asked.flush()
        words = answers.readline().decode().split(" ")
        if len(words) != 3:  # as "<spec> missing"
            assert words[-1] == "missing\n", f"{spec}: {words}"
            return None
        oid, kind, size = words
        return Object(oid, kind, answers.read(int(size) + 1)[:-1])

    def files(self, spec: str) -> Iterator[tuple[str, bytes]]:
        """(path, content) of every file below a tree-ish, in git's order."""
        top = self.read(f"{spec}^{{tree}}")
        return self._below(top, "") if top else iter(())

    def _below(self, tree: Object, at: str) -> Iterator[tuple[str, bytes]]:
        width, rest = len(tree.oid) // 2, tree.data
        while rest:
            head, _, rest = rest.partition(b"\0")
            path = at + head.partition(b" ")[2].decode()
            entry = self.read(rest[:width].hex())
            assert entry, f"{path} is missing"
            rest = rest[width:]
            if entry.kind == "tree":
                yield from self._below(entry, f"{path}/")
            else:
                yield path, entry.data

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
