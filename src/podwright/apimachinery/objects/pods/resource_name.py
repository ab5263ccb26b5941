"""Kinds of resources, by name.

Upstream: pkg/apis/core/v1/helper/helpers.go, pkg/scheduler/util/utils.go
"""

from __future__ import annotations

from functools import lru_cache

from podwright.apimachinery.objects.names import label_key_errors

_QUOTA_PREFIX = "requests."
_NATIVE = "kubernetes.io/"
_PREFIXES = ("hugepages-", "attachable-volumes-")


@lru_cache(maxsize=4_096)
def is_extended_resource(name: str) -> bool:
    """Whether a resource is an extended resource, such as example.com/gpu."""
    if "/" not in name or _NATIVE in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not label_key_errors(_QUOTA_PREFIX + name)


@lru_cache(maxsize=4_096)
def is_scalar_resource(name: str) -> bool:
    """Whether the scheduler counts a resource as a scalar resource, besides the fixed ones."""
    return name.startswith(_PREFIXES) or _NATIVE in name or is_extended_resource(name)
