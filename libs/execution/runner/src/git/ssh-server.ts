import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GitFailure, type GitHosts, runSshProgram, type SshPlace, sshPlaceOf } from '#platform/git';
import type { GitCredentialRequested, RepositoryRef } from '#execution/runner-protocol';
import { SocketServer } from '../process/socket-server.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import { SSH_FRAMES } from './ssh-client.js';
import { isSamePlace, isSameServer, plainPath, readSshCommand, type SshCommand } from './ssh-command.js';

interface SshServerOptions {
  readonly socket: string;
  readonly repositories: readonly RepositoryRef[];
  readonly hosts: GitHosts | undefined;
  /** Of the processes of ssh. */
  readonly environment: Readonly<Record<string, string>>;
  readonly onRequest: (request: GitCredentialRequested) => void;
  readonly log: RunnerLog;
}

interface Access {
  readonly place: SshPlace;
  readonly repository: RepositoryRef;
}

const MAX_HEADER_BYTES = 16_384;
const HEADER_MS = 10_000;
const MAX_CONNECTIONS = 32;
/** A loop of an agent must not fill the log of its run. */
const MAX_REQUESTS = 2_000;
const FAILED = 255;

/**
 * Starts a server that connects git in the workspace with repositories of the run over ssh: ssh is executed here, with the key of the
 * repository, for the programs of git only. Null: no repository has a key.
 */
export async function startSshServer(options: SshServerOptions): Promise<{ close(): void } | null> {
  const { socket } = options;
  const accesses = accessesOf(options.repositories);
  if (accesses.length === 0) return null;
  // Of this user: the agent cannot name another server as the known one.
  const directory = mkdtempSync(join(tmpdir(), 'headrace-known-hosts-'));
  const ending = new AbortController();
  const sessions = new SshSessions(options, accesses, join(directory, 'known_hosts'), ending.signal);
  const server = await SocketServer.start({
    socket,
    maxConnections: MAX_CONNECTIONS,
    allowHalfOpen: true,
    onConnection: (connection) => void sessions.serve(connection),
  });
  return {
    close: () => {
      ending.abort();
      server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export const hasSshKeys = (repositories: readonly RepositoryRef[]): boolean => accessesOf(repositories).length > 0;

function accessesOf(repositories: readonly RepositoryRef[]): Access[] {
  return repositories.flatMap((repository) => {
    const place = repository.credential ? sshPlaceOf(repository.url) : null;
    return place ? [{ place, repository }] : [];
  });
}

class SshSessions {
  private requests = 0;

  constructor(
    private readonly options: SshServerOptions,
    private readonly accesses: readonly Access[],
    private readonly knownHosts: string,
    private readonly ending: AbortSignal,
  ) {}

  async serve(connection: Socket): Promise<void> {
    try {
      const header = await readHeader(connection);
      if (header === null || connection.destroyed) return void connection.destroy();
      const command = readSshCommand(header.args);
      const access = command && this.accesses.find(({ place }) => isSamePlace(place, command));
      if (!command || !access) {
        this.reportRefusal(command);
        return void connection.end(frame(SSH_FRAMES.declined));
      }
      await this.run(connection, access.repository, command, header.protocol);
    } catch (error) {
      this.options.log.error('a connection of git over ssh has failed', { error: errorText(error) });
      connection.destroy();
    }
  }

  private async run(
    connection: Socket,
    repository: RepositoryRef,
    command: SshCommand,
    protocol: string,
  ): Promise<void> {
    const { hosts, environment, onRequest } = this.options;
    const { url } = repository;
    if (this.requests >= MAX_REQUESTS)
      return void refuse(connection, `The limit of ${MAX_REQUESTS} requests of this execution is reached.`);
    this.requests += 1;
    const closed = new AbortController();
    connection.once('close', () => closed.abort());
    let transfer: Promise<unknown> = Promise.resolve();
    try {
      const exit = await runSshProgram(repository, {
        hosts,
        environment,
        protocol,
        knownHosts: this.knownHosts,
        command: command.forPath,
        signal: AbortSignal.any([this.ending, closed.signal]),
        onStart: (ssh) => {
          onRequest({ url, granted: true });
          transfer = connect(connection, ssh);
        },
      });
      await transfer;
      if (!connection.destroyed) connection.end(frame(SSH_FRAMES.exit, Buffer.from([exit])));
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      if (error.reason === 'aborted') return;
      onRequest({ url, granted: false, message: error.message });
      refuse(connection, error.message);
    }
  }

  /** Only for servers of the run: other repositories are those of the agent's own keys. */
  private reportRefusal(command: SshCommand | null): void {
    if (!command || this.requests >= MAX_REQUESTS) return;
    const known = this.accesses.find(({ place }) => isSameServer(place, command));
    if (!known) return;
    this.requests += 1;
    this.options.onRequest({ url: `ssh://${known.place.host}/${plainPath(command.path)}`, granted: false });
  }
}

interface Header {
  readonly args: string[];
  readonly protocol: string;
}

/** A line of JSON. Null: the connection was closed, or sent something else. The rest stays in the stream. */
function readHeader(connection: Socket): Promise<Header | null> {
  return new Promise((resolve) => {
    let received = Buffer.alloc(0);
    const end = (header: Header | null): void => {
      connection.setTimeout(0);
      connection.off('data', onData);
      connection.off('close', onClose);
      connection.off('end', onClose);
      connection.pause();
      resolve(header);
    };
    const onClose = (): void => end(null);
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const lineEnd = received.indexOf('\n');
      if (lineEnd === -1) {
        if (received.length > MAX_HEADER_BYTES) end(null);
        return;
      }
      end(parseHeader(received.subarray(0, lineEnd).toString('utf8')));
      const rest = received.subarray(lineEnd + 1);
      if (rest.length > 0) connection.unshift(rest);
    };
    connection.setTimeout(HEADER_MS, onClose);
    connection.on('data', onData);
    connection.once('close', onClose);
    connection.once('end', onClose);
  });
}

function parseHeader(line: string): Header | null {
  try {
    const { args, protocol } = JSON.parse(line) as Partial<Record<string, unknown>>;
    const areTexts = Array.isArray(args) && args.every((arg): arg is string => typeof arg === 'string');
    if (!areTexts || typeof protocol !== 'string' || !/^[\w=:.-]{0,200}$/.test(protocol)) return null;
    return { args, protocol };
  } catch {
    return null;
  }
}

/** Resolves when everything that ssh has printed is on the way. */
function connect(connection: Socket, ssh: ChildProcessWithoutNullStreams): Promise<unknown> {
  connection.write(frame(SSH_FRAMES.accepted));
  // ssh may end before it has read everything; its exit code says why.
  ssh.stdin.on('error', () => undefined);
  connection.pipe(ssh.stdin);
  const { output, errors } = SSH_FRAMES;
  return Promise.allSettled([forward(ssh.stdout, output, connection), forward(ssh.stderr, errors, connection)]);
}

/** Keeps the connection open: the exit code follows. Rejects when the connection is closed earlier. */
const forward = (from: Readable, kind: number, connection: Socket): Promise<void> =>
  pipeline(
    from,
    new Transform({ transform: (chunk: Buffer, _encoding, done) => done(null, frame(kind, chunk)) }),
    connection,
    { end: false },
  );

function refuse(connection: Socket, message: string): void {
  if (connection.destroyed) return;
  connection.write(frame(SSH_FRAMES.errors, Buffer.from(`${message}\n`)));
  connection.end(frame(SSH_FRAMES.exit, Buffer.from([FAILED])));
}

function frame(kind: number, content: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5);
  head[0] = kind;
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}
