const MAX_MESSAGE = 1000;

/** The engine said no; the message is its own. */
export class EngineRefusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message);
    this.name = 'EngineRefusal';
  }
}

/** No answer from the engine: it is not running, not reachable, or takes too long. */
export class EngineUnreachable extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = 'EngineUnreachable';
  }
}

/** Whether the engine said that there is no such container or image. */
export function isMissing(error: unknown): boolean {
  return error instanceof EngineRefusal && error.status === 404;
}
