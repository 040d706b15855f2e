import { maxHeaderSize } from 'node:http';
import type { RequestOptions } from '../plan/options.ts';
import { type ConnectTerms, coded, ownHeaders } from './carrier.ts';

// HTTP/1.1 (RFC 9112) for one request that is sent again and again.

/** Methods whose requests say that they have no body. */
const WITH_BODY = new Set(['PATCH', 'POST', 'PROPFIND', 'PROPPATCH', 'PUT', 'QUERY']);

/** A request in bytes. */
export function requestBytes(
  { method, headers, body }: Pick<RequestOptions, 'method' | 'headers' | 'body'>,
  { url: { pathname, search }, host }: ConnectTerms,
): Buffer {
  const own = ownHeaders(headers);
  const isPlain = own.every(([name]) => name.toLowerCase() !== 'connection');
  const fields = [
    ['host', host],
    ...(isPlain ? [['connection', 'keep-alive']] : []),
    ...own,
    ...(body || WITH_BODY.has(method) ? [['content-length', body?.byteLength ?? 0]] : []),
  ];
  const lines = [
    `${method} ${pathname}${search} HTTP/1.1`,
    ...fields.map((field) => field.join(': ')),
  ];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return body === undefined ? head : Buffer.concat([head, body]);
}

/** What the head of a response says. */
export interface ResponseHead {
  readonly status: number;
  /** Whether the connection can be used again. */
  readonly isKept: boolean;
  /** How long the server keeps an idle connection; undefined if it does not say. */
  readonly keptMs: number | undefined;
  /** Bytes of the body; infinite if it ends with the connection, undefined if it has chunks. */
  readonly length: number | undefined;
}

/** What comes next. */
type Part = 'head' | 'body' | 'size' | 'chunk' | 'chunk end' | 'trailer' | 'nothing';

const END_OF_LINE = '\r\n';
const END_OF_HEAD = '\r\n\r\n';
const EMPTY_LINE = new Set<number | undefined>([...Buffer.from(END_OF_LINE)]);
const NAME = "[\\w!#$%&'*+.^`|~-]";
/** A line that begins with a space continues the one before it. */
const FIELD_LINE = `(?:${NAME}+:|[\\t ])[\\t -~\\x80-\\xff]*`;
const HEAD_LINES = `^HTTP/1\\.([01]) ([1-9]\\d\\d)(?: [^\\r\\n]*)?(?:\\r\\n${FIELD_LINE})*`;
const HEAD = new RegExp(`${HEAD_LINES}$`);
const BEGUN_HEAD = new RegExp(`${HEAD_LINES}(?:\\r(?:\\n(?:${NAME}*|\\r))?)?$`);
const SHORTEST_HEAD = 'HTTP/1.1 200';
const TRAILER = new RegExp(`^(?:${FIELD_LINE})?$`);
const BEGUN_TRAILER = new RegExp(`^(?:${FIELD_LINE}|${NAME}*)$`);
const CONTINUED = /\r\n[\t ]+/g;
/** The fields that say where the response ends, and what becomes of the connection. */
const FIELD = /^(connection|content-length|keep-alive|transfer-encoding):(.*)$/gim;
const CHUNKED = /(?:^|,)[\t ]*chunked[\t ,]*$/;
const LENGTH = /^0*\d{1,15}$/;
const CHUNK_SIZE = /^0*([\da-f]{1,12})[\t ]*(?:;.*)?$/i;
const SWITCHING_PROTOCOLS = 101;

/** An error with the code of a response that does not follow HTTP/1.1. */
function invalid(what: string): Error {
  return coded('ERR_BAD_RESPONSE', `the response does not match the HTTP/1.1 protocol: ${what}`);
}

/** @param isHead whether the request was HEAD, whose response has no body */
function headOf(text: string, isHead: boolean): ResponseHead {
  const [, minor, code] = HEAD.exec(text) ?? [];
  const status = Number(code);
  if (code === undefined || status === SWITCHING_PROTOCOLS) throw invalid('its head');
  const fields = new Map<string, string>();
  for (const [, name = '', value = ''] of text.replace(CONTINUED, ' ').matchAll(FIELD)) {
    const key = name.toLowerCase();
    const before = fields.get(key);
    fields.set(key, (before === undefined ? value : `${before},${value}`).trim().toLowerCase());
  }
  const length = fields.get('content-length');
  const coding = fields.get('transfer-encoding') || undefined;
  // Two lengths, or a length beside chunks, are an attempt to hide a response.
  if (length !== undefined && (coding !== undefined || !LENGTH.test(length))) {
    throw invalid('its content-length');
  }
  const isChunked = coding !== undefined && CHUNKED.test(coding);
  const hasNone = isHead || status < 200 || status === 204 || status === 304;
  const untilClose = hasNone || isChunked || length !== undefined ? 0 : Number.POSITIVE_INFINITY;
  const options = fields.get('connection')?.split(/[,\t ]+/) ?? [];
  const isKept = !options.includes('close') && (minor === '1' || options.includes('keep-alive'));
  const [, seconds] = /timeout=(\d{1,9})/.exec(fields.get('keep-alive') ?? '') ?? [];
  return {
    status,
    isKept: isKept && untilClose === 0,
    keptMs: seconds === undefined ? undefined : 1_000 * Number(seconds),
    length: hasNone ? 0 : isChunked ? undefined : Number(length ?? untilClose),
  };
}

