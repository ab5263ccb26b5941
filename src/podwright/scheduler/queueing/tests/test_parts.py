import pytest

from podwright.apimachinery.objects import (
    Container,
    Node,
    NodeSpec,
    ObjectMeta,
    Pod,
    PodSpec,
    ResourceClaim,
    ResourceRequirements,
    Taint,
    Unknown,
    decode_pod,
)
from podwright.scheduler.framework.events import (
    ASSIGNED_POD,
    NODE,
    POD,
    UNSCHEDULABLE_TIMEOUT,
    WILDCARD,
    ActionType,
    ClusterEvent,
    EventHint,
    Hint,
)
from podwright.scheduler.queueing import (
    SECOND_NS,
    HintTable,
    Nominator,
    QueuedPod,
    QueueName,
    QueueSettings,
    derive_events,
)
from podwright.scheduler.queueing.heap import LazyHeap
from podwright.scheduler.queueing.pod import priority_sort_key
from podwright.scheduler.queueing.subqueues import BackoffQueue, backoff_duration_ns
from podwright.scheduler.queueing.tests.pods import NODE_ADD, always_skip, make_pod

# ------------------------------------------------------------------ heap


class Item:
    def __init__(self, name):
        self.name = name
        self.sort_key = None


def make_heap(**sort_keys):
    """Return a heap, and its items by name."""
    heap: LazyHeap[Item] = LazyHeap()
    items = {name: Item(name) for name in sort_keys}
    for name, sort_key in sort_keys.items():
        heap.push(items[name], sort_key)
    return heap, items


def drained(heap):
    names = []
    while (item := heap.pop()) is not None:
        names.append(item.name)
    return names


@pytest.mark.parametrize(
    "sort_keys",
    [
        pytest.param({"a": 3, "b": 1, "c": 4, "d": 2}, id="the heap before the run"),
        pytest.param({"a": 1, "b": 4, "c": 3, "d": 2}, id="the run before and after the heap"),
        pytest.param({"a": 1, "b": 3, "c": 5, "d": 2, "e": 4}, id="in turn"),
    ],
)
def test_the_heap_pops_in_order_of_sort_keys(sort_keys):
    heap, items = make_heap(**sort_keys)
    in_order = sorted(sort_keys, key=sort_keys.__getitem__)
    assert [item.name for item in heap.ordered()] == in_order
    assert heap.peek() is items[in_order[0]]
    assert drained(heap) == in_order
    assert len(heap) == 0


@pytest.mark.parametrize(
    ("count", "removed_count", "place_count"),
    [
        pytest.param(100, 50, 100, id="as many stale entries as items"),
        pytest.param(100, 51, 49, id="more: the heap is rebuilt"),
        pytest.param(65, 33, 32, id="so is one of few items"),
        pytest.param(64, 60, 64, id="but none of very few"),
    ],
)
def test_stale_entries_never_outnumber_the_items_of_a_large_heap(count, removed_count, place_count):
    # Every second item is in the run, the others are in the heap.
    heap, items = make_heap(**{f"i{i}": i ^ 1 for i in range(count)})
    for name in [*items][:removed_count]:
        heap.remove(items.pop(name))
    assert len(heap._run_keys) + len(heap._keys) == place_count
    assert drained(heap) == sorted(items, key=lambda name: int(name[1:]) ^ 1)


@pytest.mark.parametrize(
    ("sort_keys", "left"),
    [
        pytest.param({"a": 1, "b": 2, "c": 3}, ["a", "c"], id="out of the run"),
        pytest.param({"a": 1, "c": 3, "b": 2}, ["a", "c"], id="out of the heap"),
        pytest.param({"b": 1, "a": 2, "c": 3}, ["a", "c"], id="the first one"),
        pytest.param({"b": 1}, [], id="the only one"),
    ],
)
def test_an_item_can_be_removed_from_the_heap(sort_keys, left):
    heap, items = make_heap(**sort_keys)
    assert heap.remove(items["b"])
    assert not heap.remove(items["b"])
    first = heap.peek()
    assert (first and first.name) == (left[0] if left else None)
    assert len(heap) == len(left)
    for found in (heap.ordered(), heap.first(9)):
        assert [item.name for item in found] == left
    assert drained(heap) == left


