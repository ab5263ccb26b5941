"""A warning to those who hold leases while the clock of the cluster is not real time.

Leader election compares times of a lease with the clock of the client's own machine. In a cluster
at another speed, or paused, a lease may seem expired, or never expire.
"""

from __future__ import annotations

import msgspec

from podwright.cluster.api.endpoints import HttpReply, HttpRequest
from podwright.online.apiserver.cluster_clock import ClusterClock

_LEASES = "/apis/coordination.k8s.io/"


def with_lease_warning(request: HttpRequest, reply: HttpReply, clock: ClusterClock) -> HttpReply:
    """Return the reply to a write of a lease, with a warning unless the clock is real time."""
    if request.method == "GET" or not request.path.startswith(_LEASES):
        return reply
    if clock.is_paused:
        state = "is paused"
    elif clock.speed != 1.0:
        state = f"runs at {clock.speed:g} times the speed of real time"
    else:
        return reply
    text = f'299 - "the clock of this cluster {state}: leases end by the clocks of their holders"'
    return msgspec.structs.replace(reply, headers=(*reply.headers, ("warning", text)))
