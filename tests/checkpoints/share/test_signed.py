"""Commits of the permanent store are signed by git's own program, and never wait for a person."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkpoints.share.original_refs import own_ref
from tests.support import gits
from tests.support.checkpoints import git
from tests.support.harness import V1, Agent, World
from tests.support.paths import BIN

MAIL = "author@example.com"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A key of ssh without a passphrase."""
    path = tmp_path / "key"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", MAIL, "-f", str(path)]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def signing(world: World, key: Path, tmp_path: Path) -> World:
    """A repository whose person signs with that key, and knows it."""
    public = key.with_suffix(".pub").read_text()
    allowed = tmp_path / "allowed"
    allowed.write_text(f"{MAIL} {public}")
    for name, value in (
        ("gpg.format", "ssh"),
        ("user.signingKey", str(key)),
        ("commit.gpgSign", "true"),
        ("gpg.ssh.allowedSignersFile", str(allowed)),
    ):
        world.git("config", name, value)
    return world


def linked(world: World, name: str = "one") -> str:
    world.agent(f"s-{name}").turn("write", {f"{name}.py": f"{name}\n"})
    [checkpoint_id] = world.commit(f"{name}.py")
    return checkpoint_id


def letter(world: World, commit: str = V1) -> str:
    return world.git("log", "-1", "--format=%G?", commit)


