"""Stages that select, wait and weigh with CEL, as KWOK's stages for volumes and devices do."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.cel import StageExpressionError, stage_expression
from podwright.apimachinery.objects import InputError, encode
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import read_stages
from podwright.cluster.kubelets.stages.stage_matching import StageMatcher
from podwright.simulation.world.world import World
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000
NODE = ("", "Node")

PUBLISH = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: publish}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - cel: {expression: "has(self.metadata.annotations) && 'cards' in self.metadata.annotations"}
    - cel: {expression: "self.metadata.annotations['cards'].matches('^[1-9][0-9]?$')"}
    - cel: {expression: "int(self.metadata.annotations['cards']) <= 8"}
    - cel: {expression: "!('published' in self.metadata.annotations)"}
  steps:
  - apply:
      template: |
        {{ $cards := atoi (index .metadata.annotations "cards") }}
        {{ $half := int (ceil (divf $cards 2)) }}
        apiVersion: resource.k8s.io/v1
        kind: ResourceSlice
        metadata: {name: {{ .metadata.name }}-cards}
        spec:
          driver: cards.example.com
          nodeName: {{ .metadata.name | Quote }}
          pool: {name: {{ .metadata.name | Quote }}, generation: 1, resourceSliceCount: 1}
          devices:
          {{ range $index := until $cards }}
          - name: card-{{ printf "%02d" $index }}
            attributes:
              bank: {int: {{ div $index $half }}}
          {{ end }}
  - patch:
      root: metadata
      template: |
        annotations: {published: "yes"}
"""


def a_node(name: str, **annotations: str) -> Any:
    node = encode(make_node(name, cpu="1"))
    return decode(node | {"metadata": {"name": name, "annotations": annotations}})


def stage_text(spec: str, name: str = "s") -> str:
    return f"""
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: {name}}}
spec:
  resourceRef: {{kind: Node}}
{spec}
  next: {{statusTemplate: "phase: Done"}}
"""


def selector(*expressions: str) -> str:
    lines = [f'    - cel: {{expression: "{each}"}}' for each in expressions]
    return "\n".join(["  selector:", "    matchExpressions:", *lines])


def matches(spec: str, document: dict[str, Any], now_ns: int = 0) -> bool:
    return StageMatcher(read_stages(stage_text(spec), source="f")).match(document, now_ns) == (0,)


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        pytest.param(("self.spec.size == 3",), True, id="a field"),
        pytest.param(("has(self.spec.size)", "self.spec.size > 3"), False, id="all must be true"),
        pytest.param(("has(self.spec.none)", "self.spec.none.x == 1"), False, id="in their order"),
        pytest.param(("self.spec.none == 1",), False, id="an error is no match"),
        pytest.param(("self.spec.size",), False, id="neither true nor false"),
        pytest.param(("self.spec.names.exists(n, n == 'b')",), True, id="a loop"),
        pytest.param(("Now() > timestamp('1970-01-01T00:00:05Z')",), True, id="the time"),
        pytest.param(("SinceSecond(self) == 6.0 && self.SinceSecond() > 5.9",), True, id="age"),
        pytest.param(("UnixSecond(Now()) == 10.0",), True, id="seconds since 1970"),
    ],
)
def test_a_stage_applies_if_its_expressions_are_true(expressions, expected):
    created = {"creationTimestamp": "1970-01-01T00:00:04Z"}
    document = {"kind": "Thing", "metadata": created, "spec": {"size": 3, "names": ["a", "b"]}}
    assert matches(selector(*expressions), document, 10 * SECOND) is expected


def test_the_time_of_an_expression_is_1970_where_none_is_given():
    now = "Now() == timestamp('1970-01-01T00:00:00Z')"
    spec = "\n".join([
        selector(now), f"  weightFrom: {{cel: {{expression: \"{now} ? 7 : 8\"}}}}",
        f"  delay: {{durationFrom: {{cel: {{expression: \"{now} ? 5 : 6\"}}}}}}",
    ])  # fmt: skip
    (stage,) = read_stages(stage_text(spec), source="f")
    pod: Any = decode(make_pod("p").raw | {"status": {"phase": "Running"}})
    assert StageMatcher([stage]).match({}) == StageMatcher([stage]).match_pod(pod) == (0,)
    assert stage.applies_to({})
    (requirement,) = stage.requirements or ()
    assert requirement.is_met({})
    assert stage.weight.of({}) == 7
    assert stage.delay.sources({}) == (stage.delay.duration.source({}), None)
    assert stage.delay.bounds(stage.delay.sources({}), 0) == (5, 5)


