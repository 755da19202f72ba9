"""Each private file of gitcp, declared once: where it is, whose it is, what its loss costs.

`make generate` writes the lists of gitcp-formats(5) from the rows; `du`, `clean`, `forget` and the
permissions of shared repositories go by them.
"""

from __future__ import annotations

import stat

# Where a file is: what all worktrees share, the states of sessions, what each worktree has, and
# what is kept of this person on this machine.
COMMON = "<common>/gitcp"
STATES = "<common>/entire-sessions"
WORKTREE = "<git-dir>/gitcp"
PERSON = "~/.local/state/gitcp"


class PrivateFile:
    """A private file, or the files of a directory.

    writer: the package of gitcp that alone knows where it is and writes it; others ask that one.
    name: its path below its place.  `<session>` stands for the id of a session and what follows it,
    any other `<word>` for one name; below a directory that ends in `/` is anything.

    What is said of it, in words:
    shared   it has the permissions of core.sharedRepository, so no words of persons, no contents
    flag     only whether it is there, or its time, is read
    hook     git's hooks in sh look for it
    copy     it may have what its session wrote: `forget` removes it with the session
    left     `clean` removes it if no state of its session lasts
    """

    __slots__ = ("meaning", "name", "place", "words", "writer")

    def __init__(self, writer: str, place: str, name: str, words: str, meaning: str) -> None:
        self.writer = writer
        self.place = place
        self.name = name
        self.meaning = meaning
        self.words = frozenset(words.split())

    @property
    def is_derived(self) -> bool:
        """Whether it can be made again: only time is lost without it."""
        return self.name.startswith("cache/")

    @property
    def is_of_session(self) -> bool:
        """Whether there is one for each session."""
        return self.name.endswith("<session>")


class Kind:
    """Files that are written, read and lost together.

    writer, reader: what does so.  loss: what happens without them.
    """

    __slots__ = ("files", "loss", "reader", "title", "writer")

    def __init__(
        self, title: str, writer: str, reader: str, loss: str, *files: PrivateFile
    ) -> None:
        self.title = title
        self.writer = writer
        self.reader = reader
        self.loss = loss
        self.files = files


