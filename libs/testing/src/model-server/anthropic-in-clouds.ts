import { crc32 } from 'node:zlib';
import { anthropicMessages } from './anthropic-messages.js';
import type { ModelDialect } from './model-dialect.js';

const BEDROCK = /\/model\/([^/]+)\/invoke(-with-response-stream)?$/;
/** Tokens are counted by a separate model there. */
const VERTEX = /\/publishers\/anthropic\/models\/(?!count-tokens:)([^/:]+):(streamR|r)awPredict$/;

/** Anthropic's Messages through Amazon Bedrock, whose streams are of Amazon's binary event format. */
export const bedrockMessages: ModelDialect = {
  ...anthropicMessages,
  asks: (path) => BEDROCK.test(path),
  read(body, path) {
    const [, model = '', stream] = BEDROCK.exec(path) ?? [];
    return { ...anthropicMessages.read(body, path), model: decodeURIComponent(model), isStream: stream !== undefined };
  },
  streamType: 'application/vnd.amazon.eventstream',
  stream(step, model, id) {
    const text = anthropicMessages.stream(step, model, id).toString();
    return Buffer.concat([...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => chunkMessage(data)));
  },
};

/** Anthropic's Messages through Google Vertex AI. */
export const vertexMessages: ModelDialect = {
  ...anthropicMessages,
  asks: (path) => VERTEX.test(path),
  read(body, path) {
    const [, model = '', kind] = VERTEX.exec(path) ?? [];
    return { ...anthropicMessages.read(body, path), model, isStream: kind === 'streamR' };
  },
};

/** A message of `application/vnd.amazon.eventstream`: lengths and their checksum, headers, payload, checksum of all. */
function chunkMessage(data: string): Buffer {
  const payload = Buffer.from(JSON.stringify({ bytes: Buffer.from(data).toString('base64') }));
  const headers = Buffer.concat(
    [
      [':event-type', 'chunk'],
      [':content-type', 'application/json'],
      [':message-type', 'event'],
    ].map(([name = '', value = '']) => header(name, value)),
  );
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32BE(lengths.length + 4 + headers.length + payload.length + 4, 0);
  lengths.writeUInt32BE(headers.length, 4);
  const start = Buffer.concat([lengths, checksum(lengths), headers, payload]);
  return Buffer.concat([start, checksum(start)]);
}

const STRING = 7;

function header(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(value));
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([STRING]),
    length,
    Buffer.from(value),
  ]);
}

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}
