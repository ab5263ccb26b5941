"""Typical pods and fragments, against the definition of upstream, one pod and node at a time."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from podwright.simulation.studies.fragments import TypicalPod, Workload, fragments, typical_pods


def test_kinds_are_typical_until_they_cover_the_share():
    often = TypicalPod(milli_cpu=100, gpu_milli=1000, gpu_count=1)
    less = TypicalPod(milli_cpu=200, gpu_milli=500, gpu_count=1, models="T4")
    equal = TypicalPod(milli_cpu=300)
    rare = TypicalPod(milli_cpu=1)
    # 50, 45 and 5 of 100: the first two are 95 %, so the third is left out.
    found = typical_pods([often] * 50 + [less] * 45 + [rare] * 5)
    assert [each.milli_cpu for each in found] == [100, 200]
    assert [each.frequency for each in found] == [(0.5) / 0.95, 0.45 / 0.95]
    assert msgspec.structs.replace(found[1], frequency=0.0) == less
    # 94 of 100 are too few; of equally frequent kinds the greater one comes first.
    found = typical_pods([rare] * 3 + [equal] * 3 + [often] * 94)
    assert [each.milli_cpu for each in found] == [100, 300]
    assert typical_pods([]) == ()


def test_typical_pods_are_arrays_in_their_order():
    pods = [
        TypicalPod(milli_cpu=100, gpu_milli=500, gpu_count=1, models="T4|V100", frequency=0.5),
        TypicalPod(milli_cpu=200, frequency=0.3),
        TypicalPod(milli_cpu=300, gpu_milli=500, gpu_count=2, frequency=0.2),
    ]
    found = Workload.of(pods)
    assert found.milli_cpu.tolist() == [[100], [200], [300]]
    assert found.gpu_count.tolist() == [[1], [0], [2]]
    assert found.frequency.tolist() == [[0.5], [0.3], [0.2]]
    assert found.needs_gpu.tolist() == [[True], [False], [True]]
    assert found.millis[found.milli_index].tolist() == [500, 0, 500]
    assert found.millis.tolist() == [0, 500]
    assert found.models == (("T4", "V100"), (), ())


def amount(
    pods: Sequence[TypicalPod], milli_cpu: int, left: Sequence[int], accepts: list[bool]
) -> float:
    """Return the fragment of one node.

    Upstream: pkg/utils/frag.go, `NodeGpuShareFragAmount`, `GetNodePodFrag`
    """
    free = [each for each in left if each > 0]
    found = 0.0
    for pod, is_accepted in zip(pods, accepts, strict=True):
        fitting = [each for each in free if each >= pod.gpu_milli]
        whole = sum(free)
        has_no_node = not pod.gpu_milli or not is_accepted or milli_cpu < pod.milli_cpu
        if has_no_node or len(fitting) < pod.gpu_count:
            found += pod.frequency * whole
        else:
            found += pod.frequency * (whole - sum(fitting))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_fragments_are_those_of_the_definition(seed):
    draws = random.Random(seed)
    pods = [
        TypicalPod(
            milli_cpu=draws.choice([0, 1000, 4000]),
            gpu_milli=(milli := draws.choice([0, 200, 500, 1000])),
            gpu_count=draws.randint(1, 3) if milli == 1000 else int(milli > 0),
            frequency=draws.random(),
        )
        for _ in range(draws.randint(1, 6))
    ]
    nodes = draws.randint(1, 5)
    cpu = [draws.choice([0, 1000, 3999, 4000]) for _ in range(nodes)]
    left = [[draws.choice([-1, 0, 1, 200, 499, 500, 1000]) for _ in range(4)] for _ in range(nodes)]
    accepts = [[draws.random() < 0.7 for _ in range(nodes)] for _ in pods]
    found = fragments(Workload.of(pods), np.array(cpu), np.array(left), np.array(accepts))
    expected = [
        amount(pods, cpu[node], left[node], [row[node] for row in accepts]) for node in range(nodes)
    ]
    assert found == pytest.approx(expected)
