import { type KeyObject, randomBytes, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Ajv, type ValidateFunction } from 'ajv';
import { GithubAnswersDouble } from './github-answers-double.js';
import { answerGraphql, type GithubPullRequest } from './github-graphql.js';

interface Operation {
  readonly parameters: readonly object[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: object } } };
  readonly responses: Readonly<Record<string, object>>;
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, { readonly name: string; readonly in: string }>>;
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
    readonly schemas: object;
  };
}
type Json = Record<string, unknown>;

const DESCRIPTION = JSON.parse(
  readFileSync(new URL('github-schema.json', import.meta.url), 'utf8'),
  nullableWithType,
) as Description;
const ID = 'https://github.invalid/description';
/** The example of GitHub lacks a required field, too in the repositories that it was forked from. */
const COMPLETED = { language: 'TypeScript', parent: undefined, source: undefined };
/** The example of GitHub lacks a required field. */
const COMPLETED_JOB = { created_at: '2020-01-20T17:42:30Z' };
const EXAMPLES = [
  ['/workflows/{workflow_id}', 'workflow'],
  ['/artifacts', 'artifact-paginated'],
  ['/annotations', 'check-annotation-items'],
] as const;
const INSTALLATION_ID = 5;
const MAX_APP_SECONDS = 600;
const CREATED = 201;
const INVALID = 422;

/**
 * The part of GitHub's REST API that creates pull requests, and its GraphQL API, on a loopback port. Each request and each response of REST
 * is checked with GitHub's OpenAPI description; {@link violations} lists what does not conform.
 */
export class GithubApiDouble {
  readonly violations: string[] = [];
  readonly requests: string[] = [];
  /** The body of each request. */
  readonly bodies: string[] = [];
  readonly pullRequests: GithubPullRequest[] = [];
  /** Answers the next request instead. */
  next: { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> } | null = null;
  /** Only a request with this method and path is answered with {@link next}. */
  nextOf = /^/;
  /** A GitHub App: each of its tokens replaces {@link token}. */
  app: {
    readonly id: number;
    readonly publicKey: KeyObject;
    readonly permissions: Json;
    isInstalled: boolean;
    isSuspended?: boolean;
    tokenMs: number;
  } | null = null;
  readonly appTokens: string[] = [];
  /** Other repositories, by their token. */
  readonly otherTokens = new Map<string, string>();
  /** Where the logs of jobs are. */
  logs = 'http://127.0.0.1:1/logs';
  /** Comments, reactions, check runs and statuses. */
  readonly answers = new GithubAnswersDouble(exampleOf);
  /** The head commit of a branch. */
  headOf: (branch: string) => string = () => 'ce587453ced02b1526dfb4cb910479d431683101';
  /** Where the pages of GitHub are. Default: as the API. */
  webUrl: string | null = null;
  /** Called when a request with this line has had its effect; it gets no response. Once. */
  interrupt: { readonly line: RegExp; readonly call: () => void } | null = null;
  /** Called before a pull request is created. */
  beforeCreate: (() => void) | null = null;
  private readonly ajv = new Ajv({
    strict: false,
    validateFormats: false,
    inlineRefs: false,
    code: { optimize: false },
  });
  private readonly compiled = new Map<string, ValidateFunction>();

  private constructor(
    private readonly server: Server,
    /** The one that is accepted. */
    public token: string,
    /** `owner/name`. */
    private readonly repository: string,
  ) {
    this.ajv.addSchema(DESCRIPTION, ID);
  }

