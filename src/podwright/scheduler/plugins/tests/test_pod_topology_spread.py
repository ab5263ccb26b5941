import numpy as np
import pytest

from podwright.apimachinery.objects import (
    LabelSelector,
    TopologySpreadConstraint,
    decode_pod,
    label_selector,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import SPREAD_SELECTOR
from podwright.scheduler.columns.affinity.domains import DomainRule
from podwright.scheduler.columns.affinity.matching import PodSelector
from podwright.scheduler.config import DEFAULT_GATES, parse_gates
from podwright.scheduler.config.schema import PodTopologySpreadArgs
from podwright.scheduler.framework import Code, Cycle, Hint, Scores
from podwright.scheduler.plugins.pod_topology_spread import PodTopologySpread, _TwoLowest
from podwright.scheduler.plugins.tests.one_node_at_a_time import cluster_of, filtered, node

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
SKEWED = "node(s) didn't match pod topology spread constraints"
MISSING = SKEWED + " (missing required label)"


def in_zone(name, zone, **more):
    return node(name, labels={ZONE: zone, HOST: name}, **more)


def web(name="p", on="", labels=None, **spec):
    metadata = {"name": name, "namespace": "default", "uid": name}
    metadata["labels"] = {"app": "web"} if labels is None else labels
    metadata |= spec.pop("metadata", {})
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return decode_pod(document | {"spec": {"nodeName": on} | spec})


def constraint(key=ZONE, *, skew=1, soft=False, **more):
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway" if soft else "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    } | more


