"""Validation of deployments, replica sets, stateful sets, daemon sets and their like.

Upstream: pkg/apis/apps/validation/validation.go; pkg/apis/core/validation/validation.go,
ValidateReplicationController
"""

from __future__ import annotations

import re
from typing import Any, Final

from podwright.apimachinery.objects import Document, parse_int64
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, internal_form, same
from podwright.apimachinery.schema.validation.metadata import (
    selector_is_valid,
    selector_matches,
    validate_annotations,
    validate_label_selector,
    validate_labels,
)
from podwright.apimachinery.schema.validation.names import dns_label, percent
from podwright.apimachinery.schema.validation.pods.pod import (
    validate_pod_annotations,
    validate_template,
)
from podwright.apimachinery.schema.validation.storage import validate_claim_spec

IntOrPercent = int | str

_SHARE: Final = re.compile("([0-9]+)%|([+-]?[0-9]+)")
_NOT_MATCHED: Final = "`selector` does not match template `labels`"
_STATEFUL_MUTABLE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


# ---------------------------------------------------------------------------- deployments


def validate_deployment(errors: FieldErrors, deployment: Document) -> None:
    """Check a new deployment."""
    _validate_deployment_spec(errors, deployment.get("spec") or {})


def _validate_deployment_spec(errors: FieldErrors, spec: Document) -> None:
    errors.not_negative("spec.replicas", spec.get("replicas"))
    _validate_selector(errors, spec, "deployment", "ReplicaSet", detail="invalid label selector")
    strategy = spec.get("strategy") or {}
    kind, rolling = strategy.get("type") or "RollingUpdate", strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            text = "may not be specified when strategy `type` is 'Recreate'"
            errors.forbidden("spec.strategy.rollingUpdate", text)
    elif kind == "RollingUpdate":
        _validate_rolling_deployment(errors, "spec.strategy.rollingUpdate", rolling or {})
    else:
        shown = internal_form(strategy, "DeploymentStrategy")
        errors.unsupported("spec.strategy", shown, ("Recreate", "RollingUpdate"))
    ready = spec.get("minReadySeconds") or 0
    errors.not_negative("spec.minReadySeconds", ready)
    errors.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        errors.not_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= ready:
            text = "must be greater than minReadySeconds"
            errors.invalid("spec.progressDeadlineSeconds", deadline, text)


def _validate_rolling_deployment(errors: FieldErrors, path: str, rolling: Document) -> None:
    unavailable = _or_default(rolling.get("maxUnavailable"), "25%")
    surge = _or_default(rolling.get("maxSurge"), "25%")
    validate_int_or_percent(errors, f"{path}.maxUnavailable", unavailable)
    validate_int_or_percent(errors, f"{path}.maxSurge", surge)
    if _is_zero(unavailable) and _is_zero(surge):
        text = "may not be 0 when `maxSurge` is 0"
        errors.invalid(f"{path}.maxUnavailable", unavailable, text)
    # Upstream bounds maxUnavailable only: a surge may exceed 100%.
    validate_at_most_all(errors, f"{path}.maxUnavailable", unavailable)


def _or_default(value: Any, default: IntOrPercent) -> IntOrPercent:
    found: IntOrPercent = default if value is None else value
    return found


def validate_int_or_percent(errors: FieldErrors, path: str, value: IntOrPercent) -> None:
    """Check a number or a percentage."""
    if isinstance(value, str):
        errors.each(path, value, percent(value))
    else:
        errors.not_negative(path, value)


def validate_at_most_all(errors: FieldErrors, path: str, value: IntOrPercent) -> None:
    """Check that a percentage is not above 100."""
    if isinstance(value, str) and not percent(value):
        share = parse_int64(value[:-1])
        if share is None or share > 100:
            errors.invalid(path, value, "must not be greater than 100%")


def _is_zero(value: IntOrPercent) -> bool:
    """Whether the number, or the number before the percent sign, is 0; as of another text."""
    if not isinstance(value, str):
        return value == 0
    found = _SHARE.fullmatch(value)
    return found is None or not (found[1] or found[2]).strip("+-0")


def _validate_kept_selector(errors: FieldErrors, new: Document, old: Document) -> None:
    selector, before = ((part.get("spec") or {}).get("selector") for part in (new, old))
    if not same(selector, before):
        errors.invalid(
            "spec.selector",
            internal_form(selector, "*LabelSelector"),
            "field is immutable",
        )