  static async start(token: string, repository: string): Promise<GithubApiDouble> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const double = new GithubApiDouble(server, token, repository);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void double.answer(request, response);
    });
    return double;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  addPullRequest(fields: Omit<GithubPullRequest, 'number'>): GithubPullRequest {
    const created = { ...fields, number: this.pullRequests.length + 1 };
    this.pullRequests.push(created);
    return created;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await buffer(request)).toString();
    this.bodies.push(text);
    const isForced = this.next !== null && this.nextOf.test(`${request.method ?? ''} ${request.url ?? ''}`);
    const forced = isForced ? this.next : null;
    if (isForced) this.next = null;
    const { status, body, headers } =
      forced ?? (request.url === '/graphql' ? await this.respondGraphql(request, text) : this.respond(request, text));
    const { interrupt } = this;
    if (interrupt?.line.test(`${request.method ?? ''} ${request.url ?? ''}`)) {
      this.interrupt = null;
      interrupt.call();
      response.destroy();
      return;
    }
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
    response.end(JSON.stringify(body));
  }

  private async respondGraphql({ headers }: IncomingMessage, text: string): Promise<NonNullable<typeof this.next>> {
    const bearer = headers.authorization?.replace(/^(?:Bearer|token) /, '') ?? '';
    const isOwn = bearer === this.token || this.appTokens.includes(bearer);
    const repository = this.otherTokens.get(bearer) ?? (isOwn ? this.repository : undefined);
    if (repository === undefined) return { status: 401, body: { message: 'Bad credentials' } };
    this.requests.push(`POST /graphql ${/\b(?:query|mutation) \w+/.exec(text)?.[0] ?? ''}`);
    const body = await answerGraphql(text, {
      repository,
      pages: this.webUrl ?? this.url,
      pullRequests: this.pullRequests,
      addPullRequest: (fields) => this.addPullRequest(fields),
      addComment: (number, comment) => this.answers.add(number, comment),
    });
    if ('errors' in body) this.violations.push(`GraphQL: ${JSON.stringify(body.errors)}`);
    return { status: 200, body };
  }

  private respond({ method = '', url = '', headers }: IncomingMessage, text: string): NonNullable<typeof this.next> {
    const { pathname, searchParams } = new URL(url, this.url);
    this.requests.push(`${method} ${pathname}`);
    const isOfApp = pathname.startsWith('/app/') || pathname.endsWith('/installation');
    const bearer = headers.authorization?.replace(/^(?:Bearer|token) /, '') ?? '';
    const isByApp = this.appTokens.includes(bearer);
    const other = this.otherTokens.get(bearer);
    const repository = other ?? this.repository;
    const isAuthorized = isOfApp
      ? this.isSigned(headers.authorization)
      : isByApp || bearer === this.token || other !== undefined;
    if (!isAuthorized) return { status: 401, body: { message: 'Bad credentials' } };
    if (headers['user-agent'] === undefined) this.violations.push(`${method} ${pathname}: no User-Agent`);
    const ofInstallation = pathname === `/app/installations/${INSTALLATION_ID}/access_tokens`;
    if (isOfApp && this.app?.isInstalled !== true) return { status: 404, body: { message: 'Not Found' } };
    if ((ofInstallation || isByApp) && this.app?.isSuspended === true)
      return { status: 403, body: { message: 'This installation has been suspended' } };
    if (!ofInstallation && !`${pathname}/`.startsWith(`/repos/${repository}/`))
      return { status: 404, body: { message: 'Not Found' } };
    const path = ofInstallation
      ? '/app/installations/{installation_id}/access_tokens'
      : templateOf(`/repos/{owner}/{repo}${pathname.slice(`/repos/${repository}`.length)}`);
    const operation = DESCRIPTION.paths[path]?.[method.toLowerCase()];
    if (!operation) {
      this.violations.push(`${method} ${path}: GitHub has no such operation, or it is not recorded`);
      return { status: 404, body: { message: 'Not Found' } };
    }
    const known = operation.parameters.map((parameter) => this.resolve(parameter).name);
    for (const name of searchParams.keys())
      if (!known.includes(name)) this.violations.push(`${method} ${path}: unknown parameter ${name}`);
    const input = text === '' ? null : (JSON.parse(text) as Json);
    const pointer = `/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}`;
    if (operation.requestBody)
      this.check(`${pointer}/requestBody/content/application~1json/schema`, input, `${method} ${path}: request`);
    const answer =
      this.answers.respond(method, path, pathname.split('/'), searchParams, input, isByApp) ??
      this.result(method, path, searchParams, input, pathname);
    if (answer.status < 300)
      this.check(
        `${pointer}/responses/${answer.status}/content/application~1json/schema`,
        answer.body,
        `${method} ${path}: response`,
      );
    return answer;
  }

  private result(method: string, path: string, query: URLSearchParams, input: Json | null, pathname: string) {
    if (path.endsWith('/installation'))
      return {
        status: 200,
        body: {
          ...exampleOf('installation'),
          id: INSTALLATION_ID,
          permissions: this.app?.permissions,
          ...(this.app?.isSuspended === true && { suspended_at: '2026-11-28T09:00:00Z' }),
        },
      };
    if (path.endsWith('/logs')) return { status: 302, body: null, headers: { location: this.logs } };
    const example = EXAMPLES.find(([end]) => path.endsWith(end))?.[1];
    if (path.endsWith('/{run_id}'))
      // Where `gh` looks for the jobs.
      return { status: 200, body: { ...exampleOf('workflow-run'), jobs_url: `${this.url}${pathname}/jobs` } };
    if (path.endsWith('/{run_id}/jobs')) {
      const { jobs, ...rest } = exampleOf('job-paginated') as { readonly jobs: readonly Json[] };
      return { status: 200, body: { ...rest, jobs: jobs.map((job) => ({ ...job, ...COMPLETED_JOB })) } };
    }
    if (example !== undefined) return { status: 200, body: exampleOf(example) };
    if (path.endsWith('/access_tokens')) return this.createToken(input ?? {});
    if (path.endsWith('/{pull_number}')) {
      const found = this.pullRequests.find(({ number }) => String(number) === pathname.split('/').at(-1));
      if (!found) return { status: 404, body: { message: 'Not Found' } };
      const { head, ...example } = exampleOf('pull-request');
      return {
        status: 200,
        body: { ...example, ...this.shown(found), head: { ...(head as Json), sha: this.headOf(found.head) } },
      };
    }
    if (!path.endsWith('/pulls'))
      return {
        status: 200,
        body: { ...exampleOf('full-repository-default-response'), ...COMPLETED, default_branch: 'main' },
      };
    const owner = this.repository.split('/')[0] ?? '';
    if (method === 'GET') {
      const [example] = exampleOf('pull-request-simple-items') as unknown as Json[];
      const found = this.pullRequests.filter(
        ({ head, base }) =>
          query.get('head') === `${owner}:${head}` && (query.get('base') === null || query.get('base') === base),
      );
      return { status: 200, body: found.map((one) => ({ ...example, ...this.shown(one) })) };
    }
    const { title, body = '', head, base, draft = false } = input as unknown as GithubPullRequest;
    this.beforeCreate?.();
    if (this.pullRequests.some((one) => one.head === head && one.base === base))
      return invalid({ message: `A pull request already exists for ${owner}:${head}.`, code: 'custom' });
    if (head === base) return invalid({ message: `No commits between ${base} and ${head}`, code: 'custom' });
    const created = this.addPullRequest({ title, body, head, base, draft });
    return { status: CREATED, body: { ...exampleOf('pull-request'), ...this.shown(created) } };
  }

  /** A token for the repository, as GitHub creates it. */
  private createToken({ permissions, repositories }: Json) {
    const [, name] = this.repository.split('/');
    const { permissions: granted = {}, tokenMs = 0 } = this.app ?? {};
    const isGranted = Object.entries(permissions as Json).every(
      ([key, level]) => granted[key] === level || granted[key] === 'write',
    );
    if (!isGranted || JSON.stringify(repositories) !== JSON.stringify([name]))
      return invalid({ message: 'The permissions requested are not granted to this installation.', code: 'custom' });
    const token = `ghs_${randomBytes(18).toString('hex')}`;
    this.appTokens.push(token);
    // Only these can be used for git.
    if ('contents' in (permissions as Json)) this.token = token;
    const expires_at = new Date(Date.now() + tokenMs).toISOString();
    const { repositories: _, ...example } = exampleOf('installation-token');
    return { status: CREATED, body: { ...example, token, expires_at, permissions } };
  }

  /** By the private key of the App, and as short as GitHub requires it. */
  private isSigned(authorization = ''): boolean {
    const [header = '', payload = '', signature = ''] = authorization.replace(/^bearer /i, '').split('.');
    if (!this.app || !verify('sha256', Buffer.from(`${header}.${payload}`), this.app.publicKey, bytesOf(signature)))
      return false;
    const { iss, iat, exp } = JSON.parse(bytesOf(payload).toString()) as { iss: unknown; iat: number; exp: number };
    const now = Date.now() / 1000;
    return String(iss) === String(this.app.id) && iat <= now && exp > now && exp - now <= MAX_APP_SECONDS;
  }

  private shown({ number, title, body, draft }: GithubPullRequest): Json {
    return {
      requested_teams: [],
      number,
      title,
      body,
      draft,
      html_url: `${this.webUrl ?? this.url}/${this.repository}/pull/${number}`,
    };
  }

  private resolve(parameter: object): { readonly name: string } {
    if (!('$ref' in parameter)) return parameter as { readonly name: string };
    const name = String(parameter.$ref).split('/').at(-1) ?? '';
    return DESCRIPTION.components.parameters[name] ?? { name };
  }

  private check(pointer: string, value: unknown, what: string): void {
    let validate = this.compiled.get(pointer);
    if (!validate) {
      validate = this.ajv.compile({ $ref: `${ID}#${pointer.replaceAll('{', '%7B').replaceAll('}', '%7D')}` });
      this.compiled.set(pointer, validate);
    }
    if (!validate(value)) this.violations.push(`${what}: ${this.ajv.errorsText(validate.errors)}`);
  }
}

