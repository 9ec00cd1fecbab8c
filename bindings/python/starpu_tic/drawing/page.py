# SPDX-License-Identifier: LGPL-2.1-or-later
"""The HTML of a report: head, style, text, and axes. Labels are HTML and marks are SVG whose places are
percentages, so that text stays readable at any width."""
import re

COLORS = 8  # classes c0 to c7 of fills; c8: others

_VARIABLES = """:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#1c2026;--soft:#5b6470;
--line:#dfe3e8;--lane:#eef0f3;--bad:#c8283c;--wait:#b26a00;--mark:#2468c8;--ok:#1b7f4b;
--c0:#4477aa;--c1:#e0853a;--c2:#3a9d77;--c3:#b8578e;--c4:#8a7bc8;
--c5:#a58a00;--c6:#4aa3c7;--c7:#8c5a3c;--c8:#8a929c}
@media(prefers-color-scheme:dark){:root{--page:#14171b;--card:#1c2026;--ink:#e7eaee;--soft:#9da6b2;
--line:#363c45;--lane:#262b32;--bad:#ff6f7d;--wait:#f0b04a;--mark:#7db1ff;--ok:#5fd09a;--c0:#6f9fd0;--c1:#f0a060;
--c2:#5cc49a;--c3:#dc86b6;--c4:#ada0ee;--c5:#cdb53c;--c6:#74c6e6;--c7:#c08c6a;--c8:#a4acb6}}
"""

_LAYOUT = """*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}
main{max-width:1320px;margin:0 auto;padding:24px 20px 40px}
h1{font-size:25px;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:17px;margin:0}p{margin:4px 0}.soft{color:var(--soft)}
.story{font-size:16px;max-width:65em;margin:10px 0}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:16px 18px 18px;margin-top:16px}
section>p.soft{margin:2px 0 12px;max-width:75em}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin-top:16px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px 14px}
.tile b{display:block;white-space:nowrap;font-size:21px;line-height:1.3;font-weight:600;
font-variant-numeric:tabular-nums}.tile span{color:var(--soft);font-size:13px}
footer{color:var(--soft);font-size:13px;margin-top:18px}code{font-size:13px;overflow-wrap:anywhere}
"""

_PICTURES = """.plot{display:grid;grid-template-columns:86px minmax(0,1fr);column-gap:10px;font-size:13px}
.plot svg{display:block;width:100%;overflow:visible}
.names div,.heights div{color:var(--soft);text-align:right;white-space:nowrap;line-height:1}
.heights{position:relative}.heights div{position:absolute;right:0;transform:translateY(-50%)}
.ticks{position:relative;height:20px;grid-column:2;color:var(--soft);margin-top:5px}
.ticks span{position:absolute;transform:translateX(-50%);white-space:nowrap}
.ticks span.first{transform:none}.ticks span.last{transform:translateX(-100%)}
.axis{grid-column:2;text-align:center;color:var(--soft)}.over{position:relative;min-width:0}
.notes{position:relative;height:18px;grid-column:2;font-size:12px}.notes em{font-style:normal}
.notes span{position:absolute;transform:translateX(-50%);white-space:nowrap;color:var(--bad);line-height:18px}
.notes span.last{transform:translateX(-100%)}
.point{position:absolute;width:12px;height:12px;margin:-6px 0 0 -6px;border-radius:50%;
border:2px solid var(--card)}
.point.run{width:16px;height:16px;margin:-8px 0 0 -8px;background:var(--bad)}
.grid{stroke:var(--line)}.edge{stroke:var(--soft)}.lane{fill:var(--lane)}.stall{fill:var(--bad)}
.death{stroke:var(--bad);stroke-width:2}.down{fill:var(--bad);opacity:.13}.again{fill:url(#hatch)}
.commit{fill:var(--mark)}.lost{opacity:.38}.theft{fill:var(--ink)}.seam{stroke:var(--card);stroke-width:.6}
.hold{fill:var(--wait)}.across{stroke:var(--mark);opacity:.55}
"""

