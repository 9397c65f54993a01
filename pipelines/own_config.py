"""`<home>/dagster/dagster.yaml`: the settings of an instance of our own, and what an operator added to them.

Ours stand between two lines, and are written anew when they change. All else in the file is the operator's
and stays as it is; of a setting that stands there too, the operator's counts and ours is left out.
"""

import hashlib
import re
from pathlib import Path

import yaml

from pipelines.private_names import EVENT_LOG, there_are
from pipelines.progress import log
from warehouse.files import written_aside
from warehouse.home import HomeError

OURS = Path(__file__).parents[1] / "dagster.yaml"

_BEGIN = (
    "# kernelindex: its own settings, written anew when they change. Write yours above this line or below"
)
_END = "# kernelindex: the end of its own settings."
_BLOCK = re.compile(
    rf"^{re.escape(_BEGIN)}[^\n]*\(([0-9a-f]{{16}})\)\n(.*?)^{re.escape(_END)}\n", re.MULTILINE | re.DOTALL
)

# What earlier versions wrote, without these lines.
_FORMER = {"997ca5e0143c8bd1", "74a5c2ad4bca3bc6", "4ec119017569b82e", "161a6490408a1abe"}

# Settings of ours that Dagster does not take beside one of the operator's.
_INSTEAD = {
    "storage": {"event_log_storage"},
    "run_coordinator": {"concurrency"},
    "run_queue": {"concurrency"},
}


def write_config(path: Path) -> None:
    """Write our settings into a `dagster.yaml`, where they are not there yet, and keep the operator's.

    Raises HomeError where the operator's can't be read.
    """
    text = path.read_text("utf-8") if path.exists() else ""
    before, after = _operators(text)
    try:
        taken = yaml.safe_load(f"{before}\n{after}") or {}
        if not isinstance(taken, dict):
            raise yaml.YAMLError("it must hold settings, each with its name")
    except (yaml.YAMLError, RecursionError) as problem:
        raise HomeError(f"{path} can't be read, so Dagster can't be started: {problem}; mend it") from problem
    written = f"{before}{_block(set(taken))}{after}"
    if written != text:
        if before or after:
            log.warning("%s was brought up to date; what is yours in it stays", path)
        with written_aside(path) as aside:
            aside.write_text(written, "utf-8")


def _operators(text: str) -> tuple[str, str]:
    """What stands before and after our settings; all of it, where ours are not there or were edited."""
    if _digest(text) in _FORMER:
        return "", ""
    block = _BLOCK.search(text)
    if block is None:
        return text and f"{text.rstrip()}\n\n", ""
    before, after = text[: block.start()], text[block.end() :]
    digest, ours = block.groups()
    return (before, after) if digest == _digest(ours) else (f"{before}{ours}", after)


def _block(taken: set[str]) -> str:
    """Our settings but for those that are the operator's, between their two lines."""
    left_out = taken.union(*(others for setting, others in _INSTEAD.items() if setting in taken))
    if not there_are(EVENT_LOG, "its own event log is used, which is slower"):
        left_out |= {"event_log_storage"}
    # A section is a setting with its comment.
    sections = OURS.read_text("utf-8").split("\n\n")
    ours = "\n".join(
        f"{section.strip()}\n" for section in sections if not left_out & set(yaml.safe_load(section) or {})
    )
    return f"{_BEGIN} ({_digest(ours)})\n{ours}{_END}\n"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
