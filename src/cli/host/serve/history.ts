import type { Point, Sample } from './view.ts';
import { pointOf, type ReadRegion, type WatchedRegion } from './watched.ts';

const EVERY_MS = 1000;
/** Reading takes at most a twentieth of this thread: large tables are counted by a scan. */
const COST_FACTOR = 20;
const MOST_SAMPLES = 300;
/** The most points of all samples, so that thousands of limiters need no more memory than tens. */
const MOST_POINTS = 30_000;

/** Reads regions every second, and keeps what the charts show of the last five minutes. */
export class History {
  readonly #regions: readonly WatchedRegion[];
  readonly #samples: Sample[] = [];
  #read: readonly ReadRegion[] = [];
  #readAtMs = Number.NEGATIVE_INFINITY;
  #costMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(regions: readonly WatchedRegion[]) {
    this.#regions = regions;
  }

  /** Starts reading. Throws no error of a region. */
  start(): void {
    this.refresh();
    this.#sample();
    this.#timer = setTimeout(() => this.start(), this.#restMs);
  }

  get #restMs(): number {
    return Math.max(EVERY_MS, COST_FACTOR * this.#costMs);
  }

  /** Reads all regions again, as after a change. Adds no sample: charts have one a second. */
  refresh(): void {
    const startMs = performance.now();
    this.#read = this.#regions.map((region) => region.read());
    this.#readAtMs = performance.now();
    this.#costMs = this.#readAtMs - startMs;
  }

  #sample(): void {
    const points = Object.fromEntries(
      this.#read.map(({ view, limiters }) => [
        view.path,
        Object.fromEntries(limiters.map((one): [string, Point] => [one.view.name, pointOf(one)])),
      ]),
    );
    this.#samples.push({ atMs: Date.now(), points });
    const limiters = this.#read.reduce((sum, one) => sum + one.limiters.length, 0);
    const most = Math.min(MOST_SAMPLES, Math.max(2, Math.floor(MOST_POINTS / (limiters || 1))));
    this.#samples.splice(0, Math.max(0, this.#samples.length - most));
  }

  /** The regions as they were at most a second ago, or longer if it takes long to read them. */
  regions(): readonly ReadRegion[] {
    if (performance.now() - this.#readAtMs > this.#restMs) this.refresh();
    return this.#read;
  }

  /** The samples after an instant. */
  since(atMs: number): readonly Sample[] {
    return this.#samples.filter((sample) => sample.atMs > atMs);
  }

  /** The region with this path; undefined if it is not among those served. */
  at(path: string): WatchedRegion | undefined {
    return this.#regions.find((region) => region.path === path);
  }

  /** Stops reading, and closes all regions. */
  stop(): void {
    clearTimeout(this.#timer);
    for (const region of this.#regions) region.close();
  }
}
