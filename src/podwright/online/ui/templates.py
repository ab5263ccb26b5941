"""Examples of the kinds, with which the editor starts a new object."""

from __future__ import annotations

from typing import Final


def template_of(api_version: str, kind: str, namespace: str) -> str:
    """Return the text with which an object of a kind is started.

    Parameters
    ----------
    api_version, kind : str
    namespace : str
        Empty for none.
    """
    name = _NAMES.get(kind, f"my-{kind.lower()}")
    place = f"\n  namespace: {namespace}" if namespace else ""
    rest = _TEMPLATES.get(kind, "")
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}{place}\n{rest}"


_CONTAINER: Final = """\
containers:
- name: main
  image: nginx
  resources:
    requests:
      cpu: 500m
      memory: 256Mi
"""


def _indented(text: str, spaces: int) -> str:
    return "".join(f"{' ' * spaces}{line}\n" for line in text.splitlines())


def _workload(kind: str) -> str:
    return f"""\
spec:
  replicas: 3
  selector:
    matchLabels:
      app: my-{kind}
  template:
    metadata:
      labels:
        app: my-{kind}
    spec:
{_indented(_CONTAINER, 6)}"""


def _binding(kind: str) -> str:
    return f"""\
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: my-{kind.lower()}}}
subjects:
- {{kind: ServiceAccount, namespace: default, name: default}}
"""


_MATCHED: Final = """\
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}"""

_NAMES: Final = {
    "APIService": "v1.example.com",
    "CustomResourceDefinition": "widgets.example.com",
    "IPAddress": "10.96.0.200",
}
"""Of kinds whose names have a form; others are `my-kind`."""

_TEMPLATES: Final = {
    "Pod": f"spec:\n{_indented(_CONTAINER, 2)}",
    "Deployment": _workload("deployment"),
    "ReplicaSet": _workload("replicaset"),
    "StatefulSet": _workload("statefulset"),
    "DaemonSet": _workload("daemonset").replace("  replicas: 3\n", ""),
    "ReplicationController": _workload("replicationcontroller").replace("    matchLabels:\n  ", ""),
    "PodTemplate": f"template:\n  spec:\n{_indented(_CONTAINER, 4)}",
    "Job": f"""\
spec:
  completions: 3
  parallelism: 3
  template:
    spec:
      restartPolicy: Never
{_indented(_CONTAINER, 6)}""",
    "CronJob": f"""\
spec:
  schedule: "*/5 * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
{_indented(_CONTAINER, 10)}""",
    "Node": """\
  labels:
    topology.kubernetes.io/zone: zone-a
spec: {}
status:
  allocatable:
    cpu: "8"
    memory: 32Gi
    pods: "110"
  capacity:
    cpu: "8"
    memory: 32Gi
    pods: "110"
""",
    "PriorityClass": 'value: 1000\nglobalDefault: false\ndescription: ""\n',
    "PodDisruptionBudget": "spec:\n  minAvailable: 1\n  selector: {matchLabels: {app: my-app}}\n",
    "ConfigMap": "data:\n  key: value\n",
    "Service": "spec:\n  selector: {app: my-app}\n  ports:\n  - port: 80\n",
    "EndpointSlice": "addressType: IPv4\nendpoints: []\nports: []\n",
    "Ingress": """\
spec:
  rules:
  - host: example.com
    http:
      paths:
      - path: /
        pathType: Prefix
        backend: {service: {name: my-service, port: {number: 80}}}
""",
    "IngressClass": "spec:\n  controller: example.com/ingress\n",
    "NetworkPolicy": """\
spec:
  podSelector: {matchLabels: {app: my-app}}
  ingress:
  - from:
    - podSelector: {matchLabels: {app: my-client}}
""",
    "IPAddress": "spec:\n  parentRef: {resource: services, namespace: default, name: my-service}\n",
    "ServiceCIDR": "spec:\n  cidrs: [10.100.0.0/16]\n",
    "HorizontalPodAutoscaler": """\
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: my-deployment}
  minReplicas: 1
  maxReplicas: 5
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}
""",
    "PersistentVolumeClaim": """\
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 10Gi}}
""",
    "PersistentVolume": """\
spec:
  accessModes: [ReadWriteOnce]
  capacity: {storage: 10Gi}
  hostPath: {path: /data}
""",
    "StorageClass": "provisioner: csi.example.com\nvolumeBindingMode: WaitForFirstConsumer\n",
    "CSIStorageCapacity": "storageClassName: my-storageclass\ncapacity: 100Gi\nnodeTopology: {}\n",
    "VolumeAttachment": """\
spec:
  attacher: csi.example.com
  nodeName: my-node
  source: {persistentVolumeName: my-persistentvolume}
""",
    "VolumeAttributesClass": 'driverName: csi.example.com\nparameters: {iops: "3000"}\n',
    "ResourceClaim": """\
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: my-deviceclass}
""",
    "ResourceClaimTemplate": """\
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: my-deviceclass}
""",
    "ResourceSlice": """\
spec:
  driver: gpu.example.com
  nodeName: my-node
  pool: {name: my-node, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu-0
""",
    "RuntimeClass": "handler: runc\n",
    "ControllerRevision": "revision: 1\ndata: {}\n",
    "Role": 'rules:\n- {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}\n',
    "ClusterRole": 'rules:\n- {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}\n',
    "RoleBinding": _binding("Role"),
    "ClusterRoleBinding": _binding("ClusterRole"),
    "APIService": """\
spec:
  group: example.com
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: {namespace: default, name: my-service}
""",
    "CustomResourceDefinition": """\
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
""",
    "ValidatingAdmissionPolicy": f"""\
spec:
{_MATCHED}
  validations:
  - expression: object.spec.containers.size() < 5
    message: a pod has at most four containers
""",
    "ValidatingAdmissionPolicyBinding": """\
spec:
  policyName: my-validatingadmissionpolicy
  validationActions: [Deny]
""",
    "MutatingAdmissionPolicy": f"""\
spec:
  reinvocationPolicy: Never
{_MATCHED}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{{metadata: Object.metadata{{labels: {{"mutated": "true"}}}}}}'
""",
    "MutatingAdmissionPolicyBinding": "spec:\n  policyName: my-mutatingadmissionpolicy\n",
    "DeviceCards": "spec:\n  driver: gpu.example.com\n  nodeSelector: {gpu: h100}\n  count: 8\n",
    "FlowSchema": "spec:\n  priorityLevelConfiguration: {name: global-default}\n",
    "PriorityLevelConfiguration": """\
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 30, limitResponse: {type: Reject}}
""",
}
