/** The package brings no types of its own. */
declare module 'siphash24' {
  /** SipHash-2-4 of `data` under a key of 16 bytes: 8 bytes, written to `out`. */
  export default function siphash24(
    data: Uint8Array,
    key: Uint8Array,
    out: Uint8Array,
    noAssert: true,
  ): Uint8Array;
}
