"""gitcp-enable - begin to record: install the hooks of git and of agents"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec

from gitcp import agents
from gitcp.checkpoints import stored
from gitcp.checkpoints.share import places
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK, Error, UsageError
from gitcp.extras.imports import counts, linking
from gitcp.extras.reports import workspace
from gitcp.git import refs
from gitcp.git.repo import Repo
from gitcp.setup import adapters, configured_hooks, install, takeover
from gitcp.setup.care import installation, switches
from gitcp.setup.clients import enabling
from gitcp.terminal import cli, completion, picker
from gitcp.text import console
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from gitcp.setup.hook_texts import Write
    from gitcp.setup.install import Options

_NAMES = agents.list_names()
OPTIONS = (
    make_value(
        "--agent",
        "<name>",
        f"whose hooks: {', '.join(_NAMES)}; may be given again (default: all here)",
        action="append",
        type=adapters.parse_agent,
        default=[],
    ),
    [
        make_flag("--global", "record in all your repositories, from any directory"),
        make_flag("--shared", "put agent hooks into settings that others share"),
        make_flag("--user", "put agent hooks into your own settings, for all repositories"),
    ],
    make_flag("--skills", "write a skill that tells agents when to ask gitcp, and how"),
    make_flag("--list", "list the known agents, and where their hooks are written"),
    make_flag("--force", "write also files that are not this clone's"),
    make_value(
        "--strategy",
        "<name>",
        "what a turn's end makes: manual-commit, a checkpoint, or auto-commit, a commit",
        choices=("manual-commit", "auto-commit", "shadow", "dual"),
    ),
    make_value(
        "--guard",
        "<mode>",
        "where sessions collide: off, warn or deny",
        choices=("off", "warn", "deny"),
    ),
    make_value("--checkpoints", "<where>", "where checkpoints are sent: none, a remote or a URL"),
    make_flag("--worktree", "write only what the agents of another worktree look for here"),
    make_flag("-v --verbose", "name every file that is written"),
    make_flag("-n --dry-run", "only say what would be done"),
    JSON,
    make_value("directory", "<directory>", "with --global: of repositories to set up", nargs="*"),
)
_TO_DO = {"wrote": "write", "took": "take", "removed": "remove"}


def _read_options(args: Namespace) -> Options:
    scope = "local"
    if args.user:
        scope = "user"
    if args.shared:
        scope = "shared"
    return install.Options(
        list(dict.fromkeys(args.agent)),
        scope,
        force=args.force,
        strategy=args.strategy,
        guard=args.guard,
        worktree=args.worktree,
        destination=args.checkpoints,
        skills=args.skills,
    )


def run(argv: Sequence[str]) -> int:
    """Install the hooks; a second run changes nothing."""
    args = cli.parse("enable", OPTIONS, argv)
    if args.json and (args.list or getattr(args, "global")):
        args.error("--json cannot be used with --list or --global")
    if args.list:
        return _print_agents()
    if getattr(args, "global"):
        return _enable_everywhere(args)
    if args.directory:
        name = args.directory[0]
        raise UsageError(f"unknown argument: '{name}'; agents need --agent, directories --global")
    options = _read_options(args)
    if not args.dry_run:
        return _enable(args, options)
    with tempfile.TemporaryDirectory() as folder:  # a dry run writes nothing here
        repo = _find_usable(Repo.find(init=folder))
        agreed = list[str]()
        if options.destination in places.list_remotes(repo):
            there = places.find_places(repo, options.destination)
            agreed = [f"would agree to send checkpoints to '{place.url}'" for place in there]
            options.destination = ""
        writes, notes = install.plan_install(repo, options, takeover.load_manifest(repo))
        if args.json:
            return _write_files(writes, notes, done=False)
        _say(repo, [*(_announce(write["note"]) for write in writes), *agreed], notes)
    return OK


def _enable(args: Namespace, options: Options) -> int:
    """Install the hooks here, and say what is recorded and sent from now on."""
    repo = _find_usable(Repo.find(init=""))
    destination = _choose_destination(repo, args)
    is_remote = destination in places.list_remotes(repo)
    wants_refs = is_remote and not args.checkpoints and _ask_for_refs(repo)
    options.destination = "" if is_remote else destination
    installed = install.install(repo, options)
    if wants_refs:
        repo.git.run("config", "--local", stored.STORE_KEY, "refs")
    writes = installed.writes
    notes = [*installed.notes, *_agree(repo, destination)]
    if args.json:
        return _write_files(writes, notes, done=True)
    _say(repo, [*_format_summary(writes, args.verbose), *installed.done], notes)
    if args.worktree:
        return OK
    if writes:
        _say_next(repo)
    if writes or places.list_agreed(repo):
        cli.show_whole(*places.describe_sending(repo))
    return OK


def _say_next(repo: Repo) -> None:
    """Say what the person can do after an installation."""
    home = os.path.expanduser("~")
    kept = counts.count_conversations(repo, home)
    cli.show(*counts.describe_counts(repo, home, kept))
    if kept:
        _offer_import(repo, home)
    if sys.stdout.isatty():
        shell = os.path.basename(os.environ.get("SHELL", ""))
        if shell in completion.STARTS:
            command, file = completion.STARTS[shell]
            cli.show(f"'{command}' in {file} completes commands")
    names = [agents.get_agent_type(name) for name in installation.list_enabled(repo)]
    if len(names) == 1:
        print(f"start {names[0]} here once, then 'gitcp status'")
    else:
        print("start each agent here once, then 'gitcp status'")


def _offer_import(repo: Repo, home: str) -> None:
    """Ask once, at a terminal, whether to import the conversations that are there."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    if not takeover.ask_once(repo, "import-conversations"):
        return
    if not cli.ask_consent("link their commits now?"):
        return
    plan = linking.prepare_import(repo, home)
    step = linking.carry_out_plan(repo, plan)
    if step:
        print(f"linked {plan.format_reason()}: 'gitcp undo' takes it back ({step[:8]})")
    else:
        print("no commit has lines of them")


