"""Device classes, and the extended resources that they back."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import DeviceClass, Object

DEVICE_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
"""Followed by the name of a class, it is an extended resource that the class backs."""


class DeviceClassIndex:
    """The DeviceClass objects by extended resource.

    `version` grows with every change of what they back.

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/dynamicresources/extended/extendedresourcecache.go
    """

    def __init__(self) -> None:
        self.version = 0
        self._resources: dict[str, tuple[str, str]] = {}
        """Per class, its extended resource ("" if it has none) and its creation time."""

    def put(self, obj: Object) -> None:
        """Add or update a class; other objects are ignored."""
        if not isinstance(obj, DeviceClass):
            return
        resource = obj.spec.extended_resource_name or ""
        entry = (resource, obj.metadata.creation_timestamp or "")
        if self._resources.get(obj.metadata.name) != entry:
            self._resources[obj.metadata.name] = entry
            self.version += 1

    def delete(self, obj: Object) -> None:
        """Drop a class; unknown ones are ignored."""
        if (
            isinstance(obj, DeviceClass)
            and self._resources.pop(obj.metadata.name, None) is not None
        ):
            self.version += 1

    def class_of(self, resource: str) -> str:
        """Return the class that backs an extended resource; "" if there is none.

        Of several classes, the newest one; of equally new ones, the first by name.
        """
        implicit = resource.removeprefix(DEVICE_CLASS_PREFIX)
        if implicit != resource:
            return implicit if implicit in self._resources else ""
        newest = ("", "")
        for name, (named, created) in sorted(self._resources.items()):
            if named == resource and (not newest[0] or created > newest[1]):
                newest = (name, created)
        return newest[0]
