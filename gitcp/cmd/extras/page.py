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
        if args.o or args.open or args.abandoned:
            args.error("--json cannot be used with -o, --open or --abandoned")
        return cli.write_records([gather_page(repo, args.name, not args.no_prompts).build_record()])
    text = make_page(repo, args.name, not args.no_prompts, abandoned=args.abandoned)
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
    with_prompts = not args.no_prompts
    text = ""

    def make() -> str:
        nonlocal text
        try:
            with pack_care.open_scratch(Repo.find(), always=True) as writable:
                text = make_page(writable, args.name, with_prompts, serve.MADE, args.abandoned)
        except Error as e:
            if not text:
                raise
            console.warn(f"the page stays as it was: {e}")
        finally:
            _begin_anew()
        return text

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


def make_page(
    repo: Repo, name: str, with_prompts: bool = True, made: str = "", abandoned: bool = False
) -> str:
    """The HTML of a name's page.  made: the number of a page that is served; abandoned: with what
    its sessions gave up.  Raises Error for a name without commits."""
    page = gather_page(repo, name, with_prompts)
    if abandoned:
        with pack_care.open_scratch(repo) as writable, Objects(writable):
            page.add_abandoned(list_turns(writable))
    return page.format_html(VERSION, made)


def gather_page(repo: Repo, name: str, with_prompts: bool) -> Page:
    """The page with all that it shows.  Raises Error as make_page()."""
    try:
        from gitcp.extras.page import change, gather
        from gitcp.extras.page.render import Page
    except ImportError:
        raise extras.make_missing(_PACKAGES) from None
    title = f"{os.path.basename(repo.top or repo.common)}: {name or 'newest commits'}"
    links = gather.read_forge(repo)
    clean = gather.open_kept(repo, "clean")
    drawn = gather.open_drawn(repo)
    page = Page(title, gather.make_redaction(repo, clean), links, with_prompts, drawn)
    with Objects(repo):
        records = gather.list_commits(repo, name)
        if not records:
            raise Error(f"no commits in '{name}': there is no page to make")
        page.tip = records[0]["oid"]
        term.show_line(f"reading the sessions of {len(records)} commits")
        page.add_sessions(gather.gather_sessions(repo, records))
        authors = evidence.Evidence(repo)
        counts = gather.count_lines(repo, records, authors)
        page.stats = counts.stats
        names = gather.list_refs(repo)
        for record in records:
            oid = record["oid"]
            page.add_commit(record, counts.added.get(oid, {}), names.get(oid, ()))
        ends = change.find_ends(repo, records, name)
        files = change.read_files(
            repo, authors, ends, counts.steps, counts.credited, term.show_line
        )
        page.add_files(repo.objects, files, counts.removers)
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
