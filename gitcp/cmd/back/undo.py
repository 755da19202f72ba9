"""gitcp-undo - take back what gitcp changed last"""

from __future__ import annotations

import sys
from functools import partial

from gitcp import record
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK, Error
from gitcp.git import refs, shell
from gitcp.git.objects import Lookup, Objects, find_file, pack_care
from gitcp.git.repo import Repo
from gitcp.setup.care import unfinished
from gitcp.steps import undo, undo_tree
from gitcp.steps.back import follow_up, plan, points, steps
from gitcp.steps.step import CONFLICTS, REFUSE, UNDO
from gitcp.terminal import cli, going_back
from gitcp.text import console, term
from gitcp.text.console import parse_positive
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence

    from gitcp.steps.back.preparing import Prepared
    from gitcp.steps.back.steps import Mover, Outcome
    from gitcp.steps.step import Step

_NOTHING = "nothing to undo here: gitcp changed no file ('gitcp rewind' goes back)"
_NAMED = 5  # paths that a refusal names
# What becomes of paths with an edit of the person's: whether they deleted the file -> the sentence
# for one and for several, and what to do.
_LOSSES = {
    False: (
        "an edit of yours would be lost",
        "edits of yours would be lost",
        "--force overwrites {0}, and 'gitcp undo' restores {0}",
    ),
    True: (
        "a file that you deleted would come back",
        "files that you deleted would come back",
        "--force writes {0}, and 'gitcp undo' deletes {0} again",
    ),
}
_OTHERS = (
    "work of another session would be lost",
    "work of other sessions would be lost",
    "--force takes {0}, and 'gitcp undo' restores {0}",
)
_STEPS = {"undone": "undo", "redone": "redo"}  # word of the report -> command
CONFLICT = make_value(
    "--conflict",
    "<how>",
    "a file changed since in the same place: refuse (default), markers or keep",
    choices=CONFLICTS,
    default=REFUSE,
)
PLAN = make_flag("-n --dry-run", "show the plan and stop")
PATCH = make_flag("-p --patch", "show the plan as a diff too")
TELL = make_flag("--tell", "let the next prompt tell the agents here which files changed")
YES = make_flag("-y --yes", "do not ask")
LIST = make_flag("--list", "list the steps, and change nothing")


def _count_or_step(text: str) -> str:
    """Check an argument that is a number of steps or the id of a step."""
    if text == "0":
        return str(parse_positive(text))
    return text


COMMON = (LIST, PLAN, PATCH, CONFLICT, TELL, YES, JSON)
OPTIONS = (
    *COMMON,
    make_value(
        "step",
        "<count>|<step>",
        "a number of steps, or the id of the oldest step to undo (default: 1)",
        nargs="?",
        default="1",
        type=_count_or_step,
    ),
)


def run(argv: Sequence[str]) -> int:
    """Undo steps, as one step."""
    args = cli.parse("undo", OPTIONS, argv)
    return run_step(args, lambda mover: mover.undo_steps(args.step, args.conflict), "undone")


def run_step(args: Namespace, move: Callable[[Mover], Outcome], word: str) -> int:
    """Undo or redo steps by move, or list the undo log.  word: undone or redone; only undo asks
    for consent, since its caller may not know which step was the last."""
    read_only = args.list or args.dry_run
    with pack_care.open_scratch(Repo.find_here(), read_only) as repo, Objects(repo):
        _ = repo.worktree  # raises without one
        finish(repo)
        if args.list:
            return _list_steps(repo, args)
        outcome = move(make_mover(repo, args, MoveAgreement(repo, args, _STEPS[word])))
        return tell(repo, outcome, args, word)


