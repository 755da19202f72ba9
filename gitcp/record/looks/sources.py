"""The sources of content that a command brings in: the commits and stashes that it names, other
worktrees, and patches.

A source is [commit, path, blob]; for a patch outside commits ["", "", blob of its lines].
"""

from __future__ import annotations

import os
from time import monotonic, process_time

from gitcp.errors import Error
from gitcp.git import files, refs
from gitcp.git.objects import Lookup, find_tree, read_commit
from gitcp.record.journal import credit
from gitcp.text import line_evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.record.looks.credit_cases import Window
    from gitcp.text.record_types import Version, Writer

    Source = list[str]

_WORDS = 60  # words of a command that are looked up
_COMMITS = 40  # commits that are read for them
_MOST = 4  # sources of one content
_LARGEST = 1 << 20  # bytes of a file that are read
_SECONDS = 0.3  # processor time in a look for comparing lines
_HISTORY = 0.5  # seconds in a look for git to find blobs in history
# Commands of git that bring in content of a commit which they need not name.
_ASKING = frozenset(("checkout", "restore", "show", "cat-file", "read-tree", "stash"))
_BLOBS = ("100644", "100755", "120000")


class Sources:
    """The sources of what a look finds.  The words of each command are looked up once."""

    def __init__(self, repo: Repo, lines: Sequence[JournalLine], head: str) -> None:
        """head: where HEAD was before the look."""
        self._repo = repo
        self._lines = lines
        self._head = head
        self._until = process_time() + _SECONDS
        self._history = _HISTORY
        self._commits: dict[Writer, dict[str, Lookup]] = {}
        self._other_paths: dict[Writer, list[str]] = {}
        self._files: dict[Writer, dict[str, list[bytes]]] = {}

    def find_sources(
        self, window: Window, path: str, before: Version, after: Version
    ) -> list[Source]:
        """The sources of what a command added at a path, those with most lines first.  A source
        with exactly this content is returned alone."""
        if after is None or after[0] not in _BLOBS:
            return []
        candidates = list(self._list_blobs(window, path))
        exact = [source for source in candidates if source[2] == after[1]]
        if exact or process_time() > self._until:
            return exact[:1]
        if not _ASKING.isdisjoint(window.names):
            commit = self._find_in_history(path, after[1])
            if commit:
                return [[commit, path, after[1]]]
        added = self._read_lines(after[1]) - (self._read_lines(before[1]) if before else set())
        counted = [(len(added & self._read_lines(source[2])), source) for source in candidates]
        for file, lines in self._read_files(window).items():
            if file == os.path.join(self._repo.worktree, path):
                continue
            shared = added & line_evidence.select_significant({*lines})
            if shared:
                blob = self._repo.objects.write("blob", b"\n".join(lines) + b"\n")
                counted.append((len(shared), ["", "", blob]))
        counted.sort(key=lambda pair: -pair[0])
        return [source for count, source in counted if count][:_MOST]

    def _find_in_history(self, path: str, oid: str) -> str:
        """A commit of any ref that has a blob at a path; '' if none was found in time."""
        arguments = "log --all --full-history -2 --format=%H --no-show-signature".split()
        arguments += [f"--find-object={oid}", "--", path]
        if self._history <= 0:
            return ""
        began = monotonic()
        try:
            _, out = self._repo.git.start(*arguments).finish(limit=self._history)
        except Error:
            return ""
        finally:
            self._history -= monotonic() - began
        for commit in out.decode().split():
            if self._find_blob(commit, path) == oid:
                return commit
        return ""

    def _find_blob(self, commit: str, path: str) -> str:
        entry = Lookup(self._repo.objects, find_tree(self._repo.objects, commit))(path)
        return entry[1] if entry else ""

    def _read_lines(self, oid: str) -> set[bytes]:
        lines = line_evidence.split_text_lines(oid, self._repo.objects.read_blob(oid))
        return line_evidence.select_significant({*lines})

    def _list_blobs(self, window: Window, path: str) -> Iterator[Source]:
        """The blobs of named commits at the path or at another named path; not HEAD's own, which
        the command changed."""
        commits = self._find_commits(window)
        seen = set[str]()
        if window.who not in self._other_paths:
            words = [word.removeprefix("./") for word in list(window.names)[:_WORDS]]
            words = [self._resolve_elsewhere(word)[1] or word for word in words]
            paths = [word for word in words if any(lookup(word) for lookup in commits.values())]
            self._other_paths[window.who] = list(dict.fromkeys(paths))
        for commit, lookup in commits.items():
            for place in dict.fromkeys((path, *self._other_paths[window.who])):
                entry = None
                if (commit, place) != (self._head, path):
                    entry = lookup(place)
                if entry and entry[0] in _BLOBS and entry[1] not in seen:
                    seen.add(entry[1])
                    yield [commit, place, entry[1]]

    def _find_commits(self, window: Window) -> dict[str, Lookup]:
        """The trees of HEAD, the commits that a command names, and their parents."""
        if window.who not in self._commits:
            names = [*self._list_commit_names(self._list_words(window)), *window.stashes]
            if "stash" in window.names:
                names += refs.list_stashes(self._repo)
            trees: dict[str, str] = {}
            for name in dict.fromkeys(names):
                self._add_commit(trees, name)
            self._add_commit(trees, self._head, parents=False)
            lookups = {commit: Lookup(self._repo.objects, tree) for commit, tree in trees.items()}
            self._commits[window.who] = lookups
        return self._commits[window.who]

    def _list_words(self, window: Window) -> list[str]:
        """The words of a command, and those of its session's earlier commands that name one of
        its files: they may have written the patch that it applies."""
        words = list(window.names)[:_WORDS]
        named = {word for word in words if os.path.isfile(os.path.join(self._repo.worktree, word))}
        if not named:
            return words
        session_id, _, call_id = window.who
        for call in credit.list_calls(self._lines):
            is_other = call.session == session_id and call.opening.call != call_id
            if is_other and not named.isdisjoint(call.names):
                words += call.names[:_WORDS]
        return words

    def _add_commit(self, trees: dict[str, str], name: str, parents: bool = True) -> None:
        commit = None
        if len(trees) < _COMMITS:
            commit = read_commit(self._repo.objects, name)
        if commit:
            trees[commit["oid"]] = commit["tree"]
            for parent in commit["parents"] if parents else ():
                self._add_commit(trees, parent, parents=False)

    def _list_commit_names(self, words: Iterable[str]) -> Iterator[str]:
        """The words as names of commits, HEAD being the commit before the look."""
        for word in words:
            for name in filter(None, word.replace("...", "..").split("..")):
                suffix = name.removeprefix("HEAD").removeprefix("@")
                relative = suffix != name and suffix[:1] in ("", "~", "^")
                yield self._head + suffix if relative else name
            worktree = self._resolve_elsewhere(word)[0]
            if worktree:
                yield worktree

    def _resolve_elsewhere(self, word: str) -> tuple[str, str]:
        """(the name of HEAD, the path) in the other worktree that a word names; ('', '') if it
        names none."""
        if "/" not in word:
            return "", ""
        target = os.path.realpath(os.path.join(self._repo.worktree, word))
        for head, top in self._list_worktrees():
            if target.startswith(top + os.sep) and top != self._repo.worktree:
                return head, os.path.relpath(target, top)
        return "", ""

    def _is_in_worktree(self, path: str) -> bool:
        """Whether a file is in some worktree of the repository."""
        return path.startswith(self._repo.worktree + os.sep) or bool(
            self._resolve_elsewhere(path)[0]
        )

    def _list_worktrees(self) -> Iterator[tuple[str, str]]:
        folder = os.path.join(self._repo.common, "worktrees")
        if os.path.isdir(folder):
            for name in os.listdir(folder):
                pointer = files.peek(os.path.join(folder, name, "gitdir")).decode(errors="replace")
                if pointer:
                    yield (
                        f"worktrees/{name}/HEAD",
                        os.path.realpath(os.path.dirname(pointer.strip())),
                    )
        if os.path.basename(self._repo.common) == ".git":
            yield "main-worktree/HEAD", os.path.realpath(os.path.dirname(self._repo.common))

    def _read_files(self, window: Window) -> dict[str, list[bytes]]:
        """path -> lines of the files that a command names and its session has not written: the
        added lines of a patch, else all lines of a file in a worktree."""
        if window.who not in self._files:
            first = window.begin
            for line in self._lines:
                if line.session == window.who[0]:
                    first = min(first, line.at)
            lines_by_file: dict[str, list[bytes]] = {}
            for word in list(window.names)[:_WORDS]:
                file = os.path.join(self._repo.worktree, word)
                lines = self._read_file(file, window, first)
                if lines:
                    lines_by_file[file] = lines
            self._files[window.who] = lines_by_file
        return self._files[window.who]

    def _read_file(self, file: str, window: Window, first: int) -> list[bytes]:
        """The lines that a command may take from a file; first: when its session's first line was
        written, in ns."""
        session_id = window.who[0]
        path = os.path.relpath(file, self._repo.worktree)
        is_inside = self._is_in_worktree(file)
        until = first
        if is_inside and session_id not in credit.list_writers(self._lines, [path]):
            until = window.begin
        if not _is_older(file, until):
            return []
        data = files.peek(file, -_LARGEST)
        added = _list_added_lines(data)
        if added or not is_inside:
            return added
        return data.split(b"\n")


def _is_older(path: str, time: int) -> bool:
    """Whether a path is a file that was last changed before a time in ns."""
    try:
        return os.stat(path).st_mtime_ns < time and os.path.isfile(path)
    except (OSError, ValueError):
        return False


def _list_added_lines(patch: bytes) -> list[bytes]:
    """The lines that a patch adds; [] if the text is not a patch."""
    lines = patch.split(b"\n")
    if not any(line.startswith(b"@@ ") for line in lines):
        return []
    return [line[1:] for line in lines if line[:1] == b"+" and line[:4] != b"+++ "]
