"""The facts of many repositories as a job of Spark: a task clones one, exports it, removes it.

The dataset is in a directory that all workers see.  Each export adds to it whole or not at all and
adds no commit twice, so that a task may be tried again, or twice at once, wherever Spark wants.
"""

from __future__ import annotations

import os
import tempfile
import time

from gitcp import git, memory
from gitcp.core.facts import rows, schema
from gitcp.core.facts.questions import QUESTIONS
from gitcp.errors import Error
from gitcp.git import Git
from gitcp.record import decode_name
from gitcp.repo import Repo
from gitcp.store.facts import dataset, export

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import Any

    from gitcp.core.record_types import Record

    Source = tuple[str, str]  # a repository, and where its checkpoints are: URLs or paths

_MISSING = "a job of Spark needs the package 'pyspark': install gitcp with its extra 'spark'"
_TRIES = 4  # of a task, by Spark
_STORE = ("refs/heads/entire/checkpoints/v1", "refs/entire/checkpoints/*", "refs/notes/gitcp")
_TABLES = (".parquet", ".csv", ".json")
_TYPES = {schema.TEXT: "string", schema.INTEGER: "bigint", schema.NUMBER: "double"}


def open_session(master: str) -> AbstractContextManager[Any]:
    """A session of Spark, to be used in a `with`; master: its URL, or local[<tasks>].  Raises
    Error where the package is not installed."""
    if master.startswith("local[") and "," not in master:
        master = f"{master[:-1]},{_TRIES}]"
    builder = _import_pyspark().sql.SparkSession.builder.appName("gitcp-facts-spark").master(master)
    builder = builder.config("spark.task.maxFailures", _TRIES)
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    created: AbstractContextManager[Any] = builder.getOrCreate()
    return created


def _import_pyspark() -> Any:
    try:
        import pyspark.sql
    except ImportError:
        raise Error(_MISSING) from None
    return pyspark


def read_sources(place: str) -> list[Source]:
    """The repositories in a file, one to a line with its checkpoints' place behind a tab where that
    is another; or in a table, by its columns repository and checkpoints.  Raises Error for a table
    without, and OSError."""
    if not place.endswith(_TABLES):
        with open(place, encoding="utf-8") as f:
            parts = [line.rstrip("\n").partition("\t") for line in f if line.strip(" \n")]
        return list(dict.fromkeys((p[0], p[2]) for p in parts if not p[0].startswith("#")))
    import pyarrow.dataset

    try:
        table = pyarrow.dataset.dataset(place, format=place.rpartition(".")[2]).to_table()
        every = table["repository"].to_pylist()
    except (KeyError, ValueError) as e:
        raise Error(f"'{place}' is no table with a column 'repository': {e}") from None
    both = "checkpoints" in table.column_names
    stores = table["checkpoints"].to_pylist() if both else [""] * len(every)
    return list(dict.fromkeys((one, store or "") for one, store in zip(every, stores, strict=True)))


def export_all(spark: Any, sources: list[Source], directory: str, light: bool) -> Iterator[Record]:
    """Export each repository in a task of its own; a record `exported` of each as export_one()
    has it, in the order of sources."""
    if not sources:
        return
    jobs = spark.sparkContext.parallelize(sources, len(sources))
    yield from jobs.map(lambda source: _try_one(source, directory, light)).collect()


def _try_one(source: Source, directory: str, light: bool) -> Record:
    """export_one(); what fails is raised for Spark to try it again, and told the last time."""
    task = _import_pyspark().TaskContext.get()
    number = task.attemptNumber() if task else 0
    try:
        return export_one(source, directory, light)
    except (Error, OSError) as e:
        if number + 1 < _TRIES:
            raise
        return {**_make_record(source), "state": "failed", "commits": 0, "reason": str(e)}


def _make_record(source: Source) -> Record:
    return {"type": "exported", "repository": rows.derive_repository_name(source[0])}


def export_one(source: Source, directory: str, light: bool) -> Record:
    """Add a repository to the dataset, by a clone that is gone afterwards; a record `exported`:
    repository, state ("same" where its HEAD is what was exported last, else "exported"), commits,
    how many are new, and seconds.  Raises Error where it cannot be cloned or read."""
    began, about = time.monotonic(), _make_record(source)
    git.allow_fetch()
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    seen = dataset.read_tips(directory, about["repository"])
    listed = Git(None, quiet).run("ls-remote", "--", source[0], "HEAD")[1]
    head = decode_name(listed).partition("\t")[0]
    if seen and head == seen[0]:
        return {**about, "state": "same", "commits": 0, "seconds": time.monotonic() - began}
    with tempfile.TemporaryDirectory(prefix="gitcp-facts-") as at:
        _clone(Git(at, quiet), source, light)
        clone, name = Repo.find(at, quiet), about["repository"]
        done = export.export_facts(clone, directory, (), name, light=light)
    memory.forget()
    seconds = time.monotonic() - began
    return {**about, "state": "exported", "commits": done["commits"], "seconds": seconds}


def _clone(here: Git, source: Source, light: bool) -> None:
    """Clone HEAD's branch, without files where that is enough, and bring the checkpoints."""
    without = ["--filter=blob:none"] if light and "://" in source[0] else []
    here.run(
        "clone", "-q", "--bare", "--single-branch", "--no-tags", *without, "--", source[0], "."
    )
    checkpoints = source[1] or "origin"
    listed = here.run("ls-remote", "--", checkpoints, *_STORE)[1].splitlines()
    refs = [decode_name(line).partition("\t")[2] for line in listed]
    if refs:
        refspecs = (f"+{ref}:{ref}" for ref in refs)
        here.run("fetch", "-q", "--no-filter", "--no-tags", checkpoints, *refspecs)


def ask(spark: Any, directory: str, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(columns, rows) of what a named question or a statement of Spark's SQL gives."""
    for table, paths in dataset.list_files(directory).items():
        columns = ", ".join(
            f"`{name}` {_TYPES.get(kind, 'boolean')}" for name, kind, _ in schema.TABLES[table]
        )
        empty = spark.createDataFrame([], columns)
        frame = spark.read.schema(columns).parquet(*paths) if paths else empty
        frame.createOrReplaceTempView(table)
    frame = spark.sql(QUESTIONS[question][1] if question in QUESTIONS else question)
    return frame.columns, [tuple(row) for row in frame.collect()]