def _list_steps(repo: Repo, args: Namespace) -> int:
    """List the undo log."""
    logged = undo.read_steps(repo)
    if args.json:
        return cli.write_records(step.make_listed_record() for step in logged)
    if not logged:
        print(_NOTHING)
        return OK
    known = dict[str, str]()
    if any(step.point for step in logged):
        listed = points.list_points(repo, everywhere=True)
        known = {point.id: going_back.name_moment(point) for point in listed}
    tree = undo_tree.UndoTree(logged)
    changes = {step.id: steps.summarize_step(repo, step) for step in tree.steps.values()}
    drawn = going_back.draw_undo_log(tree, changes, known, term.format_since, cli.read_width())
    cli.page_lines(drawn)
    return OK


def finish(repo: Repo) -> None:
    """Finish the step that a kill left unfinished, and warn about it."""
    for sentence in unfinished.finish(record.open_context(repo)):
        console.warn(sentence)


class Agreement:
    """Shows a plan, and asks for consent at a terminal if ask is set, or without force if an edit
    of the person's or of another session would be lost or a file that they deleted come back.

    Without a terminal such a loss raises Error instead.
    """

    def __init__(self, repo: Repo, args: Namespace, ask: bool = False, force: bool = True) -> None:
        self._repo = repo
        self._args = args
        self._ask = ask
        self._force = force
        self._terminal = sys.stdin.isatty()

    def __call__(self, prepared: Prepared, _: Sequence[Step]) -> bool:
        if not self._args.json:
            cli.page_lines(going_back.draw_plan(prepared.plan), paged=False)
            if self._args.patch:
                trees = (prepared.present.tree, prepared.tree)
                shell.run_git(self._repo, ["--no-pager", "diff", *trees, "--", ":(top)"])
        if self._args.dry_run:
            if self._args.json:
                cli.write_records([{"type": "plan", **prepared.plan.make_record()}])
            return False
        edited = list[str]()
        deleted = list[str]()
        others = list[str]()
        for action in prepared.todo:
            if action.yours and action.was is None:
                deleted.append(action.path)
            elif action.yours:
                edited.append(action.path)
            if action.theirs:
                others.append(f"{action.path} ({shorten_id(action.theirs)})")
        is_lost = bool(edited or deleted or others) and not self._force
        if is_lost and not self._terminal:
            raise Error("; ".join(_describe_losses(edited, deleted, others)))
        if not self._terminal or not prepared.todo or not (is_lost or self._ask):
            return True
        warning = ""
        if is_lost and edited:
            warning += f"{count_noun(len(edited), 'edit')} of yours would be lost; "
        if is_lost and deleted:
            warning += f"{count_noun(len(deleted), 'file')} that you deleted would come back; "
        if is_lost and others:
            warning += f"{count_noun(len(others), 'file')} of other sessions' work would be lost; "
        return cli.ask_line(f"{warning}go back? [y/N] ") in ("y", "yes")


class MoveAgreement(Agreement):
    """Agreement about the steps that undo or redo moves.

    At a terminal it shows them too, and undo asks.  A file that is committed on another branch than
    that of the step is not changed without consent: without a terminal that raises Error.
    """

    def __init__(self, repo: Repo, args: Namespace, word: str) -> None:
        """word: undo or redo."""
        super().__init__(repo, args)
        self._word = word
        self._terminal = self._terminal and sys.stdout.isatty()

    def __call__(self, prepared: Prepared, moved: Sequence[Step]) -> bool:
        oldest = moved[-1]
        args = self._args
        here = refs.read_branch(self._repo)
        other = ""
        if oldest.branch not in ("", here):
            other = undo.name_branch(oldest.branch)
        agreed = super().__call__(prepared, moved)
        if (self._terminal or args.dry_run) and not args.json:  # below the plan, which may be long
            since = undo.count_commits_since(self._repo, oldest)
            notes = list[str]()
            if since:
                counted = count_noun(since.count, "commit")
                notes.append(f"{counted} since, the newest {since.newest}")
            if other:
                notes.append(f"it was done on '{other}', and this is '{undo.name_branch(here)}'")
            lines = going_back.draw_moved_steps(self._word, moved, notes, term.format_since)
            cli.page_lines(lines, paged=False)
        if not agreed:
            return False
        if other and not args.yes:
            committed = _list_committed(prepared)
        else:
            committed = []
        asks = self._terminal and not args.yes and not args.json
        if committed and not asks:
            more = ""
            if committed[1:]:
                more = f" and {len(committed) - 1} more"
            raise Error(
                f"{self._word} would change '{committed[0]}'{more}, committed on"
                f" '{undo.name_branch(here)}', for a step on '{other}'; --yes does it"
            )
        if not asks or (self._word != UNDO and not committed):
            return True
        warning = f"{count_noun(len(committed), 'committed file')} would change; "
        question = f"{warning if committed else ''}{self._word} it? [y/N] "
        return cli.ask_line(question) in ("y", "yes")