def required_on(name):
    expression = {"key": HOST, "operator": "In", "values": [name]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def spreading(*constraints, **more):
    return web(topologySpreadConstraints=list(constraints), **more)


def verdicts(pod, *objects):
    cycle = Cycle(pod, cluster_of(*objects))
    plugin = PodTopologySpread()
    assert plugin.pre_filter(cycle).is_success
    return {name: answer.message for name, answer in filtered(plugin, cycle).items()}


def scores(pod, *objects, args=None):
    """Return raw and normalized score per node name."""
    cycle = Cycle(pod, cluster_of(*objects))
    plugin = PodTopologySpread(args)
    assert plugin.pre_score(cycle).is_success
    nodes, rows = cycle.cluster.nodes, cycle.cluster.live_slots()
    out = Scores(np.full(nodes.n_slots, -1, dtype=np.int64), rows)
    plugin.score_columns(cycle, nodes, out)
    raw = out.values.tolist()
    plugin.normalize_score(cycle, out)
    return {nodes.names[slot]: (raw[slot], int(out.values[slot])) for slot in rows}


THREE = (in_zone("a", "x"), in_zone("b", "y"), node("c", labels={HOST: "c"}))


@pytest.mark.parametrize(
    ("pod", "placed", "expected"),
    [
        pytest.param(
            spreading(constraint()),
            [web("1", "a")],
            {"a": SKEWED, "b": "", "c": MISSING},
            id="a domain may not exceed the emptiest by more than the skew",
        ),
        pytest.param(
            spreading(constraint(skew=2)),
            [web("1", "a")],
            {"a": "", "b": "", "c": MISSING},
            id="a greater skew allows it",
        ),
        pytest.param(
            spreading(constraint(), labels={"app": "other"}),
            [web("1", "a")],
            {"a": "", "b": "", "c": MISSING},
            id="a pod that its own selector does not match is not counted",
        ),
        pytest.param(
            spreading(constraint()),
            [web("1", "a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            {"a": "", "b": "", "c": MISSING},
            id="terminating pods do not count",
        ),
        pytest.param(
            spreading(constraint()),
            [web("1", "a", metadata={"namespace": "other"})],
            {"a": "", "b": "", "c": MISSING},
            id="pods of other namespaces do not count",
        ),
        pytest.param(
            spreading(constraint(minDomains=3)),
            [web("1", "a"), web("2", "b")],
            {"a": SKEWED, "b": SKEWED, "c": MISSING},
            id="with fewer than minDomains the least is 0",
        ),
        pytest.param(
            spreading(constraint(labelSelector={})),
            [web("1", "a"), web("2", "a")],
            {"a": "", "b": "", "c": MISSING},
            id="an empty selector counts no placed pod",
        ),
        pytest.param(
            spreading(constraint(), nodeSelector={HOST: "a"}),
            [web("1", "a"), web("2", "b"), web("3", "b")],
            {"a": "", "b": "", "c": MISSING},
            id="pods on a node that the pod does not select do not count",
        ),
        pytest.param(
            spreading(constraint(), affinity=required_on("a")),
            [web("1", "a")],
            {"a": "", "b": "", "c": MISSING},
            id="a node that the pod's affinity excludes has no part in the least",
        ),
        pytest.param(
            spreading(constraint(nodeAffinityPolicy="Ignore"), nodeSelector={HOST: "a"}),
            [web("1", "a")],
            {"a": SKEWED, "b": "", "c": MISSING},
            id="unless the policy ignores the selector",
        ),
        pytest.param(
            spreading(constraint(nodeAffinityPolicy="Ignore"), affinity=required_on("a")),
            [web("1", "a")],
            {"a": SKEWED, "b": "", "c": MISSING},
            id="unless the policy ignores node affinity",
        ),
        pytest.param(
            spreading(constraint(matchLabelKeys=["v"]), labels={"app": "web", "v": "2"}),
            [web("1", "a", labels={"app": "web", "v": "1"})],
            {"a": "", "b": "", "c": MISSING},
            id="matchLabelKeys use the pod's own values",
        ),
        pytest.param(
            spreading(constraint(matchLabelKeys=["v", "w"]), labels={"app": "web", "w": "2"}),
            [web("1", "a", labels={"app": "web", "v": "1", "w": "2"})],
            {"a": SKEWED, "b": "", "c": MISSING},
            id="keys that the pod does not have are left out",
        ),
    ],
)
def test_filter(pod, placed, expected):
    assert verdicts(pod, *THREE, *placed) == expected


def test_nodes_with_taints_count_unless_the_policy_excludes_them():
    tainted = in_zone("b", "y", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]})
    nodes = (in_zone("a", "x"), tainted)
    assert verdicts(spreading(constraint()), *nodes, web("1", "a"))["a"] == SKEWED
    honoring = spreading(constraint(nodeTaintsPolicy="Honor"))
    assert verdicts(honoring, *nodes, web("1", "a"))["a"] == ""


def test_a_constraint_without_a_selector_counts_no_pods_even_with_label_keys():
    # Upstream: pkg/scheduler/framework/plugins/podtopologyspread/common.go,
    # mergeLabelSetWithSelector
    spread = constraint(matchLabelKeys=["app"])
    del spread["labelSelector"]
    nodes = in_zone("n1", "a"), in_zone("n2", "b")
    placed = [web(f"p{index}", "n1") for index in range(3)]
    assert verdicts(spreading(spread), *nodes, *placed) == {"n1": "", "n2": ""}


def test_a_node_counts_only_if_it_has_all_keys():
    pod = spreading(constraint(), constraint(HOST))
    nodes = (in_zone("a", "x"), node("b", labels={ZONE: "y"}))
    assert verdicts(pod, *nodes, web("1", "b"), web("2", "b")) == {"a": "", "b": MISSING}


def test_scores_are_weighted_by_the_number_of_domains():
    soft = spreading(constraint(soft=True))
    # Two domains: ln 4 = 1.386; 3 pods are 4.16, 1 pod is 1.39.
    found = scores(soft, *THREE, *(web(str(i), "a") for i in range(3)), web("9", "b"))
    assert found == {"a": (4, 25), "b": (1, 100), "c": (0, 0)}


def test_no_pods_anywhere_gives_everyone_the_best_score():
    assert scores(spreading(constraint(soft=True)), *THREE[:2]) == {"a": (0, 100), "b": (0, 100)}


SERVICE = decode(
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"selector": {"app": "web"}},
    }
)


def test_pods_of_a_service_are_spread_by_default():
    found = scores(web(), SERVICE, *THREE, web("1", "a"))
    # Hosts: skew 3 adds 2, zones (x, y, and none): skew 5 adds 4.
    assert found["a"][0] > found["b"][0] > found["c"][0] == 2


def test_pods_that_nothing_selects_are_not_spread():
    plugin, cycle = PodTopologySpread(), Cycle(web(), cluster_of(*THREE))
    assert plugin.pre_filter(cycle).is_skip
    assert plugin.pre_score(cycle).is_skip


