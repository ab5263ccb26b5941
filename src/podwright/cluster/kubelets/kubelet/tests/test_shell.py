"""Scripts end and print as POSIX says, or are not simulated at all."""

from contextlib import suppress

import pytest

from podwright.cluster.kubelets.kubelet.shell import NotSimulatedError, Script
from podwright.cluster.kubelets.kubelet.tests.shell_runs import MemoryFiles, facts, refusal, result

SECOND_NS = 1_000_000_000


@pytest.mark.parametrize(
    ("script", "status", "output"),
    [
        ("exit 3", 3, ""),
        ("false; exit", 1, ""),
        ("(exit 3) || true", 0, ""),
        ("(exit 3); echo $?", 0, "3\n"),
        ("x='a; exit 9'; echo $x; exit 4", 4, "a; exit 9\n"),
        ("x='a  b'; echo $x \"$x\" '$x'", 0, "a b a  b $x\n"),
        ("set -e; false; echo no", 1, ""),
        ("set -e; x=$(false); echo no", 1, ""),
        ("set -e; false && true; true && false; echo no", 1, ""),
        ("set -e; false | true; echo a | false; echo no", 1, ""),
        ("set -e; x=$(false; echo a); echo no", 1, ""),
        ("rm -f a; echo $?; rm a; echo $?", 0, "0\n1\n"),
        ("rm -f a -; echo $?; rm -f -- a; echo $?", 0, "0\n0\n"),
        ("set -e; false || echo yes; ! true; echo end", 0, "yes\nend\n"),
        ("set -e; f() { false; echo in; }; f || :; f; echo no", 1, "in\n"),
        ("set -e; (false; echo in); echo no", 1, ""),
        ("set -e; trap 'false; echo no' EXIT; echo a", 1, "a\n"),
        ("set -e; trap 'false; echo no' EXIT; exit 0", 1, ""),
        ("false; f() { :; }; echo $?", 0, "0\n"),
        ("f() { [ $1 = 0 ] || f $(($1 - 1)); }; f 49; echo $?", 0, "0\n"),
        ("f() { :; } && echo yes", 0, "yes\n"),
        ("x=abc; echo [${x#abc}] [${x%abc}] [${x##*}] [${x%%*}]", 0, "[] [] [] []\n"),
        (
            "x=abc; echo [${x#*}] [${x%*}] [${x#}] [${x%?}] [${x#????}]",
            0,
            "[abc] [abc] [abc] [ab] [abc]\n",
        ),
        ("e=; set -- a${e}b ${e}c d$e $e; echo $# $1 $2 $3", 0, "3 ab c d\n"),
        ("e=; x=' a'; set -- b$e$x $e$x; echo $#; set -- $x$e\"c\"; echo $#", 0, "3\n1\n"),
        ("for i in 1 2; do echo $i; done", 0, "1\n2\n"),
        ("for i in a b; do for j in 1 2; do continue 2; done; echo no; done; echo $i$j", 0, "b1\n"),
        ("i=0; while [ $i -lt 3 ]; do i=$((i + 1)); [ $i = 2 ] && break; done; echo $i", 0, "2\n"),
        ("case abc in b|c) echo 1;; a*) echo 2;; esac", 0, "2\n"),
        ("if false; then echo 1; elif true; then echo 2; else echo 3; fi", 0, "2\n"),
        ("x=a.tar.gz; echo ${x%.*} ${x%%.*} ${x#*.} ${x##*.} ${#x}", 0, "a.tar a tar.gz gz 8\n"),
        ('echo ${y:-d} "${y:+no}"; y=1; echo ${y:+yes} ${z:=3} $z', 0, "d \nyes 3 3\n"),
        ("x=1; echo ${x-d}${x:-d}${x=d}${x:=d}${x?d}${x:?d}", 0, "111111\n"),
        ('y=; echo "<${y-d}${y=d}${y?d}${y+a}${y:+no}>" ${y:-d} ${y:=e} $y', 0, "<a> d e e\n"),
        (
            "echo $((7 / -2)) $((7 % -2)) $((1 ? 2 : 3)) $((~5 & 0x0f)) $((!3 || 1 << 2))",
            0,
            "-3 1 2 10 1\n",
        ),
        ('x=`echo $(echo deep)`; echo "<$x>"', 0, "<deep>\n"),
        ("cat <<EOF\na $((1 + 1)) `echo b`\nEOF", 0, "a 2 b\n"),
        ("cat <<'EOF'\n$x\nEOF", 0, "$x\n"),
        ("cat <<-EOF; echo after\n\ttab\n\tEOF", 0, "tab\nafter\n"),
        ("cat <<EOF\n\ttab\n\tEOF\nEOF", 0, "\ttab\n\tEOF\n"),
        ("cat -u - <<EOF\na\nEOF", 0, "a\n"),
        ("cat <<EOF > f; cat f f\na\nEOF", 0, "a\na\n"),
        ("cat > f <<EOF >> g; cat f g\na\nEOF", 0, "a\n"),
        ("cat <<A <<B\na\nA\nb\nB", 0, "b\n"),
        ('while read a b; do echo "$b-$a"; done <<EOF\n1 2 3\n4\nEOF', 0, "2 3-1\n-4\n"),
        (
            'for i in "${y:-"a  \'b\'"}" "${y:-\\"}${y:+no}"; do echo "<$i>"; done',
            0,
            "<a  'b'>\n<\">\n",
        ),
        (
            "echo $((1 >= 1)) $((1 <= 0)) $((1 < 2)) $((1 > 2)) $((1 == 1)) $((1 != 1)) $((!0))"
            " $((0 || 2)) $((1 && 0))",
            0,
            "1 0 1 0 1 0 1 1 0\n",
        ),
        ('y="a  b"; export x=$y "z=$y z" q; echo "$x-$z"', 0, "a  b-a  b z\n"),
        ("echo 1 > a; cp a ./a; echo $?; mv a ./a; echo $?; cat a", 0, "1\n1\n1\n"),
        ("echo 1 > a; cp a b; echo $?; mv b c; echo $?; cat a c", 0, "0\n0\n1\n1\n"),
        # Quotes in the word of a parameter are quotes only if it is not quoted itself.
        ("A=; echo ${A:-'x  y'} \"${A:-'x  y'}\"", 0, "x  y 'x  y'\n"),
        ("B=1; echo ${B:+'p  q'} \"${B:+'p  q'}\"", 0, "p  q 'p  q'\n"),
        ('A=; echo ${A:-a"b  c"d} "${A-e}" ${A+f}', 0, "ab  cd  f\n"),
        (
            "expr 007; expr 00; echo $?; expr 01 = 1; expr a = a; expr 01 = a",
            1,
            "007\n00\n1\n1\n1\n0\n",
        ),
        (
            "false; set -- a; echo $?; case a in a) echo x\nesac; touch f; [ -e f/ ]; echo $?",
            0,
            "0\nx\n1\n",
        ),
        (
            "if true; then \t\n echo a; fi; for i in 1; do  # c\n echo b; done; true &&  \n echo c",
            0,
            "a\nb\nc\n",
        ),
        ('touch .h a; ls; mkdir d; touch d/xa d/ya; p=d/; echo $p"x"*', 0, "a\nd/xa\n"),
        ("for i in 1; do false; break; done; echo $?", 0, "0\n"),
        ("mkdir -p a/b; touch a/b/c; rm -r a; mkdir -p a/b; ls a/b; echo $?", 0, "0\n"),
        ("echo a b | { read x y; echo $y; }; false | true; echo $?", 0, "b\n0\n"),
        (
            'set -- a \'b c\'; shift; for x; do echo $x; done; echo $# "$*" "$@"',
            0,
            "b c\n1 b c b c\n",
        ),
        ("f() { echo $1 $#; return 4; }; f a b; echo $?", 0, "a 2\n4\n"),
        ("trap 'echo bye' EXIT; exit 3", 3, "bye\n"),
        ("exec echo hi; echo no", 0, "hi\n"),
        ("printf '%s=%03d\\n' a 1 b 2; printf 'x\\ty%%'", 0, "a=001\nb=002\nx\ty%"),
        ("seq 3; seq 5 -2 1; expr 3 + 4; expr 1 - 1; echo $?", 0, "1\n2\n3\n5\n3\n1\n7\n0\n1\n"),
        ("mkdir -p a/b; touch a/b/c a/x; ls a; rm a; echo $?; rm -r a; [ -e a ]", 1, "b\nx\n1\n"),
        (
            "echo 1 > f; echo 2 >> f; cp f g; mv g h; cat h; ls; for x in [gh]; do echo $x; done",
            0,
            "1\n2\nf\nh\nh\n",
        ),
        ("{ echo a; echo b >&2; } > f 2>/dev/null; cat f", 0, "a\n"),
        ("cat missing; echo $?; cat < missing; echo $?", 0, "1\n2\n"),
        ("[ a -eq 1 ]; echo $?; [ ! -f x ]; echo $?; [ -z '' ] && [ 3 -ge 3 ]", 0, "2\n0\n"),
        (
            "x=1; (x=2); echo $x; unset x; echo ${x-none}; hostname; pwd",
            0,
            "1\nnone\nweb-0\n/data\n",
        ),
        (
            "touch f && cp f g && mv g h && hostname && seq 1 && pwd && printf 'x\\n' && ls"
            " && cat f && mkdir d && cd d && cd .. && rm f && test -d d && expr 1 + 1 && echo all",
            0,
            "web-0\n1\n/data\nx\nf\nh\n2\nall\n",
        ),
        ("echo a &&\n\n echo b # c\n# d\nexit 4", 4, "a\nb\n"),
        ("cd / && pwd; cd /none; echo $?; echo \\$x \"\\$y\" 'z'\\'", 0, "/\n2\n$x $y z'\n"),
    ],
)
def test_a_script_has_the_status_and_the_output_of_sh(script, status, output):
    assert result(script) == (status, output)


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("if false; then curl x; fi", 'command "curl"'),
        ("$CMD x", "a command whose name is computed"),
        ("sleep 5 &", "a command in the background"),
        ("echo ~", "the expansion of ~"),
        ("echo {a,b}", "the expansion of braces"),
        ("echo 'a", "an unclosed quote"),
        ("if true; then :", "the syntax at line 1 of the script: 'its end'"),
        ("echo a\n; b", "the syntax at line 2 of the script: '; b'"),
        ("eval ls", 'command "eval"'),
        ("./run.sh", 'command "./run.sh"'),
        ("echo -e x", '"echo -e x"'),
        ("echo 'a\\nb'", '"echo a\\nb"'),
        ("echo $HOME", "$HOME, which the image may set and the pod does not"),
        ("echo $TOKEN", "the value of $TOKEN"),
        ("set -u; echo $x", "$x, which is not set, after set -u"),
        ("echo ${x:?no}", "the error of ${x:?...}"),
        ("echo $((1 / 0))", "a division by zero"),
        ("echo $((x = 1))", "the arithmetic $((x = 1))"),
        ("[[ -f x ]]", "[[, which is not in POSIX; the image's shell is not known"),
        ("ls -l", '"ls -l"'),
        ("x=$(cat none 2>&1)", "the text of an error message"),
        ("cat <<EOF", "a here-document without its end"),
        ("trap 'curl x' TERM", 'command "curl"'),
        ("IFS=,; x=a,b; echo $x", "field splitting at IFS other than blanks"),
        ("echo a | sleep 1", "a pipe to a command that takes time"),
        ("f() { [ $1 = 0 ] || f $(($1 - 1)); }; f 50", "calls that are nested this deep"),
        ("{ " * 60 + ":" + "; }" * 60, "a script that is nested this deep"),
        ("printf %q x", "the printf format '%q'"),
        ("case x in [[:alpha:]]) ;; esac", "a character class in a pattern"),
        ("break", "break outside of a loop"),
        ("test -x f", "whether a file is executable"),
        ("seq 1 2 3 4", '"seq 1 2 3 4"'),
        ("rm -r /", "the removal of /"),
        ("read é < /dev/null", 'an assignment to "é"'),
        (": a > none/x", "a redirection that fails"),
        ('echo "${x:-"a}"}"', "a brace within quotes within ${"),
        ("exec 3>f", "the redirection of file descriptor 3"),
    ],
)
def test_what_is_outside_of_the_subset_is_named(script, what):
    files = MemoryFiles()
    files.write("/data/f", "")
    assert refusal(script, facts({"TOKEN": None, "CMD": "ls"}, files=files)) == what


