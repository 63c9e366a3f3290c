import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GitFailure } from '#platform/git';
import { parseUrl } from '#platform/kernel';
import type { ForgeRef, GitCredentialRequested, RepositoryRef } from '#execution/runner-protocol';
import type { RepositoryCredentials } from '../git/repository-credentials.js';
import { errorText, type RunnerLog } from '../runner-log.js';
import { VERSION } from '../version.js';
import { markRequest, type RestRequest } from './agent-text.js';
import { answerHeaders, loginOf, readBody, redirectElsewhere, RefusedError, requestHeaders } from './api-messages.js';
import { encodePath, hasTexts, isAllowed, isRead, readApiPath } from './api-path.js';
import { GraphqlTargets } from './graphql-target.js';
import { ProjectNumbers } from './project-numbers.js';

export interface ApiRepository {
  readonly repository: RepositoryRef;
  /** As `nameOnForge`. */
  readonly name: string;
  readonly hasGraphql: boolean;
}

export interface ApiProxyOptions {
  readonly forge: ForgeRef;
  readonly repositories: readonly [ApiRepository, ...ApiRepository[]];
  /** Host names of the requests that are answered. */
  readonly hosts: readonly string[];
  readonly credentials: RepositoryCredentials;
  readonly onRequest: (request: GitCredentialRequested) => void;
  /** Of the execution. */
  readonly ending: AbortSignal;
  readonly log: RunnerLog;
}

/** A request that may be sent. */
interface Permitted {
  readonly of: ApiRepository;
  readonly url: string;
  /** For the timeline. */
  readonly shown: string;
  readonly body: Buffer | string;
  /** Absent: as the program has sent it. */
  readonly contentType?: string | undefined;
}

const IDLE_MS = 120_000;
const MAX_MS = 600_000;
/** A loop of an agent must not fill the log of its run. */
const MAX_REQUESTS = 5_000;
const MAX_SHOWN = 300;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** The API of a forge for programs in the workspace: adds the credential of the repository that a request is about. */
export class ApiProxy {
  readonly server: Server;
  private readonly graphql: GraphqlTargets<ApiRepository>;
  private readonly numbers: ProjectNumbers<ApiRepository>;
  /** Connections with a request. */
  private readonly busy = new WeakSet<Socket>();
  private requests = 0;

  constructor(private readonly options: ApiProxyOptions) {
    this.graphql = new GraphqlTargets(options.repositories);
    this.numbers = new ProjectNumbers(options.forge, (repository) => this.tokenOf(repository));
    this.server = createServer((request, response) => this.begin(request, response));
    this.server.timeout = IDLE_MS;
  }

