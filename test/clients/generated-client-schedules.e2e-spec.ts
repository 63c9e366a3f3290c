import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi, type TestPrincipal } from '#testing';
import { loadProgram, operationsIn, rejection, type RunningProgram } from './typed-programs.js';

interface Program {
  keep(api: unknown, fields: object): Promise<[{ id: string; name: string; timezone: string }, boolean]>;
  byHand(api: unknown, id: string): Promise<[{ run_id: string; state: string }, boolean]>;
  remove(api: unknown, id: string): Promise<boolean>;
}

let api: TestApi;
let team: string;
let member: TestPrincipal;
let running: RunningProgram<Program>;
let program: Program;

beforeAll(async () => {
  api = await startTestApi();
  team = await api.identities.team();
  member = await api.identities.user({ [team]: 'member' });
  running = await loadProgram<Program>('schedules', api);
  ({ program } = running);
});
afterAll(async () => {
  await api.close();
  running.close();
});

describe('schedules through the generated client', () => {
  it('creates a schedule, starts a run of it manually, and deletes it', async () => {
    const client = running.client(member);
    const [schedule, isListed] = await program.keep(client, {});
    expect(schedule).toMatchObject({ name: 'every night', timezone: 'Europe/Berlin' });
    expect(isListed).toBe(true);
    expect(await program.byHand(client, schedule.id)).toEqual([expect.objectContaining({ state: 'QUEUED' }), true]);
    expect(await program.remove(client, schedule.id)).toBe(true);
  });

  it('throws the documented problem of a rejected request (generated client: schedules)', async () => {
    const client = running.client(member);
    const viewer = running.client(await api.identities.user({ [team]: 'viewer' }));
    const rejections: [() => Promise<unknown>, number, string][] = [
      [() => program.keep(client, { cron_schedule: '@daily' }), 400, 'invalid_request'],
      [() => program.keep(viewer, {}), 403, 'not_authorized'],
      [() => program.byHand(client, '0'.repeat(22)), 404, 'resource_not_found'],
      [() => program.remove(client, '0'.repeat(22)), 404, 'resource_not_found'],
    ];
    for (const [send, status, code] of rejections) {
      const error = await rejection(send());
      expect(error).toBeInstanceOf(running.Refused);
      expect(error).toMatchObject({ problem: { status, error_code: code } });
    }
  });

  it('calls every operation that the schedules program uses', () => {
    expect(running.called()).toEqual(operationsIn('schedules'));
  });
});
