"""The edits of sessions that no work needs any more: which they are, and letting go of them."""

from __future__ import annotations

import os

from gitcp.core.decide import orphan_rules
from gitcp.errors import Busy
from gitcp.lock import exclusive
from gitcp.store.care import space
from gitcp.store.git import refs
from gitcp.store.journal import edits_ref
from gitcp.store.pack import dropping, kept
from gitcp.store.session import markers
from gitcp.store.session import state as states
from gitcp.store.session.process import is_alive
from gitcp.store.turn import session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import State
    from gitcp.repo import Repo


def list_surplus(repo: Repo) -> list[str]:
    """The settled sessions whose edits are too much, the oldest first (gitcp.max-edits)."""
    ceiling = repo.config.get_option("gitcp.max-edits")
    if _count_pinned(repo) <= ceiling:
        return []
    sizes: dict[str, int] = {}
    for item in space.list_edits(repo):
        sizes[item["session_id"]] = sizes.get(item["session_id"], 0) + item["bytes"]
    return orphan_rules.choose_surplus(sizes, _list_settled(repo, sizes), ceiling)


def enforce_ceiling(repo: Repo) -> None:
    """Let go of the edits of those sessions; one that is at work again stays."""
    there = refs.list_refs(repo, edits_ref.PREFIX)
    known, gone = set(states.list_ids(repo)), list[str]()
    for session_id in list_surplus(repo):
        mine = [ref for ref in there if edits_ref.find_session(ref, known) == session_id]
        try:
            with exclusive(repo, f"session-{session_id}", 0):
                if is_settled(repo, session_id):
                    doomed = [(ref, None, there[ref]) for ref in mine]
                    refs.update_refs(repo, doomed, "gitcp: max-edits")
                    gone += [there[ref] for ref in mine]
        except Busy:
            continue
    dropping.unpin_tips(repo, gone)


def is_settled(repo: Repo, session_id: str) -> bool:
    """Whether no work of a session is open: it has none, or has no state any more."""
    if session_id in states.list_ids(repo):
        return orphan_rules.is_settled(session_read.read_state(repo, session_id))
    return session_id not in markers.list_ids(repo)


def get_last_seen(state: State) -> float:
    """When a session last did something, in seconds since 1970; 0 where it does not say."""
    keys = ("last_interaction_time", "ended_at", "started_at")
    return max(session_read.parse_time(state.get(key)) for key in keys)


def _list_settled(repo: Repo, sessions: Iterable[str]) -> list[str]:
    """Those that are settled, whoever's agent is gone before the others, the oldest first."""
    order: list[tuple[bool, float, str]] = []
    there = set(states.list_ids(repo))
    for session_id in filter(None, sessions):
        if is_settled(repo, session_id):
            state = session_read.read_state(repo, session_id) if session_id in there else None
            runs = bool(state and is_alive(state.get("agent_process")))
            order.append((runs, get_last_seen(state) if state else 0.0, session_id))
    return [session_id for _, _, session_id in sorted(order)]


def _count_pinned(repo: Repo) -> int:
    """Bytes of the packs of ours, which have the edits until git takes them over."""
    folder, total = kept.locate_folder(repo), 0
    for name in kept.list_packs(repo):
        try:
            total += os.stat(os.path.join(folder, f"{name}.pack")).st_size
        except OSError:
            continue  # joined with others meanwhile
    return total
