"""The devices of nodes: what pods request of them, which they get, and what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import podwright as pw
from podwright.simulation.studies.gpu_devices import (
    NO_DEVICE,
    NO_GPUS,
    GpuDevices,
    GpuRequest,
    gpu_request,
    least_sufficient,
    requested_milli_cpu,
)
from podwright.simulation.studies.tests.test_fgd import gpu_node, gpu_pod

COUNT, MILLI, MODEL = (
    f"alibabacloud.com/gpu-{name}" for name in ("count", "milli", "card-model")
)  # fmt: skip


def pod_of(annotations: dict[str, str]) -> pw.Pod:
    return pw.testing.make_pod("a", cpu="250m", annotations=annotations)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, NO_GPUS),
        ({MILLI: "500"}, NO_GPUS),
        ({COUNT: "1"}, NO_GPUS),
        ({COUNT: "1", MILLI: "500"}, GpuRequest(500, 1, ())),
        ({COUNT: "4", MILLI: "1000"}, GpuRequest(1000, 4, ())),
        ({COUNT: "1", MILLI: "1001"}, GpuRequest(1000, 1, ())),
        ({COUNT: "0", MILLI: "500"}, NO_GPUS),
        ({COUNT: "1", MILLI: "0"}, NO_GPUS),
        ({COUNT: "one", MILLI: "500"}, NO_GPUS),
        ({COUNT: "1", MILLI: "-5"}, NO_GPUS),
        ({COUNT: "1", MILLI: "\u0665"}, NO_GPUS),
        ({COUNT: "1", MILLI: "9", MODEL: "T4"}, GpuRequest(9, 1, ("T4",))),
        ({COUNT: "1", MILLI: "9", MODEL: "T4|V100"}, GpuRequest(9, 1, ("T4", "V100"))),
        ({COUNT: "1", MILLI: "9", MODEL: ""}, GpuRequest(9, 1, ())),
    ],
)
def test_a_request_is_read_from_annotations(annotations, expected):
    pod = pod_of(annotations)
    assert gpu_request(pod) == expected
    assert requested_milli_cpu(pod) == 250
    assert requested_milli_cpu(pw.testing.make_pod("none")) == 0


@pytest.mark.parametrize(
    ("milli", "devices", "is_share", "total", "tag"),
    [
        (0, 0, False, 0, 0),
        (999, 1, True, 999, 1),
        (1000, 1, False, 1000, 2),
        (500, 2, False, 1000, 4),
        (1000, 3, False, 3000, 8),
    ],
)
def test_a_kind_of_request_has_a_total_and_a_bit(milli, devices, is_share, total, tag):
    request = GpuRequest(milli, devices, ())
    assert (request.is_share, request.total_milli, request.tag) == (is_share, total, tag)


@pytest.mark.parametrize(
    ("left", "milli", "devices", "expected"),
    [
        ([1000, 400, 300, 300], 300, 1, [2]),
        ([1000, 400, 300, 300], 300, 2, [2, 3]),
        ([1000, 400, 300, 300], 301, 2, [1, 0]),
        ([1000, 1000, 1000, -1], 1000, 2, [0, 1]),
        ([1000, 400, 300, 300], 401, 2, [0]),
        ([100, -1, -1, -1], 101, 1, []),
    ],
)
def test_the_devices_with_the_least_that_suffices_are_taken(left, milli, devices, expected):
    assert least_sufficient(np.array(left), GpuRequest(milli, devices, ())) == expected


def cluster_with(*objects: Any) -> Any:
    scheduler = pw.Scheduler()
    scheduler.add(*objects)
    return scheduler


def left_on(
    devices: GpuDevices, scheduler: Any, name: str, **options: Any
) -> tuple[list[int], int]:
    slot = scheduler.cluster.nodes.slot_of[name]
    left, tags = devices.left_of(scheduler.cluster, slot, **options)
    return left[left != NO_DEVICE].tolist(), tags


@pytest.mark.parametrize(
    ("index", "milli", "count", "expected"),
    [
        pytest.param("1", 600, 1, ([1000, 400, 1000], 1), id="named"),
        pytest.param("0-2", 1000, 2, ([0, 1000, 0], 4), id="several"),
        pytest.param("2-x--9-\u0661", 1000, 1, ([1000, 1000, 0], 2), id="only those that exist"),
        pytest.param("3", 1000, 1, ([1000, 1000, 1000], 2), id="a device that the node lacks"),
        pytest.param("", 700, 1, ([300, 1000, 1000], 1), id="unnamed: those with the least"),
        pytest.param("", 1000, 2, ([0, 0, 1000], 4), id="unnamed: several"),
    ],
)
def test_a_placed_pod_takes_the_devices_that_it_names(index, milli, count, expected):
    pod = gpu_pod("a", milli=milli, devices=count, index=index, node="n")
    plain = pw.testing.make_pod("plain", node="n")
    scheduler = cluster_with(gpu_node("n", 3), gpu_node("m", 2), pod, plain)
    devices = GpuDevices()
    assert left_on(devices, scheduler, "n") == expected
    assert left_on(devices, scheduler, "n", without=pod.uid) == ([1000] * 3, 0)
    assert left_on(devices, scheduler, "m") == ([1000] * 2, 0)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(600, 600, ([1000, -200, 1000], 1), id="shares"),
        pytest.param(1000, 300, ([1000, -300, 1000], 1 | 2), id="a whole device and a share"),
        pytest.param(1000, 1000, ([1000, -1000, 1000], 2), id="twice"),
    ],
)
def test_two_pods_that_name_one_device_both_count(first, second, expected):
    pods = (gpu_pod(n, milli=m, index="1", node="n") for n, m in (("a", first), ("b", second)))
    scheduler = cluster_with(gpu_node("n", 3), *pods)
    assert left_on(GpuDevices(), scheduler, "n") == expected


def test_devices_that_were_assigned_count_until_the_pod_names_its_own():
    pod = gpu_pod("a", milli=600, node="n")
    scheduler = cluster_with(gpu_node("n", 3), pod)
    devices = GpuDevices()

    def unwritten() -> bool:
        return devices.has_unwritten

    assert unwritten() is False
    devices.assign(pod, [2])
    assert unwritten() is True
    assert left_on(devices, scheduler, "n") == ([1000, 1000, 400], 1)
    devices.release(pod)
    assert unwritten() is False
    assert left_on(devices, scheduler, "n") == ([400, 1000, 1000], 1)
    devices.release(pod)  # once more has no effect
    devices.assign(pod, [2])
    named = cluster_with(gpu_node("n", 3), gpu_pod("a", milli=600, index="1", node="n"))
    assert left_on(devices, named, "n") == ([1000, 400, 1000], 1)
    assert not devices.has_unwritten


def test_only_slots_that_changed_are_counted_again():
    scheduler = cluster_with(gpu_node("a", 2), gpu_node("b", 10))
    devices = GpuDevices()
    devices.bring_up_to_date(scheduler.cluster)
    assert devices.left.shape == (2, 10)
    assert devices.left[0].tolist() == [1000] * 2 + [NO_DEVICE] * 8
    assert (devices.versions.tolist(), devices.tags.tolist()) == ([1, 1], [0, 0])
    devices.bring_up_to_date(scheduler.cluster)
    assert devices.versions.tolist() == [1, 1]
    pod = gpu_pod("p", milli=300, index="1", node="a")
    scheduler.add(pod)
    devices.bring_up_to_date(scheduler.cluster)
    assert (devices.versions.tolist(), devices.tags.tolist()) == ([2, 1], [1, 0])
    assert devices.left[0, :3].tolist() == [1000, 700, NO_DEVICE]
    scheduler.remove(pod)
    scheduler.add(gpu_node("c", 1))
    devices.bring_up_to_date(scheduler.cluster)
    assert devices.left.shape == (3, 10)
    assert (devices.versions.tolist(), devices.tags.tolist()) == ([3, 1, 1], [0, 0, 0])
    assert devices.left[:, :2].tolist() == [[1000, 1000], [1000, 1000], [1000, NO_DEVICE]]


def test_there_is_room_for_eight_devices_of_each_node():
    scheduler = cluster_with(gpu_node("a", 2))
    devices = GpuDevices()
    devices.bring_up_to_date(scheduler.cluster)
    assert devices.left.tolist() == [[1000] * 2 + [NO_DEVICE] * 6]
    for name, count, width in (("b", 8, 8), ("c", 9, 9), ("d", 8, 9)):
        scheduler.add(gpu_node(name, count))
        devices.bring_up_to_date(scheduler.cluster)
        assert devices.left[-1].tolist() == [1000] * count + [NO_DEVICE] * (width - count)


def test_every_slot_is_counted_again_after_more_changes_than_are_kept():
    scheduler = cluster_with(gpu_node("a", 2), gpu_node("b", 2))
    cluster = scheduler.cluster
    devices = GpuDevices()
    devices.bring_up_to_date(cluster)
    version = cluster.nodes.pods_journal.version
    scheduler.add(gpu_pod("p", milli=300, index="1", node="b"))
    while cluster.nodes.pods_journal.since(version) is not None:
        cluster.place(gpu_pod("moved", milli=100, index="0"), 0)
        cluster.remove("default/moved")
    devices.bring_up_to_date(cluster)
    assert devices.left[:, :2].tolist() == [[1000, 1000], [1000, 700]]
    assert devices.versions.tolist() == [2, 2]
