import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LACKS_BROWSER, launchBrowser } from '../cli/support/browser.ts';
import { serveFolder } from '../support/static-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'zerotime-playground-'));
/** Rules of WCAG 2.1 A and AA, contrast included. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1_280, height: 900 };

describe.skipIf(LACKS_BROWSER)('the playground in Chromium', () => {
  let browser: Browser;
  let server: Awaited<ReturnType<typeof serveFolder>>;

  beforeAll(async () => {
    const outDir = join(folder, 'site');
    execFileSync('npx', [
      'vite',
      'build',
      'docs/playground',
      '--outDir',
      outDir,
      '--logLevel=warn',
    ]);
    server = await serveFolder(outDir);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    server.close();
    rmSync(folder, { recursive: true });
  });

  interface View {
    readonly hash?: string;
    readonly viewport?: { readonly width: number; readonly height: number };
    readonly colorScheme?: 'light' | 'dark';
  }

  async function open({ hash = '', viewport = DESK, colorScheme = 'light' }: View = {}) {
    const page = await browser.newPage({ viewport, colorScheme });
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${server.url}/${hash}`);
    await page.locator('.lane').first().waitFor();
    return { page, complaints };
  }

  /** The numbers of a row of workers: offered, then what each limiter admitted. */
  async function countsOf(page: Page, worker: number): Promise<number[]> {
    const cells = await page
      .locator(`#workers tbody tr:nth-child(${worker}) .count`)
      .allInnerTexts();
    return cells.map((text) => Number(text.replaceAll(',', '')));
  }

  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

  it('shares two limiters among four workers, where the server sends no headers for it', async () => {
    const { page, complaints } = await open();
    const least = async () =>
      Math.min(...(await Promise.all([1, 2, 3, 4].map(async (n) => sum(await countsOf(page, n))))));
    await expect.poll(least, { timeout: 60_000 }).toBeGreaterThan(3);
    const promises = await page.locator('.promise').allInnerTexts();
    expect(promises).toEqual([
      expect.stringMatching(
        /held: at most 20 \+ 30 x t in any t seconds; tightest so far [\d.]+ of 20/,
      ),
      expect.stringMatching(/held: at most 60 in any 1000 ms; tightest so far \d+ of 60/),
    ]);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it.each([
    ['a desk, light', DESK, 'light'],
    ['a desk, dark', DESK, 'dark'],
    ['a phone, light', PHONE, 'light'],
    ['a phone, dark', PHONE, 'dark'],
  ] as const)('has contrast and labels, and fits, on %s', async (_, viewport, colorScheme) => {
    const { page } = await open({ viewport, colorScheme });
    await expect.poll(() => page.locator('.figures dd').count()).toBeGreaterThan(0);
    await page.evaluate(axe.source);
    const violations = await page.evaluate(async (values) => {
      // biome-ignore lint/suspicious/noExplicitAny: axe puts itself there
      const found = await (globalThis as any).axe.run({ runOnly: { type: 'tag', values } });
      return found.violations.map(({ id, nodes }: { id: string; nodes: { html: string }[] }) =>
        [id, ...nodes.map(({ html }) => html)].join(' '),
      );
    }, RULES);
    expect(violations).toEqual([]);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(viewport.width);
    await page.close();
  });

  it('goes on without a worker that is killed, and with one that stalls', async () => {
    const { page, complaints } = await open({ hash: '#workers=2' });
    await expect
      .poll(async () => sum(await countsOf(page, 2)), { timeout: 30_000 })
      .toBeGreaterThan(0);
    await page.getByRole('button', { name: 'Stall worker 1 for 2 seconds' }).click();
    await expect.poll(() => page.locator('#workers .stalled').count()).toBe(1);
    await page.getByRole('button', { name: 'Kill worker 2' }).click();
    expect(await page.locator('#status').innerText()).toBe('Worker 2 was killed.');
    await expect.poll(() => page.locator('#workers tbody tr').count()).toBe(1);
    const [before = 0] = await countsOf(page, 1);
    await expect
      .poll(async () => (await countsOf(page, 1))[0], { timeout: 30_000 })
      .toBeGreaterThan(before + 20);
    expect(await page.locator('.broken').count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('changes a limit while the workers use it, and keeps the set-up in the link', async () => {
    const { page } = await open({ hash: '#limiter=token-bucket rate=30 burst=20&workers=2' });
    const rate = page.locator('.lane').getByLabel('rate');
    await rate.fill('90');
    await rate.press('Tab');
    expect(decodeURIComponent(page.url()).replaceAll('+', ' ')).toContain(
      'token-bucket rate=90 burst=20',
    );
    await expect
      .poll(() => page.locator('.promise').innerText())
      .toMatch(/held: at most 20 \+ 90 x t/);
    await rate.fill('-1');
    await rate.press('Tab');
    expect(await page.locator('.lane .problem').first().innerText()).toBe(
      'rate must be a number from 0.1 to 5000, got -1',
    );
    await page.close();

    const other = await open({ hash: new URL(page.url()).hash });
    expect(await other.page.locator('.lane').getByLabel('rate').inputValue()).toBe('90');
    await other.page.close();
  });

  it('says what is wrong with a link, and begins with the usual set-up', async () => {
    const { page } = await open({ hash: '#limiter=leaking-bucket' });
    expect(await page.locator('#problem').innerText()).toMatch(
      /^The link is invalid: It must begin/,
    );
    expect(await page.locator('.lane').count()).toBe(2);
    await page.close();
  });
});