/** Ajv knows `nullable` beside a type only, and needs null in the list of values. */
function nullableWithType(_key: string, value: unknown): unknown {
  if (isNullableEnum(value)) return { ...value, enum: [...value.enum, null] };
  if (typeof value !== 'object' || value === null || !('nullable' in value) || 'type' in value) return value;
  const { nullable, ...rest } = value;
  return nullable === true ? { anyOf: [{ type: 'null' }, rest] } : value;
}

/** The path in the description, of which only the longest is not a template. */
function templateOf(path: string): string {
  if (path in DESCRIPTION.paths) return path;
  const matches = (template: string) =>
    new RegExp(`^${template.replaceAll(/\{(owner|repo)\}/g, '\\{$1\\}').replaceAll(/(?<!\\)\{\w+\}/g, '[^/]+')}$`).test(
      path,
    );
  return Object.keys(DESCRIPTION.paths).find(matches) ?? path;
}

function isNullableEnum(value: unknown): value is { readonly enum: readonly unknown[] } {
  return typeof value === 'object' && value !== null && 'nullable' in value && 'type' in value && 'enum' in value;
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url');
const exampleOf = (name: string): Json => (DESCRIPTION.components.examples[name]?.value ?? {}) as Json;
const invalid = (error: Json) => ({ status: INVALID, body: { message: 'Validation Failed', errors: [error] } });
