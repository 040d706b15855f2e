import type { CellPlace } from '../../memory/cell.ts';
import { damagedEntry } from '../atomics/keyed-claim.ts';
import { KeyedLoop } from '../atomics/keyed-loop.ts';
import { readTable } from '../keyed/cell.ts';
import { NO_PLACE, NOWHERE, PATIENCE } from '../keyed/words.ts';
import type { WasmKeyed } from './keyed-module.ts';

/**
 * Taking, compiled. All else, which is rare beside it, is done in JavaScript with what a call left.
 */
export class WasmKeyedLoop extends KeyedLoop {
  readonly #kernel: WasmKeyed;
  /** Whether the next take is the first of a call. */
  #begins = 1;
  /** What was asked for last, and whether the key had a place. */
  #tokens = 0;
  #placed = false;

  constructor(place: CellPlace, readClock: () => number, kernel: WasmKeyed, looks = PATIENCE) {
    super(place, readClock, looks);
    this.#kernel = kernel;
    const { entries, originUs } = readTable(place);
    const { ticksPerToken, ticksPerMicro, capTicks } = this.limit.schedule;
    kernel.open(place.offset, entries, originUs, ticksPerToken, ticksPerMicro, capTicks, looks);
  }

  override beginTake(): void {
    this.#begins = 1;
    this.lostRaces = 0;
    this.table.probes = 0;
  }

  protected override takeOwn(
    nowUs: number,
    tokens: number,
    maxWaitUs: number,
    from?: bigint,
  ): number {
    const kernel = this.#kernel;
    const { hashHigh, hashLow } = this.table;
    const wait =
      from === undefined
        ? kernel.take(hashHigh, hashLow, nowUs, tokens, maxWaitUs, this.#begins)
        : kernel.takeFrom(from, hashHigh, hashLow, nowUs, tokens, maxWaitUs);
    if (wait < NO_PLACE) throw damagedEntry();
    this.#begins = 0;
    this.#tokens = tokens;
    this.#placed = wait !== NO_PLACE;
    if (!this.#placed) this.lastEntry = NOWHERE;
    return wait;
  }

  override recall(): void {
    // Where less than a token is drained, nothing was asked of the kernel.
    if (this.#begins !== 0) return;
    const kernel = this.#kernel;
    if (this.#tokens !== this.limit.tokens) this.limit.price(this.#tokens);
    this.lostRaces = kernel.racesLost();
    this.table.probes = kernel.probesThen();
    this.lastSeen = kernel.seenThen() || undefined;
    if (!this.#placed) return;
    this.lastEntry = kernel.entryThen();
    this.lastVersion = kernel.versionThen();
    this.lastWord = kernel.wordThen();
    this.lastTicks = kernel.ticksThen();
  }
}
