/** Address of an engine. */
export type EngineAddress =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

/** Options of runner containers: the settings of the same names, see docs/operations/docker-executor.md. */
export interface DockerOptions {
  readonly dockerHost: EngineAddress;
  /** Directory of ca.pem, cert.pem and key.pem; empty: no TLS. */
  readonly dockerCertPath: string;
  readonly dockerPull: 'missing' | 'always' | 'never';
  /** Milliseconds. */
  readonly dockerPullTimeout: number;
  /** Empty: no registry credentials. */
  readonly dockerAuthFile: string;
  readonly dockerMemoryBytes: number;
  readonly dockerCpus: number;
  readonly dockerPids: number;
  /** 0: none. */
  readonly dockerDiskBytes: number;
  readonly dockerNetwork: string;
  /** Empty: the image's. */
  readonly dockerUser: string;
  /** Directory or volume with the runner's files on the engine's machine; empty: the files of this process. */
  readonly dockerRunnerSource: string;
}
