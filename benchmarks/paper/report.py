# SPDX-License-Identifier: LGPL-2.1-or-later
"""The report, made from one run's results: doc/evaluation/papers.md."""
import textwrap

import machine

HEAD = """# The experiments of the papers

The figures of the papers that this project implements, measured again: the paper's numbers beside
ours where we know them, and what differs. Generated from one run by `benchmarks/paper/run`; its
plots (SVG) and every single measurement (CSV) are left in its folder, and
`benchmarks/paper/README.md` tells how to repeat it.

**The run**: %s

All times are wall times of whole processes, from their start to their end; runs of what is compared
take turns. Cells are medians (least to most). A ratio is taken run by run, between neighbours in
time. Differences within the spread mean nothing; on 2 processors that others use, too, the spread is
wide. All protected runs have `STARPU_TIC_VERIFY=0`, with which TIC saves the results of stolen tasks and SEL
uses its whole log, as in the papers; one task of Cholesky has a callback, which
the log cannot hold, so that SEL takes a recovery line every second, too.

**Papers**. *TIC/SEL*: S. Jafar, A. Krings, T. Gautier, Flexible Rollback Recovery in Dynamic
Heterogeneous Grid Computing, IEEE TDSC 6(1), 2009. *Macro-dataflow*: of it we know that it measures
knary with 75 to 1500 tasks as S1/S0 and S2/S0, and an overhead of 1 ms a task. *Lazy coordination*:
Y.-M. Wang, W. K. Fuchs, CRHC-92-27, 1992. *Intervals*: Young 1974, Gropp and Lusk 2004, Daly 2006,
and L. Fialho, PhD thesis, UAB 2011, which compares them. The points of the first two papers' figures
were not at hand when this was written: where a number of theirs is missing, it is not known to us,
and none is guessed.
"""


def wrapped(text):
    """Paragraphs of prose in lines of 110 characters; tables and heads as they are."""
    return "\n\n".join(part if part.startswith(("|", "#")) else
                       textwrap.fill(part, 110, break_long_words=False, break_on_hyphens=False)
                       for part in text.strip().split("\n\n"))


def write(results, sections):
    parts = [wrapped(HEAD % machine.tell(results))]
    for name, section in sections.items():
        parts.append("## " + section.TITLE)
        if results.failed(name):
            parts.append(wrapped("**This part failed**: " + results.failed(name)))
            continue
        seconds = results.one(name, "section", "", "seconds", 0)
        parts.append(wrapped(section.tell(results)))
        parts.append("(%d runs of each; %.0f s for this part.)" % (results.runs(name), seconds))
    return "\n\n".join(parts) + "\n"
