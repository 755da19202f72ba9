"""Who is at work in a working copy now: sessions in a turn whose agent runs."""

from __future__ import annotations

from gitcp.core.git import ids
from gitcp.errors import InputError
from gitcp.store.session import markers, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import Marker
    from gitcp.repo import Repo


def is_at_work(repo: Repo, marker: Marker) -> bool:
    """Whether a session is in a turn here and its agent runs, if that can be seen."""
    return markers.is_home(repo, marker) and markers.is_at_work(repo, marker)


def list_open(repo: Repo, session_id: str) -> set[str]:
    """The other sessions of this working copy that are open and whose agent runs, in a turn or
    not."""
    recent = (m for m in markers.read_recent(repo) if m["session_id"] != session_id)
    return {m["session_id"] for m in recent if _is_open(repo, m)}


def _is_open(repo: Repo, marker: Marker) -> bool:
    if marker["phase"] == "ended" or not markers.is_home(repo, marker):
        return False
    return process.is_at_work(marker["agent_process"], markers.read_last_heard(repo, marker))


def select_live(repo: Repo, session_ids: Iterable[str]) -> set[str]:
    """Those of session_ids, from trailers, that are at work here."""
    pairs = ((name, _find_marker(repo, name)) for name in session_ids)
    return {name for name, marker in pairs if marker and is_at_work(repo, marker)}


def list_company(repo: Repo, session_id: str) -> list[Marker]:
    """The other sessions at work in this working copy."""
    company = (m for m in markers.read_recent(repo) if m["session_id"] != session_id)
    return [marker for marker in company if is_at_work(repo, marker)]


def _find_marker(repo: Repo, name: str) -> Marker | None:
    try:
        return markers.find(repo, ids.check_session_id(name))
    except InputError:
        return None  # a trailer that a person wrote may name anything
