"""The same load comes to the same objects, phases and conditions as on upstream's control plane.

Upstream's side has kube-apiserver, kube-controller-manager, kube-scheduler and kwok; ours is
podwright alone, or with one of these components in the place of its own.
"""

from __future__ import annotations

from collections import Counter
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
from tests.e2e_real.normalizations import KUBELET, NORMALIZATIONS, differences

pytestmark = pytest.mark.e2e


def alone(*_):
    return nullcontext()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("upstream")
    with upstream(folder, has_service_accounts=True) as kubeconfig, kwok(folder, kubeconfig):
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
def test_a_load_comes_to_the_same(tmp_path, expected, options, component, record_property):
    with embedded(tmp_path, *options) as kubeconfig, component(tmp_path, kubeconfig):
        found = run_load(kubeconfig)
        assert not overcommitted(kubeconfig)
    counts: Counter[str] = Counter()
    without = {KUBELET} if component is kwok else set()
    assert differences(found, expected, counts, without=without) == []
    for name in NORMALIZATIONS.keys() - without:
        record_property(name, counts[name])
    if component is alone:  # the table is that of all comparisons; this one needs it most
        assert counts[KUBELET]
