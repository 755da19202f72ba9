"""How long the agents' lines of a history last, by a replay of its patches.

A first stream of git counts the children of each commit, and a second one lists the changes of
merges from their first parent.  A commit's files are those of its parent with its patches
applied; they are dropped after its last child.
"""

from __future__ import annotations

from gitcp.errors import GitError
from gitcp.git import decode_name, encode_name
from gitcp.git.repo import Repo
from gitcp.lines import absent, exports
from gitcp.lines.survival import Survival
from gitcp.lines.tally import count_commit, get_default_owner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Self

    from gitcp.lines.committed.evidence import Evidence
    from gitcp.lines.survival import Files
    from gitcp.lines.tally import CommitCounts


_ORDER = ("--reverse", "--topo-order")
OPTIONS = (*_ORDER, "-c")  # of git log, for the order of replay_commit()
_MERGES = """--merges --diff-merges=first-parent --raw --no-abbrev --no-renames --no-color
--no-show-signature --no-notes --format=%H""".split()


class Replay:
    """Replays a history in paths (none: all of it) and counts which lines of agents last."""

    def __init__(
        self, repo: Repo, evidence: Evidence, revisions: Sequence[str], paths: Sequence[str]
    ) -> None:
        self._repo = repo
        self._evidence = evidence
        self._where = [b"--end-of-options", *map(encode_name, revisions or ["HEAD"]), b"--"]
        self._paths = paths
        self.survival = Survival()
        self._children: dict[str, int] = {}  # commit -> its children to come, if not 1
        self._kept: dict[str, Files] = {}
        self._files: Files = {}
        self.commits = 0
        self._merges: Iterator[dict[str, str]] = iter(())

    def begin(self) -> Self:
        """Count the commits, before the first one is replayed; return self.  Raises Error for an
        unknown revision."""
        self.commits, merges = self._count_commits()
        if merges:
            self._merges = self._read_merges()
        return self

    def replay_commit(self, commit: CommitCounts) -> None:
        """Replay one commit.  Every commit must come, in the order of OPTIONS."""
        parents = [self._take_parent(parent) for parent in commit["parents"]] or [{}]
        self._files = parents[0]
        if len(parents) > 1:
            self._merge_files(commit, parents, next(self._merges, {}))
        else:
            self._apply_patches(commit, self._files)
        if self._children.get(commit["oid"], 1):
            self._kept[commit["oid"]] = self._files

    def build_record(self) -> dict[str, Any]:
        """The sums, after the last commit of the history."""
        next(self._merges, None)  # git ends, and an error of it is raised
        self.survival.finish(self._files)
        return self.survival.build_record()

    def _stream_log(self, *args: str) -> Iterator[bytes]:
        with absent.stand_in(self._repo, absent.ask_log(*self._where)) as stand_ins:
            running = self._repo.git.start("log", "-z", *args, *self._where, env=stand_ins.env)
            try:
                yield from running.stream_records()
            except GitError as e:
                raise e.shorten() from None

    def _count_commits(self) -> tuple[int, int]:
        """(number of commits, number of merges); fills _children."""
        total = merges = 0
        tips: set[str] = set()
        seen: set[int] = set()  # numbers of parents; equal numbers only cost a copy
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
        """For each merge, path -> blob of what differs from its first parent, '' if deleted."""
        changed: dict[str, str] | None = None
        oid = ""
        for token in self._stream_log(*_MERGES, *_ORDER):
            if oid and changed is not None:
                changed[decode_name(token)], oid = oid.strip("0") and oid, ""
            elif token.lstrip(b"\n").startswith(b":"):
                oid = decode_name(token.split(b" ")[3])
            else:  # the oid of the next merge
                if changed is not None:
                    yield changed
                changed = {}
        if changed is not None:
            yield changed

    def _take_parent(self, oid: str) -> Files:
        """The files of a commit, which may be changed: a copy if another child needs them."""
        left = self._children.pop(oid, 1) - 1
        if not left:
            return self._kept.pop(oid, {})
        self._children[oid] = left
        return dict(self._kept.get(oid, {}))

    def _apply_patches(self, commit: CommitCounts, files: Files) -> None:
        default = get_default_owner(commit)
        before = {patch["old"]: files.get(patch["old"], ("", "")) for patch in commit["patches"]}
        for patch in commit["patches"]:
            if patch["old"] != patch["path"]:
                files.pop(patch["old"], None)
        for patch in commit["patches"]:
            path, (blob, owners) = patch["path"], before[patch["old"]]
            if not exports.is_below(path or patch["old"], self._paths):
                continue
            if patch["hunks"]:
                known = commit["known"].get(path, {})
                owners = self.survival.replay_change(
                    owners, patch["hunks"], known, default, lambda: _find_remover(commit)
                )
            elif patch["oid"]:
                owners = ""  # binary
            if path:
                files[path] = patch["oid"] or blob, owners

    def _merge_files(
        self, commit: CommitCounts, states: list[Files], brought: dict[str, str]
    ) -> None:
        files = states[0]
        resolved = {p["path"]: p["resolved"] for p in commit["patches"]}
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


def _find_remover(commit: CommitCounts) -> str:
    """Who removed the lines of a commit; 'unknown' if several did."""
    removers = [who for who, count in count_commit(commit).sum_removed().items() if count]
    return removers[0] if len(removers) == 1 else "unknown"
