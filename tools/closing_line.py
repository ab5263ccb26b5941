"""Add up what the test runs of `make ci` came to: "N passed, N failed, N skipped in N s".

``python3 tools/closing_line.py .reports``

The folder holds what pytest's ``--junit-xml`` wrote. A run that did not get as far as writing its
file is not counted; its failure is the exit status of `make ci`.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def main() -> int:
    """Print the line; return 1 if a test failed or none ran."""
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    seconds = 0.0
    for report in sorted(Path(sys.argv[1]).glob("*.xml")):
        for suite in ET.parse(str(report)).getroot().iter("testsuite"):
            seconds += float(suite.get("time", "0"))
            for name in counts:
                counts[name] += int(suite.get(name, "0"))
    failed = counts["failures"] + counts["errors"]
    passed = counts["tests"] - failed - counts["skipped"]
    print(
        "{} passed, {} failed, {} skipped in {:.0f} s".format(
            passed, failed, counts["skipped"], seconds
        )
    )
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
