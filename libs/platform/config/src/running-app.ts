/** One of the three applications, listening or working. What the command line starts and stops. */
export interface RunningApp {
  /** Origin of its listener with the real port, such as `http://127.0.0.1:3000`; null when it has none. */
  readonly url: string | null;
  /** Answers "not ready" from now on, so that load balancers stop sending; everything still works. */
  beginShutdown?(): void;
  /** Finishes or hands back what is going on, closes listeners and pools. Called once. */
  close(): Promise<void>;
}
