/**
 * Encodes a binary as printable ASCII: a byte below 87 is the character 40 higher, and a prefix `!` or
 * `"` adds 87 or 174. It takes 60 % of hexadecimal; gzip finds repetitions, which base64 would hide.
 */
export function textOf(binary) {
  const character = (byte) => String.fromCharCode(40 + byte);
  const prefix = (times) => (times === 0 ? '' : String.fromCharCode(32 + times));
  return Array.from(binary, (byte) => prefix(Math.floor(byte / 87)) + character(byte % 87)).join(
    '',
  );
}
