"""The controllers write the same objects as those of a real 1.36 control plane.

The controllers get the same input as the real ones: jobs, cron jobs, claims, budgets. The tests
compare the form of all results: names, labels, annotations, owners, finalizers, statuses,
conditions and the texts of Events, and the number of pods. What they leave out stands in one table,
`left_out.py`. `src/podwright/cluster/controllers/tests` has unit tests of the same rules.
"""

import re
from typing import Any

import pytest
from tests.golden import real_cluster
from tests.golden.left_out import assert_same

from podwright.apimachinery.objects.texts.times import timestamp_ns
from podwright.apimachinery.schema import decode
from podwright.cluster.api import DeleteObject
from podwright.cluster.controllers.interface import DrainNode
from podwright.cluster.controllers.registry import CLUSTER_CONTROLLERS
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, document
from podwright.cluster.kubelets.pod_statuses import EXIT_CODE, RUN_DELAY, STOP_DELAY

pytestmark = pytest.mark.golden

JOB, CRON_JOB, POD, NODE = ("batch", "Job"), ("batch", "CronJob"), ("", "Pod"), ("", "Node")
CLAIM, VOLUME = ("", "PersistentVolumeClaim"), ("", "PersistentVolume")
OWN_LABELS = re.compile(r"(batch\.kubernetes\.io/)?(controller-uid|job-name)")
SELECTED_NODE = "volume.kubernetes.io/selected-node"
EVENTS_AT_ONCE = 25
"""How many Events about one object an event recorder sends at once."""


@pytest.fixture(scope="module")
def history():
    """Return the last state of every object of the record, by kind, namespace and name."""
    found: dict[tuple[str, str, str], list[Any]] = {}
    for line in real_cluster.record().lines:
        raw = line.object.raw
        metadata = raw["metadata"]
        key = (raw["kind"], metadata.get("namespace", ""), metadata["name"])
        found.setdefault(key, []).append(raw)
    return found


@pytest.fixture(scope="module")
def events():
    """Return the Events of the record: (kind, namespace, name, source, reason, message)."""
    found = []
    for event in real_cluster.events():
        about = event["involvedObject"]
        key = (about["kind"], about.get("namespace", ""), about["name"])
        source = event["source"].get("component") or event["reportingComponent"]
        found.append((*key, source, event["reason"], event["message"]))
    return found


def of_kind(history, kind):
    return {key: states for key, states in history.items() if key[0] == kind}


def moment(text):
    time_ns = timestamp_ns(text)
    assert time_ns is not None, text
    return time_ns


# ---------------------------------------------------------------------------------- jobs


