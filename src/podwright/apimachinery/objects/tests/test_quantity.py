import gzip
import json
from pathlib import Path

import pytest

from podwright.apimachinery.objects import (
    Quantity,
    QuantityError,
    format_quantity,
    parse_quantity,
)

VECTORS = Path(__file__).parents[5] / "tests" / "golden" / "vectors" / "quantities.jsonl.gz"


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        pytest.param("1", 1, 1000, id="a plain number"),
        pytest.param(2, 2, 2000, id="a YAML integer"),
        pytest.param(0.5, 1, 500, id="a YAML float is read as it is written"),
        pytest.param("1.5Gi", 1610612736, 1610612736000, id="a binary fraction is exact"),
        pytest.param("0.1m", 1, 1, id="less than the unit rounds up"),
        pytest.param("-1.5", -2, -1500, id="negative rounds away from zero"),
        pytest.param("-1500000000n", -2, -1500, id="so do billionths"),
        pytest.param("1e3", 1000, 1_000_000, id="an exponent"),
        pytest.param("1E", 10**18, 0, id="E is exa, and its milli-value does not fit an int64"),
        pytest.param(str(2**63 - 1), 2**63 - 1, -1000, id="a milli-value in one step wraps"),
        pytest.param("999999999999999999e1", -8_446_744_073_709_551_626, 0, id="so does ten"),
        pytest.param("999999999999999999e2", 7_766_279_631_452_241_820, 0, id="and a hundred"),
        pytest.param("999999999999999999e4", 0, 0, id="ten thousand are several steps"),
        pytest.param("12E", 0, 0, id="a value in many steps that does not fit an int64 is 0"),
        pytest.param("9Ei", 2**63 - 1, -1000, id="binary caps at int64; the milli-value wraps"),
        pytest.param("8E", 8 * 10**18, 0, id="its milli-value does not fit the 64-bit shape"),
        pytest.param(
            "7.5E", 7_500_000_000_000_000_000, 0, id="an uneven power that does not fit is 0"
        ),
        pytest.param(
            "7.999999999999E",
            7_999_999_999_999_000_000,
            -5_886_927_990_945_401_344,
            id="a power that upstream multiplies by at once wraps",
        ),
        pytest.param("9223372036854775807", 2**63 - 1, -1000, id="19 digits are a decimal"),
        pytest.param("9223372036854775808P", 0, 0, id="a decimal has any number of digits"),
        pytest.param("-7Ei", 0, 0, id="a negative decimal is cut to 64 bits before it is divided"),
        pytest.param("e3", 0, 0, id="no digits are zero"),
        pytest.param(".Ki", 0, 0, id="nor are there any before this suffix"),
        pytest.param("0e-20", 0, 0, id="zero of a small power"),
        pytest.param("0.0000000000", 0, 0, id="zero of many digits"),
        pytest.param(" 1Ki ", 1024, 1_024_000, id="space around it, as in JSON documents"),
        pytest.param("1e999999999", 0, 0, id="absurd exponents cost nothing"),
        pytest.param("1e-999999999", 1, 1, id="and still round up"),
    ],
)
def test_parse_quantity(text, value, milli):
    """Upstream: apimachinery pkg/api/resource/scale_int.go, scaledValue; math.go."""
    quantity = parse_quantity(text)
    assert (quantity.value(), quantity.milli_value()) == (value, milli)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1GB",
        "1ki",
        "1K",
        "1 Gi",
        "0x10",
        "1,5",
        "1..2",
        "--1",
        "1e",
        "NaN",
        "e-10",
        ".Ei",
        "-.Ei",
        True,
        "\N{ARABIC-INDIC DIGIT ONE}",
        pytest.param("9" * 5_000, id="thousands of digits"),
    ],
)
def test_text_that_is_not_a_quantity_is_rejected(text):
    with pytest.raises(QuantityError):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        pytest.param("0.5", "500m", id="no fraction"),
        pytest.param("1.5Gi", "1536Mi", id="no binary fraction"),
        pytest.param("1024Ki", "1Mi", id="the largest suffix"),
        pytest.param("1000m", "1", id="milli to units"),
        pytest.param("0.5Ki", "512", id="a small binary number has no suffix"),
        pytest.param("0.9765625Ki", "1k", id="a small binary number has a decimal suffix"),
        pytest.param("-0.9765625Ki", "-1k", id="a small negative one, too"),
        pytest.param("1.0Ki", "1Ki", id="1024 is not small"),
        pytest.param("-1.0Ki", "-1Ki", id="nor is -1024"),
        pytest.param("0.1Ki", "102400m", id="a binary number that is not whole turns decimal"),
        pytest.param("12e3", "12e3", id="exponents stay"),
        pytest.param("120e3", "120e3", id="an exponent is a multiple of three"),
        pytest.param("0Gi", "0", id="zero is zero"),
        pytest.param("-1500m", "-1500m", id="a sign"),
    ],
)
def test_format_quantity(text, canonical):
    assert format_quantity(text) == canonical