def test_pods_are_not_spread_where_the_configuration_has_no_constraints():
    plugin = PodTopologySpread(PodTopologySpreadArgs(defaulting_type="List"))
    cycle = Cycle(web(), cluster_of(SERVICE, *THREE, web("1", "a")))
    assert plugin.pre_filter(cycle).is_skip
    assert plugin.pre_score(cycle).is_skip
    assert plugin.sign_pod(web()) == {}
    assert plugin.pod_key(web()) == plugin.pod_key(web("q", labels={}))
    assert plugin.sign_pod(spreading(constraint())) is None


def test_a_copied_pod_is_spread_by_the_selector_that_it_keeps():
    # Neither the Service nor the owner of its source is there.
    copied = web(metadata={"annotations": {SPREAD_SELECTOR: "app=web"}})
    assert scores(copied, *THREE, web("1", "a")) == scores(web(), SERVICE, *THREE, web("1", "a"))


def test_default_constraints_can_be_hard():
    listed = TopologySpreadConstraint(
        max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule"
    )
    args = PodTopologySpreadArgs(default_constraints=(listed,), defaulting_type="List")
    plugin, cycle = (
        PodTopologySpread(args),
        Cycle(web(), cluster_of(SERVICE, *THREE, web("1", "a"))),
    )
    assert plugin.pre_filter(cycle).is_success
    assert filtered(plugin, cycle)["a"].message == SKEWED
    assert plugin.pre_score(cycle).is_skip


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param({}, SKEWED, id="the tainted zone is empty"),
        pytest.param({"node_taints_policy": "Honor"}, "", id="it does not count"),
        pytest.param({"match_label_keys": ("v",)}, SKEWED, id="labels narrow no selector"),
    ],
)
@pytest.mark.parametrize("tolerates", [False, True])
def test_default_constraints_read_taints_and_labels_of_the_pod(more, message, tolerates):
    listed = TopologySpreadConstraint(
        max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule", **more
    )
    plugin = PodTopologySpread(
        PodTopologySpreadArgs(default_constraints=(listed,), defaulting_type="List")
    )
    tainted = in_zone("b", "y", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]})
    placed = web("1", "a", labels={"app": "web", "v": "1"})
    tolerations = [{"key": "k", "operator": "Exists"}] if tolerates else []
    incoming = web(labels={"app": "web", "v": "2"}, tolerations=tolerations)
    cycle = Cycle(incoming, cluster_of(SERVICE, in_zone("a", "x"), tainted, placed))
    assert plugin.pre_filter(cycle).is_success
    honors = "node_taints_policy" in more
    assert filtered(plugin, cycle)["a"].message == (SKEWED if honors and tolerates else message)


def test_a_mistaken_selector_is_an_error():
    expression = {"key": "k", "operator": "In", "values": []}
    pod = spreading(constraint(labelSelector={"matchExpressions": [expression]}))
    plugin, cycle = PodTopologySpread(), Cycle(pod, cluster_of(*THREE))
    for status in (plugin.pre_filter(cycle), plugin.pre_score(cycle)):
        assert status.code == Code.ERROR
        assert "for 'in', 'notin' operators, values set can't be empty" in status.message


def test_a_dry_run_frees_a_domain_and_does_not_change_the_cycle():
    cluster = cluster_of(*THREE[:2], web("1", "a"), web("2", "a"))
    plugin, cycle = PodTopologySpread(), Cycle(spreading(constraint(skew=2)), cluster)
    plugin.pre_filter(cycle)
    simulated = cycle.clone()
    plugin.remove_pod(simulated, cluster.pods["default/1"])
    assert filtered(plugin, simulated)["a"].is_success
    assert filtered(plugin, cycle)["a"].message == SKEWED
    elsewhere = web("3", "a", metadata={"namespace": "other"})
    plugin.add_pod(simulated, cluster_of(*THREE[:2], elsewhere).pods["other/3"])
    assert filtered(plugin, simulated)["a"].is_success, "of another namespace"
    again = simulated.clone()
    plugin.add_pod(again, cluster.pods["default/1"])
    assert filtered(plugin, again)["a"].message == SKEWED
    assert filtered(plugin, simulated)["a"].is_success


def test_pods_with_equal_constraints_share_a_key():
    plugin = PodTopologySpread()
    assert plugin.pod_key(spreading(constraint())) == plugin.pod_key(spreading(constraint()))
    assert plugin.pod_key(spreading(constraint())) != plugin.pod_key(spreading(constraint(skew=2)))


