"""Copies the messages of an opencode session from its database to a file that only grows.

The database is opened for reading without waiting.  If it is locked or has another schema, nothing
is copied, and a later event tries again.
"""

from __future__ import annotations

import json
import os
import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection
    from typing import Any

_MESSAGES = "SELECT id, data FROM message WHERE session_id = ? AND id > ? ORDER BY id"
_PARTS = "SELECT id, message_id, data FROM part WHERE session_id = ? AND message_id > ? ORDER BY id"


def append_messages(database: str, session_id: str, path: str, done: bool = True) -> bool:
    """Append the messages that the file at path lacks; return whether the session exists.

    done: whether the session has ended.  Else the last message is left for later if it is
    unfinished: a prompt, whose text may not be there yet, or an answer.
    """
    db = _open(database)
    if db is None:
        return False
    try:
        last = _trim_to_last(path)
        lines = []
        if last is None:
            lines.append({"info": _read_session(db, session_id)})
        messages = list(_read_messages(db, session_id, last or ""))
        if messages and not done and not messages[-1]["info"].get("time", {}).get("completed"):
            messages.pop()
        _write(path, [*lines, *messages])
    except (sqlite3.Error, LookupError, ValueError):
        return False
    finally:
        db.close()
    return True


def list_sessions(database: str, directory: str) -> list[str]:
    """The ids of the sessions of a directory or one below it; none if the database is
    unreadable."""
    db = _open(database)
    if db is None:
        return []
    try:
        rows = db.execute("SELECT id, directory FROM session ORDER BY id").fetchall()
    except sqlite3.Error:
        return []
    finally:
        db.close()
    return [key for key, at in rows if at == directory or str(at).startswith(directory + os.sep)]


def _open(database: str) -> Connection | None:
    """The database, opened for reading; None if that fails."""
    from urllib.parse import quote

    if not os.path.exists(database):
        return None
    try:
        return sqlite3.connect(f"file:{quote(database)}?mode=ro", uri=True, timeout=0.2)
    except sqlite3.Error:
        return None


def _read_session(db: Connection, session_id: str) -> dict[str, Any]:
    """The session's row with the names of an export; raises LookupError without one."""
    db.row_factory = sqlite3.Row
    row = db.execute("SELECT * FROM session WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        raise LookupError(session_id)
    names = {"project_id": "projectID", "parent_id": "parentID", "directory": "directory"}
    names |= {key: key for key in ("id", "slug", "title", "version", "path", "agent")}
    fields = {ours: row[key] for key, ours in names.items() if key in row.keys()}  # noqa: SIM118
    time = {"created": row["time_created"], "updated": row["time_updated"]}
    return {**{key: value for key, value in fields.items() if value is not None}, "time": time}


def _read_messages(db: Connection, session_id: str, after: str) -> Iterator[dict[str, Any]]:
    parts: dict[str, list[dict[str, Any]]] = {}
    for key, message, data in db.execute(_PARTS, (session_id, after)):
        part = {**json.loads(data), "id": key, "sessionID": session_id, "messageID": message}
        parts.setdefault(message, []).append(part)
    for key, data in db.execute(_MESSAGES, (session_id, after)):
        info = {**json.loads(data), "id": key, "sessionID": session_id}
        info.pop("summary", None)  # the client computes it later
        yield {"info": info, "parts": parts.get(key, [])}


def _trim_to_last(path: str) -> str | None:
    """The id of the file's last message, "" without one; None without a file.

    A last line that a kill has cut short is removed.
    """
    try:
        with open(path, "rb+") as f:
            data = f.read()
            lines = data[: data.rfind(b"\n") + 1]
            f.truncate(len(lines))
    except FileNotFoundError:
        return None
    if not lines:
        return None
    info = json.loads(lines[lines[:-1].rfind(b"\n") + 1 :])["info"]
    return str(info["id"]) if "role" in info else ""


def _write(path: str, entries: list[dict[str, Any]]) -> None:
    if entries:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        lines = "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries)
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as f:
            f.write(lines.encode())
