"""Controllers of nodes that no scheduling depends on: registration, annotations, attached volumes.

They run in clusters that are served.
"""

from podwright.cluster.controllers.nodes.attachments import AttachDetachController
from podwright.cluster.controllers.nodes.registration import NodeRegistrationController
from podwright.cluster.controllers.nodes.ttl import NodeTTLController

__all__ = ["AttachDetachController", "NodeRegistrationController", "NodeTTLController"]
