# SPDX-License-Identifier: LGPL-2.1-or-later
# What hwloc finds out about this machine, asked once for each file of tests. At each start of a program
# it would take a fifth of that start.
if [ -z "${HWLOC_XMLFILE-}" ] && HWLOC_PLUGINS_PATH=/nonexistent \
    "$BATS_TEST_DIRNAME/../lib/topology" "$BATS_FILE_TMPDIR/machine.xml" 2>/dev/null; then
    export HWLOC_XMLFILE=$BATS_FILE_TMPDIR/machine.xml HWLOC_THISSYSTEM=1
fi
