"""The shapes of stored data and of the records that pass between rooms.

Nothing imports this module at run time.  A shape that a single function uses is defined beside
it.  gitcp-formats(5) describes the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NotRequired, TypedDict

# Decoded JSON, as stages pass it on.  A function of core declares the keys it reads by a TypedDict.
Record = dict[str, Any]
Records = Iterable[Record]

# Objects of git.
Entry = tuple[str, str]  # mode as git prints it ("100644"), oid
Version = Entry | None  # None: nothing is there
Entries = dict[str, Version]  # by path
Tree = dict[str, Entry]  # by name
Staged = tuple[str, str | None, str, str | None]  # old mode, old oid, new mode, new oid
Drawn = tuple[str, list[str]]  # git's graph before a commit, and on the lines below it
Blob = Callable[[str], bytes | None]  # the content of an oid; None: there is no such object


class Commit(TypedDict):
    """A parsed commit; message: the text after the header's empty line."""

    oid: str
    tree: str
    parents: list[str]
    author: str
    committer: str
    message: str


# Links of commits.
class Recorded(TypedDict):
    """A change of a path that a session recorded; other keys are ignored."""

    path: str
    oid: str | None  # None: the session deleted the path
    mode: NotRequired[str]
    live: bool  # the worktree's stream has it; False: it is away
    stashed: NotRequired[bool]  # a later entry of `git stash` has the recorded content
    before: NotRequired[Version]  # absent: not known
    now: NotRequired[Version]  # what the path has now; absent: not known, or it is away
    own: NotRequired[frozenset[bytes]]  # the added lines that count; absent: all
    # The session's edits (before, after), if others came between them; absent: one, from before.
    steps: NotRequired[list[tuple[str | None, str | None]]]


Shared = tuple[frozenset[bytes], str]  # what two changes have in common; the reason


class Linked(TypedDict):
    """Why a session belongs to a commit.  how: content, environment or process.  former: the
    paths, when they were recorded, of files that were renamed since.  The keys from agent on are
    of what was stored."""

    how: str
    paths: list[str]
    reasons: dict[str, str]
    former: NotRequired[list[str]]
    agent: NotRequired[str]
    turns: NotRequired[int]  # how many wrote what the commit has
    lines: NotRequired[tuple[int, int]]  # added by the commit: those by the session, and all


class Pair(TypedDict):
    """A commit that is linked to a checkpoint.  how it was found: by blobs; by evidence, for a part
    of them; amend or rebase, as git names the rewrite."""

    commit: str
    checkpoint_id: str
    how: str


# What an agent's client tells.  `make generate` writes each key's comment, here and in State, into
# the manual and the schema.
class Tool(TypedDict):
    """A tool call."""

    name: str  # the client's name of the tool
    id: str  # the client's id of the call, empty if it gives none
    kind: str  # what the tool does
    input_paths: list[str]  # the absolute paths that its input says it will write
    failed: bool  # true if it failed
    background: NotRequired[bool]  # true if it runs on after its end event
    background_id: NotRequired[str]  # the client's name of the background task
    duration_ms: NotRequired[int]  # its run time, without the time a person took to approve it
    interrupted: NotRequired[bool]  # true if it was interrupted
    command: NotRequired[str]  # the command of a shell
    output: NotRequired[str]  # the output of a shell, at most 64 Ki characters
    edits: NotRequired[list[tuple[str, str, bool]]]  # its edits: old, new, whether everywhere
    inserted: NotRequired[tuple[int, str]]  # the line before a text that it inserts, and that text
    content: NotRequired[str]  # the whole content that it writes to one path
    original: NotRequired[str]  # the content that it found there
    todos: NotRequired[list[dict[str, Any]]]  # the list of things to do that it writes
    subagent_type: NotRequired[str]  # the kind of the subagent that it starts
    description: NotRequired[str]  # what the subagent is to do
    agent_id: NotRequired[str]  # the subagent that it started
    agent: NotRequired[str]  # the subagent that made it


class Event(TypedDict):
    """A hook call in gitcp's words; an event called unknown has the first three keys alone."""

    type: str
    event: str  # the name that gitcp gives the event
    agent: str  # the name of the agent
    session_id: NotRequired[str]  # the agent's own id of the session
    cwd: NotRequired[str]  # the directory in which the agent works
    came: NotRequired[int]  # its arrival in ns since 1970, if one process reads several
    notification: NotRequired[bool]  # true if the client wrote the prompt, about background tasks
    ended_tasks: NotRequired[list[dict[str, str]]]  # the id, tool_use_id and status of those
    background_tasks: NotRequired[list[dict[str, str]]]  # the id, status, command of those that run
    model: NotRequired[str]  # the name of the model
    agent_id: NotRequired[str]  # the subagent in which it happened
    agent_type: NotRequired[str]  # the kind of that subagent
    turn: NotRequired[str]  # the agent's own name of the turn
    transcript_path: NotRequired[str]  # the transcript of the session
    agent_transcript_path: NotRequired[str]  # the transcript of the subagent
    prompt: NotRequired[str]  # the prompt
    source: NotRequired[str]  # why the session starts
    reason: NotRequired[str]  # why the session ends
    last_message: NotRequired[str]  # the last message of the answer
    tool: NotRequired[Tool]  # the call of a tool
    tools: NotRequired[list[Tool]]  # the calls of a response, if the client reports them together
    # What gitcp adds on the way.
    answers: NotRequired[str]  # the form of answers to the agent, if an adapter says it
    guest: NotRequired[bool]  # true in a repository that is not the home of the session
    elsewhere: NotRequired[list[str]]  # the paths of a call that are in other repositories
    refused: NotRequired[bool]  # true if its turn does not begin
    head: NotRequired[str]  # HEAD as the turn began
    dirty: NotRequired[list[tuple[str, Version]]]  # the changed files then, each with its entry
    stashing: NotRequired[list[str]]  # the ids of calls that used the stash without its name
    unfounded: NotRequired[dict[str, list[str]]]  # not printed: by commit, paths that it loses


