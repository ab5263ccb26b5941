import msgspec

from podwright.online.apiserver.control.openapi import describe


class Weather(msgspec.Struct, rename="camel"):
    """What the sky
    does.

    And what follows.

    Attributes
    ----------
    wind_speed : float
        In meters per second:
        never negative.
    rain, snow : bool
        Whether it falls.
    sun : bool

    Notes
    -----
    Measured.
    """

    wind_speed: float
    rain: bool
    snow: bool
    sun: bool


def test_a_schema_has_the_summary_and_its_properties_their_texts():
    schema = msgspec.json.schema_components([Weather])[1]["Weather"]
    describe(schema)
    assert schema["description"] == "What the sky does.\n\nAnd what follows."
    assert {name: one.get("description") for name, one in schema["properties"].items()} == {
        "windSpeed": "In meters per second: never negative.",
        "rain": "Whether it falls.",
        "snow": "Whether it falls.",
        "sun": None,
    }
