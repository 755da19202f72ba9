"""The destination: the repository that the permanent store is pushed to and fetched from.

`gitcp.remote` names it: a remote, a URL, or `none`.
"""

from __future__ import annotations

from gitcp.core.git import urls
from gitcp.core.git.ids import parse_checkpoint_ref
from gitcp.core.upkeep.shapes import is_object_name, is_ref
from gitcp.errors import Error, InputError
from gitcp.record import decode_lines, decode_name, encode_name
from gitcp.store.git import private, refs
from gitcp.store.git.tree import TREE, find_tree, read_tree
from gitcp.store.v1 import committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Tips = dict[str, str]  # ref -> oid


NONE = "none"
_KEY = "gitcp.remote"
_STORE = "entire/checkpoints/v1"


def read_destination(repo: Repo) -> str:
    """The configured destination: a remote's name, a URL or NONE; "" without one."""
    return (repo.config.get_option("gitcp.remote") or "").strip()


def write_destination(repo: Repo, destination: str) -> None:
    """Configure the destination of this repository."""
    repo.git.run("config", "--local", _KEY, destination)


def list_remotes(repo: Repo) -> list[str]:
    """The names of the configured remotes."""
    keys = [
        *repo.config.list_keys("remote.", ".url"),
        *repo.config.list_keys("remote.", ".pushurl"),
    ]
    return list(dict.fromkeys(key.removeprefix("remote.").rpartition(".")[0] for key in keys))


def find_destination(repo: Repo) -> str:
    """The remote or URL that the store is pushed to: the configured one if it is valid, else "".

    Nothing else is a person's consent: neither a push or fetch of the past, nor what a clone has.
    """
    configured = read_destination(repo)
    return configured if configured in list_remotes(repo) or is_address(repo, configured) else ""


def find_source(repo: Repo) -> str:
    """Where a missing checkpoint is fetched from: the destination; without configuration the remote
    that `git push` uses; "" for none."""
    return find_destination(repo) or ("" if read_destination(repo) else find_usual_remote(repo))


def need_destination(repo: Repo) -> str:
    """find_destination(); raises Error if there is none."""
    if name := find_destination(repo):
        return name
    advice = f"'gitcp push --to {find_usual_remote(repo) or '<remote>'}' names one"
    configured = read_destination(repo)
    if configured == NONE:
        raise Error(f"gitcp.remote is none: checkpoints stay here; {advice}")
    if configured:
        raise Error(f"gitcp.remote names '{configured}', which is no remote; {advice}")
    raise Error(f"no destination is named for checkpoints; {advice}")


def check_destination(repo: Repo, destination: str) -> str:
    """A destination that a person names; raises InputError unless it is NONE, a remote or a URL."""
    if destination == NONE or destination in list_remotes(repo) or urls.is_url(destination):
        return destination
    raise InputError(f"neither a remote nor a URL: '{destination}'")


def is_address(repo: Repo, destination: str) -> bool:
    """Whether a destination is a URL and not the name of a remote."""
    return destination not in list_remotes(repo) and urls.is_url(destination)


def find_usual_remote(repo: Repo) -> str:
    """The remote that `git push` uses; "" if there are several."""
    branch = refs.read_branch(repo).removeprefix("refs/heads/")
    keys = (f"branch.{branch}.pushremote", "remote.pushdefault", f"branch.{branch}.remote")
    for key in keys:
        if name := repo.config.get(key):
            return name
    remotes = list_remotes(repo)
    return "origin" if "origin" in remotes else remotes[0] if len(remotes) == 1 else ""


def is_target(repo: Repo, destination: str, remote: str, url: str) -> bool:
    """Whether a push to a remote, or to a URL, goes to the destination; url: as git resolved it."""
    if destination in (remote, url):
        return True
    is_remote = destination in list_remotes(repo)
    args = ("remote", "get-url", "--push", "--all") if is_remote else ("ls-remote", "--get-url")
    return url in decode_lines(repo.git.run(*args, destination, ok=(0, 2, 128))[1])


def count_lacking(repo: Repo, objects: Objects, destination: str) -> int:
    """The number of checkpoints that the destination, as far as is known, lacks or has otherwise.
    Those on a branch that is not pushed count."""
    ours, theirs = committed_refs.list_tips(repo), read_pushed(repo, destination)
    if tip := refs.read_ref(repo, committed_refs.REF):
        ours[committed_refs.REF] = tip
    tracked = refs.read_ref(repo, f"refs/remotes/{destination}/{_STORE}")
    count = count_changed(objects, ours, theirs)
    if not tracked:
        return count
    return min(count, count_changed(objects, ours, {**theirs, committed_refs.REF: tracked}))


def count_changed(objects: Objects, ours: Tips, theirs: Tips) -> int:
    """The number of checkpoints of our tips (ref -> oid) that theirs lack or have otherwise."""
    our_tree, their_tree = (
        find_tree(objects, tips.get(committed_refs.REF)) for tips in (ours, theirs)
    )
    own = {parse_checkpoint_ref(ref): theirs.get(ref) == oid for ref, oid in ours.items()}
    lacking = {name for name, is_equal in own.items() if name and not is_equal}
    return len(_list_changed(objects, our_tree, their_tree) - own.keys() | lacking)


def _list_changed(objects: Objects, ours: str | None, theirs: str | None) -> set[str]:
    """The ids of the checkpoints in our tree that their tree lacks, or has otherwise."""
    changed: set[str] = set()
    their_shards = read_tree(objects, theirs) if theirs else {}
    for shard, entry in (read_tree(objects, ours) if ours else {}).items():
        if entry == their_shards.get(shard) or entry[0] != TREE:
            continue
        mode, oid = their_shards.get(shard, ("", ""))
        their_entries = read_tree(objects, oid) if mode == TREE else {}
        for name, checkpoint in read_tree(objects, entry[1]).items():
            if checkpoint[0] == TREE and their_entries.get(name) != checkpoint:
                changed.add(shard + name)
    return changed


def read_pushed(repo: Repo, remote: str) -> Tips:
    """The tips that a remote had after our last push."""
    return _read_tips(_join_pushed(repo, remote), "")


def set_pushed(repo: Repo, remote: str, tips: Mapping[str, str]) -> None:
    """Write down the tips that a remote has now."""
    _write_tips(repo, _join_pushed(repo, remote), "", tips)


def read_searched(repo: Repo, rules: str) -> Tips:
    """The tips whose whole histories were searched for secrets by these rules (a hash)."""
    return _read_tips(repo.join_shared("searched"), rules)


def set_searched(repo: Repo, rules: str, tips: Mapping[str, str]) -> None:
    """Write down the tips that were searched by these rules; those of other rules are dropped."""
    _write_tips(repo, repo.join_shared("searched"), rules, tips)


def _join_pushed(repo: Repo, name: str) -> str:
    return repo.join_shared("pushed", private.escape_remote(name))


def _read_tips(path: str, head: str) -> Tips:
    lines = decode_name(private.read_cache(path)).splitlines()
    if head and lines[:1] != [head]:
        return {}
    pairs = [line.split() for line in lines[bool(head) :]]
    fits = all(len(pair) == 2 and is_object_name(pair[0]) and is_ref(pair[1]) for pair in pairs)
    return {pair[1]: pair[0] for pair in pairs} if fits else {}


def _write_tips(repo: Repo, path: str, head: str, tips: Mapping[str, str]) -> None:
    lines = [*([head] if head else []), *(f"{oid} {ref}" for ref, oid in tips.items())]
    private.write_private(repo, path, encode_name("".join(f"{line}\n" for line in lines)))
