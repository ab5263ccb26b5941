"""What of a script is not simulated: the use of a command is named, and nothing is guessed."""

from __future__ import annotations

import pytest

from podwright.cluster.kubelets.kubelet.shell import NotSimulatedError, Script
from podwright.cluster.kubelets.kubelet.tests.shell_runs import facts, refusal, result


@pytest.mark.parametrize(
    "use",
    [
        "echo a\\n", "printf", "printf -v x a", "[ a = a", "test a b", "ls . /",
        "touch", "rm", "cp a", "cp a b c", "mv a", "hostname x", "seq", "seq a", "seq 1 2 3 4",
        "seq 1 0 5", "seq 1 2000000", "tail -n 1 x", "tail -f", "tail", "tail -f x", "trap",
        "seq 1 a", "seq a 1", "seq 1 a 2", "seq 1 2 a", "exit a", "exit -1", "exit 1 2", "break 0",
        "break a", "break 1 2",
    ],
)  # fmt: skip
def test_a_use_of_a_command_that_is_not_simulated_is_named(use):
    script = use if "\\" not in use else "echo 'a\\n'"
    assert refusal(script) == f'"{use}"'


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("[ a == a ]", '"[ a == a"'),
        ("[ -w /data ]", "whether a file is writable"),
        ("touch a; [ -w a ]", "whether a file is writable"),
        ("touch a; [ -L a ]", "whether a file is a link"),
        ("touch a; [ -h a ]", "whether a file is a link"),
        ("touch a; [ -x a ]", "whether a file is executable"),
        ("[[ a = a ]]", "[[, which is not in POSIX; the image's shell is not known"),
        ("break", "break outside of a loop"),
        ("f() { continue; }; for i in 1; do f; done", "continue outside of a loop"),
        ("trap 'break' EXIT; echo a", "break outside of a loop"),
        ("trap 'return' EXIT; echo a", "return outside of a function"),
        ("trap x BAD", 'command "x"'),
        ("exec", "exec without a command"),
        ("f() { f; }; f", "calls that are nested this deep"),
        ("case", "the syntax at line 1 of the script: 'its end'"),
        ("case ;", "the syntax at line 1 of the script: ';'"),
        ("for i in a; do :; done extra", "the syntax at line 1 of the script: 'extra'"),
        ("echo ${a!b}", "this form of ${"),
        ("echo ${a:1:2}", "this form of ${"),
        ("echo ${#a-b}", "this form of ${"),
        ("echo ${a-b", "this form of ${"),
        ("echo a | then b", "the syntax at line 1 of the script: 'then b'"),
        ("true && fi", "the syntax at line 1 of the script: 'fi'"),
        ("case\nin a) echo b;; esac", "the syntax at line 2 of the script: 'a) echo b;; esac'"),
        ("case x in x echo a;; esac", "the syntax at line 1 of the script: 'echo a;; esac'"),
        ("case x in x) echo a", "the syntax at line 1 of the script: 'its end'"),
        ("x=$(cat none 2>&1)", "the text of an error message"),
        ("x=$(cd none 2>&1)", "the text of an error message"),
        ("x=$(ls none 2>&1)", "the text of an error message"),
        ("x=$(mkdir a/b 2>&1)", "the text of an error message"),
        ("x=$(rm none 2>&1)", "the text of an error message"),
        ("x=$(touch a/b 2>&1)", "the text of an error message"),
        ("x=$(cp none a 2>&1)", "the text of an error message"),
        ("x=$(mv none a 2>&1)", "the text of an error message"),
        ("x=$({ cat < none; } 2>&1)", "the text of an error message"),
        ("cat <<E", "a here-document without its end"),
        ("cat <<E\na", "a here-document without its end"),
        ("ls /data*/", "a pattern in the name of a directory"),
        ("continue", "continue outside of a loop"),
        ("(break)", "break outside of a loop"),
        ("return 1", "return outside of a function"),
        ("echo a <&1", "the redirection <&"),
        ("echo a 0> b", "writing to the standard input"),
        ("ls /data*/x", "a pattern in the name of a directory"),
        ("echo ${a?}", "the error of ${a?...}"),
        ("[ a -lt 1 ] 2> errors", "the text of an error message"),
        ("true || exec nope", 'command "nope"'),
        ("true || cat <<E\n$(nope)\nE\n", 'command "nope"'),
        ("echo $((echo a); echo b)", "$( with a subshell at its start"),
        ("\n)", "the syntax at line 2 of the script: ')'"),
        ("((echo a); echo b)", "the syntax at line 1 of the script: '((echo a); echo b)'"),
        ("export é=1", 'an assignment to "é"'),
        ("export é", '"export é"'),
        ("export 1a", '"export 1a"'),
        ("export 1a=1", 'an assignment to "1a"'),
        ("read é <<E\na\nE", 'an assignment to "é"'),
    ],
)
def test_what_depends_on_more_than_is_known_is_not_simulated(script, text):
    assert refusal(script) == text


