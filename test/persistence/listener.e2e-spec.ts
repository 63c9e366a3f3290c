import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { DatabaseListener } from '#platform/persistence';
import { createTestDatabase, type TestDatabase } from '#testing';

const CHANNEL = 'headrace_listener_test';
const ATTEMPTS = 30;

let database: TestDatabase;
let listener: DatabaseListener;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(() => listener.onModuleDestroy());
afterAll(() => database.close());

const notify = (channel: string, payload: string) => database.query('SELECT pg_notify($1, $2)', [channel, payload]);

/** Resolves when the handler has been called with this payload. */
function received(channel: string, payload: string, onListening: () => void): Promise<void> {
  return new Promise((resolve) => {
    listener.subscribe(channel, (given) => {
      if (given === '') onListening();
      if (given === payload) resolve();
    });
  });
}

it('calls handlers with an empty payload when every later notification reaches them', async () => {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    listener = new DatabaseListener(database.url);
    const sent = received(CHANNEL, `sent ${attempt}`, () => void notify(CHANNEL, `sent ${attempt}`));
    await expect(sent).resolves.toBeUndefined();
    await listener.onModuleDestroy();
  }
});

it('does the same for a channel that is added to an open connection', async () => {
  listener = new DatabaseListener(database.url);
  await expect(received(CHANNEL, 'first', () => void notify(CHANNEL, 'first'))).resolves.toBeUndefined();
  const added = `${CHANNEL}_added`;
  await expect(received(added, 'second', () => void notify(added, 'second'))).resolves.toBeUndefined();
});
