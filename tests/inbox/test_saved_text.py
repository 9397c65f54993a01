"""From a file's bytes to its text: encodings, what is no text, and what is too much of it."""

import base64
import gzip
import io
import quopri
import time
import zipfile
from contextlib import suppress

import pytest

from assets.leaderboard import saved_text
from assets.leaderboard.records import Unreadable
from assets.leaderboard.run_page import read_run_page
from assets.leaderboard.saved_text import CELL, SavedText, plain, read_saved_text
from assets.leaderboard.submission_page import read_submission_page
from tests.inbox.pages import page


def lines(text: SavedText) -> list[str]:
    return ["|".join(map(plain, line.split(CELL))) for line in text.lines if line != saved_text.END_OF_TABLE]


def refused(body: bytes) -> str:
    with pytest.raises(Unreadable) as problem:
        read_saved_text(body)
    return str(problem.value)


NAME = "Æther & Søn"


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-8", '<meta charset="latin-1">'),
        ("utf-16", ""),
        ("utf-16", '<meta charset="utf-8">'),
        ("utf-32", ""),
        ("latin-1", '<meta charset="iso-8859-1">'),
        ("cp1252", '<meta http-equiv="content-type" content="text/html; charset=windows-1252">'),
    ],
)
@pytest.mark.parametrize("markup", [True, False])
def test_a_page_says_the_same_in_any_encoding(encoding: str, declared: str, markup: bool) -> None:
    if markup:
        text = page().but(user=NAME).html().replace("<head>", f"<head>{declared}").replace(" ↕", "")
    else:
        text = page().but(user=NAME).text()
        if encoding in ("latin-1", "cp1252"):
            pytest.skip("plain text declares no encoding")
    said = read_submission_page(read_saved_text(text.encode(encoding)))
    assert said.details["user"] == NAME
    assert len(said.cases) == 16


def test_windows_quotes_are_read_where_latin_1_is_declared() -> None:
    body = '<meta charset="latin-1"><p>it’s</p>'.encode("cp1252")
    assert lines(read_saved_text(body)) == ["it’s"]


@pytest.mark.parametrize("declared", ["no-such", "rot13", "punycode", "idna", "zip", "undefined", "utf-16"])
def test_broken_bytes_are_marked_whatever_is_declared(declared: str) -> None:
    body = f'<meta charset="{declared}"><p>a'.encode() + b"\xff\xfe\x9d" + b"b</p>"
    assert lines(read_saved_text(body)) == ["a���b"]


def test_what_is_no_text_is_named_whatever_it_is_called() -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("page.html", page().html())
    assert "is a zip archive, whatever its name says" in refused(archive.getvalue())
    assert "is a gzip archive" in refused(gzip.compress(page().html().encode()))
    assert "is a picture" in refused(b"\x89PNG\r\n\x1a\n")
    assert "is a PDF" in refused(b"%PDF-1.7")
    assert "Safari" in refused(b"bplist00")
    assert "binary data" in refused(b"abc\x00def")
    assert lines(read_saved_text(b"")) == []


def archive(
    body: bytes, coding: str = "quoted-printable", kind: str = "text/html", line_end: bytes = b"\r\n"
) -> bytes:
    """A page as Chrome saves it as a single file, with what it shows around it."""
    coded = quopri.encodestring(body) if coding == "quoted-printable" else base64.encodebytes(body)
    lines = [
        b"From: <Saved by Blink>",
        b"Snapshot-Content-Location: https://research.nvidia.com/benchmarks/sol-execbench/submissions/47128",
        b"Subject: =?utf-8?Q?Submission=20#1=20|=20SOL?=",
        b"MIME-Version: 1.0",
        b"Content-Type: multipart/related;",
        b'\ttype="text/html";',
        b'\tboundary="----MultipartBoundary--x----"',
        b"",
        b"",
        b"------MultipartBoundary--x----",
        b"Content-Type: image/png",
        b"Content-Transfer-Encoding: base64",
        b"",
        base64.encodebytes(b"\x89PNG\r\n\x1a\n"),
        b"------MultipartBoundary--x----",
        f"Content-Type: {kind}".encode(),
        f"Content-Transfer-Encoding: {coding}".encode(),
        b"Content-Location: https://research.nvidia.com/benchmarks/sol-execbench/submissions/47128",
        b"",
        coded,
        b"------MultipartBoundary--x------",
        b"",
    ]
    return b"\n".join(lines).replace(b"\n", line_end)


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("coding", ["quoted-printable", "base64"])
def test_a_page_saved_as_a_single_file_says_the_same(coding: str, line_end: bytes) -> None:
    html = page().but(user=NAME).html()
    said = read_submission_page(read_saved_text(archive(html.encode(), coding, line_end=line_end)))
    assert said == read_submission_page(read_saved_text(html.encode()))


def test_the_charset_that_an_archive_names_comes_before_the_pages_own() -> None:
    body = '<meta charset="koi8-r"><p>Søn</p>'.encode("latin-1")
    assert lines(read_saved_text(archive(body, kind="text/html; charset=iso-8859-1"))) == ["Søn"]


def test_an_archive_without_a_page_or_of_no_browser_is_refused_in_words() -> None:
    assert "holds no page" in refused(archive(b"x", kind="image/png"))
    assert "is a gzip archive" in refused(archive(gzip.compress(page().html().encode()), "base64"))
    mime = b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\n"
    assert "2,000 parts with parts of their own" in refused(mime * 2_000)
    assert "no more than 10,000" in refused(mime + b"--B\n\n" * 20_000)
    assert "headers that are longer" in refused(b"MIME-Version: 1.0\nContent-Type: x/y; " + b"a=b; " * 10**6)
    assert "lines, and no more" in refused(b"MIME-Version: 1.0\n" + b"\n" * 10**6)


