"""The conversations that clients keep in files, of a repository in any of its worktrees."""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents.reading import edits
from gitcp.errors import InputError
from gitcp.git import worktrees
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.agents import Client
    from gitcp.git.repo import Repo


class ConversationFile:
    """A file with a conversation.  agent: the subagent's id, '' for the session's own.  created:
    when the file was created, or earlier; mtime: its last change; in seconds since 1970."""

    __slots__ = ("agent", "client", "created", "cwd", "mtime", "path", "session", "size")

    def __init__(
        self, client: Client, path: str, session: str, agent: str, cwd: str, st: os.stat_result
    ) -> None:
        self.client = client
        self.path = path
        self.session = session
        self.agent = agent
        self.cwd = cwd
        self.size = st.st_size
        self.mtime = st.st_mtime
        born = getattr(st, "st_birthtime", None) or os.stat(os.path.dirname(path) or ".").st_mtime
        self.created = min(born, self.mtime)


def list_roots(repo: Repo, former: Iterable[str] = ()) -> list[str]:
    """The directories of the repository's worktrees, and former ones, the deepest first."""
    roots = [*worktrees.list_roots(repo), *map(os.path.abspath, former)]
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
            if relative.split("/")[0] in ("", ".git", ".jj", ".entire"):
                return ""
            return relative
    return ""


def find_conversations(
    home: str,
    roots: Sequence[str],
    folder: str,
    clients: Iterable[str] = (),
    since: float = 0.0,
) -> list[ConversationFile]:
    """The conversations in one of the roots or below it, changed since a time, the oldest first.

    folder: the directory for copies from databases.  clients: names of agents, by default all.
    """
    conversations: dict[str, ConversationFile] = {}
    for client in map(agents.get_client, clients or agents.list_names()):
        for root in roots:
            for source in client.list_conversations(home, root):
                path = client.fetch(source, folder)
                if path in conversations:
                    continue
                conversation = find_conversation(client, path, root, roots, since)
                if conversation:
                    conversations[path] = conversation
    return sorted(conversations.values(), key=lambda item: (item.mtime, item.path))


def find_conversation(
    client: Client, path: str, default_root: str, roots: Sequence[str], since: float = 0.0
) -> ConversationFile | None:
    """The conversation in a file; None if it has none, or one of another repository, or was not
    changed since a time.  default_root: its directory if the file names none."""
    try:
        st = os.stat(path)
        if st.st_mtime < since or not os.path.isfile(path):
            return None
        head = client.read_head(path) or edits.read_head(path)
    except OSError:
        return None
    cwd = head["cwd"] or client.read_directory(path, default_root)
    session = head["session"]
    agent = head["agent"]
    if head["parent"]:  # a subagent's own session
        agent = session
        session = head["parent"]
    try:
        ids.check_session_id(session)
    except InputError:
        return None
    if not any(cwd == root or cwd.startswith(root + os.sep) for root in roots):
        return None
    return ConversationFile(client, path, session, agent, cwd, st)