def _list_committed(prepared: Prepared) -> list[str]:
    """The paths that a plan changes and that are now as HEAD has them."""
    look = Lookup(prepared.present.repo.objects, prepared.present.head_tree)
    return [a.path for a in prepared.todo if a.was and find_file(look, a.path) == a.was]


def make_mover(repo: Repo, args: Namespace, agree: Agreement | None = None) -> Mover:
    """What takes steps, with progress at a terminal; agree: by default Agreement(repo, args)."""
    agree = agree or Agreement(repo, args)
    return steps.Mover(repo, agree, partial(term.show_count, "going back"), args.dry_run)


def _describe_losses(*losses: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each kind of loss with its paths: those of _LOSSES, and _OTHERS."""
    kinds = [*_LOSSES.values(), _OTHERS]
    for paths, (one, several, remedy) in zip(losses, kinds, strict=True):
        if paths:
            more = ""
            if len(paths) > _NAMED:
                more = f" and {len(paths) - _NAMED} more"
            names = ", ".join(f"'{path}'" for path in paths[:_NAMED]) + more
            what, them = (several, "them") if len(paths) > 1 else (one, "it")
            yield f"{what}: {names}; {remedy.format(them)}"


def tell(repo: Repo, outcome: Outcome, args: Namespace, word: str) -> int:
    """Report an outcome, with --tell after leaving messages for agents; return the status."""
    notes = [*outcome.notes]
    paths = [action.path for action in plan.list_effective(outcome.plan.actions)]
    if args.tell and outcome.step and paths:
        notes += follow_up.tell_agents(repo, _STEPS.get(word, "rewind"), paths)
    if args.json:
        if not args.dry_run:
            cli.write_records([{**outcome.make_record(), "notes": notes}])
    elif args.dry_run:
        if outcome.beside:
            cli.show(f"afterwards {outcome.beside}")
        cli.show("nothing was changed: without -n it is done")
    elif not outcome.step:
        cli.show("nothing changed")
    else:
        cli.show(_describe_outcome(outcome, word))
        _tell_conversation(outcome)
    for path in outcome.differ:
        console.warn(f"'{path}' was changed again by another process")
    for note in notes:
        console.tell(f"note: {note}")
    if outcome.differ:
        return NO
    return OK


def _describe_outcome(outcome: Outcome, word: str) -> str:
    """What was done, and how to take it back: `changed 1. 'gitcp undo' takes it back`."""
    parts = [steps.summarize_plan(outcome.plan), outcome.beside]
    done = ", ".join(filter(None, parts)) or "no file changed"
    if word in _STEPS:
        done = f"{word}: {outcome.subject} ({done})"
        if not sys.stdout.isatty():
            return done
    takes = "undo' takes it back"
    if word == "undone":
        takes = "redo' repeats it"
    return f"{done}. 'gitcp {takes}"


def _tell_conversation(outcome: Outcome) -> None:
    talk = outcome.conversation
    if talk is None:
        return
    for note in talk.notes:
        console.tell(f"note: {note}")
    print("to go on with the conversation from there:")
    cli.show(f"  {talk.command}")
