/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that values come back as they were saved, that the newest good line wins, and that nothing
 * a kept line refers to is ever overwritten or removed. */
#include "store/store.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/child.h"
#include "lib/fakedata.h"
#include "lib/random.h"
#include "lib/testing.h"
#include "lib/tmpdir.h"
#include "store/claim.h"

enum { WORDS = 16, VALUES = 3 };

static struct tic_tmpdir dir;
static struct tic_store store;

/* What one line of these tests refers to. */
struct content {
    uint64_t words[VALUES][WORDS];
    struct tic_saved saved[VALUES];
};

static void open_store(enum tic_store_mode mode)
{
    assert_int_equal(tic_store_open(&store, dir.path, mode, true, &tic_h5_ops), 0);
}

static void provide(const struct tic_shape *shape, uint64_t rows)
{
    struct tic_demand demand = {*shape, rows};
    assert_int_equal(tic_store_provide(&store, &demand, 1), 0);
}

/* Saves new values, as `stream` makes them. */
static void save_content(struct content *content, uint64_t stream)
{
    struct tic_random random;
    struct tic_layout layout = tic_fake_vector(content->words[0], 8, WORDS);

    tic_random_init(&random, stream);
    tic_random_fill(&random, content->words, sizeof(content->words));
    provide(&layout.shape, VALUES);
    for (unsigned i = 0; i < VALUES; i++) {
        layout.base = (char *)content->words[i];
        assert_int_equal(tic_store_save(&store, &layout, &content->saved[i]), 0);
    }
}

static int commit_content(const struct content *content)
{
    struct tic_line line = {.values = calloc(VALUES, sizeof(*line.values)), .value_count = VALUES};

    for (unsigned i = 0; i < VALUES; i++)
        line.values[i] = (struct tic_line_value){
            .id = i,
            .checksum = content->saved[i].checksum,
            .extent = content->saved[i].row.extent,
            .row = content->saved[i].row.row,
        };
    int status = tic_store_commit(&store, &line);
    tic_line_clear(&line);
    for (unsigned i = 0; i < VALUES; i++)
        tic_rows_settle(&store.rows, content->saved[i].row);
    return status;
}

static void sweep(void)
{
    tic_rows_sweep_begin(&store.rows);
    tic_store_mark_kept(&store);
    tic_rows_sweep_end(&store.rows);
}

static void check_content(const struct content *content)
{
    for (unsigned i = 0; i < VALUES; i++) {
        uint64_t words[WORDS];
        struct tic_layout layout = tic_fake_vector(words, 8, WORDS);
        assert_int_equal(tic_store_read(&store, &content->saved[i], &layout), 0);
        assert_memory_equal(words, content->words[i], sizeof(words));
    }
}

/* ---- a directory that cannot be read to its end ---------------------------------------------- */

static bool fail_reading; /* the next entry of any directory, once */

struct dirent *readdir(DIR *directory)
{
    const char *name = sizeof(off_t) > sizeof(long) ? "readdir64" : "readdir"; /* as it is called */
    struct dirent *(*real)(DIR *) = (struct dirent * (*)(DIR *)) dlsym(RTLD_NEXT, name);

    if (!fail_reading)
        return real(directory);
    fail_reading = false;
    errno = EIO;
    return NULL;
}

static bool is_never_called(void *arg, const char *name, int status, struct tic_line *line)
{
    (void)arg, (void)name, (void)status, (void)line;
    fail();
    return true;
}

/* Lines that are not seen would be taken for lines that are not there. */
static void test_listing_that_fails(void **state)
{
    (void)state;
    open_store(TIC_STORE_CREATE);
    fail_reading = true;
    assert_int_equal(tic_store_walk(&store, is_never_called, NULL), -EIO);
    assert_false(fail_reading);
    fail_reading = true;
    assert_int_equal(tic_store_clean(&store), -EIO);
    tic_store_close(&store);
}

/* ---- open ----------------------------------------------------------------------------------- */

