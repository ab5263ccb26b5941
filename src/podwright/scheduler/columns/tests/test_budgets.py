import pytest

from podwright.apimachinery.objects import LabelSelector, with_fields
from podwright.apimachinery.objects.meta import LabelSelectorRequirement
from podwright.scheduler.columns import Cluster
from podwright.scheduler.preemption.tests.situations import budget, cluster_of, node, pod

A, B, C = {"a": "1"}, {"b": "1"}, {"c": "1"}


def split(*objects):
    """Split the pods of the cluster, in order of placement; return names."""
    cluster = cluster_of(node("n", cpu="99"), *objects)
    violating, others = cluster.budgets.split(cluster.pods.values())
    return [p.pod.metadata.name for p in violating], [p.pod.metadata.name for p in others]


def with_namespace(obj, namespace):
    return with_fields(obj, "metadata", namespace=namespace)


def there(name, **labels):
    return pod(name, on="n", labels=labels)


# -------------------------------------------------------------------- who violates


@pytest.mark.parametrize(
    ("allowed", "violating"),
    [
        pytest.param(-1, ["p0", "p1", "p2"], id="overdrawn"),
        pytest.param(0, ["p0", "p1", "p2"], id="none"),
        pytest.param(1, ["p1", "p2"], id="one"),
        pytest.param(2, ["p2"], id="two"),
        pytest.param(3, [], id="as many as there are"),
    ],
)
def test_a_budget_is_used_up_by_the_first_pods(allowed, violating):
    pods = [there(f"p{i}", a="1") for i in range(3)]
    others = [f"p{i}" for i in range(3) if f"p{i}" not in violating]
    assert split(*pods, budget("b", allowed, A)) == (violating, others)


@pytest.mark.parametrize("spent_first", [False, True])
def test_a_pod_that_violates_one_budget_is_charged_to_the_others_too(spent_first):
    budgets = [budget("spent", 0, A), budget("one left", 1, B)]
    if not spent_first:
        budgets.reverse()
    assert split(*budgets, there("both", a="1", b="1"), there("second", b="1")) == (
        ["both", "second"],
        [],
    )


def test_budgets_after_a_violated_one_are_charged_once_each():
    objects = [
        budget("spent", 0, A),
        budget("two left", 2, B),
        budget("one left", 1, C),
        there("all", a="1", b="1", c="1"),
        there("b", b="1"),
        there("c", c="1"),
        there("b again", b="1"),
    ]
    assert split(*objects) == (["all", "c", "b again"], ["b"])


def test_a_violated_budget_remains_violated_and_others_are_not_touched():
    objects = [
        budget("spent", 0, A),
        budget("enough", 2, B),
        there("first", a="1"),
        there("second", b="1"),
        there("third", a="1", b="1"),
        there("free"),
    ]
    assert split(*objects) == (["first", "third"], ["second", "free"])


def test_splitting_twice_finds_the_same():
    cluster = cluster_of(node("n", cpu="99"), budget("b", 1, A), there("p", a="1"))
    for _ in range(2):
        violating, others = cluster.budgets.split(cluster.pods.values())
        assert (violating, [p.pod.metadata.name for p in others]) == ([], ["p"])


# -------------------------------------------------------------------- whom a budget covers


@pytest.mark.parametrize(
    ("spent", "covered", "violates"),
    [
        pytest.param(budget("b", 0, A), there("p", a="1"), True, id="labels match"),
        pytest.param(budget("b", 0, A), there("p", a="2"), False, id="another value"),
        pytest.param(budget("b", 0, A), there("p"), False, id="a pod without labels"),
        pytest.param(budget("b", 0, {}), there("p", a="1"), False, id="an empty selector"),
        pytest.param(budget("b", 0, None), there("p", a="1"), False, id="no selector"),
        pytest.param(
            budget("b", 0, A, disruptedPods={"p": "2026-01-01T00:00:00Z"}),
            there("p", a="1"),
            False,
            id="a pod that is disrupted already",
        ),
        pytest.param(
            budget("b", 0, A, disruptedPods={"q": "2026-01-01T00:00:00Z"}),
            there("p", a="1"),
            True,
            id="another pod is disrupted already",
        ),
    ],
)
def test_whom_a_budget_covers(spent, covered, violates):
    assert split(spent, covered) == ((["p"], []) if violates else ([], ["p"]))


