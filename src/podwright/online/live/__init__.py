"""The scheduler in a real cluster: its changes drive the machine, whose actions are requests.

`driver` is the loop around the machine, `executors` executes its actions, or pretends to,
`api_calls` says which requests an action is and which of them are repeated, and writes Events,
`lease_election` holds the Lease of the leader, and `health_server` serves metrics and health. The
room decides nothing about pods. It needs the extra `live`.
"""

from podwright.online.live.api_calls import EventWriter as EventWriter, RetryTimes as RetryTimes
from podwright.online.live.driver import LiveDriver as LiveDriver
from podwright.online.live.executors import DryRun as DryRun, Executor as Executor, Writes as Writes
from podwright.online.live.health_server import (
    HealthServer as HealthServer,
    ProcessMetrics as ProcessMetrics,
    health_checks as health_checks,
)
from podwright.online.live.lease_election import (
    ElectionTimes as ElectionTimes,
    LeaseElection as LeaseElection,
    LeaseState as LeaseState,
    LeaseThread as LeaseThread,
    LostLease as LostLease,
)
