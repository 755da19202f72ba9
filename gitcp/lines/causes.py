"""What the lines of a file came of: a prompt of a session, or a person's commit."""

from __future__ import annotations

from collections import Counter

from gitcp.errors import Error
from gitcp.git import decode_name
from gitcp.lines import blame_options
from gitcp.lines.committed import history
from gitcp.text import prompt_text, value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git import Git
    from gitcp.git.repo import Repo
    from gitcp.lines.committed.evidence import Evidence
    from gitcp.lines.porcelain import BlameEntry

NOBODY = "not recorded"
YOU = "you"  # who wrote what is not committed


@value_class
class Cause:
    """A prompt, a person's commit, or all that nobody recorded, and the lines that came of it.

    who: "session", "person" or "unknown".  author: the agent's name, or the person's.  name: the
    prompt's first line, or the commit's subject, '' for neither.  time: of the newest line, in
    seconds since 1970, 0 if unknown.  commits: their oids, the newest first.  is_open: whether no
    commit has some of the lines.
    """

    who: str
    author: str
    name: str
    commits: list[str]
    lines: list[int]
    session_id: str = ""
    number: int = 0
    time: int = 0
    is_open: bool = False


@value_class
class FileCauses:
    """The causes of a file's lines, the newest first.  uncommitted: lines that no commit has."""

    path: str
    causes: list[Cause]
    lines_by_author: Counter[str]
    line_count: int
    uncommitted: int


def list_causes(
    repo: Repo, git: Git, evidence: Evidence, path: str, revision: str = ""
) -> FileCauses:
    """The causes of all lines of a file, in the worktree or in a revision.

    Raises Error for a file without lines.
    """
    options = blame_options.ask_file(path, revision)
    listed = list(evidence.blame_lines(git, options, contents=True))
    if not listed:
        raise Error(f"'{path}' has no lines")
    file = decode_name(history.find_asked_path(repo, git, options, [entry for entry, _ in listed]))
    found: dict[tuple[str, ...], Cause] = {}
    times: dict[str, int] = {}
    lines_by_author: Counter[str] = Counter()
    uncommitted = 0
    for entry, author in listed:
        cause = found.setdefault(_make_key(entry, author), _begin_cause(entry, author))
        time = evidence.find_time(entry, author) or 0
        lines_by_author[NOBODY if cause.who == "unknown" else cause.author] += 1
        cause.lines.append(entry.final)
        cause.time = max(cause.time, time)
        if not entry.is_committed:
            cause.is_open = True
            uncommitted += 1
        elif entry.oid not in cause.commits:
            cause.commits.append(entry.oid)
            times[entry.oid] = time
    for cause in found.values():
        cause.commits.sort(key=times.__getitem__, reverse=True)
    newest_first = sorted(found.values(), key=_get_newness, reverse=True)
    return FileCauses(file, newest_first, lines_by_author, len(listed), uncommitted)


def _make_key(entry: BlameEntry, author: Author) -> tuple[str, ...]:
    if author["who"] == "session":
        return "session", author["session_id"], str(author["number"] or author["turn_id"])
    if author["who"] == "person":
        return "person", entry.oid
    return ("unknown",)


def _begin_cause(entry: BlameEntry, author: Author) -> Cause:
    if author["who"] == "session":
        name = prompt_text.read_first_line(author["prompt"])
        agent = author["agent"] or "Agent"
        return Cause("session", agent, name, [], [], author["session_id"], author["number"] or 0)
    if author["who"] == "person" and not entry.is_committed:
        return Cause("person", YOU, "", [], [])
    if author["who"] == "person":
        headers = dict(entry.headers)
        subject = decode_name(headers.get(b"summary", b""))
        return Cause("person", decode_name(headers.get(b"author", b"")), subject, [], [])
    return Cause("unknown", "", "", [], [])


def _get_newness(cause: Cause) -> tuple[bool, bool, int, int]:
    """What is not committed is newest, what nobody recorded comes last."""
    return cause.who != "unknown", cause.is_open, cause.time, cause.number
