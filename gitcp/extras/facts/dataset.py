"""A dataset of Parquet files, `<table>/repository=<name>/month=<month>/<batch>.parquet`, to which
each export adds a batch atomically.

The files of a batch are written below `_writing`.  They belong to the dataset as soon as its list
below `_batches` exists; then they are moved to their places, by the next export if this one was
killed.  A lock lets the batches of a repository be written one at a time.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import shutil
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from urllib.parse import quote

from gitcp import git, memory
from gitcp.agents import transcripts
from gitcp.agents.reading.items import list_items
from gitcp.checkpoints.share import places
from gitcp.errors import Error, GitError
from gitcp.extras.facts import tables as fact_tables
from gitcp.extras.facts.tables import QUESTIONS
from gitcp.extras.reports import survival
from gitcp.git import Git, decode_name
from gitcp.git.objects import Objects
from gitcp.git.records import decode_lines
from gitcp.git.repo import Repo
from gitcp.lines import exports
from gitcp.lines.committed.evidence import Evidence
from gitcp.lines.prices import list_price
from gitcp.setup import team_settings
from gitcp.terminal import extras
from gitcp.text.ids import NOTES, V1

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
    from contextlib import AbstractContextManager
    from typing import Any, BinaryIO, Self

    from gitcp.extras.facts.tables import Row, Rows, Teams
    from gitcp.git.objects.patches import Change
    from gitcp.lines.tally import CommitCounts
    from gitcp.text.record_types import Record

    Source = tuple[str, str]  # the URLs or paths of a repository and of its checkpoints

_MOST = 8_000  # rows in memory, which become a row group of a file
_OPEN = 32  # files that are being written
_BATCHES = "_batches"
_WRITING = "_writing"
_TYPES = {
    fact_tables.TEXT: "string",
    fact_tables.INTEGER: "int64",
    fact_tables.NUMBER: "float64",
    fact_tables.FLAG: "bool_",
}


class Batch:
    """The rows of one export, a context manager.  seen: the repository's commits in the dataset.

    Raises Error if the dataset has another version of the schema.
    """

    def __init__(self, directory: str, repository: str) -> None:
        self.repository = repository
        self._top = directory
        self._folder = quote(repository, safe="")
        self._rows: dict[tuple[str, str], list[Row]] = {}
        self._count = 0
        self._files: list[str] = []
        # (table, month) -> writer, the last used one at the end.
        self._open: dict[tuple[str, str], tuple[Any, BinaryIO]] = {}
        self.counts: dict[str, int] = dict.fromkeys(fact_tables.TABLES, 0)

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
            if is_open:
                self._open[key] = self._open.pop(key)
            else:
                self._open[key] = self._begin(key, table.schema)
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
            "version": fact_tables.VERSION,
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
    fields = [
        (column, getattr(arrow, _TYPES[kind])()) for column, kind, _ in fact_tables.TABLES[name]
    ]
    arrays = [
        arrow.array([_make_utf8(v) for v in values] if kind == arrow.string() else values, kind)
        for (_, kind), values in zip(fields, zip(*rows, strict=True), strict=True)
    ]
    described = arrow.schema(fields, {"gitcp.version": str(fact_tables.VERSION)})
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
        if batch["version"] != fact_tables.VERSION:
            raise Error(
                f"'{directory}' has facts of version {batch['version']}, this is version"
                f" {fact_tables.VERSION}: export into another directory"
            )
        lists.append(batch)
    return lists


def read_tips(directory: str, repository: str) -> list[str]:
    """The tips of a repository's last export; [] without one."""
    folder = quote(repository, safe="")
    if not os.path.isdir(os.path.join(directory, _BATCHES, folder)):
        return []
    found: list[str] = []
    for batch in _read_lists(directory, folder)[-1:]:
        for tip in batch["tips"]:
            found.append(str(tip))
    return found


