"""Texts of quantities, and pods whose requests are summed, drawn from a seed."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.real_parts.decisions.generated_hints import HintObjects

Document = dict[str, Any]

_SUFFIXES: Final = (
    "", "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
    "e3", "E3", "e-3", "E-9", "e+2", "e0", "e18", "e-12", "e30", "e-30", "e", "E", "e+", "E-", "K",
    "i", "mi", "ki", "nn", " ", "Bi", "e3k", "e1.5", "µ", "e40", "e-40",
)  # fmt: skip
_NUMBERS: Final = (
    "0", "00", "1", "5", "007", "1.", ".5", ".", "0.1", "1.000000001", "1.0000000001",
    "0.000000001",
    "0.0000000001", "999999999.9999999999", "9223372036854775807", "9223372036854775808",
    "9007199254740993", "92233720368547758.07", "123456789012345678901234567890",
    "1.5", "12.345678",
    "", "1_000", "1,5", "0x10", "\u0661", "1.2.3", "1 ", "4611686018427387904", "8",
    "7.999999999999",
    "1024", "1048576.5", "100000000000000000000", "0.9999999999999999999999",
)  # fmt: skip
_SIGNS: Final = ("", "", "", "", "-", "+", "--", "- ")
_RESOURCES: Final = (
    "cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi", "example.com/gpu",
    "example.com/other", "foo", "pods", "storage", "attachable-volumes-csi-x", "requests.cpu",
    "kubernetes.io/x", "hugepages-", "deviceclass.resource.kubernetes.io/gpu", "requests.a.b/c",
)  # fmt: skip
_AMOUNTS: Final = (
    "0", "1", "100m", "1500m", "0.1", "2", "64Mi", "1Gi", "1n", "100u", "1e3", "1.5", "8Gi",
    "1024", "4Mi", "2G",
)  # fmt: skip


def draw_quantities_case(seed: int) -> Document:
    """Return a case of family quantities."""
    random = Random(f"quantities {seed}")
    texts = [
        random.choice(_SIGNS) + _draw_number(random) + random.choice(_SUFFIXES) for _ in range(25)
    ]
    return {"family": "quantities", "quantities": texts}


def _draw_number(random: Random) -> str:
    if random.random() < 0.5:
        return random.choice(_NUMBERS)
    whole = str(random.randrange(10 ** random.choice([1, 3, 6, 10, 19, 25])))
    if random.random() < 0.5:
        return whole
    places = random.choice([1, 2, 3, 6, 9, 10, 18, 22])
    return f"{whole}.{random.randrange(10**places):0{places}}"


def draw_requests_case(seed: int) -> Document:
    """Return a case of family pod_requests."""
    random = Random(f"requests {seed}")
    pod = HintObjects(f"requests {seed}").placed_pod("p", "default")
    spec, status = pod["spec"], pod["status"]

    def requests(resources: tuple[str, ...] = _RESOURCES) -> dict[str, str]:
        drawn = random.sample(resources, random.randint(0, 3))
        return {name: random.choice(_AMOUNTS) for name in drawn}

    containers = [*spec["containers"], *spec.get("initContainers", [])]
    for container in containers:
        if random.random() < 0.5:
            container["resources"] = {"requests": requests(), "limits": requests()}
    if random.random() < 0.2:
        spec["overhead"] = requests()
    for entry in status.get("containerStatuses", []):
        if random.random() < 0.3:
            entry["resources"] = {"requests": requests()}
            entry["allocatedResources"] = requests()
    if random.random() < 0.25:
        spec["resources"] = {"requests": requests(_RESOURCES[:5])}
        if random.random() < 0.5:
            status["resources"] = {"requests": requests(_RESOURCES[:5])}
        if random.random() < 0.5:
            status["allocatedResources"] = requests(_RESOURCES[:5])
    return {"family": "pod_requests", "pod": pod}
