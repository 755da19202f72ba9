"""What becomes of the agents' lines of a history: its patches replayed as they come.

One stream of git beside that of the patches tells of merges what they have otherwise than their
first parent, one before them how many children a commit has.  A commit's files are those of its
parent, changed; they are let go of with its last child.
"""

from __future__ import annotations

from gitcp.core.stats import sums
from gitcp.core.stats.survival import Survival
from gitcp.errors import GitError
from gitcp.record import decode_name, encode_name
from gitcp.store.lines import ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gitcp.core.stats.sums import Commit
    from gitcp.core.stats.survival import Files
    from gitcp.repo import Repo
    from gitcp.store.lines.evidence import Evidence

_ORDER = ("--reverse", "--topo-order")
OPTIONS = (*_ORDER, "-c")  # of ranges.list_commits(), for take() to have them in its order
_MERGES = """--merges --diff-merges=first-parent --raw --no-abbrev --no-renames --no-color
--no-show-signature --no-notes --format=%H""".split()


class Replay:
    """What becomes of the agents' lines of a history in paths (none: all of it)."""

    def __init__(
        self, repo: Repo, evidence: Evidence, revisions: Sequence[str], paths: Sequence[str]
    ) -> None:
        """Raises Error in git's words for what is no revision."""
        self._repo, self._evidence = repo, evidence
        self._where = [b"--end-of-options", *map(encode_name, revisions or ["HEAD"]), b"--"]
        self._paths = paths
        self.survival = Survival()
        self._children: dict[str, int] = {}  # those to come, where it is not one child
        self._kept: dict[str, Files] = {}
        self._files: Files = {}
        self.commits, merges = self._count_commits()
        self._merges = self._read_merges() if merges else iter(())

    def replay_commit(self, commit: Commit) -> None:
        """Replay one commit; they come all, in the order of OPTIONS."""
        parents = [self._take_parent(parent) for parent in commit["parents"]] or [{}]
        self._files = parents[0]
        if len(parents) > 1:
            self._merge_files(commit, parents, next(self._merges, {}))
        else:
            self._apply_patches(commit, self._files)
        if self._children.get(commit["oid"], 1):
            self._kept[commit["oid"]] = self._files

    def build_record(self) -> dict[str, Any]:
        """The sums, where the last commit taken is the last of the history."""
        next(self._merges, None)  # git ends, and whether all went well is known
        self.survival.finish(self._files)
        return self.survival.build_record()

    def _stream_log(self, *args: str) -> Iterator[bytes]:
        try:
            yield from self._repo.git.stream_records("log", "-z", *args, *self._where)
        except GitError as e:
            raise e.shorten() from None

    def _count_commits(self) -> tuple[int, int]:
        """How many commits there are, and how many of them are merges."""
        total = merges = 0
        tips: set[str] = set()
        seen: set[int] = set()  # parents; where two have the same number, a copy too many is made
        for line in self._stream_log("--no-show-signature", "--format=%H %P"):
            commit, *parents = decode_name(line).split()
            total += 1
            merges += len(parents) > 1
            if _number_commit(commit) not in seen:
                tips.add(commit)
            for parent in parents:
                number = _number_commit(parent)
                if number in seen:
                    self._children[parent] = self._children.get(parent, 1) + 1
                seen.add(number)
                tips.discard(parent)
        self._children |= dict.fromkeys(tips, 0)
        return total, merges

    def _read_merges(self) -> Iterator[dict[str, str]]:
        """path -> blob of what each merge has otherwise than its first parent, '' for nothing."""
        changed: dict[str, str] | None = None
        oid = ""
        for token in self._stream_log(*_MERGES, *_ORDER):
            if oid and changed is not None:
                changed[decode_name(token)], oid = oid.strip("0") and oid, ""
            elif token.lstrip(b"\n").startswith(b":"):
                oid = decode_name(token.split(b" ")[3])
            else:  # the name of the next one
                if changed is not None:
                    yield changed
                changed = {}
        if changed is not None:
            yield changed

    def _take_parent(self, oid: str) -> Files:
        """The files of a commit, to be changed: a copy where another child needs them too."""
        left = self._children.pop(oid, 1) - 1
        if not left:
            return self._kept.pop(oid, {})
        self._children[oid] = left
        return dict(self._kept.get(oid, {}))

    def _apply_patches(self, commit: Commit, files: Files) -> None:
        rest = sums.get_default_owner(commit)
        before = {patch["old"]: files.get(patch["old"], ("", "")) for patch in commit["patches"]}
        for patch in commit["patches"]:
            if patch["old"] != patch["path"]:
                files.pop(patch["old"], None)
        for patch in commit["patches"]:
            path, (blob, owners) = patch["path"], before[patch["old"]]
            if not ranges.is_below(path or patch["old"], self._paths):
                continue
            if patch["hunks"]:
                known = commit["known"].get(path, {})
                owners = self.survival.replay_change(
                    owners, patch["hunks"], known, rest, lambda: _find_taker(commit)
                )
            elif patch["oid"]:
                owners = ""  # binary
            if path:
                files[path] = patch["oid"] or blob, owners

    def _merge_files(self, commit: Commit, states: list[Files], brought: dict[str, str]) -> None:
        files, resolved = states[0], {p["path"]: p["resolved"] for p in commit["patches"]}
        for path, blob in brought.items():
            if not blob:
                files.pop(path, None)
                continue
            same = next((s[path] for s in states[1:] if s.get(path, ("",))[0] == blob), None)
            if same is None:
                owners = ""
                if resolved.get(path):
                    parents = [state.get(path, ("", ""))[1] for state in states]
                    known = self._evidence.find_line_authors(commit["oid"], path)
                    self._evidence.forget()
                    owners = self.survival.merge(parents, resolved[path], known)
                same = blob, owners
            files[path] = same


def _number_commit(oid: str) -> int:
    return int(oid[:15], 16)


def _find_taker(commit: Commit) -> str:
    """Who removed lines of a commit, where it was one alone."""
    takers = [who for who, count in sums.count_removed(commit).items() if count]
    return takers[0] if len(takers) == 1 else "unknown"
