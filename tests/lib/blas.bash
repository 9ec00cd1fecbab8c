# SPDX-License-Identifier: LGPL-2.1-or-later
# Which BLAS StarPU's examples compute with in tests.

# The reference BLAS, whatever this machine prefers: with Debian's libopenblas0-serial, which is not
# thread-safe, 3 of 300 plain runs of cholesky_tile_tag on two workers gave other bits.
use_reference_blas() {
    local file
    file=$(dpkg -L libblas3 2>/dev/null | grep '/libblas\.so\.3$') || return 0
    export LD_LIBRARY_PATH=${file%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
