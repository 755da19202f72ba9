"""Importing the conversations that clients keep of a repository."""

from __future__ import annotations

import tempfile
from collections import Counter

from gitcp.agents import transcripts
from gitcp.checkpoints import listing
from gitcp.errors import Error
from gitcp.extras.imports import find
from gitcp.extras.imports.find import Contents, Gathered
from gitcp.extras.imports.planning import Planner
from gitcp.extras.imports.storing import KIND, write_links
from gitcp.record.session import others
from gitcp.record.unheard import unrecorded
from gitcp.record.unheard.conversations import find_conversations, list_roots
from gitcp.text import term
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gitcp.extras.imports.planning import Link
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Usage


class ImportPlan:
    """The plan of an import.

    counted: session -> the token usage that its checkpoints have.  counts: agent -> number of
    conversations.  size: their bytes.  recorded: the number of those whose sessions gitcp recorded
    itself.  read: the sessions of the others.  folder: a temporary directory for copies from
    databases.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gitcp-import-")
        self.folder = self._folder.name
        self.gathered = Gathered()
        self.links: list[Link] = []
        self.counted: dict[str, Usage] = {}
        self.counts = Counter[str]()
        self.recorded = self.size = 0
        self.read: set[str] = set()

    def list_linked_sessions(self) -> set[str]:
        """The sessions that the plan links."""
        found = set[str]()
        for link in self.links:
            found.update(part.session for part in link.parts)
        return found

    def format_reason(self) -> str:
        """The numbers of sessions and commits, on one line."""
        commits = sum(bool(link.commit) for link in self.links)
        sessions = len(self.list_linked_sessions())
        return f"{count_noun(sessions, 'session')}, {count_noun(commits, 'commit')}"


def prepare_import(
    repo: Repo,
    home: str,
    clients: Sequence[str] = (),
    former: Sequence[str] = (),
    since: str = "",
    coarse: bool = False,
    unlinked: bool = False,
    sessions: Collection[str] = (),
) -> ImportPlan:
    """Plan an import of a repository's conversations.

    clients: names of agents, by default all.  former: former directories of the repository.
    since: a date as git reads it.  coarse, unlinked: link sessions without evidence by time and
    files, or store them without a commit.  sessions: only these; () for all.
    """
    plan = ImportPlan()
    roots = list_roots(repo, former)
    recorded, plan.counted = list_known(repo)
    recorded.update(unrecorded.look(repo).written)  # a part of a recorded one each
    seconds = find.parse_date(repo, since)
    conversations = find_conversations(home, roots, plan.folder, clients, seconds)
    if sessions:
        conversations = [one for one in conversations if one.session in sessions]
    plan.size = sum(conversation.size for conversation in conversations)
    plan.counts = Counter(conversation.client.AGENT_TYPE for conversation in conversations)
    resumed = map_resumed(repo)
    recorded -= resumed.keys()
    plan.recorded = sum(conversation.session in recorded for conversation in conversations)
    new = [conversation for conversation in conversations if conversation.session not in recorded]
    plan.read = {conversation.session for conversation in new}
    for conversation in term.iterate_shown("Reading conversations", new):
        plan.gathered.read(conversation, roots, resumed.get(conversation.session, 0))
    with Contents(repo) as contents:
        planner = Planner(repo, contents, plan.gathered)
        plan.links = list(planner.find_links(find.list_own_addresses(repo), coarse))
        if unlinked:
            plan.links += planner.list_unlinked(plan.list_linked_sessions() | plan.counted.keys())
    return plan


def prepare_one(
    repo: Repo, home: str, name: str, agent: str, former: Sequence[str], oids: Sequence[str]
) -> ImportPlan:
    """Plan to attach one session, by its id or the file of its transcript, to the commits that
    have its edits, and by hand to those of oids that have none.

    agent: the transcript's client, '' to recognise it.  former: former directories of the
    repository.  Raises Error if the name matches no conversation, or several, and for a session
    that gitcp recorded itself.
    """
    plan = ImportPlan()
    conversations, roots = find.find_session(repo, home, name, agent, former, plan.folder)
    session = conversations[0].session
    recorded, plan.counted = list_known(repo)
    if session in recorded:
        raise Error(f"session '{session}' is recorded here: 'gitcp link <commit> {session}'")
    plan.read = {session}
    for conversation in conversations:
        plan.gathered.read(conversation, roots)
    with Contents(repo) as contents:
        planner = Planner(repo, contents, plan.gathered)
        plan.links = list(planner.find_links_among(oids))
        linked = {link.commit for link in plan.links}
        unlinked = [oid for oid in oids if oid not in linked and not planner.has(oid, session)]
        plan.links += [planner.make_unproven_link(session, oid) for oid in unlinked]
    return plan


def map_resumed(repo: Repo) -> dict[str, int]:
    """session -> when its last hook ran, in ns since 1970, of the recorded sessions that went on
    without hooks."""
    found = unrecorded.look(repo).list_unsettled()
    return {one.session: (one.heard + 1) * 10**9 for one in found if one.heard}


def list_known(repo: Repo) -> tuple[set[str], dict[str, Usage]]:
    """(the sessions that gitcp recorded itself; session -> the token usage that its checkpoints
    count)."""
    recorded = set(others.list_state_ids(repo))
    counted: dict[str, Usage] = {}
    for checkpoint in listing.list_checkpoints(repo, skip_summary=True):
        for entry in checkpoint["sessions"]:
            session_id = entry["session_id"]
            metadata = entry["metadata"]
            usage = metadata.get("token_usage_delta")
            counted[session_id] = transcripts.add_tokens(counted.get(session_id), usage)
            if metadata.get("kind") != KIND:
                recorded.add(session_id)
    return recorded, counted


def carry_out_plan(repo: Repo, plan: ImportPlan) -> str:
    """Carry out a plan; return the id of the step that undoes it, '' if it links nothing."""
    step = ""
    if plan.links:
        reason = plan.format_reason()
        step = write_links(repo, plan.gathered, plan.links, reason, plan.counted)
    unrecorded.look(repo)
    unrecorded.settle(repo, plan.read)
    return step