_LISTS = """.key{display:flex;flex-wrap:wrap;gap:4px 18px;margin:12px 0 0;padding:0;list-style:none;font-size:13px}
.key i{display:inline-block;width:13px;height:13px;border-radius:3px;margin-right:6px;vertical-align:-2px}
.key .lost{border:1px dashed var(--ink)}.key .idle{background:var(--lane);border:1px solid var(--line)}
.key .fatal{width:3px;background:var(--bad)}
.key .gap{background:var(--bad);opacity:.25}.key .again{background:repeating-linear-gradient(135deg,
transparent 0 3px,var(--ok) 3px 5px);opacity:.7}
.bars{display:grid;grid-template-columns:minmax(110px,max-content) minmax(0,1fr) minmax(0,max-content);
gap:7px 12px;align-items:center;font-size:14px}
.bars .bar{display:flex;height:16px;border-radius:3px;overflow:hidden}
.bar i{display:block;height:100%;min-width:1px}.bars .value{font-variant-numeric:tabular-nums}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th{text-align:left;color:var(--soft);font-weight:500}tr:last-child td{border:0}
td,th{padding:4px 14px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}
.scroll{overflow-x:auto}td.n,th.n{text-align:right}td.n,th.n,td.when{white-space:nowrap}
td.text{overflow-wrap:anywhere}.bad{color:var(--bad)}.ok{color:var(--ok)}
i.bad{background:var(--bad)}i.wait{background:var(--wait)}i.mark{background:var(--mark)}
i.ok{background:var(--ok)}i.down{opacity:1;background:var(--soft)}i.ink{background:var(--ink)}
@media(max-width:640px){main{padding:16px 10px 28px}section{padding:12px 12px 14px}h1{font-size:20px}
.plot{grid-template-columns:76px minmax(0,1fr);column-gap:6px;font-size:12px}.names{font-size:11px}
.ticks .odd{display:none}.notes em{display:none}.notes span.last{transform:translateX(-50%)}
.tiles{grid-template-columns:1fr 1fr}.bars{grid-template-columns:minmax(0,max-content) minmax(0,1fr)}
.bars .value{grid-column:1/3;margin-bottom:6px}td,th{padding-right:9px}}
"""

_HATCH = """<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs><pattern id="hatch"
width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6"
style="stroke:var(--ok);stroke-width:3;opacity:.35"/></pattern></defs></svg>
"""


def text(content):
    """Escaped."""
    content = re.sub(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "?", str(content))
    return re.sub(r'[<>&"]', lambda found: f"&#{ord(found[0])};", content)


def page(title, parts):
    colors = "".join(f".c{i}{{fill:var(--c{i})}}i.c{i},.point.c{i}{{background:var(--c{i})}}"
                     f".s{i}{{stroke:var(--c{i});fill:none}}\n" for i in range(COLORS + 1))
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
            f'content="width=device-width, initial-scale=1">\n<title>{text(title)}</title>\n<style>\n'
            f"{_VARIABLES}{_LAYOUT}{_PICTURES}{_LISTS}{colors}</style>\n</head>\n<body>\n{_HATCH}<main>\n"
            f"{''.join(parts)}</main>\n</body>\n</html>\n")


def section(title, what, body=""):
    return f'<section>\n<h2>{title}</h2>\n<p class="soft">{what}</p>\n{body}</section>\n'


def tile(number, what):
    """A number in large type with what it is."""
    return f'<div class="tile"><b>{text(number)}</b><span>{text(what)}</span></div>\n'


def key(*items):
    """A legend: pairs of classes and texts."""
    return '<ul class="key">' + "".join(f'<li><i class="{style}"></i>{text(what)}</li>'
                                        for style, what in items) + "</ul>\n"


def table(style, heads, rows):
    """heads: pairs of classes and texts; rows: lists of such pairs, in HTML."""
    lines = ["".join(f'<th{attribute(kind)}>{what}</th>' for kind, what in heads)]
    lines += ["".join(f'<td{attribute(kind)}>{what}</td>' for kind, what in row) for row in rows]
    return (f'<div class="scroll"><table{attribute(style)}>'
            + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table></div>\n")


def attribute(style):
    return f' class="{style}"' if style else ""


def ticks(places):
    """Marks on the axis below: pairs of 0 to 1 and texts. Narrow pages show every other one."""
    def mark(index, place, what):
        style = "odd" if index % 2 else "even"
        style += " first" if place < 0.02 else " last" if place > 0.985 else ""
        return f'<span class="{style}" style="left:{100 * place:.3f}%">{what}</span>'

    return '<div class="ticks">' + "".join(mark(i, *place) for i, place in enumerate(places)) + "</div>\n"


def line(style, left, right, top, bottom):
    """Of a picture; left and right in percent."""
    return f'<line class="{style}" x1="{left:.3f}%" x2="{right:.3f}%" y1="{top}" y2="{bottom}"/>\n'


def heights(height, top, size, label):
    """The axis at the left, and its lines: marks at 0, size, 2 size ... up to top."""
    values = [(i * size, height * (1 - i * size / top)) for i in range(int(top / size * 1.0001) + 1)]
    labels = "".join(f'<div style="top:{y:.1f}px">{label(value)}</div>' for value, y in values)
    lines = "".join(line("grid" if value else "edge", 0, 100, f"{y:.1f}", f"{y:.1f}") for value, y in values)
    return f'<div class="heights" style="height:{height}px">{labels}</div>\n', lines
