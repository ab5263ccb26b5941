"""Changes of objects, as those who watch them receive them."""

from __future__ import annotations

import msgspec

from podwright.apimachinery.objects.kinds import Object


class ObjectPut(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """An object was created or updated; the machine finds out which.

    Parameters
    ----------
    obj : object
        The object as it is now.
    """

    obj: Object


class ObjectDeleted(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """An object was deleted.

    Parameters
    ----------
    obj : object
        The last known version of the object.
    """

    obj: Object
