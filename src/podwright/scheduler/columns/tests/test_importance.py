import numpy as np

from podwright.scheduler.columns import NOT_STARTED, start_ns
from podwright.scheduler.kernels import preemption
from podwright.scheduler.preemption.tests.situations import pod


def test_a_pod_that_has_not_started_is_later_than_all_others():
    assert start_ns(pod("p")) == NOT_STARTED == np.iinfo(np.int64).max
    assert start_ns(pod("q", started="2026-01-01T00:00:00Z")) < NOT_STARTED
    assert preemption.NOT_STARTED == NOT_STARTED
