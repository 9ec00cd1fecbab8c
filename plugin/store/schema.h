/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every name on disk. FORMAT.md explains them; nothing else in the sources spells them. */
#pragma once

#define TIC_FORMAT_MAJOR 7
#define TIC_FORMAT_MINOR 5
/* Lines without a history; and of those, the ones of commit points. */
#define TIC_FORMAT_OLDEST_MAJOR 5
#define TIC_FORMAT_SEGMENT_MAJOR 5
#define TIC_FORMAT_SEGMENT_MINOR 10

/* Files of process P in the store directory. */
#define TIC_FILE_LOCK "p%u.lock"
/* What the process is that has used the store last: number, start in clock ticks, boot ID. */
#define TIC_LOCK_FORMAT "process %ld\nstarted %llu\nboot %s\n"
/* Behind it: which of the programs that it has executed, one after the other. */
#define TIC_LOCK_IMAGE "image %016llx\n"
/* Beside lines that do not say it: tasks of the run have written memory that is not registered. */
#define TIC_FILE_UNREGISTERED "p%u-unregistered"
/* A question to the run, and its answer: not part of what is saved. */
#define TIC_FILE_ASK "p%u-ask"
#define TIC_FILE_ANSWER "p%u-answer-%08llu"
#define TIC_ASK_FORMAT "starpu-tic ask %s %llu\n"
#define TIC_FILE_LINE "p%u-line-%08llu.h5"
#define TIC_FILE_LINE_NEW "p%u-line-%08llu.h5.new"
#define TIC_FILE_SEGMENT "p%u-segment-%08llu.h5"
#define TIC_FILE_LOG "p%u-log-%08llu.h5"

/* The copies of STARPU_TIC_COPY: each a store directory of its own. */
#define TIC_COPY_PATH "%s/%c"

/* The first TIC_HEADER_SIZE bytes of a line file are an HDF5 user block with this text. */
#define TIC_HEADER_SIZE 512
#define TIC_HEADER_MAGIC "starpu-tic recovery line"
#define TIC_HEADER_FORMAT TIC_HEADER_MAGIC "\nformat %u.%u\nbytes %llu\nxxh3-128 %016llx%016llx\n"
#define TIC_HEADER_SCAN TIC_HEADER_MAGIC "\nformat %u.%u\nbytes %llu\nxxh3-128 %16llx%16llx\n"

/* A payload dataset of a segment file: shape [rows, dims reversed]. */
#define TIC_SEGMENT_DATASET "/payload-%u"
/* The space of its rows, if it is a dataset of chunks. */
#define TIC_SEGMENT_SPACE "/space-%u"
/* A segment or log file begins with a user block with this text, and an entry for each dataset. */
#define TIC_SEGMENT_HEADER_FORMAT                                                                  \
    "starpu-tic segment\nformat %u.%u\nextents %llu\nxxh3-128 %016llx%016llx\n"
#define TIC_SEGMENT_HEADER_SCAN                                                                    \
    "starpu-tic segment\nformat %u.%u\nextents %llu\nxxh3-128 %16llx%16llx\n"
#define TIC_SEGMENT_ENTRY_FORMAT "%u %u %llu %llu %llu %llu %llu %llu %llu"
/* Behind the entries, for those that have one: number of the entry, name of the type. */
#define TIC_SEGMENT_TYPE_FORMAT "type %llu %s\n"

/* LINE_NUMBER(member): attributes of the root group, 64-bit unsigned. */
#define TIC_LINE_NUMBERS(X)                                                                        \
    X(number)                                                                                      \
    X(process)                                                                                     \
    X(workers) X(tasks_submitted) X(tasks_done) X(clock) X(kept_done) X(waits)                     \
        X(verified) X(quiescent)
