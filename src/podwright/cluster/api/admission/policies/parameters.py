"""The objects that a binding passes to its policy.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go,
CollectParams
"""

from __future__ import annotations

from podwright.apimachinery.objects import Document, api_group
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.context import AdmissionContext
from podwright.cluster.api.admission.policies.matching import (
    PolicyConfigurationError,
    selector_from,
)
from podwright.cluster.api.versions.resources import Resource


def parameters(
    context: AdmissionContext, attributes: Attributes, policy: Document, binding: Document
) -> list[Document | None]:
    """Return the parameters with which a policy is evaluated, in turn.

    Returns
    -------
    list of dict or None
        One None if there are no parameters; empty if the binding allows that none are found.

    Raises
    ------
    PolicyConfigurationError
        The parameters cannot be found.
    """
    kind = (policy.get("spec") or {}).get("paramKind")
    reference: Document | None = (binding.get("spec") or {}).get("paramRef")
    if kind is None:
        return [None]
    resource = _resource_of(context, kind)
    if reference is None:
        return [None]
    namespace = reference.get("namespace") or ""
    if not resource.namespaced and namespace:
        raise PolicyConfigurationError(
            "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
        )
    if resource.namespaced:
        namespace = namespace or attributes.namespace
        if not namespace:
            raise PolicyConfigurationError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped"
                " resources"
            )
    found = _found(context, resource, reference, namespace)
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise PolicyConfigurationError(
            "no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    return [*found]


def _resource_of(context: AdmissionContext, kind: Document) -> Resource:
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    group = api_group(version)
    for resource in context.resources:
        served = f"{resource.group}/{resource.version}" if resource.group else resource.version
        if (served, resource.name) == (version, name):
            return resource
    shown = f"{group}/{version.rpartition('/')[2]}, Kind={name}"
    raise PolicyConfigurationError(f"failed to find resource referenced by paramKind: '{shown}'")


def _found(
    context: AdmissionContext, resource: Resource, reference: Document, namespace: str
) -> list[Document]:
    if name := reference.get("name"):
        key = f"{namespace}/{name}" if resource.namespaced else name
        stored = context.store.get(resource.storage, key)
        return [] if stored is None else [resource.served(stored.raw)]
    if reference.get("selector") is None:
        raise PolicyConfigurationError("one of name or selector must be provided")
    listed = context.store.list(
        resource.storage,
        namespace=namespace if resource.namespaced else None,
        labels=selector_from(reference["selector"]),
    )
    return [resource.served(each.raw) for each in listed.objects]
