"""Typed objects pass the same admission plugins as requests by HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from podwright.apimachinery.objects import Document, Pod, Spec
from podwright.apimachinery.schema import Kind, Problem, decode
from podwright.cluster.api import Api, ApplyObject, CreateObject, DeleteObject, PatchObject, Reply
from podwright.cluster.api.stages.draft_admission import prepared_change
from podwright.cluster.store import ObjectStore

USER = "tests"
GROUP = "admissionregistration.k8s.io/v1"


@pytest.fixture
def api() -> Api:
    return Api(ObjectStore())


def apply(api: Api, kind: str, name: str, version: str = "v1", **fields: Any) -> Reply:
    """Apply an object in the namespace `default`, or a cluster-scoped one."""
    metadata: dict[str, Any] = {"name": name, **fields.pop("metadata", {})}
    if version == "v1" and kind != "Namespace":
        metadata["namespace"] = "default"
    obj = decode({"apiVersion": version, "kind": kind, "metadata": metadata, **fields})
    return api.handle(ApplyObject(obj, "main", USER), USER, 0)


def create_pod(api: Api, name: str = "web", **spec: Any) -> Reply:
    containers = [{"name": "c", "image": "a:1"}]
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": containers, **spec},
    }
    return api.handle(CreateObject(decode(document), USER), USER, 0)


def spec_of(reply: Reply) -> dict[str, Any]:
    assert reply.error is None, reply.error
    assert reply.stored is not None
    obj = reply.stored.object
    assert isinstance(obj, Pod)
    spec: dict[str, Any] = obj.raw["spec"]
    return spec


def policy(api: Api, expression: str, *operations: str) -> None:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": list(operations),
        "resources": ["pods"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression}],
    }
    apply(api, "ValidatingAdmissionPolicy", "p", GROUP, spec=spec)
    binding = {"policyName": "p", "validationActions": ["Deny"]}
    reply = apply(api, "ValidatingAdmissionPolicyBinding", "b", GROUP, spec=binding)
    assert reply.error is None, reply.error


def test_equal_specs_are_one_object_until_something_else_decides(api):
    def created(name: str, **priority: Any) -> Pod:
        document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
        containers = [{"name": "c", "image": "equal"}]
        pod = decode(document | {"spec": {"containers": containers, **priority}})
        made = api.handle(CreateObject(pod, user="u"), "u", 0).stored.object
        assert isinstance(made, Pod)
        return made

    created("first")
    several = [created(name) for name in ("a", "b")]
    assert several[0].raw["spec"] is several[1].raw["spec"]
    assert several[0].spec is several[1].spec
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7}
    important |= {"metadata": {"name": "default"}, "globalDefault": True}
    assert not api.handle(CreateObject(decode(important), user="u"), "u", 0).error
    assert [created(name).spec.priority for name in ("c", "d")] == [7, 7]
    assert [each.spec.priority for each in several] == [0, 0]


def test_pods_that_are_created_from_one_object_share_their_spec(api, monkeypatch):
    # As a ReplicaSet does; their names are generated.
    containers = [{"name": "c", "image": "repeated"}]
    metadata = {"generateName": "web-", "namespace": "default", "labels": {"app": "web"}}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    pod = decode(document | {"spec": {"containers": containers}})
    validated: list[Any] = []
    validate = Kind.metadata_problems

    def noted(kind: Kind, new: Document) -> list[Problem]:
        validated.append(new)
        return validate(kind, new)

    monkeypatch.setattr(Kind, "metadata_problems", noted)
    specs = [spec_of(api.handle(CreateObject(pod, USER), USER, 0)) for _ in range(4)]
    assert type(specs[0]) is dict
    assert type(specs[1]) is Spec
    assert all(spec is specs[1] for spec in specs[2:])
    # Once with the spec that was not shared yet, and once with the shared one.
    assert len(validated) == 2


def test_the_metadata_of_pods_with_one_spec_is_validated_for_each(api):
    def created(**metadata: Any) -> Reply:
        containers = [{"name": "c", "image": "equal but for its metadata"}]
        document = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers}}
        pod = decode(document | {"metadata": {"namespace": "default", **metadata}})
        reply: Reply = api.handle(CreateObject(pod, USER), USER, 0)
        return reply

    for number in range(3):
        assert created(name=f"right-{number}", labels={"app": "web"}).error is None
    for _ in range(2):
        error = created(name="wrong", labels={"app": "a b"}).error
        assert "metadata.labels: Invalid value" in str(error)


def test_a_changed_object_without_its_parts_stays_without_them():
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    stored = decode(document | {"spec": {"replicas": 1}})
    for given in (document, document | {"spec": {"replicas": 2}}):
        made = prepared_change(decode(given), stored, 0)
        assert made.raw.get("spec") == given.get("spec")
        assert made.raw["metadata"]["name"] == "d"


def test_a_limit_range_completes_and_rejects_pods(api):
    assert not spec_of(create_pod(api, "before"))["containers"][0]["resources"]
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "max": {"cpu": "1"}}]
    apply(api, "LimitRange", "l", spec={"limits": limits})
    made = spec_of(create_pod(api, "after"))
    assert made["containers"][0]["resources"]["limits"] == {"cpu": "500m"}
    large = [{"name": "c", "image": "a:1", "resources": {"limits": {"cpu": "2"}}}]
    error = create_pod(api, "large", containers=large).error
    assert str(error).endswith("maximum cpu usage per Container is 1, but limit is 2")


def test_requests_of_containers_by_a_limit_range_are_defaults_of_the_pods(api):
    limits = [{"type": "Container", "defaultRequest": {"cpu": "250m", "memory": "64Mi"}}]
    apply(api, "LimitRange", "l", spec={"limits": limits})
    made = spec_of(create_pod(api, resources={"limits": {"memory": "2Gi"}}))
    # As decoded memory has its default of the sent object: its limit.
    assert made["resources"]["requests"] == {"cpu": "250m", "memory": "2Gi"}
    assert "resources" not in spec_of(create_pod(api, "other"))


def test_a_runtime_class_adds_its_overhead(api):
    apply(
        api,
        "RuntimeClass",
        "gvisor",
        "node.k8s.io/v1",
        handler="runsc",
        overhead={"podFixed": {"cpu": "250m"}},
    )
    made = create_pod(api, runtimeClassName="gvisor")
    assert spec_of(made)["overhead"] == {"cpu": "250m"}
    error = create_pod(api, "other", runtimeClassName="nosuch").error
    assert str(error).endswith('pod rejected: RuntimeClass "nosuch" not found')
    # A pod of another cluster keeps what it has.
    given = create_pod(api, "given", runtimeClassName="nosuch", overhead={"cpu": "1"})
    assert spec_of(given)["overhead"] == {"cpu": "1"}


def test_the_standard_of_a_namespace_rejects_pods(api):
    assert create_pod(api, "before", hostPID=True).error is None
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    apply(api, "Namespace", "default", metadata={"labels": labels})
    error = create_pod(api, "after", hostPID=True).error
    assert 'violates PodSecurity "baseline:latest": host namespaces' in str(error)


def test_policies_deny_creations_and_deletions(api):
    create_pod(api, "old")
    policy(api, "request.name == 'fine'", "CREATE", "DELETE")
    assert create_pod(api, "fine").error is None
    denied = create_pod(api, "bad").error
    assert "ValidatingAdmissionPolicy 'p' with binding 'b' denied request" in str(denied)
    reply = api.handle(DeleteObject("", "Pod", "default/old", "", USER), USER, 0)
    assert "denied request: failed expression" in str(reply.error)
    assert api.store.get(("", "Pod"), "default/old") is not None


def create_generated_pod(api: Api) -> Reply:
    metadata = {"generateName": "web-", "namespace": "default"}
    spec = {"containers": [{"name": "c", "image": "a:1"}]}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return api.handle(CreateObject(decode(document), USER), USER, 0)


@pytest.mark.parametrize("expression", ["object.metadata.name", "request.name"])
def test_a_policy_reads_the_name_that_is_made_of_a_prefix(api, expression):
    policy(api, f"{expression}.matches('^web-[a-z0-9]{{5}}$')", "CREATE")
    reply = create_generated_pod(api)
    assert reply.error is None
    assert reply.stored is not None
    assert reply.stored.object.name.startswith("web-")


def test_a_quota_does_not_count_an_invalid_pod():
    api = api_with_quota_of_one_pod()
    assert "image" in str(create_pod(api, "bad", containers=[{"name": "c"}]).error)
    assert create_pod(api, "good").error is None
    assert "exceeded quota: q" in str(create_pod(api, "third").error)


def test_a_quota_rejects_a_pod_by_the_name_that_is_made_of_a_prefix():
    api = api_with_quota_of_one_pod()
    first = create_generated_pod(api)
    assert first.error is None
    second = create_generated_pod(api)
    assert re.match(r'pods "web-[a-z0-9]{5}" is forbidden: exceeded quota: q', str(second.error))


def api_with_quota_of_one_pod() -> Api:
    api = Api(ObjectStore(), is_served=True)
    metadata = {"name": "default", "namespace": "default"}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    assert api.handle(CreateObject(decode(account), USER), USER, 0).error is None
    hard = {"pods": "1"}
    quota = apply(
        api, "ResourceQuota", "q", spec={"hard": hard}, status={"hard": hard, "used": {"pods": "0"}}
    )
    assert quota.error is None
    return api


def test_a_claim_gets_the_default_storage_class(api):
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    apply(
        api,
        "StorageClass",
        "gold",
        "storage.k8s.io/v1",
        provisioner="x",
        metadata={"annotations": annotations},
    )
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    reply = apply(api, "PersistentVolumeClaim", "c", spec=spec)
    assert reply.stored is not None
    raw = reply.stored.object.raw
    assert raw["spec"]["storageClassName"] == "gold"
    assert raw["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


@pytest.mark.parametrize("generate", ["", "web-"])
def test_the_selectors_of_a_pod_require_the_labels_that_their_keys_name(api, generate):
    labels = {"app": "web", "tier": "front"}
    term = {"topologyKey": "zone", "matchLabelKeys": ["app"], "mismatchLabelKeys": ["tier", "no"]}
    selected = term | {"labelSelector": {"matchLabels": {"a": "b"}}}
    plain = {"topologyKey": "zone"}
    weighted = {"weight": 1, "podAffinityTerm": selected}
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {},
                "matchLabelKeys": ["app"],
            }
        ],
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [selected, plain]},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]},
        },
    }
    name = {"generateName": generate} if generate else {"name": "web"}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": name | {"namespace": "default", "labels": labels},
        "spec": spec,
    }
    created = spec_of(api.handle(CreateObject(decode(document), USER), USER, 0))
    expressions = [
        {"key": "app", "operator": "In", "values": ["web"]},
        {"key": "tier", "operator": "NotIn", "values": ["front"]},
    ]
    selector = {"matchLabels": {"a": "b"}, "matchExpressions": expressions}
    affinity = created["affinity"]
    (one, other) = affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert one["labelSelector"] == selector
    assert "labelSelector" not in other
    (one,) = affinity["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert one["podAffinityTerm"]["labelSelector"] == selector
    (constraint,) = created["topologySpreadConstraints"]
    assert constraint["labelSelector"] == {"matchExpressions": expressions[:1]}


SPREAD: dict[str, Any] = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"a": "b"}},
    "matchLabelKeys": ["app"],
}
REQUIRED = [{"key": "app", "operator": "In", "values": ["web"]}]


def spread_pod(selector: Document = SPREAD["labelSelector"], **metadata: Any) -> Document:
    """Return a pod that is spread, with a selector."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}} | metadata,
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "topologySpreadConstraints": [SPREAD | {"labelSelector": selector}],
        },
    }


