"""Commit objects: identities, writing, reading, parsing."""

from __future__ import annotations

import time

from gitcp.errors import Error
from gitcp.record import decode_name, encode_lines, encode_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


NOBODY = ("Unknown", "unknown@local")  # the name and mail of a person without an identity


def read_ident(repo: Repo, role: str = "COMMITTER") -> str:
    """`Name <mail> seconds zone` of the person, as git would write it for role now.

    role: AUTHOR or COMMITTER.  Environment, then configuration, then NOBODY.
    """
    env, config = repo.git.env, repo.config
    low = role.lower()
    name = env.get(f"GIT_{role}_NAME") or config.get(f"{low}.name") or config.get("user.name")
    mail = env.get(f"GIT_{role}_EMAIL") or config.get(f"{low}.email") or config.get("user.email")
    clean = str.maketrans("", "", "<>\n\0")
    name = (name or NOBODY[0]).translate(clean).strip() or NOBODY[0]
    mail = (mail or env.get("EMAIL") or NOBODY[1]).translate(clean).strip()
    return f"{name} <{mail}> {format_now()}"


def format_now() -> str:
    """The present time in the form of a commit: seconds and the local zone."""
    seconds = int(time.time())
    return f"{seconds} {time.strftime('%z', time.localtime(seconds))}"


def parse_ident(ident: str) -> tuple[str, int]:
    """(`Name <mail>`, seconds since 1970) of the author or committer of a commit; 0 without a
    time."""
    name, _, date = ident.rpartition("> ")
    seconds = date.partition(" ")[0]
    return f"{name}>", int(seconds) if seconds.isdecimal() else 0


def read_names(repo: Repo, commits: Iterable[str]) -> dict[str, str]:
    """oid -> the name of its author by the mailmap, as git log and git blame show it, of commits
    (full oids)."""
    if not (oids := encode_lines(commits)):
        return {}
    options = "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--format=%H %aN"
    _, out = repo.git.run("log", *options, "--stdin", stdin=oids)
    rows = (line.split(b" ", 1) for line in out.splitlines())
    return {oid.decode(): decode_name(name) for oid, name in rows}


def write_commit(
    objects: Objects, repo: Repo, tree: str, parents: Sequence[str], message: str
) -> str:
    """Store a commit by the person, now; return its oid."""
    head = [f"tree {tree}", *(f"parent {p}" for p in parents)]
    head += [f"author {read_ident(repo, 'AUTHOR')}", f"committer {read_ident(repo)}"]
    return objects.write("commit", encode_name("\n".join([*head, "", message.rstrip("\n")]) + "\n"))


def read_commit(objects: Objects, spec: str) -> Commit | None:
    """The commit that spec names, also through tags; None if there is none."""
    obj = objects.read(spec)
    if obj and obj[1] == "tag":
        obj = objects.read(f"{spec}^{{commit}}")
    return parse_commit(obj[0], obj[2]) if obj and obj[1] == "commit" else None


def build_log_args(
    options: Sequence[str], revisions: Sequence[str], paths: Sequence[str]
) -> list[str | bytes]:
    """The arguments of `git log` for options, revisions and paths that a person gives."""
    return [*options, "--end-of-options", *revisions, "--", *map(encode_name, paths)]


def list_commits(repo: Repo, *args: str, stdin: bytes = b"") -> list[str]:
    """The oids that git rev-list prints for these arguments, in its order."""
    return repo.git.run("rev-list", *args, stdin=stdin)[1].decode().split()


def is_ancestor(repo: Repo, ancestor: str, commit: str) -> bool | None:
    """Whether a commit has ancestor in its history, or is it; None if one of them is not here."""
    status, _ = repo.git.run("merge-base", "--is-ancestor", ancestor, commit, ok=(0, 1, 128))
    return None if status == 128 else status == 0


def need_commit(objects: Objects, spec: str) -> Commit:
    """read_commit(); raises Error if there is none."""
    commit = read_commit(objects, spec)
    if commit is None:
        raise Error(f"not a commit: '{spec}'")
    return commit


def parse_commit(oid: str, data: bytes) -> Commit:
    """Parse the bytes of a commit object."""
    head, _, message = data.partition(b"\n\n")
    commit: Commit = {
        "oid": oid,
        "tree": "",
        "parents": [],
        "author": "",
        "committer": "",
        "message": decode_name(message),
    }
    for line in decode_name(head).split("\n"):
        key, _, value = line.partition(" ")
        if key == "parent":
            commit["parents"].append(value)
        elif key == "tree":
            commit["tree"] = value
        elif key == "author" and not commit["author"]:
            commit["author"] = value
        elif key == "committer" and not commit["committer"]:
            commit["committer"] = value
    return commit
