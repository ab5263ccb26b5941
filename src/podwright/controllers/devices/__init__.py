"""Controllers of devices that are allocated to pods."""

from podwright.controllers.devices.taint_eviction import DeviceTaintEvictionController

__all__ = ["DeviceTaintEvictionController"]