def as_given(job):
    """Return a job as a user created it; its pods end at the recorded times."""

    def without_own(metadata):
        labels = {k: v for k, v in metadata.get("labels", {}).items() if not OWN_LABELS.match(k)}
        return {"labels": labels} | {k: v for k, v in metadata.items() if k == "annotations"}

    template = job["spec"]["template"]
    command = template["spec"]["containers"][0]["command"][-1]
    found = re.fullmatch(r"sleep (\d+); exit (\d)", command)
    assert found is not None, command
    seconds, code = found.groups()
    metadata = without_own(template["metadata"])
    metadata["annotations"] = {RUN_DELAY: f"{seconds}s", EXIT_CODE: code}
    spec = {key: value for key, value in job["spec"].items() if key != "selector"}
    spec["template"] = template | {"metadata": metadata}
    given = {"name": job["metadata"]["name"], "namespace": job["metadata"]["namespace"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": given, "spec": spec}


def standalone_jobs():
    names = ["crunch-1", "crunch-2", "flaky-1", "index-1", "index-2", "mini-1", "surge-late"]
    return [*(("batch", name) for name in names), ("ml", "urgent-training")]


def played_to_its_end(job, *others):
    """Return a cluster in which a job has finished and is not deleted yet."""
    cluster = Cluster(CLUSTER_CONTROLLERS)
    cluster.add(document("Node", "n1"), *others, job)
    for second in range(3_600):
        cluster.run(second)
        ends = {each["type"] for each in cluster.status(JOB, job.key).get("conditions", ())}
        if ends & {"Complete", "Failed"}:
            return cluster
    raise AssertionError(f"{job.key} does not end")


@pytest.mark.parametrize(("namespace", "name"), standalone_jobs())
def test_a_job_of_the_record_makes_the_same_pods(history, events, namespace, name):
    states = history["Job", namespace, name]
    real = [state for state in states if "deletionTimestamp" not in state["metadata"]]
    classes = [states[-1] for states in of_kind(history, "PriorityClass").values()]
    cluster = played_to_its_end(decode(as_given(real[0])), *map(decode, classes))
    ours = cluster.raw(JOB, f"{namespace}/{name}")
    has_failed = name == "flaky-1"
    assert_same(ours["metadata"], real[-1]["metadata"], "uid", "time", "version")
    assert_same(
        ours["spec"] | {"template": without_annotations(ours["spec"]["template"])},
        real[-1]["spec"],
        "uid",
    )
    numbers = ("outcomes of pods",) if has_failed else ()
    assert_same(ours["status"], real[-1]["status"], "time", *numbers)
    if has_failed:
        assert ours["status"]["failed"] > ours["spec"]["backoffLimit"]
    real_pods = [
        states[0]
        for states in of_kind(history, "Pod").values()
        if any(
            owner["name"] == name and owner["kind"] == "Job"
            for owner in states[0]["metadata"].get("ownerReferences", ())
        )
    ]
    our_pods = [obj.raw for obj in cluster.creations if obj.kind == "Pod"]
    if not has_failed:
        assert len(our_pods) == len(real_pods)
    real_events = [
        (source, reason, text)
        for kind, ns, of, source, reason, text in events
        if (kind, ns, of) == ("Job", namespace, name)
    ]
    drawn = ("uid", "time", "suffix", "version", "delays")
    assert_same(list(map(form, our_pods)), list(map(form, real_pods)), *drawn, of_set=True)
    assert_same(
        [
            ("job-controller", reason, text)
            for _, about, reason, text in cluster.events
            if about == f"Job {namespace}/{name}"
        ],
        real_events,
        "suffix",
        *(["combined"] if any("combined" in each[2] for each in real_events) else []),
        *(["completion"] if len(our_pods) > EVENTS_AT_ONCE else []),
        *(["deletions"] if has_failed else []),
        of_set=True,
    )


def without_annotations(template):
    metadata = {k: v for k, v in template["metadata"].items() if k != "annotations"}
    return template | {"metadata": metadata}


def form(pod):
    """Return what the job decides of a pod."""
    environment = pod["spec"]["containers"][0].get("env")
    return [pod["metadata"], pod["spec"].get("hostname"), environment]


@pytest.mark.parametrize("name", ["minutely-sync", "rollup"])
def test_a_cron_job_of_the_record_starts_the_same_jobs(history, events, name):
    real = history["CronJob", "batch", name]
    given = real[0]
    template = given["spec"]["jobTemplate"]
    job = as_given({"metadata": {"name": "x", "namespace": "x"}, "spec": template["spec"]})
    spec = given["spec"] | {"jobTemplate": template | {"spec": job["spec"]}}
    start_ns = moment(given["metadata"]["creationTimestamp"])
    cluster = Cluster(CLUSTER_CONTROLLERS, start_ns=start_ns)
    cluster.add(document("Node", "n1"))
    cluster.add(document("CronJob", name, api="batch/v1", namespace="batch", spec=spec))
    cluster.run((moment("2026-11-20T08:56:37Z") - start_ns) / 1e9)
    real_jobs = {
        key[2]: states
        for key, states in of_kind(history, "Job").items()
        if key[2].startswith(f"{name}-")
    }
    our_jobs = {obj.name: obj.raw for obj in cluster.creations if obj.kind == "Job"}
    assert sorted(our_jobs) == sorted(real_jobs)
    for job_name, job in our_jobs.items():
        first = real_jobs[job_name][0]["metadata"]
        assert job["metadata"]["creationTimestamp"] == first["creationTimestamp"]
        assert job["metadata"]["annotations"] == first["annotations"]
        assert_same(job["metadata"]["ownerReferences"], first["ownerReferences"], "uid")
    status = cluster.status(CRON_JOB, f"batch/{name}")
    assert status["lastScheduleTime"] == real[-1]["status"]["lastScheduleTime"]
    active = ("uid", "version") if "active" in status else ()
    assert_same(status, real[-1]["status"], "time", *active)
    real_events = {
        (reason, text) for kind, _, of, _, reason, text in events if (kind, of) == ("CronJob", name)
    }
    assert {
        (r, t) for _, about, r, t in cluster.events if about.startswith("CronJob")
    } == real_events


# ------------------------------------------------------------------------------- storage


def test_the_claims_of_the_record_get_volumes_of_the_same_form(history, events):
    """Create every claim at its time, and apply the writes of the real scheduler to it."""
    cluster = Cluster(CLUSTER_CONTROLLERS, schedules=False, stages=())
    kinds = ("Node", "CSINode", "StorageClass")
    for key, states in history.items():
        if key[0] in kinds or (key[0] == "PersistentVolume" and "local" in states[0]["spec"]):
            first = states[0]
            metadata = {k: v for k, v in first["metadata"].items() if k in {"name", "labels"}}
            cluster.add(decode(first | {"metadata": metadata}))
    compared = 0
    for (_, namespace, name), states in of_kind(history, "PersistentVolumeClaim").items():
        metadata = {"name": name, "namespace": namespace}
        metadata |= {k: v for k, v in states[0]["metadata"].items() if k == "labels"}
        first = states[0] | {"metadata": metadata}
        cluster.add(decode({k: v for k, v in first.items() if k != "status"}))
        bound = [state for state in states if state["status"]["phase"] == "Bound"]
        key = f"{namespace}/{name}"
        if not bound:
            assert cluster.status(CLAIM, key) == states[-1]["status"]
            continue
        schedule_like(cluster, key, bound[0], history)
        ours, real = cluster.raw(CLAIM, key), bound[0]
        for section in ("annotations", "finalizers", "labels"):
            assert ours["metadata"].get(section) == real["metadata"].get(section)
        is_drawn = real["spec"]["volumeName"].startswith("pvc-")
        assert_same(ours["spec"], real["spec"], *(["uid"] if is_drawn else []))
        assert ours["status"] == real["status"]
        real_volume = history["PersistentVolume", "", real["spec"]["volumeName"]]
        compare_volumes(
            cluster.raw(VOLUME, ours["spec"]["volumeName"]),
            next(state for state in real_volume if state["status"]["phase"] == "Bound"),
            chooses_zone=SELECTED_NODE in real["metadata"]["annotations"],
        )
        compared += 1
    assert compared > 25
    assert_same(
        [(reason, text) for _, _, reason, text in cluster.events],
        [
            (reason, text)
            for kind, _, _, _, reason, text in events
            if kind == "PersistentVolumeClaim"
        ],
        "waiting claims",
        "provisioning",
        of_set=True,
    )


def schedule_like(cluster, key, real, history):
    """Apply the scheduler's write to a claim: a selected node, or a volume."""
    claim = cluster.raw(CLAIM, key)
    node = real["metadata"]["annotations"].get(SELECTED_NODE)
    if node:
        annotations = {**claim["metadata"].get("annotations", {}), SELECTED_NODE: node}
        cluster.edit(CLAIM, key, "metadata", annotations=annotations)
    elif real["spec"]["storageClassName"] == "local-nvme":
        volume = real["spec"]["volumeName"]
        reference = {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
        names = ("name", "namespace", "uid", "resourceVersion")
        reference |= {field: claim["metadata"][field] for field in names}
        raw = cluster.raw(VOLUME, volume)
        metadata = raw["metadata"] | {
            "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}
        }
        cluster.put(
            decode(raw | {"metadata": metadata, "spec": raw["spec"] | {"claimRef": reference}})
        )
    else:
        assert history["StorageClass", "", real["spec"]["storageClassName"]]


def compare_volumes(ours, real, *, chooses_zone):
    for section in ("annotations", "finalizers", "labels"):
        assert ours["metadata"].get(section) == real["metadata"].get(section)
    is_provisioned = "csi" in ours["spec"]
    left_out = ["uid", "version", *(["driver"] if is_provisioned else [])]
    if is_provisioned and not chooses_zone:
        left_out.append("any zone")
    assert_same(ours["spec"], real["spec"], *left_out)
    assert_same(ours["status"], real["status"], "time")


# ---------------------------------------------------------------------------- disruptions


def targets(pods):
    """Return the DisruptionTarget conditions of pods."""
    return [
        condition
        for pod in pods
        for condition in pod.get("status", {}).get("conditions", ())
        if condition["type"] == "DisruptionTarget"
    ]


def test_pods_are_disrupted_with_the_words_of_the_record(history, events):
    cluster = Cluster(CLUSTER_CONTROLLERS)
    seen: list[Any] = []
    cluster.invariants.append(lambda c: seen.extend(pod.raw for pod in c.pods()))
    slow = {STOP_DELAY: "20s"}
    for name in ("drained", "tainted", "gone"):
        cluster.add(document("Node", name), a_pod(name, nodeName=name, annotations=slow))
    cluster.send(DrainNode("drained"))
    cluster.edit(NODE, "tainted", "spec", taints=[{"key": "t", "effect": "NoExecute"}])
    cluster.delete(NODE, "gone")
    cluster.run(100)
    assert cluster.pods() == []
    real = [state for states in of_kind(history, "Pod").values() for state in states]
    assert_same(
        targets(seen), targets(real), "condition times", "preemptions",
        of_set=True,
    )  # fmt: skip
    assert_same(
        cluster.event_notes("TaintManagerEviction"),
        [text for *_, reason, text in events if reason == "TaintManagerEviction"],
        "pod names",
        of_set=True,
    )


# -------------------------------------------------------------------------- an unchanged cluster


@pytest.mark.parametrize(
    ("dump", "time", "expected"),
    [
        pytest.param(
            "mid",
            "2026-11-20T08:52:43Z",
            # Two terminated pods were not counted yet, and a node was cordoned while the controller
            # that taints such nodes did not run.
            [
                ("Job", "index-2"),
                ("Job", "rollup-29919412"),
                ("Node", "ip-10-17-0-108.eu-north-1.compute.internal"),
                ("Pod", "index-2-5-rj2j7"),
                ("Pod", "rollup-29919412-2qgqg"),
            ],
            id="mid",
        ),
        pytest.param(
            "end",
            "2026-11-20T08:56:40Z",
            [
                ("Node", "ip-10-17-0-114.eu-north-1.compute.internal"),
                ("Node", "ip-10-17-0-69.eu-north-1.compute.internal"),
            ],
            id="end",
        ),
    ],
)
def test_our_controllers_find_a_real_cluster_in_order(dump, time, expected):
    """All objects stay as they are: budgets, claims, namespaces, owner references."""
    items = real_cluster.dump(dump)
    start_ns = moment(time)
    cluster = Cluster(CLUSTER_CONTROLLERS, schedules=False, stages=(), start_ns=start_ns)
    for item in items:
        cluster.store.put(decode(item))
    cluster.settle()
    assert sorted(map(written_to, cluster.writes)) == expected


def test_a_namespace_of_the_record_ends_with_the_same_words(history):
    real = next(
        states[-1]
        for key, states in of_kind(history, "Namespace").items()
        if key[2] == "preview-17"
    )
    cluster = Cluster(CLUSTER_CONTROLLERS)
    cluster.add(document("Namespace", "preview-17"), document("Node", "n1"))
    cluster.add(a_pod("p", namespace="preview-17"))
    last: list[Any] = []
    cluster.invariants.append(lambda c: last.extend(c.writes[-1:]))
    cluster.delete(("", "Namespace"), "preview-17")
    cluster.run(10)
    assert not cluster.has(("", "Namespace"), "preview-17")
    writes = [write.obj.raw for write in last if written_to(write)[0] == "Namespace"]
    assert_same(writes[-1]["status"], real["status"], "time")


def written_to(write):
    """Return the kind and name of the object of a write."""
    if isinstance(write, DeleteObject):
        return write.object_kind, write.key.rpartition("/")[2]
    return write.obj.kind, write.obj.name
