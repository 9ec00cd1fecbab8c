/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session from the settings. */
#pragma once

struct tic_h5_ops;
struct tic_session;
struct tic_settings;

/* The settings of this process; stops the start if one is not valid. */
void tic_session_read(struct tic_settings *settings);
/* From the settings, without a store; stops the start where that fails. */
struct tic_session *tic_session_create(const struct tic_settings *settings);
/* The functions of tic-store.so beside this library; stops the start if it is not there. */
const struct tic_h5_ops *tic_session_load_module(void);
