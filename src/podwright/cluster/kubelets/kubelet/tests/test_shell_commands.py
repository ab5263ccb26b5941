"""Builtins of the shell one by one: their status, their output, and what is not simulated."""

from __future__ import annotations

import pytest

from podwright.cluster.kubelets.kubelet.shell import NotSimulatedError, Script
from podwright.cluster.kubelets.kubelet.shell.commands import formatted
from podwright.cluster.kubelets.kubelet.shell.environment import FileOutput, Log
from podwright.cluster.kubelets.kubelet.tests.shell_runs import (
    MemoryFiles,
    facts,
    refusal,
    result,
)

SECOND_NS = 1_000_000_000

RESULTS = [
    # Exit statuses are eight bits, and that of the last command without an argument.
    ("exit 256", 0, ""), ("exit 257", 1, ""), ("exit 300", 44, ""), ("(exit 7); exit", 7, ""),
    ("f() { return 300; }; f; echo $?", 0, "44\n"),
    ("f() { false; return; }; f; echo $?", 0, "1\n"),
    # Loops.
    ("for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done", 0, "1\n3\n"),
    ("for i in 1 2; do for j in a b; do break 2; done; echo no; done; echo $i$j", 0, "1a\n"),
    ("for i in 1 2; do for j in a b; do break 1; done; echo $i$j; done", 0, "1a\n2a\n"),
    ("for i in 1 2; do for j in a b; do continue 2; done; echo no; done; echo $i$j", 0, "2a\n"),
    ("for i in 1 2; do break 5; done; echo $i", 0, "1\n"),
    ("for i in 1 2; do for j in a b; do for k in x y; do break 3; done; done; echo no; done; "
     "echo $i$j$k", 0, "1ax\n"),
    ("for i in 1 2; do for j in a b; do for k in x y; do continue 3; done; done; echo no; done; "
     "echo $i$j$k", 0, "2ax\n"),
    ("for i in 1 2; do for j in a b; do for k in x y; do break 2; done; done; echo $i; done",
     0, "1\n2\n"),
    # The opposite of a status.
    ("! { false; }; echo $?", 0, "0\n"), ("!  (exit 0); echo $?", 0, "1\n"),
    ("! if true; then false; fi; echo $?", 0, "0\n"), ("! true | false; echo $?", 0, "0\n"),
    # Parameters.
    ("set -- a b c; shift 2; echo $1 $#", 0, "c 1\n"), ("set -- a; shift; echo $#", 0, "0\n"),
    ("set -- a; set b c; echo $1 $2 $#", 0, "b c 2\n"), ("set -- a b; set --; echo $#", 0, "0\n"),
    ("set -- \"\" '' a\"\" \"\"\"\"; echo $#; echo \"<$1>\" \"<$3>\"", 0, "4\n<> <a>\n"),
    ("set -- a; set - b c; echo $1 $#", 0, "b 2\n"), ("set -- a; set -; echo $1", 0, "a\n"),
    ("set -e - b; echo $1; false; echo no", 1, "b\n"), ("set -- -x; echo $1", 0, "-x\n"),
    ("set -e; set +e; false; echo on", 0, "on\n"),
    ("set -u; set -o errexit; set +o errexit; false; echo on", 0, "on\n"),
    # Variables.
    ("export a=1 b; echo $a$b", 0, "1\n"), ("a=1; b=2; unset a b; echo \"<$a$b>\"", 0, "<>\n"),
    ("a=1; f() { echo $a; }; a=2 sh_none=3 true; f", 0, "1\n"),
    ("a=1; a=2 true; echo $a", 0, "1\n"), ("b=2 true; echo \"<$b>\"", 0, "<>\n"),
    ("a= b=; echo \"<$a$b>\"", 0, "<>\n"), ("a=1;b=2;echo $a$b", 0, "12\n"),
    ("a=1 b=$a; echo $b", 0, "1\n"),
    ("a=' '; b=' 5 '; echo $((a)) $((b + 1)) $((-b))", 0, "0 6 -5\n"),
    # Patterns of file names.
    ("touch f; set -f; echo *; set +f; echo *", 0, "*\nf\n"),
    ("echo [a/b] [ab]", 0, "[a/b] [ab]\n"),
    ("set -u; echo ${x-none} ${x:-none} ${x+set}", 0, "none none\n"),
    # Directories.
    ("touch f; mkdir f; echo $?; mkdir -p f; echo $?", 0, "1\n1\n"),
    ("mkdir d e; echo a > e/f; cp e/f d; mv e/f d/g; cat d/f d/g; ls e", 0, "a\na\n"),
    ("mkdir d; echo a > d; echo $?; echo a > d/f; cat d/f", 0, "2\na\n"),
    ("echo a > none/f; echo $?", 0, "2\n"),
    ("mkdir d; cd d; pwd; cd ..; pwd", 0, "/data/d\n/data\n"), ("cd /; pwd", 0, "/\n"),
    ("cd //data; pwd; cd //; pwd; cd /data//.; pwd", 0, "/data\n/\n/data\n"),
    # Traps.
    ("trap 'echo a' EXIT; trap - EXIT; exit 2", 2, ""), ("trap 'echo a' 0; exit 2", 2, "a\n"),
    ("trap 'echo a' HUP INT; exit 1", 1, ""), ("trap '' EXIT; exit 3", 3, ""),
    ("trap '(exit 7); exit' EXIT; exit 3", 3, ""), ("trap 'false; exit' EXIT; true", 0, ""),
    ("f() { false; exit; }; trap f EXIT; exit 3", 3, ""), ("trap 'exit 2' EXIT; exit 3", 2, ""),
    ("trap 'echo $?; false' EXIT; exit 3", 3, "3\n"),
    # Input.
    ("printf 'a b c\\n' | { read x y; echo \"$x-$y\"; }", 0, "a-b c\n"),
    ("printf 'a\\\\b\\n' | { read -r x; printf '%s\\n' \"$x\"; }", 0, "a\\b\n"),
    ("printf 'a b' | { read x; echo $? $x; }", 0, "1 a b\n"),
    # Numbers.
    ("expr 7; expr 7 / 2; expr 7 % 2; expr 2 '*' 3; expr 1 - 3", 0, "7\n3\n1\n6\n-2\n"),
    ("expr 0; echo $?", 0, "0\n1\n"), ("expr 3 = 3; echo $?", 0, "1\n0\n"),
    ("expr 3 = 4; echo $?", 0, "0\n1\n"),
    ("expr a + 1; echo $?", 0, "2\n"), ("expr 5 != 4; expr 5 != 5", 1, "1\n0\n"),
    ("seq 2 4; seq 3 -1 1; seq 2 1", 0, "2\n3\n4\n3\n2\n1\n"),
    # Functions and shells that are called one after another are not nested.
    ("(:); " * 300 + "echo a", 0, "a\n"),
    ("f() { :; }; for i in $(seq 200); do f; done; echo $i", 0, "200\n"),
    # exec.
    ("trap 'echo bye' EXIT; exec true", 0, ""), ("exec echo a b", 0, "a b\n"),
    ("f() { :; }; exec echo f exit", 0, "f exit\n"), ("printf 'a\\n' b c", 0, "a\n"),
    # Substitution.
    ("printf '%s\\n' `printf %s 'a\\\\b'`", 0, "a\\b\n"),
    ("printf '%s\\n' `printf %s '\\$x'`", 0, "$x\n"),
    ("x=$(exit 3); echo $?", 0, "3\n"), ("x=$(echo a) y=$(exit 4); echo $? $x", 0, "4 a\n"),
]  # fmt: skip