def test_default_constraints_count_only_nodes_that_a_selector_of_the_pod_allows():
    labeled = node("d", labels={ZONE: "y", HOST: "d", "disk": "fast"})
    listed = TopologySpreadConstraint(
        max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule"
    )
    args = PodTopologySpreadArgs(default_constraints=(listed,), defaulting_type="List")
    plugin = PodTopologySpread(args)
    # The empty zone x would allow no second pod in zone y, if its nodes counted.
    objects = (SERVICE, in_zone("a", "x"), labeled, web("1", "d"))
    for spec, message in ({}, SKEWED), ({"nodeSelector": {"disk": "fast"}}, ""):
        cycle = Cycle(web(**spec), cluster_of(*objects))
        assert plugin.pre_filter(cycle).is_success
        assert filtered(plugin, cycle)["d"].message == message


def test_a_dry_run_counts_a_pod_for_the_constraints_that_count_its_node():
    """The first constraint leaves out the tainted node of the removed pods, the second does not."""
    taints = [{"key": "k", "effect": "NoSchedule"}]
    there = [in_zone("a", "x", spec={"taints": taints}), in_zone("b", "x"), in_zone("c", "y")]
    cluster = cluster_of(*there, web("1", "a"), web("2", "a"))
    incoming = spreading(constraint(HOST, nodeTaintsPolicy="Honor"), constraint())
    plugin, cycle = PodTopologySpread(), Cycle(incoming, cluster)
    assert plugin.pre_filter(cycle).is_success
    assert filtered(plugin, cycle)["b"].message == SKEWED
    for name in ("default/1", "default/2"):
        plugin.remove_pod(cycle, cluster.pods[name])
    assert filtered(plugin, cycle)["b"].is_success


def test_a_dry_run_counts_a_pod_for_the_later_constraints_that_count_it():
    """The first constraint does not count the pods of the second, nor the nodes without its key."""
    other = constraint(HOST, labelSelector={"matchLabels": {"app": "other"}})
    cluster = cluster_of(*THREE, web("1", "a"), web("2", "a"))
    plugin, cycle = PodTopologySpread(), Cycle(spreading(other, constraint()), cluster)
    assert plugin.pre_filter(cycle).is_success
    assert filtered(plugin, cycle)["a"].message == SKEWED
    for name in ("default/1", "default/2"):
        plugin.remove_pod(cycle, cluster.pods[name])
    assert filtered(plugin, cycle)["a"].is_success


def test_a_dry_run_moves_the_least_count():
    zones = [in_zone("a", "x"), in_zone("b", "y"), in_zone("c", "z")]
    placed = [
        web(f"{on}{i}", on) for on, count in (("a", 3), ("b", 2), ("c", 4)) for i in range(count)
    ]
    cluster = cluster_of(*zones, *placed)
    plugin, cycle = PodTopologySpread(), Cycle(spreading(constraint(skew=2)), cluster)
    assert plugin.pre_filter(cycle).is_success

    def passing():
        return [
            name for name, answer in sorted(filtered(plugin, cycle).items()) if answer.is_success
        ]

    assert passing() == ["a", "b"]
    plugin.remove_pod(cycle, cluster.pods["default/b0"])
    assert passing() == ["b"], "zone y has one pod now, and zone x three"
    for name in ("a0", "a1", "a2"):
        plugin.remove_pod(cycle, cluster.pods[f"default/{name}"])
    assert passing() == ["a", "b"], "zone x has none"
    for name in ("a0", "a1"):
        plugin.add_pod(cycle, cluster.pods[f"default/{name}"])
    assert passing() == ["a", "b"], "zone x has two, zone y one, zone z four"
    plugin.add_pod(cycle, cluster.pods["default/b0"])
    plugin.add_pod(cycle, cluster.pods["default/a2"])
    assert passing() == ["a", "b"], "as at first"


def test_in_a_dry_run_a_node_without_the_label_and_too_few_domains_are_rejected():
    cluster = cluster_of(*THREE[:2], node("bare"), web("1", "a"), web("2", "b"))
    plugin = PodTopologySpread()
    for absent, message in ((1, ""), (3, SKEWED)):
        cycle = Cycle(spreading(constraint(skew=2, minDomains=absent)), cluster)
        assert plugin.pre_filter(cycle).is_success
        plugin.add_pod(cycle, cluster.pods["default/1"])
        found = filtered(plugin, cycle)
        assert found["bare"].message == MISSING
        assert found["a"].message == message


