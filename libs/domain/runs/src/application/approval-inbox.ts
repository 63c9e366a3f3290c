import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { CursorCodec } from '#platform/kernel';
import { APPROVAL_STATES, type ApprovalState } from '#execution/executions';
import { ApprovalInboxStore, type ApprovalPosition, type ListedApproval } from '../persistence/approval-inbox.store.js';
import { ownersOf } from './list-runs.js';

export type ApprovalInboxResult =
  | { readonly kind: 'page'; readonly approvals: readonly ListedApproval[]; readonly nextCursor: string | null }
  | { readonly kind: 'bad_cursor' };

/** The permission requests of all runs that the caller may see: those of the teams at hand, and a person's own. */
@Injectable()
export class ApprovalInbox {
  private readonly cursors: CursorCodec;

  constructor(
    private readonly store: ApprovalInboxStore,
    settings: Settings,
  ) {
    this.cursors = new CursorCodec(`approval cursors ${settings.secretsKey ?? ''}`);
  }

  /** @param state null: any. */
  async execute(
    caller: Caller,
    state: ApprovalState | null,
    limit: number,
    cursor: string | null,
  ): Promise<ApprovalInboxResult> {
    const owners = ownersOf(caller);
    const query = { owners, state };
    const place = cursor === null ? null : this.cursors.decode(cursor, query);
    if (cursor !== null && place === null) return { kind: 'bad_cursor' };
    const after = place?.map(String) as unknown as ApprovalPosition | undefined;
    const rows = await this.store.list(owners, state === null ? APPROVAL_STATES : [state], after ?? null, limit + 1);
    const approvals = rows.slice(0, limit);
    const last = approvals.at(-1);
    const nextCursor =
      rows.length > limit && last ? this.cursors.encode([last.position, last.run_id, last.id], query) : null;
    return { kind: 'page', approvals, nextCursor };
  }
}