def test_a_budget_covers_pods_of_its_namespace_only():
    elsewhere = with_namespace(there("p", a="1"), "elsewhere")
    assert split(budget("b", 0, A), elsewhere) == ([], ["p"])
    assert split(with_namespace(budget("b", 0, A), "elsewhere"), elsewhere) == (["p"], [])


def test_a_pod_without_labels_is_covered_by_no_selector():
    matches_all = budget("b", 0, A)
    absent = LabelSelectorRequirement(key="a", operator="DoesNotExist")
    matches_all = with_fields(
        matches_all, "spec", selector=LabelSelector(match_expressions=(absent,))
    )
    assert split(matches_all, there("bare"), there("labelled", b="1")) == (["labelled"], ["bare"])


def test_a_pod_that_is_disrupted_already_is_not_charged():
    spent = budget("b", 1, A, disruptedPods={"going": "2026-01-01T00:00:00Z"})
    assert split(spent, there("going", a="1"), there("p", a="1")) == ([], ["going", "p"])


# -------------------------------------------------------------------- changes


def found(cluster):
    budgets = cluster.budgets
    return dict(zip(budgets.names(), budgets.allowed, strict=True))


def test_budgets_are_added_changed_and_deleted():
    cluster = Cluster()
    budgets = cluster.budgets
    assert not budgets
    cluster.put(budget("a", 1, A))
    cluster.put(budget("b", 2, B))
    assert budgets
    assert found(cluster) == {"default/a": 1, "default/b": 2}
    assert budgets.of(there("p", a="1", b="1")) == (0, 1)
    before = budgets.version
    cluster.put(budget("b", 5, B))
    cluster.put(budget("a", 0, A))
    assert found(cluster) == {"default/a": 0, "default/b": 5}
    assert budgets.version == before, "they cover the same pods"
    cluster.delete(budget("a", 1, A))
    assert found(cluster) == {"default/b": 5}
    assert budgets.of(there("p", a="1", b="1")) == (0,)
    assert budgets.version == before + 1
    after = budgets.version
    cluster.delete(budget("a", 1, A))
    assert budgets.version == after
    cluster.delete(budget("b", 1, B))
    assert (bool(budgets), found(cluster)) == (False, {})
    assert budgets.of(there("p", b="1")) == ()


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(budget("b", 0, B), id="another selector"),
        pytest.param(
            budget("b", 0, A, disruptedPods={"p": "2026-01-01T00:00:00Z"}), id="a disrupted pod"
        ),
    ],
)
def test_a_budget_that_covers_other_pods_is_recompiled(changed):
    cluster = cluster_of(budget("b", 0, A))
    before = cluster.budgets.version
    assert cluster.budgets.of(there("p", a="1")) == (0,)
    cluster.put(changed)
    assert cluster.budgets.of(there("p", a="1")) == ()
    assert cluster.budgets.version == before + 1
    cluster.put(budget("b", 3, A))
    assert cluster.budgets.of(there("p", a="1")) == (0,)
    assert cluster.budgets.allowed == [3]


def test_a_disrupted_pod_that_replaces_another_is_detected():
    when = "2026-01-01T00:00:00Z"
    cluster = cluster_of(budget("b", 0, A, disruptedPods={"p": when}))
    cluster.put(budget("b", 0, A, disruptedPods={"q": when}))
    assert cluster.budgets.of(there("p", a="1")) == (0,)
    assert cluster.budgets.of(there("q", a="1")) == ()


def test_a_budget_that_selects_no_pod_is_charged_for_none():
    invalid = LabelSelector(match_expressions=(LabelSelectorRequirement("a", "In", ()),))
    objects = [
        with_fields(budget("invalid", 0, A), "spec", selector=invalid),
        budget("of all", 0, {}),
        budget("without a selector", 0, None),
        budget("one left", 1, A),
        there("first", a="1"),
        there("second", a="1"),
    ]
    assert split(*objects) == (["second"], ["first"])
    cluster = cluster_of(*objects[:4])
    assert cluster.budgets.of(there("p", a="1")) == (3,)
    assert cluster.budgets.allowed == [0, 0, 0, 1]
