"""The simulated kubelets: the life of pods, as far as users of the API notice it.

The package decides which containers of a pod run, and what its status and its Events say, by the
rules of the kubelet 1.36. It starts no process, keeps no time and writes no object: `Kubelet`
receives pods and times, and returns the writes and the time of the next sync.

Words used here:

- The *record* of a pod is the state of its sandbox and of its containers: what a container
  runtime would have.
- A *sync* advances a record to a time, and computes the status of the pod from it.
- The *process* of a container is what it does. It executes a script (`shell`), or it does what is
  declared of it, by annotations or by files of images (`image_behaviors`).
- A *run* is one start of a container until its end.

Start with `node_kubelets.py` (the entry point) and `pod_sync.py` (the rules of a sync);
`sandbox.py` and `container_creation.py` have the rules of what it waits for.
"""

from podwright.cluster.kubelets.kubelet.image_behaviors import (
    ImageBehavior as ImageBehavior,
    read_image_behaviors as read_image_behaviors,
)
from podwright.cluster.kubelets.kubelet.kubelet_node import NodeLeases as NodeLeases
from podwright.cluster.kubelets.kubelet.node_kubelets import Kubelet as Kubelet
from podwright.cluster.kubelets.kubelet.references import ObjectReader as ObjectReader
from podwright.cluster.kubelets.kubelet.sandbox import (
    PrepareError as PrepareError,
    prepared_claims as prepared_claims,
)
