"""Stage documents: their fields, and the errors in them."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import InputError
from podwright.cluster.kubelets import read_stage, read_stages
from podwright.cluster.kubelets.stages.stage import DeleteStep, EventStep, FinalizersStep, PatchStep

WHOLE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: whole}
spec:
  resourceRef: {apiGroup: apps/v1, kind: Deployment}
  selector:
    matchLabels: {a.b/c: x}
    matchAnnotations: {note: "1"}
    matchExpressions:
    - {key: .status.phase, operator: In, values: [Pending]}
    - jq: {key: .metadata.deletionTimestamp, operator: DoesNotExist}
  weight: 2
  weightFrom: {expressionFrom: .metadata.annotations.weight}
  delay:
    durationMilliseconds: 1000
    durationFrom: {jq: {expression: .metadata.annotations.delay}}
    jitterDurationMilliseconds: 5000
    jitterDurationFrom: {expressionFrom: .metadata.annotations.jitter}
  next:
    event: {type: Normal, reason: Started, message: "started {{ .metadata.name }}"}
    finalizers: {add: [{value: a/b}], remove: [{value: c/d}]}
    statusTemplate: "phase: {{ .metadata.name }}"
    statusPatchAs: {username: someone}
  immediateNextStage: true
"""

PATCHED = f"""{WHOLE.partition("  next:")[0]}  next:
    statusTemplate: "phase: a"
    patches:
    - {{subresource: status, root: status, type: json, template: "[]"}}
"""

STEPS = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: steps}
spec:
  resourceRef: {kind: Pod}
  selector: {}
  steps:
  - event: {type: Warning, reason: Killing, message: bye}
  - patch: {root: spec, template: "a: 1", impersonation: {username: me}}
  - delete: true
