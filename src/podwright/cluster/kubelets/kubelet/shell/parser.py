"""A parser of POSIX sh, as far as it is simulated: text in, syntax tree out.

It is a recursive descent over characters, because the meaning of a character depends on the place:
`#`, `}` or `in` are words in one and syntax in another (POSIX XCU 2.3 and 2.10). What it refuses
with `NotSimulatedError` is listed in docs/explanation/kubelet.md: background commands, `eval`,
arrays, process substitution, and every command that is not known by name. Tilde, brace and history
expansion are refused as well.

A script is checked as a whole before anything of it runs, also the branches that are never taken.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, cast

from podwright.cluster.kubelets.kubelet.shell.syntax import (
    AndOr,
    Arithmetic,
    Case,
    Command,
    Compound,
    For,
    Function,
    Group,
    If,
    List,
    Loop,
    NotSimulatedError,
    Parameter,
    Part,
    Pipeline,
    Redirected,
    Redirection,
    Simple,
    Substitution,
    Text,
    Word,
)

_RESERVED: Final = frozenset(
    {"if", "then", "else", "elif", "fi", "do", "done", "case", "esac"}
    | {"while", "until", "for", "{", "}", "!", "in"}
)
_ENDS: Final = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_FUNCTION: Final = re.compile(r"([A-Za-z_]\w*)[ \t]*\([ \t]*\)\s*", re.ASCII)
_REDIRECTION: Final = re.compile(r"(\d?)(<<-|<<|>>|>&|<&|<>|>\||>|<)")
_SPECIAL: Final = "?#@*$!-0123456789"
_OPERATORS: Final = (":-", ":=", ":+", ":?", "##", "%%", "-", "=", "+", "?", "#", "%")
_METACHARACTERS: Final = frozenset(" \t\n;&|<>()")
_PLAIN: Final = re.compile(r"[^ \t\n;&|<>()\\'\"$`]+")
_DEPTH_MAX: Final = 50


@lru_cache(maxsize=2048)
def parse(text: str, commands: frozenset[str]) -> List:
    """Return the tree of a script.

    Parameters
    ----------
    text : str
    commands : frozenset of str
        The commands that are simulated, without those that the script defines.

    Raises
    ------
    NotSimulatedError
        Some of the script is outside the subset, or it is not correct.
    """
    parser = _Parser(text)
    tree = parser.script()
    for name in parser.commands:
        known = name.removeprefix("/usr").removeprefix("/bin/") if "/" in name else name
        if known not in commands and name not in parser.functions:
            raise NotSimulatedError(f'command "{name}"')
    return tree


class _Parser:
    def __init__(self, text: str, depth: int = 0) -> None:
        self._text = text
        self._at = 0
        self._depth = depth
        self._documents: list[tuple[str, bool, bool, Redirection]] = []
        self.commands: list[str] = []
        self.functions: set[str] = set()

    def script(self) -> List:
        found = self._list()
        self._skip_lines()
        if self._at < len(self._text):
            raise self._error()
        if self._documents:
            raise NotSimulatedError("a here-document without its end")
        return found

    # ---------------------------------------------------------------------------- characters

    def _error(self) -> NotSimulatedError:
        line = self._text.count("\n", 0, self._at) + 1
        rest = self._text[self._at :].split("\n", 1)[0][:20]
        return NotSimulatedError(f"the syntax at line {line} of the script: {rest or 'its end'!r}")

    def _looking_at(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _skip_blanks(self) -> None:
        while self._at < len(self._text):
            if self._text[self._at] in " \t":
                self._at += 1
            elif self._looking_at("\\\n"):
                self._at += 2
            elif self._text[self._at] == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return

    def _skip_lines(self) -> None:
        self._skip_blanks()
        while self._looking_at("\n"):
            self._at += 1
            self._read_documents()
            self._skip_blanks()

    def _accept(self, operator: str) -> bool:
        self._skip_blanks()
        if not self._looking_at(operator):
            return False
        self._at += len(operator)
        return True

    def _reserved(self) -> str:
        """Return the reserved word at this place; empty if there is none."""
        self._skip_blanks()
        found = _PLAIN.match(self._text, self._at)
        if found is None or found[0] not in _RESERVED:
            return ""
        end = found.end()
        is_alone = end == len(self._text) or self._text[end] in _METACHARACTERS
        return found[0] if is_alone else ""

    def _expect(self, word: str) -> None:
        self._skip_lines()
        if self._reserved() != word:
            raise self._error()
        self._at += len(word)

    # ------------------------------------------------------------------------------- grammar

    def _list(self) -> List:
        found: list[AndOr] = []
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise NotSimulatedError("a script that is nested this deep")
        while True:
            self._skip_lines()
            is_over = self._at >= len(self._text) or self._reserved() in _ENDS
            if is_over or self._looking_at(")") or self._looking_at(";;"):
                break
            found.append(self._and_or())
            self._skip_blanks()
            if self._looking_at(";;") or not (self._accept(";") or self._looking_at("\n")):
                break
        if self._looking_at("&"):
            raise NotSimulatedError("a command in the background")
        self._depth -= 1
        return tuple(found)

    def _body(self) -> List:
        """Return a list that may not be empty."""
        found = self._list()
        if not found:
            raise self._error()
        return found

    def _and_or(self) -> AndOr:
        pipelines = [self._pipeline()]
        operators: list[Literal["&&", "||"]] = []
        while True:
            if self._accept("&&"):
                operators.append("&&")
            elif self._accept("||"):
                operators.append("||")
            else:
                return AndOr(tuple(pipelines), tuple(operators))
            self._skip_lines()
            pipelines.append(self._pipeline())

    def _pipeline(self) -> Pipeline:
        is_negated = self._reserved() == "!"
        if is_negated:
            self._at += 1
        commands = [self._command()]
        while True:
            if self._looking_at("||") or not self._accept("|"):
                return Pipeline(tuple(commands), is_negated)
            self._skip_lines()
            commands.append(self._command())

    def _command(self) -> Command:
        word = self._reserved()
        compound: Compound
        if self._looking_at("(") and not self._looking_at("(("):
            self._at += 1
            compound = Group(self._body(), is_subshell=True)
            self._skip_lines()
            if not self._accept(")"):
                raise self._error()
        elif word == "{":
            self._at += 1
            compound = Group(self._body(), is_subshell=False)
            self._expect("}")
        elif word in ("if", "while", "until", "for", "case"):
            self._at += len(word)
            compound = self._compound(word)
        elif word:
            raise self._error()
        else:
            return self._function() or self._simple()
        redirections: list[Redirection] = []
        while self._redirection(redirections):
            pass
        return Redirected(compound, tuple(redirections))

    def _compound(self, word: str) -> Compound:
        match word:
            case "if":
                return self._if()
            case "for":
                return self._for()
            case "case":
                return self._case()
            case _:
                return self._loop(word)

    def _function(self) -> Function | None:
        found = _FUNCTION.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        self.functions.add(found[1])
        body = self._command()
        if not isinstance(body, Redirected):
            raise self._error()
        return Function(found[1], body)

    def _if(self) -> If:
        branches: list[tuple[List | None, List]] = []
        while True:
            condition = self._body()
            self._expect("then")
            branches.append((condition, self._body()))
            self._skip_lines()
            word = self._reserved()
            self._at += len(word)
            if word == "else":
                branches.append((None, self._body()))
                self._expect("fi")
            elif word == "elif":
                continue
            elif word != "fi":
                raise self._error()
            return If(tuple(branches))

    def _loop(self, word: str) -> Loop:
        condition = self._body()
        return Loop(condition, self._do(), word == "until")

    def _do(self) -> List:
        self._expect("do")
        body = self._body()
        self._expect("done")
        return body

    def _name(self) -> str:
        self._skip_blanks()
        found = _NAME.match(self._text, self._at)
        if found is None:
            raise self._error()
        self._at = found.end()
        return found[0]

    def _for(self) -> For:
        name = self._name()
        self._skip_lines()
        words: list[Word] | None = None
        if self._reserved() == "in":
            self._at += 2
            words = []
            while (word := self._word()) is not None:
                words.append(word)
        self._accept(";")
        return For(name, None if words is None else tuple(words), self._do())

    def _case(self) -> Case:
        word = self._word()
        self._expect("in")
        items: list[tuple[tuple[Word, ...], List]] = []
        while True:
            self._skip_lines()
            if word is None:
                raise self._error()
            if self._reserved() == "esac":
                self._at += 4
                return Case(word, tuple(items))
            self._accept("(")
            patterns: list[Word] = []
            while True:
                pattern = self._word()
                if pattern is None:
                    raise self._error()
                patterns.append(pattern)
                if not self._accept("|"):
                    break
            if not self._accept(")"):
                raise self._error()
            items.append((tuple(patterns), self._list()))
            self._skip_lines()
            if not self._accept(";;") and self._reserved() != "esac":
                raise self._error()

    def _simple(self) -> Simple:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while True:
            self._skip_blanks()
            if self._redirection(redirections):
                continue
            found = _ASSIGNMENT.match(self._text, self._at)
            if found is not None and not words:
                self._at = found.end()
                has_value = self._at < len(self._text) and not self._is_meta(self._at)
                assignments.append((found[1], (has_value and self._word()) or ()))
                continue
            word = self._word()
            if word is None:
                break
            words.append(word)
        if not (assignments or words or redirections):
            raise self._error()
        if words:
            self._know(words)
        return Simple(tuple(assignments), tuple(words), tuple(redirections))

    def _know(self, words: list[Word]) -> None:
        """Collect the name of a command, which has to be plain text; also those of traps."""
        name = plain_text(words[0])
        if name is None:
            raise NotSimulatedError("a command whose name is computed")
        self.commands.append(name)
        if name == "trap" and len(words) > 2:
            action = plain_text(words[1])
            if action is None:
                raise NotSimulatedError("a trap whose action is computed")
            if action == "-":
                return
            nested = _Parser(action, self._depth)
            nested.script()
            self.commands += nested.commands
        elif name == "exec" and len(words) > 1:
            self._know(words[1:])

    def _is_meta(self, at: int) -> bool:
        return self._text[at] in _METACHARACTERS

    def _redirection(self, found: list[Redirection]) -> bool:
        self._skip_blanks()
        match = _REDIRECTION.match(self._text, self._at)
        if match is None:
            return False
        operator = match[2].replace(">|", ">")
        if operator in ("<>", "<&"):
            raise NotSimulatedError(f"the redirection {operator}")
        self._at = match.end()
        descriptor = int(match[1]) if match[1] else int(operator[0] == ">")
        if descriptor > 2:
            raise NotSimulatedError(f"the redirection of file descriptor {descriptor}")
        self._skip_blanks()
        word = self._word()
        if word is None:
            raise self._error()
        if operator.startswith("<<"):
            end = "".join(part.text for part in word if isinstance(part, Text))
            is_quoted = any(part.is_quoted for part in word)
            # The text follows at the end of the line.
            document = Redirection(descriptor, "<<", ())
            self._documents.append((end, is_quoted, operator == "<<-", document))
            found.append(document)
            return True
        found.append(Redirection(descriptor, cast(Literal["<", ">", ">>", ">&"], operator), word))
        return True

    def _read_documents(self) -> None:
        for end, is_quoted, is_indented, document in self._documents:
            lines: list[str] = []
            while True:
                if self._at >= len(self._text):
                    raise NotSimulatedError("a here-document without its end")
                line, _, _ = self._text[self._at :].partition("\n")
                self._at += len(line) + 1
                line = line.lstrip("\t") if is_indented else line
                if line == end:
                    break
                lines.append(f"{line}\n")
            text = "".join(lines)
            if is_quoted:
                document.target = (Text(text, is_quoted=True),)
            else:
                nested = _Parser(text, self._depth)
                document.target = tuple(nested._quoted(""))
                self.commands += nested.commands
        self._documents.clear()

    # --------------------------------------------------------------------------------- words

    def _word(self) -> Word | None:
        self._skip_blanks()
        if self._at >= len(self._text) or self._is_meta(self._at):
            return None
        parts = self._parts(_METACHARACTERS)
        first = parts[0]
        if isinstance(first, Text) and not first.is_quoted and first.text.startswith("~"):
            raise NotSimulatedError("the expansion of ~")
        return tuple(parts)

    def _parts(self, ends: frozenset[str]) -> list[Part]:
        """Return the parts of a word up to one of the characters that end it."""
        parts: list[Part] = []
        while self._at < len(self._text) and self._text[self._at] not in ends:
            character = self._text[self._at]
            if character == "'":
                end = self._text.find("'", self._at + 1)
                if end < 0:
                    raise NotSimulatedError("an unclosed quote")
                parts.append(Text(self._text[self._at + 1 : end], is_quoted=True))
                self._at = end + 1
            elif character == '"':
                self._at += 1
                parts += self._quoted('"') or [Text("", is_quoted=True)]
                self._at += 1
            elif character == "\\":
                escaped = self._text[self._at + 1 : self._at + 2]
                self._at += 2
                if escaped != "\n":
                    parts.append(Text(escaped or "\\", is_quoted=True))
            elif character in "$`":
                parts.append(self._expansion(is_quoted=False))
            else:
                found = _PLAIN.match(self._text, self._at)
                text = found[0] if found is not None else character
                text = text.partition("}")[0] if "}" in ends else text
                self._at += len(text)
                if "{" in text and ("," in text or ".." in text) and "}" in text:
                    raise NotSimulatedError("the expansion of braces")
                parts.append(Text(text, is_quoted=False))
        return parts

    def _quoted(self, end: str) -> list[Part]:
        """Return the parts within double quotes, or of a here-document.

        The word of `"${name:-word}"` ends with a brace. Double quotes in it are only removed.
        """
        parts: list[Part] = []
        text = ""
        is_inner = False
        while True:
            if self._at >= len(self._text):
                if end:
                    raise NotSimulatedError("an unclosed quote")
                break
            character = self._text[self._at]
            if character == end:
                if is_inner:
                    raise NotSimulatedError("a brace within quotes within ${")
                break
            if character == "\\" and self._text[self._at + 1 : self._at + 2] in (
                *("$", "`", "\\", "\n"),
                *(('"', end) if end else ()),
            ):
                following = self._text[self._at + 1]
                text += "" if following == "\n" else following
                self._at += 2
            elif character == '"' and end == "}":
                is_inner = not is_inner
                self._at += 1
            elif character in "$`":
                if text:
                    parts.append(Text(text, is_quoted=True))
                    text = ""
                parts.append(self._expansion(is_quoted=True))
            else:
                text += character
                self._at += 1
        if text:
            parts.append(Text(text, is_quoted=True))
        return parts

    def _expansion(self, *, is_quoted: bool) -> Part:
        if self._looking_at("`"):
            return self._backquoted(is_quoted=is_quoted)
        if self._looking_at("$(("):
            return self._arithmetic(is_quoted=is_quoted)
        if self._looking_at("$("):
            self._at += 2
            body = self._list()
            if not self._looking_at(")"):
                raise self._error()
            self._at += 1
            return Substitution(body, is_quoted)
        if self._looking_at("${"):
            return self._braced(is_quoted=is_quoted)
        found = _NAME.match(self._text, self._at + 1)
        if found is not None:
            self._at = found.end()
            return Parameter(found[0], "", (), is_quoted)
        special = self._text[self._at + 1 : self._at + 2]
        if special and special in _SPECIAL:
            self._at += 2
            return Parameter(special, "", (), is_quoted)
        if special in ("'", '"') and not is_quoted:
            raise NotSimulatedError(f"the quotes ${special}")
        self._at += 1
        return Text("$", is_quoted=True)

    def _backquoted(self, *, is_quoted: bool) -> Substitution:
        self._at += 1
        text = ""
        while True:
            character = self._text[self._at : self._at + 1]
            if not character:
                raise NotSimulatedError("an unclosed quote")
            self._at += 1
            if character == "`":
                break
            following = self._text[self._at : self._at + 1]
            if character == "\\" and following and following in '$`\\"'[: 4 if is_quoted else 3]:
                character = following
                self._at += 1
            text += character
        nested = _Parser(text, self._depth)
        body = nested.script()
        self.commands += nested.commands
        return Substitution(body, is_quoted)

    def _arithmetic(self, *, is_quoted: bool) -> Arithmetic:
        """Return an arithmetic expansion, whose text is expanded as in double quotes."""
        start = self._at = self._at + 3
        depth = 0
        while True:
            character = self._text[self._at : self._at + 1]
            if not character:
                raise NotSimulatedError("an unclosed $((")
            if character == ")" and depth == 0:
                break
            depth += (character == "(") - (character == ")")
            self._at += 1
        if not self._looking_at("))"):
            raise NotSimulatedError("$( with a subshell at its start")
        nested = _Parser(self._text[start : self._at], self._depth)
        parts = nested._quoted("")
        self.commands += nested.commands
        self._at += 2
        return Arithmetic(tuple(parts), is_quoted)

    def _braced(self, *, is_quoted: bool) -> Parameter:
        self._at += 2
        operator = ""
        is_length = self._looking_at("#") and not self._looking_at("#}")
        if is_length:
            self._at += 1
        found = _NAME.match(self._text, self._at) or re.compile(r"\d+|[?#@*$!-]").match(
            self._text, self._at
        )
        if found is None:
            raise NotSimulatedError("this form of ${")
        self._at = found.end()
        word: Word = ()
        if is_length:
            operator = "length"
        elif not self._looking_at("}"):
            operator = next((each for each in _OPERATORS if self._looking_at(each)), "")
            if not operator:
                raise NotSimulatedError("this form of ${")
            self._at += len(operator)
            if is_quoted and operator.strip(":") in ("-", "+", "=", "?"):
                word = tuple(self._quoted("}"))
            else:
                word = tuple(self._parts(frozenset("}")))
        if not self._looking_at("}"):
            raise NotSimulatedError("this form of ${")
        self._at += 1
        return Parameter(found[0], operator, word, is_quoted)


def plain_text(word: Word) -> str | None:
    """Return the text of a word without expansions; None if it has any."""
    texts = [part.text for part in word if isinstance(part, Text)]
    return "".join(texts) if len(texts) == len(word) else None
