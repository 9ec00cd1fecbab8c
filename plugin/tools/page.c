/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tools/page.h"

/* ---- style ---------------------------------------------------------------------------------- */

static const char colors[] =
    ":root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#1c2026;--soft:#5b6470;"
    "--line:#dfe3e8;--lane:#eef0f3;--bad:#c8283c;--wait:#b26a00;--mark:#2468c8;--ok:#1b7f4b;"
    "--c0:#4477aa;--c1:#e0853a;--c2:#3a9d77;--c3:#b8578e;--c4:#8a7bc8;--c5:#a58a00;--c6:#4aa3c7;"
    "--c7:#8c5a3c;--c8:#8a929c}\n"
    "@media(prefers-color-scheme:dark){:root{--page:#14171b;--card:#1c2026;--ink:#e7eaee;"
    "--soft:#9da6b2;--line:#363c45;--lane:#262b32;--bad:#ff6f7d;--wait:#f0b04a;--mark:#7db1ff;"
    "--ok:#5fd09a;--c0:#6f9fd0;--c1:#f0a060;--c2:#5cc49a;--c3:#dc86b6;--c4:#ada0ee;--c5:#cdb53c;"
    "--c6:#74c6e6;--c7:#c08c6a;--c8:#a4acb6}}\n";

static const char layout[] =
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"
    "'Segoe UI','DejaVu Sans',sans-serif}"
    "main{max-width:1320px;margin:0 auto;padding:24px 20px 40px}"
    "h1{font-size:25px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}"
    "h2{font-size:17px;margin:0}p{margin:4px 0}.soft{color:var(--soft)}"
    "section{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:16px 18px 18px;margin-top:16px}section>p.soft{margin:2px 0 12px;max-width:75em}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;"
    "margin-top:16px}.tile{background:var(--card);border:1px solid var(--line);"
    "border-radius:10px;padding:10px 14px}.tile "
    "b{display:block;white-space:nowrap;font-size:21px;line-height:1.3;"
    "font-weight:600;font-variant-numeric:tabular-nums}.tile span{color:var(--soft);"
    "font-size:13px}\n"
    "footer{color:var(--soft);font-size:13px;margin-top:18px}code{font-size:13px;"
    "overflow-wrap:anywhere}\n";

static const char pictures[] =
    ".plot{display:grid;grid-template-columns:86px minmax(0,1fr);column-gap:10px;font-size:13px}"
    ".plot svg{display:block;width:100%;overflow:visible}.names div,.heights div{color:var(--soft);"
    "text-align:right;white-space:nowrap;line-height:1}.heights{position:relative}"
    ".heights div{position:absolute;right:0;transform:translateY(-50%)}"
    ".ticks{position:relative;height:20px;grid-column:2;color:var(--soft);margin-top:5px}"
    ".ticks span{position:absolute;transform:translateX(-50%);white-space:nowrap}"
    ".ticks span.first{transform:none}.ticks span.last{transform:translateX(-100%)}"
    ".axis{grid-column:2;text-align:center;color:var(--soft)}"
    ".over{position:relative;min-width:0}.notes{position:relative;height:18px;grid-column:2;"
    "font-size:12px}.notes span{position:absolute;transform:translateX(-50%);white-space:nowrap;"
    "color:var(--bad);line-height:18px}.notes em{font-style:normal}.notes "
    "span.last{transform:translateX(-100%)}"
    ".point{position:absolute;width:12px;height:12px;margin:-6px 0 0 -6px;border-radius:50%;"
    "border:2px solid var(--card)}.grid{stroke:var(--line)}.edge{stroke:var(--soft)}"
    ".lane{fill:var(--lane)}.stall{fill:var(--bad)}.death{stroke:var(--bad);stroke-width:2}"
    ".begin{stroke:var(--ok);stroke-width:1.5}.down{fill:var(--bad);opacity:.13}"
    ".again{fill:url(#hatch)}.commit{fill:var(--mark)}.lost{opacity:.38}.theft{fill:var(--ink)}"
    ".seam{stroke:var(--card);stroke-width:.6}\n";

