from __future__ import annotations

from typing import Any

import pytest

from gitcp.core import commit_message

FILES, END = "--- Content from referenced files ---", "--- End of content ---"


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("  plain\n", "plain"),
        ("a < b and c > d", "a < b and c > d"),
        ("<div>kept</div>", "<div>kept</div>"),
        ("<ide_opened_file>f.py</ide_opened_file>fix it", "fix it"),
        ("do <ide_selection a='1'>x</ide_selection>this", "do this"),
        ("<system-reminder>a</system-reminder>b<system-reminder>c</system-reminder>", "b"),
        ("<system-reminder><command-name>x</command-name></system-reminder>y", "y"),
        ("<local-command-caveat>x</local-command-caveat>", ""),
        ("<local-command-stdout>Bye!</local-command-stdout>", ""),
        ("<command-name>/clear</command-name>\n <command-args></command-args>", ""),
        ("<system-reminder>never closed", "<system-reminder>never closed"),
        ("half \ud83d of one", "half ? of one"),
        (f"ask\n{FILES}\nof a file\n{END}\n{END} on", "ask\n on"),
        (f"ask {FILES} no end", f"ask {FILES} no end"),
        (f"{END} ask", f"{END} ask"),
    ],
)
def test_what_the_client_added_is_cut_out_of_a_prompt(prompt: str, expected: str) -> None:
    assert commit_message.clean_prompt(prompt) == expected


def test_a_hostile_prompt_is_cleaned_in_one_pass() -> None:
    prompt = "<ide_a>" * 200_000
    assert commit_message.clean_prompt(prompt) == prompt


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("<task-notification>\n<task-id>x", True),
        ("\n <task-notification>", True),
        ("what is <task-notification>", False),
    ],
)
def test_a_notification_of_the_client_is_no_prompt(prompt: str, expected: bool) -> None:
    assert commit_message.is_notification(prompt) is expected
    assert commit_message.extract_typed(prompt) == ("" if expected else prompt)
    assert commit_message.extract_typed(f"<environment_context>{prompt}") == ""


@pytest.mark.parametrize(
    ("notification", "tasks"),
    [
        (
            "<task-notification><task-id> a </task-id><status>done</status></task-notification>\n"
            "<task-notification><task-id>b<tool-use-id>toolu_1</tool-use-id></task-notification>",
            [("a", "", "done"), ("", "toolu_1", "")],
        ),
        (
            "<system_notification>Shell 1 (shellId: 7) has completed, 2 (shellId: x9) has failed",
            [("7", "", "completed"), ("x9", "", "failed")],
        ),
        ("<task-notification>", [("", "", "")]),
        ("go on", []),
    ],
)
def test_a_notification_tells_which_tasks_have_ended(
    notification: str, tasks: list[tuple[str, str, str]]
) -> None:
    keys = ("id", "tool_use_id", "status")
    expected = [dict(zip(keys, task, strict=True)) for task in tasks]
    assert commit_message.parse_ended_tasks(notification) == expected


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("fix the bug", "Fix the bug"),
        ("Can you fix the bug?", "Fix the bug"),
        ("could you please add tests ?", "Add tests"),
        ("I'd like you to go on", "Go on"),
        ("I need you to let's see", "See"),
        ("Pleased to meet you", "Pleased to meet you"),
        ("please", "Please"),
        ("please " * 20 + "?", ("Please " + "please " * 10)[:72]),
        ("why\n\nis   this?", "Why is this"),
        ("?", "?"),
        ("x" * 80, "X" + "x" * 71),
        ("é" * 80, "É" + "é" * 71),
        ("  ", "Codex session updates"),
        (None, "Codex session updates"),
        ("please " * 50_000 + "go", "Go"),
        ("feat: greet by name", "feat: greet by name"),
        ("fix(cli)!: say why", "fix(cli)!: say why"),
        ("fix(the: bug", "Fix(the: bug"),
        ("look at this: it fails", "Look at this: it fails"),
    ],
)
def test_the_subject_of_a_checkpoint_is_what_was_asked_for(
    prompt: str | None, expected: str
) -> None:
    assert commit_message.make_subject(prompt, "Codex") == expected


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("a \n\t b", "a b"),
        ("x" * 100, "x" * 100),
        ("é" * 101, "é" * 100 + "..."),
    ],
)
def test_the_first_prompt_is_kept_on_one_line_of_100_characters(prompt: str, expected: str) -> None:
    assert commit_message.shorten_prompt(prompt) == expected


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("two", ["two", "and more"]),
        ("one", ["one", "two", "and more"]),
        ("tw", ["two", "and more"]),
        ("three", ["three"]),
        ("", ["and more"]),
    ],
)
def test_the_prompts_of_a_turn_begin_with_its_own(prompt: str, expected: list[str]) -> None:
    assert commit_message.list_turn_prompts(["one", "two", "and more"], prompt) == expected
    assert commit_message.list_turn_prompts([], prompt) == ([prompt] if prompt else [])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], ""), (["a"], "a"), (["a", "b\nc"], "a\n\n---\n\nb\nc")],
)
def test_prompt_txt_holds_all_prompts(arguments: list[str], expected: str) -> None:
    assert commit_message.join_prompts(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("toolu_01TASKmanual", "dev", "Build it"), "Completed 'dev' agent: Build it"),
        (("toolu_01TASKmanual", "dev", "x" * 61), f"Completed 'dev' agent: {'x' * 60}..."),
        (("toolu_01TASKmanual", "dev", ""), "Completed 'dev' agent"),
        (("toolu_01TASKmanual", "", "Build it"), "Completed agent: Build it"),
    ],
)
def test_a_task_is_named_by_its_agent_and_its_call(arguments: Any, expected: str) -> None:
    assert commit_message.make_task_subject(*arguments) == f"{expected} (toolu_01TASK)"


