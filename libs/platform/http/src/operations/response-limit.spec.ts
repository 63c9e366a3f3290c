import { EventEmitter } from 'node:events';
import type { Response } from 'express';
import { expect, it } from 'vitest';
import { ResponseLimit } from './response-limit.js';

/** A response that ends when the test says so. */
class OpenResponse extends EventEmitter {
  closed = false;
  readonly req = { socket: Object.assign(new EventEmitter(), { destroyed: false }) };

  destroy(): void {
    this.end();
  }

  end(): void {
    this.closed = true;
    this.emit('close');
  }
}
const responses = (count: number) => Array.from({ length: count }, () => new OpenResponse());
const limit = new ResponseLimit('files', { total: 3, perKey: 2, maxWaitMs: 50, maxSendMs: 60_000 });
const start = (key: string, response: OpenResponse) =>
  limit.run(key, response as unknown as Response, () => Promise.resolve(key));

it('keeps a permit until the response has ended, not only until the work is done', async () => {
  const [one, two, three, four, five] = responses(5) as [
    OpenResponse,
    OpenResponse,
    OpenResponse,
    OpenResponse,
    OpenResponse,
  ];
  expect(await Promise.all([start('ada', one), start('ada', two)])).toEqual(['ada', 'ada']);
  const refused = { code: 'resource_unavailable', message: expect.stringMatching(/^Too many files .* at most 2 /) };
  await expect(start('ada', three)).rejects.toMatchObject(refused);
  // Another person has permits.
  expect(await start('ben', three)).toBe('ben');
  await expect(start('ben', four)).rejects.toMatchObject(refused);
  const waiting = start('ada', five);
  one.end();
  expect(await waiting).toBe('ada');
  for (const response of [two, three, five]) response.end();
});

it('frees the permit after work that has failed, and of a client that has left before', async () => {
  const [one, two, three] = responses(3) as [OpenResponse, OpenResponse, OpenResponse];
  const failing = limit.run('ada', one as unknown as Response, () => Promise.reject(new Error('not stored')));
  await expect(failing).rejects.toThrow('not stored');
  one.end();
  two.end();
  expect(await start('ada', two)).toBe('ada');
  expect(await Promise.all([start('ada', three), start('ada', new OpenResponse())])).toEqual(['ada', 'ada']);
});

it('frees the permit when the connection closes, and disconnects a client that reads too slowly', async () => {
  const short = new ResponseLimit('files', { total: 1, perKey: 1, maxWaitMs: 5_000, maxSendMs: 50 });
  const [one, two, three] = responses(3) as [OpenResponse, OpenResponse, OpenResponse];
  const run = (response: OpenResponse) =>
    short.run('ada', response as unknown as Response, () => Promise.resolve('ada'));
  expect(await run(one)).toBe('ada');
  one.req.socket.emit('close');
  expect(await run(two)).toBe('ada');
  expect(two.closed).toBe(false);
  expect(await run(three)).toBe('ada');
  expect(two.closed).toBe(true);
});
