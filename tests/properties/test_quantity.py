"""Laws of quantities, for all numbers of the grammar."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from podwright.apimachinery.objects import format_quantity, parse_quantity

pytestmark = pytest.mark.property

FACTORS = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "e3": Fraction(10**3), "E-2": Fraction(1, 100), "e+5": Fraction(10**5),
}  # fmt: skip


@st.composite
def quantities(draw):
    """A quantity that fits an int64 in thousandths, as text and as a number."""
    suffix = draw(st.sampled_from(sorted(FACTORS)))
    largest = int(Fraction(10**15) / max(FACTORS[suffix], Fraction(1)))
    whole = draw(st.integers(0, largest))
    fraction = draw(st.text("0123456789", max_size=12))
    number = Fraction(f"{whole}.{fraction}" if fraction else whole) * FACTORS[suffix]
    return f"{whole}{'.' if fraction else ''}{fraction}{suffix}", number


def round_up(number):
    return -(-number.numerator // number.denominator)


@given(quantities())
def test_a_value_is_the_number_rounded_up(quantity):
    text, number = quantity
    # Upstream rounds to 10^-9 first; smaller parts are only rounded up again.
    assert parse_quantity(text).value() == round_up(number)
    assert parse_quantity(text).milli_value() == round_up(number * 1000)


@given(quantities())
def test_a_sign_changes_only_the_sign_of_what_is_exact(quantity):
    text, _ = quantity
    assert parse_quantity(f"-{text}").nano == -parse_quantity(text).nano
    assert parse_quantity(f"+{text}").nano == parse_quantity(text).nano


@given(quantities())
def test_the_canonical_form_is_the_same_number_and_stays_as_it_is(quantity):
    text, _ = quantity
    canonical = format_quantity(text)
    assert parse_quantity(canonical).nano == parse_quantity(text).nano
    assert format_quantity(canonical) == canonical
    assert "." not in canonical or canonical == text


@given(quantities(), quantities())
def test_order_is_kept(first, second):
    if first[1] <= second[1]:
        assert parse_quantity(first[0]).nano <= parse_quantity(second[0]).nano


# Upstream cuts negative numbers of more digits to 64 bits before it divides by 10^9.
@given(st.integers(-(10**18) + 1, 2**63 - 1))
def test_an_integer_is_itself(number):
    assert parse_quantity(number).value() == number


@given(st.text("0123456789.+-eEnumkKMGTPi ", max_size=8))
def test_whatever_is_read_can_be_written_and_read_again(text):
    try:
        quantity = parse_quantity(text)
    except ValueError:
        return
    canonical = format_quantity(quantity)
    if abs(quantity.nano) < 10**27:  # beyond E no suffix is written, as upstream
        assert parse_quantity(canonical).nano == quantity.nano
