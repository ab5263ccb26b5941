"""Requests that ValidatingAdmissionPolicies deny or warn of.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go
"""

from __future__ import annotations

import json
from typing import Final

import msgspec

from podwright._interludes import interlude
from podwright.apimachinery.cel import PolicyDecision, PolicyResult, ValidatingPolicy
from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.plugin import AdmissionContext, Plugin, rejected
from podwright.cluster.api.admission.policies.active_policies import (
    ActivePolicies,
    ActivePolicy,
    policy_kinds,
)
from podwright.cluster.api.admission.policies.parameters import invocations
from podwright.cluster.api.admission.policies.policy_input import is_reviewed, policy_input

FAILURE_ANNOTATION: Final = "validation.policy.admission.k8s.io/validation_failure"

_CODES: Final = {
    "Forbidden": 403,
    "Unauthorized": 401,
    "RequestEntityTooLarge": 413,
    "Invalid": 422,
}
_ANNOTATION_MAX_BYTES: Final = 10 * 1024


class _Denial(msgspec.Struct, frozen=True):
    policy: str
    binding: str
    message: str
    reason: str

    def __str__(self) -> str:
        by = f" with binding '{self.binding}'" if self.binding else ""
        name = f"ValidatingAdmissionPolicy '{self.policy}'{by}"
        return f"{name} denied request: {self.message}"


class ValidatingAdmissionPolicy(Plugin):
    """Evaluates policies."""

    name = "ValidatingAdmissionPolicy"
    template_kinds = policy_kinds(name)

    def __init__(self, context: AdmissionContext) -> None:
        super().__init__(context)
        self._policies = ActivePolicies(context.store, self.name, ValidatingPolicy)

    def validate(self, attributes: Attributes) -> None:
        """Reject a request that a policy denies; the first denial is the answer."""
        policies = self._policies.active()
        if not policies or not is_reviewed(attributes):
            return
        denials: list[_Denial] = []
        for policy in policies:
            self._evaluate(policy, attributes, denials)
        if not denials:
            return
        first = denials[0]
        reason, text = first.reason or "Invalid", str(first)
        code = _CODES.get(reason, 422)
        raise rejected(attributes, text, {"message": text}, code=code, reason=reason)

    def decides_by_template(self, attributes: Attributes) -> bool:
        """Return whether no policy applies, which could read the name."""
        return not (self._policies.active() and is_reviewed(attributes))

    def _evaluate(
        self,
        policy: ActivePolicy[ValidatingPolicy],
        attributes: Attributes,
        denials: list[_Denial],
    ) -> None:
        def fail(text: str, binding: str) -> None:
            denials.append(_Denial(policy.name, binding, text, ""))

        annotations: dict[str, dict[str, None]] = {}
        for found in invocations(self._context, attributes, policy, fail):
            values = policy_input(self._context, attributes, found.resource, found.params)
            with interlude():
                result = policy.compiled.validate(values)
            self._decide(policy.name, found.binding, result, attributes, denials)
            denials += _annotated(policy.name, found.binding_name, result, annotations)
        for key, texts in annotations.items():
            attributes.audit_annotations[f"{policy.name}/{key}"] = ", ".join(texts)

    def _decide(
        self,
        policy: str,
        binding: Document,
        result: PolicyResult,
        attributes: Attributes,
        denials: list[_Denial],
    ) -> None:
        name = binding["metadata"]["name"]
        actions = (binding.get("spec") or {}).get("validationActions") or ()
        for index, decision in enumerate(result.decisions):
            if not decision.is_denied:
                continue
            for action in actions:
                if action == "Deny":
                    denials.append(_Denial(policy, name, decision.message, decision.reason))
                elif action == "Warn":
                    attributes.warnings.append(
                        f"Validation failed for ValidatingAdmissionPolicy '{policy}' with binding"
                        f" '{name}': {decision.message}"
                    )
                elif action == "Audit":
                    attributes.audit_annotations[FAILURE_ANNOTATION] = _failure_text(
                        policy, name, index, decision, list(actions)
                    )


def _failure_text(
    policy: str, binding: str, index: int, decision: PolicyDecision, actions: list[str]
) -> str:
    failure = {
        "message": decision.message,
        "policy": policy,
        "binding": binding,
        "expressionIndex": index,
        "validationActions": actions,
    }
    return json.dumps([failure], ensure_ascii=False, separators=(",", ":"))


def _annotated(
    policy: str, binding: str, result: PolicyResult, annotations: dict[str, dict[str, None]]
) -> list[_Denial]:
    """Collect the annotations of a result, and return the denials of those that failed."""
    denials = []
    for each in result.annotations:
        if each.outcome == "publish":
            text = each.value.encode()[:_ANNOTATION_MAX_BYTES].decode(errors="ignore")
            annotations.setdefault(each.key, {})[text] = None
        elif each.outcome == "error":
            denials.append(_Denial(policy, binding, each.error, ""))
    return denials
