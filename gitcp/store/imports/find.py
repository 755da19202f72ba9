"""Finds the conversations that clients keep of a repository, in any of its worktrees or former
directories."""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents.reading import edits
from gitcp.core.git import ids
from gitcp.errors import Error, InputError
from gitcp.record import decode_lines, decode_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.agents import Client
    from gitcp.repo import Repo


class Conversation:
    """A file with a conversation.  agent: the subagent's id, '' for the session's own.  created:
    when the file was created, or earlier; mtime: its last change; in seconds since 1970."""

    __slots__ = ("agent", "client", "created", "cwd", "mtime", "path", "session", "size")

    def __init__(
        self, client: Client, path: str, session: str, agent: str, cwd: str, st: os.stat_result
    ) -> None:
        self.client, self.path, self.session, self.agent = client, path, session, agent
        self.cwd, self.size, self.mtime = cwd, st.st_size, st.st_mtime
        born = getattr(st, "st_birthtime", None) or os.stat(os.path.dirname(path) or ".").st_mtime
        self.created = min(born, self.mtime)


def list_roots(repo: Repo, former: Iterable[str] = ()) -> list[str]:
    """The directories of the repository's worktrees, and former ones, the deepest first."""
    facts = map(decode_name, repo.git.read_records("worktree", "list", "--porcelain", "-z"))
    worktrees = [fact.removeprefix("worktree ") for fact in facts if fact.startswith("worktree ")]
    roots = [*worktrees, *map(os.path.abspath, former)]
    roots += [os.path.realpath(root) for root in roots]
    return sorted(dict.fromkeys(roots), key=len, reverse=True)


def make_relative(path: str, roots: Sequence[str]) -> str:
    """A path relative to the first of the roots that contains it; '' for none, and for git's own
    files.  Claude Code makes worktrees inside the main one."""
    for root in roots:
        if path.startswith(root + os.sep):
            relative = path[len(root) + 1 :]
            if relative.startswith(".claude/worktrees/"):
                relative = "/".join(relative.split("/")[3:])
            return "" if relative.split("/")[0] in ("", ".git", ".jj", ".entire") else relative
    return ""


def find_conversations(
    home: str,
    roots: Sequence[str],
    folder: str,
    clients: Iterable[str] = (),
    since: float = 0.0,
) -> list[Conversation]:
    """The conversations in one of the roots or below it, changed since a time, the oldest first.

    folder: the directory for copies from databases.  clients: names of agents, by default all.
    """
    conversations: dict[str, Conversation] = {}
    for client in map(agents.get_client, clients or agents.list_names()):
        for root in roots:
            for source in client.list_conversations(home, root):
                path = client.fetch(source, folder)
                if path in conversations:
                    continue
                if conversation := find_conversation(client, path, root, roots, since):
                    conversations[path] = conversation
    return sorted(conversations.values(), key=lambda item: (item.mtime, item.path))


def find_session(
    repo: Repo, home: str, name: str, agent: str, former: Sequence[str], folder: str
) -> tuple[list[Conversation], list[str]]:
    """(the conversations of one session, its own first; the roots of the repository).

    name: its id or a prefix of it, or the file of its transcript, whose directory is added to the
    roots.  Raises Error for none, and for several.
    """
    roots = list_roots(repo, former)
    if os.path.isfile(name):
        client = agents.get_client(agent or edits.recognise_client(name))
        roots += [edits.read_head(name)["cwd"] or roots[0]]
        folders = name.removesuffix(".jsonl"), os.path.join(os.path.dirname(name), "subagents")
        subagent_files = [path for root in folders for path in agents.list_files(root, ".jsonl")]
        files = (name, *subagent_files)
        candidates = [find_conversation(client, path, roots[0], roots) for path in files]
        own = candidates[0]
        conversations = [c for c in candidates if c and own and c.session == own.session]
    else:
        listed = find_conversations(home, roots, folder, [agent] if agent else ())
        conversations = [item for item in listed if item.session.startswith(name)]
    session_ids = sorted({conversation.session for conversation in conversations})
    if not session_ids:
        raise Error(f"no conversation of this repository: '{name}'")
    ids.pick_match("session", name, session_ids)
    return sorted(conversations, key=lambda item: item.agent), roots


def find_conversation(
    client: Client, path: str, default_root: str, roots: Sequence[str], since: float = 0.0
) -> Conversation | None:
    """The conversation in a file; None if it has none, or one of another repository, or was not
    changed since a time.  default_root: its directory if the file names none."""
    try:
        st = os.stat(path)
        if st.st_mtime < since or not os.path.isfile(path):
            return None
        head = (client.read_head or edits.read_head)(path)
    except OSError:
        return None
    cwd = head["cwd"] or client.read_directory(path, default_root)
    session, agent = head["session"], head["agent"]
    if head["parent"]:  # a subagent's own session
        session, agent = head["parent"], session
    try:
        ids.check_session_id(session)
    except InputError:
        return None
    if not any(cwd == root or cwd.startswith(root + os.sep) for root in roots):
        return None
    return Conversation(client, path, session, agent, cwd, st)


def parse_date(repo: Repo, date: str) -> float:
    """A date as git reads it, in seconds since 1970; 0 for ''."""
    if not date:
        return 0.0
    out = repo.git.run("rev-parse", f"--since={date}")[1]
    return float(out.decode().strip().removeprefix("--max-age="))


def list_own_addresses(repo: Repo) -> set[str]:
    """The addresses of the people who commit here: the configured ones and those of HEAD's
    reflog."""
    args = ("log", "-g", "--format=%ge", "--max-count=2000", "HEAD", "--")
    addresses = decode_lines(repo.git.run(*args, ok=(0, 128))[1])
    addresses += [repo.config.get("user.email"), os.environ.get("GIT_COMMITTER_EMAIL", "")]
    return {address.strip().lower() for address in addresses if address.strip()}
