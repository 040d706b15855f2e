import { maxHeaderSize } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type ResponseHead, ResponseReader } from '../../src/load/send/http1.ts';
import { part, Random, SEED } from '../support/random.ts';

/** The heads of all responses in these pieces; each must end with the piece. */
function read(pieces: readonly string[], method = 'GET'): (ResponseHead | undefined)[] {
  const reader = new ResponseReader(method);
  return pieces.map((piece) => reader.read(Buffer.from(piece, 'latin1')));
}

const NO_RESPONSE = /does not match the HTTP\/1.1 protocol/;

/** The head of a response that arrives at once, and of the same byte by byte. */
function readEachWay(text: string, method?: string): (ResponseHead | undefined)[] {
  const whole = read([text], method);
  const single = read([...text], method);
  expect(single.slice(0, -1).every((head) => head === undefined)).toBe(true);
  return [whole.at(-1), single.at(-1)];
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;

describe('a response', () => {
  it.each([
    ['without a body', `${OK}Content-Length: 0\r\n\r\n`, {}],
    ['with a body', `${OK}content-length:\t5 \r\n\r\n12345`, { length: 5 }],
    ['with a body that looks like another', `${OK}content-length: 19\r\n\r\n${OK}\r\n`, {}],
    ['without a reason', 'HTTP/1.1 404\r\ncontent-length: 0\r\n\r\n', { status: 404 }],
    ['with any reason', 'HTTP/1.1 500 \xe4 b\r\ncontent-length: 0\r\n\r\n', { status: 500 }],
    ['with a reason that no text has', 'HTTP/1.1 200 \x01\x7f\r\ncontent-length: 0\r\n\r\n', {}],
    ['after empty lines', `\r\n\r\n${OK}content-length: 0\r\n\r\n`, {}],
    ['with zeros before its length', `${OK}content-length: 00000000000000000002\r\n\r\nab`, {}],
    ['without a coding', `${OK}transfer-encoding:\r\ncontent-length: 0\r\n\r\n`, {}],
    ['204', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204 }],
    ['304', 'HTTP/1.1 304 x\r\ncontent-length: 9\r\n\r\n', { status: 304, length: 0 }],
    ['with a field in two lines', `${OK}A: b\r\n c\r\ncontent-length:\r\n 3\r\n\r\nabc`, {}],
    [
      'after others',
      `HTTP/1.1 100 a\r\n\r\nHTTP/1.1 103 b\r\nA: b\r\n\r\n${OK}content-length: 0\r\n\r\n`,
      {},
    ],
    [
      'in chunks',
      `${CHUNKED}3\r\nabc\r\nA;x="y"\r\n0123456789\r\n0\r\n\r\n`,
      { length: undefined },
    ],
    ['with trailers', `${CHUNKED}1\r\na\r\n0\r\nA: b\r\nC: d\r\n\r\n`, {}],
    [
      'with zeros before the size of a chunk',
      `${CHUNKED}00000000000000001\r\na\r\n000\r\n\r\n`,
      {},
    ],
    ['with a trailer in two lines', `${CHUNKED}0\r\nA: b\r\n c\r\n\r\n`, {}],
    ['with an empty coding', `${OK}transfer-encoding: chunked,\r\n\r\n0\r\n\r\n`, {}],
    ['in chunks of another coding', `${OK}Transfer-Encoding: gzip, CHUNKED\r\n\r\n0\r\n\r\n`, {}],
    [
      'that ends the connection',
      `${OK}content-length: 0\r\nConnection: x, Close\r\n\r\n`,
      { isKept: false },
    ],
    ['1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', { isKept: false }],
    [
      '1.0 that does not',
      'HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n',
      {},
    ],
    [
      '1.0 that says both',
      'HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive, close\r\n\r\n',
      { isKept: false },
    ],
    [
      'with a time',
      `${OK}content-length: 0\r\nKeep-Alive: timeout=5, max=9\r\n\r\n`,
      { keptMs: 5_000 },
    ],
  ])('%s', (_how, text, wanted) => {
    for (const head of readEachWay(text)) {
      expect(head).toMatchObject({ status: 200, isKept: true, ...wanted });
    }
  });

  it('to HEAD has no body, whatever its length', () => {
    const text = `${OK}content-length: 5\r\n\r\n`;
    expect(readEachWay(text, 'HEAD')).toMatchObject([{ status: 200 }, { status: 200 }]);
    expect(read([text])).toEqual([undefined]);
  });

  it('follows another on the same connection', () => {
    const first = `${OK}content-length: 2\r\n\r\n`;
    const next = 'HTTP/1.1 503 no\r\ncontent-length: 0\r\n\r\n';
    const heads = read([first, 'ab', `${first}cd`, next, CHUNKED, '0\r\n\r\n']);
    expect(heads.map((head) => head?.status)).toEqual([undefined, 200, 200, 503, undefined, 200]);
  });

  it('after which more arrives ends the connection', () => {
    const [head] = read([`${OK}content-length: 0\r\n\r\n${OK}`]);
    expect(head).toMatchObject({ status: 200, isKept: false });
  });

  it.each([
    `${OK}\r\nabc`,
    `${OK}transfer-encoding: gzip\r\n\r\nabc`,
    `${OK}transfer-encoding: gzip chunked\r\n\r\nabc`,
    'HTTP/1.0 200 OK\r\n\r\n',
  ])('without an end ends with the connection: %j', (text) => {
    const reader = new ResponseReader('GET');
    expect(reader.endless).toBeUndefined();
    expect(reader.read(Buffer.from(text))).toBeUndefined();
    expect(reader.endless).toMatchObject({ status: 200, isKept: false });
  });
});

