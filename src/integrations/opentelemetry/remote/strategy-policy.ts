import type { Chance, Policy } from '../policy.ts';
import { byProbability } from '../results.ts';
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

/** The strategy on a board, as one thread has read it. */
export class StrategyPolicy implements Policy {
  readonly #board: StrategyBoard;
  #version = 0;
  #default: Chance | undefined;
  /** Null if the operation is never kept by its probability. */
  #chances = new Map<string, Chance | null>();
  hasMinima = false;

  constructor(board: StrategyBoard) {
    this.#board = board;
    this.hasChanged();
  }

  /** Reads the strategy if it is another one. One that cannot be read leaves the last in force. */
  hasChanged(): boolean {
    const { version } = this.#board;
    if (version === this.#version) return false;
    this.#version = version;
    const text = this.#board.read();
    if (text === undefined) return false;
    this.#obey(JSON.parse(text) as Strategy); // written by `write` after a check, and whole
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

  /** The probability of operations without one of their own. */
  get probability(): number {
    return this.#default?.threshold.probability ?? 0;
  }
}
