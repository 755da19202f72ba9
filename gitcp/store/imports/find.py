"""The conversations that clients keep of a repository, held in any of its worktrees or in a
directory where it was before."""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents.reading import edits
from gitcp.core.git import ids
from gitcp.errors import Error, InputError
from gitcp.record import decode_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.agents import Client
    from gitcp.repo import Repo


class Conversation:
    """A file with a conversation.  agent: of the subagent whose it is, '' for the session's own.
    began, age: when it came to be, as far as that is known not before it, and its last change, in
    seconds since 1970."""

    __slots__ = ("age", "agent", "began", "client", "cwd", "path", "session", "size")

    def __init__(
        self, client: Client, path: str, session: str, agent: str, cwd: str, st: os.stat_result
    ) -> None:
        self.client, self.path, self.session, self.agent = client, path, session, agent
        self.cwd, self.size, self.age = cwd, st.st_size, st.st_mtime
        born = getattr(st, "st_birthtime", None) or os.stat(os.path.dirname(path) or ".").st_mtime
        self.began = min(born, self.age)


def list_roots(repo: Repo, former: Iterable[str] = ()) -> list[str]:
    """The directories that the repository is or was in, the deepest first."""
    listed = decode_lines(repo.git.run("worktree", "list", "--porcelain")[1])
    trees = [line[9:] for line in listed if line.startswith("worktree ")]
    every = [*trees, *map(os.path.abspath, former)]
    every += [os.path.realpath(one) for one in every]
    return sorted(dict.fromkeys(every), key=len, reverse=True)


def make_relative(path: str, places: Sequence[str]) -> str:
    """The path of a file in the worktree that is or was at one of places, deepest first; ''
    for one that is in none, or git's own.  Claude Code makes worktrees inside the first."""
    for place in places:
        if path.startswith(place + os.sep):
            below = path[len(place) + 1 :]
            if below.startswith(".claude/worktrees/"):
                below = "/".join(below.split("/")[3:])
            return "" if below.split("/")[0] in ("", ".git", ".jj", ".entire") else below
    return ""


def find_conversations(
    home: str,
    places: Sequence[str],
    folder: str,
    clients: Iterable[str] = (),
    since: float = 0.0,
) -> list[Conversation]:
    """The files of conversations held in one of places or below it, changed since, by age.

    folder: what is in a database is copied there.  clients: of the agents that are asked, default
    all.
    """
    conversations: dict[str, Conversation] = {}
    for client in map(agents.get_client, clients or agents.list_names()):
        for place in places:
            fetch = getattr(client, "fetch", None)
            for name in client.list_conversations(home, place):
                path = fetch(name, folder) if fetch else name
                if path not in conversations and (
                    one := open_file(client, path, place, places, since)
                ):
                    conversations[path] = one
    return sorted(conversations.values(), key=lambda item: (item.age, item.path))


def find_session(
    repo: Repo, home: str, name: str, agent: str, former: Sequence[str], folder: str
) -> tuple[list[Conversation], list[str]]:
    """(the conversations of one session, its own first, the directories where the repository is
    or was).  name: its id or the beginning of it, or the file of its transcript, which need not
    have been written here; then it tells where the repository was.  Raises Error for none, and for
    several."""
    places = list_roots(repo, former)
    if os.path.isfile(name):
        client = agents.get_client(agent or edits.recognise_client(name))
        places += [edits.read_head(name)["cwd"] or places[0]]
        below = agents.list_files(name.removesuffix(".jsonl"), ".jsonl")
        opened = [open_file(client, path, places[0], places) for path in (name, *below)]
        listed = [one for one in opened if one]
    else:
        names = [agent] if agent else ()
        every = find_conversations(home, places, folder, names)
        listed = [one for one in every if one.session.startswith(name)]
    if not listed:
        raise Error(f"no conversation of this repository: '{name}'")
    if len({one.session for one in listed}) > 1:
        ids_there = " ".join(sorted({one.session for one in listed})[:10])
        raise Error(f"ambiguous session '{name}': {ids_there}")
    return sorted(listed, key=lambda item: item.agent), places


def open_file(
    client: Client, path: str, place: str, places: Sequence[str], since: float = 0.0
) -> Conversation | None:
    """The conversation that a file has; None for one of another repository, and for what is none.
    place: where it was held, as far as its own words do not tell."""
    try:
        st = os.stat(path)
        if st.st_mtime < since or not os.path.isfile(path):
            return None
        about = getattr(client, "read_head", edits.read_head)(path)
    except OSError:
        return None
    tells = getattr(client, "read_directory", None)
    cwd = about["cwd"] or (tells(path) if tells else place)
    session, agent = about["session"], about["agent"]
    if about["parent"]:  # a subagent's own session
        session, agent = about["parent"], session
    try:
        ids.check_session_id(session)
    except InputError:
        return None
    if not any(cwd == one or cwd.startswith(one + os.sep) for one in places):
        return None
    return Conversation(client, path, session, agent, cwd, st)


def parse_date(repo: Repo, date: str) -> float:
    """A date as git reads it, in seconds since 1970; 0 for ''."""
    if not date:
        return 0.0
    out = repo.git.run("rev-parse", f"--since={date}")[1]
    return float(out.decode().strip().removeprefix("--max-age="))


def list_own_addresses(repo: Repo) -> set[str]:
    """The addresses of whoever commits here: as configured, and those of HEAD's reflog."""
    args = ("log", "-g", "--format=%ge", "--max-count=2000", "HEAD", "--")
    addresses = decode_lines(repo.git.run(*args, ok=(0, 128))[1])
    addresses += [repo.config.get("user.email"), os.environ.get("GIT_COMMITTER_EMAIL", "")]
    return {one.strip().lower() for one in addresses if one.strip()}