@pytest.mark.parametrize(
    "words",
    [
        ["nginx", "-g", "daemon off;"],
        ["sh", "run.sh"],
        ["sh"],
        ["sh", "-lc", "ls"],
        ["cd", "/"],
        ["/opt/bin/sleep", "1"],
    ],
)
def test_other_command_lines_are_not_simulated(words):
    with pytest.raises(NotSimulatedError):
        Script(words, facts())


def test_nothing_of_a_script_is_executed_before_all_of_it_is_checked():
    files = MemoryFiles()
    assert refusal("touch a; if false; then wget b; fi", facts(files=files)) == 'command "wget"'
    assert files.files == {}


@pytest.mark.parametrize(
    ("words", "durations", "status"),
    [
        (["sleep", "2m"], [120], 0),
        (["/bin/false"], [], 1),
        (["sleep", "infinity"], [None], None),
        (["tail", "-f", "/dev/null"], [None], None),
        (["sh", "-c", "sleep 5; sleep .5; exit 7"], [5, 0.5], 7),
        (["sh", "-ec", "false; sleep 3600"], [], 1),
        (["sh", "-ce", "false; sleep 3600"], [], 1),
        (["sh", "-e", "-c", "exit $#", "sh", "a", "b"], [], 2),
        (["sh", "-c", "while true; do sleep 2; done"], [2, None], None),
        (["sh", "-c", "while :; do :; done"], [None], None),
        (["sh", "-c", "i=0; while :; do i=$((i + 1)); [ $i = 1002 ] && exit 5; done"], [1], 5),
        (["sh", "-c", "i=0; while :; do i=$((i + 1)); [ $i = 1000 ] && exit 5; done"], [], 5),
        (["sh", "-c", "i=0; while :; do i=$((i + 1)); [ $i = 1001 ] && exit 5; done"], [1], 5),
        (["cat", "none"], [], 1),
    ],
)
def test_time_passes_where_a_script_sleeps(words, durations, status):
    found = []
    steps = Script(words, facts()).steps()
    end = None
    try:
        while None not in found:
            duration_ns = next(steps)
            found.append(None if duration_ns is None else duration_ns / SECOND_NS)
    except StopIteration as stop:
        end = stop.value
    assert (found, end) == (durations, status)


