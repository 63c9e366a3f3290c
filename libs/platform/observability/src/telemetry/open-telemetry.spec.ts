import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseSettings } from '#platform/config';
import { OpenTelemetry } from './open-telemetry.js';
import type { EndedSpan } from './telemetry.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN: EndedSpan = {
  name: 'run',
  kind: 'internal',
  context: { traceId: TRACE_ID, spanId: '00f067aa0ba902b7', isSampled: true },
  parentSpanId: null,
  // Before this process has started, as that of most runs.
  startedAt: 1_000,
  endedAt: 2_000,
  attributes: {},
};

describe('sampling', () => {
  const decide = (settings: Record<string, string>, isParentSampled: boolean | null): boolean => {
    const telemetry = new OpenTelemetry(parseSettings(settings), 'http://127.0.0.1:9');
    const parent = { traceId: TRACE_ID, spanId: '00f067aa0ba902b7', isSampled: isParentSampled === true };
    return telemetry.isSampled(TRACE_ID, isParentSampled === null ? null : parent);
  };

  it.each([
    ['parentbased_always_on', [true, true, false]],
    ['parentbased_always_off', [false, true, false]],
    ['parentbased_traceidratio', [false, true, false]],
    ['always_on', [true, true, true]],
    ['always_off', [false, false, false]],
    ['traceidratio', [false, false, false]],
  ])('by %s follows the parent as its name says', (sampler, expected) => {
    const settings = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0' };
    expect([null, true, false].map((parent) => decide(settings, parent))).toEqual(expected);
  });

  it('exports no trace when traces are not exported', () => {
    expect(decide({ OTEL_TRACES_EXPORTER: 'none' }, true)).toBe(false);
  });
});

describe('a receiver that rejects what it gets', () => {
  let server: Server;
  let status = 401;
  const lines: string[] = [];
  let received = 0;

  beforeEach(async () => {
    server = createServer((request, response) => {
      request.resume().on('end', () => {
        received += 1;
        response.writeHead(status, 'rejected').end('the-body-of-the-response');
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    for (const level of ['warn', 'log'] as const)
      vi.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => void lines.push(String(line)));
  });
  afterEach(() => server.close());

  it('is reported once until it accepts something, and never with its response', async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const telemetry = new OpenTelemetry(parseSettings({}), url);
    for (const [count, next] of [401, 401, 200].entries()) {
      status = next;
      telemetry.record(SPAN);
      await vi.waitFor(() => expect(received).toBe(count + 1), { timeout: 5_000, interval: 20 });
    }
    await telemetry.shutdown();
    expect(lines).toEqual([
      'Traces cannot be exported and are dropped: HTTP status 401.',
      'Traces are exported again; 2 were dropped.',
    ]);
  });
});
