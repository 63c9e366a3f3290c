import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Role } from '../domain/roles.js';

/** Set by the database: `headrace.now()`. */
const writtenByDatabase = { type: 'timestamptz', insert: false, update: false } as const;

@Entity({ name: 'teams' })
export class TeamRow {
  @PrimaryColumn({ type: 'text' }) uid: string;
  @Column({ type: 'text' }) name: string;
  /** Hosted runs at the same time; null: the installation's MAX_CONCURRENT_RUNS_PER_TEAM. */
  @Column({ type: 'int', name: 'max_concurrent_runs', nullable: true }) maxConcurrentRuns: number | null;
  @Column({ type: 'text', name: 'default_model_id', nullable: true }) defaultModelId: string | null;
  @Column({ type: 'text', name: 'default_worker_host', nullable: true }) defaultWorkerHost: string | null;
  @Column({ type: 'boolean', name: 'metadata_filter', default: true }) metadataFilter: boolean;
  @Column({ type: 'boolean', default: true }) schedules: boolean;
  @Column({ ...writtenByDatabase, name: 'created_at' }) createdAt: Date;
}

@Entity({ name: 'users' })
export class UserRow {
  @PrimaryColumn({ type: 'text' }) uid: string;
  @Column({ type: 'text' }) email: string;
  @Column({ type: 'text', name: 'display_name' }) displayName: string;
  @Column({ type: 'text', name: 'photo_url', nullable: true }) photoUrl: string | null;
  /** Since this time the tokens of the user are rejected; null: enabled. */
  @Column({ type: 'timestamptz', name: 'disabled_at', nullable: true, insert: false }) disabledAt: Date | null;
  @Column({ ...writtenByDatabase, name: 'created_at' }) createdAt: Date;
}

@Entity({ name: 'service_accounts' })
export class ServiceAccountRow {
  @PrimaryColumn({ type: 'text' }) uid: string;
  @Column({ type: 'text', name: 'team_uid' }) teamUid: string;
  @Column({ type: 'text' }) name: string;
  /** Since this time its tokens are rejected. The row is kept, because history shows its name. */
  @Column({ type: 'timestamptz', name: 'disabled_at', nullable: true }) disabledAt: Date | null;
  @Column({ ...writtenByDatabase, name: 'created_at' }) createdAt: Date;
}

@Entity({ name: 'memberships' })
export class MembershipRow {
  @PrimaryColumn({ type: 'text', name: 'team_uid' }) teamUid: string;
  @PrimaryColumn({ type: 'text', name: 'user_uid' }) userUid: string;
  @Column({ type: 'text' }) role: Role;
  @Column({ ...writtenByDatabase, name: 'created_at' }) createdAt: Date;
}

@Entity({ name: 'tokens' })
export class TokenRow {
  @PrimaryColumn({ type: 'text' }) uid: string;
  @Column({ type: 'bytea', select: false }) hash: Buffer;
  @Column({ type: 'text' }) prefix: string;
  @Column({ type: 'text' }) name: string;
  @Column({ type: 'text', name: 'user_uid', nullable: true }) userUid: string | null;
  @Column({ type: 'text', name: 'service_account_uid', nullable: true }) serviceAccountUid: string | null;
  @Column({ ...writtenByDatabase, name: 'created_at' }) createdAt: Date;
  @Column({ type: 'timestamptz', name: 'expires_at', nullable: true }) expiresAt: Date | null;
  @Column({ type: 'timestamptz', name: 'revoked_at', nullable: true }) revokedAt: Date | null;
  @Column({ type: 'timestamptz', name: 'last_used_at', nullable: true, insert: false }) lastUsedAt: Date | null;
}

export const AUTH_ENTITIES = [TeamRow, UserRow, ServiceAccountRow, MembershipRow, TokenRow];
