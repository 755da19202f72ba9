"""Queries a dataset of facts in SQL by DuckDB, in this process."""

from __future__ import annotations

import tempfile

from gitcp.console import extras
from gitcp.core.facts import schema
from gitcp.core.facts.questions import QUESTIONS
from gitcp.errors import Error
from gitcp.store.facts import dataset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PACKAGES = "questions are answered by the package 'duckdb'"
_TYPES = {schema.TEXT: "VARCHAR", schema.INTEGER: "BIGINT", schema.NUMBER: "DOUBLE"}


def ask(directory: str, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(columns, rows) of a named question or a statement of SQL.  Raises Error without a dataset,
    and with DuckDB's message for an invalid statement."""
    try:
        import duckdb
    except ImportError:
        raise extras.make_missing(_PACKAGES, "facts") from None
    folder = tempfile.TemporaryDirectory(prefix="gitcp-facts-")
    # By default what does not fit into memory goes to the current directory.
    database = duckdb.connect(config={"temp_directory": folder.name})
    try:
        for table, paths in dataset.list_files(directory).items():
            database.execute(f"CREATE VIEW {table} AS {_select(table, paths)}")
        result = database.execute(QUESTIONS[question][1] if question in QUESTIONS else question)
        return [column[0] for column in result.description or ()], result.fetchall()
    except duckdb.Error as e:
        raise Error(str(e).partition("\n")[0]) from None
    finally:
        database.close()
        folder.cleanup()


def _select(table: str, paths: list[str]) -> str:
    if not paths:
        kinds = [(name, _TYPES.get(kind, "BOOLEAN")) for name, kind, _ in schema.TABLES[table]]
        columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in kinds)
        return f"SELECT {columns} WHERE false"
    quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"SELECT * FROM read_parquet([{quoted}], hive_partitioning = false)"