def required(reply: Reply) -> Any:
    """Return what the selector of a spread pod requires besides its labels."""
    (constraint,) = spec_of(reply)["topologySpreadConstraints"]
    return constraint["labelSelector"].get("matchExpressions")


@pytest.mark.parametrize("scope", ["whole", "main"])
@pytest.mark.parametrize("is_there", [False, True], ids=["new", "stored"])
def test_the_pod_of_a_record_requires_each_label_of_its_keys_once(api, scope, is_there):
    """Its server has added them to its selectors; without a status it is completed again."""
    merged = SPREAD["labelSelector"] | {"matchExpressions": REQUIRED}
    recorded = spread_pod(merged, uid="u", resourceVersion="7")
    if is_there:
        created = api.handle(ApplyObject(decode(spread_pod()), "main", USER), USER, 0)
        assert required(created) == REQUIRED
    assert required(api.handle(ApplyObject(decode(recorded), scope, USER), USER, 1)) == REQUIRED


def test_a_client_that_creates_the_pod_of_a_server_gets_its_error(api):
    merged = SPREAD["labelSelector"] | {"matchExpressions": REQUIRED}
    reply = api.handle(CreateObject(decode(spread_pod(merged)), USER), USER, 0)
    assert "exists in both matchLabelKeys and labelSelector" in str(reply.error)


