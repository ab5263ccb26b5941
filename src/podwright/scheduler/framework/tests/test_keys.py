"""Pods that are equal for all selectors share their results."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from podwright.apimachinery.objects import Object, Pod, decode_pod, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import SPREAD_SELECTOR, Cluster, Reads
from podwright.scheduler.config import DEFAULT_GATES, KubeSchedulerConfiguration, effective
from podwright.scheduler.framework import Cycle, NodeView, Plugin, Profile, Status
from podwright.scheduler.framework.adapter import PluginFailure
from podwright.scheduler.framework.keys import Signer, tolerations_fragment
from podwright.scheduler.framework.plugin import KeyReads
from podwright.scheduler.framework.rankings.ranking_cache import RankingCache
from podwright.testing import make_node

SELECTS_INDEX = {"labelSelector": {"matchLabels": {"index": "1"}}, "topologyKey": "zone"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ANTI_AFFINITY = {"affinity": {"podAntiAffinity": {REQUIRED: [SELECTS_INDEX]}}}
SPREADING = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchExpressions": [{"key": "index", "operator": "Exists"}]},
        }
    ]
}
BY_LABEL_KEYS = {
    "topologySpreadConstraints": [
        SPREADING["topologySpreadConstraints"][0]
        | {"labelSelector": {"matchLabels": {"app": "web"}}, "matchLabelKeys": ["index"]}
    ]
}


def pod(index: str, **spec: Any) -> Pod:
    return decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"web-{index}",
                "namespace": "default",
                "uid": f"uid-{index}",
                "labels": {"app": "web", "index": index},
            },
            "spec": {"containers": [{"name": "main", "image": "web"}], **spec},
        }
    )


def selecting(kind: str, selector: dict[str, Any], api_version: str = "apps/v1") -> Any:
    return decode(
        {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"selector": selector},
        }
    )


def rankings_of(cluster: Cluster, *plugins: type[Plugin]) -> RankingCache:
    registry = Registry(plugins)
    configuration = effective(
        registry.enable_own(KubeSchedulerConfiguration()),
        DEFAULT_GATES,
        implements=registry.points_of,
    )
    return RankingCache(build_profiles(configuration, registry)["default-scheduler"], cluster)


def cluster_of(*objects: Any) -> Cluster:
    cluster = Cluster()
    for obj in (make_node("n1"), *objects):
        cluster.put(obj)
    return cluster


def share(rankings: RankingCache, some: Pod, other: Pod) -> bool:
    """Return whether a pod gets the ranking that was kept for another one.

    Whether both share the object of their spec, as pods of one template do, must not matter.
    """
    rankings.of(some)
    kept = rankings.of(some)
    is_shared = rankings.of(other) is kept
    like = msgspec.structs.replace(other, spec=some.spec)
    rankings.of(some)
    assert (rankings.of(like) is kept) is is_shared
    return is_shared


@pytest.mark.parametrize(
    ("objects", "spec"),
    [
        pytest.param([], {}, id="no selector"),
        pytest.param([selecting("Service", {"app": "web"}, "v1")], {}, id="by another label"),
        pytest.param(
            [selecting("StatefulSet", {"matchLabels": {"app": "web"}})], {}, id="their owner does"
        ),
    ],
)
def test_pods_that_differ_in_an_unselected_label_share_a_ranking(objects, spec):
    assert share(rankings_of(cluster_of(*objects)), pod("0", **spec), pod("1", **spec))


@pytest.mark.parametrize(
    ("objects", "spec"),
    [
        pytest.param([selecting("Service", {"index": "1"}, "v1")], {}, id="a service"),
        pytest.param(
            [selecting("ReplicationController", {"index": "1"}, "v1")],
            {},
            id="a replication controller",
        ),
        pytest.param(
            [selecting("ReplicaSet", {"matchLabels": {"index": "1"}})], {}, id="a replica set"
        ),
        pytest.param(
            [
                selecting(
                    "StatefulSet", {"matchExpressions": [{"key": "index", "operator": "Exists"}]}
                )
            ],
            {},
            id="an expression of a stateful set",
        ),
        pytest.param(
            [pod("9", nodeName="n1", **ANTI_AFFINITY)], {}, id="a term of a pod on a node"
        ),
        pytest.param([], ANTI_AFFINITY, id="the pod's own term"),
        pytest.param([], SPREADING, id="its own constraint"),
        pytest.param([], BY_LABEL_KEYS, id="its own constraint, by matchLabelKeys"),
    ],
)
def test_pods_that_differ_in_a_selected_label_have_separate_rankings(objects, spec):
    assert not share(rankings_of(cluster_of(*objects)), pod("0", **spec), pod("1", **spec))


def test_rankings_are_split_when_a_new_selector_appears():
    cluster = cluster_of()
    rankings = rankings_of(cluster)
    assert share(rankings, pod("0"), pod("1"))
    cluster.put(selecting("Service", {"index": "1"}, "v1"))
    assert not share(rankings, pod("0"), pod("1"))
    assert share(rankings, pod("0"), pod("0"))


def test_keys_from_before_and_after_a_new_selector_are_not_confused():
    cluster = cluster_of()
    rankings = rankings_of(cluster)
    some, without = pod("0"), pod("0")
    rankings.of(some)
    kept = rankings.of(some)
    # A term that no placed pod has: it changes no result of a plugin.
    waiting = pod("9", **ANTI_AFFINITY)
    cluster.nominate(waiting, "n1")
    metadata = msgspec.structs.replace(without.metadata, labels={"app": "web"})
    assert rankings.of(msgspec.structs.replace(without, metadata=metadata)) is not kept


class ByIndex(Plugin):
    """Rejects and scores by a label, which its key has."""

    name = "ByIndex"
    pre_filter_reads = pre_score_reads = filter_reads = score_reads = Reads.NOTHING

    def pod_key(self, pod: Pod) -> object:
        return pod.metadata.labels["index"]

    def pre_filter(self, cycle: Cycle) -> Status:
        index = cycle.pod.metadata.labels["index"]
        return Status.OK if index in "13" else Status.unschedulable(f"index {index}")

    def pre_score(self, cycle: Cycle) -> Status:
        return Status.SKIPPED if cycle.pod.metadata.labels["index"] == "1" else Status.OK

    def score(self, cycle: Cycle, node: NodeView) -> int:
        return int(cycle.pod.metadata.labels["index"])


def test_numbers_that_are_given_again_have_no_results_of_the_keys_that_had_them_before():
    cluster = cluster_of()
    rankings = rankings_of(cluster, ByIndex)

    def found(index: str) -> tuple[str, bool]:
        ranking = rankings.of(pod(index))
        rejection = ranking.outcome.rejection
        return "" if rejection is None else rejection.message, "ByIndex" in ranking.skipped_scores

    expected = {"0": ("index 0", False), "1": ("", True), "2": ("index 2", False), "3": ("", False)}
    for order in ("0123", "1032", "3210", "2301", "1320"):
        for index in order * 3:
            assert found(index) == expected[index], (order, index)
        cluster.selectors.renew()


def carrier(name: str, app: str) -> Pod:
    """Return a placed pod whose term selects the pods of an application."""
    selector = {"matchLabels": {"app": app}}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    return pod(name, nodeName="n1", affinity={"podAntiAffinity": {REQUIRED: [term]}})


def test_a_ranking_is_made_again_only_for_terms_that_concern_its_pods():
    cluster = cluster_of(carrier("6", "known"))
    rankings = rankings_of(cluster)
    some = pod("0")
    rankings.of(some)
    kept = rankings.of(some)
    cluster.put(carrier("7", "other"))
    assert rankings.of(some) is kept
    concerning = carrier("8", "web")
    cluster.put(concerning)
    of_term = rankings.of(some)
    assert of_term is not kept
    cluster.put(carrier("9", "another"))
    assert rankings.of(some) is of_term
    # Another version: a namespace could make terms concern the pod.
    cluster.put(decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}))
    assert rankings.of(some) is not of_term


class ReadsTerms(Plugin):
    """Reads the terms of placed pods, and does not say which of them it has found."""

    name = "ReadsTerms"
    pre_filter_reads = Reads.TERMS
    calls: ClassVar[list[int]] = []

    def pod_key(self, pod: Pod) -> object:
        del pod
        return "all"

    def pre_filter(self, cycle: Cycle) -> Status:
        self.calls.append(cycle.cluster.selectors.terms_version)
        return Status.OK


def test_a_plugin_that_does_not_compare_terms_is_called_for_each_change_of_them():
    cluster = cluster_of(carrier("6", "known"))
    rankings = rankings_of(cluster, ReadsTerms)
    ReadsTerms.calls.clear()
    for name in ("7", "8"):
        rankings.of(pod("0"))
        cluster.put(carrier(name, f"other-{name}"))
    rankings.of(pod("0"))
    assert ReadsTerms.calls == sorted(set(ReadsTerms.calls))
    assert len(ReadsTerms.calls) == 3


class ComparesTerms(ReadsTerms):
    """Fails as it compares the terms."""

    name = "ComparesTerms"

    def finds_same_terms(self, cycle: Cycle) -> bool:
        raise ValueError("no terms")


def test_a_plugin_that_fails_to_compare_terms_fails_as_its_pre_filter():
    cluster = cluster_of(carrier("6", "known"))
    rankings = rankings_of(cluster, ComparesTerms)
    for _ in range(2):
        rankings.of(pod("0"))
    cluster.put(carrier("7", "other"))
    with pytest.raises(PluginFailure) as caught:
        rankings.of(pod("0"))
    assert str(caught.value) == (
        'running PreFilter plugin "ComparesTerms": ValueError: no terms (pod default/web-0)'
    )


class ReadsLabels(Plugin):
    """Does not declare the labels that its key depends on."""

    name = "ReadsLabels"
    pre_filter_reads = Reads.NOTHING

    def pod_key(self, pod: Pod) -> object:
        return tuple(pod.metadata.labels.values())

    def pre_filter(self, cycle: Any) -> Status:
        return Status.OK


class Promises(ReadsLabels):
    """Promises to read selected labels only."""

    name = "Promises"
    key_reads_all_labels = False


class Breaks(Promises):
    """Has a key of its own again."""

    name = "Breaks"

    def pod_key(self, pod: Pod) -> object:
        return pod.metadata.labels["index"]


@pytest.mark.parametrize(
    ("plugin", "is_shared"),
    [
        pytest.param(ReadsLabels, False, id="one without a declaration"),
        pytest.param(Promises, True, id="one that promises"),
        pytest.param(Breaks, False, id="one that inherits a promise but not the key"),
    ],
)
def test_a_plugin_receives_all_labels_unless_it_declares_otherwise(plugin, is_shared):
    rankings = rankings_of(cluster_of(), plugin)
    assert share(rankings, pod("0"), pod("1")) is is_shared


def test_pods_with_one_spec_in_two_namespaces_have_keys_of_their_own():
    cache = rankings_of(cluster_of())
    ours = pod("1", **ANTI_AFFINITY)
    theirs = with_fields(ours, "metadata", namespace="other", uid="another")
    again = with_fields(ours, "metadata", uid="a third")
    assert theirs.spec is ours.spec is again.spec
    keys = cache._keys
    known = keys.key_of(ours)
    assert keys.template_key(again) == known
    assert keys.template_key(theirs) is None


def test_a_known_template_needs_no_keys_although_an_unselected_label_differs():
    cache = rankings_of(cluster_of())
    ours = pod("1")
    known = cache._keys.key_of(ours)
    labels = {"app": "web", "index": "2"}
    assert cache._keys.template_key(with_fields(ours, "metadata", labels=labels)) == known


def test_pods_of_a_template_that_are_spread_by_other_selectors_are_not_alike():
    keys = rankings_of(cluster_of())._keys
    ours = pod("1")
    known = keys.key_of(ours)
    for selector, is_alike in (("", True), ("app=web", False)):
        annotations = {SPREAD_SELECTOR: selector} if selector else {"other": "x"}
        other = with_fields(ours, "metadata", name="other", annotations=annotations)
        assert (keys.template_key(other) == known) is is_alike
        assert (keys.key_of(other) == known) is is_alike


@pytest.mark.parametrize(
    ("labels", "is_itself"),
    [
        pytest.param({"app": "web"}, False, id="a label that no selector uses"),
        pytest.param({"used": "1"}, True, id="one that one uses"),
        pytest.param({"used": "1", "app": "web"}, False, id="both"),
        pytest.param({}, True, id="none"),
    ],
)
def test_a_plugin_gets_the_pod_without_the_labels_that_no_selector_uses(labels, is_itself):
    given = []

    class Keyed(Plugin):
        name = "Keyed"
        key_reads_all_labels = False
        filter_reads = Reads.NODE

        def pod_key(self, pod):
            given.append(pod)
            return ()

        def filter(self, cycle, node):
            return Status.OK

    cluster = cluster_of()
    cluster.selected_labels.add({"used"})
    ours = with_fields(pod("1"), "metadata", labels=labels)
    rankings_of(cluster, Keyed)._keys.key_of(ours)
    (seen,) = given
    assert (seen is ours) is is_itself
    assert seen.metadata.labels == {key: value for key, value in labels.items() if key == "used"}


def test_keys_are_full_when_there_are_more_than_the_most(monkeypatch):
    keys = rankings_of(cluster_of())._keys

    def is_full(most: int) -> bool:
        monkeypatch.setattr("podwright.scheduler.framework.keys._MOST_NUMBERS", most)
        return keys.is_full

    keys.key_of(pod("1"))
    count = sum(len(each.numbers) for each in keys.numbers)
    assert [is_full(most) for most in (count - 1, count, count + 1)] == [True, False, False]
    for _ in range(2):
        keys.number_of(0, "another key")
    assert [is_full(count), is_full(count + 1)] == [True, False], "a known key adds none"
    keys.clear()
    assert not is_full(0)
    keys.key_of(pod("1"))
    assert [is_full(most) for most in (count - 1, count)] == [True, False], "none is left over"


def backed(resource: str) -> Object:
    document = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
    return decode(
        document | {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": resource}}
    )


SELECTED = (lambda cluster: cluster.selected_labels.add({"new"}),)
CLASSES = (lambda cluster: cluster.put(backed("example.com/gpu")),)
RENEWED = (lambda cluster: cluster.selectors.renew(),)


@pytest.mark.parametrize(
    ("changes", "are_outdated"),
    [
        pytest.param((), False, id="nothing"),
        pytest.param((lambda cluster: cluster.put(pod("2")),), False, id="a pod like others"),
        pytest.param(SELECTED, True, id="selectors use another label"),
        pytest.param(CLASSES, True, id="a class backs a resource"),
        pytest.param(RENEWED, True, id="counters were renewed"),
        pytest.param(SELECTED + CLASSES, True, id="a label and a class"),
        pytest.param(CLASSES + RENEWED, True, id="a class, and counters were renewed"),
        pytest.param(SELECTED + RENEWED, True, id="a label, and counters were renewed"),
    ],
)
def test_keys_are_outdated_until_they_are_forgotten(changes, are_outdated):
    cluster = cluster_of()
    keys = rankings_of(cluster)._keys
    keys.key_of(pod("1"))
    found = [keys.is_outdated]
    for change in changes:
        change(cluster)
    found.append(keys.is_outdated)
    keys.clear()
    found.append(keys.is_outdated)
    assert found == [False, are_outdated, False]


def test_plugins_are_not_called_for_the_key_of_a_known_template():
    calls = []

    class Calls(Plugin):
        name = "Calls"
        filter_reads = Reads.NODE
        key_reads_all_labels = False

        def pod_key(self, pod):
            calls.append(pod.name)
            return pod.spec.scheduler_name

        def key_is_of_template(self, pod):
            return True

        def filter(self, cycle, node):
            return Status.OK

    keys = rankings_of(cluster_of(), Calls)._keys
    ours = pod("1")
    assert keys.key_of(ours) == keys.key_of(with_fields(ours, "metadata", name="other"))
    assert calls == [ours.name]


@pytest.mark.parametrize(
    ("is_of_template", "is_shared"),
    [
        pytest.param(None, True, id="a plugin with a key, unless it says otherwise"),
        pytest.param(True, True, id="one that says so"),
        pytest.param(False, False, id="one whose key depends on more"),
    ],
)
def test_pods_of_a_template_share_a_key_that_is_of_the_template(is_of_template, is_shared):
    attributes = {
        "name": "Named",
        "filter_reads": Reads.NODE,
        "key_reads_all_labels": False,
        "pod_key": lambda _, pod: pod.metadata.name,
        "filter": lambda *_: Status.OK,
    }
    if is_of_template is not None:
        attributes["key_is_of_template"] = lambda *_: is_of_template
    keys = rankings_of(cluster_of(), type("Named", (Plugin,), attributes))._keys
    ours = pod("1")
    theirs = with_fields(ours, "metadata", name="other")
    assert theirs.spec is ours.spec
    first = keys.key_of(ours)
    assert (keys.key_of(theirs) == first) is is_shared
    assert keys.key_of(ours) == first


@pytest.mark.parametrize(
    ("answers", "signature"),
    [
        pytest.param(
            ({"b": 1}, {"a": [2]}),
            b'{"a":[2],"b":1,"v1.Pod.Spec.SchedulerName":""}',
            id="the fragments of all plugins, sorted",
        ),
        pytest.param(({"b": 1}, None), None, id="a plugin that cannot sign this pod"),
        pytest.param(({"b": 1}, ValueError("broken")), None, id="one that raises"),
        pytest.param(({"b": object()}, {}), None, id="a fragment that is not data"),
    ],
)
def test_a_pod_has_a_signature_if_every_plugin_gives_its_fragments(answers, signature):
    # Upstream: pkg/scheduler/framework/runtime/framework.go, SignPod
    def sign_pod(self, _pod):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    plugins = []
    for number, answer in enumerate(answers):
        name = f"Signs{number}"
        methods = {"name": name, "answer": answer, "sign_pod": sign_pod}
        plugins.append(type(name, (Plugin,), methods)())
    profile = Profile(scheduler_name="default-scheduler", filter=tuple(plugins))
    assert Signer(profile).sign(pod("1")) == signature
    assert Signer(profile).unable == ()


def test_no_pod_has_a_signature_if_a_plugin_cannot_sign():
    profile = Profile(scheduler_name="default-scheduler", filter=(ReadsByClass(),))
    signer = Signer(profile)
    assert (signer.unable, signer.sign(pod("1"))) == (("ReadsByClass",), None)


@pytest.mark.parametrize(
    "tolerations",
    [
        pytest.param([("a", "x"), ("b", "x")], id="two keys"),
        pytest.param([("a", "x"), ("a", "y")], id="two values of a key"),
        pytest.param([("", ""), ("a", "x")], id="one for all keys"),
        pytest.param([("a", "x"), ("a", "")], id="a key with and without a value"),
    ],
)
def test_the_order_of_tolerations_does_not_matter(tolerations):
    written = [
        {"key": key, "value": value} if key else {"operator": "Exists"}
        for key, value in tolerations
    ]
    some, other = pod("1", tolerations=written), pod("1", tolerations=written[::-1])
    assert tolerations_fragment(some) == tolerations_fragment(other)
    assert tolerations_fragment(some) != tolerations_fragment(pod("1", tolerations=written[:1]))


def test_tolerations_without_key_and_value_come_first():
    made = pod("1", tolerations=[{"key": "a", "value": "x"}, {"key": "b", "value": "y"}])
    first, second = made.spec.tolerations
    bare = msgspec.structs.replace(first, key="", value="")
    no_value = msgspec.structs.replace(first, value="")
    for order in ((second, first, no_value, bare), (bare, first, second, no_value)):
        (found,) = tolerations_fragment(with_fields(made, "spec", tolerations=order)).values()
        assert found == [bare, no_value, first, second]


def test_too_many_keys_are_forgotten_and_get_other_numbers(monkeypatch):
    monkeypatch.setattr("podwright.scheduler.framework.keys._MOST_NUMBERS", 40)
    rankings = rankings_of(cluster_of())
    fit = rankings._numbers["NodeResourcesFit"]
    counts = []
    for number in range(90):
        requests = {"cpu": f"{number}m"}
        containers = [{"name": "main", "image": "web", "resources": {"requests": requests}}]
        assert rankings.of(pod("0", containers=containers)).outcome.rejection is None
        assert len(fit.numbers) == len(fit.reads) == len(fit.preparations)
        counts.append(len(fit.numbers))
    assert counts[:3] == [1, 2, 3]
    # All plugins together have no more keys than that.
    assert 4 < max(counts) < 40
    # They are forgotten again and again, and not at once after the first time.
    assert counts.count(max(counts)) >= counts.count(1) - 1 > 2


class ReadsByClass(Plugin):
    """Reads the cluster for pods whose label names a resource that a device class has."""

    name = "ReadsByClass"
    filter_reads = Reads.NODE

    def pod_key(self, pod: Pod) -> object:
        return pod.metadata.labels["index"]

    def reads_for(self, key: object, cluster: Cluster) -> KeyReads:
        is_backed = bool(cluster.device_classes.class_of(str(key)))
        return KeyReads(Reads.NOTHING, Reads.CLUSTER if is_backed else Reads.NODE, Reads.NOTHING)

    def filter(self, cycle: Cycle, node: object) -> Status:
        return Status.OK


def test_what_a_key_reads_is_found_again_when_device_classes_change():
    cluster = cluster_of()
    rankings = rankings_of(cluster, ReadsByClass)
    reads = []
    for name in ("", "example.com/gpu", "example.com/other", "example.com/gpu"):
        if name:
            document = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
            spec = {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": name}}
            cluster.put(decode(document | spec))
        rankings.of(pod("example.com/gpu"))
        (number,) = rankings._numbers["ReadsByClass"].numbers.values()
        reads.append(rankings._numbers["ReadsByClass"].reads[number].filter)
    assert reads == [Reads.NODE, Reads.CLUSTER, Reads.NODE, Reads.CLUSTER]


def test_a_plugin_with_a_key_of_its_own_reads_all_labels_unless_it_says_otherwise():
    class First(Plugin):
        key_reads_all_labels = False

        def pod_key(self, pod):
            return pod.spec.node_name

    class Silent(First):
        def filter(self, cycle, node):
            return Status.OK

    class Keyed(First):
        def pod_key(self, pod):
            return pod.metadata.labels.get("a")

    class Says(First):
        key_reads_all_labels = False

        def pod_key(self, pod):
            return pod.metadata.name

    found = [cls.key_reads_all_labels for cls in (First, Silent, Keyed, Says)]
    assert found == [False, False, True, False]