"""


def test_every_field_is_read():
    (stage,) = read_stages(WHOLE, source="whole.yaml")
    assert (stage.name, stage.group, stage.kind) == ("whole", "apps", "Deployment")
    document: dict[str, Any] = {
        "metadata": {
            "name": "web",
            "labels": {"a.b/c": "x"},
            "annotations": {"note": "1", "weight": "7", "delay": "2s"},
        },
        "status": {"phase": "Pending"},
    }
    assert stage.applies_to(document)
    for path, value in (("labels", {}), ("annotations", {}), ("deletionTimestamp", "now")):
        assert not stage.applies_to(document | {"metadata": document["metadata"] | {path: value}})
    assert stage.weight.of(document) == 7
    sources = stage.delay.sources(document)
    assert stage.delay.bounds(sources, 0) == (2_000_000_000, 5_000_000_000)
    assert stage.is_immediate
    event, finalizers, status = stage.steps
    assert isinstance(event, EventStep)
    assert event.message == "started {{ .metadata.name }}"
    assert stage.warnings == (
        "whole.yaml: document 1 (line 2): spec.next.event.message: not a template;"
        " it is recorded as it is",
    )
    assert finalizers == FinalizersStep(("a/b",), ("c/d",))
    assert isinstance(status, PatchStep)
    assert (status.root, status.subresource, status.type) == ("status", "status", "merge")
    assert status.as_user == "someone"


def test_patches_replace_a_template_of_the_status():
    (stage,) = read_stages(PATCHED, source="x")
    (patch,) = stage.steps
    assert isinstance(patch, PatchStep)
    assert (patch.type, patch.as_user) == ("json", "")
    assert stage.warnings == (
        "x: document 1 (line 2): spec.next.statusTemplate: has no effect, since there are patches",
    )


def test_the_new_form_is_read():
    (stage,) = read_stages(STEPS.encode(), source="steps.yaml")
    event, patch, delete = stage.steps
    assert isinstance(event, EventStep)
    assert isinstance(patch, PatchStep)
    assert (patch.root, patch.type, patch.as_user) == ("spec", "strategic", "me")
    assert isinstance(delete, DeleteStep)
    assert stage.applies_to({})


def test_a_deletion_overrides_a_status():
    head, _, _ = STEPS.partition("  steps:")
    (stage,) = read_stages(f"{head}  next: {{delete: true, statusTemplate: 'a: 1'}}", source="x")
    assert stage.steps == (DeleteStep(),)


def test_steps_replace_the_old_form():
    text = STEPS.replace("  steps:", "  next: {delete: true}\n  steps:")
    (stage,) = read_stages(text, source="x")
    assert [type(step) for step in stage.steps] == [EventStep, PatchStep, DeleteStep]
    assert stage.warnings == (
        "x: document 1 (line 2): spec.next: has no effect, since there are steps",
    )


def test_without_a_selector_a_stage_applies_to_nothing():
    (stage,) = read_stages(STEPS.replace("  selector: {}\n", ""), source="x")
    assert not stage.applies_to({"metadata": {"name": "web"}})


def test_several_documents_keep_their_order():
    stages = read_stages(f"---\n---{STEPS}---{WHOLE}", source="x")
    assert [stage.name for stage in stages] == ["steps", "whole"]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        pytest.param("kind: Stage", "kind: Stagee", 'kind: Unsupported value: "Stagee"', id="kind"),
        pytest.param("v1alpha1", "v2", "apiVersion: Unsupported value", id="version"),
        pytest.param("{name: whole}", "{}", "metadata.name: Required value", id="no name"),
        pytest.param(
            "  weight: 2",
            "  wieght: 2",
            'spec.wieght: unknown field "wieght"; did you mean "weight"',
            id="field",
        ),
        pytest.param("weight: 2", "weight: a", "spec.weight: Invalid value", id="type"),
        pytest.param("weight: 2", "weight: -2", "must not be negative", id="negative weight"),
        pytest.param(
            "kind: Deployment", "kind: ''", "spec.resourceRef.kind: Required", id="no kind"
        ),
        pytest.param(
            "operator: In,",
            "operator: Inn,",
            'matchExpressions[0].operator: Unsupported value: "Inn"',
            id="operator",
        ),
        pytest.param(
            ", values: [Pending]", "", "matchExpressions[0].values: Required", id="no values"
        ),
        pytest.param(
            "DoesNotExist}",
            "DoesNotExist, values: [a]}",
            "matchExpressions[1].jq.values: Forbidden",
            id="values too many",
        ),
        pytest.param(
            "key: .status.phase",
            "key: .status | keys",
            "matchExpressions[0].key: Invalid value",
            id="unsupported jq",
        ),
        pytest.param(
            "expressionFrom: .metadata.annotations.weight",
            "cel: {expression: '1 +'}",
            "spec.weightFrom.cel.expression: Invalid value",
            id="CEL",
        ),
        pytest.param(
            "expressionFrom: .metadata.annotations.weight",
            "",
            "spec.weightFrom.expressionFrom: Required value",
            id="a source without an expression",
        ),
        pytest.param(
            "durationMilliseconds: 1000",
            "durationMilliseconds: -1",
            "spec.delay.durationMilliseconds: Invalid value: -1",
            id="negative delay",
        ),
        pytest.param("type: Normal", "type: Bad", "spec.next.event.type: Unsupported", id="event"),
        pytest.param(
            '"phase: {{ .metadata.name }}"',
            '"{{ Nwo }}"',
            'spec.next.statusTemplate: line 1: function "Nwo" not defined; did you mean "Now"?',
            id="template",
        ),
        pytest.param("type: json", "type: jsn", "patches[0].type: Unsupported value", id="patch"),
        pytest.param(
            "{subresource: status",
            "{subresource: scale",
            'patches[0].subresource: Invalid value: "scale"',
            id="subresource",
        ),
    ],
)
def test_errors_have_their_field_path(old, new, error):
    text = WHOLE if old in WHOLE else PATCHED
    assert old in text
    with pytest.raises(InputError) as raised:
        read_stages(text.replace(old, new), source="file.yaml")
    assert error in str(raised.value)
    assert str(raised.value).startswith("file.yaml: document 1 (line 2): ")


def test_all_errors_are_reported_together():
    bad = WHOLE.replace("{name: whole}", "{}").replace("operator: In,", "operator: I,")
    text = f"{bad}---{STEPS}---{STEPS.replace('- delete: true', '- apply: {type: json}')}---\n- 1\n"
    with pytest.raises(InputError) as raised:
        read_stages(text, source="f")
    assert [(error.source, error.path) for error in raised.value.errors] == [
        ("f: document 1 (line 2)", "metadata.name"),
        ("f: document 1 (line 2)", "spec.selector.matchExpressions[0].operator"),
        ("f: document 3 (line 38)", "spec.steps[2].apply.type"),
        ("f: document 4 (line 49)", ""),
    ]


def test_duplicate_names_are_rejected():
    with pytest.raises(InputError, match=r'metadata\.name: Duplicate value: "steps"'):
        read_stages(f"{STEPS}---{STEPS}", source="f")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(b"\xff\xfe", "not UTF-8", id="bytes"),
        pytest.param("a: [", "not YAML", id="text"),
    ],
)
def test_invalid_yaml_is_reported(data, error):
    with pytest.raises(InputError, match=error):
        read_stages(data, source="f")


def test_a_stage_without_steps_is_rejected():
    document = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": "idle"},
        "spec": {"resourceRef": {"kind": "Pod"}},
    }
    with pytest.raises(InputError, match=r"here: spec.next: Required value: a stage without next"):
        read_stage(document, source="here")


def selecting(*expressions: str) -> str:
    listed = "".join(f"\n    - {each}" for each in expressions)
    return f"""
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: s}}
spec:
  resourceRef: {{kind: Pod}}
  selector:
    matchExpressions:{listed}
  next: {{delete: true}}
