/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a random program may use, by the words of `with` and `without`. */
#ifndef TIC_TESTS_FUZZ_FEATURES_H
#define TIC_TESTS_FUZZ_FEATURES_H

#define FLOW_FEATURES(F)                                                                           \
    F(COMMUTE, "commute")                                                                          \
    F(REDUX, "redux")                                                                              \
    F(SCRATCH, "scratch")                                                                          \
    F(HOMELESS, "homeless")                                                                        \
    F(VOID, "void")                                                                                \
    F(PARTITION, "partition")                                                                      \
    F(PLAN, "plan")                                                                                \
    F(EXPLICIT, "explicit")                                                                        \
    F(ALIAS, "alias")                                                                              \
    F(UNREGISTER, "unregister")                                                                    \
    F(UNREGISTER_SUBMIT, "unregister-submit")                                                      \
    F(INVALIDATE, "invalidate")                                                                    \
    F(COPY, "copy")                                                                                \
    F(WONT_USE, "wont-use")                                                                        \
    F(ACQUIRE, "acquire")                                                                          \
    F(DECIDE, "decide")                                                                            \
    F(TRY, "try")                                                                                  \
    F(ACQUIRE_CB, "acquire-cb")                                                                    \
    F(CALLBACK, "callback")                                                                        \
    F(CHILDREN, "children")                                                                        \
    F(THREAD, "thread")                                                                            \
    F(BARE, "bare")                                                                                \
    F(READER, "reader")                                                                            \
    F(TAG, "tag")                                                                                  \
    F(DEPENDENCIES, "dependencies")                                                                \
    F(END_DEPENDENCIES, "end-dependencies")                                                        \
    F(BUNDLE, "bundle")                                                                            \
    F(PROLOGUE, "prologue")                                                                        \
    F(SYNCHRONOUS, "synchronous")                                                                  \
    F(WAIT, "wait")                                                                                \
    F(RESUBMIT, "resubmit")                                                                        \
    F(LARGE, "large")                                                                              \
    F(NOWHERE, "nowhere")                                                                          \
    F(HOLD, "hold")                                                                                \
    F(PAUSE, "pause")                                                                              \
    F(RESTART, "restart")                                                                          \
    F(RAW, "raw")                                                                                  \
    F(BETWEEN, "between")                                                                          \
    F(SUM_FIRST, "sum-first")                                                                      \
    F(UNDECLARED, "undeclared")                                                                    \
    F(MEDDLE, "meddle")                                                                            \
    F(FRESH, "fresh")                                                                              \
    F(ASK, "ask")                                                                                  \
    F(CLEAR, "clear")                                                                              \
    F(CALLBACK_WRITES, "callback-writes")                                                          \
    F(EXCLUDE, "exclude")                                                                          \
    F(LOOK, "look")                                                                                \
    F(HEAR, "hear")

enum flow_feature {
#define FLOW_NUMBER(name, word) FLOW_##name,
    FLOW_FEATURES(FLOW_NUMBER)
#undef FLOW_NUMBER
        FLOW_FEATURE_COUNT
};

#endif