def test_a_task_that_says_nothing_is_named_by_its_call() -> None:
    assert commit_message.make_task_subject("toolu_01TASKmanual") == "Task: toolu_01TASK"


@pytest.mark.parametrize(
    ("todos", "expected"),
    [
        (
            [
                {"content": "One", "status": "completed"},
                {"content": "Two", "status": "completed"},
                {"content": "Three", "status": "in_progress"},
            ],
            "Two (toolu_01TASK)",
        ),
        ([{"content": "x" * 61, "status": "completed"}], f"{'x' * 60}... (toolu_01TASK)"),
        ([{"content": "One", "status": "pending"}] * 2, "Planning: 2 todos (toolu_01TASK)"),
        ([{"status": "completed"}], "Planning: 1 todos (toolu_01TASK)"),
        ([{"content": " ", "status": "completed"}], "Planning: 1 todos (toolu_01TASK)"),
        ([], "Checkpoint #3: toolu_01TASK"),
    ],
)
def test_a_step_of_a_task_is_named_by_what_was_completed(todos: Any, expected: str) -> None:
    assert commit_message.make_todo_subject(todos, 3, "toolu_01TASKmanual") == expected


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ({"number": 1, "prompt": "add it"}, 3),
        ({"number": 2, "prompt": "go on"}, 2),
        ({"number": 1, "prompt": "go on"}, 4),
        ({"number": 9, "prompt": "add"}, 3),
        ({"number": 1, "prompt": "never said"}, 0),
        ({"number": 1, "prompt": ""}, 1),
        ({"number": 9, "prompt": ""}, 0),
        ({"number": "3", "prompt": "add it"}, 3),
        ({"number": [], "prompt": "add it"}, 3),
        ({"number": 9, "prompt": "long " * 800 + "…"}, 5),
        ({"number": 2}, 2),
        (None, 0),
    ],
)
def test_a_recorded_turn_is_found_by_its_prompt_then_by_its_number(
    turn: object, expected: int
) -> None:
    asked = {1: "think first", 2: "go  on", 3: "add it\nnow", 4: "go on", 5: "long " * 1000}
    assert commit_message.find_number(asked, turn) == expected
