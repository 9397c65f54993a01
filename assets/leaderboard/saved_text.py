"""Saved web pages as text: from the bytes of any file to lines, cells and headings.

A page that a browser saved, and the text of one that a person copied from the screen, come out alike. What a
page says belongs in `submission_page` and `run_page`; which files there are, in `inbox`.

Files come from anywhere, so nothing here trusts them: how big, how deep and how long to read is bounded.
"""

import codecs
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from bs4 import BeautifulSoup
from bs4.dammit import EncodingDetector
from bs4.element import CData, NavigableString, PageElement, Tag
from bs4.exceptions import ParserRejectedMarkup

from assets.leaderboard.records import Unreadable

LARGEST_BYTES = 16 * 2**20
MOST_LINES = 200_000
# And entities. A page of 16 workloads has a few hundred; the parser takes about 20 µs and 1 KiB for each.
MOST_TAGS = 150_000
DEEPEST = 1_000

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
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLANKS = re.compile(r"[ \t\r\n\f]+")

_SKIPPED = {"noscript", "template", "svg", "canvas", "iframe", "object", "select", "textarea", "datalist"}
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


def _decoded(body: bytes) -> str:
    if len(body) > LARGEST_BYTES:
        raise Unreadable(
            f"it has {len(body) / 2**20:.0f} MiB, and no saved page has more than {LARGEST_BYTES >> 20}; "
            "save the page as HTML only"
        )
    for start, what in _BINARY.items():
        if body.startswith(start):
            raise Unreadable(f"it is {what}, whatever its name says; save the page as HTML only")
    text = _text_of(body)
    if "\x00" in text:
        raise Unreadable("it holds binary data; save the page as HTML only")
    if re.match(r"(?i)\s*(?:from: <saved by|mime-version:)", text):
        raise Unreadable("it is a web archive (MHTML); save the page as HTML only, not as a single file")
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _text_of(body: bytes) -> str:
    """Decode by byte order mark, as UTF-8, as the page declares, or as UTF-8 with what is broken marked."""
    data, marked = EncodingDetector.strip_byte_order_mark(body)
    if marked:
        return data.decode(marked, "replace")
    declared = EncodingDetector.find_declared_encoding(data, is_html=True, search_entire_document=False)
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
    # A tag that never ends is where the file was cut off. It also costs html.parser quadratic time.
    unfinished = markup.find("<", markup.rfind(">") + 1)
    markup = markup if unfinished < 0 else markup[:unfinished]
    if (tags := markup.count("<") + markup.count("&")) > MOST_TAGS:
        raise Unreadable(
            f"it has about {tags:,} tags and entities, and no page that is read here more than {MOST_TAGS:,}"
        )
    try:
        with warnings.catch_warnings():
            # It is read as what it is taken for; that it looks like something else too is no news.
            warnings.simplefilter("ignore")
            soup = BeautifulSoup(markup, "html.parser")
    except (ParserRejectedMarkup, RecursionError) as error:
        raise Unreadable(f"its HTML can't be read: {error}") from error
    # What was cut off within a table has no end of it.
    flow = _Flow(marks_ends=markup.count("</table") >= markup.count("<table"))
    for element, starts in _walk(soup):
        if isinstance(element, Tag):
            flow.tag(element, starts)
        elif isinstance(element, NavigableString) and type(element) in (NavigableString, CData):
            flow.text(element)
    return flow.saved_text()


def _walk(soup: Tag) -> Iterator[tuple[PageElement, bool]]:
    """Each element at its start (True) and tags at their end too (False); no recursion, however deep."""
    path: list[tuple[Tag, Iterator[PageElement]]] = [(soup, iter(soup.contents))]
    while path:
        tag, children = path[-1]
        child = next(children, None)
        if child is None:
            path.pop()
            if path:
                yield tag, False
            continue
        if isinstance(child, Tag) and _is_skipped(child, tag):
            continue
        yield child, True
        if isinstance(child, Tag):
            path.append((child, iter(child.contents)))
        if len(path) > DEEPEST:
            raise Unreadable(f"its elements are nested more than {DEEPEST:,} deep")


def _is_skipped(tag: Tag, parent: Tag) -> bool:
    # A header that sorts its column is a button; any other button ("Copy") is not part of what is said.
    is_header = parent.name == "th" or _role(parent) == "columnheader"
    return tag.name in _SKIPPED or tag.has_attr("hidden") or (tag.name == "button" and not is_header)


def _role(tag: Tag) -> str:
    role = tag.get("role")
    return role.strip().lower() if isinstance(role, str) else ""


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

    def tag(self, tag: Tag, starts: bool) -> None:
        """Note where a tag starts or ends."""
        name = tag.name.lower()
        role = _role(tag)
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
            self._time = self._machine_time(tag) if starts else None

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

    def _machine_time(self, tag: Tag) -> str | None:
        """The time that an element of name `time` gives to machines, if it says of which zone."""
        value = tag.get("datetime")
        return value if isinstance(value, str) and _ZONED.fullmatch(value) else None
