import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const path = process.env['ZEROTIME_CHROMIUM'] ?? PLACES.find((place) => existsSync(place));
const isRequired = ['CI', 'ZEROTIME_CI'].some((name) => (process.env[name] ?? '') !== '');

/** Whether to skip the tests that need a browser: never in continuous integration. */
export const LACKS_BROWSER = path === undefined && !isRequired;
if (LACKS_BROWSER) {
  console.warn('NO BROWSER: reports are not tested. Install chromium, or set ZEROTIME_CHROMIUM.');
}

export function launchBrowser(): Promise<Browser> {
  if (path === undefined) throw new Error('no chromium: apt-get install chromium');
  // Its sandbox needs privileges that a container lacks.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
}

/** A new page, and what its console, its errors and its dialogs say. */
export async function newPage(browser: Browser, options: BrowserContextOptions = {}) {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 }, ...options });
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => complaints.push(dialog.message()));
  return { page, complaints };
}

/** What axe finds wrong on a page, whose policy may forbid scripts of others. */
export async function violationsOn(page: Page, options: axe.RunOptions = {}): Promise<string[][]> {
  await page.evaluate(axe.source);
  const run = `axe.run(${JSON.stringify(options)})`;
  const { violations } = (await page.evaluate(run)) as axe.AxeResults;
  return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
}

/** Expects a page to fit a phone and a desk, and to be accessible, by day and by night. */
export async function expectReadable(page: Page): Promise<void> {
  const ends = page.locator('main, .chart canvas');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of [390, 1_280]) {
      await page.setViewportSize({ width, height: 900 });
      // The charts follow the width a moment later.
      const right = () =>
        ends.evaluateAll((all) => Math.max(...all.map((e) => e.getBoundingClientRect().right)));
      await expect.poll(right, { timeout: 20_000 }).toBeLessThanOrEqual(width);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      expect(await violationsOn(page), `${colorScheme} ${width}`).toEqual([]);
    }
  }
}
