"""Names of pods and workloads that a user misspells, or gives in another order."""

from __future__ import annotations

from pathlib import Path

import pytest

from podwright.apimachinery.objects import InputError
from podwright.cli.workloads import find_pods, reject_swapped
from podwright.scheduler.assembly import UnknownPod
from podwright.testing import make_pod


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param("deploymnt/web", "did you mean deployment/web?", id="a misspelt kind"),
        pytest.param("shap/web-0", "did you mean shop/web-0?", id="a misspelt namespace"),
        pytest.param("pods/web", "did you mean shop/web-0?", id="the kind of pods"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(text, hint):
    with pytest.raises(UnknownPod) as raised:
        find_pods(text, [make_pod("web-0", namespace="shop")], [])
    assert str(raised.value).endswith(hint)


def test_a_file_in_place_of_the_pod_is_not_looked_for_in_a_cluster(tmp_path: Path):
    file = tmp_path / "web.yaml"
    file.touch()
    with pytest.raises(InputError, match="name the pod before it: podwright explain POD"):
        reject_swapped(str(file), [])
    reject_swapped("deployment/web", [])  # of the current context
