/** Follows the reader's light or dark theme. The charts take their colours from here. */
export const STYLE = `
:root { --text: #57606a; --strong: #1f2328; --faint: #d8dee4; --page: #f6f8fa; --card: #fff;
  --blue: #0969da; --grey: #8c959f; --red: #cf222e; --green: #1a7f37; --orange: #bc4c00; --purple: #8250df }
@media (prefers-color-scheme: dark) {
  :root { --text: #9198a1; --strong: #f0f6fc; --faint: #30363d; --page: #0d1117; --card: #161b22;
    --blue: #4493f8; --grey: #848d97; --red: #f85149; --green: #3fb950; --orange: #db6d28; --purple: #ab7df8 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }
main { max-width: 1000px; margin: 0 auto; padding: 28px 20px 40px }
h1 { margin: 0 0 14px; font-size: 22px; color: var(--strong); overflow-wrap: anywhere }
h2 { margin: 0 0 10px; font-size: 16px; color: var(--strong); overflow-wrap: anywhere }
dl { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 0 0 20px }
dt { font-size: 12px }
dd { margin: 0; font-weight: 600; color: var(--strong); overflow-wrap: anywhere }
section { margin: 0 0 18px; padding: 18px 20px; background: var(--card);
  border: 1px solid var(--faint); border-radius: 8px }
p { margin: 0 0 8px }
.good::before { content: '✔ '; color: var(--green) }
.bad { color: var(--red) }
.bad::before { content: '✘ ' }
figure { margin: 16px 0 0 }
figcaption { font-weight: 600; color: var(--strong); margin-bottom: 4px }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100% }
th, td { padding: 4px 10px 4px 0; text-align: right; white-space: nowrap; font-weight: 400;
  border-bottom: 1px solid var(--faint) }
th:first-child { text-align: left; color: var(--strong) }
thead th { font-size: 12px }
tbody tr:last-child > * { border-bottom: 0 }
td { color: var(--strong) }
.share { width: 50% }
.parts th { max-width: 320px; overflow: hidden; text-overflow: ellipsis }
.share div { height: 12px; background: var(--blue); border-radius: 2px }
.u-legend { font-size: 12px; text-align: left; color: var(--text) }
.u-legend tr > * { border: 0; padding: 2px 6px 2px 0 }
.u-legend table, table.u-legend { width: auto; margin: 2px 0 0 66px }
.u-legend .u-value { min-width: 74px; text-align: left }
.u-inline.u-live.u-legend th::after { content: '' }
.u-select { background: var(--blue); opacity: .15 }
footer { font-size: 12px; text-align: center }
`;
