"""Named questions, in SQL for both DuckDB and Spark."""

from __future__ import annotations

_DAY = 86400  # seconds
_SOON = 21  # days: a line removed within them is rework
_SHARES = """count(*) AS commits, CAST(sum(added) AS bigint) AS added,
  CAST(sum(agent) AS bigint) AS agent, CAST(sum(person) AS bigint) AS person,
  CAST(sum(unknown) AS bigint) AS unknown, CAST(sum(unrecorded) AS bigint) AS unrecorded,
  round(100 * CAST(sum(agent) AS double) / nullif(sum(added), 0), 1) AS agent_percent"""


def _select_survived(days: int) -> str:
    """Columns: lines added at least so many days ago, and those of them removed within the days."""
    old = f"latest - born >= {days * _DAY}"
    born, gone = f"event = 'born' AND {old}", f"event = 'gone' AND {old} AND age <= {days}"
    return f"""sum(CASE WHEN {born} THEN lines ELSE 0 END) AS born_{days},
    sum(CASE WHEN {gone} THEN lines ELSE 0 END) AS gone_{days}"""


def _select_percent(days: int) -> str:
    alive = f"greatest(born_{days} - gone_{days}, 0)"
    share = f"round(100 * CAST({alive} AS double) / nullif(born_{days}, 0), 1)"
    return f"{share} AS alive_after_{days}_days_percent"


def _select_rework(who: str) -> str:
    gone = f"event = 'gone' AND age <= {_SOON} AND taker = '{who}'"
    return f"sum(CASE WHEN {gone} THEN lines ELSE 0 END)"


# name -> (what it answers, SQL)
QUESTIONS: dict[str, tuple[str, str]] = {
    "share-by-month": (
        "whose lines were added in each month",
        f"SELECT month, {_SHARES} FROM commits WHERE NOT merge GROUP BY month ORDER BY month",
    ),
    "share-by-team": (
        "whose lines each team added",
        f"SELECT team, {_SHARES} FROM commits WHERE NOT merge GROUP BY team ORDER BY team",
    ),
    "cost-by-change": (
        "tokens and cost of each merged change, the most costly first",
        """WITH used AS (
  SELECT DISTINCT c.repository, c.change, s.checkpoint, s.session, s.input_tokens,
    s.cache_creation_tokens, s.cache_read_tokens, s.output_tokens, s.usd
  FROM commits c JOIN sessions s ON c.repository = s.repository AND c.commit = s.commit)
SELECT repository, change, count(DISTINCT session) AS sessions,
  CAST(sum(input_tokens + cache_creation_tokens + cache_read_tokens) AS bigint) AS input_tokens,
  CAST(sum(output_tokens) AS bigint) AS output_tokens, round(sum(usd), 2) AS usd
FROM used GROUP BY repository, change
ORDER BY usd DESC NULLS LAST, output_tokens DESC, repository, change""",
    ),
    "survival": (
        "how many of each model's lines are alive after 30 and 90 days",
        f"""WITH ends AS (SELECT repository, max(time) AS latest FROM commits GROUP BY repository),
sums AS (
  SELECT agent, model, sum(CASE WHEN event = 'born' THEN lines ELSE 0 END) AS born,
    {_select_survived(30)},
    {_select_survived(90)}
  FROM survival s JOIN ends ON s.repository = ends.repository GROUP BY agent, model)
SELECT agent, model, CAST(born AS bigint) AS lines, {_select_percent(30)}, {_select_percent(90)}
FROM sums ORDER BY lines DESC, agent, model""",
    ),
    "rework": (
        f"how many of the agents' lines of a month were rewritten within {_SOON} days",
        f"""WITH sums AS (
  SELECT born_month AS month, sum(CASE WHEN event = 'born' THEN lines ELSE 0 END) AS born,
    {_select_rework("agent")} AS agents, {_select_rework("person")} AS persons,
    {_select_rework("unknown")} AS others
  FROM survival GROUP BY born_month)
SELECT month, CAST(born AS bigint) AS lines, CAST(agents AS bigint) AS by_agents,
  CAST(persons AS bigint) AS by_people, CAST(others AS bigint) AS by_unknown,
  round(100 * CAST(agents + persons + others AS double) / nullif(born, 0), 1) AS percent
FROM sums ORDER BY month""",
    ),
    "busiest-files": (
        "the twenty files that most commits change, with the agents' share",
        """SELECT repository, path, count(*) AS commits, CAST(sum(added) AS bigint) AS added,
  CAST(sum(removed) AS bigint) AS removed,
  round(100 * CAST(sum(agent) AS double) / nullif(sum(added), 0), 1) AS agent_percent
FROM files GROUP BY repository, path ORDER BY commits DESC, repository, path LIMIT 20""",
    ),
}
