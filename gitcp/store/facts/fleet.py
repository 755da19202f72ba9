"""The facts of many repositories as a job of Spark: each task clones a repository, exports it and
removes the clone.

The dataset is in a directory that all workers see.  An export is atomic and adds no commit twice,
so that Spark may run a task again, or twice at once.
"""

from __future__ import annotations

import os
import tempfile
import time

from gitcp import git, memory
from gitcp.console import extras
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

    Source = tuple[str, str]  # the URLs or paths of a repository and of its checkpoints

_PACKAGES = "a job of Spark needs the package 'pyspark'"
_TRIES = 4  # attempts of a task by Spark
_STORE = ("refs/heads/entire/checkpoints/v1", "refs/entire/checkpoints/*", "refs/notes/gitcp")
_TABLES = (".parquet", ".csv", ".json")
_TYPES = {schema.TEXT: "string", schema.INTEGER: "bigint", schema.NUMBER: "double"}


def open_session(master: str) -> AbstractContextManager[Any]:
    """A session of Spark, a context manager.  master: its URL, or local[<tasks>].  Raises Error
    without the package."""
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
        raise extras.make_missing(_PACKAGES, "spark") from None
    return pyspark


def read_sources(path: str) -> list[Source]:
    """The sources in a file or a table.

    A line of a file has a repository, and behind a tab that of its checkpoints if it is another.
    A table has the columns repository and, if needed, checkpoints.  Raises Error for a table
    without repositories, and OSError.
    """
    if not path.endswith(_TABLES):
        with open(path, encoding="utf-8") as f:
            rows = [line.rstrip("\n").partition("\t") for line in f if line.strip(" \n")]
        return list(dict.fromkeys((row[0], row[2]) for row in rows if not row[0].startswith("#")))
    import pyarrow.dataset

    try:
        table = pyarrow.dataset.dataset(path, format=path.rpartition(".")[2]).to_table()
        repositories = table["repository"].to_pylist()
    except (KeyError, ValueError) as e:
        raise Error(f"'{path}' is no table with a column 'repository': {e}") from None
    has_stores = "checkpoints" in table.column_names
    stores = table["checkpoints"].to_pylist() if has_stores else [""] * len(repositories)
    pairs = zip(repositories, stores, strict=True)
    return list(dict.fromkeys((repository, store or "") for repository, store in pairs))


def export_all(spark: Any, sources: list[Source], directory: str, light: bool) -> Iterator[Record]:
    """Export each repository in a task; the records of export_one(), in the order of sources."""
    if not sources:
        return
    jobs = spark.sparkContext.parallelize(sources, len(sources))
    yield from jobs.map(lambda source: _try_one(source, directory, light)).collect()


def _try_one(source: Source, directory: str, light: bool) -> Record:
    """Run export_one(); an error is raised for Spark to try again, and recorded at the last try."""
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
    """Add a repository to the dataset by a temporary clone; a record `exported`: repository, state
    ("same" if its HEAD was exported last, else "exported"), commits (the number of new ones) and
    seconds.  Raises Error if it cannot be cloned or read."""
    started, record = time.monotonic(), _make_record(source)
    git.allow_fetch()
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    last_tips = dataset.read_tips(directory, record["repository"])
    output = Git(None, env).run("ls-remote", "--", source[0], "HEAD")[1]
    head = decode_name(output).partition("\t")[0]
    if last_tips and head == last_tips[0]:
        return {**record, "state": "same", "commits": 0, "seconds": time.monotonic() - started}
    with tempfile.TemporaryDirectory(prefix="gitcp-facts-") as folder:
        _clone(Git(folder, env), source, light)
        clone, name = Repo.find(folder, env), record["repository"]
        facts = export.export_facts(clone, directory, (), name, light=light)
    memory.forget()
    seconds = time.monotonic() - started
    return {**record, "state": "exported", "commits": facts["commits"], "seconds": seconds}


def _clone(git: Git, source: Source, light: bool) -> None:
    """Clone HEAD's branch, without blobs if light and remote, and fetch the checkpoints."""
    options = ["--filter=blob:none"] if light and "://" in source[0] else []
    options += ["--bare", "--single-branch", "--no-tags"]
    git.run("clone", "-q", *options, "--", source[0], ".")
    checkpoints = source[1] or "origin"
    lines = git.run("ls-remote", "--", checkpoints, *_STORE)[1].splitlines()
    refs = [decode_name(line).partition("\t")[2] for line in lines]
    if refs:
        refspecs = (f"+{ref}:{ref}" for ref in refs)
        git.run("fetch", "-q", "--no-filter", "--no-tags", checkpoints, *refspecs)


def ask(spark: Any, directory: str, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(columns, rows) of a named question or a statement of Spark's SQL."""
    for table, paths in dataset.list_files(directory).items():
        columns = ", ".join(
            f"`{name}` {_TYPES.get(kind, 'boolean')}" for name, kind, _ in schema.TABLES[table]
        )
        empty = spark.createDataFrame([], columns)
        frame = spark.read.schema(columns).parquet(*paths) if paths else empty
        frame.createOrReplaceTempView(table)
    frame = spark.sql(QUESTIONS[question][1] if question in QUESTIONS else question)
    return frame.columns, [tuple(row) for row in frame.collect()]