def test_an_expression_that_fails_keeps_other_stages_from_applying():
    others = stage_text("  selector: {matchExpressions: [{key: .spec.a, operator: Exists}]}", "b")
    failing = stage_text(selector("self.spec.none == 1"), "a")
    document = {"spec": {"a": 1}}
    assert StageMatcher(read_stages(others, source="f")).match(document) == (0,)
    both = read_stages(f"{failing}---{others}", source="f")
    assert StageMatcher(both).match(document) == ()


def test_paths_are_tested_before_an_expression_that_more_stages_have():
    """It is evaluated only where the other requirements of its stage are met."""

    def text(name: str, *further: str) -> str:
        lines = [f"    - {{key: .spec.{name}, operator: Exists}}", *further]
        return stage_text("\n".join(["  selector:", "    matchExpressions:", *lines]), name)

    failing = '    - cel: {expression: "self.spec.none == 1"}'
    stages = read_stages(
        "---".join([text("a", failing), text("b", failing), text("c")]), source="f"
    )
    assert StageMatcher(stages).match({"spec": {"c": 1}}) == (2,)
    assert StageMatcher(stages).match({"spec": {"b": 1, "c": 1}}) == ()


def test_queries_in_jq_are_tested_before_expressions():
    spec = """
  selector:
    matchExpressions:
    - cel: {expression: "self.spec.none == 1"}
    - {key: '.spec.list.[] | select(.a == 1) | .b', operator: Exists}
"""
    others = stage_text("  selector: {matchExpressions: [{key: .spec.a, operator: Exists}]}", "b")
    both = read_stages(f"{stage_text(spec, 'a')}---{others}", source="f")
    assert StageMatcher(both).match({"spec": {"a": 1, "list": []}}) == (1,)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("self.status.allocatable.cpu > Quantity('1500m')", True),
        ("self.status.allocatable.cpu + Quantity('1') == Quantity('3')", True),
        ("self.status.allocatable.cpu * 2 - Quantity('1') >= Quantity('3')", True),
        ("self.status.allocatable.cpu / 4 == '500m'.Quantity()", True),
        ("-self.status.allocatable.cpu < Quantity('0')", True),
        ("self.metadata.creationTimestamp + duration('1h') > Now()", True),
        ("type(self.metadata.deletionTimestamp) == google.protobuf.Timestamp", True),
    ],
)
def test_nodes_have_times_and_quantities_as_values(source, value):
    node = {
        "kind": "Node",
        "metadata": {
            "creationTimestamp": "1970-01-01T00:00:00Z",
            "deletionTimestamp": "1970-01-01T00:00:09Z",
        },
        "status": {"allocatable": {"cpu": "2"}},
    }
    assert stage_expression(source).evaluate(node, 0) is value


def test_pods_have_the_requests_of_containers_as_quantities():
    resources = {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}
    pod = {"kind": "Pod", "spec": {"containers": [{"name": "a", "resources": resources}]}}
    source = "self.spec.containers.all(c, c.resources.requests.cpu < c.resources.limits.cpu)"
    assert stage_expression(source).is_true(pod, 0)
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("source", "duration_ns", "integer"),
    [
        ("duration('2s')", 2 * SECOND, 2 * SECOND),
        ("'1500ms'", 1_500_000_000, None),
        ("self.spec.size * 2", 6, 6),
        ("2.9", 2, 2),
        ("true", None, 1),
        ("'none'", None, None),
        ("[1]", None, None),
    ],
)
def test_durations_and_integers_are_read_as_kwok_reads_them(source, duration_ns, integer):
    expression, document = stage_expression(source), {"spec": {"size": 3}}
    for read, expected in ((expression.duration_ns, duration_ns), (expression.integer, integer)):
        if expected is None:
            with pytest.raises(StageExpressionError):
                read(document, 0)
        else:
            assert read(document, 0) == expected


def test_slices_are_published_once_for_nodes_that_ask_for_valid_cards():
    world = World(stages=read_stages(PUBLISH, source="f"), controllers=())
    for name, cards in (("n1", "3"), ("n2", "many"), ("n3", "9")):
        world.add(a_node(name, cards=cards))
    world.add(make_node("n4", cpu="1"))
    world.run()
    (piece,) = world.store.list(("resource.k8s.io", "ResourceSlice")).objects
    assert [
        (device["name"], device["attributes"]["bank"]["int"])
        for device in piece.raw["spec"]["devices"]
    ] == [("card-00", 0), ("card-01", 0), ("card-02", 1)]
    published = [
        node.name
        for node in world.store.list(NODE).objects
        if "published" in (node.metadata.annotations or {})
    ]
    assert published == ["n1"]