@pytest.mark.parametrize("again", [pytest.param(0, id="first"), pytest.param(9, id="last")])
def test_a_removed_item_can_be_pushed_with_another_key(again):
    heap, items = make_heap(a=1, b=2, c=3)
    heap.remove(items["b"])
    heap.push(items["b"], again)
    assert drained(heap) == (["b", "a", "c"] if again == 0 else ["a", "c", "b"])


def test_a_removed_item_can_be_pushed_with_the_same_key():
    heap, items = make_heap(a=1, b=2, c=3)
    heap.remove(items["b"])
    heap.push(items["b"], 2)
    assert [item.name for item in heap.ordered()] == ["a", "b", "c"]
    assert drained(heap) == ["a", "b", "c"]


def test_the_first_item_is_found_behind_removed_ones():
    heap, items = make_heap(d=4, e=5, a=1, b=2, c=3)
    for name, first in (("a", "b"), ("c", "b"), ("b", "d"), ("d", "e")):
        assert heap.remove(items[name])
        found = heap.peek()
        assert found is not None
        assert found.name == first
    heap.push(items["c"], 3)
    found = heap.peek()
    assert found is items["c"]
    assert drained(heap) == ["c", "e"]
    assert heap.peek() is None


def test_the_heap_rejects_an_item_that_is_in_a_heap():
    heap, items = make_heap(a=1)
    with pytest.raises(AssertionError):
        heap.push(items["a"], 2)


def test_the_heap_rejects_a_duplicate_sort_key():
    with pytest.raises(AssertionError):
        make_heap(a=1, b=1)


def test_the_heap_does_not_grow_with_replacements():
    heap, items = make_heap(**{str(index): index for index in range(10)})
    for index in range(100_000):
        item = items[str(index % 10)]
        heap.remove(item)
        heap.push(item, -index)
    assert len(heap._keys) + len(heap._run) + len(heap._heaped) < 200
    first = heap.pop()
    assert first is not None
    assert first.name == "9"


def test_the_heap_releases_removed_items():
    heap, items = make_heap(**{str(index): index for index in range(1_000)})
    for item in items.values():
        heap.remove(item)
    assert len(heap._run) < 100


# ------------------------------------------------------------------ backoff


@pytest.mark.parametrize(
    ("count", "initial", "maximum", "seconds"),
    [
        pytest.param(0, 1, 10, 0, id="a pod that never failed does not wait"),
        pytest.param(1, 1, 10, 1, id="first failure"),
        pytest.param(4, 1, 10, 8, id="doubles"),
        pytest.param(5, 1, 10, 10, id="capped"),
        pytest.param(1, 20, 10, 10, id="initial above maximum"),
        pytest.param(10_000, 1, 10, 10, id="many failures do not overflow"),
    ],
)
def test_backoff_duration(count, initial, maximum, seconds):
    found = backoff_duration_ns(count, initial * SECOND_NS, maximum * SECOND_NS)
    assert found == seconds * SECOND_NS


@pytest.mark.parametrize(
    ("initial", "maximum", "expected"),
    [
        pytest.param(1, 7, [1, 2, 4, 7, 7], id="seven"),
        pytest.param(1, 8, [1, 2, 4, 8, 8], id="a power of two is reached by doubling"),
        pytest.param(1, 9, [1, 2, 4, 8, 9], id="one more"),
        pytest.param(3, 7, [3, 6, 7, 7, 7], id="three and seven"),
        pytest.param(3, 11, [3, 6, 11, 11, 11], id="one less than the second doubling"),
        pytest.param(3, 12, [3, 6, 12, 12, 12], id="the second doubling"),
        pytest.param(3, 13, [3, 6, 12, 13, 13], id="one more than the second doubling"),
        pytest.param(5, 5, [5, 5, 5, 5, 5], id="both the same"),
        pytest.param(5, 9, [5, 9, 9, 9, 9], id="less than twice the initial"),
        pytest.param(7, 6, [6, 6, 6, 6, 6], id="initial above maximum"),
    ],
)
def test_backoff_doubles_up_to_any_maximum(initial, maximum, expected):
    counts = range(1, 6)
    for unit_ns in (1, 999_999_999, SECOND_NS):
        found = [backoff_duration_ns(n, initial * unit_ns, maximum * unit_ns) for n in counts]
        assert found == [wait * unit_ns for wait in expected]


