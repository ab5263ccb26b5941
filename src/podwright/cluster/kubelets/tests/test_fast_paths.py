"""The fast paths of the lifecycle have the same results as the general ones."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import InvalidObject, decode_pod
from podwright.cluster.kubelets import Lifecycle, ScheduleStage
from podwright.cluster.kubelets.addresses import Addresses
from podwright.cluster.kubelets.patches import apply_patch, plain_patch
from podwright.cluster.kubelets.pod_statuses import EXIT_CODE, RUN_DELAY, RUN_JITTER, STOP_DELAY
from podwright.cluster.kubelets.stages.built_in_stages import default_stages, status_step
from podwright.cluster.kubelets.stages.stage import (
    FixedSchedules,
    Operator,
    PatchStep,
    Requirement,
    Stage,
    StageContext,
)
from podwright.cluster.kubelets.stages.stage_matching import StageMatcher
from podwright.cluster.kubelets.stages.stage_play import apply_patch_step, decode_changed
from podwright.cluster.kubelets.templates.jq import _NoValue, _run, query
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, a_pod, at
from podwright.scheduler.machine import ObjectPut

pytestmark = pytest.mark.property

TEXTS = st.sampled_from(["Running", "Failed", "True", "true", "1", ""])
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(0, 2), TEXTS)
PARTS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["phase", "status", "type", "a b"]), inner, max_size=3),
    ),
    max_leaves=6,
)
DOCUMENTS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("metadata", "spec", "status", "phase"), PARTS)
)
QUERIES = (
    ".",
    ".phase",
    ".status.phase",
    ".status.status.type",
    '.metadata["a b"]',
    ".status.phase?",
    ".status.[].type",
    ".status.[].type.status",
    ".[].phase",
    ".status.[0]",
    '.status.[] | select(.type == "True") | .status',
)
REQUIREMENTS = st.builds(
    Requirement,
    query=st.sampled_from(QUERIES).map(query),
    operator=st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    values=st.lists(TEXTS, max_size=2).map(tuple),
)
STAGES = st.builds(
    Stage,
    name=st.just("s"),
    kind=st.just("Pod"),
    requirements=st.one_of(st.none(), st.lists(REQUIREMENTS, max_size=3).map(tuple)),
)


@given(st.lists(STAGES, max_size=5), st.lists(DOCUMENTS, min_size=1, max_size=3))
def test_the_matcher_finds_the_stages_that_apply(stages, documents):
    matcher = StageMatcher(stages)
    for document in documents:
        applying = [place for place, stage in enumerate(stages) if stage.applies_to(document)]
        assert matcher.match(document) == tuple(applying)


WISHES: list[tuple[Operator, tuple[str, ...]]] = [
    *[("In", (text,)) for text in ("Running", "Job", "1", "", at(30))],
    *[("NotIn", (text,)) for text in ("Running", "Job", "1", "", at(30))],
    ("Exists", ()),
    ("DoesNotExist", ()),
]
POD_STAGES = [
    Stage(name="s", kind="Pod", requirements=(Requirement(query(text), operator, values),))
    for text in (
        ".metadata.deletionTimestamp",
        ".metadata.annotations.a",
        ".metadata.annotations",
        ".metadata.ownerReferences.[].kind",
        ".metadata.ownerReferences.[].name",
        ".status.phase",
        ".status.reason",
        # Only the document has it.
        ".status.unknown",
    )
    for operator, values in WISHES
]
ANY_PODS = [
    a_pod(
        deletionTimestamp=deleted,
        annotations=annotations,
        ownerReferences=[{"name": "o", "uid": "u", "kind": kind} for kind in owners],
        status={"phase": phase, "unknown": "1"},
    )
    for deleted in (None, at(30), at(40))
    for annotations in ({}, {"a": "1"}, {"a": ""}, {"a": None}, {"b": "1"})
    for owners in ((), ("Job",), ("ReplicaSet",), ("",), (None,), ("ReplicaSet", "Job"))
    for phase in ("Pending", "Running", "", None)
]


@given(st.lists(st.sampled_from(POD_STAGES), max_size=3))
def test_pods_of_one_class_are_matched_once(parts):
    # Each one separately, and some together in one stage.
    together = tuple(requirement for part in parts for requirement in part.requirements)
    stages = [*parts, msgspec.structs.replace(POD_STAGES[0], requirements=together)]
    matcher = StageMatcher(stages)
    for pod in ANY_PODS:
        applying = [place for place, stage in enumerate(stages) if stage.applies_to(pod.raw)]
        assert matcher.match_pod(pod) == tuple(applying)


def test_each_pod_class_matches_all_requirements_of_stages():
    matcher = StageMatcher(POD_STAGES)
    for pod in ANY_PODS:
        applying = [place for place, stage in enumerate(POD_STAGES) if stage.applies_to(pod.raw)]
        assert matcher.match_pod(pod) == tuple(applying)


NAMES = st.sampled_from(["a", "b"])
TYPES = st.sampled_from(["Ready", "ContainersReady", "PodScheduled", "mine"])
CONDITIONS = st.lists(
    st.fixed_dictionaries(
        {"type": TYPES, "status": st.sampled_from(["True", "False"])},
        optional={"reason": TEXTS, "message": TEXTS},
    ),
    max_size=4,
    unique_by=lambda condition: condition["type"],
)
CONTAINER_STATUSES = st.lists(
    st.fixed_dictionaries(
        {
            "name": NAMES,
            "state": st.sampled_from(
                [{"running": {"startedAt": at(-60)}}, {"waiting": {"reason": "CrashLoopBackOff"}}]
            ),
        },
        optional={"restartCount": st.integers(0, 3), "image": st.sampled_from(["app:1", None])},
    ),
    min_size=1,
    max_size=2,
)
PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": NAMES},
            optional={
                "annotations": st.dictionaries(
                    st.just("pod-complete.stage.kwok.x-k8s.io/exit-code"),
                    st.sampled_from(["0", "1"]),
                )
            },
        ),
        "spec": st.fixed_dictionaries(
            {"containers": st.lists(st.fixed_dictionaries({"name": NAMES}), max_size=2)},
            optional={
                "nodeName": NAMES,
                "readinessGates": st.lists(st.fixed_dictionaries({"conditionType": TYPES})),
                "restartPolicy": st.sampled_from(["Never", "OnFailure"]),
            },
        ),
        "status": st.fixed_dictionaries(
            {"containerStatuses": CONTAINER_STATUSES},
            optional={"conditions": CONDITIONS, "podIP": TEXTS, "extra": PARTS},
        ),
    }
)
NODES = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": NAMES})},
    optional={
        "status": st.fixed_dictionaries(
            {},
            optional={
                "conditions": CONDITIONS,
                "allocatable": st.dictionaries(NAMES, TEXTS),
                "nodeInfo": st.dictionaries(st.sampled_from(["osImage", "mine"]), TEXTS),
            },
        )
    },
)


@pytest.mark.parametrize(
    "stage",
    [
        pytest.param(stage, id=stage.name)
        for stage in default_stages()
        if any(isinstance(step, PatchStep) for step in stage.steps)
    ],
)
@given(data=st.data())
def test_built_in_stages_are_strategic_patches(stage, data):
    document = data.draw(PODS if stage.kind == "Pod" else NODES)
    (step,) = stage.steps
    assert step.is_plain
    patch = step.render(document, StageContext(NOW + SECOND, Addresses()))
    status = document.get("status") or {}
    whole = {"apiVersion": "v1", "kind": stage.kind, "status": status}
    general = apply_patch(whole, {"status": patch}, "strategic")
    assert plain_patch(status, patch) == general["status"]


CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES, "image": st.sampled_from(["app:1", "app:2"])},
        optional={"restartPolicy": st.just("Always")},
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda container: container["name"],
)
WHOLE_PODS = st.builds(
    a_pod,
    st.sampled_from(["web", "db"]),
    spec=st.fixed_dictionaries(
        {"containers": CONTAINERS},
        optional={
            "hostNetwork": st.booleans(),
            "initContainers": CONTAINERS,
            "readinessGates": st.just([{"conditionType": "mine"}]),
            "restartPolicy": st.sampled_from(["Never", "OnFailure", "Always"]),
        },
    ),
    status=st.fixed_dictionaries(
        {"phase": st.just("Pending")},
        optional={
            "conditions": CONDITIONS,
            "containerStatuses": CONTAINER_STATUSES,
            "podIP": st.sampled_from(["10.1.1.1", ""]),
            "message": st.sampled_from(["x", None]),
            "startTime": st.just(at(-60)),
        },
    ),
    uid=st.sampled_from(["u", None]),
    annotations=st.dictionaries(st.just(EXIT_CODE), st.sampled_from(["0", "1"])),
)


@given(WHOLE_PODS, st.permutations([stage for stage in default_stages() if stage.fast_path]))
def test_what_is_quick_for_a_pod_is_what_the_steps_do(pod, stages):
    addresses, plain_addresses = Addresses(), Addresses()
    for seconds, stage in enumerate(stages):
        assert stage.fast_path is not None
        now_ns = NOW + seconds * SECOND
        fast_path = stage.fast_path(pod, StageContext(now_ns, addresses))
        (step,) = stage.steps
        assert isinstance(step, PatchStep)
        document = apply_patch_step(pod.raw, pod.raw, step, StageContext(now_ns, plain_addresses))
        pod = decode_pod(document)
        if fast_path is None:
            addresses = Addresses(plain_addresses.state())
            continue
        assert fast_path == pod
        # Equal bytes: the same fields in the same order.
        assert msgspec.json.encode(fast_path.raw) == msgspec.json.encode(document)
        given, plainly_given = addresses.state(), plain_addresses.state()
        assert given.pod_count == plainly_given.pod_count
        assert given.nodes == plainly_given.nodes


def test_nearly_all_pods_are_quick():
    stages = {stage.name: stage for stage in default_stages()}
    ready, exit_ = stages["pod-ready"].fast_path, stages["pod-exit"].fast_path
    assert ready is not None
    assert exit_ is not None
    bound = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(0)}]
    pod = a_pod(spec={"restartPolicy": "Never"}, status={"conditions": bound})
    running = ready(pod, StageContext(NOW, Addresses()))
    assert running is not None
    ended = exit_(running, StageContext(NOW + SECOND, Addresses()))
    assert ended is not None
    assert (running.status.phase, ended.status.phase) == ("Running", "Succeeded")


@pytest.mark.parametrize("parts", [{}, {"status": None}, {"status": {}}, {"spec": None}])
def test_a_pod_without_a_status_or_a_spec_was_not_started(parts):
    given = a_pod()
    pod = msgspec.structs.replace(given, raw=given.raw | parts)
    context = StageContext(NOW, Addresses())
    quick = [
        stage.name
        for stage in default_stages()
        if stage.fast_path is not None and stage.fast_path(pod, context) is not None
    ]
    assert quick == ([] if "spec" in parts else ["pod-ready"])


def test_a_stage_that_is_given_other_steps_is_not_quick_any_more():
    ready = next(stage for stage in default_stages() if stage.name == "pod-ready")
    assert ready.fast_path is not None
    other = status_step(lambda _document, _moment: {"phase": "Failed"})
    for steps in ((), (other,), (*ready.steps, other)):
        assert msgspec.structs.replace(ready, steps=steps).fast_path is None


@pytest.mark.parametrize(
    ("changed", "is_quick"),
    [
        pytest.param(lambda _: {}, True, id="as it started"),
        pytest.param(lambda _: {"message": "mine"}, True, id="with another field"),
        pytest.param(lambda _: {"startTime": at(-9)}, True, id="a time that no stage reads"),
        pytest.param(
            lambda status: {"conditions": [{"type": "mine"}, *status["conditions"]]},
            True,
            id="another condition before",
        ),
        pytest.param(
            lambda status: {"conditions": [*status["conditions"], {"type": "mine"}]},
            False,
            id="another condition behind",
        ),
        pytest.param(
            lambda status: {"conditions": [{"type": "Ready"}, *status["conditions"]]},
            False,
            id="Ready twice",
        ),
        pytest.param(
            lambda status: {"conditions": status["conditions"][1:]}, False, id="no Initialized"
        ),
        pytest.param(
            lambda status: {"conditions": [{**c, "status": "False"} for c in status["conditions"]]},
            False,
            id="not ready",
        ),
        pytest.param(
            lambda status: {
                "containerStatuses": [{**c, "restartCount": 1} for c in status["containerStatuses"]]
            },
            False,
            id="restarted",
        ),
        pytest.param(
            lambda _: {"containerStatuses": [{"name": "main", "image": ["x"]}]},
            False,
            id="statuses of another writer",
        ),
    ],
)
def test_only_pods_that_have_started_quickly_end_quickly(changed, is_quick):
    stages = {stage.name: stage for stage in default_stages()}
    ready, exit_ = stages["pod-ready"].fast_path, stages["pod-exit"].fast_path
    assert ready is not None
    assert exit_ is not None
    running = ready(a_pod(spec={"restartPolicy": "Never"}), StageContext(NOW, Addresses()))
    assert running is not None
    status = running.raw["status"]
    pod = decode_pod(running.raw | {"status": status | changed(status)})
    context = StageContext(NOW + SECOND, Addresses())
    (step,) = stages["pod-exit"].steps
    assert isinstance(step, PatchStep)
    plain = decode_pod(apply_patch_step(pod.raw, pod.raw, step, context))
    assert exit_(pod, context) == (plain if is_quick else None)


@given(st.sampled_from(QUERIES), DOCUMENTS)
def test_a_path_finds_what_its_steps_find(text, document):
    path = query(text)
    try:
        expected = _run(path._steps, document)
    except _NoValue:
        expected = []
    assert path.values(document) == expected


VERSIONS = st.fixed_dictionaries(
    {
        "name": NAMES,
        "node": st.sampled_from(["", "n1"]),
        "phase": st.sampled_from(["Pending", "Running", "Succeeded"]),
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "deletionTimestamp": st.just(at(30)),
                "annotations": st.dictionaries(
                    st.sampled_from([RUN_DELAY, RUN_JITTER, STOP_DELAY]),
                    st.sampled_from(["5s", "1m", "x", "", at(4)]),
                ),
                "ownerReferences": st.just([{"kind": "Job", "name": "j", "uid": "u"}]),
            },
        ),
    }
)


class NoPlans(FixedSchedules):
    """A matcher without precomputed schedules."""

    def __init__(self, stage, index):
        super().__init__(stage, index)
        self.always = None

    def for_document(self, document):
        return None


@given(st.lists(VERSIONS, max_size=6))
def test_a_fixed_schedule_equals_the_computed_one(versions):
    fast, plain = Lifecycle(seed=3), Lifecycle(seed=3)
    for own in plain._kinds.values():
        own.schedules = [NoPlans(stage, index) for index, stage in enumerate(own.stages)]
    for seconds, version in enumerate(versions):
        pod = a_pod(
            version["name"],
            status={"phase": version["phase"]},
            spec={"nodeName": version["node"]},
            **version["metadata"],
        )
        now_ns = NOW + seconds * SECOND
        requested = fast.handle(ObjectPut(pod), now_ns)
        assert plain.handle(ObjectPut(pod), now_ns) == requested
        for action in requested:
            if isinstance(action, ScheduleStage) and action.due_ns <= now_ns:
                assert fast.handle(action.event, now_ns) == plain.handle(action.event, now_ns)
    assert fast.state() == plain.state()


@pytest.mark.parametrize(
    "status",
    [
        {"allocatedResources": {"cpu": "1"}},
        {"resources": {"requests": {"cpu": "1"}}},
        {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}]},
        {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        {"initContainerStatuses": [{"name": "c", "allocatedResources": {"cpu": "1"}}]},
        {"allocatedResources": {"cpu": 1, "memory": 1.5}},
        {"containerStatuses": [{"name": "c", "resources": {"limits": {"cpu": 2}}}]},
        {"phase": "Running"},
    ],
)
def test_a_changed_status_is_decoded_as_the_whole_object(status):
    pod = decode_pod(a_pod("p").raw)
    after = pod.raw | {"status": status}
    assert decode_changed(pod, after, "status", source="s") == decode_pod(after)


@pytest.mark.parametrize(
    ("status", "path"),
    [
        ({"allocatedResources": {"cpu": "x"}}, "allocatedResources[cpu]"),
        ({"resources": {"requests": {"cpu": "x"}}}, "resources.requests[cpu]"),
        ({"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "x"}}]},
         "containerStatuses[0].allocatedResources[cpu]"),
        ({"containerStatuses": [{"name": "c", "resources": {"limits": {"cpu": "x"}}}]},
         "containerStatuses[0].resources.limits[cpu]"),
        ({"initContainerStatuses": [{"name": "c", "allocatedResources": {"cpu": "x"}}]},
         "initContainerStatuses[0].allocatedResources[cpu]"),
    ],
)  # fmt: skip
def test_a_quantity_of_a_changed_status_that_is_not_valid_is_an_error(status, path):
    pod = decode_pod(a_pod("p").raw)
    with pytest.raises(InvalidObject) as error:
        decode_changed(pod, pod.raw | {"status": status}, "status", source="s")
    assert [each.path for each in error.value.errors] == [f"status.{path}"]
