"""Parameters, representations and statuses of generated requests, valid ones and mistakes."""

from __future__ import annotations

from typing import Final

from tests.real_parts.requests.mistakes import Document

LABEL_SELECTORS: Final = (
    "app=web", "app!=web", "app", "!app", "app in (web,db)", "app notin (web)", "app==db,tier",
    "a in", "a b", "app=-x", "=x", "app in ()", "app>1", "app=" + "x" * 64, "", "app=web,",
)  # fmt: skip
FIELD_SELECTORS: Final = (
    "metadata.name=a", "metadata.name!=a", "metadata.namespace=default", "spec.nodeName=",
    "spec.nodeName=n1", "status.phase=Pending", "status.phase!=Pending", "spec.foo=x",
    "metadata.name",
    "spec.schedulerName=other", "type=Opaque", "reason=Started", "involvedObject.name=a",
    "spec.unschedulable=true", "status.successful=0", "metadata.name=a,metadata.name=b", "x",
    "spec.size=small", "metadata.name==a", "metadata.labels=x", "spec.type=NodePort",
)  # fmt: skip
LIST_OPTIONS: Final = (
    {"limit": "1"}, {"limit": "-1"}, {"limit": "x"}, {"continue": "x"}, {"resourceVersion": "0"},
    {"resourceVersion": "0", "limit": "1"},
    {"resourceVersion": "{rv}", "resourceVersionMatch": "Exact"},
    {"resourceVersionMatch": "Exact"}, {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
    {"resourceVersion": "x"}, {"resourceVersion": "999999999"}, {"resourceVersion": "{rv}"},
    {"resourceVersion": "{rv}", "resourceVersionMatch": "NotOlderThan"},
    {"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan"},
    {"resourceVersion": "0", "resourceVersionMatch": "Foo"}, {"sendInitialEvents": "true"},
    {"resourceVersion": "0", "limit": "1", "resourceVersionMatch": "NotOlderThan"},
)  # fmt: skip
WATCH_OPTIONS: Final[tuple[dict[str, str], ...]] = (
    {"resourceVersion": "0"}, {}, {"sendInitialEvents": "true"},
    {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
    {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan",
     "allowWatchBookmarks": "true"},
    {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"},
    {"resourceVersionMatch": "NotOlderThan"}, {"resourceVersion": "x"}, {"limit": "1"},
    {"resourceVersion": "0", "allowWatchBookmarks": "true"},
)  # fmt: skip
ACCEPTS: Final = (
    "application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/yaml",
)  # fmt: skip
POD_STATUSES: Final[tuple[Document, ...]] = (
    {"phase": "Running", "podIP": "10.3.0.1", "podIPs": [{"ip": "10.3.0.1"}],
     "conditions": [{"type": "Ready", "status": "True"}], "startTime": "2021-01-01T00:00:00Z",
     "containerStatuses": [{"name": "main", "ready": True, "restartCount": 2, "image": "nginx",
                            "imageID": "x", "state": {"running": {}}}]},
    {"phase": "Failed", "reason": "Evicted", "message": "full"}, {"phase": "Foo"},
    {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
    {"nominatedNodeName": "n1"}, {"podIP": "x"}, {"conditions": [{"type": "a b", "status": "x"}]},
    {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c-1"}]}, {"hostIP": "1.1.1.1"},
)  # fmt: skip
