"""Controllers of nodes that no scheduling depends on: registration, annotations, attached volumes.

They run in clusters that are served.
"""

from podwright.controllers.nodes.attachments import AttachDetachController
from podwright.controllers.nodes.registration import NodeRegistrationController
from podwright.controllers.nodes.ttl import NodeTTLController

__all__ = ["AttachDetachController", "NodeRegistrationController", "NodeTTLController"]
