"""Generated requests get the answers that kube-apiserver gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.real_parts.requests.compare import compare_seeds, servers, show
from tests.real_parts.requests.manifests import compare_manifests
from tests.real_parts.requests.topics import topic_steps

pytestmark = pytest.mark.e2e

SEEDS = range(9, 37)
"""None of them has a difference that docs/explanation/conformance.md lists as known."""

TOPIC_SEEDS = range(56, 63)
"""One of each topic but watches, which take their time; without known differences as well."""


@pytest.mark.share
def test_generated_requests_get_the_answers_of_kube_apiserver(capsys):
    with servers() as pair:
        summary = compare_seeds(pair, SEEDS, reduces=False)
        about_topics = compare_seeds(pair, TOPIC_SEEDS, topic_steps, reduces=False)
    for each in (summary, about_topics):
        show(each, most=10)
    assert not summary.different | about_topics.different, capsys.readouterr().out
    # The requests are as varied as they were: most of the usual answers are there.
    assert summary.requests > 250
    assert about_topics.requests > 80
    assert pair.outcomes.keys() >= {200, 201, 400, 404, 409, 422}


def test_manifests_get_the_answers_of_kube_apiserver(capsys):
    root = Path(__file__).parents[2]
    summary = compare_manifests([root / "examples", root / "tests" / "e2e_real"])
    show(summary, most=10)
    assert not summary.different, capsys.readouterr().out
    assert summary.requests > 300
