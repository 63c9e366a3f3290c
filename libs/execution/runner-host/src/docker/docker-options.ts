/** Where an engine listens. */
export type EngineAddress =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

/** How containers of runners are made; the settings of the same names, docs/operations/docker-executor.md. */
export interface DockerOptions {
  readonly dockerHost: EngineAddress;
  /** Directory of ca.pem, cert.pem and key.pem; empty: no TLS. */
  readonly dockerCertPath: string;
  readonly dockerPull: 'missing' | 'always' | 'never';
  /** Milliseconds. */
  readonly dockerPullTimeout: number;
  /** Empty: no registry is logged in to. */
  readonly dockerAuthFile: string;
  readonly dockerMemoryBytes: number;
  readonly dockerCpus: number;
  readonly dockerPids: number;
  /** 0: none. */
  readonly dockerDiskBytes: number;
  readonly dockerNetwork: string;
  /** Empty: the image's. */
  readonly dockerUser: string;
  /** Directory or volume with the runner's files as the engine sees it; empty: where this process runs from. */
  readonly dockerRunnerSource: string;
}
