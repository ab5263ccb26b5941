"""Names in a plugin's class that look like misspelt ones of `Plugin`."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.config import IN_TREE_POINTS
from podwright.scheduler.framework import misspelt_names


def method(text):
    return (
        f"{text.split('|')[0]} is not a method that plugins have; did you mean"
        f' "{text.split("|")[1]}"? (a method of your own can be named _{text.split("|")[0]})'
    )


def declaration(text):
    return (
        f"{text.split('|')[0]} is not a declaration that plugins have; did you mean"
        f' "{text.split("|")[1]}"?'
    )


def on_cycle(self, cycle):
    """PreFilter and PreScore."""


def on_node(self, cycle, node):
    """Filter, Score, and the points from Reserve on."""


def on_columns(self, cycle, nodes, out):
    """The column forms."""


def alone(self):
    """The methods without arguments."""


def of_pod(self, pod):
    """PreEnqueue, and the methods about a pod."""


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("fillter", on_node, method("fillter|filter")),
        ("Filter", on_node, method("Filter|filter")),
        ("filer", on_node, method("filer|filter")),
        ("preFilter", on_cycle, method("preFilter|pre_filter")),
        ("prefilter", on_cycle, method("prefilter|pre_filter")),
        ("PreBind", on_node, method("PreBind|pre_bind")),
        ("pre_bindd", on_node, method("pre_bindd|pre_bind")),
        ("scores_columns_", on_columns, method("scores_columns_|score_columns")),
        ("score_column", on_columns, method("score_column|score_columns")),
        ("un_reserve", on_node, method("un_reserve|unreserve")),
        ("pre_enque", of_pod, method("pre_enque|pre_enqueue")),
        ("less", on_columns, method("less|queue_sort_key")),
        ("podKey", of_pod, method("podKey|pod_key")),
        ("events_to_registers", alone, method("events_to_registers|events_to_register")),
        ("rememberes", alone, method("rememberes|remembers")),
        ("filter_read", pw.Reads.NODE, declaration("filter_read|filter_reads")),
        ("normalisation", pw.Normalization.DEFAULT, declaration("normalisation|normalization")),
        ("score_in_range", True, declaration("score_in_range|scores_in_range")),
        ("take_gates", True, declaration("take_gates|takes_gates")),
    ],
)
def test_a_misspelt_name_is_reported_with_the_right_one(name, value, expected):
    plugin = type("Mine", (pw.Plugin,), {"name": "Mine", name: value})
    assert misspelt_names(plugin) == (expected,)


@pytest.mark.parametrize(
    ("names"),
    [
        pytest.param({"_fillter": on_node}, id="a private method"),
        pytest.param({"filters": alone}, id="a near name with other arguments"),
        pytest.param({"filters": on_node, "filter": on_node}, id="the right one is there, too"),
        pytest.param(
            {"less": on_columns, "queue_sort_key": on_node}, id="one of upstream beside ours"
        ),
        pytest.param({"Filter": on_node, "filter": on_node}, id="in another case, beside ours"),
        pytest.param({"is_inside": on_columns}, id="a hint"),
        pytest.param({"names": ("a", "b")}, id="data with a near name"),
        pytest.param({"is_strict": True}, id="a flag of its own"),
        pytest.param({"scrs_in": False}, id="a flag with a name that is not near"),
        pytest.param({"filters_nothing": staticmethod(lambda: ())}, id="a static method"),
        pytest.param({"filter": on_node, "score": on_node}, id="right names"),
    ],
)
def test_other_names_are_the_plugins_own(names):
    assert misspelt_names(type("Mine", (pw.Plugin,), {"name": "Mine", **names})) == ()


def test_names_of_base_classes_count():
    base = type("Base", (), {"fillter": on_node})
    assert misspelt_names(type("Mine", (base, pw.Plugin), {})) == (method("fillter|filter"),)


def test_in_tree_plugins_and_their_subclasses_have_no_misspelt_names():
    classes = [cls for name in IN_TREE_POINTS if (cls := Registry().class_of(name)) is not None]
    assert len(classes) > 20
    for cls in classes:
        assert misspelt_names(type("Mine", (cls,), {})) == ()
