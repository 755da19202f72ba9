"""Talking to a remote in bounded time: what it has, fetching, pushing.

Forces only with a lease, never runs our own hooks again, never asks a person anything.
"""

from __future__ import annotations

import time

from gitcp.errors import Error, GitError, Late
from gitcp.record import decode_lines, encode_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.repo import Repo

    Refs = Mapping[str, str]

# Reasons after which another try with what the remote has now may go through.
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
_WAYS = "-c push.followTags=false -c core.hooksPath=/dev/null"


class Remote:
    """A remote, by name or URL, until a deadline (seconds from now)."""

    def __init__(self, repo: Repo, name: str, timeout: float) -> None:
        self._repo, self.name, self._timeout = repo, name, timeout
        self._end = time.monotonic() + timeout
        # What is fetched for a merge must be what the push will meet.
        self._url = repo.config.get(f"remote.{name}.pushurl") or name

    def count_seconds_left(self) -> float:
        """Seconds until the deadline; 0 when it has passed."""
        return max(0.0, self._end - time.monotonic())

    def list_refs(self, *patterns: str) -> dict[str, str]:
        """ref -> oid of these full ref names, and of all below them, that the remote has."""
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

    def push_refs(self, refs: Refs, lease: str = "") -> list[str]:
        """Push {ref: oid}; return the refs that somebody else has moved there meanwhile.

        lease: what the one ref is there, which is then moved to what does not contain it.

        Raises Error when the remote refuses for another reason or cannot be reached.
        """
        specs = [f"{oid}:{ref}" for ref, oid in refs.items()]
        mirror = ("-c", f"remote.{self.name}.mirror=false")  # it would refuse our refspecs
        push = ("push", "--porcelain", "--no-verify", "--recurse-submodules=no")
        leases = [f"--force-with-lease={ref}:{lease}" for ref in refs] if lease else []
        _, out = self._run(*mirror, *push, *leases, "--", self.name, *specs, ok=(0, 1))
        moved = []
        for line in decode_lines(out):
            flag, _, rest = line.partition("\t")
            if flag != "!":
                continue
            pair, _, why = rest.partition("\t")
            if not any(race in why for race in _RACES):
                raise Error(f"'{self.name}' refuses '{pair.rpartition(':')[2]}': {why}")
            moved.append(pair.rpartition(":")[2])
        return moved

    def _run(self, *args: str, ok: tuple[int, ...] = (0,), stdin: bytes = b"") -> tuple[int, bytes]:
        env = {"GITCP_ACTIVE": "1"}
        if not self._has_own_ssh():
            env["GIT_SSH_COMMAND"] = "ssh -o BatchMode=yes"
        running = self._repo.git.start(*_WAYS.split(), *args, env=env, apart=True, feed=bool(stdin))
        try:
            return running.finish(stdin, ok, self.count_seconds_left())
        except Late:
            limit = f"{self._timeout:g} seconds"
            raise Error(f"'{self.name}' did not answer in {limit}") from None
        except GitError as e:
            why = _choose_reason(e)
            named = why.startswith(f"'{self.name}'")
            raise Error(why if named else f"'{self.name}': {why}") from None
        except BaseException:
            running.terminate()  # ^C is for us, and does not reach it
            raise

    def _has_own_ssh(self) -> bool:
        """Whether the person chose how ssh is run."""
        own = any(self._repo.git.env.get(k) for k in ("GIT_SSH", "GIT_SSH_COMMAND"))
        return own or bool(self._repo.config.get("core.sshcommand"))


def _choose_reason(error: GitError) -> str:
    """The first line of git's words that is not of the server's small talk."""
    lines = [line.strip() for line in error.complaint.splitlines() if line.strip()]
    words = [n for n in lines if not n.startswith(("remote:", "hint:", "warning:", "Warning:"))]
    return (words or lines or ["failed"])[0].removeprefix("fatal: ").removeprefix("error: ")
