"""What a saved KernelIndex run page says: the facts that it shows of a run, and the manifest it embeds.

Facts are found by their words, in whatever elements they stand, and stay text as shown. Whether we agree with
them belongs in `assets.rankings.run_pages`; how a file becomes lines, in `saved_text`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from assets.leaderboard.records import Unreadable
from assets.leaderboard.saved_text import CELL, EDGE, END_OF_TABLE, SavedText, plain, visible

MANIFESTS = ("run", "protocol", "environment")

# No fact is longer; a longer line is not looked at.
_LONGEST_LINE = 5_000
# Beyond it, what is embedded is no manifest.
_LONGEST_MANIFEST = 1_000_000

# By section, labels as the page writes them, and what they are called here. Text that was copied from the
# screen has no blank between a label and its value.
_LABELS = {
    "Identity": {
        "implementation": "implementation",
        "project": "project",
        "revision": "revision",
        "workload": "workload",
        "comparison key": "comparison key",
        "source": "source",
        "external id": "external id",
    },
    "Correctness": {},
    "Workload": {"definition comparator": "comparator", "description": "correctness description"},
    "Measurements": {"latency · mean": "measured latency"},
    "Protocol": {
        "harness": "stack",
        "timer": "timer",
        "primaryStatistic": "statistic",
        "correctnessReference": "correctness reference",
        "comparabilityFamily": "comparability family",
    },
    "Environment": {"gpu": "GPU"},
    "Artifacts": {},
    "Replications and notes": {},
    "Canonical manifest": {},
}
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
LATENCY = re.compile(rf"({_NUMBER}) ?(ns|µs|μs|ms|s)")
# Facts that have no label of their own, each found by its words.
_WORDED = {
    "latency": re.compile(
        rf"(?:primary measurement ?)?({_NUMBER} ?(?:ns|µs|μs|ms|s)) ?(?:mean)?$", re.IGNORECASE
    ),
    "rank": re.compile(r"rank ([0-9]{1,9})(?![0-9])", re.IGNORECASE),
    "profile": re.compile(r"(?:.*· ?)?(source-native|strict) comparison\b.*", re.IGNORECASE),
    "observed": re.compile(r"(?:.*· ?)?observed ([0-9]{4}-[0-9][0-9]-[0-9][0-9])(?![0-9]).*", re.IGNORECASE),
    "score": re.compile(rf"sol ({_NUMBER})(?![\w.]).*", re.IGNORECASE),
    "speedup": re.compile(rf"(?:.*· ?)?({_NUMBER}) ?× ?reference\b.*", re.IGNORECASE),
    "cases": re.compile(r"(?:.*· ?)?([0-9]{1,9}/[0-9]{1,9}) cases faster\b.*", re.IGNORECASE),
    "run digest": re.compile(r"(sha256:[0-9a-f]{6,64})(?:…|\.\.\.)?"),
    "status": re.compile(r"marked (\w+) by the source\b.*", re.IGNORECASE),
    "published": re.compile(r"published ([0-9]{4}-[0-9][0-9]-[0-9][0-9])(?![0-9]).*", re.IGNORECASE),
    "operation": re.compile(r".*all results for (.+?)(?: ?→.*)?$", re.IGNORECASE),
}
_NEEDED = ("run digest", "comparison key", "latency", "revision", "external id")


@dataclass(frozen=True)
class RunPage:
    """What one run page says: facts by name, as shown, and the manifests that it embeds, by name."""

    facts: dict[str, str]
    manifests: dict[str, dict[str, Any]]


def is_run_page(text: SavedText) -> bool:
    """Whether a saved page is KernelIndex's page of a run, as far as its words say."""
    lines = [plain(visible(line)) for line in text.lines if len(line) <= _LONGEST_LINE]
    titled = any(re.match(r"Run \w+ · KernelIndex", line) for line in lines)
    return titled and not {"Canonical manifest", "Primary measurement", "Identity"}.isdisjoint(lines)


def read_run_page(text: SavedText) -> RunPage:
    """Read a run page. Raises Unreadable, in words, for one that can't be compared."""
    manifests = _manifests(text.verbatim)
    facts: dict[str, str] = {}
    lines = [visible(line) for line in text.lines if len(line) <= _LONGEST_LINE]
    for name, value in _facts([line for line in lines if plain(line)]):
        if facts.setdefault(name, value) != value:
            raise Unreadable(f"it says two things of its {name}: {facts[name][:80]!r} and {value[:80]!r}")
    if missing := [name for name in _NEEDED if name not in facts]:
        raise Unreadable(
            f"it shows no {' and no '.join(missing)}; save the page as KernelIndex shows it, "
            "whole and in English"
        )
    return RunPage(facts, manifests)


def _facts(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Facts in the order of the page; what stands where a value is due is a value, whatever it looks like."""
    labels: dict[str, str] = {}
    waiting: str | None = None
    for line in lines:
        text = plain(line.replace(CELL, " "))
        if text == END_OF_TABLE:
            continue
        if text in _LABELS:
            labels, waiting = _LABELS[text], None
        elif waiting:
            yield waiting, text
            waiting = None
        elif label := next((label for label in labels if text.startswith(label)), None):
            value = plain(re.sub(rf"^[\s:{EDGE}{CELL}]+", "", line[_end(line, label) :]))
            if value:
                yield labels[label], value
            else:
                waiting = labels[label]
        else:
            for name, pattern in _WORDED.items():
                if found := pattern.match(text):
                    yield name, found[1]


def _end(line: str, label: str) -> int:
    """Where a label ends in a line, in which elements may part its words."""
    found = re.match(re.escape(label).replace(r"\ ", rf"[\s{EDGE}{CELL}]+"), line)
    return found.end() if found else len(label)


def _manifests(text: str) -> dict[str, dict[str, Any]]:
    """The manifests of the run, its protocol and its environment that a page embeds as one JSON object."""
    start = re.search(r'\{\s*"(?:run|protocol|environment)"\s*:', text)
    if not start:
        raise Unreadable("it embeds no canonical manifest; save the page with the manifest shown")
    decoder = json.JSONDecoder(object_pairs_hook=_unrepeated, parse_constant=_no_number)
    try:
        embedded, _ = decoder.raw_decode(text[start.start() : start.start() + _LONGEST_MANIFEST])
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise Unreadable(f"its canonical manifest is no JSON ({reason}); is the page cut off?") from error
    for name in MANIFESTS:
        manifest = embedded.get(name)
        if not isinstance(manifest, dict) or not {"apiVersion", "kind", "spec"} <= manifest.keys():
            raise Unreadable(f"its canonical manifest holds no whole manifest of the {name}")
    return {name: embedded[name] for name in MANIFESTS}


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object names a field twice")
    return fields


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
