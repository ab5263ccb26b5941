"""Shell scripts of containers: durations, exit codes and files."""

import pytest

from podwright.stages.kubelet.shell_scripts import FileChange, run_command

SECOND_NS = 1_000_000_000
FAIL_ONCE = """
    if [[ -r /data/foo ]]
    then
        exit 0
    else
        touch /data/foo
        exit 1
    fi
"""
ODD = """
    if [ $(expr ${JOB_COMPLETION_INDEX} % 2) -ne 0 ]; then
        exit 1
    else
        exit 0
    fi
"""


def run(*argv, environment=None, files=(), random_number=0):
    return run_command(
        argv,
        environment=environment or {},
        has_file=lambda path: path in files,
        random_number=random_number,
    )


@pytest.mark.parametrize(
    ("argv", "seconds", "exit_code"),
    [
        pytest.param(("/bin/false",), 0, 1, id="a command by its path"),
        pytest.param(("sleep", "2m"), 120, 0, id="sleep with a unit"),
        pytest.param(("sleep", "infinity"), None, 0, id="sleep without end"),
        pytest.param(("sh", "-c", "exit 3"), 0, 3, id="an exit code"),
        pytest.param(("/bin/sh", "-c", "sleep 5; exit 7; sleep 9"), 5, 7, id="after a while"),
        pytest.param(("sh", "-c", "true && false || sleep 2"), 2, 0, id="and, or"),
        pytest.param(("sh", "-c", "while true; do sleep 1; done"), None, 0, id="a loop"),
        pytest.param(("sh", "-c", "tail -f /dev/null"), None, 0, id="tail -f"),
        pytest.param(("sh", "-c", "echo -n DONE; /bin/true"), 0, 0, id="echo"),
        pytest.param(("sh", "-c", "! false"), 0, 0, id="negation"),
        pytest.param(("sh", "-c", "exit $(( 7 / 2 ))"), 0, 3, id="arithmetic"),
        pytest.param(("sh", "-c", "# nothing\nexit 4"), 0, 4, id="a comment"),
        pytest.param(("sh", "-c", "(exit 5)"), 0, 5, id="a group"),
    ],
)
def test_durations_and_exit_codes(argv, seconds, exit_code):
    found = run(*argv)
    assert found.duration_ns == (None if seconds is None else seconds * SECOND_NS)
    assert found.exit_code == exit_code


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(("nginx", "-g", "daemon off;"), id="another program"),
        pytest.param(("sh", "run.sh"), id="a script in a file"),
        pytest.param(("sh", "-c", "for i in 1 2; do sleep $i; done"), id="for"),
        pytest.param(("sh", "-c", "curl localhost | grep x"), id="a pipe"),
        pytest.param(("sh", "-c", "sleep 5 & wait"), id="a background process"),
        pytest.param(("sh", "-c", "sleep $(cat /time)"), id="a substitution"),
        pytest.param(("sh", "-c", "echo 'unclosed"), id="an unclosed quote"),
        pytest.param(("sh", "-c", "exit $(( 1 / 0 ))"), id="a division by zero"),
        pytest.param(("sh", "-c", "if false; then exit 1"), id="an unclosed if"),
        pytest.param((), id="no command"),
    ],
)
def test_what_is_not_interpreted_is_not_guessed(argv):
    assert run(*argv) is None


def test_a_marker_file_decides_the_second_run():
    first = run("/bin/sh", "-c", FAIL_ONCE)
    assert (first.exit_code, first.changes) == (1, (FileChange(0, "/data/foo", ""),))
    assert run("/bin/sh", "-c", FAIL_ONCE, files={"/data/foo"}).exit_code == 0


@pytest.mark.parametrize(("index", "exit_code"), [("0", 0), ("1", 1), ("12", 0)])
def test_variables_of_the_environment_are_expanded(index, exit_code):
    found = run("sh", "-c", ODD, environment={"JOB_COMPLETION_INDEX": index})
    assert found.exit_code == exit_code


@pytest.mark.parametrize(("number", "exit_code"), [(0, 0), (16383, 0), (16384, 1), (32767, 1)])
def test_random_is_an_argument(number, exit_code):
    found = run("sh", "-c", "exit $(( $RANDOM / 16384 ))", random_number=number)
    assert found.exit_code == exit_code


def test_files_change_during_the_run():
    found = run("sh", "-c", "touch /run/healthy; sleep 30; rm -f /run/healthy; sleep 600")
    assert found.duration_ns == 630 * SECOND_NS
    assert found.changes == (
        FileChange(0, "/run/healthy", ""),
        FileChange(30 * SECOND_NS, "/run/healthy", None),
    )


def test_output_goes_to_the_log_or_to_a_file():
    found = run("sh", "-c", "echo one; echo -n two > /dev/termination-log; echo x > /dev/null")
    assert found.output == "one\n"
    assert found.changes == (FileChange(0, "/dev/termination-log", "two"),)


@pytest.mark.parametrize(
    ("script", "handles"),
    [("sleep 60", False), ("trap 'exit 0' TERM; while true; do sleep 1; done", True)],
)
def test_a_shell_ignores_sigterm_unless_it_has_a_trap(script, handles):
    assert run("sh", "-c", script).handles_sigterm is handles