/* MACHINE_NUMBER(member): the same, members of what the line says of its machine. */
#define TIC_MACHINE_NUMBERS(X) X(big_endian)
/* The same, from minor format 7 on; 0, or empty, in lines of before. */
#define TIC_MACHINE_LATER_NUMBERS(X) X(pointer_bytes) X(machine_bound) X(words_mixed)
#define TIC_MACHINE_LATER_TEXTS(X) X(machine)
/* ACCOUNT_NUMBER(member): the same, members of the line's account. */
#define TIC_ACCOUNT_NUMBERS(X) X(runs) X(spent) X(lost) X(stored) X(checkpoints) X(logged)
/* The same, from minor format 3 on; 0 in lines of before. */
#define TIC_ACCOUNT_LATER_NUMBERS(X) X(period) X(cost) X(latency)

/* LINE_TEXT(member): attributes of the root group, UTF-8 strings. */
#define TIC_LINE_TEXTS(X) X(version) X(starpu) X(host) X(program) X(directory)
/* The same, from minor format 1 on; empty in lines of before. */
#define TIC_LINE_LATER_TEXTS(X) X(build) X(input)

/* LINE_NUMBER(member) from minor formats 2 and 5 on; 0 in lines of before. */
#define TIC_LINE_LATER_NUMBERS(X) X(arguments_compared) X(unregistered_writes)
/* NAMED_NUMBER(name, member): the same from minor formats 8 and 9, 7.1 and 7.5 on. */
#define TIC_LINE_NAMED_NUMBERS(X)                                                                  \
    X(without_history, file.without_history)                                                       \
    X(rerun_off, file.rerun_off)                                                                   \
    X(log_tick, log.tick)                                                                          \
    X(log_epoch, log.epoch)                                                                        \
    X(log_position, log.position)                                                                  \
    X(point, point.number)                                                                         \
    X(point_task, point.task)                                                                      \
    X(point_signature, point.signature)                                                            \
    X(point_handle, point.handle)                                                                  \
    X(point_registered, point.registered)                                                          \
    X(point_now_task, point.now_task)                                                              \
    X(point_now_signature, point.now_signature)                                                    \
    X(point_now_handle, point.now_handle)                                                          \
    X(point_now_event, point.now_event) X(point_now_chain, point.now_chain)

/* Tables with references to payload rows. */
#define TIC_LINE_VALUES "/values"
#define TIC_LINE_ACQUIRES "/acquires"
#define TIC_LINE_READS "/reads"
#define TIC_LINE_BLOCKS "/blocks"

/* LINE_TABLE(path, struct, array member, count member, FIELDS): one-dimensional compound datasets.
 * FIELDS(struct, F): F(struct, name on disk, member, type) */
#define TIC_LINE_TABLES(X)                                                                         \
    X("/extents", tic_line_extent, extents, extent_count, TIC_EXTENT_FIELDS)                       \
    X(TIC_LINE_VALUES, tic_line_value, values, value_count, TIC_VALUE_FIELDS)                      \
    X("/done", tic_range, done, done_count, TIC_DONE_FIELDS)                                       \
    X("/inputs", tic_line_input, inputs, input_count, TIC_INPUT_FIELDS)                            \
    X(TIC_LINE_ACQUIRES, tic_line_acquire, acquires, acquire_count, TIC_ACQUIRE_FIELDS)            \
    X("/events", tic_line_event, events, event_count, TIC_EVENT_FIELDS)                            \
    X(TIC_LINE_BLOCKS, tic_line_block, blocks, block_count, TIC_BLOCK_FIELDS)                      \
    X(TIC_LINE_READS, tic_line_read, reads, read_count, TIC_READ_FIELDS)                           \
    X("/looks", tic_line_look, looks, look_count, TIC_LOOK_FIELDS)                                 \
    X("/kept", tic_line_kept, kept, kept_count, TIC_KEPT_FIELDS)                                   \
    X("/kept_writes", tic_line_kept_write, kept_writes, kept_write_count, TIC_KEPT_WRITE_FIELDS)   \
    X("/kept_buffers", tic_line_buffer, buffers, buffer_count, TIC_BUFFER_FIELDS)
/* The same, from format 7.0 on; empty in lines of before. */
#define TIC_LINE_LATER_TABLES(X)                                                                   \
    X("/history", tic_line_entry, history, history_count, TIC_ENTRY_FIELDS)
