# SPDX-License-Identifier: LGPL-2.1-or-later
from . import main

main()