# What dash does, with the programs of coreutils.
LIMITS = [
    ("set -- a b; shift 0; echo $#", 0, "2\n"), ("set -- a b c; shift; shift 2; echo $#", 0, "0\n"),
    ("exit 255", 255, ""), ("exit 0256", 0, ""), ("f() { return 255; }; f; echo $?", 0, "255\n"),
    ("printf '%s %s\\n' a", 0, "a \n"), ("printf '%d %d\\n' 7", 0, "7 0\n"),
    ("printf '%-4d|%4s|\\n' 7 ab", 0, "7   |  ab|\n"), ("printf '%s' ", 0, ""),
    ("printf '\\1012\\60\\n'", 0, "A20\n"), ("printf '%.1s%.0s|\\n' abc def", 0, "a|\n"),
    ("printf '%05d %x\\n' -7 16", 0, "-0007 10\n"), ("printf '%o%%\\n' 8", 0, "10%\n"),
    ("printf '%i\\n' -0", 0, "0\n"), ("seq 1", 0, "1\n"), ("seq 0", 0, ""), ("seq -2", 0, ""),
    ("seq 5 5", 0, "5\n"), ("seq 1 2 6", 0, "1\n3\n5\n"), ("seq 1 2 5", 0, "1\n3\n5\n"),
    ("seq 5 -2 0", 0, "5\n3\n1\n"), ("seq 5 -5 0", 0, "5\n0\n"), ("seq 3 1 1", 0, ""),
    ("read a b <<E; echo \"$a|$b\"\nx y  z \nE\n", 0, "x|y  z\n"),
    ("read a b <<E; echo \"$a|$b\"\nx\nE\n", 0, "x|\n"),
    ("read a b <<E; echo \"$a|$b\"\n  x  y\nE\n", 0, "x|y\n"),
    ("read a b <<E; echo \"$a|$b\"\nE\n", 0, "|\n"),
    ("read a <<E; echo \"$a|\"; echo done\nx y  z \nE\n", 0, "x y  z|\ndone\n"),
    ("read a <<E; echo \"$a|\"; echo done\nx\nE\n", 0, "x|\ndone\n"),
    ("read a <<E; echo \"$a|\"; echo done\n  x  y\nE\n", 0, "x  y|\ndone\n"),
    ("read a <<E; echo \"$a|\"; echo done\nE\n", 0, "|\ndone\n"),
    ("IFS=; read a b <<E; echo \"$a|$b\"\n x  y \nE\n", 0, " x  y |\n"),
    ("touch a; rm a b; echo $?", 0, "1\n"), ("rm -f a b; echo $?", 0, "0\n"),
    ("mkdir a; rm a; echo $?; rm -r a; echo $?; ls", 0, "1\n0\n"),
    ("rm -r none; echo $?", 0, "1\n"), ("mkdir a a; echo $?", 0, "1\n"),
    ("mkdir -p a/b/c; ls a; ls a/b; mkdir -p a/b/c; echo $?", 0, "b\nc\n0\n"),
    ("mkdir a/b; echo $?", 0, "1\n"), ("touch f; mkdir -p f/a; echo $?", 0, "1\n"),
    ("touch f; mkdir -p f; echo $?", 0, "1\n"), ("touch a b; mv a b; ls", 0, "b\n"),
    ("echo x > a; mkdir d; mv a d/; ls d; ls", 0, "a\nd\n"),
    ("echo x > a; cp a d/b; echo $?", 0, "1\n"), ("cp none a; echo $?", 0, "1\n"),
    ("mv none a; echo $?", 0, "1\n"), ("echo x > a; cp a b; cat a b", 0, "x\nx\n"),
    ("echo x > a; cp a a; echo $?", 0, "1\n"), ("cat none; echo $?", 0, "1\n"),
    ("echo x > a; cat a none a; echo $?", 0, "x\nx\n1\n"), ("touch .a a; ls; ls .a", 0, "a\n.a\n"),
    ("mkdir d; touch d/x d/.y; ls d", 0, "x\n"), ("touch a; ls a", 0, "a\n"),
    ("test; echo $?", 0, "1\n"), ("test a; echo $?", 0, "0\n"), ("test ''; echo $?", 0, "1\n"),
    ("test -n; echo $?", 0, "0\n"), ("test -z; echo $?", 0, "0\n"), ("test ! a; echo $?", 0, "1\n"),
    ("test ! ''; echo $?", 0, "0\n"), ("test ! -n a; echo $?", 0, "1\n"),
    ("test ! a = b; echo $?", 0, "0\n"), ("[ 1 -eq 01 ]; echo $?", 0, "0\n"),
    ("[ +1 -eq 1 ]; echo $?", 0, "0\n"), ("[ -1 -lt 0 ]; echo $?", 0, "0\n"),
    ("[ a -eq 1 ]; echo $?", 0, "2\n"), ("[ -e / ]; echo $?", 0, "0\n"),
    ("[ -f / ]; echo $?", 0, "1\n"), ("[ -s / ]; echo $?", 0, "0\n"),
    ("[ -d none ]; echo $?", 0, "1\n"), ("[ -e '' ]; echo $?", 0, "1\n"),
    ("[ -s none ]; echo $?", 0, "1\n"),
    ("touch a; [ -s a ]; echo $?; echo b > a; [ -s a ]; echo $?", 0, "1\n0\n"),
    ("touch a; [ -r a ]; echo $?; [ -r b ]; echo $?", 0, "0\n1\n"),
    ("[ 1 -ne 2 ]; echo $?", 0, "0\n"),
    ("[ 2 -ge 2 ]; echo $?; [ 2 -gt 2 ]; echo $?", 0, "0\n1\n"),
    ("[ 2 -le 2 ]; echo $?; [ 2 -lt 2 ]; echo $?", 0, "0\n1\n"),
    ("echo \"a  b\" c", 0, "a  b c\n"), ("echo; echo ''", 0, "\n\n"),
    ("export A=1 B; B=2; echo $A$B", 0, "12\n"), ("A=1; unset A B; echo \"<$A>\"", 0, "<>\n"),
    ("A=1; unset A; A=${A-x}; echo $A", 0, "x\n"), ("trap 'echo t' EXIT INT; exit 3", 3, "t\n"),
    ("trap 'echo a' EXIT; trap 'echo b' EXIT", 0, "b\n"),
    ("_a=3; echo $((_a + _b)) $((_a * 2))", 0, "3 6\n"),
    ("mkdir - d; ls; ls -; echo $?; rm -r -; ls", 0, "-\nd\n0\nd\n"),
    ("touch a; while rm a; do :; done; ls", 0, ""), ("cd none; echo $?", 0, "2\n"),
    ("trap 'echo a' EXIT; (echo b)", 0, "b\na\n"), ("trap 'echo $x' EXIT; x=5", 0, "5\n"),
    ("cd none; echo $?", 0, "2\n"), ("mkdir d; cd d; touch x; cd ..; ls d", 0, "x\n"),
    ("for i in; do echo a; done; echo $?", 0, "0\n"), ("expr 1 + 1", 0, "2\n"),
    ("expr 5 - 7; expr 0 '*' 4; echo $?", 0, "-2\n0\n1\n"),
    ("expr 7 / 2; expr -7 / 2; expr 7 % 3", 0, "3\n-3\n1\n"),
    ("expr a = a; expr a = b; echo $?", 0, "1\n0\n1\n"), ("expr a != b; expr 1 = 01", 0, "1\n1\n"),
]  # fmt: skip


