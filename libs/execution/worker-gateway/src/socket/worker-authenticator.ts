import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { TokenAuthenticator, TokenUsage, UnauthorizedThrottle } from '#platform/auth';
import { Settings } from '#platform/config';
import { ProblemError } from '#platform/http';
import { workerNameFault } from '#execution/worker-protocol';
import type { WorkerRef } from '../domain/worker.js';
import { WorkerSockets } from './worker-sockets.js';

const POINTER = '/worker_id';
const RETRY_SECONDS = 10;

export interface AuthenticatedWorker extends Pick<WorkerRef, 'teamUid' | 'workerHost' | 'accountUid'> {
  readonly tokenUid: string;
}

/** Authenticates workers: a service account connects workers for its own team. Several workers can have the same name. */
@Injectable()
export class WorkerAuthenticator {
  constructor(
    private readonly tokens: TokenAuthenticator,
    private readonly usage: TokenUsage,
    private readonly sockets: WorkerSockets,
    private readonly settings: Settings,
    private readonly pace: UnauthorizedThrottle,
  ) {}

  /** Throws the ProblemError of the response. */
  async authenticate(request: IncomingMessage): Promise<AuthenticatedWorker> {
    const { headers, url = '' } = request;
    const principal = await this.tokens.authenticate(headers.authorization);
    if (typeof principal === 'string') {
      await this.pace.wait(request);
      throw new ProblemError('authentication_required', 'Send a valid token as `Authorization: Bearer <token>`.');
    }
    this.usage.note(principal.tokenUid);
    const teamUid = principal.memberships[0]?.teamUid;
    if (principal.type !== 'service_account' || teamUid === undefined) {
      throw new ProblemError('not_authorized', 'Workers connect with the token of a service account, not of a user.');
    }
    // A worker receives every secret that runs of the team use, and an agent can read its own token.
    if (principal.isAgentIdentity === true) {
      throw new ProblemError(
        'not_authorized',
        'Workers connect with the token of a service account, not of an agent identity.',
      );
    }
    const workerHost = nameOf(url);
    this.checkCapacity(teamUid);
    return { teamUid, workerHost, accountUid: principal.uid, tokenUid: principal.tokenUid };
  }

  /** Which of the tokens of open connections are no longer valid. Stores that the others are in use. */
  async ended(tokenUids: readonly string[]): Promise<ReadonlySet<string>> {
    const ended = new Set(await this.tokens.ended(tokenUids));
    for (const uid of tokenUids) if (!ended.has(uid)) this.usage.note(uid);
    return ended;
  }

  private checkCapacity(teamUid: string): void {
    const { workerMaxConnections, workerMaxTeamConnections } = this.settings;
    const retry = { retryAfterSeconds: RETRY_SECONDS };
    if (this.sockets.count >= workerMaxConnections) {
      throw new ProblemError('resource_unavailable', 'This process accepts no more connections of workers.', retry);
    }
    if (this.sockets.countOf(teamUid) >= workerMaxTeamConnections) {
      const detail = `The team can have at most ${workerMaxTeamConnections} connections of workers to this process.`;
      throw new ProblemError('rate_limited', detail, retry);
    }
  }
}

function nameOf(url: string): string {
  const query = url.indexOf('?');
  const [name, ...more] = new URLSearchParams(query === -1 ? '' : url.slice(query + 1)).getAll('worker_id');
  if (more.length > 0) throw unfit('is given more than once.');
  const fault = workerNameFault(name);
  if (fault?.kind === 'reserved') {
    throw new ProblemError('not_authorized', 'Names that begin with `warp` are reserved for workers of the service.');
  }
  if (fault?.kind === 'unfit') throw unfit(`${fault.detail}.`);
  if (fault !== null || name === undefined) throw unfit('is missing: it is the name of the worker.');
  return name;
}

function unfit(rule: string): ProblemError {
  return new ProblemError('invalid_request', `The parameter worker_id ${rule}`, {
    errors: [{ pointer: POINTER, detail: `The parameter ${rule}` }],
  });
}
