import { ExportedLimiters, type LimiterRegion } from './exported-limiters.ts';
import type { MeasuredLimiter } from './readings.ts';

/** The part that all `LimiterMetrics` share: which limiters they export. */
export abstract class Exporting {
  /** @internal */
  protected readonly exported: ExportedLimiters = new ExportedLimiters();

  /**
   * Exports a limiter under this name until {@link remove} is called. A bucket on a server exports
   * the counts of this object, and whether the server responds; it is not asked.
   *
   * @throws RateLimitError `ERR_STATS_DISABLED` if the limiter was created without `stats: true`. A
   *   keyed bucket without it only exports its entries, a fleet bucket its purchases.
   * @throws TypeError if `limiter` has no `stats` method, or another limiter than those of
   *   `zerotime/redis` answers with promises; RangeError if the name is taken.
   */
  add(name: string, limiter: MeasuredLimiter): void {
    this.exported.add(name, limiter);
  }

  /**
   * Exports all limiters of a region that keep counts, under their names, including those created
   * later. Counts cover all processes that share the region, so export it from one process only.
   *
   * @throws TypeError if `region` has no `limiters` method.
   *
   * @example
   * ```ts
   * import { HostRegion } from 'zerotime/host';
   * import { LimiterMetrics } from 'zerotime/prometheus';
   *
   * const metrics = new LimiterMetrics();
   * metrics.addRegion(HostRegion.find('my-service'));
   * ```
   */
  addRegion(region: LimiterRegion): void {
    this.exported.addRegion(region);
  }

  /**
   * Stops exporting a limiter. Returns whether the name was in use. SDK 2 readers of OpenTelemetry
   * repeat its last values unless their temporality is delta.
   */
  remove(name: string): boolean {
    return this.exported.remove(name);
  }
}