@pytest.mark.parametrize(
    ("counts", "lowest"),
    [
        pytest.param([], [(-1, 2**31 - 1), (-1, 2**31 - 1)], id="no domain"),
        pytest.param([5], [(0, 5), (-1, 2**31 - 1)], id="one"),
        pytest.param([5, 3], [(1, 3), (0, 5)], id="two"),
        pytest.param([5, 3, 4], [(1, 3), (2, 4)], id="three"),
        pytest.param([2, 2, 2], [(0, 2), (1, 2)], id="the first of equals"),
    ],
)
def test_the_two_lowest_domains_of_a_counter(counts, lowest):
    zones = [in_zone(f"n{i}", f"z{i}") for i in range(len(counts))]
    placed = [web(f"{i}-{k}", f"n{i}") for i, count in enumerate(counts) for k in range(count)]
    cluster = cluster_of(*zones, *placed)
    selector = label_selector(LabelSelector(match_labels={"app": "web"}))
    counter = cluster.selectors.counter(DomainRule.of_key(ZONE), (((PodSelector(selector),), 1),))
    two = _TwoLowest.of(counter)
    assert list(zip(two.domains, two.counts, strict=True)) == lowest


def test_tolerations_that_compare_are_read_where_their_gate_is_on():
    taint = {"key": "k", "value": "5", "effect": "NoSchedule"}
    toleration = {"key": "k", "operator": "Gt", "value": "3", "effect": "NoSchedule"}
    objects = in_zone("a", "x"), in_zone("b", "y", spec={"taints": [taint]}), web("1", "a")
    for is_on, message in ((True, SKEWED), (False, "")):
        gates = parse_gates(f"TaintTolerationComparisonOperators={str(is_on).lower()}")
        pod = spreading(constraint(nodeTaintsPolicy="Honor"), tolerations=[toleration])
        plugin, cycle = PodTopologySpread(gates=gates), Cycle(pod, cluster_of(*objects))
        assert plugin.pre_filter(cycle).is_success
        assert filtered(plugin, cycle)["a"].message == message


@pytest.mark.parametrize(
    ("gates", "hint"),
    [
        pytest.param(DEFAULT_GATES, Hint.SKIP, id="the keys narrow the selector"),
        pytest.param(
            parse_gates(
                "MatchLabelKeysInPodTopologySpread=false,"
                "MatchLabelKeysInPodTopologySpreadSelectorMerge=false"
            ),
            Hint.QUEUE,
            id="the keys are not read",
        ),
    ],
)
def test_hints_count_pods_with_the_values_of_match_label_keys(gates, hint):
    """Upstream: podtopologyspread/common.go, filterTopologySpreadConstraints."""
    newer = {"app": "web", "version": "2"}
    pending = spreading(constraint(matchLabelKeys=["version"]), name="pending", labels=newer)
    after_pod_change = PodTopologySpread(gates=gates).events_to_register()[0].hint
    assert after_pod_change is not None
    assert after_pod_change(pending, web("b", "n", newer), None) is Hint.QUEUE
    assert after_pod_change(pending, web("a", "n", {"app": "web", "version": "1"}), None) is hint


@pytest.mark.parametrize(
    ("domain", "count", "lowest"),
    [
        pytest.param(1, 4, [(0, 1), (1, 4)], id="the second stays"),
        pytest.param(1, 0, [(1, 0), (0, 1)], id="the second becomes the lowest"),
        pytest.param(0, 2, [(0, 2), (1, 3)], id="the lowest stays"),
        pytest.param(0, 5, [(1, 3), (0, 5)], id="the lowest becomes the second"),
        pytest.param(0, 3, [(0, 3), (1, 3)], id="equals keep their order"),
        pytest.param(2, 0, [(2, 0), (0, 1)], id="another becomes the lowest"),
        pytest.param(2, 2, [(0, 1), (2, 2)], id="another becomes the second"),
        pytest.param(2, 3, [(0, 1), (1, 3)], id="another that is not lower"),
    ],
)
def test_the_two_domains_with_the_fewest_pods_are_known(domain, count, lowest):
    # Upstream: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go, criticalPaths
    two = _TwoLowest([0, 1], [1, 3])
    two.update(domain, count)
    assert list(zip(two.domains, two.counts, strict=True)) == lowest
