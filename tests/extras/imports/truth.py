"""What a repository's checkpoints say of its commits: which sessions, and whose which line is."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

V1 = "refs/heads/entire/checkpoints/v1"

Link = tuple[str, str]  # commit, session
Line = tuple[str, str, str, int, int]  # session, path, blob, line, number of the turn


def git(cwd: Path, *args: str) -> str:
    """What git printed, without the last newline."""
    done = subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n")


class Told:
    """The links of a repository, and the lines that its checkpoints give to sessions."""

    def __init__(self, repo: Path) -> None:
        self._repo = repo
        self.links: set[Link] = set()
        self.lines: set[Line] = set()
        self._of: dict[Link, set[Line]] = {}  # the lines of each link
        self._said: set[tuple[str, str, int]] = set()  # path, blob, line, whose is told
        self.metadata: list[dict[str, Any]] = []
        if not git(repo, "for-each-ref", V1):
            return
        names = git(repo, "ls-tree", "-r", "--name-only", V1).split("\n")
        for commit, checkpoint in self._linked():
            top = f"{checkpoint[:2]}/{checkpoint[2:]}/"
            for name in names:
                if (
                    name.startswith(top)
                    and name.endswith("/metadata.json")
                    and name.count("/") == 3
                ):
                    self._take(commit, name.removesuffix("metadata.json"), names)

    def recall(self, true: Told, commits: Collection[str] = ()) -> str:
        """How much of the truth this tells, in words; commits: those that count, default all."""
        links = {link for link in true.links if not commits or link[0] in commits}
        lines = f"lines {len(self.lines)} of {len(true.lines)}"
        return f"links {len(self.links)} of {len(links)}, {lines}"

    def contradicted(self, true: Told) -> set[Link | Line]:
        """What this tells and the truth tells otherwise.  That has no word on lines of a session
        that it did not link, where it linked another."""
        lines = {line for line in self.lines - true.lines if line[1:4] in true._said}
        linked = {commit for commit, _ in true.links}
        links = {
            link
            for link in self.links - true.links
            if link[0] not in linked or not self._of.get(link) or self._of[link] & lines
        }
        return lines | links

    def _linked(self) -> list[Link]:
        if not git(self._repo, "for-each-ref", "refs/notes/gitcp"):
            return []
        pairs = []
        for item in git(self._repo, "notes", "--ref=gitcp", "list").splitlines():
            blob, commit = item.split()
            for line in git(self._repo, "cat-file", "blob", blob).split("\n"):
                if line.startswith("Entire-Checkpoint: "):
                    pairs.append((commit, line.split()[1]))
        return pairs

    def _take(self, commit: str, folder: str, files: list[str]) -> None:
        metadata = json.loads(git(self._repo, "show", f"{V1}:{folder}metadata.json"))
        self.metadata.append(metadata)
        session, turns = metadata["session_id"], metadata.get("turns", {})
        self.links.add((commit, session))
        if folder + "lines.json" not in files:
            return
        stored = json.loads(git(self._repo, "show", f"{V1}:{folder}lines.json"))
        for path, entries in stored.items():
            for entry in entries:
                for first, last, who, *_ in entry["ranges"]:
                    number = turns.get(who, {}).get("number", 0)
                    for line in range(first, last + 1):
                        if who != "unknown":
                            self._said.add((path, entry["oid"], line))
                        if who not in ("unknown", "person"):
                            told = session, path, entry["oid"], line, number
                            self.lines.add(told)
                            self._of.setdefault((commit, session), set()).add(told)


def clone(repo: Path, at: Path) -> Path:
    """A clone of a repository's branches alone, without anything that gitcp keeps there."""
    branch = git(repo, "symbolic-ref", "--short", "HEAD")
    where = ["--single-branch", "--branch", branch, "--no-local", str(repo), str(at)]
    subprocess.run(["git", "clone", "-q", *where], check=True, env={**os.environ})
    heads = "refs/heads/*:refs/remotes/origin/*"
    git(at, "fetch", "-q", "--no-tags", "origin", heads, "^refs/heads/entire/*")
    return at
