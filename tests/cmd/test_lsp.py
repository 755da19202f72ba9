"""lsp: what an editor asks of a line, by a client of the protocol and by Neovim."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import LanguageClient

from gitcp.terminal import answers
from gitcp.text.short_ids import shorten_id
from tests.support import warm
from tests.support.harness import World
from tests.support.paths import BIN
from tests.support.scenes import Scenes

pytest.importorskip("pytest_lsp", reason="the extra 'lsp' and pytest-lsp are not installed")
COMMAND = [sys.executable, str(BIN / "gitcp-lsp")]
CODE = "def one():\n    return 1\n"


@pytest_lsp.fixture(config=pytest_lsp.ClientServerConfig(server_command=COMMAND))  # type: ignore[untyped-decorator]
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    capabilities = pytest_lsp.client_capabilities("neovim")
    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    yield
    await lsp_client.shutdown_session()


def record_file(world: World) -> World:
    """A file with two lines of a session, committed, one of the person and one of a session that
    is not committed."""
    a = world.agent("session-a", tools=True)
    a.prompt("Write one")
    a.answer([{"type": "text", "text": "I write the function."}])
    a.write("src/one.py", CODE)
    a.stop()
    world.commit("src/one.py")
    world.write("src/one.py", CODE + "# mine\n")
    world.commit("src/one.py")
    a.prompt("Say where it ends")
    a.write("src/one.py", CODE + "# mine\n# end\n")
    a.stop()
    return world


@pytest.fixture
def work(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    yield from scenes.play(record_file, monkeypatch)


def opened(client: LanguageClient, path: Path, text: str | None = None) -> str:
    """Open a file as an editor does; its URI."""
    uri = path.as_uri()
    text = path.read_text() if text is None else text
    item = types.TextDocumentItem(uri=uri, language_id="any", version=1, text=text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    return uri


def changed(client: LanguageClient, uri: str, text: str) -> None:
    document = types.VersionedTextDocumentIdentifier(version=2, uri=uri)
    change = types.TextDocumentContentChangeWholeDocument(text)
    params = types.DidChangeTextDocumentParams(document, [change])
    client.text_document_did_change(params)


async def hover(client: LanguageClient, uri: str, line: int) -> str:
    document = types.TextDocumentIdentifier(uri)
    params = types.HoverParams(document, types.Position(line, 0))
    answer: Any = await client.text_document_hover_async(params)
    if answer is None:
        return ""
    assert answer.contents.kind == types.MarkupKind.PlainText
    return str(answer.contents.value)


async def lenses(client: LanguageClient, uri: str) -> list[tuple[int, str]]:
    params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    answer: Any = await client.text_document_code_lens_async(params)
    return [(lens.range.start.line, lens.command.title) for lens in answer]


@pytest.mark.asyncio
async def test_a_line_tells_session_prompt_answer_and_commit(
    client: LanguageClient, work: World
) -> None:
    uri = opened(client, work.path / "src" / "one.py")
    *told, commit = (await hover(client, uri, 0)).split("\n\n")
    name, oid, subject = commit.split(maxsplit=2)  # git says how many digits
    assert (name, subject) == ("commit", "commit src/one.py")
    assert len(oid) >= 7 and work.git("rev-parse", "HEAD~1").startswith(oid)
    assert told == [
        f"Claude Code #1, session {shorten_id('session-a')}",
        "> Write one",
        "I write the function.",
    ]
    assert "written by A U Thor" in await hover(client, uri, 2)
    text = await hover(client, uri, 3)
    assert "> Say where it ends" in text and text.endswith("not committed yet")


@pytest.mark.thorough
@pytest.mark.asyncio
async def test_lenses_follow_the_buffer_as_it_changes(client: LanguageClient, work: World) -> None:
    path = work.path / "src" / "one.py"
    uri = opened(client, path)
    assert await lenses(client, uri) == [
        (0, "Claude Code #1 · 2 lines"),
        (3, "Claude Code #2 · 1 line"),
    ]
    changed(client, uri, "import os\n" + path.read_text().replace("return 1", "return 2"))
    assert await lenses(client, uri) == [
        (1, "Claude Code #1 · 1 line"),
        (4, "Claude Code #2 · 1 line"),
    ]
    assert await hover(client, uri, 0) == answers.UNSAVED
    assert "> Write one" in await hover(client, uri, 1)
    assert await hover(client, uri, 99) == ""


@pytest.mark.asyncio
async def test_what_is_committed_meanwhile_is_told_at_the_next_question(
    client: LanguageClient, work: World
) -> None:
    uri = opened(client, work.path / "src" / "one.py")
    assert "not committed yet" in await hover(client, uri, 3)
    work.commit("src/one.py")
    assert f"commit {work.head[:8]}" in await hover(client, uri, 3)


@pytest.mark.asyncio
async def test_a_new_file_that_git_does_not_know_is_told_too(
    client: LanguageClient, work: World
) -> None:
    a = work.agent("session-a", tools=True)
    a.prompt("Write two")
    a.write("two.txt", "two\n")
    uri = opened(client, work.path / "two.txt")
    assert "> Write two" in await hover(client, uri, 0)


@pytest.mark.asyncio
async def test_the_definition_of_a_line_is_its_turn_in_a_private_read_only_file(
    client: LanguageClient, work: World
) -> None:
    uri = opened(client, work.path / "src" / "one.py")
    params = types.DefinitionParams(types.TextDocumentIdentifier(uri), types.Position(1, 0))
    location: Any = await client.text_document_definition_async(params)
    path = Path(unquote(urlsplit(location.uri).path))
    assert "[User] Write one" in path.read_text()
    assert "[Assistant] I write the function." in path.read_text()
    assert "Say where it ends" not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    params.position.line = 2
    assert await client.text_document_definition_async(params) is None


@pytest.mark.thorough
@pytest.mark.asyncio
async def test_the_turns_of_sessions_with_similar_ids_are_different_files(
    client: LanguageClient, work: World
) -> None:
    places: list[Any] = []
    for name in ("b", "c"):
        agent = work.agent(f"session-{name}", tools=True)
        agent.prompt(f"Write {name}")
        agent.write(f"{name}.txt", f"{name}\n")
        document = types.TextDocumentIdentifier(opened(client, work.path / f"{name}.txt"))
        params = types.DefinitionParams(document, types.Position(0, 0))
        places.append(await client.text_document_definition_async(params))
    first, second = (Path(unquote(urlsplit(place.uri).path)).read_text() for place in places)
    assert "[User] Write b" in first and "[User] Write c" in second


@pytest.mark.thorough
@pytest.mark.asyncio
async def test_a_lens_opens_the_turn_and_a_closed_file_is_read_anew(
    client: LanguageClient, work: World
) -> None:
    path = work.path / "src" / "one.py"
    uri = opened(client, path, "import os\n" + path.read_text())
    document = types.TextDocumentIdentifier(uri)
    found: Any = await client.text_document_code_lens_async(types.CodeLensParams(document))
    lens = found[0].command
    call = types.ExecuteCommandParams(lens.command, lens.arguments)
    turn: Any = await client.workspace_execute_command_async(call)
    assert "[User] Write one" in Path(unquote(urlsplit(turn).path)).read_text()
    assert turn in [shown.uri for shown in client.shown_documents]
    client.text_document_did_close(types.DidCloseTextDocumentParams(document))
    assert await lenses(client, opened(client, path)) == [
        (0, "Claude Code #1 · 2 lines"),
        (3, "Claude Code #2 · 1 line"),
    ]


@pytest.mark.asyncio
async def test_an_extension_reads_author_turn_and_worktree_of_a_line(
    client: LanguageClient, work: World
) -> None:
    uri = opened(client, work.path / "src" / "one.py", CODE + "# mine\n# new\n")

    async def read(line: int) -> Any:
        call = types.ExecuteCommandParams("gitcp.readLine", [uri, line])
        return await client.workspace_execute_command_async(call)

    line = await read(0)
    assert line["author"] == f"Claude Code, session {shorten_id('session-a')} #1: Write one"
    assert line["worktree"] == str(work.path)
    plan = warm.run("rewind", "--dry-run", "--to", line["turn"], cwd=work.path)
    assert plan.returncode == 0, plan
    mine, new = await read(2), await read(3)
    assert (mine["author"], mine["turn"]) == ("A U Thor", "")
    assert (new["author"], new["turn"]) == (answers.UNSAVED, "")
    assert await read(99) is None


@pytest.mark.asyncio
async def test_a_file_outside_of_repositories_or_ignored_by_git_tells_nothing(
    client: LanguageClient, tmp_path: Path
) -> None:
    (tmp_path / "plain.txt").write_text("x\n")
    uri = opened(client, tmp_path / "plain.txt")
    assert await hover(client, uri, 0) == ""
    assert await lenses(client, uri) == []


@pytest.mark.asyncio
async def test_hostile_words_are_plain_text_without_control_characters(
    client: LanguageClient, world: World
) -> None:
    a = world.agent("session-a", tools=True)
    a.prompt("![x](http://example.com/x.png) \x1b[2J<script>")
    a.write("a.txt", "a\n")
    uri = opened(client, world.path / "a.txt")
    text = await hover(client, uri, 0)
    assert "![x](http://example.com/x.png)" in text and "\x1b" not in text


NVIM = """
local id = vim.lsp.start_client({name = 'gitcp', cmd = {%s}, root_dir = vim.fn.getcwd()})
vim.lsp.buf_attach_client(0, id)
vim.wait(20000, function() return vim.lsp.buf_get_clients(0)[id] ~= nil end)
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 20000)
  return answers[id].result
