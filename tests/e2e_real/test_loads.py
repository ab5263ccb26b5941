"""The same load comes to the same objects, phases and conditions as on upstream's control plane.

Upstream's side has kube-apiserver, kube-controller-manager, kube-scheduler and kwok; ours is
podwright alone, or with one of these components in the place of its own.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from tests.e2e_real.cluster_processes import (
    controller_manager,
    embedded,
    kwok,
    scheduler,
    upstream,
)
from tests.e2e_real.loads import overcommitted, run_load

pytestmark = pytest.mark.e2e


def alone(*_):
    return nullcontext()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upstream")
    with upstream(folder) as kubeconfig, kwok(folder, kubeconfig):
        outcome = run_load(kubeconfig)
        assert not overcommitted(kubeconfig)
    return outcome


@pytest.mark.parametrize(
    ("options", "component"),
    [
        pytest.param((), alone, id="podwright alone"),
        pytest.param(("--no-lifecycle",), kwok, id="kwok"),
        pytest.param(("--no-controllers",), controller_manager, id="kube-controller-manager"),
        pytest.param(("--no-scheduler",), scheduler, id="kube-scheduler"),
    ],
)
def test_a_load_comes_to_the_same(tmp_path, expected, options, component):
    with embedded(tmp_path, *options) as kubeconfig, component(tmp_path, kubeconfig):
        found = run_load(kubeconfig)
        assert not overcommitted(kubeconfig)
    assert found.counts == expected.counts
    assert found.pods_as_kwok == expected.pods_as_kwok
    if component is kwok:
        assert found.pods == expected.pods
    assert found.statuses == expected.statuses