def _validate_selector(
    errors: FieldErrors,
    spec: Document,
    kind: str,
    owner: str,
    *,
    detail: str,
    template: Document | None = None,
    checks_template: bool = True,
) -> None:
    """Check the selector of a workload, and its template if the selector is valid.

    Parameters
    ----------
    kind, owner : str
        How the texts of errors name the workload.
    detail : str
        The text for a selector that cannot be compiled.
    template : dict, optional
        The template to check instead of the workload's.
    checks_template : bool
        Whether the template itself is checked, besides its labels and annotations.
    """
    selector = spec.get("selector")
    if selector is None:
        errors.required("spec.selector")
    else:
        validate_label_selector(errors, "spec.selector", selector)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            text = f"empty selector is invalid for {kind}"
            errors.invalid("spec.selector", internal_form(selector, "LabelSelector"), text)
    if selector is not None and not selector_is_valid(selector):
        errors.invalid("spec.selector", internal_form(selector, "LabelSelector"), detail)
        return
    checked = template if template is not None else spec.get("template") or {}
    labels = (checked.get("metadata") or {}).get("labels")
    # An empty selector is checked above; no selector matches nothing.
    is_empty = selector is not None and not any(selector.values())
    if not is_empty and not selector_matches(selector, labels or {}):
        printed = None if labels is None else _sorted(labels)
        errors.invalid("spec.template.metadata.labels", printed, _NOT_MATCHED)
    if checks_template:
        validate_template(errors, "spec.template", checked)
    if owner == "StatefulSet":
        # Upstream validates these of a stateful set once more.
        metadata = checked.get("metadata") or {}
        validate_labels(errors, "spec.template.labels", metadata.get("labels"))
        at = "spec.template.annotations"
        validate_annotations(errors, at, metadata.get("annotations"))
        validate_pod_annotations(errors, at, metadata, checked.get("spec") or {})
    _validate_always(errors, checked, owner)


def _validate_always(errors: FieldErrors, template: Document, owner: str) -> None:
    """Check that the pods of a workload run for ever."""
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy") or "Always"
    if policy != "Always":
        errors.unsupported("spec.template.spec.restartPolicy", policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {owner} is not Supported"
        errors.forbidden("spec.template.spec.activeDeadlineSeconds", text)


def _sorted(labels: dict[str, str]) -> dict[str, str]:
    return dict(sorted(labels.items()))


# ---------------------------------------------------------------- replica sets and controllers


def validate_replica_set(errors: FieldErrors, replica_set: Document) -> None:
    """Check a new replica set."""
    _validate_replica_set_spec(errors, replica_set.get("spec") or {})


def _validate_replica_set_spec(errors: FieldErrors, spec: Document) -> None:
    errors.not_negative("spec.replicas", spec.get("replicas"))
    errors.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    # Upstream's text is about deployments here too.
    _validate_selector(errors, spec, "deployment", "ReplicaSet", detail="invalid label selector")


def validate_replication_controller(errors: FieldErrors, controller: Document) -> None:
    """Check a new replication controller."""
    _validate_controller_spec(errors, controller.get("spec") or {})


def _validate_controller_spec(errors: FieldErrors, spec: Document) -> None:
    errors.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    template = spec.get("template")
    sent = ((template or {}).get("metadata") or {}).get("labels")
    labels = sent or {}
    # The default selector is the labels of the template.
    selector = spec.get("selector") or labels
    if not selector:
        errors.required("spec.selector")
    errors.not_negative("spec.replicas", spec.get("replicas"))
    if template is None:
        errors.required("spec.template")
        return
    if not selector.items() <= labels.items():
        printed = None if sent is None else _sorted(labels)
        errors.invalid("spec.template.metadata.labels", printed, _NOT_MATCHED)
    validate_template(errors, "spec.template", template)
    _validate_always(errors, template, "ReplicationController")


# ------------------------------------------------------------------------------ stateful sets


def validate_stateful_set(errors: FieldErrors, stateful_set: Document) -> None:
    """Check a new stateful set."""
    spec = stateful_set.get("spec") or {}
    _validate_stateful_spec(errors, spec, is_new=True)


def validate_stateful_set_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed stateful set: most of its spec is immutable."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    # An object whose spec is invalid already may have any template.
    former = FieldErrors()
    _validate_stateful_spec(former, before, is_new=False)
    _validate_stateful_spec(errors, spec, is_new=False, checks_template=not former.problems)
    kept = [
        {name: value for name, value in part.items() if name not in _STATEFUL_MUTABLE}
        for part in (spec, before)
    ]
    if not same(kept[0], kept[1]):
        text = (
            "updates to statefulset spec for fields other than 'replicas', 'ordinals',"
            " 'template', 'updateStrategy', 'revisionHistoryLimit',"
            " 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
        )
        errors.forbidden("spec", text)


def _validate_stateful_spec(
    errors: FieldErrors, spec: Document, *, is_new: bool, checks_template: bool = True
) -> None:
    policy = spec.get("podManagementPolicy") or "OrderedReady"
    if policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        errors.invalid("spec.podManagementPolicy", policy, text)
    _validate_stateful_strategy(errors, spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for name in ("whenDeleted", "whenScaled"):
        if (value := retention.get(name) or "Retain") not in ("Retain", "Delete"):
            at = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            errors.unsupported(at, value, ("Retain", "Delete"))
    templates = spec.get("volumeClaimTemplates") or []
    if is_new:
        for index, template in enumerate(templates):
            at = f"spec.volumeClaimTemplates[{index}].spec"
            validate_claim_spec(errors, at, template.get("spec") or {})
    for name in ("replicas", "minReadySeconds"):
        errors.not_negative(f"spec.{name}", spec.get(name))
    errors.not_negative("spec.ordinals.start", (spec.get("ordinals") or {}).get("start"))
    if is_new and (service := spec.get("serviceName")):
        errors.each("spec.serviceName", service, dns_label(service))
    template = _with_claims(spec.get("template") or {}, templates)
    _validate_selector(
        errors,
        spec,
        "statefulset",
        "StatefulSet",
        detail="",
        template=template,
        checks_template=checks_template,
    )


def _validate_stateful_strategy(errors: FieldErrors, strategy: Document) -> None:
    kind, rolling = strategy.get("type") or "RollingUpdate", strategy.get("rollingUpdate")
    if rolling is not None:
        # The gate MaxUnavailableStatefulSet is off by default: `maxUnavailable` is dropped.
        rolling = rolling | {"maxUnavailable": None}
        strategy = strategy | {"rollingUpdate": rolling}
    if kind == "OnDelete":
        if rolling is not None:
            text = "only allowed for updateStrategy 'RollingUpdate'"
            shown = internal_form(rolling, "RollingUpdateStatefulSetStrategy")
            errors.invalid("spec.updateStrategy.rollingUpdate", shown, text)
    elif kind != "RollingUpdate":
        text = "must be 'RollingUpdate' or 'OnDelete'"
        shown = internal_form(strategy, "StatefulSetUpdateStrategy")
        errors.invalid("spec.updateStrategy", shown, text)
    elif rolling is not None:
        path = "spec.updateStrategy.rollingUpdate"
        errors.not_negative(f"{path}.partition", rolling.get("partition"))


def _with_claims(template: Document, claims: list[Document]) -> Document:
    """Return the template as the controller completes it: with a volume for each claim."""
    spec = dict(template.get("spec") or {})
    for name in ("subdomain", "hostname"):
        spec.pop(name, None)
    if claims:
        names = [(each.get("metadata") or {}).get("name") or "" for each in claims]
        own = [each for each in spec.get("volumes") or () if each.get("name") not in names]
        claimed = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}}
            for name in dict.fromkeys(names)
        ]
        spec["volumes"] = claimed + own
    return template | {"spec": spec}


