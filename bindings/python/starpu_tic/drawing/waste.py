# SPDX-License-Identifier: LGPL-2.1-or-later
"""The models of the checkpoint interval: expected waste against the period, in a page and as a picture of
its own. The numbers are those of plugin/tools/waste.c."""
import math

from .page import heights, key, line, text, ticks
from .scale import duration, step

#: Periods that people read at a glance, in seconds; then those that fill gaps between them.
MARKS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 86400, 864e3, 864e4, 864e5, 2e-3, 5e-3, 2e-2,
         5e-2, 0.2, 0.5, 2, 5, 20, 30, 120, 300, 1200, 1800, 7200, 18e3, 36e3, 172800, 432e3)


class Curves:
    def __init__(self, data):
        self.periods, self.period, self.models = data["periods"], data["period"], data["models"]
        best = [model["waste"] or 0 for model in self.models]
        given = [model["at_period"] or 0 for model in self.models]
        #: waste at the top: the best periods are well below it, the given one is in sight
        self.top = min(1, max(3 * max(best), 1.15 * max(given), 1e-4))

    def place(self, period):
        """From left to right, 0 to 1: by the logarithm."""
        first, last = self.periods[0], self.periods[-1]
        return math.log(period / first) / math.log(last / first)

    def marks(self, room):
        """Places and periods, so far from each other at least."""
        drawn = []
        for mark in MARKS:
            if self.periods[0] <= mark <= self.periods[-1] and all(
                    abs(self.place(mark) - place) >= room for place, _ in drawn):
                drawn.append((self.place(mark), mark))
        return sorted(drawn)

    def path(self, model, x_of, y_of, highest):
        """What is far above is out of sight, and short to write."""
        parts, is_open = [], False
        for i, waste in enumerate(model["wastes"]):
            if waste is not None:
                x, y = x_of(i / (len(model["wastes"]) - 1)), y_of(min(waste, highest))
                parts.append(f"{'L' if is_open else 'M'}{x:.1f} {y:.1f}")
            is_open = waste is not None
        return "".join(parts)


# ---- in a page ----

HEIGHT, BOX = 230, 1000


def _points(curves):
    for i, model in enumerate(curves.models):
        if model["waste"] is not None:
            yield f"point c{i}", model["period"], model["waste"], model["name"]
    if curves.period:
        waste = next(model["at_period"] for model in curves.models if model["name"] == "fialho-coordinated")
        if waste is not None and waste <= curves.top:
            yield "point run", curves.period, waste, "this run"


def _percent(waste):
    return "" if waste is None else f", {100 * waste:.3g} % waste"


def chart(data):
    curves = Curves(data)
    size = step(curves.top, 5)
    top = curves.top = min(1, math.ceil(curves.top / size - 1e-9) * size)
    labels, lines = heights(HEIGHT, top, size, lambda waste: f"{100 * waste:.3g} %")
    marks = curves.marks(0.08)
    grid = "".join(line("grid", 100 * place, 100 * place, 0, HEIGHT) for place, _ in marks)
    paths = "".join(
        f'<path class="s{i}" style="stroke-width:{4.5 - 0.8 * i:g}" vector-effect="non-scaling-stroke" d="'
        f'{curves.path(model, lambda share: BOX * share, lambda waste: BOX * (1 - waste / top), 1.5 * top)}"/>\n'
        for i, model in enumerate(curves.models))
    points = "".join(
        f'<span class="{style}" style="left:{100 * curves.place(period):.3f}%;'
        f'top:{HEIGHT * (1 - waste / top):.1f}px" title="{name}"></span>\n'
        for style, period, waste, name in _points(curves))
    items = [("bad", f"this run: {duration(curves.period)}"
              + _percent(curves.models[-2]["at_period"]))] if curves.period else []
    items += [(f"c{i}", f"{model['name']}: {duration(model['period'])}{_percent(model['waste'])}")
              for i, model in enumerate(curves.models)]
    return (f'<div class="plot interval">{labels}<div class="over"><svg height="{HEIGHT}" role="img" '
            f'aria-label="waste against the period">\n{lines}{grid}<svg width="100%" height="{HEIGHT}" '
            f'viewBox="0 0 {BOX} {BOX}" preserveAspectRatio="none" style="overflow:hidden">\n{paths}</svg></svg>\n'
            f"{points}</div>\n{ticks([(place, duration(mark)) for place, mark in marks])}"
            '<div class="axis">period: from checkpoint to checkpoint (logarithmic); up: share of the time that is '
            f"lost</div></div>\n{key(*items)}")


# ---- as a picture of its own ----

WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM, LEGEND, LEGEND_STEP, ROOM = 900, 470, 86, 625, 70, 405, 645, 48, 58

#: A style for each model: colors on light and dark pages that people tell apart who see no red, or no
#: green. Curves and points that lie on each other become smaller towards the last.
STYLES = (("#0072b2", "#56b4e9", "M-5-5H5V5H-5Z", 6, 1.9),
          ("#d55e00", "#f08c3c", "M0-7L7 0L0 7L-7 0Z", 4.5, 1.6),
          ("#007a5a", "#2fd0a5", "M0-7L6.5 5H-6.5Z", 3.3, 1.4),
          ("#b0378a", "#e58ac0", "M-6 0A6 6 0 1 0 6 0A6 6 0 1 0-6 0Z", 2.2, 1.1),
          ("#222222", "#f0f0f0", "M0 7L6.5-5H-6.5Z", 1.2, 0.7))

