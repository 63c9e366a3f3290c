import { Injectable } from '@nestjs/common';
import type { Caller } from '#platform/auth';
import { Settings } from '#platform/config';
import { PageCursors } from '#platform/kernel';
import { APPROVAL_STATES, type ApprovalState } from '../domain/approval.js';
import { ApprovalInboxStore, type ApprovalPosition, type ListedApproval } from '../persistence/approval-inbox.store.js';
import { ownersOf } from './list-runs.js';

export type ApprovalInboxResult =
  | { readonly kind: 'page'; readonly approvals: readonly ListedApproval[]; readonly nextCursor: string | null }
  | { readonly kind: 'bad_cursor' };

/** The permission requests of all runs that the caller may see: those of the teams at hand, and a person's own. */
@Injectable()
export class ApprovalInbox {
  private readonly cursors: PageCursors;

  constructor(
    private readonly store: ApprovalInboxStore,
    settings: Settings,
  ) {
    this.cursors = new PageCursors('approval', settings);
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
    const position = this.cursors.decode(cursor, query);
    if (position === null) return { kind: 'bad_cursor' };
    const after = position.length === 0 ? null : (position.map(String) as unknown as ApprovalPosition);
    const rows = await this.store.list(owners, state === null ? APPROVAL_STATES : [state], after, limit + 1);
    const { items: approvals, nextCursor } = this.cursors.page(rows, limit, query, (last) => [
      last.position,
      last.run_id,
      last.id,
    ]);
    return { kind: 'page', approvals, nextCursor };
  }
}
