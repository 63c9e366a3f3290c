import { createHash, createPrivateKey } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Settings } from '#platform/config';
import { githubApi } from '#platform/git';
import { Clock, SingleFlight } from '#platform/kernel';

export interface GithubAppRepository {
  readonly appId: number;
  /** PEM. */
  readonly privateKey: string;
  readonly owner: string;
  readonly repo: string;
  /** Changes with the installation of the App on the account: what was found before is not used any more. Absent: no change is known. */
  readonly installationVersion?: string | undefined;
}

export interface InstallationToken {
  readonly token: string;
  readonly expiresAt: Date;
}

/** What a token may do, as far as the installation of the App may do it. */
export type TokenUse = 'runs' | 'skills' | 'answers';

/** The message is for the owner of a run and contains nothing of the private key or a token. */
export class GithubAppError extends Error {
  constructor(
    message: string,
    readonly isTemporary: boolean,
  ) {
    super(message);
  }
}

interface Pause {
  readonly error: GithubAppError;
  readonly until: Date;
  readonly lengthMs: number;
}

type Permissions = Readonly<Record<string, string | undefined>>;

interface AppInstallation {
  readonly id: number;
  readonly permissions: Permissions;
}

interface AppResponse {
  readonly data: unknown;
}
type AppRequest = (route: string, parameters: Readonly<Record<string, unknown>>) => Promise<AppResponse>;

const PERMISSIONS: Readonly<Record<TokenUse, Readonly<Record<string, 'read' | 'write'>>>> = {
  // GitHub rejects pushes that change workflows without the permission `workflows`. `gh` reads issues, checks and workflow runs.
  runs: {
    actions: 'read',
    checks: 'read',
    contents: 'write',
    issues: 'write',
    metadata: 'read',
    pull_requests: 'write',
    statuses: 'read',
    workflows: 'write',
  },
  skills: { contents: 'read', metadata: 'read' },
  answers: { checks: 'write', issues: 'write', metadata: 'read', pull_requests: 'write' },
};
const MAX_ENTRIES = 2_000;
const INSTALLATION_MS = 3_600_000;
/** Less than the runner waits for its assignment. */
const TIMEOUT_MS = 4_000;
/** A token with less time left is not handed out again. */
const MIN_LEFT_MS = 600_000;
const SECOND_MS = 1_000;
/** After a permanent failure nothing is requested for this time, which doubles with each further failure. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 300_000;
/** GitHub asks to wait for a minute when a response of a secondary rate limit has no time. */
const SECONDARY_LIMIT_MS = 60_000;

/** Mints the installation access tokens of GitHub Apps. Private keys and tokens exist in the memory of this process only. */
@Injectable()
export class GithubAppTokens {
  private readonly installations = new LRUCache<string, AppInstallation>({ max: MAX_ENTRIES, ttl: INSTALLATION_MS });
  private readonly tokens = new LRUCache<string, InstallationToken>({ max: MAX_ENTRIES });
  private readonly minting = new SingleFlight<InstallationToken>();
  /** By App: until when GitHub rejects its requests. */
  private readonly limits = new LRUCache<string, Date>({ max: MAX_ENTRIES });
  /** Of permanent failures: agents can ask for a credential in a loop. */
  private readonly pauses = new LRUCache<string, Pause>({ max: MAX_ENTRIES, ttl: INSTALLATION_MS });

