import { describe, expect, test } from 'vitest';
import { type AddressedRequest, addressKey } from '../../../src/integrations/http.ts';

/** A request over a connection from this address, with these proxies before it. */
function request(remoteAddress: string | undefined, forwarded?: string | string[]) {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return { socket: { remoteAddress }, headers };
}

describe('the key of an address', () => {
  test.each([
    ['IPv4', '192.0.2.1', '192.0.2.1'],
    ['IPv4 with a port', '192.0.2.1:4711', '192.0.2.1'],
    ['IPv4 with spaces around', ' 192.0.2.1\t', '192.0.2.1'],
    ['full IPv6', '2001:0db8:0001:0002:0003:0004:0005:0006', '2001:db8:1:2::/64'],
    ['IPv6 in upper case', '2001:DB8:A:B:C:D:E:F', '2001:db8:a:b::/64'],
    ['IPv6 with zeros left out at the end', '2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['IPv6 with zeros left out at the start', '::1', '0:0:0:0::/64'],
    ['IPv6 with zeros left out in the network', '2001:db8::1', '2001:db8:0:0::/64'],
    ['IPv6 with zeros left out across its border', '2001:db8:1::5:6', '2001:db8:1:0::/64'],
    ['IPv6 with one group left out', '2001:db8:1:2:3::5:6', '2001:db8:1:2::/64'],
    ['no address', '::', '0:0:0:0::/64'],
    ['IPv6 with a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['IPv6 in brackets', '[2001:db8:1:2::3]', '2001:db8:1:2::/64'],
    ['IPv6 in brackets with a port', '[2001:db8:1:2::3]:443', '2001:db8:1:2::/64'],
    ['IPv6 with a zone, in brackets', '[fe80::1%25eth0]:80', 'fe80:0:0:0::/64'],
    ['mapped IPv4', '::ffff:192.0.2.1', '192.0.2.1'],
    ['mapped IPv4 in upper case', '::FFFF:192.0.2.1', '192.0.2.1'],
    ['mapped IPv4 in hexadecimal', '::ffff:c000:201', '192.0.2.1'],
    ['mapped IPv4 in full', '0:0:0:0:0:ffff:c000:0201', '192.0.2.1'],
    ['mapped IPv4 in brackets with a port', '[::ffff:192.0.2.1]:443', '192.0.2.1'],
    ['IPv4 at the end of another network', '64:ff9b:1:2:3:4:192.0.2.1', '64:ff9b:1:2::/64'],
    ['IPv4-compatible IPv6, which is no IPv4', '::192.0.2.1', '0:0:0:0::/64'],
    ['nothing', '', 'unknown'],
    ['no text', undefined, 'unknown'],
    ['words', 'unknown', 'unknown'],
    ['an obfuscated node of RFC 7239', '_hidden', 'unknown'],
    ['a byte above 255', '192.0.2.256', 'unknown'],
    ['leading zeros, which some read as octal', '192.0.2.010', 'unknown'],
    ['three bytes', '192.0.2', 'unknown'],
    ['IPv4 with a zone', '192.0.2.1%eth0', 'unknown'],
    ['nine groups', '1:2:3:4:5:6:7:8:9', 'unknown'],
    ['two gaps', '1::2::3', 'unknown'],
    ['an open bracket', '[2001:db8::1', 'unknown'],
    ['a port that is none', '192.0.2.1:http', 'unknown'],
    ['a network', '192.0.2.0/24', 'unknown'],
    ['a very long text', '1'.repeat(100_000), 'unknown'],
    ['another language', '１９２.0.2.1', 'unknown'],
  ])('%s', (_, address, key) => {
    expect(addressKey()(address)).toBe(key);
    expect(addressKey()(request(address))).toBe(key);
  });

  test.each([
    [1, '8000::/1'],
    [7, 'fe00::/7'],
    [16, 'ffff::/16'],
    [33, 'ffff:ffff:8000::/33'],
    [48, 'ffff:ffff:ffff::/48'],
    [56, 'ffff:ffff:ffff:ff00::/56'],
    [112, 'ffff:ffff:ffff:ffff:ffff:ffff:ffff::/112'],
    [127, 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127'],
    [128, 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128'],
  ])('has %i bits of an IPv6 address', (ipv6Prefix, key) => {
    const address = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff';
    expect(addressKey({ ipv6Prefix })(address)).toBe(key);
    expect(addressKey({ ipv6Prefix })('::ffff:192.0.2.1')).toBe('192.0.2.1');
  });

  test('has no part of a zone, even one that looks like an address', () => {
    const key = addressKey({ ipv6Prefix: 128 });
    expect(key('fe80::1%192.0.2.1')).toBe('fe80:0:0:0:0:0:0:1/128');
  });

  test('has all bits of IPv6 groups and none beyond, whatever the prefix', () => {
    const bits = 'a5c3'.repeat(8);
    const address = (bits.match(/.{4}/g) ?? []).join(':');
    const value = BigInt(`0x${bits}`);
    for (let prefix = 1; prefix <= 128; prefix++) {
      const [network = '', length] = addressKey({ ipv6Prefix: prefix })(address).split('/');
      const groups = network.replace(/::$/, '').split(':');
      const all = [...groups, ...Array(8 - groups.length).fill('0')];
      const got = BigInt(`0x${all.map((group) => group.padStart(4, '0')).join('')}`);
      const spare = BigInt(128 - prefix);
      expect([got, length]).toEqual([(value >> spare) << spare, `${prefix}`]);
    }
  });
});

describe('without trusted proxies', () => {
  test('X-Forwarded-For is ignored', () => {
    const key = addressKey();
    expect(key(request('192.0.2.1', '198.51.100.9'))).toBe('192.0.2.1');
    expect(key(request('127.0.0.1', '198.51.100.9'))).toBe('127.0.0.1');
    expect(addressKey({ trustedProxies: [] })(request('127.0.0.1', '1.1.1.1'))).toBe('127.0.0.1');
  });

  test("the framework's own address comes first, if it is one", () => {
    const key = addressKey();
    expect(key({ ...request('192.0.2.1'), ip: '2001:db8::1' })).toBe('2001:db8:0:0::/64');
    expect(key({ ...request('192.0.2.1'), ip: 'nonsense' })).toBe('192.0.2.1');
    expect(key({ ip: undefined })).toBe('unknown');
  });

  test('a context of hono has the request of Node.js in it', () => {
    const key = addressKey();
    expect(key({ env: { incoming: request('192.0.2.1') } })).toBe('192.0.2.1');
    expect(key({ env: { incoming: request(undefined) } })).toBe('unknown');
  });

  test.each([{}, undefined, null, { incoming: null }, { incoming: '192.0.2.1' }])(
    'a context of hono without @hono/node-server is refused: its env is %j',
    (env) => {
      for (const options of [{}, { trustedProxies: ['10.0.0.1'] }]) {
        expect(() => addressKey(options)({ env })).toThrow(
          /^addressKey finds no address in a hono context without @hono\/node-server: pass a key/,
        );
      }
    },
  );

  test.each([
    [new Request('http://localhost/'), /^addressKey needs a request of .*, got an object without/],
    [{}, /^addressKey needs a request of .*, got an object without/],
    [[], /^addressKey needs a request of .*, got an array without/],
    [7, /^the address must be a string, got 7/],
    [() => '192.0.2.1', /^the address must be a string, got a function/],
  ])('what has no place for an address is refused: %o', (source, message) => {
    expect(() => addressKey()(source as never)).toThrow(TypeError);
    expect(() => addressKey()(source as never)).toThrow(message);
  });
});

describe('behind trusted proxies', () => {
  const PROXIES = ['10.0.0.0/8', '192.0.2.7', 'fd00::/8', '2001:db8:ffff::1', '::1'];
  test.each([
    ['a client without a proxy, who forges', '198.51.100.1', '10.0.0.1', '198.51.100.1'],
    ['one proxy', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['two proxies', '10.0.0.1', '198.51.100.1, 10.1.2.3', '198.51.100.1'],
    ['a proxy with a single address', '192.0.2.7', '198.51.100.1', '198.51.100.1'],
    ['its neighbour, which is none', '192.0.2.8', '198.51.100.1', '192.0.2.8'],
    ['a forged address before the real one', '10.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['a forged proxy before the real one', '10.0.0.1', '10.9.9.9, 198.51.100.1', '198.51.100.1'],
    ['a mapped proxy', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['IPv6 proxies', 'fd00::1', '2001:db8:1:2::3, 2001:DB8:FFFF:0::1', '2001:db8:1:2::/64'],
    ['IPv6 in brackets with a port', '::1', '[2001:db8:1:2::3]:443', '2001:db8:1:2::/64'],
    ['IPv4 with a port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['proxies only: the first of them', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['no field', '10.0.0.1', undefined, '10.0.0.1'],
    ['an empty field', '10.0.0.1', '', '10.0.0.1'],
    ['nonsense, which counts as the proxy', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['nonsense behind a proxy', '10.0.0.1', 'forged, 10.0.0.2', '10.0.0.2'],
    ['nonsense that nobody gets to', '10.0.0.1', 'forged, 198.51.100.1', '198.51.100.1'],
    ['an entry left empty', '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
    ['several fields', '10.0.0.1', ['1.1.1.1', '198.51.100.1'], '198.51.100.1'],
    ['no connection', undefined, '198.51.100.1', 'unknown'],
  ])('%s', (_, peer, forwarded, key) => {
    expect(addressKey({ trustedProxies: PROXIES })(request(peer, forwarded))).toBe(key);
  });

  test("the framework's own address counts for nothing: it may believe others", () => {
    const forged: AddressedRequest = { ...request('198.51.100.1', '1.1.1.1'), ip: '1.1.1.1' };
    expect(addressKey({ trustedProxies: PROXIES })(forged)).toBe('198.51.100.1');
  });

  test.each([
    ['0.0.0.0/0', '203.0.113.1', true],
    ['10.0.0.0/9', '10.127.255.255', true],
    ['10.0.0.0/9', '10.128.0.0', false],
    ['10.255.255.255/9', '10.128.0.0', true],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '11.1.2.3', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '10.0.0.1', false],
  ])('%s has %s: %s', (network, peer, isTrusted) => {
    const key = addressKey({ trustedProxies: [network], ipv6Prefix: 128 });
    const wanted = isTrusted ? '198.51.100.1' : key(peer);
    expect(key(request(peer, '198.51.100.1'))).toBe(wanted);
  });
});

test.each<readonly [object, string]>([
  [{ ipv6Prefix: 0 }, 'ipv6Prefix must be an integer at least 1 and at most 128, got 0'],
  [{ ipv6Prefix: 129 }, 'ipv6Prefix must be an integer at least 1 and at most 128, got 129'],
  [{ trustedProxies: '10.0.0.0/8' }, 'trustedProxies must be an array, got "10.0.0.0/8"'],
  ...['loopback', '10.0.0.0/33', '10.0.0.0/', '::/129', '::ffff:10.0.0.0/64', 7].map(
    (network) =>
      [
        { trustedProxies: [network] },
        `trustedProxies must be addresses or networks such as "10.0.0.0/8", got ${JSON.stringify(network)}`,
      ] as const,
  ),
  [{ trustProxies: [] }, 'options has no option "trustProxies"; did you mean trustedProxies?'],
])('%j is refused: %s', (options, message) => {
  expect(() => addressKey(options as never)).toThrow(message);
});