def test_what_nobody_sees_is_not_read() -> None:
    text = read_saved_text(
        b"<!doctype html><title>t</title><style>s</style><script>'</p>' + \"<p>x</p>\"</script>"
        b"<noscript>n</noscript><template>m</template><svg><text>v</text></svg><p hidden>h</p>"
        b"<p>a<!-- b -->c <b>d</b><button>Copy</button></p><?php e ?><![CDATA[f]]><textarea>g</textarea>"
    )
    assert lines(text) == ["t", "ac d"]


def test_elements_and_lines_part_what_is_read() -> None:
    text = read_saved_text(
        b"<h1>A\n title</h1>one <i>line</i><div>two<br>three</div><ul><li>four<li>five</ul>"
        b"<dl><dt>term<dd>said <p>more</p></dl><table><tr><th>1<td><div>2</div><td><td>4</table><p>after"
        b"<div role=row><span role=cell>r</span><span role=cell>c</span></div><pre>x\n  y</pre>"
    )
    assert lines(text) == [
        "A title", "one line", "two", "three", "four", "five", "term|said more", "1|2||4", "after", "r|c",
        "x", "y",
    ]  # fmt: skip
    assert text.headings == ("A title",)


def test_marks_of_ours_can_not_be_smuggled_in() -> None:
    text = read_saved_text(b"<p>a&#31;b&#9;c&#10;d&#2;e&#xD800;f\x1fg\x02h</p>")
    (line,) = text.lines
    assert line == "ab c de\ufffdfgh"


def test_what_is_too_large_or_has_too_many_tags_is_refused_in_words() -> None:
    assert "17 MiB" in refused(b"a" * (saved_text.LARGEST_BYTES + 2**20))
    for start in (b"", b"<pre>"):
        assert "lines, and no page" in refused(start + b"a\n" * (saved_text.MOST_LINES + 1))
    for token in (b"<p>", b"<p>&amp;"):
        assert "more than 150,000" in refused(token * (saved_text.MOST_TAGS + 1))


def test_attributes_without_number_are_refused_before_they_cost_anything() -> None:
    start = time.process_time()
    assert "one of its tags has more than 1,000 attributes" in refused(b"<p " + b"a " * 2_000_000 + b">")
    assert "more than 1,000 attributes" in refused(b"<p " + b"a='x'" * 1_001 + b">")
    assert "more than 1,000,000 attributes" in refused((b"<p " + b"a " * 900 + b"></p>") * 1_200)
    assert lines(read_saved_text(b"<p " + b"a=1 " * 1_000 + b">x")) == ["x"]
    # In an attribute, and in the text, as many may stand as will.
    assert lines(read_saved_text(b"<p title='" + b"a=b " * 5_000 + b"'>" + b"c=d " * 900)) == [
        "c=d " * 899 + "c=d"
    ]
    assert time.process_time() - start < 5


@pytest.mark.parametrize("again", ["!--", "![x[", "!doctype ", "?", "script>"])
def test_comments_that_others_begin_behind_are_refused_in_words(again: str) -> None:
    assert "comments are so placed" in refused(f"<p>a<<!-- b -->{again}".encode() * 50_000)


def test_elements_end_with_what_they_lie_in_and_with_the_page() -> None:
    text = read_saved_text(b"<div><svg><p>a</div>b<img><br/><p hidden>c<i>d</p>e</span><template>f")
    assert lines(text) == ["b", "e"]


def test_a_million_rows_are_refused_before_they_cost_anything() -> None:
    start = time.process_time()
    for row, why in (
        ("<tr><td>1", "tags"),
        ("<tr><td>batch_size=1<td>1</tr>", "MiB"),
        ("batch_size=1\n", "lines"),
    ):
        before = page().text() if why == "lines" else page().html().partition("<tbody>")[0]
        assert why in refused((before + row * 1_000_000).encode())
    assert time.process_time() - start < 5


def test_what_is_nested_too_deep_is_refused_in_words() -> None:
    assert "nested more than 1,000 deep" in refused(b"<div>" * 5_000)
    start = time.process_time()
    assert "nested more than 1,000 deep" in refused(b"<div>" * 100_000)
    assert time.process_time() - start < 2
    deep = page().html().replace("<main>", "<main>" + "<div>" * 900)
    assert len(read_submission_page(read_saved_text(deep.encode())).cases) == 16


@pytest.mark.parametrize(
    "token",
    ["<", "</", "<a", "<a ", '<a b="', "<a b='", "<!", "<?", "<!--", "<![", "<![x", "<script", "<style>", "&",
     "&#", "<a b c", "<title>", "</p", "<a\t", "<td>", "<time datetime=x>", "<pre>", "\x00", "]]>", "|", "\t",
     "Workload Latency Speedup\n", "Workload\n", "Workload\nLatency\nSpeedup\n", "<a b=' ",
     "batch_size=1 ", "Kernel: ", "Kernel\n", "{", '{"run":', "sha256:"],
)  # fmt: skip
def test_no_repetition_takes_long_or_does_harm(token: str) -> None:
    for start, end in (("", ""), (page().html(), '">')):
        body = (start + token * (30_000 // len(token)) + end).encode()
        began = time.process_time()
        with suppress(Unreadable):
            read_submission_page(read_saved_text(body))
        with suppress(Unreadable):
            read_run_page(read_saved_text(body))
        assert time.process_time() - began < 2
