import { z } from 'zod';
import { detailOf, ForgeApi, ForgeError } from './forge-api.js';
import type { ForgeRepository, NewPullRequest, PullRequest } from './forge.js';

const CONFLICT = 409;

const REPOSITORY = z.object({ default_branch: z.string() });
const REQUEST = z.object({ web_url: z.string(), draft: z.boolean().default(false) });

export class Gitlab implements ForgeRepository {
  private readonly api: ForgeApi;
  private readonly path: string;

  /** `project`: its path with all groups. */
  constructor(url: string, project: string, token: string) {
    this.api = new ForgeApi({ name: 'GitLab', url, token });
    this.path = `/projects/${encodeURIComponent(project)}`;
  }

  async create(request: NewPullRequest, signal: AbortSignal): Promise<PullRequest | ForgeError> {
    const { title, body: description, branch, base, draft } = request;
    const input = {
      title: draft ? `Draft: ${title}` : title,
      description,
      source_branch: branch,
      target_branch: base,
    };
    const created = await this.api.post(`${this.path}/merge_requests`, input, [CONFLICT], signal);
    if (created.status !== CONFLICT) return this.read(created.body);
    return new ForgeError(`GitLab rejected the merge request (${CONFLICT}): ${detailOf(created.body)}`);
  }

  async defaultBranch(signal: AbortSignal): Promise<string> {
    const { body } = await this.api.get(this.path, signal);
    return this.api.read(REPOSITORY, body).default_branch;
  }

  async findOpen(branch: string, base: string, signal: AbortSignal): Promise<PullRequest | null> {
    const query = new URLSearchParams({ state: 'opened', source_branch: branch, target_branch: base, per_page: '1' });
    const { body } = await this.api.get(`${this.path}/merge_requests?${query.toString()}`, signal);
    const [first] = this.api.read(z.array(z.unknown()), body);
    return first === undefined ? null : this.read(first);
  }

  private read(body: unknown): PullRequest {
    const { web_url: url, draft } = this.api.read(REQUEST, body);
    return { url, status: draft ? 'draft' : 'open' };
  }
}
