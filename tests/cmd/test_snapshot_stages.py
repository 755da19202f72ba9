"""What each stage of a snapshot does with one record: the good, the odd and the hostile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gitcp.errors import Error, InputError, Moved, UsageError
from tests.support.snapshots import git, listing, sh
from tests.support.stages import bind_stage

if TYPE_CHECKING:
    from gitcp.text.record_types import Record

OID = "0123456789012345678901234567890123456789"


def head(what: str = "") -> str:
    return git("rev-parse", "HEAD" + what).decode().strip()


def changes() -> list[Record]:
    return list(bind_stage("list-changes", [])(()))


def tree(*records: Record, argv: tuple[str, ...] = ()) -> Record:
    found: Record
    (found,) = bind_stage("write-tree", argv)(records)
    return found


@pytest.mark.parametrize("records", [[], [{"type": "ref", "ref": "refs/heads/main"}]])
def test_no_tree_is_made_of_nothing_or_of_what_says_nothing_of_files(
    repo: Path, records: list[Record]
) -> None:
    with pytest.raises(InputError, match="no records to build a tree from"):
        list(bind_stage("write-tree", [])(records))


def test_a_change_says_what_was_and_what_is(repo: Path) -> None:
    sh("echo 2 >>README.md; rm src/app.py; ln -sf README.md src/lib.py; echo 1 >new; mkfifo p")
    was: dict[str, Record] = {
        path: {"old_mode": m, "old_oid": o} for path, (m, o) in listing("HEAD").items()
    }
    expected: list[Record] = []
    for status, path, mode in (
        ("M", "README.md", "100644"),
        ("A", "new", "100644"),
        ("D", "src/app.py", "000000"),
        ("T", "src/lib.py", "120000"),
        ("!", "p", "000000"),
    ):
        before = was.get(path, {"old_mode": "000000", "old_oid": None})
        now = {"type": "change", "status": status, "path": path, "mode": mode, "oid": None}
        kind = "tracked" if path in was else "untracked"
        expected.append({**now, **before, "kind": kind})
    expected[-1]["omitted"] = "fifo"
    assert changes()[1:-1] == expected


def test_what_an_old_index_makes_look_changed_is_not_listed(repo: Path) -> None:
    changes()
    sh("echo 2 >>README.md; git commit -qam 2; echo n >n; git add n; git commit -qm n")
    assert [r["type"] for r in changes()] == ["tree", "end"]


def test_a_blob_is_stored_and_named(repo: Path) -> None:
    sh("echo 2 >>README.md")
    _, blob, _ = bind_stage("write-blobs", [])(changes())
    assert (blob["type"], blob["status"], blob["path"]) == ("blob", "M", "README.md")
    assert git("cat-file", "blob", blob["oid"]) == Path("README.md").read_bytes()


def test_other_records_pass_through_every_stage_but_the_source(repo: Path) -> None:
    alien = {"type": "alien", "path": "x", "oid": None}
    for stage in (
        bind_stage("write-blobs", []),
        bind_stage("write-commit", ["-m", "x"]),
        bind_stage("update-ref", ["refs/heads/x"]),
    ):
        assert list(stage([alien, {"no": "type"}])) == [alien, {"no": "type"}]
    assert alien in bind_stage("write-tree", [])([alien])


def test_a_change_that_is_undone_meanwhile_is_dropped(repo: Path) -> None:
    sh("cp README.md kept; echo 2 >>README.md; echo 1 >new")
    records = changes()
    sh("mv kept README.md; rm new src/app.py")
    assert list(bind_stage("write-blobs", [])(records)) == [records[0], records[-1]]


def test_a_file_staged_over_the_cap_reaches_the_tree(repo: Path) -> None:
    sh("git config gitcp.max-file-size 4; echo much more >new; git add new")
    records = list(bind_stage("write-blobs", [])(changes()))
    assert "new" in listing(tree(*records)["oid"])


def test_without_a_base_the_tree_has_only_the_records(repo: Path) -> None:
    record = {"type": "blob", "path": "a/b", "mode": "100755", "oid": head(":README.md")}
    found = tree(record)
    assert found["base"] is None
    assert listing(found["oid"]) == {"a/b": ("100755", head(":README.md"))}


def test_a_directory_can_be_removed_as_a_whole(repo: Path) -> None:
    record = {"type": "change", "path": "src", "mode": "000000"}
    assert set(listing(tree(record, argv=("--base=HEAD",))["oid"])) == {"README.md"}


def test_a_head_that_moved_under_the_pipe_is_noticed(repo: Path) -> None:
    sh("echo 2 >>README.md")
    records, old = list(bind_stage("write-blobs", [])(changes())), head()
    sh("git commit -qam moved")
    with pytest.raises(Moved, match=f"'HEAD' has moved: expected {old}, found {head()}"):
        tree(*records, argv=("--base=HEAD",))
    assert tree(*records)["base"] == old


@pytest.mark.parametrize(
    "path", ["", "/etc/x", "../x", "a/../b", "a//b", ".git/x", "d/.GIT", "a\0", 7]
)
def test_a_hostile_path_is_refused(path: object, repo: Path) -> None:
    record = {"type": "change", "path": path, "mode": "100644", "oid": OID}
    for stage in (bind_stage("write-blobs", []), bind_stage("write-tree", [])):
        with pytest.raises(InputError, match="'path'"):
            list(stage([record]))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"mode": "100600", "oid": OID}, "mode"),
        ({"mode": "040000", "oid": OID}, "mode"),
        ({"oid": OID}, "mode"),
        ({"mode": "100644", "oid": None}, "oid"),
        ({"mode": "100644", "oid": OID[:39]}, "oid"),
        ({"mode": "100644", "oid": OID.replace("9", "g")}, "oid"),
    ],
)
def test_a_malformed_entry_is_refused(record: Record, message: str, repo: Path) -> None:
    with pytest.raises(InputError, match=f"'{message}' of 'x' "):
        tree({"type": "blob", "path": "x", **record})


def test_a_base_that_is_none_is_an_error(repo: Path) -> None:
    with pytest.raises(Error, match="not a tree or commit: 'nowhere'"):
        tree({"type": "end"}, argv=("--base=nowhere",))


def test_parents_are_those_named(repo: Path) -> None:
    record = {"type": "tree", "oid": head("^{tree}"), "base": head()}
    (made,) = bind_stage("write-commit", ["-m", "x\n\nbody", "-p", "HEAD~", "-p", "main"])([record])
    assert made["parents"] == [head("~"), head()]
    assert git("log", "--format=%B", "-1", made["oid"]) == b"x\n\nbody\n\n"


@pytest.mark.parametrize("oid", [OID, None, "HEAD"])
def test_a_tree_that_is_none_is_refused(oid: object, repo: Path) -> None:
    with pytest.raises(Error):
        list(bind_stage("write-commit", ["-m", "x"])([{"type": "tree", "oid": oid, "base": None}]))


def test_a_ref_that_somebody_moved_stays_and_both_values_are_named(repo: Path) -> None:
    old, new = head("~"), head()
    sh("git branch snap HEAD~")
    records = iter([{"type": "commit", "oid": old}])
    moved = bind_stage("update-ref", ["refs/heads/snap"])(records)  # here the pipe starts
    sh("git branch -f snap HEAD")
    expected = f"'refs/heads/snap' has moved: expected {old}, found {new}"
    with pytest.raises(Moved, match=expected):
        list(moved)
    assert git("rev-parse", "snap").decode().strip() == new


@pytest.mark.parametrize(
    ("old", "right"), [("HEAD~", True), ("", False), ("0" * 40, False), ("HEAD", False)]
)
def test_the_old_value_can_be_given(old: str, right: bool, repo: Path) -> None:
    sh("git branch snap HEAD~")
    stage, record = (
        bind_stage("update-ref", ["refs/heads/snap", old]),
        {"type": "commit", "oid": head()},
    )
    if right:
        assert list(stage([record])) == [
            {"type": "ref", "ref": "refs/heads/snap", "oid": head(), "old": head("~")}
        ]
    else:
        with pytest.raises(Moved):
            list(stage([record]))


@pytest.mark.parametrize("ref", ["snap", "HEAD", "heads/snap", "-d"])
def test_a_ref_that_is_not_a_full_name_is_misuse(ref: str, repo: Path) -> None:
    with pytest.raises(UsageError):
        bind_stage("update-ref", [ref])(())


def test_a_list_that_is_cut_short_makes_no_tree(repo: Path) -> None:
    sh("echo 2 >>README.md; echo 1 >new")
    records = list(bind_stage("write-blobs", [])(changes()))
    with pytest.raises(InputError, match="the input ends too early"):
        tree(*records[:-1])


def test_a_list_that_was_filtered_makes_a_tree_of_the_rest(repo: Path) -> None:
    sh("echo 2 >>README.md; echo 1 >new")
    records = [r for r in bind_stage("write-blobs", [])(changes()) if r.get("path") != "new"]
    assert "new" not in listing(tree(*records)["oid"])


@pytest.mark.parametrize(
    ("oid", "said"), [("1" * 40, "it is missing"), ("HEAD^{tree}", "it is a tree")]
)
def test_a_blob_that_is_not_there_makes_no_tree(repo: Path, oid: str, said: str) -> None:
    name = head("^{tree}") if oid.startswith("HEAD") else oid
    with pytest.raises(InputError, match=f"no blob '{name}' for 'x': {said}"):
        tree({"type": "blob", "path": "x", "mode": "100644", "oid": name})
