"""Expressions of derived axes, with Python as the judge of what they are worth."""

from contextlib import suppress
from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assets.manifests.expressions import ExpressionError, derive, in_order, parse

CONVOLUTION = "(width + 2 * padding - kernel_size) // stride + 1"


def value(expression: str, **axes: int) -> int:
    """What an expression is worth where these axes have these values."""
    return derive(in_order({"derived": expression}, axes), axes)["derived"]


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "//", "%", " + ", " - ", " * ", " // ", " % "])
    return (
        st.tuples(parts, operators, parts).map("".join) | parts.map("({})".format) | parts.map("-{}".format)
    )


expressions = st.recursive(st.sampled_from(["a", "b", "c", "0", "1", "2", "7", "10"]), joined, max_leaves=12)


def test_the_source_s_own_example_is_read() -> None:
    assert value(CONVOLUTION, width=1024, padding=1, kernel_size=3, stride=2) == 512


@given(expressions, st.integers(-9, 9), st.integers(1, 9), st.integers(0, 9))
@example("7-a-b*c//2%b", 3, 4, 5)
@example("-7//2*-2", 0, 1, 0)
def test_an_expression_is_worth_what_python_says(expression: str, a: int, b: int, c: int) -> None:
    axes = {"a": a, "b": b, "c": c}
    try:
        expected = eval(expression, {}, axes)
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="derived divides by zero"):
            value(expression, **axes)
    else:
        assert value(expression, **axes) == expected


@given(st.text("ab019+-*/%()._,: \n[]", max_size=40))
def test_any_text_is_a_number_or_an_error_that_is_known(text: str) -> None:
    with suppress(ExpressionError):
        assert isinstance(value(text, a=6, b=4), int)


@pytest.mark.parametrize(
    "expression",
    [
        *("a()", "a(b)", "(a)(b)", "a.b", "a[b]", "[a]", "{a}", "a, b", "()", "(a, b)", "*a", "**a"),
        *("a ** 2", "a / 2", "a @ b", "a << 2", "a | b", "a & b", "a ^ b", "~a", "a := 1", "a = 1"),
        *("a < b", "a == b", "a and b", "not a", "a if b else c", "a in b", "lambda: 1", "yield a"),
        *("1.5", "1e3", "1j", "0x10", "0b1", "1_000", "007", "'a'", "f'{a}'", "...", "a b", "2 a", "2a"),
        *("", " ", "(a", "a)", "a +", "// a", "a; b", "a\nb", "a # b", "a\0", "é", "１", "a\u00a0+ b", "a\\"),
        *("__import__('os')", "(lambda: 1)()", "a.__class__", "[a for a in b]", "await a", "print(a)"),
    ],
)
def test_nothing_but_integers_axes_and_five_operators_gets_through(expression: str) -> None:
    with pytest.raises(ExpressionError):
        value(expression, a=6, b=4, c=2)


@pytest.mark.parametrize("expression", ["+".join(["a"] * 300), "(" * 300 + "a" + ")" * 300])
def test_what_is_absurdly_long_is_refused(expression: str) -> None:
    with pytest.raises(ExpressionError, match="longer than"):
        parse(expression)


@pytest.mark.parametrize(
    "expression", ["(" * 240 + "a" + ")" * 240, "-" * 499 + "a", "-(" * 120 + "a" + ")" * 120]
)
def test_deep_nesting_is_a_number_or_an_error_that_is_known(expression: str) -> None:
    with suppress(ExpressionError):
        assert abs(value(expression, a=6)) == 6


def test_numbers_beyond_canonical_json_are_refused() -> None:
    assert value("a + 1", a=2**53 - 2) == 2**53 - 1
    for expression in ("a + 2", "a * a", "a * a // a", "9" * 400):
        with pytest.raises(ExpressionError, match="derived goes beyond 9007199254740991"):
            value(expression, a=2**53 - 2)


def test_axes_may_be_called_like_words_of_python() -> None:
    axes = {"lambda": 6, "in": 4, "if": 3, "None": 2, "__import__": 1}
    assert value("lambda * in // if - None % __import__", **axes) == 8


def test_derived_axes_may_name_each_other_in_any_order() -> None:
    chain = {"area": "height * width", "height": "width // 2", "width": CONVOLUTION}
    given_axes = {"width_in": 1}
    expressions = {**chain, "width": "width_in * 8"}
    for order in permutations(expressions):
        trees = in_order({name: expressions[name] for name in order}, given_axes)
        assert derive(trees, given_axes) == {"width_in": 1, "width": 8, "height": 4, "area": 32}


@pytest.mark.parametrize(
    ("expressions", "circle"),
    [
        ({"a": "a + 1"}, {"a"}),
        ({"a": "b", "b": "a"}, {"a", "b"}),
        ({"a": "b", "b": "c * 2", "c": "n + a", "d": "a"}, {"a", "b", "c"}),
    ],
)
def test_a_circle_is_refused_and_shown(expressions: dict[str, str], circle: set[str]) -> None:
    with pytest.raises(ExpressionError, match="in a circle") as refused:
        in_order(expressions, {"n"})
    assert set(str(refused.value).rpartition(": ")[2].split(" -> ")) == circle


def test_a_name_that_is_no_axis_is_refused_and_shown() -> None:
    with pytest.raises(ExpressionError, match=r"heads = hidden // head_dim names head_dim, which is no axis"):
        in_order({"heads": "hidden // head_dim"}, {"hidden"})


@pytest.mark.parametrize("expression", ["a // b", "a % b", "a // (b * 7)", "1 // 0"])
def test_a_division_by_zero_is_refused(expression: str) -> None:
    with pytest.raises(ExpressionError, match="derived divides by zero"):
        value(expression, a=6, b=0)


def test_an_axis_without_a_value_is_named() -> None:
    trees = in_order({"heads": "hidden // head_dim"}, {"hidden", "head_dim"})
    with pytest.raises(ExpressionError, match="heads needs head_dim, which has no value"):
        derive(trees, {"hidden": 4096})


def test_a_value_that_is_there_already_stays() -> None:
    assert (
        derive(in_order({"heads": "hidden // 128"}, {"hidden"}), {"hidden": 4096, "heads": 8})["heads"] == 8
    )
