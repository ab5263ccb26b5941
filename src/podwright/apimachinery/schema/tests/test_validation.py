"""Validation of new objects: upstream's paths and texts. Golden exchanges have more cases."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in, validate_object_meta

Document = dict[str, Any]
Expected = list[tuple[str, str]]

ZONE = "topology.kubernetes.io/zone"
AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"


def problems(api_version: str, kind: str, **fields: Any) -> Expected:
    found = built_in().find(api_version, kind)
    assert found is not None
    document = found.with_defaults(
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}
    )
    assert found.decoding_problems(document) == []
    return [(path, message) for path, message, _ in found.validation_problems(document)]


def container(**fields: Any) -> Document:
    return {"name": "main", "image": "registry/app", **fields}


def of_pod(**spec: Any) -> Expected:
    return problems("v1", "Pod", spec={"containers": [container()], **spec})


def of_container(**fields: Any) -> Expected:
    path = "spec.containers[0]."
    found = problems("v1", "Pod", spec={"containers": [container(**fields)]})
    return [(at.removeprefix(path), message) for at, message in found]


def test_a_plain_pod_is_valid() -> None:
    assert of_pod() == []


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param(
            {"requests": {"cpu": "-1"}},
            [("requests[cpu]", 'Invalid value: "-1": must be greater than or equal to 0')],
            id="a negative amount",
        ),
        pytest.param(
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}},
            [("requests", 'Invalid value: "2": must be less than or equal to cpu limit of 1500m')],
            id="a request above its limit",
        ),
        pytest.param({"requests": {"cpu": "500m"}, "limits": {"cpu": "0.5"}}, [], id="equal"),
        pytest.param(
            {"limits": {"gpu": 1}},
            [
                (
                    "limits[gpu]",
                    'Invalid value: "gpu": must be a standard resource type or fully qualified',
                ),
                (
                    "limits[gpu]",
                    'Invalid value: "gpu": must be a standard resource for containers',
                ),
                (
                    "requests[gpu]",
                    'Invalid value: "gpu": must be a standard resource type or fully qualified',
                ),
                (
                    "requests[gpu]",
                    'Invalid value: "gpu": must be a standard resource for containers',
                ),
            ],
            id="an unknown resource without a domain",
        ),
        pytest.param(
            {"requests": {"nvidia.com/gpu": 1}},
            [
                (
                    "limits",
                    "Required value: Limit must be set for non overcommitable resources",
                )
            ],
            id="an extended resource without a limit",
        ),
        pytest.param(
            {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}},
            [("requests", 'Invalid value: "1": must be equal to nvidia.com/gpu limit of 2')],
            id="an extended resource cannot be overcommitted",
        ),
        pytest.param(
            {"limits": {"nvidia.com/gpu": "500m"}},
            [
                ("limits[nvidia.com/gpu]", 'Invalid value: "500m": must be an integer'),
                ("requests[nvidia.com/gpu]", 'Invalid value: "500m": must be an integer'),
            ],
            id="half a device",
        ),
        pytest.param(
            {"limits": {"hugepages-2Mi": "3Mi", "cpu": 1}},
            [
                (
                    f"{kind}[hugepages-2Mi]",
                    'Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                )
                for kind in ("limits", "requests")
            ],
            id="a part of a huge page",
        ),
        pytest.param(
            {"limits": {"hugepages-2Mi": "4Mi"}},
            [("", "Forbidden: HugePages require cpu or memory")],
            id="huge pages alone",
        ),
    ],
)
def test_resources_of_a_container(resources: Document, expected: Expected) -> None:
    found = of_container(resources=resources)
    assert found == [(f"resources.{path}".rstrip("."), message) for path, message in expected]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"image": ""}, [("image", "Required value")], id="no image"),
        pytest.param(
            {"image": " registry/app"},
            [
                (
                    "image",
                    'Invalid value: " registry/app": must not have leading or trailing whitespace',
                )
            ],
            id="space around the image",
        ),
        pytest.param(
            {"imagePullPolicy": "Sometimes"},
            [
                (
                    "imagePullPolicy",
                    'Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent",'
                    ' "Never"',
                )
            ],
            id="an unknown pull policy",
        ),
        pytest.param(
            {"ports": [{"containerPort": 70000}]},
            [
                (
                    "ports[0].containerPort",
                    "Invalid value: 70000: must be between 1 and 65535, inclusive",
                )
            ],
            id="a port out of range",
        ),
        pytest.param(
            {"env": [{"name": "A=B", "value": "1"}]},
            [
                (
                    "env[0].name",
                    'Invalid value: "A=B": a valid environment variable name must consist only of'
                    " printable ASCII characters other than '='",
                )
            ],
            id="the name of a variable",
        ),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}}]},
            [
                (
                    "env[0].valueFrom.fieldRef.fieldPath",
                    'Invalid value: "spec.nope": error converting fieldPath: field label not'
                    " supported: spec.nope",
                )
            ],
            id="a field that does not exist",
        ),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {}}]},
            [
                (
                    "env[0].valueFrom",
                    'Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`,'
                    " `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
                )
            ],
            id="a variable without a source",
        ),
        pytest.param(
            {"readinessProbe": {}},
            [("readinessProbe", "Required value: must specify a handler type")],
            id="a probe without a handler",
        ),
        pytest.param(
            {"livenessProbe": {"httpGet": {"port": 0}, "successThreshold": 2}},
            [
                (
                    "livenessProbe.httpGet.port",
                    "Invalid value: 0: must be between 1 and 65535, inclusive",
                ),
                ("livenessProbe.successThreshold", "Invalid value: 2: must be 1"),
            ],
            id="a probe of port 0",
        ),
        pytest.param(
            {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
            [
                (
                    "lifecycle.preStop.sleep",
                    "Invalid value: 31: must be non-negative and less than"
                    " terminationGracePeriodSeconds (30)",
                )
            ],
            id="a hook longer than the grace period",
        ),
        pytest.param(
            {"volumeMounts": [{"name": "data", "mountPath": "/data"}]},
            [("volumeMounts[0].name", 'Not found: "data"')],
            id="a mount of an unknown volume",
        ),
        pytest.param(
            {"resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}]},
            [
                (
                    "resizePolicy",
                    'Unsupported value: "disk": supported values: "cpu", "memory"',
                )
            ],
            id="a resize policy of another resource",
        ),
        pytest.param(
            {"securityContext": {"runAsUser": -1}},
            [
                (
                    "securityContext.runAsUser",
                    "Invalid value: -1: must be between 0 and 2147483647, inclusive",
                )
            ],
            id="a negative user",
        ),
    ],
)
def test_fields_of_a_container(fields: Document, expected: Expected) -> None:
    assert of_container(**fields) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": []}, [("spec.containers", "Required value")], id="empty"),
        pytest.param(
            {"initContainers": [container()]},
            [("spec.initContainers[0].name", 'Duplicate value: "main"')],
            id="an init container with the name of a container",
        ),
        pytest.param(
            {"initContainers": [container(name="setup", readinessProbe={"exec": {}})]},
            [
                (
                    "spec.initContainers[0].readinessProbe",
                    "Forbidden: may not be set for init containers without restartPolicy=Always",
                )
            ],
            id="a probe of an init container",
        ),
        pytest.param(
            {
                "initContainers": [
                    container(
                        name="proxy",
                        restartPolicy="Always",
                        readinessProbe={"exec": {"command": ["true"]}},
                    )
                ]
            },
            [],
            id="a probe of a sidecar",
        ),
        pytest.param(
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": ZONE}]},
            [
                (
                    "spec.topologySpreadConstraints[0].maxSkew",
                    "Invalid value: 0: must be greater than zero",
                ),
                (
                    "spec.topologySpreadConstraints[0].whenUnsatisfiable",
                    'Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"',
                ),
            ],
            id="a skew of 0",
        ),
        pytest.param(
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
                ]
                * 2
            },
            [
                (
                    "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}",
                    f'Duplicate value: "{{{ZONE}, DoNotSchedule}}"',
                )
            ],
            id="the same constraint twice",
        ),
        pytest.param(
            {
                "affinity": {
                    "podAntiAffinity": {
                        AFFINITY: [{"topologyKey": ZONE, "matchLabelKeys": ["app"]}]
                    }
                }
            },
            [
                (
                    f"spec.affinity.podAntiAffinity.{AFFINITY}[0].matchLabelKeys",
                    "Forbidden: must not be specified when labelSelector is not set",
                )
            ],
            id="label keys without a selector",
        ),
        pytest.param(
            {"affinity": {"nodeAffinity": {AFFINITY: {"nodeSelectorTerms": []}}}},
            [
                (
                    f"spec.affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms",
                    "Required value: must have at least one node selector term",
                )
            ],
            id="a node selector without terms",
        ),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        AFFINITY: {
                            "nodeSelectorTerms": [
                                {"matchFields": [{"key": "metadata.uid", "operator": "Exists"}]}
                            ]
                        }
                    }
                }
            },
            [
                (
                    f"spec.affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms[0].matchFields[0]"
                    ".operator",
                    'Invalid value: "Exists": not a valid selector operator',
                ),
                (
                    f"spec.affinity.nodeAffinity.{AFFINITY}.nodeSelectorTerms[0].matchFields[0]"
                    ".key",
                    'Invalid value: "metadata.uid": not a valid field selector key',
                ),
            ],
            id="a field that cannot be selected",
        ),
        pytest.param(
            {"tolerations": [{"value": "a"}]},
            [
                (
                    "spec.tolerations[0].operator",
                    'Invalid value: "": operator must be Exists when `key` is empty, which means'
                    ' "match all values and all keys"',
                )
            ],
            id="a toleration without a key",
        ),
        pytest.param(
            {"tolerations": [{"key": "a", "operator": "Gt", "value": "01"}]},
            [
                (
                    "spec.tolerations[0].value",
                    'Invalid value: "01": must be a valid decimal integer in canonical form',
                )
            ],
            id="a comparison with a text",
        ),
        pytest.param(
            {"schedulingGates": [{"name": "a"}], "nodeName": "n1"},
            [
                (
                    "spec.nodeName",
                    "Forbidden: cannot be set until all schedulingGates have been cleared",
                )
            ],
            id="a bound pod with a gate",
        ),
        pytest.param(
            {"priorityClassName": "Big"},
            [
                (
                    "spec.priorityClassName",
                    'Invalid value: "Big": a lowercase RFC 1123 subdomain must consist of lower'
                    " case alphanumeric characters, '-' or '.', and must start and end with an"
                    " alphanumeric character (e.g. 'example.com', regex used for validation is"
                    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                )
            ],
            id="the name of a priority class",
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "1"}}, "containers": [
                container(resources={"requests": {"cpu": "2"}})
            ]},
            [
                (
                    "spec.resources.requests[cpu]",
                    'Invalid value: "1": must be greater than or equal to aggregate container'
                    " requests of 2",
                )
            ],
            id="containers that need more than their pod",
        ),
        pytest.param(
            {"resources": {"requests": {"memory": "1Mi"}}, "containers": [
                container(resources={"requests": {"memory": "3Mi"}})
            ]},
            [
                (
                    "spec.resources.requests[memory]",
                    'Invalid value: "1Mi": must be greater than or equal to aggregate container'
                    " requests of 3Mi",
                )
            ],
            id="containers that need more memory than their pod",
        ),
        pytest.param(
            {"shareProcessNamespace": True, "hostPID": True},
            [
                (
                    "spec.securityContext.shareProcessNamespace",
                    "Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled",
                )
            ],
            id="processes shared with two",
        ),
        pytest.param(
            {"volumes": [{"name": "a", "secret": {}}]},
            [("spec.volumes[0].secret.secretName", "Required value")],
            id="a volume of an unnamed secret",
        ),
        pytest.param(
            {"volumes": [{"name": "a", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]},
            [
                (
                    "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes",
                    "Required value: at least 1 access mode is required",
                ),
                (
                    "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]",
                    "Required value",
                ),
            ],
            id="an empty claim template",
        ),
        pytest.param(
            {"schedulingGroup": {}},
            [
                (
                    "spec.schedulingGroup.podGroupName",
                    "Invalid value: null: must specify one of: `podGroupName`",
                )
            ],
            id="a scheduling group without a name",
        ),
    ],
)  # fmt: skip
def test_the_spec_of_a_pod(spec: Document, expected: Expected) -> None:
    assert of_pod(**spec) == expected


def template(**spec: Any) -> Document:
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container()], **spec}}


def workload(**fields: Any) -> Document:
    return {"selector": {"matchLabels": {"app": "x"}}, "template": template(), **fields}


@pytest.mark.parametrize(
    ("api_version", "kind", "fields", "expected"),
    [
        pytest.param("apps/v1", "Deployment", {"spec": workload()}, [], id="a deployment"),
        pytest.param("apps/v1", "DaemonSet", {"spec": workload()}, [], id="a daemon set"),
        pytest.param("apps/v1", "StatefulSet", {"spec": workload()}, [], id="a stateful set"),
        pytest.param("apps/v1", "ReplicaSet", {"spec": workload()}, [], id="a replica set"),
        pytest.param(
            "apps/v1",
            "StatefulSet",
            {
                "spec": workload(
                    template=template(
                        containers=[container(volumeMounts=[{"name": "d", "mountPath": "/d"}])]
                    ),
                    volumeClaimTemplates=[
                        {
                            "metadata": {"name": "d"},
                            "spec": {
                                "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": "1Gi"}},
                            },
                        }
                    ],
                )
            },
            [],
            id="a mount of a claim template",
        ),
        pytest.param(
            "apps/v1",
            "DaemonSet",
            {"spec": workload(updateStrategy={"rollingUpdate": {"maxSurge": 1}})},
            [
                (
                    "spec.updateStrategy.rollingUpdate.maxSurge",
                    "Invalid value: 1: may not be set when maxUnavailable is non-zero",
                )
            ],
            id="a daemon set with a surge",
        ),
        pytest.param(
            "batch/v1",
            "Job",
            {"spec": {"template": template()}},
            [
                (
                    "spec.template.spec.restartPolicy",
                    'Required value: valid values: "OnFailure", "Never"',
                )
            ],
            id="a job whose pods restart for ever",
        ),
        pytest.param(
            "batch/v1",
            "Job",
            {"spec": {"completionMode": "Indexed", "template": template(restartPolicy="Never")}},
            [],
            id="an indexed job has one completion by default",
        ),
        pytest.param(
            "batch/v1",
            "Job",
            {
                "spec": {
                    "completionMode": "Indexed",
                    "completions": 4,
                    "successPolicy": {"rules": [{"succeededIndexes": "0-2,2"}]},
                    "template": template(restartPolicy="Never"),
                }
            },
            [
                (
                    "spec.successPolicy.rules[0].succeededIndexes",
                    'Invalid value: "0-2,2": error parsing succeededIndexes: non-increasing order,'
                    " previous: 2, current: 2",
                )
            ],
            id="indexes out of order",
        ),
        pytest.param(
            "batch/v1",
            "Job",
            {
                "spec": {
                    "podFailurePolicy": {
                        "rules": [
                            {
                                "action": "Ignore",
                                "onExitCodes": {"operator": "In", "values": [2, 1, 0]},
                            }
                        ]
                    },
                    "template": template(restartPolicy="Never"),
                }
            },
            [
                (
                    "spec.podFailurePolicy.rules[0].onExitCodes.values[2]",
                    "Invalid value: 0: must not be 0 for the In operator",
                ),
                (
                    "spec.podFailurePolicy.rules[0].onExitCodes.values",
                    "Invalid value: [2,1,0]: must be ordered",
                ),
            ],
            id="exit codes",
        ),
        pytest.param(
            "v1",
            "Node",
            {"status": {"capacity": {"cpu": "-1", "pods": "1.5"}}},
            [
                ("status.capacity.cpu", 'Invalid value: "-1": must be greater than or equal to 0'),
                ("status.capacity.pods", 'Invalid value: "1500m": must be an integer'),
                (
                    "status.allocatable.cpu",
                    'Invalid value: "-1": must be greater than or equal to 0',
                ),
                ("status.allocatable.pods", 'Invalid value: "1500m": must be an integer'),
            ],
            id="a node with impossible amounts",
        ),
        pytest.param(
            "scheduling.k8s.io/v1",
            "PriorityClass",
            {"metadata": {"name": "system-node-critical"}, "value": 1},
            [
                (
                    "metadata.name",
                    "Forbidden: priority class names with 'system-' prefix are reserved for"
                    " system use only. error: value of system-node-critical PriorityClass must be"
                    " 2000001000",
                )
            ],
            id="a system class with another value",
        ),
        pytest.param(
            "scheduling.k8s.io/v1alpha2",
            "PodGroup",
            {"spec": {"schedulingPolicy": {"gang": {"minCount": 0}}}},
            [("spec.schedulingPolicy.gang.minCount", "Required value")],
            id="a gang of nothing",
        ),
        pytest.param(
            "scheduling.k8s.io/v1alpha2",
            "Workload",
            {"spec": {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}]}},
            [],
            id="a workload",
        ),
        pytest.param(
            "scheduling.k8s.io/v1alpha2",
            "Workload",
            {"spec": {"podGroupTemplates": []}},
            [("spec.podGroupTemplates", "Required value")],
            id="a workload without templates",
        ),
        pytest.param(
            "storage.k8s.io/v1",
            "CSINode",
            {"spec": {"drivers": [{"name": "ebs", "nodeID": "n"}] * 2}},
            [("spec.drivers[1].name", 'Duplicate value: "ebs"')],
            id="a driver twice",
        ),
        pytest.param(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web",
                                         "apiVersion": "apps/v1"},
                      "minReplicas": 3, "maxReplicas": 2}},
            [
                (
                    "spec.maxReplicas",
                    "Invalid value: 2: must be greater than or equal to `minReplicas`",
                )
            ],
            id="an autoscaler upside down",
        ),
        pytest.param(
            "v1",
            "ReplicationController",
            {"spec": {"template": template()}},
            [],
            id="a controller's selector defaults to its labels",
        ),
        pytest.param(
            "node.k8s.io/v1",
            "RuntimeClass",
            {"handler": "Kata"},
            [
                (
                    "handler",
                    'Invalid value: "Kata": a lowercase RFC 1123 label must consist of lower case'
                    " alphanumeric characters or '-', and must start and end with an alphanumeric"
                    " character (e.g. 'my-name',  or '123-abc', regex used for validation is"
                    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
                )
            ],
            id="a runtime handler",
        ),
    ],
)  # fmt: skip
def test_other_kinds(api_version: str, kind: str, fields: Document, expected: Expected) -> None:
    assert problems(api_version, kind, **fields) == expected


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"name": "web"}, [], id="valid"),
        pytest.param({"generateName": "web-"}, [], id="the name is generated later"),
        pytest.param(
            {},
            [("metadata.name", "Required value: name or generateName is required")],
            id="no name",
        ),
        pytest.param(
            {"name": "web", "finalizers": ["mine"]},
            [
                (
                    "metadata.finalizers[0]",
                    'Invalid value: "mine": name is neither a standard finalizer name nor is it'
                    " fully qualified",
                )
            ],
            id="a finalizer without a domain",
        ),
    ],
)
def test_metadata(metadata: Document, expected: Expected) -> None:
    found = validate_object_meta(metadata, name_rule="subdomain", is_namespaced=True)
    assert [(path, message) for path, message, _ in found] == expected


def test_the_path_of_metadata_can_be_another() -> None:
    found = validate_object_meta(
        {}, name_rule="subdomain", is_namespaced=True, path="items[0].metadata"
    )
    assert [path for path, _, _ in found] == ["items[0].metadata.name"]


def test_the_namespace_of_a_cluster_scoped_object_is_ignored() -> None:
    metadata = {"name": "n1", "namespace": "Not Valid"}
    assert validate_object_meta(metadata, name_rule="subdomain", is_namespaced=False) == []


WINDOWS = "Forbidden: cannot be set for a windows pod"
LINUX = "Forbidden: windows options cannot be set for a linux pod"


def test_a_pod_has_no_security_options_of_another_operating_system() -> None:
    security = {"runAsUser": 5, "windowsOptions": {"runAsUserName": "a"}}
    containers = [container(securityContext={"privileged": False})]
    spec = {"securityContext": security, "containers": containers, "hostPID": False}
    assert of_pod(**spec, os={"name": "windows"}) == [
        ("spec.securityContext.runAsUser", WINDOWS),
        ("spec.containers[0].securityContext.privileged", WINDOWS),
    ]
    assert of_pod(**spec, os={"name": "linux"}) == [("spec.securityContext.windowsOptions", LINUX)]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"preferAvoidPods": [{"podSignature": {"podController": {"controller": true}}}]}', []),
        ("{", [".AvoidPods", "unexpected end of JSON input"]),
        ('{"preferAvoidPods": [{}]}', ["[0].PodSignature", "Required value"]),
        (
            '{"preferAvoidPods": [{"podSignature": {"podController": {}}}]}',
            ["[0].PodSignature.PodController.Controller", "must point to a controller"],
        ),
    ],
)
def test_the_pods_that_a_node_avoids(written: str, expected: list[str]) -> None:
    annotations = {"scheduler.alpha.kubernetes.io/preferAvoidPods": written}
    found = problems("v1", "Node", metadata={"name": "n", "annotations": annotations})
    assert len(found) == bool(expected)
    for path, message in found:
        assert path.endswith(expected[0])
        assert message.endswith(expected[1])


@pytest.mark.parametrize(
    ("api_version", "kind", "reports"),
    [
        ("v1", "ReplicationController", False),
        ("resource.k8s.io/v1", "DeviceClass", False),
        ("v1", "ConfigMap", True),
    ],
)
def test_some_kinds_leave_the_prefix_of_names_to_the_name(api_version, kind, reports):
    found = built_in().find(api_version, kind)
    assert found is not None

    def paths(**metadata: str) -> set[str]:
        rule = found.row.name_rule
        wrong = validate_object_meta(metadata, name_rule=rule, is_namespaced=False)
        return {path for path, _, _ in wrong}

    assert ("metadata.generateName" in paths(name="a", generateName="Web-")) == reports
    assert paths(name="A") == {"metadata.name"}