def _write_files(writes: Sequence[Write], notes: Sequence[str], *, done: bool) -> int:
    """Write a record of each file that was written, or would be, and the notes as messages."""
    for note in notes:
        console.tell(note)
    return cli.write_records(
        {
            "type": "file",
            "path": write["path"],
            "kind": write["kind"],
            "agent": write.get("agent", ""),
            "done": done,
            "note": write["note"] if done else _announce(write["note"]),
        }
        for write in writes
    )


def _announce(note: str) -> str:
    """What would be done, of a note that says that it was."""
    verb, _, what = note.partition(" ")
    return f"would {_TO_DO.get(verb, verb)} {what}"


def _enable_everywhere(args: Namespace) -> int:
    """Set up all repositories, with an older git new ones and those below directories; print what
    was done and left out."""
    repos = workspace.find_below(args.directory)
    done, left = install.install_person(args.agent, args.force, args.dry_run)
    for client in map(agents.get_client, args.agent or _NAMES):
        left += [found.reason for found in switches.find_switches(client, "", {})]
    cli.show(*(map(_announce, done) if args.dry_run else done))
    count = 0
    for repo in repos:
        place = repo.top or repo.common
        written, why = install.install_repository(place, args.agent, args.dry_run)
        count += not why
        if why:
            left.append(f"{place}: {why}")
        elif written:
            cli.show_whole(f"{'would set' if args.dry_run else 'set'} up '{place}'")
    state = "would be" if args.dry_run else "is"
    if configured_hooks.are_supported():
        print(f"gitcp {state} enabled in all your repositories, without files of hooks in them")
    else:
        where = f"in {count} of {len(repos)} that are there"
        print(f"gitcp {state} enabled for new repositories, and {where}")
    for line in left:
        cli.show_whole(f"left out: {line}")
    return OK


def _print_agents() -> int:
    """Print every agent with its settings file, and whether it was tried with the real client."""
    for client in map(agents.get_client, _NAMES):
        paths = client.list_settings_paths(os.path.expanduser("~"), "")
        path = paths.get("local") or paths.get("shared") or f"gitcp run {client.PROGRAM}"
        untried = ""
        if client.UNTRIED:
            untried = "  (never tried with the real client)"
        print(f"{client.NAME:14} {path}{untried}")
    return OK


