// An MCP server with one tool, over standard input and output. It tells at SEEN_URL, with SEEN_TOKEN, that it was found.
import readline from 'node:readline';

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'scales', version: '1' },
  }),
  'tools/list': () => ({
    tools: [{ name: 'weigh', description: 'Weighs a thing.', inputSchema: { type: 'object', properties: {} } }],
  }),
  ping: () => ({}),
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const outcome = answer ? { result: answer(params ?? {}) } : { error: { code: -32601, message: 'Method not found' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...outcome })}\n`);
  if (method === 'initialize')
    await fetch(process.env.SEEN_URL, { headers: { authorization: `Bearer ${process.env.SEEN_TOKEN}` } });
}
