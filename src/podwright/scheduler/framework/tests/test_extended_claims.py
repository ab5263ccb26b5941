"""The requests of the claim for extended resources, and which of them a container uses.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go,
createRequestsAndMappings
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import DeviceClassIndex
from podwright.scheduler.framework.extended_resources.extended_claims import (
    claim_for_node,
    extended_requests,
    in_memory_claim,
    is_in_memory,
)

GPU, NET, PLAIN = "example.com/gpu", "deviceclass.resource.kubernetes.io/net", "example.com/plain"


def classes() -> DeviceClassIndex:
    index = DeviceClassIndex()
    for name, spec in (("gpus", {"extendedResourceName": GPU}), ("net", {})):
        document = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "spec": spec}
        index.put(decode(document | {"metadata": {"name": name}}))
    return index


def container(name: str, **requests: int | str) -> dict[str, Any]:
    names = {"gpu": GPU, "net": NET, "plain": PLAIN}
    written = {names.get(key, key): str(amount) for key, amount in requests.items()}
    return {"name": name, "image": "i", "resources": {"requests": written}}


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **spec: Any) -> Pod:
    return decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web", "namespace": "default", "uid": "u"},
            "spec": {"containers": list(containers), "initContainers": list(init), **spec},
        }
    )


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("made", "requests", "mappings"),
    [
        pytest.param(
            pod(container("a", cpu=1, gpu=2)),
            [("container-0-request-1", "gpus", 2)],
            [("a", GPU, "container-0-request-1")],
            id="numbered by the place among the container's requests",
        ),
        pytest.param(pod(container("a", plain=2)), [], [], id="no class backs it"),
        pytest.param(
            pod(container("a", gpu="9223372036854775E3")),
            [("container-0-request-0", "gpus", 9_223_372_036_854_775_000)],
            [("a", GPU, "container-0-request-0")],
            id="as many as an integer of 64 bits can say",
        ),
        pytest.param(pod(container("a", gpu="9223372036854776E3")), [], [], id="more than that"),
        pytest.param(pod(container("a", gpu=10**18)), [], [], id="a number of 19 digits"),
        pytest.param(
            pod(container("a", net=1)),
            [("container-0-request-0", "net", 1)],
            [("a", NET, "container-0-request-0")],
            id="the class is in its name",
        ),
        pytest.param(
            pod(container("a", gpu=1, net=3), container("b", gpu=2)),
            [
                ("container-0-request-0", "net", 3),
                ("container-0-request-1", "gpus", 1),
                ("container-1-request-0", "gpus", 2),
            ],
            [
                ("a", NET, "container-0-request-0"),
                ("a", GPU, "container-0-request-1"),
                ("b", GPU, "container-1-request-0"),
            ],
            id="each container has its own, sorted by name",
        ),
        pytest.param(
            pod(container("a", gpu=2), init=(container("i", gpu=1),)),
            [("container-1-request-0", "gpus", 2)],
            [("a", GPU, "container-1-request-0"), ("i", GPU, "container-1-request-0")],
            id="an init container uses the devices of a later one",
        ),
        pytest.param(
            pod(container("a", gpu=2), init=(container("i", gpu=2),)),
            [("container-1-request-0", "gpus", 2)],
            [("a", GPU, "container-1-request-0"), ("i", GPU, "container-1-request-0")],
            id="exactly as many",
        ),
        pytest.param(
            pod(container("a", gpu=2), init=(container("i", gpu=5),)),
            [("container-0-request-0", "gpus", 3), ("container-1-request-0", "gpus", 2)],
            [
                ("a", GPU, "container-1-request-0"),
                ("i", GPU, "container-1-request-0"),
                ("i", GPU, "container-0-request-0"),
            ],
            id="and requests the rest",
        ),
        pytest.param(
            pod(container("a"), init=(container("i", gpu=3), container("j", cpu=1, gpu=4))),
            [("container-1-request-1", "gpus", 4)],
            [("i", GPU, "container-1-request-1"), ("j", GPU, "container-1-request-1")],
            id="the largest of several init containers serves all",
        ),
        pytest.param(
            pod(container("a"), init=(container("i", gpu=4), container("j", gpu=4))),
            [("container-0-request-0", "gpus", 4)],
            [("i", GPU, "container-0-request-0"), ("j", GPU, "container-0-request-0")],
            id="the first of equal ones",
        ),
        pytest.param(
            pod(container("a", gpu=1), init=(container("s", gpu=2) | SIDECAR,)),
            [("container-0-request-0", "gpus", 2), ("container-1-request-0", "gpus", 1)],
            [("s", GPU, "container-0-request-0"), ("a", GPU, "container-1-request-0")],
            id="a sidecar keeps its own",
        ),
        pytest.param(
            pod(
                container("a"), init=(container("s", gpu=2) | SIDECAR, container("i", gpu=1))
            ),
            [("container-0-request-0", "gpus", 2), ("container-1-request-0", "gpus", 1)],
            [("s", GPU, "container-0-request-0"), ("i", GPU, "container-1-request-0")],
            id="an init container cannot use those of an earlier sidecar",
        ),
        pytest.param(pod(container("a", gpu=0)), [], [], id="none"),
        pytest.param(pod(container("a", gpu="1500m")), [], [], id="a part of a device"),
        pytest.param(
            pod(container("a", gpu=2), container("b", gpu="100E")),
            [("container-0-request-0", "gpus", 2)],
            [("a", GPU, "container-0-request-0")],
            id="more than an int64 holds",
        ),
        pytest.param(
            pod(container("a", gpu="12345678901234567890")), [], [], id="likewise, in digits"
        ),
    ],
)  # fmt: skip
def test_requests_and_mappings(
    made: Pod, requests: list[tuple[str, str, int]], mappings: list[tuple[str, str, str]]
) -> None:
    found = claim_for_node(in_memory_claim(made), made, {NET, GPU, PLAIN}, classes())
    written = []
    for request in found.claim.spec.devices.requests:
        exactly = request.exactly
        assert exactly is not None
        assert exactly.allocation_mode == "ExactCount"
        written.append((request.name, exactly.device_class_name, exactly.count))
    assert written == requests
    assert [tuple(mapping) for mapping in found.mappings] == mappings


def test_only_resources_that_the_node_has_through_classes_are_requested() -> None:
    made = pod(container("a", gpu=1, net=1))
    found = claim_for_node(in_memory_claim(made), made, {NET}, classes())
    assert [mapping.resource for mapping in found.mappings] == [NET]


def test_a_claim_that_is_not_written_belongs_to_its_pod() -> None:
    claim = in_memory_claim(pod(container("a", gpu=1)))
    assert is_in_memory(claim)
    assert claim.metadata.namespace == "default"
    assert claim.metadata.uid.endswith(" u")
    assert claim.metadata.generate_name == "web-extended-resources-"
    assert claim.metadata.annotations == {"resource.kubernetes.io/extended-resource-claim": "true"}
    (owner,) = claim.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Pod", "web", "u", True)


@pytest.mark.parametrize(
    ("made", "names"),
    [
        pytest.param(pod(container("a", cpu=1, memory=1)), (), id="native ones only"),
        pytest.param(
            pod(container("a", gpu=1), container("b", net=1)), (NET, GPU), id="of all containers"
        ),
        pytest.param(pod(container("a"), init=(container("i", gpu=0),)), (GPU,), id="and init"),
        pytest.param(pod(container("a"), overhead={GPU: "1"}), (GPU,), id="of the overhead"),
        pytest.param(
            pod(container("a"), resources={"requests": {GPU: "1"}}), (GPU,), id="of the pod"
        ),
        pytest.param(
            pod(container("a", **{"kubernetes.io/x": 1, "requests.example.com/y": 1})),
            (),
            id="names that no extended resource may have",
        ),
    ],
)
def test_extended_resources_of_a_pod(made: Pod, names: tuple[str, ...]) -> None:
    assert extended_requests(made) == names
