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

DELAY = "jq: {expression: .metadata.annotations.delay}"
WEIGHT = "expressionFrom: .metadata.annotations.weight"
JITTER = "expressionFrom: .metadata.annotations.jitter"
# Without what a warning is about.
QUIET = WHOLE.replace("started {{ .metadata.name }}", "started")
QUIET_PATCHED = PATCHED.replace('statusTemplate: "phase: a"', 'statusTemplate: ""')

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


@pytest.mark.parametrize(
    ("delay", "bounds"),
    [
        (f"durationFrom: {{{DELAY}}}", (0, 0)),
        (f"durationMilliseconds: 3, durationFrom: {{{DELAY}}}", (3_000_000, 3_000_000)),
        (f"jitterDurationFrom: {{{DELAY}}}", (0, 0)),
        ("jitterDurationMilliseconds: 4", (0, 4_000_000)),
    ],
)
def test_a_delay_that_a_document_does_not_have_is_the_default(delay, bounds):
    kind = f"kind: Stage\nmetadata: {{name: s}}\nspec:\n  delay: {{{delay}}}"
    text = f"apiVersion: kwok.x-k8s.io/v1alpha1\n{kind}\n  resourceRef: {{kind: Pod}}\n"
    (stage,) = read_stages(f"{text}  selector: {{}}\n  next: {{delete: true}}\n", source="s")
    sources = stage.delay.sources({"metadata": {"name": "web"}})
    assert stage.delay.bounds(sources, 7) == bounds


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
        ("kind: Stage", "kind: Stagee",
         'kind: Unsupported value: "Stagee": supported values: "Stage"; did you mean "Stage"?'),
        ("v1alpha1", "v2",
         'apiVersion: Unsupported value: "kwok.x-k8s.io/v2": supported values: '
         '"kwok.x-k8s.io/v1alpha1"; did you mean "kwok.x-k8s.io/v1alpha1"?'),
        ("{name: whole}", "{}", "metadata.name: Required value"),
        ("{name: whole}", "{name: ''}", "metadata.name: Required value"),
        ("{name: whole}", "{name: 7}", "metadata.name: Required value"),
        ("  weight: 2", "  wieght: 2",
         'spec.wieght: unknown field "wieght"; did you mean "weight"?'),
        ("weight: 2", "weight: a", 'spec.weight: Invalid value: "a": must be an integer'),
        ("weight: 2", "weight: -1", "spec.weight: Invalid value: -1: must not be negative"),
        ("kind: Deployment", "kind: ''", "spec.resourceRef.kind: Required value"),
        ("operator: In,", "operator: Inn,",
         'spec.selector.matchExpressions[0].operator: Unsupported value: "Inn": supported values: '
         '"DoesNotExist", "Exists", "In", "NotIn"; did you mean "In"?'),
        (", values: [Pending]", "",
         "spec.selector.matchExpressions[0].values: Required value: In requires values"),
        ("DoesNotExist}", "DoesNotExist, values: [a]}",
         "spec.selector.matchExpressions[1].jq.values: "
         "Forbidden: DoesNotExist takes no values"),
        ("key: .status.phase", "key: .status | keys",
         'spec.selector.matchExpressions[0].key: Invalid value: ".status | keys": '
         """expected a path, which starts with ".", got 'keys'"""),
        (WEIGHT, "cel: {expression: nope}",
         'spec.weightFrom.cel.expression: Invalid value: "nope": ERROR: <input>:1:1: '
         "undeclared reference to 'nope' (in container '')"),
        (WEIGHT, "cel: {expression: ''}", "spec.weightFrom.cel.expression: Required value"),
        (WEIGHT, "jq: {expression: ''}", "spec.weightFrom.jq.expression: Required value"),
        (WEIGHT, "jq: {expression: '.a['}",
         'spec.weightFrom.jq.expression: Invalid value: ".a[": '
         "expected a quoted name, a number or nothing in [ ], got the end"),
        (WEIGHT, "expressionFrom: a",
         'spec.weightFrom.expressionFrom: Invalid value: "a": '
         """expected a path, which starts with ".", got 'a'"""),
        (WEIGHT, "", "spec.weightFrom.expressionFrom: Required value"),
        (DELAY, "cel: {expression: ''}",
         "spec.delay.durationFrom.cel.expression: Required value"),
        ("durationMilliseconds: 1000", "durationMilliseconds: -1",
         "spec.delay.durationMilliseconds: Invalid value: -1: must not be negative"),
        ("jitterDurationMilliseconds: 5000", "jitterDurationMilliseconds: -1",
         "spec.delay.jitterDurationMilliseconds: Invalid value: -1: must not be negative"),
        (JITTER, "", "spec.delay.jitterDurationFrom.expressionFrom: Required value"),
        ("type: Normal", "type: Bad",
         'spec.next.event.type: Unsupported value: "Bad": supported values: "Normal", "Warning"'),
        ("type: Warning", "type: ''",
         'spec.steps[0].event.type: Unsupported value: "": supported values: "Normal", "Warning"'),
        ('"phase: {{ .metadata.name }}"', '"{{ Nwo }}"',
         'spec.next.statusTemplate: line 1: function "Nwo" not defined; did you mean "Now"?'),
        ('template: "[]"', 'template: "{{ x"',
         'spec.next.patches[0].template: line 1: unclosed action: "}}" is missing'),
        ("type: json", "type: jsn",
         'spec.next.patches[0].type: Unsupported value: "jsn": supported values: '
         '"json", "merge", "strategic"; did you mean "json"?'),
        ("{subresource: status", "{subresource: scale",
         'spec.next.patches[0].subresource: Invalid value: "scale": '
         'only "status" and the object itself can be patched'),
        ("delete: true", 'patch: {template: "{{ x"}',
         'spec.steps[2].patch.template: line 1: unclosed action: "}}" is missing'),
        ("delete: true", "patch: {template: 'a: 1', type: apply}",
         'spec.steps[2].patch.type: Unsupported value: "apply": supported values: '
         '"json", "merge", "strategic"'),
        ("delete: true", "apply: {type: json}",
         'spec.steps[2].apply.type: Unsupported value: "json": supported values: '
         '"apply", "merge", "strategic"'),
        ("delete: true", "apply: {subresource: scale}",
         'spec.steps[2].apply.subresource: Invalid value: "scale": '
         'only "status" and the object itself can be applied'),
        ("delete: true", 'apply: {template: "{{ x"}',
         'spec.steps[2].apply.template: line 1: unclosed action: "}}" is missing'),
    ],
)  # fmt: skip
def test_errors_have_their_field_path_and_the_reason(old, new, error):
    text = next(each for each in (WHOLE, PATCHED, STEPS) if old in each)
    with pytest.raises(InputError) as raised:
        read_stages(text.replace(old, new), source="file.yaml")
    assert [str(each) for each in raised.value.errors] == [
        f"file.yaml: document 1 (line 2): {error}"
    ]


