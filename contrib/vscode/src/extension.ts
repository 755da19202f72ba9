// Start `gitcp lsp` and show what it knows of a line: beside it, in its hover, and as commands.

import { ChildProcess, execFile, spawn } from "node:child_process";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
} from "vscode-languageclient/node";

/** What the server tells of a line. turn: "" if no session wrote it. */
interface Line {
  author: string;
  turn: string;
  worktree: string;
}

/** A line of a file: its URI, and its number from 0. */
type Place = [uri: string, line: number];

const PAUSE = 150; // ms without a movement before the author of a line is asked for
const OPEN = "gitcp.openConversation";
const REWIND = "gitcp.rewindBefore";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  client = makeClient();
  context.subscriptions.push(
    vscode.commands.registerCommand(OPEN, withPlace(openConversation)),
    vscode.commands.registerCommand(REWIND, withPlace(rewindBefore)),
    ...showAuthors(),
  );
  // Whatever ends the start is shown by startServer().
  await client.start().catch(() => undefined);
}

export async function deactivate(): Promise<void> {
  if (client?.isRunning()) {
    await client.stop();
  }
}

function makeClient(): LanguageClient {
  return new LanguageClient("gitcp", "gitcp", startServer, {
    documentSelector: [{ scheme: "file" }],
    initializationFailedHandler: () => false,
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
    },
    middleware: {
      provideHover: async (document, position, token, next) => {
        const hover = await next(document, position, token);
        const place: Place = [document.uri.toString(), position.line];
        if (hover && (await readLine(place))?.turn) {
          hover.contents.push(makeLinks(place));
        }
        return hover;
      },
    },
  });
}

/** Start the server; what it says before it fails is shown. */
async function startServer(): Promise<ChildProcess> {
  const [program, ...args] = getCommand();
  const child = spawn(program, [...args, "lsp"]);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-4000)));
  child.on("error", (error) => showFailure(`'${program}' cannot be started: ${error.message}`));
  child.on("close", (status, signal) => {
    if (status) {
      showFailure(said.trim() || `it ended with status ${status}`);
    } else if (signal && client?.isRunning()) {
      showFailure(`it was ended by ${signal}`);
    }
  });
  return child;
}

function getCommand(): string[] {
  return vscode.workspace.getConfiguration("gitcp").get<string[]>("command", ["gitcp"]);
}

function showFailure(message: string): void {
  void vscode.window.showErrorMessage(`gitcp lsp: ${message}`);
}

/** The commands on a line, as links. */
function makeLinks(place: Place): vscode.MarkdownString {
  const args = encodeURIComponent(JSON.stringify(place));
  const links = new vscode.MarkdownString(
    `[Open the conversation](command:${OPEN}?${args}) · ` +
      `[Rewind to before this prompt](command:${REWIND}?${args})`,
  );
  links.isTrusted = { enabledCommands: [OPEN, REWIND] };
  return links;
}

/** A command on a place, by default the line with the cursor. */
function withPlace(act: (place: Place) => Promise<void>): (...place: Partial<Place>) => Promise<void> {
  return async (uri, line) => {
    const editor = vscode.window.activeTextEditor;
    if (uri !== undefined && line !== undefined) {
      await act([uri, line]);
    } else if (editor) {
      await act([editor.document.uri.toString(), editor.selection.active.line]);
    }
  };
}

/** What the server says of a line, undefined if it is not running or knows nothing. */
async function readLine(place: Place): Promise<Line | undefined> {
  return (await ask("gitcp.readLine", place)) as Line | undefined;
}

async function ask(command: string, place: Place): Promise<unknown> {
  if (!client?.isRunning()) {
    return undefined;
  }
  const answer = await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: place });
  return answer ?? undefined;
}

async function openConversation(place: Place): Promise<void> {
  if (!(await ask("gitcp.showTurn", place))) {
    void vscode.window.showInformationMessage("gitcp: no session wrote this line");
  }
}

/** Show the plan of a rewind, and carry it out if the person agrees. */
async function rewindBefore(place: Place): Promise<void> {
  const line = await readLine(place);
  if (!line?.turn) {
    void vscode.window.showInformationMessage("gitcp: no session wrote this line");
    return;
  }
  try {
    const plan = await run(line.worktree, "rewind", "--dry-run", "--to", line.turn);
    const options = { modal: true, detail: plan.trim() };
    const question = `Rewind to before this prompt? ${line.author}`;
    if ((await vscode.window.showWarningMessage(question, options, "Rewind")) === "Rewind") {
      const said = await run(line.worktree, "rewind", "--to", line.turn);
      void vscode.window.showInformationMessage(`gitcp: ${said.trim() || "done"}`);
    }
  } catch (error) {
    void vscode.window.showErrorMessage(`gitcp: ${(error as Error).message}`);
  }
}

/** Run gitcp in a worktree; return what it says. Fails with its message. */
function run(worktree: string, ...args: string[]): Promise<string> {
  const [program, ...first] = getCommand();
  return new Promise((resolve, reject) => {
    execFile(program, [...first, ...args], { cwd: worktree }, (error, stdout, stderr) => {
      if (error) {
        reject(new Error(stderr.trim() || error.message));
      } else {
        resolve(stdout + stderr);
      }
    });
  });
}

/** Show the author of the line with the cursor at its end, after each movement. */
function showAuthors(): vscode.Disposable[] {
  const color = new vscode.ThemeColor("editorCodeLens.foreground");
  const beside = vscode.window.createTextEditorDecorationType({
    after: { margin: "0 0 0 3em", color },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedOpen,
  });
  let timer: NodeJS.Timeout | undefined;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => void showAuthor(beside).catch(() => undefined), PAUSE);
  };
  const window = vscode.window;
  const workspace = vscode.workspace;
  const events = [
    window.onDidChangeActiveTextEditor,
    window.onDidChangeTextEditorSelection,
    workspace.onDidChangeTextDocument,
    workspace.onDidSaveTextDocument,
    workspace.onDidChangeConfiguration,
  ] as vscode.Event<unknown>[];
  client?.onDidChangeState(later);
  return [beside, ...events.map((event) => event(later)), { dispose: () => clearTimeout(timer) }];
}

async function showAuthor(beside: vscode.TextEditorDecorationType): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== "file") {
    return;
  }
  const number = editor.selection.active.line;
  const wanted = vscode.workspace.getConfiguration("gitcp").get("authorBesideLine", true);
  const line = wanted ? await readLine([editor.document.uri.toString(), number]) : undefined;
  if (number !== editor.selection.active.line) {
    return; // the next movement asks again
  }
  const range = editor.document.lineAt(number).range;
  const after = { contentText: line?.author ?? "" };
  editor.setDecorations(beside, line ? [{ range, renderOptions: { after } }] : []);
}
