"""The changes of a history replayed in their order, beside the commits as stats counts them.

One more stream of git has the patches, one tells of merges what they have otherwise than their
first parent, one before them how many children a commit has.  A commit's files are those of its
parent, changed; they are let go of with its last child.
"""

from __future__ import annotations

from gitcp.core.blame import authors
from gitcp.core.git import quoting
from gitcp.core.stats import patches, sums
from gitcp.core.stats.survival import Survival
from gitcp.errors import Error, GitError
from gitcp.record import raw, text
from gitcp.store.stats import history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.blame.authors import Author
    from gitcp.core.stats.patches import Patch
    from gitcp.core.stats.sums import Commit
    from gitcp.core.stats.survival import Files
    from gitcp.repo import Repo
    from gitcp.store.blame.evidence import Evidence

ORDER = ("--reverse", "--topo-order")  # in which take() wants the commits
_LOG = "log --no-color --no-show-signature --no-notes".split()
_PATCHES = """-p -c -U0 -M --root --full-index --inter-hunk-context=0 --src-prefix=a/
--dst-prefix=b/ --no-ext-diff --no-textconv --submodule=short --no-color-moved""".split()


class Replay:
    """What becomes of the agents' lines of a history in paths (none: all of it)."""

    def __init__(
        self, repo: Repo, evidence: Evidence, revisions: Sequence[str], paths: Sequence[str]
    ) -> None:
        """Raises Error in git's words for what is no revision."""
        self._repo, self._evidence = repo, evidence
        self._where = [b"--end-of-options", *map(raw, revisions or ["HEAD"]), b"--"]
        self._paths = paths
        self._survival = Survival()
        self._children: dict[str, int] = {}
        self._kept: dict[str, Files] = {}
        self._files: Files = {}
        self._patches = patches.commits(self._stream(*_PATCHES))
        self._merges = self._brought()
        self.commits = self._count()

    def take(self, commit: Commit) -> None:
        """Replay one commit; they come all, in ORDER."""
        _, changed = next(self._patches, ("", []))
        parents = [self._parent(parent) for parent in commit["parents"]] or [{}]
        self._files = parents[0]
        if len(parents) > 1:
            self._merged(commit, parents, next(self._merges, {}), changed)
        else:
            self._changed(commit, self._files, changed)
        if self._children.get(commit["oid"]):
            self._kept[commit["oid"]] = self._files

    def record(self) -> dict[str, Any]:
        """The sums, where the last commit taken is the last of the history."""
        for stream in (self._patches, self._merges):
            next(stream, None)  # git ends, and whether all went well is known
        self._survival.finish(self._files)
        return self._survival.record()

    def _stream(self, *args: str) -> Iterator[bytes]:
        argv = (*_LOG, *ORDER, f"--format={patches.MARK.decode()}%H", *args)
        try:
            yield from self._repo.git.stream(*argv, *self._where, sep=b"\n")
        except GitError as e:
            raise Error(e.complaint.removeprefix("fatal: ").partition("\n")[0]) from None

    def _count(self) -> int:
        total = 0
        for line in self._stream("--format=%P"):
            total += 1
            for parent in text(line).split():
                self._children[parent] = self._children.get(parent, 0) + 1
        return total

    def _brought(self) -> Iterator[dict[bytes, str]]:
        """path -> blob of what each merge has otherwise than its first parent, '' for nothing."""
        args = ("--merges", "--diff-merges=first-parent", "--raw", "--no-abbrev", "--no-renames")
        changed: dict[bytes, str] | None = None
        for line in self._stream(*args):
            if line.startswith(patches.MARK):
                if changed is not None:
                    yield changed
                changed = {}
            elif line.startswith(b":") and changed is not None:
                about, _, name = line.partition(b"\t")
                oid = text(about.split(b" ")[3])
                changed[quoting.unquote(name)] = oid if oid.strip("0") else ""
        if changed is not None:
            yield changed

    def _parent(self, oid: str) -> Files:
        """The files of a commit, to be changed: a copy where another child needs them too."""
        self._children[oid] -= 1
        if self._children[oid]:
            return dict(self._kept.get(oid, {}))
        del self._children[oid]
        return self._kept.pop(oid, {})

    def _changed(self, commit: Commit, files: Files, changed: list[Patch]) -> None:
        rest = "unknown" if commit["linked"] else "person"
        taker = _taker(commit, changed)
        before = {patch["old"]: files.get(patch["old"], (b"", b"")) for patch in changed}
        for patch in changed:
            if patch["old"] != patch["path"]:
                files.pop(patch["old"], None)
        for patch in changed:
            path, (blob, owners) = patch["path"], before[patch["old"]]
            if not history.below(text(path or patch["old"]), self._paths):
                continue
            if patch["hunks"]:
                known = self._known(commit, path, patch["oid"]) if path else {}
                owners = self._survival.change(owners, patch["hunks"], known, rest, taker)
            elif patch["oid"]:
                owners = b""  # binary
            if path:
                files[path] = raw(patch["oid"]) or blob, owners

    def _merged(
        self,
        commit: Commit,
        states: list[Files],
        brought: dict[bytes, str],
        changed: list[Patch],
    ) -> None:
        files, by_path = states[0], {patch["path"]: patch for patch in changed}
        for path, blob in brought.items():
            if not blob:
                files.pop(path, None)
                continue
            same = next((s[path] for s in states[1:] if s.get(path, (b"",))[0] == raw(blob)), None)
            if same is None:
                owners = b""
                if path in by_path and by_path[path]["resolved"]:
                    parents = [state.get(path, (b"", b""))[1] for state in states]
                    known = self._known(commit, path, blob)
                    owners = self._survival.merge(parents, by_path[path]["resolved"], known)
                same = raw(blob), owners
            files[path] = same

    def _known(self, commit: Commit, path: bytes, blob: str) -> Mapping[int, Author]:
        recorded = [part for part in commit["parts"] if part["lines"] is not None]
        known = authors.of_blob(recorded, text(path), blob, self._evidence.blob)
        return sums.completed(known, commit["attested"].get(text(path), {}))


def _taker(commit: Commit, changed: list[Patch]) -> str:
    """Who removed lines of a commit, where it was one alone."""
    removed = sum(hunk[1] for patch in changed for hunk in patch["hunks"])
    counts = sums.removed_of(removed, commit["linked"], commit["parts"])
    takers = [who for who, count in counts.items() if count]
    return takers[0] if len(takers) == 1 else "unknown"