  constructor(
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  /** Rejects with a {@link GithubAppError}. */
  async mint(repository: GithubAppRepository, use: TokenUse): Promise<InstallationToken> {
    const key = keyOf(repository, use);
    const known = this.tokens.get(key);
    if (known && known.expiresAt.getTime() - this.clock.now().getTime() > MIN_LEFT_MS) return known;
    return this.minting.run(key, undefined, async () => {
      const pause = this.pauses.get(key);
      if (pause && pause.until > this.clock.now()) throw pause.error;
      try {
        const token = await this.request(repository, use);
        this.tokens.set(key, token);
        this.pauses.delete(key);
        return token;
      } catch (error) {
        if (error instanceof GithubAppError && !error.isTemporary) this.pause(key, error, pause);
        throw error;
      }
    });
  }

  /** GitHub has rejected a request with the token: it is not handed out again. */
  discard(token: string): void {
    for (const [key, known] of this.tokens.entries()) if (known.token === token) this.tokens.delete(key);
  }

  private pause(key: string, error: GithubAppError, last: Pause | undefined): void {
    const lengthMs = last ? Math.min(last.lengthMs * 2, MAX_PAUSE_MS) : FIRST_PAUSE_MS;
    this.pauses.set(key, { error, lengthMs, until: new Date(this.clock.now().getTime() + lengthMs) });
  }

  private async request(repository: GithubAppRepository, use: TokenUse): Promise<InstallationToken> {
    const app = keyOf({ ...repository, owner: '', repo: '', installationVersion: undefined });
    const limitedUntil = this.limits.get(app);
    if (limitedUntil && limitedUntil > this.clock.now()) throw limited(limitedUntil);
    const send = await this.sender(repository, app);
    const place = keyOf(repository);
    const known = this.installations.get(place);
    if (known) {
      try {
        return await this.create(send, known, repository, use);
      } catch (error) {
        if (!(error instanceof GithubAppError) || error.isTemporary) throw error;
        // The App may have been installed again, or with other permissions.
        this.installations.delete(place);
      }
    }
    const installation = await this.find(send, repository);
    this.installations.set(place, installation);
    return this.create(send, installation, repository, use);
  }

  private async find(send: AppRequest, { appId, owner, repo }: GithubAppRepository): Promise<AppInstallation> {
    const { data } = await send('GET /repos/{owner}/{repo}/installation', { owner, repo });
    const { id, permissions, suspended_at } = data as AppInstallation & { suspended_at?: string | null };
    if (suspended_at != null) throw suspended(`${owner}/${repo}`, appId);
    return { id, permissions };
  }

  private async create(
    send: AppRequest,
    installation: AppInstallation,
    { appId, owner, repo }: GithubAppRepository,
    use: TokenUse,
  ): Promise<InstallationToken> {
    const permissions = grantedOf(PERMISSIONS[use], installation.permissions);
    if (use !== 'answers' && permissions['contents'] === undefined)
      throw new GithubAppError(
        `The installation of the GitHub App ${appId} on ${owner}/${repo} lacks the permission \`contents\`.`,
        false,
      );
    const { data } = await send('POST /app/installations/{installation_id}/access_tokens', {
      installation_id: installation.id,
      repositories: [repo],
      permissions,
    });
    const { token, expires_at } = data as { token: string; expires_at: string };
    return { token, expiresAt: new Date(expires_at) };
  }

  /** Loaded for its first use: most installations have no App. */
  private async sender({ appId, privateKey, owner, repo }: GithubAppRepository, app: string): Promise<AppRequest> {
    const [{ createAppAuth }, { request: base }] = await Promise.all([
      import('@octokit/auth-app'),
      import('@octokit/request'),
    ]);
    const request = base.defaults({ baseUrl: githubApi(this.settings), headers: { 'user-agent': 'headrace' } });
    const auth = createAppAuth({ appId, privateKey: normalized(privateKey, appId), request, log: SILENT });
    return async (route, parameters) => {
      try {
        const signal = AbortSignal.timeout(TIMEOUT_MS);
        // The hook signs the request with the private key, and repeats it if the clocks differ.
        return await auth.hook(request, route, { ...parameters, request: { signal } });
      } catch (error) {
        const failure = failureOf(error, `${owner}/${repo}`, appId, this.clock.now());
        if (failure.limitedUntil) this.limits.set(app, failure.limitedUntil);
        throw failure.error;
      }
    };
  }
}

/** A warning of the library can contain the text of a response. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };
function ignore(): void {}

function keyOf({ appId, privateKey, owner, repo, installationVersion }: GithubAppRepository, use = ''): string {
  const parts = [appId, privateKey, owner.toLowerCase(), repo.toLowerCase(), use, installationVersion ?? null];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function normalized(privateKey: string, appId: number): string {
  try {
    const key = createPrivateKey(privateKey.trim());
    if (key.asymmetricKeyType === 'rsa') return key.export({ type: 'pkcs8', format: 'pem' }).toString();
  } catch {
    // An error of OpenSSL can repeat parts of its input.
  }
  throw new GithubAppError(
    `The managed secret for the GitHub App ${appId} is not a private key of an App (RSA, in the format PEM, without a passphrase).`,
    false,
  );
}

/** Each wanted permission that the installation has, `read` where it may not write. */
function grantedOf(wanted: Permissions, granted: Permissions): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, level] of Object.entries(wanted)) {
    const has = granted[name];
    if (level !== undefined && has !== undefined) found[name] = has === 'read' ? 'read' : level;
  }
  return found;
}

