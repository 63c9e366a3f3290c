import { type IncomingHttpHeaders, request } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: Record<string, unknown> | undefined;
}

export interface Sending {
  readonly method?: string;
  /** A name may come more than once: name, value, name, value … */
  readonly headers?: Readonly<Record<string, string>> | readonly string[];
  readonly body?: string | Buffer;
  /** In chunks of this size, without a Content-Length. */
  readonly chunkBytes?: number;
}

/** One request, byte by byte as it is given, on a separate connection. */
export function post(
  url: string,
  { method = 'POST', headers = {}, body = '', chunkBytes }: Sending = {},
): Promise<Answer> {
  const bytes = Buffer.from(body);
  const given = Array.isArray(headers) ? [...(headers as readonly string[])] : Object.entries(headers).flat();
  const { host } = new URL(url);
  const size = chunkBytes === undefined ? ['Content-Length', String(bytes.length)] : ['Transfer-Encoding', 'chunked'];
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, agent: false, headers: ['Host', host, ...size, ...given] as never },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) });
        });
      },
    );
    sent.on('error', reject);
    if (chunkBytes === undefined) sent.end(bytes);
    else {
      for (let at = 0; at < bytes.length; at += chunkBytes) sent.write(bytes.subarray(at, at + chunkBytes));
      sent.end();
    }
  });
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export const bearer = (secret: string): Record<string, string> => ({ Authorization: `Bearer ${secret}` });
