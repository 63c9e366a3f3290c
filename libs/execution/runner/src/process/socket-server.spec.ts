import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it } from 'vitest';
import { SocketServer } from './socket-server.js';

const directory = mkdtempSync(join(tmpdir(), 'headrace-socket-server-'));
afterAll(() => rmSync(directory, { recursive: true }));

const start = (socket: string): Promise<SocketServer> =>
  SocketServer.start({ socket, maxConnections: 1, onConnection: (connection) => connection.end('answer') });

/** Replaces each socket that appears at the path by a link to a file, as fast as it can. */
const REPLACE = `
  const { lstatSync, renameSync, rmSync, symlinkSync } = require('node:fs');
  const { workerData: { socket, target, stop }, parentPort } = require('node:worker_threads');
  const link = socket + '.link';
  symlinkSync(target, link);
  parentPort.postMessage('ready');
  while (Atomics.load(stop, 0) === 0) {
    if (lstatSync(socket, { throwIfNoEntry: false })?.isSocket() !== true) continue;
    renameSync(link, socket);
    Atomics.add(stop, 1, 1);
    while (Atomics.load(stop, 0) === 0 && lstatSync(socket, { throwIfNoEntry: false }) !== undefined);
    symlinkSync(target, link);
  }`;

describe('a socket server', () => {
  it('answers a user who can enter the directory, and keeps the file mode mask of the process', async () => {
    const socket = join(directory, 'own.sock');
    const umask = process.umask();
    const server = await start(socket);
    expect(process.umask()).toBe(umask);
    expect(lstatSync(socket).mode & 0o777).toBe(0o666);
    const chunks: Buffer[] = [];
    for await (const chunk of connect(socket)) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe('answer');
    server.close();
  });

  it('changes no file that the agent puts in the place of its socket', async () => {
    const agent = join(directory, 'agent');
    mkdirSync(agent, { mode: 0o700 });
    const target = join(directory, 'target');
    writeFileSync(target, 'of the runner');
    chmodSync(target, 0o640);
    if (process.getuid?.() === 0) chownSync(target, 0, 0);
    const before = statSync(target);
    const stop = new Int32Array(new SharedArrayBuffer(8));
    const socket = join(agent, 'tools.sock');
    const worker = new Worker(REPLACE, { eval: true, workerData: { socket, target, stop } });
    await new Promise((resolve) => worker.once('message', resolve));
    while (Atomics.load(stop, 1) < 10) {
      // The link may also be there before the server.
      const server = await start(socket).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EADDRINUSE') throw error;
      });
      server?.close();
      rmSync(socket, { force: true });
    }
    Atomics.store(stop, 0, 1);
    await new Promise((resolve) => worker.once('exit', resolve));
    const { uid, gid, mode, ctimeMs } = statSync(target);
    expect({ uid, gid, mode, ctimeMs }).toEqual({
      uid: before.uid,
      gid: before.gid,
      mode: before.mode,
      ctimeMs: before.ctimeMs,
    });
  });
});
