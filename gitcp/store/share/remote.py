"""Talking to a remote in bounded time: listing, fetching, pushing.

A push is forced only with a lease.  Our own hooks do not run, and no question is asked.
"""

from __future__ import annotations

import time

from gitcp.errors import Error, GitError, Late
from gitcp.record import decode_lines, encode_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitcp.repo import Repo

    Refs = Mapping[str, str]

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
_OPTIONS = "-c push.followTags=false -c core.hooksPath=/dev/null"


class Remote:
    """A remote, by name or URL, until a deadline (seconds from now)."""

    def __init__(self, repo: Repo, name: str, timeout: float) -> None:
        self._repo, self.name, self._timeout = repo, name, timeout
        self._end = time.monotonic() + timeout
        self._urls = _list_push_urls(repo, name)
        self._url = self._urls[-1]

    def count_seconds_left(self) -> float:
        """Seconds until the deadline; 0 if it has passed."""
        return max(0.0, self._end - time.monotonic())

    def take_urls(self) -> Iterator[str]:
        """Turn to one after the other of the repositories that a push goes to; yield its URL, or
        the remote's name if a fetch goes there."""
        for url in self._urls:
            self._url = url
            yield url

    def list_refs(self, *patterns: str) -> dict[str, str]:
        """ref -> oid of the remote's refs with these full names and of all refs below them."""
        below = [f"{name}/*" for name in patterns]
        _, out = self._run("ls-remote", "--refs", "--", self._url, *patterns, *below)
        pairs = (line.split("\t") for line in decode_lines(out))
        starts = tuple(f"{name}/" for name in patterns)
        return {ref: oid for oid, ref in pairs if ref in patterns or ref.startswith(starts)}

    def fetch_refs(self, refs: Mapping[str, str]) -> None:
        """Fetch remote refs into local ones: {remote ref: local ref}."""
        args = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
        specs = encode_lines(f"+{source}:{target}" for source, target in refs.items())
        self._run(*args, "--no-auto-maintenance", "--stdin", "--", self._url, stdin=specs)

    def fetch_objects(self, oids: Sequence[str]) -> list[str]:
        """Fetch objects by their oids, as many as the remote has; return those that it lacks.

        A server refuses the whole of a request in which one is missing: it is asked for the halves.
        Raises Error if the deadline passes.
        """
        args = "fetch -q --no-tags --no-write-fetch-head --no-recurse-submodules".split()
        noop = ("-c", "fetch.negotiationAlgorithm=noop")  # git would say that it has them
        try:
            self._run(
                *noop, *args, "--no-auto-maintenance", "--stdin", "--", self._url,
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

    def push_refs(self, refs: Refs, lease: str = "") -> dict[str, str]:
        """Push {ref: oid}; return ref -> reason of the refs that another push has moved meanwhile.

        lease: the value of the one ref at the URL turned to, where alone it is then forced.  Raises
        Error if the remote refuses for another reason or cannot be reached.
        """
        specs = [f"{oid}:{ref}" for ref, oid in refs.items()]
        mirror = ("-c", f"remote.{self.name}.mirror=false")  # it would refuse our refspecs
        push = ("push", "--porcelain", "--no-verify", "--recurse-submodules=no")
        leases = [f"--force-with-lease={ref}:{lease}" for ref in refs] if lease else []
        where = self._url if lease else self.name
        _, out = self._run(*mirror, *push, *leases, "--", where, *specs, ok=(0, 1))
        moved: dict[str, str] = {}
        for line in decode_lines(out):
            flag, _, status = line.partition("\t")
            if flag != "!":
                continue
            pair, _, why = status.partition("\t")
            if not any(race in why for race in _RACES):
                raise Error(f"'{self.name}' refuses '{pair.rpartition(':')[2]}': {why}")
            moved[pair.rpartition(":")[2]] = why
        return moved

    def _run(self, *args: str, ok: tuple[int, ...] = (0,), stdin: bytes = b"") -> tuple[int, bytes]:
        env = {"GITCP_ACTIVE": "1"}
        if not self._has_own_ssh():
            env["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
        argv = *_OPTIONS.split(), *args
        running = self._repo.git.start(*argv, env=env, apart=True, feed=bool(stdin))
        try:
            return running.finish(stdin, ok, self.count_seconds_left())
        except Late:
            limit = f"{self._timeout:g} seconds"
            raise Error(f"'{self.name}' did not answer in {limit}") from None
        except GitError as e:
            why = _choose_reason(e)
            begins = why.startswith(f"'{self.name}'")
            raise Error(why if begins else f"'{self.name}': {why}") from None
        except BaseException:
            running.terminate()  # ^C does not reach a process in its own session
            raise

    def _has_own_ssh(self) -> bool:
        """Whether the person chose how ssh is run."""
        own = any(self._repo.git.env.get(k) for k in ("GIT_SSH", "GIT_SSH_COMMAND"))
        return own or bool(self._repo.config.get("core.sshcommand"))


def _list_push_urls(repo: Repo, name: str) -> list[str]:
    """The URLs that a push to a remote goes to, so that what is fetched is of the same
    repositories; the name if a fetch goes there."""
    if urls := repo.config.get_all(f"remote.{name}.pushurl"):
        return urls
    if not repo.config.list_keys("url.", ".pushinsteadof"):
        return [name]
    _, out = repo.git.run("remote", "get-url", "--push", "--all", "--", name, ok=(0, 2, 128))
    return decode_lines(out) or [name]


def _choose_reason(error: GitError) -> str:
    """The first line of git's message that is no remark of the server's, hint or warning."""
    lines = [line.strip() for line in error.complaint.splitlines() if line.strip()]
    words = [n for n in lines if not n.startswith(("remote:", "hint:", "warning:", "Warning:"))]
    return (words or lines or ["failed"])[0].removeprefix("fatal: ").removeprefix("error: ")
