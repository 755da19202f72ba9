"""What `gitcp blame` and `gitcp why` show of lines: names and dates as git shows them, origins with
their conversations, and git's tables with sessions in the place of authors."""

from __future__ import annotations

import tempfile
import time
from io import BytesIO
from itertools import chain, groupby

from gitcp.agents import find_client, is_reading, locate_subagent_transcript
from gitcp.agents.reading import conversation
from gitcp.checkpoints.format import line_authors
from gitcp.checkpoints.pieces import StoredPieces
from gitcp.checkpoints.stored import (
    pick_session,
    read_checkpoint,
    read_session,
    read_task_transcripts,
)
from gitcp.errors import Error, InputError
from gitcp.git import decode_name, encode_name, files
from gitcp.git.gitdir.plain import build_quarantine
from gitcp.lines import blame_format
from gitcp.lines.committed import history
from gitcp.record import journal
from gitcp.record.journal.line_kinds import Opening
from gitcp.record.session import others
from gitcp.record.session.client_transcript import has_local, open_live, read_live
from gitcp.record.stream import read_tips, tasks
from gitcp.text.spans import abbreviate, count_gits_digits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.agents.reading.conversation import CallContext, Entry
    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.checkpoints.stored import SessionEntry, StoredCheckpoint
    from gitcp.git import Config, Git
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.lines.blame_format import BlameEntry, Groups, Options, Row
    from gitcp.lines.committed.evidence import Evidence
    from gitcp.text.record_types import Record, State

    Label = tuple[bytes, bytes]  # abbreviated name, date
    # Lines of the table: with count, the shown author (None: git's own), their content.
    Part = tuple[BlameEntry, tuple[bytes, bytes] | None, bytes]
    # Neighbouring lines of one edit or commit: the first, their author, their text.
    Credited = tuple[BlameEntry, Author, bytes]
    # The session's transcript, and those of its subagents by the id of the call that started them.
    Transcripts = tuple[bytes, dict[str, bytes]]


def read_dates(
    repo: Repo, entries: Sequence[BlameEntry], mode: str
) -> tuple[dict[str, Label], int]:
    """(name of choose_date() -> its label, the columns of a date), of complete entries.
    mode: a format of git's --date.

    Runs `git log` once, but for git's usual form.  git formats a date only as that of a commit, so
    the date of an uncommitted line is that of a commit in a scratch directory; so is 1970, whose
    date gives the columns of a template.
    """
    if mode == _USUAL:
        try:
            return _format_usual(entries)
        except (ValueError, OverflowError, OSError):
            pass  # a commit has a time that only git takes for one
    stored: dict[str, None] = {}
    times: dict[str, bytes] = {}
    for entry in entries:
        if entry["oid"].strip("0"):
            stored[entry["oid"]] = None
        else:
            times[choose_date(entry)] = format_raw_time(entry)
    width = blame_format.get_date_width(mode)
    if width is None:
        times[""] = b"0 +0000"
    if times:
        labels = _read_with_scratch(repo, [*stored], times, mode)
    else:
        labels = _read_log(repo.git, [*stored], mode)
    if width is None:
        width = blame_format.count_columns(labels.pop("")[1])
    return labels, width


_USUAL = "iso"
_USUAL_WIDTH = len("2005-04-07 22:13:13 +0200")


def _format_usual(entries: Iterable[BlameEntry]) -> tuple[dict[str, Label], int]:
    """read_dates() in git's usual form."""
    labels: dict[str, Label] = {}
    for entry in entries:
        seconds, _, zone = format_raw_time(entry).partition(b" ")
        minutes = int(zone[-2:]) + 60 * int(zone[-4:-2])
        if zone.startswith(b"-"):
            minutes = -minutes
        moment = time.gmtime(int(seconds) + 60 * minutes)
        date = time.strftime("%Y-%m-%d %H:%M:%S ", moment).encode() + zone
        short = entry["oid"][: count_gits_digits()]
        labels[choose_date(entry)] = short.encode(), date
    return labels, _USUAL_WIDTH


