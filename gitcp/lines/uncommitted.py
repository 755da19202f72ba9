"""The authors of lines that are not committed yet, by replaying the journal's edits."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from gitcp.checkpoints.format import line_authors
from gitcp.errors import Error
from gitcp.git import encode_name
from gitcp.lines import edit_lines
from gitcp.record import journal, looks, session
from gitcp.record.journal import credit
from gitcp.record.match import Target, sources
from gitcp.record.match.sources import STAGED, Making, MatchCase
from gitcp.record.snapshot import scan
from gitcp.record.snapshot.through_git import open_quarantine
from gitcp.record.unheard import unrecorded
from gitcp.text import ids as ids_
from gitcp.text import line_evidence, line_replay
from gitcp.text.ids import PERSON, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.lines.edit_lines import Committed
    from gitcp.record.journal.line_kinds import Edit, JournalLine
    from gitcp.text.line_replay import Version
    from gitcp.text.record_types import Writer


def read_content(repo: Repo, path: str) -> Version | None:
    """A file of the worktree as git would store it, which objects then holds; None if there is
    none, or it is unreadable."""
    try:
        entry = scan.read_paths(repo, [path], write=False)[path]
        with open(os.path.join(encode_name(repo.top or ""), encode_name(path)), "rb") as file:
            data = file.read()
        if entry:
            data = convert_content(repo, path, entry[1], data)
        else:
            data = b""
    except (Error, OSError, KeyError):
        return None
    if not entry:
        return None
    repo.objects.ahead.hold(entry[1], "blob", data)
    return line_replay.Version(entry[1], line_evidence.split_text_lines(entry[1], data))


def date_change(repo: Repo, path: str) -> unrecorded.ChangeTimes:
    """When a file of the worktree was changed, by its time; now if it is gone."""
    try:
        changed = int(os.stat(os.path.join(repo.top or "", path)).st_mtime)
    except OSError:
        changed = int(time.time())
    return unrecorded.ChangeTimes(changed, changed, changed)


def convert_content(repo: Repo, path: str, oid: str, data: bytes) -> bytes:
    """The bytes of a file, which git would store as oid, after the person's filters."""
    if repo.objects.hash_object("blob", data) == oid:
        return data
    stored = repo.objects.read(oid)
    if stored:
        return stored[2]
    # A question writes no object into the repository.
    with open_quarantine(repo, keep=False) as env:
        ask = ("hash-object", "-w", f"--path={path}", "--stdin")
        _, out = repo.git.run(*ask, stdin=data, env=env, filters=True)
        return repo.git.run("cat-file", "blob", out.strip(), env=env)[1]


@dataclass(slots=True)
class OpenLines:
    """What is known of the lines of a content that is not committed, from 1 on.

    times: when each was written, in ns; 0 or missing: not known.  content: all lines."""

    authors: dict[int, Author] = field(default_factory=dict)
    times: Mapping[int, int] = field(default_factory=dict)
    content: Sequence[bytes] = ()


class _Dated(line_replay.Replay):
    """A replay that notes when each line was added."""

    def __init__(
        self, first: Version, before: Callable[[], Mapping[int, Writer]] | None = None
    ) -> None:
        super().__init__(first, before)
        self.times: dict[int, int] = {}  # number of a line -> ns

    def _add_line(self, who: Writer) -> int:
        number = super()._add_line(who)
        self.times[number] = self._at
        return number


def find_authors(
    repo: Repo,
    path: str,
    content: Version,
    committed: Committed,
    lines: Collection[int] | None = None,
) -> OpenLines:
    """The authors of the lines of path as a commit made now would have them.

    content: of read_content().  In a file without lines (has_no_lines()) all have the only
    author of its edits.  committed: as for edit_lines.Edits.  lines: those that are asked, None for
    all: the history is read only for one that was committed before."""
    base = repo.objects.read(f"HEAD:{path}")
    edits = edit_lines.Edits(repo.objects, _look_at_path(repo, path), committed)
    base_oid = None
    if base:
        base_oid = base[0]
    parent = edits.get_content("100644", base_oid)
    if parent is None:
        return OpenLines()
    data = repo.objects.need(content.oid, "blob")
    if line_evidence.has_no_lines(data):
        author = _build_author(repo, _find_sole_writer(edits.trace_content(path), parent.oid))
        return OpenLines(dict.fromkeys(range(1, data.count(b"\n") + 2), author))
    replayed = edits.replay_as(_Dated, path, parent, reading=True)
    if not replayed.knows(content):
        replayed.begin_step(UNKNOWN, 0)
        regains = edit_lines.choose_regains(credit.BETWEEN)
        elsewhere = edits.look_elsewhere(path, None, PERSON)
        replayed.add_step(content, PERSON, regains, elsewhere=elsewhere)
    authors = {}
    times = {}
    for line, number in enumerate(replayed.find_numbers(content, PERSON), 1):
        if lines is not None and line not in lines:
            continue
        authors[line] = _build_author(repo, replayed.get_author(number))
        times[line] = replayed.times.get(replayed.get_root(number), 0)
    return OpenLines(authors, times, content.lines)


def _find_sole_writer(chain: Sequence[Edit], committed: str) -> Writer:
    """The only writer since a path had the committed blob; UNKNOWN if there are several."""
    writers: set[Writer] = set()
    for line in chain:
        writers.add(line.author)
        if (line.after or ("", ""))[1] == committed:
            writers.clear()
    if not writers:
        return PERSON
    if len(writers) == 1:
        return writers.pop()
    return UNKNOWN


def list_brought_ids(repo: Repo, path: str, oid: str) -> list[str]:
    """The ids of commits that a squash or a pick has applied to the index, and of whose work the
    blob at path has some."""
    base = repo.objects.read(f"HEAD:{path}")
    base_oid = None
    if base:
        base_oid = base[0]
    changes: Changes = {path: ("100644", base_oid, "100644", oid)}
    target = Target(repo.objects, parent="HEAD", read=lambda: changes)
    case = MatchCase(repo, making=Making(target, is_seen=True))
    ids: dict[str, str] = {}
    for answer in sources.ask_sources(case, STAGED):
        ids |= answer.ids
    return [*ids]


def _look_at_path(repo: Repo, path: str) -> list[JournalLine]:
    """The journal with what a look at path, and at the open paths, would add to it."""
    scratch = journal.copy_journal(repo)
    unsettled = {line.path for line in credit.list_open_edits(scratch.lines)}
    paths = [path, *sorted(unsettled)[: journal.MANY]]
    try:
        looks.record_paths(scratch, paths, time.time_ns(), write=False)
    except Error:
        pass  # another path is unreadable
    return scratch.lines


def _build_author(repo: Repo, writer: Writer) -> Author:
    session_id, turn_id, tool = writer
    if not session_id:
        return line_authors.build_nobody(turn_id)
    try:
        state = session.load_state(repo, ids_.check_session_id(session_id)) or {}
    except Error:
        state = {}
    metadata = {"agent": state.get("agent_type") or "", "turns": state.get("turns")}
    record: line_authors.LineRecord = {
        "checkpoint_id": "",
        "session_id": session_id,
        "metadata": metadata,
        "lines": None,
        "time": "",
    }
    return line_authors.build_author(record, turn_id, tool or None)