static const char lists[] =
    ".key{display:flex;flex-wrap:wrap;gap:4px 18px;margin:12px 0 0;padding:0;list-style:none;"
    "font-size:13px}.key i{display:inline-block;width:13px;height:13px;border-radius:3px;"
    "margin-right:6px;vertical-align:-2px}.key .lost{border:1px dashed var(--ink)}"
    ".bars{display:grid;grid-template-columns:minmax(110px,max-content) minmax(0,1fr) "
    "minmax(0,max-content);gap:7px 12px;align-items:center;font-size:14px}"
    ".bars .bar{display:flex;height:16px;border-radius:3px;overflow:hidden}.bar i{display:block;"
    "height:100%;min-width:1px}.bars .value{font-variant-numeric:tabular-nums}"
    "table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}"
    "th{text-align:left;color:var(--soft);font-weight:500}td,th{padding:4px 14px 4px 0;"
    "border-bottom:1px solid var(--line);vertical-align:top}tr:last-child td{border:0}"
    ".scroll{overflow-x:auto}td.n,th.n{text-align:right;white-space:nowrap}"
    "td.text{overflow-wrap:anywhere}.bad{color:var(--bad)}.ok{color:var(--ok)}\n"
    "@media(max-width:640px){main{padding:16px 10px 28px}section{padding:12px 12px 14px}"
    "h1{font-size:20px}.plot{grid-template-columns:76px "
    "minmax(0,1fr);column-gap:6px;font-size:12px}.names{font-size:11px}"
    ".ticks .odd{display:none}.notes em{display:none}.notes span.last{transform:translateX(-50%)}"
    ".tiles{grid-template-columns:1fr 1fr}"
    ".bars{grid-template-columns:minmax(0,max-content) minmax(0,1fr)}.bars .value{grid-column:1/3;"
    "margin-bottom:6px}td,th{padding-right:9px}}\n";

static void print_style(FILE *out)
{
    fputs("<style>\n", out);
    fputs(colors, out);
    fputs(layout, out);
    fputs(pictures, out);
    fputs(lists, out);
    for (int i = 0; i <= TIC_PAGE_COLORS; i++)
        fprintf(out,
                ".c%d{fill:var(--c%d)}i.c%d,.point.c%d{background:var(--c%d)}"
                ".s%d{stroke:var(--c%d);fill:none}\n",
                i, i, i, i, i, i, i);
    fputs("i.bad{background:var(--bad)}i.wait{background:var(--wait)}i.mark{background:var(--mark)}"
          "i.ok{background:var(--ok)}i.down{opacity:1;background:var(--soft)}"
          "i.ink{background:var(--ink)}</style>\n",
          out);
}

/* ---- parts ---------------------------------------------------------------------------------- */

void tic_page_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    tic_page_text(out, title);
    fputs("</title>\n", out);
    print_style(out);
    fputs("</head>\n<body>\n<svg width=\"0\" height=\"0\" style=\"position:absolute\" "
          "aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" "
          "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" "
          "style=\"stroke:var(--ok);stroke-width:3;opacity:.35\"/></pattern></defs></svg>\n"
          "<main>\n",
          out);
}

void tic_page_end(FILE *out)
{
    fputs("</main>\n</body>\n</html>\n", out);
}

/* Bytes of the character, as the first one tells; 0: it is none. */
static unsigned bytes_of(const unsigned char *text)
{
    unsigned bytes = *text < 0x80   ? 1
                     : *text < 0xc2 ? 0
                     : *text < 0xe0 ? 2
                     : *text < 0xf0 ? 3
                     : *text < 0xf5 ? 4
                                    : 0;

    for (unsigned i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return *text < ' ' && *text != '\n' && *text != '\t' ? 0 : bytes;
}

void tic_page_text(FILE *out, const char *text)
{
    while (*text) {
        unsigned bytes = bytes_of((const unsigned char *)text);
        if (bytes == 0)
            fputc('?', out);
        else if (*text == '<' || *text == '>' || *text == '&' || *text == '"')
            fprintf(out, "&#%d;", *text);
        else
            fwrite(text, 1, bytes, out);
        text += bytes > 0 ? bytes : 1;
    }
}

void tic_page_section(FILE *out, const char *title, const char *what)
{
    fprintf(out, "<section>\n<h2>%s</h2>\n<p class=\"soft\">%s</p>\n", title, what);
}

void tic_page_section_end(FILE *out)
{
    fputs("</section>\n", out);
}

void tic_page_tile(FILE *out, const char *number, const char *what)
{
    fputs("<div class=\"tile\"><b>", out);
    tic_page_text(out, number);
    fputs("</b><span>", out);
    tic_page_text(out, what);
    fputs("</span></div>\n", out);
}

void tic_page_tick(FILE *out, double place, const char *text, unsigned index)
{
    const char *side = place < 0.02 ? " first" : place > 0.985 ? " last" : "";

    fprintf(out, "<span class=\"%s%s\" style=\"left:%.3f%%\">%s</span>", index % 2 ? "odd" : "even",
            side, 100 * place, text);
}
