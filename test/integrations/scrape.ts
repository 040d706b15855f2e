import { Registry } from 'prom-client';
import { ManualClock } from '../../src/index.ts';
import { LimiterMetrics } from '../../src/integrations/prometheus.ts';

/** The lines of a scrape that contain values. */
export async function scraped(register: Registry): Promise<string[]> {
  const text = await register.metrics();
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

/** Metrics in a registry of their own, and a clock for their limiters. */
export function scene() {
  const register = new Registry();
  return { register, metrics: new LimiterMetrics({ register }), clock: ManualClock.create() };
}