def _choose_destination(repo: Repo, args: Namespace) -> str:
    """The new destination of checkpoints, "" for no change: by the options, or by a question at the
    terminal, which is asked once.  Raises Error for what is neither a remote nor a URL."""
    if args.checkpoints:
        return places.check_destination(repo, args.checkpoints)
    proposed, file = takeover.find_proposal(repo)
    settled = places.is_settled(repo)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not (args.worktree or args.json)
    if not asks or (settled and not proposed):
        return ""
    usual = places.find_usual_remote(repo)
    if settled:
        choices = [("as now", "")]
    else:
        choices = [("only here", places.NONE)]
    choices += [("in another repository", "?")]
    if usual and not settled:
        choices += [(f"with the code, to '{usual}'", usual)]
    if proposed:
        choices += [(f"to '{proposed}', as '{file}' proposes", proposed)]
    print("Where are prompts and transcripts of commits sent, when you push?")
    chosen = choices[picker.choose_numbered([words for words, _ in choices], 0) or 0][1]
    if proposed:
        takeover.answer_proposal(repo, proposed)
    if chosen == "?":
        url = cli.ask_line("its URL: ", lower=False)
        if url:
            return places.check_destination(repo, url)
        return ""
    return chosen


def _ask_for_refs(repo: Repo) -> bool:
    """Ask whether checkpoints that are sent with the code are refs of their own, unless there are
    some, of anybody, or it is configured."""
    if repo.config.get_option(stored.STORE_KEY):
        return False
    if stored.has_checkpoints(repo) or stored.list_remote_branches(repo):
        return False
    print("How are they stored?  Refs are in no list of branches, and no preview deploys them.")
    choices = (
        f"on a branch, '{refs.REF.removeprefix('refs/heads/')}'",
        "as refs, each checkpoint its own",
    )
    return picker.choose_numbered(choices, 0) == 1


def _agree(repo: Repo, destination: str) -> list[str]:
    """Agree to the places of what the person chose, or to what is configured by a remote's name;
    return what is to be said."""
    repo.read_config_again()  # which the installation has changed
    if destination in ("", places.NONE):
        settled = places.settle(repo)
        return [settled] if settled else []
    places.agree(repo, [place.url for place in places.find_places(repo, destination)])
    return []


def _find_usable(repo: Repo) -> Repo:
    """Return repo if hooks can be written for it and run by this Python.

    Raise ImportError for a missing package, without which some hooks would fail.
    """
    for name in cli.PACKAGES:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    if repo.top is None:
        raise Error(f"'{repo.git_dir}' has no work tree: run this in one of its worktrees")
    takeover.refuse_branches(repo)
    return repo


def _format_summary(writes: Sequence[Write], verbose: bool) -> list[str]:
    """A few lines about what was written; verbose: a line for each file."""
    if verbose:
        return [write["note"] for write in writes]
    hooks = [write for write in writes if write["kind"] == "hook"]
    of_agents = [write for write in writes if write["note"].startswith("wrote the hooks of")]
    clients = dict.fromkeys(write["agent"] for write in of_agents)
    parts = []
    if hooks:
        chained = [
            _name_hook(w) + (f" ({w['calls']})" if w["calls"] else "")
            for w in hooks
            if "calls" in w
        ]
        entires = sum(write["note"].startswith("took over") for write in hooks)
        if chained:
            parts.append(f"the hooks that were here still run: {', '.join(chained)}")
        for tool in dict.fromkeys(w["called_by"] for w in hooks if "called_by" in w):
            called = [_name_hook(w) for w in hooks if w.get("called_by") == tool]
            if len(called) == len(hooks):
                which = "them"
            else:
                which = ", ".join(called)
            parts.append(f"{tool} calls {which}")
        if entires:
            parts.append(f"took over {count_noun(entires, 'hook')} from Entire")
    lines = []
    if hooks or clients:
        names = ", ".join(map(agents.get_agent_type, clients))
        what = "git's hooks are set up here"
        if clients:
            what = f"recording {names} here from now on"
        lines.append("; ".join([what, *parts]))
    single = [w for w in writes if w["kind"] not in ("hook", "exclude") and w not in of_agents]
    return [*lines, *(write["note"] for write in single)]


def _name_hook(write: Write) -> str:
    return os.path.basename(write["path"]).partition(".")[0]


def _say(repo: Repo, done: list[str], notes: list[str]) -> None:
    findings = list(installation.find_in_hooks(repo))
    kept = [found.reason for found in findings if found.kind == "kept-hook"]
    first = [note for note in notes if note.startswith(("found ", enabling.NONE_FOUND))]
    cli.show_whole(*first, *done, *(note for note in notes if note not in first), *kept)
    if not (done or findings or console.is_incomplete()):
        print("gitcp is enabled here already: nothing to do")
