import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
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
  expect(key.sign(Buffer.from('data'), 0)?.length).toBe(83);
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
