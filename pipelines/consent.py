"""The operator's consent to fetch live: what it is asked for in, and where it is remembered.

A setting gives it too, for schedules: see `settings`.
"""

from datetime import UTC, datetime

import orjson

from warehouse.files import written_aside
from warehouse.home import Home

TERMS = """\
This fetches from the live leaderboard, {base_url}.
It is not ours, and its terms ask for restraint: pages are asked for one at a time, {interval_s:g} s apart,
and no more of them than are needed. What comes is for your own use, and not for republishing.
That you fetch it is your own deliberate choice; {home} remembers it."""

REFUSED = (
    "fetching from the live leaderboard needs your consent: run `kernelindex ingest --source live` on a "
    "terminal, where it is asked for once, or give it with --accept-terms or KERNELINDEX_ACCEPT_TERMS=1"
)


def is_remembered(home: Home, base_url: str) -> bool:
    """Whether a person agreed, in this home, to fetch from this server."""
    return home.consent.exists() and bool(orjson.loads(home.consent.read_bytes())["base_url"] == base_url)


def remember(home: Home, base_url: str) -> None:
    """Note in the home that a person agreed."""
    consent = {"base_url": base_url, "agreed_at": datetime.now(UTC)}
    with written_aside(home.consent) as aside:
        aside.write_bytes(orjson.dumps(consent))
