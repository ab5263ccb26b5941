"""Send drawn objects to kube-apiserver, and write down what it says about them.

Admission is off, so an answer is that of decoding, defaults and validation, and of what upstream's
storage prepares, such as addresses and selectors. A case that the room of schemas does not answer
as upstream does is left out: if the whole API answers it, it is not about the room. The others are
printed; each is a defect, unless it is about what only admission rejects or a gate drops.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import sys
from collections import Counter
from http import HTTPStatus
from typing import Any, Final

from tests.real_parts.control_plane import running
from tests.real_parts.requests.compare import HEADERS, OwnServer, RealServer, Server
from tests.real_parts.requests.mistakes import changed, described
from tests.real_parts.requests.subjects import Subject
from tests.real_parts.validation import Case, bases, cases, shape

from podwright.apimachinery.schema.tests.test_recorded_validation import RECORD, outcome
from podwright.cluster.api.endpoints import HttpRequest

DRAWN: Final = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|10\.0\.0\.\d+|\b3[0-2]\d{3}\b|\b20\d\d-[\dT:-]+Z"
)
"""Identities, addresses, ports and times, which each server draws."""
MOST_OF_A_RULE: Final = 2
"""How many cases are kept in which the same rule rejects the same field of a kind."""
MOST_ACCEPTED: Final = 2
"""How many are kept in which a change of the same field is accepted."""

QUERY: Final = "dryRun=All&fieldValidation=Strict"
PLUGINS: Final = (
    "NamespaceLifecycle", "LimitRanger", "TaintNodesByCondition", "PodSecurity", "Priority",
    "DefaultTolerationSeconds", "DefaultStorageClass", "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval", "CertificateSigning",
    "ClusterTrustBundleAttest", "CertificateSubjectRestriction", "DefaultIngressClass",
    "PodTopologyLabels", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota",
)  # fmt: skip


def main() -> int:
    """Write the record."""
    documents = bases()
    seen: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    sent, reasons, api = Counter[int](), Counter[str](), OwnServer()
    flags = f"--disable-admission-plugins={','.join(PLUGINS)}"
    with running(flags) as plane, contextlib.closing(RealServer(plane.port)) as server:
        for case in cases(documents):
            document = changed(documents[case.base], case.changes)
            path = Subject(documents[case.base]).collection.replace("{ns}", "default")
            request = HttpRequest("POST", path, QUERY, HEADERS, json.dumps(document).encode())
            status, answered = _answered(server, request)
            sent[status] += 1
            if answered is None or not _is_new(case, documents, answered, seen):
                continue
            found = outcome(document)
            if found == answered:
                kept.append({"base": case.base, "changes": case.changes} | answered)
            elif _neutral(found) != _neutral(answered):
                _, own = _answered(api, request)
                differs = _neutral(own) != _neutral(answered)
                reasons["different" if differs else "of the API"] += 1
                if differs:
                    print(document.get("kind"), described(case.changes), sep=": ")
                    print(answered, found, own, sep="\n  ")
    lines = [json.dumps(line, ensure_ascii=False) for line in (documents, *kept)]
    RECORD.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    rejected = sum("causes" in each for each in kept)
    print(f"sent: {dict(sent)}; left out: {dict(reasons)}")
    print(f"{len(kept)} cases, {rejected} rejected, {RECORD.stat().st_size} bytes")
    return 0


def _answered(server: Server, request: HttpRequest) -> tuple[int, dict[str, Any] | None]:
    """Return the status and what is recorded; None if validation has no part in the answer."""
    answer = server.send(request)
    body = answer.body
    if answer.status == HTTPStatus.CREATED:
        parts = {key: body[key] for key in body if key not in ("metadata", "status")}
        return answer.status, {"made": parts}
    if answer.status != HTTPStatus.UNPROCESSABLE_ENTITY or not body["details"].get("causes"):
        return answer.status, None
    found = [[each.get("field", ""), each["message"]] for each in body["details"]["causes"]]
    return answer.status, {"causes": found}


def _neutral(answered: Any) -> str:
    if answered and "causes" in answered:
        # Upstream reports the keys of a map in the order of Go's maps.
        answered = {"causes": sorted(answered["causes"])}
    return DRAWN.sub("<drawn>", json.dumps(answered, sort_keys=True))


def _is_new(case: Case, documents: list[Any], answered: dict[str, Any], seen: Counter[str]) -> bool:
    kind = documents[case.base]["kind"]
    if "made" in answered:
        rules, most = {f"{kind} {shape(case)}"}, MOST_ACCEPTED
    else:
        rules = {
            f"{kind} " + re.sub(r'".*"|\d+', "", f"{field} {message}")
            for field, message in answered["causes"]
        }
        most = MOST_OF_A_RULE
    is_new = any(seen[rule] < most for rule in rules)
    seen.update(rules if is_new else ())
    return is_new


if __name__ == "__main__":
    sys.exit(main())
