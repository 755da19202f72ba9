"""Draw points, plans and the undo log: the lines of `rewind`, `undo` and `redo`."""

from __future__ import annotations

from gitcp.steps.back import plan
from gitcp.steps.back.point import describe_lacking, shorten_names
from gitcp.terminal.rows import ID, INDENT, NO_LIMIT, WHEN, ScreenRow, draw_row
from gitcp.text import prompt_text
from gitcp.text.spans import count_cells, count_noun, join_words, pad, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitcp.steps.back.plan import Plan
    from gitcp.steps.back.point import Point
    from gitcp.steps.step import Step
    from gitcp.steps.undo_tree import UndoTree
    from gitcp.text.spans import Ago, Line

_COLOURS = {plan.CREATE: "green", plan.MODIFY: "yellow", plan.DELETE: "red", plan.KEEP: "dim"}
_VERBS = {plan.MODIFY: "change"}  # as a person says it
_AFTER = ("temporary", "archived")  # kinds of points at the end of a turn
_UNCHANGED = 20  # paths that stay that a plan names
_MOVED = ("undo of ", "redo of ")  # what these say stands below a plan
_PATH = 24  # cells of a path before its reason, if it is short


def build_point_row(point: Point, name: str, agents: Mapping[str, str], ago: Ago) -> ScreenRow:
    """The row of a point: a prompt with its agent, or one call of it.  name: '' for no column of
    ids.  agents: session id -> the name of its client."""
    facts = ["gone" if point.gone else ""]
    facts.append(describe_lacking(point.kind, point.lacking))
    if point.kind == "archived":
        facts.append("set aside")
    is_call = point.kind == "tool"
    if is_call:
        who = ""
    else:
        who = agents.get(point.session_id, "")
    text = describe_point(point)
    return ScreenRow(
        name,
        ago(point.time),
        who,
        f"{INDENT}{text}" if is_call else text,
        ", ".join(filter(None, facts)),
        has_id=bool(name),
    )


def describe_point(point: Point) -> str:
    """What one goes back to before, on one line: a prompt, a call; the end of a prompt's turn."""
    asked = prompt_text.read_first_line(point.session_prompt)
    if asked and point.kind in _AFTER:
        return f"after > {asked}"
    if asked and point.kind == "prompt":
        return f"> {asked}"
    return join_words(point.message.removeprefix("before "))


def name_moment(point: Point) -> str:
    """The moment of a point, on one line: `before > Add a test`."""
    text = describe_point(point)
    if text.startswith("after "):
        return text
    return f"before {text}"


def draw_points(
    listed: Sequence[Point], agents: Mapping[str, str], ago: Ago, width: int = NO_LIMIT
) -> Iterator[Line]:
    """All points, a row each, and how to go to one."""
    names = shorten_names(listed)
    for point in listed:
        yield draw_row(build_point_row(point, names[point.id], agents, ago), width)
    if listed:
        example = names[listed[0].id]
        hint = f"'gitcp rewind -n --to {example}' shows what going back there would change"
        yield [(hint, "dim")]


def format_effect(changes: Mapping[str, int]) -> str:
    """Counts of a plan's verbs: `creates 1, changes 2, deletes 1`, `no change`."""
    verbs = {plan.CREATE: "creates", plan.MODIFY: "changes", plan.DELETE: "deletes"}
    return ", ".join(f"{w} {changes[v]}" for v, w in verbs.items() if changes[v]) or "no change"


def format_would(changes: Mapping[str, int]) -> str:
    """What a plan would do: `this would change 1 file, delete 2`."""
    verbs = {plan.CREATE: "create", plan.MODIFY: "change", plan.DELETE: "delete"}
    counts = [(word, changes[verb]) for verb, word in verbs.items() if changes[verb]]
    if not counts:
        return "this would change nothing"
    word, count = counts[0]
    others = [f"{word} {count}" for word, count in counts[1:]]
    return ", ".join([f"this would {word} {count_noun(count, 'file')}", *others])


def draw_plan(planned: Plan) -> Iterator[Line]:
    """A plan: each path with the reason; paths that stay come last."""
    changes = [action for action in planned.actions if action.verb != plan.KEEP]
    unchanged = [action for action in planned.actions if action.verb == plan.KEEP]
    shown = [*changes, *unchanged[:_UNCHANGED]]
    size = min(_PATH, max((count_cells(action.path) for action in shown), default=0))
    for action in shown:
        word = _VERBS.get(action.verb, action.verb)
        path = action.path
        if count_cells(path) < size:
            path = pad(path, size)
        line = [(f"{word:<7} ", _COLOURS[action.verb]), (path, "")]
        reason = action.reason
        if not reason.startswith(_MOVED):
            line.append((f"  {reason}", "dim"))
        yield line
    if len(unchanged) > _UNCHANGED:
        counted = count_noun(len(unchanged) - _UNCHANGED, "more path")
        yield [(f"keep    {counted}", "dim")]
    for note in planned.notes:
        yield [("note: ", "cyan"), (note, "")]
    for conflict in planned.conflicts:
        yield [("conflict ", "red"), (conflict.path, ""), (f"  {conflict.reason}", "dim")]


def draw_undo_log(
    tree: UndoTree,
    changes: Mapping[str, str],
    points: Mapping[str, str],
    ago: Ago,
    width: int = NO_LIMIT,
) -> Iterator[Line]:
    """The undo log, newest first: the steps in force, and those that were undone; below each what
    it changed.

    changes: id of a step -> what it changed, '' for nothing to say.  points: id -> name_moment()
    of it."""
    undoings = tree.map_undoings()
    start = ID + 2 + WHEN + 2
    for step in reversed(list(tree.steps.values())):
        is_undone = step.id not in tree.in_force
        text = describe_step(step)
        if step.point in points:
            text = f"went back to {points[step.point]}"
        if width != NO_LIMIT:
            text = shorten(text, max(1, width - start))
        colour = ""
        if is_undone:
            colour = "dim"
        name = step.id[:ID].ljust(ID)
        when = pad(ago(step.time), WHEN)
        yield [(name, "yellow"), ("  ", ""), (when, "dim"), ("  ", ""), (text, colour)]
        facts = [changes[step.id]]
        if is_undone:
            facts.append(_describe_undoing(tree, step, undoings.get(step.id), ago))
        below = "; ".join(filter(None, facts))
        if width != NO_LIMIT:
            below = shorten(below, max(1, width - start))
        if below:
            yield [(" " * start, ""), (below, "dim")]


def _describe_undoing(tree: UndoTree, step: Step, undoing: Step | None, ago: Ago) -> str:
    """That a step was undone, and how to take it again: `undone 2m ago: 'gitcp redo' repeats
    it`."""
    text = "undone"
    if undoing:
        text = f"undone {ago(undoing.time)}"
    next_step = tree.find_next_to_redo()
    if next_step == step:
        return f"{text}: 'gitcp redo' repeats it"
    if tree.can_redo(step):
        return f"{text}: 'gitcp redo {step.id[:ID]}' repeats it"
    return text


def describe_step(step: Step) -> str:
    """What a step did, on one line: `rewind: to 61ee289d`."""
    return join_words(step.describe())


def draw_moved_steps(
    word: str, steps: Sequence[Step], notes: Sequence[str], ago: Ago
) -> Iterator[Line]:
    """What undo and redo are about to move, the word being one of these.  notes: sentences about
    that."""
    for step in steps:
        yield [
            (f"{word} ", "yellow"),
            (describe_step(step), ""),
            (f"  {ago(step.time)}", "dim"),
        ]
    for note in notes:
        yield [("note: ", "cyan"), (note, "")]
