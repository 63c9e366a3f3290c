import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '#testing';

/** Anybody who tries tokens is slowed down, by address. */

/** A second. */
const RATE = 2;
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ settings: { apiRejectionRateLimit: RATE, trustedProxies: ['loopback'] } });
});
afterAll(() => api.close());

async function ask(address: string, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address };
  const response = await fetch(`${api.url}/api/v1/agent/models`, { headers });
  await response.body?.cancel();
  return response.status;
}

const WRONG = `hr_${'a'.repeat(43)}`;

describe('requests with a wrong token', () => {
  it('are delayed beyond the rate of their address, while other addresses and valid tokens are not', async () => {
    const { token } = await api.identities.user({ [await api.identities.team()]: 'member' });
    const order: string[] = [];
    const answered = async (who: string, address: string, presented: string, status: number): Promise<void> => {
      expect(await ask(address, presented)).toBe(status);
      order.push(who);
    };
    await Promise.all([
      ...Array.from({ length: 10 }, () => answered('flood', '192.0.2.1', WRONG, 401)),
      answered('valid token', '192.0.2.1', token, 200),
      answered('other address', '192.0.2.2', WRONG, 401),
    ]);
    // They were asked last. All but the first few of the flood wait longer than they take.
    expect(order.slice(-2)).toEqual(['flood', 'flood']);
  });
});