@pytest.mark.parametrize("results", [RESULTS, LIMITS], ids=["results", "limits"])
def test_builtins_have_the_status_and_the_output_of_sh(results):
    for script, status, output in results:
        assert result(script, facts(dialect="dash")) == (status, output), script


ASSIGNED = "an assignment before a function or a special builtin"

REFUSALS = [
    ("exit 1 2", "exit 1 2"), ("exit x", "exit x"), ("exit 1234567890", "exit 1234567890"),
    ("for i in 1; do break 0; done", "break 0"), ("for i in 1; do break x; done", "break x"),
    ("for i in 1; do break 1 2; done", "break 1 2"), ("set", "set"), ("set -z", "set -z"),
    ("set + a", "set + a"),
    ("set -o none", "set -o none"), ("set -o", "set -o"), ("set -- a; shift 2", "shift 2"),
    ("set -- a b; shift 1 2", "shift 1 2"),
    ("set -- a; shift a", "shift a"), ("set -- a; shift -1", "shift -1"), ("shift", "shift"),
    ("export", "export"), ("export 1a", "export 1a"),
    ("unset -f a", "unset -f a"), ("trap x", "trap x"), ("trap", "trap"), ("trap -", "trap -"),
    ("trap -p EXIT", 'command "-p"'), ("x='-p EXIT'; trap $x", "trap -p EXIT"),
    ("x='--'; trap $x", "trap --"),
    ("trap : NONE", "trap : NONE"), ("exec > f", "exec without a command"),
    ("expr 2 '<' 10", "expr 2 < 10"), ("cd", "cd"), ("cd -", "cd -"), ("cd a b", "cd a b"),
    ("pwd -P", "pwd -P"), ("read", "read"), ("expr 1 + 2 + 3", "expr 1 + 2 + 3"),
    ("expr a", "expr a"), ("exec", "exec without a command"), ("exec exit", "exec exit"),
    ("f() { :; }; exec f", "exec f"), ("sleep", "sleep"), ("sleep 1x", "sleep 1x"),
    ("tail f", "tail f"), ("tail -f f", "tail -f f"), ("/bin/exit", 'command "/bin/exit"'),
    ("a=1 f", 'command "f"'), ("f() { :; }; a=1 f", ASSIGNED),
    ("a=1 export b", ASSIGNED), ("$x", "a command whose name is computed"),
    ("f() { break; }; for i in 1; do f; done", "break outside of a loop"),
    ("trap $x EXIT", "a trap whose action is computed"), ("trap 'curl x' EXIT", 'command "curl"'),
    ("exec curl x", 'command "curl"'), ("echo a <> f", "the redirection <>"),
    ("echo a 3> f", "the redirection of file descriptor 3"),
    ("f() { f; }; f", "calls that are nested this deep"),
]  # fmt: skip


