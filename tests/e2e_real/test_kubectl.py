"""kubectl prints on the embedded cluster what it prints on upstream's control plane."""

from __future__ import annotations

import pytest
from tests.e2e_real.__main__ import outputs_of_both
from tests.e2e_real.kubectl_outputs import commands

pytestmark = pytest.mark.e2e


def test_a_session_of_kubectl_is_as_with_upstream(tmp_path):
    expected, found = outputs_of_both(tmp_path)
    assert [each.command for each in found] == [line.removeprefix("~ ") for line in commands()]
    differing = [
        f"{want.command}: {want.status} {want.lines}, here {got.status} {got.lines}"
        for want, got in zip(expected, found, strict=True)
        if want != got
    ]
    assert not differing, "\n".join(differing)