def list_files(directory: str) -> Mapping[str, list[str]]:
    """table -> the paths of its files.  Raises Error without a dataset."""
    batches_folder = os.path.join(directory, _BATCHES)
    if not os.path.isdir(batches_folder):
        raise Error(f"no dataset in '{directory}': 'gitcp export-facts -o {directory}' makes one")
    tables: dict[str, list[str]] = {name: [] for name in fact_tables.TABLES}
    for folder in sorted(os.listdir(batches_folder)):
        for batch in _read_lists(directory, folder):
            for name in batch["files"]:
                path = os.path.join(directory, name)
                if not os.path.exists(path):
                    path = os.path.join(directory, _WRITING, folder, name)
                tables[name.partition("/")[0]].append(path)
    return tables


# Exports the facts of a range of commits in one pass.
_COLUMNS = [name for name, _, _ in fact_tables.TABLES["sessions"][4:]]
_MODEL = _COLUMNS.index("model")
_INPUT = _COLUMNS.index("input_tokens")


def export_facts(
    repo: Repo,
    directory: str,
    revisions: Sequence[str] = (),
    name: str = "",
    prompts: bool = False,
    light: bool = False,
    progress: Callable[[int], None] = lambda count: None,
) -> Record:
    """Add the commits of revisions, by default of HEAD, that a dataset lacks; a record `facts` with
    repository, commits (the number of new ones) and rows (by table).

    name: the repository's, by default from its remote.  prompts: include their text.  light: only
    the facts that need no file contents.  progress is called with the number of commits read.
    Raises Error for an unknown revision, and for a dataset of another version.
    """
    revision_arguments = [*revisions] or ["HEAD"]
    oids = decode_lines(repo.git.run("rev-parse", "--revs-only", *revision_arguments)[1])
    tips = [end for end in oids if not end.startswith("^")]
    if tips:
        teams = fact_tables.parse_teams(*team_settings.read_table(repo, tips[0], "teams"))
    else:
        teams = {}
    with Batch(directory, name or name_repository(repo)) as batch:
        new, origins = _plan_export(repo, revision_arguments, tips, batch.seen)
        if new:
            add = partial(_add_rows, batch, teams, origins, light)
            _add_commits(repo, revision_arguments, batch.seen, prompts, light, add, progress)
            batch.finish(tips)
    record = {"type": "facts", "repository": batch.repository}
    return {**record, "commits": new, "rows": batch.counts}


def name_repository(repo: Repo) -> str:
    """The name of a repository by the URL of its usual remote, else by its directory."""
    remote = places.find_usual_remote(repo)
    url = ""
    if remote:
        url = repo.config.get(f"remote.{remote}.url")
    return fact_tables.derive_repository_name(url or repo.top or repo.common)


def _plan_export(
    repo: Repo, revision_arguments: Sequence[str], tips: Sequence[str], seen: Set[str]
) -> tuple[int, dict[str, str]]:
    """(the number of commits that are not seen, find_changes() of all)."""
    options = "--no-show-signature", "--format=%H %P"
    log = repo.git.stream_records(
        "log", "-z", *options, "--end-of-options", *revision_arguments, "--"
    )
    try:
        graph = [decode_name(row).split() for row in log]
    except GitError as e:
        raise e.shorten() from None
    new = sum(row[0] not in seen for row in graph)
    return new, fact_tables.find_changes(graph, tips[0]) if tips and new else {}


def _add_price(row: Row, commit: CommitCounts) -> Row:
    """A row of sessions with its price in US dollars as the last column; None for an unknown
    model, or without the package of prices."""
    fresh, creation, read, output = row[_INPUT : _INPUT + 4]
    second = int(commit["author"].rpartition(" ")[2])
    day = datetime.fromtimestamp(second - second % 86400, UTC)
    used = transcripts.make_usage(fresh, creation, read, output)
    return *row[:-1], list_price(row[_MODEL], used, day) if row[_MODEL] else None


