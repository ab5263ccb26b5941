"""The errors of annotations and of the rest of pods: a row is a part, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.tests.pod_errors import (
    CLAIM,
    COST,
    MIRROR,
    TOLERATIONS,
    files,
    host,
    least,
    most,
    of_notes,
    of_spec,
)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (({MIRROR: "a"}, {}),
         ['[kubernetes.io/config.mirror]: Invalid value: "a": must set spec.nodeName if'
          " mirror pod annotation is set"]),
        (({MIRROR: "a"}, {"nodeName": "n"}), []),
        (({MIRROR: "a"}, {"nodeName": "n", "resourceClaims": [{"name": "r",
         "resourceClaimName": "c"}]}),
         [": Forbidden: static pods do not support resource claims"]),
        (({COST: "x"}, {}),
         ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "x": must be a 32bit'
          " integer"]),
        (({COST: "2147483648"}, {}),
         ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "2147483648": must be'
          " a 32bit integer"]),
        (({COST: "-2147483648"}, {}), []),
        (({COST: "+1"}, {}),
         ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit'
          " integer"]),
        (({COST: "01"}, {}),
         ['[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "01": must be a 32bit'
          " integer"]),
        (({TOLERATIONS: "x"}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": invalid character'
          " 'x' looking for beginning of value"]),
        (({TOLERATIONS: "null"}, {}), []),
        (({TOLERATIONS: "true"}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal bool into Go value of type []core.Toleration"]),
        (({TOLERATIONS: "[1]"}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal number into Go value of type core.Toleration"]),
        (({TOLERATIONS: '[null, {"key": "a", "operator": 1}]'}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal number into Go struct field Toleration.Operator of type"
          " core.TolerationOperator"]),
        (({TOLERATIONS: '[{"key": "a", "operator": "Exists", "tolerationSeconds": "1"}]'},
         {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal string into Go struct field Toleration.TolerationSeconds of type int64"]),
        (({TOLERATIONS: '[{"key": "a", "effect": [], "value": {}}]'}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal object into Go struct field Toleration.Value of type string"]),
        (({TOLERATIONS: '[{"operator": "x"}]'}, {}),
         ['.scheduler.alpha.kubernetes.io/tolerations[0].operator: Invalid value: "x":'
          ' operator must be Exists when `key` is empty, which means "match all values and'
          ' all keys"',
          '.scheduler.alpha.kubernetes.io/tolerations[0].operator: Unsupported value: "x":'
          ' supported values: "Equal", "Exists"']),
        (({TOLERATIONS: '[{"key": "a", "operator": "Exists"}]'}, {}), []),
        (({TOLERATIONS: '[{"key": 1}]'}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal number into Go struct field Toleration.Key of type string"]),
        (({TOLERATIONS: '[{"key": "a", "effect": 1}]'}, {}),
         [': Invalid value: "scheduler.alpha.kubernetes.io/tolerations": json: cannot'
          " unmarshal number into Go struct field Toleration.Effect of type core.TaintEffect"]),
        (({MIRROR: "a"}, {"nodeName": "n", "resourceClaims": [{"name": "r",
         "resourceClaimName": "c"}, {"name": "s", "resourceClaimName": "c"}]}),
         [": Forbidden: static pods do not support resource claims",
          ": Forbidden: static pods do not support resource claims"]),
        (({"seccomp.security.alpha.kubernetes.io/pod": "x", "a": "b"}, {}),
         ['.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid'
          " seccomp profile"]),
        (({"container.seccomp.security.alpha.kubernetes.io/c": "x",
         "container.apparmor.security.beta.kubernetes.io/c": "y"}, {}),
         ['.container.seccomp.security.alpha.kubernetes.io/c: Invalid value: "x": must be a'
          " valid seccomp profile",
          '[container.apparmor.security.beta.kubernetes.io/c]: Invalid value: "y": invalid'
          ' AppArmor profile name: "y"']),
        (({"container.apparmor.security.beta.kubernetes.io/c": "unconfined"},
         {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}),
         ["containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in"
          " annotation and field must match"]),
        (({"a": "b", "container.apparmor.security.beta.kubernetes.io/c": "unconfined"},
         {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}),
         ["containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in"
          " annotation and field must match"]),
    ],
)  # fmt: skip
def test_annotations_of_pods(row: Any, expected: list[str]) -> None:
    assert of_notes(*row) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"resourceClaims": [{}, {"name": "A"}]},
         ["resourceClaims[0].name: Required value",
          "resourceClaims[0]: Invalid value:"
          ' {"Name":"","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must'
          " specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
          'resourceClaims[1].name: Invalid value: "A": LABEL',
          "resourceClaims[1]: Invalid value:"
          ' {"Name":"A","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must'
          " specify one of: `resourceClaimName`, `resourceClaimTemplateName`"]),
        ({"resourceClaims": [{"name": "a", "resourceClaimName": "b"}] * 2},
         ['resourceClaims[1].name: Duplicate value: "a"']),
        ({"resourceClaims": [{"name": "a", "resourceClaimName": "b",
         "resourceClaimTemplateName": "c"}]},
         ["resourceClaims[0]: Invalid value:"
          ' {"Name":"a","ResourceClaimName":"b","ResourceClaimTemplateName":"c"}: at most one'
          " of `resourceClaimName` or `resourceClaimTemplateName` may be specified"]),
        ({"resourceClaims": [{"name": "a", "resourceClaimName": "B"}, {"name": "b",
         "resourceClaimTemplateName": "C"}]},
         ['resourceClaims[0].resourceClaimName: Invalid value: "B": SUBDOMAIN',
          'resourceClaims[1].resourceClaimTemplateName: Invalid value: "C": SUBDOMAIN']),
        ({"os": {"name": "windows"}, "resources": {"limits": {"cpu": "1"}}},
         ["resources: Forbidden: may not be set for a windows pod"]),
        ({"resources": {"claims": [], "limits": {"cpu": "1"}}},
         ["resources.claims: Forbidden: claims may not be set for Resources at pod-level"]),
        ({"resources": {"requests": {"cpu": "1"}}, "containers": [least("a", cpu="600m"),
         least("b", cpu="500m")]},
         ['resources.requests[cpu]: Invalid value: "1": must be greater than or equal to'
          " aggregate container requests of 1100m"]),
        ({"resources": {"requests": {"cpu": "1"}}, "containers": [least("a", cpu="600m"),
         least("b", cpu="400m")]},
         []),
        ({"resources": {"requests": {"memory": "1Gi"}}, "containers": [least("a",
         memory="2Gi")]},
         ['resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to'
          " aggregate container requests of 2Gi"]),
        ({"resources": {"requests": {"memory": "1Gi"}}, "containers": [least("a")],
         "initContainers": [least("b", memory="2G")]},
         ['resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to'
          " aggregate container requests of 2G"]),
        ({"resources": {"limits": {"cpu": "1"}}, "containers": [most("a", cpu="2"), most("b",
         cpu="1")]},
         ['resources.requests: Invalid value: "3": must be less than or equal to cpu limit of'
          " 1",
          'resources.containers[0][cpu].limits: Invalid value: "2": must be less than or'
          " equal to pod limits of 1"]),
        ({"resources": {"limits": {"cpu": "2"}}, "containers": [most("a", cpu="2"), most("b",
         cpu="1")]},
         ['resources.requests: Invalid value: "3": must be less than or equal to cpu limit of'
          " 2"]),
        ({"resources": {"limits": {"x": "1", "cpu": "-1"}, "requests": {"a/b": "1"}}},
         ['resources.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
          'resources.limits[x]: Invalid value: "x": must be a standard resource type or fully'
          " qualified",
          'resources.requests[a/b]: Unsupported value: "a/b": supported values: "cpu",'
          ' "hugepages-", "memory"',
          "resources.limits: Required value: Limit must be set for non overcommitable"
          " resources",
          'resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        ({"hostUsers": False, "hostNetwork": True, "hostPID": True, "hostIPC": True},
         ["hostNetwork: Forbidden: when `hostUsers` is false",
          "HostPID: Forbidden: when `hostUsers` is false",
          "HostIPC: Forbidden: when `hostUsers` is false"]),
        ({"hostUsers": False, "hostPID": True}, ["HostPID: Forbidden: when `hostUsers` is false"]),
        ({"hostUsers": True, "hostPID": True}, []),
        ({"hostnameOverride": "a", "setHostnameAsFQDN": True, "hostNetwork": True},
         ["hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
          "hostnameOverride: Forbidden: may not be specified when hostNetwork is true"]),
        ({"hostnameOverride": "A"}, ['hostnameOverride: Invalid value: "A": SUBDOMAIN']),
        ({"os": {}}, ["os.name: Required value"]),
        ({"os": {"name": "x"}},
         ['os: Unsupported value: "x": supported values: "linux", "windows"']),
        ({"os": {"name": "linux"}, **host(value=False)},
         ["securityContext.windowsOptions: Forbidden: windows options cannot be set for a"
          " linux pod"]),
        ({"os": {"name": "windows"}, "hostPID": True, "hostIPC": False, "hostUsers": False,
         "shareProcessNamespace": False, "securityContext": {"runAsUser": 0, "fsGroup": 1,
         "seLinuxOptions": {}, "supplementalGroups": []}},
         ["HostPID: Forbidden: when `hostUsers` is false",
          "securityContext.seLinuxOptions: Forbidden: cannot be set for a windows pod",
          "hostUsers: Forbidden: cannot be set for a windows pod",
          "hostPID: Forbidden: cannot be set for a windows pod",
          "securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
          "shareProcessNamespace: Forbidden: cannot be set for a windows pod",
          "securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
          "securityContext.supplementalGroups: Forbidden: cannot be set for a windows pod"]),
        ({"os": {"name": "windows"}, "containers": [{"name": "c", "image": "a",
         "securityContext": { "privileged": False, "capabilities": {}, "runAsUser": 1,
         "procMount": "Default"}}]},
         ["containers[0].securityContext.capabilities: Forbidden: cannot be set for a windows"
          " pod",
          "containers[0].securityContext.privileged: Forbidden: cannot be set for a windows"
          " pod",
          "containers[0].securityContext.procMount: Forbidden: cannot be set for a windows pod",
          "containers[0].securityContext.runAsUser: Forbidden: cannot be set for a windows pod"]),
        ({"schedulingGroup": {}},
         ["schedulingGroup.podGroupName: Invalid value: null: must specify one of:"
          " `podGroupName`"]),
        ({"schedulingGroup": {"podGroupName": "A"}},
         ['schedulingGroup.podGroupName: Invalid value: "A": SUBDOMAIN']),
        ({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name":
         "m"}}], "containers": [{"name": "c", "image": "a", **files("v", "w", "x")}]},
         ['containers[0].env[1].valueFrom.fileKeyRef.volumeName: Invalid value: "w":'
          " referenced volume must be of type emptyDir",
          'containers[0].env[2].valueFrom.fileKeyRef.volumeName: Not found: "x"']),
        ({"volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}},
         {"emptyDir": {}}]},
         ['volumes[1].name: Duplicate value: "a"',
          "volumes[2].name: Required value"]),
        ({"volumes": [{"name": "a"}, {"name": "B", "emptyDir": {}, "hostPath": {"path":
         "/a"}}]},
         ["volumes[1].hostPath: Forbidden: may not specify more than 1 volume type",
          'volumes[1].name: Invalid value: "B": LABEL']),
        ({"volumes": [{"name": "a", "ephemeral": {"volumeClaimTemplate": CLAIM}}, {"name":
         "b", "persistentVolumeClaim": {"claimName": "x-a"}}]},
         ['volumes[1].persistentVolumeClaim.claimName: Invalid value: "x-a": must not'
          " reference a PVC that gets created for an ephemeral volume"]),
        ({"volumes": [{"name": "a" * 63, "ephemeral": {"volumeClaimTemplate": CLAIM}}]}, []),
        ({"ephemeralContainers": [{"name": "c", "image": "a"}]},
         ['ephemeralContainers[0].name: Duplicate value: "c"',
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": " a ", "targetContainerName": "x"}]},
         ['ephemeralContainers[0].image: Invalid value: " a ": must not have leading or'
          " trailing whitespace",
          'ephemeralContainers[0].targetContainerName: Not found: "x"',
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a", "targetContainerName": "c",
         "ports": [], "resources": {"limits": {"cpu": "1"}}, "lifecycle": {}}]},
         ["ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
          "ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral"
          " Container",
          "ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral"
          " Container",
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a", "volumeMounts": [{"name": "v",
         "mountPath": "/a", "subPath": "b", "subPathExpr": "c"}]}], "volumes": [{"name": "v",
         "emptyDir": {}}]},
         ['ephemeralContainers[0].volumeMounts[0].subPathExpr: Invalid value: "c":'
          " subPathExpr and subPath are mutually exclusive",
          "ephemeralContainers[0].volumeMounts[0].subPath: Forbidden: cannot be set for an"
          " Ephemeral Container",
          "ephemeralContainers[0].volumeMounts[0].subPathExpr: Forbidden: cannot be set for"
          " an Ephemeral Container",
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a", "livenessProbe": None}]},
         ["ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a"}, {"name": "e", "image": "a"}]},
         ['ephemeralContainers[1].name: Duplicate value: "e"',
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"initContainers": [{"name": "c", "image": "a"}, {"name": "i", "image": "a",
         "lifecycle": { "preStop": {"exec": {"command": ["a"]}}}, "livenessProbe":
         {"tcpSocket": {"port": 1}}}]},
         ['initContainers[0].name: Duplicate value: "c"',
          "initContainers[1].lifecycle: Forbidden: may not be set for init containers without"
          " restartPolicy=Always",
          "initContainers[1].livenessProbe: Forbidden: may not be set for init containers"
          " without restartPolicy=Always"]),
        ({"initContainers": [{"name": "i", "image": "a", "restartPolicy": "Always",
         "readinessProbe": { "tcpSocket": {"port": 0}}}, {"name": "j", "image": "a",
         "restartPolicy": "Never"}]},
         ["initContainers[0].readinessProbe.tcpSocket.port: Invalid value: 0: must be between"
          " 1 and 65535, inclusive"]),
        ({"containers": []}, ["containers: Required value"]),
        ({"restartPolicy": "x", "dnsPolicy": "y", "terminationGracePeriodSeconds": -1},
         ['restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure",'
          ' "Never"',
          'dnsPolicy: Unsupported value: "y": supported values: "ClusterFirstWithHostNet",'
          ' "ClusterFirst", "Default", "None"']),
        ({"activeDeadlineSeconds": 0, "hostname": "A", "subdomain": "B", "nodeName": "C"},
         ['nodeName: Invalid value: "C": SUBDOMAIN',
          "activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647,"
          " inclusive",
          'hostname: Invalid value: "A": LABEL',
          'subdomain: Invalid value: "B": LABEL']),
        ({"activeDeadlineSeconds": 2**31, "serviceAccountName": "A", "priorityClassName":
         "B"},
         ['serviceAccountName: Invalid value: "A": SUBDOMAIN',
          "activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and"
          " 2147483647, inclusive",
          'priorityClassName: Invalid value: "B": SUBDOMAIN']),
        ({"dnsPolicy": "None"},
         ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
        ({"dnsConfig": {"nameservers": ["a", "1.1.1.1", "1", "2"], "searches": ["-"],
         "options": [{}]}},
         ['dnsConfig.nameservers: Invalid value: ["a","1.1.1.1","1","2"]: must not have more'
          " than 3 nameservers",
          'dnsConfig.nameservers[0]: Invalid value: "a": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)",
          'dnsConfig.nameservers[2]: Invalid value: "1": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)",
          'dnsConfig.nameservers[3]: Invalid value: "2": must be a valid IP address, (e.g.'
          " 10.9.8.7 or 2001:db8::ffff)",
          'dnsConfig.searches[0]: Invalid value: "-": a lowercase RFC 1123 subdomain must'
          " consist of lower case alphanumeric characters, '_', '-' or '.', and must start"
          " and end with an alphanumeric character (e.g. 'example.com', regex used for"
          " validation is"
          " '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
          "dnsConfig.options[0]: Required value: must not be empty"]),
        ({"hostAliases": [{"ip": "a", "hostnames": ["A"]}, {"hostnames": ["a"]}]},
         ['hostAliases[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7'
          " or 2001:db8::ffff)",
          'hostAliases[0].hostnames[0]: Invalid value: "A": SUBDOMAIN',
          'hostAliases[1].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7'
          " or 2001:db8::ffff)"]),
        ({"readinessGates": [{}, {"conditionType": "-"}], "imagePullSecrets": [{}, {"name":
         "A"}]},
         ['readinessGates[0].conditionType: Invalid value: "": name part must be non-empty',
          'readinessGates[0].conditionType: Invalid value: "": NAME PART',
          'readinessGates[1].conditionType: Invalid value: "-": NAME PART']),
        ({"schedulingGates": [{"name": ""}, {"name": "a"}, {"name": "a"}, {"name": "-"}]},
         ['schedulingGates[0]: Invalid value: "": name part must be non-empty',
          'schedulingGates[0]: Invalid value: "": NAME PART',
          'schedulingGates[2]: Duplicate value: "a"',
          'schedulingGates[3]: Invalid value: "-": NAME PART']),
        ({"overhead": {"cpu": "-1", "x": "1"}, "runtimeClassName": "A", "preemptionPolicy":
         "x"},
         ['runtimeClassName: Invalid value: "A": SUBDOMAIN',
          'preemptionPolicy: Unsupported value: "x": supported values:'
          ' "PreemptLowerPriority", "Never"',
          'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
          'overhead.limits[x]: Invalid value: "x": must be a standard resource type or fully'
          " qualified",
          'overhead.limits[x]: Invalid value: "x": must be a standard resource for containers']),
        ({"tolerations": [{"key": "-"}, {"operator": "Equal"}, {"operator": "Exists", "value":
          "a", "key": "a"}, {"key": "a", "operator": "x"}, {"key": "a", "effect": "x"}]},
         ['tolerations[0].key: Invalid value: "-": NAME PART',
          'tolerations[1].operator: Invalid value: "Equal": operator must be Exists when'
          ' `key` is empty, which means "match all values and all keys"',
          'tolerations[2].operator: Invalid value: "a": value must be empty when `operator`'
          " is 'Exists'",
          'tolerations[3].operator: Unsupported value: "x": supported values: "Equal",'
          ' "Exists"',
          'tolerations[4].effect: Unsupported value: "x": supported values: "NoSchedule",'
          ' "PreferNoSchedule", "NoExecute"']),
        ({"tolerations": [{"key": "a", "value": "-"}, {"key": "a", "tolerationSeconds": 1},
         {"key": "a", "tolerationSeconds": 1, "effect": "NoExecute"}]},
         ['tolerations[0].operator: Invalid value: "-": a valid label must be an empty string'
          " or consist of alphanumeric characters, '-', '_' or '.', and must start and end"
          " with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345',"
          " regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
          "tolerations[1].effect: Invalid value: \"\": effect must be 'NoExecute' when"
          " `tolerationSeconds` is set"]),
        ({"topologySpreadConstraints": [{}, {"maxSkew": 0, "topologyKey": "-",
         "whenUnsatisfiable": "x"}]},
         ["topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
          "topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
          'topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported'
          ' values: "DoNotSchedule", "ScheduleAnyway"',
          "topologySpreadConstraints[1].maxSkew: Invalid value: 0: must be greater than zero",
          'topologySpreadConstraints[1].whenUnsatisfiable: Unsupported value: "x": supported'
          ' values: "DoNotSchedule", "ScheduleAnyway"']),
        ({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "a",
         "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 0, "nodeAffinityPolicy": "x",
         "nodeTaintsPolicy": "y", "matchLabelKeys": ["a"]}] * 2},
         ["topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value:"
          ' "{a, ScheduleAnyway}"',
          "topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than"
          " zero",
          "topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains"
          " if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
          'topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: "x": supported'
          ' values: "Honor", "Ignore"',
          'topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "y": supported'
          ' values: "Honor", "Ignore"',
          "topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when"
          " labelSelector is not set",
          "topologySpreadConstraints[1].minDomains: Invalid value: 0: must be greater than"
          " zero",
          "topologySpreadConstraints[1].minDomains: Invalid value: 0: can only use minDomains"
          " if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
          'topologySpreadConstraints[1].nodeAffinityPolicy: Unsupported value: "x": supported'
          ' values: "Honor", "Ignore"',
          'topologySpreadConstraints[1].nodeTaintsPolicy: Unsupported value: "y": supported'
          ' values: "Honor", "Ignore"',
          "topologySpreadConstraints[1].matchLabelKeys: Forbidden: must not be specified when"
          " labelSelector is not set"]),
        ({"nodeSelector": {"-": "-"}},
         ['nodeSelector: Invalid value: "-": NAME PART',
          'nodeSelector: Invalid value: "-": a valid label must be an empty string or consist'
          " of alphanumeric characters, '-', '_' or '.', and must start and end with an"
          " alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used"
          " for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"]),
        ({"containers": [{"image": "a"}, {"image": "a"}]},
         ["containers[0].name: Required value",
          "containers[1].name: Required value",
          'containers[1].name: Duplicate value: ""']),
        ({"containers": [{"image": "a"}], "initContainers": [{"image": "a"}]},
         ["containers[0].name: Required value",
          "initContainers[0].name: Required value",
          'initContainers[0].name: Duplicate value: ""']),
        ({"initContainers": [{"image": "a"}, {"image": "a"}]},
         ["initContainers[0].name: Required value",
          "initContainers[1].name: Required value"]),
        ({"containers": None, "initContainers": [{"name": "i", "image": "a"}]},
         ["containers: Required value"]),
        ({"initContainers": [{"name": "i", "image": "a"}, {"name": "j", "image": "a", "ports":
         [{"containerPort": 1, "hostPort": 2}, {"containerPort": 3, "hostPort": 2}]}]},
         ['initContainers[0].ports[1].hostPort: Duplicate value: "TCP//2"']),
        ({"initContainers": [{"name": "i", "image": "a", "restartPolicy": "Always", "lifecycle":
         {"preStop": {}}, "resizePolicy": [{"resourceName": "cpu", "restartPolicy":
         "RestartContainer"}]}]},
         ["initContainers[0].lifecycle.preStop: Required value: must specify a handler type"]),
        ({"initContainers": [{"name": "i", "image": "a", "resizePolicy": [{"resourceName": "cpu",
         "restartPolicy": "NotRequired"}, {"resourceName": "memory", "restartPolicy":
         "RestartContainer"}]}]},
         ["initContainers[0].resizePolicy[1].restartPolicy: Invalid value:"
          " \"RestartContainer\": must not be set to 'RestartContainer' for non-sidecar"
          " initContainers"]),
        ({"initContainers": [{"name": "i", "image": "a", "startupProbe": {"tcpSocket": {"port": 1}},
         "readinessProbe": {"tcpSocket": {"port": 1}}}]},
         ["initContainers[0].readinessProbe: Forbidden: may not be set for init containers"
          " without restartPolicy=Always",
          "initContainers[0].startupProbe: Forbidden: may not be set for init containers"
          " without restartPolicy=Always"]),
        ({"restartPolicy": "Never", "containers": [{"name": "c", "image": "a", "resizePolicy":
         [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}, {"resourceName": "memory",
         "restartPolicy": "NotRequired"}]}]},
         ['containers[0].resizePolicy: Invalid value: "RestartContainer": must be'
          " 'NotRequired' when pod `restartPolicy` is 'Never'"]),
        ({"os": {"name": "linux"}, "containers": [{"name": "c", "image": "a", "lifecycle":
         {"stopSignal": "SIGRTMIN+15"}}, {"name": "d", "image": "a", "lifecycle": {"stopSignal":
         "SIGRTMAX-14"}}]},
         []),
        ({"os": {"name": "linux"}, "containers": [{"name": "c", "image": "a", "lifecycle":
         {"stopSignal": "SIGRTMAX-15"}}]},
         ['containers[0].lifecycle.stopSignal: Unsupported value: "SIGRTMAX-15": supported'
          ' values: "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE",'
          ' "SIGHUP", "SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL",'
          ' "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10",'
          ' "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2",'
          ' "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7",'
          ' "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10",'
          ' "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15",'
          ' "SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6",'
          ' "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP",'
          ' "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG",'
          ' "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"']),
        ({"os": {"name": "windows"}, "containers": [{"name": "c", "image": "a", "lifecycle":
         {"stopSignal": "SIGKILL"}}, {"name": "d", "image": "a", "lifecycle": {"stopSignal":
         "SIGINT"}}]},
         ['containers[1].lifecycle.stopSignal: Unsupported value: "SIGINT": supported values:'
          ' "SIGKILL", "SIGTERM"']),
        ({"os": {}, "containers": [{"name": "c", "image": "a", "lifecycle": {"stopSignal":
         "SIGINT"}}]},
         ["os.name: Required value"]),
        ({"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "a",
         "lifecycle": {"preStop": {"sleep": {}}}}]},
         []),
        ({"hostNetwork": True, "containers": [{"name": "c", "image": "a", "ports":
         [{"containerPort": 1}, {"containerPort": 2, "hostPort": 3}, {"hostPort": 4}]}]},
         ["containers[0].ports[2].containerPort: Required value",
          "containers[0].ports[1].hostPort: Invalid value: 3: must match `containerPort` when"
          " `hostNetwork` is true",
          "containers[0].ports[2].hostPort: Invalid value: 4: must match `containerPort` when"
          " `hostNetwork` is true"]),
        ({"resourceClaims": [{"resourceClaimName": "a"}, {"resourceClaimName": "a"}]},
         ["resourceClaims[0].name: Required value",
          "resourceClaims[1].name: Required value"]),
        ({"resources": {"requests": {"memory": "1Gi", "cpu": "1000m"}}, "containers": [least("a",
         memory="2Gi", cpu="2000m")]},
         ['resources.requests[cpu]: Invalid value: "1": must be greater than or equal to'
          " aggregate container requests of 2",
          'resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to'
          " aggregate container requests of 2Gi"]),
        ({"resources": {"limits": {"memory": "1024Mi", "cpu": "1000m"}, "requests":
         {"memory": "1Gi", "cpu": "1"}}, "containers": [most("a", memory="2048Mi", cpu="2000m")]},
         ['resources.requests[cpu]: Invalid value: "1": must be greater than or equal to'
          " aggregate container requests of 2",
          'resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to'
          " aggregate container requests of 2Gi",
          'resources.containers[0][cpu].limits: Invalid value: "2": must be less than or'
          " equal to pod limits of 1",
          'resources.containers[0][memory].limits: Invalid value: "2Gi": must be less than or'
          " equal to pod limits of 1Gi"]),
        ({"resources": {"limits": {"hugepages-2Mi": "2Mi", "cpu": "1"}}, "containers": [most("a",
         **{"hugepages-2Mi": "4Mi", "cpu": "1"})]},
         ['resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or'
          " equal to aggregate container requests of 4Mi",
          'resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or'
          " equal to aggregate container limits of 4Mi",
          'resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": must be less'
          " than or equal to pod limits of 2Mi"]),
        ({"resources": {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}, "containers": [most("a",
         **{"hugepages-2Mi": "4Mi", "cpu": "1"})]},
         []),
        ({"resources": {"requests": {"memory": "1Gi"}}, "containers": [{"name": "b", "image": "a"},
         least("a", cpu="2", memory="2Gi")]},
         ['resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to'
          " aggregate container requests of 2Gi"]),
        ({"resources": {"requests": {"memory": "1Gi"}}, "containers": [least("a", memory="0"),
         least("b", memory="2Gi")]},
         ['resources.requests[memory]: Invalid value: "1Gi": must be greater than or equal to'
          " aggregate container requests of 2Gi"]),
        ({"resources": {"requests": {"cpu": "-1"}}, "containers": [least("a", cpu="0")]},
         ['resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
          'resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to'
          " aggregate container requests of 0"]),
        ({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "0"}}, "containers": None},
         ["containers: Required value"]),
        ({"resources": {"claims": [{"name": "a"}]}, "containers": [least("a", cpu="1")]},
         ["resources.claims: Forbidden: claims may not be set for Resources at pod-level",
          'resources.claims[0]: Not found: "a": must be one of the names in'
          " pod.spec.resourceClaims which is empty"]),
        ({"resources": {"limits": {"cpu": "1"}}, "containers": [{"name": "a", "image": "a",
         "resources": None}, {"name": "b", "image": "a", "resources": {"requests": {"cpu": "1"}}}]},
         []),
        ({"dnsConfig": {"nameservers": ["1.1.1.1"] * 3, "searches": [".", "a.", "b_c"]}}, []),
        ({"dnsConfig": {"searches": ["a"] * 32}}, []),
        ({"dnsConfig": {"searches": ["a" * 99] * 20 + ["a" * 48]}}, []),
        ({"dnsPolicy": "None", "dnsConfig": {"searches": ["-"]}},
         ["dnsConfig.nameservers: Required value: must provide at least one DNS nameserver"
          " when `dnsPolicy` is None"]),
        ({"hostUsers": False, "hostnameOverride": "a", "hostNetwork": True},
         ["hostNetwork: Forbidden: when `hostUsers` is false",
          "hostnameOverride: Forbidden: may not be specified when hostNetwork is true"]),
        ({"hostnameOverride": "a" * 64}, []),
        ({"hostnameOverride": "a" * 64 + "_"},
         ["hostnameOverride: Too long: may not be more than 64 bytes",
          'hostnameOverride: Invalid value: "aa*64_": SUBDOMAIN']),
        ({"initContainers": [{"name": "i", "image": "a"}], "ephemeralContainers": [{"name": "i",
         "image": "a"}, {"name": "e", "image": "a", "targetContainerName": "i"}]},
         ['ephemeralContainers[0].name: Duplicate value: "i"',
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a", "livenessProbe": None, "ports": []}]},
         ["ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"ephemeralContainers": [{"name": "e", "image": "a", "resources": {"claims": [{"name":
         "r"}]}, "volumeMounts": [{"name": "v", "mountPath": "/a"}]}], "resourceClaims":
         [{"name": "r", "resourceClaimName": "c"}], "volumes": [{"name": "v", "emptyDir": {}}]},
         ["ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral"
          " Container",
          "ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"dnsConfig": {"searches": ["a"] * 33}},
         ["dnsConfig.searches: Invalid value:"
          ' ["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a'
          '","a","a","a","a","a","a","a","a","a","a","a","a","a","a"]:'
          " must not have more than 32 search paths"]),
        ({"dnsConfig": {"searches": ["a" * 99] * 20 + ["a" * 49]}},
         ["dnsConfig.searches: Invalid value:"
          ' ["aa*98a","aa*98a","aa*98a","aa*98a","aa*98a","aa*98a","aa*98a","aa*98a","a'
          'a*98a","aa*98a","aa*98a","aa*98a","aa*98a","aa*98a","aa*98a","aa*98a","aa*98'
          'a","aa*98a","aa*98a","aa*98a","a*49"]:'
          " must not have more than 2048 characters (including spaces) in the search list"]),
        ({"volumes": [{"name": "v", "downwardAPI": {}, "cephfs": {}, "emptyDir": {}}]},
         ["volumes[0].cephFS: Forbidden: may not specify more than 1 volume type",
          "volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type"]),
        ({"volumes": [{"name": "a", "ephemeral": {"volumeClaimTemplate": CLAIM}}, {"name": "w",
         "emptyDir": {}}, {"name": "b", "persistentVolumeClaim": {"claimName": "x-w"}}]},
         []),
        ({"volumes": [{"ephemeral": {"volumeClaimTemplate": CLAIM}}, {"emptyDir": {}}]},
         ["volumes[0].name: Required value",
          "volumes[1].name: Required value"]),
        ({"securityContext": {"fsGroupChangePolicy": "x", "seccompProfile": {"type": "y"},
         "windowsOptions": {"runAsUserName": ""}, "supplementalGroupsPolicy": "z"}},
         ['securityContext.fsGroupChangePolicy: Unsupported value: "x": supported values:'
          ' "Always", "OnRootMismatch"',
          'securityContext.seccompProfile.type: Unsupported value: "y": supported values:'
          ' "Localhost", "RuntimeDefault", "Unconfined"',
          'securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName'
          " cannot be an empty string",
          'securityContext.supplementalGroupsPolicy: Unsupported value: "z": supported'
          ' values: "Merge", "Strict"']),
        ({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{},
         {"topologyKey": "-"}, {"topologyKey": "a", "mismatchLabelKeys": ["-"], "labelSelector":
         {}}, {"topologyKey": "a", "matchLabelKeys": ["a"], "mismatchLabelKeys": ["b"]}]}}},
         ["affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topol"
          "ogyKey:"
          " Required value: can not be empty",
          "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topol"
          "ogyKey:"
          ' Invalid value: "": name part must be non-empty',
          "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topol"
          "ogyKey:"
          ' Invalid value: "": NAME PART',
          "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[1].topol"
          "ogyKey:"
          ' Invalid value: "-": NAME PART',
          "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[2].misma"
          "tchLabelKeys[0]:"
          ' Invalid value: "-": NAME PART',
          "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[3].match"
          "LabelKeys:"
          " Forbidden: must not be specified when labelSelector is not set",
          "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[3].misma"
          "tchLabelKeys:"
          " Forbidden: must not be specified when labelSelector is not set"]),
        ({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
         [{"topologyKey": "a", "matchLabelKeys": ["b", "q", "q"], "labelSelector": {"matchLabels":
         {"q": "c"}, "matchExpressions": [{"key": "q", "operator": "Exists"}, {"key": "b",
         "operator": "Exists"}, {"key": "z", "operator": "Exists"}, {"key": "z", "operator":
         "Exists"}]}}]}}},
         ["affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][2]: Invalid"
          ' value: "q": exists in both matchLabelKeys and labelSelector']),
    ],
)  # fmt: skip
def test_the_rest_of_pods(row: Any, expected: list[str]) -> None:
    assert of_spec(row) == expected
