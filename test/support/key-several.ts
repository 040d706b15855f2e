import type { TierLimit } from './key-tiers.ts';

/** The bucket of one key: for each limit the instant at which it was empty. */
interface Account {
  readonly zeroUs: readonly number[];
  /** The changes of the limits before it was written. */
  readonly changes: number;
  /** The latest take that was not cancelled. */
  readonly mark: object;
}

/** Identifies a take for {@link KeySeveral.cancel}. */
export interface Taken<Key> {
  readonly key: Key;
  readonly n: number;
  readonly changes: number;
  readonly mark: object;
  readonly before: object;
  readonly waitUs: number;
  /** When the tokens are due; changes of the limits move it. */
  dueUs: number;
}

/**
 * The reference for a `KeyedTokenBucket` whose keys have several limits, slow and obvious: a Map that
 * never forgets. Exact while costs and instants are multiples of small powers of two of a
 * microsecond.
 */
export class KeySeveral<Key> {
  #limits: readonly TierLimit[];
  #changes = 0;
  readonly #accounts = new Map<Key, Account>();
  readonly #taken: Taken<Key>[] = [];

  constructor(limits: readonly TierLimit[]) {
    this.#limits = limits;
  }

  get burst(): number {
    return Math.min(...this.#limits.map(({ burst }) => burst));
  }

  /**
   * The instants of an account, before they are raised to those of a full one. If the limits changed
   * while the key was in debt, all of its tokens are gone until that is paid.
   */
  #instants(account: Account, nowUs: number): readonly number[] {
    const dueUs = Math.max(...account.zeroUs);
    const isLate = account.changes !== this.#changes && dueUs > nowUs;
    return isLate ? account.zeroUs.map(() => dueUs) : account.zeroUs;
  }

