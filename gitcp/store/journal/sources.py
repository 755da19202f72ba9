"""Where the content comes from that a command brings in: the commits and stashes it names, the
other worktrees, the patches.

A source is [commit, path, blob]; of a patch that no commit tells of, ["", "", blob of its lines].
"""

from __future__ import annotations

import os
from time import monotonic, process_time

from gitcp.core.credit import entries
from gitcp.core.decide import line_evidence
from gitcp.core.lines import replay
from gitcp.errors import Error
from gitcp.process import files
from gitcp.store.git import reflog
from gitcp.store.git.commit import read_commit
from gitcp.store.git.tree import Lookup, find_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.credit.evidence import Window
    from gitcp.core.record_types import JournalLine, Version, Writer
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Source = list[str]

_WORDS = 60  # of a command that are looked up
_COMMITS = 40  # that are read for them
_MOST = 4  # sources of one content
_LARGEST = 1 << 20  # bytes of a file that are read
_SECONDS = 0.3  # of processor time for the lines of all contents of a look
_HISTORY = 0.5  # seconds in which git finds a blob in history, of one look
# What puts content in whose commit a command may not name, but for one that it has asked for.
_ASKING = frozenset(("checkout", "restore", "show", "cat-file", "read-tree", "stash"))
_BLOBS = ("100644", "100755", "120000")


