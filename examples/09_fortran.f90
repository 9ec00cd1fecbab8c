! SPDX-License-Identifier: LGPL-2.1-or-later
! A program in Fortran, by StarPU's own module: logistic maps in tiles, phase after phase. It asks for
! a checkpoint after each phase, and tells how far a continued run is (bindings/fortran).
!
!   gfortran fstarpu_mod.f90 starpu_tic_mod.f90 09_fortran.f90 \
!       $(pkg-config --libs starputic starpu-1.3) -o 09_fortran
!   STARPU_TIC_PROTOCOL=off ./09_fortran                                 plain
!   ./09_fortran                                                         protected
!   STARPU_TIC_EVERY=16 STARPU_TIC_FAIL=task-end:100 ./09_fortran        killed after 100 tasks
!   ./09_fortran                                                         resumed
!
! StarPU's module is beside its headers, that of starpu-tic beside starpu_tic.h.
module kernels
    use, intrinsic :: iso_c_binding
    use fstarpu_mod
    implicit none
contains
    recursive subroutine iterate(buffers, arguments) bind(c)
        type(c_ptr), value, intent(in) :: buffers, arguments
        real(c_double), pointer :: values(:)
        integer :: i

        if (c_associated(arguments)) return ! there are none
        call c_f_pointer(fstarpu_vector_get_ptr(buffers, 0), values, [fstarpu_vector_get_nx(buffers, 0)])
        do i = 1, 50
            values = 3.9_c_double * values * (1 - values)
        end do
    end subroutine iterate
end module kernels

program main
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: error_unit
    use fstarpu_mod
    use starpu_tic_mod
    use kernels
    implicit none
    integer, parameter :: phases = 8, tiles = 16, length = 4096
    real(c_double), allocatable, target :: values(:, :)
    type(c_ptr) :: handles(tiles), codelet
    type(starpu_tic_progress) :: progress
    integer :: phase, tile, i
    integer(c_int) :: status

    allocate (values(length, tiles))
    values = reshape([(real(i, c_double) / (length * tiles + 1), i=1, length * tiles)], shape(values))
    if (fstarpu_init(c_null_ptr) /= 0) stop 77
    codelet = fstarpu_codelet_allocate()
    call fstarpu_codelet_set_name(codelet, c_char_'iterate'//c_null_char)
    call fstarpu_codelet_add_cpu_func(codelet, c_funloc(iterate))
    call fstarpu_codelet_add_buffer(codelet, FSTARPU_RW)
    do tile = 1, tiles
        call fstarpu_vector_data_register(handles(tile), 0, c_loc(values(1, tile)), length, &
                                          c_sizeof(values(1, tile)))
    end do

    do phase = 1, phases
        do tile = 1, tiles
            call fstarpu_task_insert([codelet, FSTARPU_RW, handles(tile), c_null_ptr])
        end do
        call fstarpu_task_wait_for_all()
        status = starpu_tic_get_progress(progress)
        if (status == 0 .and. progress%replaying /= 0) then
            write (error_unit, '(a,i0,a,i0,a,i0,a)') 'phase ', phase, ' was done before: ', &
                progress%skipped_tasks, ' of ', progress%recovered_tasks, ' tasks skipped'
        end if
        status = starpu_tic_checkpoint_request()
    end do

    do tile = 1, tiles
        call fstarpu_data_unregister(handles(tile))
    end do
    call fstarpu_codelet_free(codelet)
    call fstarpu_shutdown()
    print '(es24.16)', sum(values)
end program main
