/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event log of a directory in memory, ordered by time, for the subcommands. */
#pragma once

#include <stdio.h>

#include "store/eventlog.h"

struct tic_store;

struct tic_events {
    struct tic_log_record *items; /* their words are owned */
    size_t count;
    unsigned long capacity;
};

/* 0 or -errno. */
int tic_events_read(const char *path, struct tic_events *events);
/* The same of a store that is open. */
int tic_events_load(struct tic_store *store, struct tic_events *events);
void tic_events_clear(struct tic_events *events);

/* As JSON (`starpu-tic log --json`), and in words, a line each, on standard output. */
void tic_events_write(FILE *out, const struct tic_events *events);
void tic_events_print(const struct tic_events *events);

/* ---- of a created task ---------------------------------------------------------------------- */
enum { TIC_EVENT_NAME = 72 };
/* Accesses; 0 when the record is damaged. */
size_t tic_event_accesses(const struct tic_log_record *record);
uint64_t tic_event_data(const struct tic_log_record *record, size_t access);
bool tic_event_writes(const struct tic_log_record *record, size_t access);
/* In words: "RW", "W|COMMUTE". */
const char *tic_event_mode(const struct tic_log_record *record, size_t access);
/* The codelet's name. False when the record is damaged. */
bool tic_event_name(const struct tic_log_record *record, char name[TIC_EVENT_NAME]);
