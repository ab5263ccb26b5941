"""Dry runs of pods with volumes: sums suffice as long as no node could become full of volumes."""

from __future__ import annotations

from random import Random

import pytest

from podwright.apimachinery.objects import Object, Pod
from podwright.scheduler.columns.tests.storage_objects import claim, csi_node, using, volume
from podwright.scheduler.preemption.sums import dry_run
from podwright.scheduler.preemption.tests.situations import cluster_of, failed_cycle, node, pod

NODES = ("n0", "n1", "n2", "n3")


def disk(name: str) -> list[Object]:
    """Return a volume of a CSI driver, and the claim that is bound to it."""
    source = {"driver": "csi.x", "volumeHandle": name}
    return [volume(f"v-{name}", claim=name, csi=source), claim(name, bound_to=f"v-{name}")]


def situation(seed: int, limits: tuple[int | None, ...]) -> tuple[list[Object], Pod]:
    """Return full nodes, of which some have limits, and a pod with one to three volumes."""
    draw = Random(seed)
    names = [f"d{number}" for number in range(6)]
    objects = [each for name in names for each in disk(name)]
    for name in NODES:
        objects.append(node(name))
        count = draw.choice(limits)
        if count is not None:
            objects.append(csi_node(name, csi_x=count))
        for number in range(2):
            disks = draw.sample(names, draw.choice([0, 1, 1, 2]))
            priority = draw.choice([0, 1, 20])
            volumes = using(*disks)
            placed = pod(f"{name}-{number}", on=name, priority=priority, volumes=volumes)
            objects.append(placed)
    for number in range(draw.choice([0, 0, 1, 2])):
        disks = draw.sample(names, draw.choice([0, 1, 2]))
        there = draw.choice(NODES)
        volumes = using(*disks)
        objects.append(pod(f"w{number}", "100m", priority=10, nominated=there, volumes=volumes))
    volumes = using(*draw.sample(names, draw.choice([1, 2, 3])))
    return objects, pod("high", priority=10, volumes=volumes)


@pytest.mark.parametrize(
    ("limits", "sums"),
    [
        pytest.param((None,), {True}, id="no limits"),
        pytest.param((None, 40), {True}, id="limits that are far away"),
        pytest.param((None, 1, 2, 3, 4, 5), {True, False}, id="limits that are near"),
        pytest.param((0, 1), {False}, id="full nodes"),
    ],
)
def test_sums_and_filters_find_the_same(limits, sums):
    used = set()
    for seed in range(60):
        objects, preemptor = situation(seed, limits)
        failed = failed_cycle(preemptor, cluster_of(*objects))
        used.add(failed.sum_filters() is not None)
        found, plain = dry_run(failed), dry_run(failed, use_sums=False)
        assert list(found.candidates) == list(plain.candidates), seed
        assert found.rejections == plain.rejections, seed
        assert found.visited_count == plain.visited_count, seed
    assert used == sums


def test_a_volume_that_does_not_exist_does_not_depend_on_pods():
    objects, _ = situation(0, (3,))
    failed = failed_cycle(pod("high", priority=10, volumes=using("lost")), cluster_of(*objects))
    assert dry_run(failed).candidates == dry_run(failed, use_sums=False).candidates


@pytest.mark.parametrize(
    ("count", "victim", "uses_sums"), [(3, "with-volume", False), (4, "without", True)]
)
def test_volumes_of_nominated_pods_count(count, victim, uses_sums):
    cluster = cluster_of(
        *[each for name in "abcd" for each in disk(name)],
        node("n0"),
        csi_node("n0", csi_x=count),
        pod("with-volume", on="n0", priority=1, volumes=using("a")),
        pod("without", on="n0"),
        pod("waiting", "50m", priority=10, nominated="n0", volumes=using("b", "c")),
    )
    preemptor = pod("high", "900m", priority=10, volumes=using("d"))
    failed = failed_cycle(preemptor, cluster)
    assert (failed.sum_filters() is not None) == uses_sums
    (candidate,) = dry_run(failed).candidates
    assert [each.name for each in candidate.victims] == [victim]
