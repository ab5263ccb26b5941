"""What the endpoints show and change."""

from __future__ import annotations

from typing import NamedTuple

from podwright.apiserver.latency import ApiLatency
from podwright.apiserver.run_collection import RunCollection
from podwright.apiserver.running_scheduler import RunningScheduler
from podwright.apiserver.shadow_feed import ShadowFeed
from podwright.apiserver.turn_loop import TurnLoop


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
