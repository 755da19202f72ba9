"""The shadow branches of a base in this worktree: which of them a session is on, and which are
live."""

from __future__ import annotations

from gitcp import trace
from gitcp.console import notice
from gitcp.core.git import ids
from gitcp.errors import Error, Foreign
from gitcp.start import late
from gitcp.store.git import refs
from gitcp.store.git.tree import Lookup
from gitcp.store.journal import work
from gitcp.store.session import markers
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import State, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def get_mode(repo: Repo) -> str:
    """gitcp.streams: 'overlap' (default) or 'suffix'."""
    return str(repo.config.get_option("gitcp.streams"))


def map_suffixes(repo: Repo, base: str) -> dict[int, str]:
    """The numbers of the suffix branches of base in this worktree -> their refs."""
    by_number = {}
    # Names from before worktrees had their own come first: ours replace them.
    for ref in sorted(list_refs(repo, base), key=lambda ref: len(ids.parse_stream_name(ref))):
        parsed = ids.parse_shadow(ref)
        if parsed and parsed["suffix"] is not None:
            by_number[parsed["suffix"]] = ref
    return by_number


def list_refs(repo: Repo, base: str, among: Iterable[str] | None = None) -> list[str]:
    """The shadow branches of base in this worktree, whichever mode and program named them.

    among: the refs to choose from, where the caller has listed them.
    """
    plain = ids.parse_stream_name(shadow_refs.build_ref(repo, base))
    below = [f"{place}{base[:7]}*" for place in shadow_refs.PLACES]
    matching = []
    for ref in refs.list_refs(repo, *below) if among is None else among:
        parsed, name = ids.parse_shadow(ref), ids.parse_stream_name(ref)
        if not parsed or not base.startswith(parsed["base7"]):
            continue
        if parsed["worktree"] is None or name == plain or name.startswith(plain + "-"):
            matching.append(ref)
    return matching


def map_named_paths(repo: Repo, stream_id: str, among: Iterable[str]) -> dict[str, set[str]]:
    """session -> its unsettled paths on a stream, of the sessions of this worktree that name it;
    among: those that may, though their markers rest."""
    return {
        marker["session_id"]: set(stream["files"])
        for marker in markers.read_concerned(repo, among)
        if markers.is_home(repo, marker) and any(x["id"] == stream_id for x in marker["streams"])
        for stream in work.list_open_streams(repo, marker)
        if stream["id"] == stream_id
    }


def _read_own(repo: Repo, objects: Objects, base: str) -> Tip | None:
    """The stream of base; where the person has a branch of its name, that of the next name of
    the same shape, and the person is told."""
    while True:
        ref = shadow_refs.build_ref(repo, base)
        tip = _read(repo, objects, ref)
        other = shadow_refs.build_ref(repo, base)
        if other == ref:
            return tip
        notice.warn(f"'{ref}' is not gitcp's; '{other}' is taken instead")


def _read(repo: Repo, objects: Objects, ref: str) -> Tip | None:
    try:
        return shadow_refs.read_tip(objects, ref)
    except Foreign as e:
        trace.append_note("stream", str(e))
        shadow_refs.add_foreign(repo, ref)
        return None


def find_current(repo: Repo, objects: Objects, state: State, base: str) -> Tip | None:
    """The stream a session is on at base: its own last one, else the newest one there."""
    if get_mode(repo) == "overlap":
        here = _read_own(repo, objects, base)
        return here or _read(repo, objects, ids.BRANCHES + base[:7])
    tips = {}
    for number, ref in map_suffixes(repo, base).items():
        tip = _read(repo, objects, ref)
        if tip:
            tips[number] = tip
    own = [s["id"] for s in state["streams"]]
    mine = [(own.index(t["stream"]), t) for t in tips.values() if t["stream"] in own]
    if mine:
        return max(mine, key=lambda m: m[0])[1]
    return tips[max(tips)] if tips else None


def should_follow(repo: Repo, objects: Objects, tip: Tip, base: str) -> bool:
    """Whether a stream that another base names is to move to base
    (doc/behaviour.md "When HEAD moves").

    Some of its files are here as they were recorded, and a session of it still believes in the
    old base: one that has seen another let the stream stay behind.  A file that is merely changed
    may be the person's, who came here to mend something else.
    """
    parsed = ids.parse_shadow(tip["ref"])
    old = parsed["base7"] if parsed else ""
    named = map_named_paths(repo, tip["stream"], shadow_refs.list_sessions(objects, tip))
    bases = (marker["base_commit"] for name in named if (marker := markers.find(repo, name)))
    if not old or not any(commit.startswith(old) for commit in bases):
        return False

    paths = set[str]().union(*named.values())
    now, recorded = late.blobs.list_dirty(repo, objects, paths, base), Lookup(objects, tip["tree"])
    return any(entry == recorded(path) for path, entry in now.items())


def find_live(repo: Repo, objects: Objects, base: str, stream_id: str, ref: str = "") -> Tip | None:
    """The tip of a stream that is live at a base: under the base's branch, or under its own ref
    where its work is here and no event has moved it yet."""
    branch = shadow_refs.build_ref(repo, base)
    for name in filter(None, dict.fromkeys((branch, ref))):
        if name.startswith(shadow_refs.ARCHIVE):
            continue
        try:
            tip = shadow_refs.read_tip(objects, name)
        except Error:
            continue
        here = name == branch or name.startswith(branch + "-")
        if tip and tip["stream"] == stream_id and (here or should_follow(repo, objects, tip, base)):
            return tip
    return None