/* The same, and these arrays, up to format 7.2. */
#define TIC_LINE_EARLIER_TABLES(X)                                                                 \
    X("/callbacks", tic_line_callback, callbacks, callback_count, TIC_CALLBACK_FIELDS)
#define TIC_LINE_EARLIER_ARRAYS(X) X("/ran", UINT64, ran, ran_count)

#define TIC_EXTENT_FIELDS(S, F)                                                                    \
    F(S, "segment", segment, U64)                                                                  \
    F(S, "dataset", dataset, U32)                                                                  \
    F(S, "element_size", element_size, U32)                                                        \
    F(S, "ndim", ndim, U32)                                                                        \
    F(S, "dim0", dims[0], U64)                                                                     \
    F(S, "dim1", dims[1], U64) F(S, "dim2", dims[2], U64) F(S, "dim3", dims[3], U64)               \
        F(S, "rows", rows, U64) F(S, "offset", offset, U64) F(S, "keys", keys, U64)
#define TIC_VALUE_FIELDS(S, F)                                                                     \
    F(S, "id", id, U64)                                                                            \
    F(S, "version", version, U64)                                                                  \
    F(S, "checksum", checksum, U64)                                                                \
    F(S, "extent", extent, U32) F(S, "row", row, U32) F(S, "gone", gone, U32)
#define TIC_DONE_FIELDS(S, F) F(S, "first", first, U64) F(S, "last", last, U64)
#define TIC_INPUT_FIELDS(S, F) F(S, "id", id, U64) F(S, "hash", hash, U64)
#define TIC_ACQUIRE_FIELDS(S, F)                                                                   \
    F(S, "id", id, U64)                                                                            \
    F(S, "writes", writes, U32)                                                                    \
    F(S, "recorded", recorded, U32)                                                                \
    F(S, "checksum", checksum, U64) F(S, "extent", extent, U32) F(S, "row", row, U32)
#define TIC_EVENT_FIELDS(S, F) F(S, "kind", kind, U32) F(S, "value", value, I64)
#define TIC_BLOCK_FIELDS(S, F)                                                                     \
    F(S, "table", table, U32)                                                                      \
    F(S, "count", count, U32)                                                                      \
    F(S, "extent", extent, U32) F(S, "row", row, U32) F(S, "checksum", checksum, U64)

#define TIC_READ_FIELDS(S, F)                                                                      \
    F(S, "task", task, U64)                                                                        \
    F(S, "buffer", buffer, U32)                                                                    \
    F(S, "extent", extent, U32) F(S, "row", row, U32) F(S, "checksum", checksum, U64)
#define TIC_CALLBACK_FIELDS(S, F) F(S, "task", task, U64) F(S, "clock", clock, U64)
#define TIC_LOOK_FIELDS(S, F)                                                                      \
    F(S, "wait", wait, U64)                                                                        \
    F(S, "id", id, U64)                                                                            \
    F(S, "part", part, U32)                                                                        \
    F(S, "bytes", bytes, U32)                                                                      \
    F(S, "word0", words[0], U64) F(S, "word1", words[1], U64) F(S, "word2", words[2], U64)         \
        F(S, "word3", words[3], U64) F(S, "word4", words[4], U64)
#define TIC_ENTRY_FIELDS(S, F)                                                                     \
    F(S, "position", position, U64)                                                                \
    F(S, "actor", actor, U64)                                                                      \
    F(S, "subject", subject, U64)                                                                  \
    F(S, "kind", kind, U32) F(S, "role", role, U32) F(S, "part", part, U32)
#define TIC_KEPT_FIELDS(S, F)                                                                      \
    F(S, "root", root, U64)                                                                        \
    F(S, "id", id, U64)                                                                            \
    F(S, "tag", tag, U64)                                                                          \
    F(S, "callback_argument", callback_argument, U64)                                              \
    F(S, "priority", priority, I64)                                                                \
    F(S, "codelet", codelet, U32) F(S, "callback", callback, U32) F(S, "flags", flags, U32)        \
        F(S, "buffers", buffers, U32) F(S, "arguments", arguments, U32)
