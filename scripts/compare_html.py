"""The page that compare.py writes: one file, plots as inline SVG, no scripts."""

import html
import math

COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf",
           "#7f7f7f"]
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 460, 270, 52, 34, 12, 12

STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1440px;padding:0 1em;color:#222}
h2{margin-top:1.6em}.plots{display:flex;flex-wrap:wrap;gap:12px}figure{margin:0}
figcaption{font-weight:600;margin:.3em 0 0 3.5em}svg text{font:11px system-ui,sans-serif;fill:#444}
table{border-collapse:collapse}td,th{padding:1px 9px;text-align:right;font-variant-numeric:tabular-nums}
th{border-bottom:1px solid #888}td:first-child,th:first-child,td.l{text-align:left}
tr.bad td{background:#fdd}.legend span{margin-right:1.2em;white-space:nowrap}
.legend i{display:inline-block;width:1.4em;height:3px;vertical-align:middle;margin-right:.35em}
"""


def size_name(size):
    for shift, unit in ((20, "M"), (10, "K")):
        if size >= 1 << shift:
            return f"{size / (1 << shift):g}{unit}"
    return str(size)


def number(value):
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def plot(title, series, unit, line=None):
    """series: [(colour, dashed, [(x, y)])]; both axes logarithmic, x in bytes."""
    points = [p for _, _, ps in series for p in ps if p[1] > 0]
    if not points:
        return ""
    xs = sorted({x for x, _ in points})
    low, high = min(y for _, y in points), max(y for _, y in points)
    if line:
        low, high = min(low, line), max(high, line)
    low, high = math.log10(low) - 0.05, math.log10(high) + 0.05
    left, right = math.log2(xs[0]), max(math.log2(xs[-1]), math.log2(xs[0]) + 1)
    px = lambda x: LEFT + (math.log2(x) - left) / (right - left) * (WIDTH - LEFT - RIGHT)
    py = lambda y: HEIGHT - BOTTOM - (math.log10(y) - low) / (high - low) * (HEIGHT - BOTTOM - TOP)
    out = [f'<figure><figcaption>{html.escape(title)}</figcaption>'
           f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{html.escape(title)}">']
    steps = [10.0 ** e * m for e in range(math.floor(low), math.ceil(high) + 1)
             for m in ((1, 2, 5) if high - low < 2.2 else (1,))]
    for y in steps:
        if low <= math.log10(y) <= high:
            out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py(y):.1f}" y2="{py(y):.1f}" stroke="#e4e4e4"/>'
                       f'<text x="{LEFT - 5}" y="{py(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in xs:
        out.append(f'<line x1="{px(x):.1f}" x2="{px(x):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#f2f2f2"/>'
                   f'<text x="{px(x):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{size_name(x)}</text>')
    if line:
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py(line):.1f}" y2="{py(line):.1f}" stroke="#444" '
                   'stroke-width="1.3"/>')
    for colour, dashed, ps in series:
        ps = [p for p in sorted(ps) if p[1] > 0]
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in ps)
        dash = ' stroke-dasharray="5 3"' if dashed else ""
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.7"{dash}/>')
        out += [f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="2.3" fill="{colour}"><title>{size_name(x)}: '
                f'{number(y)}{unit}</title></circle>' for x, y in ps]
    out.append("</svg></figure>")
    return "".join(out)


def legend(entries):
    return '<p class="legend">' + "".join(
        f'<span><i style="background:{c}"></i>{html.escape(name)}</span>' for name, c in entries) + "</p>"


def page(about, lines, notes, cells):
    ops = list(dict.fromkeys(c["op"] for c in cells))
    ranks = sorted({c["ranks"] for c in cells})
    modes = list(dict.fromkeys(c["mode"] for c in cells))
    colour = {op: COLOURS[i % len(COLOURS)] for i, op in enumerate(ops)}
    select = lambda **want: [c for c in cells if c["bytes"] > 0 and all(c[k] == v for k, v in want.items())]
    body = ["<h1>hcclrun beside MPI</h1><table>"]
    for key, value in about.items():
        body.append(f'<tr><td>{html.escape(key)}</td><td class="l">{html.escape(str(value))}</td></tr>')
    body.append("</table><h2>Summary</h2><table><tr><th>mode<th>ranks<th>cells<th>geometric mean of peer / hcclrun"
                "<th>smallest<th>where<th>losing</tr>")
    for s in lines:
        body.append(f'<tr><td>{s["mode"]}<td>{s["ranks"]}<td>{s["cells"]}<td>{s["geometric_mean"]:.2f}'
                    f'<td>{s["smallest"]:.2f}<td>{s["smallest_cell"]}<td>{s["losing"]}</tr>')
    body.append("</table>")
    body += [f"<p>{html.escape(note)}</p>" for note in notes]

    def family(title, key, unit, line):
        for mode in modes:
            plots = []
            for n in ranks:
                series = [(colour[op], False, [(c["bytes"], c[key]) for c in select(op=op, ranks=n, mode=mode)
                                               if key in c]) for op in ops]
                plots.append(plot(f"{n} ranks, {mode}", [s for s in series if s[2]], unit, line))
            if any(plots):
                body.append(f"<h2>{title} ({mode})</h2>" + legend(colour.items()) +
                            '<div class="plots">' + "".join(plots) + "</div>")

    family("Best peer's time / hcclrun's time", "ratio", "x", 1)
    family("Fraction of the limit", "of_limit", "", 1)
    for mode in modes:
        body.append(f"<h2>Time of one operation in us ({mode})</h2>" + legend(
            [("hcclrun", COLOURS[0]), ("best peer", COLOURS[1]), ("limit", COLOURS[8])]))
        for op in ops:
            plots = []
            for n in ranks:
                chosen = select(op=op, ranks=n, mode=mode)
                series = [(COLOURS[0], False, [(c["bytes"], c["us"]) for c in chosen]),
                          (COLOURS[1], False, [(c["bytes"], c["peer_us"]) for c in chosen if "peer_us" in c]),
                          (COLOURS[8], True, [(c["bytes"], c["limit_us"]) for c in chosen if "limit_us" in c])]
                plots.append(plot(f"{op}, {n} ranks", [s for s in series if s[2]], " us"))
            if any(plots):
                body.append('<div class="plots">' + "".join(plots) + "</div>")

    body.append("<h2>All cells</h2><table><tr><th>operation<th>ranks<th>size<th>mode<th>us<th>min<th>max<th>peer us"
                "<th>peer / hcclrun<th>limit us<th>of limit<th>peer</tr>")
    for c in cells:
        bad = ' class="bad"' if c.get("loses") else ""
        body.append(f'<tr{bad}><td>{c["op"]}<td>{c["ranks"]}<td>{size_name(c["bytes"])}<td>{c["mode"]}' + "".join(
            f"<td>{number(c.get(k))}" for k in ("us", "us_min", "us_max", "peer_us", "ratio", "limit_us", "of_limit")) +
            f'<td class="l">{html.escape(c.get("peer", ""))}</tr>')
    body.append("</table>")
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>hcclrun beside MPI</title>'
            f"<style>{STYLE}</style><body>{''.join(body)}</body></html>\n")
