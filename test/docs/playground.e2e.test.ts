import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PRESETS } from '../../docs/playground/presets.ts';
import { setupOf } from '../../docs/playground/setup.ts';
import { LACKS_BROWSER, launchBrowser, newPage, violationsOn } from '../cli/support/browser.ts';
import { folderOfFile } from '../support/folders.ts';
import { serveFolder } from '../support/static-server.ts';

const folder = folderOfFile();
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
  });

  interface View {
    readonly hash?: string;
    readonly viewport?: { readonly width: number; readonly height: number };
    readonly colorScheme?: 'light' | 'dark';
  }

  async function open({ hash = '', viewport = DESK, colorScheme = 'light' }: View = {}) {
    const { page, complaints } = await newPage(browser, { viewport, colorScheme });
    await page.goto(`${server.url}/${hash}`);
    await page.locator('.lane').first().waitFor();
    return { page, complaints };
  }

  /** The numbers of a worker: offered, then what each limiter admitted. */
  async function countsOf(page: Page, worker: number): Promise<number[]> {
    const cells = await page.locator(`#workers li:nth-child(${worker}) dd`).allInnerTexts();
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
        /held: at most 20 \+ 30 x t in any t seconds; tightest so far [\d.]+ of 20\. Red line: at most 23 in any 100 ms\.$/,
      ),
      expect.stringMatching(
        /held: at most 60 in any 1000 ms; tightest so far \d+ of 60\. Red line: at most 60 in any 100 ms\.$/,
      ),
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
    expect(await violationsOn(page, { runOnly: { type: 'tag', values: RULES } })).toEqual([]);
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
    // The button that had the focus is gone.
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Add a worker');
    await expect.poll(() => page.locator('#workers li').count()).toBe(1);
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

  it('says what is wrong with a link, also one that is pasted into an open page', async () => {
    const { page } = await open({ hash: '#limiter=leaking-bucket' });
    const problem = page.locator('#problem');
    expect(await problem.innerText()).toMatch(
      /^limiter=leaking-bucket is invalid\. It must begin .* Used instead: token-bucket rate=30/,
    );
    expect(await page.locator('.lane').count()).toBe(1);
    await page.goto(`${server.url}/#workers=9&limits=3`);
    await expect
      .poll(async () => (await problem.innerText()).split('\n'))
      .toEqual([
        'limits is not a parameter of a link, so it is ignored.',
        'workers=9 is invalid. It must be a whole number from 1 to 8. Used instead: 4.',
      ]);
    await page.close();
  });

  it('leads to examples, and says what to see in them', async () => {
    const { page, complaints } = await open();
    const names = await page.locator('#presets a').allInnerTexts();
    expect(names).toEqual(PRESETS.map(({ title }) => title));
    for (const { title, look, hash } of PRESETS) {
      await page.getByRole('link', { name: title }).click();
      await page.getByText(look).waitFor();
      await expect
        .poll(() => page.locator('.lane').count())
        .toBe(setupOf(hash).setup.limiters.length);
    }
    expect(complaints).toEqual([]);
    await page.close();
  });

  it.each([
    ['a desk', DESK],
    ['a phone', PHONE],
  ] as const)('shows all counts of one to four limiters on %s', async (_, viewport) => {
    for (const limiters of [1, 4]) {
      const hash = `#workers=8&${'limiter=sliding-window limit=30 intervalMs=1000&'.repeat(limiters)}`;
      const { page } = await open({ hash, viewport });
      await expect.poll(() => page.locator('#workers dd').count()).toBe(8 * (1 + limiters));
      const cut = await page.locator('#crew').evaluate((card) => {
        // As after some hours.
        for (const count of card.querySelectorAll('dd')) count.textContent = '12,345,678';
        const { right } = card.getBoundingClientRect();
        return [card, ...card.querySelectorAll('*')].filter(
          (part) =>
            part.scrollWidth > part.clientWidth || part.getBoundingClientRect().right > right,
        ).length;
      });
      expect(cut).toBe(0);
      await page.close();
    }
  });

  it('shows a whole chart on the first screen of a phone', async () => {
    const { page } = await open({ viewport: PHONE });
    const chart = await page.locator('.chart canvas').first().boundingBox();
    expect((chart?.y ?? 0) + (chart?.height ?? PHONE.height)).toBeLessThan(PHONE.height);
    await page.close();
  });

  it('shows the latest values in the legend, and those under the pointer', async () => {
    const { page } = await open({ hash: '#limiter=token-bucket rate=30 burst=20' });
    const values = page.locator('.u-legend .u-value');
    const at = async () => Number.parseFloat((await values.first().innerText()) || '0');
    await expect.poll(at, { timeout: 30_000 }).toBeGreaterThan(1);
    expect(await page.locator('.u-legend').innerText()).not.toContain('--');
    await expect.poll(() => values.nth(3).innerText(), { timeout: 30_000 }).toBe('23');
    await page.getByRole('button', { name: 'Pause the traffic' }).click();
    const latest = await at();
    await page.locator('.u-over').hover({ position: { x: 1, y: 50 } });
    expect(await at()).toBeLessThan(latest);
    await page.mouse.move(0, 0);
    await expect.poll(at).toBe(latest);
    await page.close();
  });

  /**
   * Where the line of tokens crosses two heights. A window of one token has none or one, so that
   * each step crosses both at one place, and a ramp does not.
   */
  const crossings = (page: Page) =>
    page.locator('.chart').evaluate((chart) => {
      const context = chart.querySelector('canvas').getContext('2d');
      const over = chart.querySelector('.u-over');
      const isToken = (r = 0, g = 0, b = 0) =>
        Math.abs(r - 188) < 40 && Math.abs(g - 76) < 40 && b < 60;
      return [0.3, 0.7].map((height) => {
        const y = Math.round(over.offsetTop + over.clientHeight * height);
        const { data } = context.getImageData(over.offsetLeft, y, over.clientWidth, 1);
        const columns: number[] = [];
        for (let x = 0; x < over.clientWidth; x++) {
          // A line is up to two columns wide.
          const isNew = x > (columns.at(-1) ?? -3) + 2;
          if (isNew && isToken(...data.slice(4 * x, 4 * x + 3))) columns.push(x);
        }
        return columns;
      });
    });

  it('lets permits follow a server, and shows the latency of its calls', async () => {
    const { page, complaints } = await open({
      hash: '#limiter=semaphore min=1 max=40 capacity=2 serviceMs=20&traffic=constant rate=300',
    });
    const figures = async () =>
      Object.fromEntries(
        (await page.locator('.lane .figures div').allInnerTexts()).map((text) => text.split('\n')),
      );
    await expect
      .poll(async () => Number((await figures()).permits ?? 20), { timeout: 60_000 })
      .toBeLessThan(15);
    await expect
      .poll(async () => Number.parseFloat((await figures()).latency ?? '0'))
      .toBeGreaterThan(0);
    expect(await page.locator('.promise').innerText()).toMatch(
      /^held: at most 40 in flight; tightest so far \d+ of 40\.$/,
    );
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("draws a window's tokens as steps, and a bucket's as ramps", async () => {
    const traffic = '&traffic=constant rate=2&workers=1';
    for (const [limiter, steps] of [
      ['fixed-window limit=1 intervalMs=1000', true],
      ['token-bucket rate=1 burst=1', false],
    ] as const) {
      const { page } = await open({ hash: `#limiter=${limiter}${traffic}` });
      const places = async () => (await crossings(page))[0]?.length ?? 0;
      await expect.poll(places, { timeout: 30_000 }).toBeGreaterThan(2);
      await page.getByRole('button', { name: 'Pause the traffic' }).click();
      const [upper = [], lower = []] = await crossings(page);
      const apart = upper.map((x, index) => Math.abs(x - (lower[index] ?? x)));
      if (steps) expect(lower).toHaveLength(upper.length);
      expect(Math.max(...apart) <= 1, `${upper} and ${lower}`).toBe(steps);
      await page.close();
    }
  });
});
