"""The search for the cheapest mix of nodes step by step, with a given answer to what fits."""

from __future__ import annotations

from itertools import product

import pytest

from podwright.apimachinery.objects import InputError
from podwright.scheduler.assembly import Scheduler
from podwright.simulation.capacity import buying
from podwright.simulation.capacity.buying import _Search, buy_nodes, least_price
from podwright.simulation.capacity.filling import CapacityStop
from podwright.simulation.capacity.node_types import NodeType
from podwright.testing import make_node, make_pod


def search(types, pods=(), objects=(), seen=None):
    scheduler = Scheduler()
    scheduler.add(*objects, *pods)
    advance = (lambda *_: None) if seen is None else lambda *part: seen.append(part)
    return _Search(scheduler, [*objects, *pods], types, advance)


def node_type(name, price, cpu="4", most=None, pods=110):
    return NodeType(
        name=name, price=price, max=most, allocatable={"cpu": cpu, "memory": "64Gi", "pods": pods}
    )


def pods_of(*cpus):
    return [make_pod(f"p{number}", cpu=cpu) for number, cpu in enumerate(cpus)]


class Given(_Search):
    """A search in which a rule says how many of some pods fit on a mix."""

    def __init__(self, types, count, placed):
        pods = pods_of(*["1"] * count)
        scheduler = Scheduler()
        scheduler.add(*pods)
        super().__init__(scheduler, pods, types, lambda *_: None)
        self._placed = placed
        self.tried = []

    def _unplaced(self, counts):
        self.tried.append(counts)
        keys = sorted(self._demand)
        stop = CapacityStop(type="Unschedulable", message="")
        return dict.fromkeys(keys[min(len(keys), self._placed(counts)) :], stop)


A, B = node_type("a", 3.0), node_type("b", 5.0)


def test_prices_and_the_order_of_mixes():
    found = search([A, B])
    assert found._price((2, 1)) == 11.0
    mixes = [(0, 3), (5, 0), (1, 1), (2, 0), (0, 0)]
    assert sorted(mixes, key=found._order) == [(0, 0), (2, 0), (1, 1), (0, 3), (5, 0)]
    equal = search([node_type("a", 1.15), node_type("b", 3.45)])
    assert 3 * 1.15 < 3.45, "floats"
    assert sorted([(3, 0), (0, 1)], key=equal._order) == [(0, 1), (3, 0)], "fewer nodes first"


@pytest.mark.parametrize(
    ("counts", "is_offered"),
    [((0, 0), True), ((-1, 0), False), ((0, -1), False), ((2, 9), True), ((3, 0), False)],
)
def test_mixes_within_the_limits_are_offered(counts, is_offered):
    assert search([node_type("a", 1, most=2), B])._is_offered(counts) is is_offered


@pytest.mark.parametrize(
    ("counts", "bound", "is_possible"),
    [
        ((1, 0), 3.0, True), ((1, 0), 3.1, False), ((1, 1), 3.1, True), ((-1, 5), 1.0, False),
        ((1, 0), 3.000000002, True), ((1, 0), 3.000000004, False),
    ],
)  # fmt: skip
def test_mixes_that_cost_less_than_the_bound_are_not_tried(counts, bound, is_possible):
    assert search([A, B])._is_possible(counts, bound) is is_possible


@pytest.mark.parametrize(
    ("bound", "best"), [(3.0, (1,)), (3.000000002, (1,)), (3.000000004, (2,)), (0.0, (1,))]
)
def test_cheaper_mixes_are_tried_from_the_bound_on_but_for_rounding(bound, best):
    found = Given([A], 1, lambda mix: mix[0] >= 1)
    assert found._cheaper((2,), bound) == (best, True)
    assert found.tried == [(0,), (1,)] if not bound else found.tried in ([(1,)], [])


def test_new_nodes_have_names_of_their_own():
    found = search([A, B], objects=[make_node("a-new-0"), make_node("a-new-2")])
    names = [each.node.name for each in found._new_nodes((3, 1))]
    assert names == ["a-new-1", "a-new-3", "a-new-4", "b-new-0"]
    assert [each.node.name for each in found._new_nodes((1, 0))] == ["a-new-1"], "kept"


def test_each_mix_is_tried_once_and_leaves_the_scheduler_as_it_was():
    seen: list[tuple[int, int]] = []
    found = search([A], pods_of("3", "3", "5"), seen=seen)
    assert list(found._unplaced((0,))) == ["default/p0", "default/p1", "default/p2"]
    assert list(found._unplaced((1,))) == ["default/p1", "default/p2"]
    assert list(found._unplaced((2,))) == ["default/p2"]
    assert found._unplaced((2,))["default/p2"].reasons[0].reason == "Insufficient cpu"
    assert seen == [(1, 0), (2, 0), (3, 0)]
    assert len(found._scheduler.pending) == 3
    assert not found._scheduler.cluster.nodes.slot_of


