"""stats --cost and pages: what tokens cost, by which prices; what is not known stays unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitcp.agents import transcripts
from gitcp.errors import InputError
from gitcp.lines import costs
from gitcp.lines.prices import list_price
from tests.support.harness import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.record_types import Usage

TABLE = """\
[prices]
	date = 2026-11-01
	currency = EUR
[model "claude-*-5"]
	input = 3
	output = 15
	cache-read = 0.3
	cache-write = 3.75
[model "*"]
	input = 1
"""
VALUES = [
    ("model.claude-*-5.input", "3"),
    ("model.claude-*-5.output", "15"),
    ("model.*.input", "1"),
]


@pytest.mark.parametrize(
    ("model", "used", "amount"),
    [
        ("claude-opus-5", transcripts.make_usage(1_000_000, 0, 0, 100_000, 1), 4.5),
        ("claude-opus-5", transcripts.make_usage(0, 0, 7, 0, 1), None),
        ("claude-opus-4", transcripts.make_usage(500_000, 0, 0, 0, 1), 0.5),
        ("gpt", transcripts.make_usage(1, 0, 0, 1, 1), None),
        ("gpt", transcripts.make_usage(), 0),
    ],
)
def test_the_first_pattern_of_a_model_prices_its_tokens_or_nothing_does(
    model: str, used: Usage, amount: float | None
) -> None:
    table, currency, date = costs.read_table(VALUES)
    assert (currency, date) == ("USD", "")
    assert costs.build_cost(table)(model, used) == amount


def test_tokens_of_subagents_cost_too_and_those_without_a_price_are_counted() -> None:
    cost = costs.build_cost({"a": {"input": 1.0}})
    used = {
        **transcripts.make_usage(1_000_000),
        "subagent_tokens": transcripts.make_usage(1_000_000),
    }
    assert costs.sum_costs([("a", used), ("", used), ("b", used)], cost) == (2.0, 4_000_000)  # type: ignore[list-item]
    assert costs.sum_costs([("b", transcripts.make_usage(5))], cost) == (None, 5)


def test_a_price_that_is_no_number_is_named() -> None:
    with pytest.raises(InputError, match=r"'model.a.input' is not a price: 'cheap'"):
        costs.read_table([("model.a.input", "cheap")])


def test_list_prices_are_those_of_the_package_and_an_unknown_model_has_none() -> None:
    used = transcripts.make_usage(1_000_000, 0, 0, 0, 10)
    assert list_price("claude-sonnet-4-5", used) == pytest.approx(3)
    assert list_price(
        "claude-sonnet-4-5", transcripts.make_usage(0, 0, 1_000_000, 0, 10)
    ) == pytest.approx(0.3)
    assert list_price("nobody-s-model", used) is None


@pytest.fixture
def spent(world: World) -> World:
    """Two linked commits: of a session whose model the table has, and of one with two models."""
    for name, models in (("1", ["claude-opus-5"]), ("2", ["claude-opus-5", "other"])):
        agent = world.agent(f"{name * 8}-aaaa-4a87-9186-848bdd83d62e")
        for number, model in enumerate(models):
            agent.prompt(f"write {name}")
            agent.write(f"{name}{number}.txt", "1\n")
            usage = {"input_tokens": 1_000_000, "output_tokens": 100_000}
            answer = {"id": f"msg_{name}{number}", "role": "assistant", "usage": usage}
            agent.say({"type": "assistant", "message": {**answer, "model": model, "content": []}})
            agent.stop()
        world.commit(*(f"{name}{number}.txt" for number in range(len(models))))
    return world


def test_what_a_range_cost_is_told_with_the_prices_and_what_has_none(
    spent: World, tmp_path: Path
) -> None:
    assert " USD by genai-prices " in spent.gitcp("stats", "--cost", "HEAD~2..HEAD")
    (tmp_path / "prices").write_text(TABLE)
    spent.git("config", "gitcp.prices", str(tmp_path / "prices"))
    text = spent.gitcp("stats", "--cost", "HEAD~2..HEAD")
    assert "4.50 EUR by 'prices' of 2026-11-01; 2.2M tokens have no price" in text
    cost = json.loads(spent.gitcp("stats", "--cost", "--json", "HEAD~2..HEAD"))["cost"]
    assert (round(cost["amount"], 2), cost["currency"]) == (4.5, "EUR")
    assert cost["unpriced_tokens"] > 2_200_000
    amounts = {row["model"]: row["amount"] for row in cost["models"]}
    assert amounts == {"": None, "claude-opus-5": cost["amount"]}
    assert "4.50 EUR by 'prices'" in spent.gitcp("stats", "--cost", "--markdown", "HEAD~2..HEAD")
    assert "cost" not in json.loads(spent.gitcp("stats", "--json", "HEAD"))
    (tmp_path / "prices").write_text("[model\n")
    with pytest.raises(AssertionError, match="cannot read the prices in '"):
        spent.gitcp("stats", "--cost", "HEAD~2..HEAD")
