from podwright.live.api_calls import MERGE, STRATEGIC, object_path, request_of
from podwright.live.event_writer import EventWriter
from podwright.machine import Bind, DeletePod, EmitEvent, PatchPodStatus
from podwright.objects import Condition
from podwright.objects.event_series import SERIES_NS
from podwright.schema import decode

POD = "/api/v1/namespaces/a/pods/p"


def test_a_binding_names_the_uid_so_that_another_pod_of_the_name_is_not_bound():
    request = request_of(Bind(1, "a/p", "u", "n"))
    assert (request.verb, request.path) == ("POST", f"{POD}/binding")
    assert request.body["metadata"] == {"name": "p", "namespace": "a", "uid": "u"}
    assert request.body["target"] == {"kind": "Node", "name": "n"}


def test_a_condition_is_a_patch_of_the_status_of_one_pod():
    condition = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="m")
    request = request_of(PatchPodStatus(1, "a/p", "u", condition))
    assert (request.path, request.content_type) == (f"{POD}/status", STRATEGIC)
    assert request.body == {
        "metadata": {"uid": "u"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                    "message": "m",
                }
            ]
        },
    }  # fmt: skip
    cleared = request_of(PatchPodStatus(1, "a/p", "u", nominated_node=""))
    assert cleared.body["status"] == {"nominatedNodeName": None}


def test_a_victim_is_deleted_by_its_uid():
    request = request_of(DeletePod(1, "a/p", "u"))
    assert (request.verb, request.path) == ("DELETE", POD)
    assert request.body == {"preconditions": {"uid": "u"}}


def test_paths_of_objects():
    claim = decode({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "a"},
    })  # fmt: skip
    assert object_path(claim) == "/api/v1/namespaces/a/persistentvolumeclaims/c"
    volume = decode({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}})
    assert object_path(volume, is_collection=True) == "/api/v1/persistentvolumes"


EVENT = EmitEvent(
    "a/p", "u", "Warning", "FailedScheduling", "Scheduling", "no node", "default-scheduler"
)


def test_an_equal_event_continues_a_series():
    writer = EventWriter("me")
    first = writer.request(EVENT, 10**18)
    assert (first.verb, first.path) == ("POST", "/apis/events.k8s.io/v1/namespaces/a/events")
    assert first.body["regarding"] == {
        "apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "p", "uid": "u"
    }  # fmt: skip
    assert first.body["eventTime"] == "2001-09-09T01:46:40.000000Z"
    second = writer.request(EVENT, 10**18 + 1)
    assert (second.verb, second.content_type) == ("PATCH", MERGE)
    assert second.path == f"{first.path}/{first.body['metadata']['name']}"
    assert second.body["series"]["count"] == 2
    assert writer.request(EVENT, 10**18 + 2 * SERIES_NS).verb == "POST"
    writer.failed(EVENT)
    assert writer.request(EVENT, 10**18 + 2 * SERIES_NS + 1).verb == "POST"


def test_a_long_note_is_cut():
    writer = EventWriter("me")
    long = EmitEvent("a/p", "u", "Normal", "R", "A", "ä" * 900, "s")
    note = writer.request(long, 10**18).body["note"]
    assert len(note.encode()) <= 1024
    assert note.endswith("ä ...")
