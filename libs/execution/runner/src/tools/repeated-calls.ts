import { newUuid } from '#platform/kernel';

interface OpenCall<Answer> {
  /** Names what the agent wants in all requests for it. */
  readonly key: string;
  answer: Promise<Answer> | null;
}

/**
 * Calls of an agent that do something once. An agent whose call has timed out, or got no answer, uses the tool again with the same input:
 * it gets the answer to its first call.
 */
export class RepeatedCalls<Answer> {
  private readonly open = new Map<string, OpenCall<Answer>>();

  /** `signal`: the agent does not wait for the answer any more. `send`: requests with the same key have one effect. */
  async call(input: string, signal: AbortSignal, send: (key: string) => Promise<Answer>): Promise<Answer> {
    const known: OpenCall<Answer> = this.open.get(input) ?? { key: newUuid(), answer: null };
    this.open.set(input, known);
    known.answer ??= send(known.key);
    try {
      const answer = await known.answer;
      if (!signal.aborted) this.open.delete(input);
      return answer;
    } catch (error) {
      known.answer = null;
      throw error;
    }
  }
}
