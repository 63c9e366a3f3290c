export interface TestRequest {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A value is sent as JSON; bytes and strings as they are. */
  readonly body?: unknown;
  /** With `body` as bytes or string: the Content-Type. */
  readonly contentType?: string;
  readonly redirect?: 'follow' | 'manual';
}

export interface TestResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed JSON, or undefined when the body is no JSON. */
  readonly body: ReturnType<typeof JSON.parse>;
}

/** `line`: method and path, such as `GET /agent/runs`. Rejects unless the answer has the expected status. */
export async function sendRequest(
  baseUrl: string,
  status: number,
  line: string,
  options: TestRequest = {},
): Promise<TestResponse> {
  const [method = '', path = ''] = line.split(/ (.*)/s);
  const raw = typeof options.body === 'string' || Buffer.isBuffer(options.body);
  const contentType = options.contentType ?? (options.body === undefined || raw ? undefined : 'application/json');
  const response = await fetch(baseUrl + path, {
    method,
    redirect: options.redirect ?? 'manual',
    headers: {
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: raw ? (options.body as string) : JSON.stringify(options.body) }),
  });
  const text = await response.text();
  if (response.status !== status) {
    throw new Error(`${line}: expected ${status}, got ${response.status}: ${text.slice(0, 2000)}`);
  }
  const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
  return { status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
}
