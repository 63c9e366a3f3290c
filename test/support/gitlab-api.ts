import { createServer, type IncomingMessage, request as open, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { GitlabDescription } from './gitlab-description.js';

interface MergeRequest {
  readonly iid: number;
  readonly title: string;
  readonly description: string;
  readonly source_branch: string;
  readonly target_branch: string;
}

interface Note {
  readonly id: number;
  /** `issues/7`, `merge_requests/1`. */
  readonly of: string;
  body: string;
}

type Json = Record<string, unknown>;
interface Answer {
  readonly status: number;
  readonly body: unknown;
}
/** openapi_v3.yaml of GitLab. */
export const DESCRIPTION_FILE = process.env['GITLAB_OPENAPI'];
const NOT_FOUND: Answer = { status: 404, body: { message: '404 Not found' } };

/** The part of GitLab's REST API that creates and answers merge requests, on a loopback port. */
export class GitlabApiDouble {
  readonly mergeRequests: MergeRequest[] = [];
  readonly notes: Note[] = [];
  /** `issues/7`, `issues/7/notes/5`. */
  readonly emoji: string[] = [];
  /** Of commits, in the order of their creation; one that is reported again is changed. */
  readonly statuses: { readonly sha: string; readonly name: string; state: string; target_url: string }[] = [];
  /** The head commit of a branch. */
  headOf: (branch: string) => string = () => 'ce587453ced02b1526dfb4cb910479d431683101';
  /** The server of the repositories, which has the same address. */
  gitUrl: string | null = null;
  /** Requests and answers that GitLab does not describe; none without its description. */
  readonly violations: string[] = [];
  readonly description = DESCRIPTION_FILE === undefined ? null : GitlabDescription.read(DESCRIPTION_FILE);
  private lastId = 100;

  private constructor(
    private readonly server: Server,
    private readonly token: string,
    /** With all groups. */
    private readonly project: string,
  ) {}

  static async start(token: string, project: string): Promise<GitlabApiDouble> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const double = new GitlabApiDouble(server, token, project);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void double.answer(request, response);
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

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.gitUrl !== null && request.url?.startsWith('/api/') !== true)
      return this.forward(this.gitUrl, request, response);
    const { pathname, searchParams: query } = new URL(request.url ?? '', this.url);
    const input = await inputOf(request);
    const { status, body } = this.respond(request, { ...Object.fromEntries(query), ...input });
    const exchange = { method: request.method ?? '', pathname, query, input, status, body };
    this.violations.push(...(this.description?.violationsOf(exchange) ?? []));
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  }

  private forward(to: string, request: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url = '' } = request;
    const forwarded = open(new URL(url, to), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  }

  private respond({ method = '', url = '', headers }: IncomingMessage, input: Json): Answer {
    if (headers.authorization !== `Bearer ${this.token}`) return { status: 401, body: { message: '401 Unauthorized' } };
    const { pathname, searchParams: query } = new URL(url, this.url);
    const path = `/api/v4/projects/${encodeURIComponent(this.project)}`;
    if (method === 'GET' && pathname === path)
      return { status: 200, body: { id: 1, path_with_namespace: this.project, default_branch: 'main' } };
    const rest = pathname.startsWith(`${path}/`) ? pathname.slice(path.length + 1) : '';
    const answered = this.respondToAnswer(method, rest, input);
    if (answered) return answered;
    if (pathname !== `${path}/merge_requests`) return { status: 404, body: { message: '404 Project Not Found' } };
    if (method === 'GET') {
      const found = this.mergeRequests.filter(
        (one) => one.source_branch === query.get('source_branch') && one.target_branch === query.get('target_branch'),
      );
      return { status: 200, body: found.map((one) => this.shown(one)) };
    }
    const asked = input as unknown as Omit<MergeRequest, 'iid'>;
    const existing = this.mergeRequests.find(({ source_branch: branch }) => branch === asked.source_branch);
    if (existing) {
      const message = [`Another open merge request already exists for this source branch: !${existing.iid}`];
      return { status: 409, body: { message } };
    }
    const created = { ...asked, iid: this.mergeRequests.length + 1 };
    this.mergeRequests.push(created);
    return { status: 201, body: this.shown(created) };
  }

  /** Null: another operation. `path`: below the project. */
  private respondToAnswer(method: string, path: string, input: Json): Answer | null {
    const [kind = '', id = '', part, noteId, last] = path.split('/');
    if (method === 'POST' && kind === 'statuses') return this.setStatus(id, input);
    if (method === 'GET' && kind === 'merge_requests' && id !== '' && part === undefined) {
      const found = this.mergeRequests.find(({ iid }) => String(iid) === id);
      return found ? { status: 200, body: { ...this.shown(found), sha: this.headOf(found.source_branch) } } : NOT_FOUND;
    }
    if (part === 'award_emoji' || last === 'award_emoji') return this.award(path.replace('/award_emoji', ''));
    if (part !== 'notes') return null;
    const of = `${kind}/${id}`;
    const body = String(input['body']);
    if (noteId !== undefined) {
      const note = this.notes.find((one) => one.of === of && String(one.id) === noteId);
      if (!note) return NOT_FOUND;
      note.body = body;
      return { status: 200, body: shownNote(note) };
    }
    if (method === 'GET') {
      const found = this.notes.filter((one) => one.of === of);
      return { status: 200, body: found.reverse().map(shownNote) };
    }
    const note = { id: (this.lastId += 1), of, body };
    this.notes.push(note);
    return { status: 201, body: shownNote(note) };
  }

  private award(subject: string): Answer {
    if (this.emoji.includes(subject))
      return { status: 404, body: { message: '404 Award Emoji Name has already been taken Not Found' } };
    this.emoji.push(subject);
    return { status: 201, body: { id: (this.lastId += 1), name: 'eyes' } };
  }

  private setStatus(sha: string, input: Json): Answer {
    const given = input as { name: string; state: string; target_url: string };
    const known = this.statuses.find((one) => one.sha === sha && one.name === given.name);
    if (known?.state === given.state)
      return { status: 400, body: { message: { state: [`Cannot transition status via :${given.state}`] } } };
    if (known) Object.assign(known, given);
    else this.statuses.push({ sha, ...given });
    return { status: 201, body: { id: 1, sha, status: given.state } };
  }

  private shown(request: MergeRequest): object {
    const page = `${this.url}/${this.project}/-/merge_requests/${request.iid}`;
    return { ...request, state: 'opened', draft: request.title.startsWith('Draft: '), web_url: page };
  }
}

const shownNote = ({ id, body }: Note): Json => ({ id, body, created_at: new Date().toISOString(), system: false });

/** Null: the request has no body. GitLab reads JSON and both kinds of forms. */
async function inputOf(request: IncomingMessage): Promise<Json | null> {
  const bytes = await buffer(request);
  if (bytes.length === 0) return null;
  const type = request.headers['content-type'] ?? 'application/x-www-form-urlencoded';
  if (type.startsWith('application/json')) return JSON.parse(bytes.toString()) as Json;
  return Object.fromEntries(await new Response(bytes, { headers: { 'content-type': type } }).formData());
}
