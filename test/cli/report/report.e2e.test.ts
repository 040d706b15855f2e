import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderOfFile } from '../../support/folders.ts';
import { expectReadable, LACKS_BROWSER, launchBrowser, newPage } from '../support/browser.ts';
import { runCli } from '../support/run-cli.ts';

const folder = folderOfFile();
const loadPage = join(folder, 'load.html');
const simulatePage = join(folder, 'simulate.html');
const comparePage = join(folder, 'compare.html');
const runs = ['one', 'two'].map((name) => join(folder, `${name}.json`));
/** Text that would end the page's script if it were not escaped. */
const HOSTILE = 'http://127.0.0.1:9/?</script><script>alert(1)</script>';

beforeAll(async () => {
  const load = ['load', '--rate=600', '--duration=1s', '--threads=2'];
  await runCli([...load, `--report=${loadPage}`, `--json=${runs[0]}`]);
  await runCli([...load, `--json=${runs[1]}`]);
  // On a busy machine one of them may have ended a little later.
  await runCli(['compare', ...runs, '--allow=duration', `--report=${comparePage}`]);
  const limiters = [
    'token-bucket rate=100 burst=20 + sliding-log limit=100 intervalMs=1000',
    'sliding-log limit=100 intervalMs=1000',
  ];
  await runCli([
    'simulate',
    ...limiters.map((limiter) => `--limiter=${limiter}`),
    ...['--arrivals=poisson rate=120', '--seed=1', '--wait=100ms', `--report=${simulatePage}`],
  ]);
});

describe.skipIf(LACKS_BROWSER)('a report in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  /** Opens a page, and records its console output and its requests. */
  async function open(path: string) {
    const { page, complaints } = await newPage(browser);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    const url = pathToFileURL(path).href;
    await page.goto(url);
    await page.waitForLoadState('networkidle');
    return { page, complaints, requests: requests.filter((other) => other !== url) };
  }

  it.each([
    ['load', loadPage, 4],
    ['simulate', simulatePage, 4],
    ['compare', comparePage, 2],
  ])('of %s draws its charts, logs nothing and loads nothing', async (_, path, count) => {
    const { page, complaints, requests } = await open(path);
    // The number of colours: a blank canvas has one, grid and axes have few.
    const colours = await page.locator('.chart canvas').evaluateAll((canvases) =>
      canvases.map((canvas) => {
        // biome-ignore lint/suspicious/noExplicitAny: the browser's types are not in scope here
        const { width, height } = canvas as any;
        // biome-ignore lint/suspicious/noExplicitAny: as above
        const { data } = (canvas as any).getContext('2d').getImageData(0, 0, width, height);
        const painted = new Map<string, number>();
        for (let at = 0; at < data.length; at += 4) {
          if (data[at + 3] < 40) continue;
          const colour = [data[at] >> 5, data[at + 1] >> 5, data[at + 2] >> 5].join();
          painted.set(colour, (painted.get(colour) ?? 0) + 1);
        }
        return [...painted.values()].filter((pixels) => pixels > 20).length;
      }),
    );
    // A busy machine may have had failures, which have a chart too.
    expect(colours.length).toBeGreaterThanOrEqual(count);
    expect(colours.length).toBe(await page.locator('figure').count());
    for (const kinds of colours) expect(kinds).toBeGreaterThan(3);
    expect(complaints).toEqual([]);
    expect(requests).toEqual([]);
    await page.close();
  });

  it.each([
    ['load', loadPage],
    ['simulate', simulatePage],
    ['compare', comparePage],
  ])('of %s fits a phone and a desk, and is accessible by day and by night', async (_, path) => {
    const { page } = await open(path);
    await expectReadable(page);
    await page.close();
  });

  it('cuts no label on a phone, however long an error is', async () => {
    const path = join(folder, 'refused.html');
    await runCli(['load', 'http://127.0.0.1:9/', '-r20', '-d200ms', `--report=${path}`]);
    for (const file of [path, simulatePage, comparePage]) {
      const { page } = await open(file);
      await page.setViewportSize({ width: 390, height: 800 });
      const cut = await page.evaluate(
        `[...document.querySelectorAll('main *')]
          .filter((one) => getComputedStyle(one).textOverflow === 'ellipsis')
          .filter((one) => one.scrollWidth > one.clientWidth + 1)
          .map((one) => one.textContent)`,
      );
      expect(cut).toEqual([]);
      await page.close();
    }
  });

  it('has one pointer for all charts over time', async () => {
    const { page } = await open(simulatePage);
    await page.locator('.chart .u-over').first().hover();
    const legends = page.locator('.chart .u-legend');
    for (const at of [0, 1, 2]) {
      await expect.poll(() => legends.nth(at).innerText()).toMatch(/at\s*[\d.]+ s/);
    }
    // The percentiles have an axis of their own.
    expect(await legends.nth(3).innerText()).not.toMatch(/at\s*[\d.]/);
    await page.close();
  });

  it('shows the values under the pointer', async () => {
    const { page } = await open(simulatePage);
    await page.locator('.chart .u-over').first().hover();
    const legend = page.locator('.chart .u-legend').first();
    await expect
      .poll(() => legend.innerText())
      .toMatch(/at\s*[\d.]+ s\s*arrivals\s*[\d.]+\/s\s*admitted\s*[\d.]+\/s/);
    await page.close();
  });

  it('shows the URL as text, not as markup', async () => {
    const path = join(folder, 'hostile.html');
    await runCli(['load', HOSTILE, '--rate=20', '--duration=200ms', `--report=${path}`]);
    const { page, complaints } = await open(path);
    expect(await page.locator('h1').innerText()).toContain('http://127.0.0.1:9/?');
    expect(await page.locator('.chart canvas').count()).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

it('a report is one file, and no larger than 150 kB', () => {
  for (const path of [loadPage, simulatePage, comparePage]) {
    const text = readFileSync(path, 'utf8');
    expect(text).not.toMatch(/<(?:script|img|link)[^>]* (?:src|href)="(?!data:)/);
    expect(text).not.toContain('sourceMappingURL');
    expect(text.length).toBeLessThan(150_000);
  }
});