def test_a_script_that_waits_for_a_file_continues_when_it_is_there():
    files = MemoryFiles()
    script = Script(
        ["sh", "-c", "until [ -f ready ]; do sleep 1; done; exit 6"], facts(files=files)
    )
    steps = script.steps()
    assert [next(steps) for _ in range(5)] == [SECOND_NS] * 5
    files.write("/data/ready", "")
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == 6


@pytest.mark.parametrize(
    ("action", "output"), [("break", "1\n2\nend\n"), ("break 2", "end\n"), (":", "")]
)
def test_a_break_in_a_trap_ends_the_loop_that_runs(action, output):
    text = f"trap '{action}' TERM; for i in 1 2; do while :; do sleep 1; done; echo $i; done"
    script = Script(["sh", "-c", f"{text}; echo end"], facts())
    steps = script.steps()
    with suppress(StopIteration):
        for _ in range(3):
            next(steps)
            script.terminate()
    assert script.output == output


def test_a_trap_runs_after_the_command_that_runs_when_sigterm_comes():
    script = Script(["sh", "-c", "trap 'exit 9' TERM; while :; do sleep 1; done"], facts())
    steps = script.steps()
    assert [next(steps) for _ in range(3)] == [SECOND_NS] * 3
    script.terminate()
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == 9


