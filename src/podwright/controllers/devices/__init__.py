"""Controllers of devices that are allocated to pods."""

from podwright.controllers.devices.binding_conditions import (
    BINDING_DELAY,
    BINDING_FAILURE,
    BindingConditionsController,
)
from podwright.controllers.devices.taint_eviction import DeviceTaintEvictionController

__all__ = [
    "BINDING_DELAY",
    "BINDING_FAILURE",
    "BindingConditionsController",
    "DeviceTaintEvictionController",
]