"""


@pytest.mark.parametrize("is_jq", [False, True], ids=["plain", "jq"])
@pytest.mark.parametrize(
    ("requirement", "errors"),
    [
        ("key: .a, operator: In, values: [x]", []),
        ("key: .a, operator: NotIn, values: [x, y]", []),
        ("key: .a, operator: Exists", []),
        ("key: .a, operator: DoesNotExist, values: []", []),
        ("key: .a, operator: In", ["values: Required value: In requires values"]),
        ("key: .a, operator: NotIn, values: []", ["values: Required value: NotIn requires values"]),
        ("key: .a, operator: Exists, values: [x]", ["values: Forbidden: Exists takes no values"]),
        (
            "key: .a, operator: DoesNotExist, values: [x]",
            ["values: Forbidden: DoesNotExist takes no values"],
        ),
        ("operator: Exists", ["key: Required value"]),
        ("key: '', operator: In, values: [x]", ["key: Required value"]),
        ("key: .a", ['operator: Unsupported value: "": supported values: ']),
        ("key: .a, operator: Gt", ['operator: Unsupported value: "Gt": supported values: ']),
        ("key: '.a[', operator: In, values: [x]", ['key: Invalid value: ".a[": ']),
        (
            "key: '.a[', operator: In",
            ['key: Invalid value: ".a[": ', "values: Required value: In requires values"],
        ),
        (
            "operator: in",
            ["key: Required value", 'operator: Unsupported value: "in": supported values: '],
        ),
    ],
)
def test_a_requirement_has_a_key_an_operator_and_its_values(requirement, errors, is_jq):
    first = "{key: .b, operator: Exists}"
    written = f"{{jq: {{{requirement}}}}}" if is_jq else f"{{{requirement}}}"
    text = selecting(first, written)
    if not errors:
        (stage,) = read_stages(text, source="s.yaml")
        assert stage.name == "s"
        return
    with pytest.raises(InputError) as refused:
        read_stages(text, source="s.yaml")
    path = f"spec.selector.matchExpressions[1]{'.jq' if is_jq else ''}."
    found = [f"{error.path}: {error.message}" for error in refused.value.errors]
    assert len(found) == len(errors)
    for one, start in zip(found, errors, strict=True):
        assert one.startswith(f"{path}{start}"), one


@pytest.mark.parametrize("expression", ["''", "'self.'", "'1 +'"])
def test_an_expression_of_a_selector_that_cannot_be_read_has_its_place(expression):
    with pytest.raises(InputError) as refused:
        read_stages(selecting(f"{{cel: {{expression: {expression}}}}}"), source="s.yaml")
    (error,) = refused.value.errors
    assert error.path == "spec.selector.matchExpressions[0].cel.expression"
    assert error.message.startswith("Required value" if expression == "''" else "Invalid value: ")