@pytest.mark.parametrize("use", ["[[ a = b* ]]", "[[ a = b? ]]", "[[ a = [b] ]]", "[[ a = a ]"])
def test_patterns_and_open_brackets_of_bash_are_not_simulated(use):
    assert refusal(use, facts(dialect="bash")) == f'"{use}"'


@pytest.mark.parametrize(
    ("script", "dialect", "output"),
    [
        ("[ -L none ]; echo $?", "", "1\n"),
        ("touch f; cp f none/x; echo $?; [ -e none/x ]; echo $?", "", "1\n1\n"),
        ("[ -s /data ]; echo $?", "", "0\n"),
        ("[[ a == a ]]; echo $?", "bash", "0\n"),
        ("set -o pipefail; true | true; echo $?", "bash", "0\n"),
        ("set -o pipefail; (exit 3) | (exit 4) | true; echo $?", "bash", "4\n"),
        ("(exit 3) | (exit 4) | true; echo $?", "bash", "0\n"),
        ("set -o pipefail; set +o pipefail; false | true; echo $?", "bash", "0\n"),
        ("cd none; echo $?", "bash", "1\n"),
        ("cd none; echo $?", "busybox", "1\n"),
        ("[ a == a ]; echo $?", "bash", "0\n"),
        ('echo "<$x>"', "bash", "<>\n"),
        ('echo "<$x>"', "", "<>\n"),
        ("mkdir d; cd d; echo $PWD", "bash", "/data/d\n"),
        ("mkdir d; cd d; echo $PWD", "", "/data/d\n"),
        ("RANDOM=7; echo $RANDOM", "dash", "7\n"),
        ("ls none; echo $?", "", "2\n"),
        ("ls none; echo $?", "busybox", "1\n"),
        ("touch .a b; ls", "", "b\n"),
        ("touch b; ls b", "", "b\n"),
        ("mkdir d; echo x > a; cp a d; cat d/a", "", "x\n"),
        ("echo x > a; mv a b; ls; cat b", "", "b\nx\n"),
        ("touch a; cp a a; echo $?", "", "1\n"),
        ("rm -f; echo $?", "", "0\n"),
        ("seq 2 3", "", "2\n3\n"),
        ("seq 3 -1 1", "", "3\n2\n1\n"),
        ("seq -1 1", "", "-1\n0\n1\n"),
        ("seq 2 1", "", ""),
        ("f() { return 3; }; trap f EXIT; echo a", "", "a\n"),
        ("trap '' TERM; echo a", "", "a\n"),
        ("trap - TERM; echo a", "", "a\n"),
        ("touch d/e; echo $?", "", "1\n"),
        ("mkdir d; touch d d/e; ls d; ls", "", "e\nd\n"),
        ("exec echo a; echo b", "", "a\n"),
        ("case in in in) echo 1;; esac", "", "1\n"),
        ("echo ${x:-{}}", "", "{}\n"),
        ("f() { :; }; for i in $(seq 60); do f; done; echo ok", "", "ok\n"),
    ],
)
def test_the_neighbors_of_these_uses_are_simulated(script, dialect, output):
    assert result(script, facts(dialect=dialect)) == (0, output)


@pytest.mark.parametrize(
    ("name", "end"), [("bash", (0, "a\n")), ("sh", (1, "")), ("/bin/bash", (0, "a\n"))]
)
def test_bash_alone_goes_on_after_an_error_in_a_substitution(name, end):
    """The others inherit `set -e` there."""
    script = Script([name, "-c", 'set -e; x=$(false; echo a); echo "$x"'], facts())
    with pytest.raises(StopIteration) as ended:
        next(script.steps())
    assert (ended.value.value, script.output) == end


LONG = "x" * 100


@pytest.mark.parametrize("words", [["sh", LONG], ["sh", "-c", f"seq {LONG}"], ["seq", LONG]])
def test_a_long_command_is_named_by_its_start(words):
    with pytest.raises(NotSimulatedError) as refused:
        next(Script(words, facts()).steps())
    name = words[0] if len(words) < 3 else "seq"
    assert str(refused.value) == f'"{name} {LONG}'[:81] + '"'


@pytest.mark.parametrize(
    "words", [["cd", "/"], ["/bin/export", "a"], ["/opt/sleep", "1"], ["x", "y"]]
)
def test_a_program_that_is_not_simulated_is_named(words):
    with pytest.raises(NotSimulatedError, match=f'^program "{words[0]}"$'):
        Script(words, facts())


@pytest.mark.parametrize("words", [["sh", "-c", "-", "echo a"], ["sh", "-c", "--", "-", "a"]])
def test_a_dash_is_no_script(words):
    with pytest.raises(NotSimulatedError, match=r'^command "-"$'):
        Script(words, facts())
