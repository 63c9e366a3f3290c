import { z } from 'zod';
import { detailOf, ForgeApi, ForgeError } from './forge-api.js';
import type { ForgeRepository, NewPullRequest, PullRequest } from './forge.js';

const INVALID = 422;
/** The newest version that GitHub Enterprise Server and GitHub have in common. */
const API_VERSION = '2022-11-28';

const REPOSITORY = z.object({ default_branch: z.string() });
const REQUEST = z.object({ html_url: z.string(), draft: z.boolean().default(false) });

export class Github implements ForgeRepository {
  private readonly api: ForgeApi;
  private readonly path: string;

  constructor(
    url: string,
    private readonly owner: string,
    name: string,
    token: string,
  ) {
    const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': API_VERSION };
    this.api = new ForgeApi({ name: 'GitHub', url, token, headers });
    this.path = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
  }

  async create(request: NewPullRequest, signal: AbortSignal): Promise<PullRequest | ForgeError> {
    const { title, body, branch: head, base, draft } = request;
    const input = { title, body, head, base, draft };
    const created = await this.api.post(`${this.path}/pulls`, input, [INVALID], signal);
    if (created.status !== INVALID) return this.read(created.body);
    return new ForgeError(`GitHub rejected the pull request (${INVALID}): ${detailOf(created.body)}`);
  }

  async defaultBranch(signal: AbortSignal): Promise<string> {
    const { body } = await this.api.get(this.path, signal);
    return this.api.read(REPOSITORY, body).default_branch;
  }

  async findOpen(branch: string, base: string, signal: AbortSignal): Promise<PullRequest | null> {
    const query = new URLSearchParams({ state: 'open', head: `${this.owner}:${branch}`, base, per_page: '1' });
    const { body } = await this.api.get(`${this.path}/pulls?${query.toString()}`, signal);
    const [first] = this.api.read(z.array(z.unknown()), body);
    return first === undefined ? null : this.read(first);
  }

  private read(body: unknown): PullRequest {
    const { html_url: url, draft } = this.api.read(REQUEST, body);
    return { url, status: draft ? 'draft' : 'open' };
  }
}