class Sources:
    """What the commands of one look have named, each looked up once."""

    def __init__(
        self, repo: Repo, objects: Objects, lines: Sequence[JournalLine], head: str
    ) -> None:
        """head: where HEAD was before the look."""
        self._repo, self._objects, self._lines, self._head = repo, objects, lines, head
        self._until, self._history = process_time() + _SECONDS, _HISTORY
        self._commits: dict[Writer, dict[str, Lookup]] = {}
        self._other_paths: dict[Writer, list[str]] = {}
        self._files: dict[Writer, dict[str, list[bytes]]] = {}

    def describe_sources(
        self, window: Window, path: str, was: Version, now: Version
    ) -> JournalLine:
        """What an edit says of its sources."""
        sources = self.find_sources(window, path, was, now)
        return {"from": sources} if sources else {}

    def find_sources(self, window: Window, path: str, was: Version, now: Version) -> list[Source]:
        """The sources of what a command put in at a path, those of most lines first; the one
        that has this very content alone, where there is one."""
        if now is None or now[0] not in _BLOBS:
            return []
        places = list(self._list_places(window, path))
        exact = [source for source in places if source[2] == now[1]]
        if exact or process_time() > self._until:
            return exact[:1]
        if not _ASKING.isdisjoint(window["names"]) and (
            commit := self._find_in_history(path, now[1])
        ):
            return [[commit, path, now[1]]]
        fresh = self._read_lines(now[1]) - (self._read_lines(was[1]) if was else set())
        counted = [(len(fresh & self._read_lines(source[2])), source) for source in places]
        for place, lines in self._read_files(window).items():
            if place == os.path.join(self._repo.worktree, path):
                continue
            if shared := fresh & line_evidence.select_significant({*lines}):
                blob = self._objects.write("blob", b"\n".join(lines) + b"\n")
                counted.append((len(shared), ["", "", blob]))
        counted.sort(key=lambda pair: -pair[0])
        return [source for count, source in counted if count][:_MOST]

    def _find_in_history(self, path: str, oid: str) -> str:
        """A commit that has a blob at a path, of all that there are; '' where none was found."""
        ask = "log --all --full-history -2 --format=%H --no-show-signature".split()
        ask += [f"--find-object={oid}", "--", path]
        if self._history <= 0:
            return ""
        began = monotonic()
        try:
            _, out = self._repo.git.start(*ask).finish(limit=self._history)
        except Error:
            return ""
        finally:
            self._history -= monotonic() - began
        entry = (c for c in out.decode().split() if self._find_blob(c, path) == oid)
        return next(entry, "")

    def _find_blob(self, commit: str, path: str) -> str:
        entry = Lookup(self._objects, find_tree(self._objects, commit))(path)
        return entry[1] if entry else ""

    def _read_lines(self, oid: str) -> set[bytes]:
        blob = self._objects.read(oid)
        lines = replay.split(oid, blob[2] if blob and blob[1] == "blob" else None)
        return line_evidence.select_significant({*lines})

    def _list_places(self, window: Window, path: str) -> Iterator[Source]:
        """Where the named commits have the path, or another that is named; HEAD's own path is
        what the content was made of."""
        commits, seen = self._find_commits(window), set[str]()
        if window["who"] not in self._other_paths:
            words = [word.removeprefix("./") for word in list(window["names"])[:_WORDS]]
            words = [self._resolve_elsewhere(word)[1] or word for word in words]
            known = [w for w in words if any(look(w) for look in commits.values())]
            self._other_paths[window["who"]] = list(dict.fromkeys(known))
        for commit, look in commits.items():
            for place in dict.fromkeys((path, *self._other_paths[window["who"]])):
                entry = look(place) if not (commit == self._head and place == path) else None
                if entry and entry[0] in _BLOBS and entry[1] not in seen:
                    seen.add(entry[1])
                    yield [commit, place, entry[1]]

    def _find_commits(self, window: Window) -> dict[str, Lookup]:
        """The commits that a command names, with their parents, and HEAD."""
        if window["who"] not in self._commits:
            names = [*self._list_commit_names(self._list_words(window)), *window.get("stashes", ())]
            if "stash" in window["names"]:
                names += reflog.list_stashes(self._repo)
            trees: dict[str, str] = {}
            for name in dict.fromkeys(names):
                self._add_commit(trees, name)
            self._add_commit(trees, self._head, parents=False)
            lookups = {commit: Lookup(self._objects, tree) for commit, tree in trees.items()}
            self._commits[window["who"]] = lookups
        return self._commits[window["who"]]

    def _list_words(self, window: Window) -> list[str]:
        """The words of a command, and of those before it of its session that name a file which it
        names: one has made the patch that the other applies."""
        words = list(window["names"])[:_WORDS]
        places = {w for w in words if os.path.isfile(os.path.join(self._repo.worktree, w))}
        for call in entries.list_calls(self._lines) if places else ():
            before = call["session"] == window["who"][0] and str(call["open"]) != window["who"][2]
            if before and not places.isdisjoint(call["names"]):
                words += call["names"][:_WORDS]
        return words

    def _add_commit(self, trees: dict[str, str], name: str, parents: bool = True) -> None:
        commit = read_commit(self._objects, name) if len(trees) < _COMMITS else None
        if commit:
            trees[commit["oid"]] = commit["tree"]
            for parent in commit["parents"] if parents else ():
                self._add_commit(trees, parent, parents=False)

    def _list_commit_names(self, words: Iterable[str]) -> Iterator[str]:
        """The words as names of commits: HEAD is where it was before."""
        for word in words:
            for name in filter(None, word.replace("...", "..").split("..")):
                plain = name.removeprefix("HEAD").removeprefix("@")
                relative = plain != name and plain[:1] in ("", "~", "^")
                yield self._head + plain if relative else name
            if worktree := self._resolve_elsewhere(word)[0]:
                yield worktree

    def _resolve_elsewhere(self, word: str) -> tuple[str, str]:
        """(the name of HEAD in another worktree that a word leads into, the path there)."""
        if "/" not in word:
            return "", ""
        place = os.path.realpath(os.path.join(self._repo.worktree, word))
        for head, top in self._list_worktrees():
            if place.startswith(top + os.sep) and top != self._repo.worktree:
                return head, os.path.relpath(place, top)
        return "", ""

    def _is_ours(self, place: str) -> bool:
        """Whether a file lies in a worktree of the repository."""
        return place.startswith(self._repo.worktree + os.sep) or bool(
            self._resolve_elsewhere(place)[0]
        )

    def _list_worktrees(self) -> Iterator[tuple[str, str]]:
        folder = os.path.join(self._repo.common, "worktrees")
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            pointer = files.peek(os.path.join(folder, name, "gitdir")).decode(errors="replace")
            if pointer:
                yield f"worktrees/{name}/HEAD", os.path.realpath(os.path.dirname(pointer.strip()))
        if os.path.basename(self._repo.common) == ".git":
            yield "main-worktree/HEAD", os.path.realpath(os.path.dirname(self._repo.common))

    def _read_files(self, window: Window) -> dict[str, list[bytes]]:
        """The lines that files bring which a command names and its session has not made: what
        patches add, and what stands in the worktrees, be it committed or not."""
        if window["who"] not in self._files:
            session_id = window["who"][0]
            own = (line for line in self._lines if line.get("session") == session_id)
            begun = min((int(line["at"]) for line in own), default=window["begin"])
            added: dict[str, list[bytes]] = {}
            for word in list(window["names"])[:_WORDS]:
                place = os.path.join(self._repo.worktree, word)
                path = os.path.relpath(place, self._repo.worktree)
                is_known = self._is_ours(place) and session_id not in entries.list_writers(
                    self._lines, [path]
                )
                stood = _has_stood(place, window["begin"] if is_known else begun)
                data = files.peek(place, -_LARGEST) if stood else b""
                if lines := _list_added_lines(data) or (
                    data.split(b"\n") if self._is_ours(place) else []
                ):
                    added[place] = lines
            self._files[window["who"]] = added
        return self._files[window["who"]]


def _has_stood(path: str, begun: int) -> bool:
    try:
        return os.stat(path).st_mtime_ns < begun and os.path.isfile(path)
    except (OSError, ValueError):
        return False


def _list_added_lines(patch: bytes) -> list[bytes]:
    """The lines that a patch adds; none of what is no patch."""
    lines = patch.split(b"\n")
    if not any(line.startswith(b"@@ ") for line in lines):
        return []
    return [line[1:] for line in lines if line[:1] == b"+" and line[:4] != b"+++ "]
