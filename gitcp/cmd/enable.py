"""gitcp-enable - install the hooks of git and of an agent"""

from __future__ import annotations

import os
import sys

from gitcp import agents
from gitcp.cmd import disable
from gitcp.console import cli, ending, notice, picker
from gitcp.console.options import flag, value
from gitcp.core.setup import entire_settings
from gitcp.errors import OK, Error, sentence
from gitcp.lock import exclusive
from gitcp.repo import Repo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record
    from gitcp.core.setup.installation import Write
    from gitcp.store.setup.manifest import Manifest

    Plan = tuple[list[Write], list[str]]  # what to write, what to say


_NAMES = agents.names()
OPTIONS = (
    value(
        "--agent",
        "<name>",
        f"whose hooks: {', '.join(_NAMES)}; may be given again (default: all here)",
        action="append",
        choices=_NAMES,
    ),
    [
        flag("--shared", "put agent hooks into settings others get too"),
        flag("--user", "put agent hooks into your own settings, for all"),
    ],
    flag("--force", "write also what is not this clone's"),
    value(
        "--strategy",
        "<name>",
        "what a turn's end makes: manual-commit, a checkpoint, or auto-commit, a commit",
        choices=("manual-commit", "auto-commit", "shadow", "dual"),
    ),
    value(
        "--guard",
        "<mode>",
        "where sessions collide: off, warn or deny",
        choices=("off", "warn", "deny"),
    ),
    value("--checkpoints", "<where>", "where checkpoints are sent: none, a remote or a URL"),
    flag("--worktree", "write only what the agents of another worktree look for here"),
    flag("--dry-run", "only say what would be done"),
)
_TO_DO = {"wrote": "write", "took": "take", "removed": "remove"}


def install_silently(args: Namespace, records: Iterable[Record]) -> Iterator[Record]:
    """Install what the options say, without a word, at the end of the records that come by."""
    yield from records
    _install(Repo.here(), args)


STAGES = {"enable": (install_silently, *OPTIONS)}


def run(argv: Sequence[str]) -> int:
    """Install the hooks; what is there already stays, and a second run changes nothing."""
    import tempfile

    from gitcp.store.setup import manifest

    args = cli.parse("enable", OPTIONS, argv)
    if not args.dry_run:
        repo = _usable(Repo.find(init=""))
        args.checkpoints = _destination(repo, args)
        done, notes = _install(repo, args)
        _say(repo, done, notes)
        if done and not args.worktree:
            print("'gitcp status' shows what is recorded from now on")
        return OK
    with tempfile.TemporaryDirectory() as aside:  # a look makes nothing here
        repo = _usable(Repo.find(init=aside))
        writes, notes = plan(repo, args, manifest.of(repo))
        _say(repo, [_would(write["note"]) for write in writes], notes)
    return OK


def _destination(repo: Repo, args: Namespace) -> str:
    """Where checkpoints are to be sent from now on, "" for as before: as the options say, or the
    person at the terminal, who is asked once.  Raises Error for what is neither a remote nor a
    URL."""
    from gitcp.store.setup import proposal
    from gitcp.store.v1 import destination

    if args.checkpoints:
        return destination.checked(repo, args.checkpoints)
    proposed, file = proposal.unanswered(repo)
    settled = bool(destination.read(repo) or destination.inherited(repo))
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not args.worktree
    if not asks or (settled and not proposed):
        return ""
    usual = destination.usual(repo)
    choices = [("as now", "")] if settled else [("only here", destination.NONE)]
    choices += [("in another repository", "?")]
    choices += [(f"with the code, to '{usual}'", usual)] if usual and not settled else []
    choices += [(f"to '{proposed}', as '{file}' proposes", proposed)] if proposed else []
    print("Where are prompts and transcripts of commits sent, when you push?")
    chosen = choices[picker.numbered([words for words, _ in choices], 0) or 0][1]
    if proposed:
        proposal.answer(repo, proposed)
    if chosen == "?":
        given = cli.answered("its URL: ", lower=False)
        return destination.checked(repo, given) if given else ""
    return chosen


def _usable(repo: Repo) -> Repo:
    """The repository, where hooks can be written for it, and for the Python that runs this.

    Raises ImportError for a package that it does not have: most hooks do without, others would
    fail one day.
    """
    from importlib.util import find_spec

    from gitcp.store.setup import takeover

    for name in ending.PACKAGES:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    if repo.top is None:
        raise Error(f"'{repo.git_dir}' has no work tree: run this in one of its worktrees")
    takeover.refuse_branches(repo)
    return repo