def test_what_shells_do_differently_is_not_simulated():
    for script, what in REFUSALS:
        assert refusal(script) in (what, f'"{what}"'), script


def test_the_actions_of_traps_are_checked_before_anything_is_executed():
    files = MemoryFiles()
    for script in ("touch a; trap 'curl x' EXIT", "touch a; trap 'curl x' TERM; trap - TERM"):
        assert refusal(script, facts(files=files)) == 'command "curl"'
    assert files.files == {}


@pytest.mark.parametrize(
    ("script", "seconds"),
    [
        ("sleep 1", 1), ("sleep 1.5", 1.5), ("sleep .5", 0.5), ("sleep 2m", 120),
        ("sleep 1h", 3600),
        ("sleep 1d", 86_400), ("sleep 1 2s", 3), ("sleep 1.", 1), ("/bin/sleep 4", 4),
    ],
)  # fmt: skip
def test_a_sleep_takes_the_sum_of_its_durations(script, seconds):
    steps = Script(["sh", "-c", script], facts()).steps()
    assert next(steps) == int(seconds * SECOND_NS)


@pytest.mark.parametrize(
    ("script", "reads_files"),
    [
        ("echo a; x=1; [ $x = 1 ]; sleep 1", False), ("[ -e f ]", True), ("cat f", True),
        ("cat < f", True), ("echo a > f", True), ("echo *", True), ("rm -f f", True),
        ("rm -r /data", True),
        ("mkdir d", True), ("touch f", True), ("cat -", True), ("ls", True), ("cd d", True),
        ("echo $RANDOM", True), ("f() { cp f g; }; f", True), ("echo a > /dev/null", False),
    ],
)  # fmt: skip
def test_a_script_has_another_result_only_if_it_uses_files_or_random_numbers(script, reads_files):
    run = Script(["bash", "-c", script], facts(files=MemoryFiles(), dialect="bash"))
    for _ in run.steps():
        pass
    assert (run.reads > 0) is reads_files


