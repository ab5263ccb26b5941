"""Names of extended resources."""

from podwright.apimachinery.objects import label_key_errors


def is_extended_resource_name(name: str) -> bool:
    """Report whether a resource is neither native nor a quota's.

    Notes
    -----
    Upstream: pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName
    """
    is_native = "/" not in name or "kubernetes.io/" in name
    if is_native or name.startswith("requests."):
        return False
    return not label_key_errors(f"requests.{name}")
