"""gitcp-doctor - find what is wrong here, and mend it"""

from __future__ import annotations

from gitcp.commands import module
from gitcp.console import cli
from gitcp.console.options import JSON, flag
from gitcp.errors import NO, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitcp.core.record_types import Record
    from gitcp.repo import Repo

OPTIONS = (flag("--fix", "mend it, asking at a terminal"), JSON)


def run(argv: Sequence[str]) -> int:
    """Say what is wrong, and mend it where that is asked for; NO when something is left."""
    from gitcp.repo import Repo
    from gitcp.store.doctor import complaints
    from gitcp.store.setup import configured

    args = cli.parse("doctor", OPTIONS, argv)
    repo = Repo.find()
    configured.write(repo)
    every = list(complaints.all_of(repo))
    if args.fix:
        _fix(repo, every, args.json)
    if args.json:
        cli.write_records(every)
    else:
        _tell(repo, every)
    return NO if any("fixed" not in one for one in every) else OK


def _tell(repo: Repo, every: Iterable[Record]) -> None:
    from gitcp.core.render.status_lines import begin, remedy
    from gitcp.store.setup import health

    lines = [f"{one['reason']}: {one.get('fixed') or remedy(one)}" for one in every]
    if (state := health.state(repo)) != health.ENABLED:
        lines.append(f"gitcp is {state} here: {begin(state, not repo.top)}")
    for line in lines or ["nothing is wrong here"]:
        print(cli.printable(line).replace("\n", " "))
    if any(one.get("fix") and "fixed" not in one for one in every):
        print("\n'gitcp doctor --fix' mends what it can")


def _fix(repo: Repo, every: Iterable[Record], quiet: bool) -> None:
    """Mend what has a fix and the person agrees to; what is mended gets `fixed`, what was done."""
    from gitcp.store.doctor import complaints

    for one in every:
        what = str(one.get("fix") or "")
        if what == "end" and not quiet:
            what = cli.chosen(f"{one['reason']}:", _DEAD)
        elif what and not quiet and not cli.agreed(f"{one['reason']}: {one['remedy']}?"):
            what = ""
        if what in _FIXES:
            one["fixed"] = _FIXES[what](repo, one)
    left = [(one["kind"], one["subject"], one["reason"]) for one in complaints.all_of(repo)]
    for one in every:
        if (one["kind"], one["subject"], one["reason"]) in left:
            one.pop("fixed", None)


def _enable(repo: Repo, one: Record) -> str:
    from gitcp.store.setup import health

    _run("enable", [f"--agent={name}" for name in health.enabled(repo)])
    return "enabled again"


def _run(name: str, argv: Sequence[str]) -> None:
    """Another command's work, its words kept off our standard output."""
    from contextlib import redirect_stdout
    from importlib import import_module
    from io import StringIO

    with redirect_stdout(StringIO()):
        import_module(module(name)).run(list(argv))


def _forget(repo: Repo, one: Record) -> str:
    from gitcp.store.setup import heard

    heard.forget_warnings(repo)
    return "forgotten"


def _end(repo: Repo, one: Record) -> str:
    """What the end of the session would have done, had its agent said so."""
    _event("session-end", one["subject"], ["update-session", "finalize"])
    return "ended; its work stays on its stream"


def _condense(repo: Repo, one: Record) -> str:
    from gitcp import context
    from gitcp.store.doctor import dead_sessions

    _end(repo, one)
    with context.of(repo) as ctx:
        checkpoint_id = dead_sessions.condense(ctx, one["subject"])
    return f"ended, and stored as checkpoint {checkpoint_id}; its work stays on its stream"


def _discard(repo: Repo, one: Record) -> str:
    from gitcp import context
    from gitcp.store.doctor import dead_sessions

    _end(repo, one)
    with context.of(repo) as ctx:
        dead_sessions.discard(ctx, one["subject"])
    return "ended; its work is archived, the files stay as they are"


def _finalize(repo: Repo, one: Record) -> str:
    _event("session-end", one["subject"], ["finalize"])
    return "completed as far as its transcript goes"


def _event(event: str, session_id: str, stages: Sequence[str]) -> None:
    from gitcp.stages import bind

    records: Iterable[Record] = [{"type": "event", "event": event, "session_id": session_id}]
    for stage in stages:
        records = bind(stage, [])(records)
    list(records)


def _release(repo: Repo, one: Record) -> str:
    from gitcp.store.guard import claims

    claims.release(repo, lambda claim: claim["key"] == one["subject"])
    return "let go"


def _repair(repo: Repo, one: Record) -> str:
    from gitcp.store.upkeep import check_store

    for finding in check_store.check(repo, repair=True):
        if (finding["kind"], finding["subject"]) == (one["kind"], one["subject"]):
            return str(finding.get("repaired") or "left as it is")
    return "mended"


def _relink(repo: Repo, one: Record) -> str:
    from gitcp.store.git import notes
    from gitcp.store.git.objects import Objects

    with Objects(repo) as objects:
        notes.add(repo, objects, one["subject"], one["checkpoint_id"])
    return "linked"


_DEAD = ("keep", "condense", "discard", "skip")  # what a person may want of a dead session
_FIXES: Mapping[str, Callable[[Repo, Record], str]] = {
    "enable": _enable,
    "forget": _forget,
    "end": _end,
    "keep": _end,
    "condense": _condense,
    "discard": _discard,
    "finalize": _finalize,
    "release": _release,
    "repair": _repair,
    "relink": _relink,
}
