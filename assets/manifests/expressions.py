"""Expressions of derived axes: integers, names of axes, `+ - * % //` and parentheses (DESIGN §3).

Read by Python's own parser into a tree of which only these nodes are allowed; nothing is ever run.
"""

import ast
import operator
import re
from collections.abc import Callable, Collection, Mapping
from graphlib import CycleError, TopologicalSorter

# Beyond it canonical JSON has no integers; it also bounds what a chain of products can cost.
_LARGEST = 2**53 - 1
_LONGEST = 500

_TEXT = re.compile(r"[A-Za-z0-9_+*%/() -]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
}


class ExpressionError(ValueError):
    """An expression that can't be read or has no value; says which and why."""


def parse(expression: str) -> ast.expr:
    """The tree of an expression. Raises ExpressionError where it holds anything but is allowed."""
    shown = repr(expression[:80])
    if len(expression) > _LONGEST:
        raise ExpressionError(f"{shown}... is longer than {_LONGEST} characters")
    if not _TEXT.fullmatch(expression):
        raise ExpressionError(f"{shown} holds more than integers, axes and + - * % // ( )")
    try:
        # Every name gets a "_" in front: an axis may be called `in` or `lambda`.
        tree = ast.parse(_NAME.sub(r"_\g<0>", expression.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"{shown} is not an expression of axes") from None
    if not all(map(_allowed, ast.walk(tree))):
        raise ExpressionError(f"{shown} holds more than integers, axes and + - * % // ( )")
    return tree


def in_order(expressions: Mapping[str, str], others: Collection[str]) -> dict[str, ast.expr]:
    """The trees of derived axes, by name, each after those that it needs.

    Expressions may name each other in any order, and the `others`, which are not derived.

    Raises ExpressionError for what `parse` refuses, a cycle, or a name that is no axis.
    """
    trees = {name: parse(text) for name, text in expressions.items()}
    needs = {name: _names(tree) for name, tree in trees.items()}
    for name, needed in needs.items():
        for unknown in sorted(needed - trees.keys() - set(others)):
            raise ExpressionError(f"{name} = {expressions[name]} names {unknown}, which is no axis")
    try:
        return {name: trees[name] for name in TopologicalSorter(needs).static_order() if name in trees}
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise ExpressionError(f"derived axes depend on each other in a circle: {circle}") from None


def derive(trees: Mapping[str, ast.expr], values: Mapping[str, int]) -> dict[str, int]:
    """`values`, and with them the value of every derived axis that they lack.

    `trees` are those of `in_order`.

    Raises ExpressionError for an axis without a value, a division by zero or a value beyond 2**53 - 1.
    """
    known = dict(values)
    for name, tree in trees.items():
        if name not in known:
            try:
                known[name] = _value(tree, known)
            except ZeroDivisionError:
                raise ExpressionError(f"derived axis {name} divides by zero") from None
            except KeyError as error:
                missing = error.args[0][1:]
                raise ExpressionError(f"derived axis {name} needs {missing}, which has no value") from None
            except OverflowError:
                raise ExpressionError(f"derived axis {name} goes beyond {_LARGEST}") from None
    return known


def _names(tree: ast.expr) -> set[str]:
    return {node.id[1:] for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Name, ast.Load, ast.UAdd, ast.USub, *_OPERATORS))


def _value(tree: ast.expr, known: Mapping[str, int]) -> int:
    match tree:
        case ast.Constant(value=int(value)):
            pass
        case ast.Name(id=name):
            if name[1:] not in known:
                raise KeyError(name)
            value = known[name[1:]]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = -_value(operand, known)
        case ast.UnaryOp(operand=operand):
            value = _value(operand, known)
        case ast.BinOp(left=left, op=op, right=right):
            value = _OPERATORS[type(op)](_value(left, known), _value(right, known))
        case _:
            raise AssertionError(f"parse() allows no {type(tree).__name__}")
    if abs(value) > _LARGEST:
        raise OverflowError
    return value
