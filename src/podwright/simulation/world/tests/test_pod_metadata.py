"""Plugins set annotations and labels of their pod, at Reserve and at PreBind."""

from __future__ import annotations

import podwright as pw
from podwright.apimachinery.objects import with_fields
from podwright.simulation.recording.log.replay import replay
from podwright.simulation.world.observers import KubernetesEvent
from podwright.testing import make_node, make_pod

GPU = "example.com/gpu"
NODE = "example.com/node"


class RecordsGpu(pw.Plugin):
    """Records the device that it reserves."""

    name = "RecordsGpu"
    key = GPU

    def reserve(self, cycle, node_name):
        assert self.handle is not None
        self.handle.request(pw.PodMetadataPatch(annotations={self.key: "gpu-3"}), cycle.pod)
        return pw.Status()


class RecordsNode(pw.Plugin):
    """Binds a pod after its label with the name of the node is written."""

    name = "RecordsNode"
    key = NODE

    def pre_bind(self, cycle, node_name):
        return pw.Pending(calls=(pw.PodMetadataPatch(labels={self.key: node_name}),))

    def continue_pre_bind(self, cycle, node_name, progress):
        error = progress.answers[0].error
        return pw.Status() if error is None else pw.Status.error(error.message)


class WritesInvalidAnnotation(RecordsGpu):
    name = "WritesInvalidAnnotation"
    key = "not a key"


class WritesInvalidLabel(RecordsNode):
    name = "WritesInvalidLabel"
    key = "not a key"


POD = with_fields(make_pod("p", labels={"app": "web"}), "metadata", annotations={"kept": "yes"})


def test_what_plugins_set_is_in_the_pod_beside_what_it_had():
    plugins = [RecordsGpu, RecordsNode]
    world = pw.World(plugins=plugins)
    world.add(make_node("n"), POD)
    run = world.run("5s")
    (pod,) = world.pods
    assert pod.spec.node_name == "n"
    assert pod.metadata.annotations == {"kept": "yes", GPU: "gpu-3"}
    assert pod.metadata.labels == {"app": "web", NODE: "n"}
    replayed = replay(run.log, plugins=plugins).pod("default/p")
    assert replayed is not None
    assert replayed.metadata.annotations == pod.metadata.annotations


class Events:
    """Collects the Events of a run."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        self.notes[event.reason] = event.note


def test_a_patch_that_is_refused_is_an_event_of_the_pod():
    events = Events()
    world = pw.World(plugins=[WritesInvalidAnnotation], observers=[events])
    world.add(make_node("n"), POD)
    world.run("5s")
    (pod,) = world.pods
    assert pod.spec.node_name == "n"
    assert "not a key" in events.notes["FailedPluginCall"]


def test_a_plugin_that_waits_for_its_patch_can_fail_the_pod():
    run = pw.simulate([make_node("n"), POD], plugins=[WritesInvalidLabel], until="5s")
    assert "not a key" in run.pending["default/p"]
