/**
 * Follows the reader's light or dark theme. Charts take their colours from here. The colours also
 * differ in lightness, for colour-blind readers, and have a contrast of 3 to the card.
 */
export const STYLE = `
:root { --text: #57606a; --strong: #1f2328; --faint: #dfe3e8; --page: #f4f6f8; --card: #fff;
  --good: #1a7f37; --red: #cf222e; --grey: #8c959f; --blue: #1f3ea8; --orange: #db7a0b;
  --green: #0a7c66; --purple: #7d1a52; --sky: #4f9bd0; --gold: #735702 }
@media (prefers-color-scheme: dark) {
  :root { --text: #9aa3ad; --strong: #f0f6fc; --faint: #2b323b; --page: #0d1117; --card: #161b22;
    --good: #3fb950; --red: #ff6a60; --grey: #848d97; --blue: #5f7df2; --orange: #eb9148;
    --green: #8ff0c4; --purple: #b85890; --sky: #4bbcea; --gold: #f2d33a }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 40px }
h1 { margin: 0 0 14px; font-size: 21px; line-height: 1.3; color: var(--strong); overflow-wrap: anywhere }
h2 { margin: 0 0 10px; font-size: 16px; color: var(--strong); overflow-wrap: anywhere }
.verdict { border-left: 5px solid var(--good) }
.verdict.bad { border-left-color: var(--red) }
.verdict p:first-child:not(.note), .verdict .note + p:not(.note) { font-size: 17px; font-weight: 600 }
.verdict p:last-child { margin: 0 }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); gap: 10px;
  margin: 0 0 16px }
.tiles div { padding: 10px 14px; background: var(--card); border: 1px solid var(--faint);
  border-radius: 8px }
dt { font-size: 12px }
dd { margin: 0; color: var(--strong); overflow-wrap: anywhere }
.tiles dd { font-size: 18px; font-weight: 600; font-variant-numeric: tabular-nums }
.about { margin: 0; display: grid; grid-template-columns: max-content 1fr; gap: 6px 18px }
.about div { display: contents }
.about dt { font-size: 14px }
.about div:first-child dd { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
section { margin: 0 0 16px; padding: 18px 20px; background: var(--card);
  border: 1px solid var(--faint); border-radius: 8px; min-width: 0 }
p { margin: 0 0 8px; color: var(--strong); overflow-wrap: anywhere }
.note { color: var(--text); font-size: 13px }
p.good::before { content: '✔ '; color: var(--good) }
p.bad { color: var(--red) }
p.bad::before { content: '✘ ' }
.verdict .note { font-size: inherit }
.verdict .note::before { content: '– ' }
figure { margin: 16px 0 0; min-width: 0 }
figcaption { font-weight: 600; color: var(--strong); margin-bottom: 6px; overflow-wrap: anywhere }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: 0 24px }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100% }
th, td { padding: 4px 10px 4px 0; text-align: right; white-space: nowrap; font-weight: 400;
  border-bottom: 1px solid var(--faint) }
th:first-child { text-align: left; color: var(--strong) }
.wide th:first-child { white-space: normal; min-width: 150px }
thead th { font-size: 12px }
tbody tr:last-child > * { border-bottom: 0 }
td { color: var(--strong) }
.share { width: 50% }
.parts th { white-space: normal; overflow-wrap: anywhere; min-width: 120px }
.share div { height: 12px; background: var(--blue); border-radius: 2px; min-width: 1px }
.uplot { font: inherit; width: 100% }
.u-legend { font-size: 12px; color: var(--text) }
.uplot .u-legend.u-inline { display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 4px 0 0 64px;
  width: auto; text-align: left; min-height: 22px }
.u-legend tbody { display: contents }
.uplot .u-legend.u-inline tr { display: inline-flex; margin: 0 }
.uplot .u-legend tr > * { border: 0; padding: 0; white-space: normal; text-align: left }
.uplot .u-legend .u-series th { display: flex; align-items: center }
.uplot .u-legend .u-marker { flex: none }
.uplot .u-legend .u-series th { color: var(--text) }
.uplot .u-legend .u-marker { width: 14px; height: 10px; border-radius: 2px; margin-right: 5px }
.u-legend .u-value { min-width: 0; margin-left: 6px; text-align: left }
.u-legend tr:first-child:has(.u-value:empty) { display: none }
.u-inline.u-live.u-legend th::after { content: '' }
.u-select { background: var(--blue); opacity: .15 }
.u-cursor-x, .u-cursor-y { border-color: var(--grey) !important }
footer { font-size: 12px; text-align: center }
@media (max-width: 720px) {
  main { padding: 16px 10px 28px }
  section { padding: 14px 12px }
  h1 { font-size: 18px }
  .about { grid-template-columns: minmax(0, 1fr) }
  .about { gap: 0 }
  .about dt { font-size: 12px; margin-top: 8px }
  .tiles { grid-template-columns: 1fr 1fr; gap: 8px }
  .tiles dd { font-size: 16px }
  th, td { padding-right: 8px }
  .wide thead { display: none }
  .wide table, .wide tbody { display: block }
  .wide tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(100px, 1fr)); gap: 4px 10px;
    padding: 8px 0; border-bottom: 1px solid var(--faint) }
  .wide tr:last-child { border-bottom: 0 }
  .wide th, .wide td { border: 0; padding: 0; text-align: left; white-space: normal }
  .wide th:first-child { grid-column: 1 / -1; font-weight: 600 }
  .wide td::before { content: attr(data-name); display: block; font-size: 11px; color: var(--text) }
  .share { width: 20% }
  .uplot .u-legend.u-inline { margin-left: 8px }
}
`;
