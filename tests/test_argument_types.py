"""Arguments of the public functions that have the wrong type or value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import podwright as pw
from podwright.testing import make_node, make_pod

NODE = make_node("n1", cpu="2")
GROUPS = pw.Autoscaling(
    groups=(pw.NodeGroup(name="a", max_size=2, template=pw.NodeTemplate(allocatable={"cpu": "4"})),)
)


class Own(pw.Plugin):
    name = "Own"


class Deciding:
    """An observer with a misspelt method."""

    def decide(self, decisions: Any, now_ns: int) -> None:
        raise AssertionError


class Silent:
    """An observer without a known method."""


class Recording:
    """An observer with methods of its own."""

    def __init__(self) -> None:
        self.pods: list[str] = []

    def decided(self, decisions: Any, now_ns: int) -> None:
        self.pods += [decision.pod.key for decision in decisions]

    def report(self) -> str:
        return ", ".join(self.pods)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(
            lambda: pw.Scheduler().add([NODE]),  # type: ignore[arg-type]
            "objects[0]: must be a Kubernetes object, not a list; pass the objects as "
            "separate arguments: *objects",
            id="a list of objects",
        ),
        pytest.param(
            lambda: pw.World().add(NODE, {"kind": "Node"}),  # type: ignore[arg-type]
            "objects[1]: must be a Kubernetes object, not a dict; podwright.load reads manifests",
            id="a manifest",
        ),
        pytest.param(
            lambda: pw.World().remove("n1"),  # type: ignore[arg-type]
            "objects[0]: must be a Kubernetes object, not a str; podwright.load reads manifests",
            id="a name",
        ),
        pytest.param(
            lambda: pw.Scheduler(gates="A=true"),  # type: ignore[arg-type]
            'gates: must be the result of podwright.parse_gates("Name=true"), not a str',
            id="gates as text",
        ),
        pytest.param(
            lambda: pw.Scheduler({"profiles": []}),  # type: ignore[arg-type]
            "configuration: must be the result of podwright.read_configuration, not a dict",
            id="a configuration as a dict",
        ),
        pytest.param(
            lambda: pw.Scheduler(plugins=Own),  # type: ignore[arg-type]
            "plugins: must be a sequence of plugin classes, not the class Own",
            id="one plugin",
        ),
        pytest.param(
            lambda: pw.World(plugins=[Own()]),  # type: ignore[list-item]
            "plugins[0]: must be a subclass of podwright.Plugin, not an Own",
            id="an instance of a plugin",
        ),
        pytest.param(
            lambda: pw.Scheduler(seed="1"),  # type: ignore[arg-type]
            "seed: must be an integer, not a str",
            id="a seed as text",
        ),
        pytest.param(
            lambda: pw.Scheduler(seed=True),
            "seed: must be an integer, not a bool",
            id="a seed that is true",
        ),
        pytest.param(
            lambda: pw.Scheduler(tie_rule="heap"),  # type: ignore[arg-type]
            "tie_rule: must be a podwright.TieRule, not a str",
            id="a tie rule as text",
        ),
        pytest.param(
            lambda: pw.World(batching=1),  # type: ignore[arg-type]
            "batching: must be a bool, not an int",
            id="a number as a switch",
        ),
        pytest.param(
            lambda: pw.World(observers=[Deciding()]),  # type: ignore[list-item]
            "observers[0]: decide() is never called; did you mean decided()?",
            id="a misspelt method",
        ),
        pytest.param(
            lambda: pw.World(observers=[Silent()]),  # type: ignore[list-item]
            "observers[0]: must be an object with at least one of changed(), creation_rejected(), "
            "decided(), event_recorded(), "
            "node_event(), operated(), removal_handled(), not a Silent",
            id="no method",
        ),
        pytest.param(
            lambda: pw.World(observers=[Recording]),  # type: ignore[list-item]
            "observers[0]: must be an instance, not the class Recording",
            id="a class",
        ),
        pytest.param(
            lambda: pw.World().do("drain"),  # type: ignore[arg-type]
            "operation: must be an operation, not a str",
            id="an operation as text",
        ),
        pytest.param(
            lambda: pw.World().do(pw.Delete(pw.Pod, "default/a")),  # type: ignore[arg-type]
            'operation.object_kind: must be a group and a kind, ("", "Pod"), not the class Pod',
            id="a class as a group and a kind",
        ),
        pytest.param(
            lambda: pw.simulate([NODE, 5]),
            "objects[1]: must be a path or an object, not an int",
            id="an object that is a number",
        ),
        pytest.param(
            lambda: pw.simulate(5), "objects: must be a path or several, not an int", id="5"
        ),
        pytest.param(
            lambda: pw.simulate([NODE], events=[NODE]),
            "events[0]: must be a path or a dict, not a Node",
            id="an object as an event",
        ),
    ],
)
def test_a_wrong_type_is_an_error_that_names_the_argument(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(pw.ArgumentError) as raised:
        call()
    assert str(raised.value) == message
    assert isinstance(raised.value, TypeError)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda path: pw.capacity(path, [NODE]), "objects[0]"),
        (lambda path: pw.capacity([NODE], path), "question[0]"),
        (lambda path: pw.buy_nodes(path, ()), "objects[0]"),
        (lambda path: pw.drain_plan(path, "n1"), "objects[0]"),
        (lambda path: pw.drain_plan([NODE], [{"name": path}]), "nodes[0]"),  # type: ignore[list-item]
        (lambda path: pw.explain_autoscaling(path, GROUPS), "objects[0]"),
        (lambda path: pw.explain_autoscaling([NODE], path), "autoscaling"),
        (pw.replay, "log"),
        (pw.verify, "log"),
        (lambda path: pw.cluster_at(path, "1m"), "log"),
        (lambda path: pw.queue_at(path, "1m"), "log"),
        (lambda path: pw.explain_cycle(path, "default/web"), "log"),
        (lambda path: pw.what_if(path, "default/web"), "log"),
        (lambda path: pw.kss_annotations(path, "default/web"), "log"),
    ],
)
def test_a_path_where_its_contents_are_expected_is_an_error_that_says_how_to_read_it(
    call: Callable[[Any], object], argument: str
) -> None:
    reader = {
        "objects[0]": "must be a Kubernetes object, not a str; podwright.load reads manifests",
        "question[0]": "must be a Kubernetes object, not a str; podwright.load reads manifests",
        "nodes[0]": "must be the name of a node, not a dict",
        "autoscaling": "must be the result of podwright.read_node_groups, not a str",
        "log": "must be the result of podwright.DecisionLog.open, not a str",
    }
    with pytest.raises(pw.ArgumentError) as raised:
        call("x.yaml")
    assert str(raised.value) == f"{argument}: {reader[argument]}"


def test_an_unknown_ending_is_an_error() -> None:
    ending: Any = "after_runtime"
    with pytest.raises(pw.InputError) as raised:
        pw.simulate([NODE], ending=ending)
    assert str(raised.value) == (
        'ending: Unsupported value: "after_runtime": supported values: "after_run_time", '
        '"at_deletion_time"; did you mean "after_run_time"?'
    )


def test_integers_of_numpy_are_integers() -> None:
    assert pw.Scheduler(seed=np.int64(3)).profiles  # type: ignore[arg-type]


def test_an_observer_may_have_other_methods() -> None:
    observer = Recording()
    world = pw.World(observers=[observer])
    world.add(NODE, make_pod("web", cpu="1"))
    world.run()
    assert observer.report() == "default/web"


def test_simulate_takes_what_load_returns(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("{apiVersion: v1, kind: Node, metadata: {name: n1}}", encoding="utf-8")
    assert pw.simulate(pw.load(file)).node_of == {}
