import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSshAgent } from './ssh-agent.js';
import { readSshKey } from './ssh-key.js';

const run = promisify(execFile);
const missing = spawnSync('ssh-add', ['-V']).error ? ' (skipped: the OpenSSH client is not installed)' : null;
let root: string;
let count = 0;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'headrace-ssh-agent-test-'));
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

function makeKey(...options: string[]): string {
  const path = join(root, `key${count++}`);
  execFileSync('ssh-keygen', ['-q', '-f', path, '-C', 'test', '-N', '', ...options]);
  return path;
}

async function withAgent<T>(path: string, work: (socket: string) => Promise<T>): Promise<T> {
  const socket = `${path}.sock`;
  const end = await startSshAgent(socket, await readSshKey(readFileSync(path, 'utf8')));
  return work(socket).finally(end);
}

describe.skipIf(missing !== null)(`the agent for ssh${missing ?? ''}`, () => {
  it.each([
    ['-t', 'ed25519'],
    ['-t', 'rsa', '-b', '2048'],
    ['-t', 'rsa', '-b', '2048', '-m', 'PEM'],
    ['-t', 'rsa', '-b', '2048', '-m', 'PKCS8'],
    ['-t', 'ecdsa', '-b', '256'],
    ['-t', 'ecdsa', '-b', '384', '-m', 'PEM'],
    ['-t', 'ecdsa', '-b', '521', '-m', 'PKCS8'],
  ])('signs as OpenSSH verifies it: %s %s %s %s %s %s', async (...options) => {
    const path = makeKey(...options.filter((option) => option !== undefined));
    await withAgent(path, async (socket) => {
      const env = { PATH: process.env['PATH'], SSH_AUTH_SOCK: socket };
      expect((await run('ssh-add', ['-L'], { env })).stdout.split(' ')[1]?.trim()).toBe(
        readFileSync(`${path}.pub`, 'utf8').split(' ')[1],
      );
      // Signatures of ECDSA have numbers of different lengths.
      for (let time = 0; time < 8; time += 1) await run('ssh-add', ['-T', `${path}.pub`], { env });
    });
  });

  it('signs with its own key only, and adds none', async () => {
    const path = makeKey('-t', 'ed25519');
    const other = makeKey('-t', 'ed25519');
    await withAgent(path, async (socket) => {
      const env = { PATH: process.env['PATH'], SSH_AUTH_SOCK: socket };
      await expect(run('ssh-add', ['-T', `${other}.pub`], { env })).rejects.toThrow('agent refused operation');
      await expect(run('ssh-add', ['-q', other], { env })).rejects.toThrow('agent refused operation');
    });
  });

  it('survives messages that are broken, and closes the connection after one that is too long', async () => {
    await withAgent(makeKey('-t', 'ed25519'), async (socket) => {
      const ask = (bytes: number[]): Promise<string> =>
        new Promise((resolve) => {
          const received: Buffer[] = [];
          const connection = createConnection(socket);
          connection.on('data', (chunk) => received.push(chunk));
          connection.on('close', () => resolve(Buffer.concat(received).toString('hex')));
          connection.end(Buffer.from(bytes));
        });
      const failure = '0000000105';
      expect(await ask([0, 0, 0, 1, 13])).toBe(failure);
      expect(await ask([0, 0, 0, 6, 13, 255, 255, 255, 255, 0])).toBe(failure);
      expect(await ask([0, 0, 0, 3, 27, 1, 2, 0, 0, 0, 1, 99])).toBe(failure + failure);
      expect(await ask([0, 4, 0, 1])).toBe('');
      expect(await ask([0, 0, 0, 0])).toBe('');
    });
  });
});

it('reads a key of OpenSSL, and line ends of Windows', async () => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const key = await readSshKey(pem.replaceAll('\n', '\r\n'));
  expect(key.publicKey.subarray(4, 15).toString()).toBe('ssh-ed25519');
  expect((await key.sign(Buffer.from('data'), 0))?.length).toBe(83);
});

it('explains what is not a key, and does not repeat it', async () => {
  const encrypted = generateKeyPairSync('ed25519').privateKey.export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'secret',
  });
  for (const text of [
    '',
    'ghp_token',
    '-----BEGIN OPENSSH PRIVATE KEY-----\nbm90LWEta2V5\n-----END OPENSSH PRIVATE KEY-----',
    encrypted,
  ])
    await expect(readSshKey(text.toString())).rejects.toThrow(
      'The secret of the repository is not a private key for SSH, or the key has a passphrase.',
    );
});

describe('a key of RSA whose numbers are longer than its size needs', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = privateKey.export({ format: 'jwk' });
  const numberOf = (text = ''): bigint => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
  const textOf = (number: bigint): string => {
    const digits = number.toString(16);
    return Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex').toString('base64url');
  };
  /** The same exponent, longer by a multiple of what it is reduced by: signatures remain valid. */
  const longer = (name: 'dp' | 'dq', prime: 'p' | 'q', bytes: number): JsonWebKey => ({
    ...jwk,
    [name]: textOf(numberOf(jwk[name]) + ((1n << BigInt(bytes * 8)) - 1n) * (numberOf(jwk[prime]) - 1n)),
  });
  const pem = (key: JsonWebKey): string =>
    createPrivateKey({ key, format: 'jwk' }).export({ type: 'pkcs1', format: 'pem' }).toString();

  it.each([
    ['an exponent', longer('dp', 'p', 2_000)],
    ['the other exponent', longer('dq', 'q', 2_000)],
    ['an exponent that makes the text too long', longer('dp', 'p', 19_000)],
    ['the private exponent', { ...jwk, d: textOf(numberOf(jwk.d) << 8_000n) }],
    ['a coefficient', { ...jwk, qi: textOf(numberOf(jwk.qi) << 8_000n) }],
  ])('is rejected: %s', async (_name, key) => {
    await expect(readSshKey(pem(key))).rejects.toThrow('is not a private key for SSH');
  });
});

it('signs outside of the event loop, in the order of the requests', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 4096 });
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
  const key = await readSshKey(pem);
  const path = join(root, 'order.sock');
  const end = await startSshAgent(path, key);
  try {
    const string = (bytes: Buffer): Buffer => Buffer.concat([uint32(bytes.length), bytes]);
    const request = (data: string, flags: number): Buffer =>
      string(Buffer.concat([Buffer.from([13]), string(key.publicKey), string(Buffer.from(data)), uint32(flags)]));
    const received: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      const connection = createConnection(path);
      connection.on('error', reject);
      connection.on('data', (chunk) => received.push(chunk));
      connection.on('close', () => resolve());
      connection.end(Buffer.concat([request('a', 2), string(Buffer.from([99])), request('b', 4)]));
    });
    const expected = await Promise.all([key.sign(Buffer.from('a'), 2), key.sign(Buffer.from('b'), 4)]);
    const answers = expected.map((signature) =>
      Buffer.concat([Buffer.from([14]), string(signature ?? Buffer.alloc(0))]),
    );
    const [first = Buffer.alloc(0), second = Buffer.alloc(0)] = answers;
    expect(Buffer.concat(received)).toEqual(Buffer.concat([string(first), string(Buffer.from([5])), string(second)]));
  } finally {
    end();
  }
});

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