end
local function out(text) io.stdout:write(text .. '\\n') end
local at = function(line)
  return {textDocument = vim.lsp.util.make_text_document_params(),
          position = {line = line, character = 0}}
end
out(ask('textDocument/hover', at(0)).contents.value)
vim.api.nvim_buf_set_lines(0, 0, 0, false, {'new'})
out(ask('textDocument/hover', at(0)).contents.value)
for _, lens in ipairs(ask('textDocument/codeLens', at(0))) do
  out(lens.range.start.line .. ' ' .. lens.command.title)
end
local turn = ask('textDocument/definition', at(1))
for line in io.lines(vim.uri_to_fname(turn.uri)) do out(line) end
vim.cmd('qa!')
"""


def test_neovim_hovers_lists_lenses_and_goes_to_the_turn(work: World, tmp_path: Path) -> None:
    if not shutil.which("nvim"):
        pytest.skip("Neovim is not installed")
    script = tmp_path / "ask.lua"
    script.write_text(NVIM % ", ".join(f"'{word}'" for word in COMMAND))
    argv = ["nvim", "--headless", "-u", "NONE", "-n", "src/one.py", "-c", f"luafile {script}"]
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run(argv, cwd=work.path, env=env, capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert "> Write one" in lines, done
    assert answers.UNSAVED in lines
    assert "1 Claude Code #1 · 2 lines" in lines
    assert "[Assistant] I write the function." in lines
