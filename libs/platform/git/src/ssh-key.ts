import { createPrivateKey, type KeyObject, sign as signWithCallback, type SignKeyObjectInput } from 'node:crypto';
import { promisify } from 'node:util';
import { GitFailure } from './git-failure.js';

/** A private key for SSH in the memory of this process. Buffers are as RFC 4253 and RFC 8332 define them. */
export interface SshKey {
  readonly publicKey: Buffer;
  /** Flags of SIGN_REQUEST of the agent protocol. Null: the key cannot sign like that. */
  sign(data: Buffer, flags: number): Promise<Buffer | null>;
}

/** Outside of the event loop: a large key takes some hundred milliseconds. */
const sign = promisify<string | null, Buffer, KeyObject | SignKeyObjectInput, Buffer>(signWithCallback);
/** Of RSA, the most that OpenSSL verifies. */
const MAX_MODULUS_BITS = 16_384;
/** Characters; a key of this size has 13,000. */
const MAX_TEXT = 16_384;
/** The library searches the last line in a time that grows with the square of this number. */
const MAX_HYPHENS = 64;

const RSA_SHA2_256 = 2;
const RSA_SHA2_512 = 4;
const CURVE_HASHES = new Map([
  ['nistp256', 'sha256'],
  ['nistp384', 'sha384'],
  ['nistp521', 'sha512'],
]);

/** Reads a key in a format of OpenSSH or OpenSSL. Rejects with a GitFailure, also if it has a passphrase. */
export async function readSshKey(text: string): Promise<SshKey> {
  // Few executions need it.
  const { default: sshpk } = await import('sshpk');
  try {
    if (text.length > MAX_TEXT || text.includes('-'.repeat(MAX_HYPHENS + 1))) throw new Error('The key is too long.');
    const parsed = sshpk.parsePrivateKey(`${text.replaceAll('\r\n', '\n').trim()}\n`, 'auto');
    const { type, curve = '' } = parsed;
    if (type === 'rsa') assertProportionate(parsed.parts);
    const key = type === 'ed25519' ? ed25519Key(parsed.parts) : createPrivateKey(parsed.toString('pkcs8'));
    return {
      publicKey: parsed.toPublic().toBuffer('rfc4253'),
      sign: (data, flags) => signatureOf(key, type, curve, data, flags),
    };
  } catch {
    // Its own message could repeat a part of the key.
    throw new GitFailure(
      'authentication',
      'The secret of the repository is not a private key for SSH, or the key has a passphrase.',
    );
  }
}

interface KeyPart {
  readonly name: string;
  readonly data: Buffer;
}

/** OpenSSL signs with exponents of any length: the time of a signature grows with them. */
function assertProportionate(parts: readonly KeyPart[]): void {
  const bytesOf = (name: string): number => parts.find((part) => part.name === name)?.data.length ?? 0;
  const [n, p, q] = [bytesOf('n'), bytesOf('p'), bytesOf('q')];
  const isProportionate =
    // Each number can begin with a zero.
    n <= MAX_MODULUS_BITS / 8 + 1 &&
    p + q <= n + 2 &&
    bytesOf('dmodp') <= p + 1 &&
    bytesOf('dmodq') <= q + 1 &&
    parts.every(({ data }) => data.length <= n + 1);
  if (!isProportionate) throw new Error('A number of the key is too long.');
}

/** The form in which the library writes these keys is not the one that Node.js reads. */
function ed25519Key(parts: readonly KeyPart[]): KeyObject {
  const part = (name: string): string => parts.find((one) => one.name === name)?.data.toString('base64url') ?? '';
  return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d: part('k'), x: part('A') }, format: 'jwk' });
}

async function signatureOf(
  key: KeyObject,
  type: string,
  curve: string,
  data: Buffer,
  flags: number,
): Promise<Buffer | null> {
  switch (type) {
    case 'ed25519':
      return signature('ssh-ed25519', await sign(null, data, key));
    case 'rsa':
      if ((flags & RSA_SHA2_512) !== 0) return signature('rsa-sha2-512', await sign('sha512', data, key));
      if ((flags & RSA_SHA2_256) !== 0) return signature('rsa-sha2-256', await sign('sha256', data, key));
      return signature('ssh-rsa', await sign('sha1', data, key));
    case 'ecdsa': {
      const hash = CURVE_HASHES.get(curve);
      if (hash === undefined) return null;
      const numbers = await sign(hash, data, { key, dsaEncoding: 'ieee-p1363' });
      const half = numbers.length / 2;
      const parts = [numbers.subarray(0, half), numbers.subarray(half)];
      return signature(`ecdsa-sha2-${curve}`, Buffer.concat(parts.map((part) => sshString(positiveNumber(part)))));
    }
    default:
      return null;
  }
}

const signature = (algorithm: string, bytes: Buffer): Buffer =>
  Buffer.concat([sshString(Buffer.from(algorithm)), sshString(bytes)]);

export function sshString(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Without zeros at the beginning, except for one before a byte that would make the number negative. */
function positiveNumber(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const rest = first === -1 ? Buffer.alloc(0) : bytes.subarray(first);
  return (rest[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), rest]) : rest;
}
