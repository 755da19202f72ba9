"""What a push holds back: the checkpoints in which the check finds what looks like a secret.

A file remembers the findings of today's rules, so that they are searched for once.
"""

from __future__ import annotations

import time

from gitcp.core.git.ids import CHECKPOINTS, is_checkpoint_id, parse_checkpoint_ref
from gitcp.core.upkeep import shapes
from gitcp.errors import Error
from gitcp.process import deadline
from gitcp.record import decode_name, encode_lines, encode_name
from gitcp.store.git import notes, private, refs
from gitcp.store.git.commit import need_commit, read_commit
from gitcp.store.git.tree import edit_tree, find_entry, list_files
from gitcp.store.share.push_check import find_secrets
from gitcp.store.v1 import committed_refs, destination, redaction, signing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Secrets = Mapping[str, str]  # oid of a blob -> rule
    Held = tuple[str, str, str, str]  # a checkpoint's id or a ref, path in it, rule, oid

_EXAMPLES = 3
_MOST = 1 << 24  # entries of the store's tree
_SUBJECT = "Checkpoints without those that are held back"
ALLOW = "'git config --add gitcp.redact-allow <regex>' allows it"


class Withheld(Error):
    """Something was not pushed because it has what looks like a secret."""


def search_new(
    repo: Repo,
    objects: Objects,
    tips: Mapping[str, str],
    remote_tips: Mapping[str, str],
    limit: float,
) -> Secrets:
    """The secrets that today's rules find in tips and in what was searched before, without what
    remote_tips (both ref -> oid) have; none if gitcp.push-check is false.  Raises Error if a hook
    has searched for more than limit seconds."""
    if not repo.config.get_option("gitcp.push-check"):
        return {}
    rules = redaction.hash_rules(repo)
    searched, earlier = destination.read_searched(repo, rules), _read(repo, rules)
    if earlier is None:  # what was found in what was searched is not known
        searched = {}
    known = [*remote_tips.values(), *searched.values()]
    end = None if deadline.count_seconds_left() is None else time.monotonic() + limit
    hits = find_secrets(repo, objects, tips.values(), known, end)
    secrets = {**(earlier or {}), **{oid: rule for oid, _, rule in hits}}
    if secrets != earlier:
        _write(repo, rules, secrets)
    destination.set_searched(repo, rules, {**searched, **tips})
    return secrets


def select_tip(
    repo: Repo, objects: Objects, ref: str, ours: str, theirs: str, secrets: Secrets
) -> str:
    """The tip to push for a ref: ours, or a commit on theirs ("" for none) without the checkpoints
    and notes that have secrets; theirs if nothing is left to push."""
    if not secrets or not _is_new(repo, objects, ours, theirs, secrets):
        return ours
    tree, their_tip = need_commit(objects, ours)["tree"], read_commit(objects, theirs)
    held = {_name_part(ref, path) for path, _ in _list_held(objects, tree, secrets)}
    if "" in held:
        return theirs
    before = their_tip["tree"] if their_tip else None
    edits = {part: find_entry(objects, before, part) if before else None for part in held}
    selected = edit_tree(objects, tree, edits)
    if selected == before or (not before and selected == edit_tree(objects, None, {})):
        return theirs
    parents = [theirs] if their_tip else []
    return signing.write_signed(objects, repo, selected, parents, _SUBJECT)


def _is_new(repo: Repo, objects: Objects, ours: str, theirs: str, secrets: Collection[str]) -> bool:
    """Whether ours has a blob of secrets, in its history too, that theirs has not."""
    known = [f"^{theirs}"] if theirs and not objects.list_absent([theirs]) else []
    listed = repo.git.stream_records(
        "rev-list", "--objects", "--missing=allow-any", "--stdin",
        sep=b"\n", stdin=encode_lines([ours, *known]),
    )  # fmt: skip
    return any(line[: len(ours)].decode() in secrets for line in listed)


def _list_held(objects: Objects, tree: str, secrets: Secrets) -> list[tuple[str, str]]:
    """(path, oid) of the blobs in a tree that have secrets."""
    files = list_files(objects, tree, _MOST)
    return [(path, oid) for path, (_, oid) in files if oid in secrets]


def _name_part(ref: str, path: str) -> str:
    """The path of what is held back for a file: a checkpoint on the branch, or the file; "" for a
    whole ref."""
    if parse_checkpoint_ref(ref):
        return ""
    folder = "/".join(path.split("/")[:2])
    return folder if is_checkpoint_id(folder.replace("/", "")) else path


def list_held(repo: Repo, objects: Objects) -> list[Held]:
    """What today's rules hold back, by the findings of earlier pushes."""
    if not repo.config.get_option("gitcp.push-check"):
        return []
    if not (secrets := _read(repo, redaction.hash_rules(repo))):
        return []
    tips = refs.list_refs(repo, committed_refs.REF, CHECKPOINTS, notes.REF)
    return [item for ref, tip in tips.items() for item in name_held(objects, ref, tip, secrets)]


def name_held(objects: Objects, ref: str, tip: str, secrets: Secrets) -> list[Held]:
    """What is held back of a ref that is at tip, a commit."""
    commit, held = read_commit(objects, tip), list[tuple[str, str, str, str]]()
    for path, oid in _list_held(objects, commit["tree"], secrets) if commit else ():
        part = _name_part(ref, path)
        name = parse_checkpoint_ref(ref) or part.replace("/", "")
        if is_checkpoint_id(name):
            held.append((name, path.removeprefix(f"{part}/"), secrets[oid], oid))
        else:
            held.append((ref, path, secrets[oid], oid))
    return held


def explain(held: Sequence[Held]) -> str:
    """What is not sent, why, and how to allow it, in one line."""
    more = f" and {len(held) - _EXAMPLES} more" if len(held) > _EXAMPLES else ""
    listed = ", ".join(describe(item) for item in held[:_EXAMPLES])
    return f"not pushed: {listed}{more}; {describe_remedy(held[0])}"


def describe(held: Held) -> str:
    """Which checkpoint, or ref, has a secret by which rule in which file."""
    name, path, rule, _ = held
    subject = f"checkpoint {name}" if is_checkpoint_id(name) else f"'{name}'"
    return f"{subject} has what looks like a secret ({rule} in '{path}')"


def describe_remedy(held: Held) -> str:
    """How to allow what is held back, and how to delete it."""
    name = held[0]
    return f"{ALLOW}, 'gitcp forget {name}' deletes it" if is_checkpoint_id(name) else ALLOW


def _read(repo: Repo, rules: str) -> dict[str, str] | None:
    """oid -> rule of what was found by these rules (a hash); None if that is not known."""
    path = repo.join_shared("withheld")
    head, *lines = decode_name(private.read_cache(path)).splitlines() or [""]
    pairs = [line.split() for line in lines]
    fits = all(len(pair) == 2 and shapes.is_object_name(pair[0]) for pair in pairs)
    return {pair[0]: pair[1] for pair in pairs} if fits and head == rules else None


def _write(repo: Repo, rules: str, secrets: Secrets) -> None:
    lines = [rules, *(f"{oid} {rule}" for oid, rule in secrets.items())]
    data = encode_name("".join(f"{line}\n" for line in lines))
    private.write_private(repo, repo.join_shared("withheld"), data)
