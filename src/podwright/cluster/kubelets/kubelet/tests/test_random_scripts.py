"""Scripts of the simulated subset of sh do what real shells do with them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from typing import Final

from hypothesis import given, strategies as st

from podwright.cluster.kubelets.kubelet.shell import Dialect, NotSimulatedError
from podwright.cluster.kubelets.kubelet.tests.shell_runs import facts, result

_KNOWN: Final[tuple[Dialect, ...]] = ("dash", "busybox", "bash")
SHELL: Final = next(name for name in _KNOWN if shutil.which(name))

_texts = st.sampled_from(["a", "b c", "", "x*", "7", "0", "-n", "q'", "[a]", "$", "a=b"])
_names = st.sampled_from(["x", "y"])
_files = st.sampled_from(["f", "g", "d/f", "d", "none/f"])
_numbers = st.integers(-9, 9).map(str)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_arithmetic = st.recursive(
    st.one_of(st.integers(0, 20).map(str), _names.map(lambda name: f"n{name}")),
    lambda inner: st.one_of(
        st.tuples(
            inner,
            st.sampled_from(["+", "-", "*", "<", "==", "&", "|", "^", "&&", "||", "<="]),
            inner,
        ).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda each: f"-{each}".replace("--", "- -")),
        st.tuples(inner, inner, inner).map(lambda parts: "({} ? {} : {})".format(*parts)),
    ),
    max_leaves=5,
)
_parameters = st.builds(
    lambda name, form, word: (
        f"${{{form.replace('N', name)}{word}}}"
        if form[-1] in "-+=#%"
        else f"${{{form.replace('N', name)}}}"
    ),
    _names,
    st.sampled_from(["N", "#N", "N-", "N:-", "N+", "N:+", "N:=", "N#", "N##", "N%", "N%%"]),
    st.sampled_from(["a", "b*", "'q r'", "?", ""]),
)
_words = st.one_of(
    _texts.map(_quoted),
    st.sampled_from(["f*", "*", "?", "a\\ b", '"$x"', '"$x-$y"', "$x$y", "$?", "$#", '"$@"', "$*"]),
    _parameters,
    _parameters.map(lambda text: f'"{text}"'),
    _arithmetic.map(lambda text: f"$(({text}))"),
)
_tests = st.one_of(
    st.tuples(st.sampled_from(["-e", "-f", "-d", "-s", "-z", "-n"]), _files).map(" ".join),
    st.tuples(_words, st.sampled_from(["=", "!="]), _texts.map(_quoted)).map(
        lambda parts: '"$(echo {})" {} {}'.format(*parts)
    ),
    st.tuples(_numbers, st.sampled_from(["-eq", "-lt", "-ge"]), _numbers).map(" ".join),
).map(lambda text: f"[ {text} ]")
_redirections = st.one_of(
    st.just(""), st.just(""), _files.map(lambda file: f" > {file}"),
    _files.map(lambda file: f" >> {file}"), st.just(" 2> /dev/null"), st.just(" > /dev/null"),
)  # fmt: skip
_simple = st.one_of(
    st.sampled_from(
        ["true", "false", ":", "exit", "(exit 3)", "pwd > /dev/null", "ls", "shift $#"]
    ),
    st.sampled_from(["set -e", "set +e", "set -- a 'b c'", "trap 'echo end $?' EXIT", "seq 3"]),
    st.integers(0, 300).map(lambda status: f"exit {status}"),
    st.lists(_words, max_size=3).map(lambda words: f"printf '<%s>' {' '.join(words)}"),
    st.tuples(st.lists(_words, max_size=3), _redirections).map(
        lambda parts: f"echo _ {' '.join(parts[0])}{parts[1]}"
    ),
    st.tuples(_names, _words).map("=".join),
    st.tuples(_names, _arithmetic).map(lambda parts: f"n{parts[0]}=$(({parts[1]}))"),
    _names.map(lambda name: f"unset {name}"),
    _files.map(lambda file: f"cat {file}"),
    _files.map(lambda file: f"touch {file}"),
    _files.map(lambda file: f"mkdir -p {file}"),
    _files.map(lambda file: f"rm -r {file}"),
    _tests,
    st.tuples(_names, st.sampled_from(["1", "2"])).map(lambda parts: f"f {' '.join(parts)}"),
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    lists = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(" ".join),
        inner.map(lambda each: f"! {{ {each}\n}}"),
        lists.map(lambda each: f"({each}\n)"),
        lists.map(lambda each: f"{{ {each}\n}}"),
        st.tuples(_names, lists).map(lambda parts: f"{parts[0]}=$({parts[1]}\n)"),
        lists.map(lambda each: f'echo "$({each}\n)"'),
        st.tuples(lists, lists, lists).map(
            lambda parts: "if {}\nthen {}\nelse {}\nfi".format(*parts)
        ),
        st.tuples(_names, st.lists(_words, max_size=3), lists).map(
            lambda parts: f"for {parts[0]} in {' '.join(parts[1])}\ndo {parts[2]}\ndone"
        ),
        lists.map(lambda each: f"i=0\nwhile [ $i -lt 2 ]\ndo i=$((i+1))\n{each}\ndone"),
        st.tuples(_words, st.sampled_from(["a*", "'b c'|7", "?", "[!a]*"]), lists, lists).map(
            lambda parts: "case {} in {}) {}\n;; *) {}\n;; esac".format(*parts)
        ),
        lists.map(lambda each: f"f() {{ {each}\nreturn 4\n}}\nf a b"),
        st.tuples(inner, st.sampled_from(["cat", "{ read x; echo got $x; }", "false"])).map(
            lambda parts: f"{{ {parts[0]}\n}} | {parts[1]}"
        ),
    )


scripts = st.lists(st.recursive(_simple, _compound, max_leaves=6), min_size=1, max_size=5).map(
    lambda lines: "\n".join(["f() { echo f $#; [ $# = 1 ]; }", *lines])
)


def real(shell: str, text: str) -> tuple[int, str]:
    """Return exit status and output of a script in a shell of this machine."""
    words = ["busybox", "sh"] if shell == "busybox" else [shell]
    if shell == "bash":
        words = ["bash", "--posix"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*words, "-c", text],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
    return done.returncode, done.stdout.decode()


@given(scripts)
def test_a_script_ends_and_prints_as_in_a_real_shell(text):
    try:
        found = result(text, facts(dialect=SHELL))
    except NotSimulatedError:
        return
    assert found == real(SHELL, text)
