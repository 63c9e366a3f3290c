import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SSH_FRAMES, sshClient } from './ssh-client.js';

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'headrace-ssh-'))));
afterEach(() => rmSync(directory, { recursive: true }));

const frame = (kind: number, content: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt8(kind);
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
};

it('prints many frames that arrive together to a slow reader, and nothing else', async () => {
  const output = Buffer.alloc(1_000, 'x');
  const server = createServer((connection) => {
    connection.once('data', () =>
      connection.end(
        Buffer.concat([
          frame(SSH_FRAMES.accepted, Buffer.alloc(0)),
          ...Array.from({ length: 5_000 }, () => frame(SSH_FRAMES.output, output)),
          frame(SSH_FRAMES.exit, Buffer.from([0])),
        ]),
      ),
    );
  }).listen(join(directory, 'socket'));
  await once(server, 'listening');
  try {
    const program = join(directory, 'ssh.cjs');
    writeFileSync(program, sshClient('socket'));
    const client = spawn(process.execPath, [program, 'git@example.com', 'git-upload-pack app']);
    const ended = once(client, 'close');
    const errors = text(client.stderr);
    // Without a reader, the client has written what the pipe holds, and waits.
    await once(client.stdout, 'readable');
    const [printed] = await Promise.all([buffer(client.stdout), errors]);
    expect(await ended).toEqual([0, null]);
    expect(printed.length).toBe(5_000 * output.length);
    expect(await errors).toBe('');
  } finally {
    server.close();
  }
});
