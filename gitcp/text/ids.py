"""Names and ids: of objects, refs, trailers, sessions and checkpoints; modes of git."""

from __future__ import annotations

from gitcp.errors import Error, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypedDict

    from gitcp.text.record_types import Staged, Version, Writer

    class Shadow(TypedDict):
        base7: str  # seven hex digits or more
        worktree: str | None  # None: the oldest form of names has none
        suffix: int | None


HEX = frozenset("0123456789abcdef")
PERSON: Writer = ("", "person", "")
UNKNOWN: Writer = ("", "unknown", "")
GONE = "000000"
FILE = "100644"
EXECUTABLE = "100755"
LINK = "120000"
COMMIT = "160000"
REGULAR = (FILE, EXECUTABLE)
EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)  # the empty blob: SHA-1, SHA-256
_SNIFFED = 8000  # bytes in which git looks for a NUL to tell binary content
_SPACE = b" \t\r\x0b\x0c"  # in a line


def build_change(old: Version, new: Version) -> Staged:
    """The change of a path from one version to another."""
    absent = (GONE, None)
    return (*(old or absent), *(new or absent))


def is_binary(data: bytes) -> bool:
    """Whether git would call this content binary."""
    return b"\0" in data[:_SNIFFED]


def remove_space(data: bytes) -> bytes:
    """A text without the white space in its lines, which a formatter may change."""
    return data.translate(None, _SPACE)


# Names from outside, checked before they become a path, a ref or an argument.
_EXAMPLES = 10  # listed matches
LONGEST = 200  # bytes: a session id is also a file name and part of a ref
MAIN_WORKTREE = "e3b0c4"  # sha256("")[:6]
CHECKPOINTS = "refs/entire/checkpoints"  # where each checkpoint has a ref of its own
BRANCHES = "refs/heads/entire/"  # streams as branches


V1 = "refs/heads/entire/checkpoints/v1"  # the permanent branch
NOTES = "refs/notes/gitcp"
ABANDONED = "refs/gitcp/abandoned"  # summaries of what was given up
SESSION_KEY = "Entire-Session"  # trailers of streams and of the permanent branch
STRATEGY_KEY = "Entire-Strategy"
TASK_KEY = "Entire-Metadata-Task"
CHECKPOINT_KEY = "Entire-Checkpoint"  # the trailer of a commit of the person
EDITS = "refs/gitcp/edits/"  # of a session each: the contents that a journal names
HIDDEN = "refs/gitcp/streams/"  # streams where clients of git and jj list nothing
ARCHIVE = "refs/gitcp/archive/"  # archived streams: <name>/<number>


# A checkpoint id, 12 hex digits or a ULID: valid as an extended regular expression, too.
CHECKPOINT_ID = "[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}"


_BASE32 = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")  # Crockford's


# Not allowed in a component of a path or ref; control characters could drive a terminal.
_REFUSED = frozenset("/\\ ~^:?*[").union(map(chr, (*range(32), *range(127, 160))))


def pick_match(kind: str, prefix: str, matches: Sequence[str]) -> str:
    """The only name that a prefix matches; raises Error for none, and for several, which it
    lists."""
    if not matches:
        raise Error(f"no such {kind}: '{prefix}'")
    if len(matches) > 1:
        listed = " ".join(matches[:_EXAMPLES]) + (" ..." if len(matches) > _EXAMPLES else "")
        raise Error(f"ambiguous {kind} '{prefix}': {listed}")
    return matches[0]


def _refuse(field: str, value: object, why: str) -> InputError:
    escaped = ascii(value if not isinstance(value, str) else value[:60])
    return InputError(f"'{field}' {why}: {escaped[:80]}")


def check_component(value: object, field: str) -> str:
    """Return a text that is safe as a file name, as a part of a ref and as an argument.

    InputError names the field and what is wrong with it.
    """
    if value is None:
        raise InputError(f"'{field}' is missing")
    if not isinstance(value, str) or not value:
        raise _refuse(field, value, "must be a text that is not empty")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise _refuse(field, value, "is not UTF-8") from None
    if size > LONGEST:
        raise _refuse(field, value, f"is longer than {LONGEST} bytes")
    if value[0] in "-." or value[-1] == ".":
        raise _refuse(field, value, "begins with '-' or '.', or ends with '.'")
    if not _REFUSED.isdisjoint(value):
        raise _refuse(field, value, "has a character that is not allowed")
    if ".." in value or "@{" in value or value == "@" or value.lower().endswith(".lock"):
        raise _refuse(field, value, "has '..', '@{' or '.lock', which git refuses")
    return value


def check_session_id(value: object) -> str:
    """Return an agent's session id if check_component() accepts it."""
    return check_component(value, "session_id")


def check_tool_use_id(value: object) -> str:
    """Return the id of a tool call if check_component() accepts it."""
    return check_component(value, "tool_use_id")


def is_checkpoint_id(value: object) -> bool:
    """Tell whether value is a checkpoint id: 12 lower-case hex digits, or a ULID."""
    return is_hex_id(value) or is_ulid(value)


