"""Exports the facts of a range of commits in one pass."""

from __future__ import annotations

import gc
from datetime import UTC, datetime
from functools import partial

from gitcp.agents.reading.items import list_items
from gitcp.core.facts import rows, schema
from gitcp.core.transcript import tokens
from gitcp.errors import Error, GitError
from gitcp.record import decode_lines, decode_name
from gitcp.store.facts.dataset import Batch
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.lines import ranges
from gitcp.store.lines.evidence import Evidence
from gitcp.store.setup import team_file
from gitcp.store.show import survival
from gitcp.store.stats.prices import list_price
from gitcp.store.v1 import destination

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from gitcp.core.facts.rows import Row, Rows, Teams
    from gitcp.core.git.patches import Change
    from gitcp.core.record_types import Record
    from gitcp.core.stats.sums import Commit
    from gitcp.repo import Repo

    Spoken = tuple[Commit, Rows | None]

_COLUMNS = [name for name, _, _ in schema.TABLES["sessions"][4:]]
_MODEL, _INPUT = _COLUMNS.index("model"), _COLUMNS.index("input_tokens")


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
    teams = rows.parse_teams(*team_file.read_table(repo, tips[0], "teams")) if tips else {}
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
    remote = destination.find_usual_remote(repo)
    url = repo.config.get(f"remote.{remote}.url") if remote else ""
    return rows.derive_repository_name(url or repo.top or repo.common)


def _plan_export(
    repo: Repo, revision_arguments: Sequence[str], tips: Sequence[str], seen: Set[str]
) -> tuple[int, dict[str, str]]:
    """(the number of commits that are not seen, rows.find_changes() of all)."""
    options = "--no-show-signature", "--format=%H %P"
    log = repo.git.stream_records(
        "log", "-z", *options, "--end-of-options", *revision_arguments, "--"
    )
    try:
        graph = [decode_name(row).split() for row in log]
    except GitError as e:
        raise e.shorten() from None
    new = sum(row[0] not in seen for row in graph)
    return new, rows.find_changes(graph, tips[0]) if tips and new else {}


def _add_price(row: Row, commit: Commit) -> Row:
    """A row of sessions with its price in US dollars as the last column; None for an unknown
    model, or without the package of prices."""
    fresh, creation, read, output = row[_INPUT : _INPUT + 4]
    time = int(commit["author"].rpartition(" ")[2])
    day = datetime.fromtimestamp(time - time % 86400, UTC)
    used = tokens.make_usage(fresh, creation, read, output)
    return *row[:-1], list_price(row[_MODEL], used, day) if row[_MODEL] else None


def _add_rows(
    batch: Batch, teams: Teams, origins: dict[str, str], light: bool, commit: Commit, more: Rows
) -> None:
    oid = commit["oid"]
    commit_rows = rows.make_commit_rows(commit, teams, origins.get(oid, oid), light)
    commit_rows["sessions"] = [_add_price(row, commit) for row in commit_rows["sessions"]]
    batch.add(rows.make_lead_columns(batch.repository, commit), {**commit_rows, **more})


def _add_commits(
    repo: Repo,
    revision_arguments: Sequence[str],
    seen: Set[str],
    prompts: bool,
    light: bool,
    add: Callable[[Commit, Rows], None],
    progress: Callable[[int], None],
) -> None:
    """Call add() for each commit that is not seen."""
    gc.disable()  # no cycles are made, and each window of commits has many objects
    read = partial(_read, seen, prompts)
    options = ("--no-patch", "--reverse", "--topo-order") if light else survival.OPTIONS
    with Prefetched(repo) as objects:
        evidence = Evidence(repo, objects)
        replay = None if light else survival.Replay(repo, evidence, revision_arguments, ())
        history = ranges.map_commits(repo, objects, read, revision_arguments, (), options)
        for count, (commit, spoken) in enumerate(history):
            progress(count)
            time = int(commit["author"].rpartition(" ")[2])
            survival_rows = []
            if replay:
                replay.survival.born = rows.round_to_day(time)
                replay.replay_commit(commit)
                survival_rows = rows.make_survival_rows(replay.survival.take_events(), time)
            if spoken is not None:
                add(commit, {**spoken, "survival": survival_rows})
    gc.enable()


def _read(seen: Set[str], prompts: bool, evidence: Evidence, change: Change) -> Spoken:
    """(a commit, the rows of its transcripts; None if it is seen)."""
    commit = ranges.describe_commit(evidence, change)
    if commit["oid"] in seen:
        return commit, None
    spoken: Rows = {"turns": [], "calls": []}
    for record in commit["records"]:
        try:
            data = evidence.readers.recorded.read_transcripts(record["checkpoint_id"])
        except Error:
            data = {}
        transcript = list_items(data.get(record["session_id"], b""))
        for table, table_rows in rows.make_spoken_rows(record, transcript, prompts).items():
            spoken[table] += table_rows
    return commit, spoken
