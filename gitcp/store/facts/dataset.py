"""A dataset of Parquet files, `<table>/repository=<name>/month=<month>/<batch>.parquet`, to which
each export adds a batch atomically.

The files of a batch are written below `_writing`.  They belong to the dataset as soon as its list
below `_batches` exists; then they are moved to their places, by the next export if this one was
killed.  A lock lets the batches of a repository be written one at a time.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import suppress
from urllib.parse import quote

from gitcp.core.facts import schema
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, BinaryIO, Self

    from gitcp.core.facts.rows import Row, Rows

_MOST = 8_000  # rows in memory, which become a row group of a file
_OPEN = 32  # files that are being written
_BATCHES, _WRITING = "_batches", "_writing"
_TYPES = {
    schema.TEXT: "string",
    schema.INTEGER: "int64",
    schema.NUMBER: "float64",
    schema.FLAG: "bool_",
}


class Batch:
    """The rows of one export, a context manager.  seen: the repository's commits in the dataset.

    Raises Error if the dataset has another version of the schema.
    """

    def __init__(self, directory: str, repository: str) -> None:
        self.repository = repository
        self._top, self._folder = directory, quote(repository, safe="")
        self._rows: dict[tuple[str, str], list[Row]] = {}
        self._count = 0
        self._files: list[str] = []
        # (table, month) -> writer, the last used one at the end.
        self._open: dict[tuple[str, str], tuple[Any, BinaryIO]] = {}
        self.counts: dict[str, int] = dict.fromkeys(schema.TABLES, 0)

    def __enter__(self) -> Self:
        batches = os.path.join(self._top, _BATCHES, self._folder)
        os.makedirs(batches, exist_ok=True)
        self._lock = os.open(os.path.join(batches, "lock"), os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._lists = _read_lists(self._top, self._folder)
        for batch in self._lists:
            self._move(batch["files"])
        self._writing = os.path.join(self._top, _WRITING, self._folder)
        shutil.rmtree(self._writing, ignore_errors=True)  # an export was killed
        self.seen = {oid for batch in self._lists for oid in self._read_commits(batch["files"])}
        return self

    def __exit__(self, *_: object) -> None:
        for writer, f in self._open.values():  # the export failed
            with suppress(OSError), f:
                writer.close()
        shutil.rmtree(self._writing, ignore_errors=True)
        os.close(self._lock)

    def _read_commits(self, files: Iterable[str]) -> list[str]:
        oids: list[str] = []
        for name in files:
            if name.startswith("commits/"):
                file = _import_arrow().parquet.ParquetFile(os.path.join(self._top, name))
                table = file.read(["commit"])
                oids += table.column(0).to_pylist()
        return oids

    def add(self, lead: Row, rows: Rows) -> None:
        """Add rows of a commit.  lead: the first columns of each row."""
        for table, table_rows in rows.items():
            if table_rows:
                self._rows.setdefault((table, lead[1]), []).extend(lead + row for row in table_rows)
                self._count += len(table_rows)
                self.counts[table] += len(table_rows)
        if self._count > _MOST:
            self._flush()

    def _flush(self) -> None:
        for key in [*self._rows]:
            table = _make_table(key[0], self._rows.pop(key))
            is_open = key in self._open
            self._open[key] = self._open.pop(key) if is_open else self._begin(key, table.schema)
            self._open[key][0].write_table(table)
            self._close(_OPEN)
        self._count = 0
        _import_arrow().default_memory_pool().release_unused()

    def _begin(self, key: tuple[str, str], columns: Any) -> tuple[Any, BinaryIO]:
        folder = f"{key[0]}/repository={self._folder}/month={key[1]}"
        name = f"{folder}/{len(self._lists):05d}-{len(self._files):05d}.parquet"
        path = os.path.join(self._writing, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self._files.append(name)
        f = open(path, "wb")  # noqa: SIM115
        return _import_arrow().parquet.ParquetWriter(f, columns, compression="zstd"), f

    def _close(self, limit: int) -> None:
        """Close files until at most limit are open."""
        for key in [*self._open][: max(0, len(self._open) - limit)]:
            writer, f = self._open.pop(key)
            writer.close()
            f.flush()
            os.fsync(f.fileno())
            f.close()

    def finish(self, tips: Iterable[str]) -> None:
        """Make the added rows part of the dataset.  tips: the oids of the exported revisions."""
        self._flush()
        self._close(0)
        if not self._files:
            return
        description = {
            "version": schema.VERSION,
            "repository": self.repository,
            "tips": list(tips),
            "rows": self.counts,
            "files": self._files,
        }
        batches = os.path.join(self._top, _BATCHES, self._folder)
        path = os.path.join(batches, f"{len(self._lists):05d}.json")
        with open(f"{path}.new", "w", encoding="utf-8") as f:
            json.dump(description, f, indent=1)
            f.flush()
            os.fsync(f.fileno())
        os.rename(f"{path}.new", path)
        self._move(self._files)

    def _move(self, files: Iterable[str]) -> None:
        for name in files:
            path = os.path.join(self._top, name)
            written = os.path.join(self._top, _WRITING, self._folder, name)
            if not os.path.exists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.rename(written, path)


def _import_arrow() -> Any:
    import pyarrow.parquet

    return pyarrow


def _make_table(name: str, rows: list[Row]) -> Any:
    arrow = _import_arrow()
    fields = [(column, getattr(arrow, _TYPES[kind])()) for column, kind, _ in schema.TABLES[name]]
    arrays = [
        arrow.array([_make_utf8(v) for v in values] if kind == arrow.string() else values, kind)
        for (_, kind), values in zip(fields, zip(*rows, strict=True), strict=True)
    ]
    described = arrow.schema(fields, {"gitcp.version": str(schema.VERSION)})
    return arrow.Table.from_arrays(arrays, schema=described)


def _make_utf8(value: Any) -> Any:
    """A text that is valid UTF-8: a path may have any bytes."""
    if value is None or value.isascii():
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _read_lists(directory: str, folder: str) -> list[dict[str, Any]]:
    """The batches of a repository, in order.  Raises Error for another version of the schema."""
    batches_folder = os.path.join(directory, _BATCHES, folder)
    lists = []
    for name in sorted(n for n in os.listdir(batches_folder) if n.endswith(".json")):
        with open(os.path.join(batches_folder, name), encoding="utf-8") as f:
            batch = json.load(f)
        if batch["version"] != schema.VERSION:
            raise Error(
                f"'{directory}' has facts of version {batch['version']}, this is version"
                f" {schema.VERSION}: export into another directory"
            )
        lists.append(batch)
    return lists


def read_tips(directory: str, repository: str) -> list[str]:
    """The tips of a repository's last export; [] without one."""
    folder = quote(repository, safe="")
    if not os.path.isdir(os.path.join(directory, _BATCHES, folder)):
        return []
    return [str(tip) for batch in _read_lists(directory, folder)[-1:] for tip in batch["tips"]]


def list_files(directory: str) -> Mapping[str, list[str]]:
    """table -> the paths of its files.  Raises Error without a dataset."""
    batches_folder = os.path.join(directory, _BATCHES)
    if not os.path.isdir(batches_folder):
        raise Error(f"no dataset in '{directory}': 'gitcp export-facts -o {directory}' makes one")
    tables: dict[str, list[str]] = {name: [] for name in schema.TABLES}
    for folder in sorted(os.listdir(batches_folder)):
        for batch in _read_lists(directory, folder):
            for name in batch["files"]:
                path = os.path.join(directory, name)
                if not os.path.exists(path):
                    path = os.path.join(directory, _WRITING, folder, name)
                tables[name.partition("/")[0]].append(path)
    return tables
