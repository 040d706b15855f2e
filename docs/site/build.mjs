// Builds the documentation site into dist/site: the pages of docs, the API reference, the pictures,
// the playground. `--base /name/` if it is not served from the root of a host; `--types-checked` if a
// build has just checked the types: some union in the reference may then have another order.

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCS = `${ROOT}docs`;
const SOURCE = `${ROOT}dist/site-source`;
const SITE = `${ROOT}dist/site`;
/** Pages beside README.md that pages of docs link to. */
const BESIDE = ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];

function run(...args) {
  execFileSync('npx', args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Runs a command of the packages that only the site needs. */
function runOfSite(...args) {
  run('--prefix', `${DOCS}/site`, ...args);
}

/** As a page of the site: its links are relative to docs, and comments are left out. */
function page(text) {
  return (
    text
      .replaceAll(/<!--.*?-->\n?/gs, '')
      // The site's highlighter knows no such languages.
      .replaceAll(/^```(diagram|printout|pseudocode)$/gm, '```text')
      .replaceAll(/\]\(docs\//g, '](')
      .replaceAll(/\]\(\.\.\/README\.md/g, '](overview.md')
      .replaceAll(/\]\(\.\.\//g, '](')
  );
}

/** The README's program with workers and its output, which a test runs and compares. */
function programOf(readme) {
  const fences = /^```ts\n((?!```).)*new Worker\(((?!```).)*```\n\n```text\n.*?^```$/ms;
  const found = fences.exec(readme);
  if (found === null) throw new Error('README.md has no program with workers');
  return found[0];
}

function copyPages() {
  for (const name of readdirSync(DOCS).filter((file) => file.endsWith('.md'))) {
    writeFileSync(`${SOURCE}/${name}`, page(readFileSync(`${DOCS}/${name}`, 'utf8')));
  }
  for (const name of BESIDE) {
    writeFileSync(`${SOURCE}/${name}`, page(readFileSync(`${ROOT}${name}`, 'utf8')));
  }
  const readme = readFileSync(`${ROOT}README.md`, 'utf8');
  writeFileSync(`${SOURCE}/overview.md`, page(readme));
  const home = readFileSync(`${DOCS}/site/index.md`, 'utf8');
  writeFileSync(
    `${SOURCE}/index.md`,
    home.replace(/<!-- the README's program .*-->/, () => programOf(readme)),
  );
  cpSync(`${DOCS}/site/try.md`, `${SOURCE}/try.md`);
  cpSync(`${DOCS}/playground/isolation.ts`, `${SOURCE}/isolation.ts`);
  cpSync(`${DOCS}/images`, `${SOURCE}/images`, { recursive: true });
  cpSync(`${DOCS}/playground/public`, `${SOURCE}/public`, { recursive: true });
  cpSync(`${DOCS}/site/theme`, `${SOURCE}/.vitepress/theme`, { recursive: true });
  cpSync(`${DOCS}/site/config.mjs`, `${SOURCE}/.vitepress/config.mjs`);
  // What the theme imports.
  symlinkSync(`${DOCS}/site/node_modules`, `${SOURCE}/node_modules`, 'junction');
}

const { values } = parseArgs({
  options: {
    base: { type: 'string', default: '/' },
    'types-checked': { type: 'boolean', default: false },
  },
});
if (!/^\/(.*\/)?$/.test(values.base)) {
  throw new Error(`--base must begin and end with a slash, got ${values.base}`);
}
for (const folder of [SOURCE, SITE]) rmSync(folder, { recursive: true, force: true });
mkdirSync(`${SOURCE}/.vitepress`, { recursive: true });
copyPages();
const unchecked = values['types-checked'] ? ['--skipErrorChecking'] : [];
runOfSite(
  'typedoc',
  '--options',
  `${DOCS}/site/typedoc.json`,
  '--out',
  `${SOURCE}/api`,
  '--entryFileName',
  'index',
  ...unchecked,
);
run(
  'vite',
  'build',
  `${DOCS}/playground`,
  '--outDir',
  `${SOURCE}/public/playground`,
  '--logLevel=warn',
);
runOfSite('vitepress', 'build', SOURCE, '--base', values.base, '--outDir', SITE);