def choose_date(entry: BlameEntry) -> str:
    """The name of an entry's date: its commit; for an uncommitted line its time."""
    is_stored = entry["oid"].strip("0")
    if is_stored:
        return entry["oid"]
    return decode_name(format_raw_time(entry))


def format_raw_time(entry: BlameEntry) -> bytes:
    """The author's time of an entry, as in a commit: seconds since 1970 and a time zone."""
    headers = dict(entry["headers"])
    return headers[b"author-time"] + b" " + headers[b"author-tz"]


def pad_dates(labels: Mapping[str, Label], width: int) -> dict[str, bytes]:
    """The date of each name, padded to width columns."""
    return {
        name: date + b" " * (width - blame_format.count_columns(date))
        for name, (_, date) in labels.items()
    }


def _read_with_scratch(
    repo: Repo, stored: Sequence[str], times: Mapping[str, bytes], mode: str
) -> dict[str, Label]:
    """_read_log() of stored commits, and of a scratch commit for each key of times."""
    with tempfile.TemporaryDirectory(prefix="gitcp-") as scratch:
        env = build_quarantine(repo, scratch)
        tree = b"0" * len(repo.empty_tree)
        command = ("hash-object", "-t", "commit", "-w", "--literally", "--stdin")
        oids = {}
        for key, time in times.items():
            commit = b"tree %s\nauthor x <x> %s\ncommitter x <x> %s\n\n" % (tree, time, time)
            oids[key] = decode_name(repo.git.run(*command, stdin=commit, env=env)[1].strip())
        labels = _read_log(repo.git, [*stored, *oids.values()], mode, env)
    for key, oid in oids.items():
        name, date = labels.pop(oid)
        labels[key] = b"0" * len(name), date
    return labels


