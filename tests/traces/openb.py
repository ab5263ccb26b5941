"""The trace of a production GPU cluster: its node list and its pod list."""

import lzma
from pathlib import Path

PACKED = Path(__file__).parent
NAMES = ("openb_node_list_all_node.csv", "openb_pod_list_default.csv")
POD_COUNT = 8_152


def unpacked(folder: Path) -> list[Path]:
    """Write the two lists to a folder and return their paths."""
    paths = [folder / name for name in NAMES]
    for path in paths:
        path.write_bytes(lzma.decompress((PACKED / f"{path.name}.xz").read_bytes()))
    return paths
