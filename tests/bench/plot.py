# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of tests/bench/run as SVG: zood beside nginx and direct, and how costs grow."""
from xml.sax.saxutils import escape

COLOURS = {"direct": "#9aa5b1", "nginx": "#4c956c", "relay": "#b7a16a", "zood": "#2b6cb0"}
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
    ("growth_objects", {"zood": "list_cpu_us"}, "tenant-wide LIST: CPU, us, as others' objects grow"),
    ("growth_objects", {"zood": "list_ms"}, "tenant-wide LIST: p50, ms, as others' objects grow"),
    ("growth_objects", {"zood": "get_cpu_us"}, "GET: CPU, us, as others' objects grow"),
    ("growth_changes", {"zood": "cpu_us_per_change"}, "10 watchers: CPU, us a change of others"),
    ("growth_volumes", {"direct": "direct_list_ms", "zood": "list_ms"}, "a tenant's volumes: p50, ms, as others' grow"),
    ("growth_addresses", {"direct": "direct_list_ms", "zood": "list_ms"}, "a tenant's addresses: p50, ms, as others' grow"),
    ("growth_definitions", {"zood": "list_ms"}, "a tenant's definitions: p50, ms, as others' grow"),
    ("growth_tenants", {"direct": "direct_get_ms", "zood": "zood_get_ms"}, "GET: p50, ms, as tenants grow"),
    ("growth_tenants", {"direct": "direct_post_ms", "zood": "zood_post_ms"}, "POST: p50, ms, as tenants grow"),
    ("growth_tenants", {"zood": "rss_mib"}, "zood: resident, MiB, as tenants grow"),
    ("records", {"zood": "held_rss_mib"}, "Tenant records in the store: resident, MiB"),
    ("records", {"zood": "held_seconds"}, "Tenant records in the store: start, s"),
    ("connections", {"nginx": "nginx_held_mib", "zood": "zood_held_mib"}, "idle connections: resident, MiB"),
    ("watches", {"zood": "held_rss_mib"}, "watches: resident, MiB"),
    ("watches", {"zood": "held_delivery_cpu_us"}, "one change that all watches hear: CPU, us a watch"),
]
WIDTH, CELL_H, MARGIN = 380, 140, 16


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


def curves(series, title, x, y):
    out = [text(x, y + 14, title, 13, 'font-weight="bold"')]
    top = max(value for points in series.values() for _, value in points) or 1
    out.append(f'<line x1="{x + 20}" y1="{y + 92}" x2="{x + WIDTH - 60}" y2="{y + 92}" stroke="#9aa5b1"/>')
    for nth, (side, points) in enumerate(series.items()):
        step = (WIDTH - 100) / max(len(points) - 1, 1)
        at = [(x + 30 + i * step, y + 92 - value / top * 56) for i, (_, value) in enumerate(points)]
        out.append(f'<polyline fill="none" stroke="{COLOURS[side]}" stroke-width="2" points="'
                   + " ".join(f"{px:.1f},{py:.1f}" for px, py in at) + '"/>')
        if len(series) > 1:
            out.append(text(x + WIDTH - 110, y + 30 + 12 * nth, side, 11, f'fill="{COLOURS[side]}"'))
        for (px, py), (name, value) in zip(at, points):
            out.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{COLOURS[side]}"/>')
            # The first series' figures stand below its curve where another one's stand above theirs.
            out.append(text(px - 12, py + (14 if nth == 0 and len(series) > 1 else -7), number(value), 11))
            if nth == 0:
                out.append(text(px - 8, y + 118, name, 11))
    return out


def draw(data):
    rows, cells = data["rows"], []
    for row, key, title in BARS:
        values = {side: rows[row][side][key] for side in COLOURS if key in rows.get(row, {}).get(side, {})}
        if key.startswith("cpu"):
            values.pop("direct", None)
        if values:
            cells.append((bars, values, title))
    for row, keys, title in LINES:
        series = {side: [(name, values[key]) for name, values in rows.get(row, {}).items() if key in values]
                  for side, key in keys.items()}
        if all(series.values()):
            cells.append((curves, series, title))
    height = (len(cells) + 1) // 2 * CELL_H + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH + 2 * MARGIN}" height="{height}" '
           'font-family="sans-serif">', '<rect width="100%" height="100%" fill="white"/>']
    for i, (make, values, title) in enumerate(cells):
        out += make(values, title, MARGIN + i % 2 * WIDTH, MARGIN + i // 2 * CELL_H)
    return "\n".join(out + ["</svg>", ""])
