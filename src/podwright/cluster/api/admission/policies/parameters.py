"""The bindings by which a policy applies to a request, and the objects that they pass to it.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go,
CollectParams
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from podwright.apimachinery.objects import Document, api_group
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import AdmissionContext
from podwright.cluster.api.admission.policies.active_policies import ActivePolicy
from podwright.cluster.api.admission.policies.matching import (
    PolicyConfigurationError,
    matched_resource,
    selector_from,
)
from podwright.cluster.api.versions.resources import Resource


class Invocation(msgspec.Struct, frozen=True, eq=False):
    """A policy that matches a request by a binding, with one parameter.

    Attributes
    ----------
    binding : dict
    resource : Resource
        The version of the object that the policy reads.
    params : dict or None
    """

    binding: Document
    resource: Resource
    params: Document | None

    @property
    def binding_name(self) -> str:
        """The name of the binding."""
        return str(self.binding["metadata"]["name"])


def invocations(
    context: AdmissionContext,
    attributes: Attributes,
    policy: ActivePolicy[Any],
    fail: Callable[[str, str], None],
) -> Iterator[Invocation]:
    """Yield how a policy applies to a request.

    Parameters
    ----------
    context : AdmissionContext
    attributes : Attributes
    policy : ActivePolicy
    fail : callable
        Takes the text of an error of the configuration, and the name of the binding, "" for none;
        it is not called for a policy that ignores failures.
    """
    try:
        matched = matched_resource(context, attributes, policy.spec.get("matchConstraints"))
    except PolicyConfigurationError as error:
        if not policy.ignores_failures:
            fail(f"failed to configure policy: {error}", "")
        return
    if matched is None:
        return
    for binding in policy.bindings:
        match = (binding.get("spec") or {}).get("matchResources")
        try:
            if matched_resource(context, attributes, match) is None:
                continue
            found = _parameters(context, attributes, policy.document, binding)
        except PolicyConfigurationError as error:
            if not policy.ignores_failures:
                fail(f"failed to configure binding: {error}", binding["metadata"]["name"])
            continue
        for params in found:
            yield Invocation(binding, matched, params)


def _parameters(
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
    # Those of a dump were not validated.
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