def failed(name, *, rejections=0, errors=0, at_ns=0):
    queued = QueuedPod(make_pod(name), entered_index=0, now_ns=at_ns)
    queued.unschedulable_count, queued.consecutive_errors = rejections, errors
    if not errors:
        queued.unschedulable_plugins = frozenset({"Fit"})
    return queued


@pytest.mark.parametrize("pop_from_backoff", [True, False])
@pytest.mark.parametrize(
    ("rejections", "errors", "seconds"),
    [
        pytest.param(1, 0, 1, id="one rejection"),
        pytest.param(3, 0, 4, id="three"),
        pytest.param(4, 0, 7, id="four, cut to an odd maximum"),
        pytest.param(5, 0, 7, id="five"),
        pytest.param(0, 3, 4, id="three errors"),
        pytest.param(0, 4, 7, id="four errors"),
        pytest.param(4, 1, 1, id="errors in a row count by themselves"),
    ],
)
def test_a_backoff_with_an_odd_maximum_ends_at_the_expected_time(
    pop_from_backoff, rejections, errors, seconds
):
    settings = QueueSettings(max_backoff_ns=7 * SECOND_NS, pop_from_backoff=pop_from_backoff)
    backoff = BackoffQueue(settings, priority_sort_key)
    # The end is cut to a whole second if idle schedulers may take the pod, else it is exact.
    start_ns = 1_000 * SECOND_NS + 300_000_000
    queued = failed("p", rejections=rejections, errors=errors, at_ns=start_ns)
    queued.place = backoff.add(queued)
    assert queued.place is (QueueName.ERROR_BACKOFF if errors else QueueName.BACKOFF)
    end_ns = (1_000 + seconds) * SECOND_NS + (0 if pop_from_backoff else 300_000_000)
    assert backoff.end_ns(queued) == end_ns
    window_ns = SECOND_NS if pop_from_backoff else 1
    assert backoff.is_backing_off(queued, end_ns + window_ns - 1), "until the window is over"
    assert not backoff.is_backing_off(queued, end_ns + window_ns)
    assert backoff.pop_completed(end_ns + window_ns - 1) == []
    assert len(backoff) == 1
    assert backoff.pop_completed(end_ns + window_ns) == [queued]
    assert (len(backoff), backoff.next_release_ns()) == (0, None)


def test_the_next_release_is_that_of_the_first_pod_of_either_heap():
    backoff = BackoffQueue(QueueSettings(), priority_sort_key)
    pods = [failed("late", rejections=3), failed("error", errors=2), failed("first", rejections=1)]
    for queued in pods:
        queued.place = backoff.add(queued)
    # Released at the end of the second in which the back-off ends.
    assert backoff.next_release_ns() == 2 * SECOND_NS
    assert backoff.pop_completed(2 * SECOND_NS - 1) == []
    assert backoff.pop_completed(2 * SECOND_NS) == [pods[2]]
    assert backoff.next_release_ns() == 3 * SECOND_NS
    assert backoff.pop_completed(9 * SECOND_NS) == [pods[0], pods[1]], "errors last"
    assert backoff.next_release_ns() is None


def test_all_pods_whose_backoff_is_over_are_released_together():
    backoff = BackoffQueue(QueueSettings(), priority_sort_key)
    pods = [failed(f"p{i}", rejections=1, at_ns=i) for i in range(3)]
    for queued in reversed(pods):
        backoff.add(queued)
    assert backoff.pop_completed(2 * SECOND_NS) == pods


def test_a_pending_pod_backs_off_like_a_rejected_one():
    backoff = BackoffQueue(QueueSettings(), priority_sort_key)
    queued = failed("p", rejections=1)
    queued.unschedulable_plugins, queued.pending_plugins = frozenset(), frozenset({"Wait"})
    assert backoff.add(queued) is QueueName.BACKOFF


@pytest.mark.parametrize("now_ns", [0, 1, 999_999_999, SECOND_NS])
@pytest.mark.parametrize("pop_from_backoff", [False, True])
def test_a_pod_that_was_never_tried_is_not_backing_off_at_any_time(now_ns, pop_from_backoff):
    settings = QueueSettings(pop_from_backoff=pop_from_backoff)
    backoff = BackoffQueue(settings, priority_sort_key)
    assert not backoff.is_backing_off(QueuedPod(make_pod("p"), 0, now_ns), now_ns)