def test_a_mix_grows_by_what_places_most_for_its_price():
    # One b takes ten pods for 5, one a four for 3.
    found = Given([A, B], 20, lambda mix: 4 * mix[0] + 10 * mix[1])
    assert found._grown((0, 0), range(2)) == (0, 2)
    assert found._grown((0, 0), [0]) == (5, 0)
    assert found._grown((2, 1), [1]) == (2, 2)


def test_a_mix_grows_by_several_nodes_if_one_does_not_help():
    found = Given([A], 8, lambda mix: 8 * (mix[0] >= 4))
    assert found._grown((0,), [0]) == (4,)
    found = Given([A], 3, lambda mix: 3 * (mix[0] >= 4))
    assert found._grown((0,), [0]) == (0,), "more nodes than pods do not help"
    found = Given([A], 4, lambda mix: 4 * (mix[0] >= 4))
    assert found._grown((0,), [0]) == (4,), "as many as pods"
    found = Given([A], 64, lambda mix: 64 * (mix[0] >= 64))
    assert found._grown((0,), [0]) == (64,), "each step is twice the one before"


def test_a_mix_does_not_grow_beyond_the_limits():
    limited = [node_type("a", 1.0, most=2), B]
    found = Given(limited, 20, lambda mix: 4 * mix[0] + 10 * mix[1])
    assert found._grown((0, 0), range(2)) == (2, 2)
    found = Given([node_type("a", 1.0, most=2)], 20, lambda mix: 4 * mix[0])
    assert found._grown((0,), [0]) == (2,)
    # A step of two is more than the limit, one of one is not.
    found = Given([A, node_type("b", 1.0, most=1)], 20, lambda mix: 4 * mix[1])
    assert found._grown((0, 0), range(2)) == (0, 1)


def test_the_gain_is_the_share_of_the_requests_of_what_is_left():
    found = Given([A, B], 10, lambda mix: 4 * mix[0])
    left = found._unplaced((0, 0))
    count, value = found._gain(left, (1, 0), 0)
    # Four of ten pods: two fifths of the CPU, and of the pods, for 3.
    assert count == 4
    assert value == pytest.approx(2 * 0.4 / 3.0)
    assert found._gain(left, (0, 1), 1) == (0, 0.0)
    free = Given([node_type("a", 0.0)], 10, lambda mix: 4 * mix[0])
    assert free._gain(free._unplaced((0,)), (1,), 0)[1] == pytest.approx(0.8e9)


@pytest.mark.parametrize(
    ("start", "need", "reduced"),
    [((9, 0), 20, (0, 2)), ((0, 9), 20, (0, 2)), ((5, 0), 20, (0, 2)), ((1, 2), 20, (0, 2))],
)
def test_a_mix_is_reduced_to_a_cheaper_one_nearby(start, need, reduced):
    found = Given([A, B], need, lambda mix: 4 * mix[0] + 10 * mix[1])
    assert found._reduced(start, 0.0) == reduced
    assert all(min(mix) >= 0 for mix in found.tried)
    assert found._reduced((2, 2), 16.0) == (2, 2), "nothing below the bound"


def test_a_step_that_fits_is_doubled():
    found = Given([A, node_type("c", 2.0)], 512, lambda mix: 4 * sum(mix))
    assert found._reduced((128, 0), 0.0) == (0, 128)
    assert len(found.tried) < 64, "fewer tries than steps of two nodes"


@pytest.mark.parametrize(
    "start", [(15, 0, 0), (5, 1, 1), (0, 7, 1), (1, 3, 1), (7, 0, 1), (0, 0, 4), (19, 3, 0)]
)
def test_prices_in_proportion_to_sizes_give_the_fewest_nodes(start):
    types = [node_type("a", 0.096), node_type("b", 0.192), node_type("c", 0.768)]
    found = Given(types, 30, lambda mix: 2 * mix[0] + 4 * mix[1] + 16 * mix[2])
    reduced = found._reduced(start, 0.0)
    assert found._fits(reduced)
    assert found._order(reduced) <= found._order(start)
    assert found._cheaper(reduced, 1.44) == ((1, 3, 1), True)


@pytest.mark.parametrize("rule", [(4, 10), (3, 6), (5, 5), (2, 7)])
@pytest.mark.parametrize("need", [1, 9, 20])
def test_the_cheapest_mix_of_all_is_found_from_any_start(rule, need):
    def placed(mix):
        return rule[0] * mix[0] + rule[1] * mix[1]

    found = Given([A, B], need, placed)
    fitting = [mix for mix in product(range(21), repeat=2) if placed(mix) >= need]
    cheapest = min(fitting, key=found._order)
    assert found._cheaper((20, 0), 0.0) == (cheapest, True)
    assert found._cheaper(cheapest, 0.0) == (cheapest, True)
    # What costs less than the bound is not tried.
    tried = Given([A, B], need, placed)
    bound = tried._price(cheapest)
    assert tried._cheaper((20, 0), bound) == (cheapest, True)
    assert all(tried._price(mix) >= bound for mix in tried.tried)


