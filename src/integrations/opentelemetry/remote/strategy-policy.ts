import { byProbability } from '../results.ts';
import type { Chance, Policy } from '../shared-sampling.ts';
import { Threshold } from '../threshold.ts';
import type { Strategy } from './strategy.ts';
import type { StrategyBoard } from './strategy-board.ts';

/** The limit alone decides. */
const ALWAYS: Chance = { threshold: new Threshold(), attributes: undefined };

function chanceOf(probability: number): Chance | undefined {
  if (probability === 0) return undefined;
  const threshold = new Threshold();
  threshold.set(probability);
  return { threshold, attributes: byProbability(probability) };
}

/** One thread's copy of the strategy on a board. */
export class StrategyPolicy implements Policy {
  readonly #board: StrategyBoard;
  #version = 0;
  #default: Chance | undefined;
  /** Null if the operation's probability is 0. */
  #chances = new Map<string, Chance | null>();
  hasMinima = false;

  constructor(board: StrategyBoard) {
    this.#board = board;
    this.hasChanged();
  }

  /** Reads the strategy if it has changed. If it cannot be read, the last one stays in force. */
  hasChanged(): boolean {
    const { version } = this.#board;
    if (version === this.#version) return false;
    this.#version = version;
    const text = this.#board.read();
    if (text === undefined) return false;
    this.#obey(JSON.parse(text) as Strategy); // checked before it was written, and complete
    return true;
  }

  #obey({ probability, minimum, operations }: Strategy): void {
    this.#default = probability === undefined ? ALWAYS : chanceOf(probability);
    this.#chances = new Map(operations.map(([name, own]) => [name, chanceOf(own) ?? null]));
    this.hasMinima = minimum > 0;
  }

  chanceOf(operation: string): Chance | undefined {
    if (this.#chances.size === 0) return this.#default;
    const own = this.#chances.get(operation);
    return own === undefined ? this.#default : (own ?? undefined);
  }

  /** The default probability, for operations without their own. */
  get probability(): number {
    return this.#default?.threshold.probability ?? 0;
  }
}
