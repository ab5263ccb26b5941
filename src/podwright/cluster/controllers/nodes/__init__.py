"""Controllers of nodes that no scheduling depends on: registration, annotations, attached volumes.

They run in clusters that are served.
"""

from podwright.cluster.controllers.nodes.attachments import (
    AttachDetachController as AttachDetachController,
)
from podwright.cluster.controllers.nodes.registration import (
    NodeRegistrationController as NodeRegistrationController,
    NodeTTLController as NodeTTLController,
)
