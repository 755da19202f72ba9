"""gitcp-bisect - find the call at which a test begins to fail"""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from gitcp.cmd.back import undo
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK, Error, UsageError
from gitcp.extras.bisect import rules
from gitcp.extras.bisect.rules import BAD, GOOD, SKIP
from gitcp.extras.bisect.states import read_history
from gitcp.git import decode_name, shell
from gitcp.git.objects import Objects, pack_care
from gitcp.git.repo import Repo
from gitcp.record import session
from gitcp.record.session import others
from gitcp.record.turn import sessions
from gitcp.setup.care import unfinished
from gitcp.steps import under_way
from gitcp.steps.back import named, points, steps
from gitcp.steps.back.point import AFTER
from gitcp.steps.back.preparing import DIFF
from gitcp.steps.back.present import Present, name_in_worktree, read_present
from gitcp.steps.commits import scratch
from gitcp.terminal import cli
from gitcp.text import console, ids, spans, term
from gitcp.text.console import parse_positive
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.commands import Rows
    from gitcp.extras.bisect.rules import Change
    from gitcp.extras.bisect.states import StateHistory
    from gitcp.steps.commits.scratch import InPlace, Scratch
    from gitcp.text.record_types import Record

OPTIONS: Rows = (
    make_value("--session", "<id>", "first the states after a call of this session", default=""),
    make_value("--setup", "<command>", "run this by sh once, before the first test"),
    make_value(
        "--share",
        "<path>",
        "copy an ignored file or directory of the worktree; may be repeated",
        action="append",
        default=[],
    ),
    make_flag("--in-place", "run the command in the worktree itself, and bring it back"),
    make_value(
        "--retry",
        "<n>",
        "run a failing command up to <n> times more: it is good if it passes once",
        type=parse_positive,
        default=0,
    ),
    make_flag("--tell", "let the next prompt tell the session that made the change"),
    make_flag("-n --dry-run", "list the changes, and run nothing"),
    JSON,
    make_value("good", "<good>", "where the command passes: a point, a commit or a checkpoint"),
    make_value(
        "bad",
        "<bad>",
        "where it fails (default: the worktree as it is)",
        nargs="?",
        default=named.WORKTREE,
    ),
    make_value("words", "<command>", "the command and its arguments (after --)", nargs="*"),
)
_TAIL = 10  # lines of the command's output, and names of a list, that are shown
_MOST_TOLD = 3000  # characters of a diff that an agent is told
_AUTHORS = {
    ids.PERSON: "an edit by hand",
    ids.UNKNOWN: "a change by nobody known",
    rules.STEP: "a step of gitcp",
    rules.UNSEEN: "a change that no hook saw",
}
_VERBS = {(True, False): "added", (False, True): "deleted"}  # (was absent, is absent)


def run(argv: Sequence[str]) -> int:
    """Find a change, and print it; NO if none was found, or if it is one of several."""
    end = argv.index("--") if "--" in argv else len(argv)
    args = cli.parse("bisect", OPTIONS, argv[:end])
    if args.words:
        args.error(f"unknown argument: '{args.words[0]}' (the command follows after --)")
    args.words = list(argv[end + 1 :])
    if not args.words and not args.dry_run:
        args.error("no command given: put it after --")
    if args.in_place and (args.share or args.setup):
        raise UsageError("--share and --setup prepare a scratch worktree: --in-place has none")
    read_only = args.dry_run or not (args.in_place or args.tell)
    with pack_care.open_scratch(Repo.find_here(), read_only) as repo, Objects(repo):
        _ = repo.worktree  # raises without one
        with under_way.hold_bisection(repo), scratch.raising_at_broken_pipe():
            return _bisect(repo, args)


def _bisect(repo: Repo, args: Namespace) -> int:
    undo.finish(repo)
    for sentence in unfinished.finish_bisection(repo):
        console.warn(sentence)
    mover = unfinished.make_mover(repo)
    present = read_present(repo, dry=True)
    session_id = ""
    if args.session:
        writers = {line.cause[0] for line in present.kept_edits.list_all()}
        session_id = sessions.pick_id(args.session, writers - {""})
    history = read_history(present, args.good, args.bad, session_id)
    if not history.changes:
        raise Error(f"nothing has changed between '{args.good}' and '{args.bad}'")
    search = Search(history, args, name_in_worktree(repo, "."))
    if args.dry_run:
        return search.list_changes()
    with _open_place(present, args, mover) as place:
        outcome = search.run_in(place)
    term.hide_progress()
    return search.report(outcome)


