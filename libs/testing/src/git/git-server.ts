import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface GitServerOptions {
  /** Directory of bare repositories. */
  readonly root: string;
  /** Who may read; without it everybody. */
  readonly login?: {
    readonly username: string;
    readonly password: string;
    /** That are accepted, too. */
    readonly otherPasswords?: readonly string[];
  };
}

/** Git's own smart HTTP server on a loopback port, with basic authentication. */
export class GitServer {
  /** Paths asked for, in order. */
  readonly asked: string[] = [];
  /** Called when a request with this line has arrived. Once. */
  interrupt: { readonly line: RegExp; readonly call: () => void } | null = null;
  /** Answers are held back until {@link release}. */
  private gate: { promise: Promise<void>; open: () => void } | null = null;

  private constructor(
    private readonly server: Server,
    private readonly options: GitServerOptions,
  ) {}

  static async start(options: GitServerOptions): Promise<GitServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const gitServer = new GitServer(server, options);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void gitServer.answer(request, response);
    });
    return gitServer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  hold(): void {
    let open = (): void => undefined;
    const promise = new Promise<void>((resolve) => (open = resolve));
    this.gate = { promise, open };
  }

  release(): void {
    this.gate?.open();
    this.gate = null;
  }

  async stop(): Promise<void> {
    this.release();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const { login } = this.options;
    const given = Buffer.from((request.headers.authorization ?? '').replace(/^Basic /, ''), 'base64').toString('utf8');
    const passwords = login ? [login.password, ...(login.otherPasswords ?? [])] : [];
    if (login && !passwords.some((password) => given === `${login.username}:${password}`)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    this.asked.push(`${request.method ?? ''} ${url.pathname}${url.search}`);
    const { interrupt } = this;
    if (interrupt?.line.test(`${request.method ?? ''} ${request.url ?? ''}`)) {
      this.interrupt = null;
      interrupt.call();
    }
    await this.gate?.promise;
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
        GIT_PROJECT_ROOT: this.options.root,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_PROTOCOL: request.headers['git-protocol'] === undefined ? '' : String(request.headers['git-protocol']),
        REQUEST_METHOD: request.method,
        // Who is signed in may push.
        ...(login && { REMOTE_USER: login.username }),
        PATH_INFO: decodeURIComponent(url.pathname),
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    child.stdin.on('error', () => undefined);
    request.pipe(child.stdin);
    let head = Buffer.alloc(0);
    let started = false;
    child.stdout.on('data', (chunk: Buffer) => {
      if (started) return void response.write(chunk);
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      started = true;
      const headers = head
        .toString('latin1', 0, end)
        .split('\r\n')
        .map((line) => line.split(/: (.*)/s));
      const status = headers.find(([name]) => name === 'Status')?.[1];
      response.statusCode = status === undefined ? 200 : Number.parseInt(status, 10);
      for (const [name = '', value = ''] of headers) if (name !== 'Status') response.setHeader(name, value);
      response.write(head.subarray(end + 4));
    });
    child.once('close', () => response.end());
  }
}