KINDS = (
    Kind(
        "What git's hooks look for",
        "events, commits and enable",
        "git's hooks, which start Python only if they have to",
        "a hook does nothing, and the next event links its commit",
        PrivateFile("record", COMMON, "off", "flag hook", "the person has disabled gitcp"),
        PrivateFile(
            "record",
            COMMON,
            "linked",
            "shared flag hook",
            "some commit is linked with a checkpoint",
        ),
        PrivateFile(
            "checkpoints",
            COMMON,
            "unpushed",
            "shared flag hook",
            "a checkpoint may have to be pushed",
        ),
        PrivateFile(
            "record",
            COMMON,
            "configured/<hook>",
            "flag hook",
            "a pipeline is configured for a hook",
        ),
        PrivateFile(
            "record",
            WORKTREE,
            "configured/<hook>",
            "flag hook",
            "likewise, for this worktree alone",
        ),
        PrivateFile(
            "record",
            WORKTREE,
            "visited",
            "flag hook",
            "a session wrote, or may have, it is not known which; not committed",
        ),
        PrivateFile(
            "record",
            WORKTREE,
            "taken-back",
            "hook",
            "commits that HEAD lost, whose work may return",
        ),
        PrivateFile(
            "record", WORKTREE, "orig-head", "hook", "a link to the ORIG_HEAD that was read last"
        ),
        PrivateFile(
            "link", WORKTREE, "template", "hook", "the message that git proposed for a commit"
        ),
        PrivateFile(
            "setup", WORKTREE, "ran/<hook>", "hook", "the git that ran a configured hook last"
        ),
        PrivateFile(
            "setup", WORKTREE, "watched", "hook", "settings of agents that git clean would delete"
        ),
    ),
    Kind(
        "Transcripts",
        "each turn",
        "checkpoints and the page",
        "the agent's own transcript is read again as a whole",
        PrivateFile(
            "checkpoints",
            COMMON,
            "transcript/<session>",
            "copy left",
            "its redacted end, how far it goes, and whether its checkpoints wait for the rest",
        ),
        PrivateFile(
            "git",
            COMMON,
            "exports/<client>/<session>",
            "copy",
            "what the client exported, redacted",
        ),
        PrivateFile(
            "checkpoints",
            COMMON,
            "images/<sha256>",
            "",
            "a picture that was taken out of transcripts",
        ),
    ),
    Kind(
        "Sessions",
        "each event of a session",
        "hooks and commands",
        "work that no commit has is linked with no session",
        PrivateFile("record", STATES, "<session>", "", "the state of the session"),
        PrivateFile(
            "record", COMMON, "open/", "shared hook", "markers of sessions, made from the states"
        ),
        PrivateFile(
            "record",
            WORKTREE,
            "turn/<session>",
            "copy left",
            "what its turn began with, and what its next hook has to say",
        ),
    ),
    Kind(
        "The journal",
        "each look at the worktree",
        "events and commits",
        "edits and what settled them are put back from refs/gitcp/edits, calls are not",
        PrivateFile("record", WORKTREE, "journal", "shared", "who changed which file"),
        PrivateFile("record", WORKTREE, "journal-checked", "shared", "how far it was checked"),
        PrivateFile("record", WORKTREE, "look", "", "what differed from HEAD at the last look"),
    ),
    Kind(
        "Links of commits",
        "commits",
        "commits and relink",
        "commits are judged again, and links that a person removed may come back",
        PrivateFile("record", WORKTREE, "verdict", "hook", "what was decided of the coming commit"),
        PrivateFile(
            "record", WORKTREE, "looked", "", "the HEAD up to which all commits are judged"
        ),
        PrivateFile(
            "record", COMMON, "dismissed", "shared", "the ids that a person removed, one a line"
        ),
        PrivateFile(
            "record", COMMON, "foreign", "shared", "branches named like ours that are the person's"
        ),
        PrivateFile(
            "record",
            COMMON,
            "stashes",
            "shared",
            "which entries of the stash sessions made or took",
        ),
    ),
    Kind(
        "What has gone",
        "clean",
        "log and rewind",
        "work that was given up, and points that expired, are not listed",
        PrivateFile(
            "checkpoints",
            COMMON,
            "abandoned",
            "",
            "records of work that was given up, at most 1000",
        ),
        PrivateFile(
            "record",
            COMMON,
            "expired",
            "shared",
            "the points that clean removed, a JSON object a line",
        ),
    ),
    Kind(
        "Claims",
        "the start of a tool call",
        "the calls of other sessions",
        "a call does not wait for one that runs",
        PrivateFile(
            "record",
            WORKTREE,
            "claims/<key>",
            "shared",
            "the claim of a running tool call on its paths",
        ),
    ),
    Kind(
        "Steps and commands under way",
        "rewind, undo, auto-commit, stage, split and bisect",
        "the next command, status and doctor --fix",
        "a step that was killed is not finished, and what it replaced is not put back",
        PrivateFile(
            "steps",
            WORKTREE,
            "rewind/",
            "",
            "a step that has begun, with the files that it writes and replaces",
        ),
        PrivateFile(
            "record",
            WORKTREE,
            "auto/",
            "",
            "an automatic commit that has begun, its indexes and message, and the mark of the"
            " index.lock that gitcp holds",
        ),
        PrivateFile(
            "steps",
            WORKTREE,
            "split/",
            "",
            "the repository in which split makes commits, and what is to be stored of them",
        ),
        PrivateFile(
            "steps",
            WORKTREE,
            "bisect/",
            "",
            "the command that was run and what it printed last, until the bisection ends, and the"
            " scratch worktrees",
        ),
    ),
    Kind(
        "Contents that git does not have",
        "tool calls, before files that git ignores, and rewind",
        "rewind and undo",
        "these files do not come back",
        PrivateFile(
            "record",
            COMMON,
            "kept/",
            "",
            "ignored files that calls took, with a record of each call, and conversations that"
            " steps replaced, by their SHA-256",
        ),
    ),
    Kind(
        "Installation",
        "enable",
        "disable and doctor",
        "disable --uninstall does not restore what was there before",
        PrivateFile(
            "setup", COMMON, "installed/", "", "what enable wrote, and what was there before"
        ),
        PrivateFile(
            "setup", COMMON, "adapters/<agent>", "", "the program that wrote an agent's hooks"
        ),
        PrivateFile("setup", COMMON, "answered", "", "the questions that a person was asked here"),
        PrivateFile("setup", PERSON, "installed/", "", "likewise for the person's settings"),
    ),
    Kind(
        "Hooks and agents heard",
        "each event",
        "status and doctor",
        "status knows less of agents and failures until the next",
        PrivateFile(
            "record", WORKTREE, "heard/<agent>", "shared flag", "hooks of the agent have run there"
        ),
        PrivateFile(
            "record", COMMON, "unrecorded", "", "conversations of clients that no hook heard of"
        ),
        PrivateFile("git", COMMON, "warnings", "shared", "the warnings of hooks that failed"),
    ),
    Kind(
        "Recording",
        "enable and disable",
        "blame and stats",
        "lines of that time count as unrecorded, unless the note says otherwise",
        PrivateFile(
            "record", COMMON, "recording", "shared", "when this clone recorded, as in the note"
        ),
    ),
    Kind(
        "Remotes",
        "push and fetch",
        "push and fetch",
        "the next push compares and searches everything, and says all again",
        PrivateFile(
            "checkpoints",
            COMMON,
            "pushed/",
            "shared",
            "the tips of each remote, when a push there failed, and the messages that were said",
        ),
        PrivateFile(
            "checkpoints", COMMON, "searched", "shared", "what pushes searched and held back"
        ),
    ),
    Kind(
        "Packs",
        "hooks and commands",
        "hooks and commands",
        "hooks read git's own files, and git prunes as usual",
        PrivateFile(
            "git",
            COMMON,
            "packs/<pack>",
            "shared flag",
            "a pack of gitcp, where objects are borrowed",
        ),
    ),
    Kind(
        "What can be worked out again",
        "all that asks for it",
        "all that asks for it",
        "it is worked out again, which takes time; anybody may delete the directory",
        PrivateFile(
            "record",
            WORKTREE,
            "cache/index",
            "",
            "the worktree as it was last read, in git's format",
        ),
        PrivateFile(
            "record", WORKTREE, "cache/index-sparse", "", "the sparse checkout that it is for"
        ),
        PrivateFile(
            "record", WORKTREE, "cache/index-stale", "flag", "the index is to be made anew"
        ),
        PrivateFile(
            "record", WORKTREE, "cache/stat-cache", "", "blobs of files that the index lacks"
        ),
        PrivateFile(
            "record", WORKTREE, "cache/filters-hang", "flag", "git runs no filter for an hour"
        ),
        PrivateFile(
            "record", WORKTREE, "cache/clock", "shared flag", "tells the file system's time"
        ),
        PrivateFile(
            "git", WORKTREE, "cache/asked", "", "where the repository is, and its configuration"
        ),
        PrivateFile("guard", WORKTREE, "cache/guard-head", "", "the sessions of HEAD's message"),
        PrivateFile("extras", WORKTREE, "cache/page.html", "", "the newest page"),
        PrivateFile("git", COMMON, "cache/indexes", "shared", "the indexes of small packs"),
        PrivateFile(
            "checkpoints", COMMON, "cache/unsigned", "shared", "sessions that cannot be signed"
        ),
        PrivateFile(
            "lines", COMMON, "cache/recording-shared", "shared flag", "the note has all of it"
        ),
        PrivateFile(
            "checkpoints", COMMON, "cache/heads", "", "titles and last prompts of sessions"
        ),
        PrivateFile("record", COMMON, "cache/folders", "hook", "clients' folders of conversations"),
        PrivateFile(
            "record", COMMON, "cache/all-heard", "flag", "no conversation was left unrecorded"
        ),
        PrivateFile("lines", COMMON, "cache/lines", "", "what was found for lines, at most 4 MiB"),
        PrivateFile("extras", COMMON, "cache/search.sqlite", "", "the index of searches"),
        *(
            PrivateFile("git", COMMON, f"cache/{name}", "", meaning)
            for name, meaning in (
                ("beginning", "the first recorded commit"),
                ("lost", "links that commits have lost"),
                ("settled", "what commits have nothing of, at most 512 KiB"),
                ("tallies", "sums of commits, at most 8 MiB"),
                ("clean", "texts without secrets, by digest, at most 4 MiB"),
                ("drawn", "drawn hunks, at most 24 MiB"),
            )
        ),
    ),
    Kind(
        "Locks and scratch files",
        "every process",
        "every process",
        "processes write at the same time; once none runs, nothing is missing",
        PrivateFile(
            "git", COMMON, "lock/<name>", "shared", "a lock, held by the process that has it open"
        ),
        PrivateFile("git", COMMON, "tmp/", "", "files that are being written"),
        PrivateFile("git", COMMON, "corrupt/", "", "damaged files that were set aside, for people"),
    ),
    Kind(
        "Repositories of the person",
        "enable and events",
        "events in other directories",
        "enable or the next session's start registers the repository again",
        PrivateFile(
            "record",
            PERSON,
            "repositories/",
            "",
            "the repositories that are registered, and a random word that each has, too",
        ),
        PrivateFile(
            "record", COMMON, "registered", "shared", "the random word of its entry in the register"
        ),
        PrivateFile(
            "record", PERSON, "visits/<session>/<key>", "", "a repository that a session is in"
        ),
        PrivateFile("git", PERSON, "jj/<key>/<file>", "", "a jj workspace"),
    ),
)
FILES = tuple(file for kind in KINDS for file in kind.files)


