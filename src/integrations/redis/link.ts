import { systemClock } from '../../time/system-clock.ts';
import { isNotCached, type RedisClient, type ServerClient, serverClient } from './client.ts';
import { ANSWER } from './script/format.ts';
import { replyError, unreachable } from './server-error.ts';
import { ServerNode } from './server-node.ts';
import type { Lines } from './take-batch.ts';

/** A call that waits for its response. */
interface Pending {
  readonly untilUs: number;
  /** Called when the deadline has passed. */
  readonly expire: () => void;
}

/**
 * The deadlines of all calls of this thread. They share one timer, which stays set after a call: a
 * timer per call would cost more than the rest of the call. It keeps the event loop alive only
 * while calls wait.
 */
class Deadlines {
  readonly #pending = new Set<Pending>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesUs = Number.POSITIVE_INFINITY;

  add(pending: Pending): void {
    this.#pending.add(pending);
    if (pending.untilUs < this.#firesUs) this.#set(pending.untilUs);
    else if (this.#pending.size === 1) this.#timer?.ref();
  }

  drop(pending: Pending): void {
    this.#pending.delete(pending);
    if (this.#pending.size === 0) this.#timer?.unref();
  }

  #set(untilUs: number): void {
    clearTimeout(this.#timer);
    const leftMs = Math.max(0, Math.ceil((untilUs - systemClock.now()) / 1000));
    this.#firesUs = untilUs;
    // A busy thread may not have read a response that has arrived: let it read first.
    this.#timer = setTimeout(() => setImmediate(() => this.#fire()), leftMs);
  }

  #fire(): void {
    this.#timer = undefined;
    this.#firesUs = Number.POSITIVE_INFINITY;
    const nowUs = systemClock.now();
    let nextUs = Number.POSITIVE_INFINITY;
    for (const pending of this.#pending) {
      if (pending.untilUs <= nowUs) {
        this.#pending.delete(pending);
        pending.expire();
      } else nextUs = Math.min(nextUs, pending.untilUs);
    }
    if (nextUs < this.#firesUs) this.#set(nextUs);
  }
}

const deadlines = /* @__PURE__ */ new Deadlines();

const links = /* @__PURE__ */ new WeakMap<RedisClient, Link>();

function read(word: unknown): unknown {
  return typeof word === 'number' ? word : String(word);
}

/** Reads the script's answer: numbers, or strings or bytes with some client settings. */
function readAnswer(reply: unknown): readonly unknown[] {
  const words = Array.isArray(reply) ? reply.map(read) : [read(reply)];
  const signedUs = Number(words[0]);
  const serverUs = Math.abs(signedUs);
  if (serverUs <= -ANSWER.gone) return words;
  // A short answer begins with the server's time, negative if the call is refused.
  const admitted = signedUs > 0 ? 1 : 0;
  if (words.length === 1) return [ANSWER.done, serverUs, admitted];
  return [ANSWER.done, serverUs, serverUs, ...words.slice(1), admitted];
}

/** A call of the script on a key. */
export interface Question<T> {
  readonly key: string;
  /** By our clock. */
  readonly untilUs: number;
  /**
   * Receives the deadline by the server's clock: after it, the script does nothing, even if the
   * command was queued or sent again.
   */
  readonly words: (deadlineUs: number) => readonly string[];
  /** Reads the answer, or returns undefined to ask again. */
  readonly read: (answer: readonly unknown[]) => T | undefined;
}

/**
 * The state of a client, shared by all its buckets. Each node of a cluster has its own health and
 * clock, so a failure only affects keys on that node.
 */
export class Link {
  readonly lines: Lines = new Map();
  readonly #client: ServerClient;
  readonly #nodes = new Map<string, ServerNode>();
  /** The last error of a connection, which a client only reports by an event. */
  #lastError: unknown;
  #lastErrorUs = Number.NEGATIVE_INFINITY;

  private constructor(client: RedisClient) {
    this.#client = serverClient(client);
    // Without a listener, a broken connection would end the process. Calls report the error.
    this.#client.onError((error) => {
      this.#lastError = error;
      this.#lastErrorUs = systemClock.now();
    });
    this.#client.onReady(() => {
      this.#lastErrorUs = Number.NEGATIVE_INFINITY;
      for (const node of this.#nodes.values()) node.reconnect();
    });
  }