STYLE = """text{font:13px system-ui,sans-serif;fill:#1b1b1b}.small{font-size:12px;fill:#595959}
.title{font-size:16px;font-weight:600}.page{fill:#ffffff}.grid{stroke:#e3e3e3}.axis{stroke:#6b6b6b;fill:none}
.run{stroke:#6b6b6b;stroke-dasharray:5 4}.curve{fill:none}.point{stroke:#ffffff}
@media (prefers-color-scheme:dark){text{fill:#ececec}.small{fill:#b0b0b0}.page{fill:#17191d}.grid{stroke:#33363c}
.axis,.run{stroke:#9a9a9a}.point{stroke:#17191d}}
"""


def time_of(seconds):
    """Minutes and longer units only where they are short to say."""
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"))
    at = next((i for i in range(3) if seconds >= 2 * units[i][0] or seconds == units[i][0]), 3)
    while 3 <= at < 5 and seconds < units[at][0] * 0.9995:
        at += 1
    number = seconds / units[at][0]
    return f"{number:.3g} {units[at][1]}" if number < 1000 else f"{number:.0f} {units[at][1]}"


class Picture:
    def __init__(self, data):
        self.costs, self.curves = data["costs"], Curves(data)

    def _x(self, share):
        return LEFT + share * (RIGHT - LEFT)

    def _y(self, waste):
        return BOTTOM - waste / self.curves.top * (BOTTOM - TOP)

    def _head(self):
        styles = "".join(f".c{i}{{stroke:{light};stroke-width:{width}}}.p{i}{{fill:{light}}}"
                         f"@media (prefers-color-scheme:dark){{.c{i}{{stroke:{dark}}}.p{i}{{fill:{dark}}}}}\n"
                         for i, (light, dark, _, width, _) in enumerate(STYLES))
        title = "Expected waste against the checkpoint period"
        costs = [time_of(self.costs[name]) for name in ("tc", "tl", "mtbf", "work")]
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" '
                f'height="{HIGH}" role="img">\n<title>{title}</title>\n<style>{STYLE}{styles}</style>\n'
                f'<rect class="page" width="{WIDE}" height="{HIGH}"/>\n<clipPath id="area"><rect x="{LEFT}" '
                f'y="{TOP}" width="{RIGHT - LEFT}" height="{BOTTOM - TOP}"/></clipPath>\n<text class="title" x="{LEFT}" '
                f'y="28">{title}</text>\n<text class="small" x="{LEFT}" y="50">a checkpoint costs {costs[0]}, '
                f"loading {costs[1]}, MTBF {costs[2]}, work {costs[3]}</text>\n")

    def _axes(self):
        size = step(100 * self.curves.top, 6)
        digits = max(0, math.ceil(-math.log10(size) - 1e-9))
        for i in range(int(100 * self.curves.top / size * (1 + 1e-9)) + 1):
            y = self._y(i * size / 100)
            yield (f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}"/><text x="{LEFT - 8}" y="{y + 4.5:.1f}" '
                   f'text-anchor="end">{i * size:.{digits}f} %</text>\n')
        for place, period in self.curves.marks(ROOM / (RIGHT - LEFT)):
            x = self._x(place)
            yield (f'<path class="grid" d="M{x:.1f} {TOP}V{BOTTOM}"/><path class="axis" d="M{x:.1f} {BOTTOM}v5"/>'
                   f'<text x="{x:.1f}" y="{BOTTOM + 21}" text-anchor="middle">{time_of(period)}</text>\n')
        yield (f'<path class="axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/><text x="{(LEFT + RIGHT) // 2}" '
               f'y="{BOTTOM + 48}" text-anchor="middle">period: from checkpoint to checkpoint (logarithmic)</text>'
               f'<text transform="translate(20 {(TOP + BOTTOM) // 2}) rotate(-90)" text-anchor="middle">waste: '
               "share of the wall time</text>\n")

    def _legend(self, row, style, name, what):
        y = TOP + 14 + row * LEGEND_STEP
        return (f'<path class="{style}" d="M{LEGEND} {y}h36"/><text x="{LEGEND + 48}" y="{y + 4}">{name}</text>'
                f'<text class="small" x="{LEGEND + 48}" y="{y + 21}">{what}</text>\n')

    def _point(self, model, x, y):
        _, _, shape, _, size = STYLES[model]
        return f'<path class="point p{model}" transform="translate({x:.1f} {y:.1f}) scale({size})" d="{shape}"/>\n'

    def _choice(self, number, model):
        waste = model["waste"]
        held = f"{100 * waste:.3g} % waste" if waste is not None else "the model does not hold"
        drawn = self._legend(number, f"curve c{number}", text(model["name"]), f"{time_of(model['period'])}: {held}")
        drawn += self._point(number, LEGEND + 18, TOP + 14 + number * LEGEND_STEP)
        if waste is not None:
            drawn += self._point(number, self._x(self.curves.place(model["period"])), self._y(waste))
        return drawn

    def draw(self):
        curves, parts = self.curves, [self._head(), *self._axes()]
        if curves.period:
            x = self._x(curves.place(curves.period))
            parts.append(self._legend(len(curves.models), "run", "the given period", time_of(curves.period)))
            parts.append(f'<path class="run" d="M{x:.1f} {TOP}V{BOTTOM}"/>\n')
        for i, model in enumerate(curves.models):
            path = curves.path(model, self._x, self._y, 3 * curves.top)
            parts.append(f'<path class="curve c{i}" clip-path="url(#area)" d="{path}"/>\n')
        return "".join(parts + [self._choice(i, model) for i, model in enumerate(curves.models)]) + "</svg>\n"
