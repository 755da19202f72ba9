"""The shadow branches of a base in this worktree: the one that a session is on, and the live
ones."""

from __future__ import annotations

from gitcp import trace
from gitcp.console import notice
from gitcp.core.git import ids
from gitcp.errors import Foreign
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
    """The value of gitcp.streams: 'overlap' (default) or 'suffix'."""
    return str(repo.config.get_option("gitcp.streams"))


def map_suffixes(repo: Repo, base: str) -> dict[int, str]:
    """number -> ref of the suffix branches of base in this worktree."""
    by_number = {}
    # Old names without a worktree are shorter and come first: the new ones replace them.
    for ref in sorted(list_refs(repo, base), key=lambda ref: len(ids.parse_stream_name(ref))):
        parsed = ids.parse_shadow(ref)
        if parsed and parsed["suffix"] is not None:
            by_number[parsed["suffix"]] = ref
    return by_number


def list_refs(repo: Repo, base: str, candidates: Iterable[str] | None = None) -> list[str]:
    """The shadow branches of base in this worktree, in any mode and by either program.

    candidates: the refs to choose from; by default all.
    """
    plain = ids.parse_stream_name(shadow_refs.build_ref(repo, base))
    patterns = [f"{prefix}{base[:7]}*" for prefix in shadow_refs.PREFIXES]
    matching = []
    for ref in refs.list_refs(repo, *patterns) if candidates is None else candidates:
        parsed, name = ids.parse_shadow(ref), ids.parse_stream_name(ref)
        if not parsed or not base.startswith(parsed["base7"]):
            continue
        if parsed["worktree"] is None or name == plain or name.startswith(plain + "-"):
            matching.append(ref)
    return matching


def map_named_paths(repo: Repo, stream_id: str, candidates: Iterable[str]) -> dict[str, set[str]]:
    """session -> its unsettled paths on a stream, for the sessions of this worktree on it.
    candidates: sessions to read though their markers rest."""
    return {
        marker["session_id"]: set(stream["files"])
        for marker in markers.read_concerned(repo, candidates)
        if markers.is_home(repo, marker)
        and any(named["id"] == stream_id for named in marker["streams"])
        for stream in work.list_open_streams(repo, marker)
        if stream["id"] == stream_id
    }


def _read_own(repo: Repo, objects: Objects, base: str) -> Tip | None:
    """The stream of base.  If the person has a branch of that name, warn and take the next name
    for base."""
    while True:
        ref = shadow_refs.build_ref(repo, base)
        tip = _read(repo, objects, ref)
        next_ref = shadow_refs.build_ref(repo, base)
        if next_ref == ref:
            return tip
        notice.warn(f"'{ref}' is not gitcp's; '{next_ref}' is taken instead")


def _read(repo: Repo, objects: Objects, ref: str) -> Tip | None:
    try:
        return shadow_refs.read_tip(objects, ref)
    except Foreign as e:
        trace.append_note("stream", str(e))
        shadow_refs.add_foreign(repo, ref)
        return None


def find_current(repo: Repo, objects: Objects, state: State, base: str) -> Tip | None:
    """The stream that a session is on at base: its own last one, else the newest."""
    if get_mode(repo) == "overlap":
        tip = _read_own(repo, objects, base)
        return tip or _read(repo, objects, ids.BRANCHES + base[:7])
    tips = {}
    for number, ref in map_suffixes(repo, base).items():
        tip = _read(repo, objects, ref)
        if tip:
            tips[number] = tip
    own_ids = [s["id"] for s in state["streams"]]
    own_tips = [(own_ids.index(t["stream"]), t) for t in tips.values() if t["stream"] in own_ids]
    if own_tips:
        return max(own_tips, key=lambda pair: pair[0])[1]
    return tips[max(tips)] if tips else None


def should_follow(repo: Repo, objects: Objects, tip: Tip, base: str) -> bool:
    """Whether a stream of another base moves to base (doc/behaviour.md "When HEAD moves").

    It moves if a session on it still has the old base, and some dirty file is as the stream
    recorded it.  A file with other changes may be the person's.
    """
    parsed = ids.parse_shadow(tip["ref"])
    old_base = parsed["base7"] if parsed else ""
    paths_by_session = map_named_paths(repo, tip["stream"], shadow_refs.list_sessions(objects, tip))
    stored = (markers.find(repo, session_id) for session_id in paths_by_session)
    bases = (marker["base_commit"] for marker in stored if marker)
    if not old_base or not any(commit.startswith(old_base) for commit in bases):
        return False
    paths = set[str]().union(*paths_by_session.values())
    present = late.blobs.list_dirty(repo, objects, paths, base)
    recorded = Lookup(objects, tip["tree"])
    return any(entry == recorded(path) for path, entry in present.items())


def find_live(repo: Repo, objects: Objects, base: str, stream_id: str, ref: str = "") -> Tip | None:
    """The tip of a stream that is live at a base: on the base's branch, or on ref if its work is
    here and no event has moved it yet; None otherwise."""
    branch = shadow_refs.build_ref(repo, base)
    for candidate in filter(None, dict.fromkeys((branch, ref))):
        if candidate.startswith(shadow_refs.ARCHIVE):
            continue
        tip = shadow_refs.peek_tip(objects, candidate)
        is_at_base = candidate == branch or candidate.startswith(branch + "-")
        if (
            tip
            and tip["stream"] == stream_id
            and (is_at_base or should_follow(repo, objects, tip, base))
        ):
            return tip
    return None
