"""Objects that were admitted at another cluster."""

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.apiserver import ClusterClock
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def copied(document):
    metadata = {**document["metadata"], "annotations": {SOURCE_UID: "u1"}}
    return {**document, "metadata": metadata}


def test_copies_keep_what_admission_has_made_of_them_at_the_source(serve):
    cluster = serve(cluster_of(), ClusterClock(start_ns=START_NS))
    prioritized = pod("p", priority=7)
    status, found = cluster.send("POST", PODS, prioritized)
    assert status == 403
    assert "Priority" in found["message"] or "priority" in found["message"]
    status, found = cluster.send("POST", PODS, copied(prioritized))
    assert (status, found["spec"]["priority"]) == (201, 7)
    assert "tolerations" not in found["spec"]

    is_default = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster.send("POST", CLASSES, {"metadata": {"name": "s", "annotations": is_default},
                                   "provisioner": "p"})  # fmt: skip
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "c"}, "spec": spec}
    assert "storageClassName" not in cluster.send("POST", CLAIMS, copied(claim))[1]["spec"]
    other = {"metadata": {"name": "d"}, "spec": spec}
    assert cluster.send("POST", CLAIMS, other)[1]["spec"]["storageClassName"] == "s"


def test_copies_are_not_counted_against_quotas(serve):
    cluster = serve(cluster_of(), ClusterClock(start_ns=START_NS))
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    assert cluster.send("POST", QUOTAS, quota)[0] == 201
    cluster.eventually(f"{QUOTAS}/q", lambda found: found.get("status", {}).get("hard"))
    assert cluster.send("POST", PODS, pod("p"))[0] == 403
    assert cluster.send("POST", PODS, copied(pod("p")))[0] == 201


def test_equal_pods_that_are_no_copies_are_still_admitted(serve):
    cluster = serve(cluster_of(), ClusterClock(start_ns=START_NS))
    for number in range(20):
        assert cluster.send("POST", PODS, copied(pod(f"copy-{number}", priority=7)))[0] == 201
        assert cluster.send("POST", PODS, pod(f"own-{number}", priority=7))[0] == 403
        own = cluster.send("POST", PODS, pod(f"plain-{number}"))[1]
        assert own["spec"]["tolerations"]