  /** @throws TypeError if `client` is not a redis or ioredis client. */
  static of(client: RedisClient): Link {
    const known = links.get(client);
    if (known !== undefined) return known;
    const link = new Link(client);
    links.set(client, link);
    return link;
  }

  /** Why a node does not respond: the last error since it did, or else `error`. */
  #causeOf(node: ServerNode, error?: unknown): unknown {
    return this.#lastErrorUs > node.heardUs ? this.#lastError : error;
  }

  /** The current server of a key. */
  nodeOf(key: string): ServerNode {
    const name = this.#client.nodeOf(key);
    let node = this.#nodes.get(name);
    if (node === undefined) {
      node = new ServerNode();
      this.#nodes.set(name, node);
    }
    return node;
  }

  /**
   * Runs the script on a key and resolves with what `question` reads in its answer. `nowUs` is our
   * clock.
   *
   * @throws RateLimitError `ERR_UNREACHABLE` if there is no answer by `untilUs`, if calls are
   *   paused, or if the server cannot serve the key now; `ERR_KEY_INVALID` if the key holds
   *   something else; `ERR_COMMAND_FAILED` for any other error of the server.
   */
  ask<T>(question: Question<T>, nowUs: number): Promise<T> {
    const node = this.nodeOf(question.key);
    if (node.isUp) return this.#send(question, node, nowUs);
    return node.admit(nowUs, question.untilUs).then(() => this.#send(question, node, nowUs));
  }

  #send<T>(question: Question<T>, node: ServerNode, sentUs: number): Promise<T> {
    const { key, untilUs } = question;
    const wasUp = node.isUp;
    const fail = (message: string, error?: unknown) =>
      node.fail(unreachable(message, this.#causeOf(node, error)), wasUp);
    const words = question.words(node.serverUs(untilUs));
    return new Promise((resolve, reject) => {
      let isOver = false;
      let isInFull = false;
      const pending = {
        untilUs,
        expire() {
          isOver = true;
          reject(fail('the server has not answered in time'));
        },
      };
      const answered = (reply: unknown) => {
        deadlines.drop(pending);
        const answer = readAnswer(reply);
        const serverUs = Number(answer[1]);
        if (Number.isFinite(serverUs)) node.tell(serverUs, sentUs, systemClock.now());
        else node.mend();
        if (isOver) return;
        isOver = true;
        try {
          if (!Number.isFinite(serverUs)) throw replyError(new Error('ERR unexpected answer'));
          resolve(this.#read(question, answer));
        } catch (error) {
          reject(error);
        }
      };
      const failed = (error: unknown) => {
        if (!isInFull && isNotCached(error)) {
          isInFull = true;
          run();
          return;
        }
        deadlines.drop(pending);
        const reported = replyError(error);
        if (reported !== undefined) node.mend();
        if (isOver) return;
        isOver = true;
        if (reported !== undefined) reject(reported);
        else {
          const message = error instanceof Error ? error.message : String(error);
          reject(fail(`the call to the server failed: ${message}`, error));
        }
      };
      const run = () => {
        try {
          const client = this.#client;
          const reply = isInFull ? client.runInFull(key, words) : client.run(key, words);
          reply.then(answered, failed);
        } catch (error) {
          failed(error);
        }
      };
      deadlines.add(pending);
      run();
    });
  }

  #read<T>(question: Question<T>, answer: readonly unknown[]): T | Promise<T> {
    const isLate = Number(answer[0]) === ANSWER.late;
    const result = isLate ? undefined : question.read(answer);
    if (result !== undefined) return result;
    const nowUs = systemClock.now();
    if (!isLate || nowUs < question.untilUs) return this.ask(question, nowUs);
    throw unreachable('the call reached the server after its deadline');
  }
}
