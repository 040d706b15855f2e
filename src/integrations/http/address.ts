import { isIP } from 'node:net';

/** An IPv4 address as text, or the eight groups of an IPv6 address. */
export type Address = string | readonly number[];

/** Longer than any address with zone and port. */
const MAX_LENGTH = 128;
const GROUPS = 8;
const GROUP_BITS = 16;

const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/;
const IPV4_WITH_PORT = /^([\d.]+):\d{1,5}$/;
/** The dotted end of an IPv6 address, such as `::ffff:192.0.2.1`. */
const DOTTED_END = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

/**
 * Parses an address as written by sockets and proxies, with or without brackets, port and zone.
 * IPv4 addresses mapped to IPv6 become IPv4. Undefined for anything else.
 */
export function addressOf(text: unknown): Address | undefined {
  if (typeof text !== 'string' || text.length > MAX_LENGTH) return undefined;
  const trimmed = text.trim();
  const host = (BRACKETED.exec(trimmed) ?? IPV4_WITH_PORT.exec(trimmed))?.[1] ?? trimmed;
  switch (isIP(host)) {
    case 4:
      return host;
    case 6:
      return unmapped(groupsOf(host.replace(/%.*$/, '')));
    default:
      return undefined;
  }
}

function groupsIn(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** The groups of a valid IPv6 address without a zone. */
function groupsOf(address: string): number[] {
  const hexadecimal = address.replace(DOTTED_END, (_, ...bytes: string[]) => {
    const [a, b, c, d] = bytes.map(Number) as [number, number, number, number];
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = '', tail] = hexadecimal.split('::');
  const first = groupsIn(head);
  if (tail === undefined) return first;
  const last = groupsIn(tail);
  const zeros = new Array<number>(GROUPS - first.length - last.length).fill(0);
  return [...first, ...zeros, ...last];
}

function unmapped(groups: readonly number[]): Address {
  const [high = 0, low = 0] = groups.slice(-2);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}` : groups;
}

/** Formats an address without abbreviations. */
export function textOf(address: Address): string {
  return typeof address === 'string' ? address : hexadecimal(address);
}

function hexadecimal(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(':');
}

/** Formats an IPv4 address, or the network of an IPv6 address. */
export function networkOf(address: Address, ipv6Prefix: number): string {
  if (typeof address === 'string') return address;
  const count = Math.ceil(ipv6Prefix / GROUP_BITS);
  const spare = count * GROUP_BITS - ipv6Prefix;
  const kept = address.slice(0, count);
  const network = kept.map((group, i) => (i === count - 1 ? (group >> spare) << spare : group));
  return `${hexadecimal(network)}${count < GROUPS ? '::' : ''}/${ipv6Prefix}`;
}
