/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Partitions and planned partitions of data. */
#pragma once

#include <starpu.h>

void tic_data_on_partition_before(starpu_data_handle_t data);
void tic_data_on_partition_after(starpu_data_handle_t data);
void tic_data_on_unpartition_before(starpu_data_handle_t data);
void tic_data_on_unpartition_after(starpu_data_handle_t data);
void tic_data_on_plan_after(starpu_data_handle_t data, starpu_data_handle_t *parts, unsigned count);
void tic_data_on_clean_before(starpu_data_handle_t *parts, unsigned count);
