import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

interface MergeRequest {
  readonly iid: number;
  readonly title: string;
  readonly description: string;
  readonly source_branch: string;
  readonly target_branch: string;
}

/** The part of GitLab's REST API that creates merge requests, on a loopback port. */
export class GitlabApiDouble {
  readonly mergeRequests: MergeRequest[] = [];

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
    const text = (await buffer(request)).toString();
    const { status, body } = this.respond(request, text);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  }

  private respond({ method, url = '', headers }: IncomingMessage, text: string): { status: number; body: unknown } {
    if (headers.authorization !== `Bearer ${this.token}`) return { status: 401, body: { message: '401 Unauthorized' } };
    const { pathname, searchParams: query } = new URL(url, this.url);
    const path = `/api/v4/projects/${encodeURIComponent(this.project)}`;
    if (method === 'GET' && pathname === path)
      return { status: 200, body: { id: 1, path_with_namespace: this.project, default_branch: 'main' } };
    if (pathname !== `${path}/merge_requests`) return { status: 404, body: { message: '404 Project Not Found' } };
    if (method === 'GET') {
      const found = this.mergeRequests.filter(
        (one) => one.source_branch === query.get('source_branch') && one.target_branch === query.get('target_branch'),
      );
      return { status: 200, body: found.map((one) => this.shown(one)) };
    }
    const input = JSON.parse(text) as Omit<MergeRequest, 'iid'>;
    const existing = this.mergeRequests.find(({ source_branch: branch }) => branch === input.source_branch);
    if (existing) {
      const message = [`Another open merge request already exists for this source branch: !${existing.iid}`];
      return { status: 409, body: { message } };
    }
    const created = { ...input, iid: this.mergeRequests.length + 1 };
    this.mergeRequests.push(created);
    return { status: 201, body: this.shown(created) };
  }

  private shown(request: MergeRequest): object {
    const page = `${this.url}/${this.project}/-/merge_requests/${request.iid}`;
    return { ...request, state: 'opened', draft: request.title.startsWith('Draft: '), web_url: page };
  }
}