def is_hex_id(value: object) -> bool:
    """Tell whether value is 12 lower-case hex digits."""
    return isinstance(value, str) and len(value) == 12 and HEX.issuperset(value)


def is_ulid(value: object) -> bool:
    """Tell whether value is a ULID: 26 upper-case digits of Crockford's base 32."""
    return isinstance(value, str) and len(value) == 26 and _BASE32.issuperset(value)


def begins_checkpoint_id(prefix: str) -> bool:
    """Tell whether a checkpoint id may begin with prefix."""
    as_hex = len(prefix) <= 12 and HEX.issuperset(prefix)
    return as_hex or (len(prefix) <= 26 and _BASE32.issuperset(prefix))


def check_checkpoint_id(value: object) -> str:
    """Return a checkpoint id, or InputError."""
    if not isinstance(value, str) or not is_checkpoint_id(value):
        raise _refuse("checkpoint_id", value, "is neither 12 hex digits nor a ULID")
    return value


def build_checkpoint_ref(checkpoint_id: str) -> str:
    """Return the name of a checkpoint's own ref (doc/formats.md "Checkpoints as refs")."""
    return f"{CHECKPOINTS}/{checkpoint_id[-2:]}/{checkpoint_id}"


def parse_checkpoint_ref(ref: str) -> str:
    """Return the id in the name of a checkpoint's own ref; "" for another ref."""
    name = ref.rpartition("/")[2]
    if is_checkpoint_id(name) and ref == build_checkpoint_ref(name):
        return name
    return ""


def check_path(value: object) -> str:
    """Return a path inside the worktree as git would accept it into a tree, or InputError.

    It is relative and has no NUL and no empty, '.', '..' or '.git' component.
    """
    if not isinstance(value, str) or not value:
        raise _refuse("path", value, "must be a text that is not empty")
    if "\0" in value:
        raise _refuse("path", value, "has a NUL")
    parts = value.split("/")
    if parts[0] == "":
        raise _refuse("path", value, "is not relative")
    if any(part in ("", ".", "..") or part.lower() in (".git", "git~1") for part in parts):
        raise _refuse("path", value, "leaves the worktree or enters '.git'")
    return value


def hash_worktree(worktree_id: str) -> str:
    """Return the six hex digits that stand for a worktree in branch names
    (doc/formats.md "Identifiers")."""
    if not worktree_id:
        return MAIN_WORKTREE
    return str(start_sha256(worktree_id.encode(errors="surrogateescape")).hexdigest()[:6])


def start_sha256(data: bytes = b"") -> Any:
    """hashlib.sha256(data) without importing hashlib, which costs 9 ms; slower on large data."""
    return _start_hash("sha256", ("_sha256", "_sha2"), data)  # the second since Python 3.12


def start_sha1(data: bytes) -> Any:
    """hashlib.sha1(data), as start_sha256() does."""
    return _start_hash("sha1", ("_sha1",), data)


def _start_hash(algorithm: str, modules: Iterable[str], data: bytes) -> Any:
    for name in modules:
        try:
            return getattr(__import__(name), algorithm)(data)
        except ImportError:
            pass
    import hashlib

    return getattr(hashlib, algorithm)(data, usedforsecurity=False)


def format_stream_name(base: str, worktree: str, suffix: int | None = None, digits: int = 7) -> str:
    """Return the name of a stream, <base7>-<wt6>[-<n>], without the prefix of its ref.

    digits: of the base; more than 7 if another branch has the shorter name.
    """
    return f"{base[:digits]}-{worktree}" + ("" if suffix is None else f"-{suffix}")


def parse_stream_name(ref: str) -> str:
    """Return the stream's name in a ref or branch name: of a branch, a hidden stream or an
    archived one; '' for any other."""
    for prefix in (BRANCHES, HIDDEN, "entire/"):
        if ref.startswith(prefix):
            return ref.removeprefix(prefix)
    if ref.startswith(ARCHIVE):
        return ref.removeprefix(ARCHIVE).rpartition("/")[0]
    return ""


def parse_shadow(ref: str) -> Shadow | None:
    """Return the parts of a stream's name in a ref; None for another ref.

    entire/<base7> and entire/<base7>-<n> are names of streams, too: six hex digits after the
    dash are a worktree's hash, fewer a suffix (doc/behaviour.md "Names of streams").
    """
    base, *parts = parse_stream_name(ref).split("-")
    if len(base) < 7 or not HEX.issuperset(base.lower()):
        return None
    worktree = None
    if parts and len(parts[0]) == 6 and HEX.issuperset(parts[0].lower()):
        worktree = parts.pop(0)
    if len(parts) > 1 or (parts and not _is_suffix(parts[0])):
        return None
    return {"base7": base, "worktree": worktree, "suffix": int(parts[0]) if parts else None}


def is_in_worktree(ref: str, worktree: str) -> bool:
    """Tell whether the stream at a ref may lie in a worktree, by its hash: old names tell none."""
    parsed = parse_shadow(ref)
    return not parsed or parsed["worktree"] in (None, worktree)


def _is_suffix(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6 and text[0] != "0"


def replace_surrogates(text: str) -> str:
    """text with "?" for lone surrogates, which UTF-8 does not allow."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()
