"""Controllers of nodes that no scheduling depends on: their registration, labels and annotations.

They run in clusters that are served.
"""

from podwright.controllers.nodes.registration import NodeRegistrationController
from podwright.controllers.nodes.ttl import NodeTTLController

__all__ = ["NodeRegistrationController", "NodeTTLController"]
