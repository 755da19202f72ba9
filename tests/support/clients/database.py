"""The database of opencode, or of its like, as it was at a moment of a recording."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from tests.support.clients.clock import Clock


def fill(name: str, rows: str, home: Path, time: float, clock: Clock) -> None:
    """Write the database of a client in home with the rows that were there at time (seconds)."""
    path = home / ".local" / "share" / name / f"{name}.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as db:
        known: dict[str, list[str]] = {}
        for line in rows.splitlines():
            row = json.loads(line)
            table = row.pop("table")
            if table not in known:
                known[table] = list(row)
                db.execute(f"CREATE TABLE {table} ({', '.join(row)})")
            if row["time_created"] <= time:
                if "data" in row:
                    row["data"] = clock.now(row["data"])
                marks = ", ".join("?" * len(row))
                values = [row.get(column) for column in known[table]]
                db.execute(f"INSERT INTO {table} VALUES ({marks})", values)
    db.close()
