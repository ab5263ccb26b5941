import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from time import time_ns

import pytest
from tests.waiting import until

from podwright.apimachinery.objects import InputError
from podwright.scheduler.queueing import SECOND_NS, QueueSettings, SchedulingQueue
from podwright.scheduler.queueing.blocking import BlockingQueue, QueueClosed
from podwright.scheduler.queueing.tests.pods import NODE_ADD, at, make_pod, make_queue

PATIENCE_S = 120
MILLISECOND_NS = SECOND_NS // 1000


def ticking():
    """A clock that advances by a microsecond per read."""
    return count(at(0), 1000).__next__


def started(target):
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def joined(threads):
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "a thread hangs"


def test_pop_waits_for_a_pod():
    queue = BlockingQueue(ticking())
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(queue.pop)
        queue.add(make_pod("p"))
        assert waiting.result(PATIENCE_S).key == "default/p"


def test_a_blocking_queue_does_what_the_queue_does():
    queue = BlockingQueue(ticking())
    queue.add(make_pod("p"))
    assert (len(queue), repr(queue), queue.is_closed) == (1, "<BlockingQueue: 1 pods>", False)
    assert queue.update(None, make_pod("p", priority=3)).value == "active"
    assert queue.update(None, make_pod("q")).value == "active"
    assert queue.activate([make_pod("p")]) == []
    queued = queue.pop()
    assert (queued.key, queued.priority) == ("default/p", 3)
    queue.delete(make_pod("q"))
    assert len(queue) == 0
    queue.close()
    for call in (lambda: queue.update(None, make_pod("r")), lambda: queue.activate([])):
        with pytest.raises(QueueClosed):
            call()


def test_a_blocking_queue_is_closed_at_the_end_of_its_block():
    with BlockingQueue(ticking()) as queue:
        queue.add(make_pod("p"))
    with pytest.raises(QueueClosed):
        queue.add(make_pod("q"))


@pytest.mark.parametrize("timeout", ["-1ns", "-1s", "soon"])
def test_a_timeout_is_a_duration_of_0_or_more(timeout):
    queue = BlockingQueue(ticking())
    queue.add(make_pod("p"))
    with pytest.raises(InputError, match=r"^timeout: "):
        queue.pop(timeout=timeout)
    assert queue.pop(timeout="0s").pod.metadata.name == "p"
    with pytest.raises(TimeoutError):
        queue.pop(timeout="0s")


def test_pop_raises_after_its_timeout():
    queue = BlockingQueue(time_ns)
    with pytest.raises(TimeoutError):
        queue.pop(timeout="1ms")


def test_close_wakes_every_waiter_with_an_error():
    queue = BlockingQueue(ticking())
    with ThreadPoolExecutor(max_workers=20) as pool:
        waiting = [pool.submit(queue.pop) for _ in range(20)]
        until(lambda: queue._waiting_count == 20)
        queue.close()
        for waiter in waiting:
            with pytest.raises(QueueClosed, match="closed"):
                waiter.result(PATIENCE_S)
    assert queue._waiting_count == 0
    queue.close()


def test_after_close_pods_are_neither_added_nor_popped_but_workers_can_finish():
    queue = BlockingQueue(ticking())
    for name in ("taken", "failed", "left"):
        queue.add(make_pod(name))
    taken, failed = queue.pop(), queue.pop()
    queue.close()
    for refused in (
        lambda: queue.add(make_pod("late")),
        lambda: queue.update(None, make_pod("late")),
        lambda: queue.move(NODE_ADD),
        lambda: queue.activate([]),
        queue.pop,
    ):
        with pytest.raises(QueueClosed):
            refused()
    queue.done(taken)
    queue.park(failed)
    queue.delete(make_pod("missing"))
    assert queue.is_closed
    assert [pod.metadata.name for pod in queue.waiting()] == ["left", "failed"]
    assert queue.in_flight() == []


