"""The history of submissions: what each was, from when to when, and which run it made then.

It is followed from one edition of a kernel's pages to the next. Which editions there are belongs in
`assets.leaderboard.pages`; what a submission becomes, in `normalise`.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from assets.leaderboard.records import Records, Row
from assets.leaderboard.snapshots import Page
from warehouse.submissions import NOT_PUBLIC, withdraw
from warehouse.tables import SOURCE_SUBMISSIONS, SUBMISSION_HISTORY

_NOT_SAID = {"outcome", "page_digest", "unread_page_digest"}
_SAID = [column.name for column in SOURCE_SUBMISSIONS.columns if column.name not in _NOT_SAID]
_OF_A_VERSION = [*_SAID, "outcome", "run_digest"]


def changed(history: Iterable[Row], submissions: Iterable[Row]) -> list[Row]:
    """The submissions of which something else is said now than in the version that holds."""
    holding = _holding(history)
    return [row for row in submissions if not _agree(_SAID, row, holding.get(row["submission_id"]))]


def with_last_good(history: Iterable[Row], records: Records) -> Records:
    """The records, and of each submission that can't be read any more the version that holds."""
    holding = _holding(history)
    kept = {id_: page for id_, page in records.unread.items() if id_ in holding}
    rows = [
        {
            **{name: holding[id_][name] for name in (*_SAID, "page_digest")},
            "is_private": holding[id_]["outcome"] == NOT_PUBLIC,
            "unread_page_digest": page,
        }
        for id_, page in kept.items()
    ]
    items = {f"submission {id_}" for id_ in kept}
    quarantine = [
        {**row, "problem": f"{row['problem']}; what could be read last stays"}
        if row["item"] in items
        else row
        for row in records.quarantine
    ]
    return replace(records, submissions=[*records.submissions, *rows], quarantine=quarantine)


def followed(
    history: Iterable[Row], tables: Mapping[str, list[Row]], pages: Iterable[Page], listed: Set[int]
) -> list[Row]:
    """The history, and what one edition more says.

    `tables` are made of those submissions of it that may have changed, `pages` are all of its pages, `listed`
    the ids of all submissions on them. Versions that differ in their pages only are one; a submission that is
    no longer listed is at its end, and stays.
    """
    history = list(history)
    came_at = {page.page_digest: page.fetched_at for page in pages}
    defined_at = max((came_at[row["page_digest"]] for row in tables["source_kernels"]), default=None)
    runs = {int(run["external_id"]): run["run_digest"] for run in tables["runs"]}
    last = {row["submission_id"]: row for row in history}
    holding = _holding(history)
    for submission in tables["source_submissions"]:
        submission_id = submission["submission_id"]
        version = {**submission, "run_digest": runs.get(submission_id)}
        holds = holding.get(submission_id)
        if _agree(_OF_A_VERSION, version, holds):
            continue
        before = last.get(submission_id)
        # Times of saved files can go backwards: no version begins before the one that it follows.
        said_by = submission.get("unread_page_digest") or submission["page_digest"]
        times = [came_at[said_by], defined_at, before and before["valid_from"]]
        version["valid_from"] = max(time for time in times if time)
        version["version"] = before["version"] + 1 if before else 1
        if holds:
            holds["valid_to"] = version["valid_from"]
        if version["outcome"] == NOT_PUBLIC:
            withdraw(row for row in history if row["submission_id"] == submission_id)
        history.append({"valid_to": None, "end_reason": None, **version})
    for submission_id, holds in holding.items():
        if submission_id not in listed:
            valid_to = max([holds["valid_from"], *came_at.values()])
            holds |= {"valid_to": valid_to, "end_reason": "NOT_LISTED"}
    return sorted(history, key=lambda row: tuple(row[name] for name in SUBMISSION_HISTORY.key))


def _holding(history: Iterable[Row]) -> dict[int, Row]:
    return {row["submission_id"]: row for row in history if row["valid_to"] is None}


def _agree(names: Iterable[str], row: Row, other: Row | None) -> bool:
    return other is not None and all(row.get(name) == other.get(name) for name in names)