@pytest.mark.golden
def test_quantities_have_upstreams_values():
    n_quantities = 0
    for line in gzip.decompress(VECTORS.read_bytes()).splitlines():
        case = json.loads(line)
        for text, expect in zip(case["quantities"], case["expect"], strict=True):
            n_quantities += 1
            if expect.get("error"):
                # The recorder called the parser itself, which unlike JSON takes no space.
                with pytest.raises(QuantityError):
                    parse_quantity(text if text == text.strip() else "x")
            else:
                quantity = parse_quantity(text)
                read = (str(quantity.value()), str(quantity.milli_value()))
                assert read == (expect["value"], expect["milli"]), text
    assert n_quantities == 1000


BIG = "9" * 25


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        pytest.param("1Gi", "1", 2**30 + 1, id="two mantissas that fit"),
        pytest.param("1E", "1", 10**18 + 1, id="of different powers of ten"),
        pytest.param("0", "12E", 0, id="nothing and a mantissa remain a mantissa"),
        pytest.param("1E", "12E", 0, id="equal powers of ten remain a mantissa"),
        pytest.param("12E", "1", 12 * 10**18 + 1 - 2**64, id="a mantissa that overflows"),
        pytest.param("0.5", "1", 2, id="a decimal and a mantissa"),
    ],
)
def test_a_sum_that_fits_no_mantissa_is_a_decimal(first, second, value):
    assert (parse_quantity(first) + parse_quantity(second)).value() == value


@pytest.mark.parametrize(
    ("first", "second", "of_first"),
    [
        pytest.param("1", "1Ki", True, id="of two mantissas"),
        pytest.param("0", "1Ki", False, id="nothing and a mantissa"),
        pytest.param("1Ki", "0", True, id="a mantissa and nothing"),
        pytest.param(BIG, "1Ki", True, id="of a decimal"),
        pytest.param("0", f"{BIG}Ki", False, id="nothing and a decimal"),
    ],
)
def test_a_sum_has_the_format_of_the_first_unless_that_is_zero(first, second, of_first):
    """Upstream: apimachinery/pkg/api/resource/quantity.go, Add"""
    one, other = parse_quantity(first), parse_quantity(second)
    assert one.format != other.format
    assert (one + other).format == (one if of_first else other).format


@pytest.mark.parametrize(
    ("text", "written", "nano"),
    [
        pytest.param("1e4294967296", "1e4294967296", 10**9, id="2**32 is 0 in 32 bits"),
        pytest.param("1e4294967297", "10", 10**10, id="and one more is 1"),
        pytest.param("1e-4294967295", "10", 10**10, id="so is one more than -2**32"),
        pytest.param("1e2147483648", "1e-9", 1, id="2**31 is the least number of 32 bits"),
        pytest.param("012345678901", "012345678901", 12345678901 * 10**9, id="decimal"),
        pytest.param("012345678901Ki", "012345678901Ki", 12345678901 * 2**10 * 10**9, id="Ki, 11"),
        pytest.param(
            "0123456789012Ki", "123456789012Ki", 123456789012 * 2**10 * 10**9, id="Ki, 12"
        ),
        pytest.param("012345678Mi", "012345678Mi", 12345678 * 2**20 * 10**9, id="Mi, 8"),
        pytest.param("0123456789Mi", "123456789Mi", 123456789 * 2**20 * 10**9, id="Mi, 9"),
        pytest.param("012345Gi", "012345Gi", 12345 * 2**30 * 10**9, id="Gi, 5"),
        pytest.param("0123457Gi", "123457Gi", 123457 * 2**30 * 10**9, id="Gi, 6"),
        pytest.param("012Ti", "012Ti", 12 * 2**40 * 10**9, id="Ti, 2"),
        pytest.param("0123Ti", "123Ti", 123 * 2**40 * 10**9, id="Ti, 3"),
        pytest.param("012Pi", "12Pi", 12 * 2**50 * 10**9, id="Pi"),
        pytest.param("08Ki", "8Ki", 8 * 2**10 * 10**9, id="a multiple of 8 is written anew"),
        pytest.param("09Ki", "09Ki", 9 * 2**10 * 10**9, id="another number is kept"),
    ],
)
def test_a_text_is_kept_where_upstreams_fast_path_reads_it(
    text: str, written: str, nano: int
) -> None:
    assert (format_quantity(text), parse_quantity(text).nano) == (written, nano)


@pytest.mark.parametrize(
    ("unscaled", "power", "value"),
    [
        pytest.param(-15 * 10**17, 9, 0, id="1 is added to a truncated quotient"),
        pytest.param(-25 * 10**18, 9, -5, id="a divisor that fits 64 bits cuts the number"),
        pytest.param(-25 * 10**18, 10, -2, id="a larger one divides the whole number"),
        pytest.param(25 * 10**18 + 1, 9, 26, id="a positive number is never cut"),
        pytest.param(0, 9, 0, id="zero"),
        pytest.param(-1, 9, 1, id="nothing is left of it but the 1"),
        pytest.param(-7, -9, -7, id="the same power"),
        pytest.param(7, -10, 70, id="a smaller power"),
        pytest.param(5, -27, 5 * 10**18, id="the largest power that fits 64 bits"),
        pytest.param(5, -28, -(2**63), id="Go turns a larger one into the smallest number"),
    ],
)
def test_a_decimal_is_divided_as_upstream_divides(unscaled: int, power: int, value: int) -> None:
    assert Quantity(unscaled, -9, is_decimal=True).scaled_value(power) == value