def list_files(word: str) -> list[PrivateFile]:
    """The files of which a word is said."""
    return [file for file in FILES if word in file.words]


def is_shared(path: str) -> bool:
    """Whether a file of a repository, by its path below gitcp's directory, is for everybody who
    shares the repository."""
    file = find_file(path, COMMON, WORKTREE)
    return file is not None and "shared" in file.words


def find_file(path: str, *places: str) -> PrivateFile | None:
    """The declaration of a file by its path below one of its places; None if there is none."""
    parts = path.split("/")
    return next((file for file in FILES if file.place in places and _fits(file, parts)), None)


def _fits(file: PrivateFile, parts: list[str]) -> bool:
    words = file.name.split("/")
    if not words[-1]:
        return parts[: len(words) - 1] == words[:-1]
    named = zip(words, parts, strict=False)
    return len(words) == len(parts) and all(w == p or w.startswith("<") for w, p in named)


# The permissions that core.sharedRepository asks for, as git computes them.
_GROUP = 0o660
_EVERYBODY = 0o664
_WORDS = {
    **dict.fromkeys(("group", "true", "yes", "on", "1"), _GROUP),
    **dict.fromkeys(("all", "world", "everybody", "2"), _EVERYBODY),
}


def compute_shared_mode(setting: str, mode: int) -> int:
    """The permissions under a value of core.sharedRepository; mode: st_mode, with its type."""
    word = setting.lower()
    old = stat.S_IMODE(mode)
    if word in _WORDS:
        bits = _WORDS[word]
        base = old
    elif word[:1] == "0" and word.isdecimal() and not word.strip("01234567"):
        bits = int(word, 8) & 0o666
        base = old & ~0o777
    else:
        return old
    if not bits:
        return old  # 0 means umask
    if not old & stat.S_IWUSR:
        bits &= ~0o222
    if old & stat.S_IXUSR:
        bits |= (bits & 0o444) >> 2
    new = base | bits
    if stat.S_ISDIR(mode) and new & 0o060:
        return new | stat.S_ISGID
    return new
