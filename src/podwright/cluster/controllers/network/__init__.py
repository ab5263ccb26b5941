"""Controllers of services: endpoints, endpoint slices, and slices that mirror endpoints.

They run in clusters that are served: no scheduling depends on endpoints.
"""

from podwright.cluster.controllers.network.endpoint_mirroring import (
    EndpointSliceMirroringController as EndpointSliceMirroringController,
)
from podwright.cluster.controllers.network.endpoint_slices import (
    EndpointSliceController as EndpointSliceController,
)
from podwright.cluster.controllers.network.endpoints import (
    EndpointsController as EndpointsController,
)