class Usage(TypedDict):
    """Tokens, and calls of the model; subagent_tokens: the usage of its subagents."""

    input_tokens: int
    cache_creation_tokens: int
    cache_read_tokens: int
    output_tokens: int
    api_call_count: int
    subagent_tokens: NotRequired[Usage]


class Scan(TypedDict):
    """The facts of a transcript, as far as it has been read.

    items: number of lines (Gemini: of messages).  bytes: the settled prefix; a later scan takes
    the bytes after it and this scan as previous (Gemini: 0, each scan reads everything).
    prompts: the person's, cleaned.  written: paths as the agent named them, each once.
    subagents: their ids.  skipped: lines that should be JSON and are not.
    model: of the newest answer, if the client's events do not name it.
    last_identifier: of the newest message that has one.  carry: state for a continued scan.
    """

    items: int
    bytes: int
    skipped: int
    prompts: list[str]
    written: list[str]
    usage: Usage | None
    model: NotRequired[str]
    subagents: list[str]
    last_identifier: str | None
    last_timestamp: str | None
    carry: dict[str, Any]


class Earlier(TypedDict):
    """What the lines of a transcript from before its session's start have used.  subagents: their
    ids."""

    usage: Usage | None
    subagents: list[str]


class Waiting(TypedDict):
    """Checkpoints whose transcript was not read to its end when they were written.

    ids: theirs.  turn_id: the turn then.  end: the bytes of the live transcript then.  is_open:
    only of a commit: whether it left work, with which the next part begins at line 0.  turns:
    likewise: those that it names."""

    ids: list[str]
    turn_id: str
    end: int
    is_open: NotRequired[bool]
    turns: NotRequired[list[str]]


class Process(TypedDict):
    """A process of a machine.  start: clock ticks since boot, '' where reading it is costly."""

    pid: int
    start: str
    boot_id: str
    host: str


# The session.
class File(TypedDict):
    """The entry that a session last wrote to a path; oid '': the session deleted the path."""

    oid: str
    mode: str
    turn_id: NotRequired[str]


class Stream(TypedDict):
    """A stream as a state names it.  files: the paths with open edits.  They are read from the
    journal (record.journal.edits) and not stored in the state's file."""

    id: str
    ref: str
    base_commit: str
    files: dict[str, File]


class Verdict(TypedDict):
    """The stream that a turn continues.  verdict: none, continue, reset, restore or new; ref, tip:
    of the stream it applies to."""

    verdict: str
    ref: str
    tip: str
    reason: str


class State(TypedDict, total=False):
    """A session, <common>/entire-sessions/<id>.json; other keys are preserved."""

    session_id: str  # the agent's own id of the session
    agent_type: str  # the name of the agent
    cli_version: str  # the version of the program that made the state
    strategy: str  # how it is recorded
    phase: str  # idle, active or ended
    revision: int  # how often it was saved
    started_at: str  # the time when it started, as in RFC 3339
    ended_at: str  # the time when it ended
    last_interaction_time: str  # the time of its last event
    worktree_path: str  # where the session works
    worktree_id: str  # git's name of that worktree, if it is a linked one
    transcript_path: str  # the agent's own transcript
    transcript_identifier_at_start: str  # its last entry that a committed checkpoint has
    checkpoint_transcript_start: int  # the number of its lines that committed checkpoints have
    first_prompt: str  # the first prompt, redacted
    base_commit: str  # the commit on which the session works
    head_log: int  # the size of HEAD's reflog at its last event, in bytes
    attribution_base_commit: str  # the commit since which lines are counted
    turn_id: str  # the present turn
    prompt_id: str  # the agent's own name of it
    turns: dict[str, dict[str, Any]]  # the number, prompt and model of each turn
    tasks: dict[str, dict[str, Any]]  # the subagents that run, each by the call that started it
    ended_tasks: dict[str, dict[str, Any]]  # likewise those that ended and are in no checkpoint yet
    streams: list[Stream]  # the id, ref and base of each stream; the session is on the last one
    files_touched: list[str]  # the paths that the session wrote and no commit has settled
    checkpoint_count: int  # the number of temporary checkpoints since the last commit
    shadow_ref: str  # the stream in use
    shadow_branch_suffix: int  # the number at the end of its name
    should_reset_shadow_branch: bool  # true if its next checkpoint begins it anew
    verdict: Verdict  # the decision about the stream, until it is carried out
    last_verdict: Verdict  # the last such decision
    last_checkpoint_id: str  # the last committed checkpoint
    turn_checkpoint_ids: list[str]  # those of the turn, which get the rest of its transcript
    pending_finalize: dict[str, Any]  # those of an ended turn that still lack it
    unread: list[Waiting]  # those that wait until a long transcript is read, the oldest first
    token_usage: Usage  # the tokens of the session
    tokens_at_condensation: Usage  # the same at the last commit
    tokens_before: Usage  # what the transcript counts of calls before the session, as in a fork
    agent_process: Process | None  # the process id, start, boot and host of the agent
    multisession_warned: dict[str, Any]  # the other sessions of which the agent was told
    resumed: bool  # true from the start of a resumed session to its next prompt
    late_calls: bool  # true while calls of an ended turn still run
    visits: list[str]  # git's names of worktrees with open edits; its own if they came from others
    over_limit: dict[str, str]  # the paths too large for the last checkpoint, each with the limit
    unstored: list[str]  # its files in no commit and on no stream: large, or brought back
    tool_events: bool  # true if the agent tells of its calls
    guest: bool  # true if the session's home, with its conversation, is another repository
    unreadable: str  # not stored: why its file cannot be read


