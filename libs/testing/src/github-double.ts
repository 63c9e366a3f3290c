import { execFileSync } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { GitFixture } from './git/git-fixture.js';

interface Place {
  readonly fixture: GitFixture;
  readonly private?: boolean;
  /** Answers with trees say that they are cut off, and are. */
  readonly truncates?: boolean;
}
interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const NOT_FOUND: Answer = { status: 404, body: { message: 'Not Found' } };

/**
 * The few endpoints of GitHub's REST API that skills need, over real repositories, on a loopback port. A private one is
 * shown to anybody who has the token.
 */
export class GithubDouble {
  readonly asked: { readonly path: string; readonly authorization: string | undefined }[] = [];
  readonly places = new Map<string, Place>();
  /** Answers everything, while it is set. */
  override: Answer | ((path: string) => Answer | null) | null = null;

  private constructor(
    private readonly server: Server,
    readonly token: string,
  ) {}

  static async start(token: string): Promise<GithubDouble> {
    const server = createServer();
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const double = new GithubDouble(server, token);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { status, body, headers } = double.answer(request);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    return double;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer({ url = '', headers: { authorization } }: IncomingMessage): Answer {
    this.asked.push({ path: url, authorization });
    const forced = typeof this.override === 'function' ? this.override(url) : this.override;
    if (forced) return forced;
    const { pathname, searchParams } = new URL(url, this.url);
    const [, name = '', rest = ''] = /^\/repos\/([^/]+\/[^/]+)(.*)$/.exec(pathname) ?? [];
    const place = this.places.get(name);
    if (!place || (place.private && authorization !== `Bearer ${this.token}`)) return NOT_FOUND;
    if (rest === '') return { status: 200, body: { private: place.private === true, default_branch: 'main' } };
    const tree = /^\/git\/trees\/(.+)$/.exec(rest)?.[1];
    if (tree !== undefined) return treeOf(place, decodeURIComponent(tree), searchParams.get('recursive') === '1');
    const oid = /^\/git\/blobs\/([0-9a-f]{40})$/.exec(rest)?.[1];
    return oid === undefined ? NOT_FOUND : blobOf(place, oid);
  }
}

function treeOf({ fixture, truncates }: Place, name: string, isRecursive: boolean): Answer {
  if (fixture.git('count-objects') === '0 objects, 0 kilobytes')
    return { status: 409, body: { message: 'Git Repository is empty.' } };
  const lines = fixture.git('ls-tree', ...(isRecursive ? ['-r', '-t'] : []), '--long', name).split('\n');
  const all = lines
    .map((line) => /^(\d+) (\w+) (\w+) +(\d+|-)\t(.+)$/.exec(line))
    .map((match) => {
      const [, mode, type, sha, size = '-', path] = match ?? [];
      return { path, mode, type, sha, ...(size !== '-' && { size: Number(size) }) };
    });
  const isCut = truncates === true && isRecursive && !/^[0-9a-f]{40}$/.test(name);
  return { status: 200, body: { sha: name, tree: isCut ? all.slice(0, 2) : all, truncated: isCut } };
}

function blobOf({ fixture }: Place, oid: string): Answer {
  const content = execFileSync('git', ['cat-file', 'blob', oid], { cwd: fixture.path, maxBuffer: 8_388_608 }).toString(
    'base64',
  );
  return { status: 200, body: { sha: oid, content: content.replace(/.{60}/g, '$&\n'), encoding: 'base64' } };
}
