# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of tests/bench/run as SVG: zood beside nginx and direct, and how costs grow."""
from xml.sax.saxutils import escape

COLOURS = {"direct": "#9aa5b1", "nginx": "#4c956c", "zood": "#2b6cb0"}
BARS = [
    ("get", "rps", "GET, 8 clients: requests/s"),
    ("get", "cpu_us", "GET: proxy CPU, us a request"),
    ("get_one", "p50_ms", "GET, one client: p50, ms"),
    ("list", "p50_ms", "LIST 500 pods: p50, ms"),
    ("list", "cpu_us", "LIST 500 pods: proxy CPU, us"),
    ("watch", "p50_ms", "50 watchers: p50 delivery, ms"),
    ("watch", "cpu_s", "50 watchers: proxy CPU, s"),
]
LINES = [
    ("growth_objects", "list_cpu_us", "tenant-wide LIST: CPU, us, as others' objects grow"),
    ("growth_objects", "get_cpu_us", "GET: CPU, us, as others' objects grow"),
    ("growth_changes", "cpu_us_per_change", "10 watchers: CPU, us a change of others"),
]
WIDTH, CELL_H, MARGIN = 380, 130, 16


def text(x, y, words, size=12, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" {more}>{escape(words)}</text>'


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def bars(values, title, x, y):
    out = [text(x, y + 14, title, 13, 'font-weight="bold"')]
    top = max(values.values()) or 1
    for i, (side, value) in enumerate(values.items()):
        line = y + 26 + i * 26
        length = value / top * (WIDTH - 150)
        out.append(text(x, line + 14, side))
        out.append(f'<rect x="{x + 52}" y="{line}" width="{length:.1f}" height="18" fill="{COLOURS[side]}"/>')
        out.append(text(x + 58 + length, line + 14, number(value)))
    return out


def line(points, title, x, y):
    out = [text(x, y + 14, title, 13, 'font-weight="bold"')]
    top = max(value for _, value in points) or 1
    step = (WIDTH - 100) / max(len(points) - 1, 1)
    at = [(x + 30 + i * step, y + 92 - value / top * 56) for i, (_, value) in enumerate(points)]
    out.append(f'<line x1="{x + 20}" y1="{y + 92}" x2="{x + WIDTH - 60}" y2="{y + 92}" stroke="#9aa5b1"/>')
    out.append('<polyline fill="none" stroke="#2b6cb0" stroke-width="2" points="'
               + " ".join(f"{px:.1f},{py:.1f}" for px, py in at) + '"/>')
    for (px, py), (name, value) in zip(at, points):
        out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="#2b6cb0"/>')
        out.append(text(px - 12, py - 7, number(value), 11))
        out.append(text(px - 8, y + 108, name, 11))
    return out


def draw(data):
    rows, cells = data["rows"], []
    for row, key, title in BARS:
        values = {side: rows[row][side][key] for side in COLOURS if key in rows.get(row, {}).get(side, {})}
        if key.startswith("cpu"):
            values.pop("direct", None)
        if values:
            cells.append((bars, values, title))
    for row, key, title in LINES:
        points = [(name, values[key]) for name, values in rows.get(row, {}).items() if key in values]
        if points:
            cells.append((line, points, title))
    height = (len(cells) + 1) // 2 * CELL_H + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH + 2 * MARGIN}" height="{height}" '
           'font-family="sans-serif">', '<rect width="100%" height="100%" fill="white"/>']
    for i, (make, values, title) in enumerate(cells):
        out += make(values, title, MARGIN + i % 2 * WIDTH, MARGIN + i // 2 * CELL_H)
    return "\n".join(out + ["</svg>", ""])
