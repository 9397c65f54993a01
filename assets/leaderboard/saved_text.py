"""Saved web pages as text: from the bytes of any file to lines, cells and headings.

A page that a browser saved, and the text of one that a person copied from the screen, come out alike. What a
page says belongs in `submission_page` and `run_page`; which files there are, in `inbox`.

Files come from anywhere, so nothing here trusts them: how big, how deep and how long to read is bounded.
"""

import codecs
import email
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import NamedTuple

from bs4.dammit import EncodingDetector

from assets.leaderboard.records import Unreadable

LARGEST_BYTES = 16 * 2**20
MOST_LINES = 200_000
# And entities. A page of 16 workloads has a few hundred; the parser takes about 10 µs for each.
MOST_TAGS = 150_000
# Of one tag, and of all; some 1 µs each.
MOST_ATTRIBUTES, MOST_ATTRIBUTES_IN_ALL = 1_000, 1_000_000
DEEPEST = 1_000
# Of a web archive. A line has some 76 bytes, and each picture is a part.
MOST_ARCHIVE_LINES = 400_000
MOST_PARTS = 10_000

# Inside a line: between two cells of a row, or a term and what is said of it; between two other elements.
CELL, EDGE = "\t", "\x1f"
# A line of its own where a table ends, so that what follows is not taken for its next row.
END_OF_TABLE = "\x02"

# What a file begins with that is no text at all, whatever its name says.
_BINARY = {
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"bplist": "a Safari web archive",
}

# Comments, scripts, styles and declarations, closed or not. Taken out first: html.parser needs quadratic
# time for those that never end, and React parts one text into several by comments.
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b[^>]*(?:>|\Z).*?(?:</\1\s*>|\Z)|<[!?][^>]*(?:>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# A tag's attributes, as html.parser tells them apart; `more` is one too many. Each step keeps what it took,
# and the next search begins behind it, so that all of them take time by the page's length.
_ATTRIBUTE = r"""[\s/]*+[^\s/=>]++(?:\s*+=[\s=]*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^>\s]*+))?+"""
_ATTRIBUTES = re.compile(
    rf"<[a-z][^\s/>]*+(?:{_ATTRIBUTE}){{0,{MOST_ATTRIBUTES}}}+(?P<more>{_ATTRIBUTE})?", re.IGNORECASE
)
# What browsers begin a web archive with.
_ARCHIVE = re.compile(rb"\s{0,100}(?:from:[^\n]{0,100}saved by|mime-version:)", re.IGNORECASE)
# The standard library needs quadratic time for what such a header says.
_LONG_HEADER = re.compile(rb"^content-type:(?:[^\n]|\n[ \t]){2000}", re.IGNORECASE | re.MULTILINE)
_NESTING_PART = re.compile(rb"^content-type:\s{0,100}(?:multipart|message)/", re.IGNORECASE | re.MULTILINE)
# Characters that have no width: where a word may break, how letters join, in which direction they go.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLANKS = re.compile(r"[ \t\r\n\f]+")

_SKIPPED = {
    "noscript", "template", "svg", "canvas", "iframe", "object", "select", "textarea", "datalist", "rt", "rp",
}  # fmt: skip
# These have no end.
_VOID = {
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
}  # fmt: skip
_CELLS = {"td", "th", "dt", "dd"}
_CELL_ROLES = {"cell", "gridcell", "columnheader", "rowheader", "term", "definition"}
_HEADINGS = {"title", "h1", "h2", "h3", "h4", "h5", "h6"}
# These start a line even inside a cell; other blocks only part the words of a cell.
_PARTS = _HEADINGS | {"table", "thead", "tbody", "tfoot", "tr", "dl", "pre"}
_BLOCKS = _PARTS | {
    "address", "article", "aside", "blockquote", "body", "br", "caption", "details", "div", "fieldset",
    "figure", "footer", "form", "header", "hr", "html", "head", "li", "main", "nav", "ol", "p", "section",
    "summary", "ul",
}  # fmt: skip
# Python knows codecs that are no encodings of pages, and some of them are slow.
_ENCODINGS = re.compile(r"utf|iso8859|cp\d|koi8|gb|big5|euc|shift|mac")
_ZONED = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:?\d\d)")


@dataclass(frozen=True)
class SavedText:
    """A saved page's text.

    `lines` are not empty, and hold CELL and EDGE where elements meet; `headings` are those of them that stand
    in headings, the title first (plain text has none). `verbatim` is the text as it is, line breaks and all.
    """

    lines: tuple[str, ...]
    headings: tuple[str, ...]
    verbatim: str


def read_saved_text(body: bytes) -> SavedText:
    """The text of a saved page. Raises Unreadable for what is no text, or more than one should read."""
    text = _decoded(body)
    # Only markup begins with "<"; what was copied from the screen may hold one anywhere.
    return _of_markup(text) if text.lstrip().startswith("<") else _of_plain_text(text)


def plain(text: str) -> str:
    """A piece of a line as people see it: no marks of elements, each run of blanks one space."""
    return " ".join(text.replace(EDGE, "").split())


