import { newUuid } from '#platform/kernel';

interface OpenCall<Answer> {
  /** Names what the agent wants in all requests for it. */
  readonly key: string;
  answer: Promise<Answer> | null;
}

/**
 * Calls of an agent that do something once. An agent whose call has timed out, or got no answer, uses the tool again with the same input:
 * it gets the answer to its first call. Calls with the same input at the same time are different calls.
 */
export class RepeatedCalls<Answer> {
  /** By input: calls whose answer the agent has not got and does not wait for, oldest first. */
  private readonly unanswered = new Map<string, OpenCall<Answer>[]>();

  /** `signal`: the agent does not wait for the answer any more. `send`: requests with the same key have one effect. */
  async call(input: string, signal: AbortSignal, send: (key: string) => Promise<Answer>): Promise<Answer> {
    const call = this.take(input) ?? { key: newUuid(), answer: null };
    const leave = (): void => this.leave(input, call);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    const request = (call.answer ??= send(call.key));
    try {
      return await request;
    } catch (error) {
      if (call.answer === request) call.answer = null;
      if (!signal.aborted) leave();
      throw error;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  private take(input: string): OpenCall<Answer> | undefined {
    const calls = this.unanswered.get(input);
    const call = calls?.shift();
    if (calls?.length === 0) this.unanswered.delete(input);
    return call;
  }

  private leave(input: string, call: OpenCall<Answer>): void {
    const calls = this.unanswered.get(input) ?? [];
    this.unanswered.set(input, [...calls, call]);
  }
}
