"""Source to expression, by recursive descent; macros are expanded as calls are met.

The grammar is that of the language definition: a conditional of disjunctions of conjunctions of
relations of sums of products of signed members. A syntax error ends the parse; its text is that
of upstream's parser generator where one token decides it.

Upstream: cel-go parser/parser.go, parser/gen/CEL.g4, parser/helper.go (balancing); cel-go
parser/gen/CEL.g4, parser/unescape.go.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from podwright.apimachinery.cel.expressions import (
    Call,
    Constant,
    CreateList,
    CreateMap,
    CreateStruct,
    Entry,
    Expression,
    Identifier,
    Select,
)
from podwright.apimachinery.cel.macros import MacroError, Macros
from podwright.apimachinery.cel.values import INT_MAX, INT_MIN, UINT_MAX, CompileError, Issue, Uint

MAX_SOURCE_LENGTH: Final = 100_000
MAX_NESTING: Final = 250
_DIGITS_MAX: Final = 1_000
_FRAMES_MAX: Final = 16 * MAX_NESTING
"""The Python calls of an expression that is nested as deep as is allowed."""

_RELATIONS = {"==", "!=", "<", "<=", ">", ">=", "in"}
_FUNCTION_OF = {"in": "@in"}
_BINARY: tuple[frozenset[str], ...] = (
    frozenset(_RELATIONS),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
    "package", "namespace", "return", "var", "void", "while",
})  # fmt: skip
# The order of the grammar's tokens, in which messages list what was expected.
_TOKEN_ORDER = (
    "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "true", "false", "null",
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER", "<EOF>",
)  # fmt: skip
_NAMED_TOKENS = frozenset({
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER", "<EOF>",
})  # fmt: skip
_CLOSING = frozenset({")", "]", "}"})
_LITERAL_WORDS = frozenset({"true", "false", "null"})
_NAMES = frozenset({"IDENTIFIER", "ESC_IDENTIFIER"})
_AFTER_OPERAND = frozenset({
    "==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%", "&&", "||", "?", ".", "[",
})  # fmt: skip
"""The tokens with which an expression continues; others end it."""
_NO_OTHERS: frozenset[str] = frozenset()
_OPTIONAL = frozenset({"?"})
_END_OF_ARGUMENTS = frozenset({")"})
_OPERAND = frozenset({
    "[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT",
    "STRING", "BYTES", "IDENTIFIER",
})  # fmt: skip


def parse(source: str, macros: Macros) -> Expression:
    """Parse an expression.

    Raises
    ------
    CompileError
        The source does not follow the grammar, or a macro is used wrongly.
    """
    if len(source) > MAX_SOURCE_LENGTH:
        size = f"size: {len(source)}, limit {MAX_SOURCE_LENGTH}"
        raise CompileError("", [Issue(0, f"expression code point size exceeds limit: {size}")])
    try:
        return _parsed(source, macros)
    except RecursionError:
        # Only nested expressions get here: the limit is that of the whole process.
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + _FRAMES_MAX)
        try:
            return _parsed(source, macros)
        finally:
            sys.setrecursionlimit(limit)


def _parsed(source: str, macros: Macros) -> Expression:
    tokens, issues = tokenize(source)
    parser = _Parser(source, tokens, macros)
    try:
        expression = parser.whole()
    except _SyntaxError as error:
        raise CompileError(source, [*issues, *parser.issues, error.issue]) from None
    issues += parser.issues
    if issues:
        raise CompileError(source, issues)
    return expression


class _SyntaxError(Exception):
    def __init__(self, issue: Issue) -> None:
        super().__init__(issue.message)
        self.issue = issue


class _Parser:
    def __init__(self, source: str, tokens: list[Token], macros: Macros) -> None:
        self.issues: list[Issue] = []
        self._source = source
        self._tokens = tokens
        # What may follow the inner expressions, the innermost last.
        self._followers: list[frozenset[str]] = [frozenset({"<EOF>"})]
        self._position = 0
        self._passed_to = -1
        self._nesting = 0
        self._macros = macros

    # ------------------------------------------------------------------ tokens

    @property
    def _token(self) -> Token:
        return self._tokens[self._position]

    def _peek(self, ahead: int) -> str:
        return self._tokens[min(self._position + ahead, len(self._tokens) - 1)].kind

    def _take(self) -> Token:
        token = self._token
        self._position += 1
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._take() if self._token.kind == kind else None

    def _expect(self, kind: str, others: Sequence[str] = ()) -> Token:
        """Take a token of a kind; if one is too much, or it may be missing, report that only.

        Parameters
        ----------
        others : iterable of str
            What else may stand here.

        Upstream: antlr4 error_strategy.go, RecoverInline and Sync
        """
        token = self._token
        if token.kind == kind:
            return self._take()
        expected = _expected([kind, *others])
        if self._peek(1) == kind:
            self._report(f"extraneous input '{token.text}' expecting {expected}")
            self._take()
            return self._take()
        follows = self._followers[-1] | _AFTER_OPERAND if kind in _CLOSING else _OPERAND
        if token.kind in follows and not others:
            self._report(f"missing {expected} at '{token.text}'")
            return Token(kind, "", token.offset)
        raise self._error(f"mismatched input '{token.text}' expecting {expected}")

    def _pass_over(self, error: _SyntaxError) -> None:
        """Report an error, and pass over what cannot follow, as upstream does.

        Upstream: antlr4 error_strategy.go, Recover
        """
        if self._position != self._passed_to:
            self.issues.append(error.issue)
        known = _AFTER_OPERAND.union({"<EOF>"}, *self._followers)
        while self._token.kind not in known:
            self._take()
        # Upstream reports nothing more until a token is taken.
        self._passed_to = self._position

    def _within(self, *followers: str, others: frozenset[str] = _NO_OTHERS) -> Expression:
        """Parse an inner expression that is followed by some tokens."""
        self._followers.append(frozenset(followers))
        found = self._expression(others=others)
        self._followers.pop()
        return found

    def _range(self, start: Token) -> str:
        """Return the source from a token up to the current one."""
        end = self._token
        until = len(self._source) if end.kind == "<EOF>" else end.offset + len(end.text)
        return self._source[start.offset : until]

    def _report(self, message: str) -> None:
        if self._position == self._passed_to:
            return
        self.issues.append(Issue(self._token.offset, f"Syntax error: {message}"))

    def _error(self, message: str) -> _SyntaxError:
        return _SyntaxError(Issue(self._token.offset, f"Syntax error: {message}"))

    # ------------------------------------------------------------------ operators

    def whole(self) -> Expression:
        """Parse an expression and the end of the source."""
        expression = self._expression()
        if self._token.kind != "<EOF>":
            kind = "extraneous" if self._peek(1) == "<EOF>" else "mismatched"
            raise self._error(f"{kind} input '{self._token.text}' expecting <EOF>")
        return expression

    def _expression(self, *, others: frozenset[str] = _NO_OTHERS) -> Expression:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            limit = f"expression recursion limit exceeded: {MAX_NESTING}"
            raise _SyntaxError(Issue(-1, limit))
        self._check_operand(others)
        condition = self._logical("||", "_||_")
        question = self._accept("?")
        if question:
            self._followers.append(frozenset({":"}))
            truthy = self._logical("||", "_||_")
            self._followers.pop()
            self._expect(":")
            falsy = self._expression()
            condition = Call("_?_:_", [condition, truthy, falsy], offset=question.offset)
        self._nesting -= 1
        return condition

    def _check_operand(self, others: frozenset[str] = _NO_OTHERS) -> None:
        token = self._token
        if token.kind in _OPERAND or token.kind == "ESC_IDENTIFIER":
            return
        expected = _expected(_OPERAND | others)
        if self._peek(1) in _OPERAND | (others & _CLOSING) and token.kind != "<EOF>":
            self._report(f"extraneous input '{token.text}' expecting {expected}")
            self._take()
            return
        if token.kind in _AFTER_OPERAND and self._peek(1) == "<EOF>":
            # Upstream continues after an operator, and misses the operand once more at the end.
            self._report(f"mismatched input '{token.text}' expecting {expected}")
            self._take()
        raise self._error(f"mismatched input '{self._token.text}' expecting {expected}")

    def _logical(self, symbol: str, function: str) -> Expression:
        def operand() -> Expression:
            return self._logical("&&", "_&&_") if symbol == "||" else self._binary(0)

        terms, offsets = [operand()], []
        while operator := self._accept(symbol):
            offsets.append(operator.offset)
            terms.append(operand())
        return _balanced(function, terms, offsets, 0, len(offsets) - 1)

    def _binary(self, level: int) -> Expression:
        if level == len(_BINARY):
            return self._unary()
        left = self._binary(level + 1)
        while self._token.kind in _BINARY[level]:
            operator = self._take()
            right = self._binary(level + 1)
            function = _FUNCTION_OF.get(operator.kind, f"_{operator.kind}_")
            left = Call(function, [left, right], offset=operator.offset)
        return left

    def _unary(self) -> Expression:
        self._check_operand()
        token = self._token
        if token.kind not in ("!", "-"):
            return self._member(self._primary())
        if token.kind == "-" and self._peek(1) in ("NUM_INT", "NUM_FLOAT"):
            self._take()
            return self._member(self._number(self._take(), token))
        count = 0
        while self._accept(token.kind):
            count += 1
        self._check_signed(token)
        operand = self._unary() if self._token.kind == "-" else self._operand_of_sign()
        # An even number of signs cancels out.
        if count % 2 == 0:
            return operand
        return Call(f"{token.kind}_", [operand], offset=token.offset)

    def _check_signed(self, sign: Token) -> None:
        """Check what follows a sign, for which upstream has other errors than elsewhere."""
        token = self._token
        is_wrong = token.kind not in _OPERAND or (sign.kind, token.kind) == ("-", "!")
        if not is_wrong:
            return
        expected = _expected(_OPERAND)
        if token.kind == "!":
            raise self._error(f"no viable alternative at input '{self._range(sign)}'")
        if sign.kind == "-":
            self._report(f"no viable alternative at input '{self._range(sign)}'")
            if token.kind in (*_CLOSING, "<EOF>"):
                raise self._error(f"mismatched input '{token.text}' expecting {expected}")
            return
        if token.kind in (*_CLOSING, "<EOF>"):
            raise self._error(f"extraneous input '{token.text}' expecting {expected}")
        self._report(f"extraneous input '{token.text}' expecting {expected}")
        self._take()
        if self._token.kind not in _OPERAND:
            raise self._error(f"mismatched input '{self._token.text}' expecting {expected}")

    def _operand_of_sign(self) -> Expression:
        self._check_operand()
        return self._member(self._primary())

    # ------------------------------------------------------------------ members

    def _member(self, operand: Expression) -> Expression:
        while True:
            token = self._token
            if token.kind == ".":
                operand = self._selection(operand)
            elif token.kind == "[":
                self._take()
                is_optional = self._accept("?") is not None
                index = self._within("]", others=_NO_OTHERS if is_optional else _OPTIONAL)
                self._expect("]")
                function = "_[?_]" if is_optional else "_[_]"
                operand = Call(function, [operand, index], offset=token.offset)
            else:
                return operand

    def _selection(self, operand: Expression) -> Expression:
        dot = self._take()
        is_optional = self._accept("?") is not None
        kind = self._token.kind
        if kind not in _NAMES and is_optional:
            self._check_optional_name()
        elif kind not in _NAMES:
            if kind not in _LITERAL_WORDS:
                raise self._no_viable(dot)
            raise self._error(f"mismatched input '{self._token.text}' expecting IDENTIFIER")
        name = self._token
        field = self._field_name()
        if is_optional:
            constant = Constant(field, offset=name.offset)
            return Call("_?._", [operand, constant], offset=dot.offset)
        parenthesis = self._accept("(") if name.kind == "IDENTIFIER" else None
        if parenthesis is None:
            return Select(operand, field, offset=dot.offset)
        args = self._arguments()
        return self._call(field, operand, args, parenthesis.offset)

    def _check_optional_name(self) -> None:
        """Report what stands before the name after `.?`, or instead of it."""
        text = f"input '{self._token.text}' expecting {_expected(_NAMES)}"
        if self._peek(1) not in _NAMES:
            self.issues.append(self._error(f"mismatched {text}").issue)
            raise _SyntaxError(Issue(self._token.offset, "unsupported ident kind"))
        self._report(f"extraneous {text}")
        self._take()

    def _field_name(self) -> str:
        """Take the name of a field; Kubernetes does not enable those between backquotes."""
        name = self._take()
        if name.kind == "ESC_IDENTIFIER":
            self.issues.append(Issue(name.offset, "unsupported syntax: '`'"))
        return name.text

    def _no_viable(self, dot: Token) -> _SyntaxError:
        """Return the error of a selection without a name; an operator after it has one more."""
        error = self._error(f"no viable alternative at input '{self._range(dot)}'")
        if self._token.kind not in _AFTER_OPERAND - {".", "[", "?"}:
            return error
        self.issues.append(error.issue)
        self._take()
        try:
            self._check_operand()
        except _SyntaxError as missing:
            return missing
        # The last issue is the one that is raised.
        return _SyntaxError(self.issues.pop())

    def _arguments(self) -> list[Expression]:
        args: list[Expression] = []
        if self._token.kind != ")":
            self._check_operand(_END_OF_ARGUMENTS)
        if self._token.kind != ")":
            args.append(self._within(",", ")"))
            while self._accept(","):
                args.append(self._within(",", ")"))
        self._expect(")")
        return args

    def _call(
        self, function: str, target: Expression | None, args: list[Expression], offset: int
    ) -> Expression:
        try:
            expanded = self._macros.expand(function, target, args, offset)
        except MacroError as error:
            self.issues.append(Issue(error.offset, str(error)))
            expanded = None
        return expanded or Call(function, args, target, offset=offset)

    # ------------------------------------------------------------------ primaries

    def _primary(self) -> Expression:
        token = self._token
        match token.kind:
            case "(":
                self._take()
                inner = self._within(")")
                try:
                    self._expect(")")
                except _SyntaxError as error:
                    self._pass_over(error)
                return inner
            case "[":
                return self._list()
            case "{":
                self._take()
                return CreateMap(self._entries(), offset=token.offset)
            case "." | "IDENTIFIER":
                return self._name()
            case "NUM_INT" | "NUM_UINT" | "NUM_FLOAT":
                return self._number(self._take())
            case "STRING":
                return self._text()
            case "BYTES":
                literal = self._take().text
                if _has_escape(_CHARACTER, literal[1:]):
                    self.issues.append(Issue(token.offset, "unable to unescape string"))
                return Constant(bytes_of(literal), offset=token.offset)
            case "true" | "false" | "null":
                self._take()
                value = {"true": True, "false": False, "null": None}[token.kind]
                return Constant(value, offset=token.offset)
            case _:
                pass
        raise self._error(f"mismatched input '{token.text}' expecting {_expected(_OPERAND)}")

    def _name(self) -> Expression:
        dot = self._accept(".")
        if dot and self._token.kind != "IDENTIFIER":
            if self._token.kind in _LITERAL_WORDS:
                raise self._error(f"mismatched input '{self._token.text}' expecting IDENTIFIER")
            raise self._no_viable(dot)
        struct = self._struct_name()
        if struct:
            brace = self._expect("{")
            return CreateStruct(
                ("." if dot else "") + struct, self._entries(fields=True), offset=brace.offset
            )
        token = self._take()
        if token.text in _RESERVED:
            self.issues.append(Issue(token.offset, f"reserved identifier: {token.text}"))
        name = ("." if dot else "") + token.text
        parenthesis = self._accept("(")
        if parenthesis is None:
            return Identifier(name, offset=token.offset)
        return self._call(name, None, self._arguments(), parenthesis.offset)

    def _struct_name(self) -> str:
        """Return the dotted name before a brace and pass over it; empty if there is no brace."""
        ahead, names = 0, [self._token.text]
        while self._peek(ahead + 1) == "." and self._peek(ahead + 2) == "IDENTIFIER":
            ahead += 2
            names.append(self._tokens[self._position + ahead].text)
        if self._peek(ahead + 1) != "{":
            return ""
        self._position += ahead + 1
        return ".".join(names)

    def _list(self) -> Expression:
        start = self._take()
        elements: list[Expression] = []
        optional: set[int] = set()
        for is_optional in self._items("]", _OPERAND):
            if is_optional:
                optional.add(len(elements))
            others = _NO_OTHERS if is_optional else _OPTIONAL
            elements.append(self._within(",", "]", others=others))
        return CreateList(elements, frozenset(optional), offset=start.offset)

    def _entries(self, *, fields: bool = False) -> list[Entry]:
        entries: list[Entry] = []
        for is_optional in self._items("}", _NAMES if fields else _OPERAND):
            key: Expression | str
            if fields:
                if self._token.kind not in _NAMES:
                    text = f"mismatched input '{self._token.text}' expecting {_expected(_NAMES)}"
                    raise self._error(text)
                key = self._field_name()
            else:
                key = self._within(":", others=_NO_OTHERS if is_optional else _OPTIONAL)
            colon = self._expect(":")
            value = self._within(",", "}")
            entries.append(Entry(key, value, colon.offset, is_optional))
        return entries

    def _items(self, end: str, first: frozenset[str]) -> Iterator[bool]:
        """Yield at each item of a literal, whether it is optional; then take the end.

        Parameters
        ----------
        end : str
            The kind of the token after the items, before which a comma may be.
        first : frozenset of str
            The kinds of the tokens that start an item.
        """
        starts = first | _OPTIONAL
        token, known = self._token, starts | {end, ","}
        if token.kind not in known:
            is_extra = token.kind != "<EOF>" and self._peek(1) in known
            what = "extraneous" if is_extra else "mismatched"
            error = self._error(f"{what} input '{token.text}' expecting {_expected(known)}")
            if not is_extra:
                raise error
            self.issues.append(error.issue)
            self._take()
        if self._token.kind in starts:
            yield self._accept("?") is not None
            while self._token.kind == "," and self._peek(1) in starts:
                self._take()
                yield self._accept("?") is not None
            if self._token.kind not in (end, ","):
                if self._peek(1) == ",":
                    text = (
                        f"extraneous input '{self._token.text}' expecting {_expected([end, ','])}"
                    )
                    self._report(text)
                    self._take()
                else:
                    self._expect(end, [","])
                    return
        self._accept(",")
        self._expect(end)

    def _text(self) -> Expression:
        token = self._take()
        if _has_escape(_NO_CHARACTER, token.text):
            self.issues.append(Issue(token.offset, "invalid unicode code point"))
            return Constant("", offset=token.offset)
        return Constant(text_of(token.text), offset=token.offset)

    def _number(self, token: Token, sign: Token | None = None) -> Expression:
        text = ("-" if sign else "") + token.text
        offset = sign.offset if sign else token.offset
        value: int | float | Uint
        if token.kind == "NUM_FLOAT":
            number = float(text)
            if math.isinf(number):
                self.issues.append(Issue(offset, "invalid double literal"))
            return Constant(number, offset=offset)
        is_unsigned = token.kind == "NUM_UINT"
        digits = text.rstrip("uU")
        # Python reads no number of thousands of digits; all longer ones are as invalid.
        value = int(digits, 16) if "0x" in text else int(digits[:_DIGITS_MAX])
        if is_unsigned:
            if value > UINT_MAX:
                self.issues.append(Issue(offset, "invalid uint literal"))
            return Constant(Uint(value), offset=offset)
        if not INT_MIN <= value <= INT_MAX:
            self.issues.append(Issue(offset, "invalid int literal"))
        return Constant(value, offset=offset)


def _balanced(
    function: str, terms: list[Expression], offsets: list[int], low: int, high: int
) -> Expression:
    """Return a tree of a logical operator that is as deep to the left as to the right."""
    if high < low:
        return terms[low]
    middle = (low + high + 1) // 2
    left = _balanced(function, terms, offsets, low, middle - 1)
    right = (
        terms[middle + 1]
        if middle == high
        else _balanced(function, terms, offsets, middle + 1, high)
    )
    return Call(function, [left, right], offset=offsets[middle])


def _expected(kinds: Iterable[str]) -> str:
    names = [
        kind if kind in _NAMED_TOKENS else f"'{kind}'"
        for kind in sorted(kinds, key=_TOKEN_ORDER.index)
    ]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


# Characters to tokens.

_DIGITS = r"[0-9]+"
_ESCAPE = r"\\(?:[abfnrtv\"'`\\?]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[xX][0-9a-fA-F]{2}|[0-3][0-7]{2})"
_TEXT = (
    r'(?:[rR]"""[\s\S]*?"""|[rR]\'\'\'[\s\S]*?\'\'\'|[rR]"[^"\r\n]*"|[rR]\'[^\'\r\n]*\''
    rf'|"""(?:{_ESCAPE}|[^\\])*?"""|\'\'\'(?:{_ESCAPE}|[^\\])*?\'\'\''
    rf'|"(?:{_ESCAPE}|[^\\"\r\n])*"|\'(?:{_ESCAPE}|[^\\\'\r\n])*\')'
)
_TOKENS = re.compile(
    rf"""
    (?P<SPACE>[\t \r\n\f]+|//[^\n]*)
  | (?P<BYTES>[bB]{_TEXT})
  | (?P<STRING>{_TEXT})
  | (?P<NUM_FLOAT>{_DIGITS}\.{_DIGITS}(?:[eE][+-]?{_DIGITS})?|{_DIGITS}[eE][+-]?{_DIGITS}
      |\.{_DIGITS}(?:[eE][+-]?{_DIGITS})?)
  | (?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|{_DIGITS}[uU])
  | (?P<NUM_INT>0x[0-9a-fA-F]+|{_DIGITS})
  | (?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)
  | (?P<SYMBOL>==|!=|<=|>=|&&|\|\||[\[\]{{}}()<>.,\-!?:+*/%])
    """,
    re.VERBOSE | re.ASCII,
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})
_SIMPLE_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPES = re.compile(_ESCAPE)
_CHARACTER = re.compile(r"\\[uU]")
"""An escape that bytes do not have."""
_NO_CHARACTER = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F]|\\U(?!0000|0010|000[1-9a-fA-F])")
"""An escape of a surrogate, or of what is beyond Unicode."""
_BEGUN_ESCAPE = r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?"
_BEGUN = re.compile(
    rf"[=&|]|`[A-Za-z0-9_.\-/ ]*"
    rf'|"(?:{_ESCAPE}|[^\\"\r\n])*(?:{_BEGUN_ESCAPE})?'
    rf"|'(?:{_ESCAPE}|[^\\'\r\n])*(?:{_BEGUN_ESCAPE})?|"
)
"""The start of a token that does not end."""


class Token(NamedTuple):
    """A token: its kind (a symbol or keyword is its own kind), text and place."""

    kind: str
    text: str
    offset: int


def tokenize(source: str) -> tuple[list[Token], list[Issue]]:
    """Split a source into tokens, the last of kind `<EOF>`; what is not a token is a problem."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    position = 0
    while position < len(source):
        match = _TOKENS.match(source, position)
        if match is None:
            end = _end_of_unknown(source, position)
            text = source[position:end]
            issues.append(Issue(position, f"Syntax error: token recognition error at: '{text}'"))
            position = end
            continue
        kind, text = match.lastgroup or "", match.group()
        if kind == "SYMBOL" or text in _KEYWORDS:
            kind = text
        if kind != "SPACE":
            tokens.append(Token(kind, text, position))
        position = match.end()
    tokens.append(Token("<EOF>", "<EOF>", len(source)))
    return tokens, issues


def _end_of_unknown(source: str, start: int) -> int:
    """Return the end of the text that no token starts with.

    What starts as a token reaches up to the character with which no token continues. Upstream:
    antlr4 lexer.go, notifyListeners and Recover.
    """
    match = _BEGUN.match(source, start)
    assert match is not None, "each part may be empty"
    return min(max(match.end(), start) + 1, len(source))


def text_of(literal: str) -> str:
    """Return the text of a string literal."""
    body, is_raw = _body(literal)
    if is_raw or "\\" not in body:
        return body
    return _ESCAPES.sub(lambda match: _character(match.group()), body)


def bytes_of(literal: str) -> bytes:
    """Return the bytes of a bytes literal: octal and hexadecimal escapes are bytes."""
    body, is_raw = _body(literal[1:])
    if is_raw or "\\" not in body:
        return body.encode()
    result, position = bytearray(), 0
    for match in _ESCAPES.finditer(body):
        result += body[position : match.start()].encode()
        escape, position = match.group(), match.end()
        if escape[1] in "xX0123":
            result.append(ord(_character(escape)))
        else:
            result += _character(escape).encode()
    return bytes(result + body[position:].encode())


def _has_escape(escape: re.Pattern[str], literal: str) -> bool:
    body, is_raw = _body(literal)
    return not is_raw and any(escape.match(each.group()) for each in _ESCAPES.finditer(body))


def _body(literal: str) -> tuple[str, bool]:
    is_raw = literal[0] in "rR"
    literal = literal[is_raw:]
    quotes = 3 if literal[:3] in ('"""', "'''") and len(literal) >= 6 else 1
    return literal[quotes:-quotes].replace("\r\n", "\n").replace("\r", "\n"), is_raw


def _character(escape: str) -> str:
    code = escape[1]
    if code in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[code]
    digits, base = (escape[1:], 8) if code.isdigit() else (escape[2:], 16)
    return chr(int(digits, base))