static void test_open_modes(void **state)
{
    char path[300];
    struct stat info;
    (void)state;
    snprintf(path, sizeof(path), "%s/new", dir.path);
    assert_int_equal(tic_store_open(&store, path, TIC_STORE_READ, true, &tic_h5_ops), -ENOENT);
    assert_int_equal(tic_store_open(&store, path, TIC_STORE_USE, true, &tic_h5_ops), -ENOENT);
    assert_int_equal(tic_store_open(&store, path, TIC_STORE_CREATE, true, &tic_h5_ops), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_string_equal(store.path, path);
    tic_store_close(&store);
    tic_tmpdir_store(&dir, "file", "x", 1);
    snprintf(path, sizeof(path), "%s/file", dir.path);
    assert_int_equal(tic_store_open(&store, path, TIC_STORE_CREATE, true, &tic_h5_ops), -ENOTDIR);
}

/* Opens and removes what another process opens and removes, too; 0, or what went wrong. */
static int open_often(const char *path)
{
    enum { TIMES = 500 };
    int status = 0;

    for (int i = 0; i < TIMES && (status == 0 || status == -EBUSY); i++) {
        struct tic_store often;
        struct stat info;
        status = tic_store_open(&often, path, TIC_STORE_CREATE, false, &tic_h5_ops);
        if (status)
            continue;
        if (fstat(often.lock.file, &info) != 0 || info.st_nlink == 0) {
            tic_store_close(&often);
            return -ENOLCK;
        }
        tic_store_remove(&often);
        tic_store_close(&often);
    }
    return status == -EBUSY ? 0 : status;
}

/* Another run that ends removes the lock and the directory. */
static void test_open_while_another_run_ends(void **state)
{
    char path[300];
    int status;
    (void)state;
    snprintf(path, sizeof(path), "%s/often", dir.path);
    pid_t child = fork();
    if (child == 0)
        _exit(-open_often(path));
    assert_int_equal(open_often(path), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static bool child_follows(void)
{
    int status;
    pid_t child = fork();

    if (child == 0)
        _exit(tic_claim_is_followed(store.lock.file));
    assert_int_equal(waitpid(child, &status, 0), child);
    return status != 0;
}

/* What a program of this process wrote there before exec differs from what this one writes in its
 * last line. */
static void test_claim(void **state)
{
    char claim[300];
    (void)state;
    open_store(TIC_STORE_CREATE);
    assert_false(tic_claim_is_followed(store.lock.file));
    assert_int_equal(ftruncate(store.lock.file, 1000), 0);
    assert_int_equal(tic_store_claim(&store), 0);
    assert_false(tic_claim_is_followed(store.lock.file));
    ssize_t size = pread(store.lock.file, claim, sizeof(claim) - 1, 0);
    assert_in_range(size, 60, 200);
    claim[size - 2] ^= 1;
    assert_int_equal(pwrite(store.lock.file, claim, (size_t)size, 0), size);
    assert_true(tic_claim_is_followed(store.lock.file));
    assert_false(child_follows());
    tic_store_close(&store);
    open_store(TIC_STORE_USE);
    assert_true(tic_claim_is_followed(store.lock.file));
    tic_store_close(&store);
}

static int open_in_child(void *arg)
{
    struct tic_store other;
    int status = tic_store_open(&other, dir.path, *(enum tic_store_mode *)arg, true, &tic_h5_ops);
    if (status == 0)
        tic_store_close(&other);
    return -status;
}

static void test_lock_refuses_a_second_run(void **state)
{
    enum tic_store_mode use = TIC_STORE_USE, create = TIC_STORE_CREATE, look = TIC_STORE_READ;
    (void)state;
    open_store(TIC_STORE_CREATE);
    assert_int_equal(tic_child_run(open_in_child, &use, NULL, 0), EBUSY);
    assert_int_equal(tic_child_run(open_in_child, &create, NULL, 0), EBUSY);
    assert_int_equal(tic_child_run(open_in_child, &look, NULL, 0), 0);
    tic_store_close(&store);
    assert_int_equal(tic_child_run(open_in_child, &use, NULL, 0), 0);
    open_store(TIC_STORE_USE); /* the child's lock went with it */
    tic_store_close(&store);
}

static void test_reasons(void **state)
{
    static const int statuses[] = {0, -EBADMSG, -EPROTONOSUPPORT, -ENOTSUP, -EIO};
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(statuses); i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(tic_store_reason(statuses[i]), tic_store_reason(statuses[k]));
}

/* ---- values --------------------------------------------------------------------------------- */

static void test_values_come_back(void **state)
{
    unsigned char from[4000], to[4000];
    struct tic_random random;
    (void)state;
    open_store(TIC_STORE_CREATE);
    tic_random_init(&random, 1);
    for (uint32_t element = 1; element <= 9; element++) {
        struct tic_layout layout = tic_fake_matrix(from, element, 7, 5, 11);
        struct tic_layout target = tic_fake_matrix(to, element, 7, 5, 8);
        struct tic_saved saved;
        tic_random_fill(&random, from, sizeof(from));
        assert_int_equal(tic_store_save(&store, &layout, &saved), -EAGAIN);
        provide(&layout.shape, 1);
        assert_int_equal(tic_store_save(&store, &layout, &saved), 0);
        assert_int_equal(saved.checksum, tic_layout_checksum(&layout));
        assert_int_equal(tic_store_read(&store, &saved, &target), 0);
        assert_int_equal(tic_layout_checksum(&target), saved.checksum);
    }
    tic_store_close(&store);
}

static void test_provide_fills_the_shortage_only(void **state)
{
    uint64_t word = 1;
    struct tic_layout layout = tic_fake_vector(&word, 8, 1);
    struct tic_demand demands[2] = {{layout.shape, 100}, {tic_fake_vector(&word, 4, 2).shape, 7}};
    (void)state;
    open_store(TIC_STORE_CREATE);
    assert_int_equal(tic_store_provide(&store, NULL, 0), 0);
    assert_int_equal(tic_tmpdir_count(&dir, "p0-segment"), 0);
    assert_int_equal(tic_store_provide(&store, demands, 2), 0);
    assert_int_equal(tic_store_provide(&store, demands, 2), 0);
    assert_int_equal(tic_tmpdir_count(&dir, "p0-segment"), 1);
    assert_int_equal(tic_rows_available(&store.rows, &demands[0].shape), 100);
    assert_int_equal(tic_rows_available(&store.rows, &demands[1].shape), 7);
    demands[0].rows = 150;
    assert_int_equal(tic_store_provide(&store, demands, 2), 0);
    assert_int_equal(tic_rows_available(&store.rows, &demands[0].shape), 150);
    assert_int_equal(tic_rows_available(&store.rows, &demands[1].shape), 7);
    tic_store_close(&store);
}

static void test_damaged_payload(void **state)
{
    struct content content;
    uint64_t words[WORDS];
    struct tic_layout layout = tic_fake_vector(words, 8, WORDS);
    (void)state;
    open_store(TIC_STORE_CREATE);
    save_content(&content, 1);
    assert_int_equal(commit_content(&content), 0);
    assert_int_equal(tic_store_check(&store, &store.kept[0]), 0);
    const struct tic_line_extent *extent = &store.kept[0].extents[content.saved[1].row.extent];
    tic_tmpdir_damage(&dir, "p0-segment-00000001.h5",
                      (long)(extent->offset + content.saved[1].row.row * sizeof(words) + 77));
    assert_int_equal(tic_store_read(&store, &content.saved[0], &layout), 0);
    assert_int_equal(tic_store_read(&store, &content.saved[1], &layout), -EBADMSG);
    assert_int_equal(tic_store_check(&store, &store.kept[0]), -EBADMSG);
    tic_store_close(&store);
}

/* ---- segments are HDF5 ---------------------------------------------------------------------- */

/* Reads row `row` of the dataset by HDF5's own means. */
static void read_by_hdf5(uint32_t row, uint64_t *words)
{
    char path[300];
    hsize_t dims[2], start[2] = {row, 0}, count[2] = {1, WORDS};
    snprintf(path, sizeof(path), "%s/p0-segment-00000001.h5", dir.path);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "/payload-0", H5P_DEFAULT);
    hid_t space = H5Dget_space(set), memory = H5Screate_simple(2, count, NULL);
    assert_true(file >= 0 && set >= 0 && space >= 0);
    assert_int_equal(H5Sget_simple_extent_ndims(space), 2);
    H5Sget_simple_extent_dims(space, dims, NULL);
    assert_true(dims[0] >= VALUES && dims[1] == WORDS);
    assert_true(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    assert_true(H5Dread(set, H5T_NATIVE_UINT64, memory, space, H5P_DEFAULT, words) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
}

static void test_segments_are_hdf5(void **state)
{
    struct content content;
    (void)state;
    open_store(TIC_STORE_CREATE);
    save_content(&content, 1);
    tic_store_close(&store);
    for (unsigned i = 0; i < VALUES; i++) {
        uint64_t words[WORDS] = {0};
        read_by_hdf5(content.saved[i].row.row, words);
        assert_memory_equal(words, content.words[i], sizeof(words));
    }
}

/* ---- commit --------------------------------------------------------------------------------- */

static void test_two_lines_are_kept(void **state)
{
    struct content contents[5];
    (void)state;
    open_store(TIC_STORE_CREATE);
    for (unsigned i = 0; i < 5; i++) {
        save_content(&contents[i], i);
        assert_int_equal(commit_content(&contents[i]), 0);
        sweep();
        check_content(&contents[i]);
        if (i > 0)
            check_content(&contents[i - 1]);
        assert_int_equal(store.kept[0].number, i + 1);
        assert_int_equal(store.kept_count, i > 0 ? 2 : 1);
        assert_int_equal(tic_tmpdir_count(&dir, "p0-line"), i > 0 ? 2 : 1);
    }
    assert_true(tic_tmpdir_has(&dir, "p0-line-00000004.h5"));
    assert_true(tic_tmpdir_has(&dir, "p0-line-00000005.h5"));
    tic_store_close(&store);
}

/* Three sets of rows are enough for ever: two lines and the next one. */
static void test_rows_are_used_again(void **state)
{
    struct content contents[3];
    (void)state;
    open_store(TIC_STORE_CREATE);
    for (unsigned i = 0; i < 60; i++) {
        save_content(&contents[i % 3], i);
        if (i > 1)
            check_content(&contents[(i - 2) % 3]);
        if (i > 0)
            check_content(&contents[(i - 1) % 3]);
        assert_int_equal(commit_content(&contents[i % 3]), 0);
        sweep();
    }
    struct tic_shape shape = tic_fake_vector(NULL, 8, WORDS).shape;
    assert_true(tic_rows_available(&store.rows, &shape) <= 3 * VALUES);
    assert_true(tic_tmpdir_count(&dir, "p0-segment") <= 3);
    tic_store_close(&store);
}

static int fail_encode(const struct tic_line *line, void **image, size_t *size)
{
    (void)line;
    (void)image;
    (void)size;
    return -EIO;
}

static int fail_format(const char *path, size_t header, struct tic_line_extent *extents,
                       size_t count)
{
    (void)header;
    (void)extents;
    (void)count;
    tic_tmpdir_store(&dir, strrchr(path, '/') + 1, "half", 4);
    return -ENOSPC;
}

static void test_failures_leave_what_was(void **state)
{
    const struct tic_h5_ops failing = {.segment_format = fail_format,
                                       .line_encode = fail_encode,
                                       .line_decode = tic_h5_ops.line_decode};
    struct content content, next;
    (void)state;
    open_store(TIC_STORE_CREATE);
    save_content(&content, 1);
    assert_int_equal(commit_content(&content), 0);
    save_content(&next, 2);
    store.h5 = &failing;
    assert_int_equal(commit_content(&next), -EIO);
    struct tic_demand demand = {{4, 1, {3, 1, 1, 1}, 0}, 5};
    assert_int_equal(tic_store_provide(&store, &demand, 1), -ENOSPC);
    store.h5 = &tic_h5_ops;
    assert_int_equal(store.kept_count, 1);
    assert_int_equal(tic_tmpdir_count(&dir, "p0-line"), 1);
    assert_int_equal(tic_tmpdir_count(&dir, "p0-segment"), 2);
    sweep();
    check_content(&content);
    save_content(&next, 3);
    assert_int_equal(commit_content(&next), 0);
    check_content(&content);
    assert_int_equal(store.kept_count, 2);
    tic_store_close(&store);
}

/* ---- walk and adopt ------------------------------------------------------------------------- */

struct visits {
    unsigned count;
    int status[8];
    uint64_t number[8]; /* of good lines */
    unsigned stop_after;
};

static bool note_visit(void *arg, const char *name, int status, struct tic_line *line)
{
    struct visits *visits = arg;
    assert_int_equal(strncmp(name, "p0-line-", 8), 0);
    visits->status[visits->count] = status;
    visits->number[visits->count++] = status ? 0 : line->number;
    return visits->count == visits->stop_after;
}

/* Writes `lines` lines, each with content of its own, and closes. */
static void write_lines(struct content *contents, unsigned lines)
{
    open_store(TIC_STORE_CREATE);
    for (unsigned i = 0; i < lines; i++) {
        save_content(&contents[i], i);
        assert_int_equal(commit_content(&contents[i]), 0);
        sweep();
    }
    tic_store_close(&store);
}

static void test_walk_is_newest_first(void **state)
{
    struct content contents[3];
    struct visits visits = {0}, first = {.stop_after = 1};
    (void)state;
    write_lines(contents, 3);
    tic_tmpdir_damage(&dir, "p0-line-00000003.h5", -20);
    tic_tmpdir_store(&dir, "p0-line-00000007.h5", "torn", 4);
    tic_tmpdir_store(&dir, "p0-line-8.h5", "not a name of ours", 4);
    tic_tmpdir_store(&dir, "p1-line-00000009.h5", "another process", 4);
    open_store(TIC_STORE_READ);
    assert_int_equal(tic_store_walk(&store, note_visit, &visits), 0);
    assert_int_equal(visits.count, 3);
    assert_int_equal(visits.status[0], -EBADMSG);
    assert_int_equal(visits.status[1], -EBADMSG);
    assert_int_equal(visits.status[2], 0);
    assert_int_equal(visits.number[2], 2);
    assert_int_equal(tic_store_walk(&store, note_visit, &first), 0);
    assert_int_equal(first.count, 1);
    assert_int_equal(store.next_line, 8);
    tic_store_close(&store);
}

struct pair {
    struct tic_line line, older;
};

static bool take_over(void *arg, const char *name, int status, struct tic_line *line)
{
    struct pair *pair = arg;
    (void)name;
    if (status)
        return false;
    *(pair->line.version ? &pair->older : &pair->line) = *line;
    memset(line, 0, sizeof(*line));
    return pair->older.version != NULL;
}

static void adopt(void)
{
    struct pair pair = {0};
    open_store(TIC_STORE_USE);
    assert_int_equal(tic_store_walk(&store, take_over, &pair), 0);
    assert_int_equal(tic_store_adopt(&store, &pair.line, &pair.older, 1), 0);
}

static void test_adopt_continues(void **state)
{
    struct content contents[4];
    (void)state;
    write_lines(contents, 3);
    adopt();
    assert_int_equal(store.kept[0].number, 3);
    assert_int_equal(store.kept_count, 2);
    assert_int_equal(store.kept[1].number, 2);
    check_content(&contents[2]);
    check_content(&contents[1]);
    save_content(&contents[3], 33);
    check_content(&contents[2]);
    assert_int_equal(commit_content(&contents[3]), 0);
    assert_int_equal(store.kept[0].number, 4);
    assert_int_equal(tic_store_check(&store, &store.kept[0]), 0);
    assert_int_equal(tic_store_check(&store, &store.kept[1]), 0);
    tic_store_close(&store);
}

static void test_damaged_newest_is_skipped(void **state)
{
    struct content contents[3];
    (void)state;
    write_lines(contents, 3);
    tic_tmpdir_damage(&dir, "p0-line-00000003.h5", 100);
    tic_tmpdir_damage(&dir, "p0-line-00000003.h5", -100);
    adopt();
    assert_int_equal(store.kept[0].number, 2);
    check_content(&contents[1]);
    assert_false(tic_tmpdir_has(&dir, "p0-line-00000003.h5"));
    assert_int_equal(store.next_line, 4); /* its number is not given to another line */
    tic_store_close(&store);
}

static void test_adopt_removes_what_nothing_refers_to(void **state)
{
    struct content contents[2];
    (void)state;
    write_lines(contents, 2);
    tic_tmpdir_store(&dir, "p0-line-00000009.h5.new", "x", 1);
    tic_tmpdir_store(&dir, "p0-segment-00000099.h5", "x", 1);
    tic_tmpdir_store(&dir, "p1-segment-00000099.h5", "x", 1);
    tic_tmpdir_store(&dir, "notes.txt", "x", 1);
    adopt();
    assert_false(tic_tmpdir_has(&dir, "p0-line-00000009.h5.new"));
    assert_false(tic_tmpdir_has(&dir, "p0-segment-00000099.h5"));
    assert_true(tic_tmpdir_has(&dir, "p1-segment-00000099.h5"));
    assert_true(tic_tmpdir_has(&dir, "notes.txt"));
    check_content(&contents[0]);
    check_content(&contents[1]);
    tic_store_close(&store);
}

/* After a restart, any number of saves leaves the rows of both kept lines alone. */
static void test_rows_of_kept_lines_are_never_reused(void **state)
{
    struct content contents[2], more[20];
    (void)state;
    write_lines(contents, 2);
    adopt();
    for (unsigned i = 0; i < TIC_COUNT(more); i++) {
        save_content(&more[i], 100 + i);
        check_content(&contents[0]);
        check_content(&contents[1]);
        if (i % 4 == 0)
            sweep();
    }
    for (unsigned i = 0; i < TIC_COUNT(more); i++)
        check_content(&more[i]); /* busy rows survive every sweep */
    tic_store_close(&store);
}

/* An older line whose table of extents is another one cannot be kept beside the newer. */
static void test_older_line_of_another_table_is_dropped(void **state)
{
    struct content contents[2];
    struct pair pair = {0};
    (void)state;
    write_lines(contents, 2);
    open_store(TIC_STORE_USE);
    assert_int_equal(tic_store_walk(&store, take_over, &pair), 0);
    pair.older.extents[0].offset += 4096;
    assert_int_equal(tic_store_adopt(&store, &pair.line, &pair.older, 1), 0);
    assert_int_equal(store.kept_count, 1);
    assert_int_equal(tic_tmpdir_count(&dir, "p0-line"), 1);
    check_content(&contents[1]);
    tic_store_close(&store);
}

static void test_adopt_without_a_segment_fails(void **state)
{
    struct content contents[1];
    struct pair pair = {0};
    char path[300];
    (void)state;
    write_lines(contents, 1);
    snprintf(path, sizeof(path), "%s/p0-segment-00000001.h5", dir.path);
    assert_int_equal(remove(path), 0);
    open_store(TIC_STORE_USE);
    assert_int_equal(tic_store_walk(&store, take_over, &pair), 0);
    assert_int_equal(tic_store_check(&store, &pair.line), -EBADMSG);
    assert_int_equal(tic_store_adopt(&store, &pair.line, &pair.older, 1), -ENOENT);
    tic_store_close(&store);
}

/* ---- clean and remove ----------------------------------------------------------------------- */

static void test_clean_and_remove(void **state)
{
    char path[300];
    struct content content;
    (void)state;
    snprintf(path, sizeof(path), "%s/run", dir.path);
    assert_int_equal(tic_store_open(&store, path, TIC_STORE_CREATE, false, &tic_h5_ops), 0);
    save_content(&content, 1);
    assert_int_equal(tic_store_clean(&store), 0);
    tic_store_close(&store);
    assert_int_equal(tic_store_open(&store, path, TIC_STORE_CREATE, false, &tic_h5_ops), 0);
    save_content(&content, 1);
    assert_int_equal(commit_content(&content), 0);
    tic_store_remove(&store);
    tic_store_close(&store);
    assert_false(tic_tmpdir_has(&dir, "run"));
}

static void test_remove_leaves_what_is_not_ours(void **state)
{
    struct content content;
    (void)state;
    open_store(TIC_STORE_CREATE);
    save_content(&content, 1);
    assert_int_equal(commit_content(&content), 0);
    tic_tmpdir_store(&dir, "notes.txt", "x", 1);
    tic_store_remove(&store);
    tic_store_close(&store);
    assert_int_equal(tic_tmpdir_count(&dir, ""), 1);
    assert_true(tic_tmpdir_has(&dir, "notes.txt"));
}

static int set_up(void **state)
{
    (void)state;
    tic_tmpdir_create(&dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tic_tmpdir_remove(&dir);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_listing_that_fails),
        TEST(test_open_modes),
        TEST(test_lock_refuses_a_second_run),
        TEST(test_open_while_another_run_ends),
        TEST(test_claim),
        TEST(test_reasons),
        TEST(test_values_come_back),
        TEST(test_provide_fills_the_shortage_only),
        TEST(test_damaged_payload),
        TEST(test_segments_are_hdf5),
        TEST(test_two_lines_are_kept),
        TEST(test_rows_are_used_again),
        TEST(test_failures_leave_what_was),
        TEST(test_walk_is_newest_first),
        TEST(test_adopt_continues),
        TEST(test_damaged_newest_is_skipped),
        TEST(test_adopt_removes_what_nothing_refers_to),
        TEST(test_rows_of_kept_lines_are_never_reused),
        TEST(test_older_line_of_another_table_is_dropped),
        TEST(test_adopt_without_a_segment_fails),
        TEST(test_clean_and_remove),
        TEST(test_remove_leaves_what_is_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