def visible(text: str) -> str:
    """A text without the characters that nobody sees."""
    return _INVISIBLE.sub("", text)


def _decoded(body: bytes) -> str:
    if len(body) > LARGEST_BYTES:
        raise Unreadable(
            f"it has {len(body) / 2**20:.0f} MiB, and no saved page has more than {LARGEST_BYTES >> 20}; "
            "save the page as HTML only"
        )
    charset = None
    if _ARCHIVE.match(body):
        body, charset = _page_of_archive(body)
    for start, what in _BINARY.items():
        if body.startswith(start):
            raise Unreadable(f"it is {what}, whatever its name says; save the page as HTML only")
    text = _text_of(body, charset)
    if "\x00" in text:
        raise Unreadable("it holds binary data; save the page as HTML only")
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _page_of_archive(body: bytes) -> tuple[bytes, str | None]:
    """The page of a web archive (MHTML), which is the first of its parts that is HTML; and its charset."""
    body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for what, count, most in (
        ("lines", body.count(b"\n"), MOST_ARCHIVE_LINES),
        ("parts", body.count(b"\n--"), MOST_PARTS),
        ("parts with parts of their own", len(_NESTING_PART.findall(body)), 10),
        ("headers that are longer than any browser writes", len(_LONG_HEADER.findall(body)), 0),
    ):
        if count > most:
            raise Unreadable(
                f"it is a web archive (MHTML) of {count:,} {what}, and no more than {most:,} are read here; "
                "save the page as HTML only"
            )
    parts = list(email.message_from_bytes(body).walk())
    for kind in ("text/html", "application/xhtml+xml", "text/plain"):
        for part in parts:
            page = part.get_payload(decode=True) if part.get_content_type() == kind else None
            if isinstance(page, bytes) and page.strip():
                return page, part.get_content_charset()
    raise Unreadable("it is a web archive (MHTML) that holds no page; save the page as HTML only")


def _text_of(body: bytes, charset: str | None = None) -> str:
    """Decode by byte order mark, as UTF-8, as is declared, or as UTF-8 with what is broken marked.

    What `charset` says comes before what the page declares.
    """
    data, marked = EncodingDetector.strip_byte_order_mark(body)
    if marked:
        return data.decode(marked, "replace")
    declared = charset or EncodingDetector.find_declared_encoding(
        data, is_html=True, search_entire_document=False
    )
    for name in ("utf-8", declared or ""):
        try:
            encoding = codecs.lookup(name).name
            if _ENCODINGS.match(encoding):
                # Browsers take latin-1 for the larger set of Windows.
                return data.decode("cp1252" if encoding == "iso8859-1" else encoding)
        except (LookupError, ValueError):
            continue
    return data.decode("utf-8", "replace")


def _of_plain_text(text: str) -> SavedText:
    return SavedText(tuple(_lines(text, " \t\f")), (), text)


def _lines(text: str, blanks: str) -> Iterator[str]:
    """The lines of a text that are not empty, without the blanks at their ends."""
    if (count := text.count("\n")) > MOST_LINES:
        raise Unreadable(f"it has {count:,} lines, and no page that is read here more than {MOST_LINES:,}")
    lines = (line.strip(blanks) for line in text.split("\n"))
    return (line for line in lines if plain(line))


def _of_markup(markup: str) -> SavedText:
    markup = _UNSEEN.sub("", markup)
    if _UNSEEN.search(markup):  # No page has any: it was made for readers to fall over.
        raise Unreadable("its comments are so placed that others begin where they are taken out")
    # A tag that never ends is where the file was cut off. It also costs html.parser quadratic time.
    unfinished = markup.find("<", markup.rfind(">") + 1)
    markup = markup if unfinished < 0 else markup[:unfinished]
    if (tags := markup.count("<") + markup.count("&")) > MOST_TAGS:
        raise Unreadable(
            f"it has about {tags:,} tags and entities, and no page that is read here more than {MOST_TAGS:,}"
        )
    if any(tag["more"] for tag in _ATTRIBUTES.finditer(markup)):
        raise Unreadable(f"one of its tags has more than {MOST_ATTRIBUTES:,} attributes")
    # What was cut off within a table has no end of it.
    flow = _Flow(marks_ends=markup.count("</table") >= markup.count("<table"))
    parser = _Parser(flow)
    parser.feed(markup)
    parser.close()
    return flow.saved_text()


class _Tag(NamedTuple):
    """A tag, as far as it matters: its name, and the attributes that are looked at."""

    name: str
    role: str
    time: str | None
    is_hidden: bool


_PAGE = _Tag("", "", None, is_hidden=False)