def _add_rows(
    batch: Batch,
    teams: Teams,
    origins: dict[str, str],
    light: bool,
    commit: CommitCounts,
    more: Rows,
) -> None:
    oid = commit["oid"]
    commit_rows = fact_tables.make_commit_rows(commit, teams, origins.get(oid, oid), light)
    commit_rows["sessions"] = [_add_price(row, commit) for row in commit_rows["sessions"]]
    batch.add(fact_tables.make_lead_columns(batch.repository, commit), {**commit_rows, **more})


def _add_commits(
    repo: Repo,
    revision_arguments: Sequence[str],
    seen: Set[str],
    prompts: bool,
    light: bool,
    add: Callable[[CommitCounts, Rows], None],
    progress: Callable[[int], None],
) -> None:
    """Call add() for each commit that is not seen."""
    gc.disable()  # no cycles are made, and each window of commits has many objects
    read = partial(_read, seen, prompts)
    if light:
        options = ("--no-patch", "--reverse", "--topo-order")
    else:
        options = survival.OPTIONS
    with Objects(repo):
        evidence = Evidence(repo)
        replay = None
        if not light:
            replay = survival.Replay(repo, evidence, revision_arguments, ()).begin()
        history = exports.map_commits(repo, read, revision_arguments, (), options)
        for count, (commit, rows) in enumerate(history):
            progress(count)
            second = int(commit["author"].rpartition(" ")[2])
            survival_rows = []
            if replay:
                replay.survival.born = fact_tables.round_to_day(second)
                replay.replay_commit(commit)
                survival_rows = fact_tables.make_survival_rows(
                    replay.survival.take_events(), second
                )
            if rows is not None:
                add(commit, {**rows, "survival": survival_rows})
    gc.enable()


def _read(
    seen: Set[str], prompts: bool, evidence: Evidence, change: Change
) -> tuple[CommitCounts, Rows | None]:
    """(a commit, the rows of its transcripts; None if it is seen)."""
    commit = exports.describe_commit(evidence, change)
    if commit["oid"] in seen:
        return commit, None
    rows: Rows = {"turns": [], "calls": []}
    for record in commit["records"]:
        try:
            data = evidence.readers.recorded.read_transcripts(record["checkpoint_id"])
        except Error:
            data = {}
        transcript = list_items(data.get(record["session_id"], b""))
        for table, table_rows in fact_tables.make_transcript_rows(
            record, transcript, prompts
        ).items():
            rows[table] += table_rows
    return commit, rows


# The facts of many repositories as a job of Spark: each task clones a repository, exports it and
# removes the clone.
#
# The dataset is in a directory that all workers see.  An export is atomic and adds no commit
# twice, so that Spark may run a task again, or twice at once.
_SPARK_PACKAGES = "gitcp facts-spark needs the Python package 'pyspark'"
_TRIES = 4  # attempts of a task by Spark
_STORE = (V1, "refs/entire/checkpoints/*", NOTES)
_TABLES = (".parquet", ".csv", ".json")
_SPARK_TYPES = {
    fact_tables.TEXT: "string",
    fact_tables.INTEGER: "bigint",
    fact_tables.NUMBER: "double",
}


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
        raise extras.make_missing(_SPARK_PACKAGES, "spark") from None
    return pyspark


def read_sources(path: str) -> list[Source]:
    """The sources in a file or a table.

    Each line: a repository's URL, then, if different, a tab and the URL of its checkpoints. A table
    has the columns repository and, if needed, checkpoints.  Raises Error for a table without
    repositories, and OSError."""
    if not path.endswith(_TABLES):
        with open(path, encoding="utf-8") as f:
            rows = [line.rstrip("\n").partition("\t") for line in f if line.strip(" \n")]
        return list(dict.fromkeys((row[0], row[2]) for row in rows if not row[0].startswith("#")))
    import pyarrow.dataset

    try:
        table = pyarrow.dataset.dataset(path, format=path.rpartition(".")[2]).to_table()
        repositories = table["repository"].to_pylist()
    except (KeyError, ValueError) as e:
        raise Error(f"'{path}' is not a table with a column 'repository': {e}") from None
    has_stores = "checkpoints" in table.column_names
    if has_stores:
        stores = table["checkpoints"].to_pylist()
    else:
        stores = [""] * len(repositories)
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
    return {"type": "exported", "repository": fact_tables.derive_repository_name(source[0])}


