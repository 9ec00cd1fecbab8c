# SPDX-License-Identifier: LGPL-2.1-or-later
# Which BLAS StarPU's examples compute with in tests.

# The reference BLAS, whatever this machine prefers: with Debian's libopenblas0-serial, which is not
# thread-safe, 3 of 300 plain runs of cholesky_tile_tag on two workers gave other bits. Asked once: dpkg is slow.
export reference_blas=${reference_blas-$(dpkg -L libblas3 2>/dev/null | grep '/libblas\.so\.3$')}

use_reference_blas() {
    [ -z "$reference_blas" ] ||
        export LD_LIBRARY_PATH=${reference_blas%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
}
