#!/usr/bin/env bash
# function.sh FUNCTION: run one function of upstream's tests of kubectl (test/cmd), in a copy of
# upstream's folders. Each failed command goes to descriptor 3 as FILE:LINE, and the function
# continues; "between" stands for what is between the functions.
#
# Environment: ROOT, the folder of the copy; SECURE_API_PORT; TMPDIR, HOME; kubectl is on PATH.
cd "${ROOT}" || exit 3
KUBE_ROOT=${ROOT}
source hack/lib/init.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh
set +o errexit
errexit=off

kube::log::errexit() {
  if [[ ${errexit} == on && ${BASH_SOURCE[1]} == */test/cmd/* ]]; then
    echo "${BASH_SOURCE[1]##*/}:${BASH_LINENO[0]}" >&3
  fi
}

# The names of acceptable authorities, which Python's ssl module cannot send; a client certificate
# is accepted without them.
kube::util::test_client_certificate_authentication_enabled() {
  :
}

kube::util::ensure-temp-dir
kube::util::ensure-gnu-sed
CONTEXT=test
ALLOW_SKEW=1
SUPPORTED_RESOURCES=("*")
function=$1
# runTests executes only the functions in WHAT, and with an empty one also what is between them.
WHAT=${function}
if [[ ${function} == between ]]; then
  WHAT=
  errexit=on
fi
record_command() {
  if [[ -n ${WHAT} ]]; then
    "${function}"
  fi
}
# Upstream removes all pods after the last function; here each one ends with this.
kube::test::clear_all() {
  :
}
runTests
stop-proxy
