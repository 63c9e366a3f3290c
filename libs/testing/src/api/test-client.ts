import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { inject } from 'vitest';
import { sendRequest, type TestRequest, type TestResponse } from '../published/send-request.js';

export type { TestRequest, TestResponse };

/**
 * Sends a request and fails unless the answer has the expected status. What answered how is noted for the check that
 * every documented status of every operation is exercised by some test.
 *
 *   const { body } = await api.request(200, 'GET /agent/runs?limit=2', { token });
 */
export class TestClient {
  constructor(private readonly baseUrl: string) {}

  readonly request = async (status: number, line: string, options: TestRequest = {}): Promise<TestResponse> => {
    const response = await sendRequest(this.baseUrl, status, line, options);
    const [method = '', path = ''] = line.split(/ (.*)/s);
    noteExchange(method, path, status);
    return response;
  };
}

/** For exchanges of other clients whose status a test has asserted. `path` is relative to the API's base. */
export function noteExchange(method: string, path: string, status: number): void {
  appendFileSync(
    join(inject('exchangesDir'), `${process.pid}.txt`),
    `${method} ${path.replace(/\?.*/s, '')} ${status}\n`,
  );
}
