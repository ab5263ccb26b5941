"""Controllers of devices that are allocated to pods."""

from podwright.controllers.devices.binding_conditions import BindingConditionsController
from podwright.controllers.devices.card_driver import CardDriver
from podwright.controllers.devices.taint_eviction import DeviceTaintEvictionController

__all__ = [
    "BindingConditionsController",
    "CardDriver",
    "DeviceTaintEvictionController",
]
