import numpy as np
import pytest

from podwright.apimachinery.objects import decode_pod, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.config.schema import InterPodAffinityArgs
from podwright.scheduler.framework import Code, Cycle, Scores
from podwright.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from podwright.scheduler.plugins.tests.one_node_at_a_time import cluster_of, filtered, node

ZONE, HOST = "zone", "host"
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI = "node(s) didn't match pod anti-affinity rules"
OF_PLACED = "node(s) didn't satisfy existing pods anti-affinity rules"
NODES = (
    node("a", labels={ZONE: "x", HOST: "a"}),
    node("b", labels={ZONE: "x", HOST: "b"}),
    node("c", labels={ZONE: "y", HOST: "c"}),
    node("d"),
)
ALL = {"a": "", "b": "", "c": "", "d": ""}


def term(key, app, **more):
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}} | more


def near(*terms):
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def apart(*terms):
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def preferring(kind, *terms):
    weighted = [{"weight": w, "podAffinityTerm": t} for w, t in terms]
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


def pod(name="p", app="web", *, on="", affinity=None, namespace="default", **metadata):
    metadata |= {"name": name, "namespace": namespace, "uid": name, "labels": {"app": app}}
    spec = {"nodeName": on, "affinity": affinity or {}}
    return decode_pod({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def namespace(name, **labels):
    metadata = {"name": name, "labels": labels}
    return decode({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


def verdicts(incoming, *objects):
    plugin, cycle = InterPodAffinity(), Cycle(incoming, cluster_of(*NODES, *objects))
    if plugin.pre_filter(cycle).is_skip:
        return ALL
    return {name: answer.message for name, answer in filtered(plugin, cycle).items()}


DYING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("affinity", "objects", "expected"),
    [
        pytest.param(
            near(term(ZONE, "db")),
            [pod("1", "db", on="a")],
            {"a": "", "b": "", "c": AFFINITY, "d": AFFINITY},
            id="affinity requires the domain of a matching pod",
        ),
        pytest.param(
            near(term(ZONE, "db")),
            [],
            dict.fromkeys("abcd", AFFINITY),
            id="without a matching pod there is no node",
        ),
        pytest.param(
            near(term(ZONE, "web")),
            [],
            ALL | {"d": AFFINITY},
            id="the first of pods with mutual affinity fits on any node with the label",
        ),
        pytest.param(
            near(term(ZONE, "web")),
            [pod("1", on="c")],
            {"a": AFFINITY, "b": AFFINITY, "c": "", "d": AFFINITY},
            id="the second does not",
        ),
        pytest.param(
            near(term(ZONE, "web")),
            [pod("1", on="d")],
            ALL | {"d": AFFINITY},
            id="a matching pod on a node without the label is in no domain",
        ),
        pytest.param(
            near(term(ZONE, "db"), term(HOST, "web")),
            [pod("1", "db", on="a"), pod("2", "web", on="a")],
            dict.fromkeys("abcd", AFFINITY),
            id="one pod has to match all terms",
        ),
        pytest.param(
            apart(term(HOST, "db")),
            [pod("1", "db", on="a")],
            ALL | {"a": ANTI},
            id="anti-affinity keeps out of the domain, and does not mind a missing label",
        ),
        pytest.param(
            apart(term(ZONE, "db")),
            [pod("1", "db", on="a", **DYING)],
            ALL | {"a": ANTI, "b": ANTI},
            id="terminating pods count",
        ),
        pytest.param(
            {},
            [pod("1", "db", on="a", affinity=apart(term(ZONE, "web")))],
            ALL | {"a": OF_PLACED, "b": OF_PLACED},
            id="the anti-affinity of placed pods counts for pods that have none",
        ),
        pytest.param(
            near(term(ZONE, "web")) | apart(term(HOST, "db")),
            [
                pod("1", "db", on="a", affinity=apart(term(ZONE, "web"))),
                pod("2", "web", on="b"),
            ],
            {"a": ANTI, "b": OF_PLACED, "c": AFFINITY, "d": AFFINITY},
            id="affinity is checked first, then anti-affinity, then that of placed pods",
        ),
        pytest.param(
            apart(term(HOST, "db", namespaces=["other"])),
            [pod("1", "db", on="a"), pod("2", "db", on="b", namespace="other")],
            ALL | {"b": ANTI},
            id="named namespaces replace the pod's own",
        ),
        pytest.param(
            apart(term(HOST, "db", namespaceSelector={"matchLabels": {"team": "t"}})),
            [
                namespace("other", team="t"),
                pod("1", "db", on="a"),
                pod("2", "db", on="b", namespace="other"),
            ],
            ALL | {"b": ANTI},
            id="namespaces are selected by their labels",
        ),
        pytest.param(
            apart(term(HOST, "db", namespaceSelector={})),
            [pod("1", "db", on="a", namespace="nowhere")],
            ALL | {"a": ANTI},
            id="an empty namespace selector means all, existing or not",
        ),
    ],
)
def test_filter(affinity, objects, expected):
    assert verdicts(pod(affinity=affinity), *objects) == expected


def test_affinity_is_unresolvable_and_anti_affinity_is_not():
    plugin = InterPodAffinity()
    incoming = pod(affinity=near(term(ZONE, "db")) | apart(term(HOST, "db")))
    cycle = Cycle(incoming, cluster_of(*NODES, pod("1", "db", on="a")))
    plugin.pre_filter(cycle)
    answers = filtered(plugin, cycle)
    assert answers["a"].code == Code.UNSCHEDULABLE
    assert answers["c"].code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE


def test_pods_without_matching_terms_are_skipped():
    plugin = InterPodAffinity()
    placed = pod("1", "db", on="a", affinity=apart(term(ZONE, "other")))
    cycle = Cycle(pod(), cluster_of(*NODES, placed))
    assert plugin.pre_filter(cycle).is_skip
    assert plugin.pre_score(cycle).is_skip


def test_the_last_carrier_of_a_term_takes_it_along():
    plugin, cluster = InterPodAffinity(), cluster_of(*NODES)
    before = cluster.selectors.terms_version
    carrier = pod("1", "db", on="a", affinity=apart(term(ZONE, "web")))
    cluster.put(carrier)
    during = cluster.selectors.terms_version
    assert plugin.pre_filter(Cycle(pod(), cluster)).is_success
    cluster.put(pod("2", "db", on="b", affinity=apart(term(ZONE, "web"))))
    cluster.delete(carrier)
    assert cluster.selectors.terms_version == during > before
    cluster.remove("default/2")
    assert cluster.selectors.terms_version > during
    assert plugin.pre_filter(Cycle(pod(), cluster)).is_skip


def scores(incoming, *objects, args=None):
    plugin, cycle = InterPodAffinity(args), Cycle(incoming, cluster_of(*NODES, *objects))
    if plugin.pre_score(cycle).is_skip:
        return None
    nodes, rows = cycle.cluster.nodes, cycle.cluster.live_slots()
    out = Scores(np.full(nodes.n_slots, -1, dtype=np.int64), rows)
    plugin.score_columns(cycle, nodes, out)
    raw = out.values.tolist()
    plugin.normalize_score(cycle, out)
    return raw, out.values.tolist()


WANTS_WEB = preferring("podAffinity", (10, term(ZONE, "web")))


@pytest.mark.parametrize(
    ("affinity", "objects", "args", "expected"),
    [
        pytest.param(
            preferring("podAffinity", (10, term(ZONE, "db")), (5, term(HOST, "db"))),
            [pod("1", "db", on="a"), pod("2", "db", on="c")],
            None,
            ([15, 10, 15, 0], [100, 66, 100, 0]),
            id="weights add up, and normalizing cuts off",
        ),
        pytest.param(
            preferring("podAntiAffinity", (10, term(ZONE, "db"))),
            [pod("1", "db", on="a")],
            None,
            ([-10, -10, 0, 0], [0, 0, 100, 100]),
            id="anti-affinity takes away",
        ),
        pytest.param(
            {},
            [pod("1", "db", on="a", affinity=WANTS_WEB)],
            None,
            ([10, 10, 0, 0], [100, 100, 0, 0]),
            id="placed pods prefer the pod near",
        ),
        pytest.param(
            {},
            [pod("1", "db", on="c", affinity=near(term(HOST, "web")))],
            InterPodAffinityArgs(hard_pod_affinity_weight=7),
            ([0, 0, 7, 0], [0, 0, 100, 0]),
            id="required affinity of placed pods has the configured weight",
        ),
        pytest.param(
            {},
            [pod("1", "db", on="c", affinity=near(term(HOST, "web")))],
            InterPodAffinityArgs(hard_pod_affinity_weight=0),
            None,
            id="or none",
        ),
        pytest.param(
            {},
            [pod("1", "db", on="a", affinity=WANTS_WEB)],
            InterPodAffinityArgs(ignore_preferred_terms_of_existing_pods=True),
            None,
            id="placed pods can be ignored",
        ),
        pytest.param(
            WANTS_WEB,
            [pod("1", "web", on="d")],
            None,
            None,
            id="pods on nodes without the label score zero",
        ),
        pytest.param(
            preferring("podAffinity", (10, term(ZONE, "db")), (10, term(ZONE, "cache"))),
            [pod(str(i), app, on=on) for i, (app, on) in enumerate([("db", "a"), ("cache", "c")])],
            None,
            ([10, 10, 10, 0], [100, 100, 100, 0]),
            id="different pods in different domains",
        ),
    ],
)
def test_score(affinity, objects, args, expected):
    assert scores(pod(affinity=affinity), *objects, args=args) == expected


def test_scoring_starts_when_the_first_matching_pod_arrives():
    plugin, cluster = InterPodAffinity(), cluster_of(*NODES)
    cycle = Cycle(pod(affinity=WANTS_WEB), cluster)
    assert plugin.pre_score(cycle).is_skip
    before = cluster.selectors.terms_version
    cluster.put(pod("1", "web", on="a"))
    assert cluster.selectors.terms_version > before
    assert plugin.pre_score(cycle).is_success


def test_a_dry_run_counts_pods_that_have_terms():
    cluster = cluster_of(*NODES)
    plugin, cycle = InterPodAffinity(), Cycle(pod(affinity=apart(term(HOST, "none"))), cluster)
    plugin.pre_filter(cycle)
    simulated = cycle.clone()
    with cluster.dry_run(0) as dry_run:
        placed = dry_run.add(pod("n", "db", on="a", affinity=apart(term(ZONE, "web"))))
        plugin.add_pod(simulated, placed)
        assert filtered(plugin, simulated)["b"].message == OF_PLACED
        plugin.remove_pod(simulated, placed)
        assert filtered(plugin, simulated)["b"].is_success
    assert filtered(plugin, cycle)["b"].is_success


def test_a_mistaken_term_rejects_the_pod():
    expression = {"key": "k", "operator": "In", "values": []}
    mistaken = {"topologyKey": ZONE, "labelSelector": {"matchExpressions": [expression]}}
    plugin, cycle = InterPodAffinity(), Cycle(pod(affinity=near(mistaken)), cluster_of(*NODES))
    answer = plugin.pre_filter(cycle)
    assert answer.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert answer.message.startswith("parsing pod: ")


def test_a_mistaken_term_is_an_error_where_only_scores_run():
    expression = {"key": "k", "operator": "In", "values": []}
    mistaken = {"topologyKey": ZONE, "labelSelector": {"matchExpressions": [expression]}}
    plugin, cycle = InterPodAffinity(), Cycle(pod(affinity=near(mistaken)), cluster_of(*NODES))
    answer = plugin.pre_score(cycle)
    assert answer.code == Code.ERROR
    assert answer.message.startswith("failed to parse pod: ")


def test_after_the_last_matching_pod_is_removed_the_pod_is_the_first():
    cluster = cluster_of(*NODES, pod("1", on="a"))
    plugin, cycle = InterPodAffinity(), Cycle(pod(affinity=near(term(ZONE, "web"))), cluster)
    assert plugin.pre_filter(cycle).is_success
    assert filtered(plugin, cycle)["c"].message == AFFINITY
    plugin.remove_pod(cycle, cluster.pods["default/1"])
    assert filtered(plugin, cycle)["c"].is_success


def test_in_a_dry_run_a_pod_counts_if_it_matches_all_terms():
    # Upstream: interpodaffinity/filtering.go, updateWithAffinityTerms
    cluster = cluster_of(*NODES, pod("1", on="a"), pod("2", "db", on="a"))
    both = near(term(ZONE, "web"), term(HOST, "db"))
    plugin, cycle = InterPodAffinity(), Cycle(pod(affinity=both), cluster)
    assert plugin.pre_filter(cycle).is_success
    before = filtered(plugin, cycle)
    for name in ("1", "2"):
        plugin.add_pod(cycle, cluster.pods[f"default/{name}"])
    assert filtered(plugin, cycle) == before
    assert before["a"].message == AFFINITY


SAYS_APART = apart(term(ZONE, "web"))
SAYS_FAR = preferring("podAntiAffinity", (5, term(ZONE, "web")))


@pytest.mark.parametrize(
    ("own", "placed", "comes", "is_same"),
    [
        pytest.param({}, (), pod("new", "db"), True, id="a pod without terms"),
        pytest.param(
            {}, (), pod("new", "db", affinity=apart(term(ZONE, "db"))), True, id="terms of others"
        ),
        pytest.param({}, (), pod("new", "db", affinity=SAYS_APART), False, id="a required term"),
        pytest.param({}, (), pod("new", "db", affinity=SAYS_FAR), False, id="a preferred term"),
        pytest.param(
            *({}, (), pod("new", "db", affinity=SAYS_APART, namespace="other"), True),
            id="a term for another namespace",
        ),
        pytest.param(
            *({}, (pod("old", "db", affinity=SAYS_APART),)),
            *(pod("new", "db", affinity=SAYS_APART), True),
            id="another carrier of a term",
        ),
        pytest.param(
            *({}, (pod("old", "db", affinity=SAYS_APART),)),
            *(pod("new", "db", affinity=apart(term(HOST, "web"))), False),
            id="a term with another topology key",
        ),
        pytest.param(
            *(preferring("podAffinity", (1, term(ZONE, "db"))), (), pod("new", "db"), False),
            id="the first pod that its own term prefers",
        ),
        pytest.param(
            *(preferring("podAffinity", (1, term(ZONE, "db"))), ()),
            *(pod("new", "cache"), True),
            id="a pod that its own term does not select",
        ),
        pytest.param(near(term(ZONE, "db")), (), pod("new", "db"), True, id="its required term"),
    ],
)
def test_terms_that_concern_other_pods_leave_what_was_found(own, placed, comes, is_same):
    plugin, cluster = InterPodAffinity(), cluster_of(*NODES)
    for each in placed:
        cluster.put(with_node_name(each, "b"))
    cycle = Cycle(pod(affinity=own), cluster)
    assert not plugin.finds_same_terms(cycle), "nothing was found yet"
    only_scored = cycle.clone()
    plugin.pre_score(only_scored)
    assert not plugin.finds_same_terms(only_scored), "PreFilter has found nothing"
    plugin.pre_filter(cycle)
    assert not plugin.finds_same_terms(cycle), "PreScore has found nothing yet"
    plugin.pre_score(cycle)
    assert plugin.finds_same_terms(cycle)
    cluster.put(with_node_name(comes, "a"))
    assert plugin.finds_same_terms(cycle) is is_same
    cluster.delete_pod(comes.key, cluster.pods[comes.key].pod)
    assert plugin.finds_same_terms(cycle)


@pytest.mark.parametrize(
    ("affinity", "here", "gone"),
    [
        pytest.param(apart(term(ZONE, "db")), ANTI, "", id="anti-affinity"),
        pytest.param(near(term(ZONE, "db")), "", AFFINITY, id="affinity"),
    ],
)
def test_a_cloned_cycle_starts_with_the_changes_of_the_original_and_has_its_own(
    affinity, here, gone
):
    """Upstream: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go, Clone."""
    cluster = cluster_of(*NODES, pod("1", "db", on="a"))
    plugin, cycle = InterPodAffinity(), Cycle(pod(affinity=affinity), cluster)
    plugin.pre_filter(cycle)
    without = cycle.clone()
    plugin.remove_pod(without, cluster.pods["default/1"])
    again = without.clone()
    found = [filtered(plugin, each)["a"].message for each in (cycle, without, again)]
    assert found == [here, gone, gone]
    plugin.add_pod(again, cluster.pods["default/1"])
    found = [filtered(plugin, each)["a"].message for each in (cycle, without, again)]
    assert found == [here, gone, here]


def test_a_dry_run_removes_the_only_pod_that_a_first_one_would_be_beside():
    # Upstream: interpodaffinity/filtering.go, satisfyPodAffinity
    incoming = pod(affinity=near(term(ZONE, "web")))
    cluster = cluster_of(*NODES, pod("1", on="a"))
    plugin, cycle = InterPodAffinity(), Cycle(incoming, cluster)
    assert plugin.pre_filter(cycle).is_success
    simulated = cycle.clone()
    plugin.remove_pod(simulated, cluster.pods["default/1"])
    found = {name: answer.message for name, answer in filtered(plugin, simulated).items()}
    assert found == {"a": "", "b": "", "c": "", "d": AFFINITY}
    found = {name: answer.message for name, answer in filtered(plugin, cycle).items()}
    assert found == {"a": "", "b": "", "c": AFFINITY, "d": AFFINITY}