# -------------------------------------------------------------------------------- daemon sets


def validate_daemon_set(errors: FieldErrors, daemon_set: Document) -> None:
    """Check a new daemon set."""
    _validate_daemon_spec(errors, daemon_set.get("spec") or {})


def validate_daemon_set_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed daemon set, whose selector is immutable."""
    _validate_kept_selector(errors, new, old)
    _validate_daemon_spec(errors, new.get("spec") or {})


def _validate_daemon_spec(errors: FieldErrors, spec: Document) -> None:
    selector, template = spec.get("selector"), spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    # The API declares a selector as required; upstream's function accepts none, which matches no
    # labels.
    if selector is not None:
        validate_label_selector(errors, "spec.selector", selector)
    is_valid = selector is None or selector_is_valid(selector)
    if is_valid and not selector_matches(selector, labels or {}):
        unmatched = None if labels is None else _sorted(labels)
        errors.invalid("spec.template.metadata.labels", unmatched, _NOT_MATCHED)
    if selector is not None and not any(selector.values()):
        text = "empty selector is invalid for daemonset"
        errors.invalid("spec.selector", internal_form(selector, "LabelSelector"), text)
    validate_template(errors, "spec.template", template)
    _validate_always(errors, template, "DaemonSet")
    errors.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    strategy = spec.get("updateStrategy") or {}
    kind = strategy.get("type") or "RollingUpdate"
    if kind == "RollingUpdate":
        at = "spec.updateStrategy.rollingUpdate"
        _validate_rolling_daemons(errors, at, strategy.get("rollingUpdate") or {})
    elif kind != "OnDelete":
        shown = internal_form(strategy, "DaemonSetUpdateStrategy")
        errors.unsupported("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete"))
    errors.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _validate_rolling_daemons(errors: FieldErrors, path: str, rolling: Document) -> None:
    unavailable = _or_default(rolling.get("maxUnavailable"), 1)
    surge = _or_default(rolling.get("maxSurge"), 0)
    for name, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        validate_int_or_percent(errors, f"{path}.{name}", value)
    for name, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        validate_at_most_all(errors, f"{path}.{name}", value)
    if not _is_zero(unavailable) and not _is_zero(surge):
        text = "may not be set when maxUnavailable is non-zero"
        errors.invalid(f"{path}.maxSurge", surge, text)
    elif _is_zero(unavailable) and _is_zero(surge):
        errors.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def validate_controller_revision(errors: FieldErrors, revision: Document) -> None:
    """Check a new ControllerRevision."""
    errors.not_negative("revision", revision.get("revision"))
    data = revision.get("data")
    if data is None:
        errors.required("data", "data is mandatory")
    elif not isinstance(data, dict):
        errors.required("data", "data must be a valid JSON object")


def validate_controller_revision_update(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check a changed ControllerRevision, which keeps its data."""
    errors.not_negative("revision", new.get("revision"))
