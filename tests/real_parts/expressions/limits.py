"""Expressions at the limits of each function, and operators on operands of all types."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Final

_ATOMS: Final = (
    "1", "2u", "1.5", "'a'", "b'a'", "true", "null", "[1]", "{'a': 1}", "duration('1s')",
    "timestamp('2024-01-01T00:00:00Z')", "type(1)", "x.driver", "x.absent", "optional.of(1)",
    "quantity('1')", "semver('1.2.3')", "ip('1.1.1.1')", "cidr('1.0.0.0/8')", "url('http://a')",
    "undeclared", "dyn(1)", "dyn(2u)", "dyn(1.5)", "dyn('a')", "dyn(true)", "dyn([1])",
    "dyn(duration('1s'))", "dyn(quantity('1'))",
)  # fmt: skip
_OF_ONE: Final = (
    "-{}", "!{}", "size({})", "string({})", "int({})", "uint({})", "double({})", "bool({})",
    "bytes({})", "dyn({})", "type({})", "duration({})", "timestamp({})", "quantity({})",
    "isQuantity({})", "semver({})", "isSemver({})", "ip({})", "isIP({})", "cidr({})", "url({})",
    "isURL({})", "{}.size()", "{}.sum()", "{}.min()", "{}.max()", "{}.sort()", "{}.isSorted()",
    "{}.flatten()", "{}.reverse()", "{}.distinct()", "{}.first()", "{}.last()", "{}.hasValue()",
    "{}.map(i, i)", "{}.all(i, true)", "{}.exists(k, v, true)", "{}.a", "{}.?a", "{}[?0]",
    "has({}.a)", "{} ? 1 : 2", "{{{}: 1}}", "{{'a': 1, 'b': {}}}", "[{}, 1]", "[?{}]",
    "{{?'a': {}}}", "{{'b': 1, ?'a': {}}}", "'%s'.format([{}])", "'%d'.format([{}])",
    "'%f'.format([{}])", "'%x'.format([{}])", "'%b'.format([{}])", "'%s'.format([[{}]])",
    "'%s'.format([{{'a': {}}}])", "'%s'.format([{{{}: 1}}])", "{} && true", "false || {}",
    "math.abs({})", "l.slice(0, {})", "s.substring({})", "s.charAt({})", "[1, 2].join({})",
    "s.contains({})", "s.matches({})", "lists.range({})", "l.sortBy(i, {})", "{}.getHours()",
    "{}.asInteger()", "{}.major()", "{}.family()", "{}.getHost()",
)  # fmt: skip
_OF_TWO: Final = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} == {}", "{} < {}", "{} >= {}",
    "{} in {}", "{}[{}]", "{} && {}", "true ? {} : {}", "[{}, {}]", "sets.contains([{}], [{}])",
    "{}.add({})", "{}.contains({})", "{}.compareTo({})", "{}.indexOf({})", "{}.or({})",
    "{}.orValue({})",
)  # fmt: skip
_SHARE_OF_TWO: Final = 0.12

_TEXTS: Final = ("''", "'abcabc'", "'héllo'")
_PLACES: Final = (-1, 0, 1, 2, 5, 6, 7)
_LITERALS: Final = (
    "''", '""', "''''''", "'''a'''", "''''a'''", '"""a"b"""', "r'\\n'", "R\"\\\\\"", "b''",
    "'\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\'\\\"\\`'", "'\\x41'", "'\\u00e9'", "'\\U0001F600'",
    "'\\101'", "'\\400'", "'\\ud800'", "b'\\377'", "b'\\u00e9'", "br'\\x41'", "rb'a'", "'\\q'",
    "'a\nb'", "'''a\r\nb'''", "0x7fffffffffffffff", "-0x8000000000000000", "0xffu", "1e400",
    "9223372036854775808", "-9223372036854775808", "18446744073709551615u",
    "18446744073709551616u", "1.", ".5", "1e3", "1E-3", "0X1F", "00", "1u", "1U", "-0.0",
)  # fmt: skip
_QUANTITIES: Final = (
    "0", "-0", "1", "+1", "1.", ".5", "1.5Gi", "1e3", "1E3", "1e-9", "1n", "0.1n", "1u", "1m",
    "1k", "1K", "1Ki", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "1E", "8Ei", "9Ei", "1 ",
    "", "abc", "1mi", "--1", "1e30",
)  # fmt: skip
_VERSIONS: Final = (
    "1.2.3", "10.20.30", "0.0.0", "1.2.3-10", "1.2.3-0", "v1.2.3", "1.2", "1", "01.2.3",
    "1.2.3-a.1", "1.2.3-01", "1.2.3+b", "1.2.3-a+b.c",
    "1.2.3-", "1.2.3.4", "18446744073709551615.0.0", "18446744073709551616.0.0", "",
)  # fmt: skip
_ADDRESSES: Final = (
    "1.2.3.4", "01.2.3.4", "1.2.3", "256.1.1.1", "::1", "::ffff:1.2.3.4", "fe80::1%eth0", "::",
    "0.0.0.0", "127.0.0.1", "224.0.0.1", "ff02::1", "169.254.0.1", "8.8.8.8", "2001:DB8::1", "",
)  # fmt: skip
_NO_ADDRESSES: Final = (
    "255.255.255.255", "1.2.3.256", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4.5", "1.2.3.04",
    "1.2.3.a", "1a.2.3.4", "1.2.3.4%a", "::1%", "%a", "1::2::3", ":::", "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "12345::", "g::", "::1.2.3.4", "::1.2.3", "::1.2.3.4.5",
    "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", ":1", "1:", "0000", "1.2.3.4/8", "1.2.3.4 ",
)  # fmt: skip
_BLOCKS: Final = (
    "1.2.3.4/8", "1.0.0.0/8", "1.0.0.0/33", "1.0.0.0/-1", "1.0.0.0/08", "::/0", "::1/128",
    "::ffff:1.2.3.4/100", "1.0.0.0", "/8", "", "1.2.3.4/32", "::/128", "::/129", "1.2.3.4/",
    "1.2.3.4/a", "1.2.3.4/+1", "1.2.3.4/8/8", "fe80::1%a/64",
)  # fmt: skip
_URLS: Final = (
    "http://a", "https://u:p@h:80/p/q?x=1&x=2&y#f", "/path", "path", "http://[::1]:8080/", "http:",
    "http://a b", "http://h/%zz", "mailto:a@b", "http://h?a=%20b", "", "http://a:", "http://a:b",
    "http://a:1:2", "x://a:1,b:2", "http://[::1", "http://[::1]a", "http://b[::1]", "http://[1.2.3.4]",
    "http://[x]", "http://[fe80::1%25]", "http://[fe80::1%25a%20b]", "http://[fe80::1%25a%2f]",
    "http://[fe80::1%en0]:8", "http://@a", "http://u<@a", "http://u%zz@a", "http://a%20b",
    "http://%c3%a9", "http://a%25", "http://a%", "//a/b", "///a", "x:/a", "://a", "1x://a", "X+t://a",
    "http://a/%41%2f", "http://a/[]", "http://a/é", "http://a#b", "http://a/b#%zz", "http://a?b#%zz",
    "/a?b#c", "*", "http://<a>", "http://a?x=1;y&z=2", "http://a?&&x=%zz&y=%41+b&=1&z=a=b",
)  # fmt: skip
_DURATIONS: Final = (
    "0", "1", "1s", "1.5h", "-1m", "1h30m", "1ms", "1us", "1µs", "1ns", "0.5ns", "9223372036.8s",
    "9223372037s", "315576000001s", "1d", "", "s", "1s ", ".5s", "+1s",
)  # fmt: skip
_TIMES: Final = (
    "2024-02-29T23:59:60Z", "2023-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z", "2024-01-01T00:00:00+14:00", "2024-01-01t00:00:00z",
    "2024-01-01T00:00:00", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00.1234567891Z", "",
)  # fmt: skip
_FORMATTED: Final = {
    "dns1123Label dns1035Label dns1123LabelPrefix dns1035LabelPrefix labelValue": (
        "a" * 63, "a" * 64, "a-", "-a", "a--", "A", "1a", "", "a-b", "ab-", "a.b", "a_b",
    ),
    "dns1123Subdomain dns1123SubdomainPrefix": (
        "a" * 253, "a" * 254, "a.b", "a..b", "a-", "a.b-", "a.-", ".a", "A.b",
    ),
    "qualifiedName": (
        "a", "a/b", "a/b/c", "/b", "a/", "a" * 63, "a/" + "a" * 64, "a" * 253 + "/b",
        "a" * 254 + "/b", "A/b", "a.b/C_d.e", "-a/b", "a/-b", "",
    ),
    "byte": ("", "a", "aaaa", "aa==", "aa=", "a$aa", "YW Jj", "YWJj=", "===="),
    "uri": (*_URLS, "a" * 39),
    "uuid": (
        "", "123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000",
        "123e4567-e89b-12d3-a456-42661417400", "g23e4567-e89b-12d3-a456-426614174000",
    ),
    "date": ("2024-02-29", "2023-02-29", "2024-2-29", "2024-02-29T00:00:00Z", "", "24-02-29"),
    "datetime": ("2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "2024-02-29", ""),
}  # fmt: skip
"""Texts for each format."""


def limits() -> Iterator[str]:
    """Yield the expressions, always the same."""
    random = Random("limits")
    for form, atom in product(_OF_ONE, _ATOMS):
        yield form.format(atom)
    for form, one, other in product(_OF_TWO, _ATOMS, _ATOMS):
        if random.random() < _SHARE_OF_TWO:
            yield form.format(one, other)
    yield from _of_texts()
    yield from _of_lists()
    yield from _LITERALS
    yield from _of_values()
    yield from _of_formats()
    lines = (Path(__file__).parent / "calls.txt").read_text(encoding="utf-8").splitlines()
    yield from (line for line in lines if line and not line.startswith("#"))


def _of_texts() -> Iterator[str]:
    for text, place in product(_TEXTS, _PLACES):
        yield f"{text}.charAt({place})"
        yield f"{text}.substring({place})"
        for part in ("'b'", "''", "'bc'", "'x'"):
            yield f"{text}.indexOf({part}, {place})"
            yield f"{text}.lastIndexOf({part}, {place})"
        for separator in ("''", "'b'", "'x'"):
            yield f"{text}.split({separator}, {place})"
        yield f"{text}.replace('b', 'zz', {place})"
        yield f"{text}.replace('', '-', {place})"
        for end in _PLACES:
            yield f"{text}.substring({place}, {end})"
    for precision in (0, 1, 6, 15, 40, 1000, 1001):
        yield f"'%.{precision}f'.format([2.5])"
        yield f"'%.{precision}e'.format([12345.678])"
    for template in ("%", "%z", "%%", "%s%s", "%d %", "%.f", "%.2d", "%.-1f", "%2f", ""):
        yield f"'{template}'.format([1])"
        yield f"'{template}'.format([])"
        yield f"s.format([1]) == '{template}'"


def _of_lists() -> Iterator[str]:
    for start, end in product((-1, 0, 1, 3, 4), repeat=2):
        yield f"l.slice({start}, {end})"
        yield f"[].slice({start}, {end})"
    for depth in (-1, 0, 1, 2, 3):
        yield f"[1, [2, [3, [4]]], []].flatten({depth})"
        yield f"lists.range({depth})"
        yield f"l[{depth}]"
        yield f"l[?{depth}]"
    for values in (
        "[]",
        "[1]",
        "[2, 1]",
        "[1, 1]",
        "[1, 'a']",
        "[1.0, 1]",
        "[true, false]",
        "[[1]]",
    ):
        for method in ("sort", "isSorted", "sum", "min", "max", "distinct", "reverse", "first"):
            yield f"{values}.{method}()"
        yield f"{values}.indexOf(1)"
        yield f"{values}.lastIndexOf(1)"
        yield f"{values}.sortBy(i, -i)"


def _of_values() -> Iterator[str]:
    for text, part in product(
        _QUANTITIES, ("asInteger", "isInteger", "asApproximateFloat", "sign")
    ):
        yield f"quantity('{text}').{part}()"
    for text in _QUANTITIES:
        yield f"isQuantity('{text}')"
        yield f"quantity('{text}').add(quantity('1m')).compareTo(quantity('1'))"
        yield f"quantity('1').sub({text or 0})"
    for text in _VERSIONS:
        yield f"isSemver('{text}')"
        yield f"isSemver('{text}', true)"
        yield f"semver('{text}', true).minor()"
        yield f"semver('{text}').compareTo(semver('1.2.3-a'))"
    tests = ("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isGlobalUnicast", "family")
    for text in _ADDRESSES:
        yield f"ip.isCanonical('{text}')"
        yield f"isIP('{text}')"
        yield f"cidr('1.0.0.0/8').containsIP('{text}')"
        yield f"string(ip('{text}'))"
        for test in (*tests, "isLinkLocalUnicast"):
            yield f"ip('{text}').{test}()"
    for text in _BLOCKS:
        yield f"isCIDR('{text}')"
        for part in ("ip", "masked", "prefixLength"):
            yield f"string(cidr('{text}').{part}())"
        yield f"cidr('1.0.0.0/8').containsCIDR('{text}')"
        yield f"cidr('{text}') == cidr('1.2.3.4/8')"
    for text in _URLS:
        yield f"isURL('{text}')"
        for part in ("Scheme", "Host", "Hostname", "Port", "EscapedPath", "Query"):
            yield f"url('{text}').get{part}()"
    for text in _DURATIONS:
        yield f"duration('{text}')"
        yield f"string(duration('{text}'))"
        yield f"timestamp('9999-12-31T23:59:59Z') + duration('{text}')"
        yield f"duration('{text}').getSeconds()"
    for text in _TIMES:
        yield f"timestamp('{text}')"
        yield f"string(timestamp('{text}'))"
        yield f"int(timestamp('{text}'))"
        yield f"timestamp('{text}').getDayOfYear('-01:00')"


def _of_formats() -> Iterator[str]:
    for text in _NO_ADDRESSES:
        yield f"ip('{text}') == ip('::1')"
        yield f"cidr('1.0.0.0/8').containsIP('{text}')"
    for formats, texts in _FORMATTED.items():
        for name, text in product(formats.split(), texts):
            yield f"format.{name}().validate('{text}')"