class _Parser(HTMLParser):
    """Tells the flow of each element at its start and its end; keeps none but those that are open."""

    def __init__(self, flow: "_Flow") -> None:
        super().__init__()
        self._flow = flow
        self._open: list[_Tag] = []
        self._names: Counter[str] = Counter()
        self._attributes = 0
        # How many elements were open when one began of which nothing is read.
        self._skipped_from: int | None = None

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        """See HTMLParser."""
        self._attributes += len(attrs)
        if self._attributes > MOST_ATTRIBUTES_IN_ALL:
            raise Unreadable(f"its tags have more than {MOST_ATTRIBUTES_IN_ALL:,} attributes")
        given = dict(attrs)
        role = (given.get("role") or "").strip().lower()
        tag = _Tag(name, role, given.get("datetime"), "hidden" in given)
        if self._skipped_from is None:
            if _is_skipped(tag, self._open[-1] if self._open else _PAGE):
                self._skipped_from = len(self._open)
            else:
                self._flow.tag(tag, starts=True)
        self._open.append(tag)
        self._names[name] += 1
        if len(self._open) >= DEEPEST:
            raise Unreadable(f"its elements are nested more than {DEEPEST:,} deep")
        if name in _VOID:
            self._close()

    def handle_endtag(self, name: str) -> None:
        """See HTMLParser. What lies open within ends with it; where nothing of this name is open, nothing."""
        while self._names[name] and self._close() != name:
            pass

    def handle_data(self, data: str) -> None:
        """See HTMLParser."""
        if self._skipped_from is None:
            self._flow.text(data)

    def close(self) -> None:
        """See HTMLParser. All that is still open ends here."""
        super().close()
        while self._open:
            self._close()

    def _close(self) -> str:
        tag = self._open.pop()
        self._names[tag.name] -= 1
        if self._skipped_from is None:
            self._flow.tag(tag, starts=False)
        elif self._skipped_from == len(self._open):
            self._skipped_from = None
        return tag.name


def _is_skipped(tag: _Tag, parent: _Tag) -> bool:
    # A header that sorts its column is a button; any other button ("Copy") is not part of what is said.
    is_header = parent.name == "th" or parent.role == "columnheader"
    return tag.name in _SKIPPED or tag.is_hidden or (tag.name == "button" and not is_header)


class _Flow:
    """What is read of a page's elements, in their order."""

    def __init__(self, marks_ends: bool) -> None:
        self._marks_ends = marks_ends
        self._pieces: list[str] = []
        self._headings: list[str] = []
        self._verbatim: list[str] = []
        self._preformatted: list[str] = []
        self._heading_at: int | None = None
        self._in_cell = False
        self._row_is_begun = False
        self._pre_depth = 0
        self._time: str | None = None

    def tag(self, tag: _Tag, starts: bool) -> None:
        """Note where a tag starts or ends."""
        name, role, time, _ = tag
        is_row = name in ("tr", "dt") or role in ("row", "term")
        if name in _CELLS or role in _CELL_ROLES:
            self._cell(starts, begins_row=is_row)
        elif name in _PARTS or role == "row":
            self._in_cell = False
            self._new_line()
        elif name in _BLOCKS:
            self._pieces.append(f" {EDGE}" if self._in_cell else "\n")
        else:
            self._pieces.append(EDGE)
        if self._marks_ends and not starts and (name == "table" or role in ("table", "grid")):
            self._pieces.append(f"\n{END_OF_TABLE}\n")
        if name in _HEADINGS:
            self._heading(starts)
        if name == "pre":
            self._pre_depth += 1 if starts else -1
            self._preformatted.append("\n")
        if name == "time":
            # The time for machines, if it says of which zone.
            self._time = time if starts and time and _ZONED.fullmatch(time) else None

    def text(self, text: str) -> None:
        """Note a text."""
        self._verbatim.append(text)
        # Marks of ours, and what is no text, can still be in it: as &#31; or &#xD800;.
        text = _CONTROLS.sub("", text).encode("utf-8", "replace").decode()
        if self._pre_depth:
            self._preformatted.append(text)
            self._pieces.append(text.replace(CELL, " "))
        elif self._time:
            # Once, however many texts the element holds.
            self._pieces.append(self._time)
            self._time = " "
        else:
            self._pieces.append(_BLANKS.sub(" ", text))

    def saved_text(self) -> SavedText:
        """All that was noted."""
        # Blanks and edges at a line's ends say nothing; an empty cell there does.
        blanks = f" {EDGE}"
        lines = _lines("".join(self._pieces), blanks)
        headings = _lines("\n".join(self._headings), blanks)
        preformatted = "".join(self._preformatted)
        verbatim = preformatted if preformatted.strip() else "".join(self._verbatim)
        return SavedText(tuple(lines), tuple(headings), verbatim)

    def _new_line(self) -> None:
        self._row_is_begun = False
        self._pieces.append("\n")

    def _cell(self, starts: bool, begins_row: bool) -> None:
        # Where cells start is enough: HTML may leave their ends out.
        if starts:
            if begins_row:
                self._new_line()
            self._pieces.append(CELL if self._row_is_begun else EDGE)
            self._row_is_begun = True
        self._in_cell = starts

    def _heading(self, starts: bool) -> None:
        if starts:
            self._heading_at = len(self._pieces)
        elif self._heading_at is not None:
            self._headings.append("".join(self._pieces[self._heading_at :]))
            self._heading_at = None
