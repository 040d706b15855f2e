import { errors } from 'undici';
import { describe, expect, it } from 'vitest';
import { errorKind } from '../../src/load/measure/errors.ts';

describe('errorKind', () => {
  it.each([
    ['ECONNREFUSED', 'connection refused'],
    ['ECONNRESET', 'connection reset'],
    ['UND_ERR_SOCKET', 'connection closed'],
    ['ENOTFOUND', 'host not found'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'TLS error'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'TLS error'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'TLS error'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'TLS error'],
    ['EMFILE', 'too many open files'],
    ['SOMETHING_NEW', 'other error'],
    [undefined, 'other error'],
  ])('sorts %s under %s', (code, kind) => {
    expect(errorKind(Object.assign(new Error('message'), { code }))).toBe(kind);
  });

  it('recognizes a response that is not HTTP', () => {
    expect(errorKind(new errors.HTTPParserError('Expected HTTP/'))).toBe('bad response');
  });
});
