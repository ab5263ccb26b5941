"""The modules of the elements in one script."""

import base64
import gzip
import json
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


def test_a_module_receives_what_another_one_exports():
    script = bundled("data/http_source")
    (imports,) = re.findall(r"^const \{ (.*) \} = module_data_source;$", script, re.MULTILINE)
    (exports,) = re.findall(
        r"^const module_data_source = .*?^return \{ ([^}]*) \};\n\}\)\(\);$",
        script,
        re.MULTILINE | re.DOTALL,
    )
    assert set(imports.strip().split(", ")) <= set(exports.split(", "))
    assert "class RequestError" in script


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


def test_a_report_has_its_data_and_loads_nothing():
    html = report_html(
        ReportData(
            title="a<b",
            timeline=b"line",
            labels={"n1": {"zone": "a"}},
            replies={"/pods": {"items": []}},
            results={"pods": 7},
        )
    ).decode()
    (text,) = re.findall(r'<script type="application/json" id="pw-data">\n(.*)</script>\n', html)
    found = json.loads(text)
    timeline = base64.b64encode(gzip.compress(b"line", mtime=0)).decode()
    assert found == {
        "title": "a<b",
        "labels": {"n1": {"zone": "a"}},
        "replies": {"/pods": {"items": []}},
        "results": {"pods": 7},
        "timeline": timeline,
    }
    assert html.startswith('<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n')
    assert "<title>a&lt;b · podwright</title>" in html
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    assert policy == "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
    assert f"<style>{(PICTURES / 'base.css').read_text(encoding='utf-8')}</style>" in html
    end = html.index("<pw-report></pw-report>\n")
    assert html[end:].startswith('<pw-report></pw-report>\n<script type="module">\nconst module_')
    assert html.endswith("\n</script>\n</html>\n")


def test_the_compressed_timeline_has_no_time():
    html = report_html(ReportData(title="t", timeline=b"line", labels={}, replies={})).decode()
    (timeline,) = re.findall(r'"timeline":"([^"]+)"', html)
    compressed = base64.b64decode(timeline)
    assert gzip.decompress(compressed) == b"line"
    # RFC 1952: zero where there is no time stamp.
    assert compressed[4:8] == bytes(4)
