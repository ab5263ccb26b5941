"""DefaultPreemption: the status of PostFilter, with its prefix.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go, PostFilter
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod
from podwright.scheduler.config import DefaultPreemptionArgs, Extender
from podwright.scheduler.framework import CalledExtender, Code, PostFilterResult
from podwright.scheduler.plugins.default_preemption import DefaultPreemption
from podwright.scheduler.preemption import Limits
from podwright.scheduler.preemption.tests.situations import cluster_of, failed_cycle, node, pod

NO_VICTIMS = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
NEVER = "preemption: not eligible due to preemptionPolicy=Never."


@pytest.mark.parametrize(
    ("preemptor", "priority", "code", "nominated", "message"),
    [
        pytest.param(pod("p", "2", priority=5), 1, Code.SUCCESS, "n1", "", id="it makes room"),
        pytest.param(
            pod("p", "2", priority=5), 9, Code.UNSCHEDULABLE, "", NO_VICTIMS, id="it cannot"
        ),
        pytest.param(
            pod("p", "2", priority=5, preemptionPolicy="Never"),
            1,
            Code.UNSCHEDULABLE,
            None,
            NEVER,
            id="it may not",
        ),
    ],
)
def test_the_result(
    preemptor: Pod, priority: int, code: Code, nominated: str | None, message: str
) -> None:
    cluster = cluster_of(node("n1"), pod("there", "2", priority=priority, on="n1"))
    failed = failed_cycle(preemptor, cluster)
    result: Any = DefaultPreemption(DefaultPreemptionArgs()).post_filter(failed.cycle, failed)
    assert isinstance(result, PostFilterResult)
    assert (result.status.code, result.nominated_node, result.message) == (code, nominated, message)


def test_an_extender_that_takes_part_in_preemption_is_called() -> None:
    cluster = cluster_of(node("n1"), pod("there", "2", priority=1, on="n1"))
    failed = failed_cycle(pod("p", "2", priority=5), cluster)
    for verb, is_called in (("preempt", True), ("", False)):
        settings = Extender(url_prefix="http://e", preempt_verb=verb)
        failed.extenders = (CalledExtender(settings=settings, index=0, managed=frozenset()),)
        result = DefaultPreemption(DefaultPreemptionArgs()).post_filter(failed.cycle, failed)
        assert isinstance(result, PostFilterResult) is not is_called


@pytest.mark.parametrize(
    ("priority", "policy", "message"),
    [
        pytest.param(1, {"preemptionPolicy": "Never"}, NEVER, id="it may not"),
        pytest.param(9, {}, NO_VICTIMS, id="there is no candidate to ask about"),
    ],
)
def test_the_result_without_a_call_of_an_extender(
    priority: int, policy: dict[str, Any], message: str
) -> None:
    cluster = cluster_of(node("n1"), pod("there", "2", priority=priority, on="n1"))
    failed = failed_cycle(pod("p", "2", priority=5, **policy), cluster)
    settings = Extender(url_prefix="http://e", preempt_verb="preempt")
    failed.extenders = (CalledExtender(settings=settings, index=0, managed=frozenset()),)
    steps: Any = DefaultPreemption(DefaultPreemptionArgs()).post_filter(failed.cycle, failed)
    with pytest.raises(StopIteration) as ended:
        next(steps)
    result = ended.value.value
    assert (result.status.code, result.message) == (Code.UNSCHEDULABLE, message)


def test_the_limits_are_those_of_the_arguments() -> None:
    args = msgspec.structs.replace(
        DefaultPreemptionArgs(),
        min_candidate_nodes_percentage=20,
        min_candidate_nodes_absolute=3,
    )
    assert DefaultPreemption(args).limits == Limits(percentage=20, least=3)
