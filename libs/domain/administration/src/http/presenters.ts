import {
  type ListedServiceAccount,
  type Session,
  type Team,
  type TeamMember,
  type TokenRecord,
  type UserWithMemberships,
} from '#platform/auth';
import type { StoredEntry } from '#platform/audit';
import type { AuditEntryItem } from './dto/audit-log.dto.js';
import type { MemberItem, ServiceAccountItem, TokenItem, UserItem } from './dto/principals.dto.js';
import type { SessionItem } from './dto/sessions.dto.js';
import type { TeamItem } from './dto/teams.dto.js';

const time = (name: string, at: Date | null): Record<string, string> =>
  at === null ? {} : { [name]: at.toISOString() };

export const presentUser = (user: UserWithMemberships): UserItem => ({
  uid: user.uid,
  email: user.email,
  is_email_verified: user.isEmailVerified,
  display_name: user.displayName,
  ...(user.photoUrl === null ? {} : { photo_url: user.photoUrl }),
  is_administrator: user.isAdministrator,
  ...time('disabled_at', user.disabledAt),
  created_at: user.createdAt.toISOString(),
  memberships: user.memberships.map(({ teamUid, role }) => ({ team_uid: teamUid, role })),
});

export const presentMember = (member: TeamMember): MemberItem => ({
  uid: member.uid,
  email: member.email,
  is_email_verified: member.isEmailVerified,
  display_name: member.displayName,
  ...(member.photoUrl === null ? {} : { photo_url: member.photoUrl }),
  role: member.role,
  ...time('disabled_at', member.disabledAt),
  member_since: member.memberSince.toISOString(),
});

export const presentTeam = (team: Team): TeamItem => ({
  uid: team.uid,
  name: team.name,
  max_concurrent_runs: team.maxConcurrentRuns,
  default_model_id: team.defaultModelId,
  default_worker_host: team.defaultWorkerHost,
  features: team.features,
  created_at: team.createdAt.toISOString(),
});

export const presentServiceAccount = (account: ListedServiceAccount): ServiceAccountItem => ({
  uid: account.uid,
  name: account.name,
  is_agent_identity: account.isAgentIdentity,
  created_at: account.createdAt.toISOString(),
});

export const presentToken = (token: TokenRecord): TokenItem => ({
  uid: token.uid,
  name: token.name,
  prefix: token.prefix,
  owner: { type: token.owner.type, uid: token.owner.uid },
  created_at: token.createdAt.toISOString(),
  ...time('expires_at', token.expiresAt),
  ...time('last_used_at', token.lastUsedAt),
});

/** The entry is shown as it was hashed, but for its chain. */
export function presentEntry({ entry, hash }: StoredEntry): AuditEntryItem {
  const { chain: _chain, ...fields } = JSON.parse(entry) as Omit<AuditEntryItem, 'hash'> & { readonly chain: string };
  return { ...fields, hash };
}

export const presentSession = (session: Session, currentUid: string): SessionItem => ({
  uid: session.uid,
  method: session.method,
  is_current: session.uid === currentUid,
  ...(session.address === null ? {} : { address: session.address }),
  ...(session.userAgent === null ? {} : { user_agent: session.userAgent }),
  created_at: session.createdAt.toISOString(),
  expires_at: session.expiresAt.toISOString(),
  ...(session.lastUsedAt === null ? {} : { last_used_at: session.lastUsedAt.toISOString() }),
});