def test_a_maximum_of_zero_disables_backoff():
    backoff = BackoffQueue(QueueSettings(max_backoff_ns=0), priority_sort_key)
    queued = failed("p", rejections=5, at_ns=7 * SECOND_NS)
    backoff.add(queued)
    assert not backoff.is_backing_off(queued, 7 * SECOND_NS)
    assert backoff.next_release_ns() == 0
    assert backoff.pop_completed(7 * SECOND_NS) == [queued]


# ------------------------------------------------------------------ events


@pytest.mark.parametrize(
    ("registered", "incoming", "matches"),
    [
        pytest.param((POD, "ADD"), (ASSIGNED_POD, "ADD"), True, id="Pod covers assigned pods"),
        pytest.param((ASSIGNED_POD, "ADD"), (POD, "ADD"), False, id="but not the other way"),
        pytest.param((NODE, "UPDATE"), (NODE, "UPDATE_NODE_LABEL"), True, id="contained"),
        pytest.param((NODE, "UPDATE_NODE_LABEL"), (NODE, "UPDATE"), False, id="wider"),
        pytest.param((WILDCARD, "ALL"), (NODE, "DELETE"), True, id="wildcard registration"),
        pytest.param((NODE, "ALL"), (WILDCARD, "ALL"), False, id="wildcard event"),
    ],
)
def test_registered_event_matches(registered, incoming, matches):
    pair = [ClusterEvent(resource, ActionType[name]) for resource, name in (registered, incoming)]
    assert pair[0].matches(pair[1]) is matches


@pytest.mark.parametrize(
    ("resource", "labels"),
    [
        pytest.param("PersistentVolume", ["Add", "Delete", "Update"], id="most kinds"),
        pytest.param(
            NODE,
            [
                *("Add", "Delete", "UpdateNodeAllocatable", "UpdateNodeLabel", "UpdateNodeTaint"),
                *("UpdateNodeCondition", "UpdateNodeAnnotation", "UpdateNodeDeclaredFeature"),
            ],
            id="each part of a node has its update",
        ),
        pytest.param(
            "UnschedulablePod",
            [
                *("Add", "Update", "UpdatePodLabel", "UpdatePodScaleDown", "UpdatePodToleration"),
                "UpdatePodSchedulingGatesEliminated",
                "UpdatePodGeneratedResourceClaim",
            ],
            id="the deletion of a pending pod is that of an assigned one",
        ),
    ],
)
def test_a_registration_of_all_actions_concerns_those_that_occur(resource, labels):
    table = HintTable({"All": (EventHint(resource, ActionType.ALL),)})
    found = table.labels_of("All")
    assert found == tuple(resource + label for label in labels)
    assert table.labels_of("All") is found, "they are found once"
    assert table.labels_of("Other") == ()


def test_labels_are_upstreams():
    assert NODE_ADD.label == "NodeAdd"
    assert UNSCHEDULABLE_TIMEOUT.label == "UnschedulableTimeout"
    assert ClusterEvent(ASSIGNED_POD, ActionType.UPDATE).label == "AssignedPodUpdate"
    for action in ActionType:
        assert ActionType.from_label(action.label) == action
    assert (ActionType.ADD | ActionType.DELETE).label == "Add|Delete"


def test_uncordoning_and_untainting_a_node_are_two_events():
    meta = ObjectMeta(name="n")
    taint = Taint(key="k", effect="NoSchedule")
    old = Node(metadata=meta, spec=NodeSpec(unschedulable=True, taints=(taint,)))
    labels = [event.label for event in derive_events(old, Node(metadata=meta))]
    assert labels == ["NodeUpdateNodeTaint", "NodeUpdateNodeTaint"]
    assert derive_events(old, old) == ()


def test_kinds_have_events_by_their_group():
    meta = ObjectMeta(namespace="default", name="c")
    claim = ResourceClaim(metadata=meta)
    assert [event.label for event in derive_events(None, claim)] == [
        "resource.k8s.io/ResourceClaimAdd"
    ]
    other = Unknown(metadata=meta, api_version="example.com/v1", kind="ResourceClaim")
    events = [
        *derive_events(None, other),
        *derive_events(other, other),
        *derive_events(other, None),
    ]
    actions = (ActionType.ADD, ActionType.UPDATE, ActionType.DELETE)
    assert events == [ClusterEvent("ResourceClaim.example.com", action) for action in actions]