def test_a_delay_and_a_weight_come_from_expressions():
    text = """
  selector: {matchExpressions: [{cel: {expression: "!has(self.status.phase)"}}]}
  delay: {durationFrom: {cel: {expression: "duration(self.metadata.annotations['wait'])"}}}
  weightFrom: {cel: {expression: "self.metadata.name == 'n1' ? 1 : 0"}}
"""
    rival = stage_text(text, "rival").replace("Done", "Rival").replace("? 1 : 0", "? 0 : 1")
    stages = read_stages(f"{stage_text(text)}---{rival}", source="f")
    world = World(stages=stages, controllers=())
    for name in ("n1", "n2"):
        world.add(a_node(name, wait="7s"))
    start = world.now_ns
    world.run()
    phases = {node.name: node.raw["status"].get("phase") for node in world.store.list(NODE).objects}
    assert phases == {"n1": "Done", "n2": "Rival"}
    assert world.now_ns - start >= 7 * SECOND


def test_a_delay_that_fails_keeps_the_stage_from_being_played():
    text = """
  selector: {matchExpressions: [{cel: {expression: "!has(self.status.phase)"}}]}
  delay: {durationFrom: {cel: {expression: "duration(self.metadata.annotations['wait'])"}}}
"""
    world = World(stages=read_stages(stage_text(text), source="f"), controllers=())
    world.add(make_node("n1", cpu="1"))
    world.run()
    assert "phase" not in world.store.list(NODE).objects[0].raw["status"]
    node = world.store.list(NODE).objects[0]
    annotated = decode(
        node.raw | {"metadata": node.raw["metadata"] | {"annotations": {"wait": "1s"}}}
    )
    world.add(annotated)
    world.run()
    assert world.store.list(NODE).objects[0].raw["status"]["phase"] == "Done"


@pytest.mark.parametrize("field", ["weightFrom", "delay"])
def test_a_stage_that_is_scheduled_is_not_played_once_its_expression_fails(field):
    value = "{cel: {expression: \"int(self.metadata.annotations['wait'])\"}}"
    given = {"weightFrom": f"  weightFrom: {value}\n  delay: {{durationMilliseconds: 7000}}",
             "delay": f"  delay: {{durationFrom: {value}}}"}  # fmt: skip
    text = "  selector: {matchExpressions: [{key: .status.phase, operator: DoesNotExist}]}\n"
    world = World(stages=read_stages(stage_text(text + given[field]), source="f"), controllers=())
    world.add(a_node("n1", wait="7000000000"))
    world.run("1s")
    world.add(a_node("n1", wait="soon"))
    world.run()
    assert "phase" not in world.store.list(NODE).objects[0].raw["status"]
    world.add(a_node("n1", wait="7000000000"))
    world.run()
    assert world.store.list(NODE).objects[0].raw["status"]["phase"] == "Done"


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (
            selector("self.spec ="),
            "spec.selector.matchExpressions[0].cel.expression: Invalid value: "
            '"self.spec =": ERROR: <input>:1:11: Syntax error: token recognition error',
        ),
        (selector("other == 1"), "undeclared reference to 'other'"),
        (selector("Rand() > 0.5"), "Rand() is not supported: a run is reproducible"),
        (selector(""), "matchExpressions[0].cel.expression: Required value"),
        ("  weightFrom: {cel: {expression: '1 +'}}", "spec.weightFrom.cel.expression: Invalid"),
        (
            "  delay: {durationFrom: {cel: {expression: '1 +'}}}",
            "spec.delay.durationFrom.cel.expression: Invalid value",
        ),
        ("  weightFrom: {cel: {expresion: '1'}}", 'unknown field "expresion"'),
    ],
)
def test_an_expression_that_does_not_compile_is_an_error_of_the_file(spec, error):
    with pytest.raises(InputError) as refused:
        read_stages(stage_text(spec), source="f")
    assert error in str(refused.value)


def test_a_jitter_from_an_expression_is_ignored_with_a_warning():
    spec = "  selector: {}\n  delay: {jitterDurationFrom: {cel: {expression: '1'}}}"
    (stage,) = read_stages(stage_text(spec), source="f")
    (warning,) = stage.warnings
    assert "spec.delay.jitterDurationFrom.cel: KWOK ignores it here; use jq" in warning
    assert stage.delay.jitter.query is None
