"""The step `apply`, and the lists of addresses, as in KWOK 0.8."""

import pytest

from podwright.apimachinery.objects import InputError, ObjectPut, decode
from podwright.cluster.api import ApplyObject, PatchObject
from podwright.cluster.kubelets import Lifecycle, ScheduleStage, StageError, read_stages
from podwright.testing import make_pod

HEAD = """apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: s}
spec:
  resourceRef: {kind: KIND}
  selector: {}
"""


def played(kind, steps, obj):
    """Return the actions of a stage that is played on an object."""
    lifecycle = Lifecycle(read_stages(HEAD.replace("KIND", kind) + steps, source="s"))
    (scheduled,) = lifecycle.handle(ObjectPut(obj), 0)
    assert isinstance(scheduled, ScheduleStage)
    return lifecycle.handle(scheduled.event, 0)


CLAIM = decode(
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "shop", "uid": "u1"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
)


def test_an_object_is_created_before_the_own_object_is_changed():
    applied, updated = played(
        "PersistentVolumeClaim",
        """  steps:
  - apply:
      template: |
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: pvc-{{ .metadata.uid }}}
        spec:
          accessModes: {{ YAML .spec.accessModes 2 }}
          persistentVolumeReclaimPolicy: {{ default "Delete" .spec.reclaimPolicy | Quote }}
  - patch: {root: spec, template: "volumeName: pvc-{{ .metadata.uid }}"}
""",
        CLAIM,
    )
    assert isinstance(applied, ApplyObject)
    assert (applied.obj.kind, applied.obj.key) == ("PersistentVolume", "pvc-u1")
    assert (applied.scope, applied.user) == ("main", updated.user)
    assert applied.obj.raw["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    assert updated.obj.raw["spec"]["volumeName"] == "pvc-u1"


def test_a_namespaced_object_is_in_the_namespace_of_the_document():
    (applied,) = played(
        "PersistentVolumeClaim",
        """  steps:
  - apply:
      template: |
        apiVersion: v1
        kind: Pod
        metadata: {name: p}
""",
        CLAIM,
    )
    assert applied.obj.key == "shop/p"


def test_an_object_that_names_its_namespace_is_there():
    template = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: other}}"
    steps = f"  steps:\n  - apply: {{template: '{template}'}}\n"
    (applied,) = played("PersistentVolumeClaim", steps, CLAIM)
    assert applied.obj.key == "other/p"


def test_a_subresource_is_a_patch_of_an_existing_object():
    (patch,) = played(
        "PersistentVolumeClaim",
        """  steps:
  - apply:
      type: merge
      subresource: status
      impersonation: {username: someone}
      template: |
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: v}
        status: {phase: Released}
""",
        CLAIM,
    )
    key = ("", "PersistentVolume")
    assert patch == PatchObject(key, "v", {"status": {"phase": "Released"}}, "someone", "status")


@pytest.mark.parametrize(
    ("names", "user"),
    [((None,), "kwok:s"), (("a",), "a"), (("a", None), "a"), (("a", "b"), "b")],
)
def test_the_update_of_patches_is_that_of_the_last_user_they_name(names, user):
    steps = "".join(
        f"  - patch: {{root: spec, template: 'volumeName: v{number}'"
        + ("" if name is None else f", impersonation: {{username: {name}}}")
        + "}\n"
        for number, name in enumerate(names)
    )
    (update,) = played("PersistentVolumeClaim", f"  steps:\n{steps}", CLAIM)
    assert update.user == user


@pytest.mark.parametrize(
    "template",
    ["5", "[]", "{apiVersion: v1, kind: Pod}", "{apiVersion: v1, metadata: {name: p}}",
     "{kind: Pod, metadata: {name: p}}", "{apiVersion: v1, kind: Pod, metadata: p}"],
)  # fmt: skip
def test_what_is_applied_is_an_object(template):
    with pytest.raises(StageError, match="an applied object has apiVersion, kind and metadata"):
        played("PersistentVolumeClaim", f"  steps:\n  - apply: {{template: '{template}'}}\n", CLAIM)


@pytest.mark.parametrize(
    ("template", "field"),
    [
        ("{apiVersion: v1, kind: [Pod], metadata: {name: p}}", "kind"),
        ("{apiVersion: v1, kind: 2, metadata: {name: p}}", "kind"),
        ("{apiVersion: 1, kind: Pod, metadata: {name: p}}", "apiVersion"),
        ("{apiVersion: [v1], kind: Pod, metadata: {name: p}}", "apiVersion"),
    ],
)
def test_the_version_and_the_kind_of_what_is_applied_are_texts(template, field):
    with pytest.raises(InputError, match=f"the applied object: {field}: Required value"):
        played("PersistentVolumeClaim", f"  steps:\n  - apply: {{template: '{template}'}}\n", CLAIM)


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param("{root: spec, template: 'accessModes: [ReadWriteOnce]'}", id="as it is"),
        pytest.param("{template: '{}'}", id="nothing"),
    ],
)
def test_a_patch_that_changes_nothing_is_no_update(patch):
    assert played("PersistentVolumeClaim", f"  steps:\n  - patch: {patch}\n", CLAIM) == []


def test_addresses_are_lists():
    (update,) = played(
        "Pod",
        """  next:
    statusTemplate: |
      {{ $hosts := NodeIPsWith .spec.nodeName }}
      {{ with $hosts }}
      hostIP: {{ index . 0 | Quote }}
      hostIPs:
      {{ range . }}
      - ip: {{ . | Quote }}
      {{ end }}
      {{ end }}
      {{ with PodIPsWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) }}
      podIPs:
      {{ range . }}
      - ip: {{ . | Quote }}
      {{ end }}
      {{ end }}
""",
        make_pod("web", node="n1"),
    )
    assert update.obj.raw["status"] == {
        "hostIP": "10.0.0.1",
        "hostIPs": [{"ip": "10.0.0.1"}],
        "podIPs": [{"ip": "10.64.0.1"}],
    }
