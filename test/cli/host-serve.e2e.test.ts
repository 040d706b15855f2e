import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { KeyedTokenBucket, Semaphore, TokenBucket } from '../../src/index.ts';
import { hostPath, hostRegion } from '../support/host.ts';
import { expectReadable, LACKS_BROWSER, launchBrowser, newPage } from './support/browser.ts';
import { Cli } from './support/run-cli.ts';

/** Text that would be markup if it were not escaped. */
const HOSTILE = '<img src=x onerror=alert(1)>"&\u202e';

/** The page asks once a second. */
const soon = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: 20_000 });

function regionOfMany() {
  const region = hostRegion();
  const api = TokenBucket.open(region, 'api', { rate: 1e-6, burst: 100, stats: true });
  const permits = Semaphore.open(region, 'permits', { permits: 3 });
  const keyed = { rate: 10, burst: 100, capacity: 10, stats: true };
  const perUser = KeyedTokenBucket.open(region, HOSTILE, keyed);
  return { region, api, permits, perUser };
}

describe.skipIf(LACKS_BROWSER)('the page of zerotime host serve', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  /** Starts the command and opens the page that it names, which may not complain. */
  async function open(paths: readonly string[], ...flags: string[]) {
    const cli = new Cli(['host', 'serve', ...paths, '--port', '0', ...flags]);
    onTestFinished(() => void cli.child.kill());
    let printed = '';
    for await (const chunk of cli.child.stdout ?? []) {
      printed += chunk;
      if (/^Metrics /m.test(printed)) break;
    }
    const [url = ''] = /http:\S+/.exec(printed) ?? [];
    const { page, complaints } = await newPage(browser);
    onTestFinished(() => page.close());
    await page.goto(url);
    await page.locator('section').first().waitFor();
    return { page, url, complaints, cli };
  }

  const cell = (page: Page, row: string, name: string) =>
    page.locator('tr', { hasText: row }).locator(`td[data-name="${name}"]`);

  test('shows limiters as they are now, charts of the chosen one, and names as text', async () => {
    const { region, api, permits, perUser } = regionOfMany();
    const { page, complaints } = await open([region.path]);
    await soon(() => cell(page, 'api', 'Now').innerText()).toBe('100 of 100 tokens');
    api.tryConsume(70);
    permits.tryAcquire(3);
    perUser.tryConsume('ann', 50);
    await soon(() => cell(page, 'api', 'Now').innerText()).toBe('30 of 100 tokens');
    expect(await cell(page, 'permits', 'Now').innerText()).toBe('3 of 3 permits');
    expect(await page.locator('button.pick').allInnerTexts()).toEqual([
      'api',
      'permits',
      HOSTILE.replace('\u202e', '\\u202e'),
    ]);
    // Refusals show as long as they happen.
    const refusing = setInterval(() => api.tryConsume(70), 20);
    await soon(() => page.locator('tr.refusing .refused').allInnerTexts()).toHaveLength(1);
    clearInterval(refusing);
    await soon(() => page.locator('figure').count()).toBe(2);
    await page.locator('button.pick', { hasText: 'permits' }).press('Enter');
    await soon(() => page.locator('h3').first().innerText()).toMatch(/^permits/);
    expect(await page.locator('figcaption').allInnerTexts()).toEqual([
      'Permits in use',
      'Waiting callers',
    ]);
    await soon(() => page.locator('.chart').first().getAttribute('aria-label')).toBe(
      'Permits in use, now: now 3, most 3',
    );
    // Focus stays where it is while the figures change.
    expect(await page.evaluate('document.activeElement.textContent')).toBe('permits');
    expect(await page.locator('form').isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  test('fits a phone and a desk, and is accessible by day and by night', async () => {
    const { region } = regionOfMany();
    const { page } = await open([region.path, hostPath()], '--allow-changes');
    await page.locator('tbody tr').first().waitFor();
    await expectReadable(page);
  });

  test('changes a limit by keyboard, after showing what would change', async () => {
    const { region, api } = regionOfMany();
    const { page, url, complaints } = await open([region.path], '--allow-changes');
    expect(url).toMatch(/#token=[\w-]{32}$/);
    // The token is in this tab, not in an address that is shown or sent.
    expect(page.url()).not.toContain('token');
    const options = page.getByLabel('New options of this token-bucket');
    await options.fill('burst=120');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const outcome = page.locator('.outcome');
    await soon(() => outcome.innerText()).toContain('Would change: burst 100 -> 120');
    expect(api.limit).toBe(100);
    await page.keyboard.press('Enter');
    await soon(() => outcome.innerText()).toBe('Changed: burst 100 -> 120');
    expect(api.limit).toBe(120);
    const change = cell(page, 'burst 100 -> 120', 'By');
    await soon(() => change.innerText()).toMatch(/ via 127\.0\.0\.1, pid \d+$/);
    await options.fill('burst=much');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await soon(() => outcome.innerText()).toMatch(/^burst must be .* got "much"$/);
    expect(complaints).toEqual([]);

    const other = await browser.newPage();
    onTestFinished(() => other.close());
    await other.goto(url.replace(/#.*/, ''));
    await soon(() => other.locator('#status').innerText()).toMatch(/no token$/);
    expect(await other.locator('form').isVisible()).toBe(false);
  });

  test('says when the server is gone, and ends without a trace', async () => {
    const { region } = regionOfMany();
    const { page, cli } = await open([region.path]);
    await soon(() => page.locator('#status').innerText()).toBe('Live');
    cli.child.kill('SIGTERM');
    expect(await cli.finished()).toMatchObject({ code: 0, stderr: '' });
    await soon(() => page.locator('#status').innerText()).toMatch(/^No connection/);
    expect(region.processes().map(({ isOwn }) => isOwn)).toEqual([true]);
    expect(region.recovered().processes).toBe(0);
  });
});
