"""The simulated kubelets: the life of pods, as far as users of the API notice it.

The package decides which containers of a pod run, and what its status and its Events say, by the
rules of the kubelet 1.36. It starts no process, keeps no time and writes no object: `Kubelet`
receives pods and times, and returns the writes and the time of the next sync.

Words used here:

- The *record* of a pod is the state of its sandbox and of its containers: what a container
  runtime would have.
- A *sync* advances a record to a time, and computes the status of the pod from it.
- The *program* of a container is what it does: how long it runs, and its exit code. It is read from
  annotations, or from the command.
- A *run* is one start of a container until its end.

Start with `kubelet.py` (the door) and `pod_sync.py` (the rules of a sync); `sandbox.py` and
`container_creation.py` have the rules of what it waits for.
"""

from podwright.stages.kubelet.device_claims import PrepareError, has_claims, prepared_claims
from podwright.stages.kubelet.kubelet import Kubelet, PodSyncResult
from podwright.stages.kubelet.node_leases import NodeLeases
from podwright.stages.kubelet.references import ObjectReader

__all__ = [
    "Kubelet",
    "NodeLeases",
    "ObjectReader",
    "PodSyncResult",
    "PrepareError",
    "has_claims",
    "prepared_claims",
]
