#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes configure from configure.ac.
set -e
cd "$(dirname "$0")"
mkdir -p m4
exec autoreconf --install --force --warnings=all
