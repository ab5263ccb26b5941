"""Controllers of services: endpoints, endpoint slices, and slices that mirror endpoints.

They run in clusters that are served: no scheduling depends on endpoints.
"""

from podwright.controllers.network.endpoint_mirroring import EndpointSliceMirroringController
from podwright.controllers.network.endpoint_slices import EndpointSliceController
from podwright.controllers.network.endpoints import EndpointsController

__all__ = ["EndpointSliceController", "EndpointSliceMirroringController", "EndpointsController"]