def test_a_search_that_takes_too_long_says_so():
    found = Given([A, B], 200, lambda mix: 2 * mix[0])
    assert found._cheaper((100, 0), 0.0) == ((100, 0), False)
    # 40,000 decisions: two hundred mixes of two hundred pods.
    assert len(found.tried) == 200


def test_nodes_are_bought_for_the_rest_that_the_cluster_does_not_take():
    pods = pods_of("3", "3", "3", "9")
    found = search([A, B], pods, [make_node("old")]).purchase()
    assert found.nodes == {"a": 2}
    assert (found.price, found.pending, found.scheduled) == (6.0, 4, 3)
    (left,) = found.unplaced
    # The old node, two new ones, and one more of each type.
    assert (left.pod, left.message) == (
        "default/p3",
        "0/5 nodes are available: 5 Insufficient cpu.",
    )
    assert [node.name for node in found.added] == ["a-new-0", "a-new-1"]
    assert sorted(found.placed.values()) == ["a-new-0", "a-new-1", "old"]
    assert found.is_cheapest
    assert 0 < found.bound <= 6.0


def test_without_trying_cheaper_mixes_the_best_start_is_taken(monkeypatch):
    monkeypatch.setattr(buying, "MOST_MIXES", 0)
    # Three of the small ones are cheapest; from one large node on, no step nearby fits.
    found = search([node_type("small", 2.0, "3"), node_type("large", 7.0, "9")], pods_of(*"333"))
    assert found.purchase().nodes == {"small": 3}


@pytest.mark.parametrize(
    ("existing", "bound"),
    [
        pytest.param([], 9.0, id="three new nodes"),
        pytest.param([make_node("old")], 6.0, id="one pod has room"),
        pytest.param([make_node("old", taints=["k=v:NoSchedule"])], 9.0, id="not there"),
        pytest.param([make_node("a"), make_node("b", taints=["k=v:NoSchedule"])], 6.0, id="both"),
        pytest.param([make_node("old", cpu="8")], 3.0, id="two have"),
        pytest.param([make_node("old", cpu="2")], 9.0, id="none has"),
    ],
)
def test_the_bound_counts_the_room_of_nodes_that_take_pods(existing, bound):
    assert search([A], pods_of("3", "3", "3"), existing)._bound() == pytest.approx(bound)


def test_types_are_needed_for_a_purchase():
    with pytest.raises(InputError) as caught:
        buy_nodes(pods_of("1"), [])
    assert "name at least one type" in str(caught.value)
    with pytest.raises(InputError) as caught:
        buy_nodes([make_node("n")], [A])
    assert str(caught.value) == "no pod is pending"


# Three nodes of a price of 0.1 cost a little more than 0.3, as sums of floats do: the bound of a
# purchase is a sum as well, and a mix with exactly that price is possible.
TENTH = node_type("a", 0.1)


@pytest.mark.parametrize("bound", [0.3, 0.1 + 0.2, 0.3 * (1 + 5e-10)])
def test_a_mix_that_costs_the_bound_but_for_the_rounding_of_floats_is_tried(bound):
    assert search([TENTH])._is_possible((3,), bound)
    found = Given([TENTH], 3, lambda counts: counts[0])
    assert found._cheaper((5,), bound) == ((3,), True)
    assert found.tried == [(3,)]


def test_a_mix_below_the_bound_is_not_tried():
    assert not search([TENTH])._is_possible((3,), 0.3001)
    found = Given([TENTH], 3, lambda counts: counts[0])
    assert found._cheaper((5,), 0.3001) == ((4,), True)
    assert found.tried == [(4,)]


def test_each_cheaper_mix_is_tried_once():
    found = Given([A, B], 1, lambda _mix: 0)
    assert found._cheaper((0, 18), 0.0) == ((0, 18), True)
    cheaper = [(a, b) for a in range(30) for b in range(18) if 3 * a + 5 * b < 90]
    assert sorted(found.tried) == cheaper


def test_mixes_below_the_bound_are_passed_only_up_to_a_number(monkeypatch):
    monkeypatch.setattr(buying, "MOST_MIXES", 1)
    found = Given([A, B], 1, lambda _mix: 1)
    assert found._cheaper((100, 0), 299.9) == ((100, 0), False)
    assert found.tried == []
    assert found._cheaper((3, 0), 8.9) == ((3, 0), True), "the few cheaper ones cost too little"


def test_a_need_that_no_type_meets_has_the_bound_of_nothing():
    assert least_price([A, B], [((0, 0), 5)]) == 0
