"""The one list of commands, their options as data, and the parser of configured pipelines;
pyproject, bin/, man/ and tests are checked against it."""

from __future__ import annotations

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Row = tuple[tuple[str, ...], dict[str, Any]]  # the spellings; the arguments for argparse
    Rows = Sequence[Row | list[Row]]  # the rows of a list exclude each other

# name -> the module of its function, its summary (.Nd in its manual page)
STAGES = {
    # tree building
    "list-changes": ("cmd.stages.trees", "list what differs in the worktree from HEAD"),
    "write-blobs": ("cmd.stages.trees", "store the content of changed files as blobs"),
    "write-tree": ("cmd.stages.trees", "build a tree from changes and a base"),
    "write-commit": ("cmd.stages.trees", "make a commit of a tree"),
    "update-ref": ("cmd.stages.trees", "move a ref by compare and swap"),
    # events and sessions
    "read-event": ("cmd.stages.listing", "read the payload of an agent's hook as an event"),
    "update-session": ("cmd.stages", "take an event into the state of its session"),
    "list-sessions": ("cmd.stages.listing", "list sessions as records"),
    # streams
    "list-streams": ("cmd.stages.listing", "list the streams of temporary checkpoints"),
    "match-stream": ("events.turn_start", "decide which stream a turn belongs to"),
    "write-checkpoint": ("events.turns", "write a temporary checkpoint onto its stream"),
    "read-stream": ("cmd.stages.listing", "read the checkpoints of a stream"),
    # linking
    "match-commit": ("events.commits", "decide which sessions a commit belongs to"),
    "write-trailer": ("events.commits", "write the checkpoint id into a commit message"),
    "check-message": ("events.commits", "empty a message that is nothing but our trailer"),
    "condense": ("events.commits", "write the sessions of a commit to the permanent store"),
    "carry-forward": ("events.commits", "move streams on to a new commit"),
    "finalize": ("events.turns", "complete the transcripts of a turn's checkpoints"),
    "relink": ("events.post_rewrite", "find the commits that lost their checkpoint id"),
    # permanent store
    "list-checkpoints": ("cmd.stages.checkpoints", "list committed checkpoints as records"),
    "read-checkpoint": ("cmd.stages.checkpoints", "read a committed checkpoint or a session in it"),
    "write-committed": ("cmd.stages.checkpoints", "write a committed checkpoint from records"),
    "find-commits": ("cmd.stages.checkpoints", "find the commits of a checkpoint"),
    "merge-checkpoints": ("cmd.stages.checkpoints", "merge two histories of the permanent store"),
    "push-checkpoints": ("events.pre_push", "send the permanent store to a remote"),
    "fetch-checkpoints": ("cmd.stages.checkpoints", "bring the permanent store from a remote"),
    # guard
    "check-claim": ("events.turns", "say whether a tool call may run here, and claim its paths"),
    "release-claim": ("events.turns", "let go of what a tool call claimed"),
    "list-claims": ("cmd.stages.listing", "list who is at work in this working copy"),
    # upkeep
    "list-refs": ("cmd.stages.upkeep", "list refs as records"),
    "expire-refs": ("cmd.stages.upkeep", "name the refs that are past keeping"),
    "delete-refs": ("cmd.stages.upkeep", "delete the refs named by records"),
    "check-store": ("cmd.stages.upkeep", "check every promise of the stored data"),
    "list-orphans": ("cmd.stages.upkeep", "list what no session and no commit needs"),
}
# name, that of its file in gitcp/cmd -> its summary
TOOLS = {
    "demo": "show in a repository of its own how gitcp works",
    "enable": "begin to record: install the hooks of git and of agents",
    "disable": "silence or remove the hooks",
    "config": "list the settings of gitcp, set one, and check them",
    "import": "link commits to conversations that gitcp did not record",
    "attach": "link a session that was not recorded, by its transcript",
    "adopt": "let a session that moved continue in this worktree",
    "run": "record a program that edits files as a session",
    "status": "show who is at work here, and what is recorded",
    "log": "show commits with the sessions behind them",
    "show": "show the conversation behind a commit",
    "explain": "explain a commit, a checkpoint or a session",
    "diff": "compare checkpoints, commits and the worktree",
    "stage": "add to the index what one session or person wrote",
    "split": "make one commit for each session of what the worktree has",
    "blame": "show which session or person wrote each line of a file",
    "annotate": "put the author of each line into a patch",
    "why": "show the prompt, the words and the edit behind a line",
    "search": "find turns by what was said, done and committed",
    "recap": "show what was done, by day and session",
    "sessions": "list the sessions of several repositories",
    "lsp": "answer editors over the Language Server Protocol",
    "mcp": "answer agents over the Model Context Protocol",
    "stats": "count the lines that agents and people wrote",
    "ui": "browse sessions, commits and points in the terminal",
    "page": "write a page for review: the change, who wrote it and why",
    "rewind": "go back to before a prompt, edit or command",
    "bisect": "find the call at which a test begins to fail",
    "undo": "take back what gitcp changed last",
    "redo": "do again what was undone",
    "resume": "bring a conversation back, also into a new clone",
    "link": "link a commit to a session or checkpoint by hand",
    "unlink": "remove the link of a commit to a checkpoint by hand",
    "push": "send what is recorded to a remote",
    "fetch": "bring what others have recorded from a remote",
    "convert-store": "give each checkpoint of the branch a ref of its own",
    "forget": "remove content from the store, here and where it was sent",
    "check": "check a range by the rules of its target branch",
    "ci": "write the job of a forge that comments and keeps links",
    "verify": "check the signatures and the content of checkpoints",
    "doctor": "find what is wrong here, and repair it",
    "fsck": "check the stored data, and repair it",
    "du": "show what takes how much space",
    "clean": "remove what is settled",
    "export-notes": "write who wrote which line as notes of Git AI",
    "export-traces": "write Agent Trace records of a range",
    "export-facts": "write what is known of commits as tables of Parquet",
    "facts": "ask a dataset of facts, by SQL or a question's name",
    "facts-spark": "export the facts of many repositories at once, on Spark",
    "completion": "write what a shell needs to complete commands",
    "hook": "run the pipeline of a hook",
}
# folder of gitcp/cmd -> the commands in it
FOLDERS = {
    "setup": "adopt attach completion config demo disable enable hook run status",
    "back": "bisect redo resume rewind split stage undo",
    "ask": "annotate blame check diff explain log recap search sessions show stats verify why",
    "care": "clean doctor du forget fsck",
    "share": "convert-store fetch import link push unlink ci",
    "extras": "export-facts export-notes export-traces facts facts-spark lsp mcp page ui",
}
_FOLDER = {name: f for f, names in FOLDERS.items() for name in names.split()}
# The commands that `gitcp` alone shows, by purpose.
EVERYDAY = {
    "start, and see that it works": ("enable", "status", "sessions", "doctor"),
    "ask what happened": (
        "log",
        "recap",
        "show",
        "why",
        "blame",
        "search",
        "stats",
        "page",
        "ui",
    ),
    "go back": ("rewind", "undo", "redo", "resume"),
    "share": ("push",),
}
# What git runs as well: `git why` is git-why on PATH.
OF_GIT = ("why", "rewind")
# Commands for people whose stage has another name: both run the file in gitcp/cmd.
ALIASES = {"push": "push-checkpoints", "fetch": "fetch-checkpoints", "fsck": "check-store"}
# Those that ask the remote of a partial clone for what it has left there, as their manuals say.
ASKING = (
    "annotate blame diff explain export-facts export-notes export-traces log page recap resume"
    " show stats why"
).split()
# Those before which gitcp.link.reading settles what no event has settled.
WHOLE = (*ASKING, "handover", "push", "search")
_TYPED = {stage: name for name, stage in ALIASES.items()}
NAMES = (*TOOLS, *STAGES)


