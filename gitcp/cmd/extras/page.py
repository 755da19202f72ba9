"""gitcp-page - write a page for review: the change, who wrote it and why"""

from __future__ import annotations

import os
import sys
import webbrowser
from urllib.parse import quote

from gitcp import VERSION, memory
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK, Error
from gitcp.extras.page import locate_page, serve
from gitcp.git import allow_fetch, end_lasting, files
from gitcp.git.objects import Objects, pack_care
from gitcp.git.repo import Repo
from gitcp.lines.committed import evidence
from gitcp.steps.abandoned import list_turns
from gitcp.terminal import cli, extras, servers
from gitcp.text import console, term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from gitcp.extras.page.render import Page

_PACKAGES = "gitcp page needs cmarkgfm, Jinja2 and Pygments"
OPTIONS = (
    make_value("-o", "<file>", "where to write it (default: below .git); - for stdout"),
    make_flag("--open", "show it in the browser"),
    make_flag("--serve", "serve it on this machine, and renew it when refs change"),
    make_flag("--full", "with the whole conversations"),
    make_flag("--abandoned", "with a section of what its sessions tried and gave up"),
    make_flag(
        "--no-prompts", "leave prompts, answers and transcripts out, for places that others see"
    ),
    JSON,
    make_value(
        "name",
        "<name>",
        "a range, a commit, a checkpoint or a session (default: the newest 50 commits)",
        nargs="?",
        default="",
    ),
)


def run(argv: Sequence[str]) -> int:
    """Write the page."""
    args = cli.parse("page", OPTIONS, argv)
    repo = Repo.find()
    if args.serve:
        if args.o or args.json:
            args.error("--serve writes no file: it cannot be used with -o or --json")
        return _serve(repo, args)
    if args.json:
        if any((args.o, args.open, args.abandoned, args.full)):
            args.error("--json cannot be used with -o, --open, --full or --abandoned")
        page = gather_page(repo, args.name, not args.no_prompts, has_all=True)
        return cli.write_records([page.build_record()])
    if args.full and args.no_prompts:
        args.error("--full cannot be used with --no-prompts")
    page = make_page(repo, args)
    text = page.format_html(VERSION)
    data = text.encode("utf-8", "replace")
    if args.o == "-":
        sys.stdout.buffer.write(data)
        return OK
    path = os.path.abspath(args.o or locate_page(repo))
    if args.o:
        _write(path, data)
    else:
        files.write_private(repo, path, data)
    print(path)
    if args.open:
        _show("file://" + quote(path))
    return OK


def _show(address: str) -> None:
    if not webbrowser.open(address):
        raise Error("no browser could be opened")


def _serve(repo: Repo, args: Namespace) -> int:
    """Serve a name's page until Ctrl-C."""
    made: serve.Served | None = None

    def make() -> serve.Served:
        nonlocal made
        try:
            with pack_care.open_scratch(Repo.find(), always=True) as writable:
                page = make_page(writable, args)
                made = serve.Served(page.format_html(VERSION, serve.MADE), page.draw_talk)
        except Error as e:
            if made is None:
                raise
            console.warn(f"the page stays as it was: {e}")
        finally:
            _begin_anew()
        return made

    def announce(address: str) -> None:
        print(address, flush=True)
        if args.open:
            _show(address)

    servers.outlive_clients()
    serve.serve(repo, make, announce)
    return OK


def _begin_anew() -> None:
    """Forget refs, configuration and objects, which are others the next time."""
    cli.print_lacking()
    end_lasting()
    memory.forget()
    allow_fetch()
    console.wait_for_end()


def make_page(repo: Repo, args: Namespace) -> Page:
    """The page that the options ask for.  Raises Error for a name without commits."""
    page = gather_page(repo, args.name, not args.no_prompts, args.full)
    if args.abandoned:
        with pack_care.open_scratch(repo) as writable, Objects(writable):
            page.add_abandoned(list_turns(writable))
    page.lacks = cli.list_lacking()
    return page


def gather_page(
    repo: Repo,
    name: str,
    with_prompts: bool = True,
    is_full: bool = False,
    has_all: bool = False,
) -> Page:
    """The page with all that it shows.  has_all: also the sessions that wrote no line of it.
    Raises Error as make_page()."""
    try:
        from gitcp.extras.page import change, gather, sessions
        from gitcp.extras.page.render import Page
    except ImportError:
        raise extras.make_missing(_PACKAGES) from None
    place = f"{os.path.basename(repo.top or repo.common)}: {name or 'newest commits'}"
    clean = gather.open_kept(repo, "clean")
    drawn = gather.open_drawn(repo)
    redact = gather.make_redaction(repo, clean)
    page = Page(place, redact, gather.read_forge(repo), with_prompts, is_full)
    with Objects(repo):
        records = gather.list_commits(repo, name)
        if not records:
            raise Error(f"no commits in '{name}': there is no page to make")
        page.tip = records[0]["oid"]
        term.show_line(f"reading the lines of {len(records)} commits")
        authors = evidence.Evidence(repo)
        counts = gather.count_lines(repo, records, authors)
        page.stats = counts.stats
        names = gather.list_refs(repo)
        page.branch = gather.choose_branch(repo, name)
        for record in records:
            oid = record["oid"]
            page.add_commit(record, counts.added.get(oid, {}), names.get(oid, ()))
        ends = change.find_ends(repo, records, name)
        show = term.show_line
        changed = list(change.read_files(repo, authors, ends, counts.steps, counts.credited, show))
        wanted = change.list_writing(records, changed)
        if is_full or has_all:
            wanted = {**sessions.list_wanted(records), **wanted}
        page.sessions = sessions.read_sessions(repo, wanted)
        page.add_files(repo.objects, changed, drawn)
    clean.save()
    if drawn is not None:
        drawn.save()
    term.hide_progress()
    return page


def _write(path: str, data: bytes) -> None:
    """Write a file at once or not at all, and a device or a pipe directly."""
    if os.path.exists(path) and not os.path.isfile(path):
        try:
            with open(path, "wb") as device:
                device.write(data)
        except OSError as e:
            raise Error(f"cannot write '{path}': {e.strerror}") from None
    else:
        files.replace_file(path, data, durable=False)
