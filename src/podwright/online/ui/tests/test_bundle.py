"""The modules of the elements in one script."""

import base64
import gzip
import re

import pytest

from podwright.online.ui.bundle import PICTURES, bundled, imported
from podwright.online.ui.report import ReportData, report_html

MODULES = sorted(
    file.relative_to(PICTURES).with_suffix("").as_posix() for file in PICTURES.glob("*/*.js")
)
STATEMENT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
KNOWN = re.compile(
    r'import (?:\{[^}]*\} from )?"\.{1,2}/[\w/-]+\.js";|import \{$|'
    r"export (?:(?:async )?function|class|const|let) \w+.*"
)


@pytest.mark.parametrize("name", MODULES)
def test_imports_and_exports_have_the_forms_that_are_bundled(name):
    text = (PICTURES / f"{name}.js").read_text(encoding="utf-8")
    others = [line for line in STATEMENT.findall(text) if not KNOWN.fullmatch(line)]
    assert others == []


def test_a_bundle_has_each_module_once_and_after_its_imports():
    script = bundled("elements/pw-report")
    assert not STATEMENT.search(script)
    defined = re.findall(r"^const (module_\w+) = \(\(\) =>", script, re.MULTILINE)
    assert len(defined) == len(set(defined))
    for name in defined:
        first = re.search(rf"\b{name}\b", script)
        assert first is not None
        assert first.start() == script.index(f"const {name} =") + len("const ")


def test_imported_modules_are_those_of_modules_too():
    found = imported("data/early_state")
    assert found[-2:] == ["data/model", "data/early_state"]
    assert {"data/address", "data/timeline_reader"} < set(found)


def test_data_cannot_end_the_element_that_has_it():
    hostile = "</script><script>alert(1)</script>"
    html = report_html(
        ReportData(title=hostile, timeline=b"", labels={hostile: {}}, replies={hostile: hostile})
    ).decode()
    assert hostile not in html
    assert html.count("</script>") == 2


def test_the_compressed_timeline_has_no_time():
    html = report_html(ReportData(title="t", timeline=b"line", labels={}, replies={})).decode()
    (timeline,) = re.findall(r'"timeline":"([^"]+)"', html)
    compressed = base64.b64decode(timeline)
    assert gzip.decompress(compressed) == b"line"
    # RFC 1952: zero where there is no time stamp.
    assert compressed[4:8] == bytes(4)
