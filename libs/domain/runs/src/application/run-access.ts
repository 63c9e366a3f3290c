import { Injectable } from '@nestjs/common';
import { type Caller, can, type Permission, roleIn } from '#platform/auth';
import { isUuid } from '#platform/kernel';
import type { Run } from '../domain/run.js';
import type { RunOwner } from '#execution/executions';
import { type ReadableScope, RunQueries } from '../persistence/run-queries.js';

export type RunLookup =
  { readonly kind: 'found'; readonly run: Run } | { readonly kind: 'unknown' } | { readonly kind: 'not_yours' };

/** Whether the caller has `permission` on what `owner` owns: one's own runs, or those of a team by one's role there. */
export function mayOnOwner(caller: Caller, owner: RunOwner, permission: Permission): boolean {
  if (owner.teamUid === null) return caller.principal.type === 'user' && caller.principal.uid === owner.userUid;
  const role = roleIn(caller.principal, owner.teamUid);
  return role !== null && can(role, permission);
}

/** Everything that {@link mayOnOwner} lets be read: the team header narrows lists, not what may be looked at. */
export function readableBy({ principal }: Caller): ReadableScope {
  return {
    teamUids: principal.memberships.filter(({ role }) => can(role, 'runs:read')).map(({ teamUid }) => teamUid),
    userUid: principal.type === 'user' ? principal.uid : null,
  };
}

/** Loads a run through the caller's permission. One round trip. */
@Injectable()
export class RunAccess {
  constructor(private readonly queries: RunQueries) {}

  async find(caller: Caller, runId: string, permission: Permission): Promise<RunLookup> {
    if (!isUuid(runId)) return { kind: 'unknown' };
    const run = await this.queries.find(runId);
    if (!run) return { kind: 'unknown' };
    return mayOnOwner(caller, run.owner, permission) ? { kind: 'found', run } : { kind: 'not_yours' };
  }

  /** The newest run of a conversation among those that the caller may read, or null. One round trip. */
  async findNewestOf(caller: Caller, conversationId: string): Promise<Run | null> {
    if (!isUuid(conversationId)) return null;
    return this.queries.findNewestOfConversation(conversationId, readableBy(caller));
  }
}
