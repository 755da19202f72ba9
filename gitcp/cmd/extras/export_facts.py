"""gitcp-export-facts - write what is known of commits as tables of Parquet"""

from __future__ import annotations

from gitcp.commands import JSON, REVISIONS, make_flag, make_value
from gitcp.errors import OK
from gitcp.extras.facts import dataset
from gitcp.git.repo import Repo
from gitcp.terminal import cli, extras
from gitcp.text import term
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    make_value("-o", "<directory>", "the dataset, which is created if needed", required=True),
    make_value("--repository", "<name>", "the repository's name in the dataset", default=""),
    make_flag("--text", "with the prompts, redacted"),
    make_flag("--light", "only facts that need no content of files"),
    JSON,
    REVISIONS,
)
_PACKAGES = "gitcp export-facts needs the Python package 'pyarrow'"
_EACH = 100  # commits between two reports of progress


def run(argv: Sequence[str]) -> int:
    """Add to a dataset the facts that it lacks."""
    args = cli.parse("export-facts", OPTIONS, argv)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise extras.make_missing(_PACKAGES, "facts") from None
    options = args.repository, args.text, args.light
    repo = Repo.find(eager=True)
    done = dataset.export_facts(repo, args.o, args.revision, *options, _show_progress)
    term.hide_progress()
    if args.json:
        cli.write_records([done])
    else:
        rows = count_noun(sum(done["rows"].values()), "row")
        commits = count_noun(done["commits"], "new commit")
        cli.show(f"{done['repository']}: {commits}, {rows}")
    return OK


def _show_progress(count: int) -> None:
    if count % _EACH == 0:
        term.show_line(f"export-facts: {count} commits")
