/** Fields of a line of the log; never tokens, prompts or values of an environment. */
export type HostLogFields = Readonly<Record<string, unknown>>;

/** Where this library logs to: the Nest logger of a server, the daemon's own log. */
export interface HostLog {
  debug(message: string, fields?: HostLogFields): void;
  info(message: string, fields?: HostLogFields): void;
  warn(message: string, fields?: HostLogFields): void;
  error(message: string, fields?: HostLogFields): void;
}
