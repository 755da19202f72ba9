"""The numbers of conversations that clients keep of a repository, by file names alone, and how long
they keep them."""

from __future__ import annotations

import os
import time

from gitcp import agents
from gitcp.agents.install import json_text
from gitcp.core.render.spans import count_noun
from gitcp.errors import InputError
from gitcp.process import files
from gitcp.record import decode_name
from gitcp.store.imports import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Client
    from gitcp.repo import Repo

    Times = dict[str, list[float]]  # client -> the last change of each of its conversations


def count_conversations(repo: Repo, home: str) -> Times:
    """client -> the times of its conversations, in s since 1970, for clients with a folder for each
    directory.  A few files of a folder are opened, since directories may share it."""
    roots = find.list_roots(repo)
    times_by_client: Times = {}
    for client in map(agents.get_client, agents.list_names()):
        if not client.name_project(home, roots[0]):
            continue
        paths = dict.fromkeys(p for root in roots for p in client.list_conversations(home, root))
        folders: dict[str, list[str]] = {}
        for path in paths:
            if not os.path.basename(path).startswith("agent-"):  # a subagent's
                folders.setdefault(os.path.dirname(path), []).append(path)
        for group in folders.values():
            if any(find.find_conversation(client, path, roots[0], roots) for path in group[:3]):
                times = times_by_client.setdefault(client.NAME, [])
                times += map(_read_time, group)
    return times_by_client


def _read_time(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return time.time()


def describe(repo: Repo, home: str, clients: Times) -> list[str]:
    """A line with the number of conversations, and one for each client that deletes them."""
    times = [when for group in clients.values() for when in group]
    if not times:
        return []
    oldest, today = time.localtime(min(times)), time.localtime()
    since = time.strftime("%B" if oldest.tm_year == today.tm_year else "%B %Y", oldest)
    count = count_noun(len(times), "conversation")
    lines = [f"{count} since {since}: 'gitcp import' links their commits"]
    return [*lines, *list_deletions(repo, home, clients)]


def list_deletions(repo: Repo, home: str, clients: Times) -> list[str]:
    """A line for each client that deletes conversations and has no setting for it."""
    lines = []
    for client in map(agents.get_client, clients):
        key, days = client.DELETES
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
