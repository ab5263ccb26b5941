"""A user's QueueSort plugin that no configuration names replaces PrioritySort."""

from __future__ import annotations

import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError
from podwright.testing import make_node, make_pod


class ByName(pw.Plugin):
    """Orders pods by name."""

    name = "ByName"

    def queue_sort_key(self, pod, timestamp_ns):
        return pod.metadata.name


class Plain(pw.Plugin):
    """Does not sort."""

    name = "Plain"

    def filter(self, cycle, node):
        return pw.Status()


class ByLength(ByName):
    """Orders pods by the length of the name."""

    name = "ByLength"

    def queue_sort_key(self, pod, timestamp_ns):
        return len(pod.metadata.name)


def configuration(*profiles):
    return pw.read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": list(profiles),
        },
        source="config.yaml",
    )


def order(*plugins, profiles=({},)):
    scheduler = pw.Scheduler(configuration(*profiles), plugins=plugins, source="config.yaml")
    scheduler.add(make_node("n1"))
    scheduler.add(make_pod("bb", priority=5), make_pod("c", priority=9), make_pod("aaa"))
    return [decision.pod.metadata.name for decision in scheduler.schedule_all()]


@pytest.mark.parametrize(
    ("plugins", "profiles", "expected"),
    [
        pytest.param((), ({},), ["c", "bb", "aaa"], id="none: by priority"),
        pytest.param((ByName,), ({},), ["aaa", "bb", "c"], id="not named"),
        pytest.param((ByName, Plain), ({},), ["aaa", "bb", "c"], id="beside a plain one"),
        pytest.param(
            (ByName,),
            ({"schedulerName": "default-scheduler"}, {"schedulerName": "second"}),
            ["aaa", "bb", "c"],
            id="not named, two profiles",
        ),
        pytest.param(
            (ByName, ByLength),
            (
                {
                    "plugins": {
                        "queueSort": {
                            "enabled": [{"name": "ByLength"}],
                            "disabled": [{"name": "*"}],
                        },
                        "multiPoint": {"disabled": [{"name": "ByName"}]},
                    }
                },
            ),
            ["c", "bb", "aaa"],
            id="the configuration decides",
        ),
    ],
)
def test_the_order_of_the_queue(plugins, profiles, expected):
    assert order(*plugins, profiles=profiles) == expected


@pytest.mark.parametrize(
    ("plugins", "profiles", "expected"),
    [
        pytest.param(
            (ByName,),
            ({"plugins": {"queueSort": {"enabled": [{"name": "PrioritySort"}]}}},),
            'profiles[0].plugins.queueSort: a profile has one QueueSort plugin, and "PrioritySort"'
            ' and "ByName"',
            id="the configuration enables another one",
        ),
        pytest.param(
            (ByName, ByLength),
            ({},),
            'profiles[0].plugins.queueSort: a profile has one QueueSort plugin, and "ByName" and'
            ' "ByLength"',
            id="two of them",
        ),
        pytest.param(
            (ByName,),
            (
                {},
                {
                    "schedulerName": "s",
                    "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}},
                },
            ),
            'profiles[1].plugins.queueSort: a profile has one QueueSort plugin, and "Coscheduling"'
            ' and "ByName"',
            id="another plugin of multiPoint sorts, too",
        ),
    ],
)
def test_two_queue_sort_plugins_are_an_error_that_says_what_to_do(plugins, profiles, expected):
    with pytest.raises(InputError) as caught:
        order(*plugins, profiles=profiles)
    assert str(caught.value) == (
        f"config.yaml: {expected} are enabled: enable one of them at queueSort, and disable the"
        ' others there with {name: "*"}'
    )
