/** One of the three applications while it runs; the command line starts and stops it. */
export interface RunningApp {
  /** Origin of its listener with the real port, such as `http://127.0.0.1:3000`; null when it has no listener. */
  readonly url: string | null;
  /** Reports "not ready", so that load balancers stop sending requests; requests are still processed. */
  beginShutdown?(): void;
  /** Completes or requeues current work, then closes listeners and pools. Called once. */
  close(): Promise<void>;
}