  /**
   * Closes a connection whose program sends a request before the response to the earlier one, which none of the supported programs
   * does: a limit of connections limits the bodies in memory only in this way.
   */
  private begin(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (this.busy.has(socket)) return void socket.destroy();
    this.busy.add(socket);
    response.once('close', () => this.busy.delete(socket));
    void this.answer(request, response);
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { log, onRequest, forge } = this.options;
    const { method = '', url = '' } = request;
    const line = `${method} ${url.split('?')[0]}`.slice(0, MAX_SHOWN);
    try {
      const body = await readBody(request);
      await this.forward(request, body, response);
    } catch (error) {
      if (!(error instanceof RefusedError) && !response.destroyed)
        log.error('a request to the API of a forge has failed', { line, error: errorText(error) });
      if (error instanceof RefusedError && error.status === 403)
        onRequest({ url: error.url ?? forge.url, granted: false, request: line, message: error.message });
      if (response.headersSent || response.destroyed) return void response.destroy();
      const { status, message } =
        error instanceof RefusedError ? error : { status: 502, message: `${nameOf(forge)} does not respond.` };
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify({ message }));
    }
  }

  private async forward(request: IncomingMessage, received: Buffer, response: ServerResponse): Promise<void> {
    const { method = '' } = request;
    const { forge } = this.options;
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    this.count();
    const ownLogin = loginOf(request);
    const { of, url, shown, body, contentType } = await this.permit(request, received, ownLogin !== null);
    const login = ownLogin ?? { authorization: `Bearer ${await this.tokenOf(of)}` };
    if (closed.signal.aborted) return;
    if (ownLogin === null) this.options.onRequest({ url: of.repository.url, granted: true, request: shown });
    const signal = AbortSignal.any([this.options.ending, closed.signal, AbortSignal.timeout(MAX_MS)]);
    const headers = {
      'user-agent': `headrace/${VERSION}`,
      ...requestHeaders(request),
      ...(contentType && { 'content-type': contentType }),
    };
    let answer = await fetch(url, {
      method,
      headers: { ...headers, ...login },
      ...(body.length > 0 && !isRead(method) && { body }),
      redirect: 'manual',
      signal,
    });
    const elsewhere = method === 'GET' ? redirectElsewhere(answer, url) : null;
    // Logs and archives are on other servers, by addresses that need no credential.
    if (elsewhere !== null) answer = await fetch(elsewhere, { headers, redirect: 'manual', signal });
    await this.send(answer, of, response, { host: request.headers.host ?? '', isGraphql: url === graphqlUrl(forge) });
  }

  private async send(
    answer: Response,
    of: ApiRepository,
    response: ServerResponse,
    { host, isGraphql }: { readonly host: string; readonly isGraphql: boolean },
  ): Promise<void> {
    const { status, body } = answer;
    const headers = answerHeaders(answer);
    const { link } = headers;
    if (link !== undefined) headers['link'] = this.linkHere(link, of, host);
    response.writeHead(status, headers);
    if (body === null) return void response.end();
    if (isGraphql && this.graphql.needsIds) {
      const text = await answer.text();
      this.graphql.learn(of, text);
      return void response.end(text);
    }
    await pipeline(Readable.fromWeb(body), response);
  }

  /** Addresses of further pages, as programs can ask for them here. */
  private linkHere(link: string, of: ApiRepository, host: string): string {
    const { type, api_url: api } = this.options.forge;
    if (type === 'gitlab') return link.replaceAll(api, `http://${host}/api/v4`);
    // GitHub has the number of the repository in them.
    return link.replaceAll(/\/repositories\/\d+(?=[/?])/g, `/repos/${of.name}`);
  }

  /** Rejects with a RefusedError. `isOwn`: the program has its own token, which the rules for that of the run do not concern. */
  private async permit(request: IncomingMessage, body: Buffer, isOwn: boolean): Promise<Permitted> {
    const { forge, repositories, hosts } = this.options;
    const { method = '', url = '', headers } = request;
    const [raw = '', ...query] = url.split('?');
    const host = parseUrl(`http://${headers.host ?? ''}`)?.hostname ?? '';
    if (!METHODS.includes(method)) throw new RefusedError(403, `The method ${method} is not allowed.`);
    if (!hosts.includes(host))
      throw new RefusedError(
        403,
        `This configuration reaches ${hosts.join(', ')} only. For another server, set another configuration directory.`,
      );
    const path = readApiPath(forge.type, raw);
    if (path === null) throw new RefusedError(403, 'The path of the request is not in its normal form.');
    if (path.kind === 'graphql') return this.permitGraphql(method, body, isOwn);
    const search = query.join('?');
    const sent =
      path.kind === 'repository'
        ? await this.permitRepository(
            method,
            path,
            { query: search, body, contentType: headers['content-type'] },
            isOwn,
          )
        : { of: repositories[0], path: path.path, query: search, body };
    if (path.kind !== 'repository' && !isOwn && !(path.kind === 'general' && isRead(method)))
      throw new RefusedError(403, 'Only requests about repositories of this run are allowed.');
    return {
      ...sent,
      url: `${forge.api_url}${sent.path}${sent.query === '' ? '' : `?${sent.query}`}`,
      shown: `${method} ${sent.path}`.slice(0, MAX_SHOWN),
    };
  }

  private async permitGraphql(method: string, received: Buffer, isOwn: boolean): Promise<Permitted> {
    const url = graphqlUrl(this.options.forge);
    if (isOwn) return { of: this.options.repositories[0], url, shown: '', body: received };
    const body = method === 'POST' ? await markGraphql(received) : '';
    const { repository: of, operation } = this.graphql.find(body);
    if (typeof of === 'string') throw new RefusedError(403, of);
    return { of, url, shown: `${method} /graphql ${operation}`, body, contentType: 'application/json' };
  }

  private async permitRepository(
    method: string,
    { name, rest }: { readonly name: string; readonly rest: readonly string[] },
    request: RestRequest,
    isOwn: boolean,
  ): Promise<RestRequest & { readonly of: ApiRepository; readonly path: string }> {
    const { forge, repositories } = this.options;
    const of =
      repositories.find((one) => one.name.toLowerCase() === name.toLowerCase()) ??
      (await this.numbers.find(name, repositories));
    const base = forge.type === 'github' ? ['repos', ...(of?.name ?? name).split('/')] : ['projects', of?.name ?? name];
    const path = encodePath([...base, ...rest]);
    if (isOwn) return { ...request, of: of ?? repositories[0], path };
    if (!of) throw new RefusedError(403, `${name} is not a repository of this run.`, `${forge.url}/${name}`);
    if (!isAllowed(forge.type, method, rest))
      throw new RefusedError(
        403,
        `Programs in a run may not send ${method} for this part of a repository.`,
        of.repository.url,
      );
    return { ...(hasTexts(rest) && !isRead(method) ? await markRequest(request) : request), of, path };
  }

  private count(): void {
    this.requests += 1;
    if (this.requests > MAX_REQUESTS)
      throw new RefusedError(429, `The limit of ${MAX_REQUESTS} requests of this execution is reached.`);
  }

  private async tokenOf({ repository }: ApiRepository): Promise<string> {
    try {
      const { credential } = await this.options.credentials.refresh(repository);
      return credential?.password.trimEnd() ?? '';
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      throw new RefusedError(403, error.message, repository.url);
    }
  }
}

/** Loads the parser with the first request: the start of a runner must be short, and many runs send no GraphQL. */
async function markGraphql(body: Buffer): Promise<string> {
  const graphql = await import('./graphql-text.js');
  return graphql.markGraphql(body.toString('utf8'));
}

const nameOf = ({ type }: ForgeRef): string => (type === 'github' ? 'GitHub' : 'GitLab');

/** On GitHub Enterprise Server and GitLab it is beside the REST API. */
const graphqlUrl = ({ api_url: url }: ForgeRef): string => `${url.replace(/\/v[34]$/, '')}/graphql`;
