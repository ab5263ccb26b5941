"""Objects that MutatingAdmissionPolicies change.

Policies run once, after the other mutating plugins of their order. If one of them changes the
object, all mutating plugins run again, and then those policies that ask for it.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go,
staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch/{json_patch,smd}.go,
staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/reinvocationcontext.go
"""

from __future__ import annotations

from collections.abc import Callable

from podwright._interludes import interlude
from podwright.apimachinery.cel import AdmissionInput, MutatingPolicy, PolicyError
from podwright.apimachinery.objects import Document
from podwright.apimachinery.patching import FailedTestError, PatchError, configured, json_patched
from podwright.apimachinery.schema import UNKNOWN_FIELD
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import AdmissionContext, Plugin, rejected
from podwright.cluster.api.admission.policies.active_policies import (
    ActivePolicies,
    ActivePolicy,
    policy_kinds,
)
from podwright.cluster.api.admission.policies.parameters import Invocation, invocations
from podwright.cluster.api.admission.policies.policy_input import (
    converted,
    is_reviewed,
    policy_input,
    versions_of,
)
from podwright.cluster.api.rejections import Rejection, internal
from podwright.cluster.api.versions.resources import Resource


class MutatingAdmissionPolicy(Plugin):
    """Evaluates policies."""

    name = "MutatingAdmissionPolicy"
    template_kinds = policy_kinds(name)

    def __init__(self, context: AdmissionContext) -> None:
        super().__init__(context)
        self._policies = ActivePolicies(context.store, self.name, MutatingPolicy)

    def admit(self, attributes: Attributes) -> None:
        """Change an object as the policies say."""
        if attributes.operation == "DELETE":
            return
        policies = self._policies.active()
        if not policies or not is_reviewed(attributes):
            return
        failures: list[str] = []
        found = [
            (policy, each)
            for policy in policies
            for each in invocations(self._context, attributes, policy, _failing(policy, failures))
        ]
        state = attributes.reinvocation
        if state.is_second and state.last_object != attributes.object:
            state.require_again()
        for policy, invocation in found:
            with interlude():
                self._invoke(policy, invocation, attributes, failures)
        state.last_object = attributes.object
        if failures:
            reason = "Invalid" if failures[0] in state.invalid else "Forbidden"
            causes = [{"message": text} for text in failures]
            raise Rejection(403, reason, failures[0], rejected(attributes, "", *causes).details)

    def decides_by_template(self, attributes: Attributes) -> bool:
        """Return whether no policy applies, which could read the name."""
        return not (self._policies.active() and is_reviewed(attributes))

    def _invoke(
        self,
        policy: ActivePolicy[MutatingPolicy],
        invocation: Invocation,
        attributes: Attributes,
        failures: list[str],
    ) -> None:
        state, key = attributes.reinvocation, _key(policy, invocation)

        def fail(error: Exception) -> None:
            if not policy.ignores_failures:
                text = _denial(policy.name, invocation.binding_name, str(error))
                state.invalid.add(text)
                failures.append(text)

        try:
            if not policy.compiled.matches(self._values(invocation, attributes)):
                return
        except PolicyError as error:
            fail(error)
            return
        if state.is_second and key not in state.again:
            return
        before = attributes.object
        for index, kind in enumerate(policy.compiled.mutations):
            if attributes.object is None:
                continue
            try:
                patch = policy.compiled.patch(index, self._values(invocation, attributes))
                attributes.object = self._patched(attributes, invocation.resource, kind, patch)
            except (PolicyError, PatchError) as error:
                fail(error)
        if attributes.object != before:
            state.require_again()
            state.is_required = True
        if policy.spec.get("reinvocationPolicy") == "IfNeeded":
            state.invoked.add(key)

    def _values(self, invocation: Invocation, attributes: Attributes) -> AdmissionInput:
        return policy_input(self._context, attributes, invocation.resource, invocation.params)

    def _patched(
        self, attributes: Attributes, resource: Resource, kind: str, patch: object
    ) -> Document:
        """Return the object of a request after a mutation.

        Raises
        ------
        PatchError
            The mutation does not fit the object.
        Rejection
            Its result is not an object of the kind.
        """
        source, resource = versions_of(attributes, resource)
        document = converted(attributes.object, source, resource)
        assert document is not None, "only objects are mutated"
        if kind == "JSONPatch":
            try:
                changed = json_patched(document, patch)
            except FailedTestError:
                return attributes.object or {}
            except PatchError as error:
                raise PatchError(f"JSON Patch: {error.cause or error}") from None
        else:
            assert isinstance(patch, dict), "an apply configuration is an object"
            names = {"apiVersion": document["apiVersion"], "kind": document["kind"]}
            try:
                changed = configured(resource.object_type, document, patch | names)
            except PatchError as error:
                raise PatchError(f"error applying patch: {error}") from None
        unknown: list[str] = []
        for path, message, _ in resource.kind.decoding_problems(changed):
            if not message.startswith(UNKNOWN_FIELD):
                raise internal(f"{path}: {message}" if path else message)
            unknown.append(f'unknown field "{path}"')
        if unknown:
            raise internal(f"strict decoding error: {', '.join(unknown)}")
        made = resource.completed(changed)
        found = converted(made, resource, source)
        assert found is not None, "a mutated object stays one"
        return found


def _failing(
    policy: ActivePolicy[MutatingPolicy], failures: list[str]
) -> Callable[[str, str], None]:
    return lambda text, binding: failures.append(_denial(policy.name, binding, text))


def _denial(policy: str, binding: str, text: str) -> str:
    by = f"'{policy}' with binding '{binding}'" if binding else f'"{policy}"'
    return f"policy {by} denied request: {text}"


def _key(policy: ActivePolicy[MutatingPolicy], invocation: Invocation) -> tuple[str, str, str]:
    metadata = invocation.params["metadata"] if invocation.params else {}
    params = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    return policy.name, invocation.binding_name, params
