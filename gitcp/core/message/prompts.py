"""Clean prompts, and make subjects of them."""

from __future__ import annotations

from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

SEPARATOR = "\n\n---\n\n"
# Blocks that clients insert into a prompt (doc/formats.md "The original program").
_BLOCK = r"<(ide_\w+|system-reminder|local-command-[a-z]+|command-[a-z]+)(?:\s[^<>]*)?>"
# What Gemini CLI and Qwen Code add for `@file`.
_REFERENCED, _REFERENCED_END = "--- Content from referenced files ---", "--- End of content ---"
_POLITE = (
    "can you ",
    "could you ",
    "would you ",
    "please ",
    "let's ",
    "i want you to ",
    "i'd like you to ",
    "i need you to ",
)
_COMPARED = 1000  # characters of a prompt, which a record may have cut
# The beginnings of prompts that clients write themselves.
_CONTEXT = (
    "<environment_context>",
    "<user_instructions>",
    "<session_context>",
    "<state_snapshot>",
    "<subagent_notification>",
    "<turn_aborted>",
    "[Request interrupted",
)


def clean(prompt: str) -> str:
    """The prompt without the blocks that its client inserted.  A lone surrogate, which JSON allows,
    becomes "?": the result is UTF-8."""
    prompt = replace_surrogates(prompt)
    head, _, tail = prompt.partition(_REFERENCED)
    if _REFERENCED_END in tail:
        prompt = head + tail.rpartition(_REFERENCED_END)[2]
    if "<" not in prompt:
        return prompt.strip()
    opening = stdlib.re.compile(_BLOCK)
    kept, end_of_block = [], 0
    unclosed: set[str] = set()  # searched for once, so that a hostile prompt takes linear time
    for tag in opening.finditer(prompt):
        name = tag[1]
        if tag.start() < end_of_block or name in unclosed:
            continue
        closing = prompt.find(f"</{name}>", tag.end())
        if closing < 0:
            unclosed.add(name)
            continue
        kept.append(prompt[end_of_block : tag.start()])
        end_of_block = closing + len(name) + 3
    return ("".join(kept) + prompt[end_of_block:]).strip()


def extract_typed(prompt: str) -> str:
    """The cleaned prompt; "" for one that the client wrote itself."""
    text = clean(prompt)
    return "" if is_notification(text) or text.startswith(_CONTEXT) else text


def is_notification(prompt: str) -> bool:
    """Whether the client wrote this prompt to report a background task
    (doc/clients.md "Claude Code")."""
    return prompt.lstrip().startswith(("<task-notification>", "<system_notification>"))


def parse_ended_tasks(notification: str) -> list[dict[str, str]]:
    """{id, tool_use_id, status} of each task in a notification; "" for a missing value."""
    keys = {"id": "task-id", "tool_use_id": "tool-use-id", "status": "status"}
    parts = notification.split("<task-notification>")[1:]
    if not parts:  # of Copilot CLI, in words
        matches = stdlib.re.findall(r"\(shellId: (\w+)\) has (\w+)", notification)
        return [{"id": key, "tool_use_id": "", "status": status} for key, status in matches]
    return [{key: _read_tag(part, tag) for key, tag in keys.items()} for part in parts]


def _read_tag(text: str, tag: str) -> str:
    inner, end, _ = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")
    return inner.strip() if end else ""


def make_subject(prompt: str | None, agent_type: str = "Claude Code") -> str:
    """The subject of a prompt's checkpoint, at most 72 characters
    (doc/formats.md "Commits of a stream")."""
    words = subject = _join_words(prompt or "")
    while polite := next((p for p in _POLITE if subject[:20].lower().startswith(p)), ""):
        subject = subject[len(polite) :]
    subject = subject.removesuffix("?").rstrip()[:72].rstrip() or words[:72].rstrip()
    if not subject:
        return f"{agent_type} session updates"
    return subject if _is_conventional(subject) else subject[:1].upper() + subject[1:]


def _is_conventional(subject: str) -> bool:
    """Whether a subject begins as in Conventional Commits: `feat: `, `fix(scope)!: `."""
    prefix, colon, _ = subject.partition(": ")
    kind, _, scope = prefix.removesuffix("!").partition("(")
    return bool(colon) and kind.isalpha() and kind.islower() and (not scope or scope[-1] == ")")


def shorten_prompt(prompt: str) -> str:
    """The prompt on one line, cut after 100 characters, as states have it."""
    return _cut_line(prompt, 100)


def join_prompts(prompts: Iterable[str]) -> str:
    """The text of prompt.txt (doc/formats.md "Committed checkpoint")."""
    return SEPARATOR.join(prompts)


def list_turn_prompts(prompts: list[str], prompt: str) -> list[str]:
    """The prompts of a session's last turn: the newest that begins with prompt and those after it;
    if none does, prompt itself, unless it is empty."""
    own = [n for n, text in enumerate(prompts) if text.startswith(prompt)]
    return prompts[own[-1] :] if own else [prompt] if prompt else []


def find_number(asked: Mapping[int, str], turn: object) -> int:
    """The number of the prompt that began a recorded turn, among those of its transcript; 0 for
    none.

    asked: number -> prompt.  turn: {number, prompt} as recorded, which may be damaged.  A prompt
    that was not recorded has no number there: the text decides, and the number tells equal prompts
    apart.
    """
    facts: Mapping[str, Any] = turn if isinstance(turn, dict) else {}
    number, prompt = facts.get("number"), str(facts.get("prompt") or "")
    words = _join_words(prompt.rstrip("…"))[:_COMPARED]
    likely = [number] if isinstance(number, int) and number in asked else []
    candidates: list[int] = [*likely, *(reversed(asked) if words else ())]
    for n in candidates:
        if _join_words(asked[n][: 2 * _COMPARED]).startswith(words):
            return n
    return 0


def make_task_subject(tool_use_id: str, subagent_type: str = "", task: str = "") -> str:
    """The subject of a subagent's checkpoint (doc/formats.md "Commits of a stream")."""
    short = tool_use_id[:12]
    if not subagent_type and not task:
        return f"Task: {short}"
    agent = f"'{subagent_type}' agent" if subagent_type else "agent"
    words = f": {_cut_line(task, 60)}" if task else ""
    return f"Completed {agent}{words} ({short})"


def make_todo_subject(todos: Iterable[Mapping[str, Any]], number: int, tool_use_id: str) -> str:
    """The subject of an incremental checkpoint: the step that was completed last
    (doc/formats.md "Commits of a stream")."""
    steps, short = list(todos), tool_use_id[:12]
    done = [t.get("content") for t in steps if t.get("status") == "completed"]
    if done and isinstance(done[-1], str) and done[-1].strip():
        return f"{_cut_line(done[-1], 60)} ({short})"
    return f"Planning: {len(steps)} todos ({short})" if steps else f"Checkpoint #{number}: {short}"


def replace_surrogates(text: str) -> str:
    """text with "?" for lone surrogates, which UTF-8 does not allow."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _join_words(text: str) -> str:
    return " ".join(replace_surrogates(text).split())


def _cut_line(text: str, size: int) -> str:
    """A text on one line, cut after size characters."""
    text = _join_words(text)
    return text if len(text) <= size else text[:size] + "..."