function chunkSizeOf(line: string): number {
  const [, size] = CHUNK_SIZE.exec(line) ?? [];
  if (size === undefined) throw invalid('the size of a chunk');
  return Number.parseInt(size, 16);
}

function checkChunkEnd(line: string): void {
  if (line !== '') throw invalid('the end of a chunk');
}

/**
 * Checks a head or a line whose end has not arrived: if it is invalid, its end may never arrive.
 *
 * @throws Error if no valid one begins like this.
 */
function checkBegun(part: Part, text: string): void {
  const line = text.replace(/\r$/, '');
  if (part === 'size') chunkSizeOf(line);
  if (part === 'chunk end') checkChunkEnd(line);
  if (part === 'trailer' && !BEGUN_TRAILER.test(line)) throw invalid('a trailer');
  const padded = text + SHORTEST_HEAD.slice(text.length);
  if (part === 'head' && !BEGUN_HEAD.test(padded)) throw invalid('its head');
}

/** Reads the responses on a connection one after another, as they arrive; discards their bodies. */
export class ResponseReader {
  readonly #isHead: boolean;
  #part: Part = 'head';
  /** Bytes to discard before the next line. */
  #left = 0;
  /** The begin of a line or head whose end has not arrived. */
  #begun: Buffer | undefined;
  /** The last head, and its bytes: responses to the same request mostly have the same. */
  #head: ResponseHead | undefined;
  #last = Buffer.alloc(0);

  /** @param method of the requests */
  constructor(method: string) {
    this.#isHead = method === 'HEAD';
  }

  /**
   * Reads bytes, which may change later. Returns the head of a response once all of it has arrived.
   *
   * @throws Error if it does not follow the protocol.
   */
  read(arrived: Buffer): ResponseHead | undefined {
    const bytes = this.#begun === undefined ? arrived : Buffer.concat([this.#begun, arrived]);
    this.#begun = undefined;
    let at = 0;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const discarded = Math.min(this.#left, bytes.length - at);
        at += discarded;
        this.#left -= discarded;
        if (this.#left === 0) this.#part = this.#part === 'chunk' ? 'chunk end' : 'nothing';
      } else if (this.#part === 'head' && this.#isLast(bytes, at)) {
        at += this.#last.length;
        this.#follow(this.#head);
      } else if (this.#part === 'head' && EMPTY_LINE.has(bytes[at])) {
        // Some servers end a body with an empty line that its length does not count.
        at += 1;
      } else {
        const ending = this.#part === 'head' ? END_OF_HEAD : END_OF_LINE;
        const end = bytes.indexOf(ending, at, 'latin1');
        if ((end < 0 ? bytes.length : end) - at > maxHeaderSize) throw invalid('its size');
        if (end < 0) {
          checkBegun(this.#part, bytes.toString('latin1', at));
          this.#begun = Buffer.from(bytes.subarray(at));
          return undefined;
        }
        const next = end + ending.length;
        if (this.#part === 'head') this.#last = Buffer.from(bytes.subarray(at, next));
        this.#take(bytes.toString('latin1', at, end));
        at = next;
      }
      if (this.#part !== 'nothing') continue;
      this.#part = 'head';
      const head = this.#head;
      // What nobody asked for may be the begin of an answer to the next request.
      return head && at < bytes.length ? { ...head, isKept: false } : head;
    }
    return undefined;
  }

  /** The response whose body ends with the connection. */
  get endless(): ResponseHead | undefined {
    return this.#left === Number.POSITIVE_INFINITY ? this.#head : undefined;
  }

  /** Takes a head or a line, without its end. */
  #take(text: string): void {
    switch (this.#part) {
      case 'head':
        this.#head = headOf(text, this.#isHead);
        this.#follow(this.#head);
        break;
      case 'size':
        this.#left = chunkSizeOf(text);
        this.#part = this.#left === 0 ? 'trailer' : 'chunk';
        break;
      case 'chunk end':
        checkChunkEnd(text);
        this.#part = 'size';
        break;
      case 'trailer':
        if (!TRAILER.test(text)) throw invalid('a trailer');
        if (text === '') this.#part = 'nothing';
    }
  }

  #isLast(bytes: Buffer, at: number): boolean {
    const { length } = this.#last;
    return length > 0 && this.#last.equals(bytes.subarray(at, at + length));
  }

  /** Sets what follows a head. */
  #follow(head: ResponseHead | undefined): void {
    // After an interim response comes another head.
    if (head === undefined || head.status < 200) return;
    const { length } = head;
    this.#left = length ?? 0;
    this.#part = length === undefined ? 'size' : length === 0 ? 'nothing' : 'body';
  }
}
