"""BlockingQueue works with the v1.16 queue as with the v1.36 one."""

from __future__ import annotations

import threading
import time

from podwright.scheduler.classic import ClassicQueue, ClassicQueueSettings
from podwright.scheduler.queueing import QueueName
from podwright.scheduler.queueing.blocking import BlockingQueue, QueueClosed
from podwright.testing import make_pod

S = 1_000_000_000
PATIENCE_S = 120


def test_waiters_execute_due_flushes():
    now = [0]
    with BlockingQueue(lambda: now[0], ClassicQueue()) as blocking:
        blocking.add(make_pod("a"))
        queued = blocking.pop()
        assert blocking.park(queued) is QueueName.UNSCHEDULABLE
        now[0] = 91 * S
        assert blocking.pop().key == "default/a"


def test_every_pod_goes_to_one_of_many_waiters_and_close_wakes_all():
    got: list[str] = []
    all_out = threading.Barrier(5)

    def work():
        try:
            while True:
                queued = blocking.pop()
                got.append(queued.key)
                blocking.done(queued)
                all_out.wait(PATIENCE_S)  # no waiter gets a second pod before every waiter has one
        except QueueClosed:
            got.append("closed")

    blocking = BlockingQueue(time.time_ns, ClassicQueue(start_ns=time.time_ns()))
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for index in range(4):
        blocking.add(make_pod(f"p{index}"))
    all_out.wait(PATIENCE_S)
    blocking.close()
    for worker in workers:
        worker.join(PATIENCE_S)
    assert sorted(got) == ["closed"] * 4 + [f"default/p{index}" for index in range(4)]
    blocking.validate()


def test_a_pod_that_backs_off_is_waited_for():
    short = ClassicQueueSettings(
        initial_backoff_ns=5_000_000, max_backoff_ns=5_000_000, backoff_flush_ns=1_000_000
    )
    queue = ClassicQueue(short, start_ns=time.time_ns())
    with BlockingQueue(time.time_ns, queue) as blocking:
        blocking.add(make_pod("a"))
        queued = blocking.pop()
        queue.move_all_to_active_queue(time.time_ns())
        assert blocking.park(queued) is QueueName.BACKOFF
        assert blocking.pop(timeout=f"{PATIENCE_S}s").key == "default/a"
