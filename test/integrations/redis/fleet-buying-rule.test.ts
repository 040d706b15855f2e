import { describe, expect, test } from 'vitest';
import { BuyingRule } from '../../../src/integrations/redis/fleet/buying-rule.ts';

const MS = 1000;
const TERMS = { stock: 1000, minStock: 10, intervalMs: 20, maxAgeMs: 1000 };

/** A rule, and a stock that follows it. */
class Process {
  readonly rule: BuyingRule;
  nowUs = 0;
  held = 0;

  constructor(terms = TERMS) {
    this.rule = new BuyingRule(terms, 0);
  }

  look({ ms = 0, spend = 0, isShort = false } = {}) {
    this.nowUs += ms * MS;
    this.held -= spend;
    return this.rule.look(this.nowUs, this.held, isShort);
  }

  buy(tokens: number, tripMs = 0): void {
    this.held += tokens;
    this.rule.deliver(this.nowUs, tokens, tripMs * MS);
  }
}

/** A process with its first stock. */
function started(terms = TERMS): Process {
  const process = new Process(terms);
  process.buy(process.look().buy);
  return process;
}

describe('the buying rule', () => {
  test('refills to five intervals when less than two are left, and not before', () => {
    const process = started();
    process.buy(189);
    // 40 in 20 ms.
    expect(process.look({ ms: 20, spend: 40 }).buy).toBe(0);
    expect(process.look({ ms: 20, spend: 40 }).buy).toBe(0);
    expect(process.look({ ms: 20, spend: 40 }).buy).toBe(200 - 79);
  });

  test('adds the time of a long trip', () => {
    const process = started();
    process.buy(290, 100);
    // 30 in 20 ms: low at two intervals plus the trip, 210; full at five plus the trip, 300.
    expect(process.look({ ms: 20, spend: 30 }).buy).toBe(0);
    expect(process.look({ ms: 20, spend: 30 }).buy).toBe(0);
    expect(process.look({ ms: 20, spend: 31 }).buy).toBe(310 - 209);
  });

  test('quadruples its target each time it runs short, up to the stock', () => {
    const process = started({ ...TERMS, minStock: 1 });
    for (const target of [4, 16, 64, 256, 1000, 1000]) {
      const { buy } = process.look({ ms: 1, isShort: true });
      expect(process.held + buy).toBe(target);
      process.buy(0);
    }
  });

  test('remembers that it ran short until it has bought', () => {
    const process = started({ ...TERMS, minStock: 1 });
    expect(process.look({ ms: 1, isShort: true }).buy).toBe(3);
    expect(process.look({ ms: 1 }).buy).toBeGreaterThanOrEqual(3);
  });

  // docs/fleets.md: "One process never has more than stock of them"
  test('buys the promised tokens plus its target, but never more than the stock', () => {
    const process = started();
    expect(process.look({ ms: 20, spend: 110 }).buy).toBe(650);
    expect(process.look({ ms: 20, spend: 5000 }).buy).toBe(1000);
  });

  test('follows a rise of the demand at once, and a fall slowly', () => {
    const process = started({ ...TERMS, stock: 1e6, minStock: 1 });
    process.buy(process.look({ ms: 20, spend: 11 }).buy + 1e4);
    process.look({ ms: 20, spend: 2000 });
    // 100 tokens per millisecond: low is 4000.
    process.look({ ms: 20, spend: process.held - 4000 });
    const high = process.look({ ms: 20, spend: 100 }).buy;
    expect(high).toBeGreaterThan(4000);
    for (let looks = 0; looks < 50; looks++) process.look({ ms: 20, spend: 1 });
    expect(process.look({ ms: 20, spend: 1 }).buy).toBe(0);
  });

  test('lets old tokens lapse, and keeps the minimum stock and young tokens', () => {
    const process = started();
    process.buy(100);
    process.look({ ms: 600 });
    process.buy(50);
    expect(process.look({ ms: 399 })).toMatchObject({ lapse: 0, lapseAtUs: 1000 * MS });
    expect(process.look({ ms: 1 }).lapse).toBe(100);
    process.held -= 100;
    process.rule.returnTokens(100);
    expect(process.look()).toMatchObject({ lapse: 0, lapseAtUs: 1600 * MS });
    expect(process.look({ ms: 600 }).lapse).toBe(50);
  });

  test('spends the oldest tokens first', () => {
    const process = started();
    process.buy(100);
    process.look({ ms: 600 });
    process.buy(50);
    process.look({ ms: 100, spend: 100 });
    expect(process.look({ ms: 300 }).lapse).toBe(0);
    expect(process.look({ ms: 600 }).lapse).toBe(50);
  });

  test('does not count tokens as old that were promised before they arrived', () => {
    const process = started({ ...TERMS, minStock: 1 });
    process.look({ ms: 20, spend: 501 });
    process.buy(500);
    process.look({ ms: 20 });
    expect(process.held).toBe(0);
    expect(process.look({ ms: 2000 })).toMatchObject({ lapse: 0, isQuiet: true });
  });

  test('counts returned tokens as new', () => {
    const process = started();
    process.look({ ms: 990, spend: 5 });
    process.look({ ms: 5, spend: -25 });
    expect(process.look({ ms: 10 }).lapse).toBe(0);
    expect(process.look({ ms: 990 }).lapse).toBe(20);
  });

  test('lets nothing lapse without a maximum age', () => {
    const process = started({ ...TERMS, maxAgeMs: Number.POSITIVE_INFINITY });
    process.buy(100);
    expect(process.look({ ms: 1e9 })).toMatchObject({
      lapse: 0,
      lapseAtUs: Number.POSITIVE_INFINITY,
    });
  });
});
