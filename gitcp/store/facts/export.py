"""The facts of a range of commits, read once and written as they come."""

from __future__ import annotations

import gc
from functools import partial

from gitcp.agents.reading.items import list_items
from gitcp.core.facts import rows
from gitcp.errors import Error, GitError
from gitcp.record import decode_lines, decode_name
from gitcp.store.facts import prices
from gitcp.store.facts.dataset import Batch
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.lines import ranges
from gitcp.store.lines.evidence import Evidence
from gitcp.store.setup import team_file
from gitcp.store.show import survival
from gitcp.store.v1 import destination

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from gitcp.core.facts.rows import Rows, Teams
    from gitcp.core.git.patches import Change
    from gitcp.core.record_types import Record
    from gitcp.core.stats.sums import Commit
    from gitcp.repo import Repo

    Spoken = tuple[Commit, Rows | None]


def export_facts(
    repo: Repo,
    directory: str,
    revisions: Sequence[str] = (),
    name: str = "",
    prompts: bool = False,
    light: bool = False,
    progress: Callable[[int], None] = lambda count: None,
) -> Record:
    """Add to a dataset what it lacks of the commits of revisions (none: HEAD); a record `facts`:
    repository, commits, how many are new, and rows, of each table.

    name: of the repository, else by its remote.  prompts: with their text.  light: only what needs
    no content of files.  progress is told how many commits were read.  Raises Error for no
    revision, and for a dataset of another version.
    """
    chosen = [*revisions] or ["HEAD"]
    ends = decode_lines(repo.git.run("rev-parse", "--revs-only", *chosen)[1])
    tips = [end for end in ends if not end.startswith("^")]
    teams = rows.parse_teams(*team_file.read_table(repo, tips[0], "teams")) if tips else {}
    with Batch(directory, name or name_repository(repo)) as batch:
        new, came = _plan_export(repo, chosen, tips, batch.seen)
        if new:
            add = partial(_add_rows, batch, teams, came, light)
            _add_commits(repo, chosen, batch.seen, prompts, light, add, progress)
            batch.finish(tips)
    about = {"type": "facts", "repository": batch.repository}
    return {**about, "commits": new, "rows": batch.counts}


def name_repository(repo: Repo) -> str:
    """The name of a repository by the address of the usual remote; without one its directory."""
    remote = destination.find_usual_remote(repo)
    url = repo.config.get(f"remote.{remote}.url") if remote else ""
    return rows.derive_repository_name(url or repo.top or repo.common)


def _plan_export(
    repo: Repo, chosen: Sequence[str], tips: Sequence[str], seen: Set[str]
) -> tuple[int, dict[str, str]]:
    """How many commits are not seen, and rows.find_changes() of them all."""
    form = "--no-show-signature", "--format=%H %P"
    log = repo.git.stream_records("log", "-z", *form, "--end-of-options", *chosen, "--")
    try:
        graph = [decode_name(row).split() for row in log]
    except GitError as e:
        raise e.shorten() from None
    new = sum(row[0] not in seen for row in graph)
    return new, rows.find_changes(graph, tips[0]) if tips and new else {}


def _add_rows(
    batch: Batch, teams: Teams, came: dict[str, str], light: bool, commit: Commit, more: Rows
) -> None:
    oid = commit["oid"]
    every = rows.make_commit_rows(commit, teams, came.get(oid, oid), light)
    every["sessions"] = [prices.add_price(row, commit) for row in every["sessions"]]
    batch.add(rows.make_lead_columns(batch.repository, commit), {**every, **more})


def _add_commits(
    repo: Repo,
    chosen: Sequence[str],
    seen: Set[str],
    prompts: bool,
    light: bool,
    add: Callable[[Commit, Rows], None],
    progress: Callable[[int], None],
) -> None:
    """Call add() for each commit that is not seen."""
    gc.disable()  # what it looks through for circles comes and goes with each window of commits
    tell = partial(_read, seen, prompts)
    options = ("--no-patch", "--reverse", "--topo-order") if light else survival.OPTIONS
    with Prefetched(repo) as objects:
        replay = None if light else survival.Replay(repo, Evidence(repo, objects), chosen, ())
        history = ranges.map_commits(repo, objects, tell, chosen, (), options)
        for count, (commit, spoken) in enumerate(history):
            progress(count)
            time = int(commit["author"].rpartition(" ")[2])
            lived = []
            if replay:
                replay.survival.born = rows.round_to_day(time)
                replay.replay_commit(commit)
                lived = rows.make_survival_rows(replay.survival.take_events(), time)
            if spoken is not None:
                add(commit, {**spoken, "survival": lived})
    gc.enable()


def _read(seen: Set[str], prompts: bool, evidence: Evidence, change: Change) -> Spoken:
    """A commit, and of one that is new what its sessions said."""
    commit = ranges.describe_commit(evidence, change)
    if commit["oid"] in seen:
        return commit, None
    spoken: Rows = {"turns": [], "calls": []}
    for record in commit["records"]:
        try:
            data = evidence.recorded.read_transcripts(record["checkpoint_id"])
        except Error:
            data = {}
        transcript = list_items(data.get(record["session_id"], b""))
        for table, every in rows.make_spoken_rows(record, transcript, prompts).items():
            spoken[table] += every
    return commit, spoken
