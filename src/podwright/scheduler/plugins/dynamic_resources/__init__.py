"""DynamicResources: devices requested with resource claims.

**What it does.** For each node it searches devices for all claims of the pod that have no
allocation yet: devices that the selectors of the class and of the request select, that are free,
and that satisfy the constraints of the claim. Nodes without a solution are rejected. A claim that
is allocated restricts its pods to the nodes that can use its devices. Nodes with earlier
alternatives of a prioritized list score higher. Reserve counts the devices of the chosen node, and
PreBind writes them into the claims and reserves the claims for the pod. If no node fits because an
allocated claim is unusable, PostFilter frees its devices.

An extended resource that a DeviceClass backs (feature gate DRAExtendedResource) is requested from
nodes that do not have it as an allocatable amount through a claim that the plugin creates.

**Why it matters.** GPUs, network devices and partitions of them are requested this way.

**Configuration.** ``filterTimeout`` (10 s) bounds the search for one node. A search has no clock
here: 100,000 steps stand for a second. ``bindingTimeout`` (600 s) is how long PreBind waits for
the binding conditions of devices.

**Example.** A pod whose claim requests a device with
``device.attributes["gpu.example.com"].memory.isGreaterThan(quantity("80Gi"))`` is rejected on
nodes without such a free device: ``cannot allocate all claims``.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
"""

from podwright.scheduler.plugins.dynamic_resources.plugin import (
    DynamicResources as DynamicResources,
)
