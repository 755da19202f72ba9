"""No package gets harder to read than it was when its numbers were stored (density.tsv)."""

from __future__ import annotations

from tests.form.density import MEASURES, Sums, measure_packages, read_table
from tests.form.source import none


def find_average(packages: dict[str, Sums]) -> Sums:
    """All packages as one: what a new one is compared with."""
    whole = Sums()
    for sums in packages.values():
        whole.statements += sums.statements
        whole.tokens += sums.tokens
        whole.counts += sums.counts
    return whole


def test_no_package_has_more_of_what_slows_a_reader() -> None:
    """A package fails where there is more of it than there was, and more of it in 1,000 statements,
    too.  Where there is less, `python -m tests.form.density --write` stores the new numbers."""
    before = read_table()
    average = find_average(before)
    risen = []
    for package, sums in measure_packages().items():
        stored = before.get(package)
        for measure in (*MEASURES, "tokens"):
            count = sums.get_count(measure)
            rate = sums.get_rate(measure)
            old_count = stored.get_count(measure) if stored else 0
            old_rate = (stored or average).get_rate(measure)
            if count > old_count and rate > old_rate:
                was = f"{old_count} ({old_rate:.1f})"
                risen.append(f"{package}: {measure} {count} ({rate:.1f}), was {was}")
    none(risen)
