import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '#testing';

type Attributes = Readonly<Record<string, unknown>>;

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client' | 'other';
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: it is the first one of its trace. */
  readonly parentSpanId: string;
  /** Nanoseconds since 1970. */
  readonly startedAt: bigint;
  readonly endedAt: bigint;
  readonly attributes: Attributes;
  readonly isError: boolean;
  readonly schemaUrl: string;
  readonly resource: Attributes;
}

export interface ReceivedLog {
  readonly body: unknown;
  readonly severity: string;
  readonly attributes: Attributes;
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** A receiver of OTLP over HTTP in protobuf, as a collector is one. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly logs: ReceivedLog[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  /** Everything that was received, to search for what must not be in it. */
  readonly bytes: Buffer[] = [];
  /** Accepts requests and answers none of them. */
  isSilent = false;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<OtlpReceiver> {
    const server = createServer();
    const receiver = new OtlpReceiver(server);
    server.on('request', (request, response) => receiver.answer(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (this.isSilent) return;
      const body = Buffer.concat(chunks);
      const isProtobuf = request.headers['content-type'] === 'application/x-protobuf';
      if (request.method !== 'POST' || !isProtobuf) return response.writeHead(415).end();
      this.headers.push(request.headers);
      this.bytes.push(body);
      if (request.url === '/v1/traces') this.spans.push(...spansIn(body));
      else if (request.url === '/v1/logs') this.logs.push(...logsIn(body));
      else return response.writeHead(404).end();
      return response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  }

  spansOf(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  /** All spans of the trace, when the span with this name has arrived. */
  async waitFor(traceId: string, name: string): Promise<ReceivedSpan[]> {
    await until(
      () => Promise.resolve(this.spansOf(traceId).some((span) => span.name === name)),
      20_000,
      `Span ${name}`,
    );
    return this.spansOf(traceId);
  }
}

/** Fields of a message by their numbers, in the order in which they were written. Groups are not used any more. */
class Message {
  private readonly fields = new Map<number, (Buffer | bigint)[]>();

  constructor(bytes: Buffer) {
    let at = 0;
    const varint = (): bigint => {
      for (let value = 0n, shift = 0n; ; shift += 7n) {
        const byte = bytes[at++];
        if (byte === undefined) throw new Error('The message ends within a number.');
        value |= BigInt(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
      }
    };
    const take = (length: number): Buffer => {
      if (at + length > bytes.length) throw new Error('The message ends within a field.');
      at += length;
      return bytes.subarray(at - length, at);
    };
    while (at < bytes.length) {
      const tag = Number(varint());
      const [number, wire] = [tag >>> 3, tag & 7];
      const value =
        wire === 0
          ? varint()
          : wire === 1
            ? take(8).readBigUInt64LE()
            : wire === 2
              ? take(Number(varint()))
              : wire === 5
                ? BigInt(take(4).readUInt32LE())
                : null;
      if (value === null) throw new Error(`Wire type ${wire} is not known.`);
      this.fields.set(number, [...(this.fields.get(number) ?? []), value]);
    }
  }

  has(number: number): boolean {
    return this.fields.has(number);
  }

  bytes(number: number): Buffer {
    const value = this.fields.get(number)?.at(-1);
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
  }

  text(number: number): string {
    return this.bytes(number).toString('utf8');
  }

  hex(number: number): string {
    return this.bytes(number).toString('hex');
  }

  number(number: number): bigint {
    const value = this.fields.get(number)?.at(-1);
    return typeof value === 'bigint' ? value : 0n;
  }

  message(number: number): Message {
    return new Message(this.bytes(number));
  }

  messages(number: number): Message[] {
    return (this.fields.get(number) ?? []).filter((value) => Buffer.isBuffer(value)).map((value) => new Message(value));
  }
}

const attributesIn = (message: Message, number: number): Attributes =>
  Object.fromEntries(message.messages(number).map((pair) => [pair.text(1), valueIn(pair.message(2))]));

function valueIn(value: Message): unknown {
  if (value.has(1)) return value.text(1);
  if (value.has(2)) return value.number(2) === 1n;
  if (value.has(3)) return Number(BigInt.asIntN(64, value.number(3)));
  if (value.has(4)) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value.number(4));
    return bytes.readDoubleLE();
  }
  if (value.has(5)) return value.message(5).messages(1).map(valueIn);
  return value.has(6) ? attributesIn(value.message(6), 1) : null;
}

const KINDS: Readonly<Record<string, ReceivedSpan['kind']>> = { 1: 'internal', 2: 'server', 3: 'client' };

function spansIn(body: Buffer): ReceivedSpan[] {
  return new Message(body).messages(1).flatMap((resource) =>
    resource.messages(2).flatMap((scope) =>
      scope.messages(2).map((span) => ({
        name: span.text(5),
        kind: KINDS[String(span.number(6))] ?? 'other',
        traceId: span.hex(1),
        spanId: span.hex(2),
        parentSpanId: span.hex(4),
        startedAt: span.number(7),
        endedAt: span.number(8),
        attributes: attributesIn(span, 9),
        isError: span.message(15).number(3) === 2n,
        schemaUrl: scope.text(3),
        resource: attributesIn(resource.message(1), 1),
      })),
    ),
  );
}

function logsIn(body: Buffer): ReceivedLog[] {
  return new Message(body).messages(1).flatMap((resource) =>
    resource.messages(2).flatMap((scope) =>
      scope.messages(2).map((record) => ({
        body: valueIn(record.message(5)),
        severity: record.text(3),
        attributes: attributesIn(record, 6),
        traceId: record.hex(9),
        spanId: record.hex(10),
        isSampled: (record.number(8) & 1n) === 1n,
      })),
    ),
  );
}
