import { z } from 'zod';
import { REF_NOT_FOUND, REPOSITORY_NOT_FOUND } from '../application/skill-sources.js';

/** What GitHub's API said instead of an answer. `detail` is a sentence for callers. */
export class GithubRefusal extends Error {
  constructor(
    readonly detail: string,
    readonly retryable: boolean,
    readonly status?: number,
  ) {
    super(detail);
    this.name = 'GithubRefusal';
  }
}

const REQUEST_LIMIT_MS = 15_000;
const MAX_ANSWER_BYTES = 32 * 1_048_576;
const MAX_HOPS = 3;

const repository = z.object({ private: z.boolean(), default_branch: z.string().min(1), size: z.number().optional() });
const tree = z.object({
  truncated: z.boolean().optional(),
  tree: z.array(
    z.object({
      path: z.string(),
      mode: z.string(),
      type: z.string(),
      sha: z.string().regex(/^[0-9a-f]{40,64}$/),
      size: z.number().int().nonnegative().optional(),
    }),
  ),
});
const blob = z.object({ content: z.string(), encoding: z.literal('base64') });

export type GithubTree = z.infer<typeof tree>;

export class GithubApi {
  constructor(
    /** Without a slash at the end. */
    private readonly origin: string,
    private readonly token: string | undefined,
    private readonly signal: AbortSignal,
  ) {}

  repository(place: string): Promise<z.infer<typeof repository>> {
    return this.ask(place, repository, 1_048_576);
  }

  /** `name`: branch, tag, commit or the id of a tree. */
  tree(place: string, name: string, isRecursive: boolean): Promise<GithubTree> {
    const query = isRecursive ? '?recursive=1' : '';
    return this.ask(`${place}/git/trees/${encodeURIComponent(name)}${query}`, tree, MAX_ANSWER_BYTES);
  }

  /** Throws when it has more than `maxBytes`. */
  async blob(place: string, oid: string, maxBytes: number): Promise<Buffer> {
    const { content } = await this.ask(`${place}/git/blobs/${oid}`, blob, 2 * maxBytes + 65_536);
    const bytes = Buffer.from(content, 'base64');
    if (bytes.length > maxBytes) throw new GithubRefusal('A file is larger than GitHub had said.', true);
    return bytes;
  }

  private async ask<T>(path: string, shape: z.ZodType<T>, maxBytes: number): Promise<T> {
    const limit = AbortSignal.timeout(REQUEST_LIMIT_MS);
    try {
      const response = await this.follow(`${this.origin}${path}`, AbortSignal.any([this.signal, limit]));
      if (!response.ok) throw await refusalOf(response);
      const answer = shape.safeParse(JSON.parse(await readBounded(response, maxBytes)));
      if (!answer.success) throw new GithubRefusal('GitHub’s API returned a response with an unexpected shape.', true);
      return answer.data;
    } catch (error) {
      if (error instanceof GithubRefusal || this.signal.aborted) throw error;
      // Neither the cause nor the address goes to callers.
      if (error instanceof SyntaxError) throw new GithubRefusal('GitHub’s API gave an answer that is not JSON.', true);
      throw new GithubRefusal(
        limit.aborted ? 'GitHub’s API does not answer in time.' : 'GitHub’s API cannot be reached now.',
        true,
      );
    }
  }

  /** A repository that has another name now leads there; the token goes nowhere but to the API itself. */
  private async follow(url: string, signal: AbortSignal): Promise<Response> {
    let address = url;
    for (let hop = 0; hop < MAX_HOPS; hop += 1) {
      const response = await this.get(address, signal);
      const target = response.headers.get('location');
      if (response.status < 300 || response.status >= 400 || target === null) return response;
      await response.body?.cancel();
      const next = new URL(target, address);
      if (next.origin !== new URL(this.origin).origin) break;
      address = next.href;
    }
    throw new GithubRefusal('The repository has moved.', false);
  }

  /** Once more where a connection breaks: one that was kept open may be closed just when it is used again. */
  private async get(address: string, signal: AbortSignal): Promise<Response> {
    const request = { headers: this.headers(), redirect: 'manual', signal } as const;
    try {
      return await fetch(address, request);
    } catch (error) {
      if (signal.aborted) throw error;
      return fetch(address, request);
    }
  }

  private headers(): Record<string, string> {
    return {
      Accept: 'application/vnd.github+json',
      'User-Agent': 'headrace',
      'X-GitHub-Api-Version': '2022-11-28',
      ...(this.token !== undefined && { Authorization: `Bearer ${this.token}` }),
    };
  }
}

async function refusalOf(response: Response): Promise<GithubRefusal> {
  await response.body?.cancel();
  const { status, headers } = response;
  const isSpent = headers.get('x-ratelimit-remaining') === '0' || headers.has('retry-after');
  if (status === 429 || (status === 403 && isSpent))
    return new GithubRefusal('The rate limit of GitHub’s API is reached.', true);
  // 451: taken down.
  if (status === 401 || status === 403 || status === 404 || status === 451)
    return new GithubRefusal(REPOSITORY_NOT_FOUND, false);
  if (status === 422) return new GithubRefusal(REF_NOT_FOUND, false);
  return new GithubRefusal(`GitHub’s API answers with status ${status}.`, true, status);
}

async function readBounded(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > maxBytes) throw new GithubRefusal('An answer of GitHub’s API is too large.', false);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}