@pytest.mark.parametrize(
    ("old", "new", "warnings"),
    [
        (WEIGHT, "cel: {expression: '1'}", []),
        ("durationMilliseconds: 1000", "durationMilliseconds: 0", []),
        ("jitterDurationMilliseconds: 5000", "jitterDurationMilliseconds: 0", []),
        ("weight: 2", "weight: 0", []),
        (DELAY, "cel: {expression: 'duration(\"1s\")'}", []),
        (JITTER, "cel: {expression: 'duration(\"1s\")'}",
         ["spec.delay.jitterDurationFrom.cel: KWOK ignores it here; use jq"]),
        ("delete: true", "event: {type: Normal}", []),
        ("delete: true", "event: {type: Normal, message: '{{ a }}'}",
         ["spec.steps[2].event.message: not a template; it is recorded as it is"]),
        ("delete: true", "patch: {template: 'a: 1', type: ''}", []),
        ("delete: true", "apply: {template: 'a: 1', type: '', subresource: status}", []),
        ("delete: true", "delete: false", []),
        ("template: \"[]\"}", "template: \"[]\"}\n    delete: true", []),
    ],
)  # fmt: skip
def test_what_a_stage_may_have_is_read_with_few_warnings(old, new, warnings):
    text = next(each for each in (QUIET, QUIET_PATCHED, STEPS) if old in each)
    (stage,) = read_stages(text.replace(old, new), source="x")
    assert list(stage.warnings) == [f"x: document 1 (line 2): {each}" for each in warnings]


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