def verified(world: World, *args: str) -> tuple[int, list[dict[str, object]]]:
    command = [str(BIN / "gitcp-verify"), "--json", *args]
    done = subprocess.run(command, cwd=world.path, capture_output=True, text=True, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_checkpoint_is_signed_where_commits_are(signing: World) -> None:
    linked(signing)
    assert letter(signing) == "G"


def test_a_checkpoint_of_a_ref_is_signed_too(signing: World) -> None:
    signing.git("config", "gitcp.store", "refs")
    assert letter(signing, own_ref(linked(signing))) == "G"


@pytest.mark.parametrize(
    ("commits", "own", "wanted"), [("true", "false", "N"), ("false", "true", "G")]
)
def test_gitcp_sign_goes_before_what_commits_do(
    signing: World, commits: str, own: str, wanted: str
) -> None:
    signing.git("config", "commit.gpgSign", commits)
    signing.git("config", "gitcp.sign", own)
    linked(signing)
    assert letter(signing) == wanted


def test_a_setting_of_the_person_s_counts(signing: World, tmp_path: Path) -> None:
    signing.git("config", "--unset", "commit.gpgSign")
    own = tmp_path / "gitconfig"
    own.write_text("[commit]\n\tgpgSign = true\n")
    signing.env["GIT_CONFIG_GLOBAL"] = str(own)
    linked(signing)
    assert letter(signing) == "G"


def test_a_certificate_signs_too(world: World, tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("openssl is not installed")
    key, certificate, program = (tmp_path / name for name in ("key.pem", "made.crt", "signs"))
    make = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=A U Thor"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make, *files], capture_output=True, check=True)
    program.write_text(
        "#!/bin/sh\n"
        f"'{openssl}' cms -sign -binary -outform PEM -signer '{certificate}' -inkey '{key}' |\n"
        "  sed 's/ CMS-/ SIGNED MESSAGE-/'\n"
        "printf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n"
    )
    program.chmod(0o755)
    for name, value in (
        ("gpg.format", "x509"),
        ("gpg.x509.program", str(program)),
        ("user.signingKey", MAIL),
        ("gitcp.sign", "true"),
    ):
        world.git("config", name, value)
    linked(world)
    assert b"BEGIN SIGNED MESSAGE" in world.object(V1).data


@pytest.fixture
def gnupg(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A home of gpg with a key that was made for it, and its agent for as long."""
    if not shutil.which("gpg"):
        pytest.skip("gpg is not installed")
    with tempfile.TemporaryDirectory(prefix="gpg", dir="/tmp") as home:  # a socket's path is short
        monkeypatch.setenv("GNUPGHOME", home)
        make = ["gpg", "--batch", "--passphrase", "", "--quick-gen-key", MAIL, "ed25519", "sign"]
        subprocess.run(make, capture_output=True, check=True)
        yield
        subprocess.run(["gpgconf", "--kill", "all"], check=True)


def test_openpgp_signs_too_and_a_key_that_is_gone_stops_nothing(world: World, gnupg: None) -> None:
    world.git("config", "user.signingKey", MAIL)
    world.git("config", "commit.gpgSign", "true")
    linked(world)
    assert letter(world) == "G"
    status, [record] = verified(world)
    assert status == 0 and record["signature"] == "good" and record["signer"] == MAIL
    world.git("config", "commit.gpgSign", "false")
    world.git("config", "gitcp.sign", "true")
    world.git("config", "user.signingKey", "nobody@example.com")
    world.agent("s-two").turn("write", {"two.py": "two\n"})
    world.git("add", "two.py")
    world.git("commit", "-q", "-m", "two", warns="not signed")
    assert letter(world) == "N" and world.ids("HEAD")


@pytest.mark.thorough
def test_a_program_that_waits_costs_one_commit_its_time_and_is_named_once(
    signing: World, a: Agent, tmp_path: Path
) -> None:
    program = tmp_path / "waits"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    signing.git("config", "gpg.ssh.program", str(program))
    signing.git("config", "commit.gpgSign", "false")
    signing.git("config", "gitcp.sign", "true")
    a.turn("write", {"one.py": "one\n"})
    signing.git("add", "one.py")
    signing.git("commit", "-q", "-m", "one", warns="not signed")
    assert letter(signing) == "N" and "write" in signing.gitcp("show", "HEAD")
    a.turn("write", {"two.py": "two\n"})
    signing.commit("two.py")
    assert letter(signing) == "N"


def test_a_key_with_a_passphrase_is_not_asked_for(signing: World, key: Path) -> None:
    change = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret words", "-f", str(key)]
    subprocess.run(change, check=True)
    signing.git("config", "commit.gpgSign", "false")
    signing.git("config", "gitcp.sign", "true")
    signing.agent("s-one").turn("write", {"one.py": "one\n"})
    signing.git("add", "one.py")
    signing.git("commit", "-q", "-m", "one", warns="not signed")
    assert letter(signing) == "N"


def test_verify_says_who_signed(signing: World) -> None:
    checkpoint_id = linked(signing)
    status, [record] = verified(signing)
    assert status == 0 and record["failures"] == []
    assert record["checkpoint_id"] == checkpoint_id
    assert record["signature"] == "good" and record["signer"] == MAIL
    assert record["hashes"] == {"s-one": "match"} and record["content"] is True
    assert f" intact, signature good by {MAIL}" in signing.gitcp("verify")


def test_verify_without_a_signature_fails_on_request_alone(world: World) -> None:
    linked(world)
    assert verified(world)[0] == 0
    status, [record] = verified(world, "--signed")
    assert status == 1 and record["failures"] == ["its signature: none"]


def changed(world: World, path: str, content: str) -> None:
    """Change a file of the store behind everybody's back."""
    at = world.path
    blob = git("hash-object", "-w", "--stdin", cwd=at, stdin=content)
    world.env["GIT_INDEX_FILE"] = str(at / ".git/changed-index")
    world.git("read-tree", V1)
    world.git("update-index", "--cacheinfo", f"100644,{blob},{path}")
    tree = world.git("write-tree")
    del world.env["GIT_INDEX_FILE"]
    world.git("update-ref", V1, world.git("commit-tree", "-p", V1, "-m", "changed", tree))


def test_verify_finds_a_transcript_that_was_changed(signing: World) -> None:
    checkpoint_id = linked(signing)
    changed(signing, f"{checkpoint_id[:2]}/{checkpoint_id[2:]}/0/full.jsonl", "{}\n")
    status, [record] = verified(signing)
    assert status == 1 and record["hashes"] == {"s-one": "differs"}
    assert record["signature"] == "none"


def test_verify_finds_a_signature_that_is_of_something_else(signing: World) -> None:
    linked(signing)
    data = signing.object(V1).data.replace(b"Checkpoint: ", b"Checkpoint; ", 1)
    oid = git("hash-object", "-w", "-t", "commit", "--stdin", cwd=signing.path, stdin=data.decode())
    signing.git("update-ref", V1, oid)
    status, [record] = verified(signing)
    assert status == 1 and record["failures"] == ["its signature is bad"]


def test_verify_finds_a_trailer_that_names_the_work_of_another_commit(world: World) -> None:
    checkpoint_id = linked(world)
    world.write("mine.py", "by hand\n")
    world.git("add", "mine.py")
    message = f"mine\n\nEntire-Checkpoint: {checkpoint_id}\n"
    world.git(*gits.SILENT, "commit", "-q", "-m", message)
    status, records = verified(world, "HEAD~1..HEAD")
    assert status == 1 and records[0]["failures"] == ["the commit has nothing of it"]


def test_verify_finds_a_checkpoint_that_is_not_stored(world: World) -> None:
    linked(world)
    world.git("branch", "-q", "-D", "entire/checkpoints/v1")
    status, [record] = verified(world)
    assert status == 1 and record["failures"] == ["it is not stored here"]
