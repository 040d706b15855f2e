/** Number of slots in a cluster. */
const SLOTS = 16_384;
/** CRC16/XMODEM, as required by the cluster specification. */
const POLYNOMIAL = 0x1021;

const encoder = /* @__PURE__ */ new TextEncoder();

/** The hashed part of a key: the part in braces, if any. */
function hashed(key: string): string {
  const start = key.indexOf('{');
  if (start === -1) return key;
  const end = key.indexOf('}', start + 1);
  return end > start + 1 ? key.slice(start + 1, end) : key;
}

/** The slot of a key in a Redis cluster. */
export function clusterSlot(key: string): number {
  let crc = 0;
  for (const byte of encoder.encode(hashed(key))) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 0x8000 ? ((crc << 1) ^ POLYNOMIAL) & 0xffff : crc << 1;
    }
  }
  return crc % SLOTS;
}
