/** What the API answers about environments, as far as commands show it. */
export interface RemoteEnvironment {
  readonly uid: string;
  readonly config: { readonly name?: string };
  readonly last_updated: string;
  readonly setup_failed: boolean;
  readonly last_task_run_timestamp?: string | null;
  readonly scope?: { readonly type: string; readonly uid?: string };
}

interface RemotePrincipal {
  readonly uid?: string;
  readonly email?: string;
}

export interface RemoteGrant {
  readonly uid: string;
  readonly user?: RemotePrincipal;
  readonly team_uid?: string;
  readonly created_at: string;
}

export interface RemoteLink {
  readonly uid: string;
  readonly expires_at?: string;
  readonly max_uses?: number;
  readonly uses: number;
  readonly created_at: string;
}

/** A path segment; whatever was typed, nothing but one. */
export const environmentPath = (uid: string, rest = ''): string => `/environments/${encodeURIComponent(uid)}${rest}`;
