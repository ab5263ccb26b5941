"""What the endpoints show and change."""

from __future__ import annotations

from typing import NamedTuple

from podwright.online.apiserver.records.run_collection import RunCollection
from podwright.online.apiserver.scheduling.running_scheduler import RunningScheduler
from podwright.online.apiserver.scheduling.shadow_feed import ShadowFeed
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.latency import ApiLatency


class ControlledCluster(NamedTuple):
    """A served cluster with the parts that its own API shows and changes.

    Attributes
    ----------
    turns : TurnLoop
        Of the cluster.
    latency : ApiLatency
        Of its Kubernetes API.
    scheduler : RunningScheduler
        Of the cluster.
    shadow : ShadowFeed, optional
        Compares the decisions of another scheduler.
    runs : RunCollection, optional
        The runs that are listed.
    """

    turns: TurnLoop
    latency: ApiLatency
    scheduler: RunningScheduler
    shadow: ShadowFeed | None = None
    runs: RunCollection | None = None