interface HttpFailure {
  readonly status: number;
  readonly response?: { readonly headers: Permissions; readonly data?: unknown };
}

interface Failure {
  readonly error: GithubAppError;
  readonly limitedUntil?: Date;
}

function failureOf(error: unknown, repository: string, appId: number, now: Date): Failure {
  const { status, response } = error as HttpFailure;
  if (!response)
    return { error: new GithubAppError(`GitHub does not respond; a token of the App ${appId} is needed.`, true) };
  const limitedUntil = rateLimitEnd(status, response, now);
  if (limitedUntil) return { error: limited(limitedUntil), limitedUntil };
  const permanent = (message: string): Failure => ({ error: new GithubAppError(message, false) });
  if (status === 401)
    return permanent(
      `GitHub does not accept the private key for the GitHub App ${appId} (401): the managed secret is not a key of this App, or the key was deleted.`,
    );
  if (status === 403 && isSuspension(response.data)) return { error: suspended(repository, appId) };
  if (status === 404 || status === 410)
    return permanent(`The GitHub App ${appId} is not installed on ${repository}, or does not exist (${status}).`);
  if (status === 422)
    return permanent(`GitHub grants no token of the App ${appId} for ${repository} with the needed permissions (422).`);
  return {
    error: new GithubAppError(
      `GitHub rejected the request for a token of the App ${appId} for ${repository} (${status}).`,
      status >= 500,
    ),
  };
}

/** Until when GitHub limits requests, by a response with an error; null: it does not. */
export function rateLimitEnd(
  status: number,
  { headers, data }: NonNullable<HttpFailure['response']>,
  now: Date,
): Date | null {
  if (status !== 403 && status !== 429) return null;
  const after = Number(headers['retry-after']);
  if (after > 0) return new Date(now.getTime() + after * SECOND_MS);
  const reset = Number(headers['x-ratelimit-reset']);
  if (headers['x-ratelimit-remaining'] === '0' && reset > 0) return new Date(reset * SECOND_MS);
  const isSecondary = status === 429 || /secondary rate limit/i.test(JSON.stringify(data ?? ''));
  return isSecondary ? new Date(now.getTime() + SECONDARY_LIMIT_MS) : null;
}

/** Whether a response with status 403 is that of a suspended installation. */
export const isSuspension = (data: unknown): boolean =>
  /installation has been suspended/i.test(JSON.stringify(data ?? ''));

const suspended = (repository: string, appId: number): GithubAppError =>
  new GithubAppError(
    `The installation of the GitHub App ${appId} on ${repository} is suspended. Who has suspended it can unsuspend it in the settings of the account on GitHub.`,
    false,
  );

const limited = (until: Date): GithubAppError =>
  new GithubAppError(`GitHub limits the requests of the App until ${until.toISOString()}.`, true);
