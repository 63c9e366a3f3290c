import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { HandoverError, readHandover, readHandovers } from './launcher-contract.js';

const valid = {
  base_url: 'http://127.0.0.1:1/api/v1',
  execution_id: '1',
  token: 'secret-token',
  workspace_dir: '/w',
  marker: 'abcdefgh',
  limits: { max_workspace_bytes: 1, max_output_bytes: 1, setup_command_timeout_seconds: 1, cancel_step_seconds: 1 },
};
const read = (text: string) => readHandover(Readable.from([...Buffer.from(text)].map((byte) => Buffer.from([byte]))));

it('reads one line in any chunks, and ignores the rest', async () => {
  expect(await read(`${JSON.stringify({ ...valid, news: 1 })}\nmore`)).toEqual(valid);
});

it.each([
  ['', /not a line of JSON/],
  ['{"token":"secret-token"', /not a line of JSON/],
  [JSON.stringify({ ...valid, workspace_dir: 'secret-token' }), /workspace_dir/],
  [JSON.stringify({ ...valid, run_as: { uid: 0, gid: 0 } }), /run_as\.uid/],
  [JSON.stringify({ ...valid, marker: 'a b\n secret-token' }), /marker/],
])('is refused without repeating it: %s', async (text, reason) => {
  const error: unknown = await read(`${text}\n`).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(HandoverError);
  expect((error as Error).message).toMatch(reason);
  expect((error as Error).message).not.toContain('secret-token');
});

it('reads one hand-over after the other, until the input ends', async () => {
  const lines = ['1', '2', '3'].map((execution_id) => JSON.stringify({ ...valid, execution_id }));
  const found: string[] = [];
  for await (const { execution_id } of readHandovers(Readable.from([`${lines[0]}\n${lines[1]}`, `\n${lines[2]}\n`])))
    found.push(execution_id);
  expect(found).toEqual(['1', '2', '3']);
});

it('refuses a line that is too long', async () => {
  const chunks = Array.from({ length: 17 }, () => Buffer.alloc(65_536, 'x'));
  await expect(readHandover(Readable.from(chunks))).rejects.toThrow(/longer than/);
});
