"""Start etcd and kube-apiserver until interrupted: ``python -m tests.real_parts [--port N]``."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from tests.real_parts.binaries import AbsentBinaryError
from tests.real_parts.control_plane import FailedStartError, running


def main() -> int:
    """Start the server, print its address, and wait for SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_parts")
    parser.add_argument(
        "--port", type=int, default=0, help="of kube-apiserver; default: a free one"
    )
    parser.add_argument("flags", nargs="*", help="further flags of kube-apiserver, after --")
    parsed = parser.parse_args()
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with running(*parsed.flags, port=parsed.port) as plane:
            print(f"{plane.address}  logs in {plane.folder}", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        return 0
    except (AbsentBinaryError, FailedStartError) as error:
        print(error, file=sys.stderr)
        return 3
    return 0


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
