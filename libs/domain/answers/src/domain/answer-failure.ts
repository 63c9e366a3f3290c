/**
 * Why something was not written. `refused`: another attempt has the same result. `temporary`: it may succeed later. `limited`: the
 * forge limits requests, which is no failure. The message is for the owner of the run and contains no credential.
 */
export class AnswerFailure extends Error {
  constructor(
    readonly kind: 'refused' | 'temporary' | 'limited',
    message: string,
    /** Of `limited`. */
    readonly until: Date | null = null,
  ) {
    super(message);
  }

  /** Of a fault of the service: an attempt later may succeed. */
  static of(error: unknown): AnswerFailure {
    return error instanceof AnswerFailure ? error : new AnswerFailure('temporary', 'The service has failed.');
  }
}
