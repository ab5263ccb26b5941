"""The error of commands that need the extra `live`; apart, because `--help` loads no objects."""

from podwright.apimachinery.objects import PodwrightError


class MissingLiveError(PodwrightError):
    """The extra `live` is not installed."""