@pytest.mark.parametrize("dialect", ["bash", "busybox"])
def test_extensions_are_those_of_the_images_shell(dialect):
    given = facts(dialect=dialect)
    assert result("[[ -r x ]] || [ a == a ] && echo $((RANDOM / 16384))", given) == (0, "1\n")
    assert result("set -o pipefail; false | true", given)[0] == 1


def test_a_step_that_fails_ends_with_the_status_of_the_images_shell():
    assert result("ls none")[0] == 2
    assert result("ls none", facts(dialect="busybox"))[0] == 1
    assert result("echo > none/x")[0] == 2
    assert result("echo > none/x", facts(dialect="bash"))[0] == 1


@pytest.mark.parametrize(
    ("action", "rest", "dialect", "status", "output"),
    [
        pytest.param("echo $?; false", "echo $?; exit 4", "", 4, "0\n0\n", id="as it was before"),
        pytest.param("", "echo $?; exit 4", "", 4, "0\n", id="a signal that is ignored"),
        pytest.param("echo $?", "! false", "", 0, "0\n", id="that of the command itself"),
        pytest.param("exit $?", "exit 9", "", 0, "", id="the status of the command that ended"),
        pytest.param("true; exit", "exit 9", "", 0, "", id="all shells agree"),
        pytest.param("false; exit", "exit 9", "dash", 0, "", id="dash: that before the trap"),
        pytest.param("false; exit", "exit 9", "busybox", 0, "", id="busybox: the same"),
        pytest.param("false; exit 3", "exit 9", "", 3, "", id="a status that is given"),
        pytest.param("false", "exit", "", 0, "", id="exit after the trap"),
        pytest.param("false", "false; exit", "", 1, "", id="exit after a later command"),
    ],
)
def test_the_status_in_and_after_the_trap_for_sigterm(action, rest, dialect, status, output):
    text = f"trap '{action}' TERM; (exit 6); sleep 5; {rest}"
    script = Script(["sh", "-c", text], facts(dialect=dialect))
    steps = script.steps()
    assert next(steps) == 5 * SECOND_NS
    script.terminate()
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert (end.value.value, script.output) == (status, output)


@pytest.mark.parametrize("dialect", ["", "bash"])
def test_an_exit_without_a_status_in_a_trap_for_sigterm_depends_on_the_shell(dialect):
    script = Script(["sh", "-c", "trap 'false; exit' TERM; sleep 5"], facts(dialect=dialect))
    steps = script.steps()
    next(steps)
    script.terminate()
    with pytest.raises(NotSimulatedError, match="exit without a status in a trap"):
        next(steps)
