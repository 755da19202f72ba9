"""The changes of a history replayed in their order: three streams of git, whatever its length.

One tells how many children a commit has, one the messages, one the patches; a fourth tells of
merges what they have otherwise than their first parent.  A commit's files are those of its
parent, changed; they are let go of with its last child.
"""

from __future__ import annotations

from gitcp.core.blame import authors
from gitcp.core.git import quoting
from gitcp.core.message import links
from gitcp.core.stats import patches, sums
from gitcp.core.stats.survival import Survival
from gitcp.errors import Error, GitError
from gitcp.record import raw, text
from gitcp.store.git import notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.blame.authors import Author, Record
    from gitcp.core.stats.patches import Patch
    from gitcp.core.stats.survival import Files
    from gitcp.repo import Repo
    from gitcp.store.blame.evidence import Evidence

    Told = tuple[str, list[str], bool, list[Record]]  # oid, parents, linked, what is recorded
    Say = Callable[[str], None]

_ORDER = "--reverse --topo-order --no-color --no-show-signature --no-notes".split()
_PATCHES = """-p -c -U0 -M --root --full-index --inter-hunk-context=0 --src-prefix=a/
--dst-prefix=b/ --no-ext-diff --no-textconv --submodule=short --no-color-moved""".split()
_WINDOW = 256  # commits whose checkpoints are read at once
_EACH = 100  # commits between two words about how far it is


def of_history(
    repo: Repo, evidence: Evidence, revisions: Sequence[str], paths: Sequence[str], say: Say
) -> Survival:
    """What became of the agents' lines of the revisions' commits (none: HEAD) in paths.

    say tells a person how far it is.  Raises Error in git's words for what is no revision.
    """
    return _Replay(repo, evidence, revisions, [raw(path) for path in paths]).run(say)


class _Replay:
    def __init__(
        self, repo: Repo, evidence: Evidence, revisions: Sequence[str], paths: Sequence[bytes]
    ) -> None:
        self._repo, self._evidence = repo, evidence
        self._where = [b"--end-of-options", *map(raw, revisions or ["HEAD"]), b"--"]
        self._paths = paths
        self._survival = Survival()
        self._children: dict[str, int] = {}
        self._files: dict[str, Files] = {}

    def run(self, say: Say) -> Survival:
        total = self._count()
        streams = zip(self._told(), patches.commits(self._stream(*_PATCHES)), strict=True)
        merges = self._merges()
        files: Files = {}
        for done, ((oid, parents, linked, parts), (_, changed)) in enumerate(streams):
            if done % _EACH == 0:
                say(f"stats: {done} of {total} commits")
            states = [self._parent(parent) for parent in parents] or [{}]
            files = states[0]
            if len(parents) > 1:
                self._merged(oid, states, next(merges, {}), changed, parts)
            else:
                self._changed(oid, files, changed, linked, parts)
            if self._children.get(oid):
                self._files[oid] = files
        self._survival.finish(files)
        return self._survival

    def _stream(self, *args: str) -> Iterator[bytes]:
        try:
            argv = ("log", *_ORDER, f"--format={patches.MARK.decode()}%H", *args)
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

    def _told(self) -> Iterator[Told]:
        """The commits with what is recorded of them, read a window at a time."""
        form = "--format=%H%x00%P%x00%B%x00%N%x00"
        argv = ("log", *_ORDER, f"--notes={notes.REF}", form, *self._where)
        fields: list[bytes] = []
        window: list[list[bytes]] = []
        for field in self._repo.git.stream(*argv):
            fields.append(field.removeprefix(b"\n"))
            if len(fields) == 4:
                window.append(fields)
                fields = []
            if len(window) == _WINDOW:
                yield from self._recorded(window)
                window = []
        yield from self._recorded(window)

    def _recorded(self, window: list[list[bytes]]) -> Iterator[Told]:
        named = [links.named(message, note) for _, _, message, note in window]
        recorded = self._evidence.recorded
        self._evidence.prefetch_attested(text(oid) for oid, *_ in window)
        recorded.prefetch(one for ids, buried in named for one in (*ids, *buried))
        for (oid, parents, *_), (ids, buried) in zip(window, named, strict=True):
            parts = [part for one in (*ids, *buried) for part in recorded.of(one)]
            yield text(oid), text(parents).split(), bool(ids or parts), parts
        self._evidence.forget()

    def _merges(self) -> Iterator[dict[bytes, str]]:
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
            return dict(self._files.get(oid, {}))
        del self._children[oid]
        return self._files.pop(oid, {})

    def _changed(
        self, oid: str, files: Files, changed: list[Patch], linked: bool, parts: list[Record]
    ) -> None:
        rest = "unknown" if linked else "person"
        taker = _taker(changed, linked, parts)
        before = {patch["old"]: files.get(patch["old"], (b"", b"")) for patch in changed}
        for patch in changed:
            if patch["old"] != patch["path"]:
                files.pop(patch["old"], None)
        for patch in changed:
            path, (blob, owners) = patch["path"], before[patch["old"]]
            if not self._wanted(path or patch["old"]):
                continue
            if patch["hunks"]:
                known = self._known(oid, path, patch["oid"], parts) if path else {}
                owners = self._survival.change(owners, patch["hunks"], known, rest, taker)
            elif patch["oid"]:
                owners = b""  # binary
            if path:
                files[path] = raw(patch["oid"]) or blob, owners

    def _merged(
        self,
        oid: str,
        states: list[Files],
        brought: dict[bytes, str],
        changed: list[Patch],
        parts: list[Record],
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
                    known = self._known(oid, path, blob, parts)
                    owners = self._survival.merge(parents, by_path[path]["resolved"], known)
                same = raw(blob), owners
            files[path] = same

    def _known(
        self, commit: str, path: bytes, blob: str, parts: list[Record]
    ) -> Mapping[int, Author]:
        recorded = [part for part in parts if part["lines"] is not None]
        known = authors.of_blob(recorded, text(path), blob, self._evidence.blob)
        attested = self._evidence.attested(commit, [text(path)]).get(text(path), {})
        return sums.completed(known, attested)

    def _wanted(self, path: bytes) -> bool:
        return not self._paths or any(
            one == b"." or path == one or path.startswith(one + b"/") for one in self._paths
        )


def _taker(changed: list[Patch], linked: bool, parts: list[Record]) -> str:
    """Who removed lines of a commit, where it was one alone."""
    if not linked:
        return "person"
    removed = sum(hunk[1] for patch in changed for hunk in patch["hunks"])
    counts: Any = sums.removed_of(removed, linked, parts)
    takers = [who for who, count in counts.items() if count]
    return takers[0] if len(takers) == 1 else "unknown"