def test_some_commands_never_end():
    for script in ("sleep infinity", "sleep 1 inf", "tail -f /dev/null", "tail -F /dev/null"):
        assert result(script) == (None, ""), script


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        ("%s-%s|", ("a", "b", "c"), "a-b|c-|"), ("x", ("a", "b"), "x"), ("%%%s", ("a",), "%a"),
        ("%5s|%-5s|%.2s", ("a", "b", "cde"), "    a|b    |cd"), ("%03d %+d", ("7", "8"), "007 +8"),
        ("%x %X %o %u", ("255", "255", "8", "9"), "ff FF 10 9"), ("%d", (), "0"), ("%s", (), ""),
        ("\\101\\n\\t\\\\", (), "A\n\t\\"), ("\\045s", ("a",), "%s"), ("%d", ("-5",), "-5"),
        ("\\a\\b\\n\\r\\t\\\\", (), "\a\b\n\r\t\\"), ("%i", ("+5",), "5"),
        ("%x %o %u", ("0", "0", "0"), "0 0 0"),
    ],
)  # fmt: skip
def test_printf(template, arguments, expected):
    assert formatted(template, arguments) == expected


@pytest.mark.parametrize(
    ("template", "arguments", "what"),
    [
        ("%q", ("a",), "the printf format '%q'"), ("\\x41", (), "the escape \\x of printf"),
        ('\\"', (), 'the escape \\" of printf'), ("%", (), "the printf format '%'"),
        ("%d", ("a",), 'the number "a" of printf'), ("%d", ("08",), 'the number "08" of printf'),
        ("%x", ("-1",), 'the number "-1" of printf'), ("%d", ("",), 'the number "" of printf'),
    ],
)  # fmt: skip
def test_what_implementations_of_printf_do_differently(template, arguments, what):
    with pytest.raises(NotSimulatedError) as raised:
        formatted(template, arguments)
    assert what in str(raised.value)


def test_a_log_keeps_its_last_mebibyte():
    log = Log()
    log.write("a" * 10)
    log.write("b" * (2**20 - 10))
    assert log.text == "a" * 10 + "b" * (2**20 - 10)
    log.write("cd")
    assert log.text == "a" * 8 + "b" * (2**20 - 10) + "cd"


def test_a_file_keeps_its_last_mebibyte():
    files = MemoryFiles()
    files.files["/data/f"] = ""
    output = FileOutput(files, "/data/f")
    output.write("a" * 10)
    output.write("b" * (2**20 - 10))
    assert files.files["/data/f"] == "a" * 10 + "b" * (2**20 - 10)
    output.write("cd")
    assert files.files["/data/f"] == "a" * 8 + "b" * (2**20 - 10) + "cd"
    # What is not a file any more gets nothing.
    files.remove("/data/f")
    output.write("x")
    assert files.files == {}