def test_a_waiter_wakes_when_a_backoff_ends():
    settings = QueueSettings(
        initial_backoff_ns=20 * MILLISECOND_NS, backoff_window_ns=MILLISECOND_NS
    )
    queue = BlockingQueue(time_ns, SchedulingQueue(settings))
    queue.add(make_pod("p"))
    queue.park(queue.pop())
    assert queue.pop(timeout=f"{PATIENCE_S}s").attempts == 2


def test_pop_flushes_what_was_unschedulable_for_too_long():
    # Every look at the clock is longer than the timeout of unschedulable pods after the last.
    clock = count(at(0), 400 * SECOND_NS).__next__
    queue = BlockingQueue(clock, make_queue())
    queue.add(make_pod("p"))
    queue.park(queue.pop(), unschedulable_plugins=["Stubborn"])
    assert queue.pop(timeout="1h").attempts == 2


def test_another_waiter_takes_over_the_wait_for_the_end_of_a_backoff():
    settings = QueueSettings(
        initial_backoff_ns=50 * MILLISECOND_NS, backoff_window_ns=MILLISECOND_NS
    )
    queue = BlockingQueue(time_ns, SchedulingQueue(settings))
    queue.add(make_pod("slow"))
    slow = queue.pop()
    with ThreadPoolExecutor(max_workers=2) as pool:
        waiting = [pool.submit(queue.pop) for _ in range(2)]
        until(lambda: queue._waiting_count == 2)
        queue.park(slow)
        queue.add(make_pod("quick"))
        found = {waiter.result(PATIENCE_S).key for waiter in waiting}
    assert found == {"default/quick", "default/slow"}
    assert queue._waiting_count == 0


def test_a_waiter_learns_of_the_backoff_of_a_pod_that_fails_meanwhile():
    settings = QueueSettings(
        initial_backoff_ns=20 * MILLISECOND_NS, backoff_window_ns=MILLISECOND_NS
    )
    queue = BlockingQueue(time_ns, SchedulingQueue(settings))
    queue.add(make_pod("p"))
    running = queue.pop()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(queue.pop, timeout=f"{PATIENCE_S}s")
        until(lambda: queue._waiting_count == 1)
        queue.park(running)
        assert waiting.result(PATIENCE_S / 2).attempts == 2


def test_each_operation_has_the_time_of_the_clock():
    queue = BlockingQueue(ticking())
    queue.add(make_pod("p"))
    queue.done(queue.pop())
    touches = queue._queue.story("default/p")
    assert [touch.step for touch in touches] == ["active", "pop", "done"]
    times_ns = [touch.now_ns for touch in touches]
    assert times_ns == sorted(times_ns)
    assert times_ns[-1] > times_ns[0] >= at(0)


def test_each_of_the_pods_that_one_call_activates_wakes_a_waiter():
    queue = BlockingQueue(ticking())
    pods = [make_pod(name) for name in ("p", "q")]
    for pod in pods:
        queue.add(pod)
    for queued in [queue.pop(), queue.pop()]:
        queue.park(queued, unschedulable_plugins=["Stubborn"])
    with ThreadPoolExecutor() as pool, queue:
        waiting = [pool.submit(queue.pop) for _ in pods]
        until(lambda: queue._waiting_count == 2)
        queue.activate(pods)
        found = {waiter.result(PATIENCE_S).key for waiter in waiting}
    assert found == {"default/p", "default/q"}
    times_ns = [touch.now_ns for touch in queue._queue.story("default/p")]
    assert times_ns == sorted(times_ns)


