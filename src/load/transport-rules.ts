import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

const NAME = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i;
const LONGEST_NAME = 253;

/** Whether a server can have this name in a TLS handshake. */
export function isServername(text: string): boolean {
  return NAME.test(text) && text.length <= LONGEST_NAME;
}

/** Whether a text may hold certificates or a key in PEM. */
export function isPem(text: string): boolean {
  return text.includes('-----BEGIN ');
}

/** @throws Error if OpenSSL can't use them, or if they don't belong together. */
export function checkCertificate(cert: string | undefined, key: string | undefined): void {
  createSecureContext({ cert, key });
}

/** @throws Error if there is no certificate in it. */
export function checkAuthorities(ca: string): void {
  // A context ignores authorities that it can't parse.
  new X509Certificate(ca);
}