def test_an_applied_file_keeps_what_the_server_has_added_to_its_selectors(api):
    assert required(api.handle(CreateObject(decode(spread_pod()), USER), USER, 0)) == REQUIRED
    again = decode(spread_pod(annotations={"seen": "twice"}))
    assert required(api.handle(ApplyObject(again, "main", USER), USER, 1)) == REQUIRED


def test_a_changed_pod_requires_each_label_of_its_keys_once(api):
    assert required(api.handle(CreateObject(decode(spread_pod()), USER), USER, 0)) == REQUIRED
    patch = {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}}
    changed = api.handle(PatchObject(("", "Pod"), "default/web", patch, USER), USER, 1)
    assert spec_of(changed)["tolerations"][0]["key"] == "k"
    assert required(changed) == REQUIRED


@pytest.mark.parametrize("given", [{}, {"app": "web", "job-name": "other"}])
def test_a_job_gets_a_selector_and_keeps_the_labels_of_its_template(api, given):
    containers = [{"name": "c", "image": "a:1"}]
    template = {"spec": {"containers": containers, "restartPolicy": "Never"}}
    if given:
        template["metadata"] = {"labels": given}
    reply = apply(
        api, "Job", "j", "batch/v1", metadata={"namespace": "default"}, spec={"template": template}
    )
    assert reply.stored is not None, reply.error
    job = reply.stored.object
    uid, name = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
    own = {uid: job.uid, "controller-uid": job.uid, name: "j", "job-name": "j"}
    assert job.raw["spec"]["selector"] == {"matchLabels": {uid: job.uid}}
    assert job.raw["spec"]["template"]["metadata"]["labels"] == own | given
    assert job.raw["metadata"]["labels"] == own | given


