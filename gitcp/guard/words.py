"""What a refusal says, for git and for jj."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.guard.guard_rules import Base, GuardVerdict

# Shown characters of the ids of a session and of a change.
_SESSION = 8
_CHANGE = 12
_FILES = 10  # files in a message


def format_refusal(
    verdict: GuardVerdict, session_id: str, moved_path: str = "", age: str = ""
) -> str:
    """The message of a verdict other than allow.

    moved_path: the edited file, for `moved`.  age: of the other claim, for `editing`.
    """
    formats = {
        "session": _format_concurrent,
        "workspace": _format_workspace,
        "discard": _format_discarding,
        "take": _format_taking,
        "stash": _format_stash,
    }
    format_verdict = formats.get(verdict["verdict"])
    if format_verdict:
        return format_verdict(verdict, session_id)
    if verdict["verdict"] == "editing":
        return _format_editing(verdict, session_id, age)
    return _format_moved(verdict, session_id, moved_path)


def _format_concurrent(verdict: GuardVerdict, session_id: str) -> str:
    base = verdict["base"]
    remedy = "Complete or cancel the other Claude session"
    return _lay_out(
        "Concurrent Claude session detected",
        f"{_name_subject(verdict)} is a Claude change from another session.\n"
        "Another Claude Code session is likely active in this repo.",
        [remedy, _format_way_back(base), "Retry this session"],
        [*_list_ids(base, session_id), ("Other session:", verdict["other"][:_SESSION])],
    )


def _format_workspace(verdict: GuardVerdict, session_id: str) -> str:
    base = verdict["base"]
    return _lay_out(
        "Temporary workspace detected",
        f"{_name_subject(verdict)} is a temporary Claude workspace.\n"
        "This indicates an interrupted or concurrent session.",
        [_format_way_back(base), *_format_abandon(base), "Retry this session"],
        _list_ids(base, session_id),
    )


def _format_editing(verdict: GuardVerdict, session_id: str, age: str) -> str:
    claim = verdict["claim"]
    process = claim.get("process")
    pid = None
    if process:
        pid = process["pid"]
    other = str(claim["session_id"])[:_SESSION]
    held = f"{age} ago"
    if pid:
        held += f", by process {pid}"
    return _lay_out(
        "Another session is editing this working copy",
        "A tool call of another session, or of another agent of this one, holds the path.\n"
        "It has begun and not ended; two writers at once would lose an edit.",
        [
            "Wait until the other tool call has ended, or cancel it",
            f"A person can release it: `gitcp release-claim --session {other}`",
            "Retry this session",
        ],
        [
            ("Path:", verdict["path"]),
            ("Claimed:", held),
            ("This session:", session_id[:_SESSION]),
            ("Other session:", other),
        ],
    )


def _format_taking(verdict: GuardVerdict, session_id: str) -> str:
    return _lay_out(
        "This command takes another session's work",
        "Another session is open in this working copy, and has not committed these files.",
        ["Stage and commit this session's work alone: `gitcp stage --own && git commit`"],
        _list_files(verdict, session_id),
    )


def _format_stash(verdict: GuardVerdict, session_id: str) -> str:
    """The message for `stash`; its call is that of a tool that has taken the entry, '' before."""
    call = verdict["call"]
    entry = verdict["entry"]
    own = verdict["own"]
    whose = "the person's"
    facts = [("Entry:", entry), *_list_files(verdict, session_id)]
    if verdict["other"]:
        whose = "another session's"
    else:
        facts.pop()  # that is the other session
    verb = "has taken"
    steps = [f"Run `gitcp rewind --tool {call}`: it puts the entry and the files back"]
    if not call:
        verb = "takes"
        steps = [f"Take this session's own entry: `git stash apply {oid[:12]}`" for oid in own[:1]]
        steps.append(f"If its content is wanted, leave the entry: `git stash apply {entry[:12]}`")
    return _lay_out(
        f"This command {verb} {whose} stash entry",
        "`git stash` is one list for all sessions and worktrees of a repository.",
        steps,
        facts,
    )


def _list_files(verdict: GuardVerdict, session_id: str) -> list[tuple[str, str]]:
    paths = verdict["paths"]
    more = ""
    if len(paths) > _FILES:
        more = f" and {len(paths) - _FILES} more"
    return [
        ("Files:", ", ".join(paths[:_FILES]) + more),
        ("This session:", session_id[:_SESSION]),
        ("Other session:", verdict["other"][:_SESSION]),
    ]


def _format_discarding(verdict: GuardVerdict, session_id: str) -> str:
    """The message for `discard`; its call is that of a tool that has discarded, '' before."""
    call = verdict["call"]
    if call:
        verb = "has discarded"
        steps = [f"Run `gitcp rewind --tool {call} -- <files>` to bring them back"]
    else:
        verb = "discards"
        steps = [
            "Name the files of this session alone (`git stash push -- <files>`)",
            "Retry this session",
        ]
    return _lay_out(
        f"This command {verb} another session's work",
        "Another session is open in this working copy, and has not committed these files.",
        steps,
        _list_files(verdict, session_id),
    )


def _format_moved(verdict: GuardVerdict, session_id: str, moved_path: str) -> str:
    started = verdict["was"]
    current = verdict["base"]
    word = _name_kind(current)
    look_at = "git log -1"
    if current["vcs"] == "jj":
        look_at = "jj log -r @"
    go_on = "Go on from here"
    if started["name"] != current["name"]:
        go_on = f"Run `{_format_return(started)}` if the edit belongs there, or go on from here"
    return _lay_out(
        "The base moved during the edit",
        f"The working copy is not at the {word} that this edit began on.\n"
        "The edit is done, and nothing of it is lost.",
        [f"Look at what is there now: `{look_at}`", go_on],
        [
            ("Was:", _format_place(started)),
            ("Now:", _format_place(current)),
            ("Edit kept:", moved_path),
            ("This session:", session_id[:_SESSION]),
        ],
    )


def _lay_out(title: str, what: str, steps: Sequence[str], facts: Sequence[tuple[str, str]]) -> str:
    numbered = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
    table = "\n".join(f"{name:15} {value}" for name, value in facts)
    return f"Error: {title}\n\n{what}\n\nTo fix:\n{numbered}\n\n{table}"


def _name_subject(verdict: GuardVerdict) -> str:
    if verdict["stored"]:
        return "The stored original working copy"
    return "The working copy"


def _name_kind(base: Base) -> str:
    return "change" if base["vcs"] == "jj" else "commit"


def _list_ids(base: Base, session_id: str) -> list[tuple[str, str]]:
    return [
        (f"Current {_name_kind(base)}:", _shorten_id(base)),
        ("This session:", session_id[:_SESSION]),
    ]


def _format_way_back(base: Base) -> str:
    command = "git switch <your-branch>"
    if base["vcs"] == "jj":
        command = "jj edit <your-work>"
    return f"Run `{command}` to return to your working copy"


def _format_return(base: Base) -> str:
    if base["vcs"] == "jj":
        return f"jj edit {_shorten_id(base)}"
    branch = base["name"].removeprefix("refs/heads/")
    if branch == "HEAD":
        return f"git switch --detach {_shorten_id(base)}"
    return f"git switch {branch}"


def _format_abandon(base: Base) -> list[str]:
    """The optional step that removes a temporary workspace; none for a detached HEAD."""
    if base["vcs"] == "jj":
        return [f"Optionally abandon the temp workspace: `jj abandon {_shorten_id(base)}`"]
    if base["name"] == "HEAD":
        return []
    branch = base["name"].removeprefix("refs/heads/")
    return [f"Optionally delete the temp workspace: `git branch -D {branch}`"]


def _shorten_id(base: Base) -> str:
    return base["id"][:_CHANGE]


def _format_place(base: Base) -> str:
    if base["vcs"] == "jj":
        return _shorten_id(base)
    return f"{base['name'].removeprefix('refs/heads/')} {_shorten_id(base)}"