#define TIC_KEPT_WRITE_FIELDS(S, F) F(S, "root", root, U64) F(S, "handle", handle, U64)
#define TIC_BUFFER_FIELDS(S, F)                                                                    \
    F(S, "handle", handle, U64) F(S, "mode", mode, U32) F(S, "free", free, U32)

/* LINE_ARRAY(path, type, array member, count member): one-dimensional datasets of plain numbers. */
#define TIC_LINE_ARRAYS(X)                                                                         \
    X("/signatures", UINT32, signatures, signature_count)                                          \
    X("/arguments", UINT8, arguments.text, arguments.size)                                             \
    X("/spawned", UINT64, spawned, spawned_count)                                                  \
    X("/kept_arguments", UINT8, bytes.items, bytes.count)                                           \
    X("/functions", UINT8, functions.text, functions.size)
/* The same, from minor formats 4, 7, 9 and 10 on; empty in lines of before. */
#define TIC_LINE_LATER_ARRAYS(X)                                                                   \
    X("/files", UINT8, known.files.text, known.files.size)                                           \
    X("/types", UINT8, on.types.text, on.types.size)                                               \
    X("/extent_types", UINT32, on.extent_types, on.extent_type_count)                              \
    X("/variable_names", UINT8, point.names.text, point.names.size)                                \
    X("/variables", UINT8, point.bytes.items, point.bytes.count)                                   \
    X("/names", UINT8, known.names.text, known.names.size)

/* Of /files: an entry as it begins, before the path; hash, size, how many bytes the hash is of. */
#define TIC_LINE_FILE_FORMAT "%016llx%016llx %lld %lld "
#define TIC_LINE_FILE_SCAN "%16llx%16llx %lld %lld%n"

/* Of /names: an entry as it begins, before the name. */
#define TIC_LINE_NAME_FORMAT "%llu "
#define TIC_LINE_NAME_SCAN "%llu%n"

/* BLOCK_TABLE(number, struct, array member, count member, bytes of a block, FIELDS): tables whose
 * entries may lie in blocks. */
#define TIC_BLOCK_TABLES(X)                                                                        \
    X(TIC_TABLE_SIGNATURES, tic_number32, signatures, signature_count, 32768, TIC_NUMBER32_FIELDS) \
    X(TIC_TABLE_VALUES, tic_line_value, values, value_count, 4096, TIC_VALUE_FIELDS)               \
    X(TIC_TABLE_ACQUIRES, tic_line_acquire, acquires, acquire_count, 32768, TIC_ACQUIRE_FIELDS)    \
    X(TIC_TABLE_INPUTS, tic_line_input, inputs, input_count, 32768, TIC_INPUT_FIELDS)              \
    X(TIC_TABLE_EVENTS, tic_line_event, events, event_count, 32768, TIC_EVENT_FIELDS)              \
    X(TIC_TABLE_READS, tic_line_read, reads, read_count, 32768, TIC_READ_FIELDS)                   \
    X(TIC_TABLE_CALLBACKS, tic_line_callback, callbacks, callback_count, 32768,                    \
      TIC_CALLBACK_FIELDS)                                                                         \
    X(TIC_TABLE_SPAWNED, tic_number64, spawned, spawned_count, 32768, TIC_NUMBER64_FIELDS)         \
    X(TIC_TABLE_KEPT_WRITES, tic_line_kept_write, kept_writes, kept_write_count, 32768,            \
      TIC_KEPT_WRITE_FIELDS)                                                                       \
    X(TIC_TABLE_LOOKS, tic_line_look, looks, look_count, 32768, TIC_LOOK_FIELDS)                   \
    X(TIC_TABLE_RAN, tic_number64, ran, ran_count, 32768, TIC_NUMBER64_FIELDS)                     \
    X(TIC_TABLE_HISTORY, tic_line_entry, history, history_count, 32768, TIC_ENTRY_FIELDS)
#define TIC_NUMBER32_FIELDS(S, F) F(S, "number", number, U32)
#define TIC_NUMBER64_FIELDS(S, F) F(S, "number", number, U64)

/* The time of the line. */
#define TIC_LINE_CREATED "created"