GATED = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": "1970-01-01T00:00:00Z",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def status_of(reply: Reply) -> dict[str, Any]:
    assert reply.stored is not None, reply.error
    found: dict[str, Any] = reply.stored.object.raw["status"]
    return found


def test_a_gated_pod_has_its_condition(api):
    gates = [{"name": "example.com/a"}]
    status = status_of(create_pod(api, schedulingGates=gates))
    assert status == {"phase": "Pending", "qosClass": "BestEffort", "conditions": [GATED]}
    assert "conditions" not in status_of(create_pod(api, "free"))
    reply = create_pod(api, "typed", schedulingGates=gates)
    assert reply.stored is not None
    pod = reply.stored.object
    assert isinstance(pod, Pod)
    assert [each.reason for each in pod.status.conditions] == ["SchedulingGated"]


def test_a_gated_pod_of_a_record_keeps_its_status(api):
    given = {"phase": "Pending", "qosClass": "Burstable"}
    reply = apply(
        api, "Pod", "web", spec={"containers": [{"name": "c", "image": "a"}],
                                 "schedulingGates": [{"name": "example.com/a"}]}, status=given
    )  # fmt: skip
    assert status_of(reply) == given


@pytest.mark.parametrize(
    ("kind", "version", "spec", "part", "expected"),
    [
        ("Namespace", "v1", {}, "spec", {"finalizers": ["kubernetes"]}),
        ("PersistentVolumeClaim", "v1", {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}, "status", {"phase": "Pending"}),
        ("Service", "v1", {"ports": [{"port": 80}]}, "spec", {"ipFamilies": ["IPv4"]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_new_object_is_prepared_as_its_kind_does(api, kind, version, spec, part, expected):
    reply = apply(api, kind, "x", version, spec=spec)
    assert reply.stored is not None, reply.error
    found = reply.stored.object.raw[part]
    assert found | expected == found


def test_the_generation_of_a_daemon_sets_template_counts_its_changes(api):
    name = "deprecated.daemonset.template.generation"

    def generation(image: str, **metadata: Any) -> str:
        template = {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": image}]},
        }
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        metadata["namespace"] = "default"
        reply = apply(api, "DaemonSet", "d", "apps/v1", metadata=metadata, spec=spec)
        assert reply.stored is not None, reply.error
        found: str = reply.stored.object.raw["metadata"]["annotations"][name]
        return found

    assert [generation("a"), generation("a"), generation("b")] == ["1", "1", "2"]
    labels = {"x": "y"}
    assert generation("b", labels=labels) == "2"


def test_a_complete_spec_does_not_keep_itself(api):
    # In a server nothing collects cycles of old objects.
    complete = dict(spec_of(create_pod(api)))
    first, second = (spec_of(create_pod(api, name, **complete)) for name in ("a", "b"))
    assert first is second
    assert type(first) is Spec
    del second
    left = [part for part in all_parts(first.facts) if part is first]
    assert left == []


def all_parts(value: Any) -> Iterator[Any]:
    """Yield the dicts, lists and structs in a value."""
    yield value
    if isinstance(value, dict):
        parts = [*value.values()]
    elif isinstance(value, Pod):
        parts = [value.raw]
    else:
        parts = [*value] if isinstance(value, list | tuple) else []
    for part in parts:
        yield from all_parts(part)