def export_one(source: Source, directory: str, light: bool) -> Record:
    """Add a repository to the dataset by a temporary clone; a record `exported`: repository, state
    ("same" if its HEAD was exported last, else "exported"), commits (the number of new ones) and
    seconds.  Raises Error if it cannot be cloned or read."""
    started = time.monotonic()
    record = _make_record(source)
    git.allow_fetch()
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    last_tips = read_tips(directory, record["repository"])
    output = Git(None, env).run("ls-remote", "--", source[0], "HEAD")[1]
    head = decode_name(output).partition("\t")[0]
    if last_tips and head == last_tips[0]:
        return {**record, "state": "same", "commits": 0, "seconds": time.monotonic() - started}
    with tempfile.TemporaryDirectory(prefix="gitcp-facts-") as folder:
        _clone(Git(folder, env), source, light)
        clone = Repo.find(folder, env)
        name = record["repository"]
        facts = export_facts(clone, directory, (), name, light=light)
    memory.forget()
    seconds = time.monotonic() - started
    return {**record, "state": "exported", "commits": facts["commits"], "seconds": seconds}


def _clone(target: Git, source: Source, light: bool) -> None:
    """Clone HEAD's branch, without blobs if light and remote, and fetch the checkpoints."""
    if light and "://" in source[0]:
        options = ["--filter=blob:none"]
    else:
        options = []
    options += ["--bare", "--single-branch", "--no-tags"]
    target.run("clone", "-q", *options, "--", source[0], ".")
    checkpoints = source[1] or "origin"
    lines = target.run("ls-remote", "--", checkpoints, *_STORE)[1].splitlines()
    refs = [decode_name(line).partition("\t")[2] for line in lines]
    if refs:
        refspecs = (f"+{ref}:{ref}" for ref in refs)
        target.run("fetch", "-q", "--no-filter", "--no-tags", checkpoints, *refspecs)


def ask_fleet(spark: Any, directory: str, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """(columns, rows) of a named question or a statement of Spark's SQL."""
    for table, paths in list_files(directory).items():
        columns = ", ".join(
            f"`{name}` {_SPARK_TYPES.get(kind, 'boolean')}"
            for name, kind, _ in fact_tables.TABLES[table]
        )
        empty = spark.createDataFrame([], columns)
        if paths:
            frame = spark.read.schema(columns).parquet(*paths)
        else:
            frame = empty
        frame.createOrReplaceTempView(table)
    frame = spark.sql(QUESTIONS[question][1] if question in QUESTIONS else question)
    return frame.columns, [tuple(row) for row in frame.collect()]


# Queries a dataset of facts in SQL by DuckDB, in this process.
_PACKAGES = "gitcp facts needs the Python package 'duckdb'"
_DUCKDB_TYPES = {
    fact_tables.TEXT: "VARCHAR",
    fact_tables.INTEGER: "BIGINT",
    fact_tables.NUMBER: "DOUBLE",
}


def ask_dataset(directory: str, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
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
        for table, paths in list_files(directory).items():
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
        kinds = [
            (name, _DUCKDB_TYPES.get(kind, "BOOLEAN"))
            for name, kind, _ in fact_tables.TABLES[table]
        ]
        columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in kinds)
        return f"SELECT {columns} WHERE false"
    quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"SELECT * FROM read_parquet([{quoted}], hive_partitioning = false)"