def _install(repo: Repo, args: Namespace) -> tuple[list[str], list[str]]:
    """Carry out the plan; what was done and what else is to be said."""
    from gitcp.store.setup import manifest, new_worktree

    with exclusive(repo, "install"):
        known = manifest.of(repo)
        writes, notes = plan(repo, args, known)
        done = [write["note"] for write in writes if _carry_out(repo, write, known)]
        if args.worktree:
            new_worktree.settle(repo, known)
        else:
            done += _prepare(repo, known)
    return done, notes


def _carry_out(repo: Repo, write: Write, known: Manifest) -> bool:
    """Write one file.  False for an agent's that cannot be: it is told, and keeps no other back."""
    from gitcp.store.setup import manifest, strays

    at = manifest.of_person() if write.get("user") else known
    try:
        if write["kind"] == "stray":
            strays.clear(write)
        else:
            at.put(write, disable.stripper(repo, at))
    except (OSError, Error) as e:
        if "agent" not in write:
            raise
        notice.lack(f"{sentence(e)}: {write['agent']} is not set up")
        return False
    return True


def plan(repo: Repo, args: Namespace, known: Manifest) -> Plan:
    """Everything that is to be written and said, decided before anything is written."""
    from gitcp.agents.install import enabling
    from gitcp.store.setup import clients, exclude, git_hooks, new_worktree, takeover

    baked = _baked()
    if args.worktree:
        return new_worktree.plan(repo, known, baked), []
    # Where no git sees the worktree none runs its hooks: commits are noticed at the next event.
    writes, notes = git_hooks.plan(repo, known, *baked, args.force) if repo.has_git else ([], [])
    here = enabling.present(os.path.expanduser("~"), repo.worktree)
    names, chosen_for = (args.agent, []) if args.agent else here
    scope = "shared" if args.shared else "user" if args.user else "local"
    more = clients.plan(repo, names, scope, baked, args.force)
    writes, notes = writes + more[0], [*notes, *chosen_for, *more[1]]
    strategy = entire_settings.strategy(args.strategy)
    asked = {
        "gitcp.strategy": strategy,
        "gitcp.guard": args.guard,
        "gitcp.remote": args.checkpoints,
    }
    chosen = {key: value for key, value in asked.items() if value}
    values, unread = takeover.settings(repo, known)
    config = takeover.plan_config(repo, {**values, **chosen})
    alone = [w["path"] + end for w in writes if w.get("alone") for end in _ends(w)]
    away = [path for path in alone if not exclude.inside(path, repo.worktree)]
    names = exclude.carried(repo, alone)
    names += exclude.carried(clients.seat(repo), away) if away else []
    hidden = exclude.plan(repo, sorted(set(names))) if names else None
    return [*([hidden] if hidden else []), *writes, *([config] if config else [])], notes + unread


def _baked() -> tuple[str, str]:
    """The interpreter and the entry that hooks start."""
    import gitcp

    entry = os.path.join(os.path.dirname(os.path.abspath(gitcp.__file__)), "entry.py")
    return os.path.abspath(sys.executable), entry


def _would(note: str) -> str:
    verb, _, rest = note.partition(" ")
    return f"would {_TO_DO.get(verb, verb)} {rest}"


def _ends(write: Write) -> list[str]:
    return ["", write["aside"]] if write.get("aside") else [""]


def _prepare(repo: Repo, known: Manifest) -> list[str]:
    """The data the hooks rely on: our index, markers, states; what was done, to be said."""
    from gitcp.store.git.objects import Objects
    from gitcp.store.setup import configured, recording, takeover, watched
    from gitcp.store.snapshot import index

    done = []
    index.seed(repo)
    configured.write(repo)
    watched.write(repo, known)
    takeover.mark(repo)
    with Objects(repo) as objects:
        taken = takeover.adopt(repo, objects)
        recording.begin(repo)
        recording.share(repo, objects)
    if taken:
        done.append(f"took over {len(taken)} unsettled sessions of Entire")
    try:
        os.unlink(repo.shared("off"))
        done.append("gitcp is awake again here")
    except FileNotFoundError:
        pass
    return done


def _say(repo: Repo, done: list[str], notes: list[str]) -> None:
    from gitcp.store.setup import health

    findings = list(health.git(repo)) if repo.has_git else []
    kept = [str(one["reason"]) for one in findings if one["kind"] == "kept-hook"]
    for line in [*done, *notes, *kept]:
        print(cli.printable(line))
    if not (done or findings or notice.incomplete()):
        print("gitcp is enabled here already: nothing to do")
