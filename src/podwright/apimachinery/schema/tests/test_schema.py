"""Kinds found by version, group and resource, and strict decoding."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import TYPES, api_group
from podwright.apimachinery.schema import Kind, Schema, Table, built_in, built_in_table


def kind(api_version: str, name: str) -> Kind:
    found = built_in().find(api_version, name)
    assert found is not None
    return found


def pod(**spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry/app"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "creationTimestamp": None},
        "spec": {"containers": [container], **spec},
    }


def test_every_kind_compiles_and_accepts_an_empty_object() -> None:
    kinds = list(built_in())
    assert len(kinds) > 90
    for each in kinds:
        assert each.decoding_problems({}) == []
        assert each.struct.fields


def test_the_preferred_version_is_the_most_stable_one() -> None:
    claim = built_in().of("resource.k8s.io", "ResourceClaim")
    scaler = built_in().of("autoscaling", "HorizontalPodAutoscaler")
    assert claim is not None
    assert scaler is not None
    assert (claim.api_version, scaler.api_version) == ("resource.k8s.io/v1", "autoscaling/v2")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("pods", "Pod", id="the resource"),
        pytest.param("Deployment", "Deployment", id="the singular, in any case"),
        pytest.param("po", "Pod", id="the short name"),
        pytest.param("deploy.apps", "Deployment", id="with its group"),
        pytest.param("pvc", "PersistentVolumeClaim", id="another short name"),
    ],
)
def test_a_resource_is_found_by_the_names_that_kubectl_accepts(name: str, expected: str) -> None:
    found = built_in().resource(name)
    assert found is not None
    assert found.row.kind == expected


def test_events_without_a_group_are_those_of_the_core_group() -> None:
    core, grouped = built_in().resource("ev"), built_in().resource("events.events.k8s.io")
    assert core is not None
    assert grouped is not None
    assert (core.api_version, grouped.api_version) == ("v1", "events.k8s.io/v1")


def test_no_resource_has_an_empty_name() -> None:
    """Those of metrics.k8s.io have no singular."""
    assert [built_in().resource(name) for name in ("", ".metrics.k8s.io")] == [None, None]


@pytest.mark.parametrize(
    ("api_version", "name", "message"),
    [
        pytest.param("apps/v1", "Deployment", "", id="served"),
        pytest.param("kwok.x-k8s.io/v1alpha1", "Stage", "", id="a custom kind"),
        pytest.param(
            "apps/v1",
            "Zzzzzz",
            'no matches for kind "Zzzzzz" in version "apps/v1"',
            id="unlike any other",
        ),
        pytest.param(
            "extensions/v1beta1",
            "Ingress",
            'no matches for kind "Ingress" in version "extensions/v1beta1"; use'
            " networking.k8s.io/v1",
            id="moved to another group",
        ),
        pytest.param(
            "apps/v2",
            "Deployment",
            'no matches for kind "Deployment" in version "apps/v2"; use apps/v1',
            id="a version that never was",
        ),
        pytest.param(
            "policy/v1beta1",
            "PodSecurityPolicy",
            'no matches for kind "PodSecurityPolicy" in version "policy/v1beta1"; Kubernetes 1.36'
            " does not serve this kind",
            id="without a successor",
        ),
        pytest.param(
            "apps/v1",
            "Deploymnet",
            'no matches for kind "Deploymnet" in version "apps/v1"; did you mean "Deployment"?',
            id="misspelled",
        ),
    ],
)
def test_an_unserved_kind_has_kubectls_error(api_version: str, name: str, message: str) -> None:
    assert built_in().no_match(api_version, name) == message


def test_every_successor_is_served() -> None:
    table = built_in_table()
    wrong = [
        key
        for key, successor in table.unserved.items()
        if key in table.kinds
        or (successor and f"{successor}/{key.rpartition('/')[2]}" not in table.kinds)
    ]
    assert len(table.unserved) > 60
    assert not wrong


# ---------------------------------------------------------------------------- decoding


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        pytest.param(
            {"tolerationz": []},
            "spec.tolerationz",
            'unknown field; did you mean "tolerations"?',
            id="misspelled",
        ),
        pytest.param(
            {"nodeselector": {}},
            "spec.nodeselector",
            'unknown field; did you mean "nodeSelector"?',
            id="in the wrong case",
        ),
        pytest.param(
            {"resorces": {}},
            "spec.resorces",
            'unknown field; did you mean "resources"?',
            id="near a field that another struct has too",
        ),
        pytest.param(
            {"env": []},
            "spec.env",
            "unknown field; it is a field of spec.containers[]",
            id="one level too high",
        ),
        pytest.param(
            {"containers": [{"name": "main", "tolerations": []}]},
            "spec.containers[0].tolerations",
            "unknown field; it is a field of spec",
            id="one level too low",
        ),
        pytest.param(
            {"contaners": []},
            "spec.contaners",
            'unknown field; did you mean "containers"?',
            id="near a field that is set, and less near another one",
        ),
        pytest.param(
            {"hostIPP": True, "hostIPC": True},
            "spec.hostIPP",
            'unknown field; did you mean "hostPID"?',
            id="as near a field that is set as another one",
        ),
        pytest.param(
            {"containers": [{"name": "main", "nmae": "x"}]},
            "spec.containers[0].nmae",
            'unknown field; did you mean "name"?',
            id="swapped letters",
        ),
        pytest.param({"xyz": 1}, "spec.xyz", "unknown field", id="near nothing"),
        pytest.param(
            {"nodeName": 5},
            "spec.nodeName",
            "Invalid value: 5: must be a string; put it in quotes",
            id="a number as a string",
        ),
        pytest.param(
            {"priority": "5"},
            "spec.priority",
            'Invalid value: "5": must be an integer',
            id="a string as a number",
        ),
        pytest.param(
            {"priority": 2**31},
            "spec.priority",
            "Invalid value: 2147483648: must be a number from -2147483648 to 2147483647",
            id="more than an int32",
        ),
        pytest.param(
            {"hostNetwork": "yes"},
            "spec.hostNetwork",
            'Invalid value: "yes": must be true or false',
            id="a string as a boolean",
        ),
        pytest.param(
            {"hostNetwork": 1},
            "spec.hostNetwork",
            "Invalid value: 1: must be true or false",
            id="a number as a boolean",
        ),
        pytest.param(
            {"containers": {"name": "main"}},
            "spec.containers",
            'Invalid value: {"name": "main"}: must be a list',
            id="a struct as a list",
        ),
        pytest.param(
            {"nodeSelector": ["zone"]},
            "spec.nodeSelector",
            'Invalid value: ["zone"]: must be a map',
            id="a list as a map",
        ),
        pytest.param(
            {"affinity": "none"},
            "spec.affinity",
            'Invalid value: "none": must be an object',
            id="a string as a struct",
        ),
        pytest.param(
            {"overhead": {"cpu": "1 core"}},
            "spec.overhead[cpu]",
            'Invalid value: "1 core": quantities are numbers with an optional suffix, such as'
            " 500m, 2, 1.5Gi or 1e3",
            id="no quantity",
        ),
        pytest.param(
            {"overhead": {"cpu": "9" * 1_001}},
            "spec.overhead[cpu]",
            f'Invalid value: "{"9" * 76}...: a quantity has at most 1000 characters',
            id="a quantity of too many digits",
        ),
        pytest.param(
            {"overhead": {"cpu": True}},
            "spec.overhead[cpu]",
            "Invalid value: true: must be a quantity, such as 500m or 2Gi",
            id="a boolean as a quantity",
        ),
    ],
)
def test_a_decoding_problem_has_its_path_and_what_is_expected(
    spec: dict[str, Any], path: str, message: str
) -> None:
    problems = kind("v1", "Pod").decoding_problems(pod(**spec))
    assert [problem[:2] for problem in problems] == [(path, message)]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"overhead": {"cpu": "1e3", "memory": 5, "x": 0.5}}, id="quantities"),
        pytest.param({"overhead": {"cpu": " 1 "}}, id="a quantity with space"),
        pytest.param({"nodeSelector": None, "priority": None}, id="nulls are absent fields"),
        pytest.param({"nodeSelector": {"zone": None}}, id="a null in a map"),
        pytest.param(
            {"containers": [{"ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {
                "port": "http"}}}, {"livenessProbe": {"httpGet": {"port": 80}}}]},
            id="int or string",
        ),
    ],
)  # fmt: skip
def test_what_the_api_server_reads_has_no_problem(spec: dict[str, Any]) -> None:
    assert kind("v1", "Pod").decoding_problems(pod(**spec)) == []


def test_all_problems_are_reported_in_document_order() -> None:
    problems = kind("v1", "Pod").decoding_problems(pod(a=1, b=2) | {"c": 3})
    assert [path for path, _, _ in problems] == ["spec.a", "spec.b", "c"]


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        pytest.param(
            pod(nodeName=5, restartPolicy="Alway", containers=[{"name": "A", "image": 1}]),
            [
                "spec.containers[0].image",
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.containers[0].name",
            ],
            id="values beside those of a wrong type",
        ),
        pytest.param(
            pod(containers=[5, {"name": "a", "ports": [{"containerPort": "70000"}, {}]}]),
            [
                "spec.containers[0]",
                "spec.containers[1].ports[0].containerPort",
                "spec.containers[1].image",
                "spec.containers[1].ports[1].containerPort",
            ],
            id="indexes stay",
        ),
        pytest.param(
            pod(volumes=[{"name": "v", "hostPath": 5}], containers="none", overhead={"cpu": "x"}),
            ["spec.containers", "spec.overhead[cpu]", "spec.volumes[0].hostPath"],
            id="consequences are not reported",
        ),
        pytest.param(
            pod() | {"metadata": {"name": "web", "labels": {"a": 5, "b": "%"}}},
            ["metadata.labels[a]", "metadata.labels"],
            id="a number as a string has its text",
        ),
        pytest.param(pod() | {"metadata": [1]}, ["metadata"], id="no metadata"),
        pytest.param(
            pod(overhead={"cpu": float("inf")}, containers=[]),
            ["spec.overhead[cpu]", "spec.containers"],
            id="an infinite quantity",
        ),
    ],
)
def test_what_is_left_of_an_object_with_wrong_types_is_validated(
    document: dict[str, Any], paths: list[str]
) -> None:
    made, problems = kind("v1", "Pod").checked(document)
    assert made is document
    assert sorted(path for path, _, _ in problems) == sorted(paths)


def test_times_and_base64_are_decoded() -> None:
    secret = {"metadata": {"creationTimestamp": "today"}, "data": {"key": "not base64!"}}
    paths = [path for path, _, _ in kind("v1", "Secret").decoding_problems(secret)]
    assert paths == ["metadata.creationTimestamp", "data[key]"]
    valid = {"metadata": {"creationTimestamp": "2026-02-29T10:00:00+02:00"}}
    assert kind("v1", "Secret").decoding_problems(valid)
    valid = {"metadata": {"creationTimestamp": "2024-02-29T10:00:00+02:00"}}
    assert kind("v1", "Secret").decoding_problems(valid | {"data": {"key": "YQ==\n"}}) == []


def test_a_struct_that_contains_itself_is_decoded() -> None:
    schema = {"type": "object", "properties": {"spec": {"typ": "object"}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    definition = kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    (problem,) = definition.decoding_problems({"spec": {"versions": [version]}})
    path = "spec.versions[0].schema.openAPIV3Schema.properties[spec].typ"
    assert problem[:2] == (path, 'unknown field; did you mean "type"?')


# -------------------------------------------------------------------- quantities, merging


def test_quantities_become_canonical_and_the_rest_is_shared() -> None:
    before = pod(
        containers=[{"resources": {"requests": {"cpu": "0.5", "memory": "1024Mi"}}}, {"name": "b"}],
        tolerations=[{"key": "a"}],
    )
    after = kind("v1", "Pod").with_canonical_quantities(before)
    first = after["spec"]["containers"][0]
    assert first["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert before["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "0.5"
    assert after["spec"]["containers"][1] is before["spec"]["containers"][1]
    assert after["spec"]["tolerations"] is before["spec"]["tolerations"]
    assert kind("v1", "Pod").with_canonical_quantities(after) is after


def test_a_field_has_its_merge_rules() -> None:
    containers = kind("apps/v1", "Deployment").field("spec.template.spec.containers")
    assert containers is not None
    assert (containers.list_type, containers.keys, containers.merge_key) == (
        "map",
        ("name",),
        "name",
    )
    ports = kind("v1", "Pod").field("spec.containers.ports")
    assert ports is not None
    assert ports.keys == ("containerPort", "protocol")
    assert kind("v1", "Pod").field("spec.containers.nothing") is None
    assert kind("v1", "Pod").field("spec.nodeName.deeper") is None


def test_a_merge_key_depends_on_the_name_of_the_list_only() -> None:
    # Patches of pods and nodes know the fields by name; see `stages.patches`.
    keys: dict[str, set[str]] = {}
    for name in ("Pod", "Node"):
        for field in kind("v1", name).fields():
            if field.is_merged:
                keys.setdefault(field.name, set()).add(field.merge_key)
    assert keys["containers"] == {"name"}
    assert not {name: several for name, several in keys.items() if len(several) > 1}


# --------------------------------------------------------------------- facts of the table


def test_protobuf_numbers_follow_embedded_messages() -> None:
    number = kind("v1", "Pod").field("spec.volumes.hostPath")
    assert number is not None
    assert number.number == (2, 1)


def test_every_field_that_a_message_can_have_has_a_number() -> None:
    named = {"apiVersion", "kind"}
    missing = [
        (each.row.kind, name)
        for each in built_in()
        for name, field in each.struct.fields.items()
        # Metrics are not served as protobuf.
        if not field.number and name not in named and each.row.group != "metrics.k8s.io"
    ]
    assert not missing


def test_a_kind_is_added_by_data_only() -> None:
    built = built_in_table()
    row = next(row for row in built.kinds.values() if row.kind == "ConfigMap")

    widget = msgspec.structs.replace(
        row, group="example.com", version="v1", kind="Widget", type="example.v1.Widget",
        resource="widgets", singular="widget", short_names=("wd",), immutable=("mode",),
        validation="", validation_of_update=("metadata", "immutable"),
    )  # fmt: skip
    fields = {"metadata": "meta.v1.ObjectMeta 1", "sizes": "{quantity} 2", "mode": "string 3"}
    schema = Schema(
        Table(
            kinds=built.kinds | {"example.com/v1/Widget": widget},
            types=built.types | {"example.v1.Widget": fields},
            unserved=built.unserved | {"example.com/v1beta1/Widget": "example.com/v1"},
        )
    )
    found = schema.resource("wd")
    assert found is schema.find("example.com/v1", "Widget")
    assert found is not None
    assert schema.is_namespaced("example.com", "Widget")
    assert found.decoding_problems({"metadata": {"name": "a"}, "sizes": {"x": "1Gi"}}) == []
    assert [path for path, _, _ in found.decoding_problems({"mod": "a"})] == ["mod"]
    (problem,) = found.update_problems({"mode": "b"}, {"mode": "a"})
    assert problem[:2] == ("mode", 'Invalid value: "b": field is immutable')
    assert found.with_canonical_quantities({"sizes": {"x": "1024"}})["sizes"] == {"x": "1024"}
    assert schema.no_match("example.com/v1beta1", "Widget").endswith("; use example.com/v1")
    assert schema.no_match("example.com/v1", "Wodget").endswith('; did you mean "Widget"?')


def test_facts_that_other_rooms_read_are_data() -> None:
    built = built_in_table()
    row = msgspec.structs.replace(
        built.kinds["apps/v1/Deployment"], kind="Fleet", resource="fleets", singular="fleet",
        short_names=(), snapshot_key="fleets", creation_rank=0,
    )  # fmt: skip
    schema = Schema(
        Table(
            kinds=built.kinds | {"apps/v1/Fleet": row}, types=built.types, unserved=built.unserved
        )
    )
    fleet = ("apps", "Fleet")
    assert schema.pod_templates[fleet] == "spec.template"
    assert ("", "Node") not in schema.pod_templates
    assert fleet in schema.scaled
    assert schema.snapshot_keys["fleets"] is schema.of(*fleet)
    assert [*schema.snapshot_keys][:2] == ["namespaces", "fleets"]
    assert schema.creation_rank(*fleet) == 0
    assert schema.creation_rank("example.com", "Widget") == schema.creation_rank("", "Service")


def test_the_classes_of_kinds_agree_with_the_table() -> None:
    for cls in TYPES:
        found = built_in().find(cls.api_version, cls.kind)
        if found is None:
            assert not built_in().is_built_in(api_group(cls.api_version))
        else:
            assert found.row.namespaced == cls.namespaced


def test_a_pod_names_the_claims_of_its_status_in_its_spec() -> None:
    status = {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "c"}, {"name": "b"}]}
    spec = {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "t"}]}
    new = {"metadata": {"name": "web"}, "spec": spec, "status": status}
    (problem,) = kind("v1", "Pod").status_problems(new, new | {"status": {}})
    assert problem[0] == "status.resourceClaimStatuses[1].name"
    status["resourceClaimStatuses"] = [{"name": "a", "resourceClaimName": "A"}]
    (problem,) = kind("v1", "Pod").status_problems(new, new | {"status": {}})
    assert "RFC 1123 subdomain" in problem[1]


@pytest.mark.parametrize(
    ("name", "api_version"),
    [("hpa", "autoscaling/v2"), ("csistoragecapacities", "storage.k8s.io/v1"), ("cj", "batch/v1")],
)
def test_a_resource_is_that_of_the_preferred_version(name, api_version):
    kind = built_in().resource(name)
    assert kind is not None
    assert kind.api_version == api_version
