"""Which streams are live: where a recorded path still stands at a branch's tip.

A stream that another base names may follow to this one (doc/behaviour.md "When HEAD moves").
"""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.store.git.tree import Lookup, tree_of
from gitcp.store.session import markers
from gitcp.store.stream import branches
from gitcp.store.stream.shadow_refs import ARCHIVE, branch, read, sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Entry, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def follows(repo: Repo, objects: Objects, tip: Tip, base: str) -> bool:
    """Whether a stream that another base names is to move to base
    (doc/behaviour.md "When HEAD moves").

    Some of its files are here as they were recorded, and a session of it still believes in the
    old base: one that has seen another let the stream stay behind.  A file that is merely changed
    may be the person's, who came here to mend something else.
    """
    parsed = ids.parse_shadow(tip["ref"])
    old = parsed["base7"] if parsed else ""
    named = branches.named_paths(repo, tip["stream"], sessions(objects, tip))
    bases = (marker["base_commit"] for name in named if (marker := markers.find(repo, name)))
    if not old or not any(commit.startswith(old) for commit in bases):
        return False

    paths = set[str]().union(*named.values())
    from gitcp.store.snapshot import blobs  # seldom needed: a base that moved unseen

    now, recorded = blobs.dirty_among(repo, objects, paths, base), Lookup(objects, tip["tree"])
    return any(entry == recorded(path) for path, entry in now.items())


class Live:
    """The live streams of a worktree at a base, to ask whether a recorded path is live.

    A path is live when its stream stands at a branch's tip and the tip still records it;
    what a live path holds is what the tip holds.  A stream that an older
    base names is live where its work is in the worktree: no event has moved it yet.
    """

    def __init__(self, repo: Repo, objects: Objects, base: str) -> None:
        self._repo, self._objects = repo, objects
        self._at: dict[str, Tip | None] = {}
        self._tips: dict[str, Lookup] = {}
        self._bases: dict[str, Lookup | None] = {}
        self._base, self._branch = base, branch(repo, base)
        self._here: dict[str, bool] = {}

    def tip(self, stream_id: str, ref: str) -> Tip | None:
        """The tip of a stream that is live here: under the base's branch or its own ref."""
        for name in dict.fromkeys((self._branch, ref)):
            if name.startswith(ARCHIVE):
                continue
            if name not in self._at:
                try:
                    self._at[name] = read(self._objects, name)
                except Error:
                    self._at[name] = None
            tip = self._at[name]
            if tip and tip["stream"] == stream_id and self._follows(tip):
                return tip
        return None

    def _follows(self, tip: Tip) -> bool:
        if tip["ref"] == self._branch or tip["ref"].startswith(self._branch + "-"):
            return True
        if tip["ref"] not in self._here:
            self._here[tip["ref"]] = follows(self._repo, self._objects, tip, self._base)
        return self._here[tip["ref"]]

    def entry(self, stream_id: str, ref: str, path: str) -> tuple[bool, Entry | None]:
        """(live, what the tip records at path)."""
        tip = self.tip(stream_id, ref)
        if tip is None:
            return False, None
        if tip["oid"] not in self._tips:
            self._tips[tip["oid"]] = Lookup(self._objects, tip["tree"])
        base, entry = self._read_base(tip["base"]), self._tips[tip["oid"]](path)
        return entry != (base(path) if base else None), entry

    def _read_base(self, commit: str) -> Lookup | None:
        """The files of a base, none of an unborn one; None where it is gone."""
        if commit not in self._bases:
            tree = tree_of(self._objects, commit)
            known = tree or not commit.strip("0")
            self._bases[commit] = Lookup(self._objects, tree) if known else None
        return self._bases[commit]
