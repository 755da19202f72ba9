"""The short ids of sessions, which people see and type.

A client's own id may be long, and those of one client may all begin alike: the first digits of its
SHA-1 are of one width, and differ.
"""

from __future__ import annotations

from gitcp.text.ids import start_sha1

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DIGITS = 8
_FEWEST = 4  # digits that may name a session


def shorten_id(session_id: str) -> str:
    """The short id of a session: DIGITS hexadecimal digits; '' for ''."""
    if not session_id:
        return ""
    data = session_id.encode("utf-8", "surrogateescape")
    digits: str = start_sha1(data).hexdigest()
    return digits[:DIGITS]


def is_named(session_id: str, name: str) -> bool:
    """Whether a name is the beginning of a session's id or of its short id."""
    if not name:
        return False
    if session_id.startswith(name):
        return True
    return _FEWEST <= len(name) <= DIGITS and shorten_id(session_id).startswith(name)


def list_named(name: str, session_ids: Iterable[str]) -> list[str]:
    """The sessions that a name may be, each once; the one with this id or short id alone if there
    is one."""
    ids = sorted(set(session_ids))
    if name in ids:
        return [name]
    exact = [session_id for session_id in ids if shorten_id(session_id) == name]
    if len(exact) == 1:
        return exact
    return [session_id for session_id in ids if is_named(session_id, name)]
