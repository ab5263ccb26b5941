import pytest

from podwright.apimachinery.objects import InputError, Pod, with_fields, with_node_name
from podwright.apimachinery.objects.openb import (
    CREATION_TIME,
    DELETION_TIME,
    OpenbTimes,
    openb_times,
)
from podwright.cluster.kubelets import Lifecycle, default_stages
from podwright.cluster.kubelets.pod_statuses import RUN_DELAY
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, LifecycleDriver
from podwright.simulation.files.manifests import load_bytes
from podwright.simulation.world.inputs.openb_arrivals import openb_arrivals
from podwright.simulation.world.inputs.run_inputs import Inputs
from podwright.testing import make_pod

HEAD = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
    "creation_time,deletion_time,scheduled_time"
)


def pods_of(*rows, head=HEAD):
    text = "\n".join([head, *rows]) + "\n"
    return load_bytes([("openb.csv", text.encode())]).of(Pod)


def annotated(name, annotations):
    return with_fields(make_pod(name), "metadata", annotations=annotations)


PLACED = "placed,1000,1024,0,0,,LS,Running,100,160,110"
NEVER_PLACED = "never,1000,1024,0,0,,BE,Pending,40,90,"


def test_the_times_of_the_table_are_read_in_nanoseconds_since_its_start():
    placed, never = pods_of(PLACED, NEVER_PLACED)
    assert openb_times(placed) == OpenbTimes(
        created_ns=100 * SECOND, ended_ns=160 * SECOND, scheduled_ns=110 * SECOND
    )
    runs = [times.run_ns for pod in (placed, never) if (times := openb_times(pod))]
    assert runs == [50 * SECOND, 50 * SECOND]
    assert openb_times(make_pod("web")) is None


def test_pods_arrive_at_their_creation_time_in_the_order_of_the_table():
    rows = [PLACED, NEVER_PLACED, "other,1,1,0,0,,LS,Running,40,99,41"]
    arrivals = openb_arrivals(pods_of(*rows), trace_start_ns=7 * SECOND)
    assert [(a.pod.name, a.due_ns, a.gone_ns) for a in arrivals] == [
        ("never", 47 * SECOND, 97 * SECOND),
        ("other", 47 * SECOND, 106 * SECOND),
        ("placed", 107 * SECOND, 167 * SECOND),
    ]
    assert all(DELETION_TIME in a.pod.metadata.annotations for a in arrivals)


def test_a_run_time_replaces_the_deletion_time():
    (arrival,) = openb_arrivals(pods_of(PLACED), ending="after_run_time")
    annotations = arrival.pod.metadata.annotations
    assert annotations[RUN_DELAY] == "50s"
    assert DELETION_TIME not in annotations
    assert arrival.pod.raw["spec"]["restartPolicy"] == "Never"
    assert arrival.gone_ns is None


@pytest.mark.parametrize(
    ("ending", "finished_at"),
    [
        pytest.param("at_deletion_time", 160, id="ends at its second, having waited till 130"),
        pytest.param("after_run_time", 180, id="runs its 50 s from 130 on"),
    ],
)
def test_the_stages_end_a_pod_by_its_annotation(ending, finished_at):
    (arrival,) = openb_arrivals(pods_of(PLACED), trace_start_ns=NOW, ending=ending)
    player = LifecycleDriver(Lifecycle(default_stages(trace_start_ns=NOW), seed=1))
    player.heap.advance(NOW + 130 * SECOND)
    player.put(with_node_name(arrival.pod, "n1"))
    player.run()
    assert player.status(arrival.pod.key)["phase"] == "Succeeded"
    assert player.story[-1][0] == finished_at


def test_pods_without_times_arrive_at_the_start():
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli"
    (arrival,) = openb_arrivals(pods_of("a,1,1,1,500", head=head), trace_start_ns=5)
    assert (arrival.due_ns, arrival.gone_ns) == (5, None)


def test_every_invalid_time_is_reported_with_its_annotation():
    pods = [
        annotated("a", {CREATION_TIME: "10", DELETION_TIME: "9"}),
        annotated("b", {CREATION_TIME: "soon"}),
    ]
    with pytest.raises(InputError) as caught:
        openb_arrivals(pods)
    assert [str(error) for error in caught.value.errors] == [
        f'pod default/a: metadata.annotations[{DELETION_TIME}]: Invalid value: "9": '
        "before its creation, at second 10",
        f'pod default/b: metadata.annotations[{CREATION_TIME}]: Invalid value: "soon": '
        "must be a whole number of seconds",
    ]


def test_an_invalid_number_in_the_table_is_reported_with_its_line():
    with pytest.raises(InputError) as caught:
        pods_of(PLACED, "b,1,1,0,0,,LS,Running,1.5,9,2")
    assert [str(error) for error in caught.value.errors] == [
        'openb.csv: line 3: creation_time: Invalid value: "1.5": must be a whole number'
    ]


CENTURIES = 300 * 366 * 24 * 3600


@pytest.mark.parametrize(
    ("row", "key", "seconds"),
    [
        pytest.param(
            f"a,1,1,0,0,,LS,Running,{CENTURIES},,", CREATION_TIME, CENTURIES, id="creation"
        ),
        pytest.param(
            f"a,1,1,0,0,,LS,Running,5,{CENTURIES},7", DELETION_TIME, CENTURIES, id="deletion"
        ),
        pytest.param(
            f"a,1,1,0,0,,LS,Running,{10**30},,", CREATION_TIME, 10**30, id="more than 64 bits"
        ),
    ],
)
def test_times_that_cannot_be_simulated_are_refused_with_their_line(row, key, seconds):
    loaded = load_bytes([("openb.csv", f"{HEAD}\n{PLACED}\n{row}\n".encode())])
    message = (
        f'metadata.annotations[{key}]: Invalid value: "{seconds}": the years from 1678 to 2261'
        " can be simulated"
    )
    with pytest.raises(InputError) as refused:
        openb_arrivals(loaded.of(Pod), trace_start_ns=NOW)
    assert str(refused.value) == f"pod default/a: {message}"
    with pytest.raises(InputError) as refused:
        Inputs(loaded, start_ns=NOW)
    assert str(refused.value) == f"openb.csv: line 3: {message}"
