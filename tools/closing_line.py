"""Add up what the test runs of `make ci` came to, and what they left out.

``python3 tools/closing_line.py .reports``

The folder holds what pytest's ``--junit-xml`` wrote, and in ``collected*.txt`` the names of all
tests. A run that did not get as far as writing its file is not counted; its failure is the exit
status of `make ci`. The line is "N passed, N failed, N skipped in N s; not run: N of N tests in
FOLDER, ...".
"""

import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path


def main(folder: Path) -> int:
    """Print the line; return 1 if a test failed or none ran."""
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    seconds = 0.0
    ran: set[tuple[str, str]] = set()
    for report in sorted(folder.glob("*.xml")):
        for suite in ET.parse(str(report)).getroot().iter("testsuite"):
            seconds += float(suite.get("time", "0"))
            for name in counts:
                counts[name] += int(suite.get(name, "0"))
            for case in suite.iter("testcase"):
                if case.find("skipped") is None:
                    ran.add((case.get("classname", ""), case.get("name", "")))
    failed = counts["failures"] + counts["errors"]
    passed = counts["tests"] - failed - counts["skipped"]
    absent = not_run(sorted(folder.glob("collected*.txt")), ran)
    print(
        "{} passed, {} failed, {} skipped in {:.0f} s; not run: {}".format(
            passed, failed, counts["skipped"], seconds, absent
        )
    )
    return 0 if passed and not failed else 1


def not_run(collected: list[Path], ran: set[tuple[str, str]]) -> str:
    """Return how many of the collected tests are not among those that ran, by folder."""
    if not collected:
        return "unknown, since the tests were not collected"
    tests = [line for each in collected for line in each.read_text(encoding="utf-8").splitlines()]
    of_all = Counter(map(folder_of, tests))
    absent = Counter(folder_of(test) for test in tests if name_in_report(test) not in ran)
    parts = (f"{count} of {of_all[at]} tests in {at}" for at, count in sorted(absent.items()))
    return ", ".join(parts) or "nothing"


def folder_of(test: str) -> str:
    """Return the folder in ``tests`` or ``src/podwright``, or the file."""
    parts = test.partition("::")[0].split("/")
    depth = 3 if parts[0] == "src" else 2
    return "/".join(parts[:depth])


def name_in_report(test: str) -> tuple[str, str]:
    """Return class and name of a test as pytest writes them into its reports."""
    name, bracket, parameters = test.partition("[")
    parts = name.split("::")
    parts[0] = parts[0].replace("/", ".")
    parts[0] = re.sub(r"\.py$", "", parts[0])
    return ".".join(parts[:-1]), parts[-1] + bracket + parameters


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
