import { afterEach, describe, expect, it } from 'vitest';
import { Readiness, Shutdown } from '#platform/http';
import { startTestApi, type TestApi } from '#testing';

let api: TestApi | null = null;
afterEach(async () => {
  await api?.close();
  api = null;
});

describe('shutting down', () => {
  it('reports that it is not ready, and still serves requests', async () => {
    api = await startTestApi();
    api.app.get(Readiness).drain();
    const { body } = await api.atOrigin(503, 'GET /health/ready');
    expect(body).toMatchObject({ ready: false, draining: true });
    await api.atOrigin(200, 'GET /health/live');
  });

  it('ends open streams before it closes the listener, and closes idle connections', async () => {
    api = await startTestApi();
    const { url } = api;
    const order: string[] = [];
    api.app.get(Shutdown).onShutdown(async () => {
      order.push('shutdown');
      // Still listening: the one who waits can be answered.
      await expect(fetch(`${url}/health/live`).then(({ status }) => status)).resolves.toBe(200);
    });
    const forget = api.app.get(Shutdown).onShutdown(() => void order.push('forgotten'));
    forget();
    await fetch(`${url}/health/live`);
    const closing = api;
    api = null;
    await closing.close();
    expect(order).toEqual(['shutdown']);
    await expect(fetch(`${url}/health/live`)).rejects.toThrow();
  });

  it('calls listeners at once that are added after the start of the shutdown', async () => {
    const shutdown = new Shutdown();
    await shutdown.begin();
    let reported = false;
    shutdown.onShutdown(() => {
      reported = true;
    });
    expect(reported).toBe(true);
  });
});

describe('starting', () => {
  it('fails at once on a port that is in use, and leaves nothing open', async () => {
    api = await startTestApi();
    const port = Number(new URL(api.url).port);
    await expect(startTestApi({ database: api.database, settings: { port } })).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });
});
