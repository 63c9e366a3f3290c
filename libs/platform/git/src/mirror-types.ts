export interface GitCredential {
  /** Default: `x-access-token`, what GitHub expects beside a token. */
  readonly username?: string;
  /** A password, a token, or for ssh a private key. */
  readonly password: string;
}

export interface GitRepository {
  /** As `parseGitUrl` takes it; checked again. */
  readonly url: string;
  readonly credential?: GitCredential;
}

export interface MirrorOptions {
  /** Branch, tag, full name (`refs/…`) or whole commit id; the default branch when absent. */
  readonly ref?: string;
  /** Not fetched again when it was within this time. Default 0. */
  readonly maxAgeMs?: number;
  readonly signal?: AbortSignal;
}

export interface TreeEntry {
  /** `100644`, `100755`, `120000` (symbolic link, whose content is its target), `160000` (submodule). */
  readonly mode: string;
  readonly type: 'blob' | 'tree' | 'commit';
  readonly oid: string;
  /** Bytes; null for what is no blob. */
  readonly size: number | null;
  readonly path: string;
}

/** What a ref of the repository was when it was last fetched. */
export interface FetchedRef {
  readonly commit: string;
  /** `refs/heads/main`, `refs/tags/v1`, or the commit's id. */
  readonly name: string;
}
