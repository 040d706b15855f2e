import { checkOptions } from '../../known-options.ts';
import { checkNumber } from '../../options.ts';
import { type Address, addressOf, networkOf } from './address.ts';
import { TrustedProxies } from './trusted-proxies.ts';

/** Options of {@link addressKey}. */
export interface AddressKeyOptions {
  /**
   * The bits of an IPv6 address that name a client, which often has all addresses of a /64: an
   * integer from 1 to 128. Default 64.
   */
  readonly ipv6Prefix?: number;
  /**
   * The proxies in front of this server, as addresses or networks: `['10.0.0.0/8', 'fd00::/8']`. Only
   * what these append to `X-Forwarded-For` is believed. Default: the framework's own `request.ip`,
   * which follows `trust proxy` of express and `trustProxy` of fastify, or else the connection's
   * address.
   */
  readonly trustedProxies?: readonly string[];
}

/** What {@link addressKey} reads of a request of node:http, express or fastify. */
export interface AddressedRequest {
  /** The client's address, as the framework found it. */
  readonly ip?: string | undefined;
  /** The connection. */
  readonly socket?:
    | {
        /** The address of its other end. */
        readonly remoteAddress?: string | undefined;
      }
    | null
    | undefined;
  /** The request's headers, with lower-case names. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
}

/** What {@link addressKey} reads of a context of hono that `@hono/node-server` serves. */
export interface AddressedContext {
  /** Has the request of Node.js as `incoming`. */
  readonly env: unknown;
}

/** The key of requests whose address is unknown: they have one limit in common. */
const UNKNOWN = 'unknown';

function requestOf(source: AddressedRequest | AddressedContext): AddressedRequest {
  if (!('env' in source)) return source;
  return (source.env as { readonly incoming?: AddressedRequest } | undefined)?.incoming ?? {};
}

function clientOf(
  { ip, socket, headers }: AddressedRequest,
  proxies: TrustedProxies | undefined,
): Address | undefined {
  const peer = addressOf(socket?.remoteAddress);
  if (proxies === undefined) return addressOf(ip) ?? peer;
  const forwarded = headers?.['x-forwarded-for'];
  return peer && proxies.clientOf(peer, String(forwarded ?? ''));
}

/**
 * Returns a function that names the client of a request by its address, for the option `key`. IPv6
 * addresses are cut to a network, such as `2001:db8:0:1::/64`; an IPv4 address mapped to IPv6 is
 * IPv4. It never throws: a request whose address is missing or makes no sense is `'unknown'`.
 *
 * The function also takes an address as text, if you know better where to find it.
 *
 * @example
 * ```ts
 * import { addressKey } from 'zerotime/http';
 *
 * const key = addressKey({ trustedProxies: ['10.0.0.0/8'] });
 * key('2001:DB8::1'); // '2001:db8:0:0::/64'
 * key('[::ffff:192.0.2.1]:443'); // '192.0.2.1'
 * ```
 * @throws TypeError, RangeError for an invalid option, naming it.
 */
export function addressKey(
  options: AddressKeyOptions = {},
): (source: AddressedRequest | AddressedContext | string | undefined) => string {
  const { ipv6Prefix = 64, trustedProxies } = checkOptions(options, {
    ipv6Prefix: true,
    trustedProxies: true,
  });
  checkNumber('ipv6Prefix', ipv6Prefix, { min: 1, max: 128, integer: true });
  const proxies = trustedProxies === undefined ? undefined : new TrustedProxies(trustedProxies);
  return (source) => {
    const isRequest = typeof source === 'object' && source !== null;
    const client = isRequest ? clientOf(requestOf(source), proxies) : addressOf(source);
    return client === undefined ? UNKNOWN : networkOf(client, ipv6Prefix);
  };
}
