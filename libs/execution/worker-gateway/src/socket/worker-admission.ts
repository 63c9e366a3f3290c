import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { TokenAuthenticator, TokenUsage, UnauthorizedThrottle } from '#platform/auth';
import { Settings } from '#platform/config';
import { ProblemError } from '#platform/http';
import { workerNameFault } from '#execution/worker-protocol';
import { Connections } from './connections.js';

const POINTER = '/worker_id';
const RETRY_SECONDS = 10;

export interface Admitted {
  readonly teamUid: string;
  readonly workerHost: string;
  /** Uid of the service account. */
  readonly accountUid: string;
  readonly tokenUid: string;
}

/** Who may connect a worker: a service account, for its own team, by a name that others may have too. */
@Injectable()
export class WorkerAdmission {
  constructor(
    private readonly authenticator: TokenAuthenticator,
    private readonly usage: TokenUsage,
    private readonly connections: Connections,
    private readonly settings: Settings,
    private readonly pace: UnauthorizedThrottle,
  ) {}

  /** Throws the ProblemError that the request is answered with. */
  async admit(request: IncomingMessage): Promise<Admitted> {
    const { headers, url = '' } = request;
    const principal = await this.authenticator.authenticate(headers.authorization);
    if (typeof principal === 'string') {
      await this.pace.wait(request);
      throw new ProblemError('authentication_required', 'Send a valid token as `Authorization: Bearer <token>`.');
    }
    this.usage.note(principal.tokenUid);
    const teamUid = principal.memberships[0]?.teamUid;
    if (principal.type !== 'service_account' || teamUid === undefined) {
      throw new ProblemError('not_authorized', 'Workers connect with the token of a service account, not of a user.');
    }
    // Every secret that a run of the team may use reaches its worker, and an agent can read the token that it acts with.
    if (principal.isAgentIdentity === true) {
      throw new ProblemError(
        'not_authorized',
        'Workers connect with the token of a service account, not of an agent identity.',
      );
    }
    const workerHost = nameOf(url);
    this.checkRoom(teamUid);
    return { teamUid, workerHost, accountUid: principal.uid, tokenUid: principal.tokenUid };
  }

  /** Which of the tokens that connections were let in with count no more; the others are in use. */
  async ended(tokenUids: readonly string[]): Promise<ReadonlySet<string>> {
    const ended = new Set(await this.authenticator.ended(tokenUids));
    for (const uid of tokenUids) if (!ended.has(uid)) this.usage.note(uid);
    return ended;
  }

  private checkRoom(teamUid: string): void {
    const { workerMaxConnections, workerMaxTeamConnections } = this.settings;
    const retry = { retryAfterSeconds: RETRY_SECONDS };
    if (this.connections.count >= workerMaxConnections) {
      throw new ProblemError('resource_unavailable', 'This process takes no more connections of workers.', retry);
    }
    if (this.connections.of(teamUid) >= workerMaxTeamConnections) {
      const detail = `The team has ${workerMaxTeamConnections} connections of workers here, which is the limit.`;
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
    throw new ProblemError('not_authorized', 'Names that begin with `warp` stand for the service’s own workers.');
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
