import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { freePort } from '../support/installation.js';
import { SupervisedProcess } from './supervised-process.js';

const READY_TIMEOUT_MS = 30_000;

/** Why no queue can be kept in Redis on this machine; null when it can. */
export function redisObstacle(): string | null {
  if (spawnSync('redis-server', ['--version']).status !== 0)
    return 'redis-server is not installed (Debian: apt-get install redis-server)';
  try {
    createRequire(import.meta.url).resolve('ioredis');
    return null;
  } catch {
    return 'the optional dependency ioredis is not installed (npm ci --include=optional)';
  }
}

/** A Redis that keeps nothing on disk: after its death its queues are empty. */
export class RedisServer {
  private constructor(
    readonly process: SupervisedProcess,
    private readonly port: number,
  ) {}

  static async start(directory: string): Promise<RedisServer> {
    const port = await freePort();
    const server = new SupervisedProcess({
      name: 'redis',
      command: 'redis-server',
      args: [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '', '--appendonly', 'no'],
        ...['--maxmemory-policy', 'noeviction'],
      ],
      environment: { PATH: process.env.PATH },
      ready: /Ready to accept connections/,
    });
    server.start();
    await server.whenReady(READY_TIMEOUT_MS);
    return new RedisServer(server, port);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** False when Redis was not there to be flushed. */
  async flushAll(): Promise<boolean> {
    const socket = connect(this.port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      socket.write('FLUSHALL\r\n');
      const [answer] = (await once(socket, 'data')) as [Buffer];
      return answer.toString().startsWith('+OK');
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }
}
