"""How many conversations clients keep of a repository, and which clients delete them."""

from __future__ import annotations

import heapq
import os
import time
from functools import partial
from itertools import chain

from gitcp import agents
from gitcp.errors import InputError
from gitcp.git import decode_name, files
from gitcp.record.unheard.conversations import find_conversation, list_roots
from gitcp.setup.clients import json_text
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Client
    from gitcp.git.repo import Repo

    Times = dict[str, list[float]]  # client -> the last change of each of its conversations

_OPENED = 1000  # conversations that are opened, of a client without a folder for each directory


def count_conversations(repo: Repo, home: str) -> Times:
    """client -> the times of its conversations, in s since 1970, for clients that keep them in
    files.

    A client may have a folder for each directory: then a few files of the folder are opened, since
    several directories may share it.  Of other clients the newest files of all are opened.
    """
    roots = list_roots(repo)
    times_by_client: Times = {}
    for client in map(agents.get_client, agents.list_names()):
        paths = dict.fromkeys(p for root in roots for p in client.list_conversations(home, root))
        folders: dict[str, list[str]] = {}
        for path in paths:
            if not os.path.basename(path).startswith("agent-"):  # a subagent's
                folders.setdefault(os.path.dirname(path), []).append(path)
        is_here = partial(find_conversation, client, default_root=roots[0], roots=roots)
        if client.name_project(home, roots[0]):
            here = [p for group in folders.values() if any(map(is_here, group[:3])) for p in group]
        else:
            newest = heapq.nlargest(_OPENED, chain(*folders.values()), _read_time)
            here = list(filter(is_here, newest))
        if here:
            times_by_client[client.NAME] = list(map(_read_time, here))
    return times_by_client


def _read_time(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return time.time()


def describe_counts(repo: Repo, home: str, clients: Times) -> list[str]:
    """A line with the number of conversations, and one for each client that deletes them."""
    times = []
    for group in clients.values():
        times += group
    if not times:
        return []
    oldest = time.localtime(min(times))
    today = time.localtime()
    since = time.strftime("%B" if oldest.tm_year == today.tm_year else "%B %Y", oldest)
    count = count_noun(len(times), "conversation")
    lines = [f"{count} since {since}: 'gitcp import' links their commits"]
    return [*lines, *list_deletions(repo, home, clients)]


def list_deletions(repo: Repo, home: str, clients: Times) -> list[str]:
    """A line for each client that deletes conversations and has no setting for it."""
    lines = []
    for client in map(agents.get_client, clients):
        key, days = client.DELETION_DAYS
        if key and not _is_set(client, key, repo, home):
            lines.append(
                f"{client.AGENT_TYPE} deletes conversations after {days} days:"
                f" '{key}' in its settings keeps them longer"
            )
    return lines


def _is_set(client: Client, key: str, repo: Repo, home: str) -> bool:
    for path in (*client.MANAGED, *client.list_settings_paths(home, repo.worktree).values()):
        try:
            if key in json_text.parse(decode_name(files.peek(path)) or "{}", comments=True):
                return True
        except InputError:
            continue
    return False
