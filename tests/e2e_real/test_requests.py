"""Generated requests get the answers that kube-apiserver gives."""

from __future__ import annotations

import pytest
from tests.real_parts.requests.compare import compare_seeds, servers, show

pytestmark = pytest.mark.e2e

SEEDS = range(9, 49)
"""None of them has a difference that docs/explanation/conformance.md lists as known."""


@pytest.mark.share
def test_generated_requests_get_the_answers_of_kube_apiserver(capsys):
    with servers() as pair:
        summary = compare_seeds(pair, SEEDS, reduces=False)
    show(summary, most=10)
    assert not summary.different, capsys.readouterr().out
    # The requests are as varied as they were: most of the usual answers are there.
    assert summary.requests > 250
    assert pair.outcomes.keys() >= {200, 201, 400, 404, 409, 422}
