! SPDX-License-Identifier: LGPL-2.1-or-later
! starpu_tic.h for Fortran 2003: the same names, and the same meaning.
module starpu_tic_mod
    use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_ptr
    implicit none
    private

    ! Version of this module.
    integer(c_int), parameter, public :: STARPU_TIC_MAJOR_VERSION = 0
    integer(c_int), parameter, public :: STARPU_TIC_MINOR_VERSION = 2
    integer(c_int), parameter, public :: STARPU_TIC_PATCH_VERSION = 0

    ! How far a run has come that continues an earlier one. All counts in tasks.
    type, bind(c), public :: starpu_tic_progress
        integer(c_int) :: recovered = 0           ! 1 when this run continues an earlier one
        integer(c_int64_t) :: recovered_tasks = 0 ! done according to the recovery line
        integer(c_int64_t) :: skipped_tasks = 0   ! of these, submitted again and skipped so far
        integer(c_int) :: replaying = 0           ! 1 until the last of them was submitted again
    end type starpu_tic_progress

    public :: starpu_tic_get_version, starpu_tic_checkpoint_request, starpu_tic_get_progress
    public :: starpu_tic_codelet_can_fail, starpu_tic_task_failed
    public :: starpu_tic_codelet_can_skip, starpu_tic_codelet_has_effects, starpu_tic_data_set_name
    public :: starpu_tic_data_exclude

    interface
        ! Version of the library in use.
        subroutine starpu_tic_get_version(major, minor, patch) bind(c)
            import :: c_int
            integer(c_int), intent(out) :: major, minor, patch
        end subroutine starpu_tic_get_version

        ! Asks for a local checkpoint now. 0; else this run is not protected.
        function starpu_tic_checkpoint_request() bind(c) result(status)
            import :: c_int
            integer(c_int) :: status
        end function starpu_tic_checkpoint_request

        ! Tells whether this run recovers and how far it is. 0; else this run is not protected.
        function starpu_tic_get_progress(progress) bind(c) result(status)
            import :: c_int, starpu_tic_progress
            type(starpu_tic_progress), intent(out) :: progress
            integer(c_int) :: status
        end function starpu_tic_get_progress

        ! Names data: text that ends with c_null_char. 0; else this run is not protected, or it is no data.
        function starpu_tic_data_set_name(data, name) bind(c) result(status)
            import :: c_char, c_int, c_ptr
            type(c_ptr), value, intent(in) :: data
            character(kind=c_char), dimension(*), intent(in) :: name
            integer(c_int) :: status
        end function starpu_tic_data_set_name

        ! Excludes data: no recovery line holds it, as tasks make it anew. 0, or not.
        function starpu_tic_data_exclude(data) bind(c) result(status)
            import :: c_int, c_ptr
            type(c_ptr), value, intent(in) :: data
            integer(c_int) :: status
        end function starpu_tic_data_exclude

        ! Declares that kernels of a codelet may fail. 0; else it has none that can be executed again.
        function starpu_tic_codelet_can_fail(codelet) bind(c) result(status)
            import :: c_int, c_ptr
            type(c_ptr), value, intent(in) :: codelet
            integer(c_int) :: status
        end function starpu_tic_codelet_can_fail

        ! Declares that nobody needs what tasks of a codelet do beside their data, once they are done. 0, or not.
        function starpu_tic_codelet_can_skip(codelet) bind(c) result(status)
            import :: c_int, c_ptr
            type(c_ptr), value, intent(in) :: codelet
            integer(c_int) :: status
        end function starpu_tic_codelet_can_skip

        ! Declares the contrary. 0, or not.
        function starpu_tic_codelet_has_effects(codelet) bind(c) result(status)
            import :: c_int, c_ptr
            type(c_ptr), value, intent(in) :: codelet
            integer(c_int) :: status
        end function starpu_tic_codelet_has_effects

        ! Tells, in a kernel, that it has failed: it is executed again. 0; else this is no kernel.
        function starpu_tic_task_failed() bind(c) result(status)
            import :: c_int
            integer(c_int) :: status
        end function starpu_tic_task_failed
    end interface
end module starpu_tic_mod
