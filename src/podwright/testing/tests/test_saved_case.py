"""A saved case runs its cycle again, with the plugins whose source it has, and compares all."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError
from podwright.scheduler.assembly import plugins_from
from podwright.simulation.recording import LogError, encode_case, find_cycle, save_cycle
from podwright.testing import make_node, make_pod
from podwright.testing.saved_case import check_saved_case

PLUGIN = """
import podwright as pw

class Only(pw.Plugin):
    name = "Only"

    def filter(self, cycle, node):
        return pw.Status() if node.name == "n2" else pw.Status.unschedulable("not n2")

    def permit(self, cycle, node_name):
        return pw.Status()
"""
WAITS = PLUGIN.replace(
    "        return pw.Status()\n", '        return pw.Status.wait("x"), "10s"\n'
)
NO_NODE = "0/2 nodes are available: 1 Insufficient cpu, 1 not n2. "


@pytest.fixture(scope="module")
def run() -> pw.Run:
    (plugin,) = plugins_from(PLUGIN, source="only.py")
    world = pw.World(plugins=[plugin])
    world.add(make_node("n1"), make_node("n2", cpu="1"))
    world.add(make_pod("one", cpu="1"), make_pod("two", cpu="1"))
    return world.run(until="10s")


def case_of(run: pw.Run, pod: str) -> str:
    (plugin,) = plugins_from(PLUGIN, source="only.py")
    with TemporaryDirectory() as folder:
        past = find_cycle(run.log, pod, plugins=[plugin])
        save_cycle(run.log, past, folder, plugins=[plugin])
        return encode_case(Path(folder))


@pytest.mark.parametrize(
    ("pod", "expected"),
    [("default/one", "n2"), ("default/two", NO_NODE)],
    ids=["a node", "no node"],
)
def test_a_case_has_the_outcome_that_was_recorded(run, pod, expected):
    case = case_of(run, pod)
    (plugin,) = plugins_from(PLUGIN, source="only.py")
    found = find_cycle(run.log, pod, plugins=[plugin]).explain().decision
    recorded = found.node or found.message
    assert recorded.startswith(expected)
    check_saved_case(case, pod=pod, expected=recorded, plugins={"only.py": PLUGIN})
    with pytest.raises(AssertionError) as differs:
        check_saved_case(case, pod=pod, expected="n1", plugins={"only.py": PLUGIN})
    assert str(differs.value) == f"{pod}: {recorded!r}, but 'n1' was recorded"


def test_a_plugin_that_decides_otherwise_has_another_outcome(run):
    case = case_of(run, "default/one")
    other = PLUGIN.replace('== "n2"', '== "n1"')
    with pytest.raises(AssertionError, match=r"^default/one: 'n1', but 'n2' was recorded$"):
        check_saved_case(case, pod="default/one", expected="n2", plugins={"only.py": other})


def test_a_plugin_that_does_something_else_after_the_decision_is_noticed(run):
    case = case_of(run, "default/one")
    assert WAITS != PLUGIN
    with pytest.raises(LogError):
        check_saved_case(case, pod="default/one", expected="n2", plugins={"only.py": WAITS})


def test_a_plugin_file_that_is_not_valid_is_named(run):
    case = case_of(run, "default/one")
    with pytest.raises(InputError, match=r"^only\.py: "):
        check_saved_case(case, pod="default/one", expected="n2", plugins={"only.py": "x ="})