  #zeroUs(key: Key, nowUs: number): readonly number[] {
    const account = this.#accounts.get(key);
    const instants = account && this.#instants(account, nowUs);
    return this.#limits.map(({ tokenUs, burst }, i) => {
      const full = nowUs - burst * tokenUs;
      return Math.max(instants?.[i] ?? full, full);
    });
  }

  #set(key: Key, zeroUs: readonly number[], mark: object): void {
    this.#accounts.set(key, { zeroUs, changes: this.#changes, mark });
  }

  #move(key: Key, nowUs: number, n: number): Taken<Key> {
    const before = this.#accounts.get(key)?.mark ?? {};
    const next = this.#next(key, nowUs, n);
    const waitUs = n === 0 ? 0 : Math.max(0, ...next.map((zeroUs) => zeroUs - nowUs));
    const changes = this.#changes;
    const mark = n === 0 ? before : {};
    if (n > 0) this.#set(key, next, mark);
    const taken = { key, n, changes, mark, before, waitUs, dueUs: nowUs + waitUs };
    this.#taken.push(taken);
    return taken;
  }

  #next(key: Key, nowUs: number, n: number): readonly number[] {
    const zeroUs = this.#zeroUs(key, nowUs);
    return this.#limits.map(({ tokenUs }, i) => (zeroUs[i] ?? 0) + n * tokenUs);
  }

  /** Undefined if refused. */
  acquire(key: Key, nowUs: number, n: number, maxWaitUs: number): Taken<Key> | undefined {
    if (n > this.burst) return undefined;
    const waitUs = Math.max(...this.#next(key, nowUs, n)) - nowUs;
    return n > 0 && waitUs > maxWaitUs ? undefined : this.#move(key, nowUs, n);
  }

  /** `acquire` by a call that began under these limits, and ends under those in force. */
  acquireUnder(
    limits: readonly TierLimit[],
    key: Key,
    nowUs: number,
    n: number,
    maxWaitUs: number,
  ): Taken<Key> | undefined {
    const inForce = this.#limits;
    this.#limits = limits;
    this.#changes--;
    try {
      return this.acquire(key, nowUs, n, maxWaitUs);
    } finally {
      this.#limits = inForce;
      this.#changes++;
    }
  }

  charge(key: Key, nowUs: number, n: number): Taken<Key> {
    return this.#move(key, nowUs, n);
  }

  drain(key: Key, nowUs: number, n: number): number {
    const most = Math.floor(Math.min(n, this.balance(key, nowUs)));
    const taken = Math.max(0, most);
    this.#move(key, nowUs, taken);
    return taken;
  }

  block(key: Key, nowUs: number, us: number): void {
    const before = this.#zeroUs(key, nowUs);
    const next = before.map((zeroUs) => Math.max(zeroUs, nowUs + us));
    if (next.some((zeroUs, i) => zeroUs !== before[i])) this.#set(key, next, {});
  }

  /** Returns tokens under every limit, up to its burst. */
  returnTokens(key: Key, nowUs: number, n: number): void {
    const account = this.#accounts.get(key);
    if (account === undefined) return;
    const before = this.#instants(account, nowUs);
    const next = this.#limits.map(({ tokenUs, burst }, i) => {
      const zeroUs = before[i] ?? 0;
      const full = nowUs - burst * tokenUs;
      return zeroUs <= full ? zeroUs : Math.max(zeroUs - n * tokenUs, full);
    });
    if (next.some((zeroUs, i) => zeroUs !== before[i])) this.#set(key, next, account.mark);
  }

  reset(key: Key, nowUs: number): void {
    this.returnTokens(key, nowUs, Number.MAX_SAFE_INTEGER);
  }

  /** Takes back a take if all later ones were taken back, and the limits are the same. */
  cancel({ key, n, changes, mark, before }: Taken<Key>): boolean {
    if (n === 0) return true;
    const account = this.#accounts.get(key);
    if (account?.mark !== mark || account.changes !== changes || changes !== this.#changes) {
      return false;
    }
    const zeroUs = this.#limits.map(({ tokenUs }, i) => (account.zeroUs[i] ?? 0) - n * tokenUs);
    this.#set(key, zeroUs, before);
    return true;
  }

  balances(key: Key, nowUs: number): readonly number[] {
    const zeroUs = this.#zeroUs(key, nowUs);
    return this.#limits.map(({ tokenUs }, i) => (nowUs - (zeroUs[i] ?? 0)) / tokenUs);
  }

  balance(key: Key, nowUs: number): number {
    return Math.min(...this.balances(key, nowUs));
  }

  /** Microseconds until each limit holds `n` tokens. */
  untilUs(key: Key, nowUs: number, n: number): readonly number[] {
    const balances = this.balances(key, nowUs);
    return this.#limits.map(({ tokenUs, burst }, i) =>
      n > burst ? Number.POSITIVE_INFINITY : Math.max(0, n - (balances[i] ?? 0)) * tokenUs,
    );
  }

  /** Microseconds until each limit is full. */
  fullUs(key: Key, nowUs: number): readonly number[] {
    const balances = this.balances(key, nowUs);
    return this.#limits.map(({ tokenUs, burst }, i) => (burst - (balances[i] ?? 0)) * tokenUs);
  }

  /** How many keys are not full under every limit. */
  notFull(nowUs: number): number {
    const isShort = (key: Key) => this.fullUs(key, nowUs).some((us) => us > 0);
    return [...this.#accounts.keys()].filter(isShort).length;
  }

  /**
   * Puts other limits in force. If all rates change by one factor, every key keeps its tokens;
   * otherwise it keeps its time.
   */
  change(nowUs: number, limits: readonly TierLimit[]): void {
    const [factor = 1, ...others] = limits.map(
      ({ tokenUs }, i) => tokenUs / (this.#limits[i]?.tokenUs ?? 1),
    );
    if (others.every((other) => other === factor)) {
      const moved = (us: number) => nowUs - (nowUs - us) * factor;
      for (const [key, account] of this.#accounts) {
        this.#accounts.set(key, { ...account, zeroUs: account.zeroUs.map(moved) });
      }
      for (const taken of this.#taken) {
        if (taken.dueUs > nowUs) taken.dueUs = moved(taken.dueUs);
      }
    }
    this.#limits = limits;
    this.#changes++;
  }
}