def get_summary(name: str) -> str:
    """The summary of a command: a line without a capital and a full stop."""
    if name in STAGES:
        return STAGES[name][1]
    return TOOLS[name]


def stage_module(name: str) -> str:
    """The module of a stage's function."""
    return f"gitcp.{STAGES[name][0]}"


def get_module(name: str) -> str:
    """The module of a command for people, with OPTIONS and run(argv); "" if the command is a
    stage."""
    name = _TYPED.get(name, name)
    if name in STAGES:
        return ""
    return f"gitcp.cmd.{_FOLDER[name]}." + name.replace("-", "_")


def parse_pipeline(text: str) -> list[list[str]]:
    """The stages of a pipeline, each an argv; quotes are read as in a shell, without expansion.

    Raise Error for an invalid word and for an unknown stage.
    """
    import shlex

    lexer = shlex.shlex(text, posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    stages: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word == "|":
                stages.append([])
            else:
                stages[-1].append(word)
    except ValueError as e:
        raise Error(f"cannot parse pipeline '{text}': {e}") from None
    for argv in stages:
        foreign = argv and argv[0].startswith("!") and argv[0] != "!"
        if not argv or not (foreign or argv[0] in STAGES):
            raise Error(f"no such stage: '{' '.join(argv)}'")
    return stages


# Options and arguments of commands, as data.


def make_flag(spellings: str, text: str) -> Row:
    """An option without a value; text: its help."""
    return tuple(spellings.split()), {"action": "store_true", "help": text}


def make_value(spellings: str, metavar: str, text: str, **more: Any) -> Row:
    """An option with a value, or an argument if the spelling begins with no dash."""
    return tuple(spellings.split()), {"metavar": metavar, "help": text, **more}


def make_nul(key: str, text: str) -> Row:
    """The option -z: print the value of key of each record, ended by NUL."""
    return ("-z",), {"action": "store_const", "const": key, "help": text}


JSON = make_flag("--json", "write records, one to a line")
OFFLINE = make_flag("--offline", "ask no remote")
REVISIONS = make_value("revision", "<revision>", "as in git-log(1) (default: HEAD)", nargs="*")


def flatten_rows(rows: Rows) -> list[Row]:
    """All rows, with those of lists."""
    found: list[Row] = []
    for group in rows:
        found += group if isinstance(group, list) else [group]
    return found
