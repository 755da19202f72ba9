"""Records of changed paths: build them, and check the entries they name."""

from __future__ import annotations

from gitcp.core.git.ids import check_path
from gitcp.core.git.porcelain import COMMIT, EXECUTABLE, FILE, GONE, LINK
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, NotRequired, TypedDict

    from gitcp.core.record_types import Entry

    class Changed(TypedDict):
        """A path that differs from HEAD: type 'change', or 'blob' once its content is stored.

        status: 'A' added, 'M' modified, 'T' of another kind, 'D' deleted, '!' left out.
        """

        type: Literal["change", "blob"]
        status: str
        kind: Literal["tracked", "untracked"]  # by HEAD
        path: str
        mode: str
        oid: str | None  # None: deleted, or not hashed yet
        old_mode: str
        old_oid: str | None
        omitted: NotRequired[str]


_HEX = frozenset("0123456789abcdef")


def build_change(path: str, mode: str, oid: str | None, old: Entry | None) -> Changed:
    """The record of a path that was old in HEAD and now is (mode, oid)."""
    status = "A" if old is None else "D" if mode == GONE else "M"
    if old and status == "M" and old[0][:2] != mode[:2]:
        status = "T"
    return {
        "type": "blob" if oid else "change",
        "status": status,
        "kind": "tracked" if old else "untracked",
        "path": path,
        "mode": mode,
        "oid": oid,
        "old_mode": old[0] if old else GONE,
        "old_oid": old[1] if old else None,
    }


def build_omission(path: str, reason: str) -> Changed:
    """The record of a path that is left out of a snapshot."""
    record = build_change(path, GONE, None, None)
    return {**record, "status": "!", "omitted": reason}


def parse_new_entry(record: dict[str, Any], width: int) -> tuple[str, Entry | None]:
    """(path, entry) that a change or blob record asks for; entry None: remove the path.

    width: hex digits of an object name.  Raise InputError for a record that is not valid.
    """
    path = check_path(record.get("path"))
    mode = record.get("mode")
    if mode == GONE:
        return path, None
    return path, _check_entry(path, mode, record.get("oid"), width)


def parse_old_entry(record: dict[str, Any], width: int) -> Entry | None:
    """HEAD's entry in a change record, None for an added path."""
    mode = record.get("old_mode", GONE)
    if mode == GONE:
        return None
    return _check_entry(record["path"], mode, record.get("old_oid"), width)


def _check_entry(path: str, mode: object, oid: object, width: int) -> Entry:
    if not isinstance(mode, str) or mode not in (FILE, EXECUTABLE, LINK, COMMIT):
        raise InputError(f"'mode' of {path!a} is none of git's: {ascii(mode)[:40]}")
    if not isinstance(oid, str) or len(oid) != width or not _HEX.issuperset(oid):
        raise InputError(f"'oid' of {path!a} is no object name: {ascii(oid)[:80]}")
    return mode, oid