@contextmanager
def _open_place(
    present: Present, args: Namespace, mover: steps.Mover
) -> Iterator[Scratch | InPlace]:
    """Yield where the command is run: a scratch worktree with the shared paths, or the worktree."""
    repo = present.repo
    if args.in_place:
        at_work = [m["session_id"] for m in session.read_recent(repo) if others.is_at_work(repo, m)]
        if at_work:
            raise Error(
                f"session {shorten_id(at_work[0])} is at work here: without --in-place the command"
                " runs in a scratch worktree"
            )
        with scratch.InPlace(repo, mover, present.tree) as place:
            yield place
        return
    shared = [name_in_worktree(repo, path) for path in args.share]
    for path in shared:
        if not os.path.lexists(os.path.join(repo.worktree, path)):
            raise Error(f"no such file: '{path}'")
        if not path or present.look(path) or path.split("/")[0] == ".git":
            raise Error(f"'{path}' is recorded in each state: --share is for what git ignores")
    with scratch.Scratch(repo) as place:
        for path in shared:
            place.share_path(path)
        yield place


@dataclass(slots=True)
class _Run:
    """A run of the command: the number of the state, its exit status, what that says."""

    state: int
    status: int
    verdict: str


class Search:
    """The search for a change by runs of a command, and its report."""

    def __init__(self, history: StateHistory, args: Namespace, folder: str) -> None:
        """folder: where the command runs, from the root of the worktree."""
        self._history = history
        self._args = args
        self._folder = folder
        self._repo = history.present.repo
        self._last = len(history.changes)
        self._found: dict[int, str] = {}
        self._runs: list[_Run] = []
        self._tail = ""  # the end of what the command printed last
        self._prompts = points.map_prompts(self._repo)

    def list_changes(self) -> int:
        """Print the changes that would be searched."""
        changes = [change for group in self._history.changes for change in group]
        if self._args.json:
            return cli.write_records([self._make_record("planned", changes)])
        cli.show(*map(self._describe, changes))
        runs = 2 + rules.count_runs({0: GOOD, self._last: BAD})
        cli.show(f"{spans.count_noun(len(changes), 'change')}: about {runs} runs of the command")
        return OK

    def run_in(self, place: Scratch | InPlace) -> str:
        """Search; return the outcome: found, unclear (only states that cannot be tested are left),
        both-good, both-bad or reversed.  Raises Error if the command ends the search."""
        outcome = self._test_ends(place)
        if outcome:
            return outcome
        while True:
            chosen = rules.choose_next(self._found)
            if chosen is not None:
                self._test(place, chosen)
                continue
            low, high = rules.find_range(self._found)
            if high > low + 1:
                return "unclear"
            if len(self._history.changes[low]) == 1:
                return "found"
            self._part(low)  # others wrote before the call of the session

    def _part(self, number: int) -> None:
        """Search among the changes between a state and the next one, too."""
        more = self._history.part_changes(number)
        self._last += more
        found = self._found
        self._found = {n if n <= number else n + more: found[n] for n in found}
        for each in self._runs:
            if each.state > number:
                each.state += more

    def _test_ends(self, place: Scratch | InPlace) -> str:
        """Test both ends; the outcome if there is nothing to search between them, else ''."""
        verdicts = [self._test(place, 0)]
        tail = self._tail
        verdicts.append(self._test(place, self._last))
        if verdicts != [GOOD, BAD]:
            self._tail = tail if verdicts[0] == BAD else self._tail
        for verdict, name in zip(verdicts, (self._args.good, self._args.bad), strict=True):
            if verdict == SKIP:
                raise Error(f"the command cannot test '{name}' (status {rules.SKIPPED})")
        both = {(GOOD, GOOD): "both-good", (BAD, BAD): "both-bad", (BAD, GOOD): "reversed"}
        return both.get((verdicts[0], verdicts[1]), "")

    def _test(self, place: Scratch | InPlace, number: int) -> str:
        """The verdict of the command on a state."""
        if len(self._found) > 1:
            remaining = rules.count_runs(self._found)
        else:
            remaining = self._last.bit_length()
        done = len(self._found)
        term.show_line(
            f"bisect: run {done + 1} of about {done + max(remaining, 1)}: {self._name(number)}"
        )
        try:
            place.go_to(self._history.read_tree(number))
        except Error as e:
            if number in (0, self._last):
                raise
            console.warn(f"{self._name(number)}: {e}")
            self._found[number] = SKIP
            return SKIP
        if not done and self._args.setup:
            self._set_up(place)
        verdict = self._run(place, number)
        self._found[number] = verdict
        return verdict

    def _set_up(self, place: Scratch | InPlace) -> None:
        status = place.run(["sh", "-c", self._args.setup], self._folder)
        if status:
            self._tail = _read_tail(place.output)
            raise Error(f"the setup ended with status {status}:\n{self._tail}".rstrip(":\n"))

    def _run(self, place: Scratch | InPlace, number: int) -> str:
        for _ in range(1 + self._args.retry):
            status = place.run(self._args.words, self._folder)
            self._tail = _read_tail(place.output)
            verdict = rules.read_status(status)
            self._runs.append(_Run(number, status, verdict))
            if not verdict:
                raise Error(
                    f"the command ended with status {status}, which ends the search:"
                    f" {self._name(number)}"
                )
            if verdict != BAD:
                break
        return verdict

    def _name(self, number: int) -> str:
        """A state in a few words."""
        if number == 0:
            return f"'{self._args.good}'"
        if number == self._last:
            return f"'{self._args.bad}'"
        return f"after {self._describe(self._history.changes[number - 1][-1])}"

    def _describe(self, change: Change, is_short: bool = True) -> str:
        """A change in a line, with the beginning of its prompt if is_short."""
        who = change["who"]
        if who in _AUTHORS:
            when = term.format_time(change["at"] / 10**9)
            return f"{_AUTHORS[who]}, {when}: {rules.describe_paths(change)}"
        session_id, turn, call = who
        prompt = spans.shorten(self._prompts.get(turn, ""), 50)
        asked = f" ('{prompt}')" if prompt and is_short else ""
        paths = rules.describe_paths(change)
        return f"{shorten_id(session_id)} {call or turn}: {paths}{asked}"

    def report(self, outcome: str) -> int:
        """Print the outcome and tell the session; return the status."""
        changes: list[Change] = []
        if outcome in ("found", "unclear"):
            low, high = rules.find_range(self._found)
            changes = [c for group in self._history.changes[low:high] for c in group]
        if self._args.tell:  # before a reader of the output may have left
            self._tell(outcome, changes)
        if self._args.json:
            cli.write_records([self._make_record(outcome, changes)])
        elif changes:
            self._show(low, high, changes)
        else:
            self._show_agreement(outcome)
        return OK if outcome == "found" else NO

    def _show(self, low: int, high: int, changes: Sequence[Change]) -> None:
        runs = spans.count_noun(len(self._runs), "run")
        if len(changes) == 1:
            cli.show(f"the command begins to fail with this change (found in {runs}):")
        else:
            why = "states between them cannot be tested"
            cli.show(f"the command begins to fail with one of these changes ({why}):")
        for change in changes:
            cli.show(f"  {self._describe(change, is_short=False)}")
            prompt = self._prompts.get(change["who"][1], "")
            if prompt:
                cli.show(*(f"    > {line}" for line in prompt.splitlines()[:_TAIL]))
        trees = [self._history.read_tree(number) for number in (low, high)]
        cli.show("")
        shell.run_git(self._repo, ["--no-pager", "diff", *trees, "--", ":(top)"])
        for what, command in self._list_commands(low, changes):
            cli.show(f"{what}:  {command}")

    def _list_commands(self, low: int, changes: Sequence[Change]) -> Iterator[tuple[str, str]]:
        """Yield (what it does, a command) for the changes."""
        first = changes[0]["who"]
        if low:
            before = self._history.changes[low - 1][-1]["who"]
        else:
            before = ids.UNKNOWN
        point = _get_id(first) or (f"{_get_id(before)}{AFTER}" if _get_id(before) else "")
        if point:
            yield "\nto go back before it", f"gitcp rewind --to {shlex.quote(point)}"
        for name in dict.fromkeys(_get_id(change["who"]) for change in changes):
            if name:
                yield "to see what was done", f"gitcp show {shlex.quote(name)}"

    def _show_agreement(self, outcome: str) -> None:
        """Say that there is nothing to find, and why that may be."""
        good = self._args.good
        bad = self._args.bad
        if outcome == "reversed":
            cli.show(f"the command fails at '{good}' and passes at '{bad}': it was repaired")
            return
        words, status = ("passes", 0) if outcome == "both-good" else ("fails", self._runs[0].status)
        cli.show(f"the command {words} at both ends (status {status}): there is no change to find")
        if outcome == "both-bad" and self._tail:
            cli.show(*(f"  | {line}" for line in self._tail.splitlines()))
        if self._args.in_place:
            return
        cli.show("it ran in a scratch worktree; that may be why:")
        cli.show(*(f"- {line}" for line in self._list_reasons()))

    def _list_reasons(self) -> Iterator[str]:
        present = self._history.present
        ways = ("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z")
        ignored = [decode_name(name) for name in self._repo.git.read_records(*ways)]
        folders = tuple(path for path in ignored if path.endswith("/"))
        shared = {name_in_worktree(self._repo, path) for path in self._args.share}
        whole = [path for path in ignored if path in folders or not path.startswith(folders)]
        lacking = [path for path in whole if path.rstrip("/") not in shared]
        if lacking:
            names = _join_names(lacking)
            yield f"ignored files are not there: {names} (--share copies one, --setup makes it)"
        if present.left_out:
            yield f"files that no snapshot has are not there: {_join_names(present.left_out)}"
        yield (
            "an editable installation or a workspace link points at this worktree, and not at the"
            " scratch one: --in-place runs the command here"
        )

    def _tell(self, outcome: str, changes: Sequence[Change]) -> None:
        session_id = ""
        if outcome == "found":
            session_id = changes[0]["who"][0]
        if not session_id:
            console.warn("no single call was found, so no session was told")
            return
        low, high = rules.find_range(self._found)
        trees = [self._history.read_tree(number) for number in (low, high)]
        diff = decode_name(self._repo.git.run(*DIFF, *trees)[1])
        cut = ""
        if len(diff) > _MOST_TOLD:
            cut = "\n(the rest is left out)"
        command, (_, turn, call) = shlex.join(self._args.words), changes[0]["who"]
        if call:
            what = f"your call {call}"
        else:
            what = f"a call of your turn {turn}"
        others.leave_message(
            self._repo,
            session_id,
            f"The user ran 'gitcp bisect': '{command}' passes before {what} and fails after it."
            f" That call made this change:\n{diff[:_MOST_TOLD].rstrip()}{cut}",
        )
        console.tell(f"note: session {shorten_id(session_id)} is told with its next prompt")

    def _make_record(self, outcome: str, changes: Iterable[Change]) -> Record:
        return {
            "type": "bisect",
            "outcome": outcome,
            "good": self._args.good,
            "bad": self._args.bad,
            "command": self._args.words,
            "states": self._last + 1,
            "runs": [asdict(each) for each in self._runs],
            "changes": [self._make_change(change) for change in changes],
        }

    def _make_change(self, change: Change) -> Record:
        who = change["who"]
        session_id, turn, call = ("", "", "") if who in _AUTHORS else who
        return {
            "author": who[1] if who in _AUTHORS else "session",
            "session_id": session_id,
            "turn_id": turn,
            "tool_use_id": call,
            "prompt": self._prompts.get(turn, ""),
            "time": change["at"] // 10**9,
            "files": {
                path: _VERBS.get((old is None, new is None), "modified")
                for path, (old, new) in sorted(change["edits"].items())
            },
        }


def _get_id(who: tuple[str, str, str]) -> str:
    """The id of a call or, without one, of its turn; '' for an author that is no session."""
    return (who[2] or who[1]) if who[0] else ""


def _join_names(paths: Iterable[str]) -> str:
    names = list(paths)
    more = ""
    if len(names) > _TAIL:
        more = f" and {len(names) - _TAIL} more"
    return ", ".join(names[:_TAIL]) + more


def _read_tail(output: str) -> str:
    """The last lines that a command printed."""
    with open(output, "rb") as file:
        file.seek(max(0, os.path.getsize(output) - 20_000))
        lines = decode_name(file.read()).rstrip().splitlines()
    return "\n".join(lines[-_TAIL:])