def _read_log(
    git: Git, oids: Sequence[str], mode: str, env: Mapping[str, str] | None = None
) -> dict[str, Label]:
    args = ("log", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--stdin", "-z")
    form = (f"--date={mode}", "--format=%H%x01%h%x01%ad")
    _, out = git.run(*args, *form, stdin="\n".join(oids).encode() + b"\n", env=env)
    rows = (row.split(b"\x01", 2) for row in out.split(b"\0") if row.strip())
    return {decode_name(oid.strip()): (name, date) for oid, name, date in rows}


def parse_place(text: str) -> tuple[str, tuple[int, int] | None]:
    """(file, (first line, last line)) of `<file>:<line>`, `<file>:<first>-<last>` and
    `<file>:<first>,<last>`; (file, None) of a file alone.

    Raises InputError for another text.
    """
    path, colon, span = text.rpartition(":")
    if not colon:
        return text, None
    numbers = span.replace("-", ",").split(",")
    if not path or len(numbers) > 2 or not all(map(_is_line_number, numbers)):
        raise InputError(f"no line or range of lines after the colon, as in 'a.c:5-8': '{text}'")
    first = int(numbers[0])
    last = int(numbers[-1])
    if last < first:
        raise InputError(f"the last line is before the first: '{text}'")
    return path, (first, last)


def _is_line_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0


def list_origins(
    repo: Repo, git: Git, evidence: Evidence, place: str, revision: str = ""
) -> Iterator[Record]:
    """Yield a record `origin` (gitcp-record(5)) for each run of lines that one edit or commit made.

    place: as for parse_place(); of a file alone, the runs of its newest change.
    """
    path, span = parse_place(place)
    words = ("-L", f"{span[0]},{span[1]}") if span else ()
    options = blame_format.ask_file(path, revision, *words)
    lines = evidence.blame_lines(git, options, contents=True)
    runs = [_join_lines(run) for _, run in groupby(lines, _get_key)]
    if not runs:
        raise Error(f"'{path}' has no lines")
    file = decode_name(history.find_asked_path(repo, git, options, [entry for entry, *_ in runs]))
    for run in runs if span else _choose_newest(evidence, runs):
        yield _build_origin(repo, file, run, evidence.find_time(*run[:2]))


def _join_lines(lines: Iterator[tuple[BlameEntry, Author]]) -> Credited:
    first = next(lines)
    joined = BytesIO()
    for entry, _ in chain((first,), lines):
        joined.write((entry["content"] or b"") + b"\n")
    return *first, joined.getvalue()[:-1]


def _choose_newest(evidence: Evidence, runs: Sequence[Credited]) -> list[Credited]:
    """The runs of lines that the newest turn wrote, or, if no session did, the newest commit.

    A line that is not committed is newer than one that is.
    """

    def get_age(run: Credited) -> tuple[bool, int, int]:
        entry, author, _ = run
        is_open = not entry["oid"].strip("0")
        return is_open, evidence.find_time(entry, author) or 0, author["number"] or 0

    def get_change(run: Credited) -> tuple[str, ...]:
        entry, author, _ = run
        return entry["oid"], author["who"], author["session_id"], author["turn_id"]

    newest = get_change(max(runs, key=get_age))
    return [run for run in runs if get_change(run) == newest]


def _get_key(line: tuple[BlameEntry, Author]) -> tuple[object, ...]:
    entry, author = line
    return (entry["oid"], entry["path"], *author.values())


def _build_origin(repo: Repo, file: str, run: Credited, at: int | None) -> Record:
    entry, author, text = run
    content = decode_name(text).split("\n")
    headers = dict(entry["headers"])
    commit = {
        "oid": entry["oid"],
        "subject": decode_name(headers.get(b"summary", b"")),
        "committer": decode_name(headers.get(b"committer", b"")),
    }
    return {
        "type": "origin",
        "file": file,
        "path": entry["path"],
        "original_line": entry["orig"],
        "first": entry["final"],
        "last": entry["final"] + len(content) - 1,
        "content": content,
        **author,
        "author": decode_name(headers.get(b"author", b"")),
        "time": at,
        "commit": commit if entry["oid"].strip("0") else None,
        "call": _find_edit(repo, author),
        "resume": _build_resume_command(repo, author, entry["oid"]),
    }


def _build_resume_command(repo: Repo, author: Author, oid: str) -> str:
    """The command that goes on with a session here: the client's, or gitcp's where the client does
    not have the conversation; '' for none.  oid: of its commit, zeros for none."""
    if author["who"] != "session":
        return ""
    client = find_client(author["agent"])
    if has_local(repo, client, author["session_id"]):
        return client.format_resume_command(author["session_id"])
    if oid.strip("0"):
        name = abbreviate(oid)
    else:
        name = author["session_id"]
    if client.can_cut():
        return f"gitcp resume {name}"
    return ""


def _find_edit(repo: Repo, author: Author) -> CallContext | None:
    """The call that wrote lines; None if it is not known, or if what is known of it writes
    nothing."""
    tool = author["tool_use_id"]
    call = _find_call(repo, author, tool) if tool else None
    if call is None or is_reading(call["name"]):
        return None
    return call


def _find_call(repo: Repo, author: Author, tool: str) -> CallContext | None:
    if author["checkpoint_id"]:
        return _find_stored_call(repo, author, tool)
    state = others.peek_state(repo, author["session_id"])
    if not state:
        return None
    agent_id = _find_subagent(repo, author["session_id"], tool)
    subagents = _read_live_subagent(repo, state, agent_id)
    return conversation.find_call(open_live(state), subagents, tool, bool(subagents))


def _find_stored_call(repo: Repo, author: Author, tool: str) -> CallContext | None:
    """The call in the transcripts of a checkpoint, of which no more is read than is necessary."""
    try:
        checkpoint = read_checkpoint(repo, author["checkpoint_id"])
        entry = pick_session(checkpoint, author["session_id"])
        pieces = StoredPieces(repo.objects, entry)
        if pieces:
            call = None
            if not _is_by_subagent(entry, tool):
                call = conversation.find_call(pieces, {}, tool)
            if call:
                subagents = {}
            else:
                subagents = _read_tasks(repo, checkpoint)
            return call or conversation.find_call(pieces, subagents, tool, by_subagent=True)
    except Error:
        pass  # a part is missing: the others may have it
    transcript, subagents = _read_stored(repo, author)
    return conversation.find_call([transcript], subagents, tool)


def _is_by_subagent(entry: SessionEntry, tool: str) -> bool:
    """Whether a session's metadata tell that a subagent made a call."""
    tools = entry["metadata"].get("tools")
    if not isinstance(tools, dict) or not isinstance(tools.get(tool), dict):
        return False
    return bool(tools[tool].get("agent"))


def _read_tasks(repo: Repo, checkpoint: StoredCheckpoint) -> dict[str, bytes]:
    return read_task_transcripts(repo.objects, checkpoint["checkpoint_id"], checkpoint["tree"])


def read_conversation(repo: Repo, author: Author) -> tuple[CallContext | None, list[Entry]]:
    """(the call that wrote a session's line, the words of its turn).

    The call is None if it is not known.  The words are (role, text), the prompt first; [] if the
    transcript is not here.
    """
    transcripts = _read_transcripts(repo, author)
    tool = author["tool_use_id"]
    call = None
    if tool:
        call = conversation.find_call([transcripts[0]], transcripts[1], tool)
    return call, conversation.list_turn_entries(transcripts[0], author)


def _read_transcripts(repo: Repo, author: Author) -> Transcripts:
    if author["checkpoint_id"]:
        return _read_stored(repo, author)
    return _read_live(repo, author["session_id"], author["tool_use_id"] or "")


def _read_stored(repo: Repo, author: Author) -> Transcripts:
    """The transcripts in a checkpoint."""
    try:
        checkpoint = read_checkpoint(repo, author["checkpoint_id"])
        content = read_session(repo.objects, checkpoint, author["session_id"])
    except Error:
        return b"", {}
    return content["transcript"], _read_tasks(repo, checkpoint)


def _read_live(repo: Repo, session_id: str, tool_use_id: str) -> Transcripts:
    """The transcripts of a session without a checkpoint: its own, and that of the subagent that
    made a call."""
    state = others.peek_state(repo, session_id)
    if not state:
        return b"", {}
    agent_id = _find_subagent(repo, session_id, tool_use_id)
    return read_live(state), _read_live_subagent(repo, state, agent_id)


def _read_live_subagent(repo: Repo, state: State, agent_id: str) -> dict[str, bytes]:
    """The id of the call that started a subagent -> its transcript; {} without one."""
    if not agent_id:
        return {}
    task, stored = _find_task(repo.objects, state, agent_id)
    transcript = _read_subagent_transcript(state, agent_id) or stored
    return {task: transcript} if transcript else {}


def _find_subagent(repo: Repo, session_id: str, tool_use_id: str) -> str:
    """The subagent that made a call, by the journal; '' for none."""
    key = session_id, tool_use_id
    lines = journal.read_journal(repo)
    for line in lines:
        if isinstance(line, Opening) and line.name == key and line.agent:
            return line.agent
    return ""


def _find_task(objects: Objects, state: State, agent_id: str) -> tuple[str, bytes]:
    """(the id of the call that started a subagent, its transcript on the session's streams).

    The transcript is b"" while the subagent runs, and the id is '' if it is not known.
    """
    for tip in read_tips(objects, [stream["ref"] for stream in state["streams"]]):
        for path, oid in tasks.list_stored(objects, tip, state["session_id"]).items():
            if path.endswith(f"/agent-{agent_id}.jsonl"):
                return path.partition("/")[0], objects.need(oid, "blob")
    return tasks.find_task(state, agent_id) or "", b""


def _read_subagent_transcript(state: State, agent_id: str) -> bytes:
    """The transcript in the client's own file; b"" if there is none."""
    agent = state.get("agent_type") or ""
    transcript_path = state.get("transcript_path") or ""
    try:
        path = agent_id and locate_subagent_transcript(agent, transcript_path, agent_id)
        return (files.read_bytes(path) if path else None) or b""
    except Error:  # the client or the id has none
        return b""


# The output of `gitcp blame`: git's own, with sessions in place of the authors of lines.
_UNKNOWN = b"?", b"<?>"
# Options, and keys of the configuration, for text before the author that only git can compute.
_MARGIN_OPTIONS = frozenset(("score-debug", "color-lines", "color-by-age"))
_MARGIN_KEYS = ("blame.markunblamablelines", "blame.markignoredlines", "blame.coloring")


def format_lines(
    repo: Repo, options: Options, blamed: Groups, evidence: Evidence
) -> Iterator[bytes]:
    """Yield the lines of a format for programs.  blamed: as for format_table()."""
    form = blame_format.choose_format(options)
    if form == "line-porcelain":
        blame_format.complete_entries(blamed.entries)
    lines = _Lines(repo, options, evidence, blamed.entries)
    entries: Iterable[BlameEntry] = blamed.entries if form == "incremental" else blamed.list_lines()
    if form == "line-porcelain":
        # The others have one time for all uncommitted lines.
        entries = map(lines.date_entry, entries)
    elif form == "porcelain":
        entries = (entry if entry["count"] else {**entry, "headers": []} for entry in entries)
    for row in blame_format.rewrite_entries(entries, lines.name_author):
        yield row + b"\n"
    yield blamed.rest


def build_records(
    repo: Repo, options: Options, blamed: Groups, evidence: Evidence
) -> Iterator[Record]:
    """Yield a record `line` for each line (gitcp-record(5)).  blamed: as for format_table()."""
    entries = blame_format.complete_entries(blamed.entries)
    lines = _Lines(repo, options, evidence, entries)
    for entry in blamed.list_lines():
        author = lines.find_author(entry)
        guess = lines.guess_author(entry, author)
        yield {
            "type": "line",
            "line": entry["final"],
            "commit": entry["oid"],
            "original_line": entry["orig"],
            "path": entry["path"],
            **author,
            "author": decode_name(dict(entry["headers"]).get(b"author", b"")),
            "time": lines.find_time(entry, author),
            "content": decode_name(entry["content"] or b""),
            **({"guess": guess} if guess else {}),
        }


class _Lines:
    """The authors of the lines that git blames."""

    def __init__(
        self, repo: Repo, options: Options, evidence: Evidence, entries: list[BlameEntry]
    ) -> None:
        self._evidence = evidence
        self._flags = options["flags"]
        self._compares = can_differ(repo, options)
        evidence.prefetch(entries, contents=self._compares)

    def find_author(self, entry: BlameEntry, offset: int = 0) -> Author:
        content = entry["content"] if self._compares else None
        number = entry["orig"] + offset
        return self._evidence.find_author(entry["oid"], entry["path"], number, content)

    def guess_author(self, entry: BlameEntry, author: Author) -> Author | None:
        """With --coarse the likely author of a line whose author is unknown."""
        if author["who"] != "unknown" or "coarse" not in self._flags:
            return None
        return self._evidence.guess_author(entry["oid"], entry["path"])

    def date_entry(self, entry: BlameEntry) -> BlameEntry:
        """The entry; that of an uncommitted line with the time of its edit, if that is known."""
        if entry["oid"].strip("0"):
            seconds = None
        else:
            seconds = self.find_time(entry, self.find_author(entry))
        if not seconds:
            return entry
        zone = time.strftime("%z", time.localtime(seconds)).encode()
        edited = {b"author-time": b"%d" % seconds, b"author-tz": zone}
        return {**entry, "headers": [*{**dict(entry["headers"]), **edited}.items()]}

    def find_time(self, entry: BlameEntry, author: Author) -> int | None:
        """When a line was committed or written, in seconds since 1970; None: not known."""
        return self._evidence.find_time(entry, author)

    def name_author(self, entry: BlameEntry, offset: int = 0) -> tuple[bytes, bytes] | None:
        """The name and mail to show in place of the commit's author; None: git's own."""
        author = self.find_author(entry, offset)
        if author["who"] == "session":
            return encode_name(line_authors.format_label(author)), encode_name(
                line_authors.format_mail(author)
            )
        guess = self.guess_author(entry, author)
        if guess:
            return encode_name(f"{line_authors.format_label(guess)}?"), _UNKNOWN[1]
        if author["who"] == "unrecorded" and "mark-unknown" in self._flags:
            agent = author["agent"]
            if agent:
                return (encode_name(f"{agent} (attested)"), b"<?>")
            return _UNKNOWN
        return _UNKNOWN if author["who"] == "unknown" else None

    def divide_group(self, group: BlameEntry, content: bytes) -> Iterator[Part]:
        """Yield the parts of a group of lines that have one author and one time."""
        place = group["oid"], group["path"]
        is_plain = group["oid"].strip("0") and not self._compares
        if is_plain and not self._evidence.find_line_authors(*place):
            yield group, self.name_author(group), content
            return
        lines: list[Part] = []
        for line in blame_format.divide_group(group, content):
            entry = self.date_entry(line)
            lines.append((entry, self.name_author(entry), (line["content"] or b"") + b"\n"))
        for _, same in groupby(lines, lambda part: (part[1], choose_date(part[0]))):
            entries, names, texts = zip(*same, strict=True)
            first: Any = {**entries[0], "count": len(entries)}
            yield first, names[0], b"".join(texts)


def can_differ(repo: Repo, options: Options) -> bool:
    """Whether a line that git blames on a commit may read otherwise there: by options, by a list
    of ignored commits, or because git blames the output of a text conversion."""
    config = repo.config
    configured = config.get("blame.ignorerevsfile") or config.list_keys("diff.", ".textconv")
    return bool(configured) or blame_format.can_find_moved_lines(options)


def format_table(
    repo: Repo, git: Git, options: Options, blamed: Groups, evidence: Evidence
) -> Iterator[bytes]:
    """Yield the lines of the table.  blamed: the result of start_groups() with these options."""
    entries = blame_format.complete_entries(blamed.entries)
    if not entries:
        yield blamed.rest
        return
    lines = _Lines(repo, options, evidence, entries)
    groups = zip(entries, blamed.contents, strict=True)
    parts = [part for entry, content in groups for part in lines.divide_group(entry, content)]
    entries = [entry for entry, _, _ in parts]
    config = repo.config
    flags = set(options["flags"])
    if config.get_flag("blame.showemail") and "no-e" not in flags:
        flags |= {"e"}
    if config.get_flag("blame.blankboundary"):
        flags |= {"b"}
    labels, width = read_dates(repo, entries, options["date"] or config.get("blame.date") or "iso")
    padded = pad_dates(labels, width)
    rows = [_build_row(flags, part, padded) for part in parts]
    margins = None
    if _needs_margins(flags, config):
        margins = history.read_margins(git, options, rows)
    abbrev = _choose_abbrev(options, labels, len(entries[0]["oid"]))
    path = history.find_asked_path(repo, git, options, entries)
    yield from blame_format.format_table(rows, flags, abbrev, path, margins)
    yield blamed.rest


def _needs_margins(flags: set[str], config: Config) -> bool:
    return bool(flags & _MARGIN_OPTIONS) or any(config.get(key) for key in _MARGIN_KEYS)


def _build_row(
    flags: set[str],
    part: Part,
    padded: dict[str, bytes],
) -> Row:
    entry, author, content = part
    headers = dict(entry["headers"])
    name, mail = author or (headers[b"author"], headers[b"author-mail"])
    return {
        "oid": entry["oid"],
        "orig": entry["orig"],
        "final": entry["final"],
        "count": entry["count"],
        "path": encode_name(entry["path"]),
        "boundary": b"boundary" in headers,
        "name": mail if "e" in flags else name,
        "date": format_raw_time(entry) if "t" in flags else padded[choose_date(entry)],
        "content": content,
    }


def _choose_abbrev(options: Options, labels: Mapping[str, Label], size: int) -> int:
    """The digits of a commit in the table.  size: of a whole id."""
    abbrev = options["abbrev"]
    if abbrev == 0:
        return size
    # One digit more than git's choice: a boundary commit spends one on its mark.
    longest = max(len(name) for name, _ in labels.values())
    return min(size, (longest if abbrev is None else abbrev) + 1)
