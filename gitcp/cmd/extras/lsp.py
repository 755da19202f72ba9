"""gitcp-lsp - answer editors over the Language Server Protocol"""

from __future__ import annotations

import os
import shutil
import tempfile

from gitcp import VERSION
from gitcp.errors import OK, Error
from gitcp.git import encode_name
from gitcp.git.files import read_stamp
from gitcp.library import Repository
from gitcp.terminal import answers, cli, extras, servers
from gitcp.terminal.answers import TurnTalk
from gitcp.text import console, pairing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsprotocol import types

    from gitcp.lines.blame import BlamedLine

_PACKAGES = "gitcp lsp needs the Python package 'pygls'"
_SHOW_TURN = "gitcp.showTurn"
_READ_LINE = "gitcp.readLine"
OPTIONS = ()


def run(argv: Sequence[str]) -> int:
    """Answer requests on standard input until it ends."""
    cli.parse("lsp", OPTIONS, argv)
    try:
        import pygls  # noqa: F401
    except ImportError:
        raise extras.make_missing(_PACKAGES, "lsp") from None
    editor = Editor()
    register_answers(editor)
    servers.end_at_signals(editor.finish)
    servers.outlive_clients()
    try:
        editor.server.start_io()
    finally:
        editor.finish()
    return OK


def open_document(path: str) -> Document:
    """The document of a file.  Raises Error if it is in no repository."""
    path = os.path.realpath(path)
    return Document(Repository(os.path.dirname(path)), path)


class Document:
    """An open file, with the author of each line of the editor's text."""

    def __init__(self, repository: Repository, path: str) -> None:
        """path: absolute, without links."""
        self.repository = repository
        self._path = path
        self._stamps: list[list[int]] = []
        self._lines: list[BlamedLine] = []
        self._text: str | None = None
        self._records: list[BlamedLine | None] = []
        self._conversations: dict[tuple[object, ...], TurnTalk] = {}
        self._subjects: dict[str, str] = {}

    def map_lines(self, text: str) -> list[BlamedLine | None]:
        """The record of each line of an edited text, None for a line that the file does not have.
        Raises Error if the file cannot be read."""
        stamps = self._read_stamps()
        if stamps != self._stamps:
            inside = os.path.relpath(self._path, self.repository.repo.worktree)
            self._lines = self.repository.blame(inside)
            self._stamps = stamps
            self._text = None
            self._conversations.clear()
        if text != self._text:
            old = [encode_name(line["content"].removesuffix("\r")) for line in self._lines]
            lines = text.removesuffix("\n").split("\n")
            new = [line.removesuffix("\r").encode("utf-8", "surrogatepass") for line in lines]
            paired = {j: self._lines[i] for i, j in pairing.pair_lines(old, new)}
            self._records = [paired.get(j) for j in range(len(new))]
            self._text = text
        return self._records

    def _read_stamps(self) -> list[list[int]]:
        """read_stamp() of the file, HEAD, the index and the journal: what changes if authors do."""
        names = ("HEAD", "logs/HEAD", "index", "gitcp/journal")
        git_dir = self.repository.repo.git_dir
        return [read_stamp(self._path), *(read_stamp(os.path.join(git_dir, n)) for n in names)]

    def read_conversation(self, line: BlamedLine) -> TurnTalk:
        """The conversation at the call that wrote a line, if a session wrote it."""
        key = line["checkpoint_id"], line["session_id"], line["turn_id"], line["tool_use_id"]
        if key not in self._conversations:
            conversation = TurnTalk(None, [])
            if line["who"] == "session":
                conversation = TurnTalk(*self.repository.read_conversation(line))
            self._conversations[key] = conversation
        return self._conversations[key]

    def read_subject(self, line: BlamedLine) -> str:
        """The subject of the commit that added a line, '' for an uncommitted one."""
        oid = line["commit"]
        if oid not in self._subjects:
            commit = None
            if oid.strip("0"):
                commit = self.repository.repo.objects.read(oid)
            message = b""
            if commit:
                message = commit[2].partition(b"\n\n")[2]
            self._subjects[oid] = message.partition(b"\n")[0].decode("utf-8", "replace")
        return self._subjects[oid]