def test_a_new_pending_pod_is_an_event_only_for_gangs():
    pod = make_pod("p")
    assert derive_events(None, pod) == ()
    labels = [event.label for event in derive_events(None, pod, gang_scheduling=True)]
    assert labels == ["UnschedulablePodAdd"]


def test_a_deleted_object_is_the_event_of_its_kind():
    claim = ResourceClaim(metadata=ObjectMeta(namespace="default", name="c"))
    node = Node(metadata=ObjectMeta(name="n"))
    found = [derive_events(gone, None) for gone in (claim, node, make_pod("p"))]
    assert [[event.label for event in events] for events in found] == [
        ["resource.k8s.io/ResourceClaimDelete"],
        ["NodeDelete"],
        # Also of a pending pod, which may have been nominated.
        ["AssignedPodDelete"],
    ]
    assert [event.label for event in derive_events(claim, claim)] == [
        "resource.k8s.io/ResourceClaimUpdate"
    ]


def test_a_binding_is_the_addition_of_an_assigned_pod():
    labels = [event.label for event in derive_events(make_pod("p"), make_pod("p", node="n"))]
    assert labels == ["AssignedPodAdd"]
    assert [event.label for event in derive_events(None, make_pod("p", node="n"))] == labels


@pytest.mark.parametrize(
    ("before", "after", "labels"),
    [
        pytest.param("1500m", "1200m", ["UpdatePodScaleDown"], id="less, rounded to as many bytes"),
        pytest.param("1500m", "1499500u", ["Update"], id="less, rounded to as many thousandths"),
        pytest.param("0", None, ["UpdatePodScaleDown"], id="a request of zero is removed"),
    ],
)
def test_requests_scale_down_in_thousandths(before, after, labels):
    """Upstream: pkg/scheduler/framework/events.go, extractPodScaleDown."""
    old, new = (
        _with_container({} if text is None else {"memory": text}) for text in (before, after)
    )
    assert [event.action.label for event in derive_events(old, new)] == labels


def _with_container(requests):
    container = Container(name="c", resources=ResourceRequirements(requests=requests))
    return Pod(metadata=ObjectMeta(name="p"), spec=PodSpec(containers=(container,)))


def test_an_empty_list_of_claims_is_no_list():
    """Upstream: k8s.io/dynamic-resource-allocation/resourceclaim/pod.go, PodStatusEqual."""
    lists: list[list[dict[str, str]] | None] = [None, [], [{"name": "c"}]]
    old, new, third = (
        decode_pod({"metadata": {"name": "p"}, "status": {"resourceClaimStatuses": claims}})
        for claims in lists
    )
    assert [event.action.label for event in derive_events(old, new)] == ["Update"]
    labels = [event.action.label for event in derive_events(old, third)]
    assert labels == ["UpdatePodGeneratedResourceClaim"]


# ------------------------------------------------------------------ hints


def raising(_pod, _old, _new):
    raise RuntimeError("broken")


def test_a_hint_that_fails_counts_as_queue():
    table = HintTable({"P": (EventHint(NODE, ActionType.ADD, raising),)})
    assert table.answers(make_pod("p"), NODE_ADD, None, None) == {"P": Hint.QUEUE}
    assert table.executions["P", "NodeAdd", "Error"] == 1


def test_of_several_matching_registrations_queue_wins():
    table = HintTable(
        {
            "P": (
                EventHint(NODE, ActionType.ADD, always_skip),
                EventHint(NODE, ActionType.ADD | ActionType.DELETE),
            )
        }
    )
    assert table.answers(make_pod("p"), NODE_ADD, None, None) == {"P": Hint.QUEUE}


def test_plugins_that_register_node_additions_are_registered_for_taints_with_queue():
    table = HintTable.from_plugins({"P": (EventHint(NODE, ActionType.ADD, always_skip),)})
    taint = ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT)
    assert table.answers(make_pod("p"), taint, None, None) == {"P": Hint.QUEUE}
    assert table.answers(make_pod("p"), NODE_ADD, None, None) == {"P": Hint.SKIP}


