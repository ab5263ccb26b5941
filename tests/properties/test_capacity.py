"""Capacity is what one pod after the other gives, until one does not fit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort
from tests.properties.exercised import Exercised
from tests.properties.strategies.clusters import clusters
from tests.properties.strategies.documents import pod_templates

import podwright as pw
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.preemption import Preemption
from podwright.simulation.capacity.filling import settle

pytestmark = pytest.mark.property

Document = dict[str, Any]


def one_after_the_other(
    documents: list[Document], templates: list[Document], *, preemption: bool
) -> tuple[list[dict[str, int]], Decision, int]:
    """Return the pods of each template on each node, the decision that stops, and the evictions."""
    scheduler = pw.Scheduler(SchedulerOptions(seed=7))
    scheduler.add(*map(decode, documents))
    evicted: list[str] = []

    def place(key: str) -> Decision:
        decision = scheduler.schedule(key)
        result = decision.post_filter
        if decision.node or not preemption or result is None or not result.nominated_node:
            return decision
        victims = result.details.victims if isinstance(result.details, Preemption) else ()
        for pod in victims:
            evicted.append(pod.key)
            scheduler.withdraw(pod.key)
        return scheduler.schedule(key)

    settle(scheduler, preemption=preemption)
    keys: list[list[str]] = [[] for _ in templates]
    number = 0
    while True:
        index = number % len(templates)
        template = templates[index]
        metadata = {**template["metadata"], "name": f"{template['metadata']['name']}-{number}"}
        pod = decode({**template, "metadata": metadata})
        scheduler.add(pod)
        decision = place(pod.key)
        if not decision.node:
            break
        keys[index].append(pod.key)
        number += 1
    names, placed = scheduler.cluster.nodes.names, scheduler.cluster.pods
    counts: list[dict[str, int]] = []
    for each in keys:
        found: dict[str, int] = {}
        for key in each:
            if key in placed:
                node = names[placed[key].slot]
                found[node] = found.get(node, 0) + 1
        counts.append(found)
    return counts, decision, len(evicted)


def test_capacity_is_scheduling_one_pod_after_the_other(record_property):
    exercised = Exercised()

    @effort(100)
    @given(clusters(), st.lists(pod_templates(), min_size=1, max_size=2), st.booleans())
    def capacity_is_that(
        documents: list[Document], templates: list[Document], preemption: bool
    ) -> None:
        for index, template in enumerate(templates):
            template["metadata"]["name"] = f"template-{index}"
        counts, decision, evicted = one_after_the_other(documents, templates, preemption=preemption)
        question = pw.CapacityQuestion(pods=tuple(map(decode, templates)), preemption=preemption)
        found = pw.capacity(
            map(decode, documents), question, SchedulerOptions(seed=7), expands_workloads=False
        )
        assert [each.nodes for each in found.templates] == counts
        assert found.stop is not None
        assert found.stop.message == decision.message
        assert len(found.evicted) == evicted
        exercised.count("two templates", len(templates) > 1)
        exercised.count("evictions", evicted > 0)
        exercised.count("no pod fits", found.count == 0)
        exercised.count("many pods fit", found.count > 10)

    capacity_is_that()
    exercised.at_least(
        record_property,
        {"two templates": 20, "no pod fits": 5, "many pods fit": 10},
    )
