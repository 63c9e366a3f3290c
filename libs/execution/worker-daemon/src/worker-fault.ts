/** The daemon cannot run; the message says what its operator has to do. */
export class WorkerFault extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
    this.name = 'WorkerFault';
  }
}
