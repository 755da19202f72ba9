"""gitcp-stats - show how much of a range agents and people wrote"""

from __future__ import annotations

from gitcp.console import cli, notice
from gitcp.console.options import JSON, make_flag, make_value
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Record
    from gitcp.repo import Repo
    from gitcp.store.stats.prices import Prices

OPTIONS = (
    [JSON, make_flag("--markdown", "write tables for a pull request")],
    make_flag(
        "--survival",
        "tell too how many of the agents' lines live on, and who rewrote the rest",
    ),
    make_flag("--cost", "tell too what the tokens cost, by the prices that are here"),
    make_value(
        "words",
        "<revision>",
        "as in git-log(1) (default: HEAD); behind -- paths that the counting is limited to",
        nargs="*",
    ),
)
_EACH = 100  # commits between two words about how far it is
_WIDE = 100  # cells where no terminal tells: nothing is cut


def run(argv: Sequence[str]) -> int:
    """Show whose lines the commits of a range have; nothing is changed."""
    import os

    from gitcp.repo import Repo

    words, paths = list(argv), []
    if "--" in words:
        at = words.index("--")
        words, paths = words[:at], words[at + 1 :]
    args = cli.parse("stats", OPTIONS, words)
    repo = Repo.find_here()
    below = os.path.relpath(os.getcwd(), repo.top) if repo.top else "."
    paths = [os.path.normpath(os.path.join(below, path)) for path in paths]
    prices = _load_prices(repo) if args.cost else None
    stats = _count_lines(repo, args.words, paths, args.survival, prices)
    if args.json:
        cli.write_records([stats])
    elif args.markdown:
        from gitcp.core.render import stats_lines

        for line in stats_lines.format_markdown(stats):
            print(line)
    else:
        from gitcp.cmd import show
        from gitcp.core.render import stats_lines

        show.page_lines(stats_lines.draw_stats(stats, cli.read_width() or _WIDE))
    return OK


def _load_prices(repo: Repo) -> Prices:
    """The prices that are here.  Raises Error where there are none."""
    from gitcp.errors import Error
    from gitcp.store.stats import prices

    if (table := prices.load(repo)) is None:
        how = "name a file of them by 'gitcp.prices', or install 'gitcp[prices]'"
        raise Error(f"no prices are here: {how}")
    return table


def _count_lines(
    repo: Repo, revisions: list[str], paths: list[str], lived: bool, prices: Prices | None
) -> Record:
    import gc

    from gitcp.core.stats.sums import Sums
    from gitcp.store.git.prefetch import Prefetched
    from gitcp.store.lines import ranges
    from gitcp.store.lines.evidence import Evidence
    from gitcp.store.show import survival

    gc.disable()  # what it looks through for circles comes and goes with each window of commits
    sums = Sums()
    with Prefetched(repo) as objects:
        about = repo, Evidence(repo, objects), revisions, paths
        replay = survival.Replay(*about) if lived else None
        of = f" of {replay.commits}" if replay else ""
        options, limits = (survival.OPTIONS, ()) if replay else (ranges.WHOLE, paths)
        for count, commit in enumerate(
            ranges.list_commits(repo, objects, revisions, limits, options)
        ):
            if count % _EACH == 0:
                notice.show_progress(f"stats: {count}{of} commits")
            if replay:
                replay.replay_commit(commit)
            if ranges.limit_patches(commit, paths):
                sums.take(commit)
        stats = sums.build_record()
        if replay:
            stats["survival"] = replay.build_record()
        if prices:
            stats["cost"] = prices.sum_record(sums.spent)
    notice.show_progress("")
    return stats
