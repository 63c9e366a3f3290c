import type { Access } from './installation.js';
import type { Ledger } from './ledger.js';

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

const TIMEOUT_MS = 20_000;

/** Calls the API and the ingress as clients do that may lose their connection at any time. */
export class ChaosClient {
  constructor(
    private readonly access: Access,
    private readonly ledger: Ledger,
    private readonly timeoutMs = TIMEOUT_MS,
  ) {}

  /** Null: no answer. `expected`: statuses besides 2xx and a documented 503. */
  call(
    operation: string,
    method: string,
    path: string,
    {
      body,
      headers = {},
      expected = [],
    }: { body?: unknown; headers?: Record<string, string>; expected?: number[] } = {},
  ): Promise<Reply | null> {
    const init = {
      method,
      headers: {
        Authorization: `Bearer ${this.access.token}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    return this.exchange(operation, `${this.access.apiUrl}${path}`, init, expected);
  }

  deliver(path: string, body: string, headers: Record<string, string>): Promise<Reply | null> {
    return this.exchange('delivery', `${this.access.ingressUrl}${path}`, { method: 'POST', headers, body }, [429]);
  }

  private async exchange(
    operation: string,
    url: string,
    init: RequestInit,
    expected: readonly number[],
  ): Promise<Reply | null> {
    try {
      const response = await fetch(url, { ...init, signal: AbortSignal.timeout(this.timeoutMs) });
      const text = await response.text();
      const { status } = response;
      this.ledger.count(operation, status);
      const isDocumented503 = status === 503 && response.headers.has('retry-after');
      if (!response.ok && !isDocumented503 && !expected.includes(status))
        this.ledger.wrongAnswers.push(`${operation}: ${status} ${text.slice(0, 160)}`);
      return { status, body: text === '' ? null : (JSON.parse(text) as unknown) };
    } catch (error) {
      // fetch rejects with a TypeError when the connection breaks, and with a TimeoutError.
      if (!(error instanceof TypeError) && (error as Error).name !== 'TimeoutError') throw error;
      this.ledger.count(operation, 'none');
      return null;
    }
  }
}

/** A field of a JSON object that has to be there. */
export function textField(body: unknown, name: string): string {
  const value = (body as Record<string, unknown> | null)?.[name];
  if (typeof value !== 'string') throw new Error(`The answer has no ${name}: ${JSON.stringify(body)}`);
  return value;
}
