"""Reads what a scrape receives, with the parser of `prometheus_client`."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples_of(text: str) -> Samples:
    """The samples of a valid exposition. A family or a sample that appears twice is an error."""
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(set(names)) == len(names), names
    declared = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(set(declared)) == len(declared), declared
    found: Samples = {}
    for sample in (sample for family in families for sample in family.samples):
        place = (sample.name, frozenset(sample.labels.items()))
        assert place not in found, place
        found[place] = sample.value
    return found


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]
