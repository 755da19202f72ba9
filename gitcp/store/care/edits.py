"""Deleting the edits of settled sessions when all edits take more than gitcp.max-edits."""

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
    """The settled sessions whose edits exceed gitcp.max-edits, the oldest first."""
    ceiling = repo.config.get_option("gitcp.max-edits")
    if _count_pinned(repo) <= ceiling:
        return []
    sizes: dict[str, int] = {}
    for item in space.list_edits(repo):
        sizes[item["session_id"]] = sizes.get(item["session_id"], 0) + item["bytes"]
    return orphan_rules.choose_surplus(sizes, _list_settled(repo, sizes), ceiling)


def enforce_ceiling(repo: Repo) -> None:
    """Delete the edits of the sessions of list_surplus(), except of one that is at work again."""
    tips = refs.list_refs(repo, edits_ref.PREFIX)
    known, gone = set(states.list_ids(repo)), list[str]()
    for session_id in list_surplus(repo):
        doomed = [ref for ref in tips if edits_ref.find_session(ref, known) == session_id]
        try:
            with exclusive(repo, f"session-{session_id}", 0):
                if is_settled(repo, session_id):
                    updates = [(ref, None, tips[ref]) for ref in doomed]
                    refs.update_refs(repo, updates, "gitcp: max-edits")
                    gone += [tips[ref] for ref in doomed]
        except Busy:
            continue
    dropping.unpin_tips(repo, gone)


def is_settled(repo: Repo, session_id: str) -> bool:
    """Whether a session has no open work, or neither a state nor a marker."""
    if session_id in states.list_ids(repo):
        return orphan_rules.is_settled(session_read.read_state(repo, session_id))
    return session_id not in markers.list_ids(repo)


def get_last_seen(state: State) -> float:
    """The time of a session's last event, in seconds since 1970; 0 if unknown."""
    keys = ("last_interaction_time", "ended_at", "started_at")
    return max(session_read.parse_time(state.get(key)) for key in keys)


def _list_settled(repo: Repo, sessions: Iterable[str]) -> list[str]:
    """The settled sessions, the oldest first; those whose agent still runs come last."""
    order: list[tuple[bool, float, str]] = []
    known = set(states.list_ids(repo))
    for session_id in filter(None, sessions):
        if is_settled(repo, session_id):
            state = session_read.read_state(repo, session_id) if session_id in known else None
            runs = bool(state and is_alive(state.get("agent_process")))
            order.append((runs, get_last_seen(state) if state else 0.0, session_id))
    return [session_id for _, _, session_id in sorted(order)]


def _count_pinned(repo: Repo) -> int:
    """The bytes of gitcp's own packs, which hold the edits until git packs them."""
    folder, total = kept.locate_folder(repo), 0
    for name in kept.list_packs(repo):
        try:
            total += os.stat(os.path.join(folder, f"{name}.pack")).st_size
        except OSError:
            continue  # merged into another pack meanwhile
    return total
