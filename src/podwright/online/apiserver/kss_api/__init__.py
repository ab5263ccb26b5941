"""The HTTP API of kube-scheduler-simulator, over a served cluster.

It has its own listener, because its paths are those of the Kubernetes API. Every route reads
and writes by requests to the API server of the cluster, as kube-scheduler-simulator does; what
these requests are is in the room `kss`.

Start with `application.py`.
"""

from podwright.online.apiserver.kss_api.application import (
    simulator_application as simulator_application,
)