class Editor:
    """An editor's open documents, and the files that show it turns."""

    def __init__(self) -> None:
        from pygls.lsp.server import LanguageServer

        self.server = LanguageServer("gitcp", VERSION)
        self._documents: dict[str, Document] = {}
        self._folder = ""

    def look_up(self, uri: str) -> tuple[Document | None, list[BlamedLine | None]]:
        """(the document of a file, the record of each line).  If the file is in no repository, or
        cannot be read, a message in the editor's log, and (None, [])."""
        from lsprotocol import types

        path = self._find_path(uri)
        try:
            if path not in self._documents:
                self._documents[path] = open_document(path)
            document = self._documents[path]
            return document, document.map_lines(self.server.workspace.get_text_document(uri).source)
        except Error as e:
            message = f"gitcp: {console.escape_unprintable(str(e))}"
            log = types.LogMessageParams(types.MessageType.Info, message)
            self.server.window_log_message(log)
            return None, []

    def close(self, uri: str) -> None:
        """Drop the document of a file that was closed."""
        document = self._documents.pop(self._find_path(uri), None)
        if document:
            document.repository.close()

    def format_hover(self, uri: str, number: int) -> str:
        """The hover text of a line, '' for none."""
        document, records = self.look_up(uri)
        if document is None or number >= len(records):
            return ""
        record = records[number]
        if record is None:
            return answers.UNSAVED
        conversation = document.read_conversation(record)
        subject = document.read_subject(record)
        return console.escape_unprintable(answers.format_hover(record, conversation, subject))

    def read_line(self, uri: str, number: int) -> dict[str, str] | None:
        """What an editor needs to show beside a line, and for its commands: the author; the turn's
        id, '' for none; the worktree.  None if the document has no such line."""
        document, records = self.look_up(uri)
        if document is None or number >= len(records):
            return None
        record = records[number]
        if record is None:
            author = answers.UNSAVED
        else:
            author = answers.name_author(record)
        return {
            "author": console.escape_unprintable(author),
            "turn": record["turn_id"] or "" if record and record["who"] == "session" else "",
            "worktree": document.repository.repo.worktree,
        }

    def write_turn(self, uri: str, number: int) -> str:
        """Write the turn that wrote a line to a file; return its URI, '' for none."""
        from pygls.uris import from_fs_path

        document, records = self.look_up(uri)
        record = None
        if number < len(records):
            record = records[number]
        if document is None or record is None or record["who"] != "session":
            return ""
        return from_fs_path(self._write(document, record)) or ""

    def _write(self, document: Document, line: BlamedLine) -> str:
        """Write a private, read-only file with the turn that wrote a line; return its path."""
        self._folder = self._folder or tempfile.mkdtemp(prefix="gitcp-turns-")
        parts = line["session_id"], str(line["number"] or 0), line["checkpoint_id"] or "open"
        path = os.path.join(self._folder, "-".join(parts).replace(os.sep, "_") + ".txt")
        text = answers.format_turn(
            line, document.read_conversation(line), document.read_subject(line)
        )
        fd, new = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(console.escape_unprintable(text))
        os.chmod(new, 0o400)
        os.replace(new, path)
        return path

    def finish(self) -> None:
        """Close the documents, and remove the files that showed turns."""
        for document in self._documents.values():
            document.repository.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _find_path(uri: str) -> str:
        from pygls.uris import to_fs_path

        return to_fs_path(uri) or ""


def register_answers(editor: Editor) -> None:
    """Register the functions that answer an editor's requests about lines, numbered from 0."""
    from lsprotocol import types

    @editor.server.feature(types.TEXT_DOCUMENT_HOVER)
    def answer_hover(params: types.HoverParams) -> types.Hover | None:
        text = editor.format_hover(params.text_document.uri, params.position.line)
        # Plain text: in markup a conversation could show pictures and links.
        plain = types.MarkupContent(types.MarkupKind.PlainText, text)
        return types.Hover(plain) if text else None

    @editor.server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def answer_lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        lenses = []
        for number, title in answers.list_lenses(editor.look_up(uri)[1]):
            command = types.Command(title, _SHOW_TURN, arguments=[uri, number])
            lenses.append(types.CodeLens(_make_line_start(number), command))
        return lenses

    @editor.server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def answer_definition(params: types.DefinitionParams) -> types.Location | None:
        uri = editor.write_turn(params.text_document.uri, params.position.line)
        if uri:
            return types.Location(uri, _make_line_start(0))
        return None

    @editor.server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def close(params: types.DidCloseTextDocumentParams) -> None:
        editor.close(params.text_document.uri)

    @editor.server.command(_READ_LINE)
    def read(uri: str, number: int) -> dict[str, str] | None:
        return editor.read_line(uri, number)

    @editor.server.command(_SHOW_TURN)
    def show(uri: str, number: int) -> str:
        turn = editor.write_turn(uri, number)
        if turn:
            editor.server.window_show_document(types.ShowDocumentParams(turn))
        return turn


def _make_line_start(number: int) -> types.Range:
    """An empty range at the beginning of a line."""
    from lsprotocol import types

    position = types.Position(number, 0)
    return types.Range(position, position)
