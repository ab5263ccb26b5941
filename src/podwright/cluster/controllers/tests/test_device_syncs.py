"""What the controllers of devices request in one sync: claims, drivers and evictions.

Upstream: pkg/controller/resourceclaim/controller.go; pkg/controller/devicetainteviction
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from podwright.cluster.controllers.devices import (
    BindingConditionsController,
    DeviceTaintEvictionController,
    ResourceClaimController,
)
from podwright.cluster.controllers.devices.resource_claim import expand_claims
from podwright.cluster.controllers.tests.single_sync import SingleSync
from podwright.cluster.controllers.tests.staged_cluster import NOW, at, document

API = "resource.k8s.io/v1"
PROTECTION = "resource.kubernetes.io/delete-protection"
NOTE = "resource.kubernetes.io/pod-claim-name"


def a_user(name: str = "p", **changes: Any) -> dict[str, Any]:
    return {"resource": "pods", "name": name, "uid": f"{name}-uid"} | changes


def a_result(device: str = "d0", **fields: Any) -> dict[str, Any]:
    return {"request": "r", "driver": "gpu", "pool": "n", "device": device, **fields}


def a_claim(
    name: str = "c", *users: Any, results: Any = None, owner: str = "", devices: Any = (),
    allocated_at: int | None = 0, **metadata: Any,
) -> Any:  # fmt: skip
    """Return a claim; without results it is not allocated."""
    status: dict[str, Any] = {"reservedFor": list(users)} if users else {}
    if results is not None:
        status["allocation"] = {"devices": {"results": results}}
        if allocated_at is not None:
            status["allocation"]["allocationTimestamp"] = at(allocated_at)
    if devices:
        status["devices"] = list(devices)
    if owner:
        reference = {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": f"{owner}-uid"}
        metadata["ownerReferences"] = [reference | {"controller": True}]
    metadata = {"uid": f"{name}-uid", **metadata}
    return document("ResourceClaim", name, api=API, namespace="shop", metadata=metadata,
                    spec={}, status=status)  # fmt: skip


def a_pod(
    name: str = "p", *entries: Any, node: str = "", phase: str = "Pending", names: Any = None,
    status: Any = None, **metadata: Any,
) -> Any:  # fmt: skip
    """Return a pod; `names` are those of the claims that were created for its entries."""
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    spec |= {"resourceClaims": list(entries)} if entries else {}
    spec |= {"nodeName": node} if node else {}
    found = {"phase": phase, **(status or {})}
    if names is not None:
        found["resourceClaimStatuses"] = [
            {"name": entry} | ({} if claim is None else {"resourceClaimName": claim})
            for entry, claim in names.items()
        ]
    return document("Pod", name, namespace="shop", metadata={"uid": f"{name}-uid", **metadata},
                    spec=spec, status=found)  # fmt: skip


NAMED = {"name": "own", "resourceClaimName": "c"}
MADE = {"name": "made", "resourceClaimTemplateName": "t"}
TEMPLATE = document(
    "ResourceClaimTemplate", "t", api=API, namespace="shop",
    spec={"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
          "spec": {"devices": {"requests": [{"name": "r"}]}}},
)  # fmt: skip


def claims(key: str, *objects: Any) -> list[str]:
    return SingleSync(ResourceClaimController, *objects).sync(key)


def test_a_pod_gets_a_claim_for_each_template() -> None:
    (made,) = claims("pod:shop/p", TEMPLATE, a_pod("p", NAMED, MADE))
    assert json.loads(made.removeprefix("create ")) == {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {
            "generateName": "p-made-",
            "namespace": "shop",
            "annotations": {"c": "d", NOTE: "made"},
            "labels": {"a": "b"},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": "p",
                    "uid": "p-uid",
                    "controller": True,
                }
            ],
        },
        "spec": {"devices": {"requests": [{"name": "r"}]}},
    }
    own: Any = {"annotations": {NOTE: "made"}}
    named = "update Pod shop/p status: status.resourceClaimStatuses="
    statuses = json.dumps([{"name": "made", "resourceClaimName": "x"}])
    pod = a_pod("p", NAMED, MADE)
    assert claims("pod:shop/p", TEMPLATE, pod, a_claim("x", owner="p", **own)) == [named + statuses]
    known = a_pod("p", NAMED, MADE, names={"made": "x"})
    assert claims("pod:shop/p", TEMPLATE, known, a_claim("x", owner="p", **own)) == []
    going = a_claim("x", owner="p", deletionTimestamp=at(0), finalizers=["f"], **own)
    assert claims("pod:shop/p", TEMPLATE, known, going) == [], "it is replaced when it is gone"
    assert claims("pod:shop/p", TEMPLATE, a_pod("p", MADE, names={"made": None})) == []
    other = {"name": "b", "resourceClaimTemplateName": "t"}
    two = a_pod("p", other, MADE, names={"gone": None, "a": "y"})
    both = json.dumps([{"name": "a", "resourceClaimName": "y"}, *json.loads(statuses)])
    assert claims("pod:shop/p", TEMPLATE, two, a_claim("x", owner="p", **own))[-1] == named + both


@pytest.mark.parametrize(
    "pod",
    [
        a_pod("p", MADE, phase="Succeeded"),
        a_pod("p", MADE, phase="Failed", node="n"),
        a_pod("p", MADE, deletionTimestamp=at(0)),
        a_pod("p", MADE, node="n", deletionTimestamp=at(0)),
        a_pod("q", MADE),
    ],
)
def test_a_pod_that_will_not_run_gets_no_claim(pod) -> None:
    assert claims("pod:shop/p", TEMPLATE, pod) == []


def test_the_first_template_that_is_missing_ends_the_sync_of_a_pod() -> None:
    missing = {"name": "x", "resourceClaimTemplateName": "missing"}
    own: Any = {"annotations": {NOTE: "made"}}
    last = a_pod("p", MADE, missing, names={})
    assert [each.split()[0] for each in claims("pod:shop/p", TEMPLATE, last)] == [
        "create", "Warning",
    ]  # fmt: skip
    first = a_pod("p", missing, MADE, NAMED, node="n")
    found = claims("pod:shop/p", TEMPLATE, first, a_claim("c", results=[]))
    assert [each.split()[0] for each in found] == ["Warning"]
    made = a_claim("m", owner="p", **own)
    assert [each.split()[0] for each in claims("pod:shop/p", TEMPLATE, last, made)] == ["Warning"]


@pytest.mark.parametrize(
    ("pod", "entry", "expected"),
    [
        pytest.param("p" * 50, "abcde", f"{'p' * 50}-abcde-", id="57 letters"),
        pytest.param("p" * 51, "abcde", f"{'p' * 50}-abcd", id="58, each name in its proportion"),
        pytest.param("p" * 200, "e" * 50, f"{'p' * 45}-{'e' * 11}", id="far more"),
    ],
)
def test_a_long_name_of_a_claim_has_a_part_of_both_names(pod, entry, expected) -> None:
    named = {"name": entry, "resourceClaimTemplateName": "t"}
    (made,) = claims(f"pod:shop/{pod}", TEMPLATE, a_pod(pod, named))
    assert json.loads(made.removeprefix("create "))["metadata"]["generateName"] == expected


def test_a_pod_waits_for_its_template() -> None:
    bench = SingleSync(ResourceClaimController, a_pod("p", MADE), a_pod("q", MADE))
    note = (
        'PodResourceClaim made: resource claim template "t": resourceclaimtemplate.resource.k8s.io'
        ' "t" not found'
    )
    for name in "pq":
        assert bench.sync(f"pod:shop/{name}") == [
            f"Warning Pod shop/{name} FailedResourceClaimCreation by resource_claim: {note}"
        ]  # fmt: skip
    assert bench.put(TEMPLATE) == ["pod:shop/p", "pod:shop/q"]
    assert bench.put(TEMPLATE) == []
    assert bench.remove(TEMPLATE) == []


def reserved(*users: Any) -> str:
    return f"update ResourceClaim shop/c status: status.reservedFor={json.dumps(list(users))}"


MANY = [a_user(f"u{index}") for index in range(256)]


@pytest.mark.parametrize(
    ("claim", "node", "expected"),
    [
        pytest.param(a_claim(results=[]), "n", [reserved(a_user())], id="allocated"),
        pytest.param(a_claim("c", a_user("q"), results=[]), "n",
                     [reserved(a_user("q"), a_user())], id="of another one"),
        pytest.param(a_claim("c", a_user(), results=[]), "n", [], id="reserved"),
        pytest.param(a_claim(), "n", [], id="not allocated"),
        pytest.param(a_claim(results=[]), "", [], id="not bound"),
        pytest.param(a_claim("other", results=[]), "n", [], id="not there"),
        pytest.param(a_claim("c", *MANY, results=[]), "n", [], id="full"),
        pytest.param(a_claim("c", *MANY[1:], results=[]), "n", [reserved(*MANY[1:], a_user())],
                     id="nearly full"),
    ],
)  # fmt: skip
def test_a_bound_pod_reserves_its_claims(claim, node, expected) -> None:
    assert claims("pod:shop/p", claim, a_pod("p", NAMED, node=node)) == expected


def test_a_bound_pod_waits_for_its_claims() -> None:
    none = {"made": None}
    bench = SingleSync(ResourceClaimController, a_pod("p", MADE, NAMED, node="n", names=none))
    bench.sync("pod:shop/p")
    assert bench.put(a_claim()) == ["claim:shop/c", "pod:shop/p"]
    assert bench.put(a_claim(results=[])) == ["claim:shop/c"], "once"
    bench.put(a_claim("c", a_user(), a_user("q", resource="jobs"), a_user("r", apiGroup="x"),
                      results=[]))  # fmt: skip
    assert bench.put(a_claim("c", results=[])) == ["claim:shop/c", "pod:shop/p"], "it lost it"
    bench.put(a_claim("c", a_user(), results=[]))
    assert bench.remove(a_claim()) == ["pod:shop/p"]
    assert bench.put(a_claim("o", owner="p")) == ["claim:shop/o", "pod:shop/p"]
    assert bench.put(a_claim("o", owner="p")) == ["claim:shop/o"]
    assert bench.remove(a_claim("o", owner="p")) == ["pod:shop/p"]


def test_a_pod_concerns_itself_and_its_claims_when_it_ends() -> None:
    bench = SingleSync(ResourceClaimController)
    assert bench.put(a_pod("p", NAMED)) == ["pod:shop/p"]
    assert bench.put(a_pod("plain")) == []
    bench.put(a_claim("owned", owner="p"))
    extended = {"extendedResourceClaimStatus": {"resourceClaimName": "ext", "requestMappings": []}}
    ended = a_pod("p", NAMED, MADE, phase="Failed", names={"made": "x"}, status=extended)
    keys = [f"claim:shop/{name}" for name in ("c", "x", "ext", "owned")]
    assert bench.put(ended) == keys
    assert bench.remove(ended) == keys
    bench.put(a_pod("p", NAMED, node="n"))
    assert bench.put(a_pod("p", NAMED, node="n", deletionTimestamp=at(0))) == ["pod:shop/p"]
    unbound = a_pod("p", NAMED, deletionTimestamp=at(0))
    assert bench.put(unbound) == ["claim:shop/c", "claim:shop/owned"]


FREED = ("update ResourceClaim shop/c status: -status.allocation -status.reservedFor",
         "update ResourceClaim shop/c main: -metadata.finalizers")  # fmt: skip
HELD: Any = {"finalizers": [PROTECTION]}
GOING: Any = HELD | {"deletionTimestamp": at(0)}


@pytest.mark.parametrize(
    ("claim", "pods", "expected"),
    [
        pytest.param(a_claim("c", a_user(), results=[]), [a_pod()], [], id="in use"),
        pytest.param(a_claim("c", a_user(), results=[], **HELD), [], FREED, id="its pod is gone"),
        pytest.param(a_claim("c", a_user(), results=[]), [],
                     ["update ResourceClaim shop/c status: status.reservedFor=[]"],
                     id="not protected"),
        pytest.param(a_claim("c", a_user(), results=[], **HELD), [a_pod(phase="Failed")], FREED,
                     id="its pod has ended"),
        pytest.param(a_claim("c", a_user(), results=[], **HELD), [a_pod(uid="second")], FREED,
                     id="another pod of the name"),
        pytest.param(a_claim("c", a_user("q"), a_user(), results=[], **HELD), [a_pod()],
                     [reserved(a_user())], id="one of two"),
        pytest.param(a_claim("c", a_user(resource="jobs"), results=[], **HELD), [], [],
                     id="not a pod"),
        pytest.param(a_claim("c", a_user(apiGroup="x"), results=[], **HELD), [], [],
                     id="of another group"),
        pytest.param(a_claim("c", results=[], **HELD), [], [], id="allocated for no pod"),
        pytest.param(a_claim("c", results=[], **GOING), [],
                     ["update ResourceClaim shop/c status: -status.allocation", FREED[1]],
                     id="deleted"),
        pytest.param(a_claim("c", **GOING), [], FREED[1:], id="deleted before it was allocated"),
        pytest.param(a_claim("c", a_user(), results=[], **GOING), [a_pod()], [],
                     id="deleted, and in use"),
        pytest.param(a_claim("c", owner="p"), [a_pod(phase="Succeeded")],
                     ["delete ResourceClaim shop/c"], id="made for a pod that ended"),
        pytest.param(a_claim("c", owner="p"), [a_pod(uid="second")],
                     ["delete ResourceClaim shop/c"], id="made for an earlier pod"),
        pytest.param(a_claim("c", owner="p"), [a_pod()], [], id="made for a pod"),
        pytest.param(a_claim("c", owner="p"), [], [], id="the garbage collector deletes it"),
        pytest.param(a_claim("c", owner="p", **GOING), [a_pod(phase="Succeeded")], FREED[1:],
                     id="deleted already"),
        pytest.param(a_claim("c", a_user("q"), owner="p"), [a_pod(phase="Succeeded"), a_pod("q")],
                     [], id="used by another pod"),
    ],
)  # fmt: skip
def test_a_claim_is_freed_when_no_pod_uses_it(claim, pods, expected) -> None:
    assert claims("claim:shop/c", claim, *pods) == list(expected)
    assert claims("claim:shop/none", claim, *pods) == []


def test_the_claims_of_pending_pods_are_expanded() -> None:
    pods = [
        a_pod("p", MADE, NAMED), a_pod("bound", MADE, node="n"),
        a_pod("over", MADE, phase="Failed"),
        a_pod("known", MADE, names={"made": "x"}), a_pod("plain", NAMED),
        a_pod("lacks", {"name": "e", "resourceClaimTemplateName": "none"}),
        a_pod("too", {"name": "e", "resourceClaimTemplateName": "none"}),
        a_pod("has", MADE),
    ]  # fmt: skip
    own = a_claim("mine", owner="has", annotations={NOTE: "made"})
    taken = a_claim("p-made-0")
    unowned = a_claim("u", annotations={NOTE: "made"})
    found = expand_claims([TEMPLATE, own, taken, unowned, *pods])
    assert [(each.name, each.uid, each.metadata.annotations[NOTE]) for each in found.claims] == [
        ("p-made-1", "shop/p-made-1", "made")
    ]
    assert {key: pod.raw["status"]["resourceClaimStatuses"] for key, pod in found.pods.items()} == {
        "shop/p": [{"name": "made", "resourceClaimName": "p-made-1"}],
        "shop/has": [{"name": "made", "resourceClaimName": "mine"}],
    }
    assert found.notes == [
        "there is no ResourceClaimTemplate shop/none, which 2 pods need, such as shop/lacks"
    ]
    (note,) = expand_claims([pods[5]]).notes
    assert note == "there is no ResourceClaimTemplate shop/none, which pod shop/lacks needs"
    assert expand_claims([TEMPLATE, pods[1]]) == ([], {}, [])


def test_claims_of_one_prefix_have_numbers_in_their_namespace() -> None:
    entries = [{"name": name, "resourceClaimTemplateName": "t"} for name in ("b-c", "c")]
    given = [a_pod("a", entries[0]), a_pod("a-b", entries[1])]
    others: list[Any] = [
        document(
            each.kind, each.name, api=each.raw["apiVersion"], namespace="other",
            spec=each.raw["spec"], metadata={"uid": f"other-{each.name}"},
        )
        for each in (TEMPLATE, given[0])
    ]  # fmt: skip
    found = expand_claims([TEMPLATE, *given, *others])
    assert [each.key for each in found.claims] == [
        "shop/a-b-c-0", "shop/a-b-c-1", "other/a-b-c-0",
    ]  # fmt: skip


# ---------------------------------------------------------------------- binding conditions

DELAY, FAILURE = "podwright.dev/binding-delay", "podwright.dev/binding-failure"
BINDS: Any = {"bindingConditions": ["one", "two"], "bindingFailureConditions": ["bad", "worse"]}


def a_slice(name: str = "s", pool: str = "n", *, generation: int = 1, devices: Any = (),
            driver: str = "gpu", **notes: str) -> Any:  # fmt: skip
    spec = {
        "driver": driver, "nodeName": "n", "devices": list(devices),
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1},
    }  # fmt: skip
    return document("ResourceSlice", name, api=API, metadata={"annotations": notes}, spec=spec)


def noted(pool: str = "n", name: str = "s", **notes: str) -> Any:
    full = {"delay": DELAY, "failure": FAILURE}
    return a_slice(name, pool, **{full[key]: value for key, value in notes.items()})  # type: ignore[arg-type]  # names with slashes


def a_condition(kind: str, second: int, reason: str = "Bound", message: str = "") -> Any:
    since = {"lastTransitionTime": at(second)}
    return {"type": kind, "status": "True", **since, "reason": reason, "message": message}


def binding(*objects: Any, second: int = 3) -> list[str]:
    return SingleSync(BindingConditionsController, *objects).sync("shop/c", second)


def sets(*devices: Any) -> str:
    return f"update ResourceClaim shop/c status: status.devices={json.dumps(list(devices))}"


def a_device(name: str = "d0", *conditions: Any, **more: Any) -> Any:
    return {"driver": "gpu", "pool": "n", "device": name, **more} | (
        {"conditions": list(conditions)} if conditions else {}
    )


BOUND = [a_condition("one", 3), a_condition("two", 3)]


@pytest.mark.parametrize(
    ("slices", "claim", "expected"),
    [
        pytest.param([noted(delay="2s")], a_claim(results=[a_result(**BINDS)]),
                     [sets(a_device("d0", *BOUND))], id="after its delay"),
        pytest.param([noted(delay="3s")], a_claim(results=[a_result(**BINDS)]),
                     [sets(a_device("d0", *BOUND))], id="at its time"),
        pytest.param([noted(delay="4s")], a_claim(results=[a_result(**BINDS)]),
                     ["sync shop/c at 4"], id="not yet"),
        pytest.param([noted(delay="-4s")], a_claim(results=[a_result(**BINDS)], allocated_at=3),
                     [sets(a_device("d0", *BOUND))], id="at once"),
        pytest.param([noted(delay="4s")], a_claim(results=[a_result(**BINDS)], allocated_at=None),
                     ["sync shop/c at 7"], id="from now on"),
        pytest.param([noted(failure="no power")], a_claim(results=[a_result(**BINDS)]),
                     [sets(a_device("d0", a_condition("bad", 3, "BindingFailed", "no power")))],
                     id="it fails"),
        pytest.param([noted(failure="x", delay="9s")], a_claim(results=[a_result(**BINDS)]),
                     [sets(a_device("d0", a_condition("bad", 3, "BindingFailed", "x")))],
                     id="it fails at once"),
        pytest.param([], a_claim(results=[a_result(**BINDS)]), [], id="another driver sets them"),
        pytest.param([noted("m", delay="0s")], a_claim(results=[a_result(**BINDS)]), [],
                     id="another pool"),
        pytest.param([noted(delay="0s")], a_claim(results=[a_result()]), [], id="no conditions"),
        pytest.param([noted(delay="0s")], a_claim(), [], id="not allocated"),
        pytest.param(
            [noted(delay="0s")],
            a_claim(results=[a_result(**BINDS)],
                    devices=[a_device("d0", {"type": "one", "status": "False"},
                                      {"type": "own", "status": "True"})]),
            [sets(a_device("d0", {"type": "own", "status": "True"}, *BOUND))],
            id="a condition that is false",
        ),
        pytest.param(
            [noted(delay="0s")],
            a_claim(results=[a_result(**BINDS)], devices=[a_device("d0", a_condition("one", 1))]),
            [sets(a_device("d0", a_condition("one", 1), BOUND[1]))], id="one of two is there",
        ),
        pytest.param(
            [noted(delay="0s")],
            a_claim(results=[a_result(**BINDS)], devices=[a_device("d0", *BOUND)]), [],
            id="both are there",
        ),
        pytest.param(
            [noted(delay="0s")],
            a_claim(results=[a_result(shareID="s1", **BINDS)], devices=[a_device("d1")]),
            [sets(a_device("d1"), a_device("d0", shareID="s1") | {"conditions": BOUND})],
            id="of a share",
        ),
        pytest.param(
            [noted(delay="0s"), noted("m", "s2", delay="5s"), noted("k", "s3", delay="4s")],
            a_claim(results=[a_result(pool="m", **BINDS), a_result("d1", **BINDS),
                             a_result(pool="k", **BINDS)]),
            [sets(a_device("d1", *BOUND)), "sync shop/c at 4"], id="of three pools",
        ),
    ],
)  # fmt: skip
def test_a_driver_sets_the_conditions_of_its_devices(slices, claim, expected) -> None:
    assert binding(*slices, claim) == expected
    if expected and "update" in expected[0]:
        bench = SingleSync(BindingConditionsController, *slices, claim)
        update: Any = bench.controller.sync("shop/c", NOW + 3 * 10**9)[0]
        assert update.user == "gpu"


def test_which_claims_a_slice_concerns_and_what_is_wrong_with_it() -> None:
    waiting = a_claim(results=[a_result(**BINDS)])
    bench = SingleSync(BindingConditionsController)
    assert bench.put(waiting) == ["shop/c"]
    assert bench.put(a_claim("d", results=[a_result()])) == []
    assert bench.put(a_claim("e")) == []
    assert bench.put(noted()) == []
    assert bench.put(noted(delay="9s")) == ["shop/c"]
    assert bench.sync("shop/c") == ["sync shop/c at 9"]
    assert bench.put(noted(delay="soon")) == ["slice:s"]
    (warning,) = bench.sync("slice:s")
    assert warning == (
        "Warning ResourceSlice s InvalidBindingDelay by device-driver:"
        f' {DELAY}: "soon" is not a duration such as 5s; no condition is set'
    )
    bench.put(noted(delay="0s"))
    bench.put(noted())
    assert bench.sync("shop/c", 3) == [], "the annotation is gone"
    bench.put(noted(delay="0s"))
    assert bench.remove(noted()) == []
    assert bench.sync("shop/c", 3) == []
    assert bench.sync("slice:none") == []
    bench.put(noted())
    assert bench.sync("slice:s") == []
    assert bench.remove(waiting) == []
    assert bench.sync("shop/c") == []


# ---------------------------------------------------------------------- evictions by taints

EXECUTES = {"key": "broken", "effect": "NoExecute", "timeAdded": at(0)}
BY = "device-taint-eviction-controller"
EVICTS = f"Normal Pod shop/p DeviceTaintManagerEviction by {BY}: Marking for deletion"
CANCELS = f"Normal Pod shop/p DeviceTaintManagerEviction by {BY}: Cancelling deletion"


def tainted(*taints: Any, device: str = "d0", **fields: Any) -> Any:
    return a_slice(devices=[{"name": device, "taints": list(taints)}], **fields)


def tolerant(**fields: Any) -> Any:
    toleration = {"key": "broken", "operator": "Exists", "effect": "NoExecute"} | fields
    return a_result(tolerations=[toleration])


def evicting(*objects: Any, second: int = 5) -> list[str]:
    """Return what is done with a bound pod, of the update of its status only that there is one."""
    bench = SingleSync(DeviceTaintEvictionController, *objects)
    return [each.partition(" status:")[0] for each in bench.sync("shop/p", second)]


USER = a_pod("p", NAMED, node="n")
USED = a_claim("c", a_user(), results=[a_result()])
GONE = [EVICTS, "update Pod shop/p", "delete Pod shop/p"]


def with_target(reason: str) -> Any:
    """Return the user with the condition DisruptionTarget."""
    conditions = [{"type": "DisruptionTarget", "status": "True", "reason": reason}]
    return document("Pod", "p", namespace="shop", metadata={"uid": "p-uid"}, spec=USER.raw["spec"],
                    status={"conditions": conditions})  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([tainted(EXECUTES), USED, USER], GONE, id="not tolerated"),
        pytest.param([tainted(EXECUTES | {"effect": "NoSchedule"}), USED, USER], [],
                     id="no eviction"),
        pytest.param([tainted(EXECUTES, device="d1"), USED, USER], [], id="another device"),
        pytest.param([tainted(EXECUTES, pool="m"), USED, USER], [], id="another pool"),
        pytest.param([tainted(EXECUTES, driver="x"), USED, USER], [], id="another driver"),
        pytest.param([tainted(EXECUTES), USED, a_pod("p", NAMED)], [], id="not bound"),
        pytest.param([tainted(EXECUTES), USED, a_pod("p", NAMED, node="n", uid="x")], [],
                     id="not its claim"),
        pytest.param([tainted(EXECUTES), a_claim("c", a_user()), USER], [], id="not allocated"),
        pytest.param([tainted(EXECUTES), USED, a_pod("p", NAMED, node="n",
                                                      deletionTimestamp=at(0))], [], id="going"),
        pytest.param([tainted(EXECUTES), a_claim("c", a_user(), results=[tolerant()]), USER], [],
                     id="tolerated"),
        pytest.param([tainted(EXECUTES),
                      a_claim("c", a_user(), results=[tolerant(key="other")]), USER], GONE,
                     id="another key"),
        pytest.param([tainted(EXECUTES),
                      a_claim("c", a_user(), results=[tolerant(effect="NoSchedule")]), USER], GONE,
                     id="another effect"),
        pytest.param([tainted(EXECUTES),
                      a_claim("c", a_user(), results=[tolerant(tolerationSeconds=9)]), USER],
                     ["sync shop/p at 9"], id="for a while"),
        pytest.param([tainted(EXECUTES),
                      a_claim("c", a_user(), results=[tolerant(tolerationSeconds=5)]), USER], GONE,
                     id="until now"),
        pytest.param([tainted(EXECUTES),
                      a_claim("c", a_user(), results=[tolerant(tolerationSeconds=-5)]), USER], GONE,
                     id="for less than no time"),
        pytest.param([tainted(EXECUTES), tainted(EXECUTES | {"timeAdded": at(2)}, generation=2,
                                                 name="t"),
                      a_claim("c", a_user(), results=[tolerant(tolerationSeconds=9)]), USER],
                     ["sync shop/p at 11"], id="of the newest generation"),
        pytest.param([tainted(EXECUTES | {"timeAdded": at(4)}),
                      a_claim("c", a_user(), results=[tolerant(tolerationSeconds=9),
                                                      a_result("d1")]), USER],
                     ["sync shop/p at 13"], id="since it was added"),
        pytest.param([tainted(EXECUTES | {"timeAdded": at(8)}), USED, USER], ["sync shop/p at 8"],
                     id="from then on"),
        pytest.param([tainted(EXECUTES),
                      a_claim("c", a_user(), results=[tolerant(effect=None)]), USER], GONE,
                     id="a toleration has to name the effect"),
        pytest.param([tainted(EXECUTES),
                      a_claim("c", a_user(), results=[a_result(tolerations=[
                          {"operator": "Exists", "effect": "NoSchedule"},
                          {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9},
                          {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 8},
                      ])]), USER], ["sync shop/p at 8"], id="the shortest toleration"),
        pytest.param([tainted(EXECUTES, EXECUTES | {"key": "hot", "timeAdded": at(3)}),
                      a_claim("c", a_user(), results=[a_result(tolerations=[
                          {"key": "broken", "operator": "Exists", "effect": "NoExecute",
                           "tolerationSeconds": 9},
                          {"key": "hot", "operator": "Exists", "effect": "NoExecute",
                           "tolerationSeconds": 4},
                      ])]), USER], ["sync shop/p at 7"], id="the first taint to end"),
        pytest.param([tainted(EXECUTES), USED, with_target("DeletionByDeviceTaintManager")],
                     [EVICTS, "delete Pod shop/p"], id="announced before"),
        pytest.param([tainted(EXECUTES), USED, with_target("EvictionByEvictionAPI")], GONE,
                     id="announced for another reason"),
    ],
)  # fmt: skip
def test_a_pod_is_evicted_from_a_tainted_device(objects, expected) -> None:
    assert evicting(*objects) == expected


def test_the_condition_of_an_eviction_has_no_generation() -> None:
    """Upstream: addConditionAndDeletePod, unlike that of the taints of nodes."""
    numbered = document("Pod", "p", namespace="shop", metadata={"uid": "p-uid", "generation": 3},
                        spec=USER.raw["spec"])  # fmt: skip
    bench = SingleSync(DeviceTaintEvictionController, tainted(EXECUTES), USED, numbered)
    (_, update, _) = bench.sync("shop/p", 5)
    assert '"DisruptionTarget"' in update
    assert "observedGeneration" not in update


def test_an_eviction_is_canceled_and_one_without_a_time_is_kept() -> None:
    undated = {"key": "broken", "effect": "NoExecute"}
    waits = a_claim("c", a_user(), results=[tolerant(tolerationSeconds=9)])
    bench = SingleSync(DeviceTaintEvictionController, waits, USER)
    assert bench.put(tainted(undated)) == ["shop/p"]
    assert bench.sync("shop/p", 2) == ["sync shop/p at 11"]
    assert bench.sync("shop/p", 4) == ["sync shop/p at 11"]
    assert bench.put(tainted(undated)) == []
    assert bench.put(tainted()) == ["shop/p"]
    assert bench.sync("shop/p", 5) == [CANCELS]
    assert bench.sync("shop/p", 6) == []
    bench.put(tainted(undated))
    bench.sync("shop/p", 2)
    bench.lister.put(a_pod("p", NAMED, node="n", uid="second"))
    bench.lister.put(a_claim("c", a_user(uid="second"),
                             results=[tolerant(tolerationSeconds=9)]))  # fmt: skip
    assert bench.sync("shop/p", 7) == ["sync shop/p at 16"]
    bench.lister.delete(USER)
    assert bench.sync("shop/p", 8) == []
    assert bench.controller.state()["scheduled"] == {}


def test_which_pods_a_change_of_devices_concerns() -> None:
    bench = SingleSync(DeviceTaintEvictionController)
    assert bench.put(USED) == []
    assert bench.put(USER) == [], "nothing is tainted"
    assert bench.put(a_slice()) == []
    assert bench.put(tainted(EXECUTES)) == ["shop/p"]
    assert bench.put(USER) == ["shop/p"]
    both = a_claim("c", a_user("q"), a_user("j", resource="jobs"), a_user("k", apiGroup="x"),
                   results=[a_result()])  # fmt: skip
    assert bench.put(both) == ["shop/p", "shop/q"]
    assert bench.put(tainted(EXECUTES, pool="m")) == ["shop/q"], "it left the pool"
    assert bench.put(tainted(EXECUTES)) == ["shop/q"]
    assert bench.remove(tainted()) == ["shop/q"]
    bench.put(a_claim("c", a_user(), results=[a_result(), a_result("d1")]))
    assert bench.put(tainted(EXECUTES, device="d1")) == ["shop/p"], "one of two devices"
    assert bench.remove(tainted()) == ["shop/p"]
    controller: Any = bench.controller
    assert (controller._slices, controller._tainted) == ({}, {})


def a_rule(effect: str = "NoExecute", device: str | None = "d0", *, uid: str = "ru",
           generation: int = 1, conditions: Any = (), **taint: Any) -> Any:  # fmt: skip
    spec: Any = {} if device is None else {"deviceSelector": {"device": device}}
    spec["taint"] = {"key": "broken", "effect": effect, "timeAdded": at(0), **taint}
    return document(
        "DeviceTaintRule", "r", api="resource.k8s.io/v1alpha3",
        metadata={"uid": uid, "generation": generation},
        spec=spec,
        status={"conditions": list(conditions)} if conditions else {},
    )  # fmt: skip


RULES: Any = partial(DeviceTaintEvictionController, reads_rules=True)


def progress(status: str, reason: str, message: str, second: int, generation: int = 1) -> Any:
    return {
        "type": "EvictionInProgress", "status": status, "reason": reason, "message": message,
        "observedGeneration": generation, "lastTransitionTime": at(second),
    }  # fmt: skip


def rule_status(*conditions: Any) -> str:
    return f"update DeviceTaintRule r status: status.conditions={json.dumps(list(conditions))}"


def test_a_rule_concerns_its_pods_and_counts_them() -> None:
    assert SingleSync(DeviceTaintEvictionController, USED, USER).put(a_rule()) == []
    bench = SingleSync(RULES, USED, USER)
    assert bench.put(a_rule()) == ["rule:r", "shop/p"]
    assert bench.put(a_rule(conditions=[{"type": "x"}])) == []
    pending = progress("True", "PodsPendingEviction",
                       "1 pod needs to be evicted in 1 namespace.", 3)  # fmt: skip
    assert bench.sync("rule:r", 3) == [rule_status({"type": "x"}, pending)]
    bench.put(a_rule(conditions=[pending]))
    assert bench.sync("rule:r", 4) == ["sync rule:r at 13"]
    *gone, later = bench.sync("shop/p", 5)
    assert (len(gone), later) == (3, "sync rule:r at 15")
    bench.lister.delete(USER)
    done = progress("False", "Completed", "1 pod evicted since starting the controller.", 15)
    assert bench.sync("rule:r", 15) == [rule_status(done)]
    bench.put(a_rule(conditions=[done]))
    assert bench.sync("rule:r", 30) == [], "as before"
    assert bench.put(a_rule(device="d1")) == ["rule:r", "shop/p"], "its former pods"
    assert bench.put(a_rule(device="d1", uid="second")) == ["rule:r"]
    assert bench.controller.state()["evicted"] == {}
    assert bench.remove(a_rule(device="d1")) == []
    assert bench.sync("rule:r", 40) == []


def test_a_rule_with_another_effect_concerns_no_pod_and_evicts_none() -> None:
    bench = SingleSync(RULES, USED, USER)
    for effect in ("NoSchedule", "None"):
        assert bench.put(a_rule(effect)) == ["rule:r"]
        assert len(bench.sync("rule:r", 5)) == 1
        assert bench.sync("shop/p", 6) == []


def test_the_pods_of_a_rule_are_counted_with_their_namespaces() -> None:
    away: Any = document(
        "ResourceClaim", "c", api="resource.k8s.io/v1", namespace="away", metadata={"uid": "c2"},
        spec={}, status=USED.raw["status"],
    )  # fmt: skip
    there = document("Pod", "p", namespace="away", metadata={"uid": "p-uid"}, spec=USER.raw["spec"])
    going = a_pod("p", NAMED, node="n", deletionTimestamp=at(0))
    for user, message in (
        (USER, "2 pods need to be evicted in 2 different namespaces."),
        (going, "1 pod needs to be evicted in 1 namespace."),
    ):
        bench = SingleSync(RULES, USED, user, away, there, a_rule())
        assert bench.sync("rule:r", 7) == [
            rule_status(progress("True", "PodsPendingEviction", message, 7))
        ]


def test_the_status_of_each_rule_that_evicts_a_pod_is_written_later() -> None:
    waits = a_claim("c", a_user(), results=[tolerant(tolerationSeconds=9)])
    rules = [
        document("DeviceTaintRule", name, api="resource.k8s.io/v1alpha3", metadata={"uid": name},
                 spec=a_rule().raw["spec"])
        for name in ("s", "q", "r")
    ]  # fmt: skip
    bench = SingleSync(RULES, waits, USER, *rules)
    assert bench.sync("shop/p", 2) == [
        "sync shop/p at 9", *(f"sync rule:{name} at 12" for name in "qrs"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param(a_rule(device="d9"), ("False", "NotStarted", ""), id="no pod"),
        pytest.param(a_rule(device=None), ("False", "NotStarted", ""), id="no selector"),
        pytest.param(
            a_rule("NoSchedule"),
            ("False", "OtherEffect", "Eviction only happens for the NoExecute effect."),
            id="another effect",
        ),
        pytest.param(
            a_rule("None"),
            ("False", "NoEffect",
             "1 published device selected. 2 allocated devices selected. 2 pods would be evicted"
             " in 1 namespace if the effect was NoExecute. This information will not be updated"
             " again. Recreate the DeviceTaintRule to trigger an update."),
            id="no effect",
        ),
        pytest.param(
            a_rule(),
            ("True", "PodsPendingEviction", "2 pods need to be evicted in 1 namespace."), id="two",
        ),
    ],
)  # fmt: skip
def test_the_status_of_a_rule(rule, expected) -> None:
    second = [a_claim("c2", a_user("q"), results=[a_result()]),
              a_pod("q", {"name": "o", "resourceClaimName": "c2"}, node="n")]  # fmt: skip
    status, reason, message = expected
    old = a_slice("old", generation=0, devices=[{"name": "d0"}])
    slices = [a_slice(devices=[{"name": "d0"}, {"name": "d1"}]), old]
    bench = SingleSync(RULES, *slices, USED, USER, *second, rule)
    assert bench.sync("rule:r", 7) == [rule_status(progress(status, reason, message, 7))]
    known = progress(status, reason, message, -20)
    again = SingleSync(RULES, *slices, USED, USER, *second)
    changed = document("DeviceTaintRule", "r", api="resource.k8s.io/v1alpha3",
                       metadata={"uid": "ru", "generation": 2}, spec=rule.raw["spec"],
                       status={"conditions": [known]})  # fmt: skip
    again.put(changed)
    assert again.sync("rule:r", -15) == [rule_status(progress(status, reason, message, -15, 2))]
    assert again.sync("shop/none") == []
