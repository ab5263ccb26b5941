"""Controllers of devices that are allocated to pods."""

from podwright.cluster.controllers.devices.binding_conditions import (
    BindingConditionsController as BindingConditionsController,
)
from podwright.cluster.controllers.devices.card_driver import CardDriver as CardDriver
from podwright.cluster.controllers.devices.resource_claim import (
    ResourceClaimController as ResourceClaimController,
)
from podwright.cluster.controllers.devices.taint_eviction import (
    DeviceTaintEvictionController as DeviceTaintEvictionController,
)
