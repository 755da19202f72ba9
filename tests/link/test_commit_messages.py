"""The message of a linked commit: what the editor shows, what git cleans up, what aborts."""

from __future__ import annotations

import pytest

from tests.support.commit_forms import BOTH, left
from tests.support.harness import TRAILER, World
from tests.support.linking import KEY, editor, ids, linked, noted, shell, sound, types, v1


@pytest.fixture
def world(worked: World) -> World:
    return worked


def message(world: World) -> str:
    return world.git("log", "-1", "--format=%B").rstrip("\n") + "\n"


SIGNED = "Signed-off-by: C O Mitter <c@example.com>\n"
# configuration, arguments of commit, what the person types, the message without our line
EDITED = {
    "an editor": ("", "-a", "subject\n", "subject\n"),
    "a body": ("", "-a", "subject\n\nbody: of it\nmore\n", "subject\n\nbody: of it\nmore\n"),
    "a subject with a colon": ("", "-a", "fix: it", "fix: it\n"),
    "-m -e": ("", "-a -e -m subject", "", "subject\n"),
    "-s": ("", "-a -s", "subject", f"subject\n\n{SIGNED}"),
    "-t": ("", "-a -t ../template", "subject\n", "subject\n\nthe template\n"),
    "commit.template": ("commit.template ../template", "-a", "x\n", "x\n\nthe template\n"),
    "-v": ("", "-a -v", "subject\n", "subject\n"),
    "-uno, which is not -n": ("", "-a -uno", "subject\n", "subject\n"),
    "commit.verbose": ("commit.verbose true", "-a", "subject\n", "subject\n"),
    "scissors": ("commit.cleanup scissors", "-a", "#12 subject\n", "#12 subject\n"),
    "scissors and -v": ("commit.cleanup scissors", "-a -v", "subject\n", "subject\n"),
    "whitespace": ("commit.cleanup whitespace", "-a -m subject", "", "subject\n"),
    "verbatim": ("commit.cleanup verbatim", "-a -m subject", "", "subject\n"),
    "strip": ("commit.cleanup strip", "-a -m subject", "", "subject\n"),
    "strip, -m": ("commit.cleanup strip", "-a -m '# no' -m 'fix: it'", "", "fix: it\n"),
    "commentChar": ("core.commentChar ;", "-a", "#12 subject\n", "#12 subject\n"),
    "commentChar auto": ("core.commentChar auto", "-a", "subject\n", "subject\n"),
    "commentChar auto, #": ("core.commentChar auto", "-a -e -m '#12 x'", "", "#12 x\n"),
    "-m that looks like a comment": ("", "-a -m '#12: subject'", "", "#12: subject\n"),
    "no status": ("commit.status false", "-a", "subject\n", "subject\n"),
    "a name that is not ASCII": ("", "-a", "größe: x\n", "größe: x\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITED)
def test_the_message_is_the_persons_and_our_line(world: World, name: str) -> None:
    config, args, typed, want = EDITED[name]
    base = world.head
    world.write("../template", "\nthe template\n")
    world.env["GIT_EDITOR"] = types(world, typed)
    if config:
        world.git("config", *config.split(" ", 1))
    shell(world, f"git commit -q {args}")
    [one] = ids(world)
    assert message(world).replace(f"{KEY}: {one}\n", "").rstrip("\n") + "\n" == want
    assert linked(world, base) == [[BOTH]]
    assert left(world) == "new.py"
    sound(world)


ABORTED = {
    "nothing is typed": ("", "git commit -q -a", ":"),
    "nothing, with the diff shown": ("", "git commit -q -a -v", ":"),
    "all is deleted": ("", "git commit -q -a", ': >"$1"'),
    "only the line is left": ("", "git commit -q -a", 'sed -i /^#/d "$1"'),
    "an empty -m": ("", "git commit -q -a -m ''", ":"),
    "an empty -F": ("", "git commit -q -a -F /dev/null", ":"),
    "the template as it was": ("", "git commit -q -a -t ../template", ":"),
    "the template of -at": ("", "git commit -q -at ../template", ":"),
    "the template of a subdirectory": (
        "",
        "cd src; ! git commit -q -a --template=../../template",
        ":",
    ),
    "the configured template": ("", "git -c commit.template=../template commit -q -a", ":"),
    "the template, scissors": (
        "",
        "git -c commit.cleanup=scissors commit -q -a -t ../template",
        ":",
    ),
    "the editor fails": ("", "git commit -q -a", "exit 1"),
    "pre-commit refuses": ("pre-commit", "git commit -q -a -m x", ":"),
    "commit-msg refuses": ("commit-msg", "git commit -q -a -m x", ":"),
    "prepare-commit-msg refuses": ("prepare-commit-msg", "git commit -q -a -m x", ":"),
    "scissors": ("", "git -c commit.cleanup=scissors commit -q -a", ":"),
    "strip, -m": ("", "git commit -q -a --cleanup=strip -m '#12'", ":"),
    "commentChar": ("", "git -c 'core.commentChar=;' commit -q -a", ":"),
    "dry run": ("", "! git commit -q -a -m x --dry-run -z | false", ":"),
    "unchecked, verbatim": ("", "git commit -q -a -n --cleanup=verbatim", ': >"$1"'),
    "unchecked, strip": ("", "git commit -q -a -n --cleanup=strip", ":"),
    "unchecked": ("", "git commit -qan", ":"),
    "unchecked, scissors": ("", "git commit -q -a --no-verify --cleanup=scissors", ":"),
    "unchecked, a template": ("", "git commit -qan -t ../template", ":"),
    "unchecked, a template, scissors": (
        "",
        "git commit -q -a -n --cleanup=scissors -t ../template",
        ":",
    ),
    "unchecked, an empty -m": ("", "git commit -q -a -n -m ''", ":"),
}


@pytest.mark.parametrize("name", ABORTED)
def test_a_commit_that_is_aborted_leaves_everything_as_it_was(world: World, name: str) -> None:
    hook, command, script = ABORTED[name]
    world.write("../template", "the template\n")
    base, state, refs = world.head, world.state("session-a"), world.refs("refs")
    if hook:
        path = world.path / ".git" / "hooks" / hook
        path = path.with_name(hook + ".before-gitcp") if path.exists() else path
        path.write_text("#!/bin/sh\nexit 1\n")
        path.chmod(0o755)
    world.env["GIT_EDITOR"] = editor(world, script)
    shell(world, command if "! " in command else f"! {command}")
    assert world.head == base
    assert world.state("session-a") == state
    assert world.refs("refs") == refs
    if hook:
        path.unlink()
    shell(world, "git commit -q -a -m 'at last'")
    assert linked(world, base) == [[BOTH]], "the stale verdict is replaced"
    sound(world)


def test_the_editor_shows_what_the_line_is_about(world: World) -> None:
    world.env["GIT_EDITOR"] = editor(world, 'cp "$1" "$HOME/shown"; sed -i 1isubject "$1"')
    world.git("commit", "-q", "-a")
    shown = (world.home / "shown").read_text().splitlines()
    assert shown[:2] == ["", ""], "room for the message"
    [one] = ids(world)
    assert shown[2] == f"{KEY}: {one}"
    assert "# Remove the line Entire-Checkpoint if this commit is not the work of:" in shown
    assert "#   Claude Code: do the work" in shown
    assert message(world) == f"subject\n\n{KEY}: {one}\n"


@pytest.mark.parametrize("args", [["-a"], ["-a", "-e", "-m", "subject"]])
def test_a_person_who_deletes_the_line_does_not_link(world: World, args: list[str]) -> None:
    base = world.head
    world.env["GIT_EDITOR"] = editor(world, 'sed -i -e 1isubject -e /^Entire/d "$1"')
    world.git("commit", "-q", *args)
    assert linked(world, base) == [[]]
    assert v1(world) == {}
    assert left(world) == "new.py", "what is fully committed is settled"
    assert world.commit() != [], "the rest of the session still links"
    assert linked(world, base) == [["new.py"], []]
    sound(world)


def test_an_id_in_the_text_of_a_message_is_not_obeyed(world: World) -> None:
    base = world.head
    [one] = world.commit("new.py")
    text = f"about another\n\n{KEY}: {one}\n\nand that was all of it"
    world.write("mine.txt", "my own\n")
    world.git("add", "mine.txt")
    world.git("commit", "-q", "-m", text)
    world.write("mine.txt", "my own, again\n")
    world.git("commit", "-q", "-m", text, "mine.txt")
    assert linked(world, base) == [[], [], ["new.py"]]
    world.git("commit", "-q", "-a", "-m", text)
    assert linked(world, base)[0] == [BOTH]
    found = world.gitcp("find-commits", one)
    assert world.git("rev-parse", "HEAD~3") in found and world.head not in found


def test_an_unknown_id_that_the_person_writes_is_taken_for_what_the_commit_is(
    world: World,
) -> None:
    base = world.head
    world.git("commit", "-q", "-a", "-m", f"x\n\n{KEY}: 0123456789ab")
    assert linked(world, base)[0][-1] == BOTH
    assert noted(world) == []


def test_gitcp_link_ask_links_where_there_is_nobody_to_ask(world: World) -> None:
    base = world.head
    world.git("config", "gitcp.link", "ask")
    world.git("commit", "-q", "-a", "-m", "x")
    assert linked(world, base) == [[BOTH]]


def test_the_answer_no_does_not_link(world: World) -> None:
    base = world.head
    world.git("config", "gitcp.link", "ask")
    shell(
        world,
        "echo n >../answer; "
        'script -qec "git commit -q -a -m x" /dev/null <../answer >../asked 2>&1',
    )
    assert "Link this commit to the session? [Y/n]" in (world.path / "../asked").read_text()
    assert linked(world, base) == [[]]
    assert left(world) == "new.py"


LINT = '#!/bin/sh\ncase $(head -1 "$1") in *:*) ;; *) exit 1 ;; esac\n'
TRIED = "-F .git/COMMIT_EDITMSG"


def refuse(world: World, *messages: str) -> None:
    """Try commits that commit-msg refuses, each with the message of the one before."""
    world.git("config", "core.hooksPath", ".git/hooks")
    hook = world.path / ".git/hooks/commit-msg"
    ours = hook.read_text()
    hook.write_text(LINT)
    world.gitcp("enable")
    assert ours != LINT and hook.read_text() != LINT
    before = world.head
    for args in messages:
        world.git("commit", "-q", *args.split(), ok=False)
    assert world.head == before


def tried(world: World) -> str:
    return (world.path / ".git/COMMIT_EDITMSG").read_text()


def test_a_message_that_was_refused_has_one_id_however_often_it_is_tried(world: World) -> None:
    base = world.head
    refuse(world, "-a -m subject", f"-a {TRIED}", f"-a {TRIED}")
    [one] = TRAILER.findall(tried(world))
    world.write("message", tried(world).replace("subject", "fix: it"))
    world.git("commit", "-q", "-a", "-F", "message")
    assert ids(world) == [one] and message(world).count(KEY) == 1
    assert linked(world, base) == [[BOTH]]
    sound(world)


def test_a_refused_message_names_nothing_on_the_persons_own_commit(world: World) -> None:
    world.write("own.txt", "of the person\n")
    refuse(world, "-a -m subject")
    world.git("add", "own.txt")
    world.write("message", tried(world).replace("subject", "fix: mine"))
    world.git("commit", "-q", "-F", "message", "--", "own.txt")
    assert (ids(world), message(world)) == ([], "fix: mine\n")
    assert "own.txt" in world.git("show", "--name-only", "--format=")


def test_an_id_that_was_made_before_other_commits_came_is_taken_out_too(world: World) -> None:
    refuse(world, "-a -m subject")
    late = tried(world).replace("subject", "fix: late")
    for name in ("one", "two"):
        world.write(name, f"{name}\n")
        world.git("add", name)
        world.git("commit", "-q", "-m", f"add: {name}", "--", name)
    world.git("commit", "-q", "-a", "-m", "fix: the work")
    [linked_id] = ids(world)
    world.write("message", late)
    world.git("commit", "-q", "--allow-empty", "-F", "message")
    assert message(world) == "fix: late\n" and linked_id not in late
    sound(world)


def test_the_message_of_a_linked_commit_keeps_its_id_when_it_is_copied(world: World) -> None:
    world.git("commit", "-q", "-a", "-m", "subject")
    text = message(world)
    world.write("message", text)
    world.git("reset", "-q", "--soft", "HEAD~")
    world.git("commit", "-q", "-F", "message")
    assert message(world) == text
