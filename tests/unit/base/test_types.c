/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks that types of elements are what their names say, that the other byte order is made by them
 * and by nothing else, and which rule of STARPU_TIC_TYPES counts. */
#include "base/types.h"

#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/type_rules.h"
#include "lib/testing.h"

static uint64_t find(const char *name)
{
    return tic_type_find(name, strlen(name));
}

static void test_names(void **state)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } types[] = {{"double", 8},         {"float", 4},           {"int8", 1},   {"uint16", 2},
                 {"int32,2*float", 12}, {"complex-double", 16}, {"3*char", 3}, {"bool,7*int8", 8}};
    static const char *const none[] = {
        "",     "long",  "pointer", "int32,",      ",int32", "0*int",
        "*int", "2int*", "doubles", "long double", "int 32", "sparse:5*uint32,2*uint64"};
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(types); i++) {
        uint64_t type = find(types[i].name);
        assert_int_not_equal(type, TIC_TYPE_UNKNOWN);
        assert_int_equal(tic_type_bytes(type), types[i].bytes);
        assert_string_equal(tic_type_name(type), types[i].name);
        assert_int_equal(find(types[i].name), type);
    }
    for (size_t i = 0; i < TIC_COUNT(none); i++)
        assert_int_equal(find(none[i]), TIC_TYPE_UNKNOWN);
    assert_int_equal(tic_type_bytes(TIC_TYPE_UNKNOWN), 0);
    assert_string_equal(tic_type_name(TIC_TYPE_UNKNOWN), "");
}

static void expect_swapped(const char *type, const char *from, const char *to)
{
    char bytes[32];
    size_t size = strlen(from);

    memcpy(bytes, from, size);
    tic_type_swap(find(type), bytes, size);
    assert_memory_equal(bytes, to, size);
    tic_type_swap(find(type), bytes, size);
    assert_memory_equal(bytes, from, size);
}

static void test_swap(void **state)
{
    (void)state;
    expect_swapped("double", "abcdefghABCDEFGH", "hgfedcbaHGFEDCBA");
    expect_swapped("2*float", "abcdefghABCDEFGH", "dcbahgfeDCBAHGFE");
    expect_swapped("4*int16", "abcdefgh", "badcfehg");
    expect_swapped("char", "abcdefgh", "abcdefgh");
    expect_swapped("int8,3*char,int32,double", "abcdEFGHijklmnop", "abcdHGFEponmlkji");
}

static void test_what_fits(void **state)
{
    struct tic_shape shape = {8, 1, {3, 1, 1, 1}, 0};
    (void)state;
    assert_true(tic_type_fits(find("double"), &shape));
    assert_true(tic_type_fits(find("float"), &shape));
    assert_false(tic_type_fits(find("int32,2*float"), &shape));
    assert_false(tic_type_fits(find("complex-double"), &shape));
    assert_false(tic_type_fits(TIC_TYPE_UNKNOWN, &shape));
    shape = (struct tic_shape){1, 1, {24, 1, 1, 1}, 0}; /* as an interface packs it */
    assert_true(tic_type_fits(find("int32,2*float"), &shape));
    assert_false(tic_type_fits(find("complex-double"), &shape));
}

static void test_sparse(void **state)
{
    (void)state;
    uint64_t type = tic_type_sparse(5, find("double"), 16);
    assert_int_equal(tic_type_bytes(type), 36);
    assert_string_equal(tic_type_name(type), "sparse:5*uint32,2*uint64");
    assert_int_equal(tic_type_sparse(5, type, 16), type); /* as a restart knows it */
    assert_string_equal(tic_type_name(tic_type_sparse(5, find("complex-double"), 32)),
                        "sparse:5*uint32,4*uint64");
    const char *name = tic_type_name(type);
    assert_int_equal(tic_type_find_stored(name, strlen(name)), type);
    assert_int_equal(tic_type_sparse(5, find("int32,int16"), 12), TIC_TYPE_UNKNOWN);
    assert_int_equal(tic_type_sparse(5, TIC_TYPE_UNKNOWN, 16), TIC_TYPE_UNKNOWN);
    assert_int_equal(tic_type_sparse(5, find("double"), 12), TIC_TYPE_UNKNOWN);
}

static void test_rules(void **state)
{
    static const char *const bad[] = {"double",     "8=",       "=double",  "8=long",
                                      "12=double",  "0=double", "#x=int",   "#=int",
                                      "8=double;9", ".1=int",   ":args=int"};
    (void)state;
    for (size_t i = 0; i < TIC_COUNT(bad); i++)
        if (tic_type_rules_are_valid(bad[i]))
            fail_msg("%s is no rule", bad[i]);
    assert_true(tic_type_rules_are_valid(""));
    assert_true(tic_type_rules_set("8=double;#3=2*float;gemm=int64;gemm.2=4*int16;a.b=float;"
                                   "node:args=int,int"));
    assert_int_equal(tic_type_rule_of_size(8), find("double"));
    assert_int_equal(tic_type_rule_of_size(4), TIC_TYPE_UNKNOWN);
    assert_int_equal(tic_type_rule_of_id(3), find("2*float"));
    assert_int_equal(tic_type_rule_of_id(4), TIC_TYPE_UNKNOWN);
    assert_int_equal(tic_type_rule_of_codelet("gemm", 0), find("int64"));
    assert_int_equal(tic_type_rule_of_codelet("gemm", 2), find("4*int16"));
    assert_int_equal(tic_type_rule_of_codelet("a.b", 1), find("float"));
    assert_int_equal(tic_type_rule_of_codelet("node", 0), TIC_TYPE_UNKNOWN);
    assert_int_equal(tic_type_rule_of_arguments("node"), find("int,int"));
    assert_int_equal(tic_type_rule_of_arguments("gemm"), TIC_TYPE_UNKNOWN);
    assert_true(tic_type_rules_name_codelets());
    assert_true(tic_type_rules_set(""));
    assert_false(tic_type_rules_name_codelets());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),     cmocka_unit_test(test_swap),
        cmocka_unit_test(test_what_fits), cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
