import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

export const MCP_TOKEN = 'of-the-mcp-server-0123456789';
const STDIO_SERVER = fileURLToPath(new URL('mcp-server.mjs', import.meta.url));

/** An MCP server over HTTP, and the place where the one over standard input and output tells that it was found. */
export class McpPlaces {
  /** Servers that were initialized by a client with the token: `http`, `stdio`. */
  readonly found = new Set<string>();
  private readonly watchers = new Set<() => void>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<McpPlaces> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const places = new McpPlaces(server);
    server.on('request', (request: IncomingMessage, response) => {
      void places.answer(request).then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(body === undefined ? undefined : JSON.stringify(body));
      });
    });
    return places;
  }

  /** As a run's configuration names them. */
  get servers(): Record<string, object> {
    const url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return {
      scales: {
        command: process.execPath,
        args: [STDIO_SERVER],
        env: { SEEN_URL: `${url}/stdio`, SEEN_TOKEN: MCP_TOKEN },
      },
      rulers: { url: `${url}/http`, headers: { Authorization: `Bearer ${MCP_TOKEN}` } },
    };
  }

  async untilFound(names: readonly string[], ms = 60_000): Promise<void> {
    if (names.every((name) => this.found.has(name))) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`Only found: ${[...this.found].join(', ')}.`)), ms);
      const look = (): void => {
        if (!names.every((name) => this.found.has(name))) return;
        clearTimeout(timer);
        this.watchers.delete(look);
        resolve();
      };
      this.watchers.add(look);
    });
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async answer(request: IncomingMessage): Promise<{ status: number; body?: object }> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    if (request.headers.authorization !== `Bearer ${MCP_TOKEN}`) return { status: 401 };
    if (request.url === '/stdio') return this.see('stdio', { status: 200 });
    if (request.method !== 'POST') return { status: 405 };
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
      id?: unknown;
      method: string;
      params?: { protocolVersion?: string };
    };
    if (id === undefined) return { status: 202 };
    const reply = (result: object) => ({ status: 200, body: { jsonrpc: '2.0', id, result } });
    if (method === 'initialize')
      return this.see(
        'http',
        reply({
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'rulers', version: '1' },
        }),
      );
    if (method !== 'tools/list') return reply({});
    return reply({
      tools: [{ name: 'measure', description: 'Measures.', inputSchema: { type: 'object', properties: {} } }],
    });
  }

  private see<T>(name: string, answer: T): T {
    this.found.add(name);
    for (const look of [...this.watchers]) look();
    return answer;
  }
}
