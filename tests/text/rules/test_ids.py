from __future__ import annotations

import pytest

from gitcp.errors import InputError
from gitcp.text import ids

UUID = "8b1e1a3c-6a0f-4a53-9a5b-0f6c1d2e3f40"


@pytest.mark.parametrize(
    "value", [UUID, f"2026-01-25-{UUID}", "a", "sitzung-ä", "a.b", "x" * 200, "a@b", "rollout_1"]
)
def test_a_session_id_of_an_agent_is_taken_as_it_is(value: str) -> None:
    assert ids.check_session_id(value) == value


BAD = ["", "a/b", "a\\b", "a\0b", "a\nb", "a\x7fb", "-a", ".a", "a.", "a..b", "..", "a b", "a~1",
       "a^", "a:b", "a?", "a*", "a[b", "a.lock", "A.LOCK", "a@{1}", "@", "x" * 201, "ä" * 101,
       "\udcff", None, 7, ["a"], {"a": 1}, True, b"a"]  # fmt: skip


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_an_id_that_could_be_a_path_an_option_or_no_ref_is_refused_in_one_short_line(
    value: object,
) -> None:
    with pytest.raises(InputError, match=r"^'session_id' ") as e:
        ids.check_session_id(value)
    line = str(e.value)
    assert "\n" not in line and line.isascii() and len(line) < 200
    assert (line == "'session_id' is missing") is (value is None)
    with pytest.raises(InputError, match=r"^'tool_use_id' "):
        ids.check_tool_use_id(value)


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("0123456789ab", True),
        ("0123456789AB", False),
        ("0123456789a", False),
        ("0123456789abc", False),
        ("0123456789ag", False),
        ("01JZX0K3M4N5P6Q7R8S9TVWXYZ", True),
        ("01JZX0K3M4N5P6Q7R8S9TVWXYz", False),
        ("01JZX0K3M4N5P6Q7R8S9TVWXYU", False),
        ("01JZX0K3M4N5P6Q7R8S9TVWXY", False),
        ("٠١٢٣٤٥٦٧٨٩٠١", False),
        (None, False),
        (123456789012, False),
    ],
)
def test_a_checkpoint_id_is_twelve_hex_digits_or_a_ulid(value: object, good: bool) -> None:
    assert ids.is_checkpoint_id(value) is good
    if good:
        assert ids.check_checkpoint_id(value) == value
    else:
        with pytest.raises(InputError, match="'checkpoint_id' is neither 12 hex digits nor a ULID"):
            ids.check_checkpoint_id(value)


@pytest.mark.parametrize(
    ("ref", "checkpoint_id"),
    [
        ("refs/entire/checkpoints/ab/0123456789ab", "0123456789ab"),
        ("refs/entire/checkpoints/YZ/01JZX0K3M4N5P6Q7R8S9TVWXYZ", "01JZX0K3M4N5P6Q7R8S9TVWXYZ"),
        ("refs/entire/checkpoints/01/0123456789ab", ""),
        ("refs/entire/checkpoints/ab/0123456789ab/more", ""),
        ("refs/entire/checkpoints/ab/more/0123456789ab", ""),
        ("refs/heads/entire/checkpoints/v1", ""),
    ],
)
def test_the_ref_of_a_checkpoint_has_the_last_two_digits_as_its_shard(
    ref: str, checkpoint_id: str
) -> None:
    assert ids.parse_checkpoint_ref(ref) == checkpoint_id
    assert not checkpoint_id or ids.build_checkpoint_ref(checkpoint_id) == ref


@pytest.mark.parametrize(
    "value", ["a", "a/b", ".gitignore", "a/.github/x", "a b", "-x", "a\nb", "\udcff", "a\\b", "..a"]
)
def test_a_path_inside_the_worktree_is_taken(value: str) -> None:
    assert ids.check_path(value) == value


@pytest.mark.parametrize(
    "value",
    ["", "/a", "../a", "a/../b", "a/..", ".", "./a", "a//b", "a/", ".git", "a/.git/config",
     ".GIT/x", "git~1/x", "a\0b", None, 3],
    ids=repr,
)  # fmt: skip
def test_a_path_out_of_the_worktree_or_into_git_is_refused(value: object) -> None:
    with pytest.raises(InputError, match=r"^'path' "):
        ids.check_path(value)


@pytest.mark.parametrize(
    ("worktree", "digits"),
    [("", "e3b0c4"), ("test-wt", "ee1890"), ("feature/auth-system", "16b0aa")],
)
def test_a_worktree_has_the_hash_of_the_original(worktree: str, digits: str) -> None:
    assert ids.hash_worktree(worktree) == digits


def test_a_worktree_whose_name_is_not_utf8_has_a_hash() -> None:
    assert len(ids.hash_worktree("\udcff")) == 6


BASE = "af5a7701" + "0" * 32
WT = "e3b0c4"


@pytest.mark.parametrize(("suffix", "name"), [(None, "af5a770-e3b0c4"), (12, "af5a770-e3b0c4-12")])
def test_a_stream_is_named_and_read_back_wherever_it_lies(suffix: int | None, name: str) -> None:
    assert ids.format_stream_name(BASE, WT, suffix) == name
    want = {"base7": "af5a770", "worktree": WT, "suffix": suffix}
    archived = f"{ids.ARCHIVE}{name}/3"
    for ref in (f"entire/{name}", f"{ids.BRANCHES}{name}", f"{ids.HIDDEN}{name}", archived):
        assert ids.parse_stream_name(ref) == name
        assert ids.parse_shadow(ref) == want


@pytest.mark.parametrize(
    ("name", "base", "worktree", "suffix"),
    [
        ("entire/af5a770", "af5a770", None, None),
        ("entire/AF5A770", "AF5A770", None, None),
        ("entire/af5a7701c", "af5a7701c", None, None),
        ("entire/af5a770-3", "af5a770", None, 3),
        ("entire/af5a770-12345", "af5a770", None, 12345),
        ("entire/af5a770-123456", "af5a770", "123456", None),
        ("entire/af5a770-E3B0C4", "af5a770", "E3B0C4", None),
    ],
)
def test_names_of_older_programs_are_read(
    name: str, base: str, worktree: str | None, suffix: int | None
) -> None:
    assert ids.parse_shadow(name) == {"base7": base, "worktree": worktree, "suffix": suffix}


@pytest.mark.parametrize(
    "name",
    ["entire/checkpoints/v1", "entire/abc", "entire/af5a77g", "entire", "entire/", "main",
     "entire/af5a770-", "entire/af5a770-0", "entire/af5a770-01", "entire/af5a770-1234567",
     "entire/af5a770-e3b0c", "entire/af5a770-e3b0c4-", "entire/af5a770-e3b0c4-x",
     "entire/af5a770-e3b0c4-1-2", "entire/af5a770-1-e3b0c4",
     "entire/af5a770-e3b0c4-123456", "af5a770-e3b0c4",
     "refs/tags/entire/af5a770", "entire/af5a770-٣"],
)  # fmt: skip
def test_other_branches_are_not_shadow_branches(name: str) -> None:
    assert ids.parse_shadow(name) is None
