"""The report's style sheet: light and dark, screen, phone and paper."""

CSS = """
:root { --paper: #ffffff; --ink: #1a1a1a; --quiet: #55595f; --line: #d8dade;
  --learned: #0072b2; --rival: #d55e00; --shade: #8c8c8c; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15181c; --ink: #e8e6e3; --quiet: #a5abb3; --line: #363b42;
    --learned: #5ab4e5; --rival: #f0894a; --shade: #8c9299; }
}
@media print { :root { --paper: #ffffff; --ink: #000000; --quiet: #333333; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
section { break-inside: avoid; }
ul { padding-left: 1.2rem; margin: 0; }
li { margin: .35rem 0; }
figure { margin: 0; max-width: 38rem; }
svg { display: block; width: 100%; height: auto; color: var(--ink); }
svg text { fill: var(--ink); }
figcaption, section > p { color: var(--quiet); font-size: .9rem; margin: .4rem 0 1rem; }
.table { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
thead th { color: var(--quiet); font-weight: 600; }
tbody th { font-weight: 500; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid var(--line); border-radius: 6px;
  font-size: .85rem; line-height: 1.45; }
"""