class Marker(TypedDict):
    """The keys that a commit hook reads of a session with open edits (record.session)."""

    session_id: str  # the agent's own id of the session
    agent_type: str  # the name of the agent
    worktree_path: str  # where the session works
    worktree_id: str  # git's name of that worktree, if it is a linked one
    phase: str  # idle or active, or ended with work that no commit has
    base_commit: str  # the commit on which the session works
    agent_process: Process | None  # the process of the agent
    prompt: str  # the first prompt, redacted
    count: int  # the number of temporary checkpoints since the last commit
    tool_events: bool  # true if the agent tells of its calls
    visits: NotRequired[list[str]]  # other worktrees in which it has open edits
    streams: list[dict[str, Any]]  # the id and ref of each stream with files that no commit has


class Tip(TypedDict):
    """The newest commit of a stream.  base: full oid, or the digits in the stream's name."""

    ref: str
    oid: str
    tree: str
    stream: str
    base: str
    session_id: str
    time: int


# What stages of a pipeline pass on.
class Passed(TypedDict):
    """A record between stages, by its type; its other keys are as the type has them."""

    type: str


class GitEvent(TypedDict):
    """An event of git's: its hook, with the arguments and the lines of standard input."""

    type: str
    event: str
    args: list[str]
    stdin: list[str]


class Message(TypedDict):
    """A message (say) or a refusal (refuse).  to: person, the default, or agent."""

    type: str
    message: str
    to: NotRequired[str]


class MessageMatch(TypedDict):
    """What the message of a commit gets, by prepare-commit-msg with the arguments args.

    ids: those of its sessions.  drop: ids that it must not have.  gather: whether ids anywhere in
    it count."""

    type: str
    ids: list[str]
    drop: list[str]
    gather: bool
    sessions: dict[str, Linked]
    args: list[str]


class CommitMatch(TypedDict):
    """What is to be done for a commit that was made; see gitcp.link.commit.Conclusion.

    linked: whether the streams move on.  left_out: sessions that could not be stored."""

    type: str
    commit: str
    old: str
    id: str
    sessions: dict[str, Linked]
    dismissed: bool
    noted: bool
    linked: bool
    carried: list[str]
    inherited: NotRequired[list[str]]
    merged: list[str]
    replays: NotRequired[bool]
    left_out: NotRequired[list[str]]


class PairMatch(Pair):
    """A link that was found again."""

    type: str


class LinkedMatch(Linked):
    """A session that would link to a commit."""

    type: str
    commit: str
    session_id: str


class StreamMatch(Verdict):
    """The stream of a turn that begins."""

    type: str
    session_id: str


class MovedRef(TypedDict):
    """A ref that a stage has moved."""

    type: str
    ref: str
    oid: str | None
    old: str | None


class WrittenCheckpoint(TypedDict):
    """A checkpoint that a stage wrote: a temporary one by oid and ref, else by its id."""

    type: str
    session_id: str
    oid: NotRequired[str]
    ref: NotRequired[str]
    checkpoint_id: NotRequired[str]
    commit: NotRequired[str]


# The journal.
Writer = tuple[str, str, str]  # of an edit: session, turn, tool use; or PERSON; or UNKNOWN


class Item(TypedDict):
    """An item of a transcript.

    text: what was said, or the output in a result.  time: as in the transcript, '' if it has none.
    id: the call's, also in its result.  name, input: the tool's, in a call.  failed: whether the
    call failed, in a result.  line: the number of the line, from 0, empty ones not counted; in a
    document, of the message.
    """

    kind: Literal["prompt", "answer", "call", "result"]
    text: str
    time: str
    id: str
    name: str
    input: Any
    failed: bool
    line: int