@pytest.mark.parametrize(
    ("bring", "name"),
    [
        pytest.param(lambda queue: queue.add(make_pod("new")), "new", id="a new pod"),
        pytest.param(
            lambda queue: queue.update(None, make_pod("new")),
            "new",
            id="an update of an unknown one",
        ),
        pytest.param(
            lambda queue: queue.activate([make_pod("parked")]), "parked", id="an activation"
        ),
        pytest.param(lambda queue: queue.move(NODE_ADD), "parked", id="an event"),
    ],
)
def test_whatever_brings_a_pod_wakes_a_waiter(bring, name):
    queue = BlockingQueue(ticking(), make_queue())
    queue.add(make_pod("parked"))
    queue.park(queue.pop(), unschedulable_plugins=["Fit"])
    with ThreadPoolExecutor() as pool, queue:
        waiting = pool.submit(queue.pop)
        until(lambda: queue._waiting_count == 1)
        bring(queue)
        assert waiting.result(PATIENCE_S / 4).key == f"default/{name}"


def test_a_waiter_that_gives_up_leaves_the_wait_for_the_end_of_a_backoff_to_another():
    settings = QueueSettings(
        initial_backoff_ns=200 * MILLISECOND_NS, backoff_window_ns=MILLISECOND_NS
    )
    queue = BlockingQueue(time_ns, SchedulingQueue(settings))
    queue.add(make_pod("p"))
    running = queue.pop()
    with ThreadPoolExecutor() as pool, queue:
        impatient = pool.submit(queue.pop, timeout="100ms")
        until(lambda: queue._waiting_count == 1)
        patient = pool.submit(queue.pop)
        until(lambda: queue._waiting_count == 2)
        # The first of the two waiters wakes, and waits for the end of the backoff.
        queue.park(running)
        with pytest.raises(TimeoutError):
            impatient.result(PATIENCE_S)
        assert patient.result(PATIENCE_S).attempts == 2


def test_each_of_thousands_of_pods_is_popped_by_one_of_many_threads():
    queue = BlockingQueue(ticking(), make_queue())
    pod_count, worker_count = 5_000, 16
    handed_out: list[list[str]] = [[] for _ in range(worker_count)]

    def work(taken):
        with suppress(QueueClosed):
            while True:
                queued = queue.pop()
                taken.append(queued.key)
                if queued.attempts == 1 and len(taken) % 3 == 0:
                    queue.park(queued, unschedulable_plugins=["Fit"])
                    queue.move(NODE_ADD)
                else:
                    queue.done(queued)

    workers = [started(lambda taken=taken: work(taken)) for taken in handed_out]

    def feed(part):
        for index in range(part, pod_count, 4):
            queue.add(make_pod(f"p{index}", priority=index % 7))

    joined([started(lambda part=part: feed(part)) for part in range(4)])
    until(lambda: not len(queue) and not queue.in_flight())
    queue.close()
    joined(workers)
    queue.validate()
    counts = Counter(key for taken in handed_out for key in taken)
    assert len(counts) == pod_count
    assert set(counts.values()) <= {1, 2}
    assert queue.waiting() == []


def test_a_close_during_work_loses_no_pod_and_pops_none_twice():
    queue = BlockingQueue(ticking())
    pod_count, worker_count = 8_000, 12
    handed_out: list[list[str]] = [[] for _ in range(worker_count)]
    accepted: list[list[str]] = [[] for _ in range(4)]
    is_half_done = threading.Event()

    def work(taken):
        with suppress(QueueClosed):
            while True:
                queued = queue.pop()
                taken.append(queued.key)
                queue.done(queued)
                if len(taken) > pod_count // 2 // worker_count:
                    is_half_done.set()

    def feed(part):
        with suppress(QueueClosed):
            for index in range(part, pod_count, 4):
                pod = make_pod(f"p{index}")
                queue.add(pod)
                accepted[part].append(pod.key)

    threads = [started(lambda taken=taken: work(taken)) for taken in handed_out]
    threads += [started(lambda part=part: feed(part)) for part in range(4)]
    assert is_half_done.wait(PATIENCE_S)
    queue.close()
    joined(threads)
    queue.validate()
    popped = [key for taken in handed_out for key in taken]
    left = [pod.key for pod in queue.waiting()]
    assert len(popped) == len(set(popped))
    assert sorted(popped + left) == sorted(key for keys in accepted for key in keys)
    assert queue.in_flight() == []
