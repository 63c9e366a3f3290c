import { parseUrl, withoutOuterSlashes } from '#platform/kernel';
import { DEFAULT_USERNAME, GitFailure } from '#platform/git';
import type { GitCredentialRequested, RepositoryRef } from '#execution/runner-protocol';
import type { RepositoryCredentials } from './repository-credentials.js';
import { SocketServer } from '../process/socket-server.js';

interface CredentialServerOptions {
  readonly socket: string;
  readonly repositories: readonly RepositoryRef[];
  readonly credentials: RepositoryCredentials;
  readonly onRequest: (request: GitCredentialRequested) => void;
}

interface Access {
  readonly origin: string;
  readonly path: string;
  readonly repository: RepositoryRef;
}

const MAX_REQUEST_BYTES = 16_384;
const REQUEST_MS = 10_000;
const MAX_CONNECTIONS = 64;
/** A loop of an agent must not fill the log of its run. */
const MAX_REQUESTS = 2_000;

/**
 * Starts a server that answers git in the workspace with the credential of a repository of the run, as git's credential cache would:
 * the request is read to its end, and the answer is the attributes of the credential or nothing. Credentials exist in the memory of
 * this process only. Null: no repository has a credential for http.
 */
export async function startCredentialServer(options: CredentialServerOptions): Promise<SocketServer | null> {
  const { socket, repositories, credentials, onRequest } = options;
  const accesses = accessesOf(repositories);
  if (accesses.length === 0) return null;
  const answers = new CredentialAnswers(accesses, credentials, onRequest);
  return SocketServer.start({
    socket,
    maxConnections: MAX_CONNECTIONS,
    allowHalfOpen: true,
    onConnection: (connection) => {
      const chunks: Buffer[] = [];
      let size = 0;
      connection.setTimeout(REQUEST_MS, () => connection.destroy());
      connection.on('data', (chunk) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > MAX_REQUEST_BYTES) connection.destroy();
      });
      connection.on('end', () => {
        // A new credential may take longer.
        connection.setTimeout(0);
        const end = (answer: string): void => void (connection.destroyed || connection.end(answer));
        answers.to(Buffer.concat(chunks).toString('utf8')).then(end, (error: Error) => connection.destroy(error));
      });
    },
  });
}

class CredentialAnswers {
  private requests = 0;

  constructor(
    private readonly accesses: readonly Access[],
    private readonly credentials: RepositoryCredentials,
    private readonly onRequest: CredentialServerOptions['onRequest'],
  ) {}

  async to(request: string): Promise<string> {
    const attributes = new Map(
      request.split('\n').map((line) => {
        const end = line.indexOf('=');
        return [line.slice(0, end), line.slice(end + 1)];
      }),
    );
    // What git remembers and forgets is ours already.
    if (attributes.get('action') !== 'get' || this.requests >= MAX_REQUESTS) return '';
    this.requests += 1;
    const origin = `${attributes.get('protocol') ?? ''}://${(attributes.get('host') ?? '').toLowerCase()}`;
    const path = plainPath(attributes.get('path') ?? '');
    const access = this.accesses.find((known) => known.origin === origin && known.path === path);
    if (!access) {
      this.onRequest({ url: `${origin}/${path}`, granted: false });
      return '';
    }
    const { url } = access.repository;
    try {
      const answer = answerOf(await this.credentials.refresh(access.repository));
      this.onRequest({ url, granted: true });
      return answer ?? '';
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      this.onRequest({ url, granted: false, message: error.message });
      return '';
    }
  }
}

/** Origins of the URLs whose requests the server answers. */
export const credentialOrigins = (repositories: readonly RepositoryRef[]): string[] => [
  ...new Set(accessesOf(repositories).map(({ origin }) => origin)),
];

function accessesOf(repositories: readonly RepositoryRef[]): Access[] {
  return repositories.flatMap((repository) => {
    const { url } = repository;
    const parsed = /^https?:/i.test(url) ? parseUrl(url) : null;
    if (parsed === null || answerOf(repository) === null) return [];
    const { origin, pathname } = parsed;
    return [{ origin, path: plainPath(pathname), repository }];
  });
}

/** Null: there is no credential that git can read. */
function answerOf({ credential }: RepositoryRef): string | null {
  if (!credential) return null;
  const { username = DEFAULT_USERNAME, password } = credential;
  const lines = [`username=${username}`, `password=${password.trimEnd()}`];
  // It could add attributes.
  if (lines.some((line) => /[\r\n\0]/.test(line))) return null;
  return `${lines.join('\n')}\n`;
}

/** Both with and without `.git` are the same repository, and so is its storage of large files. */
const plainPath = (path: string): string =>
  withoutOuterSlashes(path)
    .replace(/\/info\/lfs(?:\/.*)?$/, '')
    .replace(/\.git$/, '');
