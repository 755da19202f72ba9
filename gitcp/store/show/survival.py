"""How long the agents' lines of a history last, by a replay of its patches.

A first stream of git counts the children of each commit, and a second one lists the changes of
merges from their first parent.  A commit's files are those of its parent with its patches applied;
they are dropped after its last child.
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
OPTIONS = (*_ORDER, "-c")  # of ranges.list_commits(), for the order of replay_commit()
_MERGES = """--merges --diff-merges=first-parent --raw --no-abbrev --no-renames --no-color
--no-show-signature --no-notes --format=%H""".split()


class Replay:
    """Replays a history in paths (none: all of it) and counts which lines of agents last."""

    def __init__(
        self, repo: Repo, evidence: Evidence, revisions: Sequence[str], paths: Sequence[str]
    ) -> None:
        """Raises Error for an unknown revision."""
        self._repo, self._evidence = repo, evidence
        self._where = [b"--end-of-options", *map(encode_name, revisions or ["HEAD"]), b"--"]
        self._paths = paths
        self.survival = Survival()
        self._children: dict[str, int] = {}  # commit -> its children to come, if not 1
        self._kept: dict[str, Files] = {}
        self._files: Files = {}
        self.commits, merges = self._count_commits()
        self._merges = self._read_merges() if merges else iter(())

    def replay_commit(self, commit: Commit) -> None:
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
        try:
            yield from self._repo.git.stream_records("log", "-z", *args, *self._where)
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

    def _apply_patches(self, commit: Commit, files: Files) -> None:
        default = sums.get_default_owner(commit)
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
                    owners, patch["hunks"], known, default, lambda: _find_remover(commit)
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


def _find_remover(commit: Commit) -> str:
    """Who removed the lines of a commit; 'unknown' if several did."""
    removers = [who for who, count in sums.count_removed(commit).items() if count]
    return removers[0] if len(removers) == 1 else "unknown"
