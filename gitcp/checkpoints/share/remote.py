"""Talking to a remote in bounded time: listing, fetching, pushing.

A push is forced only with a lease.  Our own hooks do not run, and no question is asked.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from gitcp import VERSION, git
from gitcp.checkpoints import notes
from gitcp.checkpoints.redactor import get_redactor
from gitcp.checkpoints.share import places, summaries
from gitcp.checkpoints.stored import write_store_commit
from gitcp.errors import Error, GitError, Late
from gitcp.git import decode_name, files, refs
from gitcp.git.objects import edit_tree, find_entry, need_commit, object_lists, read_commit, reading
from gitcp.git.records import decode_lines, encode_lines
from gitcp.text import ids, patterns, shapes
from gitcp.text.ids import (
    BRANCHES,
    CHECKPOINTS,
    V1,
    is_checkpoint_id,
    parse_checkpoint_ref,
    parse_shadow,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from gitcp.checkpoints.redact import Redactor
    from gitcp.checkpoints.share.places import SharedPlace
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Message

    Refs = Mapping[str, str]
    Secrets = Mapping[str, str]  # oid of a blob -> rule

# Reasons of a refused push that may succeed after another fetch.
_RACES = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
    "failed to lock",
    "incorrect old value",
    "reference already exists",
)
_OPTIONS = ("-c", "push.followTags=false", *git.WITHOUT_HOOKS)


_UNPACKER = (
    "it could not read what was sent: objects are missing ('gitcp fsck' names those of this"
    " repository), or it takes no more"
)


class Remote:
    """A place to talk with until a deadline (seconds from now)."""

    def __init__(self, repo: Repo, place: SharedPlace, timeout: float) -> None:
        self._repo = repo
        self._place = place
        self._timeout = timeout
        self._end = time.monotonic() + timeout

    @property
    def label(self) -> str:
        """What the place is called in messages."""
        return self._place.label

    @property
    def url(self) -> str:
        """The URL of the place, by which what is known of it is kept."""
        return self._place.url

    def count_seconds_left(self) -> float:
        """Seconds until the deadline; 0 if it has passed."""
        return max(0.0, self._end - time.monotonic())

    def list_refs(self, *names: str) -> dict[str, str]:
        """ref -> oid of the remote's refs with these full names and of all refs below them."""
        below = [f"{name}/*" for name in names]
        out = self._run("ls-remote", "--refs", "--", self._get_source(), *names, *below)
        starts = tuple(f"{name}/" for name in names)
        found: dict[str, str] = {}
        for line in decode_lines(out):
            oid, _, ref = line.partition("\t")
            if ref in names or ref.startswith(starts):
                found[ref] = oid
        return found

    def fetch_refs(self, targets: Mapping[str, str]) -> None:
        """Fetch remote refs into local ones: {remote ref: local ref}."""
        args = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
        specs = encode_lines(f"+{source}:{target}" for source, target in targets.items())
        self._run(*args, "--no-auto-maintenance", "--stdin", "--", self._get_source(), stdin=specs)

    def fetch_objects(self, oids: Sequence[str]) -> list[str]:
        """Fetch objects by their oids, as many as the remote has; return those that it lacks.

        A server refuses the whole of a request in which one is missing: it is asked for the halves.
        Raises Error if the deadline passes.
        """
        args = "fetch -q --no-tags --no-write-fetch-head --no-recurse-submodules".split()
        noop = ("-c", "fetch.negotiationAlgorithm=noop")  # git would say that it has them
        try:
            self._run(
                *noop, *args, "--no-auto-maintenance", "--stdin", "--", self._get_source(),
                stdin=encode_lines(oids),
            )  # fmt: skip
        except Error:
            if not self.count_seconds_left():
                raise
            if len(oids) == 1:
                return [*oids]
            half = len(oids) // 2
            return self.fetch_objects(oids[:half]) + self.fetch_objects(oids[half:])
        return []

    def push_refs(self, tips: Refs, lease: str = "") -> dict[str, str]:
        """Push {ref: oid}; return ref -> reason of the refs that another push has moved meanwhile.

        lease: the value of the one ref there, which is then forced.  Raises Error if the remote
        refuses for another reason or cannot be reached.
        """
        address = self._get_address()
        specs = [f"{oid}:{ref}" for ref, oid in tips.items()]
        mirror = ("-c", f"remote.{address}.mirror=false")  # it would refuse our refspecs
        push = ("push", "--porcelain", "--no-verify", "--recurse-submodules=no")
        leases: list[str] = []
        if lease:
            leases = [f"--force-with-lease={ref}:{lease}" for ref in tips]
        out = self._run(*mirror, *push, *leases, "--", address, *specs, ok=(0, 1))
        moved: dict[str, str] = {}
        for line in decode_lines(out):
            flag, _, status = line.partition("\t")
            if flag != "!":
                continue
            pair, _, why = status.partition("\t")
            if "unpacker error" in why:
                why += f"; {_UNPACKER}"
            if not any(race in why for race in _RACES):
                raise Error(f"'{self.label}' refuses '{pair.rpartition(':')[2]}': {why}")
            moved[pair.rpartition(":")[2]] = why
        return moved

    def _get_address(self) -> str:
        if not self._place.address:
            raise self._make_error("git's configuration leads no URL there any more")
        return self._place.address

    def _get_source(self) -> str:
        self._get_address()
        if not self._place.source:
            raise self._make_error("git's configuration leads fetches from there elsewhere")
        return self._place.source

    def _make_error(self, why: str) -> Error:
        return Error(f"'{self.label}': {why}")

    def _run(self, *args: str, ok: tuple[int, ...] = (0,), stdin: bytes = b"") -> bytes:
        """What git prints.  Raises Error that names the place if it fails, or does not answer."""
        env = {"GITCP_ACTIVE": "1", **git.build_remote_env()}
        if not self._has_own_ssh():
            env["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
        argv = *_OPTIONS, *self._place.options, *args
        self._repo.objects.flush()
        running = self._repo.git.start(*argv, env=env, apart=True, feed=bool(stdin))
        try:
            return running.finish(stdin, ok, self.count_seconds_left())[1]
        except Late:
            limit = f"{self._timeout:g} seconds"
            raise Error(f"'{self.label}' did not answer in {limit}") from None
        except GitError as e:
            why = _choose_reason(e)
            if why.startswith(f"'{self.label}'"):
                raise Error(why) from None
            raise self._make_error(why) from None
        except BaseException:
            running.terminate()  # ^C does not reach a process in its own session
            raise

    def _has_own_ssh(self) -> bool:
        """Whether the person chose how ssh is run."""
        is_chosen = any(self._repo.git.env.get(k) for k in ("GIT_SSH", "GIT_SSH_COMMAND"))
        return is_chosen or bool(self._repo.config.get("core.sshcommand"))


def _choose_reason(error: GitError) -> str:
    """The first line of git's message that is no remark of the server's, hint or warning."""
    lines = [line.strip() for line in error.complaint.splitlines() if line.strip()]
    words = [n for n in lines if not n.startswith(("remote:", "hint:", "warning:", "Warning:"))]
    reason = (words or lines or ["failed"])[0]
    return reason.removeprefix("fatal: ").removeprefix("error: ")


# The check before a push: gitcp sends nothing that looks like a secret.
#
# What gitcp stores is redacted already.  The check searches what is new to a remote again, by
# today's rules, and what another program put onto the branch.
_DOCUMENT = 4 << 20  # bytes; a larger JSON document is searched as text
_LINES = ("full.jsonl", "full.log", ".jsonl")
_EXAMPLES = 3
_PIECE = 1 << 19  # bytes of files that are searched together
_WINDOW = 1024  # files that one process takes at once
# An object that a partial clone lacks is on the remote already.
_NEW = ("rev-list", "--objects", "--filter=object:type=blob", "--missing=allow-any")
# Streams, which have whole worktrees with files that were never committed, and local refs.
_OURS = (BRANCHES, "refs/gitcp/", "refs/entire/")
_STORE = frozenset({V1, "refs/heads/entire/sessions"})
_OWN = ("metadata.json", "lines.json")


class SearchedBlob(NamedTuple):
    """A blob that is searched, with its path in the tree of a tip."""

    oid: str
    path: str
    content: bytes


class Hit(NamedTuple):
    """A blob with a secret, its path in the tree of a tip, and the rule that found it."""

    oid: str
    path: str
    rule: str


def find_secrets(
    repo: Repo,
    tips: Iterable[str],
    excluded: Iterable[str],
    end: float | None = None,
    selects: Callable[[str], object] | None = None,
    *,
    stored: bool = True,
) -> Iterator[Hit]:
    """Yield once each blob with a secret that tips reach and the excluded commits do not.

    selects: whether a path is searched.  stored: the trees are those of the store, where gitcp's
    own documents are checked by what their fields hold.  Raises Error if the search is not done at
    the time end, of time.monotonic().
    """
    excluded = [*excluded]
    absent = repo.objects.list_absent(excluded)
    known = [f"^{oid}" for oid in excluded if oid not in absent]
    redactor = get_redactor(repo)

    def begin(objects: Objects) -> Callable[[list[bytes]], list[Hit]]:
        def find(lines: list[bytes]) -> list[Hit]:
            return list(_search_files(redactor, _read_files(objects, lines, selects), end, stored))

        return find

    repo.objects.flush()
    revisions = encode_lines([*tips, *known])
    new = repo.git.stream_records(*_NEW, "--stdin", sep=b"\n", stdin=revisions)
    for secrets in reading.spread_batches(repo.objects, reading.split_windows(new, _WINDOW), begin):
        yield from secrets


def _search_files(
    redactor: Redactor, searched: Iterable[SearchedBlob], end: float | None, stored: bool
) -> Iterator[Hit]:
    for piece in _group_files(searched):
        if piece and end is not None and time.monotonic() > end:
            raise Error("too much to search for secrets during 'git push': run 'gitcp push'")
        suspects = piece
        if len(piece) > 1:
            numbers = redactor.find_suspects([file.content for file in piece])
            suspects = [piece[number] for number in numbers]
        yield from _find_in_files(redactor, suspects, stored)


def _read_files(
    objects: Objects, lines: Iterable[bytes], selects: Callable[[str], object] | None
) -> Iterator[SearchedBlob]:
    """Yield the files of git's lines `<oid> <path>`, with one in memory."""
    blobs: list[tuple[str, str]] = []
    for line in lines:
        oid, _, name = line.partition(b" ")
        if not name:
            continue
        path = decode_name(name)
        if selects is None or selects(path):
            blobs.append((oid.decode(), path))
    read = objects.read_each(blob for blob, _ in blobs)
    for (blob, path), obj in zip(blobs, read, strict=True):
        if obj:
            yield SearchedBlob(blob, path, obj[2])


def _group_files(searched: Iterable[SearchedBlob]) -> Iterator[list[SearchedBlob]]:
    """Yield lists of files of _PIECE bytes at most; a larger file is alone."""
    piece: list[SearchedBlob] = []
    size = 0
    for file in searched:
        if size + len(file.content) > _PIECE:
            yield piece
            piece = []
            size = 0
        piece.append(file)
        size += len(file.content)
    yield piece


def _find_in_files(
    redactor: Redactor, searched: Iterable[SearchedBlob], stored: bool
) -> Iterator[Hit]:
    for file in searched:
        kind = _choose_kind(file.path, len(file.content), stored)
        hits = redactor.find(file.content, kind=kind)
        if hits:
            rule, _, _ = hits[0]
            yield Hit(file.oid, file.path, rule)


def _choose_kind(path: str, size: int, stored: bool) -> str:
    """How the content of a file is searched, as Redactor.find() has it."""
    if _is_lines(path):
        return "jsonl"
    if not path.endswith(".json") or size >= _DOCUMENT:
        return "text"
    if stored and path.rpartition("/")[2] in _OWN:
        return "own"
    return "document"


def _is_lines(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(_LINES[:2]) or name.endswith(_LINES[2])


class Update(NamedTuple):
    """A ref that a push sends."""

    local: str  # its name here
    oid: str
    remote: str  # its name there


def parse_updates(lines: Iterable[str]) -> list[Update]:
    """The update of each line of a pre-push hook, without deletions."""
    updates: list[Update] = []
    for line in lines:
        words = line.split(" ")
        if len(words) != 4:
            continue
        local, oid, remote, _ = words
        if oid.strip("0"):
            updates.append(Update(local, oid, remote))
    return updates


def judge_push(
    repo: Repo, sent: Iterable[tuple[str, str, str]], place: str, is_agreed: bool
) -> Message | None:
    """A record of type refuse, with gitcp.push-check=warn of type say, for a `git push` that sends
    shadow branches, local refs of gitcp, or the store to a place that was not agreed to; None for
    any other push.

    place: the URL of the push.  is_agreed: whether it was agreed to.
    """
    private: list[str] = []
    strays: list[str] = []
    for ref, _, _ in sent:
        if not ref.startswith(_OURS):
            continue
        if _is_store(ref):
            strays.append(ref)
        elif _is_private(ref):
            private.append(ref)
    if private:
        sends = f"whole worktrees, files never committed among them: {_shorten_refs(private)}"
    elif strays and not is_agreed:
        named = _shorten_refs(strays)
        sends = f"transcripts to '{place}', where nobody agreed to send them: {named}"
    else:
        return None
    message = f"this push sends {sends}"
    if repo.config.get_option("gitcp.push-check") == "warn":
        return {"type": "say", "message": f"warning: {message}"}
    advice = "push branches by name, or set gitcp.push-check=warn"
    return {"type": "refuse", "message": f"fatal: {message}; {advice}"}


def _is_store(ref: str) -> bool:
    return ref in _STORE or ref.startswith(f"{CHECKPOINTS}/")


def _is_private(ref: str) -> bool:
    """Whether a ref is a stream or another ref of gitcp, not a person's branch below entire/."""
    return not ref.startswith("refs/heads/") or parse_shadow(ref) is not None


def _shorten_refs(ref_names: list[str]) -> str:
    more = ""
    if len(ref_names) > _EXAMPLES:
        more = f" and {len(ref_names) - _EXAMPLES} more"
    named = ", ".join(ref.removeprefix("refs/heads/") for ref in ref_names[:_EXAMPLES])
    return named + more


# What a push holds back: the checkpoints in which the check finds what looks like a secret.
_MOST_WITHHELD = 1 << 24  # entries of the store's tree
_HEAD = "found by "  # then the hash of the rules
_SUBJECT_WITHHELD = "Checkpoints without those that are held back"
ALLOW = "'git config --add gitcp.redact-allow <regex>' allows it"


def search_new(
    repo: Repo,
    tips: Mapping[str, str],
    remote_tips: Mapping[str, str],
    limit: float,
) -> Secrets:
    """The secrets that today's rules find in tips and in what was searched before, without what
    remote_tips (both ref -> oid) have; none if gitcp.push-check is false.  Raises Error if a hook
    has searched for more than limit seconds."""
    if not repo.config.get_option("gitcp.push-check"):
        return {}
    rules = hash_rules(repo)
    searched = read_searched(repo, rules)
    known = [*remote_tips.values(), *searched.tips.values()]
    end = None
    if git.count_seconds_left() is not None:
        end = time.monotonic() + limit
    secrets = dict(searched.secrets)
    for hit in find_secrets(repo, tips.values(), known, end):
        secrets[hit.oid] = hit.rule
    write_searched(repo, rules, Searched({**searched.tips, **tips}, secrets))
    return secrets


def select_tip(repo: Repo, ref: str, ours: str, theirs: str, secrets: Secrets) -> str:
    """The tip to push for a ref: ours, or a commit on theirs ("" for none) without the checkpoints
    and notes that have secrets; theirs if nothing is left to push."""
    if not secrets or not _is_new(repo, ours, theirs, secrets):
        return ours
    tree = need_commit(repo.objects, ours)["tree"]
    held = {_name_part(ref, path) for path, _ in _list_held(repo.objects, tree, secrets)}
    if "" in held:
        return theirs
    their_tip = read_commit(repo.objects, theirs)
    if their_tip:
        before = their_tip["tree"]
        parents = [theirs]
        edits = {part: find_entry(repo.objects, before, part) for part in held}
    else:
        before = edit_tree(repo.objects, None, {})
        parents = []
        edits = dict.fromkeys(held)
    selected = edit_tree(repo.objects, tree, edits)
    if selected == before:
        return theirs
    return write_store_commit(repo, selected, parents, _SUBJECT_WITHHELD)


def _is_new(repo: Repo, ours: str, theirs: str, secrets: Collection[str]) -> bool:
    """Whether ours has a blob of secrets, in its history too, that theirs has not."""
    known: list[str] = []
    if theirs and not repo.objects.list_absent([theirs]):
        known.append(f"^{theirs}")
    repo.objects.flush()
    listed = repo.git.stream_records(
        "rev-list", "--objects", "--missing=allow-any", "--stdin",
        sep=b"\n", stdin=encode_lines([ours, *known]),
    )  # fmt: skip
    return any(line[: len(ours)].decode() in secrets for line in listed)


def _list_held(objects: Objects, tree: str, secrets: Secrets) -> list[tuple[str, str]]:
    """(path, oid) of the blobs in a tree that have secrets."""
    below = object_lists.list_files(objects, tree, _MOST_WITHHELD)
    return [(path, oid) for path, (_, oid) in below if oid in secrets]


def _name_part(ref: str, path: str) -> str:
    """The path of what is held back for a file: a checkpoint on the branch, or the file; "" for a
    whole ref."""
    if parse_checkpoint_ref(ref):
        return ""
    folder = "/".join(path.split("/")[:2])
    if is_checkpoint_id(folder.replace("/", "")):
        return folder
    return path


class Held(NamedTuple):
    """A file that is held back."""

    name: str  # of the checkpoint, or the ref, that has it
    path: str  # in that
    rule: str  # that found a secret
    oid: str


def list_held(repo: Repo) -> list[Held]:
    """What today's rules hold back, by the findings of earlier pushes."""
    if not repo.config.get_option("gitcp.push-check"):
        return []
    secrets = read_searched(repo, hash_rules(repo)).secrets
    if not secrets:
        return []
    tips = refs.list_refs(repo, refs.REF, CHECKPOINTS, notes.REF, summaries.REF)
    found: list[Held] = []
    for ref, tip in tips.items():
        found += name_held(repo.objects, ref, tip, secrets)
    return found


def name_held(objects: Objects, ref: str, tip: str, secrets: Secrets) -> list[Held]:
    """What is held back of a ref that is at tip, a commit."""
    commit = read_commit(objects, tip)
    if not commit:
        return []
    held: list[Held] = []
    for path, oid in _list_held(objects, commit["tree"], secrets):
        part = _name_part(ref, path)
        name = parse_checkpoint_ref(ref) or part.replace("/", "")
        if is_checkpoint_id(name):
            held.append(Held(name, path.removeprefix(f"{part}/"), secrets[oid], oid))
        else:
            held.append(Held(ref, path, secrets[oid], oid))
    return held


def explain(held: Sequence[Held]) -> str:
    """What is not sent, why, and how to allow it, in one line."""
    more = ""
    if len(held) > _EXAMPLES:
        more = f" and {len(held) - _EXAMPLES} more"
    listed = ", ".join(describe(item) for item in held[:_EXAMPLES])
    return f"not pushed: {listed}{more}; {describe_remedy(held[0])}"


def describe(held: Held) -> str:
    """Which checkpoint, or ref, has a secret by which rule in which file."""
    if is_checkpoint_id(held.name):
        subject = f"checkpoint {held.name}"
    else:
        subject = f"'{held.name}'"
    return f"{subject} has what looks like a secret ({held.rule} in '{held.path}')"


def describe_remedy(held: Held) -> str:
    """How to allow what is held back, and how to delete it."""
    if is_checkpoint_id(held.name):
        return f"{ALLOW}, 'gitcp forget {held.name}' deletes it"
    return ALLOW


def hash_rules(repo: Repo) -> str:
    """A hash of the rules for secrets."""
    # Personal data does not stop a push, so its rules do not count.
    own = repo.config.get_all("gitcp.redact"), repo.config.get_all("gitcp.redact-allow")
    rules = VERSION, patterns.stat_table(), own
    digest: str = ids.start_sha256(repr(rules).encode()).hexdigest()
    return digest


class Searched(NamedTuple):
    """What was searched for secrets, and what was found."""

    tips: Refs  # ref -> oid, whose whole histories were searched
    secrets: Secrets


def read_searched(repo: Repo, rules: str) -> Searched:
    """What was searched by these rules (a hash); nothing if that is not known."""
    head, *lines = decode_name(files.read_cache(places.locate_searched(repo))).splitlines() or [""]
    pairs = [line.split() for line in lines]
    fits = all(len(pair) == 2 and shapes.is_object_name(pair[0]) for pair in pairs)
    if not fits or head != _HEAD + rules:
        return Searched({}, {})
    tips = {word: oid for oid, word in pairs if word.startswith("refs/")}
    return Searched(tips, {oid: word for oid, word in pairs if not word.startswith("refs/")})


def write_searched(repo: Repo, rules: str, searched: Searched) -> None:
    """Write down what was searched by these rules."""
    # What was found comes first: without its end the file says that less was searched.
    lines = [_HEAD + rules, *(f"{oid} {rule}" for oid, rule in searched.secrets.items())]
    lines += [f"{oid} {ref}" for ref, oid in searched.tips.items()]
    files.write_private(repo, places.locate_searched(repo), encode_lines(lines))
