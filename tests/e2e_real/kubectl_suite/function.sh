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
WHAT=
wanted=$1
if [[ ${wanted} != between ]]; then
  WHAT=wanted
else
  errexit=on
fi
record_command() {
  if [[ ${WHAT} == wanted ]]; then
    "${wanted}"
  fi
}
kube::test::clear_all() {
  :
}
runTests
stop-proxy