@pytest.mark.parametrize(
    "hint",
    [
        pytest.param(EventHint(NODE, ActionType.UPDATE_NODE_LABEL), id="other changes of nodes"),
        pytest.param(EventHint(ASSIGNED_POD, ActionType.ADD), id="additions of something else"),
    ],
)
def test_plugins_that_register_no_node_additions_are_not_registered_for_taints(hint):
    table = HintTable.from_plugins({"P": (hint,)})
    taint = ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT)
    assert table.answers(make_pod("p"), taint, None, None) == {}


def test_plugins_that_register_taints_themselves_keep_their_hint():
    # Upstream: pkg/scheduler/scheduler.go, buildQueueingHintMap
    both = ActionType.ADD | ActionType.UPDATE_NODE_TAINT
    table = HintTable.from_plugins({"P": (EventHint(NODE, both, always_skip),)})
    taint = ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT)
    assert table.answers(make_pod("p"), taint, None, None) == {"P": Hint.SKIP}


def test_a_plugin_without_registrations_has_all_events_and_an_empty_list_has_none():
    table = HintTable.from_plugins({"Silent": None, "Deaf": ()})
    for event in (NODE_ADD, ClusterEvent(ASSIGNED_POD, ActionType.UPDATE)):
        assert table.answers(make_pod("p"), event, None, None) == {"Silent": Hint.QUEUE}


# ------------------------------------------------------------------ nominator


def test_a_nomination_that_the_api_has_not_shown_survives_an_update():
    nominator = Nominator()
    pod = make_pod("p")
    nominator.add(pod, "n1")
    nominator.update(pod, make_pod("p", priority=1))
    assert nominator.node_of(pod.uid) == "n1"
    assert nominator.pods_on("n1")[0].spec.priority == 1


def test_a_pod_that_was_recreated_does_not_leave_the_nomination_of_the_earlier_one():
    nominator = Nominator()
    earlier, later = make_pod("p", nominated="n1"), make_pod("p", uid="uid-later")
    nominator.add(earlier)
    nominator.update(earlier, later)
    assert nominator.nodes() == {}
    nominator.add(earlier)
    nominator.update(earlier, make_pod("p", uid="uid-later", nominated="n2"))
    assert [nominator.node_of(uid) for uid in (earlier.uid, "uid-later")] == [None, "n2"]
    nominator.validate()


def test_a_nomination_follows_the_object_once_it_has_a_nominated_node():
    nominator = Nominator()
    pod = make_pod("p", nominated="n1")
    nominator.add(pod)
    nominator.update(pod, make_pod("p", nominated="n2"))
    assert nominator.node_of(pod.uid) == "n2"
    nominator.update(make_pod("p", nominated="n2"), make_pod("p"))
    assert nominator.nodes() == {}


@pytest.mark.parametrize("current", [None, make_pod("p", node="n9")])
def test_a_deleted_or_bound_pod_is_not_nominated(current):
    nominator = Nominator(lookup=lambda _key: current)
    nominator.add(make_pod("p"), "n1")
    assert nominator.nodes() == {}
    nominator.validate()


class Mirror:
    def __init__(self):
        self.calls = []

    def nominate(self, pod, node_name):
        self.calls.append((pod.metadata.name, pod.spec.priority, node_name))

    def clear_nomination(self, pod):
        self.calls.append((pod.metadata.name, pod.spec.priority))


def test_a_mirror_receives_each_nomination_and_its_end():
    mirror = Mirror()
    nominator = Nominator(mirror=mirror)
    pod, other = make_pod("p"), make_pod("q")
    nominator.add(pod, "n1")
    nominator.add(other, "n1")
    assert [one.metadata.name for one in nominator.pods_on("n1")] == ["p", "q"]
    nominator.update(pod, make_pod("p", priority=1))
    nominator.add(other, "n2")
    nominator.add(other, "")
    nominator.remove(other.uid)
    nominator.remove(pod.uid)
    assert mirror.calls == [
        ("p", 0, "n1"),
        ("q", 0, "n1"),
        ("p", 0), ("p", 1, "n1"),
        ("q", 0), ("q", 0, "n2"),
        ("q", 0),
        ("p", 1),
    ]  # fmt: skip
    assert nominator.nodes() == {}
    nominator.validate()