describe('what is no response', () => {
  const long = 'b'.repeat(maxHeaderSize);
  it.each([
    ['other text', 'this is not HTTP\r\n\r\n'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['a space before the colon', `${OK}name : value\r\n\r\n`],
    ['a control character', `${OK}A: b\0c\r\n\r\n`],
    ['a line feed alone', `${OK}A: b\nC: d\r\n\r\n`],
    ['a negative length', `${OK}content-length: -1\r\n\r\n`],
    ['a length that is no number', `${OK}content-length: 1e3\r\n\r\n`],
    ['two lengths', `${OK}content-length: 1\r\ncontent-length: 1\r\n\r\n`],
    ['a length and chunks', `${OK}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['a chunk of a negative size', `${CHUNKED}-1\r\n`],
    ['a control character in a trailer', `${CHUNKED}0\r\nA: \0\r\n\r\n`],
    ['a long head', `${OK}A: ${long}`],
    ['a long line', `${CHUNKED}1;${long}\r\n`],
  ])('is an error: %s', (_what, text) => {
    for (const pieces of [[text], [...text]]) expect(() => read(pieces)).toThrow(NO_RESPONSE);
  });
});

describe('what no response begins with is an error before its end arrives', () => {
  it.each([
    ['another protocol', 'HTTP/2'],
    ['a status that is no number', 'HTTP/1.1 2x'],
    ['a line feed alone after the status', 'HTTP/1.1 200 OK\n'],
    ['a line feed alone after a field', `${OK}A: b\n`],
    ['a line feed alone as the end', `${OK}A: b\r\n\n`],
    ['a carriage return alone', `${OK}A: b\rC`],
    ['a field without a colon', `${OK}no `],
    ['a control character', `${OK}A: b\0`],
    ['a chunk without a size', `${CHUNKED}x`],
    ['a line feed alone after a size', `${CHUNKED}1\n`],
    ['a chunk beyond its size', `${CHUNKED}1\r\nab`],
    ['a line feed alone after the last chunk', `${CHUNKED}0\r\n\n`],
    ['a trailer without a colon', `${CHUNKED}0\r\nno `],
  ])('%s', (_what, text) => {
    for (const pieces of [[text], [...text]]) expect(() => read(pieces)).toThrow(NO_RESPONSE);
    expect(read([...text].slice(0, -1)).every((head) => head === undefined)).toBe(true);
  });
});

/** A response with a random body, as it may be sent. */
function someResponse(random: Random, status: number): string {
  const body = Array.from({ length: random.below(40) }, () => random.pick(['\r\n', 'H', '0', '5']));
  const text = body.join('');
  const interim = random.below(4) === 0 ? 'HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n' : '';
  const head = `${interim}HTTP/1.1 ${status} x\r\nA: b\r\n`;
  if (random.below(2) === 0) return `${head}Content-Length: ${text.length}\r\n\r\n${text}`;
  let chunks = '';
  for (let at = 0; at < text.length; ) {
    const chunk = text.slice(at, at + 1 + random.below(20));
    chunks += `${chunk.length.toString(16)}${random.pick(['', ';a=b'])}\r\n${chunk}\r\n`;
    at += chunk.length;
  }
  const trailer = random.pick(['', 'T: u\r\n']);
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n${trailer}\r\n`;
}

it('finds the end of each response, wherever the network cuts them', () => {
  for (let run = 0; run < part(20_000, 500); run += 1) {
    const random = new Random(SEED + run);
    const reader = new ResponseReader('GET');
    for (const status of [200, 404, 201]) {
      const text = someResponse(random, status);
      for (let at = 0; at < text.length; ) {
        const piece = text.slice(at, at + 1 + random.below(random.pick([4, 200])));
        at += piece.length;
        const head = reader.read(Buffer.from(piece, 'latin1'));
        const wanted = at < text.length ? undefined : status;
        expect(head?.status, `seed ${random.seed}: ${JSON.stringify(text)}`).toBe(wanted);
      }
    }
  }
});
