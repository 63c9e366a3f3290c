/** Per environment; links that have expired count until they are revoked. */
export const MAX_GRANTS = 100;
export const MAX_LINKS = 20;

interface PrincipalRef {
  readonly type: 'user' | 'service_account';
  readonly uid: string;
}

/** Whom an environment is granted to. */
export type Grantee = { readonly type: 'user'; readonly uid: string } | { readonly type: 'team'; readonly uid: string };

export interface EnvironmentGrant {
  readonly uid: string;
  readonly environmentUid: string;
  readonly grantee: Grantee;
  readonly creator: PrincipalRef;
  readonly createdAt: Date;
}

/** Whoever has its token and signs in gets to use the environment. */
export interface EnvironmentLink {
  readonly uid: string;
  readonly environmentUid: string;
  /** From then on nobody else comes by it. */
  readonly expiresAt: Date | null;
  /** People who may come by it; null: any number. */
  readonly maxUses: number | null;
  /** People who have come by it. */
  readonly uses: number;
  readonly creator: PrincipalRef;
  readonly createdAt: Date;
}
