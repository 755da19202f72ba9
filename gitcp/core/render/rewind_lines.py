"""Draw points, plans and the undo log as lines."""

from __future__ import annotations

from gitcp.core.back import plan as plans
from gitcp.core.back import point_list, undo_tree
from gitcp.core.render.spans import count_cells, count_noun, join_words
from gitcp.core.render.wrapping import fit_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.core.back.plan import Plan
    from gitcp.core.back.point_list import Point
    from gitcp.core.back.undo_tree import Step
    from gitcp.core.render.spans import Ago, Line

_COLOURS = {plans.CREATE: "green", plans.MODIFY: "yellow", plans.DELETE: "red", plans.KEEP: "dim"}
_PATCH = {"+": "green", "-": "red", "@": "cyan"}
_KINDS = {
    "temporary": "",
    "archived": "archived",
    "committed": "conversation only",
    "safety": "kept by undo",
    "prompt": "before the prompt",
    "tool": "before a tool",
}
_PROMPT, _PROMPT_FIRST = 60, 20  # cells of a prompt, at most; and before other facts
_WIDEST = 10_000
_KEPT = 20  # paths that stay that a plan names


def draw_point(
    point: Point, name: str, changes: dict[str, int] | None, ago: Ago, width: int = _WIDEST
) -> Line:
    """A point on a line of at most width cells, under a name; changes: verb -> number of paths.  If
    the line is too long, the marks are left out, then the session."""
    kind, message = point["kind"], point["message"]
    facts = ["gone" if point["gone"] else "", point_list.describe_lacking(kind, point["lacking"])]
    facts += [format_effect(changes) if changes else ""]
    marks = [_format_marks([_KINDS[kind], *facts]), _format_marks(facts), ""]
    session = f"{point['session_id'][:8] or '-':<8}  "
    prompt = join_words(message if kind == "tool" else point["session_prompt"] or message)
    age = f"  {ago(point['time']):>9}  "
    room = width - count_cells(name) - count_cells(age)
    least = min(_PROMPT_FIRST, count_cells(prompt))
    forms = [(who, mark) for who in (session, "") for mark in marks]
    fitting = (form for form in forms if room - sum(map(count_cells, form)) >= least)
    who, mark = next(fitting, ("", ""))
    left = max(1, min(_PROMPT, room - count_cells(who) - count_cells(mark)))
    prompt = prompt if count_cells(prompt) <= left else prompt.removeprefix("before ")
    text = fit_words(prompt, left)
    return [(name, "yellow"), (age, "dim"), (who, "cyan"), (text, ""), (mark, "dim")]


def _format_marks(words: Iterable[str]) -> str:
    joined = ", ".join(filter(None, words))
    return f"  ({joined})" if joined else ""


def format_effect(changes: dict[str, int]) -> str:
    """Counts of a plan's verbs: `creates 1, changes 2, deletes 1`, `no change`."""
    verbs = {plans.CREATE: "creates", plans.MODIFY: "changes", plans.DELETE: "deletes"}
    return ", ".join(f"{w} {changes[v]}" for v, w in verbs.items() if changes[v]) or "no change"


def draw_plan(planned: Plan) -> Iterator[Line]:
    """A plan: each path with the reason; paths that stay come last."""
    changes = [action for action in planned["actions"] if action["verb"] != plans.KEEP]
    kept = [action for action in planned["actions"] if action["verb"] == plans.KEEP]
    for action in [*changes, *kept[:_KEPT]]:
        verb = f"{action['verb']:<7} ", _COLOURS[action["verb"]]
        yield [verb, (action["path"], ""), (f"  {action['reason']}", "dim")]
    if len(kept) > _KEPT:
        yield [(f"keep    {count_noun(len(kept) - _KEPT, 'more path')}", "dim")]
    for note in planned["notes"]:
        yield [("note: ", "cyan"), (note, "")]
    for conflict in planned["conflicts"]:
        yield [("conflict ", "red"), (conflict["path"], ""), (f"  {conflict['reason']}", "dim")]


def draw_patch(rows: Iterable[str]) -> Iterator[Line]:
    """The rows of a diff, coloured as git does."""
    for row in rows:
        head = row.startswith(("diff ", "index ", "+++ ", "--- "))
        yield [(row, "bold" if head else _PATCH.get(row[:1], ""))]


def draw_undo_log(steps: Sequence[Step], ago: Ago) -> Iterator[Line]:
    """The undo log, newest first: the steps in force, and the undone ones."""
    in_force = set(undo_tree.list_in_force(steps))
    for step in reversed(list(undo_tree.map_steps(steps).values())):
        age = f"  {ago(step['time']):>9}  ", "dim"
        text = f"{step['kind']}: {step['reason']}"
        if step["id"] in in_force:
            yield [("  ", ""), (step["id"], "yellow"), age, (text, "")]
        else:
            yield [("x ", "dim"), (step["id"], "dim"), age, (f"{text}  (undone)", "dim")]


def draw_points(
    listed: Sequence[Point], changes: Callable[[Point], dict[str, int] | None], ago: Ago
) -> Iterator[Line]:
    """All points, a line each."""
    names = name_points(listed)
    for point in listed:
        yield draw_point(point, names[point["id"]], changes(point), ago)


def name_points(listed: Iterable[Point]) -> dict[str, str]:
    """id -> the name of a point in a list; all have the same width."""
    names = point_list.shorten_names(listed)
    width = max(map(len, names.values()), default=0)
    return {point_id: f"{name:<{width}}" for point_id, name in names.items()}
