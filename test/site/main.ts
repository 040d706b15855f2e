import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { launchBrowser } from '../cli/support/browser.ts';
import { serveFolder } from '../support/static-server.ts';

// Looks at the built site (`npm run docs`): links lead to headings that exist. In Chromium, each page
// loads without a complaint, and has contrast and labels. The home page's first screen says what it is
// about.

const SITE = fileURLToPath(new URL('../../../dist/site', import.meta.url));
const README = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];
const PAGES = [
  '',
  'overview.html',
  'guide.html',
  'choosing.html',
  'comparison.html',
  'api/index.html',
];

async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async (values) => {
    // biome-ignore lint/suspicious/noExplicitAny: axe puts itself there
    const { violations } = await (globalThis as any).axe.run({
      runOnly: { type: 'tag', values },
      // The theme's search button shows its shortcut beside its name.
      rules: { 'label-content-name-mismatch': { enabled: false } },
    });
    return violations.map(({ id, nodes }: { id: string; nodes: { html: string }[] }) =>
      [id, ...nodes.slice(0, 3).map(({ html }) => html)].join(' '),
    );
  }, RULES);
}

/** The links of each page, the API reference excepted, to a heading that its target lacks. */
function deadAnchors(): string[] {
  const names = readdirSync(SITE).filter((name) => name.endsWith('.html'));
  const pages = new Map(names.map((name) => [name, readFileSync(join(SITE, name), 'utf8')]));
  return [...pages].flatMap(([from, html]) =>
    [...html.matchAll(/href="([^":]*#[^"]+)"/g)].flatMap(([, link = '']) => {
      const { pathname, hash } = new URL(link, `http://site/${from}`);
      const target = pages.get(decodeURIComponent(pathname.slice(1)));
      const isThere = target?.includes(`id="${decodeURIComponent(hash.slice(1))}"`) ?? true;
      return isThere ? [] : `${from}: no ${link}`;
    }),
  );
}

/** Checks the home page: name, sentence and picture on its first screen, and the README's program. */
async function firstScreenFaults(page: Page): Promise<string[]> {
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  const found: string[] = [];
  const program = page.locator('.first .language-ts code');
  const text = (await program.textContent()) ?? '';
  if (!text.includes('new Worker(') || !README.includes(text.trim())) {
    found.push("its program is not the README's");
  }
  const isNarrow = width < 960;
  for (const part of [
    'h1 .name',
    'h1 .text',
    '.tagline',
    '.actions',
    '.first img',
    '.first .language-ts',
  ]) {
    const box = await page.locator(part).first().boundingBox();
    const { y = height, height: own = height } = box ?? {};
    // A narrow screen shows only how the program begins.
    const end = isNarrow && part.endsWith('ts') ? y + 100 : y + own;
    if (own === 0 || end > height) found.push(`${part} ends at ${end}`);
  }
  for (const part of ['html', '.first .language-ts pre']) {
    const wide = await page.locator(part).evaluate((one) => one.scrollWidth - one.clientWidth);
    if (wide > 0) found.push(`${part} is cut by ${wide} pixels`);
  }
  return found.map((fault) => `index.html, ${width} pixels wide: ${fault}`);
}

const faults = deadAnchors();
const server = await serveFolder(SITE);
const browser = await launchBrowser();
for (const colorScheme of ['light', 'dark'] as const) {
  for (const name of PAGES) {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1_280, height: 900 } });
    const where = `${name || 'index.html'}, ${colorScheme}`;
    page.on('console', (message) => {
      if (message.type() !== 'debug') faults.push(`${where}: ${message.text()}`);
    });
    page.on('pageerror', (error) => faults.push(`${where}: ${error.message}`));
    page.on('requestfailed', (request) => faults.push(`${where}: no ${request.url()}`));
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url)) faults.push(`${where}: asks for ${request.url()}`);
    });
    const response = await page.goto(`${server.url}/${name}`);
    if (response?.status() !== 200) faults.push(`${where}: status ${response?.status()}`);
    await page.waitForLoadState('networkidle');
    faults.push(...(await faultsOf(page)).map((fault) => `${where}: ${fault}`));
    await page.close();
  }
}

for (const viewport of [
  { width: 1_280, height: 900 },
  { width: 390, height: 844 },
]) {
  const home = await browser.newPage({ viewport });
  await home.goto(server.url);
  await home.waitForLoadState('networkidle');
  faults.push(...(await firstScreenFaults(home)));
  await home.close();
}

// The playground within the site gets shared memory through the service worker.
const page = await browser.newPage();
await page.goto(`${server.url}/try.html`);
const frame = page.frameLocator('iframe');
await frame.locator('#workers li').first().waitFor();
await frame.locator('.promise.held').first().waitFor();
await browser.close();
server.close();

for (const fault of faults) console.error(fault);
console.log(`${PAGES.length} pages, light and dark, and the playground: ${faults.length} faults`);
if (faults.length > 0) process.exitCode = 1;
